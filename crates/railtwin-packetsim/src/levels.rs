//! Levels: the priorities of a run, the lowest first. Each has queues, pause frames and buffer of its own.
use std::collections::BTreeSet;

use railtwin_engine::Connection;
use railtwin_engine::WorkGraph;

/// The priorities of jobs, epoch by epoch of the routes.
#[derive(Debug, Default)]
pub struct Levels {
    known: BTreeSet<u8>,
    epochs: Vec<Vec<u8>>,
}

impl Levels {
    /// Those that jobs have from the start; no epoch yet.
    pub fn of(work: &WorkGraph) -> Self {
        Self { known: work.jobs.iter().map(|job| job.priority).collect(), epochs: Vec::new() }
    }

    /// Adds those of the next epoch, by job.
    pub fn add(&mut self, priorities: &[u8]) {
        self.known.extend(priorities);
        self.epochs.push(priorities.to_vec());
    }

    /// The same without epochs.
    pub fn anew(self) -> Self {
        Self { epochs: Vec::new(), ..self }
    }

    /// How many levels there are.
    pub fn count(&self) -> usize {
        self.known.len().max(1)
    }

    /// By epoch the level of each queue pair; empty where there is one.
    pub fn of_queue_pairs(&self, connections: &[Connection]) -> Vec<Vec<u8>> {
        if self.count() == 1 {
            return vec![Vec::new(); self.epochs.len()];
        }
        let of_epoch = |priorities: &Vec<u8>| {
            let level = |job: u32| self.known.range(..priorities[job as usize]).count() as u8;
            let of = |one: &Connection| std::iter::repeat_n(level(one.job), one.count as usize);
            connections.iter().flat_map(of).collect()
        };
        self.epochs.iter().map(of_epoch).collect()
    }
}

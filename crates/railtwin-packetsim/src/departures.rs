//! Jobs that are gone: hosts say when they have ended all that they do of one.
use crate::congestion::Control;
use crate::host::{Host, Shared};

/// Who has done with which job.
#[derive(Debug, Default)]
pub struct Departures {
    /// By job: hosts that have operations of it to end, and when the last one did so far.
    left: Vec<(u32, u64)>,
    /// Jobs that are gone of which nobody was told, and when that was.
    pub gone: Vec<(u32, u64)>,
    /// Whether somebody is to be told.
    pub are_told: bool,
}

impl Departures {
    /// Of all jobs of all hosts before time zero.
    pub fn new<'h, C: Control + 'h>(shared: &Shared<'_>, hosts: impl Iterator<Item = &'h Host<C>>) -> Self {
        let mut left = vec![(0, 0); shared.network.case.work.jobs.len()];
        for host in hosts {
            host.jobs_left(shared).for_each(|job| left[job as usize].0 += 1);
        }
        Self { left, gone: Vec::new(), are_told: false }
    }

    /// A host has ended all of a job at `at`.
    pub fn hear(&mut self, job: u32, at: u64) {
        let (hosts, last) = &mut self.left[job as usize];
        (*hosts, *last) = (*hosts - 1, at.max(*last));
        if *hosts == 0 && self.are_told {
            self.gone.push((job, *last));
        }
    }
}

//! What hosts and leaves were told: source ports of queue pairs, entries of leaves.
use std::collections::BTreeMap;

use railtwin_control::controller::Action;
use railtwin_control::paths::JobId;
use railtwin_control::te::{LeafEntries, WriteError};
use railtwin_fabric::Fabric;
use railtwin_routing::{EntryTable, Prefixes};

use crate::graph::WorkGraph;

/// The state that actions change and paths follow from.
#[derive(Clone, Debug)]
pub struct Programmed {
    /// By row of the queue pair; none where nobody steers it, or it has no path.
    ports: Vec<Option<u16>>,
    /// By row: why the queue pair has its path, where somebody said.
    reasons: Vec<Option<&'static str>>,
    /// By job: its priority, where a controller chose it.
    priorities: BTreeMap<JobId, u8>,
    leaves: LeafEntries,
}

impl Programmed {
    /// Nothing told to `queue_pairs` queue pairs, and leaves without entries that hold `entries` each.
    pub fn new(fabric: &Fabric, queue_pairs: usize, entries: u32) -> Self {
        let leaves = LeafEntries::new(Prefixes::by_leaf_set(fabric), entries as usize);
        let (ports, reasons) = (vec![None; queue_pairs], vec![None; queue_pairs]);
        Self { ports, reasons, priorities: BTreeMap::new(), leaves }
    }

    /// The source port of a queue pair; none where it chooses by itself.
    #[inline]
    pub fn port(&self, queue_pair: u32) -> Option<u16> {
        self.ports.get(queue_pair as usize).copied().flatten()
    }

    /// Why a controller chose the path of a queue pair; none where it did not.
    pub fn reason(&self, queue_pair: u32) -> Option<&'static str> {
        self.reasons.get(queue_pair as usize).copied().flatten()
    }

    /// The priority that a controller chose for a job.
    pub fn priority(&self, job: JobId) -> Option<u8> {
        self.priorities.get(&job).copied()
    }

    /// The priority of each job: its own, or what a controller chose for it.
    pub fn priorities_of_jobs<'a>(&'a self, work: &'a WorkGraph) -> impl Iterator<Item = u8> + 'a {
        (0..).zip(&work.jobs).map(|(row, job)| self.priority(JobId(row)).unwrap_or(job.priority))
    }

    /// The priority of what each pattern sends: that of its job.
    pub fn priorities_of_patterns(&self, work: &WorkGraph) -> Vec<u8> {
        let jobs = self.priorities_of_jobs(work).zip(&work.jobs);
        jobs.flat_map(|(priority, job)| std::iter::repeat_n(priority, job.plan.patterns.len())).collect()
    }

    /// What leaves hold.
    pub fn entries(&self) -> &EntryTable {
        self.leaves.table()
    }

    /// Carries an action out. Returns whether paths may be others now.
    ///
    /// # Errors
    /// Where a leaf does not take a write.
    pub(super) fn apply(
        &mut self,
        fabric: &Fabric,
        action: &Action,
        reason: &'static str,
    ) -> Result<bool, WriteError> {
        match action {
            Action::Path { queue_pair, source_port } => {
                let row = *queue_pair as usize;
                self.reasons[row] = Some(reason);
                let before = std::mem::replace(&mut self.ports[row], *source_port);
                Ok(before != *source_port)
            }
            Action::Entry(change) => {
                let leaf = fabric.target(change.entry().ingress);
                self.leaves.write(leaf, change).map(|()| true)
            }
            Action::Priority { job, priority } => {
                self.priorities.insert(*job, *priority);
                Ok(false)
            }
            // Hosts and jobs are no matter of paths.
            _ => Ok(false),
        }
    }
}

//! What hosts and leaves were told: source ports of queue pairs, entries of leaves.
use std::collections::BTreeMap;

use railtwin_control::controller::Action;
use railtwin_control::paths::JobId;
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_control::te::{LeafEntries, WriteError};
use railtwin_fabric::Fabric;
use railtwin_routing::{EntryTable, Prefixes};

use crate::graph::WorkGraph;

/// The state that actions change and paths follow from.
#[derive(Clone, Debug)]
pub struct Programmed {
    /// By row of the queue pair; none where nobody steers it, or it has no path.
    ports: Vec<Option<u16>>,
    /// By row: why the queue pair has its path, as one more than the place in `said`; 0 where nobody said.
    reasons: Vec<u32>,
    /// Reasons as they came; one is there again when another came between.
    said: Vec<&'static str>,
    /// By job: its priority, where a controller chose it.
    priorities: BTreeMap<JobId, u8>,
    /// By row: the share of its connection's bytes, where somebody said; empty until then.
    shares: Vec<Option<u32>>,
    /// How often a share changed.
    weighed: u64,
    /// Entries that a leaf holds at most.
    most: usize,
    /// What leaves hold; none before anybody wrote, as few runs have entries.
    leaves: Option<LeafEntries>,
}

impl Programmed {
    /// Nothing told to `queue_pairs` queue pairs, and leaves without entries that hold `entries` each.
    pub fn new(queue_pairs: usize, entries: u32) -> Self {
        Self {
            ports: vec![None; queue_pairs],
            reasons: vec![0; queue_pairs],
            said: Vec::new(),
            priorities: BTreeMap::new(),
            shares: Vec::new(),
            weighed: 0,
            most: entries as usize,
            leaves: None,
        }
    }

    /// The source port of a queue pair; none where it chooses by itself.
    #[inline]
    pub fn port(&self, queue_pair: u32) -> Option<u16> {
        self.ports.get(queue_pair as usize).copied().flatten()
    }

    /// Why a controller chose the path of a queue pair; none where it did not.
    pub fn reason(&self, queue_pair: u32) -> Option<&'static str> {
        let place = self.reasons.get(queue_pair as usize)?.checked_sub(1)?;
        self.said.get(place as usize).copied()
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

    /// The share of its connection's bytes that a queue pair was told, in parts of [`WHOLE`]; none where it was not.
    pub fn share(&self, queue_pair: u32) -> Option<u32> {
        self.shares.get(queue_pair as usize).copied().flatten()
    }

    /// Whether anybody told queue pairs shares.
    pub const fn is_weighed(&self) -> bool {
        self.weighed > 0
    }

    /// How often shares changed so far.
    pub(super) const fn weighed(&self) -> u64 {
        self.weighed
    }

    /// Shares of the `count` queue pairs of a connection from row `first` on, whose sum is 1; none where they are even
    /// because nobody told any of them another, or all were told none.
    pub fn shares(&self, first: u32, count: u32) -> Option<Vec<f64>> {
        let rows = first..first + count;
        if !rows.clone().any(|row| self.share(row).is_some()) {
            return None;
        }
        let even = f64::from(WHOLE) / f64::from(count);
        let parts: Vec<f64> = rows.map(|row| self.share(row).map_or(even, f64::from)).collect();
        let sum: f64 = parts.iter().sum();
        (sum > 0.0).then(|| parts.into_iter().map(|part| part / sum).collect())
    }

    /// What leaves hold; none where nobody ever wrote an entry.
    pub fn entries(&self) -> Option<&EntryTable> {
        self.leaves.as_ref().map(LeafEntries::table)
    }

    /// Gives a queue pair its source port. Returns whether it is another one.
    #[inline]
    pub(super) fn lead(&mut self, queue_pair: u32, source_port: Option<u16>, reason: &'static str) -> bool {
        if self.said.last().is_none_or(|last| !std::ptr::eq::<str>(*last, reason)) {
            self.said.push(reason);
        }
        let row = queue_pair as usize;
        self.reasons[row] = self.said.len() as u32;
        std::mem::replace(&mut self.ports[row], source_port) != source_port
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
            Action::Path { queue_pair, source_port } => Ok(self.lead(*queue_pair, *source_port, reason)),
            Action::Weight { queue_pair, share } => {
                let row = *queue_pair as usize;
                self.shares.resize(self.shares.len().max(row + 1), None);
                self.weighed += u64::from(self.shares[row].replace(*share) != Some(*share));
                Ok(false)
            }
            Action::Entry(change) => {
                let leaf = fabric.target(change.entry().ingress);
                let empty = || LeafEntries::new(Prefixes::by_leaf_set(fabric), self.most);
                self.leaves.get_or_insert_with(empty).write(leaf, change).map(|()| true)
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

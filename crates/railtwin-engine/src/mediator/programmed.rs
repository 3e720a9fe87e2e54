//! What hosts and leaves were told: source ports of queue pairs, entries of leaves.
use railtwin_control::controller::Action;
use railtwin_control::te::{LeafEntries, WriteError};
use railtwin_fabric::Fabric;
use railtwin_routing::{EntryTable, Prefixes};

/// The state that actions change and paths follow from.
#[derive(Clone, Debug)]
pub struct Programmed {
    /// By row of the queue pair; none where nobody steers it, or it has no path.
    ports: Vec<Option<u16>>,
    /// By row: why the queue pair has its path, where somebody said.
    reasons: Vec<Option<&'static str>>,
    /// Entries that a leaf holds at most.
    most: usize,
    /// What leaves hold; none before anybody wrote, as few runs have entries.
    leaves: Option<LeafEntries>,
}

impl Programmed {
    /// Nothing told to `queue_pairs` queue pairs, and leaves without entries that hold `entries` each.
    pub fn new(queue_pairs: usize, entries: u32) -> Self {
        let (ports, reasons) = (vec![None; queue_pairs], vec![None; queue_pairs]);
        Self { ports, reasons, most: entries as usize, leaves: None }
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

    /// What leaves hold; none where nobody ever wrote an entry.
    pub fn entries(&self) -> Option<&EntryTable> {
        self.leaves.as_ref().map(LeafEntries::table)
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
                let empty = || LeafEntries::new(Prefixes::by_leaf_set(fabric), self.most);
                self.leaves.get_or_insert_with(empty).write(leaf, change).map(|()| true)
            }
            // Hosts and jobs are no matter of paths.
            _ => Ok(false),
        }
    }
}

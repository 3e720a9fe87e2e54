//! What to write into leaves so that they hold what is intended, no more writes than needed.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::{EntryTable, Prefixes, TableEntry};
use thiserror::Error;

/// One write to one leaf. Each says what shall be afterwards, so writing it twice is as good as once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Change {
    /// Take out an entry.
    Remove(TableEntry),
    /// Give an entry another next hop.
    Replace {
        /// The entry as it shall be.
        entry: TableEntry,
        /// The next hop that it has.
        was: LinkId,
    },
    /// Put in an entry.
    Add(TableEntry),
}

impl Change {
    /// The entry as it shall be, or that shall not be.
    pub fn entry(&self) -> TableEntry {
        match *self {
            Self::Remove(entry) | Self::Replace { entry, .. } | Self::Add(entry) => entry,
        }
    }

    /// Changes a table.
    pub fn apply(&self, table: &mut EntryTable) {
        let TableEntry { ingress, prefix, next } = self.entry();
        match self {
            Self::Remove(_) => table.remove(ingress, prefix),
            Self::Replace { .. } | Self::Add(_) => table.insert(ingress, prefix, next),
        };
    }
}

/// The changes that make `intended` of `programmed`: first those that make room, then those that
/// need none, then those that need it; each kind in order of (ingress, prefix).
pub fn changes(programmed: &EntryTable, intended: &EntryTable) -> Vec<Change> {
    if programmed.is_empty() {
        return intended.iter().map(Change::Add).collect();
    }
    let gone = programmed.iter().filter(|entry| intended.get(entry.ingress, entry.prefix).is_none());
    let mut changes: Vec<Change> = gone.map(Change::Remove).collect();
    let mut added = Vec::new();
    for entry in intended.iter() {
        match programmed.get(entry.ingress, entry.prefix) {
            Some(was) if was == entry.next => {}
            Some(was) => changes.push(Change::Replace { entry, was }),
            None => added.push(Change::Add(entry)),
        }
    }
    // Kinds are declared in the order in which they are to be written.
    changes.sort_unstable();
    changes.extend(added);
    changes
}

/// A write that did not succeed. Nothing is lost by it: it is due again in the next period.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The leaf does not answer.
    #[error("leaf {} does not answer", leaf.0)]
    NoAnswer {
        /// The leaf.
        leaf: DeviceId,
    },
    /// The leaf's table is full.
    #[error("the table of leaf {} is full with {limit} entries", leaf.0)]
    TableFull {
        /// The leaf.
        leaf: DeviceId,
        /// Entries that it holds at most.
        limit: usize,
    },
}

/// Leaves in memory, for simulation: they hold entries up to a limit.
#[derive(Clone, Debug)]
pub struct LeafEntries {
    table: EntryTable,
    entries_per_leaf: usize,
    held: BTreeMap<DeviceId, usize>,
}

impl LeafEntries {
    /// Empty leaves that hold up to `entries_per_leaf` entries each.
    pub fn new(prefixes: Prefixes, entries_per_leaf: usize) -> Self {
        Self { table: EntryTable::new(prefixes), entries_per_leaf, held: BTreeMap::new() }
    }

    /// What the leaves hold.
    pub fn table(&self) -> &EntryTable {
        &self.table
    }

    /// Writes one change. Repeating a write does no harm.
    ///
    /// # Errors
    /// [`WriteError`] where the leaf is full.
    pub fn write(&mut self, leaf: DeviceId, change: &Change) -> Result<(), WriteError> {
        let TableEntry { ingress, prefix, next } = change.entry();
        let held = self.held.entry(leaf).or_default();
        if matches!(change, Change::Remove(_)) {
            *held -= usize::from(self.table.remove(ingress, prefix).is_some());
            return Ok(());
        }
        if *held >= self.entries_per_leaf && self.table.get(ingress, prefix).is_none() {
            return Err(WriteError::TableFull { leaf, limit: self.entries_per_leaf });
        }
        *held += usize::from(self.table.insert(ingress, prefix, next).is_none());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::LeafSpine;
    use railtwin_fabric::{Fabric, HostId};
    use railtwin_routing::PrefixId;

    use super::*;

    fn fabric() -> Fabric {
        LeafSpine::default().build().expect("default preset")
    }

    fn table(entries: &[(u32, u32, u32)]) -> EntryTable {
        let mut table = EntryTable::new(Prefixes::by_leaf_set(&fabric()));
        for &(ingress, prefix, next) in entries {
            table.insert(LinkId(ingress), PrefixId(prefix), LinkId(next));
        }
        table
    }

    #[test]
    fn kinds_of_changes_come_in_the_order_that_makes_room() {
        let changes =
            changes(&table(&[(1, 0, 5), (2, 0, 5), (3, 0, 5)]), &table(&[(0, 0, 5), (2, 0, 6), (3, 0, 5)]));
        let entry =
            |ingress, next| TableEntry { ingress: LinkId(ingress), prefix: PrefixId(0), next: LinkId(next) };
        let replace = Change::Replace { entry: entry(2, 6), was: LinkId(5) };
        assert_eq!(changes, [Change::Remove(entry(1, 5)), replace, Change::Add(entry(0, 5))]);
    }

    #[test]
    fn a_leaf_refuses_what_it_has_no_room_for() {
        let fabric = fabric();
        let access = |host, nic| fabric.access_link(fabric.nic(HostId(host), nic), 0).expect("cabled");
        let leaf = fabric.target(access(0, 0));
        let entry = |nic| TableEntry { ingress: access(0, nic), prefix: PrefixId(1), next: LinkId(7) };
        let mut leaves = LeafEntries::new(Prefixes::by_leaf_set(&fabric), 1);
        assert_eq!(leaves.write(leaf, &Change::Add(entry(0))), Ok(()));
        let refused = leaves.write(leaf, &Change::Add(entry(1))).unwrap_err();
        assert_eq!(refused.to_string(), format!("the table of leaf {} is full with 1 entries", leaf.0));
        // Again the same, another next hop for it, and one in the place of one that is gone.
        assert_eq!(leaves.write(leaf, &Change::Add(entry(0))), Ok(()));
        let other = TableEntry { next: LinkId(9), ..entry(0) };
        assert_eq!(leaves.write(leaf, &Change::Replace { entry: other, was: LinkId(7) }), Ok(()));
        assert_eq!(leaves.table().iter().collect::<Vec<_>>(), [other]);
        assert_eq!(leaves.write(leaf, &Change::Remove(other)), Ok(()));
        assert_eq!(leaves.write(leaf, &Change::Add(entry(1))), Ok(()));
        assert_eq!(leaves.table().iter().collect::<Vec<_>>(), [entry(1)]);
    }

    proptest! {
        #[test]
        fn changes_make_intended_of_programmed(
            programmed in prop::collection::vec((0u32..8, 0u32..4, 0u32..5), 0..30),
            intended in prop::collection::vec((0u32..8, 0u32..4, 0u32..5), 0..30),
        ) {
            let (mut programmed, intended) = (table(&programmed), table(&intended));
            let list = changes(&programmed, &intended);
            let mut most = programmed.len();
            for change in &list {
                let before = programmed.clone();
                change.apply(&mut programmed);
                prop_assert_ne!(&programmed, &before, "each change is needed");
                most = most.max(programmed.len());
            }
            prop_assert_eq!(&programmed, &intended);
            prop_assert!(changes(&programmed, &intended).is_empty());
            prop_assert!(most <= intended.len().max(list.len() + programmed.len()));
            for change in &list {
                change.apply(&mut programmed);
            }
            prop_assert!(list.iter().all(|change| matches!(change, Change::Remove(_))
                == (intended.get(change.entry().ingress, change.entry().prefix).is_none())));
            prop_assert_eq!(&programmed, &intended, "writing twice is as good as once");
        }
    }
}

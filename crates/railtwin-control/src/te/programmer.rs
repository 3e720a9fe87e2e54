//! What to write into leaves so that they hold what is intended, no more writes than needed.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::{EntryTable, PrefixId, Prefixes, TableEntry};
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

/// Carries changes to leaves: the only part that knows what a switch is like.
pub trait Driver {
    /// Writes one change to a leaf. Repeating a write must do no harm.
    ///
    /// # Errors
    /// [`WriteError`] if it is not known to be done.
    fn write(&mut self, leaf: DeviceId, change: &Change) -> Result<(), WriteError>;
}

/// What a round of writes came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Programmed {
    /// Changes that succeeded, in order.
    pub done: Vec<Change>,
    /// Changes that did not, with the reason.
    pub failed: Vec<(Change, WriteError)>,
}

/// Keeps the leaves in step with what is intended.
#[derive(Clone, Debug)]
pub struct Programmer {
    programmed: EntryTable,
}

impl Programmer {
    /// Leaves without entries.
    pub fn new(prefixes: Prefixes) -> Self {
        Self { programmed: EntryTable::new(prefixes) }
    }

    /// What the leaves hold as far as writes have succeeded.
    pub fn programmed(&self) -> &EntryTable {
        &self.programmed
    }

    /// Forgets the entries of a leaf that lost them, say by a restart, so that they are due again.
    pub fn forget(&mut self, fabric: &Fabric, leaf: DeviceId) {
        let lost: Vec<TableEntry> =
            self.programmed.iter().filter(|entry| fabric.target(entry.ingress) == leaf).collect();
        for entry in lost {
            self.programmed.remove(entry.ingress, entry.prefix);
        }
    }

    /// Writes what differs from `intended`. What fails stays different, so the next call tries again.
    pub fn program(&mut self, fabric: &Fabric, intended: &EntryTable, driver: &mut dyn Driver) -> Programmed {
        let mut outcome = Programmed::default();
        for change in changes(&self.programmed, intended) {
            match driver.write(fabric.target(change.entry().ingress), &change) {
                Ok(()) => {
                    change.apply(&mut self.programmed);
                    outcome.done.push(change);
                }
                Err(error) => outcome.failed.push((change, error)),
            }
        }
        outcome
    }
}

/// Leaves in memory, for simulation: they hold entries up to a limit and can fall silent.
#[derive(Clone, Debug)]
pub struct MemoryDriver {
    table: EntryTable,
    entries_per_leaf: usize,
    held: BTreeMap<DeviceId, usize>,
    silent: BTreeSet<DeviceId>,
    writes: u64,
}

impl MemoryDriver {
    /// Empty leaves that hold up to `entries_per_leaf` entries each.
    pub fn new(prefixes: Prefixes, entries_per_leaf: usize) -> Self {
        let table = EntryTable::new(prefixes);
        Self { table, entries_per_leaf, held: BTreeMap::new(), silent: BTreeSet::new(), writes: 0 }
    }

    /// What the leaves hold.
    pub fn table(&self) -> &EntryTable {
        &self.table
    }

    /// Lets a leaf answer writes or not.
    pub fn set_silent(&mut self, leaf: DeviceId, silent: bool) {
        if silent {
            self.silent.insert(leaf);
        } else {
            self.silent.remove(&leaf);
        }
    }

    /// Writes that succeeded so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    fn has(&self, ingress: LinkId, prefix: PrefixId) -> bool {
        self.table.get(ingress, prefix).is_some()
    }
}

impl Driver for MemoryDriver {
    fn write(&mut self, leaf: DeviceId, change: &Change) -> Result<(), WriteError> {
        if self.silent.contains(&leaf) {
            return Err(WriteError::NoAnswer { leaf });
        }
        let TableEntry { ingress, prefix, .. } = change.entry();
        let before = self.has(ingress, prefix);
        let after = !matches!(change, Change::Remove(_));
        let held = self.held.entry(leaf).or_default();
        if after && !before && *held >= self.entries_per_leaf {
            return Err(WriteError::TableFull { leaf, limit: self.entries_per_leaf });
        }
        *held = *held + usize::from(after) - usize::from(before);
        change.apply(&mut self.table);
        self.writes += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::HostId;
    use railtwin_fabric::preset::LeafSpine;

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
    fn failed_writes_are_due_again() {
        let fabric = fabric();
        let prefixes = Prefixes::by_leaf_set(&fabric);
        let (mut programmer, mut driver) =
            (Programmer::new(prefixes.clone()), MemoryDriver::new(prefixes.clone(), 1));
        let access = |host, nic| fabric.access_link(fabric.nic(HostId(host), nic), 0).expect("cabled");
        let leaf = fabric.target(access(0, 0));
        let mut intended = EntryTable::new(prefixes.clone());
        intended.insert(access(0, 0), PrefixId(1), LinkId(7));

        driver.set_silent(leaf, true);
        let outcome = programmer.program(&fabric, &intended, &mut driver);
        assert_eq!((outcome.done.len(), outcome.failed.len()), (0, 1));
        assert_eq!(outcome.failed[0].1, WriteError::NoAnswer { leaf });
        assert!(programmer.programmed().is_empty());
        driver.set_silent(leaf, false);
        assert_eq!(programmer.program(&fabric, &intended, &mut driver).done.len(), 1);
        assert_eq!((driver.table(), programmer.programmed()), (&intended, &intended));
        assert_eq!(
            programmer.program(&fabric, &intended, &mut driver),
            Programmed::default(),
            "nothing left to do"
        );

        // The leaf holds one entry; a second is refused until the first is gone.
        intended.insert(access(0, 1), PrefixId(1), LinkId(7));
        let outcome = programmer.program(&fabric, &intended, &mut driver);
        assert_eq!(
            outcome.failed[0].1.to_string(),
            format!("the table of leaf {} is full with 1 entries", leaf.0)
        );
        intended.remove(access(0, 0), PrefixId(1));
        assert_eq!(programmer.program(&fabric, &intended, &mut driver).done.len(), 2);

        // A restart empties the leaf.
        programmer.forget(&fabric, leaf);
        driver = MemoryDriver::new(prefixes, 1);
        assert_eq!(programmer.program(&fabric, &intended, &mut driver).done.len(), 1);
        assert_eq!((driver.table(), driver.writes()), (&intended, 1));
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

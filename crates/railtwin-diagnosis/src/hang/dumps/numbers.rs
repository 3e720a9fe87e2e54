//! What numbers of a communicator are known to be.
use std::collections::{BTreeMap, BTreeSet};

use super::{Dumps, Work};

/// What all dumps together say of the numbers of each communicator.
#[derive(Default, Debug)]
pub(super) struct Numbers {
    /// Collectives that nobody ends before all have begun them, by all who recorded them.
    whole: BTreeSet<(usize, u64)>,
    /// Collectives that somebody recorded as such that a rank may end alone.
    partial: BTreeSet<(usize, u64)>,
    /// The largest number of a collective that anybody recorded.
    recorded: BTreeMap<usize, u64>,
    /// Communicators of which all that is recorded, and something is, are such as nobody ends alone.
    only_whole: BTreeSet<usize>,
    /// Communicators whose counts are, or may be, of sends and receives as well, which have numbers of their own.
    mixed: BTreeSet<usize>,
}

impl Numbers {
    pub(super) fn of(of: &Dumps) -> Self {
        let mut numbers = Self::default();
        let (mut peers, mut alone) = (BTreeSet::new(), BTreeSet::new());
        for operation in of.dumps.iter().flat_map(|dump| &dump.operations) {
            let (group, number) = (operation.group, operation.sequence);
            match operation.work {
                Work::Whole => numbers.whole.insert((group, number)),
                Work::Partial => numbers.partial.insert((group, number)) | alone.insert(group),
                Work::Peers(_) => {
                    peers.insert(group);
                    continue;
                }
            };
            let most = numbers.recorded.entry(group).or_insert(number);
            *most = number.max(*most);
        }
        numbers.whole = &numbers.whole - &numbers.partial;
        let known = numbers.whole.iter().map(|(group, _)| *group);
        numbers.only_whole = known.filter(|group| !alone.contains(group) && !peers.contains(group)).collect();
        numbers.mixed = peers;
        for dump in &of.dumps {
            // First open and last recorded collective of each communicator.
            let mut own: BTreeMap<usize, (Option<u64>, u64)> = BTreeMap::new();
            for one in dump.operations.iter().filter(|one| !matches!(one.work, Work::Peers(_))) {
                let (open, last) = own.entry(one.group).or_default();
                *last = one.sequence.max(*last);
                if !one.completed {
                    *open = Some(open.map_or(one.sequence, |open| open.min(one.sequence)));
                }
            }
            for (&group, &(enqueued, completed)) in &dump.status {
                let (open, last) = own.get(&group).copied().unwrap_or_default();
                // Counts of collectives alone never fall: what ended was put on a stream, and the last that was put there is
                // not before one that is recorded, nor the last that ended behind one that is open.
                let falls = completed
                    .is_some_and(|ended| ended > 0 && enqueued.is_none_or(|last| last < ended))
                    || enqueued.is_some_and(|enqueued| enqueued < last)
                    || completed.zip(open).is_some_and(|(ended, open)| ended >= open);
                if falls {
                    numbers.mixed.insert(group);
                }
            }
        }
        numbers
    }

    /// Whether counts of a communicator are of its collectives, as far as anything tells.
    pub(super) fn counts_collectives(&self, group: usize) -> bool {
        !self.mixed.contains(&group)
    }

    /// Whether a collective with this number, or a larger one, is recorded by anybody.
    pub(super) fn is_of_collectives(&self, group: usize, number: u64) -> bool {
        self.recorded.get(&group).is_some_and(|most| number <= *most)
    }

    /// Whether one of these is recorded as one that nobody ends before all have begun it.
    pub(super) fn has_recorded_whole(&self, group: usize, first: u64, last: u64) -> bool {
        first <= last && self.whole.range((group, first)..=(group, last)).next().is_some()
    }

    /// The same, also where none of them is recorded and all that is recorded of the communicator is of this kind.
    pub(super) fn has_whole(&self, group: usize, first: u64, last: u64) -> bool {
        first <= last && (self.only_whole.contains(&group) || self.has_recorded_whole(group, first, last))
    }

    /// Whether all of these are recorded as such that a rank may end alone. Numbers begin at 0 or at 1.
    pub(super) fn are_all_partial(&self, group: usize, first: u64, last: u64) -> bool {
        let first = first.max(1);
        let count = || self.partial.range((group, first)..=(group, last)).count() as u64;
        first > last || last - first < self.partial.len() as u64 && count() == last - first + 1
    }
}

//! Ranks that call different operations under one number of a communicator.
use std::collections::{BTreeMap, BTreeSet};

use super::picture::Picture;
use super::{DumpedOperation, Work};

/// A collective in which somebody is, and that not all who recorded it call alike.
#[derive(Debug)]
pub(super) struct Difference<'a> {
    /// It, as one of those who wait in it recorded it.
    pub front: &'a DumpedOperation,
    /// Who calls it so, by what they call.
    pub calls: BTreeMap<&'a str, BTreeMap<u32, &'a DumpedOperation>>,
    /// Ranks of the communicator without a dump, which may have called any of them.
    unknown: usize,
}

impl<'a> Difference<'a> {
    /// What more than half of those who recorded it call, two at least, whatever those without a dump may have called: the
    /// others are who differs.
    pub(super) fn most(&self) -> Option<(&'a str, usize)> {
        let all = self.calls.values().map(BTreeMap::len).sum::<usize>() + self.unknown;
        let (call, ranks) = self.calls.iter().max_by_key(|(_, ranks)| ranks.len())?;
        (ranks.len() > 1 && 2 * ranks.len() > all).then_some((*call, ranks.len()))
    }

    /// All who recorded it.
    pub(super) fn ranks(&self) -> BTreeSet<u32> {
        self.calls.values().flat_map(|ranks| ranks.keys().copied()).collect()
    }
}

/// Where somebody waits in what is not called alike, in the order of communicators and numbers. Whether a dump is of an
/// earlier moment does not matter: what a rank called under a number stays. Where a rank has several records of one
/// number, as of calls that were coalesced, some of them may be lost, and nothing is compared.
pub(super) fn differences<'a>(picture: &Picture<'a>) -> Vec<Difference<'a>> {
    let mut fronts: BTreeMap<(usize, u64), &'a DumpedOperation> = BTreeMap::new();
    for (_, front) in picture.waiting().filter(|(_, front)| !matches!(front.work, Work::Peers(_))) {
        fronts.entry((front.group, front.sequence)).or_insert(front);
    }
    called_unlike(picture, &fronts)
}

/// The same of the last operation before the one in which somebody waits, in each communicator: NCCL does not see that calls are
/// unlike, and may end what does not fit and stand in what comes next.
pub(super) fn ended_differences<'a>(picture: &Picture<'a>) -> Vec<Difference<'a>> {
    let mut fronts: BTreeMap<(usize, u64), &'a DumpedOperation> = BTreeMap::new();
    for (_, front) in picture.waiting().filter(|(_, front)| !matches!(front.work, Work::Peers(_))) {
        if let Some(before) = front.sequence.checked_sub(1) {
            fronts.entry((front.group, before)).or_insert(front);
        }
    }
    called_unlike(picture, &fronts)
}

/// Operations of these numbers that not all who recorded them call alike.
fn called_unlike<'a>(
    picture: &Picture<'a>,
    fronts: &BTreeMap<(usize, u64), &'a DumpedOperation>,
) -> Vec<Difference<'a>> {
    let mut calls: BTreeMap<(usize, u64), BTreeMap<u32, Vec<&'a DumpedOperation>>> = BTreeMap::new();
    let known = picture.dumps.iter().filter(|(rank, _)| !picture.of.unsure.contains(rank));
    for (&rank, dump) in known {
        for one in dump.operations.iter().filter(|one| !matches!(one.work, Work::Peers(_))) {
            let key = (one.group, one.sequence);
            if fronts.contains_key(&key) {
                calls.entry(key).or_default().entry(rank).or_default().push(one);
            }
        }
    }
    let mut found = Vec::new();
    for (key, of) in calls {
        if of.values().any(|records| records.len() > 1) {
            continue;
        }
        let mut by_call: BTreeMap<&str, BTreeMap<u32, &DumpedOperation>> = BTreeMap::new();
        for (rank, records) in of {
            for one in records {
                if let Some(call) = &one.call {
                    by_call.entry(call).or_default().insert(rank, one);
                }
            }
        }
        if by_call.len() > 1 {
            let is_unknown =
                |rank: &&u32| !picture.dumps.contains_key(rank) || picture.of.unsure.contains(rank);
            let unknown = picture.of.groups[key.0].ranks.iter().filter(is_unknown).count();
            found.push(Difference { front: fronts[&key], calls: by_call, unknown });
        }
    }
    found
}

//! Where in the program the process of a rank is, by what it put on its streams.
use std::collections::{BTreeMap, BTreeSet};

use super::Work;
use super::picture::Picture;

/// By how much a rank is behind: in how many communicators, and operations of all of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Behind {
    pub communicators: usize,
    pub operations: u64,
}

impl Behind {
    /// Adds a communicator in which it is behind by so many, if it is.
    pub(super) fn add(&mut self, operations: u64) {
        self.communicators += usize::from(operations > 0);
        self.operations = self.operations.saturating_add(operations);
    }

    pub(super) fn is_as_far_as(self, far: Self) -> bool {
        self.communicators >= far.communicators && self.operations >= far.operations
    }
}

/// What the processes of all ranks put on their streams.
pub(super) struct Places<'p, 'a> {
    picture: &'p Picture<'a>,
    /// Communicators of each rank.
    of_rank: BTreeMap<u32, Vec<usize>>,
    /// Numbers of collectives that somebody has not ended.
    open: BTreeMap<usize, BTreeSet<u64>>,
    /// Of each communicator and rank, how many sends and receives with it a peer has not ended.
    with: BTreeMap<(usize, u32), u64>,
    /// Collectives in which ranks are whose own reports nobody doubts.
    fronts: BTreeMap<usize, BTreeSet<u64>>,
    /// Those ranks.
    witnesses: BTreeSet<u32>,
}

impl<'p, 'a> Places<'p, 'a> {
    /// `doubted` are ranks whose reports are behind those of others.
    pub(super) fn of(picture: &'p Picture<'a>, doubted: &BTreeSet<u32>) -> Self {
        let mut of_rank: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (row, group) in picture.of.groups.iter().enumerate() {
            for &rank in &group.ranks {
                of_rank.entry(rank).or_default().push(row);
            }
        }
        let mut open: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for (&(_, group), pending) in &picture.pending {
            open.entry(group).or_default().extend(pending.keys());
        }
        let mut with: BTreeMap<(usize, u32), u64> = BTreeMap::new();
        for dump in picture.dumps.values() {
            let mut own: BTreeMap<(usize, u32), u64> = BTreeMap::new();
            for one in dump.operations.iter().filter(|one| !one.completed) {
                let Work::Peers(peers) = &one.work else { continue };
                for peer in peers.iter().map(|(peer, _)| *peer).collect::<BTreeSet<u32>>() {
                    *own.entry((one.group, peer)).or_default() += 1;
                }
            }
            for (key, count) in own {
                let most = with.entry(key).or_default();
                *most = count.max(*most);
            }
        }
        let mut fronts: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for (_, front) in picture.waiting().filter(|(rank, _)| !doubted.contains(rank)) {
            if !matches!(front.work, Work::Peers(_)) {
                fronts.entry(front.group).or_default().insert(front.sequence);
            }
        }
        let witnesses = picture
            .dumps
            .keys()
            .copied()
            .filter(|rank| !doubted.contains(rank) && !picture.is_unknown(*rank));
        let witnesses = witnesses.collect();
        Self { picture, of_rank, open, with, fronts, witnesses }
    }

    fn groups(&self, rank: u32) -> impl Iterator<Item = usize> + '_ {
        self.of_rank.get(&rank).into_iter().flatten().copied()
    }

    /// Whether others are in collectives of this rank, and none of these did it put on its stream: they ended all that it
    /// ever began, and nothing more.
    pub(super) fn is_beyond_all(&self, rank: u32) -> bool {
        let mut fronts =
            self.groups(rank).filter_map(|group| Some((group, self.fronts.get(&group)?))).peekable();
        fronts.peek().is_some()
            && fronts.all(|(group, numbers)| {
                numbers.first().is_some_and(|first| self.picture.never_came(rank, group, *first))
            })
    }

    /// Whether the process of another rank, of whose report nothing is doubted, put the same on its streams in all
    /// communicators that both are in, and these are two at least: both are at one place of the program.
    pub(super) fn is_where_a_peer_is(&self, rank: u32) -> bool {
        let mut shared: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
        let last = |rank: u32, group: usize| {
            self.picture.places.get(&(rank, group)).and_then(|place| place.enqueued)
        };
        for group in self.groups(rank) {
            let own = last(rank, group);
            for &peer in
                self.picture.of.groups[group].ranks.iter().filter(|peer| self.witnesses.contains(peer))
            {
                let (count, same) = shared.entry(peer).or_insert((0, true));
                *count += usize::from(own.is_some());
                *same &= own == last(peer, group);
            }
        }
        shared.values().any(|(count, same)| *count > 1 && *same)
    }

    /// By how much a rank is behind those who wait: what they have put on their streams and it has not.
    pub(super) fn behind(&self, rank: u32) -> Behind {
        let mut behind = Behind::default();
        for group in self.groups(rank) {
            let last = self.picture.places.get(&(rank, group)).and_then(|place| place.enqueued);
            let beyond = match (self.open.get(&group), last) {
                (Some(open), Some(last)) => open.range(last.saturating_add(1)..).count() as u64,
                (Some(open), None) => open.len() as u64,
                (None, _) => 0,
            };
            behind.add(beyond.max(self.with.get(&(group, rank)).copied().unwrap_or(0)));
        }
        behind
    }
}

//! Where in the program the process of a rank is, by what it put on its streams.
use std::collections::{BTreeMap, BTreeSet};

use super::Work;
use super::picture::Picture;

/// What the processes of all ranks put on their streams.
pub(super) struct Places<'p, 'a> {
    picture: &'p Picture<'a>,
    /// Communicators of each rank.
    of_rank: BTreeMap<u32, Vec<usize>>,
    /// Numbers of collectives that somebody has not ended.
    open: BTreeMap<usize, BTreeSet<u64>>,
    /// Open sends and receives, by communicator and peer and by the rank that recorded them.
    with: BTreeMap<(usize, u32), BTreeMap<u32, u64>>,
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
        let mut with: BTreeMap<(usize, u32), BTreeMap<u32, u64>> = BTreeMap::new();
        for (&rank, dump) in &picture.dumps {
            for one in dump.operations.iter().filter(|one| !one.completed) {
                let Work::Peers(peers) = &one.work else { continue };
                for peer in peers.iter().map(|(peer, _)| *peer).collect::<BTreeSet<u32>>() {
                    *with.entry((one.group, peer)).or_default().entry(rank).or_default() += 1;
                }
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

    /// Operations that a peer put on its streams and this rank did not: of each communicator the most, and the sum of these.
    pub(super) fn missing(&self, rank: u32) -> u64 {
        let of_group = |group: usize| {
            let last = self.picture.places.get(&(rank, group)).and_then(|place| place.enqueued);
            let beyond = match (self.open.get(&group), last) {
                (Some(open), Some(last)) => open.range(last.saturating_add(1)..).count() as u64,
                (Some(open), None) => open.len() as u64,
                (None, _) => 0,
            };
            let own = |peer: u32| self.with.get(&(group, peer)).and_then(|of| of.get(&rank)).copied();
            let of_peers = self.with.get(&(group, rank)).into_iter().flatten();
            let unmet = of_peers.map(|(&peer, &count)| count.saturating_sub(own(peer).unwrap_or(0))).max();
            beyond.max(unmet.unwrap_or(0))
        };
        self.groups(rank).map(of_group).fold(0, u64::saturating_add)
    }
}

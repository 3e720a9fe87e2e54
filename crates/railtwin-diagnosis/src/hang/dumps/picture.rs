//! How far each rank is in each communicator, what it is in, and for whom that waits.
use std::collections::{BTreeMap, BTreeSet};

use super::{DumpedOperation, Dumps, RankDump, Work};

/// A rank's place in one communicator's collectives.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    /// Number of the last one that it put on its stream; none where nothing tells.
    pub enqueued: Option<u64>,
    /// Number up to which all have ended, as far as it reports.
    pub ended: Option<u64>,
}

/// What a rank is in, or why nothing is known of it.
#[derive(Debug)]
pub(super) enum Standing<'a> {
    /// Of all that it has not ended, what comes first in its program: nothing before it can hold it.
    In(&'a DumpedOperation),
    /// It has ended all that it ever put on a stream.
    Idle,
    /// It left no dump, an empty one, or one that cannot be relied on.
    Unknown,
}

/// Everything that one set of dumps shows.
#[derive(Debug)]
pub(super) struct Picture<'a> {
    pub of: &'a Dumps,
    /// The dump of each rank that has one; of several the latest.
    pub dumps: BTreeMap<u32, &'a RankDump>,
    /// All ranks of all communicators.
    pub ranks: BTreeSet<u32>,
    pub places: BTreeMap<(u32, usize), Place>,
    pub standing: BTreeMap<u32, Standing<'a>>,
    /// For whom each rank waits, if it is in something: empty where all whom it needs are in the same.
    pub waits: BTreeMap<u32, BTreeSet<u32>>,
    /// What each rank has not ended, by communicator and number, collectives only.
    pub pending: BTreeMap<(u32, usize), BTreeMap<u64, &'a DumpedOperation>>,
    /// Communicators in which somebody sends or receives: their counts are of those as well.
    with_peers: BTreeSet<usize>,
}

impl<'a> Picture<'a> {
    pub(super) fn of(of: &'a Dumps) -> Self {
        let mut dumps: BTreeMap<u32, &RankDump> = BTreeMap::new();
        for dump in &of.dumps {
            let known = dumps.entry(dump.rank).or_insert(dump);
            if extent(dump) > extent(known) {
                *known = dump;
            }
        }
        let members = of.groups.iter().flat_map(|group| group.ranks.iter().copied());
        let mut picture = Self {
            of,
            ranks: members.chain(dumps.keys().copied()).chain(of.empty.iter().copied()).collect(),
            dumps,
            places: BTreeMap::new(),
            standing: BTreeMap::new(),
            waits: BTreeMap::new(),
            pending: BTreeMap::new(),
            with_peers: BTreeSet::new(),
        };
        let operations = of.dumps.iter().flat_map(|dump| &dump.operations);
        let of_peers = operations.filter(|operation| matches!(operation.work, Work::Peers(_)));
        picture.with_peers = of_peers.map(|operation| operation.group).collect();
        for (&rank, dump) in &picture.dumps.clone() {
            picture.place(rank, dump);
        }
        for &rank in &picture.ranks.clone() {
            let standing = picture.stand(rank);
            picture.standing.insert(rank, standing);
        }
        for &rank in &picture.ranks.clone() {
            if let Some(Standing::In(front)) = picture.standing.get(&rank) {
                let waits = picture.waits_of(rank, front);
                picture.waits.insert(rank, waits);
            }
        }
        picture
    }

    /// Counts of one rank in all of its communicators.
    fn place(&mut self, rank: u32, dump: &'a RankDump) {
        for operation in dump.operations.iter().filter(|one| !matches!(one.work, Work::Peers(_))) {
            let key = (rank, operation.group);
            let place = self.places.entry(key).or_default();
            place.enqueued = place.enqueued.max(Some(operation.sequence));
            if operation.completed {
                place.ended = place.ended.max(Some(operation.sequence));
            } else {
                self.pending.entry(key).or_default().insert(operation.sequence, operation);
            }
        }
        for (&group, &(enqueued, completed)) in &dump.status {
            if !self.with_peers.contains(&group) {
                let place = self.places.entry((rank, group)).or_default();
                place.enqueued = place.enqueued.max(enqueued);
                place.ended = place.ended.max(completed);
            }
        }
        // Collectives of a communicator end in their order.
        for (key, pending) in self.pending.range((rank, 0)..=(rank, usize::MAX)) {
            let place = self.places.entry(*key).or_default();
            if let Some((&first, _)) = pending.first_key_value()
                && place.ended.is_some_and(|ended| ended >= first)
            {
                place.ended = first.checked_sub(1);
            }
        }
    }

    fn stand(&self, rank: u32) -> Standing<'a> {
        let Some(dump) = self.dumps.get(&rank).filter(|_| !self.of.unsure.contains(&rank)) else {
            return Standing::Unknown;
        };
        let open = dump.operations.iter().filter(|operation| !operation.completed);
        if let Some(front) = open.min_by_key(|operation| operation.record) {
            return Standing::In(front);
        }
        // Its own counts say that something is open, of which no record is left.
        let lost =
            dump.status.values().any(|(enqueued, completed)| enqueued.is_some() && enqueued != completed);
        if lost || dump.operations.is_empty() && dump.status.is_empty() {
            Standing::Unknown
        } else {
            Standing::Idle
        }
    }

    /// For whom an operation of a rank waits.
    fn waits_of(&self, rank: u32, front: &DumpedOperation) -> BTreeSet<u32> {
        match &front.work {
            Work::Peers(peers) => peers
                .iter()
                .filter(|(peer, sends)| *peer != rank && !self.meets(*peer, rank, !sends))
                .map(|(peer, _)| *peer)
                .collect(),
            _ => {
                let members = &self.of.groups[front.group].ranks;
                let others = members.iter().copied().filter(|member| *member != rank);
                others.filter(|&member| !self.is_in(member, front.group, front.sequence)).collect()
            }
        }
    }

    /// Whether a rank is in a collective, or is through with it.
    pub(super) fn is_in(&self, rank: u32, group: usize, sequence: u64) -> bool {
        if let Some(Standing::In(front)) = self.standing.get(&rank)
            && !matches!(front.work, Work::Peers(_))
            && (front.group, front.sequence) == (group, sequence)
        {
            return true;
        }
        let known = self.dumps.contains_key(&rank) && !self.of.unsure.contains(&rank);
        known
            && self
                .places
                .get(&(rank, group))
                .and_then(|place| place.ended)
                .is_some_and(|ended| ended >= sequence)
    }

    /// Whether a rank is in a send to another, or in a receive from it.
    fn meets(&self, rank: u32, other: u32, sends: bool) -> bool {
        match self.standing.get(&rank) {
            Some(Standing::In(front)) => {
                matches!(&front.work, Work::Peers(peers) if peers.contains(&(other, sends)))
            }
            _ => false,
        }
    }

    /// Whether a rank never put this collective on its stream.
    pub(super) fn never_came(&self, rank: u32, group: usize, sequence: u64) -> bool {
        self.places.get(&(rank, group)).and_then(|place| place.enqueued).is_none_or(|last| last < sequence)
    }

    /// Ranks that are in something.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, &'a DumpedOperation)> {
        self.standing.iter().filter_map(|(&rank, standing)| match standing {
            Standing::In(front) => Some((rank, *front)),
            _ => None,
        })
    }

    pub(super) fn is_idle(&self, rank: u32) -> bool {
        matches!(self.standing.get(&rank), Some(Standing::Idle))
    }

    pub(super) fn is_unknown(&self, rank: u32) -> bool {
        !matches!(self.standing.get(&rank), Some(Standing::Idle | Standing::In(_)))
    }

    /// Ranks from which one of `ends` can be reached by who waits for whom, these included.
    pub(super) fn leading_to(&self, ends: &BTreeSet<u32>) -> BTreeSet<u32> {
        let mut reached = ends.clone();
        loop {
            let more: Vec<u32> = self
                .waits
                .iter()
                .filter(|(rank, of)| {
                    !reached.contains(rank) && of.iter().any(|other| reached.contains(other))
                })
                .map(|(rank, _)| *rank)
                .collect();
            if more.is_empty() {
                return reached;
            }
            reached.extend(more);
        }
    }

    /// The ends of who waits for whom: ranks from which all that can be reached leads back to them. Each set stands for
    /// itself; ranks that are in one operation, which all have come to, are one set.
    pub(super) fn sinks(&self) -> Vec<BTreeSet<u32>> {
        let reach = |from: u32| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(rank) = open.pop() {
                if seen.insert(rank) {
                    open.extend(self.waits.get(&rank).into_iter().flatten().copied());
                }
            }
            seen
        };
        let waited: BTreeSet<u32> = self.waits.values().flatten().chain(self.waits.keys()).copied().collect();
        let all: BTreeMap<u32, BTreeSet<u32>> = waited.iter().map(|&rank| (rank, reach(rank))).collect();
        let mut sinks: Vec<BTreeSet<u32>> = Vec::new();
        for (rank, of) in &all {
            if of.iter().any(|other| all.get(other).is_some_and(|back| !back.contains(rank))) {
                continue;
            }
            let mut set = of.clone();
            // All are within: nobody waits for anybody, and it is one of them or what joins them.
            if let Some(Standing::In(front)) = self.standing.get(rank)
                && self.waits.get(rank).is_some_and(BTreeSet::is_empty)
            {
                set.extend(self.company(*rank, front));
            }
            match sinks.iter_mut().find(|known| !known.is_disjoint(&set)) {
                Some(known) => known.extend(set),
                None => sinks.push(set),
            }
        }
        sinks
    }

    /// Who is in the same operation as a rank.
    fn company(&self, rank: u32, front: &DumpedOperation) -> Vec<u32> {
        match &front.work {
            Work::Peers(peers) => peers.iter().map(|(peer, _)| *peer).collect(),
            _ => {
                let members = self.of.groups[front.group].ranks.iter().copied();
                let same = |one: &u32| match self.standing.get(one) {
                    Some(Standing::In(other)) => {
                        (other.group, other.sequence) == (front.group, front.sequence)
                    }
                    _ => false,
                };
                members.filter(|one| *one != rank && same(one)).collect()
            }
        }
    }
}

/// How much a dump has seen: of two of one rank the later one has more.
fn extent(dump: &RankDump) -> (u64, u64) {
    let counts =
        dump.status.values().map(|(enqueued, completed)| enqueued.unwrap_or(0) + completed.unwrap_or(0));
    let record = dump.operations.iter().map(|operation| operation.record).max();
    (counts.sum(), record.unwrap_or(0))
}

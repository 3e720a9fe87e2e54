//! Which ranks process groups have, as far as lines of PyTorch's watchdog tell.
//!
//! A line has the rank in the job and the one in the group. PyTorch sorts the ranks of a group, so both rise together: what
//! stands between two that are known is known where as many ranks of the job lie between them as of the group. How many
//! ranks there are behind the last one only a size tells.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{ClusterLog, WatchdogMember, WatchdogState, WatchdogTimeout};

use super::super::flight::RANKS_MOST;

/// Ranks from which the distance of those of a group is taken; of two neighbors it is one.
const SPACED_LEAST: usize = 3;

/// Name and purpose of a group.
pub(super) type Key<'a> = (&'a str, &'a str);

/// Ranks of a process group.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// Ranks of the job that are, or by the order of the others must be, of the group.
    pub ranks: BTreeSet<u32>,
    /// Ranks of the group of which nothing tells which of the job they are.
    pub nameless: Vec<u32>,
    /// Whether these are all: a line tells how many there are.
    pub is_whole: bool,
}

/// Groups of which something is said. One whose lines do not fit together is several of one name, and none.
pub(super) fn members<'a>(
    logs: &'a [(String, ClusterLog)],
    states: &[&'a WatchdogState],
    timeouts: &[&WatchdogTimeout],
    world: Option<u32>,
) -> BTreeMap<Key<'a>, Members> {
    let mut seen: BTreeMap<Key<'a>, BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
    let mut of_all: BTreeSet<Key<'a>> = BTreeSet::new();
    for state in states {
        let key = (state.group.as_str(), state.description.as_str());
        seen.entry(key).or_default().entry(state.group_rank).or_default().extend(state.rank);
        of_all.extend(state.is_of_all().then_some(key));
    }
    // When a group is made it has no purpose yet.
    let mut made: BTreeMap<&str, Vec<&WatchdogMember>> = BTreeMap::new();
    for member in logs.iter().flat_map(|(_, log)| &log.members) {
        made.entry(&member.group).or_default().push(member);
    }
    let mut sizes: BTreeMap<Key<'a>, u32> = BTreeMap::new();
    let mut unlike: BTreeSet<Key<'a>> = BTreeSet::new();
    for (key, of) in &mut seen {
        let made = made.get(key.0).map_or(&[][..], Vec::as_slice);
        for member in made {
            of.entry(member.group_rank).or_default().insert(member.rank);
        }
        let ranks: BTreeSet<u32> = of.values().flatten().copied().collect();
        if of.values().any(|ranks| ranks.len() != 1) || ranks.len() != of.len() {
            unlike.insert(*key);
            continue;
        }
        let told = made.iter().map(|member| member.size);
        let told =
            told.chain(states.iter().filter(|state| key_of(state) == *key).filter_map(|state| {
                size_by_elements(timeouts.iter().copied().find(|one| is_of(one, state))?)
            }));
        let told: BTreeSet<u32> =
            told.chain(world.filter(|_| of_all.contains(key))).filter(|size| *size < RANKS_MOST).collect();
        let last = of.keys().last().copied().unwrap_or(0);
        if let Some(&size) = told.first().filter(|size| told.len() == 1 && **size > last) {
            sizes.insert(*key, size);
        }
    }
    seen.retain(|key, _| !unlike.contains(key));
    // Groups for one purpose have as many ranks, as a rule.
    let mut usual: BTreeMap<&str, u32> = BTreeMap::new();
    for (key, of) in seen.iter().filter(|(key, _)| !matches!(key.1, "" | "undefined")) {
        let size = sizes.get(key).copied().or(of.keys().last().map(|last| last.saturating_add(1)));
        let most = usual.entry(key.1).or_default();
        *most = size.unwrap_or(0).max(*most);
    }
    let rows = seen.iter().map(|(key, of)| {
        let of: BTreeMap<u32, u32> =
            of.iter().filter_map(|(&place, ranks)| Some((place, *ranks.first()?))).collect();
        // A rank is in one group for a purpose.
        let others = seen.iter().filter(|(other, _)| *other != key && other.1 == key.1 && !key.1.is_empty());
        let taken: BTreeSet<u32> = others.flat_map(|(_, of)| of.values().flatten().copied()).collect();
        let mut members =
            of_group(&of, sizes.get(key).copied(), usual.get(key.1).copied().unwrap_or(0), &taken);
        if of_all.contains(key) {
            // Its ranks are those of the job. A number that no rank can have is no reason to make so many.
            let last = of.values().last().map_or(0, |last| last.saturating_add(1));
            let count = last.max(sizes.get(key).copied().unwrap_or(0)).min(RANKS_MOST);
            members.ranks.extend(0..count);
            members.nameless.clear();
        }
        (*key, members)
    });
    rows.collect()
}

fn key_of(state: &WatchdogState) -> Key<'_> {
    (&state.group, &state.description)
}

/// Whether a line of a timeout is of the operation that a state tells to have failed.
pub(super) fn is_of(timeout: &WatchdogTimeout, state: &WatchdogState) -> bool {
    timeout.rank == state.rank
        && timeout.sequence.is_some()
        && timeout.sequence == state.failed
        && timeout.group.as_ref().is_none_or(|(name, _)| *name == state.group)
}

/// Ranks of a group by what an all-gather gives out of what each takes in, and a reduce-scatter the other way round.
fn size_by_elements(timeout: &WatchdogTimeout) -> Option<u32> {
    let [taken, given] = timeout.elements?;
    let (part, whole) = match timeout.kind.as_str() {
        "all-gather" => (taken, given),
        "reduce-scatter" => (given, taken),
        _ => return None,
    };
    let is_even = part > 0 && whole > part && whole.is_multiple_of(part);
    u32::try_from(whole.checked_div(part)?).ok().filter(|_| is_even)
}

/// Ranks of a group of which some are known, by their place in it. `size` is told, `usual` what others for the same purpose
/// have, `taken` who is in one of these.
fn of_group(seen: &BTreeMap<u32, u32>, size: Option<u32>, usual: u32, taken: &BTreeSet<u32>) -> Members {
    let last = seen.keys().last().map_or(0, |last| last.saturating_add(1));
    let count = size.unwrap_or(last.max(usual)).min(RANKS_MOST);
    let mut members = Members { ranks: seen.values().copied().collect(), ..Members::default() };
    let rises = seen.values().zip(seen.values().skip(1)).all(|(one, next)| one < next);
    let spaced = rises.then(|| spaced(seen)).flatten();
    for place in (0..count).filter(|place| !seen.contains_key(place)) {
        // Both as one more, so that what stands before the first has a number.
        let before = seen.range(..place).next_back().map_or((0, 0), |(at, rank)| (at + 1, rank + 1));
        let after = seen.range(place..).next().map(|(at, rank)| (at + 1, rank + 1));
        let is_full = |after: (u32, u32)| after.1.checked_sub(before.1) == Some(after.0 - before.0);
        let rank = match after {
            Some(after) if rises && is_full(after) => Some(before.1 + (place - before.0)),
            _ => spaced
                .and_then(|(first, apart)| first.checked_add(apart.checked_mul(place)?))
                .filter(|rank| *rank < RANKS_MOST && !taken.contains(rank)),
        };
        match rank {
            Some(rank) => members.ranks.extend([rank]),
            None => members.nameless.push(place),
        }
    }
    members.is_whole = size.is_some() && members.nameless.is_empty();
    members
}

/// First rank and distance of ranks that stand evenly apart.
fn spaced(seen: &BTreeMap<u32, u32>) -> Option<(u32, u32)> {
    let mut known = seen.iter();
    let ((&place, &rank), (&next_place, &next)) = (known.next()?, known.next()?);
    let apart = next.checked_sub(rank)?.checked_div(next_place - place)?;
    let first = rank.checked_sub(apart.checked_mul(place)?)?;
    let is_even = seen
        .iter()
        .all(|(place, rank)| u64::from(first) + u64::from(apart) * u64::from(*place) == u64::from(*rank));
    (apart > 0 && is_even && (apart == 1 || seen.len() >= SPACED_LEAST)).then_some((first, apart))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(seen: &[(u32, u32)], size: Option<u32>, usual: u32, taken: &[u32]) -> (Vec<u32>, Vec<u32>, bool) {
        let of = of_group(&seen.iter().copied().collect(), size, usual, &taken.iter().copied().collect());
        (of.ranks.into_iter().collect(), of.nameless, of.is_whole)
    }

    #[test]
    fn ranks_that_say_nothing_are_told_by_the_order_of_those_that_do() {
        // Ranks 4 to 7 without the second: one rank of the job stands between its neighbors.
        assert_eq!(told(&[(0, 4), (2, 6), (3, 7)], None, 0, &[]), (vec![4, 5, 6, 7], vec![], false));
        assert_eq!(told(&[(4, 4), (6, 6)], None, 0, &[]).0, (0..7).collect::<Vec<u32>>());
        // Every eighth rank: three of them show it, two do not.
        assert_eq!(told(&[(0, 1), (2, 17), (3, 25)], None, 0, &[]).0, [1, 9, 17, 25]);
        assert_eq!(told(&[(0, 1), (2, 17)], None, 0, &[]), (vec![1, 17], vec![1], false));
        // What an even distance gives is of another group.
        assert_eq!(told(&[(0, 1), (2, 17), (3, 25)], None, 0, &[9]), (vec![1, 17, 25], vec![1], false));
        // The last one is told by a size alone.
        assert_eq!(told(&[(0, 4), (1, 5), (2, 6)], None, 0, &[]), (vec![4, 5, 6], vec![], false));
        assert_eq!(told(&[(0, 4), (1, 5), (2, 6)], Some(4), 0, &[]), (vec![4, 5, 6, 7], vec![], true));
        assert_eq!(told(&[(0, 4), (1, 5), (2, 6)], None, 4, &[]), (vec![4, 5, 6, 7], vec![], false));
        // Ranks in an order of their own tell nothing of each other.
        assert_eq!(told(&[(0, 6), (2, 4)], Some(3), 0, &[]), (vec![4, 6], vec![1], false));
        assert_eq!(told(&[(0, 6), (1, 4)], Some(2), 0, &[]), (vec![4, 6], vec![], true));
    }

    proptest! {
        /// Of a group of neighbors, whoever is silent, nobody else is taken for a member, and all are where the size is told
        /// and two speak.
        #[test]
        fn of_neighbors_nobody_else_is_taken(first in 0..40_u32, size in 2..12_u32, speaks in any::<u16>()) {
            let all: Vec<(u32, u32)> = (0..size).map(|place| (place, first + place)).collect();
            let seen: Vec<(u32, u32)> = all.iter().copied().filter(|(place, _)| speaks >> place & 1 == 1).collect();
            prop_assume!(!seen.is_empty());
            let (ranks, _, is_whole) = told(&seen, None, 0, &[]);
            let group: Vec<u32> = all.iter().map(|(_, rank)| *rank).collect();
            prop_assert!(ranks.iter().all(|rank| group.contains(rank)) && !is_whole);
            let (ranks, nameless, is_whole) = told(&seen, Some(size), 0, &[]);
            prop_assert!(ranks.iter().all(|rank| group.contains(rank)));
            prop_assert_eq!(ranks.len() + nameless.len(), size as usize);
            prop_assert_eq!(is_whole, nameless.is_empty());
        }

        /// Whatever numbers lines have, nothing panics and who speaks is a member.
        #[test]
        fn any_numbers_are_borne(seen in proptest::collection::btree_map(0..600_u32, 0..1_u32 << 20, 1..6), usual in 0..99_u32) {
            let of = of_group(&seen, None, usual, &BTreeSet::new());
            prop_assert!(seen.values().all(|rank| of.ranks.contains(rank)));
        }
    }
}

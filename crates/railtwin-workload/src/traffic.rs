//! Plain transfers between ranks without a collective: listed one by one, or by a pattern that benchmarks use.
use std::collections::BTreeMap;

use railtwin_units::{SimTime, stream};
use rand::RngExt;

use crate::collective::Collective;
use crate::error::WorkloadError;
use crate::plan::{Axis, Operation, Pattern, Plan, PlanBuilder, Work};

/// Most transfers of a pattern: an all-to-all of 4,096 ranks.
const MOST_TRANSFERS: u64 = 1 << 24;

/// Bytes from one rank to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Transfer {
    /// When it starts, counted from the start of the job.
    pub start: SimTime,
    /// Bytes.
    pub bytes: u64,
    /// Rank that sends.
    pub source: u32,
    /// Rank that receives; another one.
    pub target: u32,
}

/// Who sends to whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Every rank to one other and from one other, drawn evenly among the permutations without fixed point.
    Permutation {
        /// Seed of the stream `traffic/permutation`.
        seed: u64,
    },
    /// Rank `i` to rank `(i + by) mod n`.
    Shift {
        /// By how many ranks; not a multiple of their number.
        by: u32,
    },
    /// Several ranks to one: the first `sources` of the others.
    Incast {
        /// Ranks that send.
        sources: u32,
        /// Rank that receives.
        target: u32,
    },
    /// Every rank to every other.
    AllToAll,
}

impl Traffic {
    /// Sender and receiver of every transfer over `ranks`, in order of senders.
    ///
    /// # Errors
    /// [`WorkloadError`] for a pattern that so many ranks cannot have, with what would be accepted.
    pub fn pairs(self, ranks: u32) -> Result<Vec<(u32, u32)>, WorkloadError> {
        if ranks < 2 {
            return Err(WorkloadError::new("gpus", ranks, "traffic needs two GPUs or more"));
        }
        let each = 0..ranks;
        Ok(match self {
            Self::Permutation { seed } => each.zip(derangement(ranks, seed)).collect(),
            Self::Shift { by } if by % ranks == 0 => {
                let accepted = format!("every rank would send to itself: write 1 to {}", ranks - 1);
                return Err(WorkloadError::new("shift", by, accepted));
            }
            Self::Shift { by } => each.map(|rank| (rank, (rank + by % ranks) % ranks)).collect(),
            Self::Incast { target, .. } if target >= ranks => {
                let accepted = format!("there are {ranks} ranks: write 0 to {}", ranks - 1);
                return Err(WorkloadError::new("target", target, accepted));
            }
            Self::Incast { sources, .. } if sources == 0 || sources >= ranks => {
                let accepted = format!("{} ranks can send to one: write 1 to that", ranks - 1);
                return Err(WorkloadError::new("sources", sources, accepted));
            }
            Self::Incast { sources, target } => {
                let others = each.filter(|&rank| rank != target).take(sources as usize);
                others.map(|rank| (rank, target)).collect()
            }
            Self::AllToAll if u64::from(ranks) * u64::from(ranks - 1) > MOST_TRANSFERS => {
                return Err(WorkloadError::new("gpus", ranks, "an all-to-all may have 4096 GPUs"));
            }
            Self::AllToAll => {
                let others = |rank| (0..ranks).filter(move |&other| other != rank);
                each.flat_map(|rank| others(rank).map(move |other| (rank, other))).collect()
            }
        })
    }
}

/// An even draw among the permutations without fixed point: shuffles (Fisher and Yates) until there is none, which
/// takes e of them on average.
fn derangement(ranks: u32, seed: u64) -> Vec<u32> {
    let mut random = stream::named(seed, "traffic/permutation");
    let mut targets: Vec<u32> = (0..ranks).collect();
    loop {
        for last in (1..targets.len()).rev() {
            targets.swap(last, random.random_range(0..=last));
        }
        if targets.iter().zip(0..).all(|(&target, rank)| target != rank) {
            return targets;
        }
    }
}

/// The plan of transfers: one send/receive operation for each start and size, in that order, which a computation
/// in a lane of its own holds back until its start. Within an operation transfers keep the order of the list.
pub fn plan_of_transfers(ranks: u32, transfers: &[Transfer]) -> Plan {
    let mut groups: BTreeMap<(SimTime, u64), Vec<u32>> = BTreeMap::new();
    for transfer in transfers {
        let pairs = groups.entry((transfer.start, transfer.bytes)).or_default();
        pairs.extend([transfer.source, transfer.target]);
    }
    let mut starts: Vec<SimTime> = groups.keys().map(|&(start, _)| start).collect();
    starts.dedup();
    let lanes = starts.iter().map(|start| match *start {
        SimTime::ZERO => "all ranks".to_owned(),
        later => format!("from {later}"),
    });
    let mut builder = PlanBuilder::new(ranks, lanes.collect());
    let axis = Axis::Other;
    let mut held: Option<(SimTime, Vec<_>)> = None;
    let mut lane = 0;
    for ((start, bytes), pairs) in groups {
        let after = match held.take() {
            Some((time, after)) if time == start => after,
            earlier => {
                lane += u32::from(earlier.is_some());
                let mut wait = || {
                    let (name, work) = (builder.name("wait for the start"), Work::Compute(start));
                    builder.push(Operation { lane, name, axis, work }, &[])
                };
                if start == SimTime::ZERO { Vec::new() } else { vec![wait()] }
            }
        };
        let collective = Collective::SendReceive;
        let pattern = builder.pattern(Pattern::new(axis, collective, None, vec![pairs]));
        let name = builder.name(collective.name());
        let work = Work::Communicate { pattern, bytes };
        builder.push(Operation { lane, name, axis, work }, &after);
        held = Some((start, after));
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_permutation_has_no_fixed_point_and_repeats(ranks in 2u32..300, seed: u64) {
            let pairs = Traffic::Permutation { seed }.pairs(ranks).unwrap();
            prop_assert_eq!(&pairs, &Traffic::Permutation { seed }.pairs(ranks).unwrap());
            prop_assert!(pairs.iter().all(|(source, target)| source != target));
            let mut targets: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
            targets.sort_unstable();
            prop_assert_eq!(targets, (0..ranks).collect::<Vec<u32>>());
        }

        #[test]
        fn every_pattern_keeps_to_its_ranks(ranks in 0u32..80, by: u32, sources in 0u32..80, target in 0u32..80) {
            for traffic in [Traffic::Shift { by }, Traffic::Incast { sources, target }, Traffic::AllToAll] {
                for (source, target) in traffic.pairs(ranks).unwrap_or_default() {
                    prop_assert!(source < ranks && target < ranks && source != target);
                }
            }
        }
    }

    #[test]
    fn patterns_send_as_their_names_say() {
        assert_eq!(Traffic::Shift { by: 2 }.pairs(3).unwrap(), [(0, 2), (1, 0), (2, 1)]);
        assert_eq!(Traffic::Incast { sources: 2, target: 1 }.pairs(4).unwrap(), [(0, 1), (2, 1)]);
        let all = Traffic::AllToAll.pairs(3).unwrap();
        assert_eq!(all, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
    }

    #[test]
    fn what_no_ranks_can_do_is_refused() {
        let refused = |traffic: Traffic, ranks| traffic.pairs(ranks).unwrap_err().to_string();
        assert!(refused(Traffic::Shift { by: 8 }, 4).contains("shift = 8"));
        assert!(refused(Traffic::Incast { sources: 4, target: 0 }, 4).contains("3 ranks can send"));
        assert!(refused(Traffic::Incast { sources: 1, target: 4 }, 4).contains("target = 4"));
        assert!(refused(Traffic::AllToAll, 1).contains("two GPUs"));
        assert!(refused(Traffic::AllToAll, 4098).contains("4096"));
    }

    #[test]
    fn transfers_alike_are_one_operation_and_later_ones_wait() {
        let at = |ns, bytes, source, target| Transfer { start: SimTime::from_ns(ns), bytes, source, target };
        let plan = plan_of_transfers(4, &[at(0, 9, 0, 1), at(5, 9, 1, 2), at(0, 9, 3, 1), at(5, 7, 2, 3)]);
        assert_eq!(plan.lanes, ["all ranks", "from 5 ns"]);
        let communicators: Vec<&[u32]> =
            plan.patterns.iter().map(|pattern| pattern.communicators[0].as_slice()).collect();
        assert_eq!(communicators, [&[0, 1, 3, 1][..], &[2, 3], &[1, 2]]);
        let works: Vec<Work> = plan.operations.iter().map(|operation| operation.work).collect();
        assert_eq!(works[1], Work::Compute(SimTime::from_ns(5)));
        assert_eq!(works.len(), 4);
        let waits: Vec<usize> = (0..4).map(|id| plan.dependencies_of(crate::OperationId(id)).len()).collect();
        assert_eq!(waits, [0, 0, 1, 1]);
        assert_eq!(
            plan.operations.iter().map(|operation| operation.lane).collect::<Vec<u32>>(),
            [0, 1, 1, 1]
        );
    }
}

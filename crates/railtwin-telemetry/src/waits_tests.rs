//! The closed forms against the recursion, stage by stage.
use proptest::prelude::*;

use super::*;

/// When each stage of the hop into each position ends, and how long its receiver waited for it; `times` by hop,
/// `ahead` the stages that a hop may be ahead of the next.
struct Ring {
    ends: Vec<Vec<f64>>,
    waits: Vec<Vec<f64>>,
    /// Stages of each hop that began when the next hop let them, not when their data came.
    by_credit: Vec<usize>,
}

fn recursion(entries: &[f64], times: &[f64], stages: usize, ahead: usize) -> Ring {
    let n = entries.len();
    let mut ring =
        Ring { ends: vec![vec![0.0; n]; stages], waits: vec![vec![0.0; n]; stages], by_credit: vec![0; n] };
    for stage in 0..stages {
        for into in 0..n {
            let (before, after) = ((into + n - 1) % n, (into + 1) % n);
            let own = if stage > 0 { ring.ends[stage - 1][into] } else { 0.0 };
            let data = if stage > 0 { ring.ends[stage - 1][before] } else { 0.0 };
            let credit = if stage >= ahead { ring.ends[stage - ahead][after] } else { 0.0 };
            let ready = entries[into].max(own);
            let start = ready.max(entries[before]).max(data).max(credit);
            ring.by_credit[into] += usize::from(credit > data.max(ready));
            ring.waits[stage][into] = start - ready;
            ring.ends[stage][into] = start + times[into];
        }
    }
    ring
}

fn closed_first(entries: &[f64], patience: f64) -> Vec<Option<u32>> {
    let queries: Vec<(u32, f64)> = (0..).zip(entries.iter().copied()).collect();
    let mut found = vec![None; entries.len()];
    first_waits(entries, patience, &queries, &mut Stack::default(), |query, stage| found[query] = stage);
    found
}

proptest! {
    #[test]
    fn waits_for_late_ranks_are_those_of_the_recursion(
        entries in prop::collection::vec(0_u32..1_000, 2..64),
        all_reduce: bool,
        patience in 0_u32..300,
    ) {
        let entries: Vec<f64> = entries.into_iter().map(f64::from).collect();
        let (n, patience) = (entries.len(), f64::from(patience));
        let stages = if all_reduce { 2 * (n - 1) } else { n - 1 };
        let ring = recursion(&entries, &vec![10.0; n], stages, usize::MAX);
        let latest = entries.iter().copied().fold(0.0, f64::max);
        let first = closed_first(&entries, patience);
        for at in 0..n {
            let total: f64 = (0..stages).map(|stage| ring.waits[stage][at]).sum();
            prop_assert!((total - (latest - entries[at])).abs() < 1e-6, "waits for all that are later");
            prop_assert!((ring.ends[stages - 1][at] - (latest + 10.0 * stages as f64)).abs() < 1e-6);
            // The stage at which what was waited so far is more than patience.
            let mut so_far = 0.0;
            let exact = (0..stages).find(|&stage| {
                so_far += ring.waits[stage][at];
                so_far > patience
            });
            prop_assert_eq!(first[at].map(|stage| stage as usize), exact, "position {}", at);
        }
    }

    #[test]
    fn a_late_rank_waits_least_and_its_successor_first(n in 2_usize..64, late in 0_usize..64, by in 1_u32..1_000) {
        let late = late % n;
        let entries: Vec<f64> = (0..n).map(|at| if at == late { f64::from(by) } else { 0.0 }).collect();
        let first = closed_first(&entries, 0.0);
        prop_assert_eq!(first[late], None);
        for distance in 1..n {
            prop_assert_eq!(first[(late + distance) % n], Some(distance as u32 - 1));
        }
    }

    #[test]
    fn a_slow_hop_sets_the_pace_and_who_is_behind_it_waits_from_its_distance_on(
        n in 3_usize..64,
        slow in 0_usize..64,
        times in 2_u32..9,
    ) {
        let slow = slow % n;
        let (stages, slow_time) = (2 * (n - 1), 10.0 * f64::from(times));
        let hops: Vec<f64> = (0..n).map(|at| if at == slow { slow_time } else { 10.0 }).collect();
        let ring = recursion(&vec![0.0; n], &hops, stages, usize::MAX);
        let end = ring.ends[stages - 1].iter().copied().fold(0.0, f64::max);
        prop_assert!((end - slow_time * stages as f64).abs() < 1e-6, "the slow hop is the last to end");
        for distance in 1..n.min(stages) {
            let at = (slow + distance) % n;
            let first = (0..stages).find(|&stage| ring.waits[stage][at] > 0.0);
            prop_assert_eq!(first, Some(distance), "as many stages as hops lie between are there already");
        }
    }

    #[test]
    fn late_ranks_and_a_slow_hop_together_cost_no_more_than_both(
        entries in prop::collection::vec(0_u32..1_000, 2..64),
        slow in 0_usize..64,
    ) {
        let entries: Vec<f64> = entries.into_iter().map(f64::from).collect();
        let n = entries.len();
        let stages = 2 * (n - 1);
        let hops: Vec<f64> = (0..n).map(|at| if at == slow % n { 30.0 } else { 10.0 }).collect();
        let ring = recursion(&entries, &hops, stages, usize::MAX);
        let (end, latest) = (ring.ends[stages - 1].iter().copied().fold(0.0, f64::max), entries.iter().copied().fold(0.0, f64::max));
        let closed = latest + 30.0 * stages as f64;
        prop_assert!(end <= closed + 1e-6);
        // What the closed form adds at most: the slow hop works while it waits for the latest.
        prop_assert!(end >= latest + 10.0 * stages as f64 - 1e-6);
        prop_assert!(end >= closed - latest - 1e-6);
    }

    #[test]
    fn credit_holds_back_whom_the_rule_names(n in 8_usize..64, ahead in 1_usize..6) {
        let hops: Vec<f64> = (0..n).map(|at| if at == 0 { 40.0 } else { 10.0 }).collect();
        let stages = 8 * n;
        let ring = recursion(&vec![0.0; n], &hops, stages, ahead);
        for distance in 1..n {
            let named = |distance: usize| credit_is_tighter(distance as u32, n as u32, ahead as f64, 0.25);
            // At the border itself the first stages decide.
            let sure = named(distance - 1) == named((distance + 1).min(n));
            if sure {
                let named = named(distance);
                let often = ring.by_credit[distance] > stages / 2;
                prop_assert_eq!(often, named, "{} hops after the slow one of {}", distance, n);
            }
        }
    }

    #[test]
    fn subtrees_hold_their_latest(entries in prop::collection::vec(0_u32..1_000, 2..40)) {
        let n = entries.len() as u32;
        for edges in railtwin_workload::tree::double_binary_tree(n) {
            let mut latest: Vec<f64> = entries.iter().copied().map(f64::from).collect();
            subtrees(&mut latest, &from_leaves(&edges, n as usize));
            for node in 0..n {
                let below = |mut at: u32| loop {
                    if at == node {
                        return true;
                    }
                    match edges.iter().find(|edge| edge.0 == at) {
                        Some(&(_, up)) => at = up,
                        None => return false,
                    }
                };
                let exact = (0..n).filter(|&at| below(at)).map(|at| entries[at as usize]).max();
                prop_assert_eq!(Some(latest[node as usize] as u32), exact);
            }
        }
    }
}

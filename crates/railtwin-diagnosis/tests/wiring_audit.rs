//! Cables against a blueprint: what is wrong is found, nothing is invented, and no plan of work is shorter.
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use proptest::prelude::*;
use railtwin_diagnosis::wiring::{
    Audit, Blueprint, FarEnd, MoveAction, Sighting, WiringFault, sightings_of_list,
};
use railtwin_fabric::cable_list::{CableList, Inference, list_of};
use railtwin_fabric::preset::Hpn;
use railtwin_units::stream;
use rand::RngExt;

/// A network of ports that stand on a device each, with these cables.
fn ports_with(cables: &[[u8; 2]], ports: u8) -> Blueprint {
    let mut list = CableList::default();
    for port in 0..ports {
        let device = list.device(&format!("leaf-{port}"));
        list.port(device, "p", None, 0);
    }
    for cable in cables {
        list.join(cable.map(u32::from), None).expect("a free port");
    }
    let found = Inference::of(&list).expect("leaves");
    Blueprint::new(list, found)
}

/// All that is plugged in, with free ports.
fn seen(cables: &[[u8; 2]], ports: u8) -> Vec<Sighting> {
    sightings_of_list(ports_with(cables, ports).list())
}

/// The cables after all moves, each as its lower and its higher port.
fn repaired(audit: &Audit<'_>, seen: impl IntoIterator<Item = [u32; 2]>) -> BTreeSet<[u32; 2]> {
    let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
    let mut cables: Vec<[u32; 2]> = seen.into_iter().map(sorted).collect();
    for one in audit.repairs.iter().flat_map(|repair| &repair.moves) {
        let old = sorted([one.stays, one.from]);
        let at = cables.iter().position(|cable| *cable == old);
        match one.action {
            MoveAction::Lay => cables.push(old),
            MoveAction::TakeOut => drop(cables.remove(at.expect("a cable to take out"))),
            MoveAction::Move => cables[at.expect("a cable to move")] = sorted([one.stays, one.to]),
        }
    }
    let set: BTreeSet<[u32; 2]> = cables.iter().copied().collect();
    assert_eq!(set.len(), cables.len());
    set
}

/// The fewest moves from one set of cables to another, found by trying all of them: an end in the hand is `u8::MAX`.
fn fewest(from: &[[u8; 2]], to: &[[u8; 2]], ports: u8) -> usize {
    const HAND: u8 = u8::MAX;
    let normal = |mut cables: Vec<[u8; 2]>| {
        cables.iter_mut().for_each(|cable| cable.sort_unstable());
        cables.sort_unstable();
        cables
    };
    let (from, to) = (normal(from.to_vec()), normal(to.to_vec()));
    let most = from.len().max(to.len());
    let mut best: BTreeMap<Vec<[u8; 2]>, usize> = BTreeMap::from([(from.clone(), 0)]);
    let mut queue = BinaryHeap::from([(std::cmp::Reverse(0), from)]);
    while let Some((std::cmp::Reverse(cost), state)) = queue.pop() {
        if state == to {
            return cost;
        }
        if best.get(&state).is_some_and(|known| *known < cost) {
            continue;
        }
        let mut next: Vec<(usize, Vec<[u8; 2]>)> = Vec::new();
        let taken: BTreeSet<u8> = state.iter().flatten().copied().collect();
        let free: Vec<u8> = (0..ports).filter(|port| !taken.contains(port)).collect();
        let with = |row: usize, end: usize, port: u8| {
            let mut other = state.clone();
            other[row][end] = port;
            other
        };
        for (row, cable) in state.iter().enumerate() {
            for (end, &port) in cable.iter().enumerate() {
                match port {
                    HAND => next.extend(free.iter().map(|&port| (1, with(row, end, port)))),
                    _ => next.push((0, with(row, end, HAND))),
                }
            }
            if *cable == [HAND; 2] {
                let mut other = state.clone();
                other.remove(row);
                next.push((1, other));
            }
        }
        if state.len() < most {
            for (row, &a) in free.iter().enumerate() {
                next.extend(free[row + 1..].iter().map(|&b| (1, [state.clone(), vec![[a, b]]].concat())));
            }
        }
        for (price, other) in next {
            let (cost, other) = (cost + price, normal(other));
            if best.get(&other).is_none_or(|known| cost < *known) {
                best.insert(other.clone(), cost);
                queue.push((std::cmp::Reverse(cost), other));
            }
        }
    }
    unreachable!("every network can be rebuilt")
}

/// Some cables among shuffled ports.
fn some(order: &[u8], count: usize) -> Vec<[u8; 2]> {
    order.chunks(2).take(count).filter(|pair| pair.len() == 2).map(|pair| [pair[0], pair[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_of_work_is_shorter(
        (planned, there) in (
            (Just((0..6_u8).collect::<Vec<_>>()).prop_shuffle(), 0..=3_usize),
            (Just((0..6_u8).collect::<Vec<_>>()).prop_shuffle(), 0..=3_usize),
        ).prop_map(|((a, of_a), (b, of_b))| (some(&a, of_a), some(&b, of_b)))
    ) {
        let blueprint = ports_with(&planned, 6);
        let sightings = seen(&there, 6);
        let audit = blueprint.audit(&sightings, false);
        prop_assert_eq!(audit.moves(), fewest(&there, &planned, 6), "{:?} to {:?}", there, planned);
        let after = repaired(&audit, there.iter().map(|cable| cable.map(u32::from)));
        let wanted = planned.iter().map(|[a, b]| [u32::from(*a.min(b)), u32::from(*a.max(b))]).collect();
        prop_assert_eq!(after, wanted);
        prop_assert_eq!(audit.is_well(), audit.moves() == 0);
    }

    #[test]
    fn no_sightings_panic(
        names in proptest::collection::vec(("(leaf-[0-5]|x)?", "[pq?]{0,1}", "(leaf-[0-5]|x)?", proptest::option::of("[pq]{0,1}")), 0..12),
        complete: bool,
    ) {
        let blueprint = ports_with(&[[0, 1], [2, 3]], 6);
        let of = |(device, port, far, far_port): (String, String, String, Option<String>)| {
            let far = if far.is_empty() { FarEnd::Free } else { FarEnd::Device(far, far_port) };
            Sighting { device, port, far }
        };
        let sightings: Vec<Sighting> = names.into_iter().map(of).collect();
        let audit = blueprint.audit(&sightings, complete);
        for repair in &audit.repairs {
            prop_assert!(repair.moves.iter().all(|one| !audit.port_name(one.from).is_empty()));
        }
    }
}

#[test]
fn cycles_of_four_and_paths_take_as_many_moves_as_a_search_finds() {
    for (there, planned) in [
        (vec![[0, 1], [2, 3], [4, 5], [6, 7]], vec![[1, 2], [3, 4], [5, 6], [7, 0]]),
        (vec![[0, 1], [2, 3], [4, 5]], vec![[1, 2], [3, 4], [5, 6]]),
        (vec![[0, 1], [2, 3], [4, 5], [6, 7]], vec![[1, 2], [3, 4], [5, 6]]),
    ] {
        let (blueprint, sightings) = (ports_with(&planned, 8), seen(&there, 8));
        assert_eq!(blueprint.audit(&sightings, false).moves(), fewest(&there, &planned, 8), "{there:?}");
    }
}

fn pod(segments: u32, hosts: u32) -> (CableList, Inference) {
    let hpn = Hpn { segments: Some(segments), hosts: Some(hosts), ..Hpn::default() };
    list_of(&hpn.build().expect("a pod"))
}

/// The cables of a list with random exchanges of far ends, each cable in one pair at most; the pairs beside them.
fn exchanged(list: &CableList, pairs: usize, seed: u64) -> (Vec<[u32; 2]>, BTreeSet<[u32; 2]>) {
    let mut cables: Vec<[u32; 2]> = list.cables().iter().map(|cable| cable.ports).collect();
    let mut lot = stream::named(seed, "exchanges");
    let mut order: Vec<usize> = (0..cables.len()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, lot.random_range(0..=last));
    }
    let mut wrong = BTreeSet::new();
    for pair in order.chunks(2).take(pairs) {
        let [a, b] = [pair[0], pair[1]];
        (cables[a][1], cables[b][1]) = (cables[b][1], cables[a][1]);
        wrong.extend([cables[a], cables[b]]);
    }
    (cables, wrong)
}

/// What both ends of cables tell.
fn told(list: &CableList, cables: &[[u32; 2]]) -> Vec<Sighting> {
    let name = |port: u32| {
        let port = &list.ports()[port as usize];
        (list.devices()[port.device as usize].name.clone(), port.name.clone())
    };
    let both = cables.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
    both.map(|[near, far]| {
        let ((device, port), (far, far_port)) = (name(near), name(far));
        Sighting { device, port, far: FarEnd::Device(far, Some(far_port)) }
    })
    .collect()
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

#[test]
fn random_swaps_of_the_default_pod_are_all_found_and_none_invented() {
    let (list, found) = list_of(&Hpn::default().build().expect("15,360 GPUs"));
    let blueprint = Blueprint::new(list, found);
    for (pairs, seed) in [(0, 1), (1, 2), (20, 3), (2_000, 4)] {
        let (cables, wrong) = exchanged(blueprint.list(), pairs, seed);
        let sightings = told(blueprint.list(), &cables);
        let audit = blueprint.audit(&sightings, false);
        let seen: BTreeSet<[u32; 2]> =
            audit.faults.iter().filter_map(|fault| fault.seen).map(sorted).collect();
        assert_eq!(seen, wrong.iter().copied().map(sorted).collect(), "{pairs} pairs");
        assert_eq!((audit.moves(), audit.repairs.len()), (2 * pairs, pairs));
        assert!(audit.faults.iter().all(|fault| fault.kinds[0] == WiringFault::Swapped));
        assert_eq!(audit.right + wrong.len(), cables.len());
        let planned = blueprint.list().cables().iter().map(|cable| sorted(cable.ports)).collect();
        assert_eq!(repaired(&audit, cables), planned);
    }
}

#[test]
fn ports_that_nobody_saw_are_not_observed_and_one_end_is_enough() {
    let (list, found) = pod(2, 4);
    let blueprint = Blueprint::new(list, found);
    let (cables, wrong) = exchanged(blueprint.list(), 3, 7);
    let all = told(blueprint.list(), &cables);
    // One end of every cable: the first of each two sightings.
    let one_end: Vec<Sighting> = all.iter().step_by(2).cloned().collect();
    let audit = blueprint.audit(&one_end, false);
    assert_eq!((audit.faults.len(), audit.moves()), (wrong.len(), wrong.len()));
    // Nothing but right cables, and of them a few.
    let rights: Vec<Sighting> = all
        .chunks(2)
        .zip(&cables)
        .filter(|(_, cable)| !wrong.contains(*cable))
        .flat_map(|(pair, _)| pair.to_vec())
        .take(20)
        .collect();
    let audit = blueprint.audit(&rights, false);
    assert!(audit.is_well(), "{:?}", audit.faults);
    assert_eq!((audit.right, audit.not_observed.len()), (10, cables.len() - 10));
    // All of it is there: what nobody saw is missing.
    let audit = blueprint.audit(&rights, true);
    assert_eq!(audit.faults.len(), cables.len() - 10);
    assert!(audit.faults.iter().all(|fault| fault.kinds == [WiringFault::Missing]));
}

#[test]
fn half_of_a_swap_that_was_seen_tells_the_other_half() {
    let (list, found) = pod(1, 4);
    let blueprint = Blueprint::new(list, found);
    let (cables, wrong) = exchanged(blueprint.list(), 1, 3);
    let all = told(blueprint.list(), &cables);
    let first = wrong.first().expect("a pair");
    let half: Vec<Sighting> = all
        .chunks(2)
        .zip(&cables)
        .filter(|(_, cable)| *cable == first)
        .flat_map(|(pair, _)| pair.to_vec())
        .collect();
    let audit = blueprint.audit(&half, false);
    assert_eq!((audit.faults.len(), audit.moves()), (1, 2));
    assert!(audit.repairs[0].is_exchange && audit.repairs[0].moves.iter().all(|one| one.presumed));
}

#[test]
fn ends_that_contradict_each_other_are_told_and_not_judged() {
    let blueprint = ports_with(&[[0, 1], [2, 3]], 6);
    let lead = |port: u8, far: u8| Sighting {
        device: format!("leaf-{port}"),
        port: "p".to_owned(),
        far: FarEnd::Device(format!("leaf-{far}"), Some("p".to_owned())),
    };
    for (sightings, contradictions) in [
        // 0 says 3, which says 2.
        (vec![lead(0, 3), lead(3, 2)], 1),
        // Both say 1.
        (vec![lead(0, 1), lead(2, 1)], 1),
        // 0 says two things.
        (vec![lead(0, 1), lead(0, 3)], 1),
        // A table of one end is old: 2 and 3 agree, 0 says 3.
        (vec![lead(2, 3), lead(3, 2), lead(0, 3)], 1),
        (vec![lead(0, 1), lead(1, 0), lead(2, 3)], 0),
    ] {
        let audit = blueprint.audit(&sightings, false);
        assert_eq!((audit.contradictions.len(), audit.faults.len()), (contradictions, 0), "{sightings:?}");
    }
}

#[test]
fn devices_by_other_names_are_taken_for_what_most_of_their_cables_say() {
    let (list, found) = pod(1, 8);
    let blueprint = Blueprint::new(list, found);
    let (cables, wrong) = exchanged(blueprint.list(), 1, 11);
    let mut sightings = told(blueprint.list(), &cables);
    // Hosts tell what they hear; leaves have names and ports of a vendor.
    sightings.retain(|one| one.device.starts_with("host"));
    for one in &mut sightings {
        if let FarEnd::Device(device, port) = &mut one.far {
            *device = format!("bj08-swl{}", device.replace("leaf-", "9"));
            *port = Some("25GE1/0/39".to_owned());
        }
    }
    let audit = blueprint.audit(&sightings, false);
    let leaves = |cable: &[u32; 2]| blueprint.list().device_of(cable[1]);
    let differ = wrong.iter().map(leaves).collect::<BTreeSet<_>>().len() == 2;
    let hosts = wrong.iter().filter(|cable| audit.is_host(blueprint.list().device_of(cable[0]))).count();
    assert_eq!(audit.faults.len(), if differ { hosts } else { 0 }, "{:?} {wrong:?}", audit.notes);
    assert!(audit.notes.iter().any(|note| note.contains("bj08-swl90 for leaf-0")), "{:?}", audit.notes);
}

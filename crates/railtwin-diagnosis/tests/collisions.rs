//! Collisions told from faults, by what ports count and by when other jobs come and go; marks tell suspects apart.
use crate::common;
use common::fabric::{Rings, Slow};
use common::{Lot, names};
use proptest::prelude::*;
use railtwin_fabric::{DeviceId, DeviceKind, LinkId};
use railtwin_records::{Batch, CommunicatorInfo, Counter, Finding, RankInfo, Syndrome};

/// Bytes that a queue pair carries in a step of the rings, and of its headers.
const BYTES: f64 = (1_u64 << 26) as f64;
const HEADERS: f64 = 0.02;
const STEPS: u32 = 160;
/// Step in which something becomes slow.
const SLOW_FROM: u32 = 60;

/// Links between switches that flows cross.
fn uplinks(rings: &Rings) -> Vec<LinkId> {
    let all = rings.directory.flows.iter().filter(|flow| flow.links.len() == 4);
    let mut all: Vec<u32> = all.flat_map(|flow| [flow.links[1], flow.links[2]]).collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(LinkId).collect()
}

/// A link from a leaf to a spine with the most flows, and the links that those take after it.
fn shared(rings: &Rings) -> (LinkId, Vec<LinkId>) {
    let uses = |link: u32| {
        let crossing = rings.directory.flows.iter().filter(|flow| flow.links.get(1) == Some(&link));
        crossing.map(|flow| LinkId(flow.links[2])).collect::<Vec<_>>()
    };
    let all = uplinks(rings).into_iter().map(|link| (link, uses(link.0)));
    all.max_by_key(|(link, after)| (after.len(), std::cmp::Reverse(link.0))).expect("there are uplinks")
}

/// Readings of ports between switches, every step: the bytes of all flows, and `more` beside them at one link.
fn read_bytes(
    rings: &mut Rings,
    step: u32,
    entities: &[(LinkId, u32)],
    more: (LinkId, f64),
    batch: &mut Batch,
) {
    for &(link, entity) in entities {
        let flows = rings.directory.flows.iter().filter(|flow| flow.links.contains(&link.0)).count() as f64;
        let steps = f64::from(step + 1);
        let beside =
            if link == more.0 { more.1 * f64::from((step + 1).saturating_sub(SLOW_FROM)) } else { 0.0 };
        let value = (flows * BYTES * (1.0 + HEADERS) * steps + beside).floor();
        batch.counters.push(batch.until_ns, entity, Counter::BytesSent, value);
    }
}

/// What is found when a link is slow from [`SLOW_FROM`] on and its port sends `more` bytes beside in each step.
fn slow_link(times: f64, more: f64) -> (Vec<Finding>, String) {
    let mut rings = Rings::new(2, 8, &[8, 7, 9, 6, 5], true);
    // Queue pairs of three hosts to three others share the way between the leaves, and nothing else.
    let path = rings.path(0, 8, 0, 0, 8);
    let link = path[1];
    for flow in [0, 2, 4] {
        rings.directory.flows[flow].links.splice(1..3, path[1..3].iter().map(|link| link.0));
    }
    let entities: Vec<(LinkId, u32)> =
        uplinks(&rings).into_iter().map(|link| (link, rings.count_at(link))).collect();
    let flows: Vec<u32> = (0..rings.directory.flows.len() as u32).collect();
    let mut lot = Lot(21);
    let mut batches = Vec::new();
    for step in 0..STEPS {
        let slow = [Slow::Links(vec![link], if step < SLOW_FROM { 1.0 } else { times })];
        let mut batch = rings.batch(step, &flows, &slow, 0.02, &mut lot);
        read_bytes(&mut rings, step, &entities, (link, more), &mut batch);
        batches.push(batch);
    }
    let name = rings.fabric.cable_name(link.cable());
    (rings.diagnose(batches.into_iter()), name)
}

#[test]
fn unrecorded_bytes_make_a_collision_and_their_absence_a_fault() {
    let (met, cable) = slow_link(1.6, 4.0 * BYTES);
    let last = met.last().expect("something is told");
    assert_eq!((last.syndrome, names(last)), (Syndrome::Collision, vec![cable.clone()]), "{met:#?}");
    assert!(met.iter().all(|finding| finding.syndrome == Syndrome::Collision || finding.confidence < 0.5));
    let (broken, cable) = slow_link(1.6, 0.0);
    assert!(broken.iter().all(|finding| finding.syndrome == Syndrome::CommunicationSlow), "{broken:#?}");
    let last = broken.last().expect("something is told");
    assert!(last.confidence >= 0.5 && names(last).contains(&cable), "{broken:#?}");
}

#[test]
fn a_few_bytes_beside_do_not_explain_a_link_that_is_far_too_slow() {
    let (broken, _) = slow_link(4.0, 0.5 * BYTES);
    assert!(broken.iter().all(|finding| finding.syndrome == Syndrome::CommunicationSlow), "{broken:#?}");
    assert!(broken.last().expect("something is told").confidence >= 0.5);
}

/// What is found of slow links when these ports mark, and no others.
fn marked(rings: &mut Rings, slow: &[Slow], marks: &[LinkId]) -> Vec<Finding> {
    let mut ports = uplinks(rings);
    let down = rings.directory.flows.iter().filter_map(|flow| flow.links.last().copied());
    ports.extend(down.map(LinkId));
    ports.sort_unstable();
    ports.dedup();
    let entities: Vec<(LinkId, u32)> = ports.into_iter().map(|link| (link, rings.count_at(link))).collect();
    let flows: Vec<u32> = (0..rings.directory.flows.len() as u32).collect();
    let mut lot = Lot(22);
    let mut batches = Vec::new();
    for step in 0..64 {
        let mut batch = rings.batch(step, &flows, slow, 0.02, &mut lot);
        for &(link, entity) in &entities {
            let value = if marks.contains(&link) { 1_000.0 * f64::from(step) } else { 0.0 };
            batch.counters.push(batch.until_ns, entity, Counter::EcnMarks, value);
        }
        batches.push(batch);
    }
    rings.diagnose(batches.into_iter())
}

#[test]
fn marks_tell_which_of_two_cables_in_a_row_is_slow() {
    for second in [false, true] {
        let mut rings = Rings::new(2, 8, &[8], true);
        let (first, after) = shared(&rings);
        let marking = if second { after[0] } else { first };
        let findings = marked(&mut rings, &[Slow::Links(vec![marking], 1.6)], &[marking]);
        let blind = marked(&mut rings, &[Slow::Links(vec![marking], 1.6)], &[]);
        let name = rings.fabric.cable_name(marking.cable());
        assert_ne!(names(&blind[0])[0], name, "access cables fail more: {blind:#?}");
        assert_eq!(findings.len(), 1, "{findings:#?}");
        assert_eq!(names(&findings[0])[0], name, "{findings:#?}");
        assert!(findings[0].suspects[0].share > 0.6, "{findings:#?}");
    }
}

/// Links that leave a switch.
fn leaving(rings: &Rings, switch: DeviceId) -> Vec<LinkId> {
    rings.fabric.neighbors(switch).iter().map(|&(link, _)| link).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// All flows of a rail and plane cross two leaves: only marks tell which of them is slow.
    #[test]
    fn marks_tell_which_of_two_leaves_is_slow(rail in 0_usize..8, port in 0_u32..2, second: bool) {
        let mut rings = Rings::new(2, 8, &[8], true);
        let host = if second { 8 } else { 0 };
        let leaf = rings.fabric.target(rings.access(host, rail, port));
        prop_assert_eq!(rings.fabric.kind(leaf), DeviceKind::Switch);
        let slow = [Slow::Links(leaving(&rings, leaf), 1.5)];
        let blind = marked(&mut rings, &slow, &[]);
        prop_assert_eq!(blind.len(), 1);
        prop_assert!(blind[0].suspects.len() == 2 && blind[0].suspects[0].share < 0.6, "{:#?}", blind);
        let marks = leaving(&rings, leaf);
        let told = marked(&mut rings, &slow, &marks);
        prop_assert_eq!(&names(told.last().unwrap())[0], &rings.fabric.device_name(leaf));
        prop_assert!(told.last().unwrap().suspects[0].share > 0.8, "{:#?}", told);
    }
}

/// Rings in which two queue pairs of one job and one of another, from `other` steps, share a link; they are `times` as
/// slow in those steps.
fn with_another_job(other: std::ops::Range<u32>, times: f64) -> Vec<Finding> {
    let mut rings = Rings::new(2, 8, &[8], true);
    let path = rings.path(0, 8, 0, 0, 8);
    let leaf = rings.fabric.target(path[0]);
    let mine: Vec<u32> = (0..rings.directory.flows.len() as u32)
        .filter(|&flow| {
            let info = &rings.directory.flows[flow as usize];
            rings.fabric.target(LinkId(info.links[0])) == leaf && info.source < 3 * rings.nics as u32
        })
        .collect();
    assert_eq!(mine.len(), 3, "three hosts of the leaf");
    let theirs = mine[2];
    for &flow in &mine {
        rings.directory.flows[flow as usize].links.splice(1..3, path[1..3].iter().map(|link| link.0));
    }
    // The third queue pair is another job's, with ranks and a communicator of its own.
    let first = rings.directory.ranks.len() as u32;
    let ends = [theirs, theirs].map(|flow| rings.directory.flows[flow as usize].clone());
    for (row, rank) in [ends[0].source, ends[1].target].into_iter().enumerate() {
        let info = rings.directory.ranks[rank as usize].clone();
        rings.directory.ranks.push(RankInfo { job: 1, rank: row as u32, ..info });
    }
    let info = &mut rings.directory.flows[theirs as usize];
    (info.source, info.target) = (first, first + 1);
    let ranks = vec![first, first + 1];
    let communicator = rings.directory.communicators.len() as u32;
    let name = "other-dp".into();
    rings.directory.communicators.push(CommunicatorInfo { job: 1, name, axis: "dp".into(), ranks });
    let flows: Vec<u32> = (0..rings.directory.flows.len() as u32).filter(|&flow| flow != theirs).collect();
    let mut lot = Lot(23);
    let batches: Vec<Batch> = (0..STEPS)
        .map(|step| {
            let there = other.contains(&step);
            let slow = [Slow::Flows(mine.clone(), if there { times } else { 1.0 })];
            let mut batch = rings.batch(step, &flows, &slow, 0.02, &mut lot);
            if there {
                let network = (BYTES * 8.0 / 200.0 * times) as u64;
                let bytes = BYTES as u64;
                batch.messages.push(communicator, step, 0, theirs, 0, 14, 14, bytes, network, 0, 0, 0, 14);
                batch.operations.push(communicator, first, step, 0, 1, 2);
            }
            batch
        })
        .collect();
    rings.diagnose(batches.into_iter())
}

#[test]
fn slowness_that_begins_with_another_job_on_the_link_is_a_collision() {
    // Slower than fair shares of three make them: only that the other job began then speaks for traffic.
    let findings = with_another_job(SLOW_FROM..STEPS, 2.5);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].syndrome, Syndrome::Collision);
    assert!(names(&findings[0]).contains(&"other".into()), "{findings:#?}");
}

#[test]
fn slowness_that_ends_with_another_job_on_the_link_was_a_collision() {
    let findings = with_another_job(0..SLOW_FROM, 2.5);
    let syndromes: Vec<Syndrome> = findings.iter().map(|finding| finding.syndrome).collect();
    assert_eq!(syndromes, [Syndrome::CommunicationSlow, Syndrome::Collision], "{findings:#?}");
    assert!(names(&findings[1]).contains(&"other".into()), "{findings:#?}");
}

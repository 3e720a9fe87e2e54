//! Slow communication is told from operations alone, nobody is accused for it, and what places it takes it over.
use crate::common;
use common::{Lot, World};
use proptest::prelude::*;
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::slow::communicators::unplaced;
use railtwin_diagnosis::{Diagnosis, Settings, SlowRanks};
use railtwin_records::{
    Batch, Component, Directory, Finding, HostInfo, OperationShape, RankInfo, Since, Suspect, Syndrome,
};

/// One ring of 16 ranks over 16 hosts, of which every operation begins when its last rank has come.
#[derive(Clone)]
struct Ring {
    axis: &'static str,
    operations: u32,
    /// Deviation of transfers and of entries, as a share.
    jitter: f64,
    /// Times that transfers take from an operation on.
    slower: Vec<(u32, f64)>,
    /// Own time that rank 5 adds from an operation on, and all ranks before every so many-th.
    late: Option<(u32, f64)>,
    stall: Option<(u32, f64)>,
    /// Shapes in turn.
    shapes: u32,
    clocks: bool,
    seed: u64,
}

const RANKS: usize = 16;
const COMPUTE_NS: f64 = 4e8;
const TRANSFER_NS: f64 = 5e8;

impl Default for Ring {
    fn default() -> Self {
        Self {
            axis: "dp",
            operations: 120,
            jitter: 0.016,
            slower: Vec::new(),
            late: None,
            stall: None,
            shapes: 1,
            clocks: false,
            seed: 1,
        }
    }
}

impl Ring {
    fn directory(&self) -> Directory {
        let mut directory = Directory { jobs: vec!["job".into()], ..Directory::default() };
        directory.hosts = (0..RANKS).map(|host| HostInfo { name: format!("host-{host}") }).collect();
        let rank = |rank: u32| RankInfo { job: 0, rank, host: rank, gpu: 0, nic: 0 };
        directory.ranks = (0..RANKS as u32).map(rank).collect();
        directory.communicators.push(railtwin_records::CommunicatorInfo {
            job: 0,
            name: "ring".into(),
            axis: self.axis.into(),
            ranks: (0..RANKS as u32).collect(),
        });
        directory.shapes = (0..self.shapes)
            .map(|shape| OperationShape {
                kind: "all-reduce".into(),
                algorithm: "ring".into(),
                data_type: "float32".into(),
                bytes: (1 << 20) + u64::from(shape),
            })
            .collect();
        directory
    }

    fn batches(&self) -> Vec<Batch> {
        let mut lot = Lot(self.seed);
        let mut now = [1e9; RANKS];
        let mut batches = Vec::new();
        for operation in 0..self.operations {
            for (rank, now) in now.iter_mut().enumerate() {
                *now += COMPUTE_NS * (1.0 + self.jitter * lot.normal()).max(0.5);
                let late = self.late.filter(|&(from, _)| rank == 5 && operation >= from);
                let stall = self.stall.filter(|&(every, _)| operation % every == every - 1);
                *now += late.map_or(0.0, |late| late.1) + stall.map_or(0.0, |stall| stall.1);
            }
            let factor: f64 =
                self.slower.iter().filter(|slow| operation >= slow.0).map(|slow| slow.1).product();
            let takes = TRANSFER_NS * factor * (1.0 + self.jitter * lot.normal()).max(0.5);
            let end = now.iter().copied().fold(0.0, f64::max) + takes;
            let mut batch = Batch { until_ns: end as u64, ..Batch::default() };
            for (rank, now) in now.iter_mut().enumerate() {
                let clock = if self.clocks { (rank as u64 * 7_919_333_777) % 60_000_000_000 } else { 0 };
                let time = |ns: f64| ns as u64 + clock;
                batch.operations.push(
                    0,
                    rank as u32,
                    operation,
                    operation % self.shapes,
                    time(*now),
                    time(end),
                );
                *now = end;
            }
            batches.push(batch);
        }
        batches
    }

    fn found(&self) -> Vec<Finding> {
        let (directory, mut findings) = (self.directory(), Vec::new());
        let mut diagnosis = Diagnosis::with(Settings::default(), vec![Box::new(SlowRanks::default())]);
        for batch in self.batches() {
            diagnosis.observe(&directory, None, &batch, &mut findings);
        }
        findings
    }
}

/// Seconds from the start of an operation until a finding.
fn after(ring: &Ring, operation: usize, finding: &Finding) -> f64 {
    (finding.at_ns as f64 - ring.batches()[operation - 1].until_ns as f64) / 1e9
}

#[test]
fn a_slow_transfer_is_told_once_and_nobody_is_named() {
    let ring = Ring { slower: vec![(40, 1.2)], ..Ring::default() };
    let findings = ring.found();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let finding = &findings[0];
    assert_eq!(
        (finding.syndrome, &finding.suspects[..], finding.confidence),
        (Syndrome::CommunicationSlow, &[][..], 0.0)
    );
    assert!(finding.advice.contains("probes"), "{finding:#?}");
    assert_eq!(unplaced(&ring.directory(), finding), [0]);
    let evidence = &finding.evidence[0];
    assert!((0.45e6..0.55e6).contains(&evidence.expected), "{evidence:?}");
    assert!((1.1..1.3).contains(&(evidence.value / evidence.expected)), "{evidence:?}");
    // Half a window of operations, each of about a second.
    assert!((4.0..20.0).contains(&after(&ring, 40, finding)), "{}", after(&ring, 40, finding));
    let since = finding.since.from_ns as f64 - ring.batches()[39].until_ns as f64;
    assert!(since.abs() < 2e9, "{since}");
}

#[test]
fn messages_that_place_nobody_do_not_silence_operations() {
    let ring = Ring { slower: vec![(40, 1.2)], ..Ring::default() };
    let (directory, mut findings) = (ring.directory(), Vec::new());
    let mut diagnosis = Diagnosis::with(Settings::default(), vec![Box::new(SlowRanks::default())]);
    for mut batch in ring.batches() {
        batch.messages.push(0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0);
        diagnosis.observe(&directory, None, &batch, &mut findings);
    }
    // Later than without messages, which come first.
    let [told] = &findings[..] else { panic!("{findings:#?}") };
    assert_eq!((told.syndrome, &told.suspects[..]), (Syndrome::CommunicationSlow, &[][..]));
    assert!(told.at_ns >= ring.found()[0].at_ns, "{told:#?}");
}

#[test]
fn what_takes_minutes_is_told_before_its_window_is_full() {
    let ring = Ring { slower: vec![(40, 25.0)], operations: 50, ..Ring::default() };
    let findings = ring.found();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert!(after(&ring, 40, &findings[0]) < 3.5 * 25.0 * 0.5, "three operations");
}

#[test]
fn what_gets_worse_is_told_again_and_what_comes_back_too() {
    let worse = Ring { slower: vec![(40, 1.3), (80, 1.5)], operations: 160, ..Ring::default() }.found();
    assert_eq!(worse.len(), 2, "{worse:#?}");
    assert!(worse[1].severity > 1.3 * worse[0].severity, "{worse:#?}");
    let again =
        Ring { slower: vec![(40, 1.3), (80, 1.0 / 1.3), (120, 1.3)], operations: 200, ..Ring::default() };
    assert_eq!(again.found().len(), 2);
}

#[test]
fn a_late_rank_is_told_as_late_and_no_transfer_as_slow() {
    let findings = Ring { late: Some((40, 3e8)), ..Ring::default() }.found();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].syndrome, Syndrome::NonCommunicationSlow);
}

#[test]
fn stalls_of_checkpoints_are_no_slow_transfers() {
    for seed in 0..4 {
        let ring = Ring { stall: Some((50, 5e9)), operations: 600, seed, ..Ring::default() };
        assert_eq!(ring.found(), [], "{seed}");
    }
}

#[test]
fn shapes_that_vary_and_loads_of_experts_have_no_past() {
    let slower = vec![(40, 1.5)];
    assert_eq!(Ring { shapes: 60, slower: slower.clone(), ..Ring::default() }.found(), []);
    assert_eq!(Ring { axis: "ep", slower, ..Ring::default() }.found(), []);
}

#[test]
fn clocks_change_nothing() {
    let ring = Ring { slower: vec![(40, 1.2)], ..Ring::default() };
    let away = Ring { clocks: true, ..ring.clone() };
    assert_eq!(ring.found(), away.found());
}

#[test]
fn of_many_communicators_the_slow_ones_are_listed_even_where_most_are() {
    // Peers alone would call the two sound ones fast and the others usual.
    let mut world = World { tp: 8, dp: 8, steps: 200, ..World::default() };
    let healthy = world.batches();
    world.slow_dp = (0..6).map(|dp| (dp, 1.4)).collect();
    let (directory, mut findings) = (world.directory(), Vec::new());
    let mut diagnosis = Diagnosis::with(Settings::default(), vec![Box::new(SlowRanks::default())]);
    for batch in &healthy[..100] {
        diagnosis.observe(&directory, None, batch, &mut findings);
    }
    assert_eq!(findings, []);
    for batch in &world.batches()[100..] {
        diagnosis.observe(&directory, None, batch, &mut findings);
    }
    let slow: std::collections::BTreeSet<u32> =
        findings.iter().flat_map(|finding| unplaced(&directory, finding)).collect();
    assert_eq!(slow.into_iter().collect::<Vec<_>>(), (8..14).collect::<Vec<u32>>(), "{findings:#?}");
    let last = findings.last().unwrap();
    assert!(
        last.evidence.iter().any(|row| row.words().ends_with("that are not slow") && row.value >= 2.0),
        "{last:#?}"
    );
}

#[test]
fn what_places_it_takes_it_over_and_another_time_or_place_does_not() {
    let ring = Ring { slower: vec![(40, 1.2)], ..Ring::default() };
    let (directory, open) = (ring.directory(), ring.found().remove(0));
    let places = Places { directory: &directory, fabric: None };
    let of = |nic: &str, syndrome: Syndrome, since: Since| Finding {
        at_ns: since.until_ns + 5_000_000_000,
        since,
        syndrome,
        suspects: vec![Suspect { component: Component::Nic(nic.into()), share: 1.0 }],
        confidence: 0.9,
        evidence: Vec::new(),
        ..open.clone()
    };
    let here = of("host-3/nic-0", Syndrome::CommunicationSlow, open.since);
    let joined = join(&places, &[open.clone(), here.clone()]);
    assert_eq!((joined.len(), &joined[0].suspects), (1, &here.suspects), "{joined:#?}");
    assert_eq!(joined[0].evidence, open.evidence);
    let counted = of("host-3/nic-0", Syndrome::Counter, open.since);
    assert_eq!(join(&places, &[counted, open.clone()]).len(), 1);
    let elsewhere = of("host-77/nic-0", Syndrome::CommunicationSlow, open.since);
    assert_eq!(join(&places, &[open.clone(), elsewhere]).len(), 2);
    let later = of("host-3/nic-0", Syndrome::CommunicationSlow, Since::at(open.at_ns + 1));
    assert_eq!(join(&places, &[open.clone(), later]).len(), 2);
    // Told again while it lasts, it is one.
    let again = Finding { at_ns: open.at_ns + 1_000_000_000, ..open.clone() };
    assert_eq!(join(&places, &[open, again]).len(), 1);
}

#[test]
fn noise_below_the_limit_is_seldom_told() {
    // Of all windows of 16 ranks one may stray by as much as the limit: seldom, and then not enough to act on.
    let part = |seed: u64, step: f64| (seed as f64 * step).fract();
    let of = |seed: u64| Ring {
        jitter: 0.1 * part(seed, 0.618_034),
        seed,
        operations: 400,
        slower: vec![(200, 1.0 + 0.03 * part(seed, 0.414_214))],
        ..Ring::default()
    };
    let told: Vec<_> = (0..5000).map(|seed| of(seed).found()).filter(|found| !found.is_empty()).collect();
    assert!(told.len() <= 1, "{} of 5,000: {told:#?}", told.len());
    assert!(told.iter().flatten().all(|finding| finding.confidence < 0.75), "{told:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_well_beyond_noise_is_told(seed in 0_u64..1 << 40, jitter in 0.0_f64..0.03, growth in 1.25_f64..4.0) {
        let ring = Ring { jitter, seed, slower: vec![(40, growth)], ..Ring::default() };
        let findings = ring.found();
        prop_assert!(!findings.is_empty() && findings.iter().all(|finding| finding.suspects.is_empty()), "{findings:#?}");
    }
}

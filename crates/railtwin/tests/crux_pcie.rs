//! Crux in a run where jobs share PCIe: it knows what stays inside hosts, and in flows its levels hold there.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use proptest::prelude::*;
use railtwin::engines::engine;
use railtwin_control::controller::Action;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, RunLog};
use railtwin_scenario::EngineName;
use railtwin_units::SimTime;

use crate::control::resolved;
use crate::shared_hosts::{Ring, SLOTS, ends_of_fluid, text};

/// The jobs on every other GPU of the first hosts, under a balancer.
fn case(jobs: &[Ring], hosts: u32, routing: &str) -> Case {
    let text = text(jobs, SLOTS, hosts).replacen("[[job]]", &format!("{routing}\n[[job]]"), 1);
    let mut case = resolved(&text, EngineName::Flow).case;
    case.wire_share = 1.0;
    case
}

fn ran(case: &Case) -> RunLog {
    engine(EngineName::Flow, 1).run(case, 0)
}

fn ends(case: &Case) -> Vec<f64> {
    let log = ran(case);
    log.job_ends(&case.work).iter().map(|&end| end.min(log.end).seconds()).collect()
}

const CRUX: &str = "[routing]\nbalancer = \"crux\"";

/// Whether the steps of two rings alone, computation in ms and MB at 10 MB a millisecond, are within 2 % of a ratio of two
/// numbers up to 8.
fn lock(one: (u64, u64), other: (u64, u64)) -> bool {
    let step = |(compute_ms, megabytes): (u64, u64)| compute_ms as f64 + megabytes as f64 / 10.0;
    let ratio = step(one) / step(other);
    (1..=8).any(|p| (1..=8).any(|q| (ratio * f64::from(q) / f64::from(p) - 1.0).abs() < 0.02))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two jobs whose rings cross the same PCIe end when the fluid of weeks says, gated by Crux in both: who goes first is
    /// decided by what the plans say of PCIe. A step of the engine has microseconds of hops and stages that the fluid does
    /// not know, against tens of milliseconds. Where the two steps are in a ratio of small numbers, those microseconds decide
    /// which phase the jobs lock in, so such draws say nothing.
    #[test]
    fn gated_jobs_end_when_the_fluid_of_weeks_says(
        drawn in prop::collection::vec((20u64..400, 300u64..3_000), 2),
    ) {
        let rings = |steps: &[u32]| -> Vec<Ring> {
            let of = |(&(compute_ms, megabytes), &steps): (&(u64, u64), &u32)| Ring { compute_ms, megabytes, steps };
            drawn.iter().zip(steps).map(of).collect()
        };
        prop_assume!(!lock(drawn[0], drawn[1]));
        let asked = rings(&[40, 40]);
        let fluid = ends_of_fluid(&case(&asked, 1, CRUX), &asked, 1, SharingPolicy::Crux);
        let steps: Vec<u32> = fluid.iter().map(|one| one.1 as u32).collect();
        let flows = ends(&case(&rings(&steps), 1, CRUX));
        for (row, (&(fluid, steps), &flows)) in fluid.iter().zip(&flows).enumerate() {
            prop_assert!((fluid - flows).abs() < 0.02 * flows, "job {row}, {steps} steps: {fluid} {flows} {drawn:?}");
        }
    }
}

/// 100 ms and 100 ms beside 20 ms and 200 ms.
fn two() -> [Ring; 2] {
    [
        Ring { compute_ms: 100, megabytes: 1_000, steps: 20 },
        Ring { compute_ms: 20, megabytes: 2_000, steps: 40 },
    ]
}

#[test]
fn jobs_that_contend_inside_a_host_alone_are_told_apart() {
    let alike = case(&two(), 1, CRUX);
    let lowering = Lowering::new(&alike, 0);
    assert!(lowering.connections().is_empty(), "no byte leaves the host");
    let standings = lowering.mediator(&[]).standings();
    let intensities: Vec<f64> = standings.iter().map(|one| one.intensity).collect();
    // Four GPUs' computation over the time of 1.5 times the bytes on a link of 15 GB/s.
    assert_eq!(intensities.len(), 2);
    for (found, exact) in intensities.iter().zip([4.0 * 0.1 / 0.1, 4.0 * 0.02 / 0.2]) {
        assert!((found - exact).abs() < 1e-3 * exact, "{found} {exact}");
    }
    let log = ran(&alike);
    let told: Vec<(u32, u8)> = log
        .actions
        .iter()
        .filter_map(|one| match one.action {
            Action::Priority { job, priority } => Some((job.0, priority)),
            _ => None,
        })
        .collect();
    assert!(told.contains(&(0, 7)) && told.contains(&(1, 6)), "{told:?}");
    // The dense job is as fast as alone, and slower without levels.
    let alone = ends(&case(&two()[..1], 1, CRUX))[0];
    let first = ends(&alike)[0];
    assert!((first - alone).abs() < 1e-3 * alone, "{first} {alone}");
    let shared = ends(&case(&two(), 1, &format!("{CRUX}\n[control]\nlevels = 1")))[0];
    assert!(shared > 1.3 * alone, "{shared} {alone}");
}

/// A job that comes later has its priority in that moment, and one that is gone leaves the other the highest.
#[test]
fn jobs_inside_a_host_come_and_go() {
    let [dense, busy] = two();
    let dense = Ring { steps: 4, ..dense };
    let late = |start: &str| {
        let text = text(&[busy.clone(), dense.clone()], SLOTS, 1);
        let text = text.replacen("[[job]]", &format!("{CRUX}\n[[job]]"), 1);
        let text = text.replace("name = \"job-1\"", &format!("name = \"job-1\"\nstart = \"{start}\""));
        resolved(&text, EngineName::Flow).case
    };
    let case = late("1 s");
    let log = ran(&case);
    let priorities: Vec<(u32, u8, SimTime)> = log
        .actions
        .iter()
        .filter_map(|one| match one.action {
            Action::Priority { job, priority } => Some((job.0, priority, one.decided)),
            _ => None,
        })
        .collect();
    let second = SimTime::from_ns(1_000_000_000);
    assert_eq!(priorities[0], (0, 7, SimTime::ZERO));
    assert!(
        priorities.iter().any(|&(job, priority, at)| (job, priority, at) == (1, 7, second)),
        "{priorities:?}"
    );
    // Told of the other's end, the first has the network to itself again.
    let end = log.job_ends(&case.work)[1];
    let last = priorities.last().unwrap();
    assert_eq!((last.0, last.1), (0, 7), "{priorities:?}");
    assert!(last.2 >= end, "{priorities:?} {end}");
}

/// What goes on between GPUs and NICs counts, too: a GPU that reaches its NIC over the root complex contends there.
#[test]
fn the_way_to_a_nic_over_the_root_complex_is_known() {
    let text = |routing: &str| {
        format!(
            "schema = 1\nname = \"phb\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 2\n\
             uplinks = 1\n[fabric.host]\nmodel = \"plain\"\ngpus = 8\nnics = 2\nnic_ports = 1\n\
             nic_port_capacity = \"200 Gbps\"\npcie = \"200 Gbps\"\npcie_switches = 4\ncaps = \"none\"\n{routing}\n\
             [[job]]\nname = \"far\"\nhosts = 2\ngpus_of_host = [2]\nsteps = 10\n\
             collective = {{ kind = \"all-reduce\", algorithm = \"ring\", bytes = \"500 MB\", compute = \"20 ms\" }}\n\
             [[job]]\nname = \"near\"\nhosts = 1\ngpus_of_host = [3, 5, 7]\nsteps = 60\n\
             collective = {{ kind = \"all-reduce\", algorithm = \"ring\", bytes = \"500 MB\", compute = \"1 ms\" }}\n"
        )
    };
    let of = |routing: &str| {
        let case = resolved(&text(routing), EngineName::Flow).case;
        let log = ran(&case);
        log.job_ends(&case.work)[0].min(log.end).seconds()
    };
    let (crux, alike) = (of(CRUX), of("[routing]\nbalancer = \"ecmp\""));
    // 20 ms, and 500 MB each way at 25 GB/s and with headers in the network.
    assert!((crux - 10.0 * 0.0404).abs() < 0.01 * crux, "{crux}");
    assert!(alike > 1.2 * crux, "{alike} {crux}");
}

//! Jobs that share hosts in the flow engine and in the fluid of weeks of jobs, each judging the other.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use std::path::Path;

use proptest::prelude::*;
use railtwin::Question;
use railtwin::assumed::assumed;
use railtwin::engines::engine;
use railtwin::interference::{Options, interference};
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, QueuePolicy, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy};
use railtwin_engine::Case;
use railtwin_fabric::{CableClass, HostId};
use railtwin_scenario::EngineName;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::job_class::ClassStep;

use crate::control::resolved;

/// A job on every other GPU of the first hosts.
#[derive(Clone, Debug)]
struct Ring {
    compute_ms: u64,
    megabytes: u64,
    steps: u32,
}

/// GPUs of each job on its hosts.
const SLOTS: [&[u32]; 2] = [&[0, 2, 4, 6], &[1, 3, 5, 7]];

/// Three hosts without NVLink under one leaf, GPUs in pairs behind PCIe switches of 120 Gbps.
fn case(jobs: &[Ring], hosts: u32) -> Case {
    let hosts: Vec<u32> = (0..hosts).collect();
    let job = |(row, job): (usize, &Ring)| {
        format!(
            "[[job]]\nname = \"job-{row}\"\nplacement = {{ hosts = {hosts:?} }}\ngpus_of_host = {:?}\nsteps = {}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"{} MB\", algorithm = \"ring\", compute = \"{} ms\" }}\n",
            SLOTS[row], job.steps, job.megabytes, job.compute_ms
        )
    };
    let jobs: String = jobs.iter().enumerate().map(job).collect();
    let text = format!(
        "schema = 1\nname = \"shared\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 3\n\
         uplinks = 1\n[fabric.host]\nmodel = \"hgx-a100\"\nnics = 4\npcie_switches = 4\nnvlink = \"0 Gbps\"\n\
         pcie = \"120 Gbps\"\ncaps = \"none\"\n{jobs}"
    );
    let mut case = resolved(&text, EngineName::Flow).case;
    case.wire_share = 1.0;
    case
}

/// Seconds at which the jobs end in the flow engine.
fn ends_of_flows(case: &Case) -> Vec<f64> {
    let log = engine(EngineName::Flow, 1).run(case, 0);
    // Who ends last is never told of.
    log.job_ends(&case.work).iter().map(|&end| end.min(log.end).seconds()).collect()
}

/// The same in the fluid, and the steps of each.
fn ends_of_fluid(case: &Case, jobs: &[Ring], hosts: u32) -> Vec<(f64, f64)> {
    let job = |(row, job): (usize, &Ring)| {
        let places: Vec<Place> = (0..hosts)
            .flat_map(|host| SLOTS[row].iter().map(move |&gpu| Place { host: HostId(host), gpu }))
            .collect();
        let gpus = places.len() as u32;
        let step = ClassStep {
            compute: SimTime::from_ns(job.compute_ms * 1_000_000),
            overlap_from: 1.0,
            tensor: 1,
            pipeline: 1,
            data: gpus,
            reduced: Bytes(job.megabytes * 1_000_000),
            passed: Bytes(0),
            exchanged: Bytes(0),
            among: 1,
        };
        let alone = 4.0 / 3.0 * job.megabytes as f64 / 7_500.0 + job.compute_ms as f64 / 1e3;
        ClusterJob {
            checkpoints: 0.0,
            name: format!("job-{row}"),
            class: String::new(),
            submitted: 0.0,
            gpus,
            duration: f64::from(job.steps) * alone,
            step,
            places,
        }
    };
    let jobs: Vec<ClusterJob> = jobs.iter().enumerate().map(job).collect();
    let ask = Ask {
        span: 1e5,
        queue: QueuePolicy::Fifo,
        placement: PlacementPolicy::Packed,
        defragment: None,
        sharing: SharingPolicy::Ecmp,
        levels: 8,
        gate: true,
        replan: 30.0,
        queue_pairs: 1,
        jitter: 0.0,
        steady: 0.0,
        seed: 1,
    };
    let lived = live(&jobs, &Plant::new(&case.fabric, 4), &ask);
    lived.jobs.iter().map(|job| (job.ended.unwrap(), job.steps)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two jobs on the same hosts end when the other model says. A step of the engine has microseconds of hops and stages
    /// that the fluid does not know, against tens of milliseconds.
    #[test]
    fn both_models_have_jobs_on_shared_hosts_end_at_once(
        drawn in prop::collection::vec((20u64..400, 300u64..3_000), 2),
        hosts in 1u32..4,
    ) {
        let rings = |steps: &[u32]| -> Vec<Ring> {
            let of = |(&(compute_ms, megabytes), &steps): (&(u64, u64), &u32)| Ring { compute_ms, megabytes, steps };
            drawn.iter().zip(steps).map(of).collect()
        };
        let asked = rings(&[40, 40]);
        let fluid = ends_of_fluid(&case(&asked, hosts), &asked, hosts);
        let steps: Vec<u32> = fluid.iter().map(|one| one.1 as u32).collect();
        let flows = ends_of_flows(&case(&rings(&steps), hosts));
        for (row, (&(fluid, steps), &flows)) in fluid.iter().zip(&flows).enumerate() {
            prop_assert!((fluid - flows).abs() < 0.02 * flows, "job {row}, {steps} steps: {fluid} {flows} {drawn:?}");
        }
    }
}

#[test]
fn interference_tells_of_pcie_that_jobs_share() {
    let case = case(
        &[
            Ring { compute_ms: 50, megabytes: 900, steps: 4 },
            Ring { compute_ms: 50, megabytes: 900, steps: 4 },
        ],
        1,
    );
    let options = Options { draws: 3, ..Options::default() };
    let found = interference(&case, engine(EngineName::Flow, 1).as_ref(), options, &|| ()).unwrap();
    assert!(found.jobs.iter().all(|job| job.slowdown.median > 1.05), "{:?}", found.jobs);
    // The way up from each of four PCIe switches, and the way down.
    assert_eq!(found.links.len(), 8, "{:?}", found.links);
    assert!(found.links.iter().all(|link| case.fabric.cable_class(link.link.cable()) == CableClass::Pcie));
    assert!(found.links.iter().all(|link| link.asked.iter().all(|asked| *asked > 0.3 && *asked < 1.0)));
}

/// What nvidia-smi calls PIX and PHB: a GPU below the PCIe switch of its NIC, and one that reaches it over the root complex,
/// beside another job whose rings cross that.
#[test]
fn an_all_reduce_over_the_root_complex_shares_it_with_a_neighbour() {
    let text = std::fs::read_to_string("../../scenarios/jobs/pix-against-phb.toml").unwrap();
    let slowdowns = |gpu: &str| -> (Vec<f64>, usize) {
        let text = text.replace("gpus_of_host = [2]", &format!("gpus_of_host = [{gpu}]"));
        let options = Options { draws: 1, ..Options::default() };
        let case = resolved(&text, EngineName::Flow).case;
        let found = interference(&case, engine(EngineName::Flow, 1).as_ref(), options, &|| ()).unwrap();
        (found.jobs.iter().map(|job| job.slowdown.median).collect(), found.links.len())
    };
    let (pix, phb) = (slowdowns("0"), slowdowns("2"));
    assert!(pix.1 == 0 && pix.0.iter().all(|slow| (slow - 1.0).abs() < 1e-3), "{pix:?}");
    // Both ways between the first switch and the root complex, each job half of what it wants.
    assert!(phb.1 == 2 && phb.0.iter().all(|slow| (1.9..2.05).contains(slow)), "{phb:?}");
}

#[test]
fn packets_say_that_root_complexes_hold_nothing_up() {
    let text = std::fs::read_to_string("../../scenarios/jobs/pix-against-phb.toml").unwrap();
    let told = |engine: EngineName| {
        let question = Question::of_text("s.toml", &text, Path::new(".")).with_engine(Some(engine));
        let resolved = question.resolve(&question.points().unwrap().remove(0).scenario).unwrap();
        assumed(&resolved).iter().any(|line| line.contains("root complexes"))
    };
    assert!(told(EngineName::Packet) && !told(EngineName::Flow));
}

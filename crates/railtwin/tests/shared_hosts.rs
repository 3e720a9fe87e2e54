//! Jobs that share hosts in the flow engine and in the fluid of weeks of jobs, each judging the other.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use proptest::prelude::*;
use railtwin::engines::engine;
use railtwin::interference::{Options, interference};
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, QueuePolicy, live};
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_control::{Place, PlacementPolicy, RankOrder};
use railtwin_engine::Case;
use railtwin_fabric::{CableClass, HostId};
use railtwin_scenario::EngineName;
use railtwin_units::{Bytes, SimTime};
use railtwin_workload::job_class::ClassStep;

use crate::control::resolved;

/// A job on every other GPU of the first hosts.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    pub compute_ms: u64,
    pub megabytes: u64,
    pub steps: u32,
}

/// GPUs of each job on its hosts.
pub(crate) const SLOTS: [&[u32]; 2] = [&[0, 2, 4, 6], &[1, 3, 5, 7]];

/// Three hosts without NVLink under one leaf, GPUs in pairs behind PCIe switches of 120 Gbps.
pub(crate) fn text(jobs: &[Ring], gpus: [&[u32]; 2], hosts: u32) -> String {
    let hosts: Vec<u32> = (0..hosts).collect();
    let job = |(row, job): (usize, &Ring)| {
        format!(
            "[[job]]\nname = \"job-{row}\"\nplacement = {{ hosts = {hosts:?} }}\ngpus_of_host = {:?}\nsteps = {}\n\
             collective = {{ kind = \"all-reduce\", bytes = \"{} MB\", algorithm = \"ring\", compute = \"{} ms\" }}\n",
            gpus[row], job.steps, job.megabytes, job.compute_ms
        )
    };
    let jobs: String = jobs.iter().enumerate().map(job).collect();
    format!(
        "schema = 1\nname = \"shared\"\nseed = 1\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 3\n\
         uplinks = 1\n[fabric.host]\nmodel = \"hgx-a100\"\nnics = 4\npcie_switches = 4\nnvlink = \"0 Gbps\"\n\
         pcie = \"120 Gbps\"\ncaps = \"none\"\n{jobs}"
    )
}

fn case(jobs: &[Ring], hosts: u32) -> Case {
    let mut case = resolved(&text(jobs, SLOTS, hosts), EngineName::Flow).case;
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
pub(crate) fn ends_of_fluid(
    case: &Case,
    jobs: &[Ring],
    hosts: u32,
    sharing: SharingPolicy,
) -> Vec<(f64, f64)> {
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
            placement: None,
        }
    };
    let jobs: Vec<ClusterJob> = jobs.iter().enumerate().map(job).collect();
    let ask = Ask {
        span: 1e5,
        queue: QueuePolicy::Fifo,
        placement: PlacementPolicy::Packed,
        rank_order: RankOrder::Given,
        defragment: None,
        checkpoints: None,
        reads: None,
        serving: None,
        sharing,
        levels: 8,
        gate: true,
        // As in a run, who comes is ranked in that moment.
        replan: 0.0,
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
        let fluid = ends_of_fluid(&case(&asked, hosts), &asked, hosts, SharingPolicy::Ecmp);
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
    let text = std::fs::read_to_string(PIX_AGAINST_PHB).unwrap();
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

const PIX_AGAINST_PHB: &str = "../../scenarios/jobs/pix-against-phb.toml";

/// Seconds at which the jobs of a scenario end.
fn ends(text: &str, name: EngineName) -> Vec<f64> {
    let case = resolved(text, name).case;
    let log = engine(name, 1).run(&case, 0);
    assert_eq!(log.unfinished, 0, "{:?}", log.incidents);
    log.job_ends(&case.work).iter().map(|&end| end.min(log.end).seconds()).collect()
}

/// A GPU that reaches its NIC over the root complex has half of it beside another job's rings, in flows and in packets,
/// and one below the switch of its NIC loses nothing to them. That packets are more than flows is the time of the first
/// message and of acknowledgements.
#[test]
fn both_engines_have_a_gpu_lose_its_nic_to_a_neighbour_over_the_root_complex() {
    let phb = std::fs::read_to_string(PIX_AGAINST_PHB).unwrap();
    let pix = phb.replace("gpus_of_host = [2]", "gpus_of_host = [0]");
    let [flows, packets] = [EngineName::Flow, EngineName::Packet].map(|name| ends(&phb, name));
    for (flows, packets) in flows.iter().zip(&packets) {
        assert!((flows - packets).abs() < 0.03 * flows, "{flows} {packets}");
    }
    // 64 MiB each way at half of 200 Gbps.
    assert!((packets[0] - (64 << 20) as f64 / 12.5e9).abs() < 0.02 * packets[0], "{packets:?}");
    let below = ends(&pix, EngineName::Packet);
    let alone = ends(&pix[..pix.find("# GPU 3 shares").unwrap()], EngineName::Packet);
    assert!((below[0] - alone[0]).abs() < 1e-9, "{below:?} {alone:?}");
    assert!(packets[0] > 1.85 * alone[0], "{packets:?} {alone:?}");
}

/// What cannot be handed on fills the buffer of the NIC, which pauses its leaf; nothing is lost, and nothing waits where
/// the way is free.
#[test]
fn a_nic_that_shares_its_way_pauses_its_leaf() {
    let phb = std::fs::read_to_string(PIX_AGAINST_PHB).unwrap();
    let told = |text: &str| {
        let resolved = resolved(text, EngineName::Packet);
        let log = engine(EngineName::Packet, 1).run(&resolved.case, 0);
        let fabric = &resolved.case.fabric;
        let packets = log.packets.unwrap();
        let nic = fabric.nic(HostId(0), 0);
        let frames: u32 = fabric
            .neighbors(nic)
            .iter()
            .map(|(link, _)| packets.links.pause_frames[link.reverse().index()])
            .sum();
        (frames, packets.counts.dropped)
    };
    let (frames, dropped) = told(&phb);
    assert!(frames > 20 && dropped == 0, "{frames} {dropped}");
    assert_eq!(told(&phb.replace("gpus_of_host = [2]", "gpus_of_host = [0]")), (0, 0));
    // A buffer that holds all of it has no need to.
    assert_eq!(told(&format!("{phb}\n[packet]\nnic = {{ receive_buffer = \"1 GB\" }}\n")), (0, 0));
}

/// A NIC behind the root complex beside `others` rings of two GPUs that cross it too: each has 1 / (others + 1).
#[test]
fn a_nic_beside_n_pieces_on_the_way_to_it_has_a_share_of_n_and_one() {
    let text = |others: u32| {
        let neighbour = |row: u32| {
            format!(
                "[[job]]\nname = \"neighbour-{row}\"\nhosts = 1\ngpus_of_host = [{row}, {}]\n\
                 collective = {{ kind = \"all-reduce\", algorithm = \"ring\", bytes = \"64 MiB\" }}\n",
                5 + row
            )
        };
        let neighbours: String = (0..others).map(neighbour).collect();
        format!(
            "schema = 1\nname = \"shares\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 2\n\
             uplinks = 1\n[fabric.host]\nmodel = \"plain\"\ngpus = 8\nnics = 1\nnic_ports = 1\n\
             nic_port_capacity = \"200 Gbps\"\npcie = \"100 Gbps\"\npcie_switches = 2\ncaps = \"none\"\n\
             [packet]\nstart_jitter = \"0 us\"\n[[job]]\nname = \"far\"\nhosts = 2\ngpus_of_host = [4]\n\
             collective = {{ kind = \"all-reduce\", algorithm = \"ring\", bytes = \"16 MiB\" }}\n{neighbours}"
        )
    };
    for others in 0..4 {
        let time = ends(&text(others), EngineName::Packet)[0];
        let expected = (16 << 20) as f64 * f64::from(others + 1) / 12.5e9;
        // The first message of each of two stages takes its way, some 30 us alone.
        assert!((0.0..0.04).contains(&(time / expected - 1.0)), "{others} others: {time} {expected}");
    }
}

/// A job behind the root complex and one below the switch share NICs, to one of which a neighbour's rings are on the way:
/// each has half of the NIC, as in flows; packets of one do not wait behind those of the other.
#[test]
fn jobs_on_one_nic_with_different_ways_do_not_wait_for_each_other() {
    let job = |name: &str, hosts: &str, gpus: &str, bytes: u32| {
        format!(
            "[[job]]\nname = \"{name}\"\nplacement = {{ hosts = {hosts} }}\ngpus_of_host = {gpus}\n\
             collective = {{ kind = \"all-reduce\", algorithm = \"ring\", bytes = \"{bytes} MiB\" }}\n"
        )
    };
    let jobs = job("far", "[0, 1, 2]", "[2]", 32)
        + &job("near", "[0, 1, 2]", "[0]", 32)
        + &job("inside", "[1]", "[3, 5, 7]", 64);
    let text = format!(
        "schema = 1\nname = \"ways\"\n[fabric]\npreset = \"leaf-spine\"\nleaves = 1\nhosts_per_leaf = 3\n\
         uplinks = 1\n[fabric.host]\nmodel = \"plain\"\ngpus = 8\nnics = 2\nnic_ports = 1\n\
         nic_port_capacity = \"200 Gbps\"\npcie = \"200 Gbps\"\npcie_switches = 4\ncaps = \"none\"\n\
         [routing]\nmessage = \"128 KiB\"\n[packet]\nstart_jitter = \"0 us\"\n{jobs}"
    );
    let [flows, packets] = [EngineName::Flow, EngineName::Packet].map(|name| ends(&text, name));
    for (flows, packets) in flows.iter().zip(&packets) {
        assert!((flows - packets).abs() < 0.05 * flows, "{flows} {packets}");
    }
}

/// Hosts with PCIe switches on one thread and on several, byte for byte.
#[test]
fn packets_over_pcie_switches_are_the_same_on_any_number_of_threads() {
    let phb = std::fs::read_to_string(PIX_AGAINST_PHB).unwrap();
    let case = resolved(&phb, EngineName::Packet).case;
    let one = engine(EngineName::Packet, 1).run(&case, 0);
    for threads in [1, 2, 3] {
        assert!(engine(EngineName::Packet, threads).run(&case, 0) == one, "{threads} threads");
    }
}

/// A NIC that takes in a quarter of what it could sets the pace, and is itself again when that is over.
#[test]
fn a_slow_nic_behind_a_switch_sets_the_pace() {
    let phb = std::fs::read_to_string(PIX_AGAINST_PHB).unwrap();
    let pix = phb.replace("gpus_of_host = [2]", "gpus_of_host = [0]");
    let slow = |until: &str| {
        let fault =
            "at = \"0 s\"\nkind = \"slow\"\nnic = \"host-0/nic-0\"\ndirection = \"in\"\ncapacity = 0.25\n";
        ends(&format!("{pix}\n[[fault]]\n{fault}{until}"), EngineName::Packet)[0]
    };
    let bytes = (64 << 20) as f64;
    // A quarter of the port's 200 Gbps.
    let (always, passing) = (slow(""), slow("until = \"4 ms\"\n"));
    assert!((always / (bytes / 6.25e9) - 1.0).abs() < 0.04, "{always}");
    let left = (bytes - 6.25e9 * 4e-3) / (200e9 / 8.0 * 4096.0 / 4178.0);
    assert!((passing / (4e-3 + left) - 1.0).abs() < 0.04, "{passing} {left}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two jobs on some of the GPUs of the same hosts end in packets when flows say.
    ///
    /// A ring hands on message by message, which a flow has as one pace: with few messages in a stage it waits now and
    /// then, and the other job takes what it leaves. With messages of 512 KiB, four in a stage of 2 MB, that is up to 5 %
    /// of a job; with those of 128 KiB it was 0.4 % at most on 150 draws.
    #[test]
    fn both_engines_have_jobs_on_shared_hosts_end_at_once(
        drawn in prop::collection::vec((20u64..60, prop::sample::subsequence((0usize..4).collect::<Vec<_>>(), 2..5)), 2),
        hosts in 1u32..4,
    ) {
        let jobs: Vec<Ring> = drawn.iter().map(|&(megabytes, _)| Ring { compute_ms: 0, megabytes, steps: 1 }).collect();
        let gpus: Vec<Vec<u32>> = (0..2).map(|row| drawn[row].1.iter().map(|&slot| SLOTS[row][slot]).collect()).collect();
        let text = text(&jobs, [&gpus[0], &gpus[1]], hosts) + "[routing]\nmessage = \"128 KiB\"\n[packet]\nstart_jitter = \"0 us\"\n";
        let [flows, packets] = [EngineName::Flow, EngineName::Packet].map(|name| ends(&text, name));
        for (flows, packets) in flows.iter().zip(&packets) {
            prop_assert!((flows - packets).abs() < 0.01 * flows, "{flows} {packets} {drawn:?} {hosts} hosts");
        }
    }
}

//! Jobs that share hosts: PCIe that several cross, and the gate.
use railtwin_clustersim::plant::Plant;
use railtwin_clustersim::{Ask, ClusterJob, Lived, live};
use railtwin_control::Place;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostId, HostSpec};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::skipping::{ask, step};

/// Four hosts of eight A100 behind four PCIe switches, a NIC of 200 Gbps on each; with NVLink or without.
fn fabric(nvlink: Option<Rate>) -> Fabric {
    let host = HostSpec {
        nics: Some(4),
        pcie_switches: Some(4),
        pcie: Some(Rate::from_gbps(160)),
        nvlink,
        ..HostSpec::named("hgx-a100")
    };
    let spec = LeafSpine { leaves: 2, hosts_per_leaf: 2, uplinks: 4, host, ..LeafSpine::default() };
    spec.build().expect("it can be built")
}

/// A job on these GPUs of these hosts that computes a second and then reduces so many bytes.
fn job(name: &str, compute: f64, gigabytes: f64, hosts: &[u32], gpus: &[u32]) -> ClusterJob {
    let places: Vec<Place> = hosts
        .iter()
        .flat_map(|&host| gpus.iter().map(move |&gpu| Place { host: HostId(host), gpu }))
        .collect();
    let count = places.len() as u32;
    ClusterJob {
        checkpoints: 0.0,
        name: name.to_owned(),
        class: String::new(),
        submitted: 0.0,
        gpus: count,
        duration: 400.0,
        step: step(compute, 1.0, count, gigabytes),
        places,
        placement: None,
    }
}

fn lived(fabric: &Fabric, jobs: &[ClusterJob], sharing: SharingPolicy, gate: bool) -> Lived {
    live(jobs, &Plant::new(fabric, 4), &Ask { span: 4_000.0, gate, replan: 1.0, ..ask(sharing) })
}

fn seconds(lived: &Lived, job: usize) -> f64 {
    let life = &lived.jobs[job];
    life.ended.expect("it ends") - life.started.expect("it starts")
}

/// Two rings through one host cross the uplink of every PCIe switch.
fn two_on_a_host() -> [ClusterJob; 2] {
    [job("intense", 1.0, 5.0, &[0], &[0, 2, 4, 6]), job("other", 0.2, 12.0, &[0], &[1, 3, 5, 7])]
}

#[test]
fn jobs_get_the_gpus_that_they_name_and_wait_for_them() {
    let fabric = fabric(None);
    let first = job("first", 1.0, 1.0, &[0, 1], &[0, 2]);
    let second = ClusterJob { submitted: 1.0, ..job("second", 1.0, 1.0, &[1, 2], &[2, 3]) };
    let third = ClusterJob { submitted: 2.0, ..job("third", 1.0, 1.0, &[3], &[1]) };
    let lived = lived(&fabric, &[first, second, third], SharingPolicy::Ecmp, true);
    assert_eq!(lived.jobs[0].places, [(0, 0), (0, 2), (1, 0), (1, 2)]);
    // Its GPU 2 of host 1 is the first's until that has ended.
    assert_eq!(lived.jobs[1].started, lived.jobs[0].ended);
    assert_eq!(lived.jobs[2].started, Some(2.0));
}

#[test]
fn rings_of_a_host_contend_on_pcie_and_not_on_nvlink() {
    let jobs = two_on_a_host();
    for (nvlink, contends) in [(Some(Rate::ZERO), true), (None, false)] {
        let fabric = fabric(nvlink);
        let lived = lived(&fabric, &jobs, SharingPolicy::Ecmp, true);
        for (row, job) in lived.jobs.iter().enumerate() {
            assert_eq!(job.contended, contends, "{}", jobs[row].name);
            let alone = job.steps * job.step_alone;
            let slowed = seconds(&lived, row) > alone * 1.001;
            assert_eq!(slowed, contends, "{}: {} of {alone}", jobs[row].name, seconds(&lived, row));
        }
    }
}

#[test]
fn a_gate_gives_the_winner_its_own_speed_and_gpus_more_to_do() {
    let (fabric, jobs) = (fabric(Some(Rate::ZERO)), two_on_a_host());
    let gated = lived(&fabric, &jobs, SharingPolicy::Crux, true);
    let ungated = lived(&fabric, &jobs, SharingPolicy::Crux, false);
    let ecmp = lived(&fabric, &jobs, SharingPolicy::Ecmp, true);
    let alone = gated.jobs[0].steps * gated.jobs[0].step_alone;
    // Until the first plan, a second after it came, it is not ahead of who came with it.
    assert!((seconds(&gated, 0) - alone).abs() < 0.01 * alone, "{} {alone}", seconds(&gated, 0));
    assert!(seconds(&ungated, 0) > 1.1 * alone, "{} {alone}", seconds(&ungated, 0));
    // Priorities that do not reach PCIe are none where PCIe alone is shared.
    for row in 0..2 {
        let (one, other) = (seconds(&ungated, row), seconds(&ecmp, row));
        assert!((one - other).abs() < 2e-3 * other, "{row}: {one} {other}");
    }
    assert!(gated.gpu_utilization() > ungated.gpu_utilization());
}

#[test]
fn two_gpus_behind_a_switch_share_its_nic_and_the_way_to_it() {
    // PCIe of 160 Gbps into a NIC of 200: two jobs on one pair get 80 each, a job on a pair of its own 160.
    let fabric = fabric(None);
    let one = job("one", 0.001, 2.0, &[0, 1], &[0]);
    let beside = job("beside", 0.001, 2.0, &[0, 1], &[1]);
    let apart = job("apart", 0.001, 2.0, &[0, 1], &[2]);
    let alone = lived(&fabric, &[one.clone(), apart], SharingPolicy::Ecmp, true);
    assert!(!alone.jobs[0].contended && !alone.jobs[0].shared_a_link);
    let step = 0.001 + 2e9 * 8.0 / 160e9;
    assert!((alone.jobs[0].step_alone - step).abs() < 1e-9, "{} {step}", alone.jobs[0].step_alone);
    let together = lived(&fabric, &[one, beside], SharingPolicy::Ecmp, true);
    let both = together.jobs[0].steps * (0.001 + 2.0 * (step - 0.001));
    assert!((seconds(&together, 0) - both).abs() < 0.02 * both, "{} {both}", seconds(&together, 0));
}

#[test]
fn traffic_over_pcie_is_that_of_rings_and_exchanges() {
    let fabric = fabric(Some(Rate::ZERO));
    let places: Vec<Place> = [0, 1, 4].map(|gpu| Place { host: HostId(0), gpu }).into();
    let ring = railtwin_clustersim::traffic::step_traffic(&fabric, &step(1.0, 1.0, 3, 3.0), &places);
    // 2 (n - 1) / n of 3 GB, from each to the next.
    let each = Bytes(4_000_000_000);
    let hops: Vec<([u32; 2], Bytes)> = ring.over_pcie.iter().map(|hop| (hop.gpus, hop.bytes)).collect();
    assert_eq!(hops, [([0, 1], each), ([1, 4], each), ([4, 0], each)]);
    assert!(ring.hops.is_empty() && ring.inside == Bytes(0));
    let exchange = railtwin_workload::job_class::ClassStep {
        exchanged: Bytes(600),
        reduced: Bytes(0),
        among: 3,
        compute: SimTime::from_ps(1),
        ..step(1.0, 1.0, 3, 0.0)
    };
    let all = railtwin_clustersim::traffic::step_traffic(&fabric, &exchange, &places);
    assert_eq!(all.over_pcie.len(), 6);
    assert!(all.over_pcie.iter().all(|hop| hop.bytes == Bytes(300)));
}

//! Scenarios that are right: what their text says arrives in the types.
#![allow(clippy::unwrap_used, reason = "a test")]

use railtwin_fabric::design::DesignReport;
use railtwin_scenario::{
    Algorithm, Amount, Balancer, FabricSpec, FaultKind, JobSize, Per, Placement, Preset, Scenario, Seeds,
    SimaiSpec, Split, Work, Workload, expand,
};
use railtwin_units::{Bytes, Rate, SimTime};

const FULL: &str = r#"
schema = 1
name = "full"
description = "every key once"
seed = 7
engine = "flow"
[run]
replicates = 20
steps = 2
[fabric]
preset = "hpn"
pods = 2
segments = 3
hosts = 4
spare_hosts = 0
planes = true
dual_tor = true
tier2 = "any-to-any"
spines = 60
spine_up = 8
cores = 60
uplink = "400 Gbps"
chip = "51.2 Tbps"
[fabric.host]
model = "hgx-h100"
gpus = 8
nics = 8
nic_ports = 2
nic_port_capacity = "200 Gbps"
nvlink = "450 GB/s"
pcie = "504 Gbps"
[routing]
balancer = "disjoint"
hash = "toeplitz"
fields = ["five_tuple", "target_qp"]
seeds = "per-tier"
queue_pairs = 2
split = "dynamic"
core_per_port = true
[[job]]
name = "train"
start = "1.5 s"
placement = { hosts = [3, 1, 2, 0] }
workload = { recipe = "gpt3-175b", tp = 8, pp = 2, dp = 2, micro_batches = 4, micro_batch = 1, efficiency = 0.4, interleave = 2 }
[[job]]
count = 2
gpus = 64
placement = "spread"
collective = { kind = "all-reduce", bytes = "1 GiB", algorithm = "nvls-ring", repeat = 3, per = "rail" }
[[job]]
hosts = 2
workload = { simai = "work.txt" }
[[cap]]
collective = "all-reduce"
algorithm = "nvls-ring"
host = "hgx-h800"
busbw = "362 GB/s"
[[fault]]
at = "2 s"
cable = "leaf-0:uplink-3"
kind = "down"
until = "5 s"
[expect]
step_time = { at_least = "1 s", at_most = "2 s" }
jobs = { equals = 4, tolerance = 0.1 }
"#;

#[test]
fn every_key_arrives() {
    let scenario = Scenario::parse("full.toml", FULL).unwrap();
    assert_eq!((scenario.seed, scenario.run.replicates, scenario.run.steps), (7, 20, 2));
    let FabricSpec::Preset(Preset::Hpn(hpn)) = &scenario.fabric else { panic!("{:?}", scenario.fabric) };
    assert_eq!((hpn.pods, hpn.spare_hosts), (2, Some(0)));
    assert_eq!(hpn.host.nvlink, Some(Rate::from_gbps(3600)));
    let routing = scenario.routing;
    assert_eq!(
        (routing.balancer, routing.seeds, routing.split),
        (Balancer::Disjoint, Seeds::PerTier, Split::Dynamic)
    );
    assert_eq!(routing.fields, railtwin_routing::Fields::FIVE_TUPLE_AND_QP);
    let [train, reduce, trace] = scenario.jobs.as_slice() else { panic!() };
    assert_eq!(train.start, SimTime::from_ps(1_500_000_000_000));
    assert_eq!(train.placement, Placement::Hosts(vec![3, 1, 2, 0]));
    let Work::Workload(Workload::Recipe(recipe)) = &train.work else { panic!() };
    assert_eq!((recipe.tp, recipe.efficiency, recipe.interleave), (8, 0.4, 2));
    assert_eq!((reduce.name.as_str(), reduce.count, reduce.size), ("job-1", 2, Some(JobSize::Gpus(64))));
    let Work::Collective(collective) = &reduce.work else { panic!() };
    assert_eq!(
        (collective.bytes, collective.algorithm, collective.per),
        (Some(Bytes(1 << 30)), Some(Algorithm::NvlsRing), Per::Rail)
    );
    assert_eq!(
        trace.work,
        Work::Workload(Workload::Simai(SimaiSpec { simai: "work.txt".to_owned(), interleave: None }))
    );
    assert_eq!(scenario.caps[0].busbw, Some(Rate::from_gbps(2896)));
    assert_eq!((scenario.faults[0].kind, scenario.faults[0].until), (FaultKind::Down, "5 s".parse().ok()));
    assert_eq!(scenario.expect["step_time"].at_most, Some(Amount::Time("2 s".parse().unwrap())));
    assert_eq!(scenario.expect["jobs"].equals, Some(Amount::Number(4.0)));
    let again = Scenario::parse("again", &scenario.to_toml()).unwrap();
    assert_eq!(again, scenario, "{}", scenario.to_toml());
}

#[test]
fn the_least_scenario_has_defaults() {
    let text = "schema = 1\nname = \"a\"\n[fabric]\npreset = \"hpn\"\n";
    let scenario = Scenario::parse("a", text).unwrap();
    assert_eq!((scenario.seed, scenario.run.replicates), (1, 1));
    assert_eq!(scenario.routing.balancer, Balancer::Ecmp);
    let FabricSpec::Preset(preset) = &scenario.fabric else { panic!() };
    assert_eq!(DesignReport::of(&preset.build().unwrap()).gpus_active, 15_360);
}

fn preset(fabric: &str) -> Preset {
    let text = format!("schema = 1\nname = \"a\"\n[fabric]\n{fabric}\n");
    match Scenario::parse("a", &text).unwrap().fabric {
        FabricSpec::Preset(preset) => preset,
        other => panic!("{other:?}"),
    }
}

#[test]
fn presets_build_with_what_is_changed_in_them() {
    let rail_only =
        preset("preset = \"hpn\"\ntier2 = \"rail-only\"\nsegments = 2\nhosts = 4\nspare_hosts = 0");
    let report = DesignReport::of(&rail_only.build().unwrap());
    assert_eq!((report.planes, report.gpus_active), (16, 64));
    let dcn = preset("preset = \"dcn-plus\"\npods = 2");
    assert_eq!(DesignReport::of(&dcn.build().unwrap()).gpus_active, 1024);
    let zone = preset(
        "preset = \"ai-zone\"\npods = 2\nsegments = 4\nhosts = 1\nuplinks = 9\nspine_up = 2\ncores = 3\n\
         uplink = \"200 Gbps\"\nhost.model = \"zion-ex\"",
    );
    let report = DesignReport::of(&zone.build().unwrap());
    let switches: Vec<u32> = report.tiers.iter().map(|tier| tier.switches).collect();
    assert_eq!((report.gpus_active, switches), (64, vec![8, 18, 3]));
    assert_eq!((report.tiers[0].up_ports, report.tiers[0].up_capacity), (9, Rate::from_gbps(200)));
    let tree = preset("preset = \"fat-tree\"\nk = 4\ncapacity = \"100 Gbps\"");
    let report = DesignReport::of(&tree.build().unwrap());
    assert_eq!((report.gpus_active, report.host_backend), (16, Rate::from_gbps(100)));
    let leaf = preset(
        "preset = \"leaf-spine\"\nleaves = 3\nhosts_per_leaf = 5\nuplinks = 2\n\
         host.model = \"plain\"\nhost.nic_port_capacity = \"25 Gbps\"",
    );
    let report = DesignReport::of(&leaf.build().unwrap());
    assert_eq!(
        (report.gpus_active, report.tiers[1].switches, report.host_backend),
        (15, 2, Rate::from_gbps(25))
    );
    let no_nvlink = preset("preset = \"leaf-spine\"\nhost.nvlink = \"0 Gbps\"");
    assert_eq!(DesignReport::of(&no_nvlink.build().unwrap()).nvlink_to_nic, None);
}

#[test]
fn an_axis_of_one_value_is_a_scenario() {
    let text = "schema = 1\nname = \"a\"\nseed = [3]\n[fabric]\npreset = \"hpn\"\n";
    assert_eq!(Scenario::parse("a", text).unwrap().seed, 3);
    assert_eq!(expand("a", text).unwrap()[0].label, [("seed".to_owned(), "3".to_owned())]);
}

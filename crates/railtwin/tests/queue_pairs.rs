//! What is handed out is what a run takes: every fabric that a scenario names, every balancer whose queue pairs have
//! paths, before and after a cable dies.
use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use railtwin_engine::lower::{FlowPath, Lowering};
use railtwin_engine::{Balancer, Case, Connection, HostsBy, Replan};
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::LinkMask;

use railtwin::Question;
use railtwin::queue_pairs::{Demand, QueuePair, plan, without_paths};

/// `[fabric]` by preset or file, small, and the hosts of the job on it. One, two and three tiers; one port and two;
/// rails that meet only over relays; parallel cables.
const FABRICS: [(&str, u32); 14] = [
    ("preset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 0\nspines = 4\n", 4),
    ("preset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 0\nspines = 4\nplanes = false\n", 4),
    (
        "preset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 0\nspines = 4\nplanes = false\ndual_tor = false\n",
        4,
    ),
    ("preset = \"hpn\"\nsegments = 2\nhosts = 2\nspare_hosts = 0\nspines = 4\ntier2 = \"rail-only\"\n", 4),
    (
        "preset = \"hpn\"\npods = 2\nsegments = 1\nhosts = 2\nspare_hosts = 0\nspines = 4\nspine_up = 2\ncores = 4\n",
        4,
    ),
    ("preset = \"dcn-plus\"\npods = 2\nsegments = 1\nhosts = 2\nspines = 2\nparallel = 2\ncores = 4\n", 4),
    ("preset = \"dcn-plus\"\npods = 1\nsegments = 2\nhosts = 2\nspines = 2\nparallel = 3\n", 4),
    ("preset = \"ai-zone\"\nsegments = 2\nhosts = 2\nuplinks = 4\n", 4),
    ("preset = \"ai-zone\"\npods = 2\nsegments = 2\nhosts = 1\nuplinks = 4\nspine_up = 2\n", 4),
    ("preset = \"leaf-spine\"\nleaves = 4\nhosts_per_leaf = 2\nuplinks = 3\n", 4),
    (
        "preset = \"leaf-spine\"\nleaves = 3\nhosts_per_leaf = 2\nhost = { model = \"plain\", nic_ports = 1 }\n",
        6,
    ),
    ("preset = \"fat-tree\"\nk = 4\n", 10),
    ("lingjun = \"data/lingjun/topo.csv\"\n", 4),
    ("htsim = \"data/htsim/leaf_spine_tiny.topo\"\n", 4),
];

fn case_of(text: &str) -> Case {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let question = Question::of_text("a.toml", text, root);
    let point = question.points().unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
    question.resolve(&point.scenario).unwrap_or_else(|error| panic!("{error}\n{text}")).case
}

/// Ends, index, source port, landed port and links of each queue pair.
type Rows = BTreeSet<(DeviceId, DeviceId, u32, u16, u32, Vec<LinkId>)>;

fn of_run(flows: Vec<FlowPath>) -> Rows {
    let row = |one: FlowPath| {
        (one.source, one.target, one.queue_pair, one.source_port, one.landed_port, one.links.to_vec())
    };
    flows.into_iter().map(row).collect()
}

/// The connections of a run, opened again one by one.
fn demands_of(case: &Case, lowering: &Lowering<'_>) -> Vec<Demand> {
    let demand = |one: &Connection| Demand {
        job: one.job,
        source: one.source,
        target: one.target,
        queue_pairs: case.routing.queue_pairs,
        bytes: one.bytes,
    };
    lowering.connections().iter().map(demand).collect()
}

/// What is handed out. `flows` of a run has no row for what has no path.
fn planned(case: &Case, replicate: u32, demands: &[Demand], down: &LinkMask) -> Rows {
    let found = plan(case, replicate, demands, down).into_iter();
    let row = |one: QueuePair| {
        let Demand { source, target, .. } = demands[one.demand as usize];
        (source, target, one.index, one.source_port, one.landed_port, one.links)
    };
    found.filter(|one| !one.links.is_empty()).map(row).collect()
}

fn assert_equal(planned: &Rows, of_run: &Rows, text: &str) {
    assert!(!of_run.is_empty());
    let other: Vec<_> = planned.symmetric_difference(of_run).take(4).collect();
    assert!(other.is_empty(), "{other:?}\n{text}");
}

/// Fabric, balancer and the rest of `[routing]`, `[[job]]`, replicate, and a cable that dies.
fn assert_same(fabric: usize, balancer: Balancer, routing: &str, kind: &str, replicate: u32, lot: usize) {
    let (fabric, hosts) = FABRICS[fabric];
    let text = format!(
        "schema = 1\nname = \"a\"\nseed = 5\n[fabric]\n{fabric}[routing]\nbalancer = \"{balancer}\"\n{routing}\
         [[job]]\nhosts = {hosts}\ncollective = {{ kind = \"{kind}\", bytes = \"64 MiB\" }}\n"
    );
    let case = case_of(&text);
    let none = LinkMask::none(&case.fabric);
    let lowering = Lowering::new(&case, replicate);
    let demands = demands_of(&case, &lowering);
    assert!(!demands.is_empty());
    // The table `flows` of a run is made of these.
    let before = of_run(lowering.table(&none, true).1);
    assert_equal(&planned(&case, replicate, &demands, &none), &before, &text);

    let cables: Vec<_> =
        case.fabric.cables().filter(|cable| case.fabric.is_network(cable.forward())).collect();
    let dying = cables[lot % cables.len()];
    let mut down = none;
    down.set_cable(dying, true);
    for at in ["0 s", "1 ms"] {
        let name = case.fabric.cable_name(dying);
        let faulty = format!("{text}[[fault]]\nat = \"{at}\"\ncable = \"{name}\"\nkind = \"down\"\n");
        let case = case_of(&faulty);
        // Who never plans again keeps the plan of before the fault, unless that is how it all began.
        let leaf = case.routing.control.hosts == HostsBy::Leaf;
        // Traffic engineering that plans again leaves flows where they were, and so do Crux where another path is no better
        // and hosts that know their own leaf.
        let keeps = balancer == Balancer::Te || balancer.sharing().is_some() || leaf;
        let never = case.routing.replan == Replan::Never;
        if at != "0 s" && (never || keeps) {
            continue;
        }
        let lowering = Lowering::new(&case, replicate);
        // As an engine passes through them.
        let moments = case.timeline(replicate);
        let mut mediator = lowering.mediator(&moments);
        while let Some(now) = mediator.next_time() {
            mediator.pass(now);
        }
        let chosen = lowering.paths_by(&mediator.known().routed, mediator.programmed());
        let demands = demands_of(&case, &lowering);
        let after = of_run(lowering.table_on(&chosen, true).1);
        assert_equal(&planned(&case, replicate, &demands, &down), &after, &faulty);
    }
}

fn balancers() -> Vec<Balancer> {
    Balancer::ALL.into_iter().filter(|&one| without_paths(one).is_none()).collect()
}

#[test]
fn queue_pairs_have_the_paths_of_the_run_on_every_fabric_under_every_balancer() {
    for fabric in 0..FABRICS.len() {
        for (lot, balancer) in balancers().into_iter().enumerate() {
            assert_same(fabric, balancer, "queue_pairs = 2\n", "all-reduce", 0, 37 * fabric + lot);
        }
        let leaf = "queue_pairs = 2\n[control]\nhosts = \"leaf\"\n";
        assert_same(fabric, Balancer::Disjoint, leaf, "all-reduce", 0, 41 * fabric);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn queue_pairs_have_the_paths_of_the_run(
        fabric in 0..FABRICS.len(), balancer in prop::sample::select(balancers()), queue_pairs in 1u32..4,
        seeds in prop::sample::select(vec!["shared", "per-tier", "per-switch"]),
        hash in prop::sample::select(vec!["crc-16", "crc-32", "crc-32c", "xor", "toeplitz"]),
        fields in prop::sample::select(vec!["\"five_tuple\"", "\"five_tuple\", \"target_qp\"", "\"five_tuple\", \"ingress_port\""]),
        resilient: bool, core_per_port: bool, replans: bool, leaf: bool,
        kind in prop::sample::select(vec!["all-reduce", "all-to-all"]), replicate in 0u32..3, lot: u16,
    ) {
        let mut routing = format!(
            "queue_pairs = {queue_pairs}\nseeds = \"{seeds}\"\nhash = \"{hash}\"\nfields = [{fields}]\n\
             resilient = {resilient}\ncore_per_port = {core_per_port}\n"
        );
        if !replans && matches!(balancer, Balancer::C4p | Balancer::Disjoint | Balancer::Te) {
            routing += "replan = \"never\"\n";
        }
        if leaf {
            routing += "[control]\nhosts = \"leaf\"\n";
        }
        assert_same(fabric, balancer, &routing, kind, replicate, usize::from(lot));
    }
}

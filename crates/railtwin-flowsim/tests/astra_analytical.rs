//! Store-and-forward transfers against the expectations of the ASTRA-sim analytical network's own tests.
use railtwin_engine::bundles::Strand;
use railtwin_engine::{BundleTable, BundleWriter, WorkGraph};
use railtwin_fabric::builder::FabricBuilder;
use railtwin_fabric::graph::{NONE, SwitchPlace};
use railtwin_fabric::{CableClass, Fabric, HostId, HostModel, LinkId, NicModel, PortRole};
use railtwin_flowsim::FlowEngine;
use railtwin_units::{Rate, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

const NPUS: u32 = 16;
const LATENCY: SimTime = SimTime::from_ns(500);

fn rate() -> Rate {
    Rate::from_bits_per_s(8 * (50 << 30))
}

/// Hosts of one NIC with `ports` ports.
fn hosts(builder: &mut FabricBuilder, ports: u32) {
    let nic = NicModel { ports, port_capacity: rate() };
    let model = builder.add_host_model(HostModel { nic, ..HostModel::plain(rate()) });
    for index in 0..NPUS {
        builder.add_host(model, 0, 0, index, false);
    }
}

/// Which NIC ports are joined, as (host, port, host, port).
fn direct(name: &str, ports: u32, cables: impl Iterator<Item = (u32, u32, u32, u32)>) -> Fabric {
    let mut builder = FabricBuilder::new(name);
    hosts(&mut builder, ports);
    for (a, a_port, b, b_port) in cables {
        let ends = [builder.nic_port(HostId(a), 0, a_port), builder.nic_port(HostId(b), 0, b_port)];
        builder.add_cable(ends, CableClass::Access, LATENCY);
    }
    builder.finish().expect("a small fabric")
}

fn ring() -> Fabric {
    direct("ring", 2, (0..NPUS).map(|npu| (npu, 0, (npu + 1) % NPUS, 1)))
}

fn fully_connected() -> Fabric {
    let pairs = (0..NPUS).flat_map(|a| (a + 1..NPUS).map(move |b| (a, b - 1, b, a)));
    direct("fully-connected", NPUS - 1, pairs)
}

fn switch() -> Fabric {
    let mut builder = FabricBuilder::new("switch");
    hosts(&mut builder, 1);
    let place = SwitchPlace { tier: 1, pod: 0, segment: 0, rail: NONE, plane: NONE, index: 0 };
    let leaf = builder.add_switch(place, &[(NPUS, rate(), PortRole::Down)]);
    for npu in 0..NPUS {
        let ends = [builder.nic_port(HostId(npu), 0, 0), builder.port(leaf, npu)];
        builder.add_cable(ends, CableClass::Access, LATENCY);
    }
    builder.finish().expect("a small fabric")
}

/// The links of the shortest way between two NICs, found breadth first.
fn path(fabric: &Fabric, source: u32, target: u32) -> Vec<LinkId> {
    let (source, target) = (fabric.nic(HostId(source), 0), fabric.nic(HostId(target), 0));
    let mut came_by = vec![None; fabric.device_count()];
    let mut queue = std::collections::VecDeque::from([source]);
    while let Some(device) = queue.pop_front() {
        for &(link, next) in fabric.neighbors(device) {
            if next != source && came_by[next.index()].is_none() {
                came_by[next.index()] = Some(link);
                queue.push_back(next);
            }
        }
    }
    let mut links = Vec::new();
    let mut at = target;
    while at != source {
        let link = came_by[at.index()].expect("all are joined");
        links.push(link);
        at = fabric.source(link);
    }
    links.reverse();
    links
}

/// One operation for each hop, each after the one before, each over one link.
fn store_and_forward(path: &[LinkId], bytes: u64) -> (BundleTable, WorkGraph) {
    let mut writer = BundleWriter::new(false);
    let mut builder = PlanBuilder::new(2, vec!["hops".into()]);
    let name = builder.name("hop");
    let mut before = Vec::new();
    for &link in path {
        writer.push(
            1.0,
            f64::INFINITY,
            &[Strand { edge: 0, amount: 1.0, of: 1, links: vec![link], parts: Vec::new() }],
        );
        writer.close_pattern(LATENCY);
        let pattern = builder.pattern(Pattern::new(
            Axis::Other,
            Collective::SendReceive,
            Some(Algorithm::Direct),
            vec![vec![0, 1]],
        ));
        let work = Work::Communicate { pattern, bytes };
        before = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &before)];
    }
    let mut work = WorkGraph::default();
    work.push("transfer".into(), SimTime::ZERO, builder.finish(), 1);
    (writer.finish(), work)
}

#[test]
fn single_transfers_take_what_the_vectors_say() {
    let vectors = include_str!("data/astra_analytical/vectors.csv");
    let mut checked = 0;
    for line in vectors.lines().skip(1) {
        // Names are quoted and hold commas; the four plain columns stand at the end.
        let mut columns = line.rsplit(',');
        let mut next = || columns.next().unwrap();
        let (expected, target, source, bytes) = (next(), next(), next(), next());
        let Ok(source) = source.parse() else { continue };
        let fabric = match line {
            _ if line.starts_with("\"Ring") => ring(),
            _ if line.starts_with("\"Fully") => fully_connected(),
            _ => switch(),
        };
        let path = path(&fabric, source, target.parse().unwrap());
        let (table, work) = store_and_forward(&path, bytes.parse().unwrap());
        let log = FlowEngine::default().run_table(&fabric, table, &work);
        let (ours, theirs) = (log.end.ps() as f64 / 1e3, expected.parse::<f64>().unwrap());
        // They truncate every hop to whole nanoseconds: the exact time is at most a nanosecond longer.
        assert!((0.0..1.0).contains(&(ours - theirs)), "{line}: {ours}");
        assert_eq!(log.unfinished, 0);
        checked += 1;
    }
    assert_eq!(checked, 3);
}

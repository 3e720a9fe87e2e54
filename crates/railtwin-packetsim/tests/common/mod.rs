//! Small cases for tests and benches: leaf-spine fabrics of plain hosts with one port, pairs that send.
#![allow(dead_code, reason = "every test and bench uses its own part of it")]
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{
    Balancer, Case, Pace, PacketCase, Posting, Reaction, Replan, RoutingCase, Split, Transport, WorkGraph,
};
use railtwin_fabric::preset::LeafSpine;
use railtwin_fabric::{Fabric, HostModel};
use railtwin_routing::{EcmpConfig, HashFunction, HashSpec, Seeds};
use railtwin_units::{Rate, SimTime, stream};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

/// A leaf-spine fabric of plain hosts: leaves, hosts of a leaf, spines, rate of hosts and of uplinks in Gbps, delay of
/// every cable in ns.
pub fn leaf_spine(
    leaves: u32,
    hosts: u32,
    spines: u32,
    (gbps, uplink): (u64, u64),
    delay: u64,
) -> Arc<Fabric> {
    let preset = LeafSpine {
        leaves,
        hosts_per_leaf: hosts,
        uplinks: spines,
        uplink_capacity: Rate::from_gbps(uplink),
        host: HostModel::plain(Rate::from_gbps(gbps)),
        delay: SimTime::from_ns(delay),
        switch_latency: SimTime::ZERO,
        ..LeafSpine::default()
    };
    Arc::new(preset.build().expect("the preset builds"))
}

/// The fabric of the peers' measurements: 16 leaves of 8 hosts, 8 spines, 100 Gbps and 1 us everywhere.
pub fn t128() -> Arc<Fabric> {
    leaf_spine(16, 8, 8, (100, 100), 1_000)
}

/// A permutation of `0..hosts` in which none stays, by Sattolo's cycle.
pub fn permutation(hosts: u32, seed: u64) -> Vec<(u32, u32)> {
    let mut targets: Vec<u32> = (0..hosts).collect();
    for last in (1..hosts as usize).rev() {
        let draw = stream::mix(seed ^ stream::mix(last as u64)) % last as u64;
        targets.swap(last, draw as usize);
    }
    (0..).zip(targets).collect()
}

/// A case of one job over all hosts that runs one pattern `repeat` times.
pub fn case(
    fabric: Arc<Fabric>,
    (collective, algorithm): (Collective, Algorithm),
    communicators: Vec<Vec<u32>>,
    bytes: u64,
    repeat: u32,
) -> Case {
    let ranks = fabric.hosts().iter().map(|host| fabric.host_models()[host.model as usize].gpus).sum();
    let place = Placer::new(&fabric, 1).place("job", ranks, &PlacementPolicy::Packed);
    let mut builder = PlanBuilder::new(ranks, vec!["all".into()]);
    let pattern = builder.pattern(Pattern { axis: Axis::Other, collective, algorithm, communicators });
    let name = builder.name(collective.name());
    let work = Work::Communicate { pattern, bytes };
    builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &[]);
    let mut graph = WorkGraph::default();
    graph.push("job".into(), SimTime::ZERO, builder.finish(), repeat);
    let routing = RoutingCase {
        balancer: Balancer::Ecmp,
        ecmp: EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerSwitch),
        queue_pairs: 1,
        split: Split::Static,
        posting: Posting::RoundRobin,
        message: None,
        resilient: false,
        replan: Replan::AtOnce,
        pxn: true,
    };
    Case {
        name: "case".into(),
        seed: 1,
        fabric,
        work: graph,
        placements: vec![place.expect("the fabric has that many hosts")],
        routing,
        pace: Pace::Bundle,
        caps: vec![],
        faults: vec![],
        reaction: Reaction::INSTANT,
        transport: Transport::default(),
        throughput: None,
        impairments: Vec::new(),
        rank_faults: Vec::new(),
        truths: Vec::new(),
        packets: PacketCase::default(),
    }
}

/// Pairs that send `bytes` each, all at once.
pub fn pairs(fabric: Arc<Fabric>, pairs: &[(u32, u32)], bytes: u64) -> Case {
    let communicators = vec![pairs.iter().flat_map(|&(source, target)| [source, target]).collect()];
    case(fabric, (Collective::SendReceive, Algorithm::Direct), communicators, bytes, 1)
}

/// One collective over all ranks.
pub fn collective(fabric: Arc<Fabric>, kind: Collective, algorithm: Algorithm, bytes: u64) -> Case {
    let ranks = fabric.hosts().iter().map(|host| fabric.host_models()[host.model as usize].gpus).sum();
    case(fabric, (kind, algorithm), vec![(0..ranks).collect()], bytes, 1)
}

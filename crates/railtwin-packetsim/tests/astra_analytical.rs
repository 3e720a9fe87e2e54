//! Links that serve whole chunks first come, first served, against the ASTRA-sim analytical network's own test.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{Case, Engine, WorkGraph};
use railtwin_fabric::builder::FabricBuilder;
use railtwin_fabric::graph::{NONE, SwitchPlace};
use railtwin_fabric::{CableClass, Fabric, HostId, HostModel, NicModel, PortRole};
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::cases;
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

const NPUS: u32 = 16;
const CHUNK: u64 = 1 << 20;

fn rate() -> Rate {
    Rate::from_bits_per_s(8 * (50 << 30))
}

/// A ring of hosts with two NICs: a switch that cuts through stands in the middle of the cable from one to the next.
fn ring() -> Arc<Fabric> {
    let mut builder = FabricBuilder::new("ring");
    let nic = NicModel { ports: 1, port_capacity: rate() };
    let model = HostModel { nic, nics: 2, gpus: 2, ..HostModel::plain(rate()) };
    let model = builder.add_host_model(model);
    for index in 0..NPUS {
        builder.add_host(model, 0, 0, index, false);
    }
    for index in 0..NPUS {
        let place = SwitchPlace { tier: 1, pod: 0, segment: 0, rail: NONE, plane: NONE, index };
        let leaf = builder.add_switch(place, &[(2, rate(), PortRole::Down)]);
        for (port, (host, nic)) in [(index, 0), ((index + 1) % NPUS, 1)].into_iter().enumerate() {
            let ends = [builder.nic_port(HostId(host), nic, 0), builder.port(leaf, port as u32)];
            builder.add_cable(ends, CableClass::Access, SimTime::from_ns(250));
        }
    }
    Arc::new(builder.finish().unwrap())
}

/// Every NPU sends a chunk to every other by the shorter way: one operation for each hop, each after the one before.
fn case() -> Case {
    let fabric = ring();
    let mut case = cases::pairs(Arc::clone(&fabric), &[(0, 3)], CHUNK);
    let ranks = 2 * NPUS;
    let mut builder = PlanBuilder::new(ranks, vec!["hops".into()]);
    let name = builder.name("hop");
    let hop = |builder: &mut PlanBuilder, npu: u32, clockwise: bool| {
        // The first NIC of a host leads to the second of the next.
        let next = if clockwise { (npu + 1) % NPUS } else { (npu + NPUS - 1) % NPUS };
        let pair = if clockwise { [2 * npu, 2 * next + 1] } else { [2 * npu + 1, 2 * next] };
        let pattern = builder.pattern(Pattern::new(
            Axis::Other,
            Collective::SendReceive,
            Some(Algorithm::Direct),
            vec![pair.to_vec()],
        ));
        (pattern, next)
    };
    for source in 0..NPUS {
        for offset in 1..NPUS {
            let (clockwise, distance) = (offset <= NPUS / 2, offset.min(NPUS - offset));
            let (mut at, mut before) = (source, Vec::new());
            for _ in 0..distance {
                let (pattern, next) = hop(&mut builder, at, clockwise);
                let work = Work::Communicate { pattern, bytes: CHUNK };
                before = vec![builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &before)];
                at = next;
            }
        }
    }
    let mut graph = WorkGraph::default();
    graph.push("job".into(), SimTime::ZERO, builder.finish(), 1);
    case.work = graph;
    case.placements = vec![Placer::new(&fabric, 1).place("job", ranks, &PlacementPolicy::Packed).unwrap()];
    case.routing.pxn = false;
    // A chunk is one message without headers; its acknowledgement is a byte.
    let keys = &mut case.packets.keys;
    (keys.payload, keys.header, keys.control) = (Bytes(8192), Bytes(0), Bytes(1));
    case.packets.keys.acknowledge_every = 128;
    case.packets.message = CHUNK;
    case.packets.keys.window = None;
    for tier in &mut case.packets.tiers {
        tier.cut_through = true;
    }
    case
}

#[test]
fn chunks_from_all_to_all_around_a_ring_take_what_the_vector_says() {
    let vectors = include_str!("../../railtwin-flowsim/tests/data/astra_analytical/vectors.csv");
    let line = vectors.lines().find(|line| line.contains(",all,all,")).unwrap();
    let theirs: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
    let log = PacketEngine::default().run(&case(), 0);
    assert_eq!(log.unfinished, 0);
    let ours = log.end.ps() as f64 / 1e3;
    // 36 chunks cross each clockwise link. They truncate a quarter of a nanosecond for each, 9 ns; a switch in the
    // middle takes 64 B of every first packet, 1.2 ns.
    assert!((0.0..20.0).contains(&(ours - theirs)), "{ours} ns against {theirs}");
}

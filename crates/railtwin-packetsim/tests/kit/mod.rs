//! What tests of laws share: many jobs of one message, runs, sums over logs.
#![allow(dead_code, reason = "every test uses its own part of it")]
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{Case, Engine, PacketLog, RunLog, WorkGraph};
use railtwin_fabric::{CableClass, DeviceId, Fabric, HostId, LinkId};
use railtwin_packetsim::PacketEngine;
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Axis, Collective, Operation, Pattern, PlanBuilder, Work};

/// Bytes of a full packet on the wire.
pub const FULL: u64 = 4_178;
/// Bytes of an acknowledgement.
pub const CONTROL: u64 = 86;
/// A byte at 100 Gbps, ps.
pub const BYTE: u64 = 80;
/// A microsecond in ps.
pub const US: u64 = 1_000_000;

/// Runs a case on one thread; everything has to end.
pub fn run(case: &Case) -> RunLog {
    let log = PacketEngine::default().run(case, 0);
    assert_eq!(log.unfinished, 0, "{:?}", log.incidents);
    log
}

/// What packets left behind.
pub fn packets(log: &RunLog) -> &PacketLog {
    log.packets.as_deref().expect("the packet engine logs packets")
}

/// Jobs of two ranks that send one message each: source, target, bytes, start.
pub fn jobs(mut case: Case, sends: &[(u32, u32, u64, SimTime)]) -> Case {
    case.work = WorkGraph::default();
    case.placements.clear();
    for &(source, target, bytes, start) in sends {
        let mut builder = PlanBuilder::new(2, vec!["all".into()]);
        let (collective, algorithm) = (Collective::SendReceive, Algorithm::Direct);
        let communicators = vec![vec![0, 1]];
        let pattern = builder.pattern(Pattern { axis: Axis::Other, collective, algorithm, communicators });
        let name = builder.name("send");
        let work = Work::Communicate { pattern, bytes };
        builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &[]);
        let policy = PlacementPolicy::Hosts(vec![source, target]);
        case.placements
            .push(Placer::new(&case.fabric, 1).place("job", 2, &policy).expect("there are such hosts"));
        case.work.push("job".into(), start, builder.finish(), 1);
    }
    case
}

/// Sizes on the wire of the packets of a transfer: even messages of at most 512 KiB.
pub fn wire(bytes: u64) -> Vec<u64> {
    let messages = bytes.div_ceil(512 << 10).max(1);
    let cut = |row: u64| bytes * row / messages;
    let mut sizes = Vec::new();
    for row in 0..messages {
        let message = cut(row + 1) - cut(row);
        sizes.extend(vec![FULL; (message / 4_096) as usize]);
        if !message.is_multiple_of(4_096) || message == 0 {
            sizes.push(message % 4_096 + FULL - 4_096);
        }
    }
    sizes
}

/// Bytes on the wire of a transfer.
pub fn on_wire(bytes: u64) -> u64 {
    wire(bytes).iter().sum()
}

/// When the last of the packets is there, over hops of (ps a byte, delay) that store and forward.
pub fn tandem(sizes: &[u64], hops: &[(u64, u64)]) -> u64 {
    let mut ready = vec![0; sizes.len()];
    for &(byte, delay) in hops {
        let mut free = 0;
        for (&size, ready) in sizes.iter().zip(&mut ready) {
            free = free.max(*ready) + size * byte;
            *ready = free + delay;
        }
    }
    ready.last().copied().unwrap_or(0)
}

/// The NIC of a plain host.
pub fn nic(fabric: &Fabric, host: u32) -> DeviceId {
    fabric.nic(HostId(host), 0)
}

/// The link into a plain host.
pub fn into_host(fabric: &Fabric, host: u32) -> LinkId {
    fabric.access_link(nic(fabric, host), 0).expect("a plain host has a port").reverse()
}

/// The links of a class.
pub fn links_of(fabric: &Fabric, class: CableClass) -> Vec<LinkId> {
    let links = (0..fabric.link_count() as u32).map(LinkId);
    links.filter(|link| fabric.cable_class(link.cable()) == class).collect()
}

/// Bytes on the wire that entered hosts, those after the last operation included.
pub fn arrived(fabric: &Arc<Fabric>, log: &RunLog) -> f64 {
    let hosts = 0..fabric.hosts().len() as u32;
    let bytes = |link: usize| log.link_bytes[link] + packets(log).links.late_bytes[link] as f64;
    hosts.map(|host| bytes(into_host(fabric, host).index())).sum()
}

/// No congestion, no loss: what has to be zero then.
pub fn assert_lossless(log: &RunLog) {
    let counts = packets(log).counts;
    assert_eq!((counts.dropped, counts.lost, counts.sent_again), (0, 0, 0), "{counts:?}");
    assert_eq!((counts.out_of_sequence, counts.negative, counts.ack_timeouts), (0, 0, 0), "{counts:?}");
}

//! Runs, and sums over logs.
pub mod reference;

use railtwin_engine::{Case, Engine, PacketLog, RunLog};
use railtwin_fabric::Fabric;
use railtwin_packetsim::PacketEngine;
use railtwin_testkit::fabrics::into_host;

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

/// Bytes on the wire that entered hosts, those after the last operation included.
pub fn arrived(fabric: &Fabric, log: &RunLog) -> f64 {
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

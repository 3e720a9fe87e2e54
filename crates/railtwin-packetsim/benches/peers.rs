//! The packets of one permutation through our engine and through ns-3, on the same machine in the same run:
//! `make bench-peers`.
//!
//! Called with the path of the compiled `benches/peers/ns3/peer.cpp`; without one it says so and ends.
#![allow(
    clippy::disallowed_methods,
    reason = "a bench asks another program through files, and reads the clock"
)]
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use railtwin_engine::Connection;
use railtwin_engine::choose::{ChosenPaths, View};
use railtwin_engine::lower::Lowering;
use railtwin_engine::packet::{Buffer, Packets, SwitchModel};
use railtwin_engine::{Case, Engine, PacketCase, PacketLog};
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_packetsim::PacketEngine;
use railtwin_routing::LinkMask;
use railtwin_testkit::{cases, fabrics, works};
use serde_json::Value;

const REPEATS: usize = 3;
/// Hosts of [`fabrics::t128`].
const HOSTS: u32 = 128;
const BYTES: u64 = 2_000_000;
/// More than all flows send together.
const ENDLESS: u64 = 1 << 40;

/// What ns-3 can do, too: queues without end, no pauses, and one acknowledgement for all packets of a flow.
fn plain_packets() -> PacketCase {
    let endless = SwitchModel { buffer: Buffer::Carved { bytes: ENDLESS }, pfc: None, ..SwitchModel::LEAF };
    let keys = Packets { acknowledge_every: u32::MAX, ..Packets::default() };
    PacketCase { keys, message: BYTES, tiers: [endless; 3], ..PacketCase::default() }
}

/// The permutation, all flows at once.
fn case(packets: PacketCase) -> Case {
    let case = cases::pairs(fabrics::t128(), &works::permutation(HOSTS, 1), BYTES);
    Case { packets, ..case }
}

/// The fabric and all flows on their paths, as `peer.cpp` reads them.
fn text(case: &Case, connections: &[Connection], paths: &ChosenPaths) -> String {
    let (fabric, wire): (&Fabric, _) = (&case.fabric, case.packets.keys.wire());
    let mut text = format!("{} {}\n", wire.payload, wire.header);
    let _ = writeln!(text, "{} {}", fabric.device_count(), fabric.cable_count());
    for link in fabric.cables().map(|cable| cable.forward()) {
        let (source, target) = (fabric.source(link).0, fabric.target(link).0);
        let (capacity, delay) = (fabric.capacity(link).bits_per_s(), fabric.delay(link).ps());
        let _ = writeln!(text, "{source} {target} {capacity} {delay}");
    }
    let _ = writeln!(text, "{}", connections.len());
    for connection in connections {
        assert_eq!(connection.count, 1, "a flow of ns-3 takes one path, as one queue pair does");
        let links = paths.path(connection.first).links;
        let _ = write!(text, "{} {}", connection.bytes, links.len());
        for link in links {
            let _ = write!(text, " {}", link.0);
        }
        text.push('\n');
    }
    text
}

/// One median run.
struct Measured {
    seconds: f64,
    packet_hops: f64,
    /// When each flow ended, seconds, in the order of connections.
    ends: Vec<f64>,
    /// What else is worth telling.
    remark: String,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.packet_hops / self.seconds
    }

    fn print(&self, what: &str) {
        let (mean, last) = (
            self.ends.iter().sum::<f64>() / self.ends.len() as f64,
            self.ends.iter().copied().fold(0.0, f64::max),
        );
        println!("  {what}");
        println!(
            "    {:.3} M packet-hops/s: {} in {:.1} ms{}",
            self.rate() / 1e6,
            self.packet_hops,
            self.seconds * 1e3,
            self.remark
        );
        println!("    flows end after {:.2} us in the mean, the last after {:.2} us", mean * 1e6, last * 1e6);
    }
}

fn median(mut runs: Vec<Measured>) -> Measured {
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    runs.swap_remove(runs.len() / 2)
}

/// Runs ns-3 once.
fn ask(peer: &Path, mode: &str, flows: &Path) -> Measured {
    let out = Command::new(peer).arg(mode).arg(flows).output();
    let out = out.unwrap_or_else(|error| panic!("{}: {error}", peer.display()));
    assert!(out.status.success(), "{}: {}", peer.display(), String::from_utf8_lossy(&out.stderr));
    let answer: Value = serde_json::from_slice(&out.stdout).expect("the peer answers in JSON");
    let number = |key: &str| answer[key].as_f64().unwrap_or_else(|| panic!("the peer gave no {key}"));
    let ends = answer["ends_ps"].as_array().expect("the peer tells when flows ended");
    let text = |key: &str| answer[key].as_str().unwrap_or("unknown").to_owned();
    Measured {
        seconds: number("wall_s"),
        packet_hops: number("packet_hops"),
        ends: ends.iter().map(|end| end.as_f64().expect("times are numbers") / 1e12).collect(),
        remark: format!(
            ", {} events, {:.0} MiB; ns-3 {}, build profile {:?}",
            number("events"),
            number("peak_kib") / 1024.0,
            text("version"),
            text("profile")
        ),
    }
}

/// When the flow of each connection ended, seconds; infinite where the log has no such flow.
fn ends(log: &PacketLog, connections: &[Connection]) -> Vec<f64> {
    let by_ends: BTreeMap<(DeviceId, DeviceId), f64> =
        log.flows.iter().map(|flow| ((flow.source, flow.target), flow.end.seconds())).collect();
    let end = |c: &Connection| by_ends.get(&(c.source, c.target)).copied().unwrap_or(f64::INFINITY);
    connections.iter().map(end).collect()
}

/// Runs our engine; none where it left no record of packets.
fn ours(packets: PacketCase, connections: &[Connection]) -> Option<Measured> {
    let case = case(packets);
    let mut runs = Vec::new();
    for _ in 0..REPEATS {
        let begin = Instant::now();
        let log = PacketEngine::default().run(&case, 0);
        let seconds = begin.elapsed().as_secs_f64();
        let log = log.packets?;
        let counts = log.counts;
        runs.push(Measured {
            seconds,
            packet_hops: counts.packet_hops as f64,
            ends: ends(&log, connections),
            remark: format!(
                "; {} data packets, {} acknowledgements, {} pause frames, {} dropped",
                counts.data, counts.acknowledgements, counts.pause_frames, counts.dropped
            ),
        });
    }
    Some(median(runs))
}

fn compare(peer: &Path) {
    let case = case(plain_packets());
    let lowering = Lowering::new(&case, 0);
    let mask = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &mask, planned: &mask });
    let connections = lowering.connections();

    let folder = std::env::temp_dir().join(format!("railtwin-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let flows = folder.join("flows.txt");
    std::fs::write(&flows, text(&case, connections, &paths)).expect("the temporary folder can be written");
    let theirs = |mode| median((0..REPEATS).map(|_| ask(peer, mode, &flows)).collect());
    let (udp, bare) = (theirs("udp"), theirs("bare"));
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");

    println!(
        "permutation of {HOSTS} hosts, 16 leaves and 8 spines, {BYTES} B each in packets of {} B, hash ECMP, every link \
         100 Gb/s and 1000 ns, one thread, median of {REPEATS}:",
        case.packets.keys.wire().payload
    );
    println!("  Debian's ns-3 has no RDMA model: paced UDP, no acknowledgements, no pauses, endless queues.");
    udp.print("ns-3, UDP sockets over its Internet stack, static host routes");
    bare.print("ns-3, its devices and channels only");
    let Some(plain) = ours(plain_packets(), connections) else {
        println!("  ours: the packet engine left no record of packets; nothing to compare");
        return;
    };
    plain.print("ours, the same packets: one acknowledgement for each flow, no pauses, endless queues");
    let whole = ours(PacketCase::default(), connections).expect("the engine left a record before");
    whole.print("ours, with an acknowledgement for each packet, PFC and shared buffers");
    for (what, run) in [("the same packets", &plain), ("with acknowledgements and PFC", &whole)] {
        println!(
            "  ratio of packet-hops/s, {what}: {:.1} to UDP, {:.1} to bare devices",
            run.rate() / udp.rate(),
            run.rate() / bare.rate()
        );
    }
    assert_eq!(udp.ends.len(), plain.ends.len(), "ns-3 gives one end for each flow");
    let apart = plain.ends.iter().zip(&udp.ends).map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max);
    println!("  ends of flows of the same packets: {apart:.1e} apart at most, relative");
}

fn main() {
    let Some(peer) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        println!("peers: no peer given, nothing compared: make bench-peers");
        return;
    };
    compare(Path::new(&peer));
}

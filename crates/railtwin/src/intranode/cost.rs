//! Memory and time of traffic inside hosts, before it runs.
use railtwin_engine::intranode::IntranodeSpec;
use railtwin_fabric::{Fabric, HostId};

use crate::cost::Cost;

/// Bytes of the program and of one host. Like all constants here measured on fabrics `rlft` of 16 and 32 ports with two and
/// three stages, on one core of a two-core virtual machine: 25 to 346 MB, 2 to 35 million packet-hops.
const PROGRAM: f64 = 18e6;
/// Bytes of a message that waits at its sender.
const OF_WAITING: f64 = 29.0;
/// Bytes of a switch for each pair of its ports: queues, requests and turns of its arbiter.
const OF_PORT_PAIR: f64 = 172.0;
/// Bytes of a switch for each port: buffer, line and ports of the fabric.
const OF_PORT: f64 = 2500.0;
/// Seconds in which a pair of ports of a switch is set up.
const PAIR_S: f64 = 1e-6;
/// Packet-hops of a second on one core.
const HOPS_PER_S: f64 = 9e6;

/// Cost of one point on `threads`.
pub(super) fn of(fabric: &Fabric, spec: &IntranodeSpec, threads: u32) -> Cost {
    let model = fabric.host_model(HostId(0));
    let (hosts, gpus) = (fabric.hosts().len() as f64, f64::from(model.gpus));
    let of_switch = |device| {
        let ports = fabric.ports(device).count() as f64;
        ports * (ports * OF_PORT_PAIR + OF_PORT)
    };
    let switches: f64 = fabric.switches().iter().map(|&(device, _)| of_switch(device)).sum();
    let pairs: f64 =
        fabric.switches().iter().map(|&(device, _)| (fabric.ports(device).count() as f64).powi(2)).sum();
    let routes = fabric.switches().len() as f64 * hosts;
    let bytes = PROGRAM + switches + routes;
    let (header, payload, _) = spec.packet();
    let packets = spec.message.0.div_ceil(payload) as f64;
    let wire = spec.message.0 as f64 + packets * header as f64;
    let hops_between = spec.message.0.div_ceil(spec.inter_payload.0) as f64 * links_between(fabric);
    let (hops, waiting) = match spec.pair {
        Some(pair) => (f64::from(pair.messages) * (4.0 * packets + hops_between), 0.0),
        None => {
            let longest = spec.longest.map_or(spec.duration, |longest| longest.max(spec.duration));
            let messages = longest.seconds() * spec.link_rate(model).bytes_per_s() * spec.load / wire;
            let (all, share) = (hosts * gpus * messages, spec.inter_share());
            // Arrivals between hosts are those that NICs take: senders wait behind them.
            let per_packet = spec.unpack.seconds().max(spec.pack.seconds()) / (header + payload) as f64;
            let port = 1.0 / model.nic.port_capacity.bytes_per_s();
            let taken = 1.0 / if spec.converts() { port.max(per_packet) } else { port };
            let asked = gpus * spec.link_rate(model).bytes_per_s() * spec.load * share;
            let carried = if asked > taken { taken / asked } else { 1.0 };
            let each = share * (4.0 * packets + hops_between) + (1.0 - share) * 2.0 * packets;
            (all * carried * each, all * (1.0 - carried))
        }
    };
    Cost {
        rows: format!("{hosts} hosts of {gpus} GPUs with {} switches", fabric.switches().len()),
        bytes: bytes + waiting * OF_WAITING,
        seconds: pairs * PAIR_S + hops / (HOPS_PER_S * f64::from(threads.max(1))),
        remedy: "fewer fabric.ports or stages, or a shorter intranode.duration",
    }
}

/// Links between two hosts, up to the highest tier and down again.
fn links_between(fabric: &Fabric) -> f64 {
    let tiers = fabric.switches().iter().map(|(_, place)| place.tier).max().unwrap_or(1);
    2.0 * f64::from(tiers)
}

/// Cost of all points, so many of them side by side.
pub(super) fn of_all(costs: &[Cost], side_by_side: usize) -> Option<Cost> {
    let side_by_side = side_by_side.clamp(1, costs.len().max(1)) as f64;
    let largest = costs.iter().max_by(|one, other| one.bytes.total_cmp(&other.bytes))?;
    let rows = match costs.len() {
        1 => largest.rows.clone(),
        points => format!("{points} points of up to {}", largest.rows),
    };
    let seconds: f64 = costs.iter().map(|cost| cost.seconds).sum();
    let bytes = PROGRAM + (largest.bytes - PROGRAM) * side_by_side;
    Some(Cost { rows, bytes, seconds: seconds / side_by_side, remedy: largest.remedy })
}

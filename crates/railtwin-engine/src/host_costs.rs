//! What hosts cost in a run, for both engines: NICs that fetch contexts of queue pairs, and buffers that bound what is in
//! flight ([`railtwin_fabric::HostCosts`]).
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::SimTime;
use railtwin_workload::Edge;

use crate::case::Case;
use crate::connection::Connection;

/// Queue pairs that each device has at either end, by device: a context each.
pub fn contexts_of(case: &Case, ends: impl Iterator<Item = ([DeviceId; 2], u32)>) -> Vec<u32> {
    let mut held = vec![0_u32; case.fabric.device_count()];
    for (nics, queue_pairs) in ends {
        for nic in nics {
            held[nic.index()] += queue_pairs;
        }
    }
    held
}

/// Share of its line that a NIC with so many queue pairs fills: less than 1 where it fetches contexts of theirs.
pub fn line_share(case: &Case, nic: DeviceId, queue_pairs: u32) -> f64 {
    let Some(host) = case.fabric.host_of(nic) else { return 1.0 };
    let model = case.fabric.host_model(host);
    if model.costs.contexts.is_none() {
        return 1.0;
    }
    let line = model.nic.port_capacity.bytes_per_s() * f64::from(model.nic.ports) * case.wire_share;
    let message = case.packets.largest_message(case.routing.message) as f64;
    model.costs.line_share(queue_pairs, SimTime::from_seconds(message / line))
}

/// Bytes of data per second that each link carries in flows: links of NICs less what passes while contexts are fetched.
pub fn data_rates(case: &Case, connections: &[Connection]) -> Vec<f64> {
    let fabric = &*case.fabric;
    let mut rates: Vec<f64> =
        (0..fabric.link_count() as u32).map(|link| case.data_rate(LinkId(link))).collect();
    if fabric.host_models().iter().all(|model| model.costs.contexts.is_none()) {
        return rates;
    }
    let held = contexts_of(case, connections.iter().map(|one| ([one.source, one.target], one.count)));
    for (link, rate) in (0..).map(LinkId).zip(&mut rates).filter(|(link, _)| fabric.is_network(*link)) {
        for end in [fabric.source(link), fabric.target(link)] {
            *rate *= line_share(case, end, held[end.index()]);
        }
    }
    rates
}

/// Most bytes of a connection in flight, where buffers of channels bound it.
pub(crate) fn in_flight(case: &Case) -> Option<f64> {
    let bounds = case.fabric.host_models().iter().filter_map(|model| model.costs.in_flight());
    bounds.min().map(|bytes| bytes as f64)
}

/// Most bytes per second of an operation over an edge of so much delay, of which so many bytes are in flight at most.
pub(crate) fn held_by(in_flight: Option<f64>, edge: &Edge, delay: SimTime) -> f64 {
    match (in_flight, *edge) {
        (Some(most), Edge::Network { amount, .. }) => most / (2.0 * delay.seconds() * amount),
        _ => f64::INFINITY,
    }
}

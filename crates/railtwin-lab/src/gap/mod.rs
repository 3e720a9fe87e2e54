//! The worst gap of flows through a fault: a packet of each flow every millisecond, both ways, and what arrives.
mod flows;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use railtwin_fabric::LinkId;
use serde::Serialize;

use crate::faults::Checked;
use crate::host::{LabError, now_ns};
use crate::netlink::LabFlow;
use crate::plant::{Frr, Plant, PlantNic};
use crate::predict::Predictor;
use crate::probe::Carrier;

use flows::{Flows, receive, send};

/// Flows and time of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct GapPlan {
    /// UDP flows each way.
    pub udp: u16,
    /// TCP connections each way.
    pub tcp: u16,
    /// Time before the fault, s.
    pub before_s: f64,
    /// Time behind it, s.
    pub after_s: f64,
}

impl Default for GapPlan {
    fn default() -> Self {
        Self { udp: 16, tcp: 8, before_s: 1.0, after_s: 4.0 }
    }
}

/// A flow through a fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowGap {
    /// Host that sends.
    pub from: String,
    /// Host that receives.
    pub to: String,
    /// Whether it is a TCP connection.
    pub is_tcp: bool,
    /// Source port.
    pub port: u16,
    /// Links there before the fault.
    #[serde(skip)]
    pub links: Vec<LinkId>,
    /// Links of what TCP acknowledges by, before the fault.
    #[serde(skip)]
    pub back: Vec<LinkId>,
    /// Longest time without an arrival, s.
    pub worst_s: f64,
    /// Packets that did not arrive, of UDP.
    pub lost: u64,
    /// Whether nothing arrived in the last half second.
    pub is_open: bool,
}

impl FlowGap {
    /// Whether it crossed a link, there or by its acknowledgements.
    pub fn crosses(&self, link: LinkId) -> bool {
        self.links.contains(&link) || self.is_tcp && self.back.contains(&link)
    }
}

/// The flows that a measurement sends from the first NIC to the second: of UDP, then of TCP.
pub(crate) fn first_flows([from, to]: [&PlantNic; 2]) -> impl Iterator<Item = LabFlow> {
    let (plan, from, to) = (GapPlan::default(), from.address, to.address);
    let udp = (0..plan.udp).map(move |step| flows::udp(from, to, step));
    udp.chain((0..plan.tcp).map(move |step| flows::tcp_flow(from, to, step)))
}

/// Sends between two NICs, lets a fault happen, and says what each flow felt.
///
/// # Errors
/// A socket or the fault fails.
pub fn measure(
    plant: &Plant,
    ends: [&PlantNic; 2],
    plan: GapPlan,
    fault: Option<(&Checked<'_>, &Frr, &Path)>,
) -> Result<Vec<FlowGap>, LabError> {
    let mut predictor = Predictor::new(plant)?;
    let mut flows = Flows::open(ends, plan.udp, plan.tcp)?;
    let mut gaps = Vec::new();
    for flow in flows.flows() {
        let [from, to] = if flow.is_back { [ends[1], ends[0]] } else { ends };
        let (mut links, mut back) = (Vec::new(), Vec::new());
        predictor.path(from, &flow.flow, &mut links)?;
        let reverse = flow.flow.reversed();
        if flow.carrier == Carrier::Tcp {
            predictor.path(to, &reverse, &mut back)?;
        }
        gaps.push(FlowGap {
            from: from.node.clone(),
            to: to.node.clone(),
            is_tcp: flow.carrier == Carrier::Tcp,
            port: flow.flow.from.port(),
            links,
            back,
            worst_s: 0.0,
            lost: 0,
            is_open: false,
        });
    }
    let (is_done, is_deaf) = (AtomicBool::new(false), AtomicBool::new(false));
    let (senders, receivers) = flows.split();
    let heard = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(receivers, &is_deaf));
        let sender = scope.spawn(|| send(senders, &is_done));
        std::thread::sleep(Duration::from_secs_f64(plan.before_s));
        let broken = fault.map_or(Ok(()), |(fault, frr, folder)| fault.carry_out(frr, folder));
        std::thread::sleep(Duration::from_secs_f64(plan.after_s));
        let end_ns = now_ns();
        is_done.store(true, Ordering::Relaxed);
        let sent = sender.join();
        // What is under way still arrives.
        std::thread::sleep(Duration::from_millis(20));
        is_deaf.store(true, Ordering::Relaxed);
        let arrivals = receiver.join();
        broken?;
        match (sent, arrivals) {
            (Ok(sent), Ok(arrivals)) => Ok((sent, arrivals, end_ns)),
            _ => Err(LabError("measuring broke off".into())),
        }
    })?;
    let (sent, arrivals, end_ns) = heard;
    for (gap, (arrival, sent)) in gaps.iter_mut().zip(arrivals.iter().zip(&sent)) {
        let rest_ns = end_ns.saturating_sub(arrival.last_ns);
        gap.is_open = rest_ns > 500_000_000;
        gap.worst_s = arrival.worst_ns.max(rest_ns) as f64 / 1e9;
        gap.lost = if gap.is_tcp { 0 } else { sent.saturating_sub(arrival.count) };
    }
    Ok(gaps)
}

/// Worst gaps of the flows that a link concerned, and of the others: of UDP and of TCP, each way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GapSummary {
    /// Host that sends.
    pub from: String,
    /// Host that receives.
    pub to: String,
    /// Whether it is of TCP connections.
    pub is_tcp: bool,
    /// Flows over the link, or over any of several links.
    pub flows: usize,
    /// Their worst gap, s; none without flows.
    pub worst_s: Option<f64>,
    /// Flows of them to which nothing comes any more.
    pub open: usize,
    /// Packets of UDP that they lost.
    pub lost: u64,
    /// Worst gap of all others, s.
    pub others_s: f64,
}

/// Sums flows up by direction and carrier, for links that a fault concerned.
pub fn summary(gaps: &[FlowGap], links: &[LinkId]) -> Vec<GapSummary> {
    let kinds: BTreeSet<(&str, &str, bool)> =
        gaps.iter().map(|gap| (gap.from.as_str(), gap.to.as_str(), gap.is_tcp)).collect();
    let of = |&(from, to, is_tcp): &(&str, &str, bool)| {
        let all = gaps.iter().filter(|gap| gap.from == from && gap.to == to && gap.is_tcp == is_tcp);
        let (on, off): (Vec<&FlowGap>, Vec<&FlowGap>) =
            all.partition(|gap| links.iter().any(|&link| gap.crosses(link)));
        let worst = |some: &[&FlowGap]| some.iter().map(|gap| gap.worst_s).fold(0.0, f64::max);
        GapSummary {
            from: from.to_owned(),
            to: to.to_owned(),
            is_tcp,
            flows: on.len(),
            worst_s: (!on.is_empty()).then(|| worst(&on)),
            open: on.iter().filter(|gap| gap.is_open).count(),
            lost: on.iter().map(|gap| gap.lost).sum(),
            others_s: worst(&off),
        }
    };
    kinds.iter().map(of).collect()
}

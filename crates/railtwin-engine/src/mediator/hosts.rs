//! Hosts that keep the queue pairs of a connection off each other's links (HPN appendix B, algorithm 1).
use railtwin_control::controller::{Action, Controller, Decision, Event, Replan};
use railtwin_control::te::{Applied, Collector};
use railtwin_fabric::Fabric;
use railtwin_routing::{EcmpConfig, Forwarding, LinkMask, Routing};
use railtwin_units::SimTime;

use super::Connected;
use crate::case::RoutingCase;
use crate::choose::Connection;
use crate::plan;

/// All hosts of a fabric, each of which plans its own connections by what its switches know.
#[derive(Debug)]
pub(super) struct Hosts<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    replan: Replan,
    draw: u64,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
    connections: Vec<Connection>,
    numbers: Vec<(u32, u32)>,
    collector: Collector,
    told: Vec<Option<u16>>,
    due: Option<SimTime>,
    has_decided: bool,
}

impl<'a> Hosts<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        ecmp: EcmpConfig,
        routing: &RoutingCase,
        connected: Connected<'_>,
        draw: u64,
    ) -> Self {
        let whole = || Forwarding::new(fabric, &LinkMask::none(fabric));
        Self {
            fabric,
            ecmp,
            replan: routing.replan,
            draw,
            whole: routing.resilient.then(whole),
            connections: connected.connections.to_vec(),
            numbers: connected.numbers.to_vec(),
            collector: Collector::new(fabric),
            told: vec![None; connected.numbers.len()],
            due: None,
            has_decided: false,
        }
    }
}

impl Controller for Hosts<'_> {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        if let Event::Link(report) = event
            && self.collector.apply(report) == Applied::Changed
            && self.has_decided
        {
            self.due = self.due.or(self.replan.time_for(now));
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if self.has_decided && self.due.is_none_or(|due| due > now) {
            return;
        }
        (self.has_decided, self.due) = (true, None);
        let known = Forwarding::new(self.fabric, self.collector.mask());
        let mut routing = Routing::new(self.fabric, &known, &self.ecmp);
        if let Some(whole) = &self.whole {
            routing = routing.with_resilience(whole);
        }
        let ports = plan::disjoint(&routing, &self.connections, &self.numbers, self.draw);
        for (queue_pair, (told, source_port)) in (0..).zip(self.told.iter_mut().zip(ports)) {
            if std::mem::replace(told, source_port) != source_port {
                let action = Action::Path { queue_pair, source_port };
                decisions.push(Decision { action, reason: "disjoint" });
            }
        }
    }

    fn next_time(&self) -> SimTime {
        self.due.unwrap_or(SimTime::NEVER)
    }
}

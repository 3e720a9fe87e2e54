//! Hosts that keep the queue pairs of a connection off each other's links (HPN appendix B, algorithm 1).
use railtwin_fabric::Fabric;
use railtwin_routing::{EcmpConfig, Forwarding, LinkMask, Routing};
use railtwin_units::SimTime;

use super::disjoint::disjoint;
use super::steered::QueuePairs;
use crate::controller::{Action, Controller, Decision, Event, Opening, Replan};
use crate::te::{Applied, Collector};

/// All hosts of a fabric, each of which plans its own connections by what switches know and nothing of the others'.
#[derive(Clone, Debug)]
pub struct Hosts<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    replan: Replan,
    draw: u64,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
    connections: Vec<QueuePairs>,
    /// How many of them, the last, have no source ports yet.
    fresh: usize,
    /// Numbers of queue pairs at the target, by row.
    numbers: Vec<u32>,
    collector: Collector,
    told: Vec<Option<u16>>,
    due: Option<SimTime>,
    has_decided: bool,
}

impl<'a> Hosts<'a> {
    /// Hosts without connections. `draw` says where each begins to try; `resilient` whether groups keep the numbers of
    /// their members when one is dead.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, replan: Replan, resilient: bool, draw: u64) -> Self {
        Self {
            fabric,
            ecmp,
            replan,
            draw,
            whole: resilient.then(|| Forwarding::new(fabric, &LinkMask::none(fabric))),
            connections: Vec::new(),
            fresh: 0,
            numbers: Vec::new(),
            collector: Collector::new(fabric),
            told: Vec::new(),
            due: None,
            has_decided: false,
        }
    }

    fn open(&mut self, &Opening { job, source, target, ports, first, numbers, .. }: &Opening<'_>) {
        let count = numbers.len() as u32;
        self.connections.push(QueuePairs { job, source, target, first, count, ports });
        self.fresh += 1;
        let end = first as usize + numbers.len();
        self.numbers.resize(self.numbers.len().max(end), 0);
        self.numbers[first as usize..end].copy_from_slice(numbers);
    }
}

impl Controller for Hosts<'_> {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Link(report) => {
                let changed = self.collector.apply(&report) == Applied::Changed;
                if changed && self.has_decided {
                    self.due = self.due.or(self.replan.time_for(now));
                }
            }
            Event::Opened(openings) => {
                self.connections.reserve(openings.len());
                openings.iter().for_each(|opening| self.open(opening));
            }
            Event::Closed(job) => {
                let fresh = self.connections.len() - self.fresh;
                self.fresh -= self.connections[fresh..].iter().filter(|one| one.job == job).count();
                self.connections.retain(|one| one.job != job);
            }
            _ => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        // Who opens a connection looks at the tables of now; the others wait for their plan.
        let fresh = std::mem::take(&mut self.fresh);
        let asked = if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            &self.connections[..]
        } else {
            &self.connections[self.connections.len() - fresh..]
        };
        self.has_decided = true;
        if asked.is_empty() {
            return;
        }
        // Where nothing is dead the tables without faults are those of now.
        let now = match &self.whole {
            Some(whole) if whole.mask() == self.collector.mask() => None,
            _ => Some(Forwarding::new(self.fabric, self.collector.mask())),
        };
        let known = now.as_ref().or(self.whole.as_ref()).expect("made where there are none");
        let mut routing = Routing::new(self.fabric, known, &self.ecmp);
        if let Some(whole) = &self.whole {
            routing = routing.with_resilience(whole);
        }
        let ports = disjoint(&routing, asked, &self.numbers, self.draw);
        self.told.resize(ports.len(), None);
        decisions.reserve(ports.len());
        for queue_pair in asked.iter().flat_map(|one| one.first..one.first + one.count) {
            let source_port = ports[queue_pair as usize];
            if std::mem::replace(&mut self.told[queue_pair as usize], source_port) != source_port {
                let action = Action::Path { queue_pair, source_port };
                decisions.push(Decision { action, reason: "disjoint" });
            }
        }
    }

    fn next_time(&self) -> SimTime {
        self.due.unwrap_or(SimTime::NEVER)
    }
}

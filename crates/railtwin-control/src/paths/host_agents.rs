//! The agents of all hosts, each of which plans by its own leaves alone (HPN section 6.1).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, Fabric, HostId};
use railtwin_routing::{EcmpConfig, Forwarding, LinkMask};
use railtwin_units::SimTime;

use super::host_agent::{HostAgent, LeafGroup, LeafTables, Leaves};
use super::steered::QueuePairs;
use crate::controller::{Action, Controller, Decision, Event, Opening, Replan};
use crate::te::{Applied, Collector};

/// Leaves as one host asks them: every message is an action of its own.
struct Asked<'f> {
    host: HostId,
    leaves: Leaves<'f>,
    fabric: &'f Fabric,
    reason: &'static str,
    messages: Vec<Decision>,
}

impl LeafTables for Asked<'_> {
    fn groups(&mut self, leaf: u32, targets: &[DeviceId]) -> Vec<LeafGroup> {
        let (leaf_device, _) = self.fabric.switches()[leaf as usize];
        let action = Action::Read { host: self.host, leaf: leaf_device };
        self.messages.push(Decision { action, reason: self.reason });
        self.leaves.groups(leaf, targets)
    }
}

/// A host's agent, and which of its leaves it is to read again, and when.
#[derive(Clone, Debug)]
struct OfHost<'a> {
    agent: HostAgent<'a>,
    due: BTreeMap<u32, SimTime>,
}

/// An agent for each host that opens connections. One hears of a link event only where a group of its own leaves or a
/// port of its own changed by it, and reads those leaves again when `replan` says.
#[derive(Clone, Debug)]
pub struct HostAgents<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    replan: Replan,
    draw: u64,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
    hosts: BTreeMap<HostId, OfHost<'a>>,
    /// Connections that were opened and have no source ports yet, with the numbers of their queue pairs.
    fresh: Vec<(QueuePairs, Vec<u32>)>,
    /// What switches hold, and the tables that follow from it.
    collector: Collector,
    tables: Option<Forwarding>,
    /// Whether something changed since hosts were last told.
    is_news: bool,
}

impl<'a> HostAgents<'a> {
    /// Agents without connections. `draw` says where each begins to try; `resilient` whether groups keep the numbers
    /// of their members when one is dead.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, replan: Replan, resilient: bool, draw: u64) -> Self {
        Self {
            fabric,
            ecmp,
            replan,
            draw,
            whole: resilient.then(|| Forwarding::new(fabric, &LinkMask::none(fabric))),
            hosts: BTreeMap::new(),
            fresh: Vec::new(),
            collector: Collector::new(fabric),
            tables: None,
            is_news: false,
        }
    }

    /// The agents by host.
    pub fn agents(&self) -> impl Iterator<Item = (HostId, &HostAgent<'a>)> {
        self.hosts.iter().map(|(&host, of)| (host, &of.agent))
    }

    /// Tells hosts what their own leaves and ports became.
    fn tell(&mut self, now: SimTime, leaves: &Leaves<'_>) {
        let Some(at) = self.replan.time_for(now) else { return };
        for of in self.hosts.values_mut() {
            for leaf in of.agent.outdated(leaves, self.collector.mask()) {
                of.due.entry(leaf).or_insert(at);
            }
        }
    }
}

impl Controller for HostAgents<'_> {
    fn name(&self) -> &'static str {
        "host-agents"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Link(report) => self.is_news |= self.collector.apply(&report) == Applied::Changed,
            Event::Opened(openings) => {
                self.fresh.extend(openings.iter().map(
                    |&Opening { job, source, target, ports, first, numbers, .. }| {
                        let count = numbers.len() as u32;
                        (QueuePairs { job, source, target, first, count, ports }, numbers.to_vec())
                    },
                ));
            }
            Event::Closed(job) => {
                self.fresh.retain(|(of, _)| of.job != job);
                self.hosts.values_mut().for_each(|host| host.agent.close(|of| of.job == job));
            }
            _ => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        let news = std::mem::take(&mut self.is_news);
        let fresh = std::mem::take(&mut self.fresh);
        let is_due = self.hosts.values().any(|of| of.due.values().any(|&at| at <= now));
        if !news && fresh.is_empty() && !is_due {
            return;
        }
        let tables = self.tables.take().filter(|_| !news);
        let tables = tables.unwrap_or_else(|| Forwarding::new(self.fabric, self.collector.mask()));
        let whole = self.whole.take();
        let leaves = Leaves { now: &tables, whole: whole.as_ref() };
        if news {
            self.tell(now, &leaves);
        }
        let mut told = Vec::new();
        let (fabric, mask) = (self.fabric, self.collector.mask());
        let asked = |host, reason| Asked { host, leaves, fabric, reason, messages: Vec::new() };
        for (&host, of) in &mut self.hosts {
            let read: BTreeSet<u32> =
                of.due.iter().filter(|(_, at)| **at <= now).map(|(&leaf, _)| leaf).collect();
            if read.is_empty() {
                continue;
            }
            of.due.retain(|_, at| *at > now);
            let mut asked = asked(host, "link-changed");
            of.agent.see_ports(mask);
            of.agent.refresh(&read, &mut asked, &mut told);
            decisions.append(&mut asked.messages);
        }
        let mut by_host: BTreeMap<HostId, Vec<(QueuePairs, &[u32])>> = BTreeMap::new();
        for (of, numbers) in &fresh {
            let host = fabric.host_of(of.source).unwrap_or(HostId(0));
            by_host.entry(host).or_default().push((*of, numbers));
        }
        for (host, opened) in by_host {
            let of = self.hosts.entry(host).or_insert_with(|| {
                let nics = (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic));
                let mut agent = HostAgent::new(fabric, self.ecmp, nics, self.draw);
                agent.see_ports(mask);
                OfHost { agent, due: BTreeMap::new() }
            });
            let mut asked = asked(host, "opened");
            of.agent.open(&opened, &mut asked, &mut told);
            decisions.append(&mut asked.messages);
        }
        decisions.extend(told.into_iter().map(|one| {
            let action = Action::Path { queue_pair: one.queue_pair, source_port: one.source_port };
            Decision { action, reason: one.reason }
        }));
        (self.tables, self.whole) = (Some(tables), whole);
    }

    fn next_time(&self) -> SimTime {
        let due = self.hosts.values().flat_map(|of| of.due.values());
        due.min().copied().unwrap_or(SimTime::NEVER)
    }
}

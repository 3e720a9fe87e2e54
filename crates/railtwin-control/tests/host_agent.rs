//! Hosts that steer without a controller: only their own leaves are asked (HPN section 6.1).

use crate::fabrics;
use std::collections::{BTreeMap, BTreeSet};

use fabrics::*;
use proptest::prelude::*;
use railtwin_control::controller::{Action, Controller, Decision, Event, Opening, Replan};
use railtwin_control::paths::{HeldPair, HostAgents, JobId};
use railtwin_control::te::{LinkReport, Subject};
use railtwin_fabric::{CableId, DeviceId, Fabric, HostId, LinkId};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, Seeds, nic_ip,
};
use railtwin_testkit::draws::any_ecmp;
use railtwin_testkit::fabrics::{network_cables, nics};
use railtwin_units::SimTime;

/// Hosts, what they told their queue pairs, and the network as switches have it.
struct Scene<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    whole: Option<Forwarding>,
    agents: HostAgents<'a>,
    mask: LinkMask,
    version: u64,
    now: u64,
    /// By row: source port; none without a way, and where nothing was told yet.
    ports: BTreeMap<u32, Option<u16>>,
}

/// Queue pairs of each connection for each port of its NIC.
struct Open {
    source: DeviceId,
    target: DeviceId,
    numbers: Vec<u32>,
}

impl<'a> Scene<'a> {
    fn new(fabric: &'a Fabric, ecmp: EcmpConfig, replan: Replan, resilient: bool) -> Self {
        let mask = LinkMask::none(fabric);
        let whole = resilient.then(|| Forwarding::new(fabric, &mask));
        let agents = HostAgents::new(fabric, ecmp, replan, resilient, 5);
        Self { fabric, ecmp, whole, agents, mask, version: 0, now: 0, ports: BTreeMap::new() }
    }

    fn decide(&mut self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        self.agents.decide(SimTime::from_ps(self.now), &mut decisions);
        for decision in &decisions {
            if let Action::Path { queue_pair, source_port } = decision.action {
                self.ports.insert(queue_pair, source_port);
            }
        }
        self.now += 1;
        decisions
    }

    fn open(&mut self, job: u32, first: u32, all: &[Open]) -> Vec<Decision> {
        let mut next = first;
        for one in all {
            let ports = (0..).take_while(|&port| self.fabric.access_link(one.source, port).is_some());
            let opening = Opening {
                job: JobId(job),
                source: one.source,
                target: one.target,
                ports: ports.count().max(1) as u32,
                first: next,
                numbers: &one.numbers,
                bytes: 1.0,
                inside: None,
            };
            next += one.numbers.len() as u32;
            self.agents.on_event(SimTime::from_ps(self.now), &Event::Opened(&[opening]));
        }
        self.decide()
    }

    fn turn(&mut self, cable: CableId) -> Vec<Decision> {
        let up = self.mask.is_down(cable.forward());
        self.mask.set_cable(cable, !up);
        self.version += 1;
        let time = SimTime::from_ps(self.now);
        let report = LinkReport { time, subject: Subject::Cable(cable), up, version: self.version };
        self.agents.on_event(time, &Event::Link(report));
        self.decide()
    }

    fn pairs(&self) -> Vec<(HostId, HeldPair)> {
        self.agents
            .agents()
            .flat_map(|(host, agent)| agent.pairs().iter().map(move |one| (host, *one)))
            .collect()
    }

    /// The links of a queue pair as the network routes it by the source port that it was told.
    fn path(&self, tables: &Forwarding, one: &HeldPair) -> Option<Vec<LinkId>> {
        let mut routing = Routing::new(self.fabric, tables, &self.ecmp);
        if let Some(whole) = &self.whole {
            routing = routing.with_resilience(whole);
        }
        let port = self.ports[&one.row]?;
        let tuple = FiveTuple::roce(nic_ip(one.of.source), nic_ip(one.of.target), port);
        let key = HashKey::of(tuple).with_target_qp(one.number);
        let index = one.row - one.of.first;
        (0..one.of.ports).find_map(|turn| {
            let from = NicPort { nic: one.of.source, port: (index + turn) % one.of.ports };
            let mut path = Vec::new();
            routing.route(from, one.of.target, &key, &mut path).ok().map(|_| path)
        })
    }

    fn leaves_of(&self, host: HostId) -> BTreeSet<DeviceId> {
        let nics = (0..self.fabric.host_model(host).nics).map(|nic| self.fabric.nic(host, nic));
        let links = nics.flat_map(|nic| (0..).map_while(move |port| self.fabric.access_link(nic, port)));
        links.map(|link| self.fabric.target(link)).collect()
    }
}

fn reads(decisions: &[Decision]) -> Vec<(HostId, DeviceId)> {
    let read = |one: &Decision| match one.action {
        Action::Read { host, leaf } => Some((host, leaf)),
        _ => None,
    };
    decisions.iter().filter_map(read).collect()
}

#[test]
fn a_dead_uplink_costs_a_message_of_each_host_of_its_leaf_and_moves_what_was_on_it() {
    let fabric = hpn(1, 2, 4, 8, true);
    let mut scene = Scene::new(&fabric, crc32(Seeds::PerSwitch), Replan::AtOnce, false);
    // From both hosts 0 and 1 eight queue pairs a port on the eight uplinks of each leaf.
    let open = |source: u32, nic: u32| Open {
        source: fabric.nic(HostId(source), nic),
        target: fabric.nic(HostId(4 + source), nic),
        numbers: (10..26).collect(),
    };
    let all = [open(0, 0), open(0, 1), open(1, 0), open(1, 1)];
    let opened = scene.open(0, 0, &all);
    assert_eq!(reads(&opened).len(), 8, "two hosts, each on four leaves");
    let healthy = Forwarding::new(&fabric, &scene.mask);
    let before = scene.pairs();
    for host in [HostId(0), HostId(1)] {
        let mut uses = BTreeMap::new();
        for (_, one) in before.iter().filter(|(of, _)| *of == host) {
            *uses.entry(scene.path(&healthy, one).unwrap()[1]).or_insert(0) += 1;
        }
        assert_eq!((uses.len(), uses.values().max()), (32, Some(&1)));
    }
    let dead = before[3].1.uplink.unwrap();
    let leaf = fabric.source(dead);
    let decisions = scene.turn(dead.cable());
    // Leaves of the other plane and rail have the groups that they had, and hosts of the other segment send nothing.
    assert_eq!(reads(&decisions), [(HostId(0), leaf), (HostId(1), leaf)]);
    let moved = decisions.iter().filter(|one| one.reason == "uplink-gone").count();
    assert_eq!(moved, 2, "one of each host");
    let after = Forwarding::new(&fabric, &scene.mask);
    for ((_, old), (_, new)) in before.iter().zip(scene.pairs()) {
        let path = scene.path(&after, &new).unwrap();
        assert_eq!(Some(path[1]), new.uplink);
        assert!(old.uplink == new.uplink || old.uplink == Some(dead));
    }
}

#[test]
fn who_never_reads_again_keeps_what_it_has_and_who_waits_reads_once() {
    let fabric = hpn(1, 2, 2, 4, true);
    let open = || {
        let (source, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(2), 0));
        [Open { source, target, numbers: vec![7, 8] }]
    };
    let mut never = Scene::new(&fabric, crc32(Seeds::PerSwitch), Replan::Never, false);
    never.open(0, 0, &open());
    let dead = never.pairs()[0].1.uplink.unwrap().cable();
    assert!(never.turn(dead).is_empty() && never.agents.next_time() == SimTime::NEVER);

    let mut later = Scene::new(&fabric, crc32(Seeds::PerSwitch), Replan::After(SimTime::from_ps(100)), false);
    later.open(0, 0, &open());
    let dead = later.pairs()[0].1.uplink.unwrap().cable();
    assert!(later.turn(dead).is_empty());
    let due = later.agents.next_time();
    assert_eq!(due, SimTime::from_ps(101));
    later.now = due.ps();
    let decisions = later.decide();
    assert_eq!(reads(&decisions).len(), 1);
    assert!(decisions.iter().any(|one| one.reason == "uplink-gone"));
    // A cable of a leaf that the host neither hangs on nor sends to changes no group of its own.
    let other = fabric.nic(HostId(3), 1);
    let access = fabric.access_link(other, 0).unwrap();
    let far = network_cables(&fabric)
        .into_iter()
        .find(|cable| fabric.source(cable.forward()) == fabric.target(access) && *cable != access.cable());
    assert!(far.is_none_or(|cable| later.turn(cable).is_empty()));
}

#[test]
fn jobs_that_leave_free_their_uplinks() {
    let fabric = hpn(1, 2, 2, 4, true);
    let mut scene = Scene::new(&fabric, crc32(Seeds::PerSwitch), Replan::AtOnce, false);
    let (source, target) = (fabric.nic(HostId(0), 0), fabric.nic(HostId(2), 0));
    scene.open(0, 0, &[Open { source, target, numbers: vec![7; 8] }]);
    let first: Vec<_> = scene.pairs();
    scene.agents.on_event(SimTime::ZERO, &Event::Closed(JobId(0)));
    assert!(scene.pairs().is_empty());
    // The same again: as on a host that never had the first.
    scene.open(0, 0, &[Open { source, target, numbers: vec![7; 8] }]);
    assert_eq!(scene.pairs(), first);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn queue_pairs_go_where_their_host_says_whatever_dies(
        fabric in any_fabric(), ecmp in any_ecmp(), resilient: bool,
        sends in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index, u16)>(), 1..8),
        deaths in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let everywhere = nics(&fabric);
        let mut scene = Scene::new(&fabric, ecmp, Replan::AtOnce, resilient);
        let all: Vec<Open> = sends
            .iter()
            .map(|(source, target, draw)| Open {
                source: *source.get(&everywhere),
                target: *target.get(&everywhere),
                numbers: (0..4).map(|pair| u32::from(*draw) + pair).collect(),
            })
            .filter(|one| one.source != one.target)
            .collect();
        let opened = scene.open(0, 0, &all);
        let cables = network_cables(&fabric);
        let mut tables = Forwarding::new(&fabric, &scene.mask);
        let mut decisions = opened;
        for death in std::iter::once(None).chain(deaths.iter().map(Some)) {
            let before = scene.pairs();
            if let Some(death) = death {
                decisions = scene.turn(*death.get(&cables));
                tables = Forwarding::new(&fabric, &scene.mask);
            }
            // Every message goes to a leaf of one's own, and none twice.
            let messages = reads(&decisions);
            for &(host, leaf) in &messages {
                prop_assert!(scene.leaves_of(host).contains(&leaf));
            }
            let different: BTreeSet<_> = messages.iter().collect();
            prop_assert_eq!(different.len(), messages.len());
            for ((_, old), (_, new)) in before.iter().zip(scene.pairs()) {
                let path = scene.path(&tables, &new);
                // A host knows no more than its leaf: further on there may be no way.
                prop_assert!(path.is_none() || path.as_ref().map(|path| path[1]) == new.uplink, "{path:?} {new:?}");
                // Who can stay stays.
                if let Some(link) = old.uplink.filter(|&link| new.uplink.is_some_and(|now| now != link)) {
                    let leaf = fabric.switch_row(fabric.source(link)).unwrap();
                    let group = tables.next_links(leaf, new.of.target);
                    prop_assert!(!group.contains(&link) || group.len() > 1 || new.port != old.port);
                }
            }
        }
    }
}

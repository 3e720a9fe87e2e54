//! Path control without a controller: the host steers by the tables of its own leaves.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{
    EcmpConfig, FiveTuple, Forwarding, HashKey, HashSpec, Hashed, LinkMask, NicPort, PortTable, nic_ip,
};
use railtwin_units::stream;

use super::steered::QueuePairs;

/// A leaf's ECMP group towards one target.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LeafGroup {
    /// The links that hash values stand for; more than the live ones only where hashing is resilient.
    pub numbered: Vec<LinkId>,
    /// Those among which the leaf chooses.
    pub live: Vec<LinkId>,
}

/// What a leaf answers to a host: its ECMP groups. One call is one message.
pub trait LeafTables {
    /// The groups of the leaf in row `leaf` towards each of `targets`.
    fn groups(&mut self, leaf: u32, targets: &[DeviceId]) -> Vec<LeafGroup>;
}

/// The leaves of a simulated fabric.
#[derive(Clone, Copy, Debug)]
pub struct Leaves<'f> {
    /// Their tables.
    pub now: &'f Forwarding,
    /// Those of the fabric without faults, where groups keep the numbers of their members.
    pub whole: Option<&'f Forwarding>,
}

impl Leaves<'_> {
    fn group(&self, leaf: u32, target: DeviceId) -> LeafGroup {
        let live = self.now.next_links(leaf, target);
        let full = self.whole.map_or(live, |whole| whole.next_links(leaf, target));
        let numbered = if live.iter().all(|link| full.contains(link)) { full } else { live };
        LeafGroup { numbered: numbered.to_vec(), live: live.to_vec() }
    }
}

impl LeafTables for Leaves<'_> {
    fn groups(&mut self, leaf: u32, targets: &[DeviceId]) -> Vec<LeafGroup> {
        targets.iter().map(|&target| self.group(leaf, target)).collect()
    }
}

/// A queue pair of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldPair {
    /// Its row over all queue pairs.
    pub row: u32,
    /// Its connection.
    pub of: QueuePairs,
    /// Its number at the target.
    pub number: u32,
    /// The port that it leaves by: its own, or the next one that leads anywhere.
    pub port: u32,
    /// The UDP source port.
    pub source_port: u16,
    /// The link that its leaf takes; none without a way.
    pub uplink: Option<LinkId>,
}

/// What a host tells one of its queue pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Row of the queue pair.
    pub queue_pair: u32,
    /// Its source port from now on; none without a way.
    pub source_port: Option<u16>,
    /// Why: `own-leaf` when it is opened, `group-changed` where it stays on its uplink, `uplink-gone` where it leaves
    /// it, `stranded` without a way, `way-again` where there is one again.
    pub reason: &'static str,
}

/// A port of the host's NICs.
#[derive(Clone, Copy, Debug)]
struct Port {
    /// Row of its leaf, and the port there by which it enters.
    leaf: u32,
    ingress: u32,
    access: LinkId,
    is_dead: bool,
}

/// One host's queue pairs and what it knows of its leaves (HPN section 6.1).
///
/// With planes the uplink of the leaf fixes the whole path, so the leaf's group and hash are all that a host must know
/// to choose one: after a link event it reads the group again, from its own leaf and nobody else, and computes new
/// source ports for its own queue pairs. Elsewhere it governs the first hop alone.
#[derive(Clone, Debug)]
pub struct HostAgent<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    draw: u64,
    ports: BTreeMap<NicPort, Port>,
    hashes: BTreeMap<u32, (HashSpec, Box<PortTable>)>,
    groups: BTreeMap<(u32, DeviceId), LeafGroup>,
    pairs: Vec<HeldPair>,
    /// Queue pairs on each link: all, and by first row of their connection.
    uses: BTreeMap<LinkId, u32>,
    own_uses: BTreeMap<(u32, LinkId), u32>,
}

impl<'a> HostAgent<'a> {
    /// An agent for the NICs in `nics`, which knows where its cables go and how its leaves hash. Of uplinks that are
    /// alike `draw` says which comes first, as hosts know nothing of each other.
    pub fn new(
        fabric: &'a Fabric,
        ecmp: EcmpConfig,
        nics: impl IntoIterator<Item = DeviceId>,
        draw: u64,
    ) -> Self {
        let mut ports = BTreeMap::new();
        for nic in nics {
            for port in 0.. {
                let Some(access) = fabric.access_link(nic, port) else { break };
                let side = usize::from(access.0 & 1 == 0);
                let ingress = fabric.port_index(fabric.cable_ports(access.cable())[side]);
                if let Some(leaf) = fabric.switch_row(fabric.target(access)) {
                    ports.insert(NicPort { nic, port }, Port { leaf, ingress, access, is_dead: false });
                }
            }
        }
        Self {
            fabric,
            ecmp,
            draw,
            ports,
            hashes: BTreeMap::new(),
            groups: BTreeMap::new(),
            pairs: Vec::new(),
            uses: BTreeMap::new(),
            own_uses: BTreeMap::new(),
        }
    }

    /// The queue pairs in the order of their opening.
    pub fn pairs(&self) -> &[HeldPair] {
        &self.pairs
    }

    /// Takes in which of its own cables are dead.
    pub fn see_ports(&mut self, mask: &LinkMask) {
        self.ports.values_mut().for_each(|port| port.is_dead = mask.is_down(port.access));
    }

    /// Opens connections of the host, each with the numbers of its queue pairs at the target: each queue pair on an
    /// uplink that its connection uses least, of these one that the host uses least. One message to each leaf.
    pub fn open(
        &mut self,
        opened: &[(QueuePairs, &[u32])],
        tables: &mut impl LeafTables,
        told: &mut Vec<Told>,
    ) {
        let mut wanted: BTreeMap<u32, BTreeSet<DeviceId>> = BTreeMap::new();
        for (of, _) in opened {
            let alive = (0..of.ports).filter_map(|port| self.ports.get(&NicPort { nic: of.source, port }));
            for port in alive.filter(|port| !port.is_dead) {
                wanted.entry(port.leaf).or_default().insert(of.target);
            }
        }
        wanted.iter().for_each(|(&leaf, targets)| self.read(leaf, targets, tables));
        for &(of, numbers) in opened {
            // By port, as a connection spreads over the uplinks of one leaf before it comes to the next.
            for index in (0..of.ports).flat_map(|port| (port..of.count).step_by(of.ports as usize)) {
                let row = of.first + index;
                let number = numbers[index as usize];
                let fresh = HeldPair { row, of, number, port: 0, source_port: FIRST_PORT, uplink: None };
                self.pairs.push(fresh);
                let settled = self.settle(self.pairs.len() - 1, true);
                told.push(self.told(self.pairs.len() - 1, if settled { "own-leaf" } else { "stranded" }));
            }
        }
    }

    /// Forgets the queue pairs of connections for which `gone` holds.
    pub fn close(&mut self, gone: impl Fn(&QueuePairs) -> bool) {
        for index in 0..self.pairs.len() {
            if gone(&self.pairs[index].of) {
                self.leave(index);
            }
        }
        self.pairs.retain(|one| !gone(&one.of));
        let targets: BTreeSet<DeviceId> = self.pairs.iter().map(|one| one.of.target).collect();
        self.groups.retain(|(_, target), _| targets.contains(target));
    }

    /// Leaves whose groups are others in `tables` than what the host read, and those to which queue pairs go over
    /// whose port it is that died or came back by `mask`. Ascending.
    pub fn outdated(&self, tables: &Leaves<'_>, mask: &LinkMask) -> BTreeSet<u32> {
        let changed = |(key, known): (&(u32, DeviceId), &LeafGroup)| {
            (tables.group(key.0, key.1) != *known).then_some(key.0)
        };
        let mut leaves: BTreeSet<u32> = self.groups.iter().filter_map(changed).collect();
        for (at, _) in self.ports.iter().filter(|(_, port)| port.is_dead != mask.is_down(port.access)) {
            let same = self.ports.iter().filter(|(other, _)| other.nic == at.nic);
            leaves.extend(same.map(|(_, port)| port.leaf));
        }
        let reached =
            |leaf: &u32| self.ports.values().any(|port| port.leaf == *leaf && !mask.is_down(port.access));
        leaves.retain(reached);
        let used: BTreeSet<DeviceId> = self.pairs.iter().map(|one| one.of.source).collect();
        let serves =
            |leaf: &u32| self.ports.iter().any(|(at, port)| port.leaf == *leaf && used.contains(&at.nic));
        leaves.retain(serves);
        leaves
    }

    /// After a link event: reads the groups of some of its own leaves again, one message each, and computes source
    /// ports for its queue pairs over them. Those whose uplink is still in the group stay on it; those whose source
    /// port still takes it keep that too and are told nothing.
    pub fn refresh(&mut self, leaves: &BTreeSet<u32>, tables: &mut impl LeafTables, told: &mut Vec<Told>) {
        let concerns = |one: &HeldPair| {
            let mut ports = (0..one.of.ports).map(|port| NicPort { nic: one.of.source, port });
            ports.any(|at| self.ports.get(&at).is_some_and(|port| leaves.contains(&port.leaf)))
        };
        let concerned: Vec<usize> =
            (0..self.pairs.len()).filter(|&index| concerns(&self.pairs[index])).collect();
        for &leaf in leaves {
            let here = concerned.iter().map(|&index| self.pairs[index].of).filter(|of| {
                let mut ports = (0..of.ports).map(|port| NicPort { nic: of.source, port });
                ports.any(|at| self.ports.get(&at).is_some_and(|port| port.leaf == leaf))
            });
            let targets: BTreeSet<DeviceId> = here.map(|of| of.target).collect();
            self.read(leaf, &targets, tables);
        }
        // Queue pairs that stay come first: those that move choose by what is left.
        let mut homeless = Vec::new();
        for index in concerned {
            let before = self.pairs[index];
            if !self.settle(index, false) {
                homeless.push((index, before));
            } else if self.pairs[index].source_port != before.source_port {
                told.push(self.told(index, "group-changed"));
            }
        }
        for (index, before) in homeless {
            if self.settle(index, true) {
                let reason = if before.uplink.is_some() { "uplink-gone" } else { "way-again" };
                told.push(self.told(index, reason));
            } else if before.uplink.is_some() {
                told.push(self.told(index, "stranded"));
            }
        }
    }

    fn told(&self, index: usize, reason: &'static str) -> Told {
        let HeldPair { row: queue_pair, source_port, uplink, .. } = self.pairs[index];
        Told { queue_pair, source_port: uplink.map(|_| source_port), reason }
    }

    fn read(&mut self, leaf: u32, targets: &BTreeSet<DeviceId>, tables: &mut impl LeafTables) {
        let targets: Vec<DeviceId> = targets.iter().copied().collect();
        for (&target, group) in targets.iter().zip(tables.groups(leaf, &targets)) {
            self.groups.insert((leaf, target), group);
        }
    }

    fn leave(&mut self, index: usize) {
        let HeldPair { of, uplink, .. } = &mut self.pairs[index];
        if let Some(link) = uplink.take() {
            *self.uses.entry(link).or_default() -= 1;
            *self.own_uses.entry((of.first, link)).or_default() -= 1;
        }
    }

    /// The port that a queue pair leaves by: its own, else the next that is alive and whose leaf knows a way.
    fn port_of(&self, one: &HeldPair) -> Option<(NicPort, Port)> {
        let ports = one.of.ports;
        (0..ports).find_map(|turn| {
            let at = NicPort { nic: one.of.source, port: (one.row - one.of.first + turn) % ports };
            let port = *self.ports.get(&at).filter(|port| !port.is_dead)?;
            let group = self.groups.get(&(port.leaf, one.of.target))?;
            (!group.live.is_empty()).then_some((at, port))
        })
    }

    /// Sets the source port for the queue pair's uplink, or, if `may_move`, for the least used one that a port
    /// reaches. False if there is none; the queue pair then has no uplink.
    fn settle(&mut self, index: usize, may_move: bool) -> bool {
        let one = self.pairs[index];
        let way = self.port_of(&one);
        self.leave(index);
        let Some((at, Port { leaf, ingress, .. })) = way else { return false };
        let lot = stream::mix(self.draw ^ stream::mix(u64::from(one.row)));
        let group = &self.groups[&(leaf, one.of.target)];
        let wanted: Vec<LinkId> = if may_move {
            let uses = |link: LinkId| {
                let own = self.own_uses.get(&(one.of.first, link)).copied().unwrap_or(0);
                (own, self.uses.get(&link).copied().unwrap_or(0))
            };
            let first = (lot >> 32) as usize % group.live.len();
            let mut turned = group.live.clone();
            turned.rotate_left(first);
            turned.sort_by_key(|&link| uses(link));
            turned
        } else {
            one.uplink.into_iter().filter(|link| group.live.contains(link)).collect()
        };
        let (ecmp, fabric) = (&self.ecmp, self.fabric);
        let (spec, table) = self.hashes.entry(leaf).or_insert_with(|| {
            let spec = ecmp.spec_at(&fabric.switches()[leaf as usize].1, leaf);
            (spec, Box::new(PortTable::new(&spec)))
        });
        let tuple = FiveTuple::roce(nic_ip(one.of.source), nic_ip(one.of.target), FIRST_PORT);
        let key = HashKey::of(tuple).with_target_qp(one.number).with_ingress_port(ingress);
        let base = spec.hash(&key);
        let hashed = Hashed { spec: *spec, full: &group.numbered, live: &group.live };
        let takes = |port: u16| hashed.link(base ^ table.difference(port));
        // From a port by lot, so that switches further on see keys of all kinds.
        let span = LAST_PORT - FIRST_PORT;
        let by_lot = (0..=span).map(|step| FIRST_PORT | ((lot as u16).wrapping_add(step) & span));
        let found = wanted.iter().find_map(|&link| {
            let own = one.uplink.is_some().then_some(one.source_port);
            let port = own.into_iter().chain(by_lot.clone()).find(|&port| takes(port) == link)?;
            Some((port, link))
        });
        let Some((source_port, link)) = found else { return false };
        *self.uses.entry(link).or_default() += 1;
        *self.own_uses.entry((one.of.first, link)).or_default() += 1;
        self.pairs[index] = HeldPair { port: at.port, source_port, uplink: Some(link), ..one };
        true
    }
}

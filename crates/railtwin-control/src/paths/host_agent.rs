//! Path control without a controller: the host steers by the tables of its own leaves.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, HashSpec, NicPort, PortTable, nic_ip};

use super::dag::Members;

/// What a leaf answers to a host: its ECMP groups. One call is one message.
pub trait LeafTables {
    /// The links among which the leaf in row `leaf` chooses for each of `targets`, in the order of its group.
    fn groups(&mut self, leaf: u32, targets: &[DeviceId]) -> Vec<Vec<LinkId>>;
}

/// The tables of a simulated fabric.
impl LeafTables for &Forwarding {
    fn groups(&mut self, leaf: u32, targets: &[DeviceId]) -> Vec<Vec<LinkId>> {
        targets.iter().map(|&target| self.next_links(leaf, target).to_vec()).collect()
    }
}

/// A connection of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connection {
    /// Where it sends.
    pub source: NicPort,
    /// Where to.
    pub target: DeviceId,
    /// Its queue pair's number at the target.
    pub queue_pair: u32,
    /// The UDP source port; 0xC000 without a way.
    pub source_port: u16,
    /// The link that its leaf takes; none without a way.
    pub uplink: Option<LinkId>,
}

/// What re-reading a leaf came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Refreshed {
    /// Connections through the leaf whose source port stays.
    pub kept: usize,
    /// Connections with a new source port for the uplink they had.
    pub ported: usize,
    /// Connections on another uplink.
    pub moved: usize,
    /// Connections without any way.
    pub stranded: usize,
}

/// One host's connections and what it knows of its leaves (HPN section 6.1).
///
/// With planes the uplink of the leaf fixes the whole path, so the leaf's group and hash are all that a host must know
/// to choose one: after a link event it reads the group again, from its own leaf and nobody else, and computes new
/// source ports for its own connections. Elsewhere it governs the first hop alone.
#[derive(Clone, Debug)]
pub struct HostAgent<'a> {
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    /// Leaf and ingress port at it of each port of the host's NICs.
    leaves: BTreeMap<NicPort, (u32, u32)>,
    hashes: BTreeMap<u32, (HashSpec, Box<PortTable>)>,
    groups: BTreeMap<(u32, DeviceId), Vec<LinkId>>,
    connections: Vec<Connection>,
    uses: BTreeMap<LinkId, u32>,
    messages: u64,
}

impl<'a> HostAgent<'a> {
    /// An agent for the NICs in `nics`, which knows where its cables go and how its leaves hash.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, nics: &[DeviceId]) -> Self {
        let mut leaves = BTreeMap::new();
        for &nic in nics {
            for port in 0.. {
                let Some(link) = fabric.access_link(nic, port) else { break };
                let side = usize::from(link.0 & 1 == 0);
                let ingress = fabric.port_index(fabric.cable_ports(link.cable())[side]);
                if let Some(leaf) = fabric.switch_row(fabric.target(link)) {
                    leaves.insert(NicPort { nic, port }, (leaf, ingress));
                }
            }
        }
        Self {
            fabric,
            ecmp,
            leaves,
            hashes: BTreeMap::new(),
            groups: BTreeMap::new(),
            connections: Vec::new(),
            uses: BTreeMap::new(),
            messages: 0,
        }
    }

    /// The connections in the order of their opening.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Messages sent to leaves so far; all to the host's own.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Rows of the leaves that the host hangs on, ascending.
    pub fn leaves(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = self.leaves.values().map(|&(leaf, _)| leaf).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }

    /// Opens a connection on the uplink that fewest of the host's own use. The leaf is asked once for each target.
    /// Returns its index; none if the host has no such port.
    pub fn connect(
        &mut self,
        source: NicPort,
        target: DeviceId,
        queue_pair: u32,
        leaf_tables: &mut impl LeafTables,
    ) -> Option<usize> {
        let (leaf, _) = *self.leaves.get(&source)?;
        if !self.groups.contains_key(&(leaf, target)) {
            self.read(leaf, &[target], leaf_tables);
        }
        let mut connection = Connection { source, target, queue_pair, source_port: FIRST_PORT, uplink: None };
        self.settle(&mut connection, leaf, true);
        self.connections.push(connection);
        Some(self.connections.len() - 1)
    }

    /// After a link event at or beyond a leaf: reads the leaf's groups again in one message, and computes source
    /// ports for the host's connections through it. Those whose uplink is still in the group stay on it; those whose
    /// source port still takes it keep that too.
    pub fn refresh(&mut self, leaf: u32, leaf_tables: &mut impl LeafTables) -> Refreshed {
        let through = |one: &Connection| self.leaves.get(&one.source).is_some_and(|&(row, _)| row == leaf);
        let concerned: Vec<usize> =
            (0..self.connections.len()).filter(|&index| through(&self.connections[index])).collect();
        let mut targets: Vec<DeviceId> =
            concerned.iter().map(|&index| self.connections[index].target).collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.is_empty() {
            return Refreshed::default();
        }
        self.read(leaf, &targets, leaf_tables);
        // Connections that stay come first: those that move choose by what is left.
        let mut refreshed = Refreshed::default();
        let mut homeless = Vec::new();
        for index in concerned {
            let mut connection = self.connections[index];
            let before = connection;
            let stays = self.settle(&mut connection, leaf, false);
            self.connections[index] = connection;
            if !stays {
                homeless.push(index);
                continue;
            }
            match connection.source_port == before.source_port {
                true => refreshed.kept += 1,
                false => refreshed.ported += 1,
            }
        }
        for index in homeless {
            let mut connection = self.connections[index];
            match self.settle(&mut connection, leaf, true) {
                true => refreshed.moved += 1,
                false => refreshed.stranded += 1,
            }
            self.connections[index] = connection;
        }
        refreshed
    }

    fn read(&mut self, leaf: u32, targets: &[DeviceId], leaf_tables: &mut impl LeafTables) {
        self.messages += 1;
        for (&target, group) in targets.iter().zip(leaf_tables.groups(leaf, targets)) {
            self.groups.insert((leaf, target), group);
        }
    }

    /// Sets the source port for the connection's uplink, or, if `may_move`, for the least used one that a port
    /// reaches. False if there is none; the connection then has no uplink.
    fn settle(&mut self, connection: &mut Connection, leaf: u32, may_move: bool) -> bool {
        let group = self.groups.get(&(leaf, connection.target)).map_or(&[][..], Vec::as_slice);
        let uses = |link: &LinkId| self.uses.get(link).copied().unwrap_or(0);
        let mut wanted: Vec<usize> = match connection.uplink {
            Some(link) if !may_move => group.iter().position(|&member| member == link).into_iter().collect(),
            _ if may_move => (0..group.len()).collect(),
            _ => Vec::new(),
        };
        wanted.sort_by_key(|&member| uses(&group[member]));
        let (ecmp, fabric) = (&self.ecmp, self.fabric);
        let (spec, table) = self.hashes.entry(leaf).or_insert_with(|| {
            let spec = ecmp.spec_at(&fabric.switches()[leaf as usize].1, leaf);
            (spec, Box::new(PortTable::new(&spec)))
        });
        let ingress = self.leaves[&connection.source].1;
        let tuple = FiveTuple::roce(nic_ip(connection.source.nic), nic_ip(connection.target), FIRST_PORT);
        let key = HashKey::of(tuple).with_target_qp(connection.queue_pair).with_ingress_port(ingress);
        let (base, members) = (spec.hash(&key), Members::new(group.len() as u32));
        let takes = |port: u16, member| members.bucket(base ^ table.difference(port)) == member;
        let found = wanted.iter().find_map(|&member| {
            let own = std::iter::once(connection.source_port);
            let port = own.chain(FIRST_PORT..=LAST_PORT).find(|&port| takes(port, member))?;
            Some((port, group[member]))
        });
        if let Some(link) = connection.uplink.take() {
            *self.uses.entry(link).or_default() -= 1;
        }
        let Some((port, link)) = found else {
            connection.source_port = FIRST_PORT;
            return false;
        };
        *self.uses.entry(link).or_default() += 1;
        (connection.source_port, connection.uplink) = (port, Some(link));
        true
    }
}

//! From nodes and links to hosts, switches and cables.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::CableNetwork;
use railtwin_formats::{FormatError, SimaiLink, SimaiTopology};
use railtwin_units::{Rate, SimTime};

use crate::form::SourceFile;
use crate::tiers::by_distance;
use crate::topology::Topology;

/// Reads one file.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let is_one = |source: &&SourceFile<'_>| SimaiTopology::is_one(source.bytes);
    let source = sources.iter().find(is_one).or(sources.first());
    let Some(source) = source else {
        return Err(FormatError::new("SimAI topology", "", "no file is given", "give one file"));
    };
    let file = SimaiTopology::parse(source.name, source.bytes)?;
    let form = if file.gpus_per_server.is_some() { "simai" } else { "hpcc" };
    let mut topology = Topology::new(form);
    if sources.len() > 1 {
        topology.notes.push(format!("{} alone was read: a topology is one file", source.name));
    }
    let nodes = Nodes::of(&file, &mut topology);
    Reading::of(&file, nodes, topology).finish()
}

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    /// A GPU, by its rank.
    Gpu(u32),
    /// An NVSwitch, by its row.
    NvSwitch(u32),
    /// A switch of the network, by its row.
    Switch(u32),
    /// None.
    Unknown,
}

/// Nodes by number.
struct Nodes {
    count: u32,
    nvswitches: BTreeMap<u32, u32>,
    switches: BTreeMap<u32, u32>,
    /// NVSwitches and switches in order.
    special: Vec<u32>,
}

impl Nodes {
    fn of(file: &SimaiTopology, topology: &mut Topology) -> Self {
        let (nvswitches, switches) = named(file, topology);
        let mut special: Vec<u32> = nvswitches.iter().chain(&switches).copied().collect();
        special.sort_unstable();
        special.dedup();
        let rows = |nodes: Vec<u32>| {
            let mut rows = BTreeMap::new();
            for node in nodes {
                let next = rows.len() as u32;
                rows.entry(node).or_insert(next);
            }
            rows
        };
        Self { count: file.nodes, nvswitches: rows(nvswitches), switches: rows(switches), special }
    }

    fn node(&self, number: u32) -> Node {
        let switch = self.switches.get(&number).map(|&row| Node::Switch(row));
        let known = switch.or_else(|| self.nvswitches.get(&number).map(|&row| Node::NvSwitch(row)));
        match known {
            Some(node) => node,
            None if number >= self.count => Node::Unknown,
            None => Node::Gpu(number - self.special.partition_point(|&special| special < number) as u32),
        }
    }

    /// GPUs that the header leaves.
    fn gpus(&self) -> u32 {
        self.count - self.special.partition_point(|&special| special < self.count) as u32
    }
}

/// NVSwitches and switches of a file. Where the second line names fewer than the header announces, the nodes with the most
/// links stand in for them, as leaves and spines have more than GPUs.
fn named(file: &SimaiTopology, topology: &mut Topology) -> (Vec<u32>, Vec<u32>) {
    let mut all: Vec<u32> = file.nvswitches.iter().chain(&file.switches).copied().collect();
    let announced = u64::from(file.announced_nvswitches) + u64::from(file.announced_switches);
    if announced == all.len() as u64 {
        return (file.nvswitches.clone(), file.switches.clone());
    }
    let seen = format!("the header announces {announced} switches, and {} are named", all.len());
    topology.find("count-differs", "header", seen);
    let missing = announced.saturating_sub(all.len() as u64);
    let known: BTreeSet<u32> = all.iter().copied().collect();
    let mut links: BTreeMap<u32, u32> = BTreeMap::new();
    for end in file.links.iter().flat_map(|link| link.ends) {
        if end < file.nodes && !known.contains(&end) {
            *links.entry(end).or_default() += 1;
        }
    }
    let mut likely: Vec<(u32, u32)> = links.into_iter().map(|(node, count)| (count, node)).collect();
    likely.sort_unstable();
    let is_sorted = all.is_sorted();
    let missing = missing.min(1 << 26) as usize;
    // Nodes that have no more links than those left over are GPUs like them.
    let usual = likely.iter().rev().nth(missing).map_or(0, |&(count, _)| count);
    let likely = likely.into_iter().rev().take(missing);
    for (count, node) in likely.filter(|(count, _)| *count > usual) {
        let seen = format!("it is not named as a switch, and is taken as one for its {count} links");
        topology.find("unknown-device", node.to_string(), seen);
        all.push(node);
    }
    if is_sorted {
        all.sort_unstable();
    }
    let first = all.len().min(file.announced_nvswitches as usize);
    let switches = all.split_off(first);
    (all, switches)
}

/// A topology while links are entered.
struct Reading<'a> {
    file: &'a SimaiTopology,
    nodes: Nodes,
    topology: Topology,
    /// Host and index in it of each GPU, where NVSwitches alone tell hosts.
    groups: Option<BTreeMap<u32, (u32, u32)>>,
    /// Rows of switches in the list.
    switches: Vec<u32>,
    /// Ports of devices so far, by device and NIC; a switch has NIC 0.
    next_port: BTreeMap<(u32, String), u32>,
    /// NVLink of each GPU: rate, delay.
    nvlink: BTreeMap<u32, (Rate, SimTime)>,
    /// GPUs of each NVSwitch.
    below: BTreeMap<u32, BTreeSet<u32>>,
}

impl<'a> Reading<'a> {
    fn of(file: &'a SimaiTopology, nodes: Nodes, mut topology: Topology) -> Self {
        let mut order: Vec<(u32, u32)> = nodes.switches.iter().map(|(&node, &row)| (row, node)).collect();
        order.sort_unstable();
        let switches = order.into_iter().map(|(_, node)| {
            let row = topology.switch(&format!("switch-{node}"));
            topology.about_mut(row).id = Some(node.to_string());
            topology.list.device_mut(row).network = Some(CableNetwork::Backend);
            row
        });
        let switches = switches.collect();
        let mut below: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for link in &file.links {
            let ends = link.ends.map(|end| nodes.node(end));
            for [a, b] in [ends, [ends[1], ends[0]]] {
                if let (Node::NvSwitch(switch), Node::Gpu(gpu)) = (a, b) {
                    below.entry(switch).or_default().insert(gpu);
                }
            }
        }
        let groups = (file.gpus_per_server == Some(0)).then(|| grouped(&below));
        let (next_port, nvlink) = (BTreeMap::new(), BTreeMap::new());
        Self { file, nodes, topology, groups, switches, next_port, nvlink, below }
    }

    /// Host and index of a GPU.
    fn place(&self, gpu: u32) -> (u32, u32) {
        match (&self.groups, self.file.gpus_per_server) {
            (Some(groups), _) => groups.get(&gpu).copied().unwrap_or((gpu, 0)),
            (None, Some(per_server @ 1..)) => (gpu / per_server, gpu % per_server),
            _ => (gpu, 0),
        }
    }

    fn host(&mut self, host: u32) -> u32 {
        let row = self.topology.host(&format!("host-{host}"));
        self.topology.list.device_mut(row).network = Some(CableNetwork::Backend);
        row
    }

    /// Enters hosts: all that the header announces, where links bear that out; of a header that announces far more nodes than
    /// links have ends, those with links.
    fn enter_hosts(&mut self) {
        let linked: BTreeSet<u32> = self.file.links.iter().flat_map(|link| link.ends).collect();
        let gpus = self.nodes.gpus();
        let plausible = 2 * linked.len() + 1_024;
        let ranks: Vec<u32> = if gpus as usize <= plausible {
            (0..gpus).collect()
        } else {
            let seen =
                format!("the header announces {} nodes, and links name {}", self.file.nodes, linked.len());
            self.topology.find("count-differs", "header", seen);
            let of = |&node: &u32| match self.nodes.node(node) {
                Node::Gpu(rank) => Some(rank),
                _ => None,
            };
            linked.iter().filter_map(of).collect()
        };
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        for rank in ranks {
            *counts.entry(self.place(rank).0).or_default() += 1;
        }
        let model = Some(self.file.gpu_type.clone()).filter(|name| !name.is_empty());
        for (host, gpus) in counts {
            let row = self.host(host);
            let about = self.topology.about_mut(row);
            (about.gpus, about.model) = (Some(gpus), model.clone());
        }
        if let Some(per_server @ 2..) = self.file.gpus_per_server
            && !gpus.is_multiple_of(per_server)
        {
            let seen = format!("{gpus} GPUs are not a multiple of {per_server} of a server");
            self.topology.find("count-differs", "header", seen);
        }
    }

    /// Name of the next port of a device, and of a NIC of it where it is a host.
    fn port(&mut self, device: u32, nic: Option<u32>) -> String {
        let nic = nic.map(|nic| format!("nic-{nic}:")).unwrap_or_default();
        let next = self.next_port.entry((device, nic.clone())).or_default();
        *next += 1;
        format!("{nic}port-{}", *next - 1)
    }

    /// The device that a node is in the network, and its NIC there; none for an NVSwitch that no GPU is linked to.
    fn end(&mut self, node: Node) -> Option<(u32, Option<u32>)> {
        match node {
            Node::Gpu(gpu) => {
                let (host, index) = self.place(gpu);
                Some((self.host(host), Some(index)))
            }
            Node::Switch(row) => Some((self.switches[row as usize], None)),
            Node::NvSwitch(row) => {
                let gpu = *self.below.get(&row)?.first()?;
                self.end(Node::Gpu(gpu))
            }
            Node::Unknown => None,
        }
    }

    fn enter_links(&mut self) {
        let (mut inside, mut unknown) = (0, BTreeMap::<u32, u32>::new());
        for link in &self.file.links {
            let ends = link.ends.map(|end| self.nodes.node(end));
            for (node, number) in ends.iter().zip(link.ends) {
                if *node == Node::Unknown {
                    *unknown.entry(number).or_default() += 1;
                }
            }
            match ends {
                [Node::Unknown, _] | [_, Node::Unknown] => self.topology.links_missing += 1,
                [Node::Gpu(gpu), Node::NvSwitch(_)] | [Node::NvSwitch(_), Node::Gpu(gpu)] => {
                    let known = self.nvlink.entry(gpu).or_insert((Rate::ZERO, link.delay));
                    known.0 =
                        Rate::from_bits_per_s(known.0.bits_per_s().saturating_add(link.rate.bits_per_s()));
                }
                [Node::NvSwitch(_), Node::NvSwitch(_)] => inside += 1,
                [Node::Gpu(a), Node::Gpu(b)] if self.place(a).0 == self.place(b).0 => inside += 1,
                _ => self.enter_cable(link, ends),
            }
        }
        for (node, links) in unknown {
            let seen =
                format!("{links} links lead to it, and the header announces {} nodes", self.file.nodes);
            self.topology.find("unknown-device", node.to_string(), seen);
        }
        if inside > 0 {
            self.topology
                .notes
                .push(format!("{inside} links between GPUs or NVSwitches of a host are not cables"));
        }
    }

    fn enter_cable(&mut self, link: &SimaiLink, ends: [Node; 2]) {
        if link.ends[0] == link.ends[1] {
            self.topology.links_missing += 1;
            self.topology.find("loop", link.ends[0].to_string(), "a link leads from it to itself");
            return;
        }
        let found = ends.map(|node| self.end(node));
        let [Some(a), Some(b)] = found else {
            self.topology.links_missing += 1;
            let seen = "no GPU is linked to this NVSwitch, which has links into the network";
            let lonely = found.iter().position(Option::is_none).unwrap_or(0);
            self.topology.find("unknown-device", link.ends[lonely].to_string(), seen);
            return;
        };
        let ports = [a, b].map(|(device, nic)| self.port(device, nic));
        let ends = [(a.0, ports[0].as_str()), (b.0, ports[1].as_str())];
        self.topology.join(ends, Some(link.rate), Some(link.delay), 0);
    }

    /// Enters NVLink and scale-up domains of hosts.
    fn enter_nvlink(&mut self) {
        let mut of_host: BTreeMap<u32, BTreeSet<(Rate, SimTime)>> = BTreeMap::new();
        for (&gpu, &nvlink) in &self.nvlink {
            of_host.entry(self.place(gpu).0).or_default().insert(nvlink);
        }
        let mut unlike = 0;
        for (host, rates) in of_host {
            unlike += u32::from(rates.len() > 1);
            let row = self.host(host);
            self.topology.about_mut(row).nvlink = rates.first().copied();
        }
        if unlike > 0 {
            let note = format!(
                "GPUs of {unlike} hosts differ in their links to NVSwitches: the slowest stands for all"
            );
            self.topology.notes.push(note);
        }
        let mut sets: BTreeMap<u32, u32> = BTreeMap::new();
        for gpus in self.below.values() {
            let hosts: BTreeSet<u32> = gpus.iter().map(|&gpu| self.place(gpu).0).collect();
            if let Some(&first) = hosts.first().filter(|_| hosts.len() > 1) {
                for &host in &hosts {
                    join(&mut sets, first, host);
                }
            }
        }
        let hosts: Vec<u32> = sets.keys().copied().collect();
        for host in hosts {
            let domain = root(&mut sets, host);
            let row = self.host(host);
            self.topology.about_mut(row).domain = Some(format!("nvlink-{domain}"));
        }
    }

    /// Notes what contradicts itself in the file.
    fn enter_findings(&mut self) {
        let links = self.file.links.len() as u64;
        if links != self.file.announced_links {
            let seen =
                format!("the header announces {} links, and {links} follow", self.file.announced_links);
            self.topology.find("count-differs", "header", seen);
        }
        let beyond = self.nodes.special.iter().filter(|&&node| node >= self.nodes.count).count();
        if beyond > 0 {
            let seen =
                format!("{beyond} switches have numbers beyond the {} nodes of the header", self.nodes.count);
            self.topology.find("count-differs", "header", seen);
        }
        let alone = self.file.notes.iter().filter(|note| note.ends_with("nodes have no link"));
        self.topology.notes.extend(alone.cloned());
        let lossy = self.file.links.iter().filter(|link| link.loss > 0.0).count();
        if lossy > 0 {
            self.topology.notes.push(format!("{lossy} links lose packets, which a topology does not say"));
        }
        if self.switches.is_empty() {
            return;
        }
        let is_free = |&host: &u32| {
            let ports = &self.topology.list.devices()[host as usize].ports;
            !ports.iter().any(|&port| self.topology.list.peer(port).is_some())
        };
        let alone: Vec<u32> = self.topology.hosts().filter(is_free).collect();
        for host in alone {
            let name = self.topology.list.devices()[host as usize].name.clone();
            self.topology.find("host-without-switch", name, "none of its GPUs has a link into the network");
        }
    }

    fn finish(mut self) -> Result<Topology, FormatError> {
        self.enter_hosts();
        self.enter_links();
        self.enter_nvlink();
        self.enter_findings();
        by_distance(&mut self.topology);
        Ok(self.topology)
    }
}

fn root(sets: &mut BTreeMap<u32, u32>, of: u32) -> u32 {
    let mut at = of;
    loop {
        let up = *sets.entry(at).or_insert(at);
        if up == at {
            return at;
        }
        // Paths halve, and stay short.
        let above = sets.get(&up).copied().unwrap_or(up);
        sets.insert(at, above);
        at = above;
    }
}

fn join(sets: &mut BTreeMap<u32, u32>, a: u32, b: u32) {
    let [a, b] = [root(sets, a), root(sets, b)];
    sets.insert(a.max(b), a.min(b));
}

/// Hosts by shared NVSwitches, in the order of their first GPUs.
fn grouped(below: &BTreeMap<u32, BTreeSet<u32>>) -> BTreeMap<u32, (u32, u32)> {
    let mut sets = BTreeMap::new();
    for gpus in below.values() {
        if let Some(&first) = gpus.first() {
            gpus.iter().for_each(|&gpu| join(&mut sets, first, gpu));
        }
    }
    let gpus: Vec<u32> = sets.keys().copied().collect();
    let mut members: BTreeMap<u32, u32> = BTreeMap::new();
    gpus.into_iter()
        .map(|gpu| {
            let host = root(&mut sets, gpu);
            let index = members.entry(host).or_default();
            *index += 1;
            (gpu, (host, *index - 1))
        })
        .collect()
}

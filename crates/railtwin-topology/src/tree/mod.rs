//! Trees of schedulers: one parent for each switch, one switch for each host.
//!
//! A topology that was read from a scheduler's file is a tree already. The network of a cluster is none: a host is under
//! a leaf of each rail, and a leaf under many spines. [`Tree::of`] makes one as topograph's merger and the guides of
//! schedulers do: leaves that share a host are one switch, the segment, and so are spines that share a segment, the pod,
//! and cores that share a pod. Two hosts then meet as low in the tree as in the network. A switch of several is named by the
//! first of them.
mod blocks;
mod join;
mod read;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::natural;
use railtwin_formats::FormatError;

use crate::topology::Topology;

pub use blocks::{Block, block_sizes, blocks};
pub(crate) use blocks::{check_block_sizes, enter_block};
use read::{LISTED_MAX, listed};
pub(crate) use read::{TreeReader, Undefined};

/// Name of the port by which a device is under another in a topology that is a tree.
pub const UNDER: &str = "under";

/// A switch of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeSwitch {
    /// Name: that of the first member.
    pub name: String,
    /// Rows of the switches of the topology that it stands for, sorted by name; empty where a scheduler alone needs it.
    pub members: Vec<u32>,
    /// 1 where it has hosts alone; else one more than the highest under it.
    pub tier: u32,
    /// Place of its parent in the tree; none for a root.
    pub parent: Option<u32>,
    /// Places of the switches under it, sorted by name.
    pub switches: Vec<u32>,
    /// Rows of the hosts under it, sorted by name.
    pub hosts: Vec<u32>,
}

/// A tree, or a forest. Switches without hosts below are not in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tree {
    /// Switches, each behind its parent, depth first.
    pub switches: Vec<TreeSwitch>,
    /// Places of switches without a parent.
    pub roots: Vec<u32>,
    /// Rows of hosts under no switch, sorted by name.
    pub loose: Vec<u32>,
}

/// Switches of a tree before they are put in order: members, parent, hosts.
#[derive(Default)]
struct Groups {
    members: Vec<Vec<u32>>,
    parent: Vec<u32>,
    hosts: Vec<Vec<u32>>,
    loose: Vec<u32>,
}

impl Tree {
    /// The tree of a topology.
    pub fn of(topology: &Topology) -> Self {
        let groups = if topology.is_tree { stated(topology) } else { join::groups(topology) };
        assemble(topology, groups)
    }

    /// The tree of a topology for a scheduler whose files place hosts under switches alone: a host under no switch is under
    /// one of its own, `unconnected.1`, which is under no other. Slurm and Volcano both take forests, and never give a job hosts
    /// of two trees where it asks for one network.
    ///
    /// # Errors
    /// [`FormatError`] of `form` where no host is under a switch: each would be alone, and no job could have two.
    pub(crate) fn of_scheduler(form: &'static str, topology: &Topology) -> Result<Self, FormatError> {
        let mut tree = Self::of(topology);
        if tree.switches.is_empty() {
            let title = topology.list.title.as_deref().unwrap_or("topology");
            let accepted = "the form places hosts under switches: give the links of hosts";
            let problem = match tree.loose.len() {
                0 => "has no hosts under switches".to_owned(),
                count => format!("hangs none of its {count} hosts on a switch"),
            };
            let error = FormatError::new(form, title, problem, accepted);
            let names = names_of(topology, &tree.loose);
            return Err(if names.is_empty() { error } else { error.found(&names) });
        }
        let mut number = 0;
        for host in std::mem::take(&mut tree.loose) {
            let name = loop {
                number += 1;
                let name = format!("unconnected.{number}");
                if topology.list.device_named(&name).is_none() {
                    break name;
                }
            };
            tree.roots.push(tree.switches.len() as u32);
            let (members, switches) = (Vec::new(), Vec::new());
            tree.switches.push(TreeSwitch {
                name,
                members,
                tier: 1,
                parent: None,
                switches,
                hosts: vec![host],
            });
        }
        Ok(tree)
    }

    /// Places of switches, those of a tier together, from the roots.
    pub fn breadth_first(&self) -> Vec<u32> {
        let mut order = self.roots.clone();
        let mut next = 0;
        while let Some(&place) = order.get(next) {
            order.extend_from_slice(&self.switches[place as usize].switches);
            next += 1;
        }
        order
    }

    /// Hosts with the place of their switch, in the order of the tree; those under none last.
    pub fn hosts(&self) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        let placed = (0..).zip(&self.switches);
        let placed =
            placed.flat_map(|(place, switch)| switch.hosts.iter().map(move |&host| (host, Some(place))));
        placed.chain(self.loose.iter().map(|&host| (host, None)))
    }

    /// Places of a switch and of those above it, from below.
    pub fn path(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(place), |&below| self.switches[below as usize].parent)
    }
}

/// Names of the first hosts of a list, for messages and comments.
pub(crate) fn names_of(topology: &Topology, hosts: &[u32]) -> String {
    let names =
        hosts.iter().take(LISTED_MAX).map(|&host| topology.list.devices()[host as usize].name.clone());
    listed(&names.collect::<Vec<_>>(), hosts.len())
}

/// The tree that a topology states: the first parent of each device, by its port, else by its tier.
fn stated(topology: &Topology) -> Groups {
    let list = &topology.list;
    let above = |device: u32| {
        let ports = || list.devices()[device as usize].ports.iter().copied();
        let peer = |port: u32| list.peer(port).map(|peer| list.device_of(peer));
        let by_port = ports().find(|&port| list.ports()[port as usize].name.starts_with(UNDER));
        let own = topology.tier(device).unwrap_or(0);
        by_port
            .and_then(peer)
            .or_else(|| ports().filter_map(peer).find(|&other| topology.tier(other) > Some(own)))
    };
    let mut groups = Groups::default();
    let mut group_of = vec![NONE; list.devices().len()];
    for switch in topology.switches() {
        group_of[switch as usize] = groups.members.len() as u32;
        groups.members.push(vec![switch]);
    }
    groups.hosts = vec![Vec::new(); groups.members.len()];
    groups.parent =
        groups.members.iter().map(|only| above(only[0]).map_or(NONE, |row| group_of[row as usize])).collect();
    for host in topology.hosts() {
        match above(host).map_or(NONE, |row| group_of[row as usize]) {
            NONE => groups.loose.push(host),
            group => groups.hosts[group as usize].push(host),
        }
    }
    groups
}

/// Cuts loops: the switch at which one closes has no parent.
fn cut_loops(parent: &mut [u32]) {
    let mut seen = vec![NONE; parent.len()];
    for start in 0..parent.len() as u32 {
        let mut at = start;
        while seen[at as usize] == NONE {
            seen[at as usize] = start;
            match parent[at as usize] {
                NONE => break,
                above if seen[above as usize] == start => parent[at as usize] = NONE,
                above => at = above,
            }
        }
    }
}

/// Sorts, leaves out what has no hosts, and numbers depth first.
fn assemble(topology: &Topology, mut groups: Groups) -> Tree {
    cut_loops(&mut groups.parent);
    // topograph sorts as bytes, and its files are compared with ours.
    let as_bytes = topology.form == "topograph";
    let key = |row: u32| {
        let name = topology.list.devices()[row as usize].name.as_str();
        (if as_bytes { Vec::new() } else { natural(name) }, name)
    };
    let sort = |rows: &mut Vec<u32>| rows.sort_by_cached_key(|&row| key(row));
    let count = groups.members.len();
    groups.members.iter_mut().for_each(sort);
    groups.hosts.iter_mut().for_each(sort);
    sort(&mut groups.loose);
    let mut tier: Vec<u32> = groups.hosts.iter().map(|hosts| u32::from(!hosts.is_empty())).collect();
    let mut children = vec![Vec::new(); count];
    let mut roots = Vec::new();
    for (group, &parent) in (0..).zip(&groups.parent) {
        if parent == NONE { roots.push(group) } else { children[parent as usize].push(group) }
    }
    let down = order_from(&roots, &children);
    for &group in down.iter().rev() {
        let highest =
            children[group as usize].iter().map(|&child: &u32| tier[child as usize]).max().unwrap_or(0);
        if highest > 0 {
            tier[group as usize] = highest + 1;
        }
    }
    let first = |group: &u32| key(groups.members[*group as usize][0]);
    let kept = |of: &mut Vec<u32>| {
        of.retain(|&group| tier[group as usize] > 0);
        of.sort_by_cached_key(first);
    };
    kept(&mut roots);
    children.iter_mut().for_each(kept);
    let down = order_from(&roots, &children);
    let mut place = vec![NONE; count];
    for (at, &group) in (0..).zip(&down) {
        place[group as usize] = at;
    }
    let switches = down.iter().map(|&group| {
        let row = group as usize;
        TreeSwitch {
            name: topology.list.devices()[groups.members[row][0] as usize].name.clone(),
            members: std::mem::take(&mut groups.members[row]),
            tier: tier[row],
            parent: Some(groups.parent[row])
                .filter(|&parent| parent != NONE)
                .map(|parent| place[parent as usize]),
            switches: children[row].iter().map(|&child| place[child as usize]).collect(),
            hosts: std::mem::take(&mut groups.hosts[row]),
        }
    });
    let switches = switches.collect();
    Tree { switches, roots: roots.iter().map(|&root| place[root as usize]).collect(), loose: groups.loose }
}

/// Depth first, each behind its parent.
fn order_from(roots: &[u32], children: &[Vec<u32>]) -> Vec<u32> {
    let mut order = Vec::new();
    let mut stack: Vec<u32> = roots.iter().rev().copied().collect();
    while let Some(group) = stack.pop() {
        order.push(group);
        stack.extend(children[group as usize].iter().rev());
    }
    order
}

//! Patterns as the replay needs them: communicators with their ranks, and the edges of their messages.
use std::collections::BTreeMap;

use railtwin_engine::{Case, EdgeRates};
use railtwin_workload::{Axis, Collective, HostLayout, Member, Pattern};

use crate::waits::from_leaves;

/// What the two ends of an edge wait for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Role {
    /// A hop of a ring; the position that it leads to.
    Ring { target: u32 },
    /// Towards the root of a tree.
    Up { child: u32, parent: u32 },
    /// Away from it.
    Down,
    /// From one rank to another, whatever others do.
    Pair { source: u32, target: u32 },
    /// From all ranks of a host, which are one node, to one.
    Relayed { node: u32, target: u32 },
}

/// The queue pairs of one network edge of one bundle.
#[derive(Clone, Debug)]
pub(crate) struct EdgePlace {
    /// First message, counted within the pattern; the next edge's first ends them.
    pub(crate) first: u32,
    pub(crate) role: Role,
    /// Ranks of the job whose NICs send and receive.
    pub(crate) source: u32,
    pub(crate) target: u32,
}

/// One bundle with network edges.
#[derive(Clone, Debug)]
pub(crate) struct BundlePlace {
    /// Bundle in the table of rates.
    pub(crate) row: u32,
    pub(crate) group: u32,
    pub(crate) stages: u32,
    /// In [`PatternPlace::edges`].
    pub(crate) edges: std::ops::Range<u32>,
    /// In [`PatternPlace::node_start`].
    pub(crate) nodes: std::ops::Range<u32>,
    /// In [`PatternPlace::tree`].
    pub(crate) tree: std::ops::Range<u32>,
}

/// A pattern.
#[derive(Clone, Debug)]
pub(crate) struct PatternPlace {
    pub(crate) axis: Axis,
    pub(crate) collective: Collective,
    /// CSR: ranks of group `g` are `members[group_start[g]..group_start[g + 1]]`.
    pub(crate) group_start: Vec<u32>,
    /// Ranks of the job.
    pub(crate) members: Vec<u32>,
    /// Communicator of each group in the directory.
    pub(crate) communicator: Vec<u32>,
    /// Every member ends when it has what it needs, not when all have.
    pub(crate) own_ends: bool,
    pub(crate) bundles: Vec<BundlePlace>,
    pub(crate) edges: Vec<EdgePlace>,
    /// CSR: ranks of node `n` are `node_ranks[node_start[n]..node_start[n + 1]]`.
    pub(crate) node_start: Vec<u32>,
    pub(crate) node_ranks: Vec<u32>,
    /// Child and parent of trees.
    pub(crate) tree: Vec<(u32, u32)>,
    /// First row of the pattern in the table of rates.
    pub(crate) first_row: u32,
    /// Messages of one operation.
    pub(crate) messages: u32,
}

impl PatternPlace {
    /// Ranks of a group.
    pub(crate) fn group(&self, group: usize) -> &[u32] {
        &self.members[self.group_start[group] as usize..self.group_start[group + 1] as usize]
    }

    /// Ranks of a node.
    pub(crate) fn node(&self, node: usize) -> &[u32] {
        &self.node_ranks[self.node_start[node] as usize..self.node_start[node + 1] as usize]
    }

    /// Whether groups are the pairs of a send.
    pub(crate) fn is_pairs(&self) -> bool {
        self.collective == Collective::SendReceive
    }

    /// Messages of an edge.
    pub(crate) fn messages_of(&self, edge: usize) -> std::ops::Range<usize> {
        let end = self.edges.get(edge + 1).map_or(self.messages, |next| next.first);
        self.edges[edge].first as usize..end as usize
    }
}

/// The ranks of a pattern's groups: communicators, or the pairs of a send.
pub(crate) fn groups(pattern: &Pattern) -> Vec<Vec<u32>> {
    if pattern.collective != Collective::SendReceive {
        return pattern.communicators.clone();
    }
    let pairs = pattern.communicators.iter().flat_map(|ranks| ranks.chunks_exact(2));
    pairs.filter(|pair| pair[0] != pair[1]).map(<[u32]>::to_vec).collect()
}

/// Where the ranks of a job sit.
#[derive(Debug)]
pub(crate) struct Seats {
    /// By rank.
    pub(crate) members: Vec<Member>,
    /// First rank at a host's NIC.
    at_nic: BTreeMap<(u32, u32), u32>,
}

impl Seats {
    pub(crate) fn new(case: &Case, job: usize) -> Self {
        let places = (0..).zip(&case.placements[job]);
        let members: Vec<Member> = places
            .map(|(rank, place)| {
                let nic = case.fabric.host_model(place.host).nic_of_gpu(place.gpu);
                Member { rank, host: place.host.0, gpu: place.gpu, nic }
            })
            .collect();
        let mut at_nic = BTreeMap::new();
        for member in &members {
            at_nic.entry((member.host, member.nic)).or_insert(member.rank);
        }
        Self { members, at_nic }
    }

    /// The rank whose NIC it is, one of a group if it can be.
    fn owner(&self, group: &[Member], at: (u32, u32)) -> u32 {
        let own = group.iter().find(|member| (member.host, member.nic) == at).map(|member| member.rank);
        let found = own.or_else(|| self.at_nic.get(&at).copied());
        found.unwrap_or_else(|| group.iter().find(|m| m.host == at.0).unwrap_or(&group[0]).rank)
    }
}

/// What the bundles of one group share.
struct GroupView {
    members: Vec<Member>,
    hosts: Vec<Vec<Member>>,
    /// Row in `hosts`.
    host_row: BTreeMap<u32, u32>,
    /// Owner by host and NIC, for groups of many members.
    owner: BTreeMap<(u32, u32), u32>,
}

/// Lays out a pattern of a job; `pattern_row` counts over the case.
pub(crate) fn place(
    seats: &Seats,
    pattern: &Pattern,
    pattern_row: usize,
    rates: &EdgeRates,
    communicator: Vec<u32>,
    layout: &HostLayout,
) -> PatternPlace {
    let groups = groups(pattern);
    let pairs = pattern.collective == Collective::SendReceive;
    let rows = rates.bundles_of(pattern_row);
    let first_row = rates.row_start[rows.start];
    let mut group_start = vec![0];
    for group in &groups {
        group_start.push(group_start[group_start.len() - 1] + group.len() as u32);
    }
    let mut out = PatternPlace {
        axis: pattern.axis,
        collective: pattern.collective,
        group_start,
        members: groups.concat(),
        communicator,
        own_ends: false,
        bundles: Vec::new(),
        edges: Vec::new(),
        node_start: vec![0],
        node_ranks: Vec::new(),
        tree: Vec::new(),
        first_row,
        messages: rates.row_start[rows.end] - first_row,
    };
    let mut view: Option<(usize, GroupView)> = None;
    for bundle in rows {
        let group = if pairs { rates.channel[bundle] } else { rates.communicator[bundle] } as usize;
        if rates.rows_of(bundle).is_empty() {
            continue;
        }
        if view.as_ref().is_none_or(|(of, _)| *of != group) {
            view = Some((group, GroupView::new(seats, &groups[group])));
        }
        let Some((_, view)) = &view else { continue };
        let (first_edge, first_node) = (out.edges.len() as u32, out.node_start.len() as u32 - 1);
        let first_tree = out.tree.len() as u32;
        let mut stages = rates.stages[bundle].max(1);
        match rates.ring_hops[bundle] {
            // Messages of their own, but nobody ends before the last step, which waits for all.
            0 if rates.aggregated[bundle] => {
                stages = 1;
                out.direct_edges(seats, view, rates, bundle, None);
            }
            0 if stages > 1 => out.tree_edges(seats, view, rates, bundle),
            0 => {
                out.own_ends = true;
                out.direct_edges(seats, view, rates, bundle, (!pairs).then_some(layout));
            }
            hops => out.ring_edges(seats, view, rates, bundle, hops),
        }
        out.bundles.push(BundlePlace {
            row: bundle as u32,
            group: group as u32,
            stages,
            edges: first_edge..out.edges.len() as u32,
            nodes: first_node..out.node_start.len() as u32 - 1,
            tree: first_tree..out.tree.len() as u32,
        });
    }
    out
}

impl GroupView {
    fn new(seats: &Seats, ranks: &[u32]) -> Self {
        let members: Vec<Member> = ranks.iter().map(|&rank| seats.members[rank as usize]).collect();
        let hosts = railtwin_workload::shape::by_host(&members);
        let host_row = (0..).zip(&hosts).map(|(row, host)| (host[0].host, row)).collect();
        let mut owner = BTreeMap::new();
        for member in &members {
            owner.entry((member.host, member.nic)).or_insert(member.rank);
        }
        Self { members, hosts, host_row, owner }
    }

    fn owner(&self, seats: &Seats, at: (u32, u32)) -> u32 {
        self.owner.get(&at).copied().unwrap_or_else(|| seats.owner(&self.members, at))
    }
}

/// First rows of the edges of a bundle, with the edge's number in it.
fn edges_of(rates: &EdgeRates, bundle: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
    let rows = rates.rows_of(bundle);
    let start = rows.start;
    rows.filter(move |&row| row == start || rates.edge[row] != rates.edge[row - 1])
        .map(|row| (row, rates.edge[row]))
}

impl PatternPlace {
    fn push_node(&mut self, ranks: impl IntoIterator<Item = u32>) {
        self.node_ranks.extend(ranks);
        self.node_start.push(self.node_ranks.len() as u32);
    }

    fn push_edge(&mut self, seats: &Seats, view: &GroupView, rates: &EdgeRates, row: usize, role: Role) {
        let source = view.owner(seats, rates.source[row]);
        let target = view.owner(seats, rates.target[row]);
        self.edges.push(EdgePlace { first: row as u32 - self.first_row, role, source, target });
    }

    /// Rings through ranks, as [`railtwin_workload::ring`] lays them, or through hosts, as
    /// [`railtwin_workload::nvls`] does.
    fn ring_edges(&mut self, seats: &Seats, view: &GroupView, rates: &EdgeRates, bundle: usize, hops: u32) {
        let hosts = &view.hosts;
        // Position that each edge of the bundle leads to.
        let mut target = Vec::new();
        if hops as usize == hosts.len() && hosts.len() < view.members.len() {
            for (row, host) in (0_u32..).zip(hosts) {
                self.push_node(host.iter().map(|member| member.rank));
                // Edges into the NVSwitch, then the one that leaves.
                target.resize(target.len() + host.len() + 1, (row + 1) % hops);
            }
        } else if hosts.len() == 1 {
            view.members.iter().for_each(|member| self.push_node([member.rank]));
            target.extend((0..hops).map(|position| (position + 1) % hops));
        } else {
            let channel = rates.channel[bundle] as usize;
            let mut base = 0_u32;
            for host in hosts {
                let count = host.len();
                (0..count).for_each(|step| self.push_node([host[(channel + step) % count].rank]));
                if count > 1 {
                    target.extend((1..=count as u32).map(|step| (base + step) % hops));
                }
                base += count as u32;
                target.push(base % hops);
            }
        }
        for (row, edge) in edges_of(rates, bundle) {
            let target = target.get(edge as usize).copied().unwrap_or(0);
            self.push_edge(seats, view, rates, row, Role::Ring { target });
        }
    }

    /// Trees among hosts: of the edges that leave a host every other leads towards the root.
    fn tree_edges(&mut self, seats: &Seats, view: &GroupView, rates: &EdgeRates, bundle: usize) {
        for host in &view.hosts {
            self.push_node(host.iter().map(|member| member.rank));
        }
        let first_tree = self.tree.len();
        let mut crossings = 0;
        for (row, _) in edges_of(rates, bundle) {
            let (source, target) = (rates.source[row], rates.target[row]);
            let role = if source.0 == target.0 {
                Role::Pair { source: view.owner(seats, source), target: view.owner(seats, target) }
            } else {
                crossings += 1;
                let host = |at: (u32, u32)| view.host_row.get(&at.0).copied().unwrap_or(0);
                if crossings % 2 == 1 {
                    let (child, parent) = (host(source), host(target));
                    self.tree.push((child, parent));
                    Role::Up { child, parent }
                } else {
                    Role::Down
                }
            };
            self.push_edge(seats, view, rates, row, role);
        }
        let sorted = from_leaves(&self.tree[first_tree..], view.hosts.len());
        self.tree.splice(first_tree.., sorted);
    }

    /// Messages from rank to rank; where a host relays, from all its ranks over one NIC. Sends have no `layout`: a relay
    /// of theirs carries one rank's messages.
    fn direct_edges(
        &mut self,
        seats: &Seats,
        view: &GroupView,
        rates: &EdgeRates,
        bundle: usize,
        layout: Option<&HostLayout>,
    ) {
        let layout = layout.filter(|layout| layout.pxn && layout.nvlink);
        let relays = |host: u32, nic: u32| layout.is_some_and(|layout| layout.relay(host, nic).is_some());
        let pair = view.members.len() == 2 && layout.is_none();
        for (row, _) in edges_of(rates, bundle) {
            let (source, target) = (rates.source[row], rates.target[row]);
            let target_rank = view.owner(seats, target);
            let host = view.host_row.get(&source.0).map(|&row| &view.hosts[row as usize]);
            let role = match host {
                Some(host) if source.0 != target.0 && relays(source.0, target.1) => {
                    self.push_node(host.iter().map(|member| member.rank));
                    Role::Relayed { node: self.node_start.len() as u32 - 2, target: target_rank }
                }
                _ if pair => {
                    // Each of the two may send.
                    let first = (view.members[0].host, view.members[0].nic) == source;
                    let [from, to] = if first { [0, 1] } else { [1, 0] };
                    Role::Pair { source: view.members[from].rank, target: view.members[to].rank }
                }
                _ => Role::Pair { source: view.owner(seats, source), target: target_rank },
            };
            self.push_edge(seats, view, rates, row, role);
        }
    }
}

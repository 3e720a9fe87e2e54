//! How many bundles and edges a collective has, counted without laying it out: what it costs before it is paid.
use std::ops::AddAssign;

use crate::collective::{Algorithm, Collective};
use crate::experts::{Experts, forward, without_relays};
use crate::shape::{HostLayout, Member, Shape, by_host, message};
use crate::{Edge, chain_tree, direct, nvls, nvls_tree, pat, ring};

/// Rows of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Bundles.
    pub bundles: u64,
    /// Edges of all bundles.
    pub edges: u64,
    /// Edges between NICs among them.
    pub crossings: u64,
    /// Edges through an NVSwitch among them.
    pub in_switch: u64,
    /// Pairs of sending and receiving NIC that the edges between NICs name: exact for a direct exchange, elsewhere
    /// each edge counts as one, so that several between the same NICs count too often.
    pub connections: u64,
}

impl AddAssign for Extent {
    fn add_assign(&mut self, other: Self) {
        self.bundles += other.bundles;
        self.edges += other.edges;
        self.crossings += other.crossings;
        self.in_switch += other.in_switch;
        self.connections += other.connections;
    }
}

/// The shape of a collective over one communicator: of sends, senders and receivers alternate in `members`.
pub fn shape_of(
    collective: Collective,
    algorithm: Algorithm,
    members: &[Member],
    layout: &HostLayout,
) -> Shape {
    match (collective, algorithm) {
        (Collective::SendReceive, _) => direct::pairs(members, layout),
        (kind, Algorithm::Ring) => ring::ring(kind, members, layout),
        (_, Algorithm::Tree) => chain_tree::chain_tree(members, layout),
        (_, Algorithm::Nvls) => nvls::nvls(members, layout),
        (_, Algorithm::NvlsRing) => nvls::nvls_ring(members, layout),
        (_, Algorithm::NvlsTree) => nvls_tree::nvls_tree(members, layout),
        (kind, Algorithm::Pat) => pat::pat(kind, members, layout),
        (kind, Algorithm::Direct) if kind.is_of_experts() => {
            direct::direct(kind, members, &without_relays(layout))
        }
        (kind, Algorithm::Direct) => direct::direct(kind, members, layout),
        (kind, Algorithm::Forward) => forward(kind, members, layout, ONE_EXPERT),
    }
}

/// An expert for each token: what [`forward`] takes where only its edges count.
const ONE_EXPERT: Experts = Experts { total: 1, top_k: 1, most_hosts: None };

/// What [`shape_of`] would have, over members of different ranks. Work: members times NICs of a host.
pub fn extent_of(
    collective: Collective,
    algorithm: Algorithm,
    members: &[Member],
    layout: &HostLayout,
) -> Extent {
    if collective == Collective::SendReceive {
        return of_pairs(members, layout);
    }
    if members.len() < 2 {
        return Extent::default();
    }
    let hosts = by_host(members);
    match algorithm {
        Algorithm::Ring => of_ring(&hosts, layout),
        Algorithm::Tree => of_chain_tree(&hosts, layout),
        Algorithm::Nvls if hosts.len() > 1 => of_ring(&hosts, layout),
        Algorithm::Nvls | Algorithm::NvlsRing | Algorithm::NvlsTree if !reduces_in_switch(&hosts, layout) => {
            of_ring(&hosts, layout)
        }
        Algorithm::Nvls | Algorithm::NvlsRing => of_nvls_ring(&hosts),
        Algorithm::NvlsTree => of_nvls_tree(&hosts),
        Algorithm::Pat if hosts.len() < members.len() => of_ring(&hosts, layout),
        Algorithm::Pat => {
            let edges = hosts.len() as u64 * u64::from(pat::steps(hosts.len() as u32));
            Extent { bundles: 1, edges, crossings: edges, connections: edges, in_switch: 0 }
        }
        Algorithm::Forward if layout.nvlink => of_forward(&hosts),
        Algorithm::Direct | Algorithm::Forward if collective.is_of_experts() => {
            of_direct(&hosts, &without_relays(layout))
        }
        Algorithm::Direct | Algorithm::Forward => of_direct(&hosts, layout),
    }
}

fn of_pairs(members: &[Member], layout: &HostLayout) -> Extent {
    let mut all = Extent::default();
    for pair in members.chunks_exact(2).filter(|pair| pair[0].rank != pair[1].rank) {
        let edges = message(layout, pair[0], pair[1], 1.0);
        let crosses = edges.iter().filter(|edge| matches!(edge, Edge::Network { .. })).count() as u64;
        all += Extent {
            bundles: 1,
            edges: edges.len() as u64,
            crossings: crosses,
            connections: crosses,
            in_switch: 0,
        };
    }
    all
}

/// Edges inside hosts cross NICs where there is no NVLink.
fn crossing_inside(inside: u64, layout: &HostLayout) -> u64 {
    if layout.joins_gpus() { 0 } else { inside }
}

fn sizes(hosts: &[Vec<Member>]) -> impl Iterator<Item = u64> {
    hosts.iter().map(|host| host.len() as u64)
}

fn of_ring(hosts: &[Vec<Member>], layout: &HostLayout) -> Extent {
    let rounds: u64 = sizes(hosts).filter(|&size| size > 1).sum();
    let (channels, between) = match hosts.len() {
        1 => (1, 0),
        count => (sizes(hosts).min().unwrap_or(1), count as u64),
    };
    let crossings = channels * (between + crossing_inside(rounds, layout));
    let edges = channels * (between + rounds);
    Extent { bundles: channels, edges, crossings, connections: crossings, in_switch: 0 }
}

fn of_chain_tree(hosts: &[Vec<Member>], layout: &HostLayout) -> Extent {
    let chains: u64 = sizes(hosts).map(|size| 2 * (size - 1)).sum();
    let (trees, between) = if hosts.len() == 1 { (1, 0) } else { (2, 2 * (hosts.len() as u64 - 1)) };
    let bundles = trees * sizes(hosts).min().unwrap_or(1);
    let crossings = bundles * (between + crossing_inside(chains, layout));
    Extent { bundles, edges: bundles * (between + chains), crossings, connections: crossings, in_switch: 0 }
}

/// Whether NVSwitches reduce, or NCCL falls back to rings.
fn reduces_in_switch(hosts: &[Vec<Member>], layout: &HostLayout) -> bool {
    let local = hosts[0].len();
    layout.nvlink && local > 1 && hosts.iter().all(|host| host.len() == local)
}

fn of_nvls_ring(hosts: &[Vec<Member>]) -> Extent {
    let (local, count) = (hosts[0].len() as u64, hosts.len() as u64);
    let (bundles, between) = if count == 1 { (1, 0) } else { (local, count) };
    let crossings = bundles * between;
    let in_switch = bundles * count * local;
    Extent { bundles, edges: crossings + in_switch, crossings, connections: crossings, in_switch }
}

fn of_nvls_tree(hosts: &[Vec<Member>]) -> Extent {
    let (local, count) = (hosts[0].len() as u64, hosts.len() as u64);
    let (bundles, between) = if count == 1 { (1, 0) } else { (2 * local, 2 * (count - 1)) };
    let crossings = bundles * between;
    let in_switch = bundles * count * local;
    Extent { bundles, edges: crossings + in_switch, crossings, connections: crossings, in_switch }
}

fn of_forward(hosts: &[Vec<Member>]) -> Extent {
    let inside: u64 = sizes(hosts).map(|size| size * (size - 1)).sum();
    let mut all = Extent {
        bundles: sizes(hosts).filter(|&size| size > 1).count() as u64,
        edges: inside,
        ..Extent::default()
    };
    let total: u64 = sizes(hosts).sum();
    for size in sizes(hosts) {
        // Every rank of another host reaches this one by one edge, and its other ranks from there.
        let from = total - size;
        all += Extent { bundles: from, edges: from * size, crossings: from, connections: from, in_switch: 0 };
    }
    all
}

fn of_direct(hosts: &[Vec<Member>], layout: &HostLayout) -> Extent {
    let total: u64 = sizes(hosts).sum();
    let same: u64 = sizes(hosts).map(|size| size * size).sum();
    let inside = same - total;
    let mut all = Extent {
        bundles: sizes(hosts).filter(|&size| size > 1).count() as u64,
        edges: inside,
        crossings: crossing_inside(inside, layout),
        connections: if layout.joins_gpus() { 0 } else { hosts.iter().map(|host| pairs_inside(host)).sum() },
        in_switch: 0,
    };
    if !(layout.pxn && layout.nvlink) {
        let pairs = total * total - same;
        let nics: Vec<u64> = hosts.iter().map(|host| nics_of(host).len() as u64).collect();
        let of_all: u64 = nics.iter().sum();
        let connections = of_all * of_all - nics.iter().map(|count| count * count).sum::<u64>();
        all += Extent { bundles: pairs, edges: pairs, crossings: pairs, connections, in_switch: 0 };
        return all;
    }
    // One bundle for each sending host and rank of another: relays of that rank's rail, and one edge between hosts.
    let rails = layout.gpu_of_nic.len();
    let (mut ranks, mut with) = (vec![0_u64; rails], vec![0_u64; rails]);
    for host in hosts {
        host.iter().for_each(|member| ranks[member.nic as usize] += 1);
        nics_of(host).into_iter().for_each(|nic| with[nic as usize] += 1);
    }
    for host in hosts {
        for nic in 0..rails as u32 {
            let own = host.iter().filter(|member| member.nic == nic).count() as u64;
            let targets = ranks[nic as usize] - own;
            let others = with[nic as usize] - u64::from(own > 0);
            let Some(relay) = layout.relay(host[0].host, nic) else {
                // A rail on which the job holds no GPU of this host: every rank sends for itself.
                let pairs = targets * host.len() as u64;
                let connections = others * nics_of(host).len() as u64;
                all += Extent { bundles: pairs, edges: pairs, crossings: pairs, connections, in_switch: 0 };
                continue;
            };
            let relayed = host.iter().filter(|member| member.gpu != relay).count() as u64;
            all += Extent {
                bundles: targets,
                edges: targets * (relayed + 1),
                crossings: targets,
                connections: others,
                in_switch: 0,
            };
        }
    }
    all
}

/// The NICs of the members of a host, each once.
fn nics_of(host: &[Member]) -> Vec<u32> {
    let mut nics: Vec<u32> = host.iter().map(|member| member.nic).collect();
    nics.sort_unstable();
    nics.dedup();
    nics
}

/// Pairs of NICs between which ranks of a host without NVLink send.
fn pairs_inside(host: &[Member]) -> u64 {
    let pairs = host.iter().flat_map(|a| host.iter().map(move |b| (a, b)));
    let apart = pairs.filter(|(a, b)| a.rank != b.rank).map(|(a, b)| (a.nic, b.nic));
    apart.collect::<std::collections::BTreeSet<_>>().len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Members on hosts that hold different numbers of ranks, in an order of their own, with two GPUs for a NIC where
    /// there are fewer NICs.
    fn members(held: &[u32], gpus_of_nic: u32, turn: usize) -> Vec<Member> {
        let places = (0..).zip(held).flat_map(|(host, &count)| (0..count).map(move |gpu| (host, gpu)));
        let mut places: Vec<(u32, u32)> = places.collect();
        let count = places.len().max(1);
        places.rotate_left(turn % count);
        let member = |(rank, (host, gpu))| Member { rank, host, gpu, nic: gpu / gpus_of_nic };
        (0..).zip(places).map(member).collect()
    }

    fn counted(shape: &Shape) -> Extent {
        let mut ends = BTreeSet::new();
        let mut all = Extent {
            bundles: shape.bundles.len() as u64,
            edges: shape.edges.len() as u64,
            ..Extent::default()
        };
        for edge in &shape.edges {
            match *edge {
                Edge::Network { source_host, source_nic, target_host, target_nic, .. } => {
                    all.crossings += 1;
                    ends.insert((source_host, source_nic, target_host, target_nic));
                }
                Edge::InSwitch { .. } => all.in_switch += 1,
                Edge::Inside { .. } => {}
            }
        }
        all.connections = ends.len() as u64;
        all
    }

    proptest! {
        #[test]
        fn what_is_counted_is_what_is_laid_out(
            held in proptest::collection::vec(1_u32..9, 1..7),
            even: bool,
            gpus_of_nic in 1_u32..3,
            nvlink: bool,
            pxn: bool,
            alone: bool,
            turn: usize,
        ) {
            let held = if even { vec![held[0]; held.len()] } else { held };
            let members = members(&held, gpus_of_nic, turn);
            let gpu_of_nic = (0..8_u32.div_ceil(gpus_of_nic)).map(|nic| nic * gpus_of_nic).collect();
            // The job holds the GPUs that `members` names, or all.
            let mut layout = HostLayout::new(gpu_of_nic, nvlink, pxn);
            if alone {
                let holds = |host, gpu| members.iter().any(|m| (m.host, m.gpu) == (host, gpu));
                let nics = 0..layout.gpu_of_nic.len() as u32;
                let hosts = 0..held.len() as u32;
                for (host, nic) in hosts.flat_map(|host| nics.clone().map(move |nic| (host, nic))) {
                    let first = layout.gpu_of_nic[nic as usize];
                    if !holds(host, first) {
                        let other = (first..first + gpus_of_nic).find(|&gpu| holds(host, gpu));
                        layout.not_own.insert((host, nic), other);
                    }
                }
            }
            let ways = [
                (Collective::AllReduce, Algorithm::Ring),
                (Collective::AllGather, Algorithm::Ring),
                (Collective::AllReduce, Algorithm::Tree),
                (Collective::AllReduce, Algorithm::Nvls),
                (Collective::AllReduce, Algorithm::NvlsRing),
                (Collective::AllReduce, Algorithm::NvlsTree),
                (Collective::AllGather, Algorithm::Pat),
                (Collective::ReduceScatter, Algorithm::Pat),
                (Collective::AllToAll, Algorithm::Direct),
                (Collective::ExpertDispatch, Algorithm::Direct),
                (Collective::ExpertDispatch, Algorithm::Forward),
                (Collective::ExpertCombine, Algorithm::Forward),
                (Collective::SendReceive, Algorithm::Direct),
            ];
            for (collective, algorithm) in ways {
                let shape = shape_of(collective, algorithm, &members, &layout);
                let (found, told) = (counted(&shape), extent_of(collective, algorithm, &members, &layout));
                let exact = algorithm == Algorithm::Direct && collective != Collective::SendReceive;
                let connections = if exact { found.connections } else { told.connections };
                prop_assert!(found.connections <= told.connections);
                prop_assert_eq!(Extent { connections, ..found }, told, "{:?} by {:?}", collective, algorithm);
            }
        }
    }

    #[test]
    fn a_large_exchange_is_counted_at_once() {
        let members: Vec<Member> =
            (0..262_144).map(|rank| Member { rank, host: rank, gpu: 0, nic: 0 }).collect();
        let layout = HostLayout::new(vec![0], false, true);
        let told = extent_of(Collective::AllToAll, Algorithm::Direct, &members, &layout);
        assert_eq!((told.edges, told.connections), (262_144 * 262_143, 262_144 * 262_143));
        let tree = extent_of(Collective::AllReduce, Algorithm::Tree, &members, &layout);
        assert_eq!((tree.bundles, tree.crossings), (2, 4 * 262_143));
    }
}

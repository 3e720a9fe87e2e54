//! Counts of a fabric from formulas, without its graph.
use railtwin_fabric::clos::{Chip, ClosSpec, Peers, SpineGroups};
use railtwin_units::Rate;
use serde::Serialize;

use super::shape::Shape;

/// Switches of a tier and the ports of one.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TierCounts {
    /// `leaf`, `spine` or `core`.
    pub tier: &'static str,
    /// Switches.
    pub switches: u64,
    /// Ports towards active hosts or the tier below.
    pub down_ports: u32,
    /// Capacity of one.
    pub down_rate: Rate,
    /// Ports towards the tier above.
    pub up_ports: u32,
    /// Capacity of one; zero where there is none.
    pub up_rate: Rate,
    /// Ports towards switches of the same tier, as fast as those upwards.
    pub peer_ports: u32,
    /// Capacity that no cable uses, in whole ports of the switch; none where the chip is unknown.
    pub ports_left: Option<u32>,
    /// Down capacity over up capacity; none for the top tier.
    pub oversubscription: Option<f64>,
}

/// Counts of a fabric, and how its GPUs reach each other.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Counts {
    /// GPUs of active hosts.
    pub gpus: u64,
    /// Active hosts.
    pub hosts: u64,
    /// Pods.
    pub pods: u32,
    /// Segments of all pods.
    pub segments: u64,
    /// Planes.
    pub planes: u32,
    /// Leaves.
    pub leaves: u64,
    /// Spines.
    pub spines: u64,
    /// Cores.
    pub cores: u64,
    /// GPUs of a segment.
    pub gpus_per_segment: u64,
    /// GPUs of a pod.
    pub gpus_per_pod: u64,
    /// Tiers, leaf first.
    pub tiers: Vec<TierCounts>,
    /// Cables from active hosts to leaves.
    pub cables_access: u64,
    /// Cables from leaf to spine.
    pub cables_leaf_spine: u64,
    /// Cables from spine to core.
    pub cables_spine_core: u64,
    /// Cables between switches of one tier.
    pub cables_peer: u64,
    /// Share of the pairs of GPUs of different hosts that the switches join; the others need a relay inside a host.
    pub pairs_joined: f64,
    /// Switches on the shortest path of the two GPUs farthest apart.
    pub hops_worst: u32,
    /// Mean switches on the shortest path over all pairs of GPUs of different hosts that the switches join.
    pub hops_mean: f64,
    /// Switches on the longest path that choose among several ports: each is a stage of hashing.
    pub hash_stages: u32,
    /// Shortest paths from a port to the farthest place: the fan-outs of all switches on the way, multiplied
    /// (HPN table 1).
    pub path_choices: u64,
    /// Capacity of one GPU into the network.
    pub gpu_rate: Rate,
    /// Bandwidth between two halves of the GPUs in one direction: halves of whole pods, in one pod of whole leaf sets;
    /// of hosts where nothing joins leaf sets.
    pub bisection: Rate,
}

impl Counts {
    /// Counts a fabric. Storage that stands in place of hosts is counted as hosts.
    pub fn of(spec: &ClosSpec) -> Self {
        let shape = Shape::of(spec);
        let gpus_per_host = u64::from(spec.host.gpus);
        let Hops { worst: hops_worst, mean: hops_mean, joined: pairs_joined } = hops(&shape);
        let leaf_spine = shape.leaves() * u64::from(shape.leaf_up());
        let spine_core = if shape.has_cores { shape.spines() * u64::from(spec.spine_up) } else { 0 };
        Self {
            gpus: shape.gpus(),
            hosts: shape.hosts(),
            pods: spec.pods,
            segments: u64::from(spec.pods) * u64::from(spec.segments),
            planes: if spec.spines == 0 { 1 } else { shape.groups },
            leaves: shape.leaves(),
            spines: shape.spines(),
            cores: shape.cores(),
            gpus_per_segment: u64::from(spec.hosts) * gpus_per_host,
            gpus_per_pod: shape.hosts_per_pod() * gpus_per_host,
            tiers: tiers(&shape),
            cables_access: shape.hosts() * u64::from(spec.host.nics * spec.host.nic.ports),
            cables_leaf_spine: leaf_spine,
            cables_spine_core: spine_core,
            cables_peer: shape.peer_cables(),
            pairs_joined,
            hops_worst,
            hops_mean,
            hash_stages: fan_outs(&shape).into_iter().filter(|&choices| choices > 1).count() as u32,
            path_choices: fan_outs(&shape).into_iter().map(u64::from).product(),
            gpu_rate: Rate::from_bits_per_s(spec.host.backend_capacity().bits_per_s() / gpus_per_host.max(1)),
            bisection: Rate::from_bits_per_s(crate::loss::bisection(&shape) as u64),
        }
    }

    /// Switches of all tiers.
    pub const fn switches(&self) -> u64 {
        self.leaves + self.spines + self.cores
    }

    /// Cables of all classes.
    pub const fn cables(&self) -> u64 {
        self.cables_access + self.cables_leaf_spine + self.cables_spine_core + self.cables_peer
    }

    /// Bisection over half of what all GPUs can send; 1 is full bisection.
    pub fn bisection_share(&self) -> f64 {
        let half = self.gpu_rate.bits_per_s() as f64 * self.gpus as f64 / 2.0;
        if half > 0.0 { self.bisection.bits_per_s() as f64 / half } else { 0.0 }
    }
}

fn tiers(shape: &Shape<'_>) -> Vec<TierCounts> {
    let spec = shape.spec;
    let access = spec.host.nic.port_capacity;
    let tier = |tier, switches, (down_ports, down_rate), (up_ports, up_rate), (spare, peer_ports)| {
        let used = |ports: u32, rate: Rate| u128::from(ports) * u128::from(rate.bits_per_s());
        let (down, up) = (used(down_ports, down_rate), used(up_ports, up_rate));
        // A port of the switch is as fast as its fastest cable.
        let port = if up_ports + peer_ports > 0 { down_rate.max(up_rate) } else { down_rate };
        let left = match spec.chip {
            Chip::Of(chip) => {
                let idle = used(spare, down_rate) + used(peer_ports, up_rate);
                let left = u128::from(chip.bits_per_s()).saturating_sub(down + up + idle);
                Some((left / u128::from(port.bits_per_s().max(1))) as u32)
            }
            Chip::Largest | Chip::Unchecked => None,
        };
        TierCounts {
            tier,
            switches,
            down_ports,
            down_rate,
            up_ports,
            up_rate: if up_ports > 0 { up_rate } else { Rate::ZERO },
            peer_ports,
            ports_left: left,
            oversubscription: (up > 0).then(|| down as f64 / up as f64),
        }
    };
    let [leaf_peers, spine_peers] = shape.peer_ports();
    let spare = spec.spare_hosts * shape.ports_per_host;
    let mut all = vec![tier(
        "leaf",
        shape.leaves(),
        (shape.leaf_down(), access),
        (shape.leaf_up(), spec.uplink),
        (spare, leaf_peers),
    )];
    if spec.spines > 0 {
        let down = shape.leaves_under_spine() * spec.parallel;
        let up = (spec.spine_up, spec.core_link);
        all.push(tier("spine", shape.spines(), (down, spec.uplink), up, (0, spine_peers)));
    }
    if shape.has_cores {
        let down = spec.pods * shape.core_to_pod();
        all.push(tier("core", shape.cores(), (down, spec.core_link), (0, spec.core_link), (0, 0)));
    }
    all
}

/// Switches on shortest paths over pairs of GPUs of different hosts.
struct Hops {
    worst: u32,
    mean: f64,
    /// Share of the pairs that the switches join.
    joined: f64,
}

fn hops(shape: &Shape<'_>) -> Hops {
    let spec = shape.spec;
    let gpus = f64::from(spec.host.gpus);
    let (all, direct) = (gpus * gpus, shape.pairs_of_a_leaf_set() as f64);
    let (pods, segments, hosts) = (f64::from(spec.pods), f64::from(spec.segments), f64::from(spec.hosts));
    let in_segment = pods * segments * hosts * (hosts - 1.0);
    let in_pod = pods * segments * (segments - 1.0) * hosts * hosts;
    let beyond = pods * (pods - 1.0) * (segments * hosts) * (segments * hosts);
    // A rail-only tier 2 joins leaf sets with themselves alone.
    let joined = if spec.groups == SpineGroups::PerLeaf { direct } else { all };
    let (above, across) = match spec.spines {
        0 => (direct, 0.0),
        _ => (joined, joined),
    };
    let classes = match spec.peers {
        // Any leaf is one cable away.
        Peers::Leaves(_) => {
            [(1, in_segment * direct), (2, in_segment * (all - direct) + (in_pod + beyond) * all), (3, 0.0)]
        }
        peers => {
            let (switches, pairs) = match peers {
                Peers::Spines(_) => (4, beyond * across),
                _ => (5, if shape.has_cores { beyond * across } else { 0.0 }),
            };
            [
                (1, in_segment * direct),
                (3, in_segment * (above - direct) + in_pod * across),
                (switches, pairs),
            ]
        }
    };
    let pairs: f64 = classes.iter().map(|(_, pairs)| pairs).sum();
    let worst = classes.iter().filter(|(_, pairs)| *pairs > 0.0).map(|(hops, _)| *hops).max().unwrap_or(0);
    let total: f64 = classes.iter().map(|(hops, pairs)| f64::from(*hops) * pairs).sum();
    let everyone = (in_segment + in_pod + beyond) * all;
    Hops {
        worst,
        mean: if pairs > 0.0 { total / pairs } else { 0.0 },
        joined: if everyone > 0.0 { pairs / everyone } else { 1.0 },
    }
}

/// Ways of each switch on a path to the farthest place: up from leaf and spine, down from core and spine. Of a NIC's
/// leaves any will do; the last leaf's cables to the NIC are not counted.
fn fan_outs(shape: &Shape<'_>) -> Vec<u32> {
    let spec = shape.spec;
    let of_nic = if spec.groups == SpineGroups::Single { spec.tors } else { 1 };
    let down = spec.parallel * of_nic;
    match spec.peers {
        Peers::Leaves(cables) if u64::from(spec.tors) < shape.leaves() => vec![cables * of_nic],
        Peers::Spines(cables) if spec.pods > 1 => vec![shape.leaf_up(), cables, down],
        _ if shape.has_cores && spec.spines > 0 => {
            vec![shape.leaf_up(), spec.spine_up, shape.core_to_pod(), down]
        }
        _ if shape.crosses_spines() => vec![shape.leaf_up(), down],
        _ => Vec::new(),
    }
}

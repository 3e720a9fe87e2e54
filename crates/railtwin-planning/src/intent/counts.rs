//! Counts of a fabric from formulas, without its graph.
use railtwin_fabric::clos::{Chip, ClosSpec, SpineGroups};
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
    /// Switches on the shortest path of the two GPUs farthest apart.
    pub hops_worst: u32,
    /// Mean switches on the shortest path over all pairs of GPUs of different hosts.
    pub hops_mean: f64,
    /// Switches on the longest path that choose among several ports: each is a stage of hashing.
    pub hash_stages: u32,
    /// Choices of a path from a port to another segment (HPN table 1).
    pub path_choices: u32,
    /// Capacity of one GPU into the network.
    pub gpu_rate: Rate,
    /// Bandwidth between two halves of the GPUs in one direction: halves of whole pods, in one pod of whole leaf sets.
    pub bisection: Rate,
}

impl Counts {
    /// Counts a fabric. Storage that stands in place of hosts is counted as hosts.
    pub fn of(spec: &ClosSpec) -> Self {
        let shape = Shape::of(spec);
        let gpus_per_host = u64::from(spec.host.gpus);
        let (hops_worst, hops_mean) = hops(&shape);
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
            hops_worst,
            hops_mean,
            hash_stages: hash_stages(&shape),
            path_choices: path_choices(&shape),
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
        self.cables_access + self.cables_leaf_spine + self.cables_spine_core
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
    let tier = |tier, switches, (down_ports, down_rate), (up_ports, up_rate), spare: u32| {
        let used = |ports: u32, rate: Rate| u128::from(ports) * u128::from(rate.bits_per_s());
        let (down, up) = (used(down_ports, down_rate), used(up_ports, up_rate));
        // A port of the switch is as fast as its fastest cable.
        let port = if up_ports > 0 { down_rate.max(up_rate) } else { down_rate };
        let left = match spec.chip {
            Chip::Of(chip) => {
                let left = u128::from(chip.bits_per_s()).saturating_sub(down + up + used(spare, down_rate));
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
            ports_left: left,
            oversubscription: (up > 0).then(|| down as f64 / up as f64),
        }
    };
    let spare = spec.spare_hosts * shape.ports_per_host;
    let mut all = vec![tier(
        "leaf",
        shape.leaves(),
        (shape.leaf_down(), access),
        (shape.leaf_up(), spec.uplink),
        spare,
    )];
    if spec.spines > 0 {
        let down = shape.leaves_under_spine() * spec.parallel;
        all.push(tier("spine", shape.spines(), (down, spec.uplink), (spec.spine_up, spec.core_link), 0));
    }
    if shape.has_cores {
        let down = spec.pods * shape.core_to_pod();
        all.push(tier("core", shape.cores(), (down, spec.core_link), (0, spec.core_link), 0));
    }
    all
}

/// Worst and mean switches on shortest paths, over pairs of GPUs of different hosts that the switches join.
fn hops(shape: &Shape<'_>) -> (u32, f64) {
    let spec = shape.spec;
    let gpus = f64::from(spec.host.gpus);
    let (all, direct) = (gpus * gpus, shape.pairs_of_a_leaf_set() as f64);
    let (pods, segments, hosts) = (f64::from(spec.pods), f64::from(spec.segments), f64::from(spec.hosts));
    // A rail-only tier 2 joins leaf sets with themselves alone.
    let joined = if spec.groups == SpineGroups::PerLeaf { direct } else { all };
    let above = if spec.spines > 0 { joined } else { direct };
    let in_segment = pods * segments * hosts * (hosts - 1.0);
    let in_pod = pods * segments * (segments - 1.0) * hosts * hosts;
    let beyond = pods * (pods - 1.0) * (segments * hosts) * (segments * hosts);
    let classes = [
        (1, in_segment * direct),
        (3, in_segment * (above - direct) + in_pod * joined),
        (5, if shape.has_cores { beyond * joined } else { 0.0 }),
    ];
    let pairs: f64 = classes.iter().map(|(_, pairs)| pairs).sum();
    let worst = classes.iter().filter(|(_, pairs)| *pairs > 0.0).map(|(hops, _)| *hops).max().unwrap_or(0);
    let total: f64 = classes.iter().map(|(hops, pairs)| f64::from(*hops) * pairs).sum();
    (worst, if pairs > 0.0 { total / pairs } else { 0.0 })
}

/// Ways from a spine down to the leaves of a NIC that it reaches.
fn ways_down(shape: &Shape<'_>) -> u32 {
    let spec = shape.spec;
    spec.parallel * if spec.groups == SpineGroups::Single { spec.tors } else { 1 }
}

fn hash_stages(shape: &Shape<'_>) -> u32 {
    let spec = shape.spec;
    if spec.spines == 0 {
        return 0;
    }
    let up = u32::from(shape.leaf_up() > 1) + u32::from(ways_down(shape) > 1);
    let core = u32::from(spec.spine_up > 1) + u32::from(shape.core_to_pod() > 1);
    up + if shape.has_cores { core } else { 0 }
}

fn path_choices(shape: &Shape<'_>) -> u32 {
    if shape.spec.segments < 2 { 1 } else { shape.leaf_up() * ways_down(shape) }
}

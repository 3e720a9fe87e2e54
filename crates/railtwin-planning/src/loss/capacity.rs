//! Capacities of a pod's plane with one part of it gone.
use railtwin_fabric::clos::Peers;

use crate::intent::Shape;

/// A part that is gone in one plane of one pod, seen from that pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Damage {
    None,
    Leaf,
    Spine,
    Core,
    LeafSpineCable,
    SpineCoreCable,
}

/// Bandwidth of all leaves of one plane of a pod to its cores, bit/s, while all GPUs send: the least cut between leaves
/// and cores. Leaves are alike but for one, and a cut's cost is concave in how many of the alike it keeps: the least lies
/// where it keeps all or none of them.
pub(super) fn pod_up(shape: &Shape<'_>, damage: Damage) -> f64 {
    let spec = shape.spec;
    let (access, _) = shape.leaf_capacity();
    let uplink = spec.uplink.bits_per_s() as f64;
    let link = f64::from(spec.parallel) * uplink;
    let leaves = f64::from(shape.leaves_under_spine());
    let ups = spine_ups(shape, damage);
    let odd_access = if damage == Damage::Leaf { 0.0 } else { access };
    let mut least = f64::INFINITY;
    for (kept, keeps_odd) in [(0.0, false), (leaves - 1.0, false), (0.0, true), (leaves - 1.0, true)] {
        let cut = (leaves - 1.0 - kept) * access + if keeps_odd { 0.0 } else { odd_access };
        let through = ups.iter().enumerate().map(|(spine, up)| {
            let missing =
                if damage == Damage::LeafSpineCable && spine == 0 && keeps_odd { uplink } else { 0.0 };
            let is_gone = damage == Damage::Spine && spine == 0;
            let below = if is_gone { 0.0 } else { (kept + f64::from(u8::from(keeps_odd))) * link - missing };
            below.min(*up)
        });
        least = least.min(cut + through.sum::<f64>());
    }
    least
}

/// Capacity of each spine of a plane to the cores.
fn spine_ups(shape: &Shape<'_>, damage: Damage) -> Vec<f64> {
    let spec = shape.spec;
    let rate = spec.core_link.bits_per_s() as f64;
    let of_spine = |spine: u32| {
        let lost = match damage {
            // As ClosSpec cables cores: uplink `lane` of spine `i` goes to core `(i * spine_up + lane) mod cores`.
            Damage::Core => {
                let first = u64::from(spine) * u64::from(spec.spine_up);
                let cores = u64::from(spec.cores.max(1));
                (first + u64::from(spec.spine_up)).div_ceil(cores) - first.div_ceil(cores)
            }
            Damage::SpineCoreCable if spine == 0 => 1,
            _ => 0,
        };
        (f64::from(spec.spine_up) - lost as f64) * rate
    };
    (0..spec.spines).map(of_spine).collect()
}

/// Bandwidth of a leaf to other segments, bit/s, with so many of its uplinks gone.
pub(super) fn leaf_up(shape: &Shape<'_>, gone: u32) -> f64 {
    let (access, _) = shape.leaf_capacity();
    access.min(f64::from(shape.leaf_up() - gone) * shape.spec.uplink.bits_per_s() as f64)
}

/// Bandwidth between two halves of the GPUs in one direction, bit/s: the largest flow between them. Halves are made of
/// whole pods; of whole leaf sets, those of segments or rails, where there is one pod; of hosts where nothing joins leaf
/// sets. An odd pod or leaf set of joined switches is split in the middle.
pub(crate) fn bisection(shape: &Shape<'_>) -> f64 {
    let spec = shape.spec;
    let all = if shape.has_cores {
        f64::from(spec.pods) * f64::from(shape.groups) * pod_up(shape, Damage::None)
    } else {
        match spec.peers {
            Peers::Leaves(cables) => 2.0 * over_joined_leaves(shape, cables),
            Peers::Spines(cables) if spec.pods > 1 => 2.0 * over_joined_spines(shape, cables),
            _ if shape.crosses_spines() => shape.leaves() as f64 * leaf_up(shape, 0),
            _ => shape.leaves() as f64 * shape.leaf_capacity().0,
        }
    };
    all / 2.0
}

/// Bisection of leaves that are all joined. Of a least cut only the number of leaves on the sender's side counts, and its
/// cost is concave in it: the least lies where all senders are cut off, or all cables between the halves.
fn over_joined_leaves(shape: &Shape<'_>, cables: u32) -> f64 {
    let spec = shape.spec;
    let (access, leaves) = (shape.leaf_capacity().0, shape.leaves() as f64);
    let sets = u64::from(spec.pods) * u64::from(spec.segments) * u64::from(shape.leaf_sets);
    let senders = leaves * access / 2.0;
    if sets < 2 {
        return senders;
    }
    let split = if sets.is_multiple_of(2) { 0.0 } else { f64::from(spec.tors) };
    let half = (leaves - split) / 2.0;
    let between = half * (leaves - half) * f64::from(cables) * spec.uplink.bits_per_s() as f64;
    let over_spines = if spec.spines > 0 { half * leaf_up(shape, 0) } else { 0.0 };
    senders.min(split * access / 2.0 + between + over_spines)
}

/// Bisection of pods whose spines are joined, each with those of its index: as [`over_joined_leaves`], with pods for leaves.
fn over_joined_spines(shape: &Shape<'_>, cables: u32) -> f64 {
    let spec = shape.spec;
    let pods = f64::from(spec.pods);
    let of_pod = f64::from(shape.groups) * f64::from(shape.leaves_under_spine()) * leaf_up(shape, 0);
    let split = f64::from(spec.pods % 2);
    let half = (pods - split) / 2.0;
    let bundles = half * (pods - half) * f64::from(shape.groups) * f64::from(spec.spines);
    let between = bundles * f64::from(cables) * spec.core_link.bits_per_s() as f64;
    (pods * of_pod / 2.0).min(split * of_pod / 2.0 + between)
}

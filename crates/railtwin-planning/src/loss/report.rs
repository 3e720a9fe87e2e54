//! Losses of a fabric from its shape.
use railtwin_fabric::clos::{ClosSpec, Peers, SpineGroups};

use super::capacity::{Damage, bisection, leaf_up, pod_up};
use super::{Kept, Loss, LossReport, LostPart};
use crate::intent::Shape;

/// GPUs that a lost part touches, and what is left of the bandwidth that runs through it.
struct Touched {
    /// GPUs by the share of their bandwidth that runs through the plane of the part.
    gpus: Vec<(u64, f64)>,
    /// What is left of that bandwidth: towards the leaf set, other segments, other pods.
    left: [f64; 3],
    /// Bisection that is gone, bit/s.
    gone: f64,
}

/// Pairs and GPUs that are cut off.
#[derive(Clone, Copy, Default)]
struct Cut {
    gpus: u64,
    pairs: u64,
}

pub(super) fn report(spec: &ClosSpec) -> LossReport {
    let shape = Shape::of(spec);
    let beyond = match spec.peers {
        _ if spec.groups == SpineGroups::PerLeaf && spec.spines > 0 => {
            Some("a rail-only tier 2 does not join all GPUs")
        }
        Peers::None => None,
        Peers::Leaves(_) | Peers::Spines(_) => Some("switches of one tier have cables to each other"),
    };
    if let Some(beyond) = beyond {
        let note = format!("{beyond}: what its parts take is not computed");
        return LossReport { losses: Vec::new(), notes: vec![note] };
    }
    let parts = [
        (LostPart::Leaf, shape.leaves()),
        (LostPart::Spine, shape.spines()),
        (LostPart::Core, shape.cores()),
        (LostPart::NicPort, shape.hosts() * u64::from(spec.host.nics * spec.host.nic.ports)),
        (LostPart::LeafSpineCable, shape.leaves() * u64::from(shape.leaf_up())),
        (
            LostPart::SpineCoreCable,
            if shape.has_cores { shape.spines() * u64::from(spec.spine_up) } else { 0 },
        ),
        // Without spines leaf sets are apart anyhow: only leaves of one set make planes.
        (LostPart::Plane, if spec.groups == SpineGroups::PerLeaf { 1 } else { shape.groups.into() }),
    ];
    let rows = parts.into_iter().filter(|(_, count)| *count > 0);
    let losses = rows.map(|(part, count)| loss(&shape, part, count)).collect();
    LossReport { losses, notes: Vec::new() }
}

fn loss(shape: &Shape<'_>, part: LostPart, count: u64) -> Loss {
    let touched = touched(shape, part);
    let cut = cut(shape, part);
    let all = shape.gpus() as f64;
    let kept = |left: f64| {
        let lost = |share: f64| share * (1.0 - left);
        let worst = touched.gpus.iter().map(|(_, share)| lost(*share)).fold(0.0, f64::max);
        let total: f64 = touched.gpus.iter().map(|(gpus, share)| *gpus as f64 * lost(*share)).sum();
        Kept { worst: (1.0 - worst).max(0.0), mean: (1.0 - total / all).max(0.0) }
    };
    let [leaf_set, segments, pods] = touched.left;
    let (to_segments, to_pods) =
        (shape.crosses_spines().then(|| kept(segments)), shape.has_cores.then(|| kept(pods)));
    let to_leaf_set = kept(leaf_set);
    let slowed = [Some(to_leaf_set), to_segments, to_pods].into_iter().flatten().any(|kept| kept.worst < 1.0);
    Loss {
        part,
        count,
        gpus_cut: cut.gpus,
        pairs_cut: cut.pairs,
        gpus_slowed: if slowed { touched.gpus.iter().map(|(gpus, _)| gpus).sum() } else { 0 },
        to_leaf_set,
        to_segments,
        to_pods,
        bisection: (1.0 - touched.gone / bisection(shape)).clamp(0.0, 1.0),
        stops_ring: cut.pairs > 0,
    }
}

fn touched(shape: &Shape<'_>, part: LostPart) -> Touched {
    let spec = shape.spec;
    let tors = f64::from(spec.tors);
    // Share of a GPU's bandwidth that runs through one group of spines.
    let of_group = if spec.groups == SpineGroups::PerTor { 1.0 / tors } else { 1.0 };
    let whole = pod_up(shape, Damage::None);
    let ratio = |after: f64, before: f64| if before > 0.0 { (after / before).min(1.0) } else { 1.0 };
    let pods = |damage| if shape.has_cores { ratio(pod_up(shape, damage), whole) } else { 1.0 };
    let fair = if shape.has_cores { whole / f64::from(shape.leaves_under_spine()) } else { f64::INFINITY };
    let half = f64::from(spec.pods) / 2.0;
    // What a leaf alone loses of the bisection.
    let of_leaf = |after: f64| if shape.has_cores { 0.0 } else { leaf_up(shape, 0) - after };
    match part {
        LostPart::Leaf => {
            // Of halves of hosts, half of the hosts under a leaf send.
            let own = if shape.crosses_spines() { leaf_up(shape, 0) } else { shape.leaf_capacity().0 / 2.0 };
            let gone = if shape.has_cores { whole - pod_up(shape, Damage::Leaf) } else { own };
            Touched { gpus: under_leaf(shape), left: [0.0; 3], gone }
        }
        LostPart::Spine => {
            let segments = ratio(leaf_up(shape, spec.parallel), leaf_up(shape, 0));
            let gone = if shape.has_cores {
                whole - pod_up(shape, Damage::Spine)
            } else if shape.crosses_spines() {
                f64::from(shape.leaves_under_spine()) / 2.0 * of_leaf(leaf_up(shape, spec.parallel))
            } else {
                0.0
            };
            let gpus = vec![(shape.gpus() / u64::from(spec.pods), of_group)];
            Touched { gpus, left: [1.0, segments, pods(Damage::Spine)], gone }
        }
        LostPart::Core => {
            let gone = half * (whole - pod_up(shape, Damage::Core));
            Touched { gpus: vec![(shape.gpus(), of_group)], left: [1.0, 1.0, pods(Damage::Core)], gone }
        }
        LostPart::NicPort => nic_port(shape),
        LostPart::LeafSpineCable => {
            let after = leaf_up(shape, 1);
            let gone = if shape.has_cores {
                whole - pod_up(shape, Damage::LeafSpineCable)
            } else if shape.crosses_spines() {
                of_leaf(after)
            } else {
                0.0
            };
            let before = leaf_up(shape, 0);
            let left = [1.0, ratio(after, before), ratio(after.min(fair), before.min(fair))];
            Touched { gpus: under_leaf(shape), left, gone }
        }
        LostPart::SpineCoreCable => {
            let gpus = vec![(shape.gpus() / u64::from(spec.pods), of_group)];
            let gone = whole - pod_up(shape, Damage::SpineCoreCable);
            Touched { gpus, left: [1.0, 1.0, pods(Damage::SpineCoreCable)], gone }
        }
        LostPart::Plane => {
            let planes = if spec.groups == SpineGroups::PerTor { tors } else { 1.0 };
            let gone = bisection(shape) / planes;
            Touched { gpus: vec![(shape.gpus(), of_group)], left: [0.0; 3], gone }
        }
    }
}

/// GPUs under the leaf that serves most, with the share of their bandwidth that runs through it.
fn under_leaf(shape: &Shape<'_>) -> Vec<(u64, f64)> {
    let (hosts, tors) = (u64::from(shape.spec.hosts), f64::from(shape.spec.tors));
    heaviest_set(shape).1.into_iter().map(|share| (hosts, share / tors)).collect()
}

/// The leaf set that serves most, and of each GPU of a host that it serves the share of its NICs there.
fn heaviest_set(shape: &Shape<'_>) -> (u32, Vec<f64>) {
    let shares = shape.gpu_shares();
    let of_set =
        |set: u32| -> Vec<f64> { shares.iter().filter_map(|sets| sets.get(&set).copied()).collect() };
    let sum = |shares: &[f64]| shares.iter().sum::<f64>();
    let all = (0..shape.leaf_sets).map(|set| (set, of_set(set)));
    all.max_by(|(_, a), (_, b)| sum(a).total_cmp(&sum(b))).unwrap_or_default()
}

/// A port of a NIC: its GPUs lose it in every direction.
fn nic_port(shape: &Shape<'_>) -> Touched {
    let spec = shape.spec;
    let ports = f64::from(spec.host.nic.ports);
    let (gpus, share) = nic_users(shape);
    let port = spec.host.nic.port_capacity.bits_per_s() as f64;
    let (access, uplinks) = shape.leaf_capacity();
    // Uplinks that were too few before are still full.
    let own = if !shape.crosses_spines() && !shape.has_cores {
        port
    } else {
        (access.min(uplinks) - (access - port).min(uplinks)).max(0.0)
    };
    let fair = if shape.has_cores {
        let leaves = f64::from(shape.leaves_under_spine());
        let whole = pod_up(shape, Damage::None);
        (whole - (leaves * access - port).min(whole)).max(0.0)
    } else {
        own
    };
    Touched { gpus: vec![(gpus, share / ports)], left: [0.0; 3], gone: own.min(fair) }
}

/// GPUs that use a NIC, and the share of a GPU's bandwidth that is the NIC's.
fn nic_users(shape: &Shape<'_>) -> (u64, f64) {
    let host = &shape.spec.host;
    let users = (0..host.gpus).filter(|&gpu| host.nic_of_gpu(gpu) == 0 || host.gpu_of_nic(0) == gpu).count();
    let nics = (0..host.nics).filter(|&nic| host.gpu_of_nic(nic) == 0).count();
    (users as u64, 1.0 / nics.max(1) as f64)
}

/// Cut of a part of leaf sets that nothing joins: of pairs that share a set, those that share no other.
fn cut_of_one_tier(shape: &Shape<'_>, part: LostPart) -> Cut {
    let (spec, hosts) = (shape.spec, shape.hosts());
    let host_pairs = hosts * hosts.saturating_sub(1) / 2;
    let sets: Vec<_> = shape.gpu_nics().iter().map(|nics| shape.leaf_sets_of(nics)).collect();
    match part {
        LostPart::Leaf if spec.tors == 1 => {
            let lost = heaviest_set(shape).0;
            let after = shape.pairs_sharing(|sets| sets.iter().copied().filter(|set| *set != lost).collect());
            let alone = sets.iter().filter(|sets| sets.iter().all(|set| *set == lost)).count() as u64;
            Cut { gpus: alone * hosts, pairs: host_pairs * (shape.pairs_of_a_leaf_set() - after) }
        }
        LostPart::NicPort if spec.host.nic.ports == 1 => {
            let mut cut = Cut::default();
            for nics in shape.gpu_nics().iter().filter(|nics| nics.contains(&0)) {
                let left: Vec<u32> = nics.iter().copied().filter(|nic| *nic != 0).collect();
                let (before, after) = (shape.leaf_sets_of(nics), shape.leaf_sets_of(&left));
                let lost = sets.iter().filter(|other| !before.is_disjoint(other) && after.is_disjoint(other));
                cut.pairs += (hosts - 1) * lost.count() as u64;
                cut.gpus += u64::from(left.is_empty());
            }
            cut
        }
        LostPart::Plane if spec.groups != SpineGroups::PerTor || spec.tors == 1 => {
            Cut { gpus: shape.gpus(), pairs: host_pairs * shape.pairs_of_a_leaf_set() }
        }
        _ => Cut::default(),
    }
}

/// Pairs of hosts that are cut off, and of GPUs in them.
fn cut(shape: &Shape<'_>, part: LostPart) -> Cut {
    let spec = shape.spec;
    if shape.is_one_tier() {
        return cut_of_one_tier(shape, part);
    }
    let (gpus, hosts) = (u64::from(spec.host.gpus), u64::from(spec.hosts));
    let all = shape.hosts();
    let (in_pod, pods) = (shape.hosts_per_pod(), u64::from(spec.pods));
    let two = |count: u64| count * count.saturating_sub(1) / 2;
    let is_only_plane = spec.groups == SpineGroups::Single || spec.tors == 1;
    match part {
        LostPart::Leaf if spec.tors == 1 => {
            // GPUs whose only leaf it is.
            let of_host = under_leaf(shape).iter().filter(|(_, share)| *share > 1.0 - 1e-9).count() as u64;
            let left = gpus - of_host;
            let inside = two(hosts) * (gpus * gpus - left * left);
            Cut { gpus: of_host * hosts, pairs: inside + hosts * (all - hosts) * of_host * gpus }
        }
        LostPart::LeafSpineCable if spec.tors == 1 && shape.leaf_up() == 1 => {
            // The leaf's GPUs still meet under it.
            let of_host = under_leaf(shape).iter().filter(|(_, share)| *share > 1.0 - 1e-9).count() as u64;
            let inside = hosts * (hosts - 1) * of_host * (gpus - of_host);
            Cut { gpus: 0, pairs: inside + hosts * (all - hosts) * of_host * gpus }
        }
        LostPart::SpineCoreCable if spec.spines * spec.spine_up == 1 && is_only_plane => {
            Cut { gpus: 0, pairs: in_pod * (all - in_pod) * gpus * gpus }
        }
        LostPart::NicPort if spec.host.nic.ports == 1 => {
            let (users, share) = nic_users(shape);
            let users = if share > 1.0 - 1e-9 { users } else { 0 };
            Cut { gpus: users, pairs: users * (all - 1) * gpus }
        }
        LostPart::Spine if spec.spines == 1 && is_only_plane => {
            let (segments, direct) = (u64::from(spec.segments), shape.pairs_of_a_leaf_set());
            let inside = segments * two(hosts) * (gpus * gpus - direct);
            let across = two(segments) * hosts * hosts * gpus * gpus;
            Cut { gpus: 0, pairs: inside + across + in_pod * (all - in_pod) * gpus * gpus }
        }
        LostPart::Core if spec.cores == 1 && is_only_plane => {
            Cut { gpus: 0, pairs: two(pods) * in_pod * in_pod * gpus * gpus }
        }
        LostPart::Plane if is_only_plane => Cut { gpus: shape.gpus(), pairs: two(all) * gpus * gpus },
        _ => Cut::default(),
    }
}

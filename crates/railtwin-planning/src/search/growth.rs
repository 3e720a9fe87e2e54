//! From N to 2N GPUs: which cables stay, move and come new.
use railtwin_catalog::Catalog;
use railtwin_fabric::clos::ClosSpec;
use railtwin_units::Rate;
use serde::Serialize;

use crate::intent::{Combination, FabricCandidate, Intent, Shape};

/// Cables of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CableMoves {
    /// Most cables whose both ends can stay on their switches.
    pub kept: u64,
    /// Fewest cables of which an end goes to another switch.
    pub moved: u64,
    /// Cables that come new.
    pub added: u64,
    /// Cables that are taken away.
    pub removed: u64,
}

impl CableMoves {
    fn of(before: u64, after: u64, kept: u64) -> Self {
        Self {
            kept,
            moved: before.min(after) - kept,
            added: after.saturating_sub(before),
            removed: before.saturating_sub(after),
        }
    }

    /// Cables of another rate take the place of the old ones.
    const fn replaced(before: u64, after: u64) -> Self {
        Self { kept: 0, moved: 0, added: after, removed: before }
    }
}

/// A step from one fabric to one of twice the GPUs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FabricGrowth {
    /// The fabric now.
    pub from: FabricCandidate,
    /// The fabric of twice the GPUs.
    pub to: FabricCandidate,
    /// Cables from host to leaf.
    pub access: CableMoves,
    /// Cables from leaf to spine.
    pub leaf_spine: CableMoves,
    /// Cables from spine to core.
    pub spine_core: CableMoves,
}

impl FabricGrowth {
    /// Doubles the GPUs of an intent with one of its combinations; where its tiers end, one tier more.
    ///
    /// # Errors
    /// Why one of the two fabrics is none, in words.
    pub fn doubled(intent: &Intent, combination: &Combination, catalog: &Catalog) -> Result<Self, String> {
        let from = intent.candidate(combination, catalog)?;
        let gpus = intent.gpus.checked_mul(2).ok_or("twice the GPUs are more than 32 bits hold")?;
        let twice = Intent { gpus, lengths: Some(from.lengths), ..intent.clone() };
        let to = twice.candidate(combination, catalog).or_else(|reason| {
            let taller = Combination {
                tiers: combination.tiers + 1,
                core_oversubscription: Some(combination.core_oversubscription.unwrap_or(1.0)),
                ..combination.clone()
            };
            if taller.tiers > 3 { Err(reason) } else { twice.candidate(&taller, catalog) }
        })?;
        Ok(Self::between(from, to))
    }

    /// Which cables move, in words.
    pub fn which(&self) -> String {
        let (old, new) = (&self.from.spec, &self.to.spec);
        let mut lines = Vec::new();
        if self.access.moved > 0 {
            lines.push(format!(
                "Segments go from {} to {} hosts: {} hosts of each take their cables to other leaves.",
                old.hosts,
                new.hosts,
                old.hosts.saturating_sub(new.hosts)
            ));
        }
        if old.uplink != new.uplink {
            lines.push(format!(
                "Cables between switches go from {} to {}: all are replaced.",
                old.uplink, new.uplink
            ));
        } else if self.leaf_spine.moved > 0 {
            if new.parallel < old.parallel {
                lines.push(format!(
                    "Leaves keep {} of {} cables to a spine; the others go to other spines.",
                    new.parallel, old.parallel
                ));
            }
            if new.segments < old.segments || new.spines < old.spines {
                lines.push(format!(
                    "Pods go from {} segments under {} spines to {} under {}: leaves that leave the pod of a spine, and \
                     spines that leave that of a leaf, take their cables along.",
                    old.segments,
                    old.spines * self.groups_before(),
                    new.segments,
                    new.spines * self.groups_before()
                ));
            }
        }
        if self.spine_core.moved > 0 {
            lines.push("Uplinks of spines spread over more cores.".to_owned());
        }
        if lines.is_empty() { "No cable moves.".to_owned() } else { lines.join(" ") }
    }

    /// Groups of spines in a pod.
    fn groups_before(&self) -> u32 {
        Shape::of(&self.from.spec).groups
    }

    /// Compares two fabrics of the same host, style and leaves of a NIC.
    pub fn between(from: FabricCandidate, to: FabricCandidate) -> Self {
        let (before, after) = (Shape::of(&from.spec), Shape::of(&to.spec));
        let (old, new) = (&from.counts, &to.counts);
        let access = CableMoves::of(old.cables_access, new.cables_access, access_kept(&before, &after));
        let moves = |old: u64, new: u64, rates: [Rate; 2], kept: u64| match rates {
            [a, b] if a == b => CableMoves::of(old, new, kept),
            _ => CableMoves::replaced(old, new),
        };
        let rates = [from.spec.uplink, to.spec.uplink];
        let kept = leaf_spine_kept(&before, &after);
        let leaf_spine = moves(old.cables_leaf_spine, new.cables_leaf_spine, rates, kept);
        let rates = [from.spec.core_link, to.spec.core_link];
        let kept = spine_core_kept(&before, &after);
        let spine_core = moves(old.cables_spine_core, new.cables_spine_core, rates, kept);
        Self { access, leaf_spine, spine_core, from, to }
    }
}

/// Most access cables that stay.
///
/// The leaves of a segment become those of at most one other, since hosts of two old segments share no leaf and hosts of
/// two new ones share none. A segment of `a` hosts that becomes one of `b` keeps `min(a, b)` of them at most. Of `m` and
/// `n` segments `min(m, n)` pair up, so `min(m, n) min(a, b)` is the most; hosts beyond it fill the places that are left.
fn access_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    let host = &before.spec.host;
    let hosts = segments(before).min(segments(after)) * u64::from(before.spec.hosts.min(after.spec.hosts));
    hosts * u64::from(host.nics * host.nic.ports)
}

fn segments(shape: &Shape<'_>) -> u64 {
    u64::from(shape.spec.pods) * u64::from(shape.spec.segments)
}

/// Most leaf-spine cables that stay: an upper bound, which the growth of one pod and of pods that keep their size reaches.
///
/// A cable stays where its leaf and its spine go to the same pod. Of an old pod let `l` segments and `n` spines go to a
/// new pod: `l n` pairs keep their cables, up to the fewer lanes of the two fabrics. All new pods of an old one have no
/// more than its segments and spines, each no more than a pod of the new fabric holds. The sum of `l n` over them is
/// largest where the largest `l` and `n` stand together and are as uneven as the bounds allow: filling one new pod after
/// the other, see [`filled`]. Taken for each old pod alone this ignores that old pods share new ones; taken for each new
/// pod alone it ignores that new pods share old ones. The lesser of both sums bounds what stays.
fn leaf_spine_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    let (old, new) = (before.spec, after.spec);
    let pod = |spec: &ClosSpec| (spec.segments, spec.spines);
    let split = u64::from(old.pods) * filled(pod(old), pod(new), new.pods);
    let joined = u64::from(new.pods) * filled(pod(new), pod(old), old.pods);
    let lanes = old.parallel.min(new.parallel);
    // Each leaf has spines of its group alone; segments pair up with their leaves in order.
    let leaves = before.leaves_per_segment.min(after.leaves_per_segment);
    split.min(joined) * u64::from(leaves) * u64::from(lanes)
}

/// Pairs of a segment and a spine that stay together where those of one pod fill `pods` others one after the other.
fn filled((segments, spines): (u32, u32), (most_segments, most_spines): (u32, u32), pods: u32) -> u64 {
    let (mut segments, mut spines, mut pairs) = (segments, spines, 0);
    for _ in 0..pods {
        let (here, above) = (segments.min(most_segments), spines.min(most_spines));
        if here == 0 || above == 0 {
            break;
        }
        pairs += u64::from(here) * u64::from(above);
        (segments, spines) = (segments - here, spines - above);
    }
    pairs
}

/// Most spine-core cables that stay: an upper bound. A spine keeps no more of them than it has in either fabric, and no
/// more spines keep any than the smaller fabric has; the same of cores.
fn spine_core_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    if !before.has_cores || !after.has_cores {
        return 0;
    }
    let of_spines =
        before.spines().min(after.spines()) * u64::from(before.spec.spine_up.min(after.spec.spine_up));
    let down = |shape: &Shape<'_>| u64::from(shape.spec.pods) * u64::from(shape.core_to_pod());
    let of_cores = before.cores().min(after.cores()) * down(before).min(down(after));
    of_spines.min(of_cores)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best of all ways to spread the segments and spines of a pod over others.
    fn best(left: (u32, u32), most: (u32, u32), pods: u32) -> u64 {
        if pods == 0 {
            return 0;
        }
        let ways = (0..=left.0.min(most.0)).flat_map(|l| (0..=left.1.min(most.1)).map(move |n| (l, n)));
        let of =
            |(l, n): (u32, u32)| u64::from(l) * u64::from(n) + best((left.0 - l, left.1 - n), most, pods - 1);
        ways.map(of).max().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn filling_pods_in_turn_keeps_most(left in (0u32..6, 0u32..6), most in (1u32..5, 1u32..5), pods in 1u32..4) {
            prop_assert_eq!(filled(left, most, pods), best(left, most, pods));
        }
    }
}

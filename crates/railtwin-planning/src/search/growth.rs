//! From N to 2N GPUs: which cables stay, move and come new.
use railtwin_catalog::Catalog;
use serde::Serialize;

use crate::intent::{Combination, FabricCandidate, Intent, Shape};

/// Cables of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CableMoves {
    /// Cables whose both ends stay on their switches.
    pub kept: u64,
    /// Cables of which an end goes to another switch.
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
    /// Doubles the GPUs of an intent with one of its combinations; where its tiers end, one tier more. Hosts keep their
    /// order, and segments theirs.
    ///
    /// # Errors
    /// Why one of the two fabrics is none, in words.
    pub fn doubled(intent: &Intent, combination: &Combination, catalog: &Catalog) -> Result<Self, String> {
        let from = intent.candidate(combination, catalog)?;
        let gpus = intent.gpus.checked_mul(2).ok_or("twice the GPUs are more than 32 bits hold")?;
        let twice = Intent { gpus, lengths: Some(intent.lengths()), ..intent.clone() };
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
                "Segments go from {} to {} hosts: hosts that change their segment take their cables along.",
                old.hosts, new.hosts
            ));
        }
        if self.leaf_spine.moved > 0 {
            lines.push(format!(
                "Each leaf keeps {} of its {} cables to each of the first {} spines; the others go to other spines.",
                old.parallel.min(new.parallel),
                old.parallel,
                old.spines.min(new.spines)
            ));
            if new.pods > old.pods && new.segments < old.segments * old.pods {
                lines.push(format!(
                    "Leaves beyond the first {} segments go to spines of their own pod.",
                    new.segments
                ));
            }
        }
        if self.spine_core.moved > 0 {
            lines.push("Uplinks of spines spread over more cores.".to_owned());
        }
        if lines.is_empty() { "No cable moves.".to_owned() } else { lines.join(" ") }
    }

    /// Compares two fabrics of the same host, style and leaves of a NIC.
    pub fn between(from: FabricCandidate, to: FabricCandidate) -> Self {
        let (before, after) = (Shape::of(&from.spec), Shape::of(&to.spec));
        let (old, new) = (&from.counts, &to.counts);
        let access = CableMoves::of(old.cables_access, new.cables_access, access_kept(&before, &after));
        let leaf_spine =
            CableMoves::of(old.cables_leaf_spine, new.cables_leaf_spine, leaf_spine_kept(&before, &after));
        let spine_core =
            CableMoves::of(old.cables_spine_core, new.cables_spine_core, spine_core_kept(&before, &after));
        Self { access, leaf_spine, spine_core, from, to }
    }
}

/// Access cables whose host stays in its segment.
fn access_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    let host = &before.spec.host;
    let same = (0..before.hosts().min(after.hosts()))
        .filter(|host| host / u64::from(before.spec.hosts) == host / u64::from(after.spec.hosts));
    same.count() as u64 * u64::from(host.nics * host.nic.ports)
}

/// Leaf-spine cables whose leaf stays under the spines of its pod, and whose spine and lane exist in both.
fn leaf_spine_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    let segments = |shape: &Shape<'_>| u64::from(shape.spec.pods) * u64::from(shape.spec.segments);
    let pod = |shape: &Shape<'_>, segment: u64| segment / u64::from(shape.spec.segments);
    let same = (0..segments(before).min(segments(after)))
        .filter(|&segment| pod(before, segment) == pod(after, segment))
        .count() as u64;
    let spines = before.spec.spines.min(after.spec.spines);
    let lanes = before.spec.parallel.min(after.spec.parallel);
    same * u64::from(before.leaves_per_segment.min(after.leaves_per_segment)) * u64::from(spines * lanes)
}

/// Spine-core cables whose core is the same in both.
fn spine_core_kept(before: &Shape<'_>, after: &Shape<'_>) -> u64 {
    if !before.has_cores || !after.has_cores {
        return 0;
    }
    let core =
        |shape: &Shape<'_>, spine: u32, lane: u32| (spine * shape.spec.spine_up + lane) % shape.spec.cores;
    let spines = before.spec.spines.min(after.spec.spines);
    let lanes = before.spec.spine_up.min(after.spec.spine_up);
    let all = (0..spines).flat_map(|spine| (0..lanes).map(move |lane| (spine, lane)));
    let same =
        all.filter(|&(spine, lane)| core(before, spine, lane) == core(after, spine, lane)).count() as u64;
    let groups = before.groups.min(after.groups);
    same * u64::from(before.spec.pods.min(after.spec.pods)) * u64::from(groups)
}

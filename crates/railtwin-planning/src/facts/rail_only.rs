//! Rail-only against any-to-any tier 2 (HPN section 10, table 4).
use railtwin_fabric::clos::{ClosSpec, SpineGroups};
use railtwin_fabric::preset::{Hpn, Layout as _, Tier2};
use railtwin_fabric::{FabricError, HostId, Reach};
use serde::Serialize;

use super::rows::{percent, table};

/// One column of table 4.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Tier2Design {
    /// `any-to-any` or `rail-only`.
    pub tier2: &'static str,
    /// Planes of tier 2: sets of spines that no cable joins.
    pub planes: u32,
    /// Active GPUs in a pod.
    pub gpus_per_pod: u32,
    /// Share of the pairs of NICs of two hosts in different segments that switches join; all others need a relay inside a
    /// host.
    pub pairs_joined: f64,
}

impl Tier2Design {
    /// Computes one column. Counts are those of the specification; reach is that of two hosts in two segments, built.
    ///
    /// # Errors
    /// Those of the preset.
    pub fn of(hpn: &Hpn) -> Result<Self, FabricError> {
        let spec = hpn.spec()?;
        spec.check()?;
        Ok(Self {
            tier2: hpn.tier2.name(),
            planes: planes(&spec),
            gpus_per_pod: spec.segments * spec.hosts * spec.host.gpus,
            pairs_joined: pairs_joined(hpn)?,
        })
    }
}

/// Returns the two columns of table 4.
///
/// # Errors
/// Those of the preset, which fits its chip.
pub fn table_4() -> Result<[Tier2Design; 2], FabricError> {
    let of = |tier2| Tier2Design::of(&Hpn { tier2, ..Hpn::default() });
    Ok([of(Tier2::AnyToAny)?, of(Tier2::RailOnly)?])
}

/// Prints one line for each design.
pub fn text(designs: &[Tier2Design]) -> String {
    let rows = designs.iter().map(|of| {
        let limit = if of.pairs_joined < 1.0 { "same rail only" } else { "none" };
        let counts = [of.planes.to_string(), of.gpus_per_pod.to_string()];
        let cells = [of.tier2.to_owned()].into_iter().chain(counts);
        cells.chain([percent(of.pairs_joined), limit.to_owned()]).collect()
    });
    let header = ["tier 2", "planes", "GPUs in a pod", "pairs joined", "limit"];
    table(&header, &rows.collect::<Vec<_>>())
}

fn planes(spec: &ClosSpec) -> u32 {
    match spec.groups {
        SpineGroups::Single => 1,
        SpineGroups::PerTor => spec.tors,
        SpineGroups::PerLeaf => spec.host.nics / spec.rails_per_leaf * spec.tors,
    }
}

fn pairs_joined(hpn: &Hpn) -> Result<f64, FabricError> {
    let small = Hpn { pods: 1, segments: Some(2), hosts: Some(1), spare_hosts: Some(0), ..hpn.clone() };
    let fabric = small.build()?;
    let (reach, nics) = (Reach::of(&fabric), fabric.host_model(HostId(0)).nics);
    let pairs = (0..nics).flat_map(|a| (0..nics).map(move |b| (a, b)));
    let joined = pairs.filter(|&(a, b)| reach.meets(fabric.nic(HostId(0), a), fabric.nic(HostId(1), b)));
    Ok(joined.count() as f64 / f64::from(nics * nics))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rail_only_joins_eight_times_the_gpus_and_an_eighth_of_the_pairs() {
        let [any, rail] = table_4().unwrap();
        assert_eq!((any.planes, any.gpus_per_pod, any.pairs_joined), (2, 15_360, 1.0));
        assert_eq!((rail.planes, rail.gpus_per_pod, rail.pairs_joined), (16, 122_880, 0.125));
        assert!(text(&[any, rail]).contains("same rail only"));
    }

    #[test]
    fn a_pod_without_planes_has_one() {
        assert_eq!(Tier2Design::of(&Hpn { planes: false, ..Hpn::default() }).unwrap().planes, 1);
    }
}

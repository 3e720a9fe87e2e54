//! Which hash each switch of a fabric runs.

use railtwin_fabric::SwitchPlace;
use railtwin_units::stream::mix;

use crate::hash::HashSpec;

railtwin_units::choice! {
    /// Which switches hash alike.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Seeds {
        /// All: the seed of the spec everywhere. Tiers are polarised (HPN section 2.2).
        Shared = "shared",
        /// Those of a tier.
        PerTier = "per-tier",
        /// None.
        PerSwitch = "per-switch",
    }
}

/// How the switches of a fabric choose among the links of a group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EcmpConfig {
    /// Function, fields, offset and, for [`Seeds::Shared`], seed; otherwise seeds derive from it.
    pub spec: HashSpec,
    /// Which switches hash alike.
    pub seeds: Seeds,
    /// Whether a core's egress is a fixed function of the ingress port for each pod, with the
    /// hash only for ingress ports whose egress is dead (HPN section 7).
    pub core_per_port: bool,
}

impl EcmpConfig {
    /// `spec` with the given seeds and no per-port hashing.
    #[inline]
    pub const fn new(spec: HashSpec, seeds: Seeds) -> Self {
        Self { spec, seeds, core_per_port: false }
    }

    /// The same with per-port hashing in the core.
    #[inline]
    pub const fn with_core_per_port(mut self) -> Self {
        self.core_per_port = true;
        self
    }

    /// The hash of the switch in row `switch_row` that stands at `place`.
    #[inline]
    pub fn spec_at(&self, place: &SwitchPlace, switch_row: u32) -> HashSpec {
        let salt = match self.seeds {
            Seeds::Shared => return self.spec,
            Seeds::PerTier => u64::from(place.tier),
            // Rows stand apart from tiers, so that the two ways share no seed by design.
            Seeds::PerSwitch => u64::from(switch_row) | 1 << 32,
        };
        let mixed = mix(mix(u64::from(self.spec.seed)) ^ salt);
        // Seed 0 means the plain function, which no derived seed should.
        self.spec.with_seed(((mixed >> 32) as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use railtwin_fabric::preset::FatTree;

    use super::*;
    use crate::hash::HashFunction;

    #[test]
    fn seeds_part_what_they_should() {
        let fabric = FatTree::default().build().expect("default preset");
        let count = |seeds| {
            let config = EcmpConfig::new(HashSpec::new(HashFunction::Crc32).with_seed(5), seeds);
            let specs: BTreeSet<_> = fabric
                .switches()
                .iter()
                .zip(0..)
                .map(|((_, place), row)| config.spec_at(place, row))
                .collect();
            specs.len()
        };
        assert_eq!(count(Seeds::Shared), 1);
        assert_eq!(count(Seeds::PerTier), 3);
        assert_eq!(count(Seeds::PerSwitch), fabric.switches().len());
    }
}

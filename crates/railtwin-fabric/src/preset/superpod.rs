//! NVIDIA's DGX SuperPOD.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{Chip, ClosSpec, SpineGroups};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::{HostModel, NicModel};
use crate::host_spec::HostSpec;
use crate::preset::counts::{fewest_cores, fewest_spines};
use crate::preset::{HOSTS, Layout};

railtwin_units::choice! {
    /// Hosts and switches of a [`SuperPod`].
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Generation {
        /// DGX B200 with NICs of 400 Gbps, switches of 64 ports of 400 Gbps (NDR).
        B200Ndr = "b200-ndr",
        /// DGX B300 with NICs of two ports of 400 Gbps, each in a plane of its own, switches of 64 ports of 800 Gbps, each
        /// split in two (Spectrum-X).
        B300SpectrumX = "b300-spectrum-x",
        /// DGX B300 with NICs of 800 Gbps, switches of 144 ports of 800 Gbps (XDR).
        B300Xdr = "b300-xdr",
    }
}

impl Generation {
    fn host(self) -> HostModel {
        match self {
            Self::B200Ndr => HostModel::dgx_b200(),
            Self::B300SpectrumX => HostModel {
                nic: NicModel { ports: 2, port_capacity: Rate::from_gbps(400) },
                ..HostModel::dgx_b300()
            },
            Self::B300Xdr => HostModel::dgx_b300(),
        }
    }

    /// Ports of a switch, and into how many of them a physical port is split.
    const fn switch(self) -> (u32, u32) {
        match self {
            Self::B200Ndr => (64, 1),
            Self::B300SpectrumX => (128, 2),
            Self::B300Xdr => (144, 1),
        }
    }
}

railtwin_units::section! {
    /// NVIDIA's DGX SuperPOD (reference architectures of DGX B200 and DGX B300): scalable units of as many hosts as half the
    /// ports of a switch, a leaf for each rail of a unit, all switches equal and half down, half up.
    ///
    /// Spines are the fewest that take equally many cables from each leaf. Where all leaves do not fit under one set of
    /// spines, units stand in pods under cores; the reference prints the counts of that, not which unit stands where.
    #[derive(Clone, PartialEq, Debug)]
    pub struct SuperPod "[fabric]" sparse {
        /// Scalable units.
        pub su: u32 [whole(1..=4_096)] = 4,
        /// Hosts and switches.
        pub generation: Generation = Generation::B200Ndr,
        /// Active hosts in a scalable unit; default half the ports of a switch.
        pub hosts: Option<u32> [whole(1..=HOSTS)] = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default dgx-b200 or dgx-b300, as the generation has it.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for SuperPod {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(self.generation.host())?;
        let (ports, breakout) = self.generation.switch();
        let (half, nics, planes) = (ports / 2, host.nics.max(1), host.nic.ports.max(1));
        let rate = host.nic.port_capacity;
        let leaves = self.su.saturating_mul(nics);
        let spec = ClosSpec {
            hosts: self.hosts.unwrap_or(half),
            rails_per_leaf: 1,
            tors: planes,
            groups: if planes > 1 { SpineGroups::PerTor } else { SpineGroups::Single },
            chip: Chip::Of(rate * u64::from(ports)),
            breakout,
            ..ClosSpec::of("superpod", host)
        };
        if let Some(spines) = fewest_spines(leaves, half, ports) {
            let flat = ClosSpec { segments: self.su, spines, parallel: half / spines, ..spec };
            return Ok(self.delays.over(flat));
        }
        // As many units in a pod as have leaves for half the ports of a spine, and divide both its uplinks and all units.
        let fits = |units: &u32| {
            let leaves = units.saturating_mul(nics);
            self.su.is_multiple_of(*units) && leaves <= half && half.is_multiple_of(leaves)
        };
        let pods_of = (1..=self.su.min(half)).filter(fits).max();
        let refused = || {
            let accepted = format!(
                "{leaves} leaves of {half} uplinks do not fit under spines, nor pods under cores, of {ports} ports: write fewer"
            );
            FabricError::range("su", self.su, accepted)
        };
        let units = pods_of.ok_or_else(refused)?;
        let (pods, spines) = (self.su / units, units * nics);
        let cores = fewest_cores(pods, spines * half, ports).ok_or_else(refused)?;
        let (segments, parallel, spine_up) = (units, half / spines, half);
        Ok(self.delays.over(ClosSpec { pods, segments, spines, parallel, spine_up, cores, ..spec }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;

    /// Every row of the counts that NVIDIA prints: data/reference_counts.
    #[test]
    fn counts_are_those_that_the_vendor_prints() {
        let table = include_str!("../../../../data/reference_counts/superpod_counts.csv");
        let mut rows = 0;
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let generation = match cells[0] {
                "B200-NDR" => Generation::B200Ndr,
                "B300-SpectrumX" => Generation::B300SpectrumX,
                _ => Generation::B300Xdr,
            };
            let printed: Vec<u32> = cells[1..].iter().map(|cell| cell.parse().unwrap_or(0)).collect();
            let pod = SuperPod { su: printed[0], generation, ..SuperPod::default() };
            let r = DesignReport::of(&pod.build().unwrap());
            let tier = |row: usize| r.tiers.get(row).map_or(0, |tier| tier.switches);
            let physical = |cables: u32| cables / r.breakout;
            let [access, up, top] = [r.cables_access, r.cables_leaf_spine, r.cables_spine_core].map(physical);
            let found =
                [printed[0], r.hosts_active, r.gpus_active, tier(0), tier(1), tier(2), access, up, top];
            assert_eq!(printed, found, "{line}");
            rows += 1;
        }
        assert_eq!(rows, 8);
    }

    /// HPN table 1: 16,384 GPUs in three tiers, where 32 × 32 × 4 links decide a path.
    #[test]
    fn the_search_space_is_that_of_the_paper() {
        let spec = SuperPod { su: 64, ..SuperPod::default() }.spec().unwrap();
        let gpus = spec.pods * spec.segments * spec.hosts * spec.host.gpus;
        let into_pod = spec.core_down() / spec.pods;
        assert_eq!((gpus, spec.leaf_up(), spec.spine_up, into_pod), (16_384, 32, 32, 4));
    }

    #[test]
    fn planes_of_a_split_nic_never_meet() {
        let fabric = SuperPod { su: 1, generation: Generation::B300SpectrumX, ..SuperPod::default() };
        let report = DesignReport::of(&fabric.build().unwrap());
        assert_eq!((report.planes, report.leaves_per_host, report.leaf_single_points_of_failure), (2, 16, 0));
        assert_eq!(report.host_backend, Rate::from_gbps(8 * 800));
    }

    #[test]
    fn more_units_than_three_tiers_hold_are_refused() {
        let error = SuperPod { su: 1_024, ..SuperPod::default() }.build().unwrap_err().to_string();
        assert!(error.starts_with("su = 1024: 8192 leaves of 32 uplinks"), "{error}");
    }
}

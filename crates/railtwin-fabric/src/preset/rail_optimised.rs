//! A rail-optimised fabric of any size.
use railtwin_units::Rate;
use railtwin_units::keys::{Kind, whole};

use crate::clos::{ClosSpec, SpineGroups};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::{HostModel, MOST_NICS, NicModel};
use crate::host_spec::HostSpec;
use crate::preset::counts::{down_ports, fewest_cores, fewest_spines, up_ports};
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Rail-optimised: in a segment a leaf for each rail, all leaves of a pod under the same spines, or in planes over which
    /// each NIC is split. A field that is `None` takes what the ports of a switch imply.
    #[derive(Clone, PartialEq, Debug)]
    pub struct RailOptimised "[fabric]" sparse {
        /// Pods.
        pub pods: u32 [whole(1..=SWITCHES)] = 1,
        /// Segments in a pod.
        pub segments: u32 [whole(1..=SWITCHES)] = 4,
        /// Active hosts in a segment; default what fills a leaf.
        pub hosts: Option<u32> [whole(1..=HOSTS)] = None,
        /// Rails that have leaves of their own; default one for each NIC of a host.
        pub rails: Option<u32> [whole(1..=MOST_NICS)] = None,
        /// Planes: each NIC is split into so many ports, each with a leaf of its own, 1, 2, 4 or 8.
        pub planes: u32 [whole(1..=8)] = 1,
        /// Ports of a switch, each as fast as a port of a NIC; default 64 for each plane: switches are split as NICs are.
        pub radix: Option<u32> [whole(2..=PORTS)] = None,
        /// Down capacity of a leaf over its uplinks, at most.
        pub oversubscription: f64 [Kind::Share(0.0, 1000.0)] = 1.0,
        /// Spines in a pod, or in a plane of it; default the fewest that take equally many cables from each leaf.
        pub spines: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Down capacity of a spine over its uplinks, at most, where there are several pods.
        pub spine_oversubscription: f64 [Kind::Share(0.0, 1000.0)] = 1.0,
        /// Cores, or cores in a plane; default the fewest that take equally many cables from each pod.
        pub cores: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default dgx-h100.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl RailOptimised {
    /// The host with its NICs split over the planes.
    fn split_host(&self) -> Result<HostModel, FabricError> {
        let host = self.host.over(HostModel::dgx_h100())?;
        if !self.planes.is_power_of_two() || self.planes > 8 {
            return Err(FabricError::range("planes", self.planes, "write 1, 2, 4 or 8"));
        }
        let all = host.nic.port_capacity.bits_per_s().checked_mul(u64::from(host.nic.ports));
        let all = all.ok_or(FabricError::TooLarge { what: "bits per second in one NIC" })?;
        let port_capacity = Rate::from_bits_per_s(all / u64::from(self.planes));
        Ok(HostModel { nic: NicModel { ports: self.planes, port_capacity }, ..host })
    }
}

impl Layout for RailOptimised {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.split_host()?;
        let nics = host.nics.max(1);
        let rails = self.rails.unwrap_or(nics);
        if rails == 0 || !nics.is_multiple_of(rails) {
            let accepted = format!("rails share the {nics} NICs of a host: write a divisor of {nics}");
            return Err(FabricError::range("rails", rails, accepted));
        }
        let of_rail = nics / rails;
        let radix = self.radix.unwrap_or(64 * self.planes);
        let hosts = self.hosts.unwrap_or(down_ports(radix, self.oversubscription) / of_rail);
        let down = hosts.checked_mul(of_rail).ok_or(FabricError::TooLarge { what: "ports" })?;
        let uplinks = up_ports(f64::from(down), self.oversubscription, "oversubscription")?;
        let leaves = self.segments.checked_mul(rails).ok_or(FabricError::TooLarge { what: "leaves" })?;
        let several = self.pods > 1;
        let under = if several { down_ports(radix, self.spine_oversubscription) } else { radix };
        let spines = self.spines.or_else(|| fewest_spines(leaves, uplinks, under)).ok_or_else(|| {
            let accepted = format!(
                "{leaves} leaves of {uplinks} uplinks do not fit under spines of {under} ports down: write fewer, or more \
                 pods, or a larger radix"
            );
            FabricError::range("segments", self.segments, accepted)
        })?;
        if spines == 0 || !uplinks.is_multiple_of(spines) {
            let accepted =
                format!("a leaf has equally many of its {uplinks} uplinks to each spine: write a divisor");
            return Err(FabricError::range("spines", spines, accepted));
        }
        let parallel = uplinks / spines;
        let below = leaves.checked_mul(parallel).ok_or(FabricError::TooLarge { what: "ports" })?;
        let spine_up = match several {
            true => up_ports(f64::from(below), self.spine_oversubscription, "spine_oversubscription")?,
            false => 0,
        };
        let of_pod = spines.checked_mul(spine_up).ok_or(FabricError::TooLarge { what: "ports" })?;
        let cores = match self.cores {
            Some(cores) => cores,
            None if several => fewest_cores(self.pods, of_pod, radix).ok_or_else(|| {
                let accepted =
                    format!("pods do not fit under cores of {radix} ports: write fewer, or a larger radix");
                FabricError::range("pods", self.pods, accepted)
            })?,
            None => 0,
        };
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.segments,
            hosts,
            rails_per_leaf: of_rail,
            tors: self.planes,
            groups: if self.planes > 1 { SpineGroups::PerTor } else { SpineGroups::Single },
            spines,
            parallel,
            spine_up,
            cores,
            chip: self.chip.into(),
            ..ClosSpec::of("rail-optimised", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;

    /// With radix r, S segments and 8 rails: r/2 hosts in a segment, 8 S leaves, at 1:1 as much up as down.
    #[test]
    fn planes_multiply_hosts_and_keep_capacity() {
        for planes in [1, 2, 4, 8] {
            let report =
                DesignReport::of(&RailOptimised { planes, ..RailOptimised::default() }.build().unwrap());
            let hosts = 4 * 32 * planes;
            assert_eq!((report.hosts_active, report.planes, report.gpus_active), (hosts, planes, hosts * 8));
            assert_eq!((report.tiers[0].switches, report.tiers[0].down_ports), (4 * 8 * planes, 32 * planes));
            assert_eq!(report.tiers[0].oversubscription, Some(1.0));
            assert_eq!(report.tiers[1].switches, 4 * 8 * planes / 2);
            assert_eq!(report.host_backend, Rate::from_gbps(3_200));
            assert_eq!(report.cables_access, hosts * 8 * planes);
        }
        assert!(RailOptimised { planes: 3, ..RailOptimised::default() }.build().is_err());
    }

    #[test]
    fn oversubscription_and_rails_set_ports() {
        let two = RailOptimised { oversubscription: 2.0, radix: Some(96), ..RailOptimised::default() };
        let report = DesignReport::of(&two.build().unwrap());
        let leaf = &report.tiers[0];
        assert_eq!((leaf.down_ports, leaf.up_ports, leaf.oversubscription), (64, 32, Some(2.0)));
        let paired = RailOptimised { rails: Some(4), ..RailOptimised::default() };
        let report = DesignReport::of(&paired.build().unwrap());
        assert_eq!((report.hosts_active, report.leaves_per_segment, report.tiers[0].down_ports), (64, 4, 32));
    }

    #[test]
    fn pods_meet_over_the_fewest_cores() {
        let pods = RailOptimised { pods: 4, ..RailOptimised::default() };
        let report = DesignReport::of(&pods.build().unwrap());
        let switches: Vec<u32> = report.tiers.iter().map(|tier| tier.switches).collect();
        // 32 leaves and 32 spines a pod, 4 × 1,024 uplinks on cores of 64 ports.
        assert_eq!(switches, [128, 128, 64]);
        assert_eq!((report.tiers[1].oversubscription, report.tiers[2].down_ports), (Some(1.0), 64));
        let error =
            RailOptimised { segments: 16, ..RailOptimised::default() }.build().unwrap_err().to_string();
        assert!(error.starts_with("segments = 16: 128 leaves of 32 uplinks do not fit"), "{error}");
    }
}

//! A Clos with one ToR in each rack.
use railtwin_units::Rate;
use railtwin_units::keys::{Kind, whole};

use crate::clos::ClosSpec;
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::counts::{fewest_cores, up_ports};
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// A Clos with one ToR in each rack, which serves all ports of all hosts there, at any ratio.
    #[derive(Clone, PartialEq, Debug)]
    pub struct SingleTor "[fabric]" sparse {
        /// Pods.
        pub pods: u32 [whole(1..=SWITCHES)] = 1,
        /// Racks in a pod, each with one leaf.
        pub racks: u32 [whole(1..=SWITCHES)] = 16,
        /// Active hosts in a rack.
        pub hosts: u32 [whole(1..=HOSTS)] = 4,
        /// Down capacity of a leaf over its uplinks, at most.
        pub oversubscription: f64 [Kind::Share(0.0, 1000.0)] = 1.0,
        /// Spines in a pod; default one for each uplink of a leaf.
        pub spines: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Down capacity of a spine over its uplinks, at most, where there are several pods.
        pub spine_oversubscription: f64 [Kind::Share(0.0, 1000.0)] = 1.0,
        /// Cores; default the fewest of `core_ports` ports that take equally many cables from each pod.
        pub cores: Option<u32> [whole(1..=SWITCHES)] = None,
        /// Ports of a core.
        pub core_ports: u32 [whole(1..=PORTS)] = 64,
        /// Capacity of leaf-spine and spine-core cables; default that of a NIC port.
        pub uplink: Option<Rate> = None,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default dgx-h100.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for SingleTor {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::dgx_h100())?;
        let uplink = self.uplink.unwrap_or(host.nic.port_capacity);
        let bits =
            f64::from(host.nics) * f64::from(host.nic.ports) * host.nic.port_capacity.bits_per_s() as f64;
        let down = f64::from(self.hosts) * bits / (uplink.bits_per_s().max(1) as f64);
        let uplinks = up_ports(down, self.oversubscription, "oversubscription")?;
        let spines = self.spines.unwrap_or(uplinks);
        if spines == 0 || !uplinks.is_multiple_of(spines) {
            let accepted =
                format!("a leaf has equally many of its {uplinks} uplinks to each spine: write a divisor");
            return Err(FabricError::range("spines", spines, accepted));
        }
        let parallel = uplinks / spines;
        let below = f64::from(self.racks) * f64::from(parallel);
        let spine_up = match self.pods {
            0 | 1 => 0,
            _ => up_ports(below, self.spine_oversubscription, "spine_oversubscription")?,
        };
        let of_pod = spines.checked_mul(spine_up).ok_or(FabricError::TooLarge { what: "ports" })?;
        let cores = match self.cores {
            Some(cores) => cores,
            None if self.pods > 1 => fewest_cores(self.pods, of_pod, self.core_ports).ok_or_else(|| {
                let accepted =
                    format!("pods do not fit under cores of {} ports: write fewer", self.core_ports);
                FabricError::range("pods", self.pods, accepted)
            })?,
            None => 0,
        };
        Ok(self.delays.over(ClosSpec {
            pods: self.pods,
            segments: self.racks,
            hosts: self.hosts,
            spines,
            parallel,
            uplink,
            spine_up,
            cores,
            core_link: uplink,
            chip: self.chip.into(),
            ..ClosSpec::of("single-tor", host)
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

    /// R racks of h hosts of 8 NICs at ratio r: 8 h / r uplinks and spines, R × 8 h access cables.
    #[test]
    fn counts_follow_from_racks_and_ratio() {
        for (ratio, uplinks) in [(1.0, 32), (2.0, 16), (4.0, 8), (3.0, 11)] {
            let racks = SingleTor { oversubscription: ratio, ..SingleTor::default() };
            let report = DesignReport::of(&racks.build().unwrap());
            let leaf = &report.tiers[0];
            assert_eq!((leaf.switches, leaf.down_ports, leaf.up_ports), (16, 32, uplinks));
            assert_eq!((report.tiers[1].switches, report.tiers[1].down_ports), (uplinks, 16));
            assert_eq!((report.cables_access, report.cables_leaf_spine), (512, 16 * uplinks));
            assert!(leaf.oversubscription.unwrap() <= ratio);
            assert_eq!((report.leaves_per_host, report.leaf_single_points_of_failure), (1, 16));
        }
        let dual = HostSpec::named("hgx-h100");
        let report = DesignReport::of(&SingleTor { host: dual, ..SingleTor::default() }.build().unwrap());
        assert_eq!((report.tiers[0].down_ports, report.leaves_per_host), (64, 1));
    }

    #[test]
    fn pods_meet_over_cores() {
        let pods = SingleTor { pods: 4, spines: Some(8), ..SingleTor::default() };
        let report = DesignReport::of(&pods.build().unwrap());
        let switches: Vec<u32> = report.tiers.iter().map(|tier| tier.switches).collect();
        // 8 spines of 64 ports down and up in a pod: 4 × 512 uplinks on cores of 64 ports.
        assert_eq!(switches, [64, 32, 32]);
        assert_eq!(report.tiers[2].down_ports, 64);
    }
}

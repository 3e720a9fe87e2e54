//! Meta's first RoCE network.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::ClosSpec;
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, SWITCHES};

railtwin_units::section! {
    /// Meta's generation 0 (Meta RoCE section 3.3): a star of hosts on one central switch. RoCEv1 is not routed, so all
    /// ports of a switch are one domain of layer 2, and nothing leads from one switch to another.
    ///
    /// The paper prints no counts; 16 hosts fill a switch of 25.6 Tbps.
    #[derive(Clone, PartialEq, Debug)]
    pub struct GenerationZero "[fabric]" sparse {
        /// Active hosts.
        pub hosts: u32 [whole(1..=HOSTS)] = 16,
        /// Switches, each with an equal share of the NICs of every host.
        pub switches: u32 [whole(1..=SWITCHES)] = 1,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default zion-ex.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for GenerationZero {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::zion_ex())?;
        let nics = host.nics;
        if self.switches == 0 || !nics.is_multiple_of(self.switches) {
            let accepted = format!("switches share the {nics} NICs of a host: write a divisor of {nics}");
            return Err(FabricError::range("switches", self.switches, accepted));
        }
        Ok(self.delays.over(ClosSpec {
            hosts: self.hosts,
            rails_per_leaf: nics / self.switches,
            chip: self.chip.into(),
            ..ClosSpec::of("generation-0", host)
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
    use crate::reach::Reach;

    #[test]
    fn a_star_has_one_switch_with_all_nics() {
        let fabric = GenerationZero::default().build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.tiers.len(), report.tiers[0].switches, report.tiers[0].down_ports), (1, 1, 128));
        assert_eq!(report.tiers[0].chip_used, Rate::from_gbps(25_600));
        assert_eq!((report.cables_access, report.cables_leaf_spine, report.path_choices), (128, 0, 1));
        assert!(Reach::of(&fabric).is_whole());
    }

    #[test]
    fn several_switches_are_domains_of_their_own() {
        let fabric = GenerationZero { switches: 4, ..GenerationZero::default() }.build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.tiers[0].switches, report.tiers[0].down_ports), (4, 32));
        assert!(!Reach::of(&fabric).is_whole());
        assert!(GenerationZero { switches: 3, ..GenerationZero::default() }.build().is_err());
    }
}

//! Aggregation blocks under spine blocks, or meshed, as Google's Jupiter.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{ClosSpec, Peers};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::{HOSTS, Layout, PORTS, SWITCHES};

railtwin_units::section! {
    /// Google's Jupiter: racks in aggregation blocks of middle blocks, which meet over spine blocks (Singh et al. 2015) or are
    /// joined directly (Poutievski et al. 2022).
    ///
    /// HPN table 1 prints 26,000 GPUs, a choice of 8 at the rack and of 256 above it; how hosts are spread over racks and
    /// blocks is not printed, and is assumed.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Jupiter "[fabric]" sparse {
        /// Aggregation blocks.
        pub blocks: u32 [whole(1..=SWITCHES)] = 65,
        /// Racks of a block, each with one leaf.
        pub racks: u32 [whole(1..=SWITCHES)] = 50,
        /// Active hosts in a rack.
        pub hosts: u32 [whole(1..=HOSTS)] = 1,
        /// Middle blocks of an aggregation block, the switches above its leaves.
        pub middle_blocks: u32 [whole(1..=SWITCHES)] = 8,
        /// Ports of a middle block away from the hosts.
        pub uplinks: u32 [whole(1..=PORTS)] = 256,
        /// Spine blocks, over which aggregation blocks meet.
        pub spine_blocks: u32 [whole(1..=SWITCHES)] = 256,
        /// Whether middle blocks of one index are joined directly instead, each to each other by an equal share of the uplinks.
        pub direct: bool = false,
        /// Capacity of cables between switches; default that of all ports of a NIC.
        pub uplink: Option<Rate> = None,
        /// Capacity of a switch chip; default the largest that there are.
        pub chip: Option<Rate> = None,
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
        /// What a host is; default hgx-h100.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for Jupiter {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let host = self.host.over(HostModel::hgx_h100())?;
        let uplink = match self.uplink {
            Some(rate) => rate,
            None => {
                let all = host.nic.port_capacity.bits_per_s().checked_mul(u64::from(host.nic.ports));
                Rate::from_bits_per_s(
                    all.ok_or(FabricError::TooLarge { what: "bits per second in one NIC" })?,
                )
            }
        };
        let others = self.blocks.saturating_sub(1);
        let share = self.uplinks.checked_div(others).unwrap_or(0);
        if self.direct && others > 0 && share == 0 {
            let accepted =
                format!("a middle block has a cable to each of {others} others: write at least as many");
            return Err(FabricError::range("uplinks", self.uplinks, accepted));
        }
        let (spine_up, cores) = if self.direct { (0, 0) } else { (self.uplinks, self.spine_blocks) };
        Ok(self.delays.over(ClosSpec {
            pods: self.blocks,
            segments: self.racks,
            hosts: self.hosts,
            spines: self.middle_blocks,
            uplink,
            spine_up,
            cores,
            core_link: uplink,
            peers: if self.direct && others > 0 { Peers::Spines(share) } else { Peers::None },
            chip: self.chip.into(),
            ..ClosSpec::of("jupiter", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }

    fn chip(&self) -> Option<Rate> {
        self.chip
    }

    fn cannot_run(&self) -> Option<&'static str> {
        self.direct.then_some("routes go up and down tiers, and blocks that are joined directly need routes from block to block")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;

    #[test]
    fn gpus_and_choices_are_those_of_the_paper() {
        let spec = Jupiter::default().spec().unwrap();
        let gpus = spec.pods * spec.segments * spec.hosts * spec.host.gpus;
        assert_eq!((gpus, spec.leaf_up(), spec.spine_up), (26_000, 8, 256));
        assert!(spec.check().is_ok());
    }

    /// B blocks of m middle blocks of u uplinks: B m u cables to the spine, or m B (B - 1) / 2 × u / (B - 1) between blocks.
    #[test]
    fn blocks_meet_over_spine_blocks_or_directly() {
        let small = Jupiter {
            blocks: 5,
            racks: 2,
            middle_blocks: 4,
            uplinks: 8,
            spine_blocks: 16,
            ..Jupiter::default()
        };
        let report = DesignReport::of(&small.build().unwrap());
        let switches: Vec<u32> = report.tiers.iter().map(|tier| tier.switches).collect();
        assert_eq!((switches, report.cables_spine_core, report.cables_peer), (vec![10, 20, 16], 160, 0));
        let direct = Jupiter { direct: true, ..small };
        assert!(direct.cannot_run().is_some());
        let fabric = direct.build().unwrap();
        let report = DesignReport::of(&fabric);
        assert_eq!((report.tiers.len(), report.cables_spine_core, report.cables_peer), (2, 0, 4 * 10 * 2));
        assert!(crate::reach::Reach::of(&fabric).is_whole());
    }
}

//! The k-ary fat-tree.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::clos::{Chip, ClosSpec, LARGEST_CHIP, LEAF_SPINE_DELAY};
use crate::delays::Delays;
use crate::error::FabricError;
use crate::host::{HostModel, NicModel};
use crate::preset::Layout;

railtwin_units::section! {
    /// The k-ary fat-tree: k pods of k/2 leaves and k/2 spines, (k/2)² cores, k³/4 hosts.
    #[derive(Clone, PartialEq, Debug)]
    pub struct FatTree "[fabric]" sparse {
        /// Ports of a switch; even.
        pub k: u32 [whole(2..=256)] = 8,
        /// Capacity of every cable.
        pub capacity: Rate = Rate::from_gbps(400),
        /// Delays of cables and switches.
        pub delays: Delays [flat] = Delays::default(),
    }
}

impl Layout for FatTree {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        if self.k < 2 || !self.k.is_multiple_of(2) || self.k > 256 {
            return Err(FabricError::range("k", self.k, "write an even number from 2 to 256"));
        }
        // One chip for every switch of it: that is what a fat-tree is for (Al-Fares et al. 2008).
        let needed = self.capacity.bits_per_s().checked_mul(u64::from(self.k)).map(Rate::from_bits_per_s);
        let needed = needed.ok_or(FabricError::TooLarge { what: "bits per second in one switch" })?;
        if needed > LARGEST_CHIP {
            let accepted = format!(
                "a switch of {} ports of {} needs {needed}, but the largest chip that there is has {LARGEST_CHIP}; \
                 lower k, or capacity",
                self.k, self.capacity
            );
            return Err(FabricError::range("k", self.k, accepted));
        }
        let half = self.k / 2;
        let mut host = HostModel::plain(self.capacity);
        host.nic = NicModel { ports: 1, port_capacity: self.capacity };
        Ok(self.delays.over(ClosSpec {
            pods: self.k,
            segments: half,
            hosts: half,
            spines: half,
            uplink: self.capacity,
            spine_up: half,
            cores: half * half,
            core_link: self.capacity,
            chip: Chip::Of(LARGEST_CHIP),
            spine_core_delay: LEAF_SPINE_DELAY,
            ..ClosSpec::of("fat-tree", host)
        }))
    }
}

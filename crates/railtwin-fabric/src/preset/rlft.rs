//! Real-life fat-trees: constant bisection of equal switches.
use railtwin_units::keys::whole;
use railtwin_units::{Rate, SimTime};

use crate::clos::{Chip, ClosSpec, LARGEST_CHIP};
use crate::delays::CableDelays;
use crate::error::FabricError;
use crate::host::HostModel;
use crate::host_spec::HostSpec;
use crate::preset::Layout;

railtwin_units::section! {
    /// A real-life fat-tree (Zahavi 2012) of equal switches whose ports are half down and half up: two stages for p²/2
    /// hosts, three for p³/4.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Rlft "[fabric]" sparse {
        /// Ports of a switch; even.
        pub ports: u32 [whole(2..=256)] = 8,
        /// Stages of switches.
        pub stages: u32 [whole(2..=3)] = 2,
        /// Capacity of every cable between switches.
        pub capacity: Rate = Rate::from_gbps(400),
        /// Delay of every cable: 10 m at the 25 ns/m of SAURON (section 4.2), which is five times that of light in fibre.
        pub delay: SimTime = SimTime::from_ns(250),
        /// Time from a packet's arrival at an idle switch to its departure.
        pub switch_latency: SimTime = SimTime::ZERO,
        /// Delays of cables, by class.
        pub delays: CableDelays [flat] = CableDelays::default(),
        /// What a host is; default plain, with as much capacity.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Layout for Rlft {
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        if self.ports < 2 || !self.ports.is_multiple_of(2) {
            return Err(FabricError::range("ports", self.ports, "write an even number from 2 to 256"));
        }
        let half = self.ports / 2;
        let host = self.host.over(HostModel::plain(self.capacity))?;
        let three = self.stages == 3;
        Ok(self.delays.over(ClosSpec {
            pods: if three { self.ports } else { 1 },
            segments: if three { half } else { self.ports },
            hosts: half,
            spines: half,
            uplink: self.capacity,
            spine_up: if three { half } else { 0 },
            cores: if three { half * half } else { 0 },
            core_link: self.capacity,
            chip: Chip::Of(LARGEST_CHIP),
            access_delay: self.delay,
            leaf_spine_delay: self.delay,
            spine_core_delay: self.delay,
            switch_latency: self.switch_latency,
            ..ClosSpec::of("rlft", host)
        }))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_paper() {
        // SAURON, tables 2 and 3: hosts and switches of two stages.
        for (ports, hosts, switches) in [(8, 32, 12), (16, 128, 24), (32, 512, 48)] {
            let fabric = Rlft { ports, ..Rlft::default() }.build().unwrap();
            assert_eq!((fabric.hosts().len(), fabric.switches().len()), (hosts, switches));
        }
        let fabric = Rlft { ports: 4, stages: 3, ..Rlft::default() }.build().unwrap();
        assert_eq!((fabric.hosts().len(), fabric.switches().len()), (16, 20));
    }
}

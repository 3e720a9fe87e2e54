//! Delays of cables and switches, which every preset takes under the same keys.
use railtwin_units::SimTime;

use crate::clos::ClosSpec;

railtwin_units::section! {
    /// Delays of cables, by class. A field that is `None` takes the preset's value.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct CableDelays "[fabric]" sparse {
        /// Delay of a cable from NIC to leaf; default as the preset has it.
        pub access_delay: Option<SimTime> = None,
        /// Delay of a cable from leaf to spine; default as the preset has it.
        pub leaf_spine_delay: Option<SimTime> = None,
        /// Delay of a cable from spine to core; default as the preset has it.
        pub spine_core_delay: Option<SimTime> = None,
    }
}

railtwin_units::section! {
    /// Delays of cables and of switches. A field that is `None` takes the preset's value.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Delays "[fabric]" sparse {
        /// Delays of cables, by class.
        pub cables: CableDelays [flat] = CableDelays::default(),
        /// Time from a packet's arrival at an idle switch to its departure; default as the preset has it.
        pub switch_latency: Option<SimTime> = None,
    }
}

impl CableDelays {
    /// A fabric with these delays where they are given.
    pub(crate) fn over(self, spec: ClosSpec) -> ClosSpec {
        ClosSpec {
            access_delay: self.access_delay.unwrap_or(spec.access_delay),
            leaf_spine_delay: self.leaf_spine_delay.unwrap_or(spec.leaf_spine_delay),
            spine_core_delay: self.spine_core_delay.unwrap_or(spec.spine_core_delay),
            ..spec
        }
    }
}

impl Delays {
    /// A fabric with these delays where they are given.
    pub(crate) fn over(self, spec: ClosSpec) -> ClosSpec {
        let spec = self.cables.over(spec);
        ClosSpec { switch_latency: self.switch_latency.unwrap_or(spec.switch_latency), ..spec }
    }
}

//! Keys of `[intranode]` that are written and change nothing beside others.
use railtwin_fabric::HostSpec;
use railtwin_units::SimTime;

use super::{
    Arrivals, IntranodeSpec, Measure, PairSpec, Pattern, PcieGeneration, PcieSpec, PcieTopology, UnitPlace,
};

/// A key that changes nothing, and beside what.
pub type Idle = (&'static str, &'static str);

impl IntranodeSpec {
    /// Keys whose value is not their default and changes nothing, in the order of the reference.
    pub fn idle(&self) -> Vec<Idle> {
        let usual = Self::default();
        let root = self.pcie.is_some_and(|pcie| pcie.topology == PcieTopology::RootComplex);
        let mut all = Vec::new();
        let mut told = |is_idle: bool, key: &'static str, why: &'static str| {
            if is_idle {
                all.push((key, why));
            }
        };
        let pair = "beside [intranode.pair], which has one sender";
        let is_pair = self.pair.is_some();
        told(is_pair && self.pattern != Pattern::C1, "intranode.pattern", pair);
        told(is_pair && self.arrivals != Arrivals::Even, "intranode.arrivals", pair);
        told(is_pair && self.queue != usual.queue, "intranode.queue", pair);
        told(is_pair && self.duration != usual.duration, "intranode.duration", "a pair sends its messages");
        told(is_pair && self.warm_up != usual.warm_up, "intranode.warm_up", "a pair counts from its first");
        told(is_pair && self.longest.is_some(), "intranode.longest", "a pair sends its messages");
        told(is_pair && self.arbiter != usual.arbiter, "intranode.arbiter", pair);
        told(is_pair && self.crossings != usual.crossings, "intranode.crossings", pair);
        let by_share = !is_pair && self.inter.is_some() && self.pattern != Pattern::C1;
        told(by_share, "intranode.pattern", "intranode.inter says what leaves hosts");
        let why = match self.pcie {
            Some(_) => "[intranode.pcie] has max_payload and tlp_overhead",
            None => "packets keep their size where conversion is false",
        };
        let fixed = self.pcie.is_some() || !self.conversion;
        told(fixed && self.header != usual.header, "intranode.header", why);
        told(fixed && self.payload != usual.payload, "intranode.payload", why);
        let one_size = "packets inside hosts have the size of those between them";
        told(!self.converts() && self.pack != usual.pack, "intranode.pack", one_size);
        told(!self.converts() && self.unpack != usual.unpack, "intranode.unpack", one_size);
        if let Some(pcie) = self.pcie {
            let usual = PcieSpec::default();
            let flits = matches!(pcie.generation, PcieGeneration::Gen6 | PcieGeneration::Gen7);
            let place = "flits of generations 6 and 7 have a place for ACKs";
            told(flits && pcie.dllp != usual.dllp, "intranode.pcie.dllp", place);
            told(flits && pcie.ack_factor != usual.ack_factor, "intranode.pcie.ack_factor", place);
            let switch = "topology is switch";
            let waits = pcie.root_latency != usual.root_latency;
            told(!root && waits, "intranode.pcie.root_latency", switch);
            told(!root && pcie.root_rate.is_some(), "intranode.pcie.root_rate", switch);
        }
        if let Some(PairSpec { measure, gap, overhead, .. }) = self.pair {
            let (bandwidth, latency) = (measure == Measure::Bandwidth, measure == Measure::Latency);
            let behind = "a bandwidth counts from the first message to the last: write measure = \"latency\"";
            let alone = "a latency is of one message at a time: write measure = \"bandwidth\"";
            told(latency && gap > SimTime::ZERO, "intranode.pair.gap", alone);
            told(bandwidth && overhead > SimTime::ZERO, "intranode.pair.overhead", behind);
        }
        let at_cpu = self.units.is_some_and(|units| units.place == UnitPlace::Cpu);
        let no_root = "no root complex is between: write [intranode.pcie] topology = \"root-complex\"";
        told(!root && at_cpu, "intranode.units.place", no_root);
        all
    }

    /// Keys of `[fabric.host]` that are written and that traffic inside hosts does not read; `nvlink` says whether hosts have
    /// it.
    pub fn idle_of_host(&self, host: &HostSpec, nvlink: bool) -> Vec<Idle> {
        let delay = "links inside hosts have intranode.link_delay";
        let one = "GPUs of a host in [intranode] are around one switch";
        let capacity = match (self.pcie, self.link) {
            (Some(_), _) => Some("links inside hosts are those of [intranode.pcie]"),
            (None, Some(_)) => Some("links inside hosts have intranode.link"),
            (None, None) => nvlink.then_some("links inside hosts have fabric.host.nvlink"),
        };
        [
            ("fabric.host.nvlink_delay", host.nvlink_delay.is_some(), Some(delay)),
            ("fabric.host.pcie", host.pcie.is_some(), capacity),
            ("fabric.host.pcie_delay", host.pcie_delay.is_some(), Some(delay)),
            ("fabric.host.pcie_switches", host.pcie_switches.is_some() && nvlink, Some(one)),
            (
                "fabric.host.gpu_memory",
                host.gpu_memory.is_some(),
                Some("messages of [intranode] need no memory"),
            ),
            ("fabric.host.caps", host.caps.is_some(), Some("[intranode] has messages and no collectives")),
            ("fabric.host.costs", !host.costs.is_off(), Some("[intranode] has messages and no collectives")),
        ]
        .into_iter()
        .filter_map(|(key, is_written, why)| is_written.then_some((key, why?)))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use railtwin_units::{Bytes, Rate};

    use super::*;
    use crate::intranode::{Arbiter, Crossings, UnitsSpec};

    fn keys(spec: &IntranodeSpec) -> Vec<&'static str> {
        spec.idle().into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn what_changes_nothing_is_told_and_nothing_else() {
        let usual = IntranodeSpec::default();
        assert_eq!(keys(&usual), Vec::<&str>::new());
        let written = IntranodeSpec {
            payload: Bytes(256),
            unpack: SimTime::from_ns(8),
            inter: Some(0.3),
            arrivals: Arrivals::Poisson,
            ..usual
        };
        assert_eq!(keys(&written), Vec::<&str>::new());
        let of_one_size = IntranodeSpec { conversion: false, pattern: Pattern::C3, ..written };
        assert_eq!(keys(&of_one_size), ["intranode.pattern", "intranode.payload", "intranode.unpack"]);
        let pair = IntranodeSpec { pair: Some(PairSpec::default()), inter: None, ..written };
        assert_eq!(keys(&pair), ["intranode.arrivals"]);
    }

    /// One sender meets nobody at a switch; a bandwidth leaves out what is before the first byte, a latency what is between
    /// messages.
    #[test]
    fn a_pair_has_no_others_and_one_measure() {
        let time = SimTime::from_ns(300);
        let of = |measure| {
            let pair = PairSpec { measure, gap: time, overhead: time, ..PairSpec::default() };
            let spec = IntranodeSpec {
                pair: Some(pair),
                arbiter: Arbiter::Age,
                crossings: Crossings::One,
                ..IntranodeSpec::default()
            };
            keys(&spec)
        };
        let switches = ["intranode.arbiter", "intranode.crossings"];
        assert_eq!(of(Measure::Bandwidth), [&switches[..], &["intranode.pair.overhead"]].concat());
        assert_eq!(of(Measure::Latency), [&switches[..], &["intranode.pair.gap"]].concat());
    }

    #[test]
    fn a_switch_has_no_root_and_flits_no_acks() {
        let pcie = PcieSpec {
            root_latency: SimTime::from_ns(100),
            root_rate: Some(Rate::from_gbps(100)),
            ack_factor: 8,
            ..PcieSpec::default()
        };
        let units = Some(UnitsSpec { place: UnitPlace::Cpu, to: 0.1, ..UnitsSpec::default() });
        let spec = IntranodeSpec { pcie: Some(pcie), units, ..IntranodeSpec::default() };
        let of_root = ["intranode.pcie.root_latency", "intranode.pcie.root_rate", "intranode.units.place"];
        assert_eq!(keys(&spec), of_root);
        let root = PcieSpec { topology: PcieTopology::RootComplex, generation: PcieGeneration::Gen6, ..pcie };
        let spec = IntranodeSpec { pcie: Some(root), header: Bytes(0), ..spec };
        assert_eq!(keys(&spec), ["intranode.header", "intranode.pcie.ack_factor"]);
    }
}

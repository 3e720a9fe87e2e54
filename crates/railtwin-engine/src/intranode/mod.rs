//! Inside hosts: what a scenario asks of GPUs around a switch of their own and of the NIC between that switch and the
//! network, and what a run of it leaves behind.
//!
//! The model is SAURON's (Tarraga-Moreno et al., "On the Impact of Intra-node Communication in the Performance of
//! Supercomputer and Data Center Interconnection Networks", sections 3 and 4); [`pcie`] is its equation 1.
mod contradictions;
mod destinations;
mod idle;
mod log;
mod overhead;
mod pcie;
mod units;

pub use contradictions::Contradiction;
pub use destinations::{Destinations, HotspotSpec};
pub use idle::Idle;
pub use log::{Components, IntranodeLog, Latencies, PARTS, UnitsLog};
pub use overhead::{modelled_throughput, traffic_overhead};
pub use pcie::{PcieGeneration, PcieSpec, PcieTopology};
pub use units::{UnitPlace, UnitsSpec};

use railtwin_fabric::HostModel;
use railtwin_units::keys::{Kind, sizes, whole};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::packet::MOST_BYTES;

railtwin_units::choice! {
    /// What share of messages leaves the host (SAURON section 3.4).
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Pattern {
        /// 20 %: tensor parallelism over hosts.
        #[default]
        C1 = "c1",
        /// 15 %.
        C2 = "c2",
        /// 10 %.
        C3 = "c3",
        /// 5 %: pipeline stages alone.
        C4 = "c4",
        /// None: data parallelism inside hosts.
        C5 = "c5",
    }
}

impl Pattern {
    /// Share of messages for other hosts, 0..1.
    pub const fn inter(self) -> f64 {
        match self {
            Self::C1 => 0.20,
            Self::C2 => 0.15,
            Self::C3 => 0.10,
            Self::C4 => 0.05,
            Self::C5 => 0.0,
        }
    }
}

railtwin_units::choice! {
    /// Whom an output of a switch picks among the inputs that ask for it, and an input among the outputs that grant.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Arbiter {
        /// The next in turn (iSLIP, McKeown 1999).
        #[default]
        RoundRobin = "round-robin",
        /// The one whose packet has waited longest at the switch.
        Age = "age",
    }
}

railtwin_units::choice! {
    /// To how many outputs an input of a switch sends at once.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Crossings {
        /// To each output that picks it, each a packet of its own: its buffer is read as often as it is asked. SAURON
        /// section 4.2 says of each output that it picks by itself, and of no step in which an input accepts one of several.
        #[default]
        Several = "several",
        /// To one, as a crossbar without speedup does: of several outputs that pick it an input accepts one (iSLIP).
        One = "one",
    }
}

railtwin_units::choice! {
    /// When GPUs make their next message.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Arrivals {
        /// At equal distances, each GPU with a phase of its own.
        #[default]
        Even = "even",
        /// At exponential distances.
        Poisson = "poisson",
    }
}

railtwin_units::section! {
    /// Traffic of GPUs inside hosts and between them, in place of `[[job]]`: packets with credits over the switch in each
    /// host, the NIC that converts them, and the fabric. For `railtwin intranode`.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct IntranodeSpec "[intranode]" {
        /// What share of messages leaves the host.
        pub pattern: Pattern = Pattern::C1,
        /// The same as a number; default that of the pattern.
        pub inter: Option<f64> [Kind::UpTo(1.0)] = None,
        /// Whom messages are for.
        #[key(sparse)]
        pub destinations: Destinations = Destinations::Uniform,
        /// With `destinations = "permutation"` how many hosts on the target is; default by lot.
        pub shift: Option<u32> [whole(1..=16_777_215)] = None,
        /// What each GPU offers, as a share of its link: bytes on the wire, headers in.
        pub load: f64 [Kind::Share(0.0, 1.0)] = 1.0,
        /// Payload of a message.
        pub message: Bytes [sizes(1..=1 << 30)] = Bytes(4032),
        /// When the next message comes.
        pub arrivals: Arrivals = Arrivals::Even,
        /// Most bytes of messages that wait at a GPU, or one message: what comes then is refused and counted.
        pub queue: Bytes [sizes(1..=MOST_BYTES)] = Bytes(128 << 10),
        /// Simulated time.
        pub duration: SimTime [Kind::Span] = SimTime::from_ns(2_500_000),
        /// Time before anything is counted.
        pub warm_up: SimTime = SimTime::from_ns(500_000),
        /// Longest `duration` of a point that has not settled: more than 2 % of the offer came to stand in queues, latencies
        /// of both halves of the time that is counted differ, or a message took longer than `warm_up`. It runs on with both
        /// twice as long, as often as it takes; default once.
        pub longest: Option<SimTime> [Kind::Span] = None,
        /// Capacity of each link of the switch in a host: to its GPUs and to its NIC; default the host's NVLink, or its PCIe
        /// where there is none.
        pub link: Option<Rate> = None,
        /// Delay of such a link.
        pub link_delay: SimTime = SimTime::ZERO,
        /// Whether packets inside the host have a size of their own, `header` and `payload`, which NICs convert; else they have
        /// that of packets between hosts, and these two are of no effect.
        #[key(sparse)]
        pub conversion: bool = true,
        /// Header of a packet inside the host.
        pub header: Bytes [sizes(0..=4096)] = Bytes(20),
        /// Most payload of a packet inside the host.
        pub payload: Bytes [sizes(1..=65_535)] = Bytes(128),
        /// Header of a packet between hosts.
        pub inter_header: Bytes [sizes(0..=4096)] = Bytes(64),
        /// Most payload of a packet between hosts.
        pub inter_payload: Bytes [sizes(1..=65_535)] = Bytes(4032),
        /// Time of the source NIC for each packet of the host that it packs.
        pub pack: SimTime = SimTime::ZERO,
        /// Time of the target NIC for each packet of the host that it makes of one between hosts; none where both kinds are
        /// of one size.
        pub unpack: SimTime = SimTime::ZERO,
        /// Buffer of each input port of switches and NICs.
        pub buffer: Bytes [sizes(1..=MOST_BYTES)] = Bytes(128 << 10),
        /// Who goes first in all switches.
        pub arbiter: Arbiter = Arbiter::RoundRobin,
        /// To how many outputs an input of any switch sends at once.
        pub crossings: Crossings = Crossings::Several,
        /// PCIe in place of `link`, `header` and `payload`.
        pub pcie: Option<PcieSpec> = None,
        /// One pair of hosts in place of pattern and load.
        pub pair: Option<PairSpec> = None,
        /// With `destinations = "hotspot"` where it is.
        pub hotspot: Option<HotspotSpec> = None,
        /// Functional units beside the GPUs of each host; default none.
        pub units: Option<UnitsSpec> = None,
    }
}

railtwin_units::choice! {
    /// What is measured between two hosts, as perftest does it.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Measure {
        /// Messages one behind the other.
        #[default]
        Bandwidth = "bandwidth",
        /// One message at a time.
        Latency = "latency",
    }
}

railtwin_units::section! {
    /// GPU 0 of the first host sends to GPU 0 of the second, and nobody else does: `ib_write_bw` and `ib_write_lat`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct PairSpec "[intranode.pair]" {
        /// What is measured.
        pub measure: Measure = Measure::Bandwidth,
        /// Messages.
        pub messages: u32 [whole(1..=1_000_000)] = 100,
        /// Least time between the starts of two messages: the inverse of the message rate of host and NIC.
        pub gap: SimTime = SimTime::ZERO,
        /// Time from the posting of a message until its first byte leaves, and from its last byte until the receiver knows.
        pub overhead: SimTime = SimTime::ZERO,
    }
}

impl IntranodeSpec {
    /// Share of messages for other hosts, 0..1.
    pub fn inter_share(&self) -> f64 {
        self.inter.unwrap_or(self.pattern.inter())
    }

    /// Header and payload of a packet inside the host, and the time that each packet takes beside its bytes, ps.
    pub fn packet(&self) -> (u64, u64, f64) {
        match &self.pcie {
            None if !self.conversion => (self.inter_header.0, self.inter_payload.0, 0.0),
            Some(pcie) => (pcie.tlp_overhead.0, pcie.max_payload.0, pcie.acknowledgement_ps()),
            None => (self.header.0, self.payload.0, 0.0),
        }
    }

    /// Capacity of each link of the switch in a host.
    pub fn link_rate(&self, host: &HostModel) -> Rate {
        let said = self.pcie.map(|pcie| pcie.rate()).or(self.link);
        said.unwrap_or(host.nvlink.unwrap_or(host.pcie))
    }

    /// Whether NICs convert packets.
    pub fn converts(&self) -> bool {
        let (header, payload, _) = self.packet();
        (header, payload) != (self.inter_header.0, self.inter_payload.0)
    }

    /// Least buffer with which nothing can stand still for ever: at a NIC a packet between hosts of which each of `gpus`
    /// GPUs has sent a part, and one packet more; elsewhere two full packets.
    pub fn least_buffer(&self, gpus: u32) -> u64 {
        let (header, payload, _) = self.packet();
        let parts = (self.inter_payload.0 / payload).max(1) + 1;
        let at_nic = (u64::from(gpus) + 1) * parts * (header + payload);
        at_nic.max(2 * (self.inter_header.0 + self.inter_payload.0)).max(2 * (header + payload))
    }
}

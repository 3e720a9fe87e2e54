//! Who slows senders down: the keys of each control, and what it needs of switches, NICs and transports.
use railtwin_units::keys::{Kind, sizes, whole};
use railtwin_units::{Bytes, Rate, SimTime};

use super::MOST_BYTES;

railtwin_units::variants! {
    /// Who slows a sender down before switches pause it.
    ///
    /// One more is its keys in a `section!`, a line here, what it needs in [`CongestionControl::needs`], and the
    /// control itself in `congestion` of the packet engine.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub enum CongestionControl "`congestion_control`" by "kind", "Who slows senders down.",
        or alone, else as "{ kind = \"dcqcn\", gain = 0.004 }"
    {
        /// Nobody.
        None = "none",
        /// DCQCN.
        Dcqcn(Dcqcn) = "dcqcn",
        /// HPCC.
        Hpcc(Hpcc) = "hpcc",
        /// Windows over sprayed packets; lost ones are sent again one by one.
        Trimmed(Trimmed) = "trimmed",
    }
}

/// What a congestion control asks of all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Switches mark packets by their queues.
    pub marks: bool,
    /// Switches trim packets for which there is no room.
    pub trimming: bool,
    /// Receivers answer marked packets with congestion notification packets.
    pub notifications: bool,
    /// Switches write into packets how full their links are.
    pub telemetry: bool,
    /// Receivers take packets in any order and acknowledge each; only what was lost is sent again.
    pub selective: bool,
}

impl CongestionControl {
    /// What it asks of all others.
    pub const fn needs(&self) -> Needs {
        const NOTHING: Needs =
            Needs { marks: false, trimming: false, notifications: false, telemetry: false, selective: false };
        match self {
            Self::None => NOTHING,
            Self::Dcqcn(_) => Needs { marks: true, notifications: true, ..NOTHING },
            Self::Hpcc(_) => Needs { telemetry: true, ..NOTHING },
            Self::Trimmed(_) => Needs { trimming: true, selective: true, ..NOTHING },
        }
    }
}

railtwin_units::section! {
    /// DCQCN's reaction point, with the defaults of Zhu et al. 2015.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Dcqcn "`congestion_control`" {
        /// Gain of the estimate alpha, 1/256 as published.
        pub gain: f64 = 1.0 / 256.0,
        /// Time without a CNP after which alpha decays.
        pub alpha_timer: SimTime [Kind::Span] = SimTime::from_ns(55_000),
        /// Time between increases of the rate.
        pub increase_timer: SimTime [Kind::Span] = SimTime::from_ns(55_000),
        /// Bytes between increases of the rate.
        pub byte_counter: Bytes [sizes(1..=MOST_BYTES)] = Bytes(10_000_000),
        /// Rounds of fast recovery.
        pub recovery_rounds: u32 [whole(1..=1000)] = 5,
        /// Step of additive increase.
        pub additive: Rate = Rate::from_bits_per_s(40_000_000),
        /// Step of hyper increase.
        pub hyper: Rate = Rate::from_bits_per_s(400_000_000),
        /// The least rate.
        pub minimum: Rate = Rate::from_bits_per_s(40_000_000),
    }
}

railtwin_units::section! {
    /// HPCC (Li et al. 2019): windows from telemetry that every hop writes into packets.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Hpcc "`congestion_control`" {
        /// Utilization aimed at.
        pub target: f64 = 0.95,
        /// Rounds of additive increase before the next multiplicative one.
        pub stages: u32 [whole(0..=1000)] = 5,
        /// Step of additive increase.
        pub additive: Rate = Rate::from_bits_per_s(50_000_000),
    }
}

railtwin_units::section! {
    /// Window for sprayed packets over switches that trim (as Ultra Ethernet's sender-based control does): one window
    /// of additive increase a round trip, less in proportion to marked packets, less by a packet for each trimmed one.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Trimmed "`congestion_control`" {
        /// First and greatest window in bandwidth-delay products of the path.
        pub window: f64 [Kind::Share(0.0, 1000.0)] = 1.25,
        /// Increase for each round trip without marks, in packets.
        pub additive: f64 [Kind::Share(0.0, 1e6)] = 1.0,
        /// Share of a marked packet by which the window shrinks.
        pub decrease: f64 = 0.5,
    }
}

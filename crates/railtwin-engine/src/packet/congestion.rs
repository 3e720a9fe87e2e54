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
        /// A window of additive increase and multiplicative decrease; lost packets are sent again one by one.
        Aimd(Aimd) = "aimd",
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
            Self::Aimd(_) => Needs { trimming: true, selective: true, ..NOTHING },
        }
    }
}

railtwin_units::choice! {
    /// Whose DCQCN: where its settings and its rules come from.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum DcqcnPreset {
        /// As NICs are shipped: the defaults of NVIDIA ConnectX-4 and later (NVIDIA, «DCQCN CC parameters»).
        Connectx = "connectx",
        /// As published (Zhu et al. 2015, sections 3 and 5).
        Published = "dcqcn-2015",
    }
}

railtwin_units::choice! {
    /// When a cut lowers the target that the rate recovers to.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum ClampTarget {
        /// At each cut, as equation 1 of Zhu et al. 2015 reads (NICs call it `CLAMP_TGT_RATE`).
        Always = "always",
        /// Only where the increase timer has run out since the last cut (`CLAMP_TGT_RATE_AFTER_TIME_INC`).
        AfterIncrease = "after-increase",
    }
}

railtwin_units::choice! {
    /// When the estimate alpha rises.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum AlphaUpdate {
        /// With each CNP, which starts the timer of its decay anew (Zhu et al. 2015, equations 1 and 2).
        Notification = "notification",
        /// Once for each period of `alpha_timer` in which a CNP came, as NICs do.
        Period = "period",
    }
}

railtwin_units::section! {
    /// DCQCN's reaction point. What is not written is as the preset has it.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Dcqcn "`congestion_control`" {
        /// Whose settings hold where none is written.
        pub preset: DcqcnPreset = DcqcnPreset::Connectx,
        /// Gain g of the estimate alpha; connectx 5/1024, dcqcn-2015 1/256.
        pub gain: Option<f64> = None,
        /// Time without a CNP after which alpha decays; connectx 1 us, dcqcn-2015 55 us.
        pub alpha_timer: Option<SimTime> [Kind::Span] = None,
        /// When alpha rises; connectx period, dcqcn-2015 notification.
        pub alpha_update: Option<AlphaUpdate> = None,
        /// Least time between two cuts; connectx 4 us, dcqcn-2015 0.
        pub cut_interval: Option<SimTime> = None,
        /// When a cut lowers the target; connectx after-increase, dcqcn-2015 always.
        pub clamp_target: Option<ClampTarget> = None,
        /// Time between increases of the rate; connectx 300 us, dcqcn-2015 55 us.
        pub increase_timer: Option<SimTime> [Kind::Span] = None,
        /// Bytes between increases of the rate; connectx 32.767 MB, dcqcn-2015 10 MB.
        pub byte_counter: Option<Bytes> [sizes(1..=MOST_BYTES)] = None,
        /// Rounds of fast recovery; connectx 1, dcqcn-2015 5.
        pub recovery_rounds: Option<u32> [whole(1..=1000)] = None,
        /// Step of additive increase; connectx 5 Mbps, dcqcn-2015 40 Mbps.
        pub additive: Option<Rate> = None,
        /// Step of hyper increase; connectx 50 Mbps, dcqcn-2015 400 Mbps.
        pub hyper: Option<Rate> = None,
        /// The least rate; connectx 1 Mbps, dcqcn-2015 40 Mbps.
        pub minimum: Option<Rate> = None,
        /// Most bytes in flight at the rate of the line, and less in proportion to the rate, as in simulations with
        /// HPCC's authors' code; default no such window, as NICs have none.
        pub window: Option<Bytes> [sizes(1..=MOST_BYTES)] = None,
    }
}

/// DCQCN's reaction point with every setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcqcnLaw {
    /// `g` of equations 1 and 2.
    pub gain: f64,
    /// Timer of alpha.
    pub alpha_timer: SimTime,
    /// When alpha rises.
    pub alpha_update: AlphaUpdate,
    /// Least time between two cuts.
    pub cut_interval: SimTime,
    /// When a cut lowers the target.
    pub clamp_target: ClampTarget,
    /// `T`: time between increases.
    pub increase_timer: SimTime,
    /// `B`: bytes between increases.
    pub byte_counter: Bytes,
    /// `F`: rounds of fast recovery.
    pub recovery_rounds: u32,
    /// `R_AI`.
    pub additive: Rate,
    /// `R_HAI`.
    pub hyper: Rate,
    /// The least rate.
    pub minimum: Rate,
    /// Most bytes in flight at the rate of the line.
    pub window: Option<Bytes>,
}

impl DcqcnLaw {
    /// Zhu et al. 2015: settings of section 5 and of the deployment in section 6. The paper gives no `R_HAI` and no
    /// least rate: ten steps of additive increase, and one.
    pub const PUBLISHED: Self = Self {
        gain: 1.0 / 256.0,
        alpha_timer: SimTime::from_ns(55_000),
        alpha_update: AlphaUpdate::Notification,
        cut_interval: SimTime::ZERO,
        clamp_target: ClampTarget::Always,
        increase_timer: SimTime::from_ns(55_000),
        byte_counter: Bytes(10_000_000),
        recovery_rounds: 5,
        additive: Rate::from_bits_per_s(40_000_000),
        hyper: Rate::from_bits_per_s(400_000_000),
        minimum: Rate::from_bits_per_s(40_000_000),
        window: None,
    };
    /// NVIDIA's list of parameters, by name there: `DCE_TCP_G` 1019 of 1024 stays, `DCE_TCP_RTT` 1 us,
    /// `RATE_REDUCE_MONITOR_PERIOD` 4 us, `CLAMP_TGT_RATE` off, `CLAMP_TGT_RATE_AFTER_TIME_INC` on, `RPG_TIME_RESET`
    /// 300 us, `RPG_BYTE_RESET` 32767, `RPG_THRESHOLD` 1, `RPG_AI_RATE` 5, `RPG_HAI_RATE` 50 and `RPG_MIN_RATE` 1 Mb/s.
    /// `RPG_GD` 11 is the half of equation 1, and `RPG_MIN_DEC_FAC` 50 % never binds beside it. `RPG_BYTE_RESET` counts
    /// thousands of bytes: its former default of 150 is the 150,000 octets of IEEE 802.1Qau, table 12-19.
    pub const CONNECTX: Self = Self {
        gain: 5.0 / 1024.0,
        alpha_timer: SimTime::from_ns(1_000),
        alpha_update: AlphaUpdate::Period,
        cut_interval: SimTime::from_ns(4_000),
        clamp_target: ClampTarget::AfterIncrease,
        increase_timer: SimTime::from_ns(300_000),
        byte_counter: Bytes(32_767_000),
        recovery_rounds: 1,
        additive: Rate::from_bits_per_s(5_000_000),
        hyper: Rate::from_bits_per_s(50_000_000),
        minimum: Rate::from_bits_per_s(1_000_000),
        window: None,
    };
}

impl Dcqcn {
    /// The settings: what is written, else the preset's.
    pub fn law(&self) -> DcqcnLaw {
        let base = match self.preset {
            DcqcnPreset::Connectx => DcqcnLaw::CONNECTX,
            DcqcnPreset::Published => DcqcnLaw::PUBLISHED,
        };
        DcqcnLaw {
            gain: self.gain.unwrap_or(base.gain),
            alpha_timer: self.alpha_timer.unwrap_or(base.alpha_timer),
            alpha_update: self.alpha_update.unwrap_or(base.alpha_update),
            cut_interval: self.cut_interval.unwrap_or(base.cut_interval),
            clamp_target: self.clamp_target.unwrap_or(base.clamp_target),
            increase_timer: self.increase_timer.unwrap_or(base.increase_timer),
            byte_counter: self.byte_counter.unwrap_or(base.byte_counter),
            recovery_rounds: self.recovery_rounds.unwrap_or(base.recovery_rounds),
            additive: self.additive.unwrap_or(base.additive),
            hyper: self.hyper.unwrap_or(base.hyper),
            minimum: self.minimum.unwrap_or(base.minimum),
            window: self.window,
        }
    }

    /// Least time between two CNPs for one queue pair, of the preset: N of Zhu et al. 2015, section 3.2, 50 us;
    /// `MIN_TIME_BETWEEN_CNPS` 4 us.
    pub const fn cnp_interval(&self) -> SimTime {
        match self.preset {
            DcqcnPreset::Connectx => SimTime::from_ns(4_000),
            DcqcnPreset::Published => SimTime::from_ns(50_000),
        }
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
    /// Additive increase, multiplicative decrease (Chiu and Jain 1989) of a window, for sprayed packets over switches
    /// that trim: some packets more for each round trip, less in proportion to marked packets, less by a packet for
    /// each trimmed one. It is not Ultra Ethernet's NSCC, which goes by the delay as well.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Aimd "`congestion_control`" {
        /// First and greatest window in bandwidth-delay products of the path.
        pub window: f64 [Kind::Share(0.0, 1000.0)] = 1.25,
        /// Increase for each round trip without marks, in packets.
        pub additive: f64 [Kind::Share(0.0, 1e6)] = 1.0,
        /// Share of a marked packet by which the window shrinks.
        pub decrease: f64 = 0.5,
    }
}

//! What only packets ask of a case: the wire, switch buffers, congestion control, admission, what goes wrong with
//! packets. The flow engine reads none of it.
//!
//! Defaults are those of a RoCE fabric that runs PFC only, as Meta runs 400G (Meta RoCE section 5.2.1).
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::{Rate, SimTime};

/// How payload is wrapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Payload of a full packet, bytes.
    pub payload: u32,
    /// Bytes on the wire beside the payload of each data packet.
    pub header: u32,
    /// Bytes on the wire of a packet without payload: acknowledgement, CNP, clear-to-send, trimmed header.
    pub control: u32,
}

impl Default for Wire {
    /// RoCE v2 with 4,096 B of payload: Ethernet 14 and 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4; an
    /// acknowledgement has 4 B of AETH more.
    fn default() -> Self {
        Self { payload: 4096, header: 82, control: 86 }
    }
}

/// How a switch holds packets that wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Buffer {
    /// One pool for all ports: an ingress port may use its reserve, and of the rest `alpha` times what is free.
    Shared {
        /// Bytes of the pool.
        bytes: u64,
        /// Bytes that each ingress port has for itself.
        reserved: u64,
        /// Share of the free pool that one ingress port may take before it pauses its neighbor.
        alpha: f64,
    },
    /// Carved per ingress port (deep-buffer spines, Meta RoCE section 5.2.3).
    Carved {
        /// Bytes of each ingress port.
        bytes: u64,
    },
}

/// Priority flow control (IEEE 802.1Qbb) towards the neighbors of a switch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pfc {
    /// Bytes beyond the threshold that arrive while the pause travels; none = from delay, rate and response time.
    pub headroom: Option<u64>,
    /// Bytes below the threshold at which a paused neighbor may go on.
    pub resume_offset: u64,
    /// Time from the arrival of a pause frame until the neighbor stops.
    pub response: SimTime,
}

/// Marking at egress by the length of the queue (RED on ECN; DCQCN's congestion point, Zhu et al. 2015).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ecn {
    /// Bytes up to which nothing is marked.
    pub min: u64,
    /// Bytes from which everything is marked.
    pub max: u64,
    /// Probability just below `max`.
    pub probability: f64,
}

/// Virtual output queues whose packets cross the switch only when the egress has granted them (Meta RoCE section 6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credit {
    /// From the request of an ingress port until the grant of the egress is there.
    pub latency: SimTime,
    /// Bytes that a queue is granted without asking, and again after it was idle for a credit latency.
    pub initial: u64,
    /// Factor by which grants grow from one round to the next while a queue has a backlog.
    pub ramp: u32,
}

/// One tier's switches.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SwitchModel {
    /// Where packets wait.
    pub buffer: Buffer,
    /// Pause frames; none = what does not fit is dropped.
    pub pfc: Option<Pfc>,
    /// Marking; none = never.
    pub ecn: Option<Ecn>,
    /// Egress queue, in bytes, beyond which a packet loses its payload and its header goes on with high priority
    /// (trimming); none = never.
    pub trim: Option<u64>,
    /// Virtual output queues with credits; none = packets cross at once.
    pub credit: Option<Credit>,
    /// Whether a packet leaves while it still arrives, where the egress is no faster than the ingress.
    pub cut_through: bool,
}

impl SwitchModel {
    /// A leaf with a shallow buffer shared by all ports: 64 MB, as in chips of 12.8 to 51.2 Tbps.
    pub const LEAF: Self = Self {
        buffer: Buffer::Shared { bytes: 64_000_000, reserved: 10_000, alpha: 0.125 },
        pfc: Some(Pfc { headroom: None, resume_offset: 20_000, response: SimTime::from_ns(500) }),
        ecn: None,
        trim: None,
        credit: None,
        cut_through: false,
    };
    /// A spine with a deep buffer carved per port.
    pub const DEEP: Self = Self { buffer: Buffer::Carved { bytes: 16_000_000 }, ..Self::LEAF };
}

/// A NIC's own limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NicModel {
    /// Bytes that wait for PCIe on the receiving side before the NIC pauses its leaf.
    pub receive_buffer: u64,
    /// Time between two CNPs for one queue pair (DCQCN's notification point).
    pub cnp_interval: SimTime,
}

impl Default for NicModel {
    fn default() -> Self {
        Self { receive_buffer: 1_000_000, cnp_interval: SimTime::from_ns(50_000) }
    }
}

/// DCQCN's reaction point, with the defaults of Zhu et al. 2015.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dcqcn {
    /// Gain `g` of the estimate `alpha`.
    pub gain: f64,
    /// Time without a CNP after which `alpha` decays.
    pub alpha_timer: SimTime,
    /// Time between increases of the rate.
    pub increase_timer: SimTime,
    /// Bytes between increases of the rate.
    pub byte_counter: u64,
    /// Rounds of fast recovery, `F`.
    pub recovery_rounds: u32,
    /// Step of additive increase.
    pub additive: Rate,
    /// Step of hyper increase.
    pub hyper: Rate,
    /// The least rate.
    pub minimum: Rate,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            gain: 1.0 / 256.0,
            alpha_timer: SimTime::from_ns(55_000),
            increase_timer: SimTime::from_ns(55_000),
            byte_counter: 10_000_000,
            recovery_rounds: 5,
            additive: Rate::from_bits_per_s(40_000_000),
            hyper: Rate::from_bits_per_s(400_000_000),
            minimum: Rate::from_bits_per_s(40_000_000),
        }
    }
}

/// HPCC (Li et al. 2019): windows from telemetry that every hop writes into packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hpcc {
    /// Utilization aimed at, `eta`.
    pub target: f64,
    /// Rounds of additive increase before the next multiplicative one, `maxStage`.
    pub stages: u32,
    /// Step of additive increase.
    pub additive: Rate,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self { target: 0.95, stages: 5, additive: Rate::from_bits_per_s(50_000_000) }
    }
}

/// Window for sprayed packets over switches that trim (as Ultra Ethernet's sender-based control does): one window of
/// additive increase a round trip, less in proportion to marked packets, less by a packet for each trimmed one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trimmed {
    /// First and greatest window in bandwidth-delay products of the path.
    pub window: f64,
    /// Increase for each round trip without marks, in packets.
    pub additive: f64,
    /// Share of a marked packet by which the window shrinks.
    pub decrease: f64,
}

impl Default for Trimmed {
    fn default() -> Self {
        Self { window: 1.25, additive: 1.0, decrease: 0.5 }
    }
}

/// Who slows a sender down before switches pause it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CongestionControl {
    /// Nobody.
    None,
    /// DCQCN.
    Dcqcn(Dcqcn),
    /// HPCC.
    Hpcc(Hpcc),
    /// Windows over sprayed packets; lost ones are sent again one by one.
    Trimmed(Trimmed),
}

/// Receiver-driven admission by the collective library (Meta RoCE section 5.2.2): a message is sent only into a
/// buffer that the receiver has cleared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Admission {
    /// Buffers of a connection.
    pub channels: u32,
    /// Bytes of each: messages are no longer.
    pub buffer: u64,
    /// Rate at which the receiver copies a buffer out before it clears it again.
    pub copy: Rate,
}

/// Packets without payload that go before data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Acknowledgements.
    pub acknowledgements: bool,
    /// Clear-to-send.
    pub clear_to_send: bool,
}

/// What goes wrong with packets while cables are up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trouble {
    /// A link loses packets, in its own direction only.
    Loss {
        /// The link.
        link: LinkId,
        /// Share of packets lost.
        share: f64,
    },
    /// A link loses one packet: the first positive acknowledgement that it would have carried.
    LoseAcknowledgement {
        /// The link.
        link: LinkId,
    },
    /// A NIC takes packets in at a share of its rate.
    SlowReceiver {
        /// The NIC.
        nic: DeviceId,
        /// Share of the rate of its port.
        share: f64,
    },
    /// A NIC port pauses its leaf without end.
    PauseStorm {
        /// The link into the NIC, which stands still.
        link: LinkId,
    },
    /// A switch drops what finds more than a share of its buffer filled, which it believes to be all there is (Meta
    /// RoCE section 6.4.2).
    SmallBuffer {
        /// The switch.
        switch: DeviceId,
        /// Share of the buffer that works.
        share: f64,
    },
}

/// A trouble in time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Troubled {
    /// When it begins.
    pub from: SimTime,
    /// When it ends; [`SimTime::NEVER`] where it does not.
    pub until: SimTime,
    /// What it is.
    pub trouble: Trouble,
}

/// All that only packets ask.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketCase {
    /// The wire.
    pub wire: Wire,
    /// Largest message, bytes, where routing names none.
    pub message: u64,
    /// Packets for one acknowledgement; the last of a message always has one.
    pub acknowledge_every: u32,
    /// Most bytes of a queue pair in flight; none = no limit. The default is the buffer of one NCCL channel.
    pub window: Option<u64>,
    /// Who slows senders down.
    pub congestion_control: CongestionControl,
    /// Receiver-driven admission.
    pub admission: Option<Admission>,
    /// What goes before data.
    pub priority: Priority,
    /// Switches by tier: leaf, spine, core.
    pub tiers: [SwitchModel; 3],
    /// NICs.
    pub nic: NicModel,
    /// Idle time after which a leaf may move a queue pair to another uplink, for the balancer `flowlet`.
    pub flowlet: SimTime,
    /// Pause without break after which a port is reported.
    pub watchdog: SimTime,
    /// Share of a switch's buffer from which it is reported.
    pub buffer_alarm: f64,
    /// Width of the samples of queues and pauses; none where they are not taken.
    pub samples: Option<SimTime>,
    /// What goes wrong.
    pub troubles: Vec<Troubled>,
}

impl Default for PacketCase {
    fn default() -> Self {
        Self {
            wire: Wire::default(),
            message: 512 << 10,
            acknowledge_every: 1,
            window: Some(4 << 20),
            congestion_control: CongestionControl::None,
            admission: None,
            priority: Priority { acknowledgements: false, clear_to_send: false },
            tiers: [SwitchModel::LEAF; 3],
            nic: NicModel::default(),
            flowlet: SimTime::from_ns(256_000),
            watchdog: SimTime::from_ns(200_000_000),
            buffer_alarm: 0.8,
            samples: None,
            troubles: Vec::new(),
        }
    }
}

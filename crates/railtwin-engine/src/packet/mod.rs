//! What only packets ask of a case: the wire, switch buffers, congestion control, admission, what goes wrong with
//! packets. The flow engine reads little of it.
//!
//! Defaults are those of a RoCE fabric that runs PFC only, as Meta runs 400G (Meta RoCE section 5.2.1).
mod congestion;
mod switch;
mod trouble;

// All of it: a new control is no line here.
pub use congestion::*;
pub use switch::{Buffer, Credit, Ecn, MarkAt, Pfc, SwitchModel};
pub use trouble::{Trouble, Troubled};

use railtwin_units::keys::{Kind, or_none, sizes, whole};
use railtwin_units::{Bytes, Rate, SimTime};

use crate::balancer::Balancer;

/// The largest buffer, window or threshold: sums of many stay far within 64 bits.
pub const MOST_BYTES: u64 = 1 << 40;

railtwin_units::section! {
    /// What packets ask; flows read the sizes of what a loss sends again. The sizes of packets are those of RoCE v2:
    /// Ethernet 14 and 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4; an acknowledgement has 4 B of AETH more.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Packets "[packet]" {
        /// Payload of a full packet.
        pub payload: Bytes [sizes(64..=9000)] = Bytes(4096),
        /// Bytes on the wire beside the payload of each data packet.
        pub header: Bytes [sizes(0..=1000)] = Bytes(82),
        /// Bytes on the wire of a packet without payload: acknowledgement, CNP, clear-to-send, trimmed header.
        #[key(packet)]
        pub control: Bytes [sizes(1..=1000)] = Bytes(86),
        /// Packets for one acknowledgement; the last of a message always has one.
        #[key(packet)]
        pub acknowledge_every: u32 [whole(1..=65_536)] = 1,
        /// Most bytes of a connection in flight, over all its queue pairs, for each of its channels: the buffer of an NCCL
        /// channel.
        pub window: Option<Bytes> = Some(Bytes(4 << 20)),
        /// Whom `window` bounds: a connection with all its queue pairs, or each queue pair by itself.
        #[key(packet, sparse)]
        pub window_of: WindowOf = WindowOf::Connection,
        /// Channels of a connection of a collective library, each with a `window`: two, as NCCL opens for each NIC at
        /// least. Plain transfers have one.
        #[key(packet, sparse)]
        pub channels: u32 [whole(1..=64)] = 2,
        /// Whether messages of a collective library wait for a clear-to-send, as those of NCCL do; plain transfers never
        /// wait, and `admission` overrules it.
        #[key(packet, sparse)]
        pub clear_to_send: bool = true,
        /// How far apart hosts start a job of a collective library: each so much later at most, drawn evenly.
        #[key(packet, sparse)]
        pub start_jitter: SimTime = SimTime::from_ns(40_000),
        /// Most bytes from a packet that is missing to the last one sent, where receivers take packets out of order: what
        /// they can keep of one queue pair; default `window`.
        #[key(packet)]
        pub reorder: Option<Bytes> [sizes(1..=MOST_BYTES)] = None,
        /// Idle time after which a leaf may move a queue pair to another uplink, for the balancer flowlet.
        #[key(packet)]
        pub flowlet: SimTime = SimTime::from_ns(256_000),
        /// Pause without break after which a port is reported.
        #[key(packet)]
        pub watchdog: SimTime [Kind::Span] = SimTime::from_ns(200_000_000),
        /// Share of a switch's buffer from which it is reported.
        #[key(packet)]
        pub buffer_alarm: f64 = 0.8,
        /// Width of the samples of queues and pauses; default no samples.
        #[key(packet)]
        pub samples: Option<SimTime> [Kind::Span] = None,
        /// Packets without payload that go before data; default none of them.
        #[key(packet)]
        pub priority: Vec<Priority> = Vec::new(),
        /// Who slows a sender down before switches pause it.
        #[key(packet)]
        pub congestion_control: CongestionControl = CongestionControl::None,
        /// Receiver-driven admission with buffers of one's own, for every job: a message waits for a cleared one;
        /// default none, and `clear_to_send` as NCCL has it.
        #[key(packet)]
        pub admission: Option<Admission> [
            or_none(&Admission::TABLE, "{ channels = 2, buffer = \"512 KiB\", copy = \"400 Gbps\" }")
        ] = None,
        /// A NIC's own limits.
        #[key(packet)]
        pub nic: NicLimits = NicLimits::default(),
    }
}

railtwin_units::choice! {
    /// Packets without payload that may go before data.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Priority {
        /// Acknowledgements.
        Acknowledgements = "acknowledgements",
        /// Clear-to-send of [`Admission`].
        ClearToSend = "clear-to-send",
    }
}

railtwin_units::choice! {
    /// Whom the window bounds.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum WindowOf {
        /// All queue pairs of a connection together: they share the buffer of its channel.
        Connection = "connection",
        /// Each queue pair by itself, as where nothing above the transport bounds it.
        QueuePair = "queue-pair",
    }
}

/// Slots of the buffer of an NCCL channel (`NCCL_STEPS`).
pub const CHANNEL_SLOTS: u32 = 8;

railtwin_units::section! {
    /// Receiver-driven admission by the collective library (Meta RoCE section 5.2.2): a message is sent only into a
    /// buffer that the receiver has cleared.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Admission "`admission`" {
        /// Buffers of a connection.
        pub channels: u32 [whole(1..=4096)],
        /// Bytes of each buffer: messages are no longer.
        pub buffer: Bytes,
        /// Rate at which the receiver copies a buffer out before it clears it again.
        pub copy: Rate,
    }
}

railtwin_units::section! {
    /// A NIC's own limits.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct NicLimits "[packet.nic]" {
        /// Bytes that wait for PCIe on the receiving side before the NIC pauses its leaf.
        pub receive_buffer: Bytes = Bytes(1_000_000),
        /// Bytes on the wire that a queue pair sends in a turn, and before its rate is looked at again; default one packet.
        #[key(packet, sparse)]
        pub burst: Option<Bytes> [sizes(1..=MOST_BYTES)] = None,
        /// Least time between two CNPs for one queue pair (DCQCN's notification point); default as the preset of DCQCN
        /// has it.
        pub cnp_interval: Option<SimTime> [Kind::Span] = None,
    }
}

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

impl Packets {
    /// Share of the wire that the payload of full packets takes: 4,096 of 4,178 bytes as a rule.
    pub fn wire_share(&self) -> f64 {
        self.payload.0 as f64 / self.full() as f64
    }

    /// How payload is wrapped: the bounds of the keys hold all of it far below 2^32.
    pub fn wire(&self) -> Wire {
        let small = |bytes: Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
        Wire { payload: small(self.payload), header: small(self.header), control: small(self.control) }
    }

    /// Bytes on the wire of a full packet.
    pub const fn full(&self) -> u64 {
        self.payload.0.saturating_add(self.header.0)
    }

    /// Least time between two CNPs for one queue pair.
    pub fn cnp_interval(&self) -> SimTime {
        let of_preset = match &self.congestion_control {
            CongestionControl::Dcqcn(dcqcn) => dcqcn.cnp_interval(),
            _ => Dcqcn::default().cnp_interval(),
        };
        self.nic.cnp_interval.unwrap_or(of_preset)
    }

    /// Buffers of a connection that a collective library clears by itself, with messages of at most `message` bytes: as
    /// many as the buffers of its channels hold; none where nothing waits for clearance.
    pub fn library_slots(&self, message: u64) -> Option<u32> {
        let slots = |window: Bytes| u32::try_from(window.0 / message.max(1)).unwrap_or(u32::MAX).max(1);
        let channel = self.window.filter(|_| self.window_of == WindowOf::Connection);
        self.clear_to_send.then(|| channel.map_or(CHANNEL_SLOTS, slots).saturating_mul(self.channels))
    }

    /// Most bytes in flight of a queue pair, and of its connection where `window_of` says so; of a collective library or
    /// not.
    pub fn most_in_flight(&self, is_library: bool) -> Option<u64> {
        let channels = if is_library && self.window_of == WindowOf::Connection { self.channels } else { 1 };
        self.window.map(|window| window.0.saturating_mul(u64::from(channels)))
    }
    /// Whether these go before data.
    pub fn goes_first(&self, which: Priority) -> bool {
        self.priority.contains(&which)
    }

    /// Whether receivers take packets in any order and acknowledge each, and only what was lost is sent again: where
    /// packets overtake each other, and where the congestion control asks for it.
    pub const fn is_selective(&self, balancer: Balancer) -> bool {
        balancer.is_spread() || self.congestion_control.needs().selective
    }
}

/// All that only packets ask, resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketCase {
    /// As the scenario says it.
    pub keys: Packets,
    /// Largest message, bytes, where routing names none.
    pub message: u64,
    /// Switches by tier: leaf, spine, core.
    pub tiers: [SwitchModel; 3],
    /// What goes wrong.
    pub troubles: Vec<Troubled>,
    /// Which jobs a collective library runs, by row; those beyond are plain transfers.
    pub libraries: Vec<bool>,
    /// How often devices tell their counters, and that hosts tell of their operations; none: nobody asks.
    pub records: Option<SimTime>,
}

impl PacketCase {
    /// Whether a collective library runs a job.
    pub fn has_library(&self, job: u32) -> bool {
        self.libraries.get(job as usize).copied().unwrap_or(false)
    }

    /// Bytes of the largest message: `named` by routing, or else no more than a slot of a channel's buffer where a
    /// collective library runs a job, as NCCL divides `NCCL_BUFFSIZE` into `NCCL_STEPS`.
    pub fn largest_message(&self, named: Option<u64>) -> u64 {
        let has_library = self.libraries.contains(&true) && self.keys.window_of == WindowOf::Connection;
        let slot = self.keys.window.filter(|_| has_library);
        let slot = slot.map_or(u64::MAX, |window| window.0 / u64::from(CHANNEL_SLOTS));
        named.unwrap_or(self.message.min(slot)).max(1)
    }
}

impl Default for PacketCase {
    fn default() -> Self {
        Self {
            keys: Packets::default(),
            message: 512 << 10,
            tiers: [SwitchModel::LEAF; 3],
            troubles: Vec::new(),
            libraries: Vec::new(),
            records: None,
        }
    }
}

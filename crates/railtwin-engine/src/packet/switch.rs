//! Switches: where packets wait, and what switches do to them.
use railtwin_units::keys::{Kind, sizes, whole};
use railtwin_units::{Bytes, SimTime};

use super::MOST_BYTES;

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

railtwin_units::section! {
    /// Marking at egress by the length of the queue (RED on ECN; DCQCN's congestion point, Zhu et al. 2015).
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Ecn "`ecn`" {
        /// Queue up to which nothing is marked.
        pub min: Bytes [Kind::Size { zero: true }],
        /// Queue from which everything is marked.
        pub max: Bytes [sizes(1..=MOST_BYTES)],
        /// Probability just below `max`.
        pub probability: f64,
        /// Which queue, seen when.
        pub at: MarkAt = MarkAt::Dequeue,
    }
}

railtwin_units::choice! {
    /// Where a switch looks at a queue to mark a packet.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum MarkAt {
        /// What is behind the packet in its egress queue when it leaves, as shared-buffer switches do: the mark tells
        /// of the queue as it is (Zhu et al. 2016, «ECN or Delay», section 5; DCQCN's simulations do so too).
        Dequeue = "dequeue",
        /// What is before it in its egress queue when it arrives, as RED was published (Floyd and Jacobson 1993): the
        /// mark is as old as the queue is long.
        Enqueue = "enqueue",
        /// What is behind it in its virtual output queue when it crosses, as switches with credits do (Arista, «ECN»:
        /// the length of the virtual output queue).
        Voq = "voq",
    }
}

railtwin_units::section! {
    /// Virtual output queues whose packets cross the switch only when the egress has granted them (Meta RoCE section
    /// 6.1).
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Credit "`credit`" {
        /// From a request of an ingress port until its grant is there.
        pub latency: SimTime,
        /// Bytes that a queue is granted without asking, and again after it was idle for a credit latency.
        pub initial: Bytes [sizes(0..=MOST_BYTES)],
        /// Factor by which grants grow from one round to the next while a queue has a backlog.
        pub ramp: u32 [whole(1..=1024)],
    }
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

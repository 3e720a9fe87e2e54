//! What travels over links, in half a cache line.
use crate::freight::Freight;
use crate::tally::Tally;

/// No route written in the packet: switches choose.
pub const BY_SWITCH: u32 = (1 << LEVEL) - 1;
/// Bit of a route at which the level of its priority begins: 0 for the lowest priority of the run.
pub const LEVEL: u32 = 29;
/// All levels, as pause frames name them: bit by bit.
pub const ALL_LEVELS: u8 = u8::MAX;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Payload.
    Data,
    /// A data packet whose payload a switch threw away.
    Trimmed,
    /// Everything before `number` has arrived.
    Acknowledge,
    /// Everything before `number` has arrived, and something after it: send again from there.
    Negative,
    /// Congestion notification packet.
    Notification,
    /// Clear-to-send: so many buffers of a connection as `number` were cleared so far.
    Clear,
    /// So many clearances as `number` have arrived.
    Heard,
    /// A probe: `leg` is the survey, `item` the row of the probe in it and `stamp` the one among its host's;
    /// `queue_pair` and `number` are the upper and lower half of the time at which it was sent, ps.
    Probe,
    /// The answer to a probe, whose fields it has.
    Echo,
    /// Stop sending data over the port.
    Pause,
    /// Go on.
    Resume,
    /// No packet: a port that was told to stop goes on, and no frame told it to.
    Freed,
    /// No packet: all hosts that take part in an operation have ended it.
    Elsewhere,
    /// No packet: a job stops.
    Halt,
    /// No packet: the receiver of a leg has handed on what came before an item.
    HandedOn,
}

/// Goes before data.
pub const HIGH: u8 = 1;
/// Marked by a congested switch; on acknowledgements the echo of it.
pub const MARKED: u8 = 2;
/// Last of its message.
pub const LAST: u8 = 4;
/// Travels towards the source of its queue pair.
pub const BACK: u8 = 8;

/// Where flags have how often a data packet was sent again, and the most that fits.
const AGAIN: u32 = 4;
const AGAIN_MAX: u8 = 15;

/// A packet, or a word between hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Queue pair.
    pub queue_pair: u32,
    /// Packet number of data; what was expected next for acknowledgements.
    pub number: u32,
    /// Row of the next egress port in the column of routes, or [`BY_SWITCH`]; from bit [`LEVEL`] on the level of the
    /// packet's priority.
    pub route: u32,
    /// Leg of the message of a last packet; the number that an acknowledgement answers.
    pub leg: u32,
    /// Item of the leg; of pause frames the levels, bit by bit; of acknowledgements out of order which of the 32 packets
    /// before the answered one are there, the nearest in the lowest bit.
    pub item: u32,
    /// When the data packet left its NIC, in [`STAMP`]s, wrapping.
    pub stamp: u32,
    /// Bytes on the wire.
    pub bytes: u16,
    /// Port of the device at which it is.
    pub port: u16,
    /// Greatest utilization of an egress so far, in 1/4096.
    pub telemetry: u16,
    /// What it is.
    pub kind: Kind,
    /// [`HIGH`], [`MARKED`], [`LAST`], [`BACK`]; above them how often data were sent again, or what is answered.
    pub flags: u8,
}

/// Picoseconds of a stamp: 32 bits last 4.4 s.
pub const STAMP: u64 = 1024;
/// Telemetry of a full link.
pub const FULL: f64 = 4096.0;

impl Packet {
    /// A packet of a kind with nothing else set.
    pub const fn new(kind: Kind) -> Self {
        Self {
            queue_pair: 0,
            number: 0,
            route: BY_SWITCH,
            leg: 0,
            item: 0,
            stamp: 0,
            bytes: 0,
            port: 0,
            telemetry: 0,
            kind,
            flags: 0,
        }
    }

    /// Stop, or go on, on some levels.
    pub fn pausing(kind: Kind, port: u16, levels: u8) -> Self {
        Self { port, item: u32::from(levels), ..Self::new(kind) }
    }

    /// The queue pair that has to send again when the packet is lost; none where it is of none.
    #[inline]
    pub const fn lost_by(&self) -> Option<u32> {
        match self.kind {
            Kind::Probe | Kind::Echo | Kind::Pause | Kind::Resume | Kind::Freed => None,
            _ => Some(self.queue_pair),
        }
    }

    /// The level of its priority.
    #[inline]
    pub const fn level(&self) -> usize {
        (self.route >> LEVEL) as usize
    }

    /// Whether switches choose its way.
    #[inline]
    pub const fn is_by_switch(&self) -> bool {
        self.route & BY_SWITCH == BY_SWITCH
    }

    /// The same, sent again for the n-th time; beyond what fits they are counted from one again.
    #[inline]
    pub const fn sent_again(mut self, times: u8) -> Self {
        if times > 0 {
            self.flags |= ((times - 1) % AGAIN_MAX + 1) << AGAIN;
        }
        self
    }

    /// The flags of an answer that takes paths of its own where the packet did.
    #[inline]
    pub const fn answer_flags(&self) -> u8 {
        self.flags & (MARKED | AGAIN_MAX << AGAIN)
    }

    /// What tells the paths of its transmissions apart: nothing the first time.
    #[inline]
    pub const fn entropy(&self) -> u64 {
        (self.flags >> AGAIN) as u64
    }

    /// Whether a flag is set.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

const _: () = assert!(size_of::<Packet>() == 32);

/// A packet that arrives somewhere.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrival<F = Packet> {
    /// When, ps.
    pub time: u64,
    /// The packet.
    pub packet: F,
}

impl Freight for Packet {
    /// Times from data to its acknowledgement.
    type Tally = Tally;

    #[inline]
    fn port(&self) -> u16 {
        self.port
    }
}

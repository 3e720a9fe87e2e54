//! What travels between hosts and switches of the credit world, and what its devices count together.
use railtwin_engine::intranode::{Components, Latencies};

use crate::freight::Freight;

/// What it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A packet between hosts. It arrives with its first byte.
    Packet,
    /// No packet: so many bytes of the next input buffer are free again.
    Credit,
}

/// A packet between hosts with its part of a message, or a credit. It fits a cache line with its time of arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cargo {
    /// Port of the device at which it is.
    pub port: u16,
    /// GPU of the target host.
    pub gpu: u16,
    /// What it is.
    pub kind: Kind,
    /// Whether its message ends with it.
    pub is_last: bool,
    /// Host that it is for.
    pub host: u32,
    /// Bytes of a message in it; of a credit the bytes that are free.
    pub payload: u32,
    /// When its last byte is there, ps.
    pub tail: u64,
    /// When its message was made, ps.
    pub made: u64,
    /// When its first packet of the host left its GPU, and reached the NIC, ps.
    pub left: u64,
    /// See `left`.
    pub packed: u64,
    /// When it left the source NIC, ps.
    pub sent: u64,
}

impl Cargo {
    /// A credit for the device that sends to a port.
    pub const fn credit(port: u16, bytes: u32) -> Self {
        Self {
            port,
            gpu: 0,
            kind: Kind::Credit,
            is_last: false,
            host: 0,
            payload: bytes,
            tail: 0,
            made: 0,
            left: 0,
            packed: 0,
            sent: 0,
        }
    }
}

const _: () = assert!(size_of::<Cargo>() == 56);

impl Freight for Cargo {
    type Tally = Tally;

    #[inline]
    fn port(&self) -> u16 {
        self.port
    }
}

/// Inside a host, and between hosts: rows of what is counted for each.
pub const INTRA: usize = 0;
/// See [`INTRA`].
pub const INTER: usize = 1;
/// From GPUs to functional units of their host, and back.
pub const TO_UNITS: usize = 2;
/// See [`TO_UNITS`].
pub const FROM_UNITS: usize = 3;
/// Rows of all of them.
pub const CLASSES: usize = 4;

/// What GPUs and units of one thread received.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Bytes on the links of hosts, by class.
    pub bytes: [u64; CLASSES],
    /// Payload between GPUs.
    pub payload: u64,
    /// Bytes that NICs sent.
    pub network: u64,
    /// Messages that arrived.
    pub latencies: [Latencies; CLASSES],
    /// Of these, messages that arrived in the second half of the time that is counted.
    pub late: [Latencies; CLASSES],
    /// Messages that arrived, from the first on.
    pub messages: u64,
    /// When the first one did, ps; 0 where none has.
    pub first: u64,
    /// When the last one did, ps.
    pub last: u64,
    /// Payload that arrived, from the first on.
    pub arrived: u64,
}

impl Tally {
    /// A message has arrived whole at `at`.
    pub fn message(&mut self, class: usize, parts: &Components, at: u64, (counts, is_late): (bool, bool)) {
        self.first = if self.messages == 0 { at } else { self.first.min(at) };
        self.messages += 1;
        self.last = self.last.max(at);
        if counts {
            self.latencies[class].add(parts);
            if is_late {
                self.late[class].add(parts);
            }
        }
    }

    /// Forgets the messages and bytes of a window; those over the whole run stay.
    pub fn forget(&mut self) {
        self.bytes = [0; CLASSES];
        (self.payload, self.network) = (0, 0);
        self.latencies = Default::default();
        self.late = Default::default();
    }

    /// Adds that of others.
    pub fn merge(&mut self, other: &Self) {
        for class in 0..CLASSES {
            self.bytes[class] += other.bytes[class];
            self.latencies[class].merge(&other.latencies[class]);
            self.late[class].merge(&other.late[class]);
        }
        self.first = match (self.messages, other.messages) {
            (0, _) => other.first,
            (_, 0) => self.first,
            _ => self.first.min(other.first),
        };
        self.payload += other.payload;
        self.network += other.network;
        self.messages += other.messages;
        self.last = self.last.max(other.last);
        self.arrived += other.arrived;
    }
}

//! What devices of a packet run tell of themselves while it goes on: readings of their counters, operations of hosts,
//! what queue pairs sent. Kept where somebody asks for it ([`crate::packet::PacketCase::records`]).
use railtwin_units::SimTime;

/// A reading of a port. All values are totals since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortTotals {
    /// Bytes sent on the line.
    pub bytes: u64,
    /// Packets that its queue marked.
    pub marked: u64,
    /// Packets dropped for want of room that came in by this port.
    pub dropped: u64,
    /// Packets lost after this port had sent them: to a bad line, a dead cable, or where no way was known.
    pub lost: u64,
    /// Of them those that a bad line spoiled: the far end gets them damaged.
    pub spoiled: u64,
    /// Pause frames that told this port to stop, renewals that were booked by now included.
    pub pause_frames: u64,
    /// Time for which it stood still by pauses, ps.
    pub paused_ps: u64,
    /// Congestion notifications for queue pairs that send here.
    pub cnps: u64,
    /// Packets that came in here with a gap before them; of NICs.
    pub out_of_sequence: u64,
    /// Local ACK timeouts of queue pairs that send here; of NICs.
    pub ack_timeouts: u64,
    /// Data packets sent again; of NICs.
    pub sent_again: u64,
    /// Whether its cable carries nothing.
    pub dead: bool,
}

/// The totals of one port at one moment: there where they are others than at its last reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortReading {
    /// Number of the reading: it is of the moment `(index + 1) · every`, the last one of the end of the run.
    pub index: u32,
    /// The link that leaves the port.
    pub link: u32,
    /// Its totals.
    pub totals: PortTotals,
}

/// How full the buffer of a switch was at most since its last reading: there where it was another share than then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferReading {
    /// Number of the reading.
    pub index: u32,
    /// Row of the switch.
    pub switch: u32,
    /// Most bytes that waited at once.
    pub bytes_max: u64,
    /// Bytes of the buffer.
    pub bytes: u64,
}

/// One operation at one host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostOperation {
    /// Operation, over the whole case.
    pub operation: u32,
    /// Host, by its number in the fabric.
    pub host: u32,
    /// When the host began it.
    pub start: SimTime,
    /// When it was done with it; [`SimTime::NEVER`] where that did not come.
    pub end: SimTime,
    /// Whether nothing arrives here in it.
    pub only_sends: bool,
}

/// What one queue pair sent over one edge in one operation, up to the last message that was acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuePairSend {
    /// Operation, over the whole case.
    pub operation: u32,
    /// Pattern, over the whole case.
    pub pattern: u32,
    /// Bundle, counted within its pattern.
    pub bundle: u32,
    /// Edge, counted within its bundle.
    pub edge: u32,
    /// Queue pair, counted within its connection.
    pub queue_pair: u32,
    /// Messages that were acknowledged.
    pub messages: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Time for which the oldest message without an answer was the one at work, summed over them, ps.
    pub busy_ps: u64,
    /// When the last of them was acknowledged.
    pub last: SimTime,
}

/// What arrived over one edge in one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeReceipt {
    /// Operation, over the whole case.
    pub operation: u32,
    /// Pattern, over the whole case.
    pub pattern: u32,
    /// Bundle, counted within its pattern.
    pub bundle: u32,
    /// Edge, counted within its bundle.
    pub edge: u32,
    /// Time for which messages of it waited at their sender for the receiver's buffer, ps.
    pub credit_ps: u64,
    /// When each stage of all rounds had arrived whole: `stages[first..first + count]`.
    pub first: u32,
    /// Their number.
    pub count: u32,
}

/// All of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PacketRecords {
    /// Time from one reading to the next.
    pub every: SimTime,
    /// When the last reading was.
    pub end: SimTime,
    /// Readings of ports, in order of reading and link.
    pub ports: Vec<PortReading>,
    /// Readings of buffers, in order of reading and switch.
    pub buffers: Vec<BufferReading>,
    /// Operations of hosts, in order of operation and host.
    pub hosts: Vec<HostOperation>,
    /// What queue pairs sent, in order of operation, pattern, bundle, edge and queue pair.
    pub sends: Vec<QueuePairSend>,
    /// What arrived, in the same order.
    pub receipts: Vec<EdgeReceipt>,
    /// See [`EdgeReceipt::first`].
    pub stages: Vec<SimTime>,
}

impl PacketRecords {
    /// When a reading was.
    pub fn at(&self, index: u32) -> SimTime {
        let at = self.every.ps().saturating_mul(u64::from(index) + 1);
        SimTime::from_ps(at.min(self.end.ps()))
    }
}

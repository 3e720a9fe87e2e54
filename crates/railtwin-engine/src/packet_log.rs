//! What packets leave behind: counters, queues, pauses, completion times.
use railtwin_fabric::DeviceId;
use railtwin_units::SimTime;

use crate::packet_records::PacketRecords;

/// Counters of a whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketCounts {
    /// Packets that crossed a link, each counted on each.
    pub packet_hops: u64,
    /// Data packets sent by NICs, those sent again included.
    pub data: u64,
    /// Data packets sent again.
    pub sent_again: u64,
    /// Acknowledgements, negative ones included.
    pub acknowledgements: u64,
    /// Negative acknowledgements.
    pub negative: u64,
    /// Data packets that arrived with a gap before them.
    pub out_of_sequence: u64,
    /// Local ACK timeouts.
    pub ack_timeouts: u64,
    /// Packets sent again because nothing had been heard for two round trips.
    pub probes: u64,
    /// Most packets from one that is missing to the last one that is there, of a queue pair.
    pub reorder_packets_max: u64,
    /// Time for which nothing but the reorder bound kept queue pairs from sending, over all of them, ps.
    pub reorder_held_ps: u64,
    /// Congestion notification packets.
    pub cnps: u64,
    /// Clear-to-send messages.
    pub clear_to_send: u64,
    /// Data packets marked at least once.
    pub marked: u64,
    /// Data packets that lost their payload in a switch.
    pub trimmed: u64,
    /// Packets dropped because they found no room.
    pub dropped: u64,
    /// Packets lost to dead cables and lossy links, and where no way was known.
    pub lost: u64,
    /// Pause frames that told a port to stop, renewals included.
    pub pause_frames: u64,
    /// Pause frames that renewed a pause before it ran out.
    pub pause_renewals: u64,
    /// Pause frames of no time, which let a port go on.
    pub resume_frames: u64,
}

/// Columns by link id.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkPackets {
    /// Bytes that the link carried after [`crate::RunLog::counted`]: acknowledgements, and what was sent twice.
    pub late_bytes: Vec<u64>,
    /// Pause frames that told the source of the link to stop, renewals included.
    pub pause_frames: Vec<u32>,
    /// Those that renewed a pause.
    pub pause_renewals: Vec<u32>,
    /// Those of no time, which let the source of the link go on.
    pub resume_frames: Vec<u32>,
    /// Time for which the link stood still by pauses, ps.
    pub paused_ps: Vec<u64>,
    /// Most bytes that waited for the link.
    pub queue_bytes_max: Vec<u64>,
    /// Time integral of the bytes that waited for the link, byte-seconds.
    pub queue_byte_seconds: Vec<f64>,
    /// Packets of the link that were dropped for want of room.
    pub dropped: Vec<u32>,
    /// CNPs for queue pairs that send by this link, at the links that leave NICs.
    pub cnps: Vec<u32>,
}

/// One transfer over one edge of one operation: all its messages together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketFlow {
    /// Operation, over the whole case.
    pub operation: u32,
    /// Pattern, over the whole case.
    pub pattern: u32,
    /// Sending NIC.
    pub source: DeviceId,
    /// Receiving NIC.
    pub target: DeviceId,
    /// Bytes.
    pub bytes: u64,
    /// When the first message was handed to the NIC.
    pub start: SimTime,
    /// When the last byte arrived; [`SimTime::NEVER`] where it did not.
    pub end: SimTime,
}

/// One link in one sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// Which sample: it covers the time from `index · width` on.
    pub index: u32,
    /// The link.
    pub link: u32,
    /// Most bytes that waited for it within the sample.
    pub bytes_max: u64,
    /// Time for which it stood still by pauses within the sample.
    pub paused_ps: u64,
}

/// A quantity seen many times.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spread {
    /// How often.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Least.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Most.
    pub max: f64,
}

/// The record of the packets of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PacketLog {
    /// Counters.
    pub counts: PacketCounts,
    /// By link.
    pub links: LinkPackets,
    /// Most bytes in the buffer of each switch, by its row in the fabric.
    pub buffer_bytes_max: Vec<u64>,
    /// Transfers, in order of operation and edge.
    pub flows: Vec<PacketFlow>,
    /// Queues and pauses over time, in order of index and link; links at rest have no row.
    pub samples: Vec<QueueSample>,
    /// Width of a sample; zero without samples.
    pub sample: SimTime,
    /// Time from sending a data packet until its acknowledgement is there, seconds.
    pub round_trip: Spread,
    /// Time that messages waited at their sender for clearance, seconds.
    pub clearance_wait: Spread,
    /// What devices told meanwhile, where the case asked for it.
    pub records: Option<PacketRecords>,
}

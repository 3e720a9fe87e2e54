//! What clusters, imports and the simulator tell of running jobs, as columns.
//!
//! Times are nanoseconds on the clock of the *host that made the record*: clocks of two hosts need not agree, so only
//! differences of times of one host mean anything. Rows of others are those of the [`crate::Directory`].

/// An end that has not come.
pub const NOT_YET: u64 = u64::MAX;

/// One rank's share of one operation of one communicator.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OperationColumns {
    /// Row of the communicator.
    pub communicator: Vec<u32>,
    /// Row of the rank.
    pub rank: Vec<u32>,
    /// Number of the operation in its communicator, from 0.
    pub sequence: Vec<u32>,
    /// Row of its shape.
    pub shape: Vec<u32>,
    /// When the rank's kernel entered it.
    pub enter_ns: Vec<u64>,
    /// When the rank's kernel left it; [`NOT_YET`] while it is within.
    pub end_ns: Vec<u64>,
}

/// What one queue pair sent in one operation, over a run of stages of its algorithm.
///
/// A sending proxy spends its time in three ways, and so does this row: it waits for its GPU to have the data
/// (`data_wait_ns`: upstream is late), for the receiver's credit (`credit_wait_ns`: downstream is late), or for the
/// network (`network_ns`: from post to completion). The receiver adds how long it had a buffer open before the first
/// byte of each stage (`receive_wait_ns`), less what the network took.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MessageColumns {
    /// Row of the communicator.
    pub communicator: Vec<u32>,
    /// Number of the operation.
    pub sequence: Vec<u32>,
    /// Channel of the algorithm.
    pub channel: Vec<u32>,
    /// Row of the flow: who sent to whom over which queue pair.
    pub flow: Vec<u32>,
    /// First stage of the algorithm that the row covers.
    pub stage: Vec<u32>,
    /// Number of stages that it covers.
    pub stages: Vec<u32>,
    /// Messages.
    pub messages: Vec<u32>,
    /// Bytes.
    pub bytes: Vec<u64>,
    /// Time from post to completion, summed over messages that follow each other.
    pub network_ns: Vec<u64>,
    /// Time in which the sender had nothing to send.
    pub data_wait_ns: Vec<u64>,
    /// Time in which the sender had data and the receiver no buffer.
    pub credit_wait_ns: Vec<u64>,
    /// Time in which the receiver had a buffer and nothing came.
    pub receive_wait_ns: Vec<u64>,
    /// First stage at which the receiver waited for longer than a stage takes; `stage + stages` where it never did.
    pub first_wait_stage: Vec<u32>,
}

/// What is counted. Values are totals since the start of the entity unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[non_exhaustive]
pub enum Counter {
    /// Packets that came out of sequence at a NIC (`out_of_sequence`).
    OutOfSequence,
    /// Local ACK timeouts of a NIC (`local_ack_timeout_err`).
    AckTimeouts,
    /// Times that a port lost its link (`link_downed`, carrier changes).
    LinkDowns,
    /// Whether a port says that its link is up, 1 or 0; a gauge.
    LinkUp,
    /// Packets received damaged at a port (`symbol_error`, FCS).
    ReceiveErrors,
    /// Packets dropped at a port or switch for want of buffer.
    Drops,
    /// Nanoseconds for which received pauses kept a port from sending.
    PausedNs,
    /// Pause frames that a port sent.
    PauseFramesSent,
    /// Congestion notification packets that a NIC handled.
    Cnps,
    /// Bytes that a port sent.
    BytesSent,
    /// Bytes that a port received.
    BytesReceived,
    /// Share of a switch's buffer in use at most since the last row, 0..1; a gauge.
    BufferShare,
    /// Uncorrectable ECC errors of a GPU.
    EccErrors,
    /// NVLink errors of a GPU.
    NvlinkErrors,
    /// Xid of the last GPU error that the driver logged, 0 for none; a gauge.
    Xid,
    /// Processes of a host that were killed for want of memory.
    OutOfMemoryKills,
    /// Clock of a GPU's multiprocessors in MHz; a gauge.
    GpuClockMhz,
    /// Temperature of a GPU in degrees Celsius; a gauge.
    GpuTemperature,
    /// Whether a rank's process lives, 1 or 0; a gauge.
    ProcessAlive,
    /// Nanoseconds that a rank waited for its input.
    DataWaitNs,
    /// Nanoseconds that a host waited for storage.
    StorageWaitNs,
    /// Packets that a port of a switch sent marked, because they queued there (ECN; SAI's
    /// `SAI_PORT_STAT_ECN_MARKED_PACKETS`).
    EcnMarks,
    /// Reasons for which a GPU's clock is held down, as bits of NVML's `nvmlClocksEventReasons`; a gauge.
    ClockReasons,
}

/// One reading of one counter.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CounterColumns {
    /// When it was read.
    pub time_ns: Vec<u64>,
    /// Row of the entity.
    pub entity: Vec<u32>,
    /// Which.
    pub counter: Vec<Counter>,
    /// Its value.
    pub value: Vec<f64>,
}

/// One round of probes from one NIC to another over one source port.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProbeColumns {
    /// When it ended.
    pub time_ns: Vec<u64>,
    /// Row of the flow: who probed whom over which path.
    pub flow: Vec<u32>,
    /// Whether the cluster was at work: loaded and unloaded baselines are kept apart (Meta RoCE section 6.4.1).
    pub loaded: Vec<bool>,
    /// Probes sent.
    pub sent: Vec<u32>,
    /// Probes that were not answered.
    pub lost: Vec<u32>,
    /// Median time one way, or half of the round trip; 0 when all were lost.
    pub delay_ns: Vec<u64>,
    /// Rate of a bandwidth probe in bits per second; 0 where only delay was probed.
    pub bits_per_s: Vec<f64>,
}

/// Records that belong together: all that came up to `until_ns`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    /// All records of operations that ended, and of those begun, up to here are in this batch or one before.
    pub until_ns: u64,
    /// Operations; one still within may come again when it has ended.
    pub operations: OperationColumns,
    /// Messages.
    pub messages: MessageColumns,
    /// Counters.
    pub counters: CounterColumns,
    /// Probes.
    pub probes: ProbeColumns,
}

macro_rules! columns {
    ($name:ident: $($column:ident: $type:ty),+ $(,)?) => {
        impl $name {
            /// Number of rows.
            pub fn len(&self) -> usize {
                columns!(@first self $($column)+).len()
            }

            /// Whether there is no row.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Adds a row, its values in the order of the columns.
            #[allow(clippy::too_many_arguments)]
            pub fn push(&mut self, $($column: $type),+) {
                $(self.$column.push($column);)+
            }

            /// Adds a row of another.
            ///
            /// # Panics
            /// Where the other has no such row.
            pub fn push_row(&mut self, from: &Self, row: usize) {
                $(self.$column.push(from.$column[row]);)+
            }

            /// Takes all rows out and keeps the room.
            pub fn clear(&mut self) {
                $(self.$column.clear();)+
            }

            /// Adds all rows of another.
            pub fn append(&mut self, other: &Self) {
                $(self.$column.extend_from_slice(&other.$column);)+
            }
        }
    };
    (@first $self:ident $first:ident $($rest:ident)*) => { $self.$first };
}

columns!(OperationColumns: communicator: u32, rank: u32, sequence: u32, shape: u32, enter_ns: u64, end_ns: u64);
columns!(MessageColumns: communicator: u32, sequence: u32, channel: u32, flow: u32, stage: u32, stages: u32,
    messages: u32, bytes: u64, network_ns: u64, data_wait_ns: u64, credit_wait_ns: u64, receive_wait_ns: u64,
    first_wait_stage: u32);
columns!(CounterColumns: time_ns: u64, entity: u32, counter: Counter, value: f64);
columns!(ProbeColumns: time_ns: u64, flow: u32, loaded: bool, sent: u32, lost: u32, delay_ns: u64, bits_per_s: f64);

impl Batch {
    /// Takes all rows out and keeps the room.
    pub fn clear(&mut self) {
        self.until_ns = 0;
        self.operations.clear();
        self.messages.clear();
        self.counters.clear();
        self.probes.clear();
    }
}

impl Counter {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 23] = [
        Self::OutOfSequence,
        Self::AckTimeouts,
        Self::LinkDowns,
        Self::LinkUp,
        Self::ReceiveErrors,
        Self::Drops,
        Self::PausedNs,
        Self::PauseFramesSent,
        Self::Cnps,
        Self::BytesSent,
        Self::BytesReceived,
        Self::BufferShare,
        Self::EccErrors,
        Self::NvlinkErrors,
        Self::Xid,
        Self::OutOfMemoryKills,
        Self::GpuClockMhz,
        Self::GpuTemperature,
        Self::ProcessAlive,
        Self::DataWaitNs,
        Self::StorageWaitNs,
        Self::EcnMarks,
        Self::ClockReasons,
    ];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfSequence => "out_of_sequence",
            Self::AckTimeouts => "ack_timeouts",
            Self::LinkDowns => "link_downs",
            Self::LinkUp => "link_up",
            Self::ReceiveErrors => "receive_errors",
            Self::Drops => "drops",
            Self::PausedNs => "paused_ns",
            Self::PauseFramesSent => "pause_frames_sent",
            Self::Cnps => "cnps",
            Self::BytesSent => "bytes_sent",
            Self::BytesReceived => "bytes_received",
            Self::BufferShare => "buffer_share",
            Self::EccErrors => "ecc_errors",
            Self::NvlinkErrors => "nvlink_errors",
            Self::Xid => "xid",
            Self::OutOfMemoryKills => "out_of_memory_kills",
            Self::GpuClockMhz => "gpu_clock_mhz",
            Self::GpuTemperature => "gpu_temperature",
            Self::ProcessAlive => "process_alive",
            Self::DataWaitNs => "data_wait_ns",
            Self::StorageWaitNs => "storage_wait_ns",
            Self::EcnMarks => "ecn_marks",
            Self::ClockReasons => "clock_reasons",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_in_and_out() {
        let mut batch = Batch::default();
        batch.operations.push(0, 1, 2, 3, 4, NOT_YET);
        assert_eq!((batch.operations.len(), batch.operations.end_ns[0]), (1, NOT_YET));
        batch.clear();
        assert!(batch.operations.is_empty());
    }

    #[test]
    fn counters_stand_in_the_order_of_their_codes() {
        for (code, counter) in Counter::ALL.into_iter().enumerate() {
            assert_eq!(counter as usize, code);
        }
    }
}

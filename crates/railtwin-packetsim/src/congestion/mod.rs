//! Congestion control at the sender: what may leave when, by what comes back.
//!
//! Each scheme is a [`Control`]: a state for each queue pair, and what becomes of it with each event. Traces of events
//! calculated by hand stand beside it as tests.
mod aimd;
mod dcqcn;
mod hpcc;

use std::fmt::Debug;

use aimd::AimdControl;
use dcqcn::DcqcnControl;
use hpcc::HpccControl;
use railtwin_engine::packet::CongestionControl;

use crate::network::Speed;

/// What a sender knows of its path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Of its NIC port.
    pub speed: Speed,
    /// Unloaded round trip, ps.
    pub round_trip: u64,
    /// Bytes of a full packet on the wire.
    pub full: u64,
}

impl Path {
    /// Bandwidth-delay product, bytes.
    pub fn product(&self) -> f64 {
        self.speed.bytes_per_s() * self.round_trip as f64 * 1e-12
    }
}

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Number of the packet that it answers, or after all that it acknowledges, and of the next packet to send.
    pub number: u32,
    /// See `number`.
    pub next: u32,
    /// Bytes on the wire that it acknowledges.
    pub bytes: u64,
    /// Whether the packet that it answers was marked.
    pub marked: bool,
    /// Greatest utilization on the way, 1/4096.
    pub telemetry: u16,
}

/// One scheme; its state belongs to a queue pair.
pub trait Control: Copy + Send + Sync + Debug {
    /// Of one queue pair.
    type State: Copy + Send + Debug;

    /// A queue pair that has sent nothing.
    fn start(&self, path: &Path) -> Self::State;

    /// A packet of `bytes` starts at `now`: the time until the next may, ps.
    fn on_sent(&self, state: &mut Self::State, path: &Path, now: u64, bytes: u64) -> u64;

    /// Most bytes in flight.
    fn window(&self, _state: &Self::State) -> u64 {
        u64::MAX
    }

    /// An acknowledgement is here.
    fn on_ack(&self, _state: &mut Self::State, _path: &Path, _feedback: Feedback) {}

    /// A congestion notification packet is here; the next packet was not to start before a time: when it may now.
    fn on_cnp(&self, _state: &mut Self::State, _now: u64, not_before: u64) -> u64 {
        not_before
    }

    /// A switch threw away the payload of a packet of `bytes`.
    fn on_trimmed(&self, _state: &mut Self::State, _path: &Path, _bytes: u64) {}
}

/// What is done under a congestion control, whichever it is: it is compiled for each, so that nothing is asked packet
/// by packet.
pub trait Controlled {
    /// What comes of it.
    type Outcome;

    /// Does it.
    fn under<C: Control>(self, control: C) -> Self::Outcome;
}

/// Does `what` under the control that a case names.
pub fn with_control<W: Controlled>(named: CongestionControl, what: W) -> W::Outcome {
    match named {
        CongestionControl::None => what.under(NoControl),
        CongestionControl::Dcqcn(dcqcn) => what.under(DcqcnControl(dcqcn.law())),
        CongestionControl::Hpcc(hpcc) => what.under(HpccControl(hpcc)),
        CongestionControl::Aimd(aimd) => what.under(AimdControl(aimd)),
    }
}

/// No control: line rate, without end.
#[derive(Clone, Copy, Debug)]
pub struct NoControl;

impl Control for NoControl {
    type State = ();

    fn start(&self, _path: &Path) {}

    #[inline]
    fn on_sent(&self, (): &mut (), path: &Path, _now: u64, bytes: u64) -> u64 {
        path.speed.time(bytes)
    }
}

//! What every controller is: events in, actions out, with the time as an argument.
//!
//! A controller is pure and deterministic: what it decides follows from the events that it was told of, in their order,
//! and from the times that it was given. It reads no clock and no file, so the same one decides over a simulated
//! fabric and over a real one; who carries events to it and its actions to devices is a mediator.
use std::fmt;

use railtwin_fabric::{DeviceId, HostId, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::SimTime;

use crate::paths::JobId;
use crate::te::{Change, LinkReport, WriteError};

/// A connection that a job opened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Opening<'a> {
    /// The job.
    pub job: JobId,
    /// Its NIC that sends.
    pub source: DeviceId,
    /// Its NIC that receives.
    pub target: DeviceId,
    /// Backend ports of the source; queue pair `q` leaves by port `q mod ports`.
    pub ports: u32,
    /// Row of its first queue pair among all that were ever opened.
    pub first: u32,
    /// Numbers of its queue pairs at the target, which switches may hash.
    pub numbers: &'a [u32],
    /// Bytes that a step of the job sends over it.
    pub bytes: f64,
    /// Links from the job's GPUs into the source, and from the target to them, that all of them cross; none where hosts have
    /// no PCIe switches.
    pub inside: Option<&'a [Vec<LinkId>; 2]>,
}

/// What a step of a job sends from one GPU of a host to another, over PCIe switches that other jobs may cross.
#[derive(Clone, PartialEq, Debug)]
pub struct Exchange {
    /// Links from one to the other.
    pub links: Vec<LinkId>,
    /// Bytes of a step.
    pub bytes: f64,
}

/// What a step of a job computes, as its plan says: what who submits it can tell beforehand.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StepDemand {
    /// GPUs.
    pub gpus: u32,
    /// Its longest chain of computation: what a step takes where communication takes no time.
    pub compute: SimTime,
    /// How much of that stands in line with communication that others may be in the way of, between hosts or over PCIe
    /// switches, before it or behind it; the rest may go on beside it.
    pub in_line: SimTime,
    /// Computation of all GPUs together, GPU-seconds.
    pub work: f64,
}

/// A job that comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrival<'a> {
    /// The job.
    pub job: JobId,
    /// What a step of it computes.
    pub step: StepDemand,
    /// What a step of it sends inside hosts.
    pub exchanges: &'a [Exchange],
}

/// A job that waits for GPUs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Submission {
    /// The job.
    pub job: JobId,
    /// GPUs that it wants.
    pub gpus: u32,
    /// For how long it would run alone, as its owner says.
    pub duration: SimTime,
    /// What a step computes.
    pub compute: SimTime,
    /// Bytes that each of its GPUs sends in a step, by the usual algorithms.
    pub bytes: f64,
}

/// How a controller ranks a job, where it ranks jobs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// The job.
    pub job: JobId,
    /// Work for each second of communication, GPU-seconds per second; infinite without communication.
    pub intensity: f64,
    /// Whether that was measured in the run, and not taken from the plan.
    pub measured: bool,
    /// Correction factor against the reference job; none under policies without one.
    pub factor: Option<f64>,
    /// 0 goes first.
    pub level: u32,
    /// The priority that it was told last, 0 to 7; the highest goes first.
    pub priority: u8,
}

/// What a controller is told.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event<'a> {
    /// A link is up or down, as its switch told it.
    Link(LinkReport),
    /// A job waits for GPUs, and for who places jobs.
    Submitted(Submission),
    /// A job came; its connections follow.
    Arrived(Arrival<'a>),
    /// A job runs on these hosts, in the order of its ranks: told when it comes to who steers hosts.
    Placed {
        /// The job.
        job: JobId,
        /// They.
        hosts: &'a [HostId],
    },
    /// Connections were opened.
    Opened(&'a [Opening<'a>]),
    /// A job is gone, with all its connections.
    Closed(JobId),
    /// What became of a write to a leaf.
    Written {
        /// The write.
        change: Change,
        /// Why it did not succeed; none where it did.
        error: Option<&'a WriteError>,
    },
    /// Probes that were asked for together came back or did not, in the order in which they were asked for.
    Probed(&'a [Answer]),
    /// What queue pairs completed since the last feedback, by row; those that completed nothing are left out.
    Completed(&'a [Completion]),
    /// What links and NICs counted since the last feedback.
    Counters(Counters<'a>),
    /// A detector names a host.
    Found(Finding),
    /// A person names a host, or agrees with a finding that was proposed.
    Confirmed(Finding),
    /// What stopped a job, and was no host of its own, is gone.
    Cleared(JobId),
    /// A host works again.
    Repaired(HostId),
}

/// What became of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Packets sent.
    pub sent: u32,
    /// Packets to which no answer came, whichever way it was lost.
    pub lost: u32,
    /// Median time there and back of those that were answered; [`SimTime::NEVER`] where none was.
    pub delay: SimTime,
    /// The longest of them; [`SimTime::NEVER`] where none was answered.
    pub delay_max: SimTime,
    /// Whether a link on the way there or back carried more than [`Answer::LOADED`] of what it can while it was
    /// probed, without what probes sent.
    pub loaded: bool,
}

impl Answer {
    /// Share of a link's capacity above which it counts as loaded: there a packet that comes at random waits for half of
    /// another one's time on average (M/D/1: ρ / (2 (1 − ρ)) of it).
    pub const LOADED: f64 = 0.5;

    /// Of packets that were sent and lost, without times.
    pub const fn of(sent: u32, lost: u32) -> Self {
        Self { sent, lost, delay: SimTime::NEVER, delay_max: SimTime::NEVER, loaded: false }
    }
}

/// What a queue pair completed since the last feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Its row.
    pub queue_pair: u32,
    /// Bytes of messages that completed.
    pub bytes: u64,
    /// What they took: of each message the time from its posting to its completion, or from the completion of the one
    /// before it on the queue pair where that came later. So it is the time in which the queue pair had something to do,
    /// and messages that wait behind others do not make a path look slow.
    pub time: SimTime,
}

/// What was counted since the last feedback.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counters<'a> {
    /// Time since the last feedback.
    pub period: SimTime,
    /// Links between NICs and switches that carried something, ascending.
    pub links: &'a [LinkCounters],
    /// Queue pairs of which packets arrived, by row.
    pub queue_pairs: &'a [QueuePairCounters],
}

/// What a link carried since the last feedback.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkCounters {
    /// The link.
    pub link: LinkId,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Share of what it could have carried, 0 to 1.
    pub utilization: f64,
    /// Share of its packets that were marked by its queue, 0 to 1.
    pub marked: f64,
}

/// What the NIC that receives counted of a queue pair since the last feedback.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueuePairCounters {
    /// Its row.
    pub queue_pair: u32,
    /// Share of its packets that arrived marked, 0 to 1.
    pub marked: f64,
}

/// A host that a detector holds for the cause of a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Finding {
    /// The host.
    pub host: HostId,
    /// The job that suffers.
    pub job: JobId,
    /// How sure the detector is, 0 to 1.
    pub confidence: f64,
    /// What is wrong, in the detector's word.
    pub cause: &'static str,
    /// Whether the job stands still by it, rather than being slow.
    pub halts: bool,
}

/// What a controller wants done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// A queue pair, by its row, sends by another source port; none where it has no path any more.
    Path {
        /// Row of the queue pair.
        queue_pair: u32,
        /// The UDP source port.
        source_port: Option<u16>,
    },
    /// What a job sends goes before what jobs of lower priority send, from now on.
    Priority {
        /// The job.
        job: JobId,
        /// 0 to 7; the highest goes first.
        priority: u8,
    },
    /// A queue pair, by its row, carries another share of its connection's bytes.
    Weight {
        /// Row of the queue pair.
        queue_pair: u32,
        /// Its share, in parts of [`WHOLE`](crate::paths::load_balance::WHOLE): what counts is the ratio to those of the
        /// other queue pairs of its connection, which have even shares until they are told others.
        share: u32,
    },
    /// A leaf's entry changes.
    Entry(Change),
    /// Packets are sent from a port to a NIC, to see how many are answered, and when.
    Probe {
        /// The port.
        source: NicPort,
        /// The NIC.
        target: DeviceId,
        /// The UDP source port.
        source_port: u16,
        /// Packets.
        packets: u32,
    },
    /// A host asks one of its own leaves for its ECMP groups: one message, which carries no data.
    Read {
        /// The host.
        host: HostId,
        /// The leaf.
        leaf: DeviceId,
    },
    /// A job that waits gets the first GPUs that are free of a host. It starts when it has all that it wants, and gets
    /// them at one time.
    Place {
        /// The job.
        job: JobId,
        /// The host.
        host: HostId,
        /// How many of its GPUs.
        gpus: u32,
    },
    /// No job runs on a host from now on.
    Isolate(HostId),
    /// A spare takes a host's place in a job, and its ranks in their order.
    Swap {
        /// The job.
        job: JobId,
        /// The host that leaves it.
        out: HostId,
        /// The spare.
        spare: HostId,
    },
    /// A job starts again from its latest valid checkpoint.
    Restart(JobId),
}

impl Action {
    /// The name in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Path { .. } => "path",
            Self::Priority { .. } => "priority",
            Self::Weight { .. } => "weight",
            Self::Entry(Change::Add(_)) => "entry-add",
            Self::Entry(Change::Replace { .. }) => "entry-replace",
            Self::Entry(Change::Remove(_)) => "entry-remove",
            Self::Probe { .. } => "probe",
            Self::Read { .. } => "read",
            Self::Place { .. } => "place",
            Self::Isolate(_) => "isolate",
            Self::Swap { .. } => "swap",
            Self::Restart(_) => "restart",
        }
    }
}

/// An action with its reason.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Decision {
    /// What shall be done.
    pub action: Action,
    /// Why, in a word: as the table `actions` has it.
    pub reason: &'static str,
}

/// Whoever decides.
pub trait Controller: fmt::Debug + Send {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// Takes in what it is told at `now`. Times never go back.
    fn on_event(&mut self, now: SimTime, event: &Event<'_>);

    /// Appends what it wants done, once all events of `now` are told.
    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>);

    /// When it is to be asked again though nothing happens; [`SimTime::NEVER`] if only events can move it. After
    /// [`Controller::decide`] at `now` it is later than `now`.
    fn next_time(&self) -> SimTime {
        SimTime::NEVER
    }

    /// Findings that wait for a person, who answers with [`Event::Confirmed`]; empty where none does.
    fn proposed(&self) -> &[Finding] {
        &[]
    }

    /// How it ranks the jobs that are there; empty where it ranks none.
    fn standings(&self) -> Vec<Standing> {
        Vec::new()
    }
}

/// When who plans does so again after something changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replan {
    /// Never: what was planned stays, switches route around what is dead.
    Never,
    /// As soon as it is known.
    AtOnce,
    /// So long after it is known.
    After(SimTime),
    /// At the next whole multiple of a period.
    Every(SimTime),
}

impl Replan {
    /// When a change that becomes known at `now` is planned for; none where it never is.
    pub fn time_for(self, now: SimTime) -> Option<SimTime> {
        match self {
            Self::Never => None,
            Self::AtOnce => Some(now),
            Self::After(time) => Some(now.saturating_add(time)),
            Self::Every(period) => {
                let period = period.ps().max(1);
                Some(SimTime::from_ps((now.ps() / period + 1).saturating_mul(period)))
            }
        }
    }
}

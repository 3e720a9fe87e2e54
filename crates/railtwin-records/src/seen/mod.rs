//! Typed evidence: the kind of thing that was seen, with its fields. Sentences are written from it and never read back.
//!
//! One file per source of evidence. [`seen!`] declares a kind once: its fields, its unit and its sentence. JSON takes the
//! kind and the fields from the same declaration.
mod causes;
mod counters;
mod devices;
mod dumps;
mod live;
mod logs;
mod operations;
mod ports;
mod probes;
mod ras;
mod tests;
mod work;

use std::fmt;

use serde::Serialize;

pub use causes::{CauseSeen, SocketReason};
pub use counters::{CounterSeen, Period, TransportSide};
pub use devices::DeviceSeen;
pub use dumps::{DumpSeen, DumpedCall, RankState, group_name};
pub use live::{LivePhase, LiveSeen};
pub use logs::LogSeen;
pub use operations::{MessageSeen, OperationSeen, RankPlace};
pub use ports::PortClass;
pub use probes::{ProbeSeen, Usual};
pub use ras::{RasSeen, RasState};
pub use tests::TestSeen;
pub use work::{ComputationSeen, NeighborSeen, StepSeen, XpuTimerSeen};

/// Names that a sentence lists before it counts the rest.
const LISTED: usize = 8;

/// Declares the kinds of evidence of one source: fields, unit of the figure, sentence.
macro_rules! seen {
    ($(#[$doc:meta])* $name:ident in $table:literal:
        $( $variant:ident { $($field:ident: $type:ty),* $(,)? } [$unit:expr] $words:expr; )*
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum $name {
            $(
                #[doc = concat!("Sentence: `", stringify!($words), "`.")]
                $variant {
                    $( #[doc = concat!("The field `", stringify!($field), "` of the sentence.")] $field: $type, )*
                },
            )*
        }

        impl $name {
            /// Table that evidence of this source comes from.
            pub const TABLE: &'static str = $table;

            /// Unit of the figure beside it.
            #[allow(unused_variables, reason = "few units depend on a field")]
            pub fn unit(&self) -> &'static str {
                match self {
                    $( Self::$variant { $($field),* } => $unit, )*
                }
            }

            /// The sentence, without figure and source.
            #[allow(unused_variables, reason = "not all fields stand in the sentence")]
            pub fn words(&self) -> String {
                match self {
                    $( Self::$variant { $($field),* } => $words, )*
                }
            }
        }
    };
}
use seen;

/// A kind of evidence, by the source that it comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Seen {
    /// Counters of NICs, switches, GPUs and hosts.
    Counter(CounterSeen),
    /// Probes between NICs or hosts.
    Probe(ProbeSeen),
    /// Collective operations.
    Operation(OperationSeen),
    /// Messages of collectives.
    Message(MessageSeen),
    /// Computation of ranks.
    Computation(ComputationSeen),
    /// Times of steps.
    Step(StepSeen),
    /// Dumps of a Flight Recorder, or a watchdog's lines of the same content.
    Dump(DumpSeen),
    /// Logs of processes and kernels.
    Log(LogSeen),
    /// Causes that lines of logs name.
    Cause(CauseSeen),
    /// Snapshots of NCCL RAS.
    Ras(RasSeen),
    /// Results of nccl-tests and perftest.
    Test(TestSeen),
    /// Neighbors of ports (LLDP).
    Neighbor(NeighborSeen),
    /// Flags of xpu_timer.
    XpuTimer(XpuTimerSeen),
    /// Tables about devices.
    Device(DeviceSeen),
    /// Live records of ranks.
    Live(LiveSeen),
}

/// Calls a method of the family that a [`Seen`] holds.
macro_rules! each {
    ($self:expr, $family:ident => $call:expr) => {
        match $self {
            Seen::Counter($family) => $call,
            Seen::Probe($family) => $call,
            Seen::Operation($family) => $call,
            Seen::Message($family) => $call,
            Seen::Computation($family) => $call,
            Seen::Step($family) => $call,
            Seen::Dump($family) => $call,
            Seen::Log($family) => $call,
            Seen::Cause($family) => $call,
            Seen::Ras($family) => $call,
            Seen::Test($family) => $call,
            Seen::Neighbor($family) => $call,
            Seen::XpuTimer($family) => $call,
            Seen::Device($family) => $call,
            Seen::Live($family) => $call,
        }
    };
}

impl Seen {
    /// Table that evidence of this kind comes from.
    pub const fn table(&self) -> &'static str {
        match self {
            Self::Counter(_) => CounterSeen::TABLE,
            Self::Probe(_) => ProbeSeen::TABLE,
            Self::Operation(_) => OperationSeen::TABLE,
            Self::Message(_) => MessageSeen::TABLE,
            Self::Computation(_) => ComputationSeen::TABLE,
            Self::Step(_) => StepSeen::TABLE,
            Self::Dump(_) => DumpSeen::TABLE,
            Self::Log(_) => LogSeen::TABLE,
            Self::Cause(_) => CauseSeen::TABLE,
            Self::Ras(_) => RasSeen::TABLE,
            Self::Test(_) => TestSeen::TABLE,
            Self::Neighbor(_) => NeighborSeen::TABLE,
            Self::XpuTimer(_) => XpuTimerSeen::TABLE,
            Self::Device(_) => DeviceSeen::TABLE,
            Self::Live(_) => LiveSeen::TABLE,
        }
    }

    /// Unit of the figure beside it.
    pub fn unit(&self) -> &'static str {
        each!(self, family => family.unit())
    }

    /// The sentence, without figure and source.
    pub fn words(&self) -> String {
        each!(self, family => family.words())
    }
}

/// A line of a file that a reader took evidence from.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub struct SourceLine {
    /// The file, as it was given.
    pub file: String,
    /// The line in it, from 1 on; 0 where no line is known.
    pub line: u64,
}

impl SourceLine {
    /// A line of a file.
    pub fn new(file: impl Into<String>, line: u64) -> Self {
        Self { file: file.into(), line }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One line of evidence: a figure beside its expectation, what it is a figure of, and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// Table that it comes from: operations, messages, counters, probes. That of [`Evidence::seen`], unless a reader of
    /// another table made it.
    pub table: &'static str,
    /// The kind, with its fields.
    pub seen: Seen,
    /// Measured figure.
    pub value: f64,
    /// Expected figure.
    pub expected: f64,
    /// Unit of both.
    pub unit: &'static str,
    /// Lines of files that say so, where a reader knows them.
    pub source: Vec<SourceLine>,
}

impl Evidence {
    /// Evidence of a kind without a source line; table and unit are those of the kind.
    pub fn new(seen: impl Into<Seen>, value: f64, expected: f64) -> Self {
        let seen = seen.into();
        Self { table: seen.table(), unit: seen.unit(), seen, value, expected, source: Vec::new() }
    }

    /// The same evidence with the line that says so.
    #[must_use]
    pub fn at(mut self, source: SourceLine) -> Self {
        self.source.push(source);
        self
    }

    /// The sentence with its source, without the figures.
    pub fn words(&self) -> String {
        let Some(source) = self.source.first() else { return self.seen.words() };
        match &self.seen {
            Seen::Log(
                LogSeen::Quoted { text } | LogSeen::Unexplained { text } | LogSeen::SwitchXid { text, .. },
            ) => {
                format!("{source}: {text}")
            }
            Seen::Test(TestSeen::Failed { line, .. }) if !line.is_empty() => {
                format!("{} ({source}: {line})", self.seen.words())
            }
            seen => format!("{} ({source})", seen.words()),
        }
    }

    /// Whether the figure is the number of one operation, and no count.
    pub fn is_operation_number(&self) -> bool {
        matches!(self.seen, Seen::Dump(DumpSeen::Holds { .. } | DumpSeen::NeverBegan { .. }))
    }

    /// How much it decides, 0 to 4: faults by themselves before counts of errors, these before measures beside
    /// their peers. Evidence that is as expected decides nothing, except that the number of an operation proves where a
    /// rank is.
    pub fn weight(&self) -> u8 {
        match &self.seen {
            _ if self.is_operation_number() => 3,
            // Members, open places and other causes say how far it reaches.
            Seen::Test(
                TestSeen::GroupHosts { .. } | TestSeen::UntestedHosts { .. } | TestSeen::OtherCauses { .. },
            ) => 1,
            _ if (self.value - self.expected).abs() <= 1e-9 * self.expected.abs() => 0,
            Seen::Counter(CounterSeen::Xid { .. } | CounterSeen::NewXid { .. }) => 4,
            // Dumps of a job that runs show those, too.
            Seen::Dump(DumpSeen::Waiting { .. }) if self.table == DumpSeen::TABLE => 1,
            _ if self.expected == 0.0 && self.value >= 1.0 => 3,
            _ => 2,
        }
    }
}

macro_rules! into_seen {
    ($($family:ident => $variant:ident),* $(,)?) => {
        $(
            impl From<$family> for Seen {
                fn from(family: $family) -> Self {
                    Self::$variant(family)
                }
            }
        )*
    };
}
into_seen! {
    CounterSeen => Counter, ProbeSeen => Probe, OperationSeen => Operation, MessageSeen => Message,
    ComputationSeen => Computation, StepSeen => Step, DumpSeen => Dump, LogSeen => Log, CauseSeen => Cause, RasSeen => Ras,
    TestSeen => Test, NeighborSeen => Neighbor, XpuTimerSeen => XpuTimer, DeviceSeen => Device, LiveSeen => Live,
}

/// The first names of a list; `more` says what stands for the others.
fn listed<T: fmt::Display>(names: &[T], more: impl Fn(usize) -> String) -> String {
    let mut shown: Vec<String> = names.iter().take(LISTED).map(T::to_string).collect();
    if names.len() > shown.len() {
        shown.push(more(names.len() - LISTED));
    }
    shown.join(", ")
}

/// The first names, then `and 3 more`.
fn counted_list<T: fmt::Display>(names: &[T]) -> String {
    listed(names, |left| format!("and {left} more"))
}

/// The first names, then an ellipsis.
fn cut_list<T: fmt::Display>(names: &[T]) -> String {
    listed(names, |_| "…".to_owned())
}

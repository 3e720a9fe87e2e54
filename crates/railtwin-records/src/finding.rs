//! What diagnosis says: findings with suspects and evidence, and the actions that it proposes.
use crate::component::Component;
use crate::fault::FaultKind;
use crate::seen::Evidence;

/// What is seen (C4 section III-A's four syndromes, and what stands beside them).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Syndrome {
    /// All ranks entered an operation and it does not end.
    CommunicationHang,
    /// A rank does not enter an operation that its peers wait in.
    NonCommunicationHang,
    /// Messages take longer than they should.
    CommunicationSlow,
    /// A rank enters operations later than its peers.
    NonCommunicationSlow,
    /// Slow messages that share a link with other traffic: no fault, never isolated.
    Collision,
    /// A process is gone.
    Crash,
    /// A counter says so, whatever operations do.
    Counter,
    /// Probes take longer than their baseline.
    Latency,
    /// Probes do not arrive.
    Unreachable,
    /// The ranks of a job do not run the same operations.
    Mismatch,
    /// A port hears another neighbor than it should (LLDP).
    Wiring,
}

impl Syndrome {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CommunicationHang => "communication-hang",
            Self::NonCommunicationHang => "non-communication-hang",
            Self::CommunicationSlow => "communication-slow",
            Self::NonCommunicationSlow => "non-communication-slow",
            Self::Collision => "collision",
            Self::Crash => "crash",
            Self::Counter => "counter",
            Self::Latency => "latency",
            Self::Unreachable => "unreachable",
            Self::Mismatch => "mismatch",
            Self::Wiring => "wiring",
        }
    }
}

/// One suspect of a finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Suspect {
    /// What.
    pub component: Component,
    /// How likely, 0..1; the suspects of a finding sum to 1 at most.
    pub share: f64,
}

/// The interval in which something began, in nanoseconds on the clock of the telemetry.
///
/// It runs from the begin of the last window (or reading) that was still normal to the end of the first one that was not:
/// a fault at the end of a window need not show in it. `from_ns` is 0 where records show no normal time before; both are
/// 0 where nothing tells a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Since {
    /// It began at this time at the earliest.
    pub from_ns: u64,
    /// It began by this time.
    pub until_ns: u64,
}

impl Since {
    /// The interval from one time to another.
    pub const fn between(from_ns: u64, until_ns: u64) -> Self {
        Self { from_ns, until_ns }
    }

    /// A moment that records state.
    pub const fn at(ns: u64) -> Self {
        Self { from_ns: ns, until_ns: ns }
    }

    /// Of two intervals the one that ends first: what is seen first began first. One that tells no time is none.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        let nothing = Self::default();
        let is_earlier = (other.until_ns, other.from_ns) < (self.until_ns, self.from_ns);
        if self == nothing || is_earlier && other != nothing { other } else { self }
    }

    /// The one of several that ends first; `at_ns` as a moment where there is none.
    pub fn earliest(all: impl Iterator<Item = Self>, at_ns: u64) -> Self {
        all.reduce(Self::earlier).unwrap_or(Self::at(at_ns))
    }
}

/// Cost of a fault to a job: time lost against the state before it, measured by the steps that telemetry saw.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Nanoseconds that steps took longer than those before the fault, up to the end of observation.
    pub lost_ns: f64,
    /// Share of the job's time since the fault that is lost, 0..1: 1 − mean step before over mean step after.
    pub share: f64,
}

/// What diagnosis has found.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// When it was found, on the clock of the telemetry.
    pub at_ns: u64,
    /// When what it is about began, as far as records tell.
    pub since: Since,
    /// What is seen.
    pub syndrome: Syndrome,
    /// Faults that would look like this, the likeliest first; empty where nothing tells.
    pub faults: Vec<FaultKind>,
    /// Who can be it, the likeliest first. Components that the signals cannot tell apart all stand here. Empty:
    /// not enough evidence.
    pub suspects: Vec<Suspect>,
    /// Confidence that the fault is within the suspects, 0..1.
    pub confidence: f64,
    /// How far records deviate: share of the time of a message, operation or step that is beyond what is usual; 1 for
    /// what stands still. No cost: a message may be slow at no cost to the job.
    pub severity: f64,
    /// What it costs the job; none where steps of the job are not known before and after it.
    pub cost: Option<Cost>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// What would tell the suspects apart, or what is missing; empty where nothing is.
    pub advice: String,
}

impl Finding {
    /// Confidence from which a finding accuses; below it, it asks for more evidence.
    pub const ACCUSATION: f64 = 0.5;

    /// Returns the rank of a finding: the share of job time that is lost, where it is known, else the severity.
    pub fn weight(&self) -> f64 {
        self.cost.map_or(self.severity, |cost| cost.share)
    }

    /// Identity of a finding: the same for the same syndrome, fault and suspects, whenever and however often it is found.
    ///
    /// Sixteen hexadecimal digits: FNV-1a (64 bits) of these names.
    pub fn id(&self) -> String {
        let mut names: Vec<String> = (self.suspects.iter())
            .map(|suspect| format!("{} {}", suspect.component.kind(), suspect.component.name()))
            .collect();
        names.sort_unstable();
        let fault = self.faults.first().map_or("", |fault| fault.name());
        // Nothing else tells apart two findings that name nobody.
        let kinds = self.evidence.first().filter(|_| names.is_empty()).map(Evidence::words);
        let parts = [self.syndrome.name(), fault].into_iter().map(str::to_owned).chain(names).chain(kinds);
        let bytes = parts.flat_map(|part| part.into_bytes().into_iter().chain([0]));
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }

    /// Whether it accuses: it names somebody, with confidence, and is no collision.
    pub fn accuses(&self) -> bool {
        self.syndrome != Syndrome::Collision
            && !self.suspects.is_empty()
            && self.confidence >= Self::ACCUSATION
    }
}

/// What may be done about a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ActionKind {
    /// Send probes between pairs that tell suspects apart.
    Probe,
    /// Take a host out of the job and start it anew from its checkpoint.
    Isolate,
    /// Take traffic off a cable, port or switch.
    Drain,
    /// Give the owner of the job what was found.
    Report,
}

impl ActionKind {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Isolate => "isolate",
            Self::Drain => "drain",
            Self::Report => "report",
        }
    }
}

/// An action that a finding asks for. Diagnosis proposes and applies nothing.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// Row of the finding.
    pub finding: u32,
    /// What to do.
    pub kind: ActionKind,
    /// With what.
    pub target: Component,
    /// Why, in a sentence.
    pub reason: String,
}

//! `[failures]`: faults that are drawn, by rates or from a recorded history, instead of written one by one.
use railtwin_diagnosis::failure_process::PartKind;
use railtwin_units::SimTime;
use serde::{Deserialize, Serialize};

use crate::fault_spec::{Direction, FaultCause, FaultKind, FaultSpec, FaultSubject};

/// What fails by chance in a window of the run, which stands for a longer real time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailuresSpec {
    /// Rates of a published cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessName>,
    /// Path of a recorded history that is replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Hosts of the cluster of the history; none = those of the shipped one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<u32>,
    /// Day of the history with which the window begins; none = its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_day: Option<f64>,
    /// When the window begins.
    #[serde(default)]
    pub from: SimTime,
    /// Its length.
    pub window: SimTime,
    /// Real days that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
    /// The same as real seconds for each simulated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceleration: Option<f64>,
    /// How long repairs take.
    #[serde(default)]
    pub repairs: Repairs,
    /// Kinds that are drawn; none = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<FaultKind>>,
    /// Seed of the draw; none = the scenario's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Rates of one's own.
    #[serde(default, rename = "rate", skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<RateSpec>,
}

impl FailuresSpec {
    /// Real seconds for each simulated one.
    pub fn acceleration(&self) -> f64 {
        let of_days = self.days.map(|days| days * 86_400.0 / self.window.seconds());
        self.acceleration.or(of_days).unwrap_or(1.0)
    }

    /// Real hours that the window stands for.
    pub fn hours(&self) -> f64 {
        self.window.seconds() * self.acceleration() / 3600.0
    }

    /// Whether faults of a kind are drawn.
    pub fn draws(&self, kind: FaultKind) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }
}

/// A published process (docs/models/faults.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProcessName {
    /// C4, Table I.
    C4,
    /// The interruptions of Llama 3 405B.
    Llama3,
    /// HPN, section 2.3.
    Hpn,
    /// The history in `data/failures` as rates.
    InfiniteHbd,
}

impl ProcessName {
    /// The name in scenarios.
    pub fn name(self) -> &'static str {
        railtwin_diagnosis::failure_process::PROCESSES[self as usize]
    }
}

railtwin_units::choice! {
    /// How long repairs take in the run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Repairs {
        /// Shortened as the time between failures is: as many things are broken at once as in reality.
        #[default]
        Scaled = "scaled",
        /// As long as in reality.
        Real = "real",
        /// Nothing is mended.
        Never = "never",
    }
}

/// How often one kind of part fails, and the fault that it is then: a fault without a time and a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateSpec {
    /// Name in tables; none = kind and part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What fails.
    pub part: PartKind,
    /// What the rate is counted over; none = the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<PartKind>,
    /// Failures in a month of 30 days for each of these.
    pub per_month: f64,
    /// Mean real time until it works again; none = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<SimTime>,
    /// What happens to it.
    pub kind: FaultKind,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaps: Option<u32>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<SimTime>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<SimTime>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<f64>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<SimTime>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<FaultCause>,
    /// As of a fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

impl RateSpec {
    /// The name in tables.
    pub fn name(&self) -> String {
        let of_kind = || format!("{} {}", self.part.name(), self.kind.name());
        self.name.clone().unwrap_or_else(of_kind)
    }

    /// The fault that a failure of the part called `name` is, at no time yet.
    pub(crate) fn fault(&self, name: String) -> FaultSpec {
        FaultSpec {
            flaps: self.flaps,
            period: self.period,
            length: self.length,
            direction: self.direction,
            capacity: self.capacity,
            loss: self.loss,
            delay: self.delay,
            factor: self.factor,
            cause: self.cause,
            every: self.every,
            ..FaultSpec::new(SimTime::ZERO, subject(self.part, self.kind, name), self.kind)
        }
    }
}

/// The part called `name` as a fault of a kind names it: a host whose links fail is a device.
pub(crate) fn subject(part: PartKind, kind: FaultKind, name: String) -> FaultSubject {
    use FaultKind::{Down, Flap, Latency, Lossy, Slow};
    match part {
        PartKind::Gpu => FaultSubject::Gpu(name),
        PartKind::Rank => FaultSubject::Rank(name),
        PartKind::Nic => FaultSubject::Nic(name),
        PartKind::Host if matches!(kind, Down | Flap | Slow | Lossy | Latency) => FaultSubject::Device(name),
        PartKind::Host => FaultSubject::Host(name),
        PartKind::AccessCable | PartKind::UplinkCable => FaultSubject::Cable(name),
        PartKind::Leaf => FaultSubject::Leaf(name),
        PartKind::Spine => FaultSubject::Spine(name),
        PartKind::Job => FaultSubject::Job(name),
        PartKind::Storage => FaultSubject::Storage(name),
    }
}

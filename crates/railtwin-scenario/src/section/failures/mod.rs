//! `[failures]`: faults that are drawn, by rates or from a recorded history, instead of written one by one.
pub(crate) mod parts;
pub(crate) mod resolve;
pub(crate) mod rules;

use railtwin_reliability::failure_process::{PartKind, Process};
use railtwin_units::SimTime;
use railtwin_units::keys::{Kind, whole};

use crate::section::fault::{FaultKind, FaultMeasure, FaultSpec, FaultSubject};

/// Kinds of faults that come by chance while a job runs: all but repairs, and cables that are wrong from the start on.
const KINDS: [&str; FaultKind::NAMES.len() - 2] = {
    let all = FaultKind::NAMES;
    let mut kept = [""; FaultKind::NAMES.len() - 2];
    let (mut from, mut to) = (0, 0);
    while from < all.len() {
        if from != FaultKind::Up as usize && from != FaultKind::WrongCable as usize {
            kept[to] = all[from];
            to += 1;
        }
        from += 1;
    }
    kept
};
static KIND: Kind = Kind::Choice(&KINDS);
/// A hundred years.
const MOST_DAYS: f64 = 36_500.0;

railtwin_units::section! {
    /// What fails by chance in a window of the run, which stands for a longer real time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct FailuresSpec "[failures]" {
        /// Where faults come from, beside or instead of rates of one's own.
        pub origin: Option<Origin> [flat] = None,
        /// Hosts of the cluster of the history; default 400, those of the shipped one.
        pub hosts: Option<u32> [whole(1..=1 << 24)] = None,
        /// Day of the history with which the window begins; default its start.
        pub first_day: Option<f64> [Kind::Share(0.0, MOST_DAYS)] = None,
        /// When the window in which faults begin starts.
        pub from: SimTime = SimTime::ZERO,
        /// How long it is.
        pub window: SimTime,
        /// How much longer real time is.
        pub scale: TimeScale [flat],
        /// How many times as often things fail as the rates say.
        #[key(sparse)]
        pub factor: f64 [Kind::Share(0.0, 1e6)] = 1.0,
        /// How long repairs take: shortened as the time between failures is, as in reality, or never.
        pub repairs: Repairs = Repairs::Scaled,
        /// Kinds of faults that are drawn; default all.
        pub kinds: Option<Vec<FaultKind>> [Kind::List(&KIND)] = None,
        /// Seed of the draw; default the scenario's.
        pub seed: Option<u64> = None,
        /// Rates of one's own, instead of a process or beside it.
        pub rate: Vec<RateSpec> = Vec::new(),
    }
}

railtwin_units::one_of! {
    /// Where faults come from.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Origin {
        /// Rates of a published cluster.
        Process(Process) = "process",
        /// Path of a recorded history of faults, in place of rates.
        Replay(String) = "replay",
    }
}

railtwin_units::one_of! {
    /// How much longer real time is than the window.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum TimeScale {
        /// Real days that the window stands for.
        Days(f64) [Kind::Share(0.0, MOST_DAYS)] = "days",
        /// The same as real seconds for each simulated one.
        Acceleration(f64) [Kind::Share(0.0, 1e12)] = "acceleration",
    }
}

impl FailuresSpec {
    /// Real seconds for each simulated one.
    pub fn acceleration(&self) -> f64 {
        match self.scale {
            TimeScale::Days(days) => days * 86_400.0 / self.window.seconds(),
            TimeScale::Acceleration(acceleration) => acceleration,
        }
    }

    /// Real hours that the window stands for.
    pub fn hours(&self) -> f64 {
        self.window.seconds() * self.acceleration() / 3600.0
    }

    /// The published cluster whose rates are drawn.
    pub fn process(&self) -> Option<Process> {
        match self.origin {
            Some(Origin::Process(process)) => Some(process),
            _ => None,
        }
    }

    /// The path of the history that is replayed.
    pub fn replay(&self) -> Option<&str> {
        match &self.origin {
            Some(Origin::Replay(path)) => Some(path),
            _ => None,
        }
    }

    /// Whether faults of a kind are drawn.
    pub fn draws(&self, kind: FaultKind) -> bool {
        self.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind))
    }
}

railtwin_units::choice! {
    /// How long repairs take in the run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Repairs {
        /// Shortened as the time between failures is: as many things are broken at once as in reality.
        Scaled = "scaled",
        /// As long as in reality.
        Real = "real",
        /// Nothing is mended.
        Never = "never",
    }
}

railtwin_units::section! {
    /// How often one kind of part fails, and the fault that it is then: a fault without a time and a name.
    #[derive(Clone, Debug, PartialEq)]
    pub struct RateSpec "[[failures.rate]]" {
        /// Name in tables; default part and kind.
        #[key(fixed)]
        pub name: Option<String> [Kind::Name] = None,
        /// What fails; of GPUs, NICs, hosts, cables and leaves, those that jobs run on.
        pub part: PartKind,
        /// What the rate is counted over; default the part.
        pub per: Option<PartKind> = None,
        /// Failures in 30 days for each of these.
        pub per_month: f64 [Kind::Share(0.0, 1e9)],
        /// Mean real time until it works again; default never.
        pub repair: Option<SimTime> = None,
        /// What happens to it.
        pub kind: FaultKind [Kind::Choice(&KINDS)],
        /// How bad it is then.
        pub measure: FaultMeasure [flat] = FaultMeasure::default(),
    }
}

impl RateSpec {
    /// The name in tables.
    pub fn name(&self) -> String {
        let of_kind = || format!("{} {}", self.part.name(), self.kind.name());
        self.name.clone().unwrap_or_else(of_kind)
    }

    /// The fault that a failure of the part called `name` is, at no time yet.
    pub(crate) fn fault(&self, name: String) -> FaultSpec {
        let fault = FaultSpec::new(SimTime::ZERO, subject(self.part, self.kind, name), self.kind);
        FaultSpec { measure: self.measure, ..fault }
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

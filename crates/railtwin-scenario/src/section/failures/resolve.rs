//! From `[failures]` to faults: when which part fails, and the fault that it is then.
use railtwin_engine::Case;
use railtwin_fabric::HostId;
use railtwin_records::fault::Truth;
use railtwin_reliability::downtime::history::{HISTORY_FORM, SHIPPED_HOSTS, read_history};
use railtwin_reliability::downtime::replay::{Episode, FaultEvent, Replay};
use railtwin_reliability::failure_process::{self, Fall, PartKind, Process};
use railtwin_reliability::failure_rates::{Cause, Draw, MONTH_H};
use railtwin_units::SimTime;

use crate::resolve::Reader;
use crate::section::failures::parts::Parts;
use crate::section::failures::{FailuresSpec, Repairs, subject};
use crate::section::fault::resolve::{Ground, Injected};
use crate::section::fault::rules::ends;
use crate::section::fault::{FaultCause, FaultKind, FaultMeasure, FaultSpec, FaultSubject};
use crate::{Scenario, ScenarioError};

/// Faults that are drawn at most, each flap as one: more bury a run instead of testing it.
const MOST: f64 = 10_000.0;
/// A stall of storage that is drawn comes once, not in every step that it lasts.
const ONCE: u32 = 1_000_000;

/// What was drawn.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub(crate) faults: Vec<Injected>,
    /// One of each kind that could have been drawn, to be tried.
    pub(crate) examples: Vec<Injected>,
    pub(crate) notes: Vec<String>,
}

/// A kind of failure with its rate.
struct Row {
    /// Name of its random stream, and what tables say.
    source: String,
    /// Where the scenario says it.
    path: String,
    part: PartKind,
    per: PartKind,
    per_month: f64,
    /// Mean hours; infinite where nobody mends it.
    repair_h: f64,
    /// Whether its source counts jobs that stopped, whatever the fault that it is taken for would do.
    stops: bool,
    fault: FaultSpec,
}

/// The rates of the process and of the scenario's own that draw kinds that are wanted.
fn rows(failures: &FailuresSpec) -> Vec<Row> {
    let of_process = failures.process().into_iter().flat_map(|process| {
        process.hazards().into_iter().map(move |hazard| Row {
            source: format!("{process}: {}", hazard.name),
            path: "failures.process".to_owned(),
            part: hazard.fall.part,
            per: hazard.per,
            per_month: hazard.per_month,
            repair_h: hazard.repair_h,
            stops: matches!(process, Process::C4 | Process::Llama3),
            fault: fault_of(&hazard.fall),
        })
    });
    let own = failures.rate.iter().enumerate().map(|(row, rate)| Row {
        source: format!("rate: {}", rate.name()),
        path: format!("failures.rate.{row}"),
        part: rate.part,
        per: rate.per.unwrap_or(rate.part),
        per_month: rate.per_month,
        repair_h: rate.repair.map_or(f64::INFINITY, |repair| repair.seconds() / 3600.0),
        stops: false,
        fault: rate.fault(String::new()),
    });
    of_process.chain(own).filter(|row| failures.draws(row.fault.kind)).collect()
}

/// The fault that a failure of a process is, without time and name.
fn fault_of(fall: &Fall) -> FaultSpec {
    let none = FaultMeasure::default();
    let much = Some(fall.measure);
    let because = |cause| FaultMeasure { cause: Some(cause), ..none };
    let measure = match fall.kind {
        FaultKind::Slow => FaultMeasure { capacity: much, ..none },
        FaultKind::SlowGpu => FaultMeasure { factor: much, ..none },
        FaultKind::StorageStall => {
            let delay = Some(SimTime::from_seconds(fall.measure));
            FaultMeasure { delay, every: Some(ONCE), ..none }
        }
        FaultKind::GpuError if fall.cause == Cause::EccNvlink => because(FaultCause::Ecc),
        FaultKind::GpuError => because(FaultCause::Cuda),
        FaultKind::Crash => because(FaultCause::Bug),
        _ => none,
    };
    let nameless = FaultSubject::Storage(String::new());
    FaultSpec { measure, ..FaultSpec::new(SimTime::ZERO, nameless, fall.kind) }
}

/// Failures that a row has on average over the whole window.
fn mean(row: &Row, failures: &FailuresSpec, parts: &Parts<'_>) -> f64 {
    match parts.count(row.part) {
        0 => 0.0,
        _ => row.per_month * failures.factor * parts.count(row.per) as f64 * failures.hours() / MONTH_H,
    }
}

/// Faults that `[failures]` draws on average in a case of the scenario; none where it has no rates.
pub fn expected_faults(scenario: &Scenario, case: &Case) -> Option<f64> {
    let failures = scenario.failures.as_ref().filter(|failures| failures.replay().is_none())?;
    let parts = Parts::of(&case.fabric, &case.work, &case.placements);
    Some(rows(failures).iter().map(|row| mean(row, failures, &parts)).sum())
}

/// A failure in the life of a job that `[steering]` follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// When, in real time.
    pub at: SimTime,
    /// Which rate drew it.
    pub source: String,
    /// The part.
    pub part: PartKind,
    /// The host that the part is in, or for a cable of a NIC at; none of what is in no host.
    pub host: Option<HostId>,
    /// The fault, from time 0 on and without an end.
    pub fault: FaultSpec,
    /// How long until the part works again; none where nobody mends it.
    pub repair: Option<SimTime>,
    /// Whether its source counts jobs that stopped: whatever the fault would do, it stops the job.
    pub stops: bool,
}

/// The failures of one life of the jobs of a case, in the order of time: those that the same seed draws into a run. None
/// where nothing fails by rates.
pub fn failures_by_lot(scenario: &Scenario, case: &Case, seed: u64) -> Vec<Failure> {
    let Some(failures) = &scenario.failures else { return Vec::new() };
    let parts = Parts::of(&case.fabric, &case.work, &case.placements);
    let drawing = Drawing { failures, seed, parts: &parts };
    let from = failures.from.seconds() * failures.acceleration();
    let mut all = Vec::new();
    for row in rows(failures) {
        all.extend(drawing.lots(&row).into_iter().map(|(at_h, index, repair_h)| {
            Failure {
                at: SimTime::from_seconds(from + at_h * 3600.0),
                source: row.source.clone(),
                part: row.part,
                host: parts.host(row.part, index),
                fault: FaultSpec {
                    subject: subject(row.part, row.fault.kind, parts.name(row.part, index)),
                    ..row.fault.clone()
                },
                repair: (failures.repairs != Repairs::Never && repair_h.is_finite())
                    .then(|| SimTime::from_seconds(repair_h * 3600.0)),
                stops: row.stops,
            }
        }));
    }
    all.sort_by_key(|failure| failure.at);
    all
}

/// Draws the faults of a scenario: a Poisson process for each rate, with a random stream of its own name, so that one
/// more rate moves no other's.
pub(crate) fn draw(
    failures: &FailuresSpec,
    seed: u64,
    ground: &Ground<'_>,
    read: &Reader<'_>,
) -> Result<Drawn, ScenarioError> {
    let parts = Parts::of(ground.fabric, ground.work, ground.placements);
    let drawing = Drawing { failures, seed: failures.seed.unwrap_or(seed), parts: &parts };
    let rows = rows(failures);
    drawing.bounded(&rows, ground)?;
    let mut drawn = Drawn::default();
    for row in &rows {
        drawing.row(row, &mut drawn);
    }
    if let Some(path) = failures.replay() {
        drawing.replay(path, ground, read, &mut drawn)?;
    }
    drawn.faults.sort_by_key(|told| told.fault.at);
    Ok(drawn)
}

struct Drawing<'a> {
    failures: &'a FailuresSpec,
    seed: u64,
    parts: &'a Parts<'a>,
}

impl Drawing<'_> {
    /// Refuses what would draw too many; the mean decides, so that no seed is refused where another is not.
    fn bounded(&self, rows: &[Row], ground: &Ground<'_>) -> Result<(), ScenarioError> {
        let weight = |row: &Row| {
            mean(row, self.failures, self.parts) * f64::from(row.fault.measure.flaps.unwrap_or(1).max(1))
        };
        let total: f64 = rows.iter().map(weight).sum();
        let most = rows.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)));
        let Some(row) = most.filter(|_| total > MOST) else { return Ok(()) };
        let message = format!(
            "about {total:.3e} faults would be drawn, each flap counted; most are `{}`: {:.3e} a month for each {}, of \
             which there are {}, in {:.3e} months",
            row.source,
            row.per_month,
            row.per.name(),
            self.parts.count(row.per),
            self.failures.hours() / MONTH_H,
        );
        let key = self.failures.scale.key();
        let hint = format!("at most {MOST:.0} are drawn: write a lower `{key}` or rate");
        Err(ground.source.error(&format!("failures.{key}"), message, Some(&hint)))
    }

    /// All failures of one rate.
    fn row(&self, row: &Row, drawn: &mut Drawn) {
        let count = self.parts.count(row.part);
        if count == 0 {
            drawn.notes.push(format!("{}: there is no {}, so none fails", row.source, row.part.name()));
            return;
        }
        drawn.examples.push(self.example(row.part, &row.fault, &row.path));
        let told = self.lots(row).into_iter().map(|(at_h, index, repair_h)| {
            let name = self.parts.name(row.part, index);
            self.fault(row.part, &row.fault, name, at_h, repair_h, &row.path, &row.source)
        });
        drawn.faults.extend(told);
    }

    /// Of each failure of a rate its hour of real time, the index of its part and the hours of its repair.
    fn lots(&self, row: &Row) -> Vec<(f64, usize, f64)> {
        let count = self.parts.count(row.part);
        if count == 0 {
            return Vec::new();
        }
        let hours = self.failures.hours();
        let per_hour = mean(row, self.failures, self.parts) / hours;
        let mut lot = Draw::new(self.seed, &format!("failures/{}", row.source));
        lot.arrivals(per_hour, hours, |lot, at_h| {
            let index = lot.below(count as u32) as usize;
            (at_h, index, lot.exponential(row.repair_h))
        })
    }

    /// The fault of a part from an hour of real time on.
    #[allow(clippy::too_many_arguments, reason = "a fault has so many sides, and this is its one maker")]
    fn fault(
        &self,
        part: PartKind,
        fault: &FaultSpec,
        name: String,
        at_h: f64,
        repair_h: f64,
        path: &str,
        source: &str,
    ) -> Injected {
        let to_run = 3600.0 / self.failures.acceleration();
        let at = self.failures.from.saturating_add(SimTime::from_seconds(at_h * to_run));
        let repair = match self.failures.repairs {
            Repairs::Scaled => repair_h * to_run,
            Repairs::Real => repair_h * 3600.0,
            Repairs::Never => f64::INFINITY,
        };
        // A repair lies after its fault by what tables can tell: a nanosecond.
        let until = at.saturating_add(SimTime::from_seconds(repair).max(SimTime::from_ns(1)));
        let until = Some(until).filter(|&until| until < SimTime::NEVER && ends(fault.kind));
        let subject = subject(part, fault.kind, name);
        Injected {
            fault: FaultSpec { at, until, subject, ..fault.clone() },
            path: path.to_owned(),
            label: source.to_owned(),
            source: source.to_owned(),
        }
    }

    /// A fault of the first part of a kind, as if somebody had written it.
    fn example(&self, part: PartKind, fault: &FaultSpec, path: &str) -> Injected {
        self.fault(part, fault, self.parts.name(part, 0), 0.0, f64::INFINITY, path, Truth::WRITTEN)
    }

    /// The faults of a history that fall on hosts of jobs. Which of its hosts these are is drawn; what happens when, on
    /// which of them together, and for how long is as it was.
    fn replay(
        &self,
        path: &str,
        ground: &Ground<'_>,
        read: &Reader<'_>,
        drawn: &mut Drawn,
    ) -> Result<(), ScenarioError> {
        const KEY: &str = "failures.replay";
        let refuse = |message: String, hint: &str| Err(ground.source.error(KEY, message, Some(hint)));
        let bytes = ground.source.read(read, KEY, path)?;
        let events = match read_history(&bytes) {
            Ok(events) => events,
            Err(error) => return refuse(format!("{path}: {error}"), HISTORY_FORM),
        };
        let hosts = self.failures.hosts.unwrap_or(SHIPPED_HOSTS);
        let history = match Replay::of(&events, hosts) {
            Ok(history) => history,
            Err(error) => {
                let hint = "write events in the order of time, and `hosts` of the whole cluster";
                return refuse(format!("{path}: event {}: {}", error.index + 1, error.problem), hint);
            }
        };
        let own = self.parts.count(PartKind::Host);
        if own > hosts as usize {
            let message = format!("jobs run on {own} hosts, and the cluster of the history has {hosts}");
            return refuse(message, "let jobs run on fewer, or write `hosts` of the cluster");
        }
        let host_of = self.shuffled(hosts);
        let first = self.failures.first_day.unwrap_or(0.0);
        let last = first + self.failures.hours() / 24.0;
        let (mut left_out, mut tried) = (0, Vec::new());
        for episode in &history.episodes {
            let FaultEvent { class, description, .. } = &events[episode.event];
            let fall = failure_process::recorded(class, description);
            if let Some(fall) = fall.filter(|fall| !tried.contains(fall))
                && self.failures.draws(fault_of(&fall).kind)
                && self.parts.count(fall.part) > 0
            {
                tried.push(fall);
                drawn.examples.push(self.example(fall.part, &fault_of(&fall), KEY));
            }
            let host = host_of[episode.host as usize] as usize;
            if !(first..last).contains(&episode.from_day) || host >= own {
                continue;
            }
            let Some(fall) = fall else {
                left_out += 1;
                continue;
            };
            let source = format!("replay: {class}: {description}");
            drawn.faults.extend(self.episode(episode, &fall, host, first, &source));
        }
        if drawn.faults.len() as f64 > MOST {
            let message = format!("{} faults would be drawn, at most {MOST:.0} are", drawn.faults.len());
            return refuse(message, "write fewer `days`, a lower `acceleration`, or `kinds`");
        }
        if left_out > 0 {
            drawn
                .notes
                .push(format!("replay: {left_out} faults of hosts of jobs reach no job, and are left out"));
        }
        Ok(())
    }

    /// The fault of an episode on one of its host's parts; none where it has none or the kind is not wanted.
    fn episode(
        &self,
        episode: &Episode,
        fall: &Fall,
        host: usize,
        first: f64,
        source: &str,
    ) -> Option<Injected> {
        let fault = fault_of(fall);
        let names = self.parts.of_host(fall.part, host);
        if names.is_empty() || !self.failures.draws(fault.kind) {
            return None;
        }
        let mut lot = Draw::new(self.seed, &format!("failures/replay/{}", episode.event));
        let name = names[lot.below(names.len() as u32) as usize].clone();
        let repair_h = episode.until_day.map_or(f64::INFINITY, |until| (until - episode.from_day) * 24.0);
        let at_h = (episode.from_day - first) * 24.0;
        Some(self.fault(fall.part, &fault, name, at_h, repair_h, "failures.replay", source))
    }

    /// The numbers below `count` in an order by lot (Fisher and Yates).
    fn shuffled(&self, count: u32) -> Vec<u32> {
        let mut lot = Draw::new(self.seed, "failures/replay/hosts");
        let mut all: Vec<u32> = (0..count).collect();
        for last in (1..count).rev() {
            all.swap(last as usize, lot.below(last + 1) as usize);
        }
        all
    }
}

//! Sensitivity against false alarms on one curve: the same telemetry, seen by detectors that stand at one setting after
//! another.
//!
//! What is swept decides over operations and messages, so those are what is told; counters and pings know fixed limits.
use railtwin_diagnosis::join::join;
use railtwin_diagnosis::{Diagnosis, Settings};
use railtwin_records::{Batch, Directory, Finding};
use railtwin_telemetry::{Jitter, Replay};
use railtwin_units::SimTime;
use rayon::prelude::*;

use super::bench::Bench;
use super::detectors;
use super::healthy::{alarms, quiet};
use super::inject::{Injected, Injection, draw};
use super::trial::{FAULT_AT_S, WITHIN_S, fault_at, states};
use railtwin::Error;
use railtwin::watch::{Rhythm, Watch};
use railtwin_diagnosis::verdict::judge;

/// Shares by which something must be slower, from what jitter hides to what nobody overlooks.
pub const SHARES: [f64; 8] = [0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4];
/// Robust deviations from peers: where one of 20 and one of 400 normal values lies by chance, the default, and twice it.
pub const DEVIATIONS: [f64; 4] = [2.0, 3.0, 6.0, 12.0];
/// Times the measured jitter: as it is, and where it breaks.
pub const JITTERS: [f64; 3] = [1.0, 2.0, 4.0];
/// Draws that healthy hours are split over, for clocks and collisions to differ.
const PARTS: u64 = 4;
/// Neither counters nor probes.
const RECORDS_ONLY: Rhythm = Rhythm { counters: None, probes: None, asked_from: None };

/// Where the detectors stand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// [`Settings::slow_share`].
    pub slow_share: f64,
    /// [`Settings::deviations`].
    pub deviations: f64,
}

impl Setting {
    /// All that are swept: for each number of deviations all shares.
    pub fn all() -> Vec<Self> {
        let of = |deviations| SHARES.map(|slow_share| Self { slow_share, deviations });
        DEVIATIONS.into_iter().flat_map(of).collect()
    }

    /// Whether detectors stand here unless told otherwise.
    pub fn is_default(self) -> bool {
        let Settings { slow_share, deviations, .. } = Settings::default();
        (slow_share, deviations) == (self.slow_share, self.deviations)
    }

    fn settings(self) -> Settings {
        Settings { slow_share: self.slow_share, deviations: self.deviations, ..Settings::default() }
    }
}

/// A fault of a stated severity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Grade {
    /// What is injected.
    pub what: Injected,
    /// How badly: the share by which computation takes longer, the share of a step by which input comes late, the share
    /// of its capacity that a cable lacks, the share of packets that a link loses.
    pub severity: f64,
}

impl Grade {
    /// All that are injected, each kind from mild to strong.
    pub fn all() -> Vec<Self> {
        let of = |what, severities: &'static [f64]| {
            severities.iter().map(move |&severity| Self { what, severity })
        };
        let longer = &[0.02, 0.05, 0.1, 0.2, 0.5];
        of(Injected::SlowGpu, longer)
            .chain(of(Injected::SlowData, longer))
            .chain(of(Injected::SlowCable, &[0.05, 0.1, 0.2, 0.3, 0.5, 0.7]))
            .chain(of(Injected::LossyLink, &[1e-5, 1e-4, 1e-3, 1e-2]))
            .collect()
    }

    /// The severity in words.
    pub fn severity_text(self) -> String {
        match self.what {
            Injected::SlowGpu => format!("{:.0} % longer", 100.0 * self.severity),
            Injected::SlowData => format!("late by {:.0} % of a step", 100.0 * self.severity),
            Injected::LossyLink => format!("loses {:e}", self.severity),
            _ => format!("{:.0} % of capacity left", 100.0 * (1.0 - self.severity)),
        }
    }

    /// A draw of the fault with this severity; `step_s` is what a healthy step takes.
    fn draw(self, bench: &Bench, seed: u64, step_s: f64) -> Option<Injection> {
        let Injection::Fault(mut fault) = draw(bench, self.what, fault_at(), seed)? else { return None };
        match self.what {
            Injected::LossyLink => fault.measure.loss = Some(self.severity),
            Injected::SlowData => {
                fault.measure.delay = Some(SimTime::from_seconds(self.severity * step_s));
            }
            Injected::SlowGpu => fault.measure.factor = Some(1.0 + self.severity),
            _ => fault.measure.capacity = Some(1.0 - self.severity),
        }
        Some(Injection::Fault(fault))
    }
}

/// What one fault of one severity came to, by setting.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The fault.
    pub grade: Grade,
    /// Draws.
    pub trials: u32,
    /// Draws in which the truth was named within two minutes.
    pub found: Vec<u32>,
    /// Findings that accused others, before the fault or after it.
    pub others: Vec<usize>,
}

/// False alarms with so many times the jitter, by setting.
#[derive(Clone, PartialEq, Debug)]
pub struct Alarms {
    /// Times the measured jitter.
    pub times: f64,
    /// Simulated hours.
    pub hours: f64,
    /// Findings that accused somebody, those of an hour joined.
    pub alarms: Vec<usize>,
}

impl Alarms {
    /// False alarms a day at a setting.
    pub fn a_day(&self, setting: usize) -> f64 {
        self.alarms[setting] as f64 * 24.0 / self.hours
    }
}

/// The curve of one bench.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Ranks.
    pub ranks: u32,
    /// Settings: what vectors of the other fields are indexed by.
    pub settings: Vec<Setting>,
    /// By fault and severity.
    pub found: Vec<Found>,
    /// By jitter.
    pub alarms: Vec<Alarms>,
}

impl Curve {
    /// Share of all faults of a kind, or of all kinds, that were found at a setting, 0..1.
    pub fn share(&self, what: Option<Injected>, setting: usize) -> f64 {
        let rows = self.found.iter().filter(|row| what.is_none_or(|what| row.grade.what == what));
        let (found, trials) =
            rows.fold((0, 0), |(found, trials), row| (found + row.found[setting], trials + row.trials));
        f64::from(found) / f64::from(trials.max(1))
    }

    /// Findings that accused others than the fault at a setting, over all draws.
    pub fn others(&self, setting: usize) -> usize {
        self.found.iter().map(|row| row.others[setting]).sum()
    }
}

/// One detector of each kind for every setting, over one stream of records.
struct Side {
    diagnosis: Diagnosis,
    findings: Vec<Finding>,
}

fn sides(settings: &[Setting]) -> Vec<Side> {
    let side = |setting: &Setting| Side {
        diagnosis: Diagnosis::with(setting.settings(), detectors()),
        findings: Vec::new(),
    };
    settings.iter().map(side).collect()
}

fn look(bench: &Bench, directory: &Directory, batch: &Batch, sides: &mut [Side]) {
    for side in sides {
        side.diagnosis.observe(directory, Some(&bench.case.fabric), batch, &mut side.findings);
    }
}

/// By setting, whether the truth was named, and how many others were.
type Named = Vec<(bool, usize)>;

/// Draws the curve: `seeds` draws of each fault of each severity, and so many healthy hours with each jitter.
///
/// # Errors
/// What the replay says of a case that it cannot go through.
pub fn curve(
    bench: &Bench,
    seeds: u32,
    hours: f64,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Curve, Error> {
    let settings = Setting::all();
    let step_s = step_s(bench)?;
    let asked: Vec<(usize, u64)> = (0..Grade::all().len())
        .flat_map(|grade| (0..seeds).map(move |seed| (grade, u64::from(seed))))
        .collect();
    let mut found: Vec<Found> = Grade::all()
        .into_iter()
        .map(|grade| Found {
            grade,
            trials: 0,
            found: vec![0; settings.len()],
            others: vec![0; settings.len()],
        })
        .collect();
    let done: Vec<Result<Option<Named>, Error>> = asked
        .par_iter()
        .map(|&(grade, seed)| {
            progress(found[grade].grade.what.name());
            let injection = found[grade].grade.draw(bench, seed, step_s);
            injection.map(|injection| trial(bench, &injection, &settings, seed)).transpose()
        })
        .collect();
    for ((grade, _), done) in asked.into_iter().zip(done) {
        let Some(done) = done? else { continue };
        let row = &mut found[grade];
        row.trials += 1;
        for (setting, (named, others)) in done.into_iter().enumerate() {
            row.found[setting] += u32::from(named);
            row.others[setting] += others;
        }
    }
    let asked: Vec<(f64, u64)> =
        JITTERS.into_iter().flat_map(|times| (0..PARTS).map(move |part| (times, part))).collect();
    let done: Vec<Result<Vec<usize>, Error>> = asked
        .par_iter()
        .map(|&(times, part)| {
            progress("healthy hours");
            false_alarms(bench, times, part, hours / PARTS as f64, &settings)
        })
        .collect();
    let mut alarms: Vec<Alarms> = Vec::new();
    for ((times, _), done) in asked.into_iter().zip(done) {
        let counts = done?;
        match alarms.last_mut().filter(|row| row.times == times) {
            Some(row) => row.alarms.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
            None => alarms.push(Alarms { times, hours, alarms: counts }),
        }
    }
    Ok(Curve { ranks: bench.ranks, settings, found, alarms })
}

/// Seconds of a step without jitter.
fn step_s(bench: &Bench) -> Result<f64, Error> {
    let settings =
        railtwin_telemetry::Settings { jitter: Jitter::NONE, messages: false, ..Default::default() };
    let mut directory = Directory::default();
    let rates = vec![bench.rates.clone()];
    let mut replay = Replay::new(&bench.case, 0, bench.durations.clone(), rates, settings, &mut directory)?;
    replay.step(&mut Batch::default());
    Ok(replay.last_step_ns() as f64 / 1e9)
}

/// By setting, whether a fault was named after it began, and findings that accused others.
fn trial(bench: &Bench, injection: &Injection, settings: &[Setting], seed: u64) -> Result<Named, Error> {
    let (case, truth) = injection.on(bench)?;
    let told =
        railtwin_telemetry::Settings { axes: bench.axes(), messages: true, jitter: Jitter::default(), seed };
    let rates = states(bench, &case);
    let mut watch = Watch::new(&case, 0, bench.durations.clone(), rates, told, RECORDS_ONLY, Vec::new())?;
    let mut sides = sides(settings);
    while watch.now < FAULT_AT_S + WITHIN_S {
        watch.turn();
        look(bench, &watch.directory, &watch.batch, &mut sides);
    }
    let places = watch.places();
    let from_ns = truth.from_ns;
    let outcome = |side: Side| {
        let (before, after): (Vec<Finding>, Vec<Finding>) =
            side.findings.into_iter().partition(|finding| finding.at_ns < from_ns);
        let early = join(&places, &before).iter().filter(|finding| finding.accuses()).count();
        let verdict = judge(&places, &truth, &join(&places, &after));
        let named = verdict.is_some_and(|verdict| verdict.in_set);
        (named, early + verdict.map_or(0, |verdict| verdict.wrong))
    };
    Ok(sides.into_iter().map(outcome).collect())
}

/// False alarms by setting in so many hours without a fault.
fn false_alarms(
    bench: &Bench,
    times: f64,
    part: u64,
    hours: f64,
    settings: &[Setting],
) -> Result<Vec<usize>, Error> {
    let jitter = Jitter::default().times(times);
    let mut watch = quiet(bench, jitter, bench.case.seed + part, RECORDS_ONLY, Vec::new())?;
    let mut sides = sides(settings);
    let (until, mut joined_at) = (hours * 3_600.0, super::healthy::ALARM_S);
    let mut accusations = vec![Vec::new(); settings.len()];
    while watch.now < until {
        watch.turn();
        look(bench, &watch.directory, &watch.batch, &mut sides);
        if watch.now >= joined_at || watch.now >= until {
            joined_at += super::healthy::ALARM_S;
            for (side, accusations) in sides.iter_mut().zip(&mut accusations) {
                alarms(&watch.places(), &std::mem::take(&mut side.findings), accusations);
            }
        }
    }
    Ok(accusations.into_iter().map(|all| all.len()).collect())
}

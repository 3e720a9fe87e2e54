//! The life of a job over weeks (`[steering]`): failures stop it, somebody finds them, a spare takes a host's place, it
//! starts again from its latest checkpoint, and every moment is booked as C4's Table III has it.
//!
//! Between events nothing changes, so no step is simulated but one: the engine's healthy step says how long steps take,
//! and one with the spares of a life in place whether they serve as well. Of each life by lot the failures are those that
//! `[failures]` draws from its seed; all decisions are those of [`railtwin_control::Steering`],
//! or with `controller = "own"` those of controllers of one's own.
//!
//! * [`detectors`]: what the score card says of our detectors.
//! * [`hits`]: what failures do, and what they are booked as.
//! * [`progress`]: steps, checkpoints, work that a crash takes back.
//! * [`followed`]: the same in a run whose steps are followed, where faults are written and not drawn.
//! * [`driver`]: events in time; [`lived`]: what comes of them.
//! * [`tables`]: `actions`, behind those of the run, `standstills` and `lives`; [`page`]: the same for the page.
pub mod detectors;
pub mod driver;
mod due;
mod followed;
pub mod hits;
pub mod lived;
pub mod page;
pub mod progress;
pub mod tables;

use std::sync::Arc;

use railtwin_control::Controller;
use railtwin_engine::own::{Site, Stage, guarded};
use railtwin_fabric::HostId;
use railtwin_records::Table;
use railtwin_reliability::downtime::{Account, Part};
use railtwin_scenario::{SteeredBy, SteeringSpec};
use railtwin_store::Figure;
use railtwin_units::SimTime;

pub use followed::{Followed, follow, is_followed};

use crate::engines::engine_of;
use crate::error::Error;
use crate::figures::declared::{Declared, life as declared};
use crate::life::driver::{live, policy};
use crate::life::hits::{Effects, hits};
use crate::life::lived::{Finder, Lived, Standstill};
use crate::question::Resolved;
use crate::simulate::{Simulation, mean_step, simulate};

/// The lives of a job, by lot.
#[derive(Clone, Debug)]
pub struct Life {
    /// The job.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Ranks of one of its hosts, the first.
    pub ranks_per_host: u32,
    /// Real time of each life.
    pub span: SimTime,
    /// Healthy time of a step.
    pub step: SimTime,
    /// Time of a step with the spares of the shown life in place; the healthy one where none took a place.
    pub step_with_spares: SimTime,
    /// In the order of their seeds.
    pub lives: Vec<Lived>,
    /// The life whose downtime is the median (the lower one of two), by its index.
    pub shown: usize,
    /// Whether it is that of a run whose steps were followed, and not one by lot.
    pub is_followed: bool,
}

/// A figure's values over lives.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The median; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of values; none where there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut all: Vec<f64> = values.collect();
        all.sort_by(f64::total_cmp);
        let (&least, &most) = (all.first()?, all.last()?);
        let middle = all.len() / 2;
        let median =
            if all.len() % 2 == 1 { all[middle] } else { f64::midpoint(all[middle - 1], all[middle]) };
        Some(Self { median, least, most })
    }
}

/// A share of the time of a life.
type Share = fn(&Account) -> f64;

/// What the time of a life is spent with, all of it, each by its figure.
static PARTS: [(Declared, Share); 8] = [
    (declared::POST_CHECKPOINT, |a| a[Part::PostCheckpoint]),
    (declared::DETECTION, |a| a[Part::Detection]),
    (declared::DIAGNOSIS, Account::diagnosis),
    (declared::REINITIALISATION, |a| a[Part::Reinitialisation]),
    (declared::WAITING, |a| a[Part::Waiting]),
    (declared::CHECKPOINTING, |a| a[Part::Checkpointing]),
    (declared::SLOW, |a| a[Part::SlowCommunication] + a[Part::SlowOther]),
    (declared::PRODUCTIVE, |a| a[Part::Productive]),
];

/// What is counted of a life.
type Counted<'a> = &'a dyn Fn(&Lived) -> f64;

impl Life {
    /// The lives of the job of a point with `[steering]`, whose healthy run is `done`. `lives` stands for the scenario's
    /// number of them.
    ///
    /// # Errors
    /// [`Error::Scenario`] where the engine does not know a fault that was drawn; [`Error::Argument`] where the job has no
    /// step time, or the scenario no `[steering]`.
    pub fn of(resolved: &Resolved, done: &Simulation, lives: Option<u32>) -> Result<Self, Error> {
        let (scenario, case) = (&resolved.scenario, &resolved.case);
        let (Some(spec), Some(failures)) = (&scenario.steering, &scenario.failures) else {
            return Err(Error::Argument("the scenario has no [steering]".to_owned()));
        };
        let step = mean_step(&done.replicates[done.chosen as usize], 0).filter(|step| *step > 0.0);
        let no_step = || {
            let why = match case.faults.is_empty() && case.rank_faults.is_empty() {
                true => "no step of the job ends, so it is not known what one takes",
                false => {
                    "no step of the job ends under the faults of [[fault]], so it is not known what one takes: a life \
                     is made of steps without them and of [failures]"
                }
            };
            Error::Argument(why.to_owned())
        };
        let step = SimTime::from_seconds(step.ok_or_else(no_step)?);
        let places = &case.placements[0];
        let mut hosts: Vec<HostId> = Vec::new();
        for place in places {
            if !hosts.contains(&place.host) {
                hosts.push(place.host);
            }
        }
        let from = failures.from.seconds() * failures.acceleration();
        let span = SimTime::from_seconds(from + failures.hours() * 3600.0);
        let first = failures.seed.unwrap_or(scenario.seed);
        ready(resolved)?;
        let mut effects = Effects::new(resolved, step);
        let mut all = Vec::new();
        for life in 0..lives.unwrap_or(spec.lives) {
            let seed = first.wrapping_add(u64::from(life));
            let hits = hits(resolved, spec, seed, &hosts, &mut effects)?;
            let steered = guarded(|| {
                let controllers = controllers(resolved, spec, &hosts, life);
                live(spec, &case.fabric, (&hosts, controllers), step, &hits, seed, span)
            });
            all.push(steered.map_err(|halt| Error::Controller { halt, replicate: Some(life) })?);
        }
        let mut order: Vec<usize> = (0..all.len()).collect();
        let downtime = |&life: &usize| all[life].shares.downtime();
        order.sort_by(|a, b| downtime(a).total_cmp(&downtime(b)));
        let shown = order[(order.len() - 1) / 2];
        let step_with_spares = step_on(resolved, done.chosen, &hosts, &all[shown].hosts)?.unwrap_or(step);
        Ok(Self {
            job: case.work.jobs[0].name.clone(),
            ranks: places.len() as u32,
            ranks_per_host: places.iter().filter(|place| place.host == hosts[0]).count() as u32,
            span,
            step,
            step_with_spares,
            lives: all,
            shown,
            is_followed: false,
        })
    }

    /// The life that tables show.
    pub fn shown(&self) -> &Lived {
        &self.lives[self.shown]
    }

    /// An amount of each life.
    pub fn spread(&self, of: impl Fn(&Lived) -> f64) -> Spread {
        Spread::of(self.lives.iter().map(of)).expect("there is a life")
    }

    /// A share of time of each life.
    pub fn share(&self, of: impl Fn(&Account) -> f64) -> Spread {
        self.spread(|lived| of(&lived.shares))
    }

    /// The tables of the life that is shown, and of all lives.
    pub fn tables(&self) -> Vec<Table> {
        vec![tables::standstills(self), tables::lives(self)]
    }

    /// Figures: medians over the lives.
    pub fn figures(&self) -> Vec<Figure> {
        let note = match &self.lives[..] {
            [_] if self.is_followed => format!("of the run, {}", crate::stops::moment(self.span)),
            [first, .., last] => format!(
                "median of {} lives of {:.0} h, seeds {} to {}",
                self.lives.len(),
                progress::hours(self.span),
                first.seed,
                last.seed,
            ),
            lives => format!("one life of {:.0} h, seed {}", progress::hours(self.span), lives[0].seed),
        };
        let downtime = self.share(Account::downtime);
        let mut all = vec![
            banded(declared::DOWNTIME, downtime, &note),
            declared::DOWNTIME_LEAST.figure(downtime.least, &note),
            declared::DOWNTIME_MOST.figure(downtime.most, &note),
        ];
        all.push(declared::LIVES.figure(self.lives.len() as f64, &note));
        all.extend(PARTS.iter().map(|(of, part)| banded(*of, self.share(part), &note)));
        let crashes = |lived: &Lived| f64::from(lived.crashes());
        let swaps =
            |lived: &Lived| lived.done.iter().filter(|row| row.action.name() == "swap").count() as f64;
        let counts: [(Declared, Counted<'_>); 4] = [
            (declared::CRASHES, &crashes),
            (declared::SWAPS, &swaps),
            (declared::ACCUSED, &|lived| f64::from(lived.accused)),
            (declared::STEPS, &|lived| lived.steps as f64),
        ];
        all.extend(counts.map(|(of, count)| banded(of, self.spread(count), &note)));
        let out = self.spread(|lived| f64::from(lived.out_most)).most;
        all.push(declared::OUT_MOST.figure(out, "in any of the lives"));
        let rows = || self.lives.iter().flat_map(|lived| &lived.standstills);
        let seen = || rows().filter(|row| matches!(row.finder, Finder::Detectors | Finder::Watchdog));
        let after =
            |row: &Standstill, until: Option<SimTime>| until.map(|until| until.since(row.failed).seconds());
        let times = |of: Declared, most: bool, spread: Option<Spread>| {
            let value = spread.map(|spread| if most { spread.most } else { spread.median });
            let none = match rows().next() {
                None => "the job never stood still",
                Some(_) => "nobody had to find out, or not before the end",
            };
            let note = if self.is_followed { "all crashes" } else { "all crashes of all lives" };
            of.given(value.ok_or_else(|| none.to_owned()), note)
        };
        let detected = Spread::of(seen().filter_map(|row| after(row, row.detected)));
        let again = Spread::of(rows().filter_map(|row| after(row, row.restarted)));
        all.push(times(declared::DETECTED_AFTER, false, detected));
        all.push(times(declared::DETECTED_AFTER_MOST, true, detected));
        all.push(times(declared::AGAIN_AFTER, false, again));
        let ratio = self.step_with_spares.seconds() / self.step.seconds();
        let note = match self.is_followed {
            true => "steps after the last restart",
            false => "one run on the hosts that the shown life ends with",
        };
        all.push(declared::SPARE_STEP_RATIO.figure(ratio, note));
        all
    }
}

/// The median over lives, with the least and the most as its bounds where there are several values.
fn banded(of: Declared, spread: Spread, note: &str) -> Figure {
    let [low, high] = [spread.least, spread.most].map(|bound| (spread.least < spread.most).then_some(bound));
    Figure { low, high, ..of.figure(spread.median, note) }
}

/// Whether somebody is there who steers hosts.
///
/// # Errors
/// [`Error::Argument`] where controllers of one's own are to and there are none.
pub fn ready(resolved: &Resolved) -> Result<(), Error> {
    let by_own = |spec: &SteeringSpec| spec.controller == SteeredBy::Own;
    if !resolved.scenario.steering.as_ref().is_some_and(by_own) || resolved.case.own.is_some() {
        return Ok(());
    }
    Err(Error::Argument(
        "steering.controller is \"own\", and there is no controller of one's own: hand one over by \
         `railtwin.run(scenario, controllers=[Mine])` in Python or `Resolved::with_controllers` in Rust, or write \"policy\""
            .to_owned(),
    ))
}

/// Who steers hosts in a life.
fn controllers(
    resolved: &Resolved,
    spec: &SteeringSpec,
    hosts: &[HostId],
    life: u32,
) -> Vec<Box<dyn Controller>> {
    let case = &resolved.case;
    match (&case.own, spec.controller) {
        (Some(own), SteeredBy::Own) => own.at(&Site {
            fabric: Arc::clone(&case.fabric),
            ecmp: case.routing.ecmp,
            resilient: case.routing.resilient,
            replicate: life,
            stage: Stage::Life,
            jobs: 1,
        }),
        _ => vec![Box::new(policy(spec, &case.fabric, hosts))],
    }
}

/// The time of a step where `now` stands in place of `before`, host by host; none where nothing changed.
fn step_on(
    resolved: &Resolved,
    replicate: u32,
    before: &[HostId],
    now: &[HostId],
) -> Result<Option<SimTime>, Error> {
    if before == now {
        return Ok(None);
    }
    let mut case = resolved.case.clone();
    for place in &mut case.placements[0] {
        let seat = before.iter().position(|&host| host == place.host);
        place.host = seat.map_or(place.host, |seat| now[seat]);
    }
    let engine = engine_of(resolved);
    let log = engine.run(&case, replicate);
    let ended = crate::exposed::steps_of(&case.work.jobs[0], &log.times);
    let times: Vec<f64> = ended.iter().map(|(_, start, end)| end.since(*start).seconds()).collect();
    if times.is_empty() {
        return Err(Error::Argument("the job does not end on the spares that took a place".to_owned()));
    }
    Ok(Some(SimTime::from_seconds(times.iter().sum::<f64>() / times.len() as f64)))
}

/// The lives of a point, from its healthy run on: for who wants no run folder.
///
/// # Errors
/// See [`Life::of`].
pub fn lives(resolved: &Resolved, lives: Option<u32>) -> Result<Life, Error> {
    if resolved.case.work.jobs.is_empty() {
        return Err(Error::Argument("the scenario has no job".to_owned()));
    }
    if is_followed(resolved) {
        return follow(resolved).map(|followed| followed.life);
    }
    let engine = engine_of(resolved);
    let count = resolved.scenario.run.replicates;
    let done = simulate(&resolved.case, engine.as_ref(), count, &|| (), &mut |_, _| Ok(()))?;
    Life::of(resolved, &done, lives)
}

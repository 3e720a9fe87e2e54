//! What jobs that share a fabric cost each other: each alone on its hosts, and all together.
//!
//! Two periodic jobs that share a link take turns on it or get into each other's way, by when they began alone: so
//! nothing is said of one pair of starts, but the median and the band over many, drawn evenly within a step of each
//! job. Alone and together a draw has the same paths where hosts and switches find them by themselves; where a controller
//! does (`c4p`, `disjoint`, `te`), it does so as jobs come, and its part is in the slowdown.
mod draws;
mod shared;

use railtwin_engine::own::guarded;
use railtwin_engine::{Case, Engine, RunLog, WorkGraph};
use railtwin_units::{SimTime, stream};
use rayon::prelude::*;

pub(crate) use self::draws::Draws;
pub use self::draws::StepTime;
pub use self::shared::SharedLink;
use crate::error::Error;
use crate::exposed::steps_of;
use crate::stops::Stop;

/// Steps of all jobs together beyond which a draw is refused: a job's step is too short beside another's.
const STEPS_MOST: u64 = 1_000_000;

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Draws of starts, hash seeds and computing times.
    pub draws: u32,
    /// Steps of the slowest job over which is measured.
    pub steps: u32,
}

impl Options {
    /// Steps over which a change is measured: many draws say more than many steps of one.
    const STEPS_OF_CHANGE: u32 = 4;

    /// For verbs that ask what a change costs: `draws` where they are said, else as many as phases of several jobs need, and
    /// the replicates of the scenario where a job is alone.
    pub fn of_change(case_jobs: usize, replicates: u32, draws: Option<u32>) -> Self {
        let default = if case_jobs > 1 { Self::default().draws } else { replicates };
        Self { draws: draws.unwrap_or(default), steps: Self::STEPS_OF_CHANGE }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { draws: 50, steps: 8 }
    }
}

/// Values over all draws.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Band {
    /// The one below which 5 % are.
    pub p5: f64,
    /// Median.
    pub median: f64,
    /// The one below which 95 % are.
    pub p95: f64,
}

impl Band {
    /// Of at least one value.
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        Self { p5: at(0.05), median: at(0.5), p95: at(0.95) }
    }
}

/// One job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobInterference {
    /// Name.
    pub name: String,
    /// GPUs.
    pub gpus: u32,
    /// Seconds of a step alone: the mean of a draw.
    pub alone: Band,
    /// Seconds of a step together with the others: the mean of a draw.
    pub together: Band,
    /// The second over the first, draw by draw.
    pub slowdown: Band,
    /// Rows of the jobs with which it shares links of the network, and on how many.
    pub shares: Vec<(usize, u32)>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Interference {
    /// In the order of the scenario.
    pub jobs: Vec<JobInterference>,
    /// Links of the network that several jobs use in the first draw, by how much they are asked for.
    pub links: Vec<SharedLink>,
    /// Draws.
    pub draws: u32,
}

/// Mean step times of one draw, by job: alone, together.
type Drawn = Vec<(f64, f64)>;

/// Runs each job alone and all together; `progress` hears of each draw that is done. The result does not depend on the
/// number of threads.
///
/// # Errors
/// [`Error::Argument`] where there is one job, one does not end, or one's step is too short beside another's;
/// [`Error::Controller`] where a controller of one's own cannot go on.
pub fn interference(
    case: &Case,
    engine: &dyn Engine,
    options: Options,
    progress: &(dyn Fn() + Sync),
) -> Result<Interference, Error> {
    let jobs = case.work.jobs.len();
    if jobs < 2 {
        let message = "interference is between jobs, and the scenario has one: write a second [[job]]";
        return Err(Error::Argument(message.to_owned()));
    }
    let draw = |number: u32| {
        let drawn = drawn(case, engine, options, number)?;
        progress();
        Ok(drawn)
    };
    let all: Vec<Result<Drawn, Error>> =
        (0..options.draws.max(1)).into_par_iter().map(draw).panic_fuse().collect();
    let all = all.into_iter().collect::<Result<Vec<Drawn>, Error>>()?;
    let periods: Vec<f64> = all[0].iter().map(|one| one.0).collect();
    let links = shared::links(case, &periods);
    let of_job = |row: usize| {
        let band = |of: &dyn Fn((f64, f64)) -> f64| Band::of(all.iter().map(|draw| of(draw[row])).collect());
        let with = |other: usize| {
            let both = |link: &&SharedLink| link.jobs.contains(&row) && link.jobs.contains(&other);
            links.iter().filter(both).count() as u32
        };
        let others = (0..jobs).filter(|&other| other != row).map(|other| (other, with(other)));
        JobInterference {
            name: case.work.jobs[row].name.clone(),
            gpus: case.work.jobs[row].plan.ranks,
            alone: band(&|(alone, _)| alone),
            together: band(&|(_, together)| together),
            slowdown: band(&|(alone, together)| together / alone),
            shares: others.filter(|(_, links)| *links > 0).collect(),
        }
    };
    let jobs = (0..jobs).map(of_job).collect();
    Ok(Interference { jobs, links, draws: options.draws.max(1) })
}

fn drawn(case: &Case, engine: &dyn Engine, options: Options, number: u32) -> Result<Drawn, Error> {
    let jobs = case.work.jobs.len();
    let steps = options.steps.max(1);
    let mut alone = Vec::with_capacity(jobs);
    for row in 0..jobs {
        let only = |other: usize| if other == row { steps } else { 0 };
        let one = with_work(case, &|other| (SimTime::ZERO, only(other)));
        let log = log_of(engine, &one, number)?;
        ended(&one, row, &log, number)?;
        alone.push(mean(&one, row, &log, (SimTime::ZERO, SimTime::NEVER)));
    }
    if let Some(row) = alone.iter().position(|own| own.is_nan() || *own <= 0.0) {
        let name = &case.work.jobs[row].name;
        return Err(Error::Argument(format!("a step of job {name} takes no time: give it something to do")));
    }
    let longest = alone.iter().copied().fold(0.0, f64::max);
    let starts: Vec<SimTime> = (0..jobs).map(|row| start_of(case, row, alone[row], number)).collect();
    // Who began last leaves as many steps of the slowest job until the first has ended.
    let counts: Vec<u64> = alone
        .iter()
        .map(|&own| ((longest * f64::from(steps + 2) / own).ceil() as u64).saturating_add(1))
        .collect();
    if counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count)) > STEPS_MOST {
        return Err(too_many(case, &alone));
    }
    let all = with_work(case, &|row| (starts[row], counts[row] as u32));
    let log = log_of(engine, &all, number)?;
    (0..jobs).try_for_each(|row| ended(&all, row, &log, number))?;
    let ends =
        (0..jobs).filter_map(|row| steps_of(&all.work.jobs[row], &log.times).last().map(|step| step.2));
    let from = starts.iter().max().copied().unwrap_or_default();
    let window = (from, ends.min().unwrap_or(SimTime::NEVER));
    Ok(alone.iter().enumerate().map(|(row, &own)| (own, mean(&all, row, &log, window))).collect())
}

/// That jobs whose steps alone take so many seconds are too far apart.
fn too_many(case: &Case, alone: &[f64]) -> Error {
    let name = |row: usize| &case.work.jobs[row].name;
    let order = |a: &usize, b: &usize| alone[*a].total_cmp(&alone[*b]);
    let rows = 0..alone.len();
    let (shortest, longest) =
        (rows.clone().min_by(order).unwrap_or(0), rows.clone().max_by(order).unwrap_or(0));
    Error::Argument(format!(
        "a step of job {} takes {} s and one of {} {} s: all together would have more than {STEPS_MOST} steps; \
         give the first several operations in a step",
        name(longest),
        alone[longest],
        name(shortest),
        alone[shortest],
    ))
}

/// The case whose jobs begin and have so many steps as said; without steps a job does nothing.
fn with_work(case: &Case, of: &dyn Fn(usize) -> (SimTime, u32)) -> Case {
    let mut work = WorkGraph::default();
    for (row, job) in case.work.jobs.iter().enumerate() {
        let (start, steps) = of(row);
        work.push(job.name.clone(), start, job.plan.clone(), steps);
        work.jobs[row].priority = job.priority;
        work.jobs[row].compute_jitter = job.compute_jitter;
    }
    Case { work, ..case.clone() }
}

/// When a job begins in a draw: evenly within a step of its own. When it does so in the scenario is another matter: here
/// they are all there.
fn start_of(case: &Case, row: usize, step: f64, number: u32) -> SimTime {
    let drawn = stream::mix(case.seed ^ stream::mix((row as u64) << 32 | u64::from(number)) ^ 0x6f66_6673);
    let share = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
    SimTime::from_seconds(step * share)
}

fn log_of(engine: &dyn Engine, case: &Case, number: u32) -> Result<RunLog, Error> {
    guarded(|| engine.run(case, number)).map_err(|halt| Error::Controller { halt, replicate: Some(number) })
}

fn ended(case: &Case, row: usize, log: &RunLog, number: u32) -> Result<(), Error> {
    let Some(stop) = Stop::of(case, row, log) else { return Ok(()) };
    let (name, words) = (&case.work.jobs[row].name, stop.words());
    Err(Error::Argument(format!("job {name} does not end in draw {number}: {words}")))
}

/// Mean seconds of the steps of a job that lie within a window; of those that reach into it where none does.
fn mean(case: &Case, row: usize, log: &RunLog, (from, until): (SimTime, SimTime)) -> f64 {
    let steps = steps_of(&case.work.jobs[row], &log.times);
    let mean = |is_meant: &dyn Fn(&(u32, SimTime, SimTime)) -> bool| {
        let meant: Vec<f64> =
            steps.iter().filter(|step| is_meant(step)).map(|step| step.2.since(step.1).seconds()).collect();
        (!meant.is_empty()).then(|| meant.iter().sum::<f64>() / meant.len() as f64)
    };
    let within = mean(&|step| step.1 >= from && step.2 <= until);
    within.or_else(|| mean(&|step| step.1 < until && step.2 > from)).unwrap_or(0.0)
}

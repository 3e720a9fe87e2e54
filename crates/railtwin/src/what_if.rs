//! Before a job is placed: what each placement would make of it and of the others.
use std::collections::BTreeSet;
use std::ops::Range;

use railtwin_control::{Place, RankOrder};
use railtwin_engine::{Case, Engine};
use railtwin_scenario::{JobSize, JobSpec, Placement, Scenario};

use crate::error::Error;
use crate::interference::{Draws, Options, StepTime};
use crate::question::Question;

/// One way to place the job.
#[derive(Clone, PartialEq, Debug)]
pub struct Way {
    /// Which hosts, as a scenario says it.
    pub placement: String,
    /// Which ranks on which of them.
    pub rank_order: &'static str,
    /// Whether the scenario says so.
    pub is_written: bool,
    /// Other ways to say it that come to the same GPUs.
    pub same: Vec<String>,
    /// What it comes to, or why it cannot be.
    pub outcome: Result<Outcome, String>,
}

/// What a way comes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Segments that the job is in.
    pub segments: u32,
    /// Pods that it is in.
    pub pods: u32,
    /// Step time of the job, of its slowest copy where it has several.
    pub step: StepTime,
    /// The others, in the order of the scenario.
    pub others: Vec<OtherJob>,
}

/// Another job of the scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct OtherJob {
    /// Name.
    pub name: String,
    /// Step time beside the job that is placed.
    pub with: StepTime,
    /// Step time without it: same hosts, same starts.
    pub without: StepTime,
}

/// The ways that are tried for every job, beside what its scenario says.
const WAYS: [(Placement, RankOrder); 10] = [
    (Placement::Packed, RankOrder::Given),
    (Placement::Packed, RankOrder::MinCut),
    (Placement::SegmentFirst, RankOrder::Given),
    (Placement::SegmentFirst, RankOrder::MinCut),
    (Placement::PpAcrossPods, RankOrder::Given),
    (Placement::Spread, RankOrder::Given),
    (Placement::Spread, RankOrder::Topology),
    (Placement::Random, RankOrder::Given),
    (Placement::Random, RankOrder::Topology),
    (Placement::Random, RankOrder::MinCut),
];

/// Row of the `[[job]]` that is asked about: the last, or the one of a name; copies are placed together, so that the name of
/// one is that of all.
///
/// # Errors
/// [`Error::Argument`] with the names that there are.
pub fn row_of(scenario: &Scenario, job: Option<&str>) -> Result<usize, Error> {
    let found = match job {
        Some(name) => scenario.jobs.iter().position(|spec| spec.name == name).or_else(|| {
            let is_copy =
                |spec: &JobSpec| (0..spec.count).any(|copy| format!("{}-{copy}", spec.name) == name);
            scenario.jobs.iter().position(|spec| spec.count > 1 && is_copy(spec))
        }),
        None => scenario.jobs.len().checked_sub(1),
    };
    found.ok_or_else(|| {
        let name = |spec: &JobSpec| match spec.count {
            0 | 1 => spec.name.clone(),
            count => format!("{0} ({0}-0 to {0}-{1})", spec.name, count - 1),
        };
        let names: Vec<String> = scenario.jobs.iter().map(name).collect();
        Error::Argument(match (job, names.is_empty()) {
            (Some(name), false) => format!("no [[job]] is called {name:?}; there are {}", names.join(", ")),
            _ if scenario.cluster.is_some() => {
                "there is nothing to place: [cluster] places its jobs as they come; ask \
                `railtwin cluster SCENARIO --compare`, or sweep `cluster.placement`"
                    .to_owned()
            }
            _ => "there is nothing to place: the scenario has no [[job]]".to_owned(),
        })
    })
}

/// How many draws [`what_if`] makes at most for the job of this row: for each way, and without the job once where the
/// others are placed before it, else for each way.
pub fn draws_most(scenario: &Scenario, row: usize, options: Options) -> u64 {
    let ways = WAYS.len() as u64 + 1;
    let without = match scenario.jobs.len() {
        1 => 0,
        jobs if row + 1 == jobs => 1,
        _ => ways,
    };
    (ways + without) * u64::from(options.draws)
}

/// How much is asked of a scenario: `draws` where they are said.
pub fn options_of(scenario: &Scenario, draws: Option<u32>) -> Options {
    let jobs: u32 = scenario.jobs.iter().map(|job| job.count).sum();
    Options::of_change(jobs as usize, scenario.run.replicates, draws)
}

/// Every way to place a `[[job]]`, by its row, with the rest of the scenario as it is; jobs are placed in the order of the
/// scenario. Where there are several jobs all are there at once, and starts are drawn ([`crate::interference`]): phases
/// decide. Ways that come to the same GPUs are run once. The job has as many ranks in each way as in the scenario, also
/// where the hosts that it names give its size. The best first: by the step time of the job, of equals by how long the
/// others take; those that cannot be last.
///
/// # Errors
/// Those of the scenario as it is; [`Error::Controller`] where a controller of one's own cannot go on.
pub fn what_if(
    question: &Question,
    scenario: &Scenario,
    row: usize,
    (engine, options): (&dyn Engine, Options),
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<Way>, Error> {
    let written = (scenario.jobs[row].placement.clone(), scenario.jobs[row].rank_order);
    let mut asked = vec![written.clone()];
    asked.extend(WAYS.into_iter().filter(|way| *way != written));
    let mut ways: Vec<Way> = Vec::new();
    let mut seen: Vec<(Vec<Vec<Place>>, usize)> = Vec::new();
    let mut runs = Runs { engine, options, progress, without: Vec::new() };
    let mut size = scenario.jobs[row].size;
    for (place, (placement, rank_order)) in asked.into_iter().enumerate() {
        let mut tried = scenario.clone();
        (tried.jobs[row].placement, tried.jobs[row].rank_order) = (placement.clone(), rank_order);
        tried.jobs[row].size = size;
        let (placement, is_written) = (words(&placement), place == 0);
        let way = |outcome| Way {
            placement: placement.clone(),
            rank_order: rank_order.name(),
            is_written,
            same: Vec::new(),
            outcome,
        };
        let case = match question.resolve(&tried) {
            Ok(resolved) => resolved.case,
            Err(Error::Scenario(error)) if !is_written => {
                let why: Vec<String> = error.problems.iter().map(|problem| problem.message.clone()).collect();
                ways.push(way(Err(why.join("; "))));
                continue;
            }
            Err(error) => return Err(error),
        };
        let own = rows_of(&tried.jobs, row);
        // What is written comes first. Hosts that it names may be all that gives the job its size.
        size = size.or(Some(JobSize::Gpus(case.work.jobs[own.start].plan.ranks)));
        if let Some((_, first)) = seen.iter().find(|(places, _)| *places == case.placements) {
            ways[*first].same.push(format!("{placement}, {rank_order}"));
            continue;
        }
        let outcome = runs.outcome(&case, &own)?;
        seen.push((case.placements, ways.len()));
        ways.push(way(Ok(outcome)));
    }
    let key = |way: &Way| match &way.outcome {
        Ok(outcome) => {
            let seconds = |step: &StepTime| step.seconds().unwrap_or(f64::INFINITY);
            (
                seconds(&outcome.step),
                outcome.others.iter().map(|other| seconds(&other.with)).sum::<f64>(),
                false,
            )
        }
        Err(_) => (f64::INFINITY, f64::INFINITY, true),
    };
    ways.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        a.2.cmp(&b.2).then(a.0.total_cmp(&b.0)).then(a.1.total_cmp(&b.1))
    });
    Ok(ways)
}

/// How a scenario says it.
fn words(placement: &Placement) -> String {
    let list = |hosts: &[u32]| hosts.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
    match placement {
        Placement::Hosts(hosts) => format!("{{ hosts = [{}] }}", list(hosts)),
        Placement::Near(hosts) => format!("{{ near = [{}] }}", list(hosts)),
        named => railtwin_units::keys::Keyed::shown(named).unwrap_or_default(),
    }
}

/// Rows of the copies of a `[[job]]` in the case: they stand one after another.
fn rows_of(jobs: &[JobSpec], row: usize) -> Range<usize> {
    let first: usize = jobs[..row].iter().map(|job| job.count as usize).sum();
    first..first + jobs[row].count as usize
}

/// Places of all jobs.
type Places = Vec<Vec<Place>>;

/// Runs of the ways, and what the others take without the job where they are placed so.
struct Runs<'a> {
    engine: &'a dyn Engine,
    options: Options,
    progress: &'a (dyn Fn() + Sync),
    without: Vec<(Places, Vec<StepTime>)>,
}

impl Runs<'_> {
    fn outcome(&mut self, case: &Case, own: &Range<usize>) -> Result<Outcome, Error> {
        let draws = Draws::of(case, self.engine, self.options)?;
        let steps = draws.steps(case, self.engine, self.progress)?;
        let without = self.without(case, own, &draws)?;
        let places =
            || case.placements[own.clone()].iter().flatten().map(|place| case.fabric.host(place.host));
        let segments: BTreeSet<(u32, u32)> = places().map(|host| (host.pod, host.segment)).collect();
        let pods: BTreeSet<u32> = places().map(|host| host.pod).collect();
        let slower = |a: StepTime, b: StepTime| match (a.seconds(), b.seconds()) {
            (Some(first), Some(second)) if second > first => b,
            (Some(_), None) => b,
            _ => a,
        };
        let step = own.clone().map(|job| steps[job].clone()).reduce(slower);
        let other = |row: usize| OtherJob {
            name: case.work.jobs[row].name.clone(),
            with: steps[row].clone(),
            without: without[row].clone(),
        };
        Ok(Outcome {
            segments: segments.len() as u32,
            pods: pods.len() as u32,
            step: step.unwrap_or_else(|| StepTime::None("it has no step".to_owned())),
            others: (0..steps.len()).filter(|row| !own.contains(row)).map(other).collect(),
        })
    }

    /// Step times of all jobs without those of `own`; nothing is run where there are no others, or twice for the same places.
    fn without(&mut self, case: &Case, own: &Range<usize>, draws: &Draws) -> Result<Vec<StepTime>, Error> {
        let jobs = case.placements.len();
        if own.len() == jobs {
            return Ok(Vec::new());
        }
        let others: Places =
            (0..jobs).filter(|row| !own.contains(row)).map(|row| case.placements[row].clone()).collect();
        if let Some((_, steps)) = self.without.iter().find(|(places, _)| *places == others) {
            return Ok(steps.clone());
        }
        let (draws, quiet) = draws.without(case, own);
        let steps = draws.steps(&quiet, self.engine, self.progress)?;
        self.without.push((others, steps.clone()));
        Ok(steps)
    }
}

//! Who goes first, by which path, when jobs share links: the verb `schedule`.
use railtwin_control::crux::cassini::TimeShift;
use railtwin_control::crux::contention::Contention;
use railtwin_control::crux::correction::Priorities;
use railtwin_control::crux::demand::{Demand, JobDemand};
use railtwin_control::crux::measure::Profile;
use railtwin_control::crux::optimum::{Judge, Optimum};
use railtwin_control::crux::plan::SharingPlan;
use railtwin_control::crux::select::by_hash;
use railtwin_control::crux::tenants::Tenants;
use railtwin_units::SimTime;
use serde::Serialize;

mod in_run;
mod read;

pub use in_run::{RunJob, RunPair, RunSchedule, has_fabric, in_run, of_scenario, run_policies, run_policy};
pub use railtwin_control::crux::plan::SharingPolicy;
pub use read::{Asked, STEPS_MOST};

/// Most jobs and paths for which the optimum is searched for.
const OPTIMUM_JOBS: usize = 6;
const OPTIMUM_PATHS: u64 = 1 << 10;

/// Bits of a priority's place in a code point: class selectors (RFC 2474, section 4.2.2), whose upper three bits switches
/// queue by that trust DSCP.
const DSCP_SHIFT: u32 = 3;

/// The traffic class of a code point: its upper six bits (RFC 2474, section 3).
const fn traffic_class(dscp: u8) -> u8 {
    dscp << 2
}

/// What a policy decides, and what comes of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// The policy; [`OPTIMUM`] or [`OPTIMUM_WITHIN_LEVELS`] where all were tried.
    pub policy: String,
    /// Levels that it takes, at least 1. Policies with a level for each job may take more than the network has.
    pub levels: u32,
    /// Priority levels of the network.
    pub network_levels: u32,
    /// Share of the GPUs' time in which they compute, 0..1.
    pub utilization: f64,
    /// Work done for each second, in the unit of the jobs' work.
    pub work_per_s: f64,
    /// Seconds that were watched.
    pub window_s: f64,
    /// The job that the others are held against; null under policies without one.
    pub reference_job: Option<String>,
    /// In the order of the file.
    pub jobs: Vec<JobSchedule>,
    /// Paths that were tried until nothing could be better; null but for the optimum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried: Option<u64>,
}

/// One job of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobSchedule {
    /// Name.
    pub name: String,
    /// GPUs.
    pub gpus: u32,
    /// Work for each second of communication; null without communication.
    pub intensity: Option<f64>,
    /// Correction factor against the reference job; null under policies without one.
    pub factor: Option<f64>,
    /// Intensity times factor.
    pub priority: Option<f64>,
    /// 0 goes first.
    pub level: u32,
    /// Code point of the level; null where the network does not have as many levels.
    pub dscp: Option<u8>,
    /// What `ibv_modify_qp` sets as the traffic class: the code point in its upper six bits.
    pub traffic_class: Option<u8>,
    /// Seconds by which steps are put off.
    pub shift_s: f64,
    /// What each transfer takes.
    pub transfers: Vec<PathTaken>,
    /// Seconds of communication of a step alone.
    pub communication_s: f64,
    /// Seconds of a step alone.
    pub step_alone_s: f64,
    /// Mean seconds of a step beside the others; null where none ended.
    pub step_s: Option<f64>,
    /// Share of its GPUs' time in which they compute, 0..1.
    pub utilization: f64,
}

/// The path of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathTaken {
    /// Which of its paths, from 0.
    pub path: u32,
    /// Its links.
    pub links: Vec<String>,
    /// The UDP source port that leads over it; null where the file does not say.
    pub source_port: Option<u16>,
}

/// The same jobs with intensities as Crux's daemon measures them in `window` by the paths of the hash; those that it
/// cannot tell stay as they are. Seconds of a step by the spectrum stand beside, by job.
pub fn profiled(asked: &Asked, window: SimTime) -> (Asked, Vec<Option<f64>>) {
    let mut measured = asked.clone();
    let demand = Demand::of(&asked.tenants, &by_hash(&asked.tenants, asked.seed));
    let mut steps = Vec::new();
    for (number, job) in measured.tenants.jobs.iter_mut().enumerate() {
        let profile = Profile::of(&demand, &asked.start, number, window.seconds());
        job.measured = profile.map(|profile| profile.intensity).or(job.measured);
        steps.push(profile.map(|profile| profile.step));
    }
    (measured, steps)
}

/// What `policy` decides for the jobs.
pub fn schedule(asked: &Asked, policy: SharingPolicy) -> Schedule {
    let plan = policy.plan(&asked.tenants, &asked.start, asked.levels, asked.seed);
    of_plan(asked, policy.name(), &plan)
}

/// The most work that any policy can do: over all paths and all orders of jobs, with a level for each job if need be.
pub const OPTIMUM: &str = "optimum";
/// The most work with as many levels as the network has, where that is fewer than jobs.
pub const OPTIMUM_WITHIN_LEVELS: &str = "optimum-within-levels";

/// The plan that does the most work within the network's levels, where there are few enough to try all: over all paths
/// and orders without time shifts, and CASSINI's plan.
///
/// # Errors
/// How many there are, in words.
pub fn optimum(asked: &Asked) -> Result<Schedule, String> {
    let is_tight = (asked.levels as usize) < asked.tenants.jobs.len();
    optimum_of(asked, asked.levels, if is_tight { OPTIMUM_WITHIN_LEVELS } else { OPTIMUM })
}

/// The optimum within the network's levels, where that is fewer than jobs, and the optimum over all levels: no policy
/// does more work than the last, and none of the policies that keep to the network's levels more than the first.
///
/// # Errors
/// As of [`optimum`].
pub fn optima(asked: &Asked) -> Result<Vec<Schedule>, String> {
    let jobs = asked.tenants.jobs.len() as u32;
    let within = optimum(asked)?;
    Ok(match asked.levels < jobs {
        true => vec![within, optimum_of(asked, jobs, OPTIMUM)?],
        false => vec![within],
    })
}

fn optimum_of(asked: &Asked, levels: u32, name: &str) -> Result<Schedule, String> {
    let tenants = &asked.tenants;
    let paths = paths_of(tenants);
    if tenants.jobs.len() > OPTIMUM_JOBS || paths > OPTIMUM_PATHS {
        let jobs = tenants.jobs.len();
        return Err(format!(
            "the optimum of {jobs} jobs with {paths} ways to choose paths is not tried; at most {OPTIMUM_JOBS} and {OPTIMUM_PATHS} are"
        ));
    }
    let mut judge = Judge::new(tenants, &asked.start, asked.window);
    let Optimum { paths, levels, nodes, .. } = judge.optimum(levels, OPTIMUM_PATHS);
    let plan = SharingPlan {
        paths,
        levels,
        shifts: vec![TimeShift::default(); tenants.jobs.len()],
        priorities: None,
    };
    let best = of_plan(asked, name, &plan);
    // It alone shifts steps in time.
    let shifted = SharingPolicy::Cassini.plan(tenants, &asked.start, asked.levels, asked.seed);
    let shifted = of_plan(asked, name, &shifted);
    let best = if shifted.work_per_s > best.work_per_s { shifted } else { best };
    Ok(Schedule { tried: Some(nodes), ..best })
}

/// In how many ways paths can be chosen.
fn paths_of(tenants: &Tenants) -> u64 {
    let transfers = tenants.jobs.iter().flat_map(|job| &job.transfers);
    transfers.fold(1u64, |ways, transfer| ways.saturating_mul(transfer.candidates.len() as u64))
}

fn of_plan(asked: &Asked, policy: &str, plan: &SharingPlan) -> Schedule {
    let demand = Demand::of(&asked.tenants, &plan.paths);
    let start = plan.shifted(&asked.start);
    let outcome = Contention::new(&demand, &start, asked.window).run_in(&plan.slots(&start), &plan.levels);
    let job = |(number, alone): (usize, &JobDemand)| {
        let (tenant, served) = (&asked.tenants.jobs[number], &outcome.jobs[number]);
        let level = plan.levels[number];
        let dscp = asked.dscp.get(level as usize).copied();
        let taken = |(transfer, &path): (usize, &u32)| {
            let candidate = &tenant.transfers[transfer].candidates[path as usize];
            let name = |&link: &u32| asked.tenants.links[link as usize].name.clone();
            PathTaken {
                path,
                links: candidate.links.iter().map(name).collect(),
                source_port: candidate.source_port,
            }
        };
        let of = |values: fn(&Priorities) -> &[f64]| {
            plan.priorities.as_ref().map(|priorities| values(priorities)[number])
        };
        // Without communication nothing is at stake, and no priority a number.
        let finite = |value: f64| value.is_finite().then_some(value);
        JobSchedule {
            name: tenant.name.clone(),
            gpus: tenant.gpus,
            intensity: finite(alone.intensity()),
            factor: of(|priorities| &priorities.factors),
            priority: of(|priorities| &priorities.priorities).and_then(finite),
            level,
            dscp,
            traffic_class: dscp.map(traffic_class),
            shift_s: plan.shifts[number].by,
            transfers: plan.paths[number].iter().enumerate().map(taken).collect(),
            communication_s: alone.seconds,
            step_alone_s: alone.step_alone(),
            step_s: served.mean_step(),
            utilization: served.computing / asked.window,
        }
    };
    let reference = plan.priorities.as_ref().and_then(|priorities| priorities.reference);
    Schedule {
        policy: policy.to_owned(),
        levels: plan.levels.iter().max().map_or(1, |most| most + 1),
        network_levels: asked.levels,
        utilization: outcome.utilization(&demand),
        work_per_s: outcome.work(&demand) / asked.window,
        window_s: asked.window,
        reference_job: reference.map(|job| asked.tenants.jobs[job].name.clone()),
        jobs: demand.jobs.iter().enumerate().map(job).collect(),
        tried: None,
    }
}

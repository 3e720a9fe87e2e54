//! What the controller that ranks jobs hands out in a run of a scenario: source ports and traffic classes, by the code
//! that the run asks.
use railtwin_control::controller::Standing;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Balancer, Case};
use railtwin_fabric::LinkId;
use railtwin_routing::LinkMask;
use railtwin_scenario::{EngineName, Scenario};
use serde::Serialize;
use std::collections::BTreeMap;

use super::{DSCP_SHIFT, traffic_class};
use crate::{Error, Question};

/// What is handed out once all jobs have come.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSchedule {
    /// The balancer.
    pub policy: String,
    /// Priority levels that the network has for jobs.
    pub levels: u32,
    /// The replicate whose draws these are.
    pub replicate: u32,
    /// In the order of the scenario.
    pub jobs: Vec<RunJob>,
}

/// One job of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunJob {
    /// Name.
    pub name: String,
    /// GPUs.
    pub gpus: u32,
    /// Seconds of a step where communication takes no time.
    pub compute_s: f64,
    /// Seconds of that before or behind communication between hosts or over PCIe switches.
    pub in_line_s: f64,
    /// GPU-seconds for each second of communication; null without communication that others may be in the way of.
    pub intensity: Option<f64>,
    /// Correction factor against the reference job; null for a job that sends nothing so.
    pub factor: Option<f64>,
    /// Intensity times factor.
    pub priority: Option<f64>,
    /// 0 goes first; null for a job that sends nothing so.
    pub level: Option<u32>,
    /// The priority in the run, 0 to 7; the highest goes first.
    pub run_priority: Option<u8>,
    /// Code point of that priority.
    pub dscp: Option<u8>,
    /// What `ibv_modify_qp` sets as the traffic class: the code point in its upper six bits.
    pub traffic_class: Option<u8>,
    /// In the order in which they are opened.
    pub queue_pairs: Vec<RunPair>,
}

/// One queue pair of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunPair {
    /// The NIC that sends.
    pub source: String,
    /// The NIC that receives.
    pub target: String,
    /// Its index in its connection, as the table `flows` of a run counts.
    pub index: u32,
    /// Its number at the source.
    pub number: u32,
    /// Its number at the target.
    pub target_number: u32,
    /// The UDP source port; null where no path leads to the target.
    pub source_port: Option<u16>,
    /// Links from NIC to NIC.
    pub links: Vec<String>,
    /// Why this path.
    pub reason: &'static str,
}

/// Whether a text is a scenario, and not a file of links and jobs.
pub fn has_fabric(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("fabric"))
}

/// The policies of scenarios, as text.
pub fn run_policies() -> String {
    let all = Balancer::ALL.into_iter().filter(|balancer| balancer.sharing().is_some());
    all.map(Balancer::name).collect::<Vec<_>>().join(", ")
}

/// The balancer that a policy of scenarios is.
///
/// # Errors
/// [`Error::Argument`] for one that no controller of a run decides by.
pub fn run_policy(name: &str) -> Result<Balancer, Error> {
    let refused = || {
        let message = format!(
            "policy {name}: no controller of a run decides so; in a scenario write one of {}",
            run_policies()
        );
        Error::Argument(message)
    };
    Balancer::named(name).filter(|balancer| balancer.sharing().is_some()).ok_or_else(refused)
}

/// What the controller that ranks jobs hands out in a run of a scenario, and what is said of the scenario beside it:
/// [`in_run`] of its one point under the policy `asked`, else under its own balancer where that ranks jobs, else `crux`.
///
/// # Errors
/// Those of a run of it, and [`Error::Argument`] where it has several points that differ under Crux.
pub fn of_scenario(
    question: &Question,
    asked: Option<Balancer>,
    replicate: u32,
) -> Result<(RunSchedule, Vec<String>), Error> {
    let mut all: Vec<Scenario> = Vec::new();
    for mut scenario in question.points()?.into_iter().map(|point| point.scenario) {
        let own = Some(scenario.routing.balancer).filter(|balancer| balancer.sharing().is_some());
        scenario.routing.balancer = asked.or(own).unwrap_or(Balancer::Crux);
        (scenario.engine, scenario.gain, scenario.expect) = (EngineName::Flow, None, BTreeMap::new());
        if !all.contains(&scenario) {
            all.push(scenario);
        }
    }
    let scenario = all.pop().expect("a scenario has a point");
    if !all.is_empty() {
        let message = format!(
            "{} has {} points under Crux, and `schedule` wants one: write one value for each key, or a policy",
            question.file,
            all.len() + 1
        );
        return Err(Error::Argument(message));
    }
    let resolved = question.resolve(&scenario)?;
    let schedule = in_run(&resolved.case, replicate).expect("the balancer ranks jobs");
    Ok((schedule, resolved.case.warnings.iter().map(ToString::to_string).collect()))
}

/// What the controller of a case hands out in a replicate once all jobs have come and none is gone, on a fabric without
/// faults; none under a balancer that ranks no jobs. Intensities are those of plans: nothing was measured yet.
pub fn in_run(case: &Case, replicate: u32) -> Option<RunSchedule> {
    let mut case = case.clone();
    case.routing.control.profile = None;
    let balancer: Balancer = case.routing.balancer;
    balancer.sharing()?;
    let (fabric, lowering) = (&*case.fabric, Lowering::new(&case, replicate));
    let none = LinkMask::none(fabric);
    let (programmed, standings) = lowering.settled(&none);
    let paths = lowering.paths_by(&none, &programmed);
    let numbers = lowering.queue_pair_numbers();
    let mut jobs: Vec<RunJob> = Vec::with_capacity(case.work.jobs.len());
    for (row, job) in (0..).zip(&case.work.jobs) {
        let standing = standings.iter().find(|standing| standing.job.0 == row);
        let of = |value: fn(&Standing) -> Option<f64>| standing.and_then(value).filter(|one| one.is_finite());
        let run_priority = standing.and_then(|standing| programmed.priority(standing.job));
        let mut queue_pairs = Vec::new();
        for one in lowering.connections().iter().filter(|one| one.job == row) {
            for (index, pair) in (0..one.count).zip(one.first..) {
                let path = paths.path(pair);
                let (number, target_number) = numbers[pair as usize];
                queue_pairs.push(RunPair {
                    source: fabric.device_name(one.source),
                    target: fabric.device_name(one.target),
                    index,
                    number,
                    target_number,
                    source_port: (!path.links.is_empty()).then_some(path.source_port),
                    links: path.links.iter().map(|&link: &LinkId| fabric.link_name(link)).collect(),
                    reason: programmed.reason(pair).unwrap_or("hashed"),
                });
            }
        }
        let step = lowering.step(row);
        let dscp = run_priority.map(|priority| priority << DSCP_SHIFT);
        jobs.push(RunJob {
            name: job.name.clone(),
            gpus: step.gpus,
            compute_s: step.compute.seconds(),
            in_line_s: step.in_line.seconds(),
            intensity: of(|standing| Some(standing.intensity)),
            factor: of(|standing| standing.factor),
            priority: of(|standing| standing.factor.map(|factor| factor * standing.intensity)),
            level: standing.map(|standing| standing.level),
            run_priority,
            dscp,
            traffic_class: dscp.map(traffic_class),
            queue_pairs,
        });
    }
    let levels = case.routing.control.levels;
    Some(RunSchedule { policy: balancer.name().to_owned(), levels, replicate, jobs })
}

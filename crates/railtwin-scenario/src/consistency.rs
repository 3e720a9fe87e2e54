//! What no single key shows: values that contradict each other.
use std::collections::BTreeSet;
use std::mem::discriminant;

use railtwin_engine::routing_spec::{Replan, RoutingSpec};
use railtwin_routing::Fields;
use railtwin_units::SimTime;

use crate::error::Problem;
use crate::expect::Bounds;
use crate::scenario::Scenario;
use crate::section::failures::rules::troubles_of_failures;
use crate::section::fault::rules::trouble_of_fault;
use crate::section::job::{ALL_JOBS, JobSize, JobSpec, Placement};
use crate::section::packet::troubles_of_packets;
use crate::tree::{Node, steps};

/// Gives each job without a name the name `job-<number>`.
pub(crate) fn name_jobs(scenario: &mut Scenario) {
    for (index, job) in scenario.jobs.iter_mut().enumerate() {
        if job.name.is_empty() {
            job.name = format!("job-{index}");
        }
    }
}

/// `routing.fields` names each field once.
pub(crate) fn check_fields(text: &str, tree: &Node, problems: &mut Vec<Problem>) {
    let Some(list) = tree.at(&steps("routing.fields")) else {
        return;
    };
    let names = list.items().iter().filter_map(Node::text);
    if let Err(error) = Fields::from_names(names) {
        problems.push(Problem::new(text, list.span.clone(), error.to_string(), None));
    }
}

/// The job of which a copy has that name.
fn copied<'a>(jobs: &'a [JobSpec], name: &str) -> Option<&'a str> {
    let (of, number) = name.rsplit_once('-')?;
    let copy: u32 = number.parse().ok().filter(|copy: &u32| copy.to_string() == number)?;
    jobs.iter().find(|job| job.name == of && job.count > 1 && copy < job.count).map(|job| job.name.as_str())
}

/// Checks a scenario whose values are each right.
pub(crate) fn check_whole(text: &str, tree: &Node, scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut report = |path: String, (message, hint): Trouble| {
        let span = tree.span_near(&steps(&path));
        problems.push(Problem::new(text, span, message, Some(hint.to_owned())));
    };
    let mut names = BTreeSet::new();
    for (index, job) in scenario.jobs.iter().enumerate() {
        if !names.insert(job.name.as_str()) {
            let message = format!("two jobs are called `{}`", job.name);
            report(format!("job.{index}.name"), (message, "give each its own name"));
        }
        if let Some(of) = copied(&scenario.jobs, &job.name).filter(|_| job.count == 1) {
            let message = format!("`{}` is also the name of a copy of `{of}`", job.name);
            report(format!("job.{index}.name"), (message, "give each its own name"));
        }
        if job.name == ALL_JOBS && job.count == 1 && scenario.jobs.len() > 1 {
            let message = format!("no job of several is called `{ALL_JOBS}`");
            report(
                format!("job.{index}.name"),
                (message, "write another name: figures of all jobs have this one"),
            );
        }
        if let Some((key, trouble)) = trouble_of_job(job) {
            report(format!("job.{index}.{key}"), trouble);
        }
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        if let Some((key, trouble)) = trouble_of_fault(fault) {
            report(format!("fault.{index}.{key}"), trouble);
        }
    }
    for (key, trouble) in scenario.failures.iter().flat_map(troubles_of_failures) {
        report(format!("failures.{key}"), trouble);
    }
    if let Some((key, trouble)) = trouble_of_telemetry(scenario) {
        report(format!("telemetry.{key}"), trouble);
    }
    if let Some(trouble) = trouble_of_replan(&scenario.routing) {
        report("routing.replan_time".to_owned(), trouble);
    }
    if scenario.run.throughput == Some(SimTime::ZERO) {
        let message = "buckets of throughput cannot be 0 s wide".to_owned();
        report("run.throughput".to_owned(), (message, "write a time such as \"100 ms\""));
    }
    for (path, trouble) in troubles_of_packets(scenario) {
        report(path, trouble);
    }
    for (figure, bounds) in &scenario.expect {
        if let Some((key, trouble)) = trouble_of_bounds(bounds) {
            report(format!("expect.{figure}.{key}"), trouble);
        }
    }
}

/// A message and its hint.
pub(crate) type Trouble = (String, &'static str);

fn trouble_of_job(job: &JobSpec) -> Option<(&'static str, Trouble)> {
    if let Placement::Hosts(hosts) = &job.placement {
        let mut seen = BTreeSet::new();
        if let Some(host) = hosts.iter().find(|host| !seen.insert(**host)) {
            let message = format!("the placement has host {host} twice");
            return Some(("placement", (message, "write each host once")));
        }
        if job.count > 1 {
            let message = format!("{} copies of the job are placed on the same hosts", job.count);
            return Some(("placement", (message, "write count = 1 and one [[job]] for each")));
        }
        if let Some(JobSize::Hosts(size)) = job.size
            && size as usize != hosts.len()
        {
            let message = format!("hosts = {size}, but the placement has {} hosts", hosts.len());
            return Some(("hosts", (message, "leave `hosts` away: the placement says it")));
        }
    }
    None
}

fn trouble_of_telemetry(scenario: &Scenario) -> Option<(&'static str, Trouble)> {
    let telemetry = scenario.telemetry.as_ref()?;
    if scenario.jobs.is_empty() {
        let message = "telemetry of a scenario without jobs".to_owned();
        return Some(("job", (message, "write a [[job]], or leave [telemetry] away")));
    }
    if let Some(wanted) = &telemetry.job {
        let named = |job: &JobSpec| match job.count {
            1 => job.name == *wanted,
            copies => (0..copies).any(|copy| format!("{}-{copy}", job.name) == *wanted),
        };
        if !scenario.jobs.iter().any(named) {
            let message = format!("no job is called `{wanted}`");
            return Some(("job", (message, "write the name of a [[job]], of several copies such as name-0")));
        }
    }
    for (key, interval) in [("counters", telemetry.counters), ("probes", telemetry.probes)] {
        if interval.is_some_and(|interval| interval < SimTime::from_ps(1_000_000_000)) {
            let message = format!("`{key}` more often than each millisecond");
            return Some((key, (message, "write an interval from 1 ms up, such as \"1 s\"")));
        }
    }
    let mut axes = telemetry.axes.iter();
    while let Some(axis) = axes.next() {
        if axes.clone().any(|other| other == axis) {
            let message = "an axis stands twice".to_owned();
            return Some(("axes", (message, "write each axis once")));
        }
    }
    None
}

fn trouble_of_replan(routing: &RoutingSpec) -> Option<Trouble> {
    match (routing.replan, routing.replan_time) {
        (Some(Replan::Never), Some(time)) => {
            let message = format!("a plan {time} after convergence, but replan = \"never\"");
            Some((message, "leave `replan_time` away, or write replan = \"once\""))
        }
        (Some(Replan::Every), Some(SimTime::ZERO)) => {
            Some(("plans at every multiple of 0 s".to_owned(), "write a period such as \"30 s\""))
        }
        _ => None,
    }
}

fn trouble_of_bounds(bounds: &Bounds) -> Option<(&'static str, Trouble)> {
    let Some(first) = bounds.amounts().next() else {
        let message = "the figure has no bound".to_owned();
        return Some(("at_least", (message, "write at_least, at_most or equals")));
    };
    if bounds.tolerance.is_some() && bounds.equals.is_none() {
        let message = "`tolerance` belongs to `equals`".to_owned();
        return Some(("tolerance", (message, "write equals, or leave tolerance away")));
    }
    if let Some(other) = bounds.amounts().find(|a| discriminant(a) != discriminant(&first)) {
        let message = format!("one bound is a {}, another a {}", first.what(), other.what());
        return Some(("at_most", (message, "write both in the same kind of unit")));
    }
    if let (Some(least), Some(most)) = (bounds.at_least, bounds.at_most)
        && least.base() > most.base()
    {
        let message = format!("at_least {least} is more than at_most {most}");
        return Some(("at_least", (message, "write at_least below at_most")));
    }
    None
}

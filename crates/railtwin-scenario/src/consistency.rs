//! What no single key shows: values that contradict each other, each told by its section.
use crate::error::Problem;
use crate::expect::trouble_of_bounds;
use crate::scenario::Scenario;
use crate::section::apart::troubles_of_intranode;
use crate::section::cluster::rules::troubles_of_cluster;
use crate::section::fabric::caps::troubles_of_caps;
use crate::section::failures::rules::troubles_of_failures;
use crate::section::fault::rules::trouble_of_fault;
use crate::section::job::rules::troubles_of_jobs;
use crate::section::packet::troubles_of_packets;
use crate::section::routing::{trouble_of_replan, troubles_of_periods};
use crate::section::steering::rules::trouble_of_steering;
use crate::section::storage::troubles_of_storage;
use crate::section::telemetry::rules::trouble_of_telemetry;
use crate::tree::{Node, steps};
use crate::violation::Violation;

/// Checks a scenario whose values are each right.
pub(crate) fn check_whole(text: &str, tree: &Node, scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut report = |path: String, (message, hint): Violation| {
        let span = tree.span_near(&steps(&path));
        problems.push(Problem::new(text, span, message, Some(hint.to_owned())));
    };
    for (path, trouble) in troubles_of_jobs(&scenario.jobs) {
        report(path, trouble);
    }
    for (path, trouble) in troubles_of_storage(scenario) {
        report(path, trouble);
    }
    for (key, trouble) in troubles_of_caps(&scenario.caps) {
        report(key, trouble);
    }
    for (index, fault) in scenario.faults.iter().enumerate() {
        if let Some((key, trouble)) = trouble_of_fault(fault) {
            report(format!("fault.{index}.{key}"), trouble);
        }
    }
    for (key, trouble) in scenario.failures.iter().flat_map(troubles_of_failures) {
        report(format!("failures.{key}"), trouble);
    }
    for (path, trouble) in troubles_of_cluster(scenario) {
        report(path, trouble);
    }
    for (path, trouble) in troubles_of_intranode(scenario) {
        report(path, trouble);
    }
    if let Some((key, trouble)) = trouble_of_steering(scenario) {
        report(format!("steering.{key}"), trouble);
    }
    if let Some((key, trouble)) = trouble_of_telemetry(scenario) {
        report(format!("telemetry.{key}"), trouble);
    }
    if let Some(trouble) = trouble_of_replan(&scenario.routing) {
        report("routing.replan_time".to_owned(), trouble);
    }
    for (key, trouble) in troubles_of_periods(scenario) {
        report(key.to_owned(), trouble);
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

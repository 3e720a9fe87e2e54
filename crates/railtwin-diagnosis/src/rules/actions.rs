//! From findings to actions, with safeguards: little is done on weak evidence, and never much at once.
//!
//! A rule that blames by correlation alone can take healthy hosts out of a cluster one after another while the fault
//! goes on elsewhere; so no more than a few hosts are isolated at once, and what comes beyond is reported to people.
use std::collections::BTreeSet;

use railtwin_records::{Action, ActionKind, Component, Directory, FaultKind, Finding, Seen, Syndrome};

use crate::rules::place::host_of;

/// Confidence below which nothing is taken out of service.
const SURE: f64 = 0.5;

/// What keeps actions from doing harm.
#[derive(Clone, PartialEq, Debug)]
pub struct Safeguard {
    /// Hosts that may be isolated at the same time.
    pub at_most: usize,
    /// Hosts that are isolated already, by name.
    pub isolated: BTreeSet<String>,
}

impl Safeguard {
    /// Two hosts, or one in a hundred of a cluster of more than 200.
    pub fn of_cluster(hosts: usize) -> Self {
        Self { at_most: (hosts / 100).max(2), isolated: BTreeSet::new() }
    }
}

/// What can be done about one component.
enum Remedy {
    Isolate(Component),
    Drain(Component),
    Report(Component),
    Probe(Component),
}

fn remedy(directory: &Directory, component: &Component, finding: &Finding) -> Remedy {
    let faults = &finding.faults;
    let jobs_own =
        faults.first().is_some_and(|kind| matches!(kind, FaultKind::SizeMismatch | FaultKind::SlowData));
    match component {
        _ if is_setup(finding) => Remedy::Report(component.clone()),
        // Whoever swaps cables decides when.
        _ if faults.first() == Some(&FaultKind::WrongCable) => Remedy::Report(component.clone()),
        Component::Rank(_) if jobs_own => Remedy::Report(component.clone()),
        Component::Rank(_) | Component::Gpu(_) | Component::Nic(_) | Component::Host(_) => {
            // A host that the directory does not know cannot be taken out of a job.
            host_of(directory, component).map_or(Remedy::Report(component.clone()), Remedy::Isolate)
        }
        Component::Cable(_) | Component::Link(_) | Component::Switch(_) => Remedy::Drain(component.clone()),
        Component::Connection(_) => Remedy::Probe(component.clone()),
        _ => Remedy::Report(component.clone()),
    }
}

/// Whether a finding rests on a setting, a limit or a program that is to be changed.
fn is_setup(finding: &Finding) -> bool {
    matches!(finding.evidence.first().map(|line| &line.seen), Some(Seen::Cause(cause)) if cause.is_setup())
}

/// The actions that findings ask for. `Action::finding` is the row in `findings`; the same action is proposed once.
///
/// - a collision is no fault: it is reported, never isolated or drained;
/// - below a confidence of 0.5: probes between several suspects, nothing for one;
/// - several suspects that call for different remedies, and advice that says what would tell them apart: probes;
/// - links, cables and switches are drained; for a host and what stands in it the host is isolated, up to
///   [`Safeguard::at_most`]; what is the job's own is reported.
pub fn actions_of(findings: &[Finding], directory: &Directory, safeguard: &Safeguard) -> Vec<Action> {
    let mut isolated = safeguard.isolated.clone();
    let mut actions: Vec<Action> = Vec::new();
    for (row, finding) in findings.iter().enumerate() {
        let Some(first) = finding.suspects.first() else { continue };
        let mut push = |kind: ActionKind, target: Component, reason: String| {
            if !actions.iter().any(|action| action.kind == kind && action.target == target) {
                actions.push(Action { finding: row as u32, kind, target, reason });
            }
        };
        let several = finding.suspects.len() > 1;
        if finding.syndrome == Syndrome::Collision {
            let reason = "traffic that meets on a link is no fault".to_owned();
            push(ActionKind::Report, first.component.clone(), reason);
            continue;
        }
        if finding.confidence < SURE {
            if several {
                let reason = format!(
                    "{} suspects at a confidence of {:.2}",
                    finding.suspects.len(),
                    finding.confidence
                );
                push(ActionKind::Probe, first.component.clone(), reason);
            }
            continue;
        }
        let remedies: Vec<Remedy> =
            finding.suspects.iter().map(|suspect| remedy(directory, &suspect.component, finding)).collect();
        let differ = remedies.windows(2).any(|two| match (&two[0], &two[1]) {
            (Remedy::Isolate(one), Remedy::Isolate(other)) => one != other,
            (Remedy::Report(_), Remedy::Report(_)) => false,
            _ => true,
        });
        if several && differ && !finding.advice.is_empty() {
            let reason = format!("{} suspects: {}", finding.suspects.len(), finding.advice);
            push(ActionKind::Probe, first.component.clone(), reason);
            continue;
        }
        let why = |what: &str| {
            let fault = finding.faults.first().map_or(finding.syndrome.name(), |kind| kind.name());
            format!("{fault} at {} {}: {what}", first.component.kind(), first.component.name())
        };
        match remedies.into_iter().next() {
            Some(Remedy::Isolate(host)) => {
                let name = host.name().to_owned();
                if isolated.contains(&name) {
                    continue;
                }
                if isolated.len() >= safeguard.at_most {
                    let reason =
                        why("as many hosts as may be at once are isolated already; a person must decide");
                    push(ActionKind::Report, host, reason);
                } else {
                    isolated.insert(name);
                    push(ActionKind::Isolate, host, why("the job goes on without its host"));
                }
            }
            Some(Remedy::Drain(target)) => push(ActionKind::Drain, target, why("others carry its traffic")),
            Some(Remedy::Report(target)) => push(ActionKind::Report, target, why("no component to replace")),
            Some(Remedy::Probe(target)) => push(ActionKind::Probe, target, why("its path is not known")),
            None => {}
        }
    }
    actions
}

//! Stage 3: findings of all judges joined, ranked, with actions and sources.
use railtwin_diagnosis::join::{Places, join};
use railtwin_diagnosis::one_delay::of_one_delay;
use railtwin_diagnosis::rules::{Safeguard, actions_of};
use railtwin_records::{Action, ActionKind, Component, Directory, Finding, HostInfo};

use super::judges::Judged;
use super::rows::Rows;
use super::{Sources, answer, between, sources};

/// The class of [`answer::cost`] of a finding that keeps a job from going on.
const STOPS: u8 = 3;

/// Findings in the order of an answer, with actions and sources.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) findings: Vec<Finding>,
    pub(super) actions: Vec<Action>,
    pub(super) sources: Vec<Vec<Sources>>,
}

/// Joins findings. Hosts that only findings of tests name are added to the directory.
pub(super) fn joined(rows: &mut Rows<'_>, judged: Judged) -> Joined {
    let Judged { mut of_job, of_tests, of_rest, .. } = judged;
    between::tell_other_direction(&mut of_job, &rows.merged.pairs);
    let mut findings = join(&Places { directory: &rows.directory, fabric: rows.fabric() }, &of_job);
    // Effects that tests show at the host of a cause are told with it ([`answer::causes`]).
    findings.extend(of_tests);
    if !findings.iter().any(|one| answer::cost(one).0 >= STOPS) {
        findings.extend(of_rest.into_iter().find(|rest| !rest.is_empty()).into_iter().flatten());
    }
    let mut findings = of_one_delay(findings);
    findings.sort_by(answer::by_cost);
    let sources = sources::sources_of(&findings, &rows.merged, &rows.directory, rows.engine.is_some());
    know_hosts(&mut rows.directory, &findings);
    let safeguard = Safeguard::of_cluster(rows.directory.hosts.len());
    let mut actions = actions_of(&findings, &rows.directory, &safeguard);
    actions.iter_mut().for_each(|action| only_known_hosts(action, &findings));
    Joined { findings, actions, sources }
}

/// A host that no file names cannot be isolated: the rank is reported.
fn only_known_hosts(action: &mut Action, findings: &[Finding]) {
    let unknown = action.kind == ActionKind::Isolate && action.target.name().starts_with("host-of-rank-");
    let finding = findings.get(action.finding as usize).filter(|_| unknown);
    if let Some(suspect) = finding.and_then(|finding| finding.suspects.first()) {
        action.kind = ActionKind::Report;
        action.target = suspect.component.clone();
        action.reason = "isolate its host, which no file names; --fabric may tell it".into();
    }
}

/// Adds hosts that findings of tests name and no record does: actions need to know them.
fn know_hosts(directory: &mut Directory, findings: &[Finding]) {
    for suspect in findings.iter().flat_map(|finding| &finding.suspects) {
        if let Component::Host(name) = &suspect.component
            && !directory.hosts.iter().any(|host| host.name == *name)
        {
            directory.hosts.push(HostInfo { name: name.clone() });
        }
    }
}

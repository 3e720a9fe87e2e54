//! Slow communication that is told without suspects, and what takes it over.
use std::collections::BTreeSet;

use railtwin_records::{Component, Finding, Syndrome};

use crate::join::{Places, of_network};
use crate::slow::communicators::unplaced;

/// Slow communication that operations tell of and cannot place, into what places it: a finding about the network that
/// one job meets at the same time. What nothing places is one finding for a job and a time.
pub(crate) fn place(places: &Places<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    let job_of = |finding: &Finding| {
        let rows = unplaced(places.directory, finding);
        rows.first().map(|&row| places.directory.communicators[row as usize].job)
    };
    let (open, mut kept): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .enumerate()
        .map(|(row, finding)| (row, job_of(&finding), finding))
        .partition(|(_, job, _)| job.is_some());
    for (row, job, finding) in open {
        let takes = |(_, of, known): &&mut (usize, Option<u32>, Finding)| {
            let at_once = known.since.from_ns <= finding.at_ns && finding.since.from_ns <= known.at_ns;
            let placed = of.is_none() && of_traffic(known) && meets_job(places, known, job);
            at_once && (*of == job || placed)
        };
        match kept.iter_mut().find(takes) {
            Some((_, _, known)) => {
                known.since = known.since.earlier(finding.since);
                known.severity = known.severity.max(finding.severity);
                known.evidence.extend(finding.evidence);
            }
            None => kept.push((row, job, finding)),
        }
    }
    kept.sort_by_key(|(row, ..)| *row);
    kept.into_iter().map(|(.., finding)| finding).collect()
}

/// Whether a finding names what makes messages slow: a part of the network, or others' traffic.
fn of_traffic(finding: &Finding) -> bool {
    let slow = matches!(finding.syndrome, Syndrome::CommunicationSlow | Syndrome::Collision);
    finding.suspects.iter().any(|suspect| slow || of_network(&suspect.component))
}

/// Whether traffic of a job meets a suspect: it is at one of the job's hosts, or the job's flows cross it.
fn meets_job(places: &Places<'_>, finding: &Finding, job: Option<u32>) -> bool {
    let of_job =
        |rank: u32| places.directory.ranks.get(rank as usize).is_some_and(|info| Some(info.job) == job);
    let host = |row: u32| places.directory.hosts.get(row as usize).map(|host| host.name.as_str());
    let ranks = places.directory.ranks.iter().filter(|info| Some(info.job) == job);
    let hosts: BTreeSet<&str> = ranks.filter_map(|info| host(info.host)).collect();
    finding.suspects.iter().any(|suspect| {
        let at = places.touched(&suspect.component);
        let links = match (&suspect.component, places.fabric) {
            (Component::Switch(name), Some(fabric)) => {
                let neighbors = fabric.switch_named(name).map(|switch| fabric.neighbors(switch));
                let cables = neighbors.into_iter().flatten().map(|(link, _)| link.cable());
                cables.flat_map(|cable| [cable.forward().0, cable.backward().0]).collect()
            }
            _ => places.links(&suspect.component),
        };
        let flows = || places.directory.flows.iter().filter(|flow| of_job(flow.source));
        at.iter().any(|name| hosts.contains(places.host_of(name)))
            || !links.is_empty() && flows().any(|flow| links.iter().any(|link| flow.links.contains(link)))
    })
}

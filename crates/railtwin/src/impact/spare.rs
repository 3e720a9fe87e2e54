//! Hosts that take over the ranks of drained hosts: backup hosts and hosts that no job has, the nearest first.
use std::collections::BTreeSet;

use railtwin_engine::Case;
use railtwin_fabric::HostId;

use super::Subject;

/// A host in the place of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StandIn {
    /// The drained host.
    pub lost: HostId,
    /// The host that has its ranks.
    pub by: HostId,
}

/// A host for each drained host with ranks, as long as hosts of the same model are free.
pub(super) fn stand_ins(case: &Case, subjects: &[Subject]) -> Vec<StandIn> {
    let used = used(case);
    let mut open = open(case, subjects);
    let mut stand_ins = Vec::new();
    for lost in subjects.iter().filter_map(|subject| subject.host).filter(|host| used.contains(host)) {
        let model = |host: HostId| case.fabric.host(host).model;
        let nearest = open
            .iter()
            .copied()
            .filter(|&host| model(host) == model(lost))
            .min_by_key(|&host| distance(case, lost, host));
        if let Some(by) = nearest {
            open.remove(&by);
            stand_ins.push(StandIn { lost, by });
        }
    }
    stand_ins
}

/// Hosts that stay free, those nearest to the first drained host first.
pub(super) fn free(case: &Case, subjects: &[Subject], stand_ins: &[StandIn]) -> Vec<HostId> {
    let mut open = open(case, subjects);
    stand_ins.iter().for_each(|stand_in| {
        open.remove(&stand_in.by);
    });
    let mut free: Vec<HostId> = open.into_iter().collect();
    if let Some(lost) = subjects.iter().find_map(|subject| subject.host) {
        free.sort_by_key(|&host| distance(case, lost, host));
    }
    free
}

/// Order in which hosts stand in for a host: by segment and pod, and at one distance backup hosts first.
fn distance(case: &Case, lost: HostId, host: HostId) -> (bool, bool, bool, HostId) {
    let place = |host: HostId| case.fabric.host(host);
    let (own, other) = (place(lost), place(host));
    let is_in_pod = own.pod == other.pod;
    (!is_in_pod, !is_in_pod || own.segment != other.segment, !other.spare, host)
}

/// Hosts on which a job has a GPU.
fn used(case: &Case) -> BTreeSet<HostId> {
    case.placements.iter().flatten().map(|place| place.host).collect()
}

/// Hosts that no job has and that are not drained.
fn open(case: &Case, subjects: &[Subject]) -> BTreeSet<HostId> {
    let used = used(case);
    let is_drained = |host: HostId| subjects.iter().any(|subject| subject.host == Some(host));
    let hosts = (0..case.fabric.hosts().len()).map(HostId::from_index);
    hosts.filter(|&host| !used.contains(&host) && !is_drained(host)).collect()
}

//! Failures whose cause is the setup of a host or a job: one GPU for several ranks, the limit of locked memory, NVLink SHARP,
//! a peer without a route.
//!
//! Sources of the messages: horovod/horovod#3929 (GPU), NVIDIA/nccl-tests#206 (locked memory), NVIDIA/nccl#976, #1488, #1338,
//! #1562, #1705 (NVLink SHARP), hiyouga/LlamaFactory#8045 (route).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::ends::UNKNOWN_HOST;
use railtwin_formats::telemetry::{LogSays, NcclEvent, NcclSetup};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Component, Finding, Syndrome};

use super::causes::{finding, host_of, is_survived, setups};
use super::{Judgement, RowsView};
use crate::logs::Said;

/// Confidence in a cause that its line names outright.
const NAMED: f64 = 0.9;
/// Confidence in the usual cause of an error.
const USUAL: f64 = 0.75;

/// Findings of all such failures.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut findings = duplicates(view);
    findings.extend(nvls(view));
    findings.extend(refused(view));
    findings.extend(no_route(view));
    findings.into()
}

/// Ranks of a host that have one GPU.
fn duplicates(view: &RowsView<'_>) -> Vec<Finding> {
    type Shared<'v> = (BTreeSet<u32>, Vec<Said<'v>>);
    let mut shared: BTreeMap<(String, &str), Shared<'_>> = BTreeMap::new();
    for (said, setup) in setups(view) {
        if let NcclSetup::DuplicateGpu { ranks, device } = setup {
            let known = shared.entry((view.who.host_of(said.1), device)).or_default();
            known.0.extend(ranks);
            known.1.push(said);
        }
    }
    let one = |((host, device), (ranks, said)): ((String, &str), Shared<'_>)| {
        let count = ranks.len() as f64;
        let cause =
            CauseSeen::DuplicateGpu { host, ranks: ranks.into_iter().collect(), device: device.to_owned() };
        let suspects = vec![Component::Job(view.job.to_owned())];
        let mut one = finding(Syndrome::Crash, suspects, NAMED, cause, count, &said);
        one.advice = "set the device of each process by its local rank (torch.cuda.set_device(LOCAL_RANK)), and start no more \
                      processes on a host than it has GPUs"
            .into();
        one
    };
    shared.into_iter().map(one).collect()
}

/// Hosts whose NVLink SHARP fails.
fn nvls(view: &RowsView<'_>) -> Vec<Finding> {
    let mut hosts: BTreeMap<String, (&str, Vec<Said<'_>>)> = BTreeMap::new();
    for (said, setup) in setups(view) {
        if let NcclSetup::Nvls { error, goes_on: false } = setup
            && !is_survived(view, said.0)
        {
            hosts.entry(view.who.host_of(said.1)).or_insert((error, Vec::new())).1.push(said);
        }
    }
    let one = |(host, (error, said)): (String, (&str, Vec<Said<'_>>))| {
        let suspects = Some(Component::Host(host.clone())).filter(|_| host != UNKNOWN_HOST);
        let cause = CauseSeen::NvlsFailed { host, error: error.to_owned() };
        let count = said.len() as f64;
        let suspects = suspects.into_iter().collect();
        let mut one = finding(Syndrome::Crash, suspects, USUAL, cause, count, &said);
        one.advice = "see nvidia-smi -q (Fabric: State, Status) and the log of the fabric manager; after a restart of it reset the \
                      GPUs or start the host anew; NCCL_NVLS_ENABLE=0 runs without NVLink SHARP"
            .into();
        one
    };
    hosts.into_iter().map(one).collect()
}

/// The resource that a refused call of the verbs library is short of.
fn cause_of(call: &str, error: &str, host: &str) -> Option<(CauseSeen, f64, &'static str)> {
    let small = error.to_ascii_lowercase();
    let (host, call) = (host.to_owned(), call.to_owned());
    let is_of_memory =
        ["reg_mr", "create_cq", "create_qp", "alloc_pd"].iter().any(|word| call.contains(word));
    if is_of_memory && (small.contains("cannot allocate memory") || small.contains("enomem")) {
        let advice = "raise the limit of locked memory: ulimit -l unlimited in the container, limits.conf or the unit of the \
                      launcher's daemon (LimitMEMLOCK=infinity)";
        return Some((CauseSeen::LockedMemory { host, call }, USUAL, advice));
    }
    if call.contains("reg_mr") && (small.contains("bad address") || small.contains("efault")) {
        let advice =
            "load nvidia_peermem, or use dma-buf: without one the NIC cannot register memory of a GPU";
        let error = error.to_owned();
        return Some((CauseSeen::RegistrationRefused { host, call, error }, 0.6, advice));
    }
    None
}

/// Hosts at which the verbs library refuses memory.
fn refused(view: &RowsView<'_>) -> Vec<Finding> {
    type Refused<'v> = (CauseSeen, f64, &'static str, Vec<Said<'v>>);
    let mut hosts: BTreeMap<String, Refused<'_>> = BTreeMap::new();
    for &(file, event) in &view.events {
        let LogSays::Nccl(NcclEvent::Verbs { call, error, .. }) = &event.what else { continue };
        if is_survived(view, file) {
            continue;
        }
        let host = view.who.host_of(event);
        if let Some((cause, confidence, advice)) = cause_of(call, error, &host) {
            let known = hosts.entry(host).or_insert((cause, confidence, advice, Vec::new()));
            known.3.push((file, event));
        }
    }
    let one = |(cause, confidence, advice, said): Refused<'_>| {
        let suspects = said.first().and_then(|(_, event)| host_of(view, event)).into_iter().collect();
        let count = said.len() as f64;
        let mut one = finding(Syndrome::Crash, suspects, confidence, cause, count, &said);
        advice.clone_into(&mut one.advice);
        one
    };
    hosts.into_values().map(one).collect()
}

/// Peers that a host could not reach in all of its tries.
fn no_route(view: &RowsView<'_>) -> Vec<Finding> {
    type Failed<'v> = (u32, Vec<Said<'v>>);
    let mut failed: BTreeMap<(String, &str, &str), Failed<'_>> = BTreeMap::new();
    for (said, setup) in setups(view) {
        if let NcclSetup::LastTry { error, peer, tries } = setup {
            let known = failed.entry((view.who.host_of(said.1), peer, error)).or_default();
            known.0 = known.0.max(*tries);
            known.1.push(said);
        }
    }
    if let Some((key, said)) = one_route(view) {
        failed.entry(key).or_insert((1, vec![said]));
    }
    let one = |((host, peer, error), (tries, said)): ((String, &str, &str), Failed<'_>)| {
        let peer = if peer.is_empty() { "its peer" } else { peer };
        let suspects = vec![Component::Connection(format!("{host} > {peer}"))];
        let cause = CauseSeen::NoRoute { host, peer: peer.to_owned(), error: error.to_owned(), tries };
        let mut one = finding(Syndrome::Unreachable, suspects, 0.6, cause, f64::from(tries), &said);
        one.advice = "set NCCL_SOCKET_IFNAME (and GLOO_SOCKET_IFNAME) to the interface that all hosts reach each other by, and open \
                      its ports in the firewall: the address may be that of a bridge or of a container"
            .into();
        one
    };
    failed.into_iter().map(one).collect()
}

/// The one peer that has no route from the one host that reports it: of several, who reports whom tells more.
fn one_route<'v>(view: &'v RowsView<'_>) -> Option<((String, &'v str, &'v str), Said<'v>)> {
    let mut told: BTreeMap<(String, &str, &str), Said<'_>> = BTreeMap::new();
    for &(file, event) in &view.events {
        let LogSays::Nccl(NcclEvent::Refused { peer, error }) = &event.what else { continue };
        let small = error.to_ascii_lowercase();
        if !(small.contains("no route") || small.contains("unreachable")) {
            return None;
        }
        told.entry((view.who.host_of(event), peer, error)).or_insert((file, event));
    }
    let first = told.pop_first();
    first.filter(|_| told.is_empty())
}

//! Queue pairs that time out between ports of different subnets: rails that nothing joins.
//!
//! On a fabric whose rails are apart NCCL may connect NIC 5 of one host with NIC 6 of another, unless `NCCL_CROSS_NIC=0`
//! (NVIDIA/nccl#2013).
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{LogSays, NcclEvent};
use railtwin_records::seen::CauseSeen;
use railtwin_records::{Component, Syndrome};

use super::causes::finding;
use super::{Judgement, RowsView};
use crate::logs::{Said, subnet};

/// Confidence where the other subnet is known to be that of another NIC, and where it is not.
const KNOWN: f64 = 0.8;
const UNKNOWN: f64 = 0.5;

/// A queue pair that timed out.
struct Failed<'v> {
    said: Said<'v>,
    nic: &'v str,
    from: String,
    to: String,
}

/// A finding where queue pairs time out between subnets, and never within one.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let failed: Vec<Failed<'_>> =
        view.events.iter().filter_map(|&(file, event)| failed((file, event))).collect();
    let of_nic: BTreeMap<&str, &str> =
        failed.iter().filter(|one| !one.nic.is_empty()).map(|one| (one.from.as_str(), one.nic)).collect();
    let across: Vec<&Failed<'_>> = failed.iter().filter(|one| one.from != one.to).collect();
    if across.is_empty() || across.len() < failed.len() {
        return Judgement::default();
    }
    let name = |subnet: &str| match of_nic.get(subnet) {
        Some(nic) => format!("{nic} ({subnet})"),
        None => subnet.to_owned(),
    };
    // Each pair of rails once, whichever end timed out.
    let pairs: BTreeSet<[&str; 2]> = (across.iter())
        .map(|one| {
            let mut pair = [one.from.as_str(), one.to.as_str()];
            pair.sort_unstable();
            pair
        })
        .collect();
    let findings = pairs.into_iter().map(|pair| {
        let of = |one: &&&Failed<'_>| pair.contains(&one.from.as_str()) && pair.contains(&one.to.as_str());
        let said: Vec<Said<'_>> = across.iter().filter(of).map(|one| one.said).collect();
        let confidence = if pair.iter().all(|subnet| of_nic.contains_key(subnet)) { KNOWN } else { UNKNOWN };
        let cause = CauseSeen::RailsApart { from: name(pair[0]), to: name(pair[1]) };
        let suspects = pair.iter().map(|subnet| Component::Rail(name(subnet))).collect();
        let mut one = finding(Syndrome::Unreachable, suspects, confidence, cause, said.len() as f64, &said);
        one.advice =
            "set NCCL_CROSS_NIC=0, so that NICs talk to those of their own rail alone, or join the rails by routes".into();
        one
    });
    findings.collect::<Vec<_>>().into()
}

/// A queue pair that timed out, with subnets of both ends.
fn failed((file, event): Said<'_>) -> Option<Failed<'_>> {
    let LogSays::Nccl(NcclEvent::Verbs { call, error, device, gids }) = &event.what else { return None };
    let is_it = call.contains("modify_qp") && error.to_ascii_lowercase().contains("timed out");
    let (from, to) = (subnet(&gids[0])?, subnet(&gids[1])?);
    is_it.then(|| Failed { said: (file, event), nic: device, from, to })
}

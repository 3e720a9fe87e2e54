//! Findings, incidents and components as JSON: the same in every answer.
use railtwin_live::{LiveIncident, SuspectPlace};
use railtwin_records::{Component, Evidence, Finding};
use serde_json::{Value, json};

/// A component: `kind` and `name`.
pub fn component(component: &Component) -> Value {
    json!({ "kind": component.kind(), "name": component.name() })
}

/// A line of evidence: kind with its fields, words, measured and expected figure.
fn evidence(line: &Evidence) -> Value {
    json!({
        "table": line.table, "what": line.words(), "seen": line.seen, "value": line.value, "expected": line.expected,
        "unit": line.unit,
    })
}

/// A finding, with suspects and evidence; its place in an answer is not in it.
pub fn finding(finding: &Finding) -> Value {
    json!({
        "id": finding.id(),
        "at_ns": finding.at_ns,
        "since_from_ns": finding.since.from_ns,
        "since_until_ns": finding.since.until_ns,
        "syndrome": finding.syndrome.name(),
        "accuses": finding.accuses(),
        "faults": finding.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        "suspects": finding.suspects.iter().map(|suspect| {
            json!({ "component": component(&suspect.component), "share": suspect.share })
        }).collect::<Vec<_>>(),
        "confidence": finding.confidence,
        "severity": finding.severity,
        "time_lost_s": finding.cost.map(|cost| cost.lost_ns / 1e9),
        "time_lost_share": finding.cost.map(|cost| cost.share),
        "evidence": finding.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "advice": finding.advice,
    })
}

/// An incident of live records; times are ns on the clock of the records. `named` gives the component of a suspect.
pub fn incident(one: &LiveIncident, named: impl Fn(SuspectPlace) -> Component) -> Value {
    json!({
        "id": one.id,
        "kind": one.kind.name(),
        "accuses": one.accuses(),
        "opened_at": one.opened_ns,
        "updated_at": one.updated_ns,
        "confirmed_at": one.confirmed_ns,
        "closed_at": one.closed_ns,
        "suspects": one.suspects.iter().map(|suspect| {
            json!({
                "component": component(&named(suspect.place)),
                "rank": suspect.place.rank(),
                "share": suspect.share,
            })
        }).collect::<Vec<_>>(),
        "edge": one.edge.map(|(from, to)| json!({ "from": from, "to": to })),
        "evidence": one.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "next_step": one.kind.next_step(),
    })
}

//! The page of `railtwin diagnose --report`: the answer of the first screen, causes with their evidence, the lattice of a hang,
//! what-if bars, notes and files (docs/reference/report-payload.md). What is true is told here; the page draws it.
mod lattice;

use railtwin_diagnosis::hang::dumps::Lattice;
use railtwin_diagnosis::what_if::{IDEALS, Part, WhatIf};
use railtwin_records::{Component, Evidence, Finding};
use serde_json::{Value, json};

use crate::diagnose::answer::{self, CAUSES, Cause, FIRST_EVIDENCE, NOTES};
use crate::diagnose::words;
use crate::diagnose::{Diagnosed, Sources};
use crate::report::filled;

/// Lines of evidence of a finding that the page carries, those that decide first; `--json` has all.
const EVIDENCE: usize = 64;
/// Suspects of a finding that the page carries.
const SUSPECTS: usize = 64;
/// Files that the page lists.
const FILES: usize = 4_000;

/// The page of a diagnosis. `name` says what was looked at; `replayed` are jobs beside their ideals, by file.
pub fn page(name: &str, told: &Diagnosed, replayed: &[(String, WhatIf)]) -> String {
    filled(name, "diagnosed", data(name, told, replayed))
}

/// What the page carries.
pub fn data(name: &str, told: &Diagnosed, replayed: &[(String, WhatIf)]) -> Value {
    let causes = told.causes();
    let (files, unread) = (told.files.iter().take(FILES), told.unread.iter().take(FILES));
    let mut section = json!({
        "name": name,
        "version": env!("CARGO_PKG_VERSION"),
        "engine": told.engine,
        "well": told.is_well(),
        "answer": answer(told, &causes),
        "causes": causes.iter().map(|cause| cause_value(told, cause)).collect::<Vec<_>>(),
        "findings": (0..told.findings.len()).map(|row| finding(told, row)).collect::<Vec<_>>(),
        "looked_at": {
            "operations": told.batch.operations.len(), "ranks": told.directory.ranks.len(),
            "counters": told.batch.counters.len(), "others": told.others, "log_lines": told.log_lines,
            "failed_tests": told.failed_tests, "seconds": told.seconds,
        },
        "notes": told.notes,
        "files": files.map(|file| json!({
            "file": file.source, "format": file.format.name(), "held": file.held, "notes": file.notes,
            "skipped": file.skipped.count(),
        })).collect::<Vec<_>>(),
        "unread": unread.map(|file| json!({
            "file": file.source, "reason": file.reason, "recognized": file.known,
        })).collect::<Vec<_>>(),
        "files_total": told.files.len() + told.unread.len(),
        "ideals": IDEALS,
        "what_if": replayed.iter().map(|(file, what_if)| of_what_if(file, what_if)).collect::<Vec<_>>(),
    });
    if let Some(dumps) = &told.dumps {
        section["lattice"] = lattice::data(&Lattice::of(dumps), &told.findings);
    }
    section
}

/// The first screen, by its parts.
fn answer(told: &Diagnosed, causes: &[Cause]) -> Value {
    let shown = causes.iter().take(CAUSES).enumerate().filter_map(|(row, cause)| {
        let words = told.told(cause, if row == 0 { FIRST_EVIDENCE } else { 1 })?;
        Some(json!({ "cause": row, "who": words.who, "what": words.what, "seen": words.seen }))
    });
    let also = told.also();
    json!({
        "sentence": told.sentence(),
        "causes": shown.collect::<Vec<_>>(),
        "also": also.iter().take(NOTES).collect::<Vec<_>>(),
        "next": told.next_step(causes),
    })
}

fn cause_value(told: &Diagnosed, cause: &Cause) -> Value {
    let words = told.told(cause, 0);
    let first = cause.findings.first().map(|&row| &told.findings[row]);
    json!({
        "who": words.as_ref().map_or("", |words| &words.who),
        "what": words.as_ref().map_or("", |words| &words.what),
        "accuses": first.is_some_and(Finding::accuses),
        "confidence": cause.confidence,
        "findings": cause.findings,
        "follows": cause.follows,
    })
}

fn component(component: &Component) -> Value {
    json!({ "kind": component.kind(), "name": component.name() })
}

fn finding(told: &Diagnosed, row: usize) -> Value {
    let finding = &told.findings[row];
    let actions = told.actions.iter().filter(|action| action.finding as usize == row);
    let sources = told.sources.get(row);
    let evidence = answer::deciding_rows(finding)
        .into_iter()
        .take(EVIDENCE)
        .map(|line| evidence(&finding.evidence[line], sources.and_then(|of| of.get(line))));
    json!({
        "who": answer::who(&[finding]),
        "what": words::of_finding(finding),
        "syndrome": finding.syndrome.name(),
        "faults": finding.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        "suspects": finding.suspects.iter().take(SUSPECTS).map(|suspect| {
            let mut value = component(&suspect.component);
            value["share"] = suspect.share.into();
            value
        }).collect::<Vec<_>>(),
        "suspects_total": finding.suspects.len(),
        "accuses": finding.accuses(),
        "sure": answer::sure(finding.confidence, finding.accuses()),
        "confidence": finding.confidence,
        "severity": finding.severity,
        "evidence": evidence.collect::<Vec<_>>(),
        "evidence_total": finding.evidence.len(),
        "advice": finding.advice,
        "actions": actions.map(|action| json!({
            "kind": action.kind.name(), "target": component(&action.target), "reason": action.reason,
        })).collect::<Vec<_>>(),
    })
}

fn evidence(line: &Evidence, sources: Option<&Sources>) -> Value {
    let nowhere = Sources::default();
    let sources = sources.unwrap_or(&nowhere);
    // What is not finite has no number in JSON.
    let number = |value: f64| if value.is_finite() { answer::number(value) } else { value.to_string() };
    json!({
        "table": line.table,
        "what": line.words(),
        "value": number(line.value),
        "expected": number(line.expected),
        "unit": answer::unit(line),
        "sources": sources.first.iter().map(|source| json!({ "file": source.file, "place": source.place }))
            .collect::<Vec<_>>(),
        "sources_total": sources.count,
    })
}

fn of_what_if(file: &str, what_if: &WhatIf) -> Value {
    let part = |part: &Part| json!({ "name": part.name, "alone": part.alone, "saved": part.saved });
    let parts = |all: &[Part]| all.iter().map(part).collect::<Vec<Value>>();
    let steps = what_if.steps.iter().filter(|step| step.ideal_ns.iter().all(|time| *time > 0.0));
    json!({
        "file": file,
        "operations": what_if.operations,
        "launch": what_if.launch,
        "slowdown": what_if.slowdown,
        "kinds": parts(&what_if.kinds),
        "stages": parts(&what_if.stages),
        "replicas": parts(&what_if.replicas),
        "ranks": parts(&what_if.ranks),
        "steps": steps.map(|step| json!({
            "step": step.step,
            "recorded_s": step.recorded_ns / 1e9,
            "slowdown": step.ideal_ns.map(|ideal| step.replayed_ns / ideal),
        })).collect::<Vec<_>>(),
    })
}

//! Detectors of streams, run on the rows of files or of a run as they came one after the other.
use railtwin_diagnosis::rules::{Limits, rule_detectors_beside};
use railtwin_diagnosis::wiring::WrongCables;
use railtwin_diagnosis::{Detector, Diagnosis, Hang, slow_detectors};
use railtwin_formats::telemetry::{Note, Times};
use railtwin_records::observation::OBSERVED;
use railtwin_records::{Batch, Observation};

use super::judges::Judgement;
use super::rows::Rows;
use super::windows;

/// Findings of all detectors that the rows suffice for.
pub(super) fn judge(rows: &Rows<'_>) -> Judgement {
    let mut verdict = Judgement::default();
    let mut diagnosis = Diagnosis::with(rows.settings, detectors(rows));
    let stream = match &rows.observation {
        Some(observation) => {
            let (stream, ended) = windows::looks(&rows.batch, observation);
            verdict.notes.extend(ended.map(|table| not_whole(table, &stream, observation)));
            stream
        }
        None => windows::windows(&rows.batch, rows.directory.ranks.len()),
    };
    for window in stream {
        diagnosis.observe(&rows.directory, rows.fabric(), &window, &mut verdict.findings);
    }
    verdict.notes.extend(rows.merged.telemetry.notes.iter().map(Note::to_string));
    if !rows.batch.operations.is_empty() && rows.times == Times::Observed {
        verdict.notes.push(
            "times are those at which processes saw operations: good for hangs, too late to tell who is slow"
                .into(),
        );
    }
    verdict
}

fn detectors(rows: &Rows<'_>) -> Vec<Box<dyn Detector>> {
    let has_dumps = rows.dumps.is_some();
    let mut detectors: Vec<Box<dyn Detector>> = Vec::new();
    // Dumps are of one moment and no stream: their judge sees hangs.
    if rows.has_open && !has_dumps || rows.observation.is_some() {
        detectors.push(Box::new(Hang::default()));
    }
    // A trace of all operations is replayed: detectors that see waits alone would accuse ranks that wait, too.
    if rows.times == Times::Kernels && rows.replays.is_empty() {
        detectors.extend(slow_detectors());
    }
    let mut rules = rule_detectors_beside(Limits::default(), rows.baselines.clone());
    // Dumps tell which call differs, with who waits.
    rules.retain(|rule| !has_dumps || rule.name() != "size-mismatch");
    detectors.extend(rules);
    let plan = rows.site.and_then(|site| site.plan.as_ref());
    if let (Some(plan), true) = (plan, rows.engine.is_some()) {
        detectors.push(Box::new(WrongCables::new(plan.clone())));
    }
    detectors
}

/// A note on a table that ends before observation does.
fn not_whole(table: usize, judged: &[Batch], observation: &Observation) -> String {
    let until_ns = judged.last().map_or(0, |window| window.until_ns);
    let from_ns = observation.looks.first().map_or(0, |look| look.until_ns);
    format!(
        "the table {} ends after {:.1} of {:.1} s of observation: what came later is not judged",
        OBSERVED[table],
        until_ns.saturating_sub(from_ns) as f64 / 1e9,
        observation.seconds()
    )
}

//! The section `diagnosis` of a page (docs/reference/report-payload.md): findings, truths, the delay matrix, the wait
//! chain, and what a few ranks did in one step.
mod chain;
mod components;
mod lanes;
mod matrix;

use railtwin_engine::Case;
use railtwin_records::{Action, Component, Finding, Truth};
use serde_json::{Value, json};

use crate::telemetry_run::TelemetryRun;
use components::Components;

/// The section for a run; none where nobody looked.
pub fn diagnosis(case: &Case, run: &TelemetryRun) -> Option<Value> {
    if !run.diagnosed {
        return None;
    }
    let [start_ns, until_ns] = run.span_ns;
    let components = Components { case, directory: &run.directory };
    let seconds = |ns: u64| ns.saturating_sub(start_ns) as f64 / 1e9;
    let findings: Vec<Value> = (0_u32..)
        .zip(&run.findings)
        .map(|(row, finding)| {
            let actions = run.actions.iter().filter(|action| action.finding == row).map(action);
            finding_value(&components, finding, actions.collect(), &seconds)
        })
        .collect();
    let begun = case.truths.iter().filter(|truth| truth.from_ns < until_ns);
    let accusing = (0..run.findings.len()).filter(|&row| run.findings[row].accuses());
    let accused: Vec<(usize, Vec<u32>)> =
        accusing.map(|row| (row, components.ranks_of(&run.findings[row]))).collect();
    let accusation = accused.first().map(|(row, _)| &run.findings[*row]);
    // The chain is about the first finding that ranks stand at: a switch has none.
    let about = accused.iter().find(|(_, ranks)| !ranks.is_empty()).or_else(|| accused.first());
    let finding = about.map(|(row, _)| *row);
    let accused = about.map_or_else(Vec::new, |(_, ranks)| ranks.clone());
    // What was sent before the fault began for sure would water its traces down.
    let since_ns = accusation.map_or(0, |finding| finding.since.until_ns);
    let chain = chain::Chain::of(run, since_ns, finding, &accused);
    let mut section = json!({
        "source": "simulated",
        "operations": run.seen[0],
        "messages": run.seen[1],
        "span_s": seconds(until_ns),
        "start_ps": start_ns as f64 * 1e3,
        "settings": settings(&run.thresholds),
        "findings": findings,
        "truths": begun.map(|truth| truth_value(truth, &seconds)).collect::<Vec<_>>(),
    });
    if let Some(matrix) = matrix::matrix(case, run, since_ns) {
        section["matrix"] = matrix;
    }
    if let Some(chain) = &chain {
        section["chain"] = chain.value(&run.directory);
    }
    if let Some(lanes) = lanes::lanes(run, &accused, chain.as_ref()) {
        section["ranks"] = lanes;
    }
    Some(section)
}

fn finding_value(
    components: &Components<'_>,
    finding: &Finding,
    actions: Vec<Value>,
    seconds: &dyn Fn(u64) -> f64,
) -> Value {
    let suspect = |component: &Component, share: f64| {
        let mut suspect = component_value(component);
        suspect["share"] = share.clamp(0.0, 1.0).into();
        if let Some(devices) = components.devices(component) {
            suspect["devices"] = devices.into();
        }
        suspect
    };
    let suspects = finding.suspects.iter().map(|one| suspect(&one.component, one.share));
    let evidence = finding.evidence.iter().map(|line| {
        json!({
            "table": line.table, "what": line.words(), "value": line.value, "expected": line.expected,
            "unit": line.unit,
        })
    });
    let severity = if finding.severity.is_finite() { finding.severity.max(0.0) } else { 1.0 };
    json!({
        "at_s": seconds(finding.at_ns),
        "since_s": seconds(finding.since.from_ns),
        "since_until_s": seconds(finding.since.until_ns),
        "syndrome": finding.syndrome.name(),
        "faults": finding.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        "suspects": suspects.collect::<Vec<_>>(),
        "confidence": finding.confidence.clamp(0.0, 1.0),
        "severity": severity,
        "lost_s": finding.cost.map(|cost| cost.lost_ns / 1e9),
        "lost_share": finding.cost.map(|cost| cost.share),
        "evidence": evidence.collect::<Vec<_>>(),
        "advice": finding.advice,
        "actions": actions,
    })
}

fn component_value(component: &Component) -> Value {
    json!({ "kind": component.kind(), "name": component.name() })
}

fn action(action: &Action) -> Value {
    json!({
        "kind": action.kind.name(), "target_kind": action.target.kind(), "target": action.target.name(),
        "reason": action.reason,
    })
}

fn truth_value(truth: &Truth, seconds: &dyn Fn(u64) -> f64) -> Value {
    json!({
        "from_s": seconds(truth.from_ns),
        "until_s": (truth.until_ns < u64::MAX).then(|| seconds(truth.until_ns)),
        "kind": truth.kind.name(),
        "component_kind": truth.component.kind(),
        "component": truth.component.name(),
        "severity": truth.severity,
    })
}

/// Thresholds that explain findings on the page.
fn settings(settings: &railtwin_diagnosis::Settings) -> Vec<Value> {
    let share = |share: f64| format!("{:.0} %", 100.0 * share);
    let all = [
        ("slow", format!("{} beyond what is alike", share(settings.slow_share))),
        ("window", format!("{} operations", settings.window)),
        ("deviations", settings.deviations.to_string()),
        ("hang", format!("{} s", settings.hang.ps() as f64 / 1e12)),
        ("pause", format!("{} ms", settings.pause.ps() as f64 / 1e9)),
        ("latency", format!("{} beyond the baseline", share(settings.latency_share))),
    ];
    all.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

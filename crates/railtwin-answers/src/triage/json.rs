//! The triage as JSON: of the command's `--json` and of Python.
use railtwin::cost_json::{of_drained, step};
use railtwin_fabric::Fabric;
use railtwin_records::Component;
use serde_json::{Value, json};

use super::{JobCost, Triage, TriageCulprit, TriageOrder};

/// `answer`, `orders` with costs in GPU-hours and step times in seconds, `together`, `unsure`, `unplaced`.
pub fn json_of(found: &Triage, fabric: &Fabric) -> Value {
    json!({
        "answer": found.sentence,
        "orders": found.orders.iter().map(|order| of_order(order, fabric)).collect::<Vec<_>>(),
        "together": found.together.as_ref().map(|together| of_drained(together, fabric)),
        "unsure": found.unsure.iter().map(of_culprit).collect::<Vec<_>>(),
        "unplaced": found.unplaced.iter().map(component).collect::<Vec<_>>(),
        "restart_h": found.restart.hours(),
    })
}

fn component(component: &Component) -> Value {
    json!({ "kind": component.kind(), "name": component.name() })
}

fn of_culprit(culprit: &TriageCulprit) -> Value {
    json!({
        "name": culprit.name,
        "suspects": culprit.suspects.iter().map(component).collect::<Vec<_>>(),
        "findings": culprit.findings,
        "faults": culprit.faults.iter().map(|fault| fault.name()).collect::<Vec<_>>(),
        "confidence": culprit.confidence,
        "lost_share": culprit.lost_share,
        "advice": culprit.advice,
    })
}

fn of_order(order: &TriageOrder, fabric: &Fabric) -> Value {
    let mut all = of_culprit(&order.culprit);
    all["gpu_hours_per_hour"] = json!(order.gpu_hours_per_hour());
    all["jobs"] = json!(order.jobs.iter().map(|job| of_job(job, order)).collect::<Vec<_>>());
    all["replaced_by"] = json!(order.impact.stand_ins.first().map(|one| fabric.host_name(one.by)));
    all["impact"] = of_drained(&order.impact, fabric);
    all
}

fn of_job(job: &JobCost, order: &TriageOrder) -> Value {
    let steps = order.impact.jobs.iter().find(|one| one.name == job.name);
    json!({
        "name": job.name,
        "gpus": job.gpus,
        "touched": job.touched,
        "lost_share": job.lost_share,
        "gpu_hours_per_hour": job.gpu_hours_per_hour,
        "restart_gpu_hours": job.restart_gpu_hours,
        "break_even_h": job.break_even_h(),
        "before": steps.map(|steps| step(&steps.before)),
        "drained": steps.map(|steps| step(&steps.after)),
    })
}

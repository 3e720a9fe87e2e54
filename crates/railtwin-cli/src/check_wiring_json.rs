//! `check wiring` for programs.
use railtwin_diagnosis::wiring::{Audit, MoveAction};
use serde_json::{Value, json};

use crate::check_wiring_observed::Seen;
use crate::check_wiring_work::answer;

/// Version of the form.
const SCHEMA: u32 = 1;

/// The answer as JSON.
pub(crate) fn data(blueprint: &str, audit: &Audit<'_>, seen: &Seen) -> Value {
    let name = |port: u32| audit.port_name(port);
    let names = |ports: &[u32]| ports.iter().map(|&port| name(port)).collect::<Vec<_>>();
    let mut files = serde_json::Map::new();
    for (kind, count) in &seen.files {
        files.insert((*kind).to_owned(), json!(count));
    }
    json!({
        "schema": SCHEMA,
        "answer": answer(audit),
        "blueprint": blueprint,
        "right": audit.right,
        "wrong": audit.faults.len(),
        "moves": audit.moves(),
        "faults": audit.faults.iter().map(|fault| json!({
            "kinds": fault.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
            "seen": fault.seen.map(|ends| names(&ends)),
            "planned": fault.planned.map(|end| end.map(name)),
            "repair": fault.repair,
        })).collect::<Vec<_>>(),
        "repairs": audit.repairs.iter().map(|repair| json!({
            "exchange": repair.is_exchange,
            "either_way": repair.either_way,
            "moves": repair.moves.iter().map(|one| json!({
                "action": one.action.name(),
                "from": name(one.from),
                "to": (one.action == MoveAction::Move).then(|| name(one.to)),
                "other_end": name(one.stays),
                "presumed": one.presumed,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "not_observed": audit.not_observed.iter().map(|ports| names(ports)).collect::<Vec<_>>(),
        "contradictions": audit.contradictions.iter().map(|(ports, problem)| json!({
            "ports": names(ports), "problem": problem,
        })).collect::<Vec<_>>(),
        "files": files,
        "notes": seen.notes,
    })
}

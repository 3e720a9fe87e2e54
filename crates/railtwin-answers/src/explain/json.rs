//! The explanation as JSON: of the command's `--json` and of Python.
use serde_json::{Value, json};

use super::{Explained, Measured, Weighed};

/// `measured`, `expected`, `hypotheses` in their order, `alike` (how many of the first fit about as well), `next`,
/// `not_simulated`, `assumed`. Bandwidths are GB/s, times
/// seconds, as `unit` says.
pub fn json_of(found: &Explained) -> Value {
    let measured = found.measured;
    json!({
        "answer": found.answer(),
        "unit": measured.unit(),
        "measured": measured.value(),
        "expected": of_weighed(&found.expected, measured),
        "hypotheses": found.ranked.iter().map(|one| of_weighed(one, measured)).collect::<Vec<_>>(),
        "alike": found.alike(),
        "next": found.next.as_ref().map(|next| json!({
            "how": next.how,
            "first": next.first,
            "second": next.second,
            "parts": next.parts(),
        })),
        "not_simulated": found.not_simulated.iter().map(|one| json!({
            "name": one.hypothesis.name,
            "says": one.hypothesis.says,
            "reason": one.not_simulated,
            "shown_by": one.shown_by,
        })).collect::<Vec<_>>(),
        "notes": found.notes,
        "assumed": found.assumed,
    })
}

fn of_weighed(one: &Weighed, measured: Measured) -> Value {
    json!({
        "name": one.hypothesis.name,
        "area": one.hypothesis.area.name(),
        "says": one.hypothesis.says,
        "figure": one.figure,
        "low": one.band.map(|band| band.0),
        "high": one.band.map(|band| band.1),
        "off": one.off(measured),
        "fits": one.fits(measured),
        "share": one.share,
        "shown_by": one.shown_by,
        "sign": one.hypothesis.sign,
        "remedy": one.remedy,
    })
}

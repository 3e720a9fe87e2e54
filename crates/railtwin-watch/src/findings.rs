//! Findings in files as incidents: the same one from judgement to judgement, while its suspects and evidence change.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::{Change, EventKind};

/// A confidence that changes by less is told as no change.
const CONFIDENCE: f64 = 0.05;
/// A finding that comes back within so long reopens its incident, ns.
const AGAIN_NS: u64 = 3_600_000_000_000;

/// A finding as a judgement of all files has it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Found {
    /// The finding, as `railtwin diagnose --json` has it.
    pub(crate) finding: Value,
    /// Files and lines that say so.
    pub(crate) sources: Value,
}

/// Incidents of files.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Findings {
    known: Vec<Known>,
    /// Identities of findings that were new in the judgement before: they are incidents if they stay.
    new_before: BTreeSet<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    id: u64,
    finding: Value,
    sources: Value,
    opened_ns: u64,
    updated_ns: u64,
    closed_ns: Option<u64>,
}

fn identity(finding: &Value) -> &str {
    finding["id"].as_str().unwrap_or("")
}

fn suspects(finding: &Value) -> BTreeSet<String> {
    let list = finding["suspects"].as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|suspect| suspect["component"].to_string()).collect()
}

/// How well a finding is the one that is known, the more the better: the same identity, else the same syndrome or fault with
/// suspects in common. None for another one.
fn likeness(known: &Value, finding: &Value) -> Option<u32> {
    if identity(known) == identity(finding) {
        return Some(1_000_000);
    }
    let is_like = known["syndrome"] == finding["syndrome"] || known["faults"][0] == finding["faults"][0];
    let (mine, others) = (suspects(known), suspects(finding));
    let shared = mine.intersection(&others).count() as u32;
    let all = mine.union(&others).count() as u32;
    // Who names nobody may name somebody later.
    let begins = (mine.is_empty() != others.is_empty()) && known["syndrome"] == finding["syndrome"];
    match is_like {
        true if shared > 0 => Some(1 + 1000 * shared / all.max(1)),
        true if begins => Some(1),
        _ => None,
    }
}

fn has_changed(known: &Value, finding: &Value) -> bool {
    let confidence = |of: &Value| of["confidence"].as_f64().unwrap_or(0.0);
    identity(known) != identity(finding)
        || known["accuses"] != finding["accuses"]
        || (confidence(known) - confidence(finding)).abs() >= CONFIDENCE
}

impl Findings {
    /// Whether a finding waits for the next judgement before it is told.
    pub(crate) fn waits(&self) -> bool {
        !self.new_before.is_empty()
    }

    /// Takes the findings of a judgement at a moment, ns since 1970. What is new is told when it stays in the next one, or
    /// at once where `is_settled` says that nothing more is coming: half of a log may say what the whole does not.
    pub(crate) fn take(
        &mut self,
        found: Vec<Found>,
        now_ns: u64,
        is_settled: bool,
        next_id: &mut u64,
    ) -> Vec<Change> {
        let pairs = self.pairs(&found);
        let mut changes = Vec::new();
        let mut new = BTreeSet::new();
        let stay: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
        for (at, one) in self.known.iter_mut().enumerate() {
            if one.closed_ns.is_none() && !stay.contains(&at) {
                (one.closed_ns, one.updated_ns) = (Some(now_ns), now_ns);
                let mut body = one.body();
                body["closed_why"] = json!("the evidence of now does not say so any more");
                changes.push(Change { id: one.id, what: EventKind::Closed, body, picture: None });
            }
        }
        for (found, known) in found.into_iter().zip(pairs) {
            match known {
                Some(at) => changes.extend(self.known[at].see(found, now_ns)),
                None if is_settled || self.new_before.contains(identity(&found.finding)) => {
                    let Found { finding, sources } = found;
                    let id = *next_id;
                    *next_id += 1;
                    let one = Known {
                        id,
                        finding,
                        sources,
                        opened_ns: now_ns,
                        updated_ns: now_ns,
                        closed_ns: None,
                    };
                    changes.push(Change { id, what: EventKind::Opened, body: one.body(), picture: None });
                    self.known.push(one);
                }
                None => {
                    new.insert(identity(&found.finding).to_owned());
                }
            }
        }
        self.new_before = new;
        self.known
            .retain(|one| one.closed_ns.is_none_or(|closed_ns| now_ns.saturating_sub(closed_ns) <= AGAIN_NS));
        changes
    }

    /// The incident of each finding: the likeliest pairs first, each once.
    fn pairs(&self, found: &[Found]) -> Vec<Option<usize>> {
        let mut likely = Vec::new();
        for (at, one) in self.known.iter().enumerate() {
            for (number, found) in found.iter().enumerate() {
                let like = likeness(&one.finding, &found.finding);
                // What is closed comes back as the same finding alone.
                let like = like.filter(|like| one.closed_ns.is_none() || *like == 1_000_000);
                likely.extend(like.map(|like| (std::cmp::Reverse(like), at, number)));
            }
        }
        likely.sort_unstable();
        let mut pairs = vec![None; found.len()];
        let mut taken = BTreeSet::new();
        for (_, at, number) in likely {
            if pairs[number].is_none() && taken.insert(at) {
                pairs[number] = Some(at);
            }
        }
        pairs
    }
}

impl Known {
    fn see(&mut self, found: Found, now_ns: u64) -> Option<Change> {
        let what = match self.closed_ns.take() {
            Some(_) => EventKind::Reopened,
            None if has_changed(&self.finding, &found.finding) => EventKind::Updated,
            None => {
                self.finding = found.finding;
                self.sources = found.sources;
                return None;
            }
        };
        self.finding = found.finding;
        self.sources = found.sources;
        self.updated_ns = now_ns;
        Some(Change { id: self.id, what, body: self.body(), picture: None })
    }

    fn body(&self) -> Value {
        let finding = &self.finding;
        json!({
            "job": Value::Null,
            "kind": finding["syndrome"],
            "accuses": finding["accuses"],
            "opened_at": self.opened_ns,
            "updated_at": self.updated_ns,
            "confirmed_at": self.opened_ns,
            "closed_at": self.closed_ns,
            "suspects": finding["suspects"],
            "edge": Value::Null,
            "evidence": finding["evidence"],
            "sources": self.sources,
            "next_step": finding["advice"],
            "cost": { "time_lost_share": finding["time_lost_share"], "time_lost_s": finding["time_lost_s"] },
            "finding": finding,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: &str, syndrome: &str, names: &[&str], confidence: f64) -> Found {
        let suspects: Vec<Value> = (names.iter())
            .map(|name| json!({ "component": { "kind": "host", "name": name }, "share": 1.0 }))
            .collect();
        let finding = json!({
            "id": id, "syndrome": syndrome, "faults": ["hang"], "suspects": suspects, "accuses": confidence >= 0.5,
            "confidence": confidence,
        });
        Found { finding, sources: json!([]) }
    }

    fn told(changes: &[Change]) -> Vec<(u64, &'static str)> {
        changes.iter().map(|change| (change.id, change.what.name())).collect()
    }

    #[test]
    fn a_finding_is_told_when_it_stays_and_never_twice() {
        let (mut all, mut next) = (Findings::default(), 1);
        let hang = || vec![found("a", "hang", &["h1", "h2"], 0.9)];
        assert_eq!(told(&all.take(hang(), 1, false, &mut next)), []);
        assert!(all.waits());
        assert_eq!(told(&all.take(hang(), 2, false, &mut next)), [(1, "opened")]);
        assert_eq!(told(&all.take(hang(), 3, false, &mut next)), []);
        assert_eq!(
            told(&all.take(vec![found("b", "hang", &["h1"], 0.9)], 4, false, &mut next)),
            [(1, "updated")]
        );
        assert_eq!(told(&all.take(vec![], 5, false, &mut next)), [(1, "closed")]);
        assert_eq!(
            told(&all.take(vec![found("b", "hang", &["h1"], 0.9)], 6, false, &mut next)),
            [(1, "reopened")]
        );
    }

    #[test]
    fn two_findings_of_one_host_are_two_incidents() {
        let (mut all, mut next) = (Findings::default(), 1);
        let both = vec![found("a", "hang", &["h1"], 0.9), found("b", "slow", &["h1"], 0.9)];
        assert_eq!(told(&all.take(both.clone(), 1, true, &mut next)), [(1, "opened"), (2, "opened")]);
        assert_eq!(told(&all.take(both, 2, true, &mut next)), []);
    }
}

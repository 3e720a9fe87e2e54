//! Cables that are not where they should be, by what ports hear of their neighbors (LLDP).
//!
//! * [`plan`]: held against a fabric as it was planned;
//! * [`audit`]: every cable of a network held against its blueprint, and the least work that repairs it;
//! * [`peers`]: held against hosts that are cabled alike, where there is no plan.
//!
//! A port that hears several neighbors stands behind something that passes LLDP on, and tells nothing.
mod audit;
mod called;
mod peers;
mod plan;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::NeighborSeen;
use railtwin_records::{
    Batch, Component, Evidence, FaultKind, Finding, NeighborInfo, Since, Suspect, Syndrome,
};

use crate::context::Context;
use crate::detector::Detector;

pub use audit::{
    Audit, Blueprint, CableFault, CableMove, FarEnd, MoveAction, Repair, Sighting, WiringFault,
    sightings_of_list,
};
pub use plan::Plan;

/// Table that evidence stands in.
pub const TABLE: &str = "neighbors";

/// What neighbors show.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Wiring {
    /// A finding for each port whose cable is wrong.
    pub findings: Vec<Finding>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What each port hears, if that is one.
fn heard(all: &[NeighborInfo]) -> BTreeMap<&str, &NeighborInfo> {
    let mut heard: BTreeMap<&str, Option<&NeighborInfo>> = BTreeMap::new();
    for info in all {
        let known = heard.entry(&info.port).or_insert(Some(info));
        if known.is_some_and(|known| {
            (&known.neighbor, &known.neighbor_port) != (&info.neighbor, &info.neighbor_port)
        }) {
            *known = None;
        }
    }
    heard.into_iter().filter_map(|(port, info)| Some((port, info?))).collect()
}

/// A note on ports that hear several neighbors.
fn several(all: &[NeighborInfo], heard: &BTreeMap<&str, &NeighborInfo>) -> Option<String> {
    let ports: BTreeSet<&str> = all.iter().map(|info| info.port.as_str()).collect();
    let strange: Vec<&str> = ports.iter().copied().filter(|port| !heard.contains_key(port)).collect();
    let first = strange.first()?;
    let (count, word) = (strange.len(), if strange.len() == 1 { "hears" } else { "hear" });
    Some(format!(
        "{count} of {} ports {word} several neighbors, such as {first}: they tell nothing",
        ports.len()
    ))
}

/// A finding on the cables of a component.
fn finding(component: Component, seen: NeighborSeen, confidence: f64, advice: String) -> Finding {
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::Wiring,
        faults: vec![FaultKind::WrongCable],
        suspects: vec![Suspect { component, share: 1.0 }],
        confidence,
        // What a cable costs depends on what is sent over it, which neighbors do not tell.
        severity: 0.0,
        cost: None,
        evidence: vec![Evidence::new(seen, 1.0, 0.0)],
        advice,
    }
}

/// Confidence that the next of a kind is as `agree` of its kind were and `others` were not (rule of succession, with one
/// case against for what was not seen).
fn confidence(agree: usize, others: usize) -> f64 {
    agree as f64 / (agree + others + 1) as f64
}

/// Holds what ports hear against a plan where there is one and knows any of the ports, else against hosts that are cabled
/// alike.
pub fn wiring_of(neighbors: &[NeighborInfo], plan: Option<&Plan>) -> Wiring {
    if neighbors.is_empty() {
        return Wiring::default();
    }
    let heard = heard(neighbors);
    let several = several(neighbors, &heard);
    let mut told = match plan.filter(|plan| heard.keys().any(|port| plan.knows(port))) {
        Some(plan) => plan.judge(&heard),
        None => {
            let mut told = peers::judge(&heard);
            if plan.is_some() {
                let first = neighbors.first().map_or("", |info| &info.port);
                told.notes.insert(
                    0,
                    format!(
                        "no port that hears a neighbor, such as {first}, is one of the fabric: hosts are held against each \
                         other; map ports with --names FILE"
                    ),
                );
            }
            told
        }
    };
    told.notes.extend(several);
    told
}

/// The same as a detector of a run: neighbors are told with its first records.
#[derive(Debug)]
pub struct WrongCables {
    plan: Plan,
    begun: bool,
    told: bool,
}

impl WrongCables {
    /// Against that plan.
    pub const fn new(plan: Plan) -> Self {
        Self { plan, begun: false, told: false }
    }
}

impl Detector for WrongCables {
    fn name(&self) -> &'static str {
        "wrong cables"
    }

    fn observe(&mut self, _: &Context<'_>, batch: &Batch) {
        let records =
            [batch.operations.len(), batch.messages.len(), batch.counters.len(), batch.probes.len()];
        self.begun |= records.iter().any(|&count| count > 0);
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        if self.told || !self.begun || context.directory.neighbors.is_empty() {
            return;
        }
        self.told = true;
        let found = wiring_of(&context.directory.neighbors, Some(&self.plan)).findings;
        findings.extend(found.into_iter().map(|finding| Finding {
            at_ns: now_ns,
            since: Since::between(0, now_ns),
            ..finding
        }));
    }
}

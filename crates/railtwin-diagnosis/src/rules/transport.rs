//! Meta's counters of NICs that jobs are shown (Meta RoCE section 6.3.1): out-of-sequence packets at the receiver, local
//! ACK timeouts at the sender. Losses of link, the third of them, are [`crate::rules::LinkState`]'s.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::{CounterSeen, TransportSide};
use railtwin_records::{
    Batch, Component, Counter, Evidence, FaultKind, Finding, FlowInfo, Since, Suspect, Syndrome,
};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::explain::{Crossing, confidence, crossings, explain};
use crate::rules::limits::Limits;
use crate::rules::place::suspects;
use crate::rules::told::Told;
use crate::rules::track::{Growth, Outlier, component_of, outliers};

/// Rows of evidence at most.
const ROWS: usize = 8;

/// Finds NICs whose transport counters grow unlike those of their peers, and what their paths have in common.
#[derive(Debug)]
pub struct JobCounters {
    limits: Limits,
    out_of_sequence: Growth,
    ack_timeouts: Growth,
    told: Told,
    /// Who was hit at the last judgement, and how many flows were known: the same gives the same answer.
    hit: [(Vec<u32>, usize); 2],
}

impl JobCounters {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            out_of_sequence: Growth::new(limits.window_ns),
            ack_timeouts: Growth::new(limits.window_ns),
            told: Told::default(),
            hit: Default::default(),
        }
    }

    /// Judges one counter.
    fn judge_one(
        &mut self,
        context: &Context<'_>,
        side: TransportSide,
        now_ns: u64,
        findings: &mut Vec<Finding>,
    ) {
        let (growth, floor) = match side {
            TransportSide::Receiver => (&self.out_of_sequence, self.limits.out_of_sequence),
            TransportSide::Sender => (&self.ack_timeouts, self.limits.ack_timeouts),
        };
        let hit = outliers(growth, context.directory, floor, context.settings.deviations);
        let rows: Vec<u32> = hit.iter().map(|outlier| outlier.entity).collect();
        let state = (rows, context.directory.flows.iter().filter(|flow| !flow.is_probe()).count());
        if self.hit[side as usize] == state {
            return;
        }
        self.hit[side as usize] = state;
        if hit.is_empty() {
            return;
        }
        let by_nic = flows_by_nic(context, side);
        let name = |entity: u32| nic_name(context, entity);
        let crossed = |nic| crossed(context, side, nic, by_nic.get(nic).map_or(&[], Vec::as_slice));
        let mut bad: BTreeMap<&str, Vec<Crossing<'_>>> = BTreeMap::new();
        let mut hit_at: BTreeMap<&str, &Outlier> = BTreeMap::new();
        for outlier in &hit {
            if let Some(nic) = name(outlier.entity) {
                bad.insert(nic, crossed(nic));
                hit_at.insert(nic, outlier);
            }
        }
        // A NIC that grew somewhat, but stands not out, neither accuses nor clears its paths.
        let clear: BTreeSet<&str> = growth
            .all()
            .filter(|&(_, grown)| grown < floor / 2.0)
            .filter_map(|(entity, _)| name(entity))
            .filter(|nic| !bad.contains_key(nic))
            .collect();
        let good: Vec<Vec<Crossing<'_>>> = clear.into_iter().map(crossed).collect();
        let nics: Vec<&str> = bad.keys().copied().collect();
        let groups: Vec<Vec<Crossing<'_>>> = bad.values().cloned().collect();
        for cause in explain(context, &groups, &good) {
            let covered: Vec<&Outlier> = cause.covered.iter().map(|&row| hit_at[nics[row]]).collect();
            let known = cause.covered.iter().any(|&row| by_nic.contains_key(nics[row]));
            let since = Since::earliest(covered.iter().map(|o| growth.since(o.entity)), now_ns);
            let sure = if known { confidence(&cause) } else { 0.6 };
            let mut finding = of_outliers(context, side, &covered, cause.suspects);
            (finding.at_ns, finding.since, finding.confidence) = (now_ns, since, sure);
            if finding.suspects.len() > 1 {
                finding.advice = advice(side).to_owned();
            } else if !known {
                finding.advice =
                    "paths are not known: with the fabric, links upstream can be named".to_owned();
            }
            self.told.tell(side as u64, finding, findings);
        }
    }
}

/// The finding of NICs that stand out, who are the suspects themselves where no others are given; without its time, confidence
/// and advice.
fn of_outliers(
    context: &Context<'_>,
    side: TransportSide,
    covered: &[&Outlier],
    mut named: Vec<Suspect>,
) -> Finding {
    let evidence = covered.iter().take(ROWS).map(|outlier| {
        let nic = nic_name(context, outlier.entity).unwrap_or_default();
        let seen = CounterSeen::TransportErrors { nic: nic.to_owned(), side };
        Evidence::new(seen, outlier.grown, outlier.expected)
    });
    if named.is_empty() {
        let own = covered.iter().filter_map(|o| component_of(context.directory, o.entity));
        named = suspects(own.map(|component| (component.clone(), 1.0)).collect());
    }
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::Counter,
        faults: faults(side),
        confidence: 0.0,
        suspects: named,
        severity: 0.0,
        cost: None,
        evidence: evidence.collect(),
        advice: String::new(),
    }
}

/// The name of the NIC that counts.
fn nic_name<'a>(context: &Context<'a>, entity: u32) -> Option<&'a str> {
    match component_of(context.directory, entity) {
        Some(Component::Nic(name)) => Some(name.as_str()),
        _ => None,
    }
}

impl Detector for JobCounters {
    fn name(&self) -> &'static str {
        "job-counters"
    }

    fn observe(&mut self, _context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in 0..rows.len() {
            let growth = match rows.counter[row] {
                Counter::OutOfSequence => &mut self.out_of_sequence,
                Counter::AckTimeouts => &mut self.ack_timeouts,
                _ => continue,
            };
            growth.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        self.judge_one(context, TransportSide::Receiver, now_ns, findings);
        self.judge_one(context, TransportSide::Sender, now_ns, findings);
        if self.hit.iter().any(|(rows, _)| !rows.is_empty()) {
            self.told.lasts(now_ns);
        }
        self.told.forget(now_ns);
    }
}

/// Faults that errors at this end look like.
fn faults(side: TransportSide) -> Vec<FaultKind> {
    match side {
        // Packets were lost upstream of the NIC that counts.
        TransportSide::Receiver => vec![FaultKind::Lossy],
        // A packet was lost on the way out, or its acknowledgement on the way back.
        TransportSide::Sender => vec![FaultKind::Lossy, FaultKind::Down],
    }
}

const fn advice(side: TransportSide) -> &'static str {
    match side {
        TransportSide::Receiver => "probe over single paths into the NIC, and read receive errors along them",
        TransportSide::Sender => {
            "probe in both directions over single paths: loss of packets and of acknowledgements look alike"
        }
    }
}

/// Flows by the NIC that counts for them.
fn flows_by_nic<'a>(context: &Context<'a>, side: TransportSide) -> BTreeMap<&'a str, Vec<&'a FlowInfo>> {
    let mut by_nic: BTreeMap<&str, Vec<&FlowInfo>> = BTreeMap::new();
    // What only probes take carries nothing that a NIC would count.
    for flow in context.directory.flows.iter().filter(|flow| !flow.is_probe()) {
        let nic = match side {
            TransportSide::Receiver => &flow.target_nic,
            TransportSide::Sender => &flow.source_nic,
        };
        by_nic.entry(nic).or_default().push(flow);
    }
    by_nic
}

/// All that the flows of a NIC cross, as far as it can make the counter grow.
///
/// What a NIC receives cannot be hurt by the other direction of its cables. Of what it sends the acknowledgements come
/// back over links that are not known, so besides links their cables stand for both directions.
fn crossed<'a>(
    context: &Context<'a>,
    side: TransportSide,
    nic: &'a str,
    flows: &[&'a FlowInfo],
) -> Vec<Crossing<'a>> {
    let mut all: Vec<Crossing<'a>> = flows.iter().flat_map(|flow| crossings(context, flow)).collect();
    if side == TransportSide::Receiver {
        all.retain(|crossing| !matches!(crossing, Crossing::Cable(_) | Crossing::Nic(_)));
    }
    all.push(match side {
        TransportSide::Receiver => Crossing::NicIn(nic),
        TransportSide::Sender => Crossing::NicOut(nic),
    });
    all.sort_unstable();
    all.dedup();
    all
}

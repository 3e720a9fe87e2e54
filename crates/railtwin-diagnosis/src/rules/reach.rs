//! The mesh of probes: who reaches whom, and what those that do not get through share (Meta RoCE section 6.3.2).
use railtwin_records::{Batch, Component, Counter, FaultKind, Finding, Suspect, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::explain::{Crossing, confidence, crossings, explain};
use crate::rules::limits::Limits;
use crate::rules::place::{counted, link_component, link_in, probed};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, component_of};

/// Rounds kept per path at most.
const KEPT: usize = 8;

/// Paths named in evidence at most.
const ROWS: usize = 8;

/// How a path fares.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Fare {
    /// Too few probes to say.
    #[default]
    Unknown,
    Good,
    Lossy,
    Dead,
}

/// The last rounds of one path.
#[derive(Clone, Copy, Default, Debug)]
struct Rounds {
    sent: [u32; KEPT],
    lost: [u32; KEPT],
    count: usize,
    fare: Fare,
    since_ns: u64,
}

/// Tells paths that lose probes, and what they have in common.
#[derive(Debug)]
pub struct Reachability {
    limits: Limits,
    paths: Vec<Rounds>,
    up: Gauge,
    changed: bool,
    told: Told,
}

impl Reachability {
    /// At the given limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, paths: Vec::new(), up: Gauge::default(), changed: false, told: Told::default() }
    }

    fn take(&mut self, context: &Context<'_>, flow: u32, time_ns: u64, sent: u32, lost: u32) {
        if flow as usize >= context.directory.flows.len() || sent == 0 {
            return;
        }
        if self.paths.len() < context.directory.flows.len() {
            self.paths.resize(context.directory.flows.len(), Rounds::default());
        }
        let rounds = self.limits.rounds.clamp(1, KEPT);
        let path = &mut self.paths[flow as usize];
        let row = path.count % rounds;
        (path.sent[row], path.lost[row]) = (sent, lost.min(sent));
        path.count += 1;
        let (sent, lost) = path.sums();
        // A path that died in the middle of what is kept is dead as soon as enough probes in a row are lost.
        let fare = if path.lost_in_a_row(rounds) >= self.limits.dead_probes {
            Fare::Dead
        } else if lost >= self.limits.lost_probes
            && f64::from(lost) > self.limits.loss_share * f64::from(sent)
        {
            Fare::Lossy
        } else if lost == 0 && sent >= self.limits.dead_probes {
            Fare::Good
        } else {
            Fare::Unknown
        };
        if fare != path.fare {
            (path.fare, path.since_ns) = (fare, time_ns);
            self.changed = true;
        }
    }

    fn tell(&mut self, context: &Context<'_>, fare: Fare, now_ns: u64, findings: &mut Vec<Finding>) {
        let rows = |wanted: Fare| {
            let paths = self.paths.iter().enumerate();
            paths.filter(move |(_, path)| path.fare == wanted).map(|(flow, _)| flow).collect::<Vec<usize>>()
        };
        let bad = rows(fare);
        if bad.is_empty() {
            return;
        }
        let crossed = |flow: &usize| crossings(context, &context.directory.flows[*flow]);
        let mut clear = rows(Fare::Good);
        if fare == Fare::Dead {
            // What loses some lets some through: it is not what kills others.
            clear.extend(rows(Fare::Lossy));
        } else {
            // A path that lost nothing clears what it crosses only where, at the share that the bad lose, losing
            // nothing would be unlikely: three lost were to be expected (one in twenty loses none by chance). The bad
            // are those that were unlucky among many, so that the least share that fits each of them counts.
            let shares = bad.iter().map(|&flow| self.paths[flow].least_share());
            let share = shares.fold(1.0, f64::min);
            clear.retain(|&flow| f64::from(self.paths[flow].sums().0) * share >= 3.0);
        }
        let groups: Vec<Vec<Crossing<'_>>> = bad.iter().map(crossed).collect();
        let good: Vec<Vec<Crossing<'_>>> = clear.iter().map(crossed).collect();
        for cause in explain(context, &groups, &good) {
            let flows: Vec<usize> = cause.covered.iter().map(|&row| bad[row]).collect();
            let mut evidence = Vec::new();
            for &flow in flows.iter().take(ROWS) {
                let info = &context.directory.flows[flow];
                let (sent, lost) = self.paths[flow].sums();
                let what = format!(
                    "share of {sent} probes lost from {} to {} over source port {}",
                    info.source_nic, info.target_nic, info.source_port
                );
                evidence.push(probed(what, f64::from(lost) / f64::from(sent.max(1)), 0.0, ""));
            }
            let mut finding = Finding {
                at_ns: now_ns,
                since_ns: flows.iter().map(|&flow| self.paths[flow].since_ns).min().unwrap_or(now_ns),
                syndrome: Syndrome::Unreachable,
                faults: vec![if fare == Fare::Dead { FaultKind::Down } else { FaultKind::Lossy }],
                confidence: confidence(&cause),
                severity: if fare == Fare::Dead { 1.0 } else { 0.0 },
                suspects: cause.suspects,
                evidence,
                advice: String::new(),
            };
            let black_hole =
                fare == Fare::Dead && self.says_up(context, &finding.suspects, &mut finding.evidence);
            finding.advice = match (black_hole, finding.suspects.len()) {
                (true, _) => {
                    "a black hole: the link says up and carries nothing; drain it, then see routes and ports"
                }
                (false, 0 | 1) => "",
                (false, _) => "probe over more source ports and pairs that cross only some of the suspects",
            }
            .to_owned();
            self.told.tell(fare as u64, finding, findings);
        }
    }

    /// Whether all ends of suspected links that are read say up, with rows that say so.
    fn says_up(
        &self,
        context: &Context<'_>,
        suspected: &[Suspect],
        evidence: &mut Vec<railtwin_records::Evidence>,
    ) -> bool {
        let mut up = None;
        for (entity, cell) in self.up.all() {
            let Some(info) = context.directory.entities.get(entity as usize) else { continue };
            let Some((fabric, link)) = info.link.and_then(|link| link_in(context, link)) else { continue };
            let named = [
                link_component(fabric, link),
                link_component(fabric, link.reverse()),
                Component::Cable(fabric.cable_name(link.cable())),
            ];
            if suspected.iter().any(|suspect| named.contains(&suspect.component)) {
                up = Some(up.unwrap_or(true) && cell.value != 0.0);
                let name = component_of(context.directory, entity).map_or("", Component::name);
                evidence.push(counted(format!("link of the port at {name} up"), cell.value, 1.0, ""));
            }
        }
        up == Some(true)
    }
}

impl Rounds {
    fn sums(&self) -> (u32, u32) {
        let sum = |values: &[u32]| values.iter().fold(0u32, |sum, &value| sum.saturating_add(value));
        (sum(&self.sent), sum(&self.lost))
    }

    /// The least share of losses at which so many lost probes are no rarer than one time in twenty: the lower bound of
    /// a Poisson mean, by Wilson and Hilferty's approximation of the quantile of chi-squared.
    fn least_share(&self) -> f64 {
        let (sent, lost) = self.sums();
        let count = f64::from(lost.max(1));
        let root = 1.0 - 1.0 / (9.0 * count) - 1.645 / (3.0 * count.sqrt());
        count * root.max(0.0).powi(3) / f64::from(sent.max(1))
    }

    /// Probes lost since one last came back.
    fn lost_in_a_row(&self, rounds: usize) -> u32 {
        let mut lost = 0u32;
        for back in 1..=rounds.min(self.count) {
            let row = (self.count - back) % rounds;
            if self.lost[row] < self.sent[row] {
                break;
            }
            lost = lost.saturating_add(self.lost[row]);
        }
        lost
    }
}

impl Detector for Reachability {
    fn name(&self) -> &'static str {
        "reachability"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::LinkUp) {
            self.up.read(rows.entity[row], rows.time_ns[row], rows.value[row]);
        }
        let rows = &batch.probes;
        for row in 0..rows.len() {
            self.take(context, rows.flow[row], rows.time_ns[row], rows.sent[row], rows.lost[row]);
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        if std::mem::take(&mut self.changed) {
            self.tell(context, Fare::Dead, now_ns, findings);
            self.tell(context, Fare::Lossy, now_ns, findings);
        } else if self.paths.iter().any(|path| matches!(path.fare, Fare::Lossy | Fare::Dead)) {
            self.told.lasts(now_ns);
        }
        self.told.forget(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_share_is_the_lower_bound_of_a_poisson_mean() {
        // Tables of the chi-squared distribution: half of its 5 % quantile with twice as many degrees of freedom.
        for (lost, bound) in [(1, 0.0513), (3, 0.818), (10, 5.43), (100, 84.1)] {
            let mut rounds = Rounds::default();
            (rounds.sent[0], rounds.lost[0]) = (1_000, lost);
            let least = rounds.least_share() * 1_000.0;
            assert!((least - bound).abs() < 0.02 * bound.max(1.0), "{lost}: {least}");
        }
    }
}

//! The mesh of probes: who reaches whom, and what those that do not get through share (Meta RoCE section 6.3.2).
use railtwin_records::seen::{CounterSeen, ProbeSeen};
use railtwin_records::{Batch, Component, Counter, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::detector::Detector;
use crate::rules::explain::{Crossing, confidence, crossings, explain};
use crate::rules::limits::Limits;
use crate::rules::place::{link_component, link_in};
use crate::rules::told::Told;
use crate::rules::track::{Gauge, component_of};

/// Rounds kept per path at most.
const KEPT: usize = 8;

/// Steps by which a share is halved in on: to a millionth of a millionth.
const HALVINGS: u32 = 40;

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
    /// When the rounds were sent.
    times_ns: [u64; KEPT],
    fare: Fare,
    /// From before the rounds in which nothing was lost to the first in which something was.
    since: Since,
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
        let before_ns = path.times_ns[row];
        if lost > 0 && path.sums().1 == 0 {
            path.since = Since::between(before_ns, time_ns);
        }
        path.times_ns[row] = time_ns;
        (path.sent[row], path.lost[row]) = (sent, lost.min(sent));
        path.count += 1;
        let newly_lost = lost;
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
        // What goes on losing gets surer, and may clear more.
        self.changed |= fare != path.fare || fare == Fare::Lossy && newly_lost > 0;
        path.fare = fare;
    }

    /// Share of probes that lossy paths lose in truth. They are those that lost enough to be called so, the unlucky among
    /// many: the likeliest share is that at which Poisson losses, cut off below what is enough, have the mean that was
    /// seen.
    fn share_of(&self, bad: &[usize]) -> f64 {
        let rows: Vec<(f64, u32, u32)> = bad
            .iter()
            .map(|&flow| {
                let (sent, lost) = self.paths[flow].sums();
                (
                    f64::from(sent),
                    lost,
                    self.limits.lost_probes.max((self.limits.loss_share * f64::from(sent)) as u32 + 1),
                )
            })
            .collect();
        let seen: f64 = rows.iter().map(|row| f64::from(row.1)).sum();
        let expected = |share: f64| rows.iter().map(|row| mean_from(share * row.0, row.2)).sum::<f64>();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if expected(middle) < seen { low = middle } else { high = middle }
        }
        low
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
            // nothing would be unlikely: three lost were to be expected (one in twenty loses none by chance).
            // Then few probes are enough, too, where the bad lose most of theirs.
            let share = self.share_of(&bad);
            let quiet = self.paths.iter().enumerate().filter(|(_, path)| path.fare == Fare::Unknown);
            clear.extend(quiet.filter(|(_, path)| path.sums().1 == 0).map(|(flow, _)| flow));
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
                let seen = ProbeSeen::Lost {
                    from: info.source_nic.clone(),
                    to: info.target_nic.clone(),
                    source_port: Some(info.source_port).filter(|port| *port > 0),
                    sent: u64::from(sent),
                };
                evidence.push(Evidence::new(seen, f64::from(lost) / f64::from(sent.max(1)), 0.0));
            }
            let mut finding = Finding {
                at_ns: now_ns,
                since: Since::earliest(flows.iter().map(|&flow| self.paths[flow].since), now_ns),
                syndrome: Syndrome::Unreachable,
                faults: vec![if fare == Fare::Dead { FaultKind::Down } else { FaultKind::Lossy }],
                confidence: confidence(&cause),
                severity: if fare == Fare::Dead { 1.0 } else { 0.0 },
                cost: None,
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
    fn says_up(&self, context: &Context<'_>, suspected: &[Suspect], evidence: &mut Vec<Evidence>) -> bool {
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
                evidence.push(Evidence::new(CounterSeen::LinkUp { port: name.to_owned() }, cell.value, 1.0));
            }
        }
        up == Some(true)
    }
}

/// Mean of a Poisson variable, given that it is `least` or more.
fn mean_from(mean: f64, least: u32) -> f64 {
    let from = f64::from(least);
    if mean > 3.0 * from + 30.0 {
        // What is cut off is less than the precision.
        return mean;
    }
    let (mut term, mut value, mut sum, mut weighted) = (1.0, from, 0.0, 0.0);
    while term > 1e-12 * sum || value < mean {
        sum += term;
        weighted += value * term;
        value += 1.0;
        term *= mean / value;
    }
    weighted / sum
}

impl Rounds {
    fn sums(&self) -> (u32, u32) {
        let sum = |values: &[u32]| values.iter().fold(0u32, |sum, &value| sum.saturating_add(value));
        (sum(&self.sent), sum(&self.lost))
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

    fn reached(rows: &[(u32, u32)]) -> Reachability {
        let mut reach = Reachability::new(Limits::default());
        reach.paths = rows
            .iter()
            .map(|&(sent, lost)| {
                let mut rounds = Rounds::default();
                (rounds.sent[0], rounds.lost[0]) = (sent, lost);
                rounds
            })
            .collect();
        reach
    }

    #[test]
    fn means_of_what_is_cut_off_below() {
        // From 3 on: 3 where hardly anything is lost, and the mean itself where nothing is cut off.
        assert!((mean_from(0.0, 3) - 3.0).abs() < 1e-9 && (mean_from(1e-6, 3) - 3.0).abs() < 1e-5);
        assert_eq!(mean_from(500.0, 3), 500.0);
        // By the definition, with the first three terms taken off.
        let mean = 2.0_f64;
        let below = (-mean).exp() * (1.0 + mean + mean * mean / 2.0);
        let cut = (-mean).exp() * (mean + mean * mean);
        assert!((mean_from(mean, 3) - (mean - cut) / (1.0 - below)).abs() < 1e-9);
    }

    #[test]
    fn the_share_of_unlucky_paths_is_less_than_they_lost() {
        assert!(reached(&[(100, 3)]).share_of(&[0]) < 1e-3, "three are the least to be called lossy");
        let many = reached(&[(100, 3), (100, 4), (100, 5), (500, 12)]).share_of(&[0, 1, 2, 3]);
        assert!((0.015..0.03).contains(&many), "{many}");
        let much = reached(&[(100, 30), (500, 150)]).share_of(&[0, 1]);
        assert!((much - 0.3).abs() < 1e-6, "{much}");
        assert!(reached(&[(100, 100)]).share_of(&[0]) > 0.999);
    }
}

//! Slow hosts and slow pairs from tests between all pairs of hosts, such as nccl-tests run pair by pair.
//!
//! Within one test the logarithm of a pair's bandwidth is taken as `common + host a + host b + pair`. Host effects come
//! from a median polish: each is the median over the host's pairs of what the other host leaves unexplained, gone
//! through until nothing changes. One slow pair cannot move them, and a slow host explains all of its pairs. A host or
//! a pair is named only where it lacks a tenth of the bandwidth: hosts of a healthy H100 cluster differ by up to 6 %
//! in single tests (cluster01 of nccl-tests-cluster).
mod cause;
pub mod delay;
mod signature;

use std::collections::BTreeMap;

use railtwin_records::seen::TestSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use crate::robust;
use crate::settings::Settings;
use cause::Cases;
use signature::{Beside, FALLING, signature};

/// One result: the bandwidth between two hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct PairTest {
    /// The kind of test: collective, GPUs per host.
    pub kind: String,
    /// Bytes; results are compared within one kind and size only.
    pub bytes: u64,
    /// Names of both hosts, that of the first rank first.
    pub hosts: [String; 2],
    /// Where in them the one GPU of each is that was tested, such as its PCI address; empty where there are several or none
    /// is told.
    pub slots: [String; 2],
    /// Bus bandwidth, in any unit that all share.
    pub bandwidth: f64,
}

/// Fewest pairs of a test among which a slow one can be told: three hosts give three pairs, of which none is usual.
const PAIRS_MIN: usize = 6;
/// Fewest pairs of a host from which its own part can be told from that of its partners.
const OF_HOST_MIN: usize = 3;
/// Rounds of the median polish; it settles within a few.
const ROUNDS: usize = 50;

/// One test taken apart.
#[derive(Debug)]
struct Parts<'a> {
    hosts: Vec<&'a str>,
    /// Logarithm of the host's part.
    effects: Vec<f64>,
    /// Rows of the two hosts and what they leave unexplained.
    pairs: Vec<([usize; 2], f64)>,
}

impl Parts<'_> {
    /// Gives what a host lacks back to its pairs, where no more than three quarters of them lack it: then these are slow, and
    /// not it. A median over few pairs, of which half are slow, is somewhere between; and a rail may be at one end of most
    /// pairs of a host.
    fn give_back(&mut self) {
        for host in 0..self.hosts.len() {
            let effect = self.effects[host];
            let own = || self.pairs.iter().filter(|(hosts, _)| hosts.contains(&host));
            let lack = own().filter(|(_, rest)| *rest < -effect / 2.0).count();
            if effect < (1.0 - PAIR_SHARE).ln() && 4 * lack <= 3 * own().count() {
                self.effects[host] = 0.0;
                let own = self.pairs.iter_mut().filter(|(hosts, _)| hosts.contains(&host));
                own.for_each(|(_, rest)| *rest += effect);
            }
        }
    }
}

/// A host or pair of a test between pairs is slow when it lacks this share of the usual bandwidth: hosts of a healthy H100
/// cluster lack up to 0.06 in single tests.
pub const PAIR_SHARE: f64 = 0.1;

/// Results of a pair from which a single slow one of them says nothing: one size of one test strays now and then.
const SEVERAL: usize = 4;
/// Confidence in what one result shows, and in what several do.
const ONE: f64 = 0.8;
const CONFIRMED: f64 = 0.95;

/// Slow hosts, rails, ports and pairs, the slowest first. What one test shows another may confirm, so each is told once,
/// with how it is slow and all tests as evidence.
///
/// Pairs are told as their host where all of its pairs lack the same (its part of the median polish), and as the host,
/// rail or port that has a part in so many of them that chance would not give it ([`mod@cause`]).
pub fn slow_pairs(tests: &[PairTest], settings: &Settings) -> Vec<Finding> {
    let mut classes: BTreeMap<(&str, u64), Vec<&PairTest>> = BTreeMap::new();
    for test in tests.iter().filter(|test| test.bandwidth > 0.0) {
        classes.entry((&test.kind, test.bytes)).or_default().push(test);
    }
    // What hosts lack, and what pairs lack beside their hosts.
    let mut hosts: BTreeMap<&str, Vec<Beside<'_>>> = BTreeMap::new();
    let mut pairs: BTreeMap<[&str; 2], Vec<Beside<'_>>> = BTreeMap::new();
    for ((kind, bytes), rows) in classes.into_iter().filter(|(_, rows)| rows.len() >= PAIRS_MIN) {
        let mut parts = take_apart(&rows);
        parts.give_back();
        let limit = (1.0 - PAIR_SHARE).ln();
        let beyond = |values: Vec<f64>| {
            let (center, deviation) = robust::spread(&mut values.clone()).unwrap_or((0.0, 0.0));
            center + limit.min(-settings.deviations * deviation)
        };
        let host_limit = beyond(parts.effects.clone());
        let pair_limit = beyond(parts.pairs.iter().map(|(_, rest)| *rest).collect());
        for (host, &effect) in parts.hosts.iter().zip(&parts.effects) {
            let of = parts.pairs.iter().filter(|(rows, _)| rows.iter().any(|&row| parts.hosts[row] == *host));
            if of.count() >= OF_HOST_MIN {
                let slow = effect < host_limit;
                // Its part is that of all its pairs, wherever they begin.
                let beside = Beside { kind, bytes, first: "", slots: ["", ""], share: effect.exp(), slow };
                hosts.entry(host).or_default().push(beside);
            }
        }
        for (([a, b], rest), test) in parts.pairs.iter().zip(&rows) {
            let [first, other] = test.slots.each_ref().map(String::as_str);
            let beside = Beside {
                kind,
                bytes,
                first: &test.hosts[0],
                slots: if a <= b { [first, other] } else { [other, first] },
                share: rest.exp(),
                slow: *rest < pair_limit,
            };
            pairs.entry([parts.hosts[*a.min(b)], parts.hosts[*a.max(b)]]).or_default().push(beside);
        }
    }
    let mut found: Vec<(f64, Finding)> =
        hosts.iter().filter_map(|(host, rows)| slow_host(host, rows)).collect();
    let known = found.len();
    let mut cases = Cases::of(&pairs);
    while let Some(cause) = cases.common() {
        let (worst, told) = cause.told();
        // A host of which all pairs lack the same may have some that lack more.
        match found[..known].iter_mut().find(|(_, one)| is_same(one, &told)) {
            Some((least, one)) => {
                *least = least.min(worst);
                one.severity = one.severity.max(told.severity);
                one.evidence.extend(told.evidence);
            }
            None => found.push((worst, told)),
        }
    }
    found.extend(cases.left().iter().map(|pair| slow_pair(*pair, &pairs[pair])));
    found.sort_by(|a, b| {
        a.0.total_cmp(&b.0).then_with(|| a.1.suspects[0].component.cmp(&b.1.suspects[0].component))
    });
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn is_same(finding: &Finding, other: &Finding) -> bool {
    finding.suspects.iter().any(|suspect| other.suspects.iter().any(|one| one.component == suspect.component))
}

/// Whether the results of a pair make it slow: any of a few, more than one of several.
fn is_slow<'a, 'b: 'a>(rows: impl Iterator<Item = &'a Beside<'b>>) -> bool {
    let (slow, all) = rows.fold((0, 0), |(slow, all), row| (slow + usize::from(row.slow), all + 1));
    slow > usize::from(all >= SEVERAL)
}

/// Median polish of one test.
///
/// A round lowers the sum of absolute rests host by host, so it may come to rest where only several hosts together
/// could lower it: what one slow host lacks is then taken for the others'. Which rest it finds hangs on where it
/// starts. It goes through from two starts, and the parts that leave less unexplained are told:
/// * each host at the median of its pairs: near the truth where fewer than half of the hosts are slow;
/// * all hosts alike: near the truth where hosts were tested with few others, who tell little about them alone.
fn take_apart<'a>(rows: &[&'a PairTest]) -> Parts<'a> {
    let mut hosts: Vec<&str> = rows.iter().flat_map(|test| test.hosts.iter().map(String::as_str)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let row = |name: &str| hosts.binary_search(&name).unwrap_or(0);
    let common = robust::median(&mut rows.iter().map(|test| test.bandwidth.ln()).collect::<Vec<_>>());
    let common = common.unwrap_or(0.0);
    let mut pairs: Vec<([usize; 2], f64)> = rows
        .iter()
        .map(|test| ([row(&test.hosts[0]), row(&test.hosts[1])], test.bandwidth.ln() - common))
        .collect();
    let mut values_of: Vec<Vec<(usize, f64)>> = vec![Vec::new(); hosts.len()];
    for &([a, b], value) in pairs.iter().filter(|([a, b], _)| a != b) {
        values_of[a].push((b, value));
        values_of[b].push((a, value));
    }
    let alike = vec![0.0; hosts.len()];
    let (own, own_shift) = polish(&values_of, medians(&values_of, &alike));
    let (shared, shared_shift) = polish(&values_of, alike);
    let unexplained = |effects: &[f64], shift: f64| -> f64 {
        pairs.iter().map(|([a, b], value)| (value - shift - effects[*a] - effects[*b]).abs()).sum()
    };
    let (effects, shift) = if unexplained(&shared, shared_shift) < unexplained(&own, own_shift) {
        (shared, shared_shift)
    } else {
        (own, own_shift)
    };
    for ([a, b], value) in &mut pairs {
        *value -= shift + effects[*a] + effects[*b];
    }
    Parts { hosts, effects, pairs }
}

/// Of each host, the median of what its partners leave unexplained.
fn medians(values_of: &[Vec<(usize, f64)>], effects: &[f64]) -> Vec<f64> {
    values_of.iter().map(|values| unexplained_median(values, effects, &mut Vec::new())).collect()
}

fn unexplained_median(values: &[(usize, f64)], effects: &[f64], room: &mut Vec<f64>) -> f64 {
    room.clear();
    room.extend(values.iter().map(|&(other, value)| value - effects[other]));
    robust::median(room).unwrap_or(0.0)
}

/// Host effects, whose median is 0, and what is common to all pairs besides, from a start.
fn polish(values_of: &[Vec<(usize, f64)>], mut effects: Vec<f64>) -> (Vec<f64>, f64) {
    let mut room = Vec::new();
    for _ in 0..ROUNDS {
        let mut moved = 0.0_f64;
        for host in 0..effects.len() {
            let effect = unexplained_median(&values_of[host], &effects, &mut room);
            moved = moved.max((effect - effects[host]).abs());
            effects[host] = effect;
        }
        if moved < 1e-12 {
            break;
        }
    }
    // What all hosts share belongs to none of them; each pair has it twice.
    let shift = robust::median(&mut effects.clone()).unwrap_or(0.0);
    effects.iter_mut().for_each(|effect| *effect -= shift);
    (effects, 2.0 * shift)
}

/// The finding of a host by its part in all of its pairs, and the logarithm of its least; none where that is never too little.
fn slow_host(host: &str, rows: &[Beside<'_>]) -> Option<(f64, Finding)> {
    let slow: Vec<&Beside<'_>> = rows.iter().filter(|row| row.slow).collect();
    let worst = slow.iter().map(|row| row.share.ln()).reduce(f64::min)?;
    let how = signature(rows, None, &[]);
    let all = TestSeen::AllPairs { slow: how.slow, tests: rows.len(), pattern: how.words };
    let mut evidence = vec![Evidence::new(all, how.share, 1.0)];
    evidence.extend(slow.iter().map(|row| {
        let seen = TestSeen::AllPairsAt { class: row.kind.to_owned(), bytes: row.bytes };
        Evidence::new(seen, row.share, 1.0)
    }));
    let confidence = if slow.len() > 1 { CONFIRMED } else { ONE };
    let advice = match how.advice {
        FALLING => FALLING,
        _ => "test the NICs of the host one by one to tell which of them it is",
    };
    Some((worst, finding(Component::Host(host.to_owned()), confidence, worst, evidence, advice)))
}

/// The finding of a pair that nothing else explains.
fn slow_pair(pair: [&str; 2], rows: &[Beside<'_>]) -> (f64, Finding) {
    let how = signature(rows, None, &[]);
    let all = TestSeen::PairResults { slow: how.slow, results: rows.len(), pattern: how.words };
    let mut evidence = vec![Evidence::new(all, how.share, 1.0)];
    evidence.extend(lines(&pair, rows.iter()));
    let worst = rows.iter().map(|row| row.share).fold(1.0, f64::min).max(f64::MIN_POSITIVE).ln();
    let confidence = if how.slow > 1 { CONFIRMED } else { ONE };
    let component = Component::Connection(format!("{} > {}", pair[0], pair[1]));
    (worst, finding(component, confidence, worst, evidence, how.advice))
}

fn lines<'a, 'b: 'a>(pair: &[&str; 2], rows: impl Iterator<Item = &'a Beside<'b>>) -> Vec<Evidence> {
    let one = |row: &Beside<'_>| {
        let hosts = pair.map(str::to_owned);
        let seen = TestSeen::PairAt { hosts, class: row.kind.to_owned(), bytes: row.bytes };
        Evidence::new(seen, row.share, 1.0)
    };
    rows.filter(|row| row.slow).map(one).collect()
}

fn finding(
    component: Component,
    confidence: f64,
    log: f64,
    evidence: Vec<Evidence>,
    advice: &str,
) -> Finding {
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome: Syndrome::CommunicationSlow,
        faults: vec![FaultKind::Slow, FaultKind::Lossy],
        suspects: vec![Suspect { component, share: confidence }],
        confidence,
        severity: 1.0 - log.exp(),
        cost: None,
        evidence,
        advice: advice.into(),
    }
}

#[cfg(test)]
mod tests;

//! Slow hosts and slow pairs from tests between all pairs of hosts, such as nccl-tests run pair by pair.
//!
//! Within one test the logarithm of a pair's bandwidth is taken as `common + host a + host b + pair`. Host effects come
//! from a median polish: each is the median over the host's pairs of what the other host leaves unexplained, gone
//! through until nothing changes. One slow pair cannot move them, and a slow host explains all of its pairs. A host or
//! a pair is named only where it lacks a tenth of the bandwidth: hosts of a healthy H100 cluster differ by up to 6 %
//! in single tests (cluster01 of nccl-tests-cluster).
use railtwin_records::{Component, Evidence, FaultKind, Finding, Suspect, Syndrome};

use crate::robust;
use crate::settings::Settings;

/// One result: the bandwidth between two hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct PairTest {
    /// The test: results are compared within it only (collective, GPUs per host, bytes).
    pub test: String,
    /// Names of both hosts.
    pub hosts: [String; 2],
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

/// A host or pair of a test between pairs is slow when it lacks this share of the usual bandwidth: hosts of a healthy H100
/// cluster lack up to 0.06 in single tests.
pub const PAIR_SHARE: f64 = 0.1;

/// Slow hosts and pairs, the slowest first; what one test shows another may confirm, so each is told once with all
/// tests as evidence. Pairs that explain a slow host are not told beside it.
pub fn slow_pairs(tests: &[PairTest], settings: &Settings) -> Vec<Finding> {
    let mut names: Vec<&str> = tests.iter().map(|test| test.test.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut found: Vec<(Component, Vec<Evidence>, f64)> = Vec::new();
    for name in names {
        let rows: Vec<&PairTest> = tests.iter().filter(|t| t.test == name && t.bandwidth > 0.0).collect();
        if rows.len() < PAIRS_MIN {
            continue;
        }
        let parts = take_apart(&rows);
        let limit = (1.0 - PAIR_SHARE).ln();
        let beyond = |values: Vec<f64>| {
            let (center, deviation) = robust::spread(&mut values.clone()).unwrap_or((0.0, 0.0));
            center + limit.min(-settings.deviations * deviation)
        };
        let host_limit = beyond(parts.effects.clone());
        let pair_limit = beyond(parts.pairs.iter().map(|(_, rest)| *rest).collect());
        let mut tell = |component: Component, what: String, log: f64| {
            let evidence = Evidence {
                table: "nccl-tests",
                what: format!("{what} in {name}, as a share of what is usual"),
                value: log.exp(),
                expected: 1.0,
                unit: "",
            };
            match found.iter_mut().find(|(known, ..)| *known == component) {
                Some((_, all, worst)) => {
                    all.push(evidence);
                    *worst = worst.min(log);
                }
                None => found.push((component, vec![evidence], log)),
            }
        };
        for (host, &effect) in parts.hosts.iter().zip(&parts.effects) {
            let pairs = parts.pairs.iter().filter(|(rows, _)| rows.iter().any(|&r| parts.hosts[r] == *host));
            if effect < host_limit && pairs.count() >= OF_HOST_MIN {
                tell(Component::Host((*host).to_owned()), "bandwidth of all its pairs".into(), effect);
            }
        }
        for ([a, b], rest) in &parts.pairs {
            if *rest < pair_limit {
                let pair = format!("{} > {}", parts.hosts[*a], parts.hosts[*b]);
                tell(Component::Connection(pair), "bandwidth between the two".into(), *rest);
            }
        }
    }
    found.sort_by(|a, b| a.2.total_cmp(&b.2).then_with(|| a.0.cmp(&b.0)));
    found.into_iter().map(finding).collect()
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

fn finding((component, evidence, log): (Component, Vec<Evidence>, f64)) -> Finding {
    let confidence = if evidence.len() > 1 { 0.95 } else { 0.8 };
    let advice = match component {
        Component::Host(_) => "test the NICs of the host one by one to tell which of them it is",
        _ => "test both hosts with others and over other source ports: what stays with a path is the path's",
    };
    Finding {
        at_ns: 0,
        since_ns: 0,
        syndrome: Syndrome::CommunicationSlow,
        faults: vec![FaultKind::Slow, FaultKind::Lossy],
        suspects: vec![Suspect { component, share: confidence }],
        confidence,
        severity: 1.0 - log.exp(),
        evidence,
        advice: advice.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All pairs of `hosts` hosts; `scale` gives the bandwidth of a pair as a share of 40.
    fn all_pairs(hosts: usize, scale: impl Fn(usize, usize) -> f64) -> Vec<PairTest> {
        let mut tests = Vec::new();
        for a in 0..hosts {
            for b in a + 1..hosts {
                let hosts = [a, b].map(|host| format!("host-{host:02}"));
                tests.push(PairTest { test: "all-reduce".into(), hosts, bandwidth: 40.0 * scale(a, b) });
            }
        }
        tests
    }

    fn named(tests: &[PairTest]) -> Vec<String> {
        let findings = slow_pairs(tests, &Settings::default());
        findings.iter().map(|finding| finding.suspects[0].component.name().to_owned()).collect()
    }

    #[test]
    fn a_slow_host_is_one_finding_and_a_slow_pair_is_no_host() {
        assert_eq!(named(&all_pairs(8, |_, _| 1.0)), Vec::<String>::new());
        assert_eq!(named(&all_pairs(8, |a, b| if a == 3 || b == 3 { 0.7 } else { 1.0 })), ["host-03"]);
        let pair = all_pairs(8, |a, b| if (a, b) == (2, 5) { 0.7 } else { 1.0 });
        assert_eq!(named(&pair), ["host-02 > host-05"]);
        let both = all_pairs(8, |a, b| {
            (if a == 3 || b == 3 { 0.7 } else { 1.0 }) * (if (a, b) == (2, 5) { 0.5 } else { 1.0 })
        });
        assert_eq!(named(&both), ["host-02 > host-05", "host-03"]);
    }

    #[test]
    fn a_slow_host_is_found_where_hosts_alike_lead_a_polish_astray() {
        // Started with all hosts alike, four hosts come to share what one of them lacks, and six pairs seem slow.
        let noise = [
            ((0, 3), -0.01419868101636878),
            ((0, 6), 0.014736312884120998),
            ((0, 7), 0.017551023856251135),
            ((1, 4), -0.01461736317862597),
            ((1, 5), -0.019418710579206393),
            ((2, 4), -0.013038764531953257),
            ((2, 5), -0.014738907641142782),
            ((2, 6), 0.004043185215037161),
            ((3, 5), -0.003099880086781374),
            ((3, 6), 0.01031030613560135),
            ((4, 7), 0.003624770438696806),
            ((5, 7), 0.018419396218882875),
            ((6, 7), 0.013202854762344049),
        ];
        let tests = all_pairs(8, |a, b| {
            let noise = noise.iter().find(|(pair, _)| *pair == (a, b)).map_or(0.0, |(_, noise)| *noise);
            1e-3 * (1.0 + noise) * if a == 4 || b == 4 { 0.7 } else { 1.0 }
        });
        assert_eq!(named(&tests), ["host-04"]);
    }

    #[test]
    fn too_few_pairs_name_nobody() {
        assert_eq!(named(&all_pairs(3, |a, _| if a == 0 { 0.5 } else { 1.0 })), Vec::<String>::new());
    }

    proptest! {
        #[test]
        fn noise_below_the_limit_names_nobody(noise in proptest::collection::vec(-0.02..0.02_f64, 64)) {
            let tests = all_pairs(8, |a, b| 1.0 + noise[8 * a + b]);
            prop_assert_eq!(named(&tests), Vec::<String>::new());
        }

        #[test]
        fn slow_hosts_fewer_than_half_are_all_found(
            noise in proptest::collection::vec(-0.02..0.02_f64, 100), slow in proptest::collection::btree_set(0..10_usize, 1..4),
        ) {
            let tests = all_pairs(10, |a, b| {
                let share = |host| if slow.contains(&host) { 0.7 } else { 1.0 };
                (1.0 + noise[10 * a + b]) * share(a) * share(b)
            });
            let mut named = named(&tests);
            named.sort_unstable();
            prop_assert_eq!(named, slow.iter().map(|host| format!("host-{host:02}")).collect::<Vec<_>>());
        }

        #[test]
        fn a_slow_host_is_found_through_noise_whatever_the_unit(
            noise in proptest::collection::vec(-0.02..0.02_f64, 64), slow in 0..8_usize, unit in 1e-3..1e9_f64,
        ) {
            let tests = all_pairs(8, |a, b| unit * (1.0 + noise[8 * a + b]) * if a == slow || b == slow { 0.7 } else { 1.0 });
            prop_assert_eq!(named(&tests), [format!("host-{slow:02}")]);
        }
    }
}

//! Hosts and pairs whose messages take longer than those of others, from delays between all pairs of hosts.
//!
//! Delays differ in a fabric that is well: a pair within a rack takes less than one across tiers. Two things tell a fault
//! from a place:
//!
//! * A *pair* is slow where both of its hosts reach others fast. Distances over the tiers of a tree are ultrametric: the
//!   way from a to b is never longer than the longer one of a to c and c to b, so what is far longer than the second
//!   shortest of these is no place in a tree.
//! * A *host* is slow where it takes longer to most hosts than others take to the same hosts, and where even its fastest
//!   pair is slower than the fast quarter of the others: hosts of a small rack are near each other.
use std::collections::BTreeMap;

use railtwin_records::seen::{ProbeSeen, Usual};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use super::{OF_HOST_MIN, PAIRS_MIN};
use crate::robust;
use crate::settings::Settings;

/// One delay between two hosts.
#[derive(Clone, PartialEq, Debug)]
pub struct PairDelay {
    /// The kind of measurement; delays are compared within one kind and size only.
    pub kind: String,
    /// Bytes of a message.
    pub bytes: u64,
    /// Names of both hosts, the sending one first.
    pub hosts: [String; 2],
    /// Seconds, or any unit that all share.
    pub delay: f64,
    /// How many messages stand behind it.
    pub samples: u32,
}

/// From how many times what is usual on something is slow, and what is said beside it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayLimits {
    /// Times the usual delay from which a host is slow.
    pub host: f64,
    /// Times the longest way round from which a pair is slow.
    pub pair: f64,
    /// Whether delays are those of a baseline: then no place in the fabric makes them differ.
    pub relative: bool,
}

/// Delays of one day: one tier more of a fabric adds up to about as much again, a slow host or pair more than that.
pub const OF_ONE_DAY: DelayLimits = DelayLimits { host: 2.5, pair: 2.0, relative: false };
/// Delays over those of a baseline.
pub const OVER_BASELINE: DelayLimits = DelayLimits { host: 1.3, pair: 1.3, relative: true };

/// Times the fast quarter of the pairs of others that the fastest pair of a slow host takes at least.
const FASTEST: f64 = 1.5;
/// Times from which a slow host is far beyond any place.
const FAR: f64 = 3.0;
/// Messages from which a delay is more than chance.
const SAMPLES: u32 = 5;
/// Hosts that must be the way round of a pair, at least.
const ROUND: usize = 3;

/// Slow hosts and slow pairs, the slowest first.
pub fn slow_delays(delays: &[PairDelay], limits: DelayLimits, settings: &Settings) -> Vec<Finding> {
    let mut classes: BTreeMap<(&str, u64), Vec<&PairDelay>> = BTreeMap::new();
    for delay in delays.iter().filter(|delay| delay.delay > 0.0 && delay.hosts[0] != delay.hosts[1]) {
        classes.entry((&delay.kind, delay.bytes)).or_default().push(delay);
    }
    // Worst times over all classes, with their evidence.
    let mut found: BTreeMap<Component, Found> = BTreeMap::new();
    for ((kind, bytes), rows) in classes.into_iter().filter(|(_, rows)| rows.len() >= PAIRS_MIN) {
        let class = if bytes == 0 { kind.to_owned() } else { format!("{kind}, {bytes} bytes") };
        let hosts = slow_hosts(&rows, limits, settings);
        for (host, times, pairs) in &hosts {
            let seen = ProbeSeen::HostDelay {
                host: (*host).to_owned(),
                pairs: *pairs,
                class: class.clone(),
                usual: Usual::Peers,
            };
            let sure = if limits.relative || *times >= FAR { 0.8 } else { 0.6 };
            found.entry(Component::Host((*host).to_owned())).or_default().take(*times, sure, seen);
        }
        let left =
            |row: &&&PairDelay| !hosts.iter().any(|(host, ..)| row.hosts.iter().any(|one| one == host));
        let left: Vec<&PairDelay> = rows.iter().filter(left).copied().collect();
        for (row, times) in slow_pairs(&left, limits, settings) {
            let back =
                rows.iter().any(|other| other.hosts[0] == row.hosts[1] && other.hosts[1] == row.hosts[0]);
            let [from, to] = &row.hosts;
            let seen = ProbeSeen::PairDelay {
                from: from.clone(),
                to: to.clone(),
                class: class.clone(),
                one_way: back,
            };
            let sure = if row.samples >= SAMPLES { 0.7 } else { 0.4 };
            found.entry(Component::Connection(format!("{from} > {to}"))).or_default().take(times, sure, seen);
        }
    }
    let mut findings: Vec<(f64, Finding)> =
        found.into_iter().map(|(component, found)| (found.times, found.finding(component, limits))).collect();
    findings.sort_by(|a, b| b.0.total_cmp(&a.0));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// What was found of one component.
#[derive(Default)]
struct Found {
    times: f64,
    sure: f64,
    evidence: Vec<Evidence>,
}

impl Found {
    fn take(&mut self, times: f64, sure: f64, seen: ProbeSeen) {
        self.times = self.times.max(times);
        // A second class confirms the first.
        self.sure = if self.evidence.is_empty() { sure } else { 1.0 - (1.0 - self.sure.max(sure)) / 2.0 };
        self.evidence.push(Evidence::new(seen, times, 1.0));
    }

    fn finding(self, component: Component, limits: DelayLimits) -> Finding {
        let advice = match (&component, limits.relative) {
            (Component::Host(_), false) => {
                "the host, its NIC or cable, or its place: a host alone in another rack or site has longer ways, too; \
                 --baseline with probes of a good day tells"
            }
            (Component::Host(_), true) => "look at counters of its NIC, its power saving and its load",
            _ => "look at routes and queues between the two: others reach both of them sooner",
        };
        Finding {
            at_ns: 0,
            since: Since::default(),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::Latency, FaultKind::Slow],
            suspects: vec![Suspect { component, share: self.sure }],
            confidence: self.sure,
            severity: 1.0 - 1.0 / self.times.max(1.0),
            cost: None,
            evidence: self.evidence,
            advice: advice.into(),
        }
    }
}

/// Hosts with the times that theirs take, and their ways.
fn slow_hosts<'a>(
    rows: &[&'a PairDelay],
    limits: DelayLimits,
    settings: &Settings,
) -> Vec<(&'a str, f64, usize)> {
    // The shorter of both directions is what a place makes. By host, what each other host takes to it.
    let mut ways: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for row in rows {
        let [from, to] = row.hosts.each_ref().map(String::as_str);
        for (a, b) in [(from, to), (to, from)] {
            let held = ways.entry(a).or_default().entry(b).or_insert(f64::INFINITY);
            *held = held.min(row.delay);
        }
    }
    // What a host takes to each other one, over what the others take to that one: median.
    let times_of = |host: &str, own: &BTreeMap<&str, f64>| {
        let over = own.iter().filter_map(|(other, delay)| {
            let others = ways.get(other)?.iter().filter(|(name, _)| **name != host);
            Some(delay / robust::median(&mut others.map(|(_, delay)| *delay).collect::<Vec<_>>())?)
        });
        robust::median(&mut over.collect::<Vec<_>>()).unwrap_or(1.0)
    };
    let times: Vec<(&str, f64)> = ways.iter().map(|(host, own)| (*host, times_of(host, own))).collect();
    let mut logs: Vec<f64> = times.iter().map(|(_, times)| times.ln()).collect();
    let (center, deviation) = robust::spread(&mut logs).unwrap_or((0.0, 0.0));
    // Where ways are of two lengths the spread is theirs, and what is far is far all the same.
    let most = limits.host.max(if limits.relative { 2.0 } else { FAR });
    let least = (center + settings.deviations * deviation).exp().clamp(limits.host, most);
    let mut slow = Vec::new();
    for (name, times) in times.iter().filter(|(_, times)| *times >= least) {
        let Some(host) = rows.iter().flat_map(|row| &row.hosts).find(|host| host == name) else { continue };
        let own: Vec<f64> = rows.iter().filter(|row| row.hosts.contains(host)).map(|row| row.delay).collect();
        let mut others: Vec<f64> =
            rows.iter().filter(|row| !row.hosts.contains(host)).map(|row| row.delay).collect();
        others.sort_by(f64::total_cmp);
        let partners: std::collections::BTreeSet<&String> = (rows.iter())
            .filter(|row| row.hosts.contains(host))
            .flat_map(|row| &row.hosts)
            .filter(|other| *other != host)
            .collect();
        let fastest = own.iter().copied().fold(f64::INFINITY, f64::min);
        let Some(&quarter) = others.get(others.len() / 4) else { continue };
        if partners.len() >= OF_HOST_MIN && fastest >= FASTEST.min(limits.host) * quarter {
            slow.push((host.as_str(), *times, own.len()));
        }
    }
    // What most hosts share is no fault of each.
    if 2 * slow.len() > ways.len() { Vec::new() } else { slow }
}

/// Rows that take longer than the ways round, with how many times as long.
fn slow_pairs<'a>(
    rows: &[&'a PairDelay],
    limits: DelayLimits,
    settings: &Settings,
) -> Vec<(&'a PairDelay, f64)> {
    // The shorter of both directions is what a place makes.
    let mut between: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let mut near: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        let [from, to] = row.hosts.each_ref().map(String::as_str);
        for (a, b) in [(from, to), (to, from)] {
            let held = between.entry((a, b)).or_insert_with(|| {
                near.entry(a).or_default().push(b);
                f64::INFINITY
            });
            *held = held.min(row.delay);
        }
    }
    let mut times: Vec<(&PairDelay, f64)> = Vec::new();
    for &row in rows {
        let [from, to] = row.hosts.each_ref().map(String::as_str);
        let round = near.get(from).into_iter().flatten().filter(|other| **other != to);
        let mut round: Vec<f64> = round
            .filter_map(|other| Some(between.get(&(from, *other))?.max(*between.get(&(*other, to))?)))
            .collect();
        round.sort_by(f64::total_cmp);
        // No way round is shorter in a tree; the second shortest bears one that strays.
        if let Some(second) = round.get(1).filter(|_| round.len() >= ROUND) {
            times.push((row, row.delay / second));
        }
    }
    let (center, deviation) =
        robust::spread(&mut times.iter().map(|(_, times)| times.ln()).collect::<Vec<_>>())
            .unwrap_or_default();
    let least = (center + settings.deviations * deviation).exp().max(limits.pair);
    let all = times.len();
    times.retain(|(_, times)| *times >= least);
    // So many that they are what is usual.
    if 4 * times.len() > all { Vec::new() } else { times }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Delays of both directions between hosts of racks of the given sizes: 2 us within one, 5 us across.
    fn racks(sizes: &[usize], noise: impl Fn(usize) -> f64) -> Vec<PairDelay> {
        let rack: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(rack, &size)| std::iter::repeat_n(rack, size)).collect();
        let mut delays = Vec::new();
        for a in 0..rack.len() {
            for b in (0..rack.len()).filter(|b| *b != a) {
                let near = rack[a] == rack[b];
                delays.push(PairDelay {
                    kind: "delay".into(),
                    bytes: 0,
                    hosts: [a, b].map(|host| format!("h{host:02}")),
                    delay: if near { 2e-6 } else { 5e-6 } * noise(delays.len()),
                    samples: 10,
                });
            }
        }
        delays
    }

    fn named(delays: &[PairDelay]) -> Vec<String> {
        let found = slow_delays(delays, OF_ONE_DAY, &Settings::default());
        let accusing = found.iter().filter(|finding| finding.accuses());
        accusing.map(|finding| finding.suspects[0].component.name().to_owned()).collect()
    }

    fn mixed(seed: usize, row: usize) -> f64 {
        let mixed = (seed * 10_007 + row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40;
        1.0 + 0.2 * (mixed % 1000) as f64 / 1000.0
    }

    #[test]
    fn a_host_a_pair_and_a_direction_are_told() {
        let mut delays = racks(&[8], |_| 1.0);
        delays.iter_mut().filter(|row| row.hosts.contains(&"h03".into())).for_each(|row| row.delay *= 4.0);
        assert_eq!(named(&delays), ["h03"]);
        let mut delays = racks(&[4, 4], |_| 1.0);
        delays[9].delay *= 4.0;
        let way = format!("{} > {}", delays[9].hosts[0], delays[9].hosts[1]);
        assert_eq!(named(&delays), [way]);
    }

    proptest! {
        #[test]
        fn places_in_a_tree_are_no_faults(
            sizes in proptest::collection::vec(2..8_usize, 1..5), seed in 0..10_000_usize,
        ) {
            let delays = racks(&sizes, |row| mixed(seed, row));
            prop_assert_eq!(named(&delays), Vec::<String>::new(), "{:?}", sizes);
        }

        #[test]
        fn a_slow_host_is_named_wherever_it_stands(
            sizes in proptest::collection::vec(3..8_usize, 1..4), seed in 0..10_000_usize, bad: proptest::sample::Index,
        ) {
            prop_assume!(sizes.iter().sum::<usize>() >= 6);
            let mut delays = racks(&sizes, |row| mixed(seed, row));
            let host = format!("h{:02}", bad.index(sizes.iter().sum()));
            delays.iter_mut().filter(|row| row.hosts.contains(&host)).for_each(|row| row.delay *= 6.0);
            prop_assert_eq!(named(&delays), vec![host], "{:?}", sizes);
        }
    }
}

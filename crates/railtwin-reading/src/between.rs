//! What measurements between hosts say, of perftest and of tables of probes: slow hosts and pairs, and tests that failed.
use std::collections::BTreeMap;

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::pairs::delay::{OF_ONE_DAY, OVER_BASELINE, PairDelay, slow_delays};
use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::{NcclTest, NcclTestDevice, NcclTestEnd, NcclTestFailure, PairProbe};
use railtwin_records::seen::{ProbeSeen, Usual};
use railtwin_records::{Component, Evidence, Finding, Seen, Suspect, Syndrome};

use super::failed_tests::of_failed_tests;
use super::judges::Judgement;
use super::pair_tests::{OneWay, of_one_way};
use super::rows::Rows;

/// Share by which all ways together are worse than their baseline before it is told.
const ALL: f64 = 0.1;

/// A way between two hosts and what was measured of it: kind, bytes, names of both ends.
type Way = (String, u64, [String; 2]);

/// What was measured of one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Measured {
    table: &'static str,
    hosts: [String; 2],
    nics: [String; 2],
    values: Vec<f64>,
    samples: u32,
}

/// Delays in seconds and bandwidths in bits per second, by way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ways {
    delays: BTreeMap<Way, Measured>,
    bandwidths: BTreeMap<Way, Measured>,
}

impl Ways {
    /// All that was measured between hosts.
    pub fn of(pairs: &[PairProbe]) -> Self {
        let mut ways = Self::default();
        for pair in pairs {
            let names = pair.ends.each_ref().map(|end| end.name());
            let way = (pair.kind.clone(), pair.bytes, names);
            let (list, value) = match (pair.delay_ns, pair.bits_per_s) {
                (0, rate) if rate > 0.0 => (&mut ways.bandwidths, rate),
                (0, _) => continue,
                (delay, _) => (&mut ways.delays, delay as f64 / 1e9),
            };
            let held = list.entry(way).or_default();
            held.table = pair.table;
            held.hosts = pair.ends.each_ref().map(|end| end.host.clone());
            held.nics = pair.ends.each_ref().map(|end| end.nic.clone());
            held.values.push(value);
            held.samples = held.samples.saturating_add(pair.sent.saturating_sub(pair.lost).max(1));
        }
        ways
    }

    /// Whether nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.delays.is_empty() && self.bandwidths.is_empty()
    }

    /// How many ways were measured.
    pub fn len(&self) -> usize {
        self.delays.len() + self.bandwidths.len()
    }

    /// How many of its ways another record has, too.
    pub fn shared(&self, other: &Self) -> usize {
        let of = |own: &BTreeMap<Way, Measured>, other: &BTreeMap<Way, Measured>| {
            own.keys().filter(|way| other.contains_key(*way)).count()
        };
        of(&self.delays, &other.delays) + of(&self.bandwidths, &other.bandwidths)
    }
}

fn middle(values: &[f64]) -> Option<f64> {
    robust::median(&mut values.to_vec()).filter(|value| *value > 0.0)
}

fn delays_of(ways: &BTreeMap<Way, Measured>, scale: impl Fn(&Way) -> Option<f64>) -> Vec<PairDelay> {
    let one = |(way, measured): (&Way, &Measured)| {
        let delay = middle(&measured.values)? / scale(way)?;
        let (kind, bytes) = (way.0.clone(), way.1);
        Some(PairDelay { kind, bytes, hosts: measured.hosts.clone(), delay, samples: measured.samples })
    };
    ways.iter().filter_map(one).collect()
}

fn tests_of(ways: &BTreeMap<Way, Measured>, scale: impl Fn(&Way) -> Option<f64>) -> Vec<OneWay> {
    let mut tests: BTreeMap<(&str, &[String; 2]), OneWay> = BTreeMap::new();
    for (way, measured) in ways {
        let Some(bandwidth) = middle(&measured.values).zip(scale(way)).map(|(value, usual)| value / usual)
        else {
            continue;
        };
        let (hosts, nics) = (measured.hosts.clone(), measured.nics.clone());
        let new = || OneWay { kind: way.0.clone(), hosts, nics, sizes: Vec::new() };
        tests.entry((&way.0, &way.2)).or_insert_with(new).sizes.push((way.1, bandwidth));
    }
    tests.into_values().collect()
}

/// Bandwidths of all ways and sizes.
fn bandwidths_of(tests: &[OneWay]) -> Vec<f64> {
    tests.iter().flat_map(|test| test.sizes.iter().map(|size| size.1)).collect()
}

/// Findings of measurements between hosts, what a reader should know, and how many tests failed. Beside a `baseline`, each
/// way is compared with itself, and the others with each other.
pub(super) fn judge(rows: &Rows<'_>) -> Judgement {
    let (findings, notes, failed_tests) = of_pairs(&rows.merged.pairs, rows.ways.as_ref(), &rows.settings);
    Judgement { findings, notes, failed_tests }
}

/// Findings, notes and the number of tests that failed.
pub fn of_pairs(
    pairs: &[PairProbe],
    baseline: Option<&Ways>,
    settings: &Settings,
) -> (Vec<Finding>, Vec<String>, usize) {
    let ways = Ways::of(pairs);
    let (mut findings, mut notes, failed) = failures(pairs);
    let table = |list: &BTreeMap<Way, Measured>| list.values().next().map_or("probes", |one| one.table);
    let always = |_: &Way| Some(1.0);
    let mut of_bandwidths = of_one_way(&tests_of(&ways.bandwidths, always));
    renamed(&mut of_bandwidths, table(&ways.bandwidths));
    findings.extend(of_bandwidths);
    let mut of_delays = slow_delays(&delays_of(&ways.delays, always), OF_ONE_DAY, settings);
    renamed(&mut of_delays, table(&ways.delays));
    if let Some(baseline) = baseline {
        let before = |list: &BTreeMap<Way, Measured>, way: &Way| middle(&list.get(way)?.values);
        let ratios = delays_of(&ways.delays, |way| before(&baseline.delays, way));
        let mut over = slow_delays(&ratios, OVER_BASELINE, settings);
        renamed(&mut over, "baseline");
        // What has a baseline is judged by it alone: its place in the fabric is in it.
        if !ratios.is_empty() {
            of_delays.retain(|finding| !is_known(finding, &ratios));
        }
        of_delays.extend(over);
        let shares = tests_of(&ways.bandwidths, |way| before(&baseline.bandwidths, way));
        let mut less = of_one_way(&shares);
        renamed(&mut less, "baseline");
        less.retain(|finding| !findings.iter().any(|known| same(known, finding)));
        findings.extend(less);
        let of_all = |values: Vec<f64>| middle(&values);
        let longer = of_all(ratios.iter().map(|row| row.delay).collect());
        let lower = of_all(bandwidths_of(&shares));
        notes.extend(longer.filter(|times| *times > 1.0 + ALL).map(|times| {
            format!(
                "all {} delays together are {times:.2} times those of the baseline: load, or another place",
                ratios.len()
            )
        }));
        notes.extend(lower.filter(|share| *share < 1.0 - ALL).map(|share| {
            format!(
                "all {} bandwidths together are {share:.2} of those of the baseline",
                bandwidths_of(&shares).len()
            )
        }));
    }
    findings.extend(of_delays);
    if !ways.is_empty() {
        notes.push(format!(
            "{} delays and {} bandwidths of ways between hosts are compared with each other",
            ways.delays.len(),
            ways.bandwidths.len()
        ));
    }
    (findings, notes, failed)
}

/// Whether all that a finding names was in a baseline.
fn is_known(finding: &Finding, ratios: &[PairDelay]) -> bool {
    let named = |component: &Component| match component {
        Component::Host(host) => ratios.iter().any(|row| row.hosts.contains(host)),
        Component::Connection(way) => {
            ratios.iter().any(|row| *way == format!("{} > {}", row.hosts[0], row.hosts[1]))
        }
        _ => false,
    };
    finding.suspects.iter().all(|suspect| named(&suspect.component))
}

fn same(a: &Finding, b: &Finding) -> bool {
    let names = |finding: &Finding| -> Vec<Component> {
        finding.suspects.iter().map(|suspect| suspect.component.clone()).collect()
    };
    names(a) == names(b)
}

/// Says in evidence where it was read.
fn renamed(findings: &mut [Finding], table: &'static str) {
    for line in findings.iter_mut().flat_map(|finding| &mut finding.evidence) {
        line.table = table;
        if let (true, Seen::Probe(seen)) = (table == "baseline", &mut line.seen) {
            seen.set_usual(Usual::Baseline);
        }
    }
}

/// Tests that failed, counted by host as those of nccl-tests are.
fn failures(pairs: &[PairProbe]) -> (Vec<Finding>, Vec<String>, usize) {
    let mut logs: BTreeMap<[&str; 2], Vec<NcclTest>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.table == "perftest") {
        let hosts = pair.ends.each_ref().map(|end| end.host.as_str());
        let device = |host: &str| NcclTestDevice { host: host.to_owned(), ..NcclTestDevice::default() };
        let failure = (!pair.failure.is_empty()).then(|| NcclTestFailure {
            end: if pair.is_cut_off { NcclTestEnd::CutOff } else { NcclTestEnd::Died },
            line: pair.failure.clone(),
            number: 0,
            host: None,
            own: false,
            others: Vec::new(),
            after_bytes: None,
        });
        logs.entry(hosts).or_default().push(NcclTest {
            name: pair.kind.clone(),
            devices: hosts.map(device).to_vec(),
            failure,
            ..NcclTest::default()
        });
    }
    let files: Vec<(String, Vec<NcclTest>)> =
        logs.into_iter().map(|(hosts, tests)| (format!("{} and {}", hosts[0], hosts[1]), tests)).collect();
    let (mut findings, notes, failed) = of_failed_tests("perftest", &files);
    for finding in &mut findings {
        finding.evidence.iter_mut().for_each(|line| line.table = "perftest");
    }
    (findings, notes, failed)
}

/// Says of ways that lose probes what the other direction does: one that is lost alone is no cable and no host.
pub fn tell_other_direction(findings: &mut [Finding], pairs: &[PairProbe]) {
    let mut counts: BTreeMap<[String; 2], (u64, u64)> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.sent > 0) {
        let count = counts.entry(pair.ends.each_ref().map(|end| end.name())).or_default();
        count.0 += u64::from(pair.sent);
        count.1 += u64::from(pair.lost);
    }
    for finding in findings.iter_mut().filter(|finding| finding.syndrome == Syndrome::Unreachable) {
        let [Suspect { component: Component::Connection(way), .. }] = &finding.suspects[..] else { continue };
        let Some((from, to)) = way.split_once(" > ") else { continue };
        let Some(&(sent, lost)) = counts.get(&[to.to_owned(), from.to_owned()]) else { continue };
        if lost > 0 || sent == 0 {
            continue;
        }
        let seen = ProbeSeen::LostOtherWay { from: to.to_owned(), to: from.to_owned(), sent };
        finding.evidence.push(Evidence::new(seen, 0.0, 0.0));
        finding.advice = format!(
            "only the direction from {from} to {to} is lost: look at routes, filters and addresses on it, and at the \
             link that only it takes"
        );
    }
}

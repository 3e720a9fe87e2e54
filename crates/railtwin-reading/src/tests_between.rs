//! What nccl-tests say: hosts and pairs with less bandwidth than their peers, and wrong results.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::pairs::PAIR_SHARE;
use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::{NcclTest, NcclTestResult};
use railtwin_records::seen::TestSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};
use railtwin_scaling::{WholeRun, judge, series};

/// Hosts of a test within one host among which a slow one can be told.
const HOSTS_MIN: usize = 4;

/// Most hosts that a finding names.
const HOSTS_NAMED: usize = 8;
/// Confidence in what one test shows, as of one slow result.
const ONE: f64 = 0.8;
/// What tells hosts of wrong tests from each other.
const EACH_ALONE: &str = "a job on these hosts computes wrong numbers, and nothing tells which of them it is: test each host by \
                          itself, and with hosts that are right";

/// One bandwidth of some hosts in a class of tests.
struct Measured<'a> {
    /// Collective and GPUs of a host.
    test: String,
    /// The same with the size: results are compared within it.
    class: String,
    bytes: u64,
    hosts: Vec<&'a str>,
    bandwidth: f64,
}

/// Findings of all tests, and what could not be compared with anything.
pub fn of_nccl_tests(files: &[(String, Vec<NcclTest>)], settings: &Settings) -> (Vec<Finding>, Vec<String>) {
    let tests = files.iter().flat_map(|(_, tests)| tests);
    let measured: Vec<Measured<'_>> = tests.clone().flat_map(measured).collect();
    let mut findings = wrong_results(files);
    findings.extend(slow_hosts(measured.iter().filter(|row| row.hosts.len() == 1), settings));
    let mut notes = Vec::new();
    let pairs = measured.iter().filter(|row| row.hosts.len() == 2);
    let names: BTreeSet<&str> = pairs.clone().flat_map(|row| row.hosts.iter().copied()).collect();
    if !names.is_empty() {
        let alone =
            BTreeSet::from_iter(measured.iter().filter(|row| row.hosts.len() == 1).map(|row| row.hosts[0]));
        notes.push(format!(
            "nccl-tests: {} results between pairs of {} hosts, results within {} single hosts",
            pairs.count(),
            names.len(),
            alone.len()
        ));
    }
    let slow = judge(&series(files), &[]).into_iter().filter(WholeRun::is_slow);
    notes.extend(slow.map(|run| format!("nccl-tests: {}", run.sentence())));
    let nameless = files.iter().flat_map(|(_, tests)| tests).filter(|test| test.devices.is_empty()).count();
    if nameless > 0 {
        notes.push(format!("{nameless} tests name no hosts and are not compared"));
    }
    (findings, notes)
}

fn hosts_of(test: &NcclTest) -> Vec<&str> {
    let hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
    hosts.into_iter().collect()
}

/// The class of a test: tests of one class are compared.
pub(super) fn class_of(test: &NcclTest) -> String {
    let name = if test.name.is_empty() { "a test" } else { &test.name };
    format!("{name}, {} GPUs a host", test.devices.len() / hosts_of(test).len().max(1))
}

fn measured(test: &NcclTest) -> Vec<Measured<'_>> {
    let hosts = hosts_of(test);
    if hosts.is_empty() {
        return Vec::new();
    }
    let of_class = class_of(test);
    let row = |result: &NcclTestResult| {
        let measure = result.out_of_place.as_ref().or(result.in_place.as_ref())?;
        let test = of_class.clone();
        let class = format!("{test}, {} bytes", result.bytes);
        let (bytes, bandwidth) = (result.bytes, measure.bus_gb_per_s);
        Some(Measured { test, class, bytes, hosts: hosts.clone(), bandwidth })
    };
    test.results.iter().filter_map(row).filter(|row| row.bandwidth > 0.0).collect()
}

/// Hosts whose bandwidth within themselves is below that of their peers, by the thresholds of pairs.
///
/// A host must lack bandwidth at half of the sizes of a test: a single size of a healthy host lacks up to 0.12 by chance
/// (cluster01 of nccl-tests-cluster). What shows at one size only, because there is no other, accuses nobody.
fn slow_hosts<'a>(rows: impl Iterator<Item = &'a Measured<'a>>, settings: &Settings) -> Vec<Finding> {
    // Logarithms of bandwidth by host; those by class and size; those by test.
    type ByHost<'a> = BTreeMap<&'a str, Vec<f64>>;
    type BySize<'a> = BTreeMap<(&'a str, u64), ByHost<'a>>;
    let mut tests: BTreeMap<&str, BySize<'_>> = BTreeMap::new();
    for row in rows {
        let hosts = tests.entry(&row.test).or_default().entry((&row.class, row.bytes)).or_default();
        hosts.entry(row.hosts[0]).or_default().push(row.bandwidth.ln());
    }
    let mut found: BTreeMap<&str, (Vec<Evidence>, f64)> = BTreeMap::new();
    for (test, classes) in tests {
        let mut of_test: BTreeMap<&str, Vec<(Evidence, f64)>> = BTreeMap::new();
        let mut compared = 0;
        for ((_, bytes), hosts) in classes {
            let middle: BTreeMap<&str, f64> = hosts
                .into_iter()
                .filter_map(|(host, mut values)| Some((host, robust::median(&mut values)?)))
                .collect();
            if middle.len() < HOSTS_MIN {
                continue;
            }
            compared += 1;
            let mut values: Vec<f64> = middle.values().copied().collect();
            let Some((center, deviation)) = robust::spread(&mut values) else { continue };
            let limit = (1.0 - PAIR_SHARE).ln().min(-settings.deviations * deviation);
            for (host, value) in middle.into_iter().filter(|(_, value)| value - center < limit) {
                let seen = TestSeen::WithinHost { class: test.to_owned(), bytes };
                let evidence = Evidence::new(seen, (value - center).exp(), 1.0);
                of_test.entry(host).or_default().push((evidence, value - center));
            }
        }
        for (host, lacks) in of_test.into_iter().filter(|(_, lacks)| 2 * lacks.len() >= compared) {
            let (evidence, worst) = found.entry(host).or_default();
            for (line, lack) in lacks {
                evidence.push(line);
                *worst = worst.min(lack);
            }
        }
    }
    let finding = |(host, (evidence, worst)): (&str, (Vec<Evidence>, f64))| {
        let confidence = if evidence.len() > 1 { 0.95 } else { 0.4 };
        Finding {
            at_ns: 0,
            since: Since::default(),
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::SlowGpu, FaultKind::Slow],
            suspects: vec![Suspect { component: Component::Host(host.to_owned()), share: confidence }],
            confidence,
            severity: 1.0 - worst.exp(),
            cost: None,
            evidence,
            advice: "NVLink errors, GPU clocks and the host's PCIe links tell what in it is slow".into(),
        }
    };
    found.into_iter().map(finding).collect()
}

/// Confidence in a host that is wrong by itself, or with several others.
const SURE: f64 = 0.9;
/// Confidence in ends of which nothing tells which it is, as of single tests that died.
const LITTLE: f64 = 0.3;

/// A log of tests over the same hosts whose data came out wrong.
struct Wrong<'a> {
    hosts: BTreeSet<&'a str>,
    evidence: Vec<Evidence>,
}

/// Logs whose data came out wrong, and how many logs without wrong data each host has a part in.
fn wrong_logs(files: &[(String, Vec<NcclTest>)]) -> (Vec<Wrong<'_>>, BTreeMap<&str, usize>) {
    let (mut logs, mut right): (Vec<Wrong<'_>>, BTreeMap<&str, usize>) = Default::default();
    for (_, tests) in files {
        let mut of_hosts: BTreeMap<Vec<&str>, Vec<Evidence>> = BTreeMap::new();
        for test in tests {
            let of_rows = test.results.iter().flat_map(|row| [&row.out_of_place, &row.in_place]).flatten();
            let checked = of_rows.clone().any(|measure| measure.wrong.is_some());
            let wrong: u64 = of_rows.filter_map(|measure| measure.wrong).sum();
            let wrong = wrong.max(test.out_of_bounds.unwrap_or(0));
            // A test that checked nothing is not right either.
            if !checked && test.out_of_bounds.is_none() {
                continue;
            }
            let hosts = hosts_of(test);
            let of = of_hosts.entry(hosts.clone()).or_default();
            if wrong > 0 {
                let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
                let seen = TestSeen::WrongElements { test: test.name.clone(), hosts };
                of.push(Evidence::new(seen, wrong as f64, 0.0));
            }
        }
        for (hosts, evidence) in of_hosts {
            if evidence.is_empty() {
                hosts.into_iter().for_each(|host| *right.entry(host).or_default() += 1);
            } else {
                logs.push(Wrong { hosts: hosts.into_iter().collect(), evidence });
            }
        }
    }
    (logs, right)
}

/// Tests whose data came out wrong: worse than slow, whoever it is. A host that is wrong within itself, and one that more wrong
/// logs have in common than any other, stands alone. A pair of hosts that are right with others is what joins them; else it
/// is either of them, or that.
fn wrong_results(files: &[(String, Vec<NcclTest>)]) -> Vec<Finding> {
    let (mut left, right) = wrong_logs(files);
    let mut findings = Vec::new();
    let mut take = |logs: Vec<Wrong<'_>>, suspects: Vec<Component>, confidence: f64, advice: &str| {
        let share = confidence / suspects.len().max(1) as f64;
        let confidence = if suspects.is_empty() { 0.0 } else { confidence };
        findings.push(Finding {
            at_ns: 0,
            since: Since::default(),
            syndrome: Syndrome::Counter,
            faults: vec![FaultKind::GpuError],
            suspects: suspects.into_iter().map(|component| Suspect { component, share }).collect(),
            confidence,
            severity: 1.0,
            cost: None,
            evidence: logs.into_iter().flat_map(|log| log.evidence).collect(),
            advice: advice.into(),
        });
    };
    let host = |name: &str| Component::Host(name.to_owned());
    loop {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for log in &left {
            log.hosts.iter().for_each(|host| *counts.entry(host).or_default() += 1);
        }
        let within = left.iter().find(|log| log.hosts.len() == 1).and_then(|log| log.hosts.first().copied());
        let most = counts.values().copied().max().unwrap_or(0);
        let first: Vec<&str> =
            counts.iter().filter(|(_, count)| **count == most).map(|(host, _)| *host).collect();
        let Some(culprit) = within.or(first.first().copied().filter(|_| most > 1)) else { break };
        let suspects = if within.is_some() { vec![culprit] } else { first };
        let (of, rest): (Vec<Wrong<'_>>, Vec<Wrong<'_>>) =
            left.into_iter().partition(|log| suspects.iter().any(|one| log.hosts.contains(one)));
        left = rest;
        // Of several that are in as many, those that are in no log together are wrong each by itself.
        let apart = |log: &Wrong<'_>| suspects.iter().filter(|one| log.hosts.contains(**one)).count() == 1;
        if suspects.len() == 1 || of.iter().all(apart) {
            let mut of = of;
            for one in &suspects {
                let (own, others): (Vec<Wrong<'_>>, Vec<Wrong<'_>>) =
                    of.into_iter().partition(|log| log.hosts.contains(one));
                of = others;
                let advice =
                    "a job on this host computes wrong numbers: test it by itself, then its GPUs one by one";
                take(own, vec![host(one)], SURE, advice);
            }
        } else {
            let named = suspects.len() <= HOSTS_NAMED;
            let suspects = if named { suspects.into_iter().map(host).collect() } else { Vec::new() };
            take(of, suspects, LITTLE, EACH_ALONE);
        }
    }
    for log in left {
        let is_right = log.hosts.iter().all(|host| right.contains_key(host));
        let mut suspects: Vec<Component> = Vec::new();
        if let [a, b] = log.hosts.iter().copied().collect::<Vec<_>>()[..] {
            suspects.push(Component::Connection(format!("{a} > {b}")));
            if is_right {
                let confidence = if log.evidence.len() > 1 { SURE } else { ONE };
                let advice = "a job over these two computes wrong numbers: run the test again, then between their NICs one by one";
                take(vec![log], suspects, confidence, advice);
                continue;
            }
        }
        if log.hosts.len() <= HOSTS_NAMED {
            suspects.extend(log.hosts.iter().map(|one| host(one)));
        }
        take(vec![log], suspects, LITTLE, EACH_ALONE);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_formats::telemetry::{NcclTestDevice, NcclTestMeasure};

    /// Tests within each of 8 hosts at 4 sizes; `scale` gives the bandwidth of a host and size as a share of 400.
    fn within(scale: impl Fn(usize, usize) -> f64) -> Vec<(String, Vec<NcclTest>)> {
        let test = |host: usize| {
            let device = |gpu| NcclTestDevice { host: format!("h{host}"), gpu, ..NcclTestDevice::default() };
            let result = |size: usize| {
                let bus_gb_per_s = 400.0 * scale(host, size);
                let measure = NcclTestMeasure { bus_gb_per_s, ..NcclTestMeasure::default() };
                NcclTestResult {
                    bytes: 1 << (20 + size),
                    out_of_place: Some(measure),
                    ..NcclTestResult::default()
                }
            };
            NcclTest {
                name: "all_reduce_perf".into(),
                devices: (0..8).map(device).collect(),
                results: (0..4).map(result).collect(),
                ..NcclTest::default()
            }
        };
        (0..8).map(|host| (format!("h{host}.log"), vec![test(host)])).collect()
    }

    fn accused(files: &[(String, Vec<NcclTest>)]) -> Vec<String> {
        let (found, _) = of_nccl_tests(files, &Settings::default());
        found.iter().map(|finding| finding.suspects[0].component.name().to_owned()).collect()
    }

    #[test]
    fn a_host_is_slow_at_most_sizes_and_not_at_one() {
        assert_eq!(accused(&within(|host, _| if host == 3 { 0.8 } else { 1.0 })), ["h3"]);
        assert_eq!(accused(&within(|host, size| if host == 3 && size == 1 { 0.8 } else { 1.0 })), [""; 0]);
    }

    #[test]
    fn wrong_results_name_the_host_that_they_have_in_common() {
        let mut files = within(|_, _| 1.0);
        for (row, partner) in [(0, "h5"), (1, "h5")] {
            files[row].1[0].out_of_bounds = Some(7);
            files[row].1[0].devices[0].host = partner.into();
        }
        assert_eq!(accused(&files), ["h5"]);
    }

    /// Tests between all pairs of hosts, of which some have wrong elements.
    fn between(hosts: usize, wrong: &[(usize, usize)]) -> Vec<(String, Vec<NcclTest>)> {
        let device = |host: usize| NcclTestDevice { host: format!("h{host}"), ..NcclTestDevice::default() };
        let pairs = (0..hosts).flat_map(|a| (a + 1..hosts).map(move |b| (a, b)));
        let log = |(a, b): (usize, usize)| {
            let test = |name: &str| NcclTest {
                name: name.into(),
                devices: vec![device(a), device(b)],
                out_of_bounds: Some(if wrong.contains(&(a, b)) { 21 } else { 0 }),
                ..NcclTest::default()
            };
            (format!("{a}-{b}.log"), vec![test("sendrecv_perf"), test("alltoall_perf")])
        };
        pairs.map(log).collect()
    }

    /// Suspects and confidence of each finding.
    fn told(files: &[(String, Vec<NcclTest>)]) -> Vec<(Vec<String>, f64)> {
        let names = |one: &Finding| one.suspects.iter().map(|one| one.component.name().to_owned()).collect();
        of_nccl_tests(files, &Settings::default()).0.iter().map(|one| (names(one), one.confidence)).collect()
    }

    #[test]
    fn a_pair_that_is_wrong_alone_is_what_joins_it() {
        let one = |name: &str, confidence: f64| (vec![name.to_owned()], confidence);
        // Both ends are right with eight others each.
        assert_eq!(told(&between(10, &[(2, 7)])), [one("h2 > h7", 0.9)]);
        assert_eq!(told(&between(10, &[(2, 7), (3, 4)])), [one("h2 > h7", 0.9), one("h3 > h4", 0.9)]);
        // One test of a pair, as one slow result.
        let mut files = between(10, &[(2, 7)]);
        files.iter_mut().for_each(|(_, tests)| tests.truncate(1));
        assert_eq!(told(&files), [one("h2 > h7", 0.8)]);
        // Nothing else is known of them, or of one: it is either, or what joins them.
        let alone: Vec<_> = between(2, &[(0, 1)]);
        assert_eq!(told(&alone), [(["h0 > h1", "h0", "h1"].map(String::from).to_vec(), 0.3)]);
        // Wide tests name nobody.
        let mut wide = between(2, &[(0, 1)]);
        wide[0].1.iter_mut().for_each(|test| {
            let device =
                |host: usize| NcclTestDevice { host: format!("h{host}"), ..NcclTestDevice::default() };
            test.devices = (0..9).map(device).collect();
        });
        assert_eq!(told(&wide), [(Vec::new(), 0.0)]);
        assert_eq!(told(&between(10, &[])), []);
    }

    #[test]
    fn hosts_of_several_wrong_pairs_are_told_each() {
        let of = |pairs: &[(usize, usize)]| told(&between(10, pairs));
        assert_eq!(of(&[(2, 7), (3, 7)]), [(vec!["h7".to_owned()], 0.9)]);
        let two: Vec<_> = ["h1", "h7"].map(|name| (vec![name.to_owned()], 0.9)).to_vec();
        assert_eq!(of(&[(1, 2), (1, 3), (4, 7), (5, 7)]), two);
        // Three of which each two are wrong: nothing tells which.
        let three = ["h1", "h2", "h3"].map(String::from).to_vec();
        assert_eq!(of(&[(1, 2), (1, 3), (2, 3)]), [(three, 0.3)]);
    }

    proptest::proptest! {
        /// A host that is right in all of its logs is never a suspect.
        #[test]
        fn who_is_right_is_no_suspect(wrong in proptest::collection::btree_set((0..6_usize, 0..6_usize), 0..5)) {
            let wrong: Vec<(usize, usize)> =
                wrong.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
            let found = told(&between(6, &wrong));
            proptest::prop_assert_eq!(found.is_empty(), wrong.is_empty());
            for name in found.iter().flat_map(|(names, _)| names).flat_map(|name| name.split(" > ")) {
                let is_in = |pair: &(usize, usize)| [pair.0, pair.1].iter().any(|host| format!("h{host}") == name);
                proptest::prop_assert!(wrong.iter().any(is_in), "{}", name);
            }
        }
    }
}

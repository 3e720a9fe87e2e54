//! What nccl-tests say: hosts and pairs with less bandwidth than their peers, and wrong results.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::pairs::{PAIR_SHARE, PairTest, slow_pairs};
use railtwin_diagnosis::robust;
use railtwin_formats::telemetry::{NcclTest, NcclTestResult};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Suspect, Syndrome};

/// Hosts of a test within one host among which a slow one can be told.
const HOSTS_MIN: usize = 4;

/// One bandwidth of some hosts in a class of tests.
struct Measured<'a> {
    /// Collective and GPUs of a host.
    test: String,
    /// The same with the size: results are compared within it.
    class: String,
    bytes: u64,
    hosts: Vec<&'a str>,
    /// Host of the first rank.
    first: &'a str,
    /// PCI addresses of the GPUs, by host, where each host has one.
    slots: BTreeMap<&'a str, &'a str>,
    bandwidth: f64,
}

/// Findings of all tests, and what could not be compared with anything.
pub fn of_nccl_tests(files: &[(String, Vec<NcclTest>)], settings: &Settings) -> (Vec<Finding>, Vec<String>) {
    let tests = files.iter().flat_map(|(_, tests)| tests);
    let measured: Vec<Measured<'_>> = tests.clone().flat_map(measured).collect();
    let pairs: Vec<PairTest> = measured
        .iter()
        .filter_map(|row| match row.hosts[..] {
            [a, b] => {
                let (first, other) = if row.first == b { (b, a) } else { (a, b) };
                let slots = [first, other].map(|host| row.slots.get(host).copied().unwrap_or("").to_owned());
                let hosts = [first.to_owned(), other.to_owned()];
                let (kind, bytes, bandwidth) = (row.test.clone(), row.bytes, row.bandwidth);
                Some(PairTest { kind, bytes, hosts, slots, bandwidth })
            }
            _ => None,
        })
        .collect();
    let mut findings = wrong_results(tests);
    findings.extend(slow_pairs(&pairs, settings));
    findings.extend(slow_hosts(measured.iter().filter(|row| row.hosts.len() == 1), settings));
    let mut notes = Vec::new();
    let names: BTreeSet<&str> = pairs.iter().flat_map(|pair| pair.hosts.iter().map(String::as_str)).collect();
    if !pairs.is_empty() {
        let alone =
            BTreeSet::from_iter(measured.iter().filter(|row| row.hosts.len() == 1).map(|row| row.hosts[0]));
        notes.push(format!(
            "nccl-tests: {} results between pairs of {} hosts, results within {} single hosts",
            pairs.len(),
            names.len(),
            alone.len()
        ));
        if names.len() < HOSTS_MIN {
            notes.push(format!("pairs of {} hosts: from 4 hosts on a slow one can be told", names.len()));
        }
    }
    let wide = measured.iter().filter(|row| row.hosts.len() > 2).count();
    if wide > 0 {
        notes.push(format!(
            "{wide} results of tests over more than two hosts: the slowest host sets them all, so that they say that \
             something is slow and not what; they are not compared"
        ));
    }
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

fn measured(test: &NcclTest) -> Vec<Measured<'_>> {
    let hosts = hosts_of(test);
    if hosts.is_empty() {
        return Vec::new();
    }
    let gpus = test.devices.len() / hosts.len();
    let first =
        test.devices.iter().min_by_key(|device| device.rank).map_or("", |device| device.host.as_str());
    let of_devices = || test.devices.iter().map(|device| (device.host.as_str(), device.bus.as_str()));
    let slots: BTreeMap<&str, &str> = if gpus == 1 { of_devices().collect() } else { BTreeMap::new() };
    let name = if test.name.is_empty() { "a test" } else { &test.name };
    let row = |result: &NcclTestResult| {
        let measure = result.out_of_place.as_ref().or(result.in_place.as_ref())?;
        let test = format!("{name}, {gpus} GPUs a host");
        let class = format!("{test}, {} bytes", result.bytes);
        let (bytes, bandwidth) = (result.bytes, measure.bus_gb_per_s);
        Some(Measured { test, class, bytes, hosts: hosts.clone(), first, slots: slots.clone(), bandwidth })
    };
    test.results.iter().filter_map(row).filter(|row| row.bandwidth > 0.0).collect()
}

/// Hosts whose bandwidth within themselves is below that of their peers, by the thresholds of pairs.
///
/// A host must lack bandwidth at half of the sizes of a test: a single size of a healthy host lacks up to 0.12 by chance
/// (cluster01 of nccl-tests-cluster). What shows at one size only, because there is no other, accuses nobody.
fn slow_hosts<'a>(rows: impl Iterator<Item = &'a Measured<'a>>, settings: &Settings) -> Vec<Finding> {
    // test -> class -> host -> logarithms of bandwidth
    let mut tests: BTreeMap<&str, BTreeMap<&str, BTreeMap<&str, Vec<f64>>>> = BTreeMap::new();
    for row in rows {
        let hosts = tests.entry(&row.test).or_default().entry(&row.class).or_default();
        hosts.entry(row.hosts[0]).or_default().push(row.bandwidth.ln());
    }
    let mut found: BTreeMap<&str, (Vec<Evidence>, f64)> = BTreeMap::new();
    for classes in tests.into_values() {
        let mut of_test: BTreeMap<&str, Vec<(Evidence, f64)>> = BTreeMap::new();
        let mut compared = 0;
        for (class, hosts) in classes {
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
                let evidence = Evidence {
                    table: "nccl-tests",
                    what: format!("bandwidth within the host in {class}, as a share of what is usual"),
                    value: (value - center).exp(),
                    expected: 1.0,
                    unit: "",
                };
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
            since_ns: 0,
            syndrome: Syndrome::CommunicationSlow,
            faults: vec![FaultKind::SlowGpu, FaultKind::Slow],
            suspects: vec![Suspect { component: Component::Host(host.to_owned()), share: confidence }],
            confidence,
            severity: 1.0 - worst.exp(),
            evidence,
            advice: "NVLink errors, GPU clocks and the host's PCIe links tell what in it is slow".into(),
        }
    };
    found.into_iter().map(finding).collect()
}

/// Tests whose data came out wrong: worse than slow, whoever it is. A host that more wrong tests have in common than any
/// other stands alone.
fn wrong_results<'a>(tests: impl Iterator<Item = &'a NcclTest>) -> Vec<Finding> {
    let mut hosts: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut evidence, mut count) = (Vec::new(), 0_u32);
    for test in tests {
        let of_rows = test.results.iter().flat_map(|row| [&row.out_of_place, &row.in_place]).flatten();
        let wrong: u64 = of_rows.filter_map(|measure| measure.wrong).sum();
        let wrong = wrong.max(test.out_of_bounds.unwrap_or(0));
        if wrong == 0 {
            continue;
        }
        count += 1;
        let names = hosts_of(test);
        evidence.push(Evidence {
            table: "nccl-tests",
            what: format!("wrong elements in {} over {}", test.name, names.join(", ")),
            value: wrong as f64,
            expected: 0.0,
            unit: "elements",
        });
        names.into_iter().for_each(|host| *hosts.entry(host).or_default() += 1);
    }
    let most = hosts.values().copied().max().unwrap_or(0);
    let names: Vec<&str> = hosts.iter().filter(|(_, tests)| **tests == most).map(|(host, _)| *host).collect();
    if count == 0 {
        return Vec::new();
    }
    let share = 0.9 / names.len().max(1) as f64;
    let suspects =
        names.iter().map(|host| Suspect { component: Component::Host((*host).to_owned()), share }).collect();
    vec![Finding {
        at_ns: 0,
        since_ns: 0,
        syndrome: Syndrome::Counter,
        faults: vec![FaultKind::GpuError],
        suspects,
        confidence: if names.is_empty() { 0.0 } else { 0.9 },
        severity: 1.0,
        evidence,
        advice: "a job on these hosts computes wrong numbers: test each host by itself, then its GPUs".into(),
    }]
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
}

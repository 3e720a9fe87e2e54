//! Tests between hosts, judged together: bandwidths and deaths of nccl-tests and perftest become causes.
//!
//! The inference is that of [`railtwin_pairs`]; this module gives it tests and makes findings of its answer.
mod finding;
mod place;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{NcclTest, NcclTestFailure};
use railtwin_pairs::{Answer, Port, Trial, TrialOutcome, TrialSet, TrialTraffic, infer};
use railtwin_records::Finding;

use super::tests_between::class_of;

/// Fewest hosts among which a slow one can be told.
const HOSTS_MIN: usize = 4;

/// Bandwidths between two ports, one for each size in bytes.
#[derive(Clone, Debug)]
pub(super) struct OneWay {
    /// Kind of the test.
    pub kind: String,
    /// Names of both hosts, the sender first.
    pub hosts: [String; 2],
    /// Names of the NICs; empty where they are not told.
    pub nics: [String; 2],
    /// Bandwidth by size.
    pub sizes: Vec<(u64, f64)>,
}

/// What the tests of some files say together.
#[derive(Debug, Default)]
pub(super) struct PairVerdict {
    /// Findings, that with the most bits first.
    pub findings: Vec<Finding>,
    /// Notes.
    pub notes: Vec<String>,
    /// Tests that died and that were judged here, as file and test: those that a cause explains, and all.
    pub explained: BTreeSet<(usize, usize)>,
    /// All deaths that were judged here.
    pub judged: BTreeSet<(usize, usize)>,
}

/// Judges nccl-tests over several hosts.
pub(super) fn of_nccl_tests(files: &[(String, Vec<NcclTest>)]) -> PairVerdict {
    let (mut set, mut rows) = (TrialSet::default(), Vec::new());
    for (file, (_, tests)) in files.iter().enumerate() {
        for (test, one) in tests.iter().enumerate() {
            if let Some(trial) = trial(&mut set, one) {
                set.trials.push(trial);
                rows.push((file, test));
            }
        }
    }
    let deaths = |at: &usize| matches!(set.trials[*at].outcome, TrialOutcome::Died(_));
    let dead: Vec<usize> = (0..rows.len()).filter(deaths).collect();
    if set.trials.is_empty() {
        return PairVerdict::default();
    }
    let answer = infer(&set);
    let lines = |at: usize| {
        let (file, test) = rows[at];
        let (name, tests) = &files[file];
        (name.as_str(), &tests[test])
    };
    let findings = finding::findings(&set, &answer, &lines);
    let mut verdict = PairVerdict { findings, notes: notes(&set, &answer), ..PairVerdict::default() };
    // Where no test came to its end, deaths were not judged.
    if dead.len() < set.trials.len() {
        verdict.judged = dead.iter().map(|at| rows[*at]).collect();
        let is_explained = |at: &&usize| answer.unexplained_deaths.binary_search(at).is_err();
        verdict.explained = dead.iter().filter(is_explained).map(|at| rows[*at]).collect();
    }
    verdict
}

/// Judges bandwidths that go one way, such as those of perftest.
pub(super) fn of_one_way(tests: &[OneWay]) -> Vec<Finding> {
    let mut set = TrialSet::default();
    for test in tests {
        let ends = [0, 1].map(|end| (&test.hosts[end], &test.nics[end]));
        let ports = ends.map(|(host, nic)| Port { host: set.host(host), place: set.place(nic) }).to_vec();
        let outcome = TrialOutcome::Sizes(test.sizes.clone());
        set.trials.push(Trial { class: test.kind.clone(), traffic: TrialTraffic::OneWay, ports, outcome });
    }
    if set.hosts.len() < HOSTS_MIN {
        return Vec::new();
    }
    let answer = infer(&set);
    let test = NcclTest::default();
    finding::findings(&set, &answer, &|_| ("", &test))
}

/// A test over several hosts; none where it has no result and no death that concerns them.
fn trial(set: &mut TrialSet, test: &NcclTest) -> Option<Trial> {
    let hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
    if hosts.len() < 2 {
        return None;
    }
    let outcome = match &test.failure {
        // A host that reports a failure of its own is judged by its word.
        Some(failure) if failure.own => return None,
        Some(failure) => TrialOutcome::Died(way(failure)),
        None => TrialOutcome::Sizes(sizes(test)),
    };
    if outcome == TrialOutcome::Sizes(Vec::new()) {
        return None;
    }
    let mut devices: Vec<_> = test.devices.iter().collect();
    devices.sort_by_key(|device| device.rank);
    let port =
        |set: &mut TrialSet, host: &str, bus: &str| Port { host: set.host(host), place: set.place(bus) };
    let ports = devices.iter().map(|device| port(set, &device.host, &device.bus)).collect();
    let traffic = match test.name.as_str() {
        "alltoall_perf" => TrialTraffic::AllToAll,
        "sendrecv_perf" => TrialTraffic::SendReceive,
        _ => TrialTraffic::Rings,
    };
    let class =
        if hosts.len() == 2 { class_of(test) } else { format!("{}, {} hosts", class_of(test), hosts.len()) };
    Some(Trial { class, traffic, ports, outcome })
}

/// Mean bandwidth out of place and in place, by size.
fn sizes(test: &NcclTest) -> Vec<(u64, f64)> {
    let row = |row: &railtwin_formats::telemetry::NcclTestResult| {
        let both = [&row.out_of_place, &row.in_place].into_iter().flatten().map(|one| one.bus_gb_per_s);
        let values: Vec<f64> = both.filter(|value| *value > 0.0).collect();
        (!values.is_empty()).then(|| (row.bytes, values.iter().sum::<f64>() / values.len() as f64))
    };
    test.results.iter().filter_map(row).collect()
}

/// The way in which a test died: the source line of its first error, else how it ended.
fn way(failure: &NcclTestFailure) -> String {
    let mut words = failure.line.split([' ', '(', ')', ',', '\'']);
    let is_source = |word: &str| {
        let (file, line) = word.trim_end_matches(':').rsplit_once(':')?;
        let is_code = [".cu", ".cc", ".c", ".cpp", ".h"].iter().any(|end| file.ends_with(end));
        (is_code && line.bytes().all(|digit| digit.is_ascii_digit())).then(|| format!("{file}:{line}"))
    };
    words.find_map(is_source).unwrap_or_else(|| failure.end.name().to_owned())
}

/// What a reader should know of the answer.
fn notes(set: &TrialSet, answer: &Answer) -> Vec<String> {
    let mut notes = Vec::new();
    if set.hosts.len() < HOSTS_MIN {
        notes.push(format!("pairs of {} hosts: from 4 hosts on a slow one can be told", set.hosts.len()));
    }
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    set.trials.iter().for_each(|trial| *classes.entry(&trial.class).or_default() += 1);
    let lone = classes.values().filter(|count| **count < 3).count();
    if lone > 0 {
        notes.push(format!(
            "{lone} kinds of tests between hosts have fewer than 3 results: nothing compares with them"
        ));
    }
    if !answer.leaves.is_empty() {
        let leaves =
            answer.leaves.iter().map(|hosts| format!("({})", place::names(set, hosts.iter().copied())));
        notes.push(format!(
            "bandwidth tells {} leaves of hosts: {}",
            answer.leaves.len(),
            leaves.collect::<Vec<_>>().join(", ")
        ));
    }
    if answer.slow_left[0] > 0 && !answer.causes.is_empty() {
        let [left, all] = answer.slow_left;
        notes.push(format!("{left} of {all} slow results between hosts have no cause that tests tell"));
    }
    notes
}

#[cfg(test)]
mod tests;

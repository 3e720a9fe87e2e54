//! Tests of nccl-tests that died, hung or ended without a word: the strongest evidence that there is, counted by host.
//!
//! What is counted are *attempts*: a log and the hosts of its tests. A log of several tests between the same hosts is one
//! attempt, since the tests share whatever was wrong with it. Hosts that more attempts which failed have in common than
//! chance would give are told, one after the other: each explains the attempts that it took part in, and what is left is
//! looked at again.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_formats::telemetry::{NcclTest, NcclTestEnd, NcclTestFailure};
use railtwin_records::seen::TestSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, SourceLine, Suspect, Syndrome};
use railtwin_units::probability::binomial_above;

use super::judges::Judgement;
use super::pair_tests::{PairVerdict, of_nccl_tests};
use super::rows::Rows;

/// What an attempt that failed leaves of the doubt that it was chance or something else, where a host failed in all that it
/// took part in. One attempt accuses nobody, two do.
const DOUBT: f64 = 0.55;
/// Confidence where a log names the host whose own GPU, process or system failed.
const NAMED: f64 = 0.6;
/// Confidence in the hosts of one attempt whose hosts all came through others, and of attempts that all failed.
const LITTLE: f64 = 0.3;
/// Most confidence that counts of tests give.
const MOST: f64 = 0.95;
/// Most lines of evidence of single tests in a finding.
const LINES: usize = 8;
/// Most hosts that a finding names.
const HOSTS: usize = 8;

/// Tests of one log between the same hosts.
#[derive(Debug)]
struct Attempt<'a> {
    file: &'a str,
    hosts: BTreeSet<&'a str>,
    /// Tests, and those of them that failed.
    tests: usize,
    failed: Vec<(&'a NcclTest, &'a NcclTestFailure)>,
    /// Tests that failed and that a cause of several tests explains.
    explained: usize,
    /// Whether an inference over all tests judged failures of it.
    is_judged: bool,
}

impl Attempt<'_> {
    fn is_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Whether a cause of several tests explains all that failed.
    fn is_explained(&self) -> bool {
        self.explained > 0 && self.failed.is_empty()
    }

    /// The hosts that may be at fault: those that the log names as its own failures, else all that took part.
    fn candidates(&self) -> BTreeSet<&str> {
        let named = self.failed.iter().filter(|(_, failure)| failure.own);
        let named: BTreeSet<&str> = named
            .flat_map(|(_, failure)| failure.host.iter().chain(&failure.others))
            .map(String::as_str)
            .collect();
        let own: BTreeSet<&str> = self
            .hosts
            .iter()
            .copied()
            .filter(|host| named.iter().any(|name| same_host(host, name)))
            .collect();
        if own.is_empty() { self.hosts.clone() } else { own }
    }

    /// The one host that the log names as its own failure. Where several say so of themselves it may be the program.
    fn own(&self) -> Option<&str> {
        let candidates = self.candidates();
        candidates.first().copied().filter(|_| candidates.len() == 1 && self.hosts.len() > 1)
    }
}

/// Whether two names are of one host: launchers and NCCL cut domains off.
fn same_host(a: &str, b: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    a == b || ((!a.contains('.') || !b.contains('.')) && short(a) == short(b))
}

/// Findings, what a reader should know, and how many tests failed.
pub(super) fn judge(rows: &Rows<'_>) -> Judgement {
    let files = &rows.merged.nccl_tests;
    let PairVerdict { mut findings, mut notes, explained, judged } = of_nccl_tests(files);
    let (failed, more, failed_tests) = of_failed_beside("nccl-tests", files, &explained, &judged);
    findings.extend(failed);
    notes.extend(more);
    Judgement { findings, notes, failed_tests }
}

/// Findings, notes and the number of tests that failed, of a tool.
pub fn of_failed_tests(tool: &str, files: &[(String, Vec<NcclTest>)]) -> (Vec<Finding>, Vec<String>, usize) {
    of_failed_beside(tool, files, &BTreeSet::new(), &BTreeSet::new())
}

/// The same beside an inference over all tests between hosts, which `judged` some deaths and `explained` a part of these,
/// as numbers of file and test. A death that it judged and did not explain is told by itself: no host is named for several.
fn of_failed_beside(
    tool: &str,
    files: &[(String, Vec<NcclTest>)],
    explained: &BTreeSet<(usize, usize)>,
    judged: &BTreeSet<(usize, usize)>,
) -> (Vec<Finding>, Vec<String>, usize) {
    let attempts = attempts(files, explained, judged);
    let tests: usize = attempts.iter().map(|attempt| attempt.tests).sum();
    let all = files.iter().flat_map(|(_, tests)| tests);
    let failed = all.filter(|test| test.failure.is_some()).count();
    if failed == 0 {
        return (Vec::new(), Vec::new(), 0);
    }
    let mut notes = vec![format!("{tool}: {failed} of {tests} tests did not come to their end")];
    let (named, nameless): (Vec<&Attempt<'_>>, Vec<&Attempt<'_>>) = attempts
        .iter()
        .filter(|attempt| !attempt.is_explained())
        .partition(|attempt| !attempt.hosts.is_empty());
    let (open, named): (Vec<&Attempt<'_>>, Vec<&Attempt<'_>>) =
        named.into_iter().partition(|attempt| attempt.is_judged && attempt.is_failed());
    let whole: Vec<&Attempt<'_>> = named.iter().chain(&open).copied().collect();
    let mut findings = by_host(named);
    findings.extend(open.iter().map(|attempt| single(attempt, &whole)));
    let nameless: Vec<&Attempt<'_>> = nameless.into_iter().filter(|attempt| attempt.is_failed()).collect();
    if !nameless.is_empty() {
        notes.push(format!("{} logs of tests that failed name no hosts", nameless.len()));
        findings.push(finding(
            &nameless,
            Vec::new(),
            0.0,
            Vec::new(),
            "give these logs from their first line: the lines of \
             devices name the hosts",
        ));
    }
    (findings, notes, failed)
}

fn attempts<'a>(
    files: &'a [(String, Vec<NcclTest>)],
    explained: &BTreeSet<(usize, usize)>,
    judged: &BTreeSet<(usize, usize)>,
) -> Vec<Attempt<'a>> {
    let known: BTreeSet<&str> = files
        .iter()
        .flat_map(|(_, tests)| tests)
        .flat_map(|test| test.devices.iter().map(|device| device.host.as_str()))
        .collect();
    let mut all: Vec<Attempt<'_>> = Vec::new();
    for (at_file, (file, tests)) in files.iter().enumerate() {
        let first = all.len();
        for (at_test, test) in tests.iter().enumerate() {
            let mut hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
            if hosts.is_empty() && test.failure.is_some() {
                hosts = hosts_told(file, test, &known);
            }
            let same = all[first..].iter().position(|attempt| attempt.hosts == hosts);
            let row = same.map_or(all.len(), |row| first + row);
            if same.is_none() {
                all.push(Attempt {
                    file,
                    hosts,
                    tests: 0,
                    failed: Vec::new(),
                    explained: 0,
                    is_judged: false,
                });
            }
            let attempt = &mut all[row];
            attempt.tests += 1;
            attempt.is_judged |= judged.contains(&(at_file, at_test));
            if explained.contains(&(at_file, at_test)) {
                attempt.explained += 1;
            } else {
                attempt.failed.extend(test.failure.as_ref().map(|failure| (test, failure)));
            }
        }
    }
    all
}

/// Hosts of a test that has no line of devices: whom the line of its failure names, and hosts of other logs that its file
/// is named after.
fn hosts_told<'a>(file: &str, test: &'a NcclTest, known: &BTreeSet<&'a str>) -> BTreeSet<&'a str> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let is_end =
        |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '-');
    let stands = |host: &&str| {
        name.match_indices(*host).any(|(at, _)| {
            is_end(name[..at].chars().next_back()) && is_end(name[at + host.len()..].chars().next())
        })
    };
    let said = test.failure.as_ref().and_then(|failure| failure.host.as_deref());
    let said = said.map(|name| known.iter().copied().find(|host| same_host(host, name)).unwrap_or(name));
    known.iter().copied().filter(stands).chain(said).collect()
}

/// How a host stands among the attempts that are not explained yet.
struct Standing {
    confidence: f64,
    /// Attempts that failed and that it explains.
    explains: Vec<usize>,
    /// Attempts that it took part in.
    taken: usize,
}

/// Hosts in the order in which they explain failures, each with what it explains.
fn by_host(attempts: Vec<&Attempt<'_>>) -> Vec<Finding> {
    let all: Vec<&Attempt<'_>> = attempts.into_iter().filter(|attempt| attempt.tests > 0).collect();
    let failed = all.iter().filter(|attempt| attempt.is_failed()).count();
    let owns: BTreeSet<&str> = all.iter().filter_map(|attempt| attempt.own()).collect();
    let only_own = owns.first().copied().filter(|_| owns.len() == 1);
    let mut left = all.clone();
    let mut findings = Vec::new();
    while left.iter().any(|attempt| attempt.is_failed()) {
        let hosts: BTreeSet<&str> = left.iter().flat_map(|attempt| attempt.hosts.iter().copied()).collect();
        let standing: BTreeMap<&str, Standing> = hosts
            .iter()
            .map(|&host| (host, standing(host, &left, (hosts.len(), failed), only_own)))
            .collect();
        let Some(best) = standing.values().max_by(|a, b| {
            let share = |one: &Standing| one.explains.len() as f64 / one.taken.max(1) as f64;
            (a.confidence.total_cmp(&b.confidence))
                .then(a.explains.len().cmp(&b.explains.len()))
                .then(share(a).total_cmp(&share(b)))
        }) else {
            break;
        };
        if best.explains.len() < 2 && best.confidence <= LITTLE {
            break;
        }
        // Who failed in the same attempts, and as surely, cannot be told apart.
        let same = |one: &&Standing| {
            one.explains == best.explains && (one.confidence - best.confidence).abs() < 1e-9
        };
        let suspects: Vec<(&str, &Standing)> =
            standing.iter().filter(|(_, one)| same(one)).map(|(host, one)| (*host, one)).collect();
        findings.push(explained(&suspects, best.confidence, &left, &all));
        let explained: BTreeSet<usize> = best.explains.iter().copied().collect();
        left = (0..left.len()).filter(|row| !explained.contains(row)).map(|row| left[row]).collect();
    }
    // What is left are single failures of hosts that came through other tests.
    let rest: Vec<&Attempt<'_>> = left.iter().copied().filter(|attempt| attempt.is_failed()).collect();
    findings.extend(rest.into_iter().map(|attempt| single(attempt, &all)));
    findings
}

/// What the attempts say of a host.
///
/// - A host that failed in all `n` attempts that it took part in, while others came through: `1 - DOUBT^n`.
/// - A host that failed in some: the chance that one of all hosts has a part in as many of the attempts that failed, if
///   failures fall on attempts at random, taken from 1 (binomial tail, times the number of hosts).
/// - A host whose own failure a log tells: [`NAMED`].
///
/// Where all attempts failed nothing tells the host from what they all had in common; of `all_failed` it explains a part. But
/// for `only_own`, who alone says so of itself in all logs: what all have in common each would say.
fn standing(
    host: &str,
    left: &[&Attempt<'_>],
    (hosts, all_failed): (usize, usize),
    only_own: Option<&str>,
) -> Standing {
    let rows = 0..left.len();
    let taken = left.iter().filter(|attempt| attempt.hosts.contains(host)).count();
    let explains: Vec<usize> =
        rows.filter(|&row| left[row].is_failed() && left[row].candidates().contains(host)).collect();
    let failed = left.iter().filter(|attempt| attempt.is_failed()).count();
    let (count, all) = (explains.len(), left.len());
    let named = explains.iter().any(|&row| left[row].own() == Some(host));
    let passed = all - failed;
    let confidence = if count == 0 {
        0.0
    } else if passed == 0 {
        // No more than a hint, the stronger the more of them it is in.
        let hint = LITTLE * count as f64 / all_failed as f64;
        if named && only_own == Some(host) { NAMED.max(hint) } else { hint }
    } else {
        let solid = if count == taken { 1.0 - DOUBT.powi(count as i32) } else { 0.0 };
        let share = taken as f64 / all as f64;
        let chance = binomial_above(failed as u32, share, count as u32 - 1) * hosts as f64;
        let often = if count > 1 { (1.0 - chance).max(0.0) } else { 0.0 };
        let named = if named { NAMED } else { 0.0 };
        solid.max(often).max(named).min(MOST)
    };
    Standing { confidence, explains, taken }
}

/// The finding of hosts that failed in the same attempts of those that are `left` of `all`.
fn explained(
    suspects: &[(&str, &Standing)],
    confidence: f64,
    left: &[&Attempt<'_>],
    all: &[&Attempt<'_>],
) -> Finding {
    let (_, first) = suspects[0];
    let attempts: Vec<&Attempt<'_>> = first.explains.iter().map(|&row| left[row]).collect();
    let end = attempts[0].failed[0].1.end;
    let of_end = |attempt: &&&Attempt<'_>| attempt.failed.iter().any(|(_, failure)| failure.end == end);
    let mut evidence: Vec<Evidence> = suspects
        .iter()
        .take(HOSTS)
        .map(|(host, standing)| {
            let mine = || all.iter().filter(|attempt| attempt.hosts.contains(host));
            let seen = TestSeen::HostFailures {
                host: (*host).to_owned(),
                in_failed: mine().filter(of_end).count(),
                failed: all.iter().filter(of_end).count(),
                end: end.name(),
                logs: mine().count(),
            };
            Evidence::new(seen, standing.explains.len() as f64, 0.0)
        })
        .collect();
    evidence.extend(lines(&attempts));
    let mut components: Vec<Component> =
        suspects.iter().take(HOSTS).map(|(host, _)| Component::Host((*host).to_owned())).collect();
    if let [(a, _), (b, _)] = suspects {
        components.push(Component::Connection(format!("{a} > {b}")));
    }
    let is_named = suspects.len() == 1 && confidence >= NAMED;
    let advice = if left.iter().all(|attempt| attempt.is_failed()) && !is_named {
        "not enough evidence to say which: in every log a test failed, so that hosts cannot be told from the way in which \
         tests were started; give logs of tests that came to their end, or run them within each host and between pairs"
    } else if suspects.len() > 1 {
        "not enough evidence to say which: run the test of each of these hosts with hosts that came through others"
    } else {
        "run the test within the host, then its NICs one by one: dmesg, Xid and link counters of the time of these tests \
         tell a GPU from a NIC"
    };
    finding(&attempts, components, confidence, evidence, advice)
}

/// The finding of one attempt whose hosts came through others, or of which nothing else is known.
fn single(attempt: &Attempt<'_>, all: &[&Attempt<'_>]) -> Finding {
    let logs = |host: &str, passed: bool| {
        all.iter().filter(|one| one.hosts.contains(host) && !(passed && one.is_failed())).count() as f64
    };
    let mut evidence: Vec<Evidence> = attempt
        .hosts
        .iter()
        .take(HOSTS)
        .map(|host| {
            let seen = TestSeen::HostPasses { host: (*host).to_owned() };
            Evidence::new(seen, logs(host, true), logs(host, false))
        })
        .collect();
    evidence.extend(lines(&[attempt]));
    let mut components: Vec<Component> =
        attempt.hosts.iter().take(HOSTS).map(|host| Component::Host((*host).to_owned())).collect();
    if let [a, b] = attempt.hosts.iter().copied().collect::<Vec<_>>()[..] {
        components.push(Component::Connection(format!("{a} > {b}")));
    }
    let advice =
        "not enough evidence to say which: run the same test again, and each of its hosts with another one";
    let components = if attempt.hosts.len() > HOSTS { Vec::new() } else { components };
    let confidence = if components.is_empty() { 0.0 } else { LITTLE };
    finding(&[attempt], components, confidence, evidence, advice)
}

/// Lines of evidence of single tests.
fn lines(attempts: &[&Attempt<'_>]) -> Vec<Evidence> {
    let all = attempts.iter().flat_map(|attempt| attempt.failed.iter().map(move |failed| (attempt, failed)));
    all.take(LINES)
        .map(|(attempt, (test, failure))| {
            let name = if test.name.is_empty() { "a test" } else { &test.name };
            let hosts: Vec<&str> = attempt.hosts.iter().take(HOSTS).copied().collect();
            let more = if attempt.hosts.len() > HOSTS { ", …" } else { "" };
            let seen = TestSeen::Failed {
                test: name.to_owned(),
                hosts: format!("{}{more}", hosts.join(", ")),
                end: failure.end.name(),
                after_bytes: failure.after_bytes,
                line: failure.line.clone(),
            };
            Evidence::new(seen, 1.0, 0.0).at(SourceLine::new(attempt.file, failure.number))
        })
        .collect()
}

fn finding(
    attempts: &[&Attempt<'_>],
    components: Vec<Component>,
    confidence: f64,
    evidence: Vec<Evidence>,
    advice: &str,
) -> Finding {
    let ends = || attempts.iter().flat_map(|attempt| &attempt.failed).map(|(_, failure)| failure.end);
    let died = ends().filter(|end| *end == NcclTestEnd::Died).count();
    let (syndrome, faults) = if 2 * died > ends().count() {
        (Syndrome::Crash, vec![FaultKind::GpuError, FaultKind::Crash, FaultKind::Down, FaultKind::Lossy])
    } else {
        (
            Syndrome::CommunicationHang,
            vec![FaultKind::Down, FaultKind::Lossy, FaultKind::Hang, FaultKind::GpuError],
        )
    };
    let evidence = if evidence.is_empty() { lines(attempts) } else { evidence };
    let share = confidence / components.len().max(1) as f64;
    Finding {
        at_ns: 0,
        since: Since::default(),
        syndrome,
        faults,
        suspects: components.into_iter().map(|component| Suspect { component, share }).collect(),
        confidence,
        severity: 1.0,
        cost: None,
        evidence,
        advice: advice.to_owned(),
    }
}

#[cfg(test)]
mod tests;

//! The answer on one screen: what is wrong, who, how sure, what else was seen, what to do next.
//!
//! Findings that are one thing in words, such as eight pairs that are slow alike or two ranks that hold a job up together,
//! are one cause. What follows from a cause stands under it.
use std::collections::BTreeSet;

use railtwin_records::{Component, Evidence, Finding, Syndrome};

use super::Diagnosed;

/// Most lines of the first screen.
pub const LINES: usize = 12;
/// Causes that the first screen shows; the others are counted.
const CAUSES: usize = 3;
/// Names of a cause that a line shows.
const NAMES: usize = 8;

/// Findings that are one thing.
#[derive(Clone, PartialEq, Debug)]
pub struct Cause {
    /// Rows of its findings.
    pub findings: Vec<usize>,
    /// Rows of findings that follow from it.
    pub follows: Vec<usize>,
    /// Least confidence of its findings.
    pub confidence: f64,
}

/// A number for people: whole ones whole, others with three figures.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// A line of evidence for people.
pub fn evidence(line: &Evidence) -> String {
    let unit = if line.unit.is_empty() { String::new() } else { format!(" {}", line.unit) };
    format!("{}: {}{unit}, expected {}", line.what, number(line.value), number(line.expected))
}

/// What a syndrome is, in the words of a first line.
fn words(syndrome: Syndrome) -> &'static str {
    match syndrome {
        Syndrome::CommunicationHang => "does not go on",
        Syndrome::NonCommunicationHang => "the others wait for it",
        Syndrome::CommunicationSlow => "communication is slow",
        Syndrome::NonCommunicationSlow => "comes late again and again",
        Syndrome::Collision => "traffic meets on a link, no fault",
        Syndrome::Crash => "died",
        Syndrome::Latency => "packets take longer than before",
        Syndrome::Unreachable => "does not answer",
        Syndrome::Mismatch => "ranks do not run the same operations",
        _ => "its counters say so",
    }
}

/// Whether one finding follows from another: a slow pair from a host that is slow.
fn follows(cause: &Finding, other: &Finding) -> bool {
    if cause.syndrome != other.syndrome || other.syndrome != Syndrome::CommunicationSlow {
        return false;
    }
    let (true, [suspect]) = (cause.accuses(), &cause.suspects[..]) else { return false };
    let Component::Host(host) = &suspect.component else { return false };
    let at_host = |component: &Component| match component {
        Component::Connection(pair) => pair.split(" > ").any(|end| end == host),
        _ => false,
    };
    !other.suspects.is_empty() && other.suspects.iter().all(|suspect| at_host(&suspect.component))
}

/// Findings as causes, in the order of the findings: what costs the job most first.
pub fn causes(findings: &[Finding]) -> Vec<Cause> {
    let alike = |a: &Finding, b: &Finding| {
        let kinds = |finding: &Finding| match &finding.suspects[..] {
            [one] => Some(one.component.kind()),
            _ => None,
        };
        let same = (a.accuses(), a.syndrome, &a.advice) == (b.accuses(), b.syndrome, &b.advice);
        same && kinds(a).is_some() && kinds(a) == kinds(b)
    };
    let mut causes: Vec<Cause> = Vec::new();
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for (row, finding) in findings.iter().enumerate() {
        if !taken.insert(row) {
            continue;
        }
        let mut cause = Cause { findings: vec![row], follows: Vec::new(), confidence: finding.confidence };
        for (other, one) in findings.iter().enumerate().skip(row + 1) {
            if taken.contains(&other) {
                continue;
            }
            if alike(finding, one) {
                cause.findings.push(other);
                cause.confidence = cause.confidence.min(one.confidence);
            } else if cause.findings.iter().any(|&of| follows(&findings[of], one)) {
                cause.follows.push(other);
            } else {
                continue;
            }
            taken.insert(other);
        }
        causes.push(cause);
    }
    causes
}

/// Names of some components of one kind, with the kind once.
pub(super) fn who(findings: &[&Finding]) -> String {
    let all: Vec<&Component> = findings
        .iter()
        .flat_map(|finding| finding.suspects.iter().map(|suspect| &suspect.component))
        .collect();
    let Some(first) = all.first() else { return "nobody".into() };
    let name = |component: &&Component| {
        let same = component.kind() == first.kind();
        if same { component.name().to_owned() } else { format!("{} {}", component.kind(), component.name()) }
    };
    let mut names: Vec<String> = all.iter().take(NAMES).map(name).collect();
    if all.len() > NAMES {
        names.push(format!("{} more", all.len() - NAMES));
    }
    let join = if findings.len() > 1 { "and" } else { "or" };
    let last = names.pop().unwrap_or_default();
    let names = if names.is_empty() { last } else { format!("{} {join} {last}", names.join(", ")) };
    format!("{} {names}", first.kind())
}

impl Diagnosed {
    /// Findings as causes.
    pub fn causes(&self) -> Vec<Cause> {
        causes(&self.findings)
    }

    /// The answer on one screen: [`LINES`] lines at most.
    pub fn screen(&self) -> Vec<String> {
        let mut lines = vec![self.sentence()];
        let causes = self.causes();
        for cause in causes.iter().take(CAUSES) {
            let findings: Vec<&Finding> = cause.findings.iter().map(|&row| &self.findings[row]).collect();
            let first = findings[0];
            let follows = match cause.follows.len() {
                0 => String::new(),
                1 => "; 1 finding follows from it".to_owned(),
                count => format!("; {count} findings follow from it"),
            };
            let sure = if first.accuses() { "sure" } else { "not sure" };
            let (what, confidence) = (words(first.syndrome), cause.confidence);
            lines.push(format!("  {}: {what}; {sure}, {confidence:.2}{follows}", who(&findings)));
            if let Some(line) = first.evidence.first() {
                let alike =
                    if findings.len() > 1 { format!(" ({} alike)", findings.len()) } else { String::new() };
                lines.push(format!("    seen: {}{alike}", evidence(line)));
            }
        }
        if causes.len() > CAUSES {
            let more = causes.len() - CAUSES;
            lines.push(format!("  and {more} more cause{}", if more == 1 { "" } else { "s" }));
        }
        let first = causes.first().map(|cause| &self.findings[cause.findings[0]]);
        let next = first
            .filter(|finding| !finding.advice.is_empty())
            .map(|finding| format!("next: {}", finding.advice));
        let more = (!self.findings.is_empty() || !self.files.is_empty()).then(|| {
            let count =
                |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (findings, files) = (count(self.findings.len(), "finding"), count(self.files.len(), "file"));
            format!("more: --all has {findings} with all evidence and {files}, --json everything")
        });
        let left = LINES - lines.len() - usize::from(next.is_some()) - usize::from(more.is_some());
        let known = self
            .unread
            .iter()
            .filter(|file| file.known)
            .map(|file| format!("{}: {}", file.source, file.reason));
        let also: Vec<String> = known.chain(self.notes.iter().cloned()).collect();
        lines.extend(also.iter().take(left.min(4)).map(|note| format!("also: {note}")));
        lines.extend(next);
        lines.extend(more);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_records::Suspect;

    fn finding(syndrome: Syndrome, component: Component, advice: &str) -> Finding {
        Finding {
            at_ns: 0,
            since_ns: 0,
            syndrome,
            faults: Vec::new(),
            suspects: vec![Suspect { component, share: 0.9 }],
            confidence: 0.9,
            severity: 1.0,
            evidence: Vec::new(),
            advice: advice.into(),
        }
    }

    #[test]
    fn what_is_alike_is_one_cause_and_pairs_follow_from_their_host() {
        let pair = |a: &str, b: &str| Component::Connection(format!("{a} > {b}"));
        let findings = [
            finding(Syndrome::CommunicationSlow, Component::Host("b".into()), "look"),
            finding(Syndrome::CommunicationSlow, pair("a", "b"), "ports"),
            finding(Syndrome::CommunicationSlow, pair("c", "d"), "ports"),
            finding(Syndrome::CommunicationSlow, pair("e", "f"), "ports"),
            finding(Syndrome::CommunicationSlow, pair("c", "f"), "counters"),
        ];
        let causes = causes(&findings);
        let rows: Vec<(Vec<usize>, Vec<usize>)> =
            causes.iter().map(|cause| (cause.findings.clone(), cause.follows.clone())).collect();
        assert_eq!(rows, [(vec![0], vec![1]), (vec![2, 3], vec![]), (vec![4], vec![])]);
        let two: Vec<&Finding> = [2, 3].map(|row| &findings[row]).into();
        assert_eq!(who(&two), "connection c > d and e > f");
    }
}

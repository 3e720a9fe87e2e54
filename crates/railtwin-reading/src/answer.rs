//! The answer on one screen: what is wrong, who, how sure, what else was seen, what to do next.
//!
//! Findings that are one thing in words, such as eight pairs that are slow alike or two ranks that hold a job up together,
//! are one cause. What follows from a cause stands under it.
pub mod json_of;

use std::cmp::Ordering;
use std::collections::BTreeSet;

use railtwin_records::{Component, Directory, Evidence, FaultKind, Finding, RankInfo, Syndrome};

use super::{Diagnosed, words};

/// Most lines of the first screen.
pub const LINES: usize = 12;
/// Causes that the first screen shows; the others are counted.
pub const CAUSES: usize = 3;
/// Lines of evidence of the first cause, and notes.
pub const FIRST_EVIDENCE: usize = 2;
/// Notes that the first screen shows.
pub const NOTES: usize = 4;
/// Names of a cause that a line shows, and their characters.
const NAMES: usize = 8;
const NAMES_WIDE: usize = 64;
/// Characters of a line, unless one name is longer.
const WIDE: usize = 110;

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

/// A cause in the words of the first screen.
#[derive(Clone, PartialEq, Debug)]
pub struct Told {
    /// Who, such as `rank job/12 and job/14`.
    pub who: String,
    /// What is wrong with them, how sure that is, and what follows: `died; sure, 0.95`.
    pub what: String,
    /// The lines of evidence that decide.
    pub seen: Vec<String>,
}

/// A number for people: whole ones whole, others with three figures.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// Rows of evidence, those that decide first. Those that decide alike stay in their order, one of each table before the
/// second of any.
pub fn deciding_rows(finding: &Finding) -> Vec<usize> {
    let lines = &finding.evidence;
    let mut rows: Vec<usize> = (0..lines.len()).collect();
    rows.sort_by_key(|&row| std::cmp::Reverse(lines[row].weight()));
    let mut tables = BTreeSet::new();
    let (first, more): (Vec<usize>, Vec<usize>) =
        rows.into_iter().partition(|&row| tables.insert(lines[row].table));
    first.into_iter().chain(more).collect()
}

/// The lines of evidence that decide, the first the most.
fn deciding(finding: &Finding) -> Vec<&Evidence> {
    deciding_rows(finding).into_iter().map(|row| &finding.evidence[row]).collect()
}

/// How sure, in a word.
pub fn sure(confidence: f64, accuses: bool) -> &'static str {
    match confidence {
        _ if !accuses => "not proved",
        sure if sure >= 0.9 => "sure",
        likely if likely >= 0.7 => "likely",
        _ => "may be",
    }
}

/// A text as lines of [`WIDE`] characters, broken between words; from the second on they are indented as the first and two
/// more. What is beyond `most` lines is left off, with a sign.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let indent = text.len() - text.trim_start().len();
    let mut lines: Vec<String> = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let begun = !line.trim_start().is_empty();
        if begun && line.chars().count() + 1 + word.chars().count() > WIDE {
            lines.push(format!("{}{word}", " ".repeat(indent + 2)));
        } else {
            if begun {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            last.push_str(" …");
        }
    }
    lines
}

/// A line of evidence for people.
pub fn evidence(line: &Evidence) -> String {
    format!("{}: {}", line.words(), measured(line))
}

/// The figures of a line of evidence: `3 ranks, expected 0`.
pub fn measured(line: &Evidence) -> String {
    let unit = unit(line);
    if line.is_operation_number() {
        // The number of one operation, and no count.
        let (number, expected) = (number(line.value), number(line.expected));
        return if number == expected {
            format!("{unit} {number}")
        } else {
            format!("{unit} {number}, expected {expected}")
        };
    }
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{space}{unit}, expected {}", number(line.value), number(line.expected))
}

/// The unit of a line of evidence beside its value: of one thing the singular.
pub fn unit(line: &Evidence) -> &str {
    let unit = line.unit;
    // Units of time are no plurals, and neither are rates.
    let is_word = unit.len() > 2 && unit.chars().all(|sign| sign.is_ascii_alphabetic() || sign == ' ');
    if !is_word || line.value != 1.0 {
        return unit;
    }
    let hisses = ["sses", "ches", "shes", "xes"].iter().any(|end| unit.ends_with(end));
    unit.strip_suffix("es").filter(|_| hisses).or_else(|| unit.strip_suffix('s')).unwrap_or(unit)
}

/// Whether one finding follows from another: a slow pair from a host that is slow, and what tests at a host show from what
/// its own counters, logs or ranks tell of it.
fn follows(cause: &Finding, other: &Finding, directory: &Directory) -> bool {
    if !cause.accuses() || other.suspects.is_empty() {
        return false;
    }
    if is_of_tests(other) && !is_of_tests(cause) {
        // Who computes slowly does not keep tests from their end.
        let is_late = cause.syndrome == Syndrome::NonCommunicationSlow;
        let fails = other.syndrome != Syndrome::CommunicationSlow;
        let at: BTreeSet<String> = hosts_of(cause, directory);
        if at.is_empty() || is_late && fails {
            return false;
        }
        return !hosts_of(other, directory).is_disjoint(&at);
    }
    let is_delay = |finding: &Finding| finding.faults.first() == Some(&FaultKind::Latency);
    let of_delay = cause.syndrome == Syndrome::Latency && is_delay(other);
    if !of_delay && cause.syndrome != other.syndrome || other.syndrome != Syndrome::CommunicationSlow {
        return false;
    }
    let [suspect] = &cause.suspects[..] else { return false };
    let Component::Host(host) = &suspect.component else { return false };
    let at_host = |component: &Component| match component {
        Component::Connection(pair) => pair.split(" > ").any(|end| end == host),
        _ => false,
    };
    other.suspects.iter().all(|suspect| at_host(&suspect.component))
}

/// Whether a finding rests on tests made apart from the job.
fn is_of_tests(finding: &Finding) -> bool {
    !finding.evidence.is_empty() && finding.evidence.iter().all(|line| line.table == "nccl-tests")
}

/// Hosts at which the suspects of a finding are.
fn hosts_of(finding: &Finding, directory: &Directory) -> BTreeSet<String> {
    let of_end = |end: &str| end.split(['/', ':']).next().unwrap_or(end).to_owned();
    let of = |suspect: &railtwin_records::Suspect| match &suspect.component {
        Component::Rank(name) => host_of_rank(name, directory).into_iter().collect(),
        Component::Host(name) | Component::Gpu(name) | Component::Nic(name) | Component::Cable(name) => {
            vec![of_end(name)]
        }
        Component::Link(name) | Component::Connection(name) => name.split(" > ").map(of_end).collect(),
        _ => Vec::new(),
    };
    finding.suspects.iter().flat_map(of).collect()
}

fn host_of_rank(name: &str, directory: &Directory) -> Option<String> {
    let (job, rank) = name.rsplit_once('/')?;
    let rank: u32 = rank.parse().ok()?;
    let is_it = |info: &&RankInfo| {
        info.rank == rank && directory.jobs.get(info.job as usize).is_some_and(|known| known == job)
    };
    let info = directory.ranks.iter().find(is_it)?;
    directory.hosts.get(info.host as usize).map(|host| host.name.clone())
}

/// What a finding costs the job: first whether it keeps the job from going on, or makes its numbers wrong (3); then whether
/// something was measured to take longer (2); then errors that are counted and whose cost is not known (1); traffic that
/// meets is no fault (0). Within each the severity: the share of the job's time, of a bandwidth or of what is counted that
/// is lost.
pub fn cost(finding: &Finding) -> (u8, f64) {
    use Syndrome::{
        Collision, CommunicationHang, CommunicationSlow, Counter, Crash, Latency, Mismatch,
        NonCommunicationHang, NonCommunicationSlow, Unreachable,
    };
    let gone = |fault: &FaultKind| matches!(fault, FaultKind::Down | FaultKind::Crash | FaultKind::GpuError);
    let class = match finding.syndrome {
        CommunicationHang | NonCommunicationHang | Crash | Mismatch | Unreachable => 3,
        Counter if finding.faults.first().is_some_and(gone) => 3,
        CommunicationSlow | NonCommunicationSlow | Latency => 2,
        Collision => 0,
        _ => 1,
    };
    (class, finding.weight())
}

/// The dearest first; who is accused before who is not.
pub fn by_cost(a: &Finding, b: &Finding) -> Ordering {
    let ((class_a, share_a), (class_b, share_b)) = (cost(a), cost(b));
    b.accuses()
        .cmp(&a.accuses())
        .then(class_b.cmp(&class_a))
        .then(share_b.total_cmp(&share_a))
        .then(b.confidence.total_cmp(&a.confidence))
        .then(a.at_ns.cmp(&b.at_ns))
}

/// Findings as causes, what costs the job most first: a cause costs what the dearest of its findings and of those that
/// follow from it costs ([`cost`]).
pub fn causes(findings: &[Finding], directory: &Directory) -> Vec<Cause> {
    let alike = |a: &Finding, b: &Finding| {
        let kinds = |finding: &Finding| match &finding.suspects[..] {
            [one] => Some(one.component.kind()),
            _ => None,
        };
        let same = (a.accuses(), a.syndrome, &a.advice) == (b.accuses(), b.syndrome, &b.advice);
        // A link that is down is not like one that flaps, nor one Xid like another.
        let counted = |finding: &Finding| (finding.faults.first().copied(), words::xid(finding));
        let same = same && (a.syndrome != Syndrome::Counter || counted(a) == counted(b));
        same && kinds(a).is_some() && kinds(a) == kinds(b)
    };
    // What follows from something else is no cause: the first that explains it.
    let first_cause = |row: usize| {
        let explains = |&of: &usize| of != row && follows(&findings[of], &findings[row], directory);
        (0..findings.len()).find(explains)
    };
    let mut from: Vec<Option<usize>> = (0..findings.len()).map(first_cause).collect();
    for row in 0..from.len() {
        // Of two that follow from each other the first is the cause.
        if from[row].is_some_and(|of| from[of].is_some() && of > row) {
            from[row] = None;
        }
    }
    let mut causes: Vec<Cause> = Vec::new();
    for (row, finding) in findings.iter().enumerate().filter(|(row, _)| from[*row].is_none()) {
        match causes.iter_mut().find(|cause| alike(&findings[cause.findings[0]], finding)) {
            Some(cause) => {
                cause.findings.push(row);
                cause.confidence = cause.confidence.min(finding.confidence);
            }
            None => causes.push(Cause {
                findings: vec![row],
                follows: Vec::new(),
                confidence: finding.confidence,
            }),
        }
    }
    for row in 0..findings.len() {
        let mut root = from[row];
        // A pair of a slow host whose link is down follows from the link.
        for _ in 0..findings.len() {
            root = root.map(|of| from[of].unwrap_or(of));
        }
        let cause = root.and_then(|root| causes.iter_mut().find(|cause| cause.findings.contains(&root)));
        if let Some(cause) = cause {
            cause.follows.push(row);
        }
    }
    let dearest = |cause: &Cause| {
        let all = cause.findings.iter().chain(&cause.follows).map(|&row| cost(&findings[row]));
        all.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))).unwrap_or((0, 0.0))
    };
    causes.sort_by(|a, b| {
        let (first, second) = (&findings[a.findings[0]], &findings[b.findings[0]]);
        let (dear_a, dear_b) = (dearest(a), dearest(b));
        second
            .accuses()
            .cmp(&first.accuses())
            .then(dear_b.0.cmp(&dear_a.0))
            .then(dear_b.1.total_cmp(&dear_a.1))
            .then_with(|| by_cost(first, second))
    });
    causes
}

/// Names of some components of one kind, with the kind once.
pub fn who(findings: &[&Finding]) -> String {
    let all: Vec<&Component> = findings
        .iter()
        .flat_map(|finding| finding.suspects.iter().map(|suspect| &suspect.component))
        .collect();
    let Some(first) = all.first() else { return "nobody".into() };
    let name = |component: &&Component| {
        let same = component.kind() == first.kind();
        if same { component.name().to_owned() } else { format!("{} {}", component.kind(), component.name()) }
    };
    let mut wide = 0;
    let fits = |shown: &String| {
        wide += shown.len() + 2;
        wide <= NAMES_WIDE
    };
    let mut names: Vec<String> = all.iter().take(NAMES).map(name).take_while(fits).collect();
    if names.is_empty() {
        names.push(name(first));
    }
    if all.len() > names.len() {
        names.push(format!("{} more", all.len() - names.len()));
    }
    let join = if findings.len() > 1 { "and" } else { "or" };
    let last = names.pop().unwrap_or_default();
    let names = if names.is_empty() { last } else { format!("{} {join} {last}", names.join(", ")) };
    format!("{} {names}", first.kind())
}

impl Diagnosed {
    /// Findings as causes.
    pub fn causes(&self) -> Vec<Cause> {
        causes(&self.findings, &self.directory)
    }

    /// The answer on one screen: [`LINES`] lines at most.
    pub fn screen(&self) -> Vec<String> {
        let causes = self.causes();
        let mut lines = wrapped(&self.sentence(), 2);
        let next = self.next_step(&causes).map_or(Vec::new(), |text| wrapped(&format!("next: {text}"), 2));
        let more = (!self.findings.is_empty() || !self.files.is_empty()).then(|| {
            let count =
                |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (findings, files) = (count(self.findings.len(), "finding"), count(self.files.len(), "file"));
            format!("more: --all has {findings} with all evidence and {files}, --json everything")
        });
        let last = LINES - next.len() - usize::from(more.is_some());
        let blocks = self.blocks(&causes, last - lines.len().min(last));
        let more_causes = causes.len() - blocks.len();
        lines.extend(blocks.into_iter().flatten());
        if more_causes > 0 {
            lines.push(format!("  and {more_causes} more cause{}", if more_causes == 1 { "" } else { "s" }));
        }
        for note in self.also().into_iter().take(NOTES) {
            let left = last - lines.len().min(last);
            if left == 0 {
                break;
            }
            lines.extend(wrapped(&format!("also: {note}"), left.min(2)));
        }
        lines.extend(next);
        lines.extend(more);
        lines
    }

    /// What else is to be known: files that could not be read, then notes.
    pub fn also(&self) -> Vec<String> {
        let unread = self.unread.iter().filter(|file| file.known);
        let unread = unread.map(|file| format!("{}: {}", file.source, file.reason));
        unread.chain(self.notes.iter().cloned()).collect()
    }

    /// Lines of the first causes in `room`, one left for how many others there are: of each who, what and how sure, then as
    /// far as there is room what decides it, and what else decides the first.
    fn blocks(&self, causes: &[Cause], room: usize) -> Vec<Vec<String>> {
        let told: Vec<Told> =
            causes.iter().take(CAUSES).filter_map(|cause| self.told(cause, FIRST_EVIDENCE)).collect();
        let mut blocks: Vec<Vec<String>> =
            told.iter().map(|Told { who, what, .. }| wrapped(&format!("  {who}: {what}"), 2)).collect();
        let taken = |blocks: &[Vec<String>]| blocks.iter().map(Vec::len).sum::<usize>();
        let others = |blocks: &[Vec<String>]| usize::from(blocks.len() < causes.len());
        while blocks.len() > 1 && taken(&blocks) + others(&blocks) > room {
            blocks.pop();
        }
        for number in 0..FIRST_EVIDENCE {
            let of = if number == 0 { blocks.len() } else { 1.min(blocks.len()) };
            for row in 0..of {
                let left = room.saturating_sub(taken(&blocks) + others(&blocks));
                if let Some(line) = told[row].seen.get(number).filter(|_| left > 0) {
                    let line = wrapped(&format!("    seen: {line}"), left.min(2));
                    blocks[row].extend(line);
                }
            }
        }
        blocks
    }

    /// A cause in words, with so many lines of evidence at most.
    pub fn told(&self, cause: &Cause, evidence_lines: usize) -> Option<Told> {
        let findings: Vec<&Finding> = cause.findings.iter().map(|&row| &self.findings[row]).collect();
        let first = findings.first()?;
        let of_tests = cause.follows.iter().filter(|row| is_of_tests(&self.findings[**row])).count();
        let follows = match (cause.follows.len(), of_tests) {
            (0, _) => String::new(),
            (1, 1) => "; what tests show at its host follows from it".to_owned(),
            (1, _) => "; 1 finding follows from it".to_owned(),
            (count, _) => format!("; {count} findings follow from it"),
        };
        let (what, confidence) = (words::of_finding(first), cause.confidence);
        let sure = sure(confidence, first.accuses());
        let alike = if findings.len() > 1 { format!(" ({} alike)", findings.len()) } else { String::new() };
        let lines = deciding(first).into_iter().take(evidence_lines).enumerate();
        let seen = lines
            .take_while(|(row, line)| *row == 0 || line.weight() > 0)
            .map(|(_, line)| format!("{}{alike}", evidence(line)))
            .collect();
        Some(Told { who: who(&findings), what: format!("{what}; {sure}, {confidence:.2}{follows}"), seen })
    }

    /// What to do next about the first cause: its advice, or the first action that it asks for.
    pub fn next_step(&self, causes: &[Cause]) -> Option<String> {
        let row = *causes.first()?.findings.first()?;
        let finding = &self.findings[row];
        let action = self.actions.iter().find(|action| action.finding as usize == row);
        let asked = action.map(|action| {
            let (kind, target) = (action.kind.name(), &action.target);
            format!("{kind} {} {}: {}", target.kind(), target.name(), action.reason)
        });
        Some(finding.advice.clone()).filter(|advice| !advice.is_empty()).or(asked)
    }
}

#[cfg(test)]
mod tests;

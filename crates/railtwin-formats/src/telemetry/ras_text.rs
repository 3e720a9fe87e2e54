//! NCCL RAS: what `ncclras` prints for people (NCCL and RCCL from 2.24), as the snapshot that the JSON is.
//!
//! The text names outliers alone: ranks that miss, and those whose status or number of operations few share. Ranks that it
//! only counts are put in where they are the majority, so that who is behind can be told; of a minority that it does not name
//! nothing is said.

use std::collections::{BTreeMap, BTreeSet};

use super::Note;
use super::builder::unknown_host;
use super::names::operation_kind;
use super::skipped::Skipped;
use super::{IN_PROGRESS, RasCommunicator, RasMissingRank, RasRank, RasSnapshot, RasStatus, UNTOLD_ERROR};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "NCCL RAS text";
/// Largest communicator that is believed: no cluster has more GPUs.
const SIZE_MAX: u32 = 4 << 20;

/// Whether a text is what `ncclras` prints.
pub(crate) fn is_ras(text: &str) -> bool {
    let has = |wanted: &str| text.lines().any(|line| line.trim_start().starts_with(wanted));
    has("Job summary") && (has("Communicators...") || has("Group     Comms"))
}

/// A process that a line names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    host: String,
    pid: u64,
    gpu: u32,
}

/// What a section is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Section {
    None,
    /// Processes that do not answer, of the job.
    Silent,
    Dead,
    Timeouts,
    Incomplete,
    Error,
    Mismatch,
}

/// What was read of a communicator.
#[derive(Default)]
struct Part {
    size: u32,
    missing: Vec<RasMissingRank>,
    /// Ranks that are not told apart, of those that miss.
    uncounted: u64,
    named: BTreeMap<u32, Process>,
    /// Status of the ranks that are named next.
    status: String,
    /// Codes of asynchronous errors, by rank, and the one of ranks that are named next.
    errors: BTreeMap<u32, u32>,
    error: Option<u32>,
    /// Status in NCCL's words of ranks that are named.
    statuses: BTreeMap<u32, String>,
    /// By kind of operation: groups of ranks at one count, with how many, and those that are named.
    counts: BTreeMap<String, Vec<(u64, u64, BTreeSet<u32>)>>,
}

/// Reads the text form.
///
/// # Errors
/// A text that names neither communicators nor processes.
pub(super) fn parse_text(source_name: &str, text: &str) -> Result<RasSnapshot, FormatError> {
    let mut reading = Reading { source_name, ..Reading::default() };
    for (line, number) in text.lines().zip(1_u64..) {
        reading.line(line.trim(), number);
    }
    reading.finish()
}

#[derive(Default)]
struct Reading<'a> {
    source_name: &'a str,
    version: String,
    /// Sizes and numbers of communicators of groups.
    groups: Vec<(u32, u32)>,
    /// Statuses and errors of groups that are not `RUNNING` and `OK`.
    unusual: BTreeSet<String>,
    parts: BTreeMap<String, Part>,
    silent: BTreeSet<Process>,
    dead: BTreeSet<Process>,
    timeouts: u64,
    section: Option<Section>,
    hash: String,
    kind: String,
    /// Whether lines before were of the table of groups.
    table: bool,
    notes: Vec<Note>,
    skipped: Skipped,
}

/// The number behind a word.
fn after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(word)?;
    rest.split_whitespace().next()
}

fn number<T: std::str::FromStr>(line: &str, word: &str) -> Option<T> {
    let text = after(line, word)?;
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The process that a line names: `GPU 6 managed by process 12 on node h`, `Process 12 on node h managing GPU 6`.
fn process(line: &str) -> Process {
    let pid = number(line, "process ").or_else(|| number(line, "Process "));
    let host = after(line, "on node ").unwrap_or_default().trim_end_matches([',', '.']);
    let gpu = number(line, "GPU ").or_else(|| number(line, "GPUs "));
    Process { host: host.to_owned(), pid: pid.unwrap_or(0), gpu: gpu.unwrap_or(0) }
}

impl Reading<'_> {
    fn line(&mut self, line: &str, place: u64) {
        for name in ["NCCL version ", "RCCL version "] {
            if let Some(version) = line.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next())
            {
                version.split('+').next().unwrap_or(version).clone_into(&mut self.version);
            }
        }
        if line.starts_with("Group ") {
            self.table = true;
            return;
        }
        if self.table {
            let words: Vec<&str> = line.split_whitespace().collect();
            if line.starts_with('#') && words.len() > 2 && words[1] == "in" {
                return;
            }
            let read = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
            if let (8, Some(_), Some(count), Some(size)) = (words.len(), read(0), read(1), read(4)) {
                self.groups.push((size.min(SIZE_MAX), count));
                self.unusual.extend(
                    words[6..]
                        .iter()
                        .filter(|word| !["RUNNING", "OK"].contains(word))
                        .map(|word| (*word).to_owned()),
                );
                return;
            }
            self.table = false;
        }
        if let Some((hash, kind)) = section(line) {
            self.section = Some(kind);
            // `#0-3` is the group; its size is that of the group.
            let group: usize = number(line, "#").unwrap_or(usize::MAX);
            let size = self.groups.get(group).map_or(0, |(size, _)| *size);
            hash.clone_into(&mut self.hash);
            let part = self.parts.entry(self.hash.clone()).or_default();
            part.size = part.size.max(size);
            return;
        }
        match line {
            "INCOMPLETE" => self.section = Some(Section::Silent),
            "DEAD" => self.section = Some(Section::Dead),
            "TIMEOUT" => self.section = Some(Section::Timeouts),
            "Errors" | "Warnings" => self.section = Some(Section::None),
            _ => self.inside(line, place),
        }
    }

    fn inside(&mut self, line: &str, place: u64) {
        match self.section.unwrap_or(Section::None) {
            Section::None => {}
            Section::Timeouts => self.timeouts = number(line, "Encountered ").unwrap_or(self.timeouts),
            Section::Silent if line.starts_with("Process ") => {
                self.silent.insert(process(line));
            }
            Section::Dead if line.starts_with("Process ") => {
                self.dead.insert(process(line));
            }
            Section::Silent | Section::Dead => {}
            section => self.of_communicator(section, line, place),
        }
    }

    fn of_communicator(&mut self, section: Section, line: &str, place: u64) {
        let Some(part) = self.parts.get_mut(&self.hash) else { return };
        if let Some((_, rest)) = line.split_once("have different ") {
            let kind = rest.split(" operation counts").next().unwrap_or(rest);
            self.kind = if rest.starts_with("status") { String::new() } else { operation_kind(kind) };
            return;
        }
        if section == Section::Incomplete && line.starts_with("Missing ") {
            part.uncounted = number(line, "from ").unwrap_or(0);
            return;
        }
        let rank: Option<u32> =
            line.strip_prefix("Rank ").and_then(|rest| number(&format!("# {rest}"), "# "));
        let operation: Option<u64> = number(line, "launched up to operation ")
            .or_else(|| line.contains("not launched any operation").then_some(0));
        let Some(rank) = rank else {
            // `30 ranks have launched up to operation 640`.
            let many: Option<u64> = line.split_whitespace().next().and_then(|word| word.parse().ok());
            if let (Some(count), Some(operation), false) = (many, operation, self.kind.is_empty()) {
                part.counts.entry(self.kind.clone()).or_default().push((operation, count, BTreeSet::new()));
            }
            part.error = error_code(line);
            part.status = many.and(after(line, "have status ")).unwrap_or_default().to_owned();
            return;
        };
        if rank >= SIZE_MAX || part.size > 0 && rank >= part.size {
            let accepted = format!("the size of its communicator is {}", part.size);
            let error =
                FormatError::new(FORMAT, self.source_name, "is no rank of its communicator", accepted);
            self.skipped.take(error.at_line(place).field("rank").found(&rank.to_string()));
            return;
        }
        let who = process(line);
        match section {
            Section::Incomplete => {
                let (host, pid, gpu) = (who.host, who.pid, who.gpu);
                part.missing.push(RasMissingRank { rank, host, pid, gpu, unresponsive: true, dead: false });
                return;
            }
            Section::Error => {
                part.errors.insert(rank, error_code(line).or(part.error).unwrap_or(UNTOLD_ERROR));
            }
            _ => {
                if let Some(operation) = operation {
                    let groups = part.counts.entry(self.kind.clone()).or_default();
                    groups.push((operation, 1, BTreeSet::from([rank])));
                } else if let Some(status) =
                    after(line, "has status ").or(Some(part.status.as_str()).filter(|it| !it.is_empty()))
                {
                    part.statuses.insert(rank, status.to_owned());
                } else if let Some((_, _, named)) =
                    part.counts.get_mut(&self.kind).and_then(|groups| groups.last_mut())
                {
                    named.insert(rank);
                }
            }
        }
        part.named.insert(rank, who);
    }

    fn finish(mut self) -> Result<RasSnapshot, FormatError> {
        let parts = std::mem::take(&mut self.parts);
        let mut told: BTreeSet<Process> = BTreeSet::new();
        let mut communicators = Vec::new();
        for (hash, part) in parts {
            told.extend(part.missing.iter().map(process_of));
            communicators.push(self.communicator(hash, part));
        }
        // Groups of which all is well are of this size; no more is told.
        for (group, (size, count)) in self.groups.iter().enumerate() {
            let known = communicators.iter().filter(|known| known.size == *size).count() as u32;
            for one in known..(*count).min(known.saturating_add(64)) {
                let hash = format!("group {group}, communicator {one}");
                communicators.push(RasCommunicator {
                    hash,
                    size: *size,
                    ranks: Vec::new(),
                    missing: Vec::new(),
                });
            }
        }
        // Processes of which no communicator is told: their ranks are not known.
        let more: Vec<&Process> = self.silent.union(&self.dead).filter(|one| !told.contains(*one)).collect();
        if !more.is_empty() {
            let missing = more.iter().zip(0_u32..).map(|(one, rank)| RasMissingRank {
                rank,
                host: one.host.clone(),
                pid: one.pid,
                gpu: one.gpu,
                unresponsive: true,
                dead: self.dead.contains(*one),
            });
            let missing: Vec<RasMissingRank> = missing.collect();
            // Its size is 0, so that it numbers no ranks.
            let hash = "processes of the job".to_owned();
            communicators.push(RasCommunicator { hash, size: 0, ranks: Vec::new(), missing });
        }
        if communicators.is_empty() {
            let none = || {
                let accepted = "give all that ncclras prints, from `Job summary` on";
                FormatError::new(FORMAT, self.source_name, "names no communicator and no process", accepted)
            };
            return Err(self.skipped.all().unwrap_or_else(none));
        }
        let says = communicators.iter().any(|one| !one.ranks.is_empty() || !one.missing.is_empty());
        if !says && !self.unusual.is_empty() {
            self.notes.push(Note::CommunicatorsAlone { states: self.unusual.iter().cloned().collect() });
        }
        Ok(RasSnapshot {
            nccl_version: self.version,
            timestamp: String::new(),
            communicators,
            timeouts: self.timeouts,
            notes: self.notes,
            skipped: self.skipped,
        })
    }

    fn communicator(&mut self, hash: String, mut part: Part) -> RasCommunicator {
        for missing in &mut part.missing {
            missing.dead = self.dead.contains(&process_of(missing));
            if missing.host.is_empty() {
                missing.host = unknown_host(missing.rank);
            }
        }
        let untold = part.uncounted.saturating_sub(part.missing.len() as u64);
        if untold > 0 {
            self.notes.push(Note::Text(format!(
                "communicator {hash}: {untold} ranks are missing and not named: ncclras -v names them"
            )));
        }
        let absent: BTreeSet<u32> = part.missing.iter().map(|missing| missing.rank).collect();
        let mut counts: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
        let all: Vec<u32> = (0..part.size.min(1 << 20)).filter(|rank| !absent.contains(rank)).collect();
        for (kind, groups) in &part.counts {
            let named: BTreeSet<u32> =
                groups.iter().flat_map(|(_, _, named)| named.iter().copied()).collect();
            let nameless: Vec<&(u64, u64, BTreeSet<u32>)> =
                groups.iter().filter(|(_, count, named)| (named.len() as u64) < *count).collect();
            // The rest is at one count only where one group is the rest.
            let [(operation, count, _)] = nameless[..] else {
                if !nameless.is_empty() {
                    self.notes.push(Note::Text(format!(
                        "communicator {hash}: ranks differ in the number of {kind}, and the text does not name them: ncclras -v does"
                    )));
                    continue;
                }
                for (operation, _, named) in groups {
                    for rank in named {
                        counts.entry(*rank).or_default().insert(kind.clone(), *operation);
                    }
                }
                continue;
            };
            let rest: Vec<u32> = all.iter().copied().filter(|rank| !named.contains(rank)).collect();
            if rest.len() as u64 != *count {
                self.notes.push(Note::Text(format!(
                    "communicator {hash}: counts of {kind} do not add up to its ranks"
                )));
                continue;
            }
            for rank in rest {
                counts.entry(rank).or_default().insert(kind.clone(), *operation);
            }
            for (operation, _, named) in groups {
                for rank in named {
                    counts.entry(*rank).or_default().insert(kind.clone(), *operation);
                }
            }
        }
        let listed: BTreeSet<u32> = part.named.keys().chain(counts.keys()).copied().collect();
        let ranks = listed.into_iter().map(|rank| {
            let who = part.named.get(&rank).cloned().unwrap_or_default();
            let host = if who.host.is_empty() { unknown_host(rank) } else { who.host };
            let status = RasStatus {
                async_error: part.errors.get(&rank).copied().unwrap_or(0),
                ..status_of(part.statuses.get(&rank).map_or("", String::as_str))
            };
            let counts = counts.get(&rank).cloned().unwrap_or_default();
            RasRank { rank, host, pid: who.pid, gpu: who.gpu, status, counts }
        });
        RasCommunicator { hash, size: part.size, ranks: ranks.collect(), missing: part.missing }
    }
}

/// The code of `ncclResult_t` whose words stand behind `reported`: `Rank 6 reported Invalid usage -- GPU 0 managed by …`,
/// `3 ranks reported Remote process error`.
fn error_code(line: &str) -> Option<u32> {
    let (_, told) = line.split_once(" reported ")?;
    let told = told.split(" -- ").next().unwrap_or(told).to_ascii_lowercase();
    let words = ["cuda", "system", "internal", "argument", "usage", "remote"];
    // Words of another version may be others, and what fits two is neither.
    let mut codes = words.iter().zip(1..).filter(|(word, _)| told.contains(*word));
    let (first, second) = (codes.next(), codes.next());
    Some(first.filter(|_| second.is_none()).map_or(UNTOLD_ERROR, |(_, code)| code))
}

/// A status in NCCL's words.
fn status_of(word: &str) -> RasStatus {
    RasStatus {
        init_state: if word == "INIT" { IN_PROGRESS } else { 0 },
        finalize_called: word == "FINALIZE",
        aborted: word == "ABORT",
        absent: word == "NOCOMM",
        ..RasStatus::default()
    }
}

fn process_of(missing: &RasMissingRank) -> Process {
    Process { host: missing.host.clone(), pid: missing.pid, gpu: missing.gpu }
}

/// The hash and the kind of a section `#0-0 (fa93daea854b060b) MISMATCH`.
fn section(line: &str) -> Option<(&str, Section)> {
    let rest = line.strip_prefix('#')?;
    let (_, rest) = rest.split_once('(')?;
    let (hash, kind) = rest.split_once(')')?;
    let kind = match kind.trim() {
        "INCOMPLETE" => Section::Incomplete,
        "ERROR" => Section::Error,
        "MISMATCH" => Section::Mismatch,
        _ => Section::None,
    };
    Some((hash, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Laid out as NCCL 2.26 does.
    const HEAD: &str = "NCCL version 2.26.2 compiled with CUDA 12.6\nCUDA runtime version 12060, driver version 12060\n\n\
        Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n\
        (total)   per node  per process    (total)  (total)\n      4          8            1         32       32\n\n\
        Communicators... (0.00s)\n=============\n\n\
        Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n\
        \x20   #  in group  per comm  per node  per comm  in group\n";

    fn read(rest: &str) -> RasSnapshot {
        let text = format!("{HEAD}{rest}");
        assert!(is_ras(&text));
        parse_text("ras.txt", &text).expect("a snapshot")
    }

    #[test]
    fn ranks_that_are_ahead_are_few_and_the_others_are_put_in() {
        let found = read(
            "    0         1         4         8        32        32   RUNNING  MISMATCH\n\nErrors\n======\n\nWarnings\n\
             ========\n\n#0-0 (fa93daea854b060b) MISMATCH\n  Communicator ranks have different AllGather operation counts\n\
             \x20 30 ranks have launched up to operation 640\n  2 ranks have launched up to operation 641\n\
             \x20 Rank 12 -- GPU 4 managed by process 323032 on node 10.0.0.4\n\
             \x20 Rank 13 -- GPU 5 managed by process 323033 on node 10.0.0.4\n",
        );
        let one = &found.communicators[0];
        assert_eq!((found.nccl_version.as_str(), one.size, one.ranks.len()), ("2.26.2", 32, 32));
        let of = |rank: usize| (one.ranks[rank].counts["all-gather"], one.ranks[rank].gpu);
        assert_eq!((of(0), of(12), of(13)), ((640, 0), (641, 4), (641, 5)));
        assert_eq!(one.behind().len(), 30);
    }

    #[test]
    fn who_is_gone_dead_or_wrong_is_named() {
        let found = read(
            "    0         1         4         8        32        30   RUNNING  INCOMPLETE,ERROR\n\nErrors\n======\n\n\
             INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 11 on node h1 managing GPU 6\n\nDEAD\n\
             \x20 1 job process is considered dead (unreachable via the RAS network)\n  Process 12 on node h2 managing GPU 7\n\n\
             #0-0 (3b2f) INCOMPLETE\n  Missing communicator data from 2 ranks\n\
             \x20 Rank 6 -- GPU 6 managed by process 11 on node h1\n  Rank 15 -- GPU 7 managed by process 12 on node h2\n\n\
             #0-0 (3b2f) ERROR\n  Asynchronous error on 1 rank\n  Rank 3 -- GPU 3 managed by process 8 on node h1\n\n\
             Warnings\n========\n\nTIMEOUT\n  Encountered 2 communication timeouts while gathering communicator data\n",
        );
        let [one] = &found.communicators[..] else { panic!("{found:?}") };
        let missing: Vec<(u32, &str, bool)> =
            one.missing.iter().map(|it| (it.rank, it.host.as_str(), it.dead)).collect();
        assert_eq!(missing, [(6, "h1", false), (15, "h2", true)]);
        assert_eq!(
            (one.ranks[0].rank, one.ranks[0].status.async_error, found.timeouts),
            (3, UNTOLD_ERROR, 2)
        );
    }

    /// Lines as NCCL 2.28.9 prints them.
    #[test]
    fn what_a_rank_reports_is_its_code() {
        let found = read(
            "    0         1         4         8        32        32   RUNNING  ERROR\n\nErrors\n======\n\n\
             #0-0 (3b2f) ERROR\n  Asynchronous errors on 4 ranks\n  2 ranks reported Remote process error\n\
             \x20 Rank 3 -- GPU 3 managed by process 8 on node h1\n  Rank 4 -- GPU 4 managed by process 9 on node h1\n\
             \x20 Rank 6 reported Invalid usage -- GPU 6 managed by process 11 on node h1\n\
             \x20 Rank 7 reported Something else -- GPU 7 managed by process 12 on node h1\n",
        );
        let errors: Vec<(u32, u32)> =
            found.communicators[0].ranks.iter().map(|one| (one.rank, one.status.async_error)).collect();
        assert_eq!(errors, [(3, 6), (4, 6), (6, 5), (7, UNTOLD_ERROR)]);
    }

    #[test]
    fn a_minority_that_nobody_names_is_not_made_up() {
        let found = read(
            "    0         1         4         8        32        32   RUNNING  MISMATCH\n\n#0-0 (fa) MISMATCH\n\
             \x20 Communicator ranks have different AllReduce operation counts\n  20 ranks have launched up to operation 9\n\
             \x20 12 ranks have launched up to operation 8\n",
        );
        assert!(found.communicators[0].ranks.is_empty());
        assert!(found.notes[0].to_string().contains("ncclras -v"), "{:?}", found.notes);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(rest in concat!(
            "(Rank |#0-0 \\(f\\) |MISMATCH|INCOMPLETE|ERROR|DEAD|TIMEOUT| ranks have launched up to operation |Process ",
            "|on node |GPU |have different |[0-9]{0,11}|[ \n])",
            "{0,60}",
        )) {
            let table = "    0         1         4         8        32        32   RUNNING  MISMATCH\n";
            if let Ok(snapshot) = parse_text("t", &format!("{HEAD}{table}{rest}")) {
                for one in &snapshot.communicators {
                    prop_assert!(one.size == 0 || one.ranks.iter().all(|rank| rank.rank < one.size));
                    let _ = one.behind();
                }
            }
        }
    }
}

//! Where evidence stands: the file, and the line or entry in it, for whoever wants to look for themselves.
//!
//! Findings say in words what they rest on; here the words are led back to what was read. A line of evidence that names a file
//! and a line leads there. Of results of tests it is the lines of those hosts, test and size; of dumps the entries of the ranks
//! that it names; of anything else the files that hold such records, those named after a suspect's host first.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::hang::dumps::DumpedGroup;
use railtwin_formats::telemetry::{FlightRecorderDump, FlightState, Format, Merged, NcclTest};
use railtwin_records::{Component, Evidence, Finding};

/// Sources of a line that are kept; the others are counted.
const KEPT: usize = 12;

/// A place in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Source {
    /// The file.
    pub file: String,
    /// Where in it, such as `line 37` or `entry 12`; empty for the whole of it.
    pub place: String,
}

/// Where one line of evidence stands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sources {
    /// The first of them.
    pub first: Vec<Source>,
    /// How many there are.
    pub count: usize,
}

impl Sources {
    fn of(all: impl IntoIterator<Item = Source>) -> Self {
        let mut seen = BTreeSet::new();
        let mut told = Self::default();
        for source in all {
            if seen.insert(source.clone()) {
                told.count += 1;
                if told.first.len() < KEPT {
                    told.first.push(source);
                }
            }
        }
        told
    }
}

/// Where the evidence of each finding stands, line by line.
pub(super) fn sources_of(findings: &[Finding], merged: &Merged, run: bool) -> Vec<Vec<Sources>> {
    let index = Index::of(merged, run);
    let of_finding = |finding: &Finding| {
        let hosts = hosts_of(finding);
        finding.evidence.iter().map(|line| index.of_line(finding, &hosts, line)).collect()
    };
    findings.iter().map(of_finding).collect()
}

/// What was read, as it is looked up.
struct Index<'a> {
    merged: &'a Merged,
    run: bool,
    files: BTreeSet<&'a str>,
    /// Tests by each of their hosts, with their files.
    tests: BTreeMap<&'a str, Vec<(&'a str, &'a NcclTest)>>,
    /// Dumps by rank, with their files.
    dumps: BTreeMap<u32, Vec<(&'a str, &'a FlightRecorderDump)>>,
}

impl<'a> Index<'a> {
    fn of(merged: &'a Merged, run: bool) -> Self {
        let mut tests: BTreeMap<&str, Vec<(&str, &NcclTest)>> = BTreeMap::new();
        for (file, of) in &merged.nccl_tests {
            for test in of {
                let hosts: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
                hosts.into_iter().for_each(|host| tests.entry(host).or_default().push((file, test)));
            }
        }
        let mut dumps: BTreeMap<u32, Vec<(&str, &FlightRecorderDump)>> = BTreeMap::new();
        for (file, dump) in merged.flight_files.iter().zip(&merged.flight_recorder) {
            dumps.entry(dump.rank).or_default().push((file, dump));
        }
        let files = merged.files.iter().map(|file| file.source.as_str()).collect();
        Self { merged, run, files, tests, dumps }
    }

    fn of_line(&self, finding: &Finding, hosts: &BTreeSet<String>, line: &Evidence) -> Sources {
        if self.run {
            let file = format!("{}.parquet", line.table);
            return Sources::of([Source { file, place: String::new() }]);
        }
        let named = self.named(&line.what);
        if !named.is_empty() {
            return Sources::of(named);
        }
        let found = match line.table {
            "dumps" => self.of_dumps(finding, line),
            "nccl-tests" => self.of_tests(hosts, line),
            "logs" | "counters" => self.of_logs(hosts),
            _ => Vec::new(),
        };
        if found.is_empty() { Sources::of(self.of_files(hosts, line.table)) } else { Sources::of(found) }
    }

    /// Files and lines that the words themselves name: `(node1.log:37: …)`.
    fn named(&self, what: &str) -> Vec<Source> {
        let mut found = Vec::new();
        for (at, _) in what.match_indices(':') {
            let after = &what[at + 1..];
            let digits = after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len());
            if digits == 0 {
                continue;
            }
            let before = &what[..at];
            let begins = before.match_indices(['(', ' ']).map(|(begin, _)| begin + 1).chain([0]);
            let file = begins.map(|begin| &before[begin..]).find(|name| self.files.contains(name));
            found.extend(
                file.map(|file| Source {
                    file: file.to_owned(),
                    place: format!("line {}", &after[..digits]),
                }),
            );
        }
        found
    }

    /// Entries of the ranks that a line names, or of the suspects: of the communicator that it names, else what is open first.
    fn of_dumps(&self, finding: &Finding, line: &Evidence) -> Vec<Source> {
        let mut ranks = ranks_in(&line.what);
        if ranks.is_empty() {
            ranks = finding.suspects.iter().filter_map(|suspect| rank_of(&suspect.component)).collect();
        }
        let dumps = ranks.iter().flat_map(|rank| self.dumps.get(rank).into_iter().flatten());
        dumps.map(|(file, dump)| Source { file: (*file).to_owned(), place: place_in(dump, line) }).collect()
    }

    /// Lines of results of the hosts that a line names, or of the suspects' hosts.
    fn of_tests(&self, hosts: &BTreeSet<String>, line: &Evidence) -> Vec<Source> {
        let words = Words::of(&line.what);
        let named: BTreeSet<&str> = self.tests.keys().copied().filter(|host| words.has(host)).collect();
        let wanted: BTreeSet<&str> =
            if named.is_empty() { hosts.iter().map(String::as_str).collect() } else { named };
        let Some(first) = wanted.first() else { return Vec::new() };
        let size = words.before("bytes").and_then(|bytes| bytes.parse::<u64>().ok());
        let is_about_failures = matches!(line.unit, "logs" | "tests");
        // A list of hosts is of no single test: those of any of them.
        let between = wanted.len() == 2;
        let begin: Vec<&str> = if between { vec![first] } else { wanted.iter().copied().collect() };
        let mut found = Vec::new();
        for (file, test) in begin.iter().filter_map(|host| self.tests.get(host)).flatten() {
            let of_test: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
            let is_it = !between || of_test == wanted;
            let is_named = size.is_none() || words.has(&test.name);
            if !is_it || !is_named {
                continue;
            }
            let place = |place: String| Source { file: (*file).to_owned(), place };
            if is_about_failures {
                found.extend(test.failure.as_ref().map(|failure| place(format!("line {}", failure.number))));
                continue;
            }
            let rows = test.results.iter().filter(|row| size.is_none_or(|bytes| row.bytes == bytes));
            let lines: Vec<u64> = rows.map(|row| row.line).filter(|line| *line > 0).collect();
            match (lines.iter().min(), lines.iter().max()) {
                (Some(first), Some(last)) if first == last => found.push(place(format!("line {first}"))),
                (Some(first), Some(last)) => found.push(place(format!("lines {first} to {last}"))),
                _ if test.results.is_empty() => {}
                _ => found.push(place(String::new())),
            }
        }
        found
    }

    /// Lines of logs of the suspects' hosts.
    fn of_logs(&self, hosts: &BTreeSet<String>) -> Vec<Source> {
        let mut found = Vec::new();
        for (file, log) in &self.merged.logs {
            let of = log
                .events
                .iter()
                .filter(|event| event.host.as_ref().is_some_and(|host| hosts.contains(host)));
            found
                .extend(of.map(|event| Source { file: file.clone(), place: format!("line {}", event.line) }));
        }
        found
    }

    /// Files that hold records of a table: of those the ones named after a suspect's host, where there are such.
    fn of_files(&self, hosts: &BTreeSet<String>, table: &str) -> Vec<Source> {
        let all: Vec<&str> = (self.merged.files.iter())
            .filter(|file| holds(file.format, table))
            .map(|file| file.source.as_str())
            .collect();
        let own = |file: &&&str| {
            let words = Words::of(file);
            hosts.iter().any(|host| words.has(host))
        };
        let named: Vec<&str> = all.iter().filter(own).copied().collect();
        let told = if named.is_empty() { all } else { named };
        told.into_iter().map(|file| Source { file: file.to_owned(), place: String::new() }).collect()
    }
}

/// Words of a text, as names of hosts and tests stand in it.
struct Words<'a>(Vec<&'a str>);

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let ends = |letter: char| !(letter.is_alphanumeric() || matches!(letter, '-' | '.' | '_'));
        let mut words: Vec<&str> = Vec::new();
        for word in text.split(ends) {
            let word = word.trim_matches('.');
            words.push(word);
            // Names of files join hosts by underscores and end in a suffix.
            words.extend(word.split(['_', '.']).filter(|part| *part != word));
        }
        Self(words)
    }

    fn has(&self, name: &str) -> bool {
        !name.is_empty() && self.0.contains(&name)
    }

    fn before(&self, name: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|word| *word == name)?;
        self.0.get(at.checked_sub(1)?).copied()
    }
}

/// Hosts of the suspects.
fn hosts_of(finding: &Finding) -> BTreeSet<String> {
    let of_end = |end: &str| end.split(['/', ':']).next().unwrap_or(end).to_owned();
    let of = |component: &Component| match component {
        Component::Host(name) | Component::Gpu(name) | Component::Nic(name) | Component::Cable(name) => {
            vec![of_end(name)]
        }
        Component::Link(name) | Component::Connection(name) => name.split(" > ").map(of_end).collect(),
        _ => Vec::new(),
    };
    finding.suspects.iter().flat_map(|suspect| of(&suspect.component)).collect()
}

fn rank_of(component: &Component) -> Option<u32> {
    match component {
        Component::Rank(name) => name.rsplit('/').next()?.parse().ok(),
        _ => None,
    }
}

/// Ranks that a sentence names: `rank 12`, and lists after a colon such as `…: 3, 4, and 2 more`.
fn ranks_in(what: &str) -> BTreeSet<u32> {
    let words: Vec<&str> =
        what.split([' ', ',', ':', ';', '(', ')']).filter(|word| !word.is_empty()).collect();
    let after = words.windows(2).filter(|two| two[0] == "rank").filter_map(|two| two[1].parse().ok());
    let mut ranks: BTreeSet<u32> = after.collect();
    if ranks.is_empty()
        && what.starts_with("ranks ")
        && let Some((_, list)) = what.rsplit_once(": ")
    {
        ranks.extend(list.split(", ").filter_map(|word| word.parse::<u32>().ok()));
    }
    ranks
}

/// Where in a dump a line of evidence stands.
fn place_in(dump: &FlightRecorderDump, line: &Evidence) -> String {
    let shown = |row: usize| {
        dump.groups.get(row).map(|group| {
            let (name, description) = (group.name.clone(), group.description.clone());
            DumpedGroup { name, description, ranks: Vec::new() }.shown()
        })
    };
    // Whole words alone: group 4 is not meant where group 41 is.
    let is_meant = |row: usize| {
        shown(row).is_some_and(|name| {
            line.what.match_indices(&name).any(|(at, _)| {
                !line.what[at + name.len()..].starts_with(|letter: char| letter.is_alphanumeric())
            })
        })
    };
    let open = || (1..).zip(&dump.entries).filter(|(_, entry)| entry.state != FlightState::Completed);
    let number = |entry: &u64| *entry as f64 == line.value || *entry as f64 == line.expected;
    let of_group = open().filter(|(_, entry)| is_meant(entry.group));
    let entry =
        of_group.clone().find(|(_, entry)| number(&entry.sequence)).or_else(|| of_group.clone().next());
    if let Some((row, _)) = entry {
        return format!("entry {row} of {}", dump.entries.len());
    }
    match dump.status.iter().find(|status| is_meant(status.group)) {
        Some(status) => {
            let group = dump.groups.get(status.group).map_or("", |group| group.name.as_str());
            format!("pg_status of {group}")
        }
        None => open()
            .min_by_key(|(_, entry)| entry.record)
            .map_or(String::new(), |(row, _)| format!("entry {row} of {}", dump.entries.len())),
    }
}

/// Whether files of a format hold records of a table.
fn holds(format: Format, table: &str) -> bool {
    use Format::{
        ClusterLog, CounterListing, Dcgm, Ethtool, FlightRecorder, Kineto, MlperfLog, NcclInspector, NcclRas,
        NcclTestsJson, NcclTestsLog, NodeExporter, Parquet, Perftest, PerftestJson, ProbeTable,
        RdmaStatistic, StepsCsv, SysfsTree, TcpInfo, TrainingLog, XpuTimer,
    };
    match table {
        "dumps" => format == FlightRecorder,
        "nccl-tests" => matches!(format, NcclTestsLog | NcclTestsJson),
        "perftest" => matches!(format, Perftest | PerftestJson),
        "logs" => matches!(format, ClusterLog | NcclTestsLog),
        "ras" => format == NcclRas,
        "steps" => matches!(format, StepsCsv | MlperfLog | TrainingLog),
        "xpu_timer" => format == XpuTimer,
        "tcp-info" => format == TcpInfo,
        "probes" => matches!(format, ProbeTable | TcpInfo | Perftest | PerftestJson),
        "operations" | "messages" | "computation" => {
            matches!(format, Kineto | NcclInspector | Parquet | FlightRecorder)
        }
        "counters" => matches!(
            format,
            Dcgm | NodeExporter
                | Ethtool
                | RdmaStatistic
                | CounterListing
                | SysfsTree
                | ClusterLog
                | XpuTimer
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_where_they_are_named() {
        let proof = "rank 12 holds all-gather of TP 41 pending, and rank 13 reports operation 9 as ended";
        assert_eq!(ranks_in(proof), [12, 13].into());
        assert_eq!(
            ranks_in("ranks without a dump, for which the others wait: 3, 40, and 2 more"),
            [3, 40].into()
        );
        assert_eq!(ranks_in("ranks that are within an operation, of 16 in 48 communicators"), [].into());
    }

    #[test]
    fn words_are_names_and_no_parts_of_names() {
        let words =
            Words::of("bandwidth between node-1 and node-12 in all_reduce_perf, 8 GPUs a host, 4096 bytes");
        assert!(words.has("node-1") && words.has("node-12") && words.has("all_reduce_perf"));
        assert!(!words.has("node") && !words.has(""));
        assert_eq!(words.before("bytes"), Some("4096"));
        assert!(Words::of("logs/nccl_node-1_node-2.log").has("node-2"));
    }
}

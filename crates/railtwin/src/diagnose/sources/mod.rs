//! Where evidence stands: the file, and the line or entry in it, for whoever wants to look for themselves.
//!
//! Findings say in words what they rest on; here the words are led back to what was read. A line of evidence that names a file
//! and a line leads there. Of results of tests it is the lines of those hosts, test and size; of dumps the entries of the ranks
//! that it names; of counters the lines of logs that were read as such, and the files that hold counters; of anything else the
//! files that hold such records, those named after a suspect's host first.
mod sentences;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use railtwin_diagnosis::hang::dumps::DumpedGroup;
use railtwin_formats::telemetry::{FlightRecorderDump, FlightState, Format, Merged, NcclTest};
use railtwin_records::{Component, Directory, Evidence, Finding};

use super::logs::Lines;
use sentences::{OfDumps, OfTests, number};

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
pub(super) fn sources_of(
    findings: &[Finding],
    merged: &Merged,
    directory: &Directory,
    run: bool,
) -> Vec<Vec<Sources>> {
    let index = Index::of(merged, directory, run);
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
    /// Bytes of the longest name of a file.
    longest: usize,
    /// Lines of logs that counters were read from.
    lines: Lines,
    /// Tests by each of their hosts, with their files.
    tests: BTreeMap<&'a str, Vec<(&'a str, &'a NcclTest)>>,
    /// Dumps by rank, with their files.
    dumps: BTreeMap<u32, Vec<(&'a str, &'a FlightRecorderDump)>>,
}

impl<'a> Index<'a> {
    fn of(merged: &'a Merged, directory: &Directory, run: bool) -> Self {
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
        let files: BTreeSet<&str> = merged.files.iter().map(|file| file.source.as_str()).collect();
        let longest = files.iter().map(|file| file.len()).max().unwrap_or(0);
        let lines = Lines::of(&merged.logs, &merged.nccl_tests, directory);
        Self { merged, run, files, longest, lines, tests, dumps }
    }

    fn of_line(&self, finding: &Finding, hosts: &BTreeSet<String>, line: &Evidence) -> Sources {
        if self.run {
            let file = format!("{}.parquet", table_of_run(line.table));
            return Sources::of([Source { file, place: String::new() }]);
        }
        if let Some(named) = self.named(&line.what) {
            return Sources::of([named]);
        }
        let found = match line.table {
            "dumps" => self.of_dumps(finding, line),
            "nccl-tests" => self.of_tests(hosts, line),
            // What sums up stands on the lines that are quoted beside it.
            "logs" => finding.evidence.iter().filter_map(|line| self.named(&line.what)).collect(),
            "counters" => self.of_counters(hosts, line),
            _ => Vec::new(),
        };
        if found.is_empty() {
            Sources::of(self.of_files(hosts, line.table, |_| true))
        } else {
            Sources::of(found)
        }
    }

    /// The file and line that the words themselves name, at their beginning or in brackets: `(node1.log:37: …)`.
    fn named(&self, what: &str) -> Option<Source> {
        let begins = what.match_indices('(').map(|(at, _)| at + 1);
        std::iter::once(0).chain(begins).find_map(|begin| self.at_begin(&what[begin..]))
    }

    /// A file and line with which a text begins.
    fn at_begin(&self, text: &str) -> Option<Source> {
        let near = text.bytes().enumerate().take(self.longest + 1);
        near.filter(|(_, byte)| *byte == b':').find_map(|(at, _)| {
            let (line, _) = number::<u64>(&text[at + 1..])?;
            let file = self.files.get(&text[..at])?;
            Some(Source { file: (*file).to_owned(), place: format!("line {line}") })
        })
    }

    /// Entries of the ranks that a line names, or of the suspects: of the communicator that it names, else what is open first.
    fn of_dumps(&self, finding: &Finding, line: &Evidence) -> Vec<Source> {
        let told = OfDumps::of(&line.what);
        let mut ranks = told.ranks;
        if ranks.is_empty() {
            ranks = finding.suspects.iter().filter_map(|suspect| rank_of(&suspect.component)).collect();
        }
        let dumps = ranks.iter().flat_map(|rank| self.dumps.get(rank).into_iter().flatten());
        dumps
            .map(|(file, dump)| Source {
                file: (*file).to_owned(),
                place: place_in(dump, line, told.operation),
            })
            .collect()
    }

    /// Lines of results of the hosts that a line names, or of the suspects' hosts.
    fn of_tests(&self, hosts: &BTreeSet<String>, line: &Evidence) -> Vec<Source> {
        let OfTests { hosts: mut named, alone, test: name, bytes: size } = OfTests::of(&line.what);
        named.retain(|host| self.tests.contains_key(host));
        // Two suspects are the ends of a connection.
        let alone = if named.is_empty() { hosts.len() == 2 } else { alone };
        let wanted: BTreeSet<&str> =
            if named.is_empty() { hosts.iter().map(String::as_str).collect() } else { named };
        let Some(first) = wanted.first() else { return Vec::new() };
        let is_about_failures = matches!(line.unit, "logs" | "tests");
        let begin: Vec<&str> = if alone { vec![first] } else { wanted.iter().copied().collect() };
        let mut found = Vec::new();
        for (file, test) in begin.iter().filter_map(|host| self.tests.get(host)).flatten() {
            let of_test: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
            let is_it = !alone || of_test == wanted;
            let is_named = name.is_none_or(|name| test.name == name);
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

    /// Lines of logs that were read as this counter, and files that hold counters.
    fn of_counters(&self, hosts: &BTreeSet<String>, line: &Evidence) -> Vec<Source> {
        let lines = self.lines.behind(line);
        let place =
            |(file, number): (&str, u64)| Source { file: file.to_owned(), place: format!("line {number}") };
        let files = self.of_files(hosts, line.table, |format| format != Format::ClusterLog);
        lines.map(place).chain(files).collect()
    }

    /// Files that hold records of a table: of those the ones named after a suspect's host, where there are such.
    fn of_files(
        &self,
        hosts: &BTreeSet<String>,
        table: &str,
        is_meant: impl Fn(Format) -> bool,
    ) -> Vec<Source> {
        let all: Vec<&str> = (self.merged.files.iter())
            .filter(|file| holds(file.format, table) && is_meant(file.format))
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
}

/// The table of a run folder that holds what evidence names by kind.
fn table_of_run(table: &str) -> &str {
    match table {
        "operations" | "computation" => "rank_operations",
        other => other,
    }
}

/// Hosts of the suspects.
fn hosts_of(finding: &Finding) -> BTreeSet<String> {
    let of = |component: &Component| match component {
        Component::Host(name) => vec![name.clone()],
        Component::Gpu(name) | Component::Nic(name) | Component::Cable(name) => vec![host_of(name)],
        Component::Link(name) | Component::Connection(name) => name.split(" > ").map(host_of).collect(),
        _ => Vec::new(),
    };
    finding.suspects.iter().flat_map(|suspect| of(&suspect.component)).collect()
}

/// The host of a device, of a port, or of an end that is a host itself. Addresses of hosts have colons, too.
fn host_of(end: &str) -> String {
    let host = match end.split_once('/') {
        Some((host, _)) => host,
        None if end.parse::<IpAddr>().is_ok() => end,
        None => end.split(':').next().unwrap_or(end),
    };
    host.to_owned()
}

fn rank_of(component: &Component) -> Option<u32> {
    match component {
        Component::Rank(name) => name.rsplit('/').next()?.parse().ok(),
        _ => None,
    }
}

/// Where in a dump a line of evidence stands that names `operation` with its communicator.
fn place_in(dump: &FlightRecorderDump, line: &Evidence, operation: &str) -> String {
    let shown = |row: usize| {
        dump.groups.get(row).map(|group| {
            let (name, description) = (group.name.clone(), group.description.clone());
            DumpedGroup { name, description, ranks: Vec::new() }.shown()
        })
    };
    let length = |row: usize| {
        let shown = shown(row).filter(|shown| operation.ends_with(&format!(" of {shown}")));
        shown.map_or(0, |shown| shown.len())
    };
    // The name of a group may be the end of another's.
    let longest = (0..dump.groups.len()).map(length).max().unwrap_or(0);
    let is_meant = |row: usize| longest > 0 && length(row) == longest;
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
        ClusterLog, CounterListing, Dcgm, Ethtool, FlightRecorder, Kineto, Lldp, MlperfLog, NcclInspector,
        NcclRas, NcclTestsJson, NcclTestsLog, NodeExporter, Parquet, Perftest, PerftestJson, ProbeTable,
        RdmaStatistic, StepsCsv, StepsJson, SysfsTree, TcpInfo, TrainingLog, XpuTimer,
    };
    match table {
        "dumps" => format == FlightRecorder,
        "nccl-tests" => matches!(format, NcclTestsLog | NcclTestsJson),
        "perftest" => matches!(format, Perftest | PerftestJson),
        "logs" => matches!(format, ClusterLog | NcclTestsLog),
        "ras" => format == NcclRas,
        "neighbors" => format == Lldp,
        "steps" => matches!(format, StepsCsv | StepsJson | MlperfLog | TrainingLog),
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
    use railtwin_formats::telemetry::{FileNotes, Skipped};
    use railtwin_records::{Suspect, Syndrome};

    use super::*;

    fn finding(component: Component, table: &'static str, what: &str) -> Finding {
        Finding {
            at_ns: 0,
            since: railtwin_records::Since::default(),
            syndrome: Syndrome::Counter,
            faults: Vec::new(),
            suspects: vec![Suspect { component, share: 1.0 }],
            confidence: 1.0,
            severity: 1.0,
            cost: None,
            evidence: vec![Evidence { table, what: what.to_owned(), value: 1.0, expected: 0.0, unit: "" }],
            advice: String::new(),
        }
    }

    fn first(finding: Finding, merged: &Merged, run: bool) -> Vec<(String, String)> {
        let sources = sources_of(&[finding], merged, &Directory::default(), run);
        sources[0][0].first.iter().map(|source| (source.file.clone(), source.place.clone())).collect()
    }

    #[test]
    fn evidence_of_a_run_stands_in_a_table_that_is_there() {
        for (table, file) in
            [("operations", "rank_operations"), ("computation", "rank_operations"), ("probes", "probes")]
        {
            let one = finding(Component::Host("host-0".into()), table, "time");
            let named = (format!("{file}.parquet"), String::new());
            assert_eq!(first(one, &Merged::default(), true), [named]);
        }
    }

    #[test]
    fn files_and_lines_are_named_at_the_beginning_and_in_brackets_alone() {
        let files = ["a.log", "b.log"].map(|name| FileNotes {
            source: name.to_owned(),
            format: Format::ClusterLog,
            held: String::new(),
            notes: Vec::new(),
            skipped: Skipped::default(),
        });
        let merged = Merged { files: files.to_vec(), ..Merged::default() };
        let of = |what: &str| first(finding(Component::Host("h".into()), "ras", what), &merged, false);
        let line = |file: &str, line: &str| vec![(file.to_owned(), line.to_owned())];
        assert_eq!(of("a.log:37: see b.log:40"), line("a.log", "line 37"));
        assert_eq!(of("tests of x that hung (b.log:5: see a.log:1)"), line("b.log", "line 5"));
        assert!(of("see b.log:40").is_empty());
        // A name that is long costs no more than the names of files do.
        assert!(of(&format!("a ({}", "(1:1 ".repeat(200_000))).is_empty());
    }

    #[test]
    fn hosts_may_be_named_by_addresses() {
        let of = |component: Component| -> Vec<String> {
            hosts_of(&finding(component, "logs", "")).into_iter().collect()
        };
        assert_eq!(of(Component::Host("fe80::1%eth0".into())), ["fe80::1%eth0"]);
        assert_eq!(of(Component::Connection("fe80::1 > fe80::2".into())), ["fe80::1", "fe80::2"]);
        assert_eq!(of(Component::Gpu("a/0000:9d:00".into())), ["a"]);
        assert_eq!(of(Component::Cable("leaf-5:uplink-2".into())), ["leaf-5"]);
    }

    #[test]
    fn words_are_names_and_no_parts_of_names() {
        let words = Words::of("all_reduce_perf of node-1 with node-12");
        assert!(words.has("node-1") && words.has("node-12") && words.has("all_reduce_perf"));
        assert!(!words.has("node") && !words.has(""));
        assert!(Words::of("logs/nccl_node-1_node-2.log").has("node-2"));
    }
}

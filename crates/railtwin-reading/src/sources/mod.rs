//! Where evidence stands: the file, and the line or entry in it, for whoever wants to look for themselves.
//!
//! Evidence that a reader took from a line of a file carries that line. For all other evidence its fields are looked up in
//! what was read: results of tests by hosts, test and size; dumps by ranks and operation; counters in lines of logs that were
//! read as such, and in files that hold counters; anything else in files that hold such records, those named after a suspect's
//! host first.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use railtwin_formats::telemetry::{FlightRecorderDump, FlightState, Format, Merged, NcclTest};
use railtwin_records::seen::{CounterSeen, DumpSeen, LogSeen, TestSeen};
use railtwin_records::{Component, Directory, Evidence, Finding, Seen};

use super::logs::Lines;
use super::tests_between::class_of;

/// Sources of a line that are kept; the others are counted.
const KEPT: usize = 12;

/// A place in a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SourcePlace {
    /// The file.
    pub file: String,
    /// Where in it, such as `line 37` or `entry 12`; empty for the whole of it.
    pub place: String,
}

/// Where one line of evidence stands.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Sources {
    /// The first of them.
    pub first: Vec<SourcePlace>,
    /// How many there are.
    pub count: usize,
}

impl Sources {
    fn of(all: impl IntoIterator<Item = SourcePlace>) -> Self {
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
        let lines = Lines::of(&merged.logs, &merged.nccl_tests, directory);
        Self { merged, run, files, lines, tests, dumps }
    }

    fn of_line(&self, finding: &Finding, hosts: &BTreeSet<String>, line: &Evidence) -> Sources {
        if self.run {
            let file = format!("{}.parquet", table_of_run(line.table));
            return Sources::of([SourcePlace { file, place: String::new() }]);
        }
        let own: Vec<SourcePlace> = self.named(line).collect();
        if !own.is_empty() {
            return Sources::of(own);
        }
        let found = match (line.table, &line.seen) {
            // A sum rests on the lines that are quoted beside it.
            (LogSeen::TABLE, _) => finding.evidence.iter().flat_map(|line| self.named(line)).collect(),
            (DumpSeen::TABLE, Seen::Dump(seen)) => self.of_dumps(finding, seen),
            (TestSeen::TABLE, Seen::Test(seen)) => self.of_tests(hosts, seen),
            (CounterSeen::TABLE, _) => self.of_counters(hosts, line),
            _ => Vec::new(),
        };
        if found.is_empty() {
            Sources::of(self.of_files(hosts, line.table, |_| true))
        } else {
            Sources::of(found)
        }
    }

    /// Lines of files that the evidence carries, of files that were read.
    fn named(&self, line: &Evidence) -> impl Iterator<Item = SourcePlace> {
        let known = line.source.iter().filter(|source| self.files.contains(source.file.as_str()));
        known.map(|source| SourcePlace { file: source.file.clone(), place: format!("line {}", source.line) })
    }

    /// Entries of the ranks that evidence names, or of the suspects: of its operation, else the first that is open.
    fn of_dumps(&self, finding: &Finding, seen: &DumpSeen) -> Vec<SourcePlace> {
        let mut ranks: BTreeSet<u32> = seen.ranks().into_iter().collect();
        if ranks.is_empty() {
            ranks = finding.suspects.iter().filter_map(|suspect| rank_of(&suspect.component)).collect();
        }
        let dumps = ranks.iter().flat_map(|rank| self.dumps.get(rank).into_iter().flatten());
        dumps
            .map(|(file, dump)| SourcePlace { file: (*file).to_owned(), place: place_in(dump, seen) })
            .collect()
    }

    /// Lines of results of the hosts that evidence names, or of the suspects' hosts.
    fn of_tests(&self, hosts: &BTreeSet<String>, seen: &TestSeen) -> Vec<SourcePlace> {
        let wanted = Wanted::of(seen, hosts);
        let mut named = wanted.hosts.clone();
        named.retain(|host| self.tests.contains_key(host));
        // Two suspects are the ends of a connection.
        let alone = if named.is_empty() { hosts.len() == 2 } else { wanted.alone };
        let all: BTreeSet<&str> =
            if named.is_empty() { hosts.iter().map(String::as_str).collect() } else { named };
        let Some(first) = all.first() else { return Vec::new() };
        let begin: Vec<&str> = if alone { vec![first] } else { all.iter().copied().collect() };
        let mut found = Vec::new();
        for (file, test) in begin.iter().filter_map(|host| self.tests.get(host)).flatten() {
            let of_test: BTreeSet<&str> = test.devices.iter().map(|device| device.host.as_str()).collect();
            if alone && of_test != all || !wanted.takes(test) {
                continue;
            }
            let place = |place: String| SourcePlace { file: (*file).to_owned(), place };
            if wanted.failures {
                found.extend(test.failure.as_ref().map(|failure| place(format!("line {}", failure.number))));
            } else {
                found.extend(wanted.lines_of(test).map(place));
            }
        }
        found
    }

    /// Lines of logs that were read as this counter, and files that hold counters.
    fn of_counters(&self, hosts: &BTreeSet<String>, line: &Evidence) -> Vec<SourcePlace> {
        let lines = self.lines.behind(line);
        let place = |(file, number): (&str, u64)| SourcePlace {
            file: file.to_owned(),
            place: format!("line {number}"),
        };
        let files = self.of_files(hosts, line.table, |format| format != Format::ClusterLog);
        lines.map(place).chain(files).collect()
    }

    /// Files that hold records of a table: of those the ones named after a suspect's host, where there are such.
    fn of_files(
        &self,
        hosts: &BTreeSet<String>,
        table: &str,
        is_meant: impl Fn(Format) -> bool,
    ) -> Vec<SourcePlace> {
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
        told.into_iter().map(|file| SourcePlace { file: file.to_owned(), place: String::new() }).collect()
    }
}

/// The tests that evidence is about.
struct Wanted<'a> {
    /// Hosts that it names; none where it is about those of the suspects.
    hosts: BTreeSet<&'a str>,
    /// Whether of tests over these and nobody else; else of those in which any of them takes part.
    alone: bool,
    /// The name of the test.
    test: Option<&'a str>,
    /// The class of the test.
    class: Option<&'a str>,
    /// The bytes of its buffer.
    bytes: Option<u64>,
    /// Whether it is about tests that failed.
    failures: bool,
}

impl<'a> Wanted<'a> {
    fn of(seen: &'a TestSeen, suspects: &BTreeSet<String>) -> Self {
        let none = Self {
            hosts: BTreeSet::new(),
            alone: false,
            test: None,
            class: None,
            bytes: None,
            failures: false,
        };
        let names = |hosts: &'a [String]| hosts.iter().map(String::as_str).collect();
        match seen {
            TestSeen::WithinHost { class, bytes } => Self { class: Some(class), bytes: Some(*bytes), ..none },
            TestSeen::PairAt { hosts, class, bytes } => {
                Self { hosts: names(hosts), alone: true, class: Some(class), bytes: Some(*bytes), ..none }
            }
            TestSeen::GroupHosts { hosts, .. } | TestSeen::UntestedHosts { hosts } => {
                Self { hosts: names(hosts), ..none }
            }
            TestSeen::WrongElements { test, hosts } => {
                Self { hosts: names(hosts), alone: true, test: Some(test), ..none }
            }
            TestSeen::HostFailures { host, .. } | TestSeen::HostPasses { host } => {
                Self { hosts: BTreeSet::from([host.as_str()]), failures: true, ..none }
            }
            TestSeen::Failed { .. } => Self { failures: true, ..none },
            _ => Self { alone: suspects.len() == 2, ..none },
        }
    }

    fn takes(&self, test: &NcclTest) -> bool {
        self.test.is_none_or(|name| test.name == name)
            && self.class.is_none_or(|class| class_of(test) == class)
    }

    /// The lines of the results, as a place in their file; none where a test has no results.
    fn lines_of(&self, test: &NcclTest) -> Option<String> {
        let rows = test.results.iter().filter(|row| self.bytes.is_none_or(|bytes| row.bytes == bytes));
        let lines: Vec<u64> = rows.map(|row| row.line).filter(|line| *line > 0).collect();
        match (lines.iter().min(), lines.iter().max()) {
            (Some(first), Some(last)) if first == last => Some(format!("line {first}")),
            (Some(first), Some(last)) => Some(format!("lines {first} to {last}")),
            _ => (!test.results.is_empty()).then(String::new),
        }
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

/// The entry of a dump that evidence is about.
fn place_in(dump: &FlightRecorderDump, seen: &DumpSeen) -> String {
    let call = seen.call();
    let is_meant = |row: usize| {
        let group = dump.groups.get(row);
        group.zip(call).is_some_and(|(group, call)| {
            (&group.name, &group.description) == (&call.group, &call.description)
        })
    };
    let open = || (1..).zip(&dump.entries).filter(|(_, entry)| entry.state != FlightState::Completed);
    let ended = match seen {
        DumpSeen::Holds { ended, .. } => Some(*ended),
        _ => None,
    };
    let is_numbered =
        |sequence: u64| Some(sequence) == call.map(|call| call.sequence) || Some(sequence) == ended;
    let of_group = open().filter(|(_, entry)| is_meant(entry.group));
    let entry =
        of_group.clone().find(|(_, entry)| is_numbered(entry.sequence)).or_else(|| of_group.clone().next());
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
        ClusterLog, CounterListing, Dcgm, DeviceTable, Ethtool, FlightRecorder, Kineto, Lldp, MlperfLog,
        NcclInspector, NcclRas, NcclTestsJson, NcclTestsLog, NcclTestsTable, NodeExporter, Parquet, Perftest,
        PerftestJson, ProbeTable, RdmaStatistic, StepsCsv, StepsJson, SysfsTree, TcpInfo, TrainingLog,
        XpuTimer,
    };
    match table {
        "dumps" => format == FlightRecorder,
        "nccl-tests" => matches!(format, NcclTestsLog | NcclTestsJson | NcclTestsTable),
        "perftest" => matches!(format, Perftest | PerftestJson),
        "logs" => matches!(format, ClusterLog | NcclTestsLog),
        "ras" => format == NcclRas,
        "neighbors" => format == Lldp,
        "devices" => format == DeviceTable,
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
    use railtwin_records::{SourceLine, Suspect, Syndrome};

    use super::*;

    fn finding(component: Component, evidence: Evidence) -> Finding {
        Finding {
            at_ns: 0,
            since: railtwin_records::Since::default(),
            syndrome: Syndrome::Counter,
            faults: Vec::new(),
            suspects: vec![Suspect { component, share: 1.0 }],
            confidence: 1.0,
            severity: 1.0,
            cost: None,
            evidence: vec![evidence],
            advice: String::new(),
        }
    }

    fn quoted(text: &str) -> Evidence {
        Evidence::new(LogSeen::Quoted { text: text.to_owned() }, 1.0, 0.0)
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
            let evidence = Evidence { table, ..quoted("time") };
            let named = (format!("{file}.parquet"), String::new());
            assert_eq!(
                first(finding(Component::Host("host-0".into()), evidence), &Merged::default(), true),
                [named]
            );
        }
    }

    #[test]
    fn a_line_that_evidence_carries_is_its_source_and_no_line_that_it_only_mentions() {
        let files = ["a.log", "b.log"].map(|name| FileNotes {
            source: name.to_owned(),
            format: Format::ClusterLog,
            held: String::new(),
            notes: Vec::new(),
            skipped: Skipped::default(),
        });
        let merged = Merged { files: files.to_vec(), ..Merged::default() };
        let of = |evidence: Evidence| {
            let evidence = Evidence { table: "ras", ..evidence };
            first(finding(Component::Host("h".into()), evidence), &merged, false)
        };
        let line = |file: &str, line: &str| vec![(file.to_owned(), line.to_owned())];
        assert_eq!(of(quoted("see b.log:40").at(SourceLine::new("a.log", 37))), line("a.log", "line 37"));
        assert!(of(quoted("see b.log:40")).is_empty());
        assert!(of(quoted("x").at(SourceLine::new("c.log", 1))).is_empty(), "a file that was not read");
    }

    #[test]
    fn hosts_may_be_named_by_addresses() {
        let of = |component: Component| -> Vec<String> {
            hosts_of(&finding(component, quoted(""))).into_iter().collect()
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

//! perftest: the tables that `ib_write_bw`, `ib_read_lat` and their kin print, several runs to a log.

use super::input;
use super::perftest_hosts::{gid, hosts_of_name, lid, streams};
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
pub(super) const FORMAT: &str = "perftest";

/// Bytes per second of a `MB/sec`: perftest counts 2^20 bytes, and newer versions write `MiB/sec`.
pub(super) const MIB: f64 = 1_048_576.0;
/// Bytes per second of a `Gb/sec`, as `--report_gbits` has it.
pub(super) const GBIT: f64 = 125e6;
/// Largest message that is read: none of perftest's is above 2^31 bytes.
pub(super) const BYTES_MAX: u64 = 1 << 40;

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PerftestVerb {
    /// RDMA write.
    Write,
    /// Send and receive.
    Send,
    /// RDMA read.
    Read,
    /// Anything else, atomics for one; or the log does not say.
    Other,
}

impl PerftestVerb {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Send => "send",
            Self::Read => "read",
            Self::Other => "other",
        }
    }
}

/// A run of one program of perftest between two NICs. What the log does not say is 0 or empty.
#[derive(Clone, Debug, PartialEq)]
pub struct PerftestRun {
    /// What it did.
    pub verb: PerftestVerb,
    /// Whether both sides sent; bandwidths are then those of both directions together.
    pub bidirectional: bool,
    /// NIC of this side, such as `mlx5_0`.
    pub device: String,
    /// Kind of connection: `RC`, `UC`, `UD`, …
    pub connection: String,
    /// Link layer: `IB` or `Ethernet`.
    pub link: String,
    /// Bytes of a packet.
    pub mtu: u32,
    /// Queue pairs.
    pub queue_pairs: u32,
    /// Messages that were in flight on each queue pair.
    pub depth: u32,
    /// Messages of up to so many bytes went to the NIC with their work request (`Max inline data`).
    pub inline: u32,
    /// A row for each size, in the order of the log.
    pub results: Vec<PerftestResult>,
    /// Hosts that the name of the log or a launcher's prefix tells: this side and the other one, or client and server.
    pub hosts: [String; 2],
    /// Addresses of this side and of the other one: GIDs (IPv4 ones as such), or LIDs as `lid-0x0019`.
    pub addresses: [String; 2],
    /// What the log says of why there is no result, or none of more; empty where it says nothing of the kind.
    pub failure: String,
    /// Whether its log ends without a result.
    pub is_cut_off: bool,
}

/// What was measured at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerftestResult {
    /// Bytes of a message.
    pub bytes: u64,
    /// Messages.
    pub iterations: u64,
    /// The measurement.
    pub measure: PerftestMeasure,
}

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PerftestMeasure {
    /// Mean bandwidth with many messages in flight, bytes per second.
    Bandwidth {
        /// Bytes per second.
        bytes_per_s: f64,
    },
    /// Time of a message, seconds. Of writes and sends it is half of a round trip, one way; of reads and atomics the
    /// round trip, as perftest prints it.
    Latency {
        /// The median (`t_typical`), or the mean where only that was printed.
        seconds: f64,
    },
}

/// A file of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PerftestLog {
    /// Runs with a result, in their order.
    pub runs: Vec<PerftestRun>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Lines that are wrong.
    pub skipped: Skipped,
}

impl Default for PerftestRun {
    fn default() -> Self {
        Self {
            verb: PerftestVerb::Other,
            bidirectional: false,
            device: String::new(),
            connection: String::new(),
            link: String::new(),
            mtu: 0,
            queue_pairs: 0,
            depth: 0,
            inline: 0,
            results: Vec::new(),
            hosts: Default::default(),
            addresses: Default::default(),
            failure: String::new(),
            is_cut_off: false,
        }
    }
}

/// What lines of a run that fails have in common.
const FAILURES: [&str; 9] = [
    "Failed status ",
    "Completion with error",
    "Couldn't connect to",
    "Unable to init the socket connection",
    "Failed to complete",
    "Failed to exchange data",
    "Failed to modify",
    "Couldn't read remote address",
    "Unexpected CM event",
];

/// What a run is told to have come to that has no result and says nothing.
const SILENT: &str = "ended without a result";

/// Whether a line names the columns of a table of perftest.
pub(crate) fn names_columns(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("#bytes") && line.contains("#iterations")
}

/// Whether a line names such columns behind what a launcher puts before it.
pub(crate) fn is_of_perftest(line: &str) -> bool {
    line.find("#bytes").is_some_and(|at| line[at..].contains("#iterations"))
}

/// Reads what perftest printed: bandwidth in `MB/sec`, `MiB/sec` or `Gb/sec`, latency in `usec`, one size or a sweep, by
/// iterations or by duration. Columns are found by the line that names them; other lines, such as warnings about the
/// clock of the CPU, are passed over. A row whose values are no numbers above zero is skipped. Runs that failed are kept
/// with what they say of it (`Failed status 12`), and those that began and have no result. Lines behind prefixes of launchers
/// are taken apart by them.
///
/// # Errors
/// A file without any run: its first row that is wrong, or that there is none.
pub fn parse_perftest(source_name: &str, bytes: &[u8]) -> Result<PerftestLog, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let named = hosts_of_name(source_name);
    let mut reading = Reading {
        source_name,
        log: PerftestLog::default(),
        run: None,
        columns: None,
        hosts: Default::default(),
        side: 0,
    };
    for stream in streams(&text) {
        reading.hosts = match &named[..] {
            [first, second] => [first.clone(), second.clone()],
            [one] if stream.host.is_empty() => [one.clone(), String::new()],
            _ => [stream.host, String::new()],
        };
        for (line, number) in stream.lines {
            reading.line(line, number);
        }
        reading.close();
    }
    let log = reading.log;
    if log.runs.is_empty() {
        let none = || {
            let accepted =
                "give what ib_write_bw or ib_write_lat prints, with the line that names its columns";
            FormatError::new(FORMAT, source_name, "holds no result", accepted)
        };
        return Err(log.skipped.all().unwrap_or_else(none));
    }
    Ok(log)
}

/// Where values of a row stand.
#[derive(Clone)]
struct Columns {
    count: usize,
    bytes: usize,
    iterations: usize,
    value: usize,
    /// Seconds or bytes per second of one of the value.
    unit: f64,
    is_latency: bool,
}

struct Reading<'a> {
    source_name: &'a str,
    log: PerftestLog,
    run: Option<PerftestRun>,
    columns: Option<Columns>,
    /// Hosts of the runs of this stream of lines.
    hosts: [String; 2],
    /// The side of which the last address was.
    side: usize,
}

impl Reading<'_> {
    fn error(&self, line: u64, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted).at_line(line)
    }

    fn close(&mut self) {
        let columns = self.columns.take();
        let Some(mut run) = self.run.take() else { return };
        // A server that nobody came to has neither addresses nor columns.
        let began = columns.is_some() || !run.addresses[1].is_empty();
        if run.results.is_empty() && run.failure.is_empty() && began {
            SILENT.clone_into(&mut run.failure);
            run.is_cut_off = true;
        }
        if run.results.is_empty() && (run.failure.is_empty() || self.log.skipped.count() > 0) {
            self.log.notes.push(format!("a run of {} has no result", run.verb.name()));
        } else {
            self.log.runs.push(run);
        }
    }

    fn open(&self, run: PerftestRun) -> Option<PerftestRun> {
        Some(PerftestRun { hosts: self.hosts.clone(), ..run })
    }

    fn line(&mut self, line: &str, number: u64) {
        if let Some((verb, bidirectional)) = title(line) {
            self.close();
            self.run = self.open(PerftestRun { verb, bidirectional, ..PerftestRun::default() });
        } else if names_columns(line) {
            // A table without a title is a run of its own.
            if self.run.as_ref().is_none_or(|run| !run.results.is_empty()) {
                self.close();
                self.run = self.open(PerftestRun::default());
            }
            let columns = self.columns_of(line, number);
            self.columns = self.log.skipped.keep(columns);
        } else if let Some(failure) = failure(line) {
            let run = self.run.take().or_else(|| self.open(PerftestRun::default()));
            self.run = run.map(|mut run| {
                // The status of a completion says more than that there was one.
                if run.failure.is_empty() || run.failure.starts_with("Completion with error") {
                    run.failure = failure;
                }
                run
            });
        } else if line.starts_with("---") {
            // The line below the rows; above them the columns are not named yet.
            if self.run.as_ref().is_some_and(|run| !run.results.is_empty()) {
                self.columns = None;
            }
        } else if let Some(columns) = self.columns.clone() {
            if line.starts_with(|letter: char| letter.is_ascii_digit() || letter == '-') {
                let row = self.row(&columns, line, number);
                if let Some((result, run)) = self.log.skipped.keep(row).zip(self.run.as_mut()) {
                    run.results.push(result);
                }
            }
        } else if let Some(run) = &mut self.run {
            run.take(line, &mut self.side);
        }
    }

    fn columns_of(&self, line: &str, number: u64) -> Result<Columns, FormatError> {
        let names = names(line);
        let place = |wanted: &str| names.iter().position(|name| name.starts_with(wanted));
        let latency = place("t_typical").or_else(|| place("t_avg")).map(|at| (at, true));
        let bandwidth = || place("BW average").map(|at| (at, false));
        let Some((value, is_latency)) = latency.or_else(bandwidth) else {
            let accepted = "columns with BW average, t_typical or t_avg are read";
            return Err(self.error(number, "names no bandwidth and no latency", accepted).found(line));
        };
        let unit = names[value].split_once('[').map_or("", |(_, unit)| unit.trim_end_matches(']'));
        let unit = match unit {
            "usec" if is_latency => 1e-6,
            "MB/sec" | "MiB/sec" if !is_latency => MIB,
            "Gb/sec" if !is_latency => GBIT,
            _ => {
                let accepted = "read are MB/sec, MiB/sec and Gb/sec, and usec";
                return Err(self.error(number, "has an unknown unit", accepted).found(&names[value]));
            }
        };
        let missing = || self.error(number, "names no iterations", "write the columns as perftest does");
        let iterations = place("#iterations").ok_or_else(missing)?;
        Ok(Columns { count: names.len(), bytes: 0, iterations, value, unit, is_latency })
    }

    fn row(&self, columns: &Columns, line: &str, number: u64) -> Result<PerftestResult, FormatError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() < columns.count {
            let accepted = format!("the line of columns names {}", columns.count);
            return Err(self.error(number, "has too few columns", &accepted).found(line));
        }
        let whole = |at: usize, field: &str, most: u64| {
            words[at].parse().ok().filter(|value| (1..=most).contains(value)).ok_or_else(|| {
                self.error(number, "is no whole number of that", &format!("write 1 to {most}"))
                    .field(field)
                    .found(words[at])
            })
        };
        let bytes = whole(columns.bytes, "#bytes", BYTES_MAX)?;
        let iterations = whole(columns.iterations, "#iterations", u64::MAX)?;
        let value = words[columns.value].parse::<f64>().ok();
        let value = value.map(|value| value * columns.unit).filter(|value| value.is_finite() && *value > 0.0);
        let Some(value) = value else {
            let field = if columns.is_latency { "t_typical" } else { "BW average" };
            let error = self.error(number, "is no number above 0", "write the row as perftest prints it");
            return Err(error.field(field).found(words[columns.value]));
        };
        let measure = match columns.is_latency {
            true => PerftestMeasure::Latency { seconds: value },
            false => PerftestMeasure::Bandwidth { bytes_per_s: value },
        };
        Ok(PerftestResult { bytes, iterations, measure })
    }
}

impl PerftestRun {
    /// Takes a line of the head: `Number of qps : 1  Transport type : IB`.
    fn take(&mut self, line: &str, last: &mut usize) {
        for (side, words) in ["local address:", "remote address:"].into_iter().enumerate() {
            if line.starts_with(words) {
                // Each queue pair has a line, of the same address.
                if self.addresses[side].is_empty() {
                    self.addresses[side] = lid(line).unwrap_or_default();
                }
                *last = side;
                return;
            }
        }
        if let Some(address) = gid(line) {
            self.addresses[*last] = address;
            return;
        }
        let word = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.trim_start().strip_prefix(':')?.split_whitespace().next()
        };
        let number = |key: &str| {
            let digits: String = word(key)?.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        };
        for (text, key) in [
            (&mut self.device, "Device"),
            (&mut self.connection, "Connection type"),
            (&mut self.link, "Link type"),
        ] {
            if let Some(found) = word(key) {
                found.clone_into(text);
            }
        }
        for (value, key) in [
            (&mut self.mtu, "Mtu"),
            (&mut self.queue_pairs, "Number of qps"),
            (&mut self.depth, "TX depth"),
            (&mut self.inline, "Max inline data"),
        ] {
            *value = number(key).unwrap_or(*value);
        }
    }
}

/// The line as a failure, where it tells one.
fn failure(line: &str) -> Option<String> {
    let found = FAILURES.iter().filter_map(|words| line.find(words)).min()?;
    let words: Vec<&str> = line[found..].split_whitespace().take(12).collect();
    Some(words.join(" "))
}

/// What a title such as `RDMA_Write Bidirectional BW Test` says.
pub(super) fn title(line: &str) -> Option<(PerftestVerb, bool)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_title = words.len() <= 8
        && words.last() == Some(&"Test")
        && words.iter().any(|word| *word == "BW" || *word == "Latency");
    let verb = match *words.first().filter(|_| is_title)? {
        "RDMA_Write" => PerftestVerb::Write,
        "RDMA_Read" => PerftestVerb::Read,
        "Send" => PerftestVerb::Send,
        "Atomic" | "Raw" => PerftestVerb::Other,
        _ => return None,
    };
    Some((verb, words.contains(&"Bidirectional")))
}

/// Names of columns: some have two words, `BW peak[MB/sec]`, `99% percentile[usec]`, `tps average`.
fn names(line: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut open = false;
    for word in line.split_whitespace() {
        match names.last_mut().filter(|_| open) {
            Some(last) => *last = format!("{last} {word}"),
            None => names.push(word.to_owned()),
        }
        open = !open && (word == "BW" || word == "MsgRate" || word == "tps" || word.ends_with('%'));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "---------------------------------------------------------------------------------------\n\
        \x20                   RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n\
        \x20Number of qps   : 2\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n\
        \x20TX depth        : 128\n Mtu             : 4096[B]\n Link type       : Ethernet\n Max inline data : 220[B]\n\
        ---------------------------------------------------------------------------------------\n\
        \x20local address: LID 0000 QPN 0x0089 PSN 0x1\n";

    fn table(columns: &str, rows: &str) -> String {
        format!("{HEAD} {columns}\nConflicting CPU frequency values detected: 1.0 != 2.0.\n{rows}---\n")
    }

    fn read(text: &str) -> PerftestLog {
        parse_perftest("t.log", text.as_bytes()).expect("a log")
    }

    #[test]
    fn a_mb_is_2_to_the_20() {
        let columns = "#bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
        // The rate of messages, which is printed beside it, says the same: 0.166427 million of 65,536 B.
        let log = read(&table(
            columns,
            " 65536      1000             10402.09            10401.68 \t\t 0.166427\n",
        ));
        let run = &log.runs[0];
        assert_eq!((run.verb, run.mtu, run.queue_pairs, run.depth), (PerftestVerb::Write, 4096, 2, 128));
        assert_eq!(run.inline, 220);
        assert_eq!((&*run.device, &*run.connection, &*run.link), ("mlx5_0", "RC", "Ethernet"));
        let PerftestMeasure::Bandwidth { bytes_per_s } = run.results[0].measure else {
            panic!("a bandwidth")
        };
        assert!((bytes_per_s / (0.166_427e6 * 65_536.0) - 1.0).abs() < 1e-4, "{bytes_per_s}");
        assert_eq!(log.skipped.count(), 0);
    }

    #[test]
    fn gigabits_and_latencies_are_read() {
        let columns = "#bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]";
        let log = read(&table(
            columns,
            " 65536      1000             328.64             328.61 \t\t     0.626777\n",
        ));
        assert_eq!(
            log.runs[0].results[0].measure,
            PerftestMeasure::Bandwidth { bytes_per_s: 328.61 * 125e6 }
        );
        let columns = "#bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    \
                       t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";
        let text = table(
            columns,
            " 2       1000          1.24           5.19         1.27     \t       1.28        \t0.00   \t\t1.37    \t\t5.19   \n",
        );
        let log = read(&text.replace("RDMA_Write BW", "Send Latency"));
        let PerftestMeasure::Latency { seconds } = log.runs[0].results[0].measure else {
            panic!("a latency")
        };
        assert!((log.runs[0].verb, (seconds * 1e6 * 1e6).round()) == (PerftestVerb::Send, 1.27e6));
        // By duration only the mean is there.
        let columns = "#bytes        #iterations       t_avg[usec]    tps average";
        let log = read(&table(columns, " 2       7000000          1.50           666666.67\n"));
        let PerftestMeasure::Latency { seconds } = log.runs[0].results[0].measure else {
            panic!("a latency")
        };
        assert!((seconds - 1.5e-6).abs() < 1e-15);
    }

    #[test]
    fn several_runs_of_a_log_stay_apart() {
        let columns = "#bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]";
        let one = table(columns, " 4096 5000 0.00 100.0 0.1\n 8192 5000 0.00 0.00 0.1\n");
        let both = format!("{one}{}", one.replace("RDMA_Write BW", "RDMA_Read Bidirectional BW"));
        let log = read(&both);
        assert_eq!(log.runs.len(), 2);
        assert!(!log.runs[0].bidirectional && log.runs[1].bidirectional);
        assert_eq!(log.runs[1].verb, PerftestVerb::Read);
        // A bandwidth of zero is none.
        assert_eq!(log.skipped.count(), 2);
        assert!(log.skipped.first().next().is_some_and(|line| line.contains("BW average")));
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        let wrong =
            |text: &str| parse_perftest("t.log", text.as_bytes()).map(|_| ()).unwrap_err().to_string();
        let columns = "#bytes #iterations BW peak[kB/sec] BW average[kB/sec] MsgRate[Mpps]";
        let line = wrong(&table(columns, " 1 1 1 1 1\n"));
        assert!(
            line.starts_with("t.log:12:") && line.contains("kB/sec") && line.contains("Gb/sec"),
            "{line}"
        );
        let columns = columns.replace("kB", "MB");
        let line = wrong(&table(&columns, " 1 1 1\n"));
        assert!(line.starts_with("t.log:14:") && line.contains("too few columns"), "{line}");
        let line = wrong("#bytes");
        assert!(line.contains("holds no result"), "{line}");
    }

    #[test]
    fn runs_that_fail_are_kept_with_their_words() {
        let columns = "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]";
        let died =
            " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n";
        let log = read(&format!("{HEAD} remote address: LID 0000 QPN 0x1 PSN 0x1\n {columns}\n{died}"));
        let [run] = &log.runs[..] else { panic!("{log:?}") };
        assert_eq!((run.failure.as_str(), run.results.len()), ("Failed status 12: wr_id 0 syndrom 0x81", 0));
        // Nothing at all below the names of columns is a run that hung.
        let log = read(&table(columns, ""));
        assert_eq!(log.runs[0].failure, SILENT);
        let log = read(
            " Couldn't connect to node7:18515\nUnable to init the socket connection\n #bytes #iterations t_avg[usec]\n",
        );
        assert_eq!(log.runs[0].failure, "Couldn't connect to node7:18515");
    }

    #[test]
    fn both_sides_have_their_addresses() {
        let rest = " GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:39\n remote address: LID 0000 QPN 0x1 PSN 0x2\n \
                    GID: 00:00:00:00:00:00:00:00:00:00:255:255:192:168:01:06\n #bytes #iterations BW peak[Gb/sec] BW \
                    average[Gb/sec] MsgRate[Mpps]\n 65536 403504 0.00 42.31 0.080701\n";
        let log = parse_perftest("n1_n2.log", format!("{HEAD}{rest}").as_bytes()).expect("a log");
        assert_eq!(log.runs[0].addresses, ["192.168.1.39", "192.168.1.6"]);
        assert_eq!(log.runs[0].hosts, ["n1", "n2"]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in concat!(
            "(#bytes|#iterations|BW|average\\[MB/sec\\]|t_avg\\[usec\\]|Test|RDMA_Read",
            "|[0-9.e-]{0,9}|[ \n:%]){0,60}",
        )) {
            if let Ok(log) = parse_perftest("t.log", text.as_bytes()) {
                prop_assert!(log.runs.iter().all(|run| !run.results.is_empty() || !run.failure.is_empty()));
            }
        }

        #[test]
        fn what_was_printed_is_read(rows in proptest::collection::vec((1_u64..1 << 31, 1e-3..1e6_f64), 1..20)) {
            let lines: Vec<String> = rows.iter().map(|(bytes, rate)| format!(" {bytes} 5000 0.00 {rate} 1.0\n")).collect();
            let columns = "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]";
            let log = read(&table(columns, &lines.concat()));
            prop_assert_eq!(log.runs[0].results.len(), rows.len());
            for (result, (bytes, rate)) in log.runs[0].results.iter().zip(&rows) {
                prop_assert_eq!(result.bytes, *bytes);
                prop_assert_eq!(result.measure, PerftestMeasure::Bandwidth { bytes_per_s: rate * 125e6 });
            }
        }
    }
}

//! nccl-tests: what a test prints, several tests to a log; JSON is read in [`super::nccl_tests_json`].

use std::collections::BTreeSet;

use super::input;
use super::nccl_tests_failure::{self as failure, NcclTestEnd, NcclTestFailure, Said};
use super::nccl_tests_prefix::bare;
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
pub(crate) const FORMAT: &str = "nccl-tests";

/// Most hosts of a test, beside the first, of which is kept that they say to have failed by themselves: more than can be told
/// from each other.
const OTHERS_MOST: usize = 8;

/// One test: a collective over some GPUs at several sizes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcclTest {
    /// What ran, such as `all_reduce_perf`; empty where an old version does not say.
    pub name: String,
    /// Version of nccl-tests, and of NCCL where the line tells it; empty where it does not.
    pub version: String,
    /// What tells it from tests of the same cluster with other settings, as a table names it; empty where nothing does.
    pub setting: String,
    /// Who took part.
    pub devices: Vec<NcclTestDevice>,
    /// A row for each size.
    pub results: Vec<NcclTestResult>,
    /// Values out of bounds over all sizes.
    pub out_of_bounds: Option<u64>,
    /// Average bus bandwidth over all sizes in GB/s (10^9 bytes).
    pub average_bus_gb_per_s: Option<f64>,
    /// Whether the test came to its end: its average was printed.
    pub complete: bool,
    /// How it ended where it did not come to its end.
    pub failure: Option<NcclTestFailure>,
}

/// A file of tests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcclTestLog {
    /// Tests in their order.
    pub tests: Vec<NcclTest>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Lines that are wrong.
    pub skipped: Skipped,
}

/// A GPU that takes part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NcclTestDevice {
    /// Rank.
    pub rank: u32,
    /// Group, where ranks are split into groups.
    pub group: u32,
    /// Process.
    pub pid: u64,
    /// Host name.
    pub host: String,
    /// CUDA device of the process.
    pub gpu: u32,
    /// Address on the PCI bus.
    pub bus: String,
    /// Product name.
    pub product: String,
}

/// What was measured at one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcclTestResult {
    /// Bytes.
    pub bytes: u64,
    /// Elements.
    pub elements: u64,
    /// Data type as printed: `float`, `double`, …
    pub data_type: String,
    /// Reduction as printed; `none` or empty where there is none.
    pub reduction: String,
    /// With two buffers.
    pub out_of_place: Option<NcclTestMeasure>,
    /// With one buffer.
    pub in_place: Option<NcclTestMeasure>,
    /// Number of its line, from 1; 0 where it has none, as in JSON.
    pub line: u64,
}

/// One measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NcclTestMeasure {
    /// Mean time of an operation in microseconds.
    pub time_us: f64,
    /// Bytes over time in GB/s (10^9 bytes).
    pub algorithm_gb_per_s: f64,
    /// Bandwidth that the links must have had, in GB/s (10^9 bytes).
    pub bus_gb_per_s: f64,
    /// Wrong elements; none where it was not checked.
    pub wrong: Option<u64>,
    /// Time of each iteration in microseconds, the slowest process each time; empty where it was not taken.
    pub iterations_us: Vec<f64>,
    /// Time of each iteration by process in microseconds; empty where it was not taken.
    pub process_iterations_us: Vec<Vec<f64>>,
}

/// Where the values of a row stand, from the line that names the columns.
struct Columns {
    /// Names before the first time.
    fixed: Vec<String>,
    /// Names of one measurement.
    measure: Vec<String>,
    /// Measurements in a row.
    measures: usize,
}

/// Tests of a log file in their order.
///
/// A line `# nccl-tests version`, or device lines after results, begin a test. Columns are found by the line that
/// names them, because versions differ. Prefixes that `mpirun` and `srun` put before lines are taken off; other
/// programs' lines are passed over, but for those that tell how a test failed.
///
/// A row of results whose values are no numbers, or whose columns nothing named, is skipped. A test of which a device line
/// is wrong has no devices: with one host less it would be another test. A test without its last lines failed, but for the
/// last one of a file that ends within a line: that file is not whole.
///
/// # Errors
/// A file without any test.
pub fn parse_nccl_tests_log(source_name: &str, bytes: &[u8]) -> Result<NcclTestLog, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut reading = Reading { source_name, ..Reading::default() };
    let mut lines = text.lines().map(bare).zip(1_u64..).peekable();
    while let Some((line, number)) = lines.next() {
        reading.last = number;
        match lines.next_if(|(next, _)| failure::is_wrapped(&line, next)) {
            Some((next, last)) => {
                reading.last = last;
                reading.line(&format!("{} {}", line.trim_end(), next.trim_start()), number);
            }
            None => reading.line(&line, number),
        }
    }
    // A file that ends within a line is not all that the test printed: it is being written, or was copied in part.
    let is_cut = !text.ends_with('\n')
        && reading.tests.last().is_some_and(|test| !test.complete && test.failure.is_none());
    if !is_cut {
        reading.close();
    }
    let is_bare = |test: &NcclTest| {
        test.devices.is_empty() && test.results.is_empty() && !test.has_said() && !test.complete
    };
    if reading.tests.iter().all(is_bare) && reading.unnamed == 0 {
        if let Some(error) = reading.skipped.all() {
            return Err(error);
        }
        return Err(FormatError::new(
            FORMAT,
            source_name,
            "holds no test",
            "give what a test such as all_reduce_perf prints, from its first line",
        ));
    }
    let mut notes = Vec::new();
    let failed = reading.tests.iter().filter(|test| test.failure.is_some()).count();
    if failed > 0 {
        notes.push(format!("{failed} of {} tests did not come to their end", reading.tests.len()));
    }
    if is_cut {
        notes.push("ends within a line: how its last test ended is not known".to_owned());
    }
    if reading.others > 0 {
        notes.push(format!("{} lines of other programs skipped", reading.others));
    }
    if reading.unnamed > 0 {
        notes.push(format!(
            "{} tests have a device line that is wrong: their hosts are not known",
            reading.unnamed
        ));
    }
    Ok(NcclTestLog { tests: reading.tests, notes, skipped: reading.skipped })
}

/// Whose lines are that name no host, as those of a kernel between those of tests: the one host of the tests, else the one that
/// says of itself that it failed. None where there are several.
pub(crate) fn only_host(tests: &[NcclTest]) -> Option<String> {
    let devices = tests.iter().flat_map(|test| &test.devices).map(|device| device.host.as_str());
    let devices: BTreeSet<&str> = devices.collect();
    let failed = tests.iter().filter_map(|test| test.failure.as_ref()).filter(|failure| failure.own);
    let failed = failed.flat_map(|failure| failure.host.iter().chain(&failure.others));
    let failed: BTreeSet<&str> = failed.map(String::as_str).collect();
    let of = if devices.len() == 1 { devices } else { failed };
    of.first().filter(|_| of.len() == 1).map(|host| (*host).to_owned())
}

#[derive(Default)]
struct Reading<'a> {
    source_name: &'a str,
    tests: Vec<NcclTest>,
    columns: Option<Columns>,
    others: u64,
    skipped: Skipped,
    /// Tests whose hosts are not known, and whether the last one is of them.
    unnamed: u64,
    is_unnamed: bool,
    /// The last line.
    last: u64,
}

impl NcclTest {
    /// Whether a line said how it failed.
    fn has_said(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| !failure.line.is_empty())
    }

    /// The largest size that came to its end.
    fn largest(&self) -> Option<u64> {
        self.results.iter().map(|result| result.bytes).max()
    }
}

impl Reading<'_> {
    fn error(&self, line: u64, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted).at_line(line)
    }

    /// The test that is being read; `anew` makes another one unless it has nothing yet.
    fn test(&mut self, anew: bool) -> &mut NcclTest {
        let had_columns = self.columns.is_some();
        let used = |test: &NcclTest| {
            had_columns || !test.results.is_empty() || test.complete || test.failure.is_some()
        };
        if self.tests.is_empty() || (anew && self.tests.last().is_some_and(used)) {
            self.close();
            self.tests.push(NcclTest::default());
            self.columns = None;
            self.is_unnamed = false;
        }
        let last = self.tests.len() - 1;
        &mut self.tests[last]
    }

    /// The last test has no more lines: without its end it failed.
    fn close(&mut self) {
        let last = self.last;
        if let Some(test) = self.tests.last_mut().filter(|test| !test.complete && test.failure.is_none()) {
            test.failure = Some(NcclTestFailure {
                end: NcclTestEnd::CutOff,
                line: String::new(),
                number: last,
                host: None,
                own: false,
                others: Vec::new(),
                after_bytes: test.largest(),
            });
        }
    }

    /// Takes a line that says how a test failed; the first one counts, but for a process that says of itself that it failed:
    /// what others say before is of what it did to them.
    fn failed(&mut self, line: &str, number: u64, said: Said) {
        let behind = self.tests.last().is_some_and(|test| test.complete);
        if behind {
            if said.late {
                self.others += 1;
                return;
            }
            // The next test of the same hosts failed before it printed anything.
            let devices = self.tests.last().map(|test| test.devices.clone()).unwrap_or_default();
            self.test(true).devices = devices;
        }
        let test = self.test(false);
        let after_bytes = test.largest();
        let told = NcclTestFailure {
            end: said.end,
            line: failure::shortened(line),
            number,
            host: said.host,
            own: said.own,
            others: Vec::new(),
            after_bytes,
        };
        match &mut test.failure {
            None => test.failure = Some(told),
            Some(known) if told.own && !said.late => {
                if !known.own {
                    *known = NcclTestFailure { after_bytes: known.after_bytes, ..told };
                } else if known.host != told.host {
                    let host = told.host.filter(|host| !known.others.contains(host));
                    known.others.extend(host.filter(|_| known.others.len() < OTHERS_MOST));
                }
            }
            Some(_) => {}
        }
    }

    fn line(&mut self, line: &str, number: u64) {
        let Some(comment) = line.trim_start().strip_prefix('#') else {
            let mut words = line.split_whitespace();
            let numeric = |word: Option<&str>| word.is_some_and(|word| word.parse::<u64>().is_ok());
            // Every row begins with bytes and elements.
            if numeric(words.next()) && numeric(words.next()) && words.next().is_some() {
                let row = self.row(line, number);
                if let Some(result) = self.skipped.keep(row) {
                    self.test(false).results.push(result);
                }
            } else if let Some(said) = failure::said(line) {
                self.failed(line, number, said);
            } else if is_broken_row(line) && self.columns.is_some() {
                let accepted = "write the row as nccl-tests prints it";
                self.skipped.take(self.error(number, "is no row of results", accepted).found(line.trim()));
            } else if !line.trim().is_empty() {
                self.others += 1;
            }
            return;
        };
        let comment = comment.trim();
        if let Some(version) = comment.strip_prefix("nccl-tests version") {
            version.trim().clone_into(&mut self.test(true).version);
        } else if let Some(name) = comment.strip_prefix("Collective test starting:") {
            // What a build with MPI calls its programs is the same test.
            let name = name.trim();
            name.strip_suffix("_mpi").unwrap_or(name).clone_into(&mut self.test(true).name);
        } else if comment.starts_with("nThread") || comment == "Using devices" {
            self.test(true);
        } else if comment.starts_with("Rank ") {
            let device = self.device(comment, number);
            self.test(true);
            match self.skipped.keep(device).filter(|_| !self.is_unnamed) {
                Some(device) => self.test(false).devices.push(device),
                None => {
                    self.unnamed += u64::from(!self.is_unnamed);
                    self.is_unnamed = true;
                    self.test(false).devices.clear();
                }
            }
        } else if comment.starts_with("size ") && comment.contains("busbw") {
            // A new test forgets the columns of the one before.
            self.test(false);
            self.columns = Columns::of(comment);
        } else if let Some(rest) = comment.strip_prefix("Out of bounds values :") {
            let count = rest.split_whitespace().next().and_then(|word| word.parse().ok());
            self.test(false).out_of_bounds = count;
        } else if let Some(rest) = comment.strip_prefix("Avg bus bandwidth") {
            let value = rest.trim_start().trim_start_matches(':').trim();
            let value = value.split_whitespace().next().unwrap_or_default();
            let average: Option<f64> = value.parse().ok().filter(|value: &f64| value.is_finite());
            if average.is_none() {
                let error = self.error(number, "is not a bandwidth", "write GB/s such as 91.9179");
                self.skipped.take(error.field("Avg bus bandwidth").found(value));
            }
            let test = self.test(false);
            test.average_bus_gb_per_s = average;
            test.complete = true;
        } else if comment.starts_with("Collective test concluded") {
            self.test(false).complete = true;
        }
    }

    /// `Rank  0 Group  0 Pid 2239162 on cnode3-002 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3`; old versions have
    /// no group and write the bus without colons.
    fn device(&self, comment: &str, line: u64) -> Result<NcclTestDevice, FormatError> {
        let mut device = NcclTestDevice::default();
        let words: Vec<&str> = comment.split_whitespace().collect();
        let mut at = 0;
        let wrong = |name: &str, found: &str| {
            let accepted =
                "write as nccl-tests does: Rank 0 Group 0 Pid 7 on host device 0 [0000:1b:00] product";
            self.error(line, "is wrong in a device line", accepted).field(name.to_owned()).found(found)
        };
        while at < words.len() && !words[at].starts_with('[') {
            let value = words.get(at + 1).copied().unwrap_or_default();
            match words[at] {
                "Rank" => device.rank = value.parse().map_err(|_| wrong("Rank", value))?,
                "Group" => device.group = value.parse().map_err(|_| wrong("Group", value))?,
                "Pid" => device.pid = value.parse().map_err(|_| wrong("Pid", value))?,
                "on" if !value.is_empty() => value.clone_into(&mut device.host),
                "device" => device.gpu = value.parse().map_err(|_| wrong("device", value))?,
                found => return Err(wrong("device line", found)),
            }
            at += 2;
        }
        if let Some(bus) = words.get(at) {
            bus.trim_matches(['[', ']']).clone_into(&mut device.bus);
            device.product = words[at + 1..].join(" ");
        }
        if device.host.is_empty() || !input::is_whole(&device.host) {
            return Err(wrong("host", comment));
        }
        Ok(device)
    }

    fn row(&self, line: &str, number: u64) -> Result<NcclTestResult, FormatError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(columns) = &self.columns else {
            let accepted = "keep the line that names size, count, type, time, algbw and busbw";
            return Err(self.error(number, "is a row whose columns nothing names", accepted).found(line));
        };
        let told = columns.result(&words).map_err(|(name, found, problem)| {
            let accepted = "write the row as nccl-tests prints it";
            self.error(number, &problem, accepted).field(format!("column {name}")).found(&found)
        })?;
        Ok(NcclTestResult { line: number, ..told })
    }
}

/// A column, what stood there and what is wrong with it.
type Wrong = (String, String, String);

impl Columns {
    fn of(comment: &str) -> Option<Self> {
        let names: Vec<String> = comment.split_whitespace().map(str::to_owned).collect();
        let is_time = |name: &String| name == "time" || name == "cputime";
        let first = names.iter().position(is_time)?;
        let measures = names.iter().filter(|name| is_time(name)).count();
        let after = &names[first + 1..];
        let width = 1 + after.iter().position(is_time).unwrap_or(after.len());
        Some(Self { fixed: names[..first].to_vec(), measure: names[first..first + width].to_vec(), measures })
    }

    fn result(&self, words: &[&str]) -> Result<NcclTestResult, Wrong> {
        let whole = self.fixed.len() + self.measure.len() * self.measures;
        // Trace replay leaves the first measurement blank; timestamps may follow the last.
        let only_last = words.len() < whole && self.measures == 2;
        let wanted = if only_last { self.fixed.len() + self.measure.len() } else { whole };
        if words.len() < wanted {
            let found = words.join(" ");
            return Err(("size".into(), found, format!("begins {} values and not {whole}", words.len())));
        }
        let mut result = NcclTestResult::default();
        for (name, &word) in self.fixed.iter().zip(words) {
            let whole =
                || word.parse().map_err(|_| (name.clone(), word.to_owned(), "is no whole number".to_owned()));
            match name.as_str() {
                "size" => result.bytes = whole()?,
                "count" => result.elements = whole()?,
                "type" => word.clone_into(&mut result.data_type),
                "redop" => word.clone_into(&mut result.reduction),
                _ => {}
            }
        }
        let mut measures = words[self.fixed.len()..wanted].chunks(self.measure.len());
        if !only_last {
            result.out_of_place = measures.next().map(|words| self.measured(words)).transpose()?;
        }
        result.in_place = measures.next().map(|words| self.measured(words)).transpose()?;
        Ok(result)
    }

    fn measured(&self, words: &[&str]) -> Result<NcclTestMeasure, Wrong> {
        let mut measure = NcclTestMeasure::default();
        for (name, &word) in self.measure.iter().zip(words) {
            let float = || {
                let value = word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
                value.ok_or_else(|| (name.clone(), word.to_owned(), "is no number".to_owned()))
            };
            match name.as_str() {
                "time" | "cputime" => measure.time_us = float()?,
                "algbw" => measure.algorithm_gb_per_s = float()?,
                "busbw" => measure.bus_gb_per_s = float()?,
                "#wrong" if word != "N/A" => measure.wrong = Some(float()? as u64),
                _ => {}
            }
        }
        Ok(measure)
    }
}

/// Whether a line looks like a row of results of which a number is damaged: it begins with a digit, and most of its words
/// are numbers.
fn is_broken_row(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let numbers = words.iter().filter(|word| word.parse::<f64>().is_ok()).count();
    words.len() >= 6 && 2 * numbers >= words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_ends_within_a_line_tells_no_failure() {
        let whole = "# nccl-tests version 2.13.11\n# nThread 1\n#  Rank  0 Group  0 Pid 1 on h1 device  0 [0x01] NVIDIA H100\n";
        let log = |text: &str| parse_nccl_tests_log("a.log", text.as_bytes()).expect("a log");
        assert!(log(&format!("{whole}#\n# out of")).tests[0].failure.is_none());
        assert!(log(&format!("{whole}#\n# out of")).notes[0].contains("ends within a line"));
        assert_eq!(
            log(&format!("{whole}#\n")).tests[0].failure.as_ref().map(|one| one.end),
            Some(NcclTestEnd::CutOff)
        );
    }

    #[test]
    fn a_launcher_that_wraps_its_line_is_read_as_one() {
        let whole = "# nccl-tests version 2.13.11\n# nThread 1\n#  Rank  0 Group  0 Pid 1 on h1 device  0 [0x01] NVIDIA H100\n";
        let said = |text: &str| {
            let log = parse_nccl_tests_log("a.log", format!("{whole}{text}").as_bytes()).expect("a log");
            let failure = log.tests[0].failure.clone().expect("a failure");
            (failure.end, failure.host, failure.own, failure.number, failure.line)
        };
        let one = "noticed that process rank 1 with PID 7 on node h1 exited on signal 7 (Bus error).";
        let died = (NcclTestEnd::Died, Some("h1".to_owned()), true, 4, format!("prterun {one}"));
        assert_eq!(said(&format!("prterun {one}\n")), died);
        let wrapped = format!("prterun {}\n", one.replace(" signal", "\nsignal"));
        assert_eq!(said(&wrapped), died);
        // The next line is another one.
        assert_eq!(
            said("prterun noticed that process rank 1 with PID 7 on node h1 exited on\nbye\n").0,
            NcclTestEnd::CutOff
        );
    }

    #[test]
    fn who_says_of_itself_that_it_failed_counts_before_who_lost_it() {
        let whole = "# nccl-tests version 2.13.11\n# nThread 1\n#  Rank  0 Group  0 Pid 1 on h1 device  0 [0x01] NVIDIA H100\n";
        let lost =
            "h1: Test NCCL failure common.cu:484 'remote process exited or there was a network error / '\n";
        let own = "h7: Test CUDA failure common.cu:892 'uncorrectable ECC error encountered'\n";
        let too = "h8: Test NCCL failure common.cu:484 'unhandled cuda error / '\n";
        let late = "mpirun noticed that process rank 1 with PID 7 on node h1 exited on signal 9 (Killed).\n";
        let said = |lines: &[&str]| {
            let text = format!("{whole}{}", lines.concat());
            let log = parse_nccl_tests_log("a.log", text.as_bytes()).expect("a log");
            let failure = log.tests[0].failure.clone().expect("a failure");
            (failure.host.unwrap_or_default(), failure.own, failure.others)
        };
        assert_eq!(said(&[lost, own, own]), ("h7".to_owned(), true, vec![]));
        assert_eq!(said(&[own, lost, late]), ("h7".to_owned(), true, vec![]));
        assert_eq!(said(&[lost, own, too, too]), ("h7".to_owned(), true, vec!["h8".to_owned()]));
        // Whom a launcher ends when others have failed did not fail by itself.
        assert_eq!(said(&[lost, late]), ("h1".to_owned(), false, vec![]));
    }

    #[test]
    fn lines_without_a_host_are_of_the_one_of_the_tests_or_of_who_failed() {
        let device = |host: &str| NcclTestDevice { host: host.into(), ..NcclTestDevice::default() };
        let mut test = NcclTest { devices: vec![device("h1"), device("h1")], ..NcclTest::default() };
        assert_eq!(only_host(&[test.clone()]).as_deref(), Some("h1"));
        test.devices.push(device("h2"));
        assert_eq!(only_host(&[test.clone()]), None);
        test.failure = Some(NcclTestFailure {
            end: NcclTestEnd::Died,
            line: "h2: Test CUDA failure".into(),
            number: 1,
            host: Some("h2".into()),
            own: true,
            others: Vec::new(),
            after_bytes: None,
        });
        assert_eq!(only_host(&[test.clone()]).as_deref(), Some("h2"));
        test.failure = test.failure.map(|one| NcclTestFailure { others: vec!["h1".into()], ..one });
        assert_eq!(only_host(&[test]), None);
    }

    #[test]
    fn old_versions_have_other_columns() {
        let text = "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n\
            # Using devices\n\
            #   Rank  0 Pid   100 on   hosta device  0 [0x07] Tesla V100\n\
            #       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n\
            0:            8             2     float     sum    11.79    0.00    0.00  0e+00    11.51    0.00    0.00  0e+00\n\
            # Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.001\n";
        let NcclTestLog { tests, notes, .. } =
            parse_nccl_tests_log("t.log", text.as_bytes()).expect("an old log");
        assert_eq!((tests.len(), tests[0].devices[0].bus.as_str(), notes.len()), (1, "0x07", 0));
        let measure = tests[0].results[0].in_place.as_ref().expect("in place");
        assert_eq!((measure.time_us, measure.wrong), (11.51, None));
    }

    #[test]
    fn replay_has_one_measurement_and_timestamps_may_follow() {
        let head = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
        let text = format!(
            "{head}  8  2  float  sum  -1    5.5  0.1  0.2  0\n  8 2 float sum -1 1 1 1 0 2 2 2 0 2026-01-01 10:00:00\n"
        );
        let NcclTestLog { tests, notes, .. } = parse_nccl_tests_log("t.log", text.as_bytes()).expect("a log");
        let results = &tests[0].results;
        assert!(results[0].out_of_place.is_none());
        assert_eq!(results[0].in_place.as_ref().map(|measure| measure.time_us), Some(5.5));
        assert_eq!(results[1].in_place.as_ref().map(|measure| measure.wrong), Some(Some(0)));
        assert!(notes[0].contains("1 of 1 tests did not come to their end"));
    }

    #[test]
    fn errors_name_line_column_and_value() {
        let head = "# size count type redop root time algbw busbw #wrong\n";
        let error = parse_nccl_tests_log("t.log", format!("{head}8 2 float sum -1 x 1 1 0\n").as_bytes());
        assert_eq!(
            error.expect_err("no number").to_string(),
            "t.log:2: column time: \"x\" is no number; write the row as nccl-tests prints it"
        );
        assert!(
            parse_nccl_tests_log("t.log", b"8 2 float\n")
                .expect_err("no header")
                .to_string()
                .contains("t.log:1")
        );
        assert!(parse_nccl_tests_log("t.log", b"hello\n").is_err());
    }

    const HEAD: &str = "# nccl-tests version 2.17.6\n# Collective test starting: alltoall_perf\n\
        # nThread 1 nGpus 1\n# Using devices\n\
        #  Rank  0 Group  0 Pid 1 on h0 device  0 [0000:52:00] H100\n\
        #  Rank  1 Group  0 Pid 2 on h1 device  0 [0000:43:00] H100\n\
        # size count type redop root time algbw busbw #wrong\n";
    const ROW: &str = "  1024 256 float none -1 5.5 0.1 0.2 0\n";
    const END: &str = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.2\n";

    fn read(text: &str) -> NcclTestLog {
        parse_nccl_tests_log("t.log", text.as_bytes()).expect("a log")
    }

    #[test]
    fn a_test_that_does_not_end_tells_how_and_after_which_size() {
        let said = "h1: Test NCCL failure alltoall.cu:274 'remote process exited or there was a network error / '\n \
                    .. h1 pid 2: Test failure common.cu:484\n";
        let log = read(&format!("{HEAD}{ROW}{said}"));
        let failure = log.tests[0].failure.as_ref().expect("it died");
        assert_eq!((failure.end, failure.after_bytes, failure.own), (NcclTestEnd::Died, Some(1024), false));
        assert_eq!((failure.host.as_deref(), failure.number), (Some("h1"), 9));
        assert!(failure.line.contains("remote process exited"), "{}", failure.line);
        assert_eq!(log.notes, ["1 of 1 tests did not come to their end"], "no line of another program");
        // A log that just ends, and one that goes on with another test.
        let log = read(&format!("{HEAD}{HEAD}{ROW}{END}"));
        let ends: Vec<_> = log.tests.iter().map(|test| test.failure.as_ref().map(|one| one.end)).collect();
        assert_eq!(ends, [Some(NcclTestEnd::CutOff), None]);
        assert_eq!(log.tests[0].devices.len(), 2);
        // A line behind the end of a test is of the next one, which printed nothing; launchers may speak late.
        let log = read(&format!("{HEAD}{ROW}{END}{said}"));
        assert_eq!((log.tests.len(), log.tests[1].devices.len()), (2, 2));
        let log = read(&format!("{HEAD}{ROW}{END}srun: error: h1: task 1: Exited with exit code 1\n"));
        assert!(log.tests.len() == 1 && log.tests[0].failure.is_none());
        // Without any line of the test itself.
        let log = read("h7: Test CUDA failure common.cu:1005 'out of memory'\n");
        assert!(log.tests[0].failure.as_ref().is_some_and(|failure| failure.own));
    }

    #[test]
    fn wrong_lines_are_skipped_and_a_wrong_device_line_takes_the_hosts_along() {
        let wrong = ROW.replace("5.5", "x");
        let log = read(&format!("{HEAD}{ROW}{wrong}{}{END}", ROW.replace("1024", "1o24")));
        assert_eq!((log.tests[0].results.len(), log.skipped.count()), (1, 2));
        let first: Vec<String> = log.skipped.first().collect();
        assert_eq!(first[0], "line 9: column time: \"x\" is no number");
        let log = read(&format!("{}{ROW}{END}", HEAD.replace("Rank  1", "Rank  #")));
        assert_eq!((log.tests[0].devices.len(), log.tests[0].results.len(), log.skipped.count()), (0, 1, 1));
        assert!(log.notes[0].contains("device line that is wrong"), "{:?}", log.notes);
        let bytes = [HEAD.as_bytes(), b"noise \xff\n", ROW.as_bytes(), END.as_bytes()].concat();
        let log = parse_nccl_tests_log("t.log", &bytes).expect("a log with a byte that is no UTF-8");
        assert_eq!(log.tests[0].results.len(), 1);
    }
}

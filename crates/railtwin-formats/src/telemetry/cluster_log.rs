//! A log of processes or of a kernel, read in one pass: lines of NCCL, of PyTorch's watchdog and of Linux, mixed as they come,
//! behind whatever launchers put before them.
//!
//! What a line says is read where it stands in the line; other lines are passed over. What was said before is said once: a
//! job that dies prints thousands of lines of one kind.

use std::collections::{BTreeMap, BTreeSet};

use super::alarm::{self, Alarm, AlarmLevel};
use super::collective_check::{self, CollectiveCheck};
use super::hccl_log::{self, HcclEvent};
use super::kernel_event::{KernelEvent, pci_address};
use super::kernel_log;
use super::log_time::{self, LogTime};
use super::names::{file_name, reading_of_name};
use super::nccl_log::{self, NcclEvent};
use super::process_end::{self, Ended, Ends};
use super::rank_report::{self, RankReport};
use super::ucx_log;
use super::watchdog::{self, WatchdogMember, WatchdogState, WatchdogTimeout};
use super::{Hints, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "log";
/// Longest line that is repeated, in characters.
const LINE_CHARS_MAX: usize = 320;
/// Longest line that is read, in bytes: what is longer is no line of these.
const LINE_BYTES_MAX: usize = 64 << 10;

/// An exception within so many lines of the end of a log ended its process.
const LAST_LINES: u64 = 30;

/// Something that a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEvent {
    /// Host that the line names, else the one of its file; none where nothing tells.
    pub host: Option<String>,
    /// Rank of the job, where the line has it.
    pub rank: Option<u32>,
    /// CUDA device of the process, where the line has it.
    pub device: Option<u32>,
    /// When it was written, in nanoseconds since 1970; none where nothing tells.
    pub time_ns: Option<u64>,
    /// Number of the line, from 1.
    pub line: u64,
    /// The line, shortened.
    pub text: String,
    /// What it says.
    pub what: LogSays,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LogSays {
    /// A kernel.
    Kernel(KernelEvent),
    /// NCCL.
    Nccl(NcclEvent),
    /// A process that ended, or is about to, with an error of CUDA, in CUDA's words.
    Cuda(String),
    /// The watchdog of a process does not go on itself, for so many seconds where the line tells.
    WatchdogStuck(Option<u64>),
    /// PyTorch's own checks of collectives.
    Check(CollectiveCheck),
    /// HCCL.
    Hccl(HcclEvent),
    /// Ranks that a tool of others reports.
    Report(RankReport),
    /// Trouble in words that no other reader knows.
    Alarm(Alarm),
    /// A process ended with an exception.
    Exception {
        /// It in Python's words: `ValueError: sample 5 cannot be decoded`.
        text: String,
        /// Whether it came because of the one that its process told before, or while that was handled.
        joined: bool,
    },
    /// A process that `torchrun` saw fail first on its host, with its exit status: below zero the signal that ended it.
    Exit(i32),
}

/// All that a log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterLog {
    /// Events in the order of lines.
    pub events: Vec<LogEvent>,
    /// Operations that ran out of their time.
    pub timeouts: Vec<WatchdogTimeout>,
    /// How far ranks were when one did, by rank and group the last that was said.
    pub states: Vec<WatchdogState>,
    /// Ranks of process groups, as they say when they make these.
    pub members: Vec<WatchdogMember>,
    /// Ranks of which others say that they told of a timeout.
    pub told_by: BTreeSet<u32>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl ClusterLog {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.timeouts.is_empty() && self.states.is_empty()
    }

    /// What it holds, in a few words.
    pub fn held(&self) -> String {
        let count = |is: fn(&LogSays) -> bool| self.events.iter().filter(|event| is(&event.what)).count();
        let of_nccl = count(|what| matches!(what, LogSays::Nccl(_)));
        let of_kernel = count(|what| matches!(what, LogSays::Kernel(_)));
        let mut parts = Vec::new();
        let mut part = |count: usize, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        part(self.timeouts.len(), "operations that ran out of their time");
        part(self.states.len(), "states of process groups");
        part(of_nccl, "lines of NCCL");
        part(of_kernel, "lines of a kernel");
        let of_alarms = count(|what| matches!(what, LogSays::Alarm(_)));
        part(self.events.len() - of_nccl - of_kernel - of_alarms, "errors of processes");
        part(of_alarms, "warnings and failures in other words");
        if parts.is_empty() { "nothing that tells of trouble".into() } else { parts.join(", ") }
    }
}

/// Whether a line is one of those that are read.
pub(crate) fn is_line(line: &str) -> bool {
    nccl_log::has_sign(line) && nccl_log::read(line).is_some()
        || watchdog::is_timeout(line)
        || line.contains("ProcessGroupNCCL")
        || kernel_log::has_sign(line) && kernel_log::read(line).is_some()
        || line.contains(PYTORCH_ERROR)
        || nccl_log::is_bare(line) && nccl_log::last_error(line).is_some()
        || line.contains("CUDA error: ")
        || line.contains("NVRM: ")
        || process_end::is_begin(line)
        || collective_check::SIGNS.iter().any(|sign| line.contains(sign))
            && collective_check::read(line).is_some()
        || hccl_log::is_line(line)
        || rank_report::read(line).is_some()
        || ucx_log::read(line).is_some()
        || alarm::SIGNS.iter().any(|sign| line.contains(sign))
}

/// How PyTorch tells of an error of NCCL, and what stands before the line with NCCL's own words.
const PYTORCH_ERROR: &str = "NCCL error in: ";
const LAST_ERROR: &str = "Last error:";

/// Words of which one at least stands in every log that is read, for a quick look at a whole file.
const SIGNS: [&str; 24] = [
    "NCCL WARN ",
    "NCCL INFO ",
    "ProcessGroupNCCL",
    PYTORCH_ERROR,
    "NVRM: ",
    ": SXid (",
    "NIC Link is ",
    "mlx5_core ",
    "[Hardware Error]",
    "Out of memory: ",
    process_end::SIGNS[0],
    process_end::SIGNS[1],
    alarm::SIGNS[0],
    alarm::SIGNS[1],
    alarm::SIGNS[2],
    alarm::SIGNS[3],
    collective_check::SIGNS[0],
    collective_check::SIGNS[1],
    hccl_log::SIGNS[0],
    hccl_log::SIGNS[1],
    hccl_log::SIGNS[2],
    rank_report::SIGNS[5],
    ucx_log::SIGNS[0],
    ucx_log::SIGNS[1],
];

/// Whether any line of a file is one of those that are read, however far down it stands.
pub(crate) fn is_log(bytes: &[u8]) -> bool {
    let has = |sign: &[u8]| {
        let first = sign[0];
        let mut from = 0;
        while let Some(at) = bytes.get(from..).and_then(|rest| rest.iter().position(|byte| *byte == first)) {
            let at = from + at;
            if bytes[at..].starts_with(sign) {
                return true;
            }
            from = at + 1;
        }
        false
    };
    SIGNS.iter().any(|sign| has(sign.as_bytes()))
}

/// A line that was read, before its file is whole.
struct Read {
    event: LogEvent,
    time: Option<LogTime>,
}

/// Reads a log. A log without any line of these kinds says nothing, which is no error: processes may log no trouble.
///
/// # Errors
/// A gzip stream that is broken.
pub fn parse_cluster_log(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<ClusterLog, FormatError> {
    Ok(read(source_name, bytes)?.finish(host_of(source_name), hints, false))
}

/// Reads what else stands in the log of a test: `host` is whose lines are that name none. The name of such a file is that of
/// several hosts, and who alone says something is one of them.
///
/// # Errors
/// A gzip stream that is broken.
pub(crate) fn log_of_tests(
    source_name: &str,
    host: Option<String>,
    bytes: &[u8],
    hints: &Hints,
) -> Result<ClusterLog, FormatError> {
    Ok(read(source_name, bytes)?.finish(host, hints, true))
}

fn read(source_name: &str, bytes: &[u8]) -> Result<Reading, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut reading = Reading::default();
    for (line, number) in text.lines().zip(1_u64..) {
        if line.len() <= LINE_BYTES_MAX {
            reading.line(line, number);
        }
        reading.lines = number;
    }
    Ok(reading)
}

#[derive(Default)]
struct Reading {
    read: Vec<Read>,
    /// What was said: by host, rank and words.
    said: BTreeSet<(Option<String>, Option<u32>, LogSays)>,
    log: ClusterLog,
    /// The row of the last state of each rank and group.
    states: BTreeMap<(Option<u32>, String, String, u32), usize>,
    /// Ranks whose stack is being read, and the address of a GPU of which more is said.
    stack: Option<Option<u32>>,
    lost_gpu: Option<String>,
    /// Rank that says on its next line what NCCL's last error was.
    last_error: Option<Option<u32>>,
    ends: Ends,
    /// Stacks of Python without a rank.
    stacks: alarm::Stacks,
    /// Lines of the file.
    lines: u64,
}

impl Reading {
    fn line(&mut self, line: &str, number: u64) {
        if let Some(rank) = self.stack {
            if watchdog::is_frame(line) {
                self.frame(rank, line);
                return;
            }
            // Lines of other ranks may stand between.
            if line.trim().is_empty() {
                self.stack = None;
            }
        }
        // What an exception of a process repeats of NCCL, of CUDA or of a kernel is read below.
        if let Some(Ended { rank, host, what }) = self.ends.line(line) {
            let event = event(line, number, host.as_deref(), Some(rank), None, what);
            self.push(event, log_time::before(line).time);
        }
        if self.check(line, number) {
            return;
        }
        if watchdog::is_timeout(line) {
            let timeout = watchdog::timeout(number, line);
            // What ends the process says it again.
            let same = |known: &WatchdogTimeout| {
                (known.rank, known.sequence, &known.kind) == (timeout.rank, timeout.sequence, &timeout.kind)
                    && known.elements.zip(timeout.elements).is_none_or(|(one, other)| one == other)
            };
            match self.log.timeouts.iter_mut().rev().take(64).find(|known| same(known)) {
                // Only the second time tells the process group.
                Some(known) => known.group = known.group.take().or(timeout.group),
                None => self.log.timeouts.push(timeout),
            }
            return;
        }
        let follows = self.last_error.take().is_some_and(|rank| rank == watchdog::rank_of_prefix(line));
        if nccl_log::has_sign(line) {
            self.nccl(line, number);
            return;
        }
        if (follows || nccl_log::is_bare(line))
            && let Some(what) = nccl_log::last_error(line)
        {
            let rank = watchdog::rank_of_prefix(line);
            let time = log_time::before(line).time;
            self.push(event(line, number, None, rank, None, LogSays::Nccl(what)), time);
            return;
        }
        if line.trim_end().ends_with(LAST_ERROR) {
            self.last_error = Some(watchdog::rank_of_prefix(line));
            return;
        }
        if line.contains("ProcessGroupNCCL") {
            self.process_group(line, number);
            return;
        }
        if let Some(error) = watchdog::cuda_error(line) {
            self.cuda(line, number, error);
            return;
        }
        if kernel_log::has_sign(line) {
            self.kernel(line, number);
            return;
        }
        if let Some(alarm) = self.stacks.line(line).or_else(|| alarm::end(line)) {
            self.alarm(line, number, alarm);
        }
    }

    /// Reads a line of PyTorch's checks or of HCCL; false for other lines.
    fn check(&mut self, line: &str, number: u64) -> bool {
        let has = |signs: &[&str]| signs.iter().any(|sign| line.contains(sign));
        let check = has(&collective_check::SIGNS).then(|| collective_check::read(line)).flatten();
        let of_hccl = || has(&hccl_log::SIGNS).then(|| hccl_log::read(line)).flatten().map(LogSays::Hccl);
        let of_tool = || rank_report::read(line).map(LogSays::Report);
        let told = check.map(LogSays::Check).or_else(of_hccl).or_else(of_tool).map(|what| (None, what));
        let of_ucx = || ucx_log::read(line).map(|(host, event)| (host, LogSays::Nccl(event)));
        let Some((host, what)) = told.or_else(of_ucx) else { return false };
        let before = log_time::before(line);
        let event = event(line, number, host.or(before.host), watchdog::rank_of_prefix(line), None, what);
        self.push(event, before.time);
        true
    }

    fn alarm(&mut self, line: &str, number: u64, alarm: Alarm) {
        let rank = watchdog::rank_of_prefix(line);
        let before = log_time::before(line);
        let event = event(line, number, before.host, rank, None, LogSays::Alarm(alarm));
        self.push(event, log_time::glog(line).or(before.time));
    }

    fn nccl(&mut self, line: &str, number: u64) {
        let Some((head, events)) = nccl_log::read(line) else { return };
        let rank = watchdog::rank_of_prefix(line);
        if events.is_empty() {
            let Some((is_warning, said)) = nccl_log::words(line) else { return };
            let alarm = if is_warning { Some(alarm::warning(said)) } else { alarm::information(said) };
            let time = log_time::before(head.before).time;
            if let Some(alarm) = alarm {
                let event = event(line, number, Some(head.host), rank, head.device, LogSays::Alarm(alarm));
                self.push(event, time);
            }
            return;
        }
        for what in events {
            let time = log_time::before(head.before).time;
            let event = event(line, number, Some(head.host), rank, head.device, LogSays::Nccl(what));
            self.push(event, time);
        }
    }

    fn process_group(&mut self, line: &str, number: u64) {
        if let Some(member) = watchdog::member(line) {
            self.log.members.push(member);
            return;
        }
        if line.contains("Stack trace of the failed collective:") {
            self.stack = Some(watchdog::rank_of_prefix(line));
            return;
        }
        self.log.told_by.extend(watchdog::told_by(line));
        if let Some(state) = watchdog::state(number, line) {
            let key = (state.rank, state.group.clone(), state.description.clone(), state.group_rank);
            match self.states.get(&key) {
                Some(&row) => {
                    // The first that tells of a failure is of when it happened; what is said later may be of the end.
                    let known = &mut self.log.states[row];
                    if known.failed.is_none() {
                        *known = state;
                    }
                }
                None => {
                    self.states.insert(key, self.log.states.len());
                    self.log.states.push(state);
                }
            }
            return;
        }
        if let Some(error) = watchdog::cuda_error(line) {
            self.cuda(line, number, error);
        } else if watchdog::is_stuck(line) {
            let rank = watchdog::rank_of_stuck(line);
            let host = log_time::before(line).host;
            let what = LogSays::WatchdogStuck(watchdog::stuck_s(line));
            self.push(event(line, number, host, rank, None, what), log_time::glog(line));
        } else if let Some(alarm) = alarm::end(line) {
            self.alarm(line, number, alarm);
        }
    }

    fn cuda(&mut self, line: &str, number: u64, error: &str) {
        let rank = watchdog::rank_of_prefix(line);
        let before = log_time::before(line);
        let what = LogSays::Cuda(error.trim_end_matches('.').to_owned());
        self.push(event(line, number, before.host, rank, None, what), log_time::glog(line).or(before.time));
    }

    fn kernel(&mut self, line: &str, number: u64) {
        // A GPU that is off the bus without a number is told in three lines.
        if let Some((_, rest)) = line.split_once("NVRM: The NVIDIA GPU ") {
            self.lost_gpu = rest.split_whitespace().next().and_then(pci_address);
            return;
        }
        let lost = line.contains("NVRM: fallen off the bus").then(|| self.lost_gpu.take()).flatten();
        let (before, what) = match lost {
            Some(bus) => (
                log_time::before(line),
                KernelEvent::Xid { bus, number: 79, harmless: false, fatal_link: None, after: None },
            ),
            None => match kernel_log::read(line) {
                Some(read) => read,
                None => return,
            },
        };
        self.push(event(line, number, before.host, None, None, LogSays::Kernel(what)), before.time);
    }

    fn frame(&mut self, rank: Option<u32>, line: &str) {
        let Some(frame) = watchdog::own_frame(line) else { return };
        let timeout = self.log.timeouts.iter_mut().rev().find(|one| rank.is_none() || one.rank == rank);
        if let Some(timeout) = timeout.filter(|one| one.frame.is_none()) {
            timeout.frame = Some(frame);
        }
    }

    fn push(&mut self, event: LogEvent, time: Option<LogTime>) {
        // A link may go down again, and a kernel begin: those are told each time.
        let again = matches!(
            event.what,
            LogSays::Kernel(
                KernelEvent::Boot
                    | KernelEvent::DriverStarted { .. }
                    | KernelEvent::Link { .. }
                    | KernelEvent::Xid { .. }
                    | KernelEvent::SwitchXid { .. }
                    | KernelEvent::OutOfMemory { .. }
            ) | LogSays::Nccl(NcclEvent::Port { .. })
        );
        let key = (event.host.clone(), event.rank.or(event.device), event.what.clone());
        if again || self.said.insert(key) {
            self.read.push(Read { event, time });
        }
    }

    /// `host` is whose lines are that name none, unless all that name one name the same; of `several` hosts they may be of
    /// another.
    fn finish(self, host: Option<String>, hints: &Hints, several: bool) -> ClusterLog {
        let Self { mut read, mut log, lines, .. } = self;
        // An exception far from the end of its log was caught.
        read.retain(|one| {
            let is_exception =
                matches!(&one.event.what, LogSays::Alarm(alarm) if alarm.level == AlarmLevel::Exception);
            !is_exception || lines - one.event.line <= LAST_LINES
        });
        let only = if several { None } else { only_host(&read) };
        let told = hints.host.clone().or(only).or(host);
        // When each kernel began: its last line is as old as the file, at most.
        let mut last_up: BTreeMap<Option<&str>, u64> = BTreeMap::new();
        for one in &read {
            if let Some(LogTime::Up(ns)) = one.time {
                let last = last_up.entry(one.event.host.as_deref()).or_default();
                *last = ns.max(*last);
            }
        }
        let resolve = |event: &LogEvent, time: LogTime| match time {
            LogTime::At(ns) => Some(ns),
            LogTime::InYear(ns) => Some(log_time::in_year(ns, hints.time_ns)),
            LogTime::Up(ns) => {
                let last = last_up.get(&event.host.as_deref()).copied().unwrap_or(ns);
                hints.time_ns.checked_sub(last).map(|began| began.saturating_add(ns))
            }
        };
        let times: Vec<Option<u64>> =
            read.iter().map(|one| one.time.and_then(|time| resolve(&one.event, time))).collect();
        for (one, time_ns) in read.into_iter().zip(times) {
            let mut event = one.event;
            event.time_ns = time_ns;
            if event.host.is_none() {
                event.host.clone_from(&told);
            }
            log.events.push(event);
        }
        if told.is_none() && log.events.iter().any(|event| event.host.is_none() && event.rank.is_none()) {
            log.notes.push(
                "nothing tells the host of some of its lines: put it into the name of the file or folder, as in dmesg_HOST.txt"
                    .into(),
            );
        }
        log
    }
}

fn event(
    line: &str,
    number: u64,
    host: Option<&str>,
    rank: Option<u32>,
    device: Option<u32>,
    what: LogSays,
) -> LogEvent {
    let text: String =
        line.trim().chars().filter(|letter| !letter.is_control()).take(LINE_CHARS_MAX).collect();
    LogEvent { host: host.map(str::to_owned), rank, device, time_ns: None, line: number, text, what }
}

/// The host of a log that is of one host alone.
fn only_host(read: &[Read]) -> Option<String> {
    let hosts: BTreeSet<&str> = read.iter().filter_map(|one| one.event.host.as_deref()).collect();
    let mut hosts = hosts.into_iter();
    hosts.next().filter(|_| hosts.next().is_none()).map(str::to_owned)
}

/// The host that the name of a log tells, or that of the folder it lies in: the words that name no kind of log.
fn host_of(source_name: &str) -> Option<String> {
    const KINDS: [&str; 33] = [
        "dmesg",
        "journal",
        "journalctl",
        "kern",
        "kernel",
        "syslog",
        "messages",
        "log",
        "logs",
        "txt",
        "out",
        "err",
        "gz",
        "stdout",
        "stderr",
        "nccl",
        "debug",
        "train",
        "training",
        "job",
        "slurm",
        "output",
        "error",
        "torchrun",
        "file",
        "var",
        "tmp",
        "data",
        "home",
        "run",
        "node",
        "host",
        "attempt",
    ];
    let of = |name: &str| {
        let parts: Vec<&str> = behind_dmesg(name)
            .split(['_', '.'])
            .filter(|part| !part.is_empty() && !KINDS.contains(&part.to_ascii_lowercase().as_str()))
            .collect();
        // A name of a host has a letter and a digit, or is joined of two words; a word alone says what the log is.
        let name = parts.join("_");
        let name = name.trim_matches(['-', '_']).to_owned();
        let bare = ["dmesg-", "kern-", "journal-", "syslog-"].iter().find_map(|kind| name.strip_prefix(kind));
        let name = bare.unwrap_or(&name);
        let has = |is: fn(&char) -> bool| name.chars().any(|letter| is(&letter));
        let known = has(char::is_ascii_alphabetic) && has(char::is_ascii_digit) && log_time::is_host(name);
        (known && !is_of_ranks(name)).then(|| name.to_owned())
    };
    let file = file_name(source_name);
    let folder = source_name.strip_suffix(file).map(|rest| file_name(rest.trim_end_matches(['/', '\\'])));
    of(file).or_else(|| folder.and_then(of))
}

/// The part of a name behind `dmesg_`, which is that of a host and nothing else: `12-slow-link_dmesg_node12.txt`; else all of it.
fn behind_dmesg(name: &str) -> &str {
    let Some((_, rest)) = name.rsplit_once("dmesg_") else { return name };
    let word = rest.split(['_', '.']).next().unwrap_or(rest);
    let has = |is: fn(&char) -> bool| word.chars().any(|letter| is(&letter));
    let is_host =
        has(char::is_ascii_alphabetic) && has(char::is_ascii_digit) && reading_of_name(word).is_none();
    if is_host { rest } else { name }
}

/// Whether a name is that of ranks or of a job: `rank3`, `slurm-123`, `job-7`.
fn is_of_ranks(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    [
        "rank", "slurm", "job", "worker", "pid", "run", "step", "part", "attempt", "v0", "v1", "log", "tmp",
        "dump", "20",
    ]
    .iter()
    .any(|word| small.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, time_ns: u64) -> ClusterLog {
        let hints = Hints { time_ns, ..Hints::default() };
        parse_cluster_log(name, text.as_bytes(), &hints).expect("a log")
    }

    #[test]
    fn a_mixed_log_gives_all_that_its_lines_say_once() {
        let text = "hello\n\
            0: gpu-1:10:20 [0] NCCL INFO comm 0x1 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 1b000 commId 0xa - Init COMPLETE\n\
            [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: \
            WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds \
            before timing out.\n\
            [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 3] Exception (either an error or \
            timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.\n\
            [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:663] Stack trace of the failed collective: \n\
            #0 all_reduce from /x/torch/distributed/distributed_c10d.py:2806\n\
            #1 train_step from /job/train.py:88\n\
            [rank3]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread \
            terminated with exception: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, \
            NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n\
            gpu-1:10:21 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<1> with status=12 \
            opcode=0 len=0 vendor err 129 (Send)\n\
            gpu-1:10:21 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<2> with status=12 \
            opcode=0 len=0 vendor err 129 (Send)\n\
            gpu-1: [  100.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n";
        let log = read("train.log", text, 1_000_000_000_000);
        assert_eq!((log.timeouts.len(), log.states.len(), log.events.len()), (1, 1, 3));
        assert_eq!(log.timeouts[0].frame.as_deref(), Some("train_step (/job/train.py:88)"));
        assert_eq!(log.timeouts[0].group, Some(("0".to_owned(), "default_pg".to_owned())));
        assert_eq!((log.states[0].rank, log.states[0].enqueued), (Some(3), Some(811)));
        let hosts: Vec<_> = log.events.iter().map(|event| event.host.as_deref()).collect();
        assert_eq!(hosts, [Some("gpu-1"); 3]);
        assert_eq!(log.events[2].time_ns, Some(1_000_000_000_000), "the last line is as old as the file");
        assert_eq!(
            log.held(),
            "1 operations that ran out of their time, 1 states of process groups, 2 lines of NCCL, 1 lines of a kernel"
        );
    }

    #[test]
    fn what_pytorch_repeats_of_nccl_is_read_as_nccl_says_it() {
        let text = "[rank3]: torch.distributed.DistBackendError: NCCL error in: ../NCCLUtils.hpp:268, remote process exited or there \
            was a network error, NCCL version 2.21.5\n\
            [rank3]: ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n\
            [rank3]: Last error:\n\
            [rank3]: NET/IB : Got completion from peer 10.1.0.22<43210> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_3\n\
            [rank4]: Last error:\n\
            [rank4]: socketProgress: Connection closed by remote peer node009<51122>\n\
            [rank4]: socketProgress: Connection closed by remote peer node010<51122>\n";
        assert!(text.lines().next().is_some_and(is_line) && text.lines().nth(3).is_some_and(is_line));
        assert!(is_log(text.as_bytes()));
        let log = read("err.log", text, 0);
        let said: Vec<_> =
            log.events.iter().map(|event| (event.rank, event.line, event.host.as_deref())).collect();
        assert_eq!(said, [(Some(3), 4, None), (Some(4), 6, None)]);
        let closed = LogSays::Nccl(NcclEvent::Closed { peer: "node009".into() });
        assert_eq!(log.events[1].what, closed);
        // The file tells the host.
        assert_eq!(read("node017.log", text, 0).events[0].host.as_deref(), Some("node017"));
    }

    #[test]
    fn a_gpu_without_a_number_is_told_in_three_lines_and_the_file_names_the_host() {
        let text = "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n\
                    NVRM: (PCI ID: 10de:26b5) installed in this system has\n\
                    NVRM: fallen off the bus and is not responding to commands.\n";
        for name in ["logs/dmesg_node017.txt", "logs/node017/dmesg.log", "node017.log"] {
            let log = read(name, text, 0);
            assert_eq!(log.events.len(), 1, "{name}");
            assert_eq!(log.events[0].host.as_deref(), Some("node017"), "{name}");
            let xid = KernelEvent::Xid {
                bus: "0000:b3:00".into(),
                number: 79,
                harmless: false,
                fatal_link: None,
                after: None,
            };
            assert_eq!(log.events[0].what, LogSays::Kernel(xid));
        }
        for name in ["logs/dmesg.txt", "rank3.log", "slurm-123.out"] {
            let log = read(name, text, 0);
            assert!(log.events[0].host.is_none() && log.notes.len() == 1, "{name}");
        }
    }
}

//! What a file is, by its first bytes.

use super::flight_recorder::is_archive;
use super::input::head;
use super::pickle::is_pickle;
use super::{ethtool, nccl_tests_failure, nic_counters, perftest, steps, watchdog, xpu_timer};

/// Bytes of a file that are looked at.
const HEAD_BYTES: usize = 256 << 10;

/// A format of foreign telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// NCCL Inspector, JSON objects.
    NcclInspector,
    /// NCCL RAS status, JSON.
    NcclRas,
    /// PyTorch Flight Recorder, JSON or a pickle.
    FlightRecorder,
    /// A pickle, or an archive of one, that is no dump of a Flight Recorder: not read.
    Pickle,
    /// What nccl-tests print.
    NcclTestsLog,
    /// JSON of nccl-tests.
    NcclTestsJson,
    /// Tables of perftest: `ib_write_bw` and its kin.
    Perftest,
    /// A log in which the watchdog of PyTorch's process groups gives operations up.
    WatchdogLog,
    /// A log of MLPerf training, with times of steps.
    MlperfLog,
    /// A table of times of steps.
    StepsCsv,
    /// Lines of a training framework with the time of each step.
    TrainingLog,
    /// Kineto trace of the PyTorch profiler, JSON.
    Kineto,
    /// Prometheus text of xpu_timer.
    XpuTimer,
    /// Prometheus text of the DCGM exporter.
    Dcgm,
    /// Prometheus text of others, node_exporter first of all.
    NodeExporter,
    /// `ethtool -S`.
    Ethtool,
    /// `rdma statistic show`, JSON or text.
    RdmaStatistic,
    /// Names and values of counters, from `/sys` for one.
    CounterListing,
    /// A Parquet file: a Megatron trace, if its columns say so.
    Parquet,
}

impl Format {
    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NcclInspector => "NCCL Inspector",
            Self::NcclRas => "NCCL RAS status",
            Self::FlightRecorder => "PyTorch Flight Recorder",
            Self::Pickle => "pickle",
            Self::NcclTestsLog => "nccl-tests log",
            Self::NcclTestsJson => "nccl-tests JSON",
            Self::Perftest => "perftest log",
            Self::WatchdogLog => "PyTorch watchdog log",
            Self::MlperfLog => "MLPerf log",
            Self::StepsCsv => "CSV of steps",
            Self::TrainingLog => "training log",
            Self::Kineto => "Kineto trace",
            Self::XpuTimer => "xpu_timer metrics",
            Self::Dcgm => "DCGM exporter metrics",
            Self::NodeExporter => "Prometheus metrics",
            Self::Ethtool => "ethtool -S",
            Self::RdmaStatistic => "rdma statistic",
            Self::CounterListing => "counter listing",
            Self::Parquet => "Parquet",
        }
    }
}

/// What a file is, by its first bytes; a file name decides nothing. None where nothing fits.
pub fn detect_format(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(b"PAR1") {
        return Some(Format::Parquet);
    }
    let head = head(bytes, HEAD_BYTES);
    if is_archive(&head) {
        return Some(Format::Pickle);
    }
    if is_pickle(&head) {
        // Names of keys stand in a pickle as they are.
        let has = |key: &[u8]| head.windows(key.len()).any(|part| part == key);
        let is_dump =
            has(b"pg_config") || has(b"pg_status") || has(b"nccl_comm_state") || has(b"collective_seq_id");
        return Some(if is_dump { Format::FlightRecorder } else { Format::Pickle });
    }
    let text = String::from_utf8_lossy(&head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.starts_with(['{', '[']) && !text.starts_with("[1,") {
        // Lines of logs begin with brackets, too.
        let other = || {
            let watched = text.lines().any(watchdog::is_timeout).then_some(Format::WatchdogLog);
            watched.or_else(|| text.lines().any(steps::is_step_line).then_some(Format::TrainingLog))
        };
        return json(text).or_else(other);
    }
    lines(text)
}

fn json(text: &str) -> Option<Format> {
    let has = |keys: &[&str]| keys.iter().any(|key| text.contains(&format!("\"{key}\"")));
    if has(&["inspector_output_format_version", "coll_perf", "p2p_perf"]) {
        Some(Format::NcclInspector)
    } else if has(&["communicators"])
        && has(&["communicators_count", "ranks_count", "missing_ranks", "nccl_version"])
    {
        Some(Format::NcclRas)
    } else if has(&["traceEvents", "deviceProperties"]) || (has(&["ph"]) && has(&["ts"])) {
        Some(Format::Kineto)
    } else if has(&["pg_config", "pg_status", "nccl_comm_state", "collective_seq_id"]) {
        Some(Format::FlightRecorder)
    } else if text.starts_with('[') && has(&["ifname"]) {
        Some(Format::RdmaStatistic)
    } else if has(&["results", "out_of_place", "average_bus_bandwidth"])
        && has(&["args", "config", "nccl_version"])
    {
        Some(Format::NcclTestsJson)
    } else {
        None
    }
}

fn lines(text: &str) -> Option<Format> {
    // Launchers put prefixes before the sign.
    let names_columns = |line: &str| {
        let comment = line.split_once('#').map_or("", |(_, comment)| comment.trim_start());
        comment.starts_with("nccl-tests version")
            || comment.starts_with("Collective test starting:")
            || (comment.starts_with("size ") && comment.contains("busbw"))
            || nccl_tests_failure::is_of_a_test(line)
    };
    if text.lines().any(names_columns) {
        return Some(Format::NcclTestsLog);
    }
    if text.lines().any(perftest::names_columns) {
        return Some(Format::Perftest);
    }
    if text.lines().any(watchdog::is_timeout) {
        return Some(Format::WatchdogLog);
    }
    if text.lines().any(steps::is_mlperf) {
        return Some(Format::MlperfLog);
    }
    if text.lines().next().is_some_and(steps::names_columns) {
        return Some(Format::StepsCsv);
    }
    if text.split(['\n', '\r']).any(steps::is_step_line) {
        return Some(Format::TrainingLog);
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if text.lines().any(|line| line.trim() == "NIC statistics:") {
        return Some(Format::Ethtool);
    }
    if text.starts_with("link ") && text.lines().next().is_some_and(|line| line.contains('/')) {
        return Some(Format::RdmaStatistic);
    }
    let begins = |prefix: &str| text.lines().any(|line| line.starts_with(prefix));
    if begins(xpu_timer::PREFIX) {
        return Some(Format::XpuTimer);
    }
    if begins("DCGM_") || begins("dcgm_") {
        return Some(Format::Dcgm);
    }
    if begins("# TYPE ") || begins("# HELP ") || begins("node_") {
        return Some(Format::NodeExporter);
    }
    let known = |line: &str| {
        let (path, _) = ethtool::name_and_value(line)?;
        nic_counters::counter_of(path.rsplit('/').next()?)
    };
    lines.any(|line| known(line).is_some()).then_some(Format::CounterListing)
}

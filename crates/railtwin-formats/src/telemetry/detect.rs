//! What a file is, by its first bytes.

use super::flight_recorder::is_archive;
use super::input::head;
use super::pickle::is_pickle;
use super::{
    cluster_log, device_tables, ethtool, lldp, nccl_tests_failure, nccl_tests_table, nic_counters, perftest,
    perftest_json, port_counters, probe_table, ras_text, steps, tcp_info, xpu_timer,
};

/// Bytes of a file that are looked at.
const HEAD_BYTES: usize = 256 << 10;

/// Lines of steps beyond which a log is one of training, whatever else it holds.
const STEP_LINES: usize = 8;

/// A format of foreign telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// NCCL Inspector, JSON objects.
    NcclInspector,
    /// NCCL RAS status, JSON or text.
    NcclRas,
    /// PyTorch Flight Recorder, JSON or a pickle.
    FlightRecorder,
    /// A pickle, or an archive of one, that is no dump of a Flight Recorder: not read.
    Pickle,
    /// What nccl-tests print.
    NcclTestsLog,
    /// JSON of nccl-tests.
    NcclTestsJson,
    /// A table of times of nccl-tests by size of the cluster.
    NcclTestsTable,
    /// Tables of perftest: `ib_write_bw` and its kin.
    Perftest,
    /// A log with lines of NCCL, of the watchdog of PyTorch's process groups or of a kernel.
    ClusterLog,
    /// JSON of perftest.
    PerftestJson,
    /// A table of probes between hosts.
    ProbeTable,
    /// TCP_INFO as `ss -tin` prints it.
    TcpInfo,
    /// A log of MLPerf training, with times of steps.
    MlperfLog,
    /// A table of times of steps.
    StepsCsv,
    /// JSON lines with times of steps.
    StepsJson,
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
    /// A folder copied from `/sys`, a file for each counter.
    SysfsTree,
    /// Neighbors of ports as lldpd tells them.
    Lldp,
    /// A table about devices, such as `nvidia-smi topo -m`.
    DeviceTable,
    /// A Parquet file: a Megatron trace, if its columns say so.
    Parquet,
    /// Live records of a rank, JSON lines.
    LiveRecords,
}

impl Format {
    /// Whether it is text that programs print line by line, between whose lines NCCL, PyTorch and kernels may print theirs.
    pub(crate) const fn is_log(self) -> bool {
        matches!(
            self,
            Self::NcclTestsLog | Self::Perftest | Self::ClusterLog | Self::MlperfLog | Self::TrainingLog
        )
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NcclInspector => "NCCL Inspector",
            Self::NcclRas => "NCCL RAS status",
            Self::FlightRecorder => "PyTorch Flight Recorder",
            Self::Pickle => "pickle",
            Self::NcclTestsLog => "nccl-tests log",
            Self::NcclTestsJson => "nccl-tests JSON",
            Self::NcclTestsTable => "table of nccl-tests",
            Self::Perftest => "perftest log",
            Self::ClusterLog => "log",
            Self::PerftestJson => "perftest JSON",
            Self::ProbeTable => "table of probes",
            Self::TcpInfo => "ss -tin",
            Self::MlperfLog => "MLPerf log",
            Self::StepsCsv => "CSV of steps",
            Self::StepsJson => "JSON lines of steps",
            Self::TrainingLog => "training log",
            Self::Kineto => "Kineto trace",
            Self::XpuTimer => "xpu_timer metrics",
            Self::Dcgm => "DCGM exporter metrics",
            Self::NodeExporter => "Prometheus metrics",
            Self::Ethtool => "ethtool -S",
            Self::RdmaStatistic => "rdma statistic",
            Self::CounterListing => "counter listing",
            Self::SysfsTree => "sysfs tree",
            Self::Lldp => "LLDP neighbors",
            Self::DeviceTable => "table of devices",
            Self::Parquet => "Parquet",
            Self::LiveRecords => "live records",
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
    // What a client of RAS that speaks with it itself hears first.
    let text = if text.starts_with("SERVER PROTOCOL ") { super::ras::answer(text) } else { text };
    if text.starts_with(['{', '[']) && !text.starts_with("[1,") {
        // Lines of logs begin with brackets, too.
        return json(text)
            .or_else(|| lines(text).filter(|format| format.is_log()))
            .or_else(|| further_down(bytes));
    }
    lines(text).or_else(|| further_down(bytes))
}

/// A log whose first line that tells something stands far down.
fn further_down(bytes: &[u8]) -> Option<Format> {
    (bytes.len() > HEAD_BYTES && cluster_log::is_log(bytes)).then_some(Format::ClusterLog)
}

/// Whether a line is a metric of node_exporter: its name, labels if any, a number, and perhaps a time.
fn is_node_metric(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("node_") else { return false };
    let name =
        rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(rest.len());
    let rest = match rest[name..].strip_prefix('{') {
        Some(labels) => labels.rsplit_once('}').map(|(_, rest)| rest),
        None => Some(&rest[name..]).filter(|rest| rest.starts_with([' ', '\t'])),
    };
    let words: Vec<&str> = rest.unwrap_or_default().split_whitespace().collect();
    (1..=2).contains(&words.len()) && words.iter().all(|word| word.parse::<f64>().is_ok())
}

fn json(text: &str) -> Option<Format> {
    let has = |keys: &[&str]| keys.iter().any(|key| text.contains(&format!("\"{key}\"")));
    if perftest_json::is_perftest(text) {
        Some(Format::PerftestJson)
    } else if has(&["inspector_output_format_version", "coll_perf", "p2p_perf"]) {
        Some(Format::NcclInspector)
    } else if has(&["communicators"])
        && has(&["communicators_count", "ranks_count", "missing_ranks", "nccl_version"])
    {
        Some(Format::NcclRas)
    } else if has(&["traceEvents", "deviceProperties"]) || (has(&["ph"]) && has(&["ts"])) {
        Some(Format::Kineto)
    } else if has(&["pg_config", "pg_status", "nccl_comm_state", "collective_seq_id"]) {
        Some(Format::FlightRecorder)
    } else if lldp::is_json(text) {
        Some(Format::Lldp)
    } else if text.starts_with('[') && has(&["ifname"]) {
        Some(Format::RdmaStatistic)
    } else if has(&["results", "out_of_place", "average_bus_bandwidth"])
        && has(&["args", "config", "nccl_version"])
    {
        Some(Format::NcclTestsJson)
    } else if text.starts_with('{') && steps::is_json_lines(text) {
        Some(Format::StepsJson)
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
    if ras_text::is_ras(text) {
        return Some(Format::NcclRas);
    }
    if device_tables::is_table(text) {
        return Some(Format::DeviceTable);
    }
    if text.lines().any(perftest::is_of_perftest) {
        return Some(Format::Perftest);
    }
    if text.lines().any(steps::is_mlperf) {
        return Some(Format::MlperfLog);
    }
    // What a neighbor says of its system may look like a line of a kernel.
    if lldp::is_text(text) {
        return Some(Format::Lldp);
    }
    // Lines of NCCL between those of steps are read with them.
    if text.split(['\n', '\r']).filter(|line| steps::is_step_line(line)).nth(STEP_LINES).is_some() {
        return Some(Format::TrainingLog);
    }
    if text.lines().any(cluster_log::is_line) {
        return Some(Format::ClusterLog);
    }
    if lldp::is_keyvalue(text) {
        return Some(Format::Lldp);
    }
    if tcp_info::is_ss(text) {
        return Some(Format::TcpInfo);
    }
    if nccl_tests_table::is_table(text) {
        return Some(Format::NcclTestsTable);
    }
    // Before tables of steps, which may have a column of times, too, and none of sources.
    if probe_table::is_table(text) {
        return Some(Format::ProbeTable);
    }
    if text.lines().next().is_some_and(steps::names_columns) {
        return Some(Format::StepsCsv);
    }
    // DLLogger puts a sign before its objects.
    if text.lines().any(|line| line.starts_with("DLLL {")) && steps::is_json_lines(text) {
        return Some(Format::StepsJson);
    }
    if text.split(['\n', '\r']).any(steps::is_step_line) {
        return Some(Format::TrainingLog);
    }
    counters(text)
}

/// The format of a text with readings of counters.
fn counters(text: &str) -> Option<Format> {
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
    if begins("# TYPE ") || begins("# HELP ") || text.lines().any(is_node_metric) {
        return Some(Format::NodeExporter);
    }
    let known = |line: &str| {
        let (path, _) = ethtool::name_and_value(line)?;
        let name = path.rsplit('/').next()?;
        (nic_counters::counter_of(name).is_some() || port_counters::is_named(name)).then_some(())
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.any(|line| known(line).is_some()).then_some(Format::CounterListing)
}

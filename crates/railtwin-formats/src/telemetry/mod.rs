//! Decoders of what clusters already log: bytes in, records out.
//!
//! [`detect_format`] says what a file is, [`decode`] reads it, [`Merger`] joins the files of all ranks into one
//! directory and batch. Each format is read in one place:
//!
//! | format | read |
//! | --- | --- |
//! | NCCL Inspector, JSON v4.0 to v4.3 | [`InspectorDump`] |
//! | NCCL RAS status, JSON and text | [`RasSnapshot`] |
//! | PyTorch Flight Recorder, JSON and pickles 2.x | [`FlightRecorderDump`] |
//! | nccl-tests, text, JSON and tables of times | [`NcclTest`] |
//! | logs: NCCL_DEBUG, PyTorch's watchdog, `dmesg` and syslog, mixed | [`ClusterLog`] |
//! | perftest, tables of bandwidth and latency, and JSON | [`PerftestLog`] |
//! | tables of probes between hosts, long or as a matrix; `ss -tin` | [`PairProbe`] |
//! | times of steps: MLPerf logs, CSV, JSON lines | [`StepSeries`] |
//! | Kineto trace | [`KinetoTrace`] |
//! | xpu_timer metrics | [`XpuTimerSnapshot`] |
//! | DCGM exporter metrics, all generations of names | [`parse_dcgm`] |
//! | node_exporter metrics | [`parse_node_exporter`] |
//! | `ethtool -S`, listings of `/sys` | [`parse_ethtool`], [`parse_counter_listing`] |
//! | folders copied from `/sys/class` | [`decode_sysfs`] |
//! | `rdma statistic show` | [`parse_rdma_statistic`] |
//! | neighbors of ports by lldpd, JSON and keys | [`parse_lldp`] |
//! | tables about devices: `nvidia-smi topo -m`, `iblinkinfo`, SONiC's PFC watchdog and others | [`DeviceTable`] |
//! | Megatron trace | [`megatron_trace`], from a table |
//!
//! ```
//! use railtwin_formats::telemetry::{Hints, Merger, decode};
//!
//! let dump = r#"{"header":{"id":"0x7f","rank":1,"n_ranks":2,"nnodes":1},"metadata":
//!     {"inspector_output_format_version":"v4.0","dump_timestamp_us":500,"hostname":"h1","pid":7},"coll_perf":
//!     {"coll":"AllReduce","coll_sn":3,"coll_msg_size_bytes":1024,"coll_exec_time_us":20}}"#;
//! let mut merger = Merger::new("llama");
//! merger.add(decode("h1-pid7.log", dump.as_bytes(), &Hints::default())?);
//! let merged = merger.finish();
//! assert_eq!(merged.files[0].held, "1 operations of 1 communicators");
//! assert_eq!(merged.telemetry.batch.operations.end_ns, [500_000]);
//! # Ok::<(), railtwin_formats::FormatError>(())
//! ```

mod alarm;
mod builder;
mod cluster_log;
mod collective_check;
mod dcgm;
mod decoded;
mod detect;
mod device_tables;
mod ethtool;
mod flight_entry;
mod flight_recorder;
mod flight_records;
mod hccl_log;
pub(crate) mod input;
mod inspector;
mod json;
mod kernel_devices;
mod kernel_event;
mod kernel_log;
mod kineto;
mod lldp;
mod log_time;
mod megatron;
mod merger;
mod names;
mod nccl_log;
mod nccl_setup;
mod nccl_tests;
mod nccl_tests_failure;
mod nccl_tests_json;
mod nccl_tests_prefix;
mod nccl_tests_table;
mod nic_counters;
mod node_exporter;
mod note;
mod pair_probe;
mod perftest;
mod perftest_hosts;
mod perftest_json;
mod pickle;
mod port_counters;
mod probe_columns;
mod probe_table;
mod process_end;
mod prometheus;
mod rank_report;
mod ras;
mod ras_text;
mod rdma;
mod skipped;
mod steps;
mod sysfs;
mod tcp_info;
mod tree;
mod ucx_log;
mod watchdog;
mod xpu_timer;

use std::collections::BTreeSet;

use railtwin_records::{Batch, Directory, NeighborInfo};

use crate::error::FormatError;

pub use alarm::{Alarm, AlarmLevel};
pub use cluster_log::{ClusterLog, LogEvent, LogSays, parse_cluster_log};
pub use collective_check::{CalledOperation, CollectiveCheck};
pub use dcgm::parse_dcgm;
use decoded::Decoded;
pub use detect::{Format, detect_format};
pub use device_tables::{
    DeviceTable, GidPort, GpuStatus, GpuTopology, GpuTrouble, IbLink, IbPort, PciePath, PfcPauses, PfcQueue,
    PfcTables, PortStatus, parse_device_table,
};
pub use ethtool::{parse_counter_listing, parse_ethtool};
pub use flight_entry::{FlightEntry, FlightPeer, FlightState};
pub use flight_recorder::{FlightGroup, FlightRecorderDump, FlightStatus};
pub use flight_records::telemetry_of_flight_recorder;
pub use hccl_log::HcclEvent;
pub use inspector::{InspectorDump, InspectorRecord, telemetry_of_inspector};
pub use kernel_devices::is_gpu_driver;
pub use kernel_event::{KernelEvent, pci_address};
pub use kineto::{ComputeTime, KinetoGroup, KinetoTrace, NcclKernel, telemetry_of_kineto};
pub use lldp::{LldpNeighbors, parse_lldp};
pub use megatron::{MegatronOperation, MegatronRole, MegatronTrace, megatron_trace};
pub use merger::{FileNotes, Merged, Merger};
pub use names::{ranks_of_path, reading_of_name};
pub use nccl_log::NcclEvent;
pub use nccl_setup::NcclSetup;
pub use nccl_tests::{
    NcclTest, NcclTestDevice, NcclTestLog, NcclTestMeasure, NcclTestResult, parse_nccl_tests_log,
};
pub use nccl_tests_failure::{NcclTestEnd, NcclTestFailure};
pub use nccl_tests_json::parse_nccl_tests_json;
pub use nccl_tests_table::parse_nccl_tests_table;
pub use node_exporter::parse_node_exporter;
pub use note::Note;
use note::texts;
pub use pair_probe::{PairProbe, ProbeEnd};
pub use perftest::{PerftestLog, PerftestMeasure, PerftestResult, PerftestRun, PerftestVerb, parse_perftest};
pub use perftest_json::parse_perftest_json;
pub use port_counters::{PortReading, port_class, port_counters_of};
pub use probe_table::parse_probe_table;
pub use prometheus::{PrometheusSample, PrometheusText, parse_prometheus};
pub use rank_report::RankReport;
pub use ras::{IN_PROGRESS, RasCommunicator, RasMissingRank, RasRank, RasSnapshot, RasStatus, UNTOLD_ERROR};
pub use rdma::parse_rdma_statistic;
pub use skipped::Skipped;
pub use steps::{
    StepLog, StepSeries, StepTime, parse_mlperf_log, parse_step_lines, parse_steps_csv, parse_steps_json,
};
pub use sysfs::{decode_sysfs, devices_of_sysfs, host_of_sysfs, place_in_sysfs};
pub use tcp_info::parse_ss;
pub use watchdog::{WatchdogMember, WatchdogState, WatchdogTimeout};
pub use xpu_timer::{XpuTimerGauge, XpuTimerRank, XpuTimerSnapshot};

/// What times of operations are worth, the best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Times {
    /// When kernels began and ended.
    #[default]
    Kernels,
    /// When a process launched operations and saw that they had ended: late, but in order.
    Observed,
    /// Only durations mean anything.
    Durations,
}

/// Operations and counters of some files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Who is who.
    pub directory: Directory,
    /// The records.
    pub batch: Batch,
    /// Counters of ports by the names of their drivers.
    pub ports: Vec<PortReading>,
    /// What times of operations are worth.
    pub times: Times,
    /// Notes on what was left out and why.
    pub notes: Vec<Note>,
    /// Names of communicators of which some ranks logged nothing, or may have: how late the last one was is not known.
    pub partial: BTreeSet<String>,
    /// What is wrong in them.
    pub skipped: Skipped,
}

impl Telemetry {
    /// Ports with counters by the names of their drivers.
    fn named_ports(&self) -> usize {
        self.ports.iter().map(|reading| &reading.port).collect::<BTreeSet<_>>().len()
    }

    /// The host of a rank by its row; none where no file told it.
    pub fn host(&self, rank: u32) -> Option<&str> {
        let info = self.directory.ranks.get(rank as usize)?;
        let name = &self.directory.hosts.get(info.host as usize)?.name;
        (*name != builder::unknown_host(info.rank)).then_some(name)
    }
}

/// What the caller knows of a file and the file may not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Host that the file is of.
    pub host: Option<String>,
    /// NIC that the file is of.
    pub nic: Option<String>,
    /// Rank that the file is of.
    pub rank: Option<u32>,
    /// When the file was written, for readings without a time, in nanoseconds.
    pub time_ns: u64,
}

/// A decoded file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Its name.
    pub source: String,
    /// Kind.
    pub format: Format,
    /// What it holds.
    pub content: Content,
    /// What lines of NCCL, of PyTorch's watchdog and of a kernel say between the others.
    pub log: Option<Box<ClusterLog>>,
    /// Notes on what was left out and why.
    pub notes: Vec<Note>,
    /// What is wrong in it.
    pub skipped: Skipped,
}

/// What a decoded file holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Operations of one process.
    Inspector(InspectorDump),
    /// Operations of one rank.
    FlightRecorder(FlightRecorderDump),
    /// NCCL kernels of one rank.
    Kineto(KinetoTrace),
    /// Readings of counters.
    Counters(Box<Telemetry>),
    /// The state of all communicators.
    Ras(RasSnapshot),
    /// Tests one after the other.
    NcclTests(Vec<NcclTest>),
    /// Runs between two NICs, one after the other.
    Perftest(Vec<PerftestRun>),
    /// Only what [`Imported::log`] has.
    Log,
    /// Measurements between two hosts.
    Pairs(Vec<PairProbe>),
    /// Times of steps, by run.
    Steps(Vec<StepSeries>),
    /// Gauges of ranks.
    XpuTimer(XpuTimerSnapshot),
    /// Which port hears which.
    Neighbors(Vec<NeighborInfo>),
    /// A table about devices.
    Devices(DeviceTable),
}

/// Live records are a stream with a reader of its own.
fn refused_live(source_name: &str) -> FormatError {
    let accepted = "read them with railtwin_live::reader";
    FormatError::new("live records", source_name, "are followed, not decoded", accepted)
}

/// Reads a file of any format; `source_name` appears in errors, and may tell rank, host and NIC.
///
/// A record that is wrong is skipped and counted, the rest of the file is read; members that are not known are passed over.
/// Where a record that is missing would make others say something wrong these are left out too, and a note says so.
///
/// # Errors
/// Bytes that are of no format that is known, a pickle, a Parquet file (read it as a table and give it to
/// [`megatron_trace`]), and the errors of the format's own decoder.
pub fn decode(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<Imported, FormatError> {
    let Some(format) = detect_format(bytes) else {
        return Err(FormatError::new(
            "telemetry",
            source_name,
            "is of no format that is known",
            "read are NCCL Inspector, RAS (JSON and text) and Flight Recorder, nccl-tests logs, JSON and tables, perftest logs and \
             JSON, tables of probes between hosts (source, destination, rtt_us, loss), ss -tin, logs with lines of NCCL, \
             PyTorch's watchdog or a kernel, Kineto traces, Prometheus text of xpu_timer, DCGM and node_exporter, \
             ethtool -S, rdma statistic, neighbors of lldpcli, nvidia-smi topo -m, iblinkinfo, ibnetdiscover, SONiC's show \
             pfcwd stats, MLPerf logs, \
             CSV or JSON lines with times of steps (step_s, step_time_ms), and listings of counters",
        ));
    };
    let Decoded { content, mut notes, skipped } = match format {
        Format::NcclInspector => InspectorDump::parse(source_name, bytes)?.into(),
        Format::NcclRas => RasSnapshot::parse(source_name, bytes)?.into(),
        Format::FlightRecorder => FlightRecorderDump::parse(source_name, bytes, hints.rank)?.into(),
        Format::Pickle => return Err(flight_recorder::refused_pickle(source_name, bytes)),
        Format::NcclTestsLog => parse_nccl_tests_log(source_name, bytes)?.into(),
        Format::NcclTestsJson => parse_nccl_tests_json(source_name, bytes)?.into(),
        Format::NcclTestsTable => parse_nccl_tests_table(source_name, bytes)?.into(),
        Format::MlperfLog => parse_mlperf_log(source_name, bytes)?.into(),
        Format::StepsCsv => parse_steps_csv(source_name, bytes)?.into(),
        Format::StepsJson => parse_steps_json(source_name, bytes)?.into(),
        Format::TrainingLog => parse_step_lines(source_name, bytes)?.into(),
        Format::ClusterLog => Content::Log.into(),
        Format::Perftest => parse_perftest(source_name, bytes)?.into(),
        Format::PerftestJson => parse_perftest_json(source_name, bytes)?.into(),
        Format::ProbeTable => parse_probe_table(source_name, bytes, hints)?.into(),
        Format::TcpInfo => parse_ss(source_name, bytes, hints)?.into(),
        Format::Kineto => KinetoTrace::parse(source_name, bytes, hints.rank)?.into(),
        Format::XpuTimer => XpuTimerSnapshot::parse(source_name, bytes)?.into(),
        Format::Dcgm => parse_dcgm(source_name, bytes, hints)?.into(),
        Format::NodeExporter => parse_node_exporter(source_name, bytes, hints)?.into(),
        Format::Ethtool => parse_ethtool(source_name, bytes, hints)?.into(),
        Format::RdmaStatistic => parse_rdma_statistic(source_name, bytes, hints)?.into(),
        Format::CounterListing => parse_counter_listing(source_name, bytes, hints)?.into(),
        Format::Lldp => parse_lldp(source_name, bytes, hints)?.into(),
        Format::DeviceTable => Content::Devices(parse_device_table(source_name, bytes, hints)?).into(),
        Format::SysfsTree => {
            let accepted = "give the folder, or its files to decode_sysfs";
            return Err(FormatError::new("sysfs tree", source_name, "is a folder of files", accepted));
        }
        Format::LiveRecords => return Err(refused_live(source_name)),
        Format::Parquet => {
            return Err(FormatError::new(
                "Megatron trace",
                source_name,
                "is a Parquet file, which is read as a table and not from its bytes",
                format!("a Megatron trace has the columns {}", megatron::COLUMNS.join(", ")),
            ));
        }
    };
    let mut log = None;
    if format.is_log() {
        let mut read = match &content {
            Content::NcclTests(tests) => {
                cluster_log::log_of_tests(source_name, nccl_tests::only_host(tests), bytes, hints)?
            }
            _ => parse_cluster_log(source_name, bytes, hints)?,
        };
        if !read.is_empty() || format == Format::ClusterLog {
            notes.extend(texts(std::mem::take(&mut read.notes)));
            log = Some(Box::new(read));
        }
    }
    Ok(Imported { source: source_name.to_owned(), format, content, log, notes, skipped })
}

impl Imported {
    /// What it holds, in a few words.
    pub fn held(&self) -> String {
        let content = self.content_held();
        match self.log.as_deref() {
            None => content,
            Some(log) if content.is_empty() => log.held(),
            Some(log) => format!("{content}; {}", log.held()),
        }
    }

    fn content_held(&self) -> String {
        match &self.content {
            Content::Inspector(dump) => {
                let ids: BTreeSet<&str> =
                    dump.records.iter().map(|record| record.communicator.as_str()).collect();
                format!("{} operations of {} communicators", dump.records.len(), ids.len())
            }
            Content::FlightRecorder(dump) => {
                let (rank, entries, groups) = (dump.rank, dump.entries.len(), dump.groups.len());
                let open = dump.entries.iter().filter(|entry| entry.state != FlightState::Completed).count();
                format!("rank {rank}: {entries} entries in {groups} process groups, {open} not completed")
            }
            Content::Kineto(trace) => format!(
                "rank {}: {} NCCL kernels and {} others",
                trace.rank,
                trace.kernels.len(),
                trace.compute.kernels
            ),
            Content::Counters(telemetry) => format!(
                "{} readings of {} entities",
                telemetry.batch.counters.len().max(telemetry.ports.len()),
                telemetry.directory.entities.len().max(telemetry.named_ports())
            ),
            Content::Ras(snapshot) => {
                let missing: usize =
                    snapshot.communicators.iter().map(|communicator| communicator.missing.len()).sum();
                format!("{} communicators, {missing} ranks missing", snapshot.communicators.len())
            }
            Content::NcclTests(tests) => {
                let rows: usize = tests.iter().map(|test| test.results.len()).sum();
                let failed = tests.iter().filter(|test| test.failure.is_some()).count();
                let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
                format!("{} tests with {rows} results{failed}", tests.len())
            }
            Content::Steps(series) => {
                let steps: usize = series.iter().map(|one| one.steps.len()).sum();
                format!("{steps} steps of {} runs", series.len())
            }
            Content::Log => String::new(),
            Content::Perftest(runs) => {
                let rows: usize = runs.iter().map(|run| run.results.len()).sum();
                format!("{} runs of perftest with {rows} results", runs.len())
            }
            Content::Pairs(pairs) => {
                let ways: BTreeSet<&[ProbeEnd; 2]> = pairs.iter().map(|pair| &pair.ends).collect();
                format!("{} measurements of {} ways between hosts", pairs.len(), ways.len())
            }
            Content::Neighbors(neighbors) => {
                let ports: BTreeSet<&str> = neighbors.iter().map(|info| info.port.as_str()).collect();
                format!("neighbors of {} ports", ports.len())
            }
            Content::Devices(table) => table.held(),
            Content::XpuTimer(snapshot) => {
                format!("{} ranks, {} hung", snapshot.ranks.len(), snapshot.hung().count())
            }
        }
    }
}

/// A note for each rank of which there are several files: they may be of two jobs.
fn notes_on_repeats(ranks: impl Iterator<Item = u32>) -> Vec<String> {
    let mut files = std::collections::BTreeMap::new();
    for rank in ranks {
        *files.entry(rank).or_insert(0_u64) += 1;
    }
    let several = files.into_iter().filter(|(_, count)| *count > 1);
    several
        .map(|(rank, count)| format!("rank {rank} has {count} files, which are joined: are all of one job?"))
        .collect()
}

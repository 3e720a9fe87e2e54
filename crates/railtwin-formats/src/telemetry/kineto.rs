//! Kineto (PyTorch profiler): NCCL kernels of a rank as operations, and how long its other kernels took.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::OperationShape;

use super::builder::Builder;
use super::json::{Node, Place, Step, syntax};
use super::names::{axis, data_type, operation_kind, rank_of_name};
use super::skipped::Skipped;
use super::tree::{Tree, each_item, skim};
use super::{Telemetry, Times, input, notes_on_repeats};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "Kineto trace";
/// The list of its events.
const EVENTS: &str = "traceEvents";

/// The trace of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct KinetoTrace {
    /// Rank, from the content or the file name.
    pub rank: u32,
    /// Ranks of the job; 0 where they are not told.
    pub ranks: u32,
    /// NCCL kernels in order of their start.
    pub kernels: Vec<NcclKernel>,
    /// All other kernels of the GPU.
    pub compute: ComputeTime,
    /// What was left out and why.
    pub notes: Vec<String>,
    /// Kernels that are wrong.
    pub skipped: Skipped,
    /// Whether a NCCL kernel is among these: then the others cannot be numbered by their order.
    pub gaps: bool,
}

/// A kernel of NCCL.
#[derive(Clone, Debug, PartialEq)]
pub struct NcclKernel {
    /// What it does, in the words of records: as the metadata say, else as the kernel's name says.
    pub kind: String,
    /// Algorithm in lower case; empty where the name has none.
    pub algorithm: String,
    /// Data type; empty where it is not told.
    pub data_type: String,
    /// Bytes: the larger of what goes in and what comes out; 0 where it is not told.
    pub bytes: u64,
    /// Process group: name, description, ranks; none where old traces do not tell.
    pub group: Option<KinetoGroup>,
    /// Number in its group, where the trace tells one.
    pub sequence: Option<u64>,
    /// Stream that it ran on.
    pub stream: u64,
    /// GPU of the host.
    pub gpu: u32,
    /// Start in nanoseconds on the clock of the host.
    pub start_ns: u64,
    /// How long it took in nanoseconds, its wait for peers included.
    pub duration_ns: u64,
}

/// The process group of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KinetoGroup {
    /// Its name.
    pub name: String,
    /// What the job says that it is for.
    pub description: String,
    /// Its ranks, numbered in the job; empty where they are not told in full.
    pub ranks: Vec<u32>,
}

/// Time in kernels that are not NCCL's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComputeTime {
    /// Kernels.
    pub kernels: u64,
    /// Their durations summed, in nanoseconds.
    pub total_ns: u64,
    /// Start of the first kernel of any kind to the end of the last, in nanoseconds.
    pub span_ns: u64,
}

impl KinetoTrace {
    /// Reads a trace, perhaps in gzip. The rank is `rank` where given, else the trace's own, else what the file name
    /// says. A trace without NCCL kernels is no error: its notes say what was there instead.
    ///
    /// # Errors
    /// What is not JSON or has no events, a rank that nothing tells, a trace of which no kernel can be read. A kernel with
    /// wrong fields is skipped.
    pub fn parse(source_name: &str, bytes: &[u8], rank: Option<u32>) -> Result<Self, FormatError> {
        let text = input::lossy(FORMAT, source_name, bytes)?;
        let not_json = |error: serde_json::Error| syntax(FORMAT, source_name, error.line() as u64, &error);
        // Events are read one at a time: a trace has millions of them.
        let value = skim(&text, EVENTS).map_err(not_json)?;
        let place = Place { format: FORMAT, source: source_name, line: None };
        let root = Node::root(place, &value);
        let own = root.get("distributedInfo");
        let of_own = |key: &str| own.as_ref().and_then(|own| own.get(key));
        let mut reading = Reading::default();
        let told = of_own("rank").and_then(|node| reading.skipped.keep(node.u32()));
        let rank = rank.or(told).or_else(|| rank_of_name(source_name)).ok_or_else(|| {
            let accepted = "name the file so that it tells the rank, such as trace_rank_3.json.gz";
            FormatError::new(FORMAT, source_name, "has no distributedInfo.rank", accepted)
        })?;
        let ranks =
            of_own("world_size").and_then(|node| reading.skipped.keep(node.u32())).unwrap_or_default();
        // Without its base all times of the trace would be of another clock: this one is not left out.
        reading.base =
            root.get("baseTimeNanoseconds").map(|node| node.u64()).transpose()?.unwrap_or_default();
        let is_list = value.is_list();
        if !is_list {
            root.need(EVENTS)?.items()?;
        }
        each_item(&text, EVENTS, &value, &mut |at, event| {
            if !reading.is_read(event) {
                return;
            }
            let steps = [Step::Key(EVENTS), Step::Item(at)];
            let node = Node::at(place, &steps[usize::from(is_list)..], event);
            let read = reading.event(&node);
            if reading.skipped.keep(read).is_none() {
                let name = event.get("name").and_then(Tree::as_str).unwrap_or_default();
                reading.gaps |= is_nccl(name);
            }
        })
        .map_err(not_json)?;
        let none = reading.kernels.is_empty() && reading.compute.kernels == 0;
        match reading.skipped.all().filter(|_| none) {
            Some(error) => Err(error),
            None => Ok(reading.finish(rank, ranks)),
        }
    }
}

#[derive(Default)]
struct Reading {
    base: u64,
    kernels: Vec<NcclKernel>,
    compute: ComputeTime,
    first_ns: Option<u64>,
    last_ns: u64,
    annotations: u64,
    unnamed: u64,
    unknown: BTreeMap<String, u64>,
    skipped: Skipped,
    gaps: bool,
}

impl Reading {
    /// Counts a call of NCCL; whether an event is a kernel, of which more is to be read.
    fn is_read(&mut self, event: &Tree) -> bool {
        let text = |key: &str| event.get(key).and_then(Tree::as_str).unwrap_or_default();
        let category = text("cat");
        if category == "user_annotation" && text("name").starts_with("nccl:") {
            self.annotations += 1;
        }
        // Old traces write "Kernel".
        category.eq_ignore_ascii_case("kernel") && text("ph") == "X"
    }

    fn event(&mut self, event: &Node) -> Result<(), FormatError> {
        let name = event.value().get("name").and_then(Tree::as_str).unwrap_or_default();
        let time = |key: &str| -> Result<f64, FormatError> {
            let node = event.need(key)?;
            let value = node.f64()?;
            if value < 0.0 {
                Err(node.error("is negative", "write microseconds from 0 up"))
            } else {
                Ok(value)
            }
        };
        let start_ns = input::ns_of_us(time("ts")?).saturating_add(self.base);
        let duration_ns = input::ns_of_us(time("dur")?);
        self.first_ns = Some(self.first_ns.map_or(start_ns, |first| first.min(start_ns)));
        self.last_ns = self.last_ns.max(start_ns.saturating_add(duration_ns));
        if !is_nccl(name) {
            self.compute.kernels += 1;
            self.compute.total_ns = self.compute.total_ns.saturating_add(duration_ns);
            return Ok(());
        }
        let mut kernel = NcclKernel {
            kind: String::new(),
            algorithm: algorithm_of(name),
            data_type: String::new(),
            bytes: 0,
            group: None,
            sequence: None,
            stream: 0,
            gpu: 0,
            start_ns,
            duration_ns,
        };
        if let Some(args) = event.get("args") {
            kernel.take_metadata(&args)?;
        }
        if kernel.kind.is_empty() {
            kernel.kind = kind_of(name);
        }
        if kernel.kind == "unknown" {
            *self.unknown.entry(name.chars().take(60).collect()).or_default() += 1;
        }
        if kernel.group.is_none() {
            self.unnamed += 1;
        }
        self.kernels.push(kernel);
        Ok(())
    }

    fn finish(mut self, rank: u32, ranks: u32) -> KinetoTrace {
        self.kernels.sort_by_key(|kernel| (kernel.start_ns, kernel.stream));
        self.compute.span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or_default());
        let mut notes = Vec::new();
        if self.kernels.is_empty() {
            let kernels = self.compute.kernels;
            let why = match (kernels, self.annotations) {
                (0, _) => {
                    "the trace has no GPU kernels at all: profile with ProfilerActivity.CUDA".to_owned()
                }
                (_, 0) => format!("none of its {kernels} kernels is NCCL's"),
                (_, calls) if ranks == 1 => {
                    format!("{calls} calls of NCCL launched no kernel, because the job has one rank")
                }
                (_, calls) => format!("{calls} calls of NCCL, but none of {kernels} kernels is NCCL's"),
            };
            notes.push(format!("no operations: {why}"));
        }
        if self.unnamed > 0 {
            notes.push(format!(
                "{} of {} NCCL kernels tell no process group: those of one stream are taken for one group",
                self.unnamed,
                self.kernels.len()
            ));
        }
        for (name, count) in &self.unknown {
            notes.push(format!("{count} NCCL kernels `{name}` tell no collective: kept as `unknown`"));
        }
        let Self { kernels, compute, skipped, gaps, .. } = self;
        KinetoTrace { rank, ranks, kernels, compute, notes, skipped, gaps }
    }
}

/// NCCL's kernels: `ncclKernel_AllReduce_RING_LL_Sum_float(…)` up to 2.18, `ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)`
/// and `ncclDevKernel_Generic…` since, `ncclSymkDevKernel_…` for symmetric memory; RCCL names its own alike.
fn is_nccl(name: &str) -> bool {
    name.starts_with("nccl") || name.starts_with("rccl") || (name.starts_with("void nccl"))
}

fn words_of(name: &str) -> impl Iterator<Item = &str> {
    let bare = name.split(['(', '<']).next().unwrap_or(name);
    bare.split('_').skip(1)
}

fn kind_of(name: &str) -> String {
    const KNOWN: [&str; 8] = [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "broadcast",
        "reduce",
        "send-receive",
        "barrier",
    ];
    let told = words_of(name).map(operation_kind).find(|kind| KNOWN.contains(&kind.as_str()));
    told.unwrap_or_else(|| "unknown".to_owned())
}

fn algorithm_of(name: &str) -> String {
    const ALGORITHMS: [&str; 7] = ["RING", "TREE", "COLLNET", "NVLSTREE", "NVLS", "PAT", "COLL"];
    let told = words_of(name).find(|word| ALGORITHMS.contains(word));
    told.map(str::to_ascii_lowercase).unwrap_or_default()
}

impl NcclKernel {
    fn take_metadata(&mut self, args: &Node) -> Result<(), FormatError> {
        let text = |key: &str| args.get(key).map(|node| node.text_or_number()).transpose();
        let number = |key: &str| args.get(key).map(|node| node.u64()).transpose();
        self.stream = number("stream")?.unwrap_or_default();
        self.gpu = args.get("device").map(|node| node.u32()).transpose()?.unwrap_or_default();
        if let Some(name) = text("Collective name")?.filter(|name| !name.is_empty()) {
            self.kind = operation_kind(&name);
        }
        self.sequence = args.get("Seq").and_then(|node| node.u64().ok());
        if let Some(name) = text("dtype")? {
            let (data_type, width) = data_type(&name);
            self.data_type = data_type;
            let (input, output) = (number("In msg nelems")?, number("Out msg nelems")?);
            let elements = input.unwrap_or_default().max(output.unwrap_or_default());
            self.bytes = elements.saturating_mul(width.unwrap_or_default());
        }
        if let Some(name) = text("Process Group Name")? {
            // A long list ends in `...`: then only the ranks of the traces at hand are known.
            let ranks = args.get("Process Group Ranks").and_then(|node| node.ranks().ok());
            let description = text("Process Group Description")?.unwrap_or_default();
            self.group = Some(KinetoGroup { name, description, ranks: ranks.unwrap_or_default() });
        }
        Ok(())
    }
}

/// Makes operations of the traces of all ranks of a job: one for each NCCL kernel, from its start to its end, per
/// process group ([`Times::Kernels`]).
///
/// Where traces tell no number, kernels of a group are numbered by their order: this fits only if all traces begin at
/// the same step, and a note says when ranks have unequal numbers of them.
pub fn telemetry_of_kineto(job: &str, traces: &[KinetoTrace]) -> Telemetry {
    let mut builder = Builder::default();
    let mut notes = notes_on_repeats(traces.iter().map(|trace| trace.rank));
    let job = builder.job(job);
    for trace in traces {
        let gpu = trace.kernels.first().map(|kernel| kernel.gpu);
        builder.rank(job, trace.rank, None, gpu);
    }
    let mut groups = KernelGroups::of(traces);
    let mut counts: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let mut unnumbered = 0_u64;
    for trace in traces {
        let rank = builder.rank(job, trace.rank, None, None);
        for kernel in &trace.kernels {
            if trace.gaps && kernel.sequence.is_none() {
                unnumbered += 1;
                continue;
            }
            let row = groups.row(kernel, &mut builder, job);
            let count = counts.entry(row).or_default().entry(rank).or_default();
            let told = kernel.sequence.and_then(|sequence| u32::try_from(sequence).ok());
            let sequence = told.unwrap_or(*count);
            *count += 1;
            // One number may stand for several kernels of a coalesced call: the first is the operation.
            if !taken.insert((row, rank, sequence)) {
                continue;
            }
            let shape = OperationShape {
                kind: kernel.kind.clone(),
                algorithm: kernel.algorithm.clone(),
                data_type: kernel.data_type.clone(),
                bytes: kernel.bytes,
            };
            let end = kernel.start_ns.saturating_add(kernel.duration_ns);
            builder.operation(row, rank, sequence, shape, (kernel.start_ns, end));
        }
    }
    let (directory, batch) = builder.finish();
    for (row, of_ranks) in counts {
        let (least, most) = (of_ranks.values().min(), of_ranks.values().max());
        if least != most {
            let name = &directory.communicators[row as usize].name;
            let (least, most) = (least.copied().unwrap_or_default(), most.copied().unwrap_or_default());
            notes.push(format!("group {name}: ranks have {least} to {most} kernels, numbers may not match"));
        }
    }
    if unnumbered > 0 {
        notes.push(format!(
            "{unnumbered} NCCL kernels left out: they tell no number, and others of their traces could not be read, so \
             that their order does not number them"
        ));
    }
    Telemetry {
        directory,
        batch,
        times: Times::Kernels,
        notes: super::texts(notes),
        partial: groups.partial,
        ..Telemetry::default()
    }
}

/// Groups of the kernels of all traces, each entered once.
struct KernelGroups<'a> {
    /// Ranks of the traces that have the group, by its name.
    ranks_of: BTreeMap<String, BTreeSet<u32>>,
    /// Communicators of groups.
    rows: BTreeMap<GroupKey<'a>, u32>,
    /// Names of groups that may have more ranks than there are traces.
    partial: BTreeSet<String>,
}

impl<'a> KernelGroups<'a> {
    fn of(traces: &[KinetoTrace]) -> Self {
        let mut ranks_of: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
        for trace in traces {
            let groups: BTreeSet<GroupKey> = trace.kernels.iter().map(group_key).collect();
            for key in groups {
                ranks_of.entry(group_name(key)).or_default().insert(trace.rank);
            }
        }
        Self { ranks_of, rows: BTreeMap::new(), partial: BTreeSet::new() }
    }

    /// The communicator of a kernel's group.
    fn row(&mut self, kernel: &'a NcclKernel, builder: &mut Builder, job: u32) -> u32 {
        *self.rows.entry(group_key(kernel)).or_insert_with_key(|&key| {
            let name = group_name(key);
            let told = key.0.filter(|group| !group.ranks.is_empty());
            let members: Vec<u32> = match told {
                Some(group) => group.ranks.clone(),
                None => self.ranks_of.get(&name).into_iter().flatten().copied().collect(),
            };
            let members: Vec<u32> = members.iter().map(|&rank| builder.rank(job, rank, None, None)).collect();
            let axis = axis(key.0.map_or("", |group| &group.description));
            let row = builder.communicator(job, &name, &axis, &members);
            // Without the list of its ranks a group may have more of them than there are traces.
            if told.is_none() {
                self.partial.insert(name);
            }
            row
        })
    }
}

/// The group of a kernel; where none is told its stream stands for it.
type GroupKey<'a> = (Option<&'a KinetoGroup>, u64);

fn group_key(kernel: &NcclKernel) -> GroupKey<'_> {
    let group = kernel.group.as_ref();
    (group, if group.is_some() { 0 } else { kernel.stream })
}

fn group_name((group, stream): GroupKey<'_>) -> String {
    match group {
        Some(group) => group.name.clone(),
        None => format!("stream {stream}"),
    }
}

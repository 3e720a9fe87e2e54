//! What imported files hold: names and counts in our words, for people and as JSON.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::design::DesignReport;
use railtwin_formats::{
    ChakraTrace, CommType, Group, HtsimConnections, HtsimTopology, LingjunDesign, LingjunTopology, NodeKind,
    SimaiCollective, SimaiTopology, SimaiWorkload,
};
use railtwin_topology::{Counts, Topology, TopologyFinding};
use railtwin_workload::{Plan, Work};
use serde_json::{Value, json};

use crate::{CliError, units};

/// Most rates of links that are counted one by one.
const MOST_RATES: usize = 8;

/// What a file holds.
pub(crate) struct Facts {
    /// Name of the format.
    pub(crate) format: &'static str,
    /// The file, or the common name of several.
    pub(crate) file: String,
    pub(crate) rows: Vec<Fact>,
    /// What was odd in it, and how it is read.
    pub(crate) notes: Vec<String>,
    /// Of a fabric.
    pub(crate) design: Option<DesignReport>,
    /// Of a topology.
    pub(crate) counts: Option<Counts>,
    /// Where the files of a topology contradict themselves.
    pub(crate) findings: Vec<TopologyFinding>,
}

/// One line.
pub(crate) struct Fact {
    /// Name in JSON.
    pub(crate) key: String,
    /// Name for people.
    pub(crate) name: String,
    pub(crate) shown: String,
    pub(crate) value: Value,
}

impl Facts {
    pub(crate) fn new(format: &'static str, file: &str) -> Self {
        Self {
            format,
            file: file.to_owned(),
            rows: Vec::new(),
            notes: Vec::new(),
            design: None,
            counts: None,
            findings: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, key: &str, name: &str, shown: String, value: Value) {
        self.rows.push(Fact { key: key.to_owned(), name: name.to_owned(), shown, value });
    }

    pub(crate) fn count(&mut self, key: &str, name: &str, count: impl Into<u64>) {
        let count = count.into();
        self.push(key, name, count.to_string(), json!(count));
    }

    /// Seconds of computation.
    fn seconds(&mut self, key: &str, name: &str, seconds: f64) {
        self.push(key, name, units::shown(Some(seconds), "s"), json!(seconds));
    }

    fn bytes(&mut self, key: &str, name: &str, bytes: u64) {
        self.push(key, name, units::shown(Some(bytes as f64), "bytes"), json!(bytes));
    }
}

/// Facts of a SimAI workload and the plan that we make of it.
pub(crate) fn of_simai(file: &str, workload: &SimaiWorkload, plan: &Plan) -> Facts {
    let mut facts = Facts::new("simai", file);
    facts.push("policy", "policy", workload.policy.to_string(), json!(workload.policy.as_str()));
    facts.count("gpus", "GPUs", plan.ranks);
    let model = workload.tp * workload.pp;
    for (axis, size) in
        [("tp", workload.tp), ("pp", workload.pp), ("ep", workload.ep), ("dp", plan.ranks / model)]
    {
        facts.count(axis, axis, size);
    }
    facts.count("micro_batches", "micro-batches", workload.ga);
    facts.count("rows", "rows (layers of one pipeline stage, unrolled)", workload.layers.len() as u64);
    facts.seconds("compute_s", "computation of all rows", workload.compute().seconds());
    let mut bytes: BTreeMap<Group, u64> = BTreeMap::new();
    for layer in &workload.layers {
        for phase in [layer.forward, layer.input_gradient, layer.weight_gradient] {
            if let Some(SimaiCollective { group, .. }) = phase.collective {
                let sum = bytes.entry(group).or_default();
                *sum = sum.saturating_add(phase.bytes);
            }
        }
    }
    for (group, bytes) in bytes {
        let (key, name) = match group {
            Group::Tp => ("tp", "tp"),
            Group::Dp => ("dp", "dp"),
            Group::Ep => ("ep", "ep"),
            Group::DpEp => ("dp_ep", "dp-ep"),
        };
        facts.bytes(&format!("bytes_{key}"), &format!("collectives of all rows, {name}"), bytes);
    }
    if workload.pp > 1 {
        facts.bytes("bytes_pp", "between stages, for a micro-batch", workload.pp_comm_bytes);
    }
    of_plan(&mut facts, plan);
    facts
}

/// Facts of the Chakra traces of all ranks.
pub(crate) fn of_chakra(file: &str, traces: &[ChakraTrace], plan: &Plan) -> Facts {
    let mut facts = Facts::new("chakra", file);
    let versions: BTreeSet<&str> = traces.iter().map(|trace| trace.version.as_str()).collect();
    let versions: Vec<&str> = versions.into_iter().filter(|version| !version.is_empty()).collect();
    if !versions.is_empty() {
        facts.push("version", "schema", versions.join(", "), json!(versions));
    }
    facts.count("ranks", "ranks", traces.len() as u64);
    let nodes = || traces.iter().flat_map(|trace| &trace.nodes);
    facts.count("nodes", "nodes", nodes().count() as u64);
    let of_kind = |kind: NodeKind| nodes().filter(move |node| node.kind == kind).count() as u64;
    facts.count("compute_nodes", "compute nodes", of_kind(NodeKind::Compute));
    facts.count("send_nodes", "sends", of_kind(NodeKind::Send));
    for kind in CommType::ALL {
        let collectives =
            || nodes().filter(|node| node.comm_type() == Some(kind) && node.kind == NodeKind::Collective);
        let name = comm_name(kind);
        if collectives().next().is_some() {
            facts.count(
                &format!("{}_nodes", name.replace('-', "_")),
                &format!("{name} nodes"),
                collectives().count() as u64,
            );
            let bytes = collectives().filter_map(|node| node.comm_size()).fold(0, u64::saturating_add);
            facts.bytes(&format!("{}_bytes", name.replace('-', "_")), &format!("{name}, all ranks"), bytes);
        }
    }
    of_plan(&mut facts, plan);
    facts
}

fn comm_name(kind: CommType) -> &'static str {
    match kind {
        CommType::AllReduce => "all-reduce",
        CommType::Reduce => "reduce",
        CommType::AllGather => "all-gather",
        CommType::Gather => "gather",
        CommType::Scatter => "scatter",
        CommType::Broadcast => "broadcast",
        CommType::AllToAll => "all-to-all",
        CommType::ReduceScatter => "reduce-scatter",
        CommType::ReduceScatterBlock => "reduce-scatter-block",
        CommType::Barrier => "barrier",
    }
}

/// The step that we make of the file, and what we had to decide for it.
fn of_plan(facts: &mut Facts, plan: &Plan) {
    let compute: f64 = (0..plan.lanes.len() as u32).map(|lane| plan.compute_of_lane(lane).seconds()).sum();
    let computing = plan.operations.iter().filter(|o| matches!(o.work, Work::Compute(_))).count();
    facts.count("operations", "operations of a step", plan.operations.len() as u64);
    facts.count("communications", "of these communication", (plan.operations.len() - computing) as u64);
    facts.count("lanes", "lanes", plan.lanes.len() as u64);
    facts.seconds(
        "compute_per_lane_s",
        "computation of a lane, mean",
        compute / plan.lanes.len().max(1) as f64,
    );
    facts.notes.extend(plan.notes.iter().cloned());
}

/// Facts of a Lingjun topology and of the fabric that we build of it.
pub(crate) fn of_lingjun(file: &str, topology: &LingjunTopology) -> Result<Facts, CliError> {
    let mut facts = Facts::new("lingjun", file);
    facts.count("core_groups", "core groups (DSW)", topology.core_groups.len() as u64);
    facts.count("spine_groups", "spine groups (PSW)", topology.spine_groups.len() as u64);
    facts.count("leaves", "leaves (ASW)", topology.leaves.len() as u64);
    facts.count("hosts", "hosts", topology.hosts.len() as u64);
    let fabric = topology.fabric(&LingjunDesign::default()).map_err(|error| {
        CliError::input(format!("{file}: {error}"), "mend the file: no fabric can be built of it")
    })?;
    facts.design = Some(DesignReport::of(&fabric));
    let words =
        "the file says which host hangs where; host model, spines, cores and capacities are our design";
    facts.notes.push(words.to_owned());
    Ok(facts)
}

/// Facts of a fat-tree of htsim and of the fabric that it makes.
pub(crate) fn of_htsim(file: &str, topology: &HtsimTopology, spec: &ClosSpec) -> Result<Facts, CliError> {
    let mut facts = Facts::new("htsim", file);
    facts.count("hosts", "hosts", topology.nodes);
    facts.count("tiers", "tiers", topology.tiers.len() as u64);
    facts.count("pods", "pods", spec.pods);
    facts.count("leaves", "leaves of a pod", spec.segments);
    facts.count("spines", "spines of a pod", spec.spines);
    if spec.pods > 1 {
        facts.count("cores", "cores", spec.cores);
    }
    let fabric = spec.build().map_err(|error| {
        CliError::input(format!("{file}: {error}"), "mend the file: no fabric can be built of it")
    })?;
    facts.design = Some(DesignReport::of(&fabric));
    if topology.tiers.iter().any(|tier| tier.queue_up.is_some() || tier.queue_down.is_some()) {
        facts.notes.push("lengths of queues are read and not used".to_owned());
    }
    Ok(facts)
}

/// Facts of a connection matrix of htsim and the plan that we make of it.
pub(crate) fn of_connections(file: &str, matrix: &HtsimConnections, plan: &Plan) -> Facts {
    let mut facts = Facts::new("connections", file);
    facts.count("nodes", "nodes", matrix.nodes);
    facts.count("connections", "connections", matrix.connections.len() as u64);
    let bytes = matrix.connections.iter().map(|one| one.bytes).fold(0, u64::saturating_add);
    facts.bytes("bytes", "bytes of all connections", bytes);
    let last = matrix.connections.iter().map(|one| one.start_ps).max().unwrap_or(0);
    facts.seconds("last_start_s", "start of the last", last as f64 * 1e-12);
    of_plan(&mut facts, plan);
    facts
}

/// Facts of a topology of SimAI or of HPCC's ns-3.
pub(crate) fn of_simai_topology(file: &str, topology: &SimaiTopology) -> Facts {
    let mut facts = Facts::new("simai-topology", file);
    facts.count("gpus", "GPUs, each with its NIC", topology.gpus);
    if let Some(gpus) = topology.gpus_per_server {
        facts.count("gpus_per_server", "GPUs of a server", gpus);
        facts.count("hosts", "servers", topology.gpus.div_ceil(gpus.max(1)));
    }
    facts.count("nvswitches", "NVSwitches", topology.nvswitches.len() as u64);
    facts.count("switches", "switches of the network", topology.switches.len() as u64);
    facts.count("links", "links", topology.links.len() as u64);
    if !topology.gpu_type.is_empty() {
        facts.push("gpu_type", "type of the GPUs", topology.gpu_type.clone(), json!(topology.gpu_type));
    }
    for (rate, count) in topology.by_rate().into_iter().take(MOST_RATES) {
        let rate = rate.gbps();
        facts.count(&format!("links_of_{rate}_gbps"), &format!("links of {rate} Gbps"), count as u64);
    }
    facts.notes.clone_from(&topology.notes);
    facts
}

/// Facts of a topology that its counts do not have.
pub(crate) fn of_topology(file: &str, topology: &Topology, files: usize) -> Facts {
    let mut facts = Facts::new(topology.form, file);
    facts.count("files", "files", files as u64);
    if let Some(title) = &topology.list.title {
        facts.push("title", "title", title.clone(), json!(title));
    }
    let gpus: u64 = topology.about.iter().filter_map(|about| about.gpus).map(u64::from).sum();
    if gpus > 0 {
        facts.count("gpus", "GPUs", gpus);
    }
    let domains: BTreeSet<&str> = topology.about.iter().filter_map(|about| about.domain.as_deref()).collect();
    if !domains.is_empty() {
        facts.count("domains", "scale-up domains", domains.len() as u64);
    }
    facts
}

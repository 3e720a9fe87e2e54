//! The tables of a run folder, from a simulation.
use railtwin_engine::lower::FlowPath;
use railtwin_engine::{ActionRow, Case, RunLog};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, LinkId, PortRole};
use railtwin_records::{Column, Table};
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, Work};

use crate::capacity::Capacities;
use crate::exposed::axis_name;
use crate::links::{network_links, utilization};
use crate::simulate::Replicate;

/// Steps of all jobs in `replicates`, the first of which has number `first`.
pub fn steps(case: &Case, first: u32, replicates: &[Replicate]) -> Table {
    let rows: Vec<_> = (first..)
        .zip(replicates)
        .flat_map(|(number, replicate)| replicate.steps.iter().map(move |step| (number, step)))
        .collect();
    let job = |(_, step): &(u32, &(usize, u32, SimTime, SimTime))| case.work.jobs[step.0].name.as_str();
    Table::new(
        "steps",
        vec![
            Column::u32("replicate", rows.iter().map(|row| row.0).collect()),
            Column::coded("job", rows.iter().map(job)),
            Column::u32("step", rows.iter().map(|row| row.1.1).collect()),
            Column::u64("start_ps", rows.iter().map(|row| row.1.2.ps()).collect()),
            Column::u64("duration_ps", rows.iter().map(|row| row.1.3.ps()).collect()),
        ],
    )
}

/// Time by axis of every job in the chosen replicate, of the steps that its step time is of.
pub fn exposed_table(case: &Case, chosen: &Replicate) -> Table {
    let mut rows = Vec::new();
    for (parts, graph) in chosen.exposed.iter().zip(&case.work.jobs) {
        rows.extend(parts.iter().map(|part| (graph.name.as_str(), part)));
    }
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    Table::new(
        "exposed",
        vec![
            Column::coded("job", rows.iter().map(|row| row.0)),
            Column::coded("axis", rows.iter().map(|row| axis_name(row.1.axis))),
            Column::u64("exposed_ps", rows.iter().map(|row| ps(row.1.exposed)).collect()),
            Column::u64("busy_ps", rows.iter().map(|row| ps(row.1.busy)).collect()),
            Column::u64("bytes", rows.iter().map(|row| row.1.bytes.round() as u64).collect()),
        ],
    )
}

/// Operations of the chosen replicate that ran and ended, in the order of their ids.
pub fn operations(case: &Case, log: &RunLog, rows: std::ops::Range<usize>) -> Table {
    let mut ids = Vec::new();
    for id in rows {
        let operation = OperationId::from_index(id);
        if log.times.end[id] != SimTime::NEVER && case.work.is_due(operation) {
            ids.push(operation);
        }
    }
    let plan = |id: OperationId| &case.work.jobs[case.work.job_of(id)].plan;
    let operation: Vec<_> = ids.iter().map(|&id| case.work.operation(id)).collect();
    let kind = |i: usize| match operation[i].work {
        Work::Compute(_) => "compute",
        Work::Communicate { pattern, .. } => {
            let job = &case.work.jobs[case.work.job_of(ids[i])];
            job.plan.patterns[(pattern.0 - job.first_pattern) as usize].collective.name()
        }
    };
    let bytes = |i: usize| match operation[i].work {
        Work::Compute(_) => 0,
        Work::Communicate { bytes, .. } => bytes,
    };
    let all = 0..ids.len();
    let name = |i: usize| plan(ids[i]).names[operation[i].name as usize].as_str();
    let lane = |i: usize| plan(ids[i]).lanes[operation[i].lane as usize].as_str();
    Table::new(
        "operations",
        vec![
            Column::coded("job", ids.iter().map(|&id| case.work.jobs[case.work.job_of(id)].name.as_str())),
            Column::coded("lane", all.clone().map(lane)),
            Column::coded("axis", all.clone().map(|i| operation[i].axis.name())),
            Column::coded("kind", all.clone().map(kind)),
            Column::coded("name", all.clone().map(name)),
            Column::u64("start_ps", ids.iter().map(|id| log.times.start[id.index()].ps()).collect()),
            Column::u64("end_ps", ids.iter().map(|id| log.times.end[id.index()].ps()).collect()),
            Column::u64("bytes", all.map(bytes).collect()),
        ],
    )
}

/// The path of every queue pair of the chosen replicate, before any fault.
pub fn flows(case: &Case, log: &RunLog, flows: &[FlowPath]) -> Table {
    let fabric = &case.fabric;
    let mut name_of = std::collections::BTreeMap::new();
    for device in flows.iter().flat_map(|flow| [flow.source, flow.target]) {
        name_of.entry(device).or_insert_with(|| fabric.device_name(device));
    }
    // A static split hands every queue pair of an edge the same.
    let bytes = |flow: &FlowPath| (log.pattern_bytes[flow.pattern as usize] * flow.share).round() as u64;
    Table::new(
        "flows",
        vec![
            Column::u32("pattern", flows.iter().map(|flow| flow.pattern).collect()),
            Column::u32("bundle", flows.iter().map(|flow| flow.bundle).collect()),
            Column::coded("source", flows.iter().map(|flow| name_of[&flow.source].as_str())),
            Column::coded("target", flows.iter().map(|flow| name_of[&flow.target].as_str())),
            Column::u32("source_port", flows.iter().map(|flow| flow.source_port.into()).collect()),
            Column::u32("queue_pair", flows.iter().map(|flow| flow.queue_pair).collect()),
            Column::u32("landed_port", flows.iter().map(|flow| flow.landed_port).collect()),
            Column::u64("bytes", flows.iter().map(bytes).collect()),
        ],
    )
}

/// Names of NICs and switches by device id; empty for what stands inside hosts.
pub fn network_names(fabric: &Fabric) -> Vec<String> {
    let mut names = vec![String::new(); fabric.device_count()];
    for device in fabric.devices().filter(|&d| matches!(fabric.kind(d), DeviceKind::Nic | DeviceKind::Switch))
    {
        names[device.index()] = fabric.device_name(device);
    }
    names
}

/// Network links of the chosen replicate, whose capacities these are.
pub fn links(case: &Case, log: &RunLog, capacities: &Capacities, flows: &[u32]) -> Table {
    let fabric = &case.fabric;
    let links: Vec<LinkId> = network_links(fabric).collect();
    let names = network_names(fabric);
    let name = |device: DeviceId| names[device.index()].as_str();
    Table::new(
        "links",
        vec![
            Column::u32("link", links.iter().map(|link| link.0).collect()),
            Column::coded("source", links.iter().map(|&link| name(fabric.source(link)))),
            Column::coded("target", links.iter().map(|&link| name(fabric.target(link)))),
            Column::coded("class", links.iter().map(|link| fabric.cable_class(link.cable()).name())),
            Column::u32("up", links.iter().map(|link| u32::from(is_up(case, link.cable(), *link))).collect()),
            Column::u64(
                "capacity_bits_per_s",
                links.iter().map(|&link| fabric.capacity(link).bits_per_s()).collect(),
            ),
            Column::u64(
                "bytes",
                links.iter().map(|link| log.link_bytes[link.index()].round() as u64).collect(),
            ),
            Column::f64(
                "utilization",
                links.iter().map(|&link| utilization(case, log, capacities, link)).collect(),
            ),
            Column::u32("flows", links.iter().map(|link| flows[link.index()]).collect()),
        ],
    )
}

/// Whether a link leads away from the hosts.
pub fn is_up(case: &Case, cable: CableId, link: LinkId) -> bool {
    let fabric = &case.fabric;
    let source = fabric.cable_ports(cable)[(link.0 & 1) as usize];
    fabric.cable_class(cable) >= CableClass::Access
        && matches!(fabric.port_role(source), PortRole::Backend | PortRole::Frontend | PortRole::Up)
}

/// Queue pairs whose path crosses each link, by link id.
pub fn flows_by_link(case: &Case, flows: &[FlowPath]) -> Vec<u32> {
    let mut count = vec![0; case.fabric.link_count()];
    for link in flows.iter().flat_map(|flow| &flow.links) {
        count[link.index()] += 1;
    }
    count
}

/// What controllers decided, in the order in which they stand.
pub fn actions(case: &Case, all: &[ActionRow]) -> Table {
    let told: Vec<[String; 3]> = all.iter().map(|action| action.told(case)).collect();
    let column = |at: usize| told.iter().map(move |told| told[at].as_str());
    let job = |action: &ActionRow| action.job.map_or("", |job| case.work.jobs[job as usize].name.as_str());
    Table::new(
        "actions",
        vec![
            Column::u64("decided_ps", all.iter().map(|action| action.decided.ps()).collect()),
            Column::u64("effective_ps", all.iter().map(|action| action.effective.ps()).collect()),
            Column::coded("controller", all.iter().map(|action| action.controller)),
            Column::coded("action", all.iter().map(|action| action.action.name())),
            Column::coded("reason", all.iter().map(|action| action.reason)),
            Column::coded("job", all.iter().map(job)),
            Column::coded("subject", column(0)),
            Column::coded("before", column(1)),
            Column::coded("after", column(2)),
            Column::u32("moved", all.iter().map(|action| action.moved).collect()),
        ],
    )
}

/// Work done over time; none where it was not asked for.
pub fn throughput(case: &Case, log: &RunLog) -> Option<Table> {
    let throughput = log.throughput.as_ref()?;
    let count = throughput.jobs.first().map_or(0, |job| job.bytes.len());
    let names = case.work.jobs.iter().flat_map(|job| std::iter::repeat_n(job.name.as_str(), count));
    let starts = (0..count as u64).map(|bucket| (throughput.bucket * bucket).seconds());
    let all = || throughput.jobs.iter();
    Some(Table::new(
        "throughput",
        vec![
            Column::coded("job", names),
            Column::f64("time_s", all().flat_map(|_| starts.clone()).collect()),
            Column::u64("bytes", all().flat_map(|job| job.bytes.iter().map(|b| b.round() as u64)).collect()),
            Column::u32("steps_ended", all().flat_map(|job| job.steps_ended.iter().copied()).collect()),
        ],
    ))
}

//! The directory of a job: hosts, ranks, communicators, shapes, flows.
use std::collections::BTreeMap;

use railtwin_engine::{Case, EdgeRates};
use railtwin_fabric::HostId;
use railtwin_records::directory::{
    CommunicatorInfo, Directory, FlowInfo, HostInfo, OperationShape, RankInfo,
};
use railtwin_workload::{Pattern, Work};

use crate::layout::{PatternPlace, Seats, groups};

/// Rows that a job took in the directory.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// Row of the job.
    pub(crate) job: u32,
    /// Row of its rank 0; the others follow.
    pub(crate) first_rank: u32,
    /// Row of the host of each rank.
    pub(crate) host: Vec<u32>,
}

/// Enters a job with its hosts and ranks.
pub(crate) fn enter_job(case: &Case, job: usize, seats: &Seats, directory: &mut Directory) -> Rows {
    let row = directory.jobs.len() as u32;
    directory.jobs.push(case.work.jobs[job].name.clone());
    let hosts = (0..).zip(&directory.hosts);
    let mut host_row: BTreeMap<String, u32> = hosts.map(|(at, host)| (host.name.clone(), at)).collect();
    let first_rank = directory.ranks.len() as u32;
    let mut rows = Vec::with_capacity(seats.members.len());
    for member in &seats.members {
        let name = format!("host-{}", member.host);
        let host = *host_row.entry(name).or_insert_with_key(|name| {
            directory.hosts.push(HostInfo { name: name.clone() });
            directory.hosts.len() as u32 - 1
        });
        rows.push(host);
        let (rank, gpu, nic) = (member.rank, member.gpu, member.nic);
        directory.ranks.push(RankInfo { job: row, rank, host, gpu, nic });
    }
    Rows { job: row, first_rank, host: rows }
}

/// Enters the communicators of all patterns: those over the same ranks for the same axis are one.
pub(crate) fn enter_communicators(
    patterns: &[Pattern],
    rows: &Rows,
    directory: &mut Directory,
) -> Vec<Vec<u32>> {
    let mut known: BTreeMap<(&str, Vec<u32>), u32> = BTreeMap::new();
    let mut all = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        let axis = pattern.axis.name();
        let mut of_pattern = Vec::new();
        for ranks in groups(pattern) {
            let ranks: Vec<u32> = ranks.iter().map(|rank| rows.first_rank + rank).collect();
            let row = *known.entry((axis, ranks)).or_insert_with_key(|(axis, ranks)| {
                let row = directory.communicators.len() as u32;
                let (job, ranks) = (rows.job, ranks.clone());
                let name = format!("{}/{axis}-{row}", directory.jobs[job as usize]);
                directory.communicators.push(CommunicatorInfo { job, name, axis: (*axis).to_owned(), ranks });
                row
            });
            of_pattern.push(row);
        }
        all.push(of_pattern);
    }
    all
}

/// Enters the shapes of a plan's operations; by pattern and bytes the row, and the row of what a rank with another
/// number of bytes would tell.
pub(crate) fn enter_shapes(
    plan: &railtwin_workload::Plan,
    directory: &mut Directory,
) -> BTreeMap<(u32, u64), (u32, u32)> {
    let known = (0..).zip(&directory.shapes);
    let mut row_of: BTreeMap<OperationShape, u32> = known.map(|(row, shape)| (shape.clone(), row)).collect();
    let mut out = BTreeMap::new();
    let mut enter = |pattern: &Pattern, bytes: u64| {
        let shape = OperationShape {
            kind: pattern.collective.name().to_owned(),
            algorithm: pattern.algorithm.name().to_owned(),
            data_type: String::new(),
            bytes,
        };
        *row_of.entry(shape).or_insert_with_key(|shape| {
            directory.shapes.push(shape.clone());
            directory.shapes.len() as u32 - 1
        })
    };
    for operation in &plan.operations {
        if let Work::Communicate { pattern, bytes } = operation.work {
            let of = &plan.patterns[pattern.index()];
            // A rank that lost a batch hands in an eighth less, and never the same.
            let other = bytes - (bytes / 8).max(1).min(bytes);
            out.entry((pattern.0, bytes)).or_insert_with(|| (enter(of, bytes), enter(of, other)));
        }
    }
    out
}

/// Enters the flows of all messages of a job's patterns in one state of the network; by pattern the row of each.
/// `known` keeps what earlier states entered.
pub(crate) fn enter_flows(
    case: &Case,
    places: &[PatternPlace],
    rates: &EdgeRates,
    rows: &Rows,
    known: &mut BTreeMap<FlowKey, Vec<u32>>,
    directory: &mut Directory,
) -> Vec<Vec<u32>> {
    let fabric = &*case.fabric;
    let nic_name = |(host, nic): (u32, u32)| fabric.device_name(fabric.nic(HostId(host), nic));
    let mut all = Vec::with_capacity(places.len());
    for place in places {
        let mut flows = vec![0; place.messages as usize];
        for (at, edge) in place.edges.iter().enumerate() {
            for message in place.messages_of(at) {
                let row = place.first_row as usize + message;
                let key = (rates.source[row], rates.target[row], rates.queue_pair[row]);
                let entered = known.entry(key).or_default();
                let links = rates.links_of(row);
                let same = |&&flow: &&u32| {
                    let flow = &directory.flows[flow as usize];
                    flow.links == links && flow.source_port == rates.source_port[row]
                };
                flows[message] = match entered.iter().find(same) {
                    Some(&flow) => flow,
                    None => {
                        directory.flows.push(FlowInfo {
                            source: rows.first_rank + edge.source,
                            target: rows.first_rank + edge.target,
                            source_nic: nic_name(rates.source[row]),
                            target_nic: nic_name(rates.target[row]),
                            nic_port: rates.nic_port[row],
                            queue_pair: rates.queue_pair[row],
                            source_port: rates.source_port[row],
                            links: links.to_vec(),
                        });
                        let flow = directory.flows.len() as u32 - 1;
                        entered.push(flow);
                        flow
                    }
                };
            }
        }
        all.push(flows);
    }
    all
}

/// What tells queue pairs apart: both NICs and the number at the source.
pub(crate) type FlowKey = ((u32, u32), (u32, u32), u32);

//! How much of a job's time any choice of paths could save at most.
//!
//! No path makes an operation end before the busiest NIC has sent and received its bytes over all its ports, before its
//! segment's uplinks have carried what leaves it, or faster than hosts move data inside. That is the operation's bound.
//! At every moment the critical path of a job runs through one thing at most; where that is an operation of length `t` and
//! bound `b`, no paths save more than `1 - b/t` of the moment. The sum over time of the largest such share among the
//! operations in flight therefore bounds what a balancer can save. It is no forecast: a job may save less.
use std::collections::BTreeMap;

use railtwin_engine::lower::FlowPath;
use railtwin_engine::{BundleTable, Case, RunLog};
use railtwin_fabric::{CableClass, CableId, DeviceId, Fabric, LinkId, PortRole};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, PatternId, Work};

use crate::figures::declared::job as declared;
use crate::job_figures::unended;
use crate::simulate::Simulation;

/// Least seconds of an operation of each pattern for each byte of it, whatever the paths.
fn least_seconds(case: &Case, table: &BundleTable, flows: &[FlowPath]) -> Vec<f64> {
    let mut least = vec![0.0_f64; table.patterns()];
    for (pattern, least) in least.iter_mut().enumerate() {
        for bundle in table.bundles_of(PatternId::from_index(pattern)) {
            if table.cap[bundle].is_finite() {
                *least = least.max(table.volume[bundle] / table.cap[bundle]);
            }
        }
    }
    inside_hosts(case, table, &mut least);
    through_cuts(&case.fabric, flows, &mut least);
    least
}

/// Raises bounds to what links inside hosts take: their choice is no balancer's.
fn inside_hosts(case: &Case, table: &BundleTable, least: &mut [f64]) {
    // Dense by link, as in large runs every link inside hosts carries something.
    let mut carried = vec![0.0_f64; case.fabric.link_count()];
    let mut touched: Vec<LinkId> = Vec::new();
    for (pattern, least) in least.iter_mut().enumerate() {
        for bundle in table.bundles_of(PatternId::from_index(pattern)) {
            for (link, share) in table.links_of(bundle) {
                if case.fabric.cable_class(link.cable()) < CableClass::Access {
                    carried[link.index()] += table.volume[bundle] * share;
                    touched.push(link);
                }
            }
        }
        for link in touched.drain(..) {
            let bytes = std::mem::take(&mut carried[link.index()]);
            *least = least.max(bytes / case.fabric.capacity(link).bytes_per_s());
        }
    }
}

/// Raises bounds to what NICs send and receive over all their ports, and to what enters and leaves segments over all
/// uplinks of their leaves.
fn through_cuts(fabric: &Fabric, flows: &[FlowPath], least: &mut [f64]) {
    let segments = Segments::of(fabric);
    // Sent and received by device; dense, as there are as many flows as queue pairs.
    let mut carried = [(); 2].map(|()| vec![0.0_f64; fabric.device_count()]);
    let mut crossed = [(); 2].map(|()| vec![0.0_f64; segments.uplinks.len()]);
    for own in flows.chunk_by(|a, b| a.pattern == b.pattern) {
        for flow in own {
            carried[0][flow.source.index()] += flow.share;
            carried[1][flow.target.index()] += flow.share;
            let is_backend = |link: &LinkId| fabric.cable_class(link.cable()) <= CableClass::SpineCore;
            let ends = [flow.source, flow.target].map(|nic| segments.of_nic(fabric, nic));
            if let [Some(from), Some(to)] = ends
                && from != to
                && flow.links.first().is_some_and(is_backend)
            {
                crossed[0][from as usize] += flow.share;
                crossed[1][to as usize] += flow.share;
            }
        }
        let bound = &mut least[own[0].pattern as usize];
        for flow in own {
            for (carried, nic) in carried.iter_mut().zip([flow.source, flow.target]) {
                let bytes = std::mem::take(&mut carried[nic.index()]);
                if bytes > 0.0 {
                    *bound = bound.max(bytes / ports_of(fabric, nic));
                }
            }
        }
        for crossed in &mut crossed {
            for (bytes, capacity) in crossed.iter_mut().zip(&segments.uplinks) {
                let bytes = std::mem::take(bytes);
                if bytes > 0.0 && *capacity > 0.0 {
                    *bound = bound.max(bytes / capacity);
                }
            }
        }
    }
}

/// Bytes per second of all ports of a NIC together; infinite of one without a cable.
fn ports_of(fabric: &Fabric, nic: DeviceId) -> f64 {
    let is_access = |cable: CableId| fabric.cable_class(cable) >= CableClass::Access;
    let ports = fabric.ports(nic).filter(|&port| fabric.cable_at(port).is_some_and(is_access));
    let capacity: f64 = ports.map(|port| fabric.port_capacity(port).bytes_per_s()).sum();
    if capacity > 0.0 { capacity } else { f64::INFINITY }
}

/// The segments of a fabric, numbered in the order of their pods.
struct Segments {
    /// By host: the number of its segment.
    of_host: Vec<u32>,
    /// By segment: bytes per second of all uplinks of its leaves.
    uplinks: Vec<f64>,
}

impl Segments {
    fn of(fabric: &Fabric) -> Self {
        let places: Vec<(u32, u32)> =
            fabric.all_hosts().iter().map(|host| (host.pod, host.segment)).collect();
        let leaves: Vec<_> = fabric.switches().iter().filter(|(_, place)| place.tier == 1).collect();
        let mut numbers: Vec<(u32, u32)> =
            places.iter().copied().chain(leaves.iter().map(|(_, leaf)| (leaf.pod, leaf.segment))).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let number = |place: (u32, u32)| numbers.partition_point(|known| *known < place);
        let mut uplinks = vec![0.0; numbers.len()];
        for (leaf, place) in leaves {
            let up = fabric
                .ports(*leaf)
                .filter(|&port| fabric.port_role(port) == PortRole::Up && fabric.cable_at(port).is_some());
            let sum: f64 = up.map(|port| fabric.port_capacity(port).bytes_per_s()).sum();
            uplinks[number((place.pod, place.segment))] += sum;
        }
        Self { of_host: places.into_iter().map(|place| number(place) as u32).collect(), uplinks }
    }

    /// The segment of a NIC's host.
    fn of_nic(&self, fabric: &Fabric, nic: DeviceId) -> Option<u32> {
        fabric.host_of(nic).map(|host| self.of_host[host.index()])
    }
}

/// Share of a job's time, 0..1, that no paths could save more than, in the replicate of this log; none of a job without
/// time.
fn most_saved(case: &Case, log: &RunLog, table: &BundleTable, least: &[f64], row: usize) -> Option<f64> {
    let job = &case.work.jobs[row];
    let (mut begin, mut end) = (SimTime::NEVER, SimTime::ZERO);
    // Beginnings and ends of operations with what each could save at most, in millionths.
    let mut changes: Vec<(SimTime, u32, bool)> = Vec::new();
    for id in job.operations() {
        let (start, stop) = (log.times.start[id], log.times.end[id]);
        if start == SimTime::NEVER || stop == SimTime::NEVER {
            continue;
        }
        (begin, end) = (begin.min(start), end.max(stop));
        let Work::Communicate { pattern, bytes } = case.work.operation(OperationId::from_index(id)).work
        else {
            continue;
        };
        let took = stop.since(start).seconds();
        let bound = table.latency[pattern.index()].seconds() + bytes as f64 * least[pattern.index()];
        if took > bound {
            // Rounded up: the sum stays a bound.
            let share = ((1.0 - bound / took) * 1e6).ceil() as u32;
            changes.extend([(start, share, true), (stop, share, false)]);
        }
    }
    if begin >= end {
        return None;
    }
    changes.sort_unstable();
    let mut open: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut saved, mut from) = (0.0, SimTime::ZERO);
    for (at, share, opens) in changes {
        if let Some((most, _)) = open.last_key_value() {
            saved += f64::from(*most) / 1e6 * at.since(from).seconds();
        }
        from = at;
        match opens {
            true => *open.entry(share).or_default() += 1,
            false => {
                let count = open.entry(share).or_default();
                *count = count.saturating_sub(1);
                if *count == 0 {
                    open.remove(&share);
                }
            }
        }
    }
    Some((saved / end.since(begin).seconds()).min(1.0))
}

/// The figure `balancer_saves_most` of each job, in the chosen replicate.
pub fn figures(case: &Case, simulation: &Simulation, table: &BundleTable, flows: &[FlowPath]) -> Vec<Figure> {
    let least = least_seconds(case, table, flows);
    let several = case.work.jobs.len() > 1;
    let of_job = |row: usize| {
        let value = match unended(case, simulation, row, false) {
            Some(reason) => Err(reason),
            None => most_saved(case, &simulation.log, table, &least, row)
                .ok_or_else(|| "no operation takes any time".to_owned()),
        };
        let note = "of the job's time, by what NICs, segments and hosts carry at most, whatever the paths";
        let figure = declared::BALANCER_SAVES_MOST.given(value, note);
        match several {
            true => Figure { name: format!("{}.{}", case.work.jobs[row].name, figure.name), ..figure },
            false => figure,
        }
    };
    (0..case.work.jobs.len()).map(of_job).collect()
}

//! How near to their limit links came while operations that cross them were in flight: figures of a run.
//!
//! Over a whole step a link that is the limit of every collective can stand idle for most of the time; so what binds
//! is told from the time in which anything that crosses the link was in flight. Bytes are those that the engine
//! counted; of a link that several axes cross, each axis has the part that its paths before any fault give it.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::{BundleTable, Case, IncidentKind, RunLog};
use railtwin_fabric::{CableClass, CableId, DeviceId, LinkId};
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::{Axis, OperationId, PatternId, Work};

use super::known::Known;
use crate::exposed::axis_name;
use crate::figures::declared::network as declared;
use crate::links::{ENDS, tier};

/// First words of the figures of this module.
pub const IN_FLIGHT: &str = "utilization_in_flight_";
/// The share of the time in flight that goes by whatever the bytes.
pub const LATENCY: &str = declared::LATENCY_SHARE_IN_FLIGHT.name;
/// Axes of communication.
const AXES: [Axis; 6] = [Axis::Tp, Axis::Ep, Axis::Dp, Axis::DpEp, Axis::Other, Axis::Pp];

/// The axis whose communication keeps the only job of a run waiting for longest; none where there are several jobs or
/// nothing is exposed: then all communication counts.
pub fn costliest(known: &Known<'_>) -> Option<Axis> {
    if known.jobs.len() > 1 {
        return None;
    }
    known.value("exposed_compute")?;
    let exposed = AXES
        .iter()
        .filter_map(|&axis| Some((axis, known.value(&format!("exposed_{}", axis_name(Some(axis))))?)));
    exposed
        .filter(|(_, seconds)| *seconds > 0.0)
        .reduce(|a, b| if b.1 > a.1 { b } else { a })
        .map(|(axis, _)| axis)
}

/// When operations of patterns were in flight.
struct InFlight {
    /// By pattern, counted over the case: starts and ends in picoseconds.
    spans: Vec<Vec<(u64, u64)>>,
    /// Sets of patterns as a tree: the set without its last pattern, and that pattern. Row 0 is the empty set.
    sets: Vec<(u32, u32)>,
    children: BTreeMap<(u32, u32), u32>,
    seconds: BTreeMap<u32, f64>,
}

impl InFlight {
    fn of(case: &Case, log: &RunLog) -> Self {
        let mut spans = vec![Vec::new(); case.work.patterns];
        for (row, job) in (0..).zip(&case.work.jobs) {
            let over = log.over(row, job);
            for id in job.operations() {
                let (start, end) = (log.times.start[id], log.times.end[id]);
                let operation = case.work.operation(OperationId::from_index(id));
                if let Work::Communicate { pattern, .. } = operation.work
                    && start != SimTime::NEVER
                {
                    spans[pattern.index()].push((start.ps(), end.min(over).ps()));
                }
            }
        }
        Self { spans, sets: vec![(0, u32::MAX)], children: BTreeMap::new(), seconds: BTreeMap::new() }
    }

    /// The set with one more pattern, larger than all in it.
    fn with(&mut self, set: u32, pattern: u32) -> u32 {
        let next = self.sets.len() as u32;
        let found = *self.children.entry((set, pattern)).or_insert(next);
        if found == next {
            self.sets.push((set, pattern));
        }
        found
    }

    /// Seconds in which any operation of a set of patterns was in flight.
    fn seconds(&mut self, set: u32) -> f64 {
        if let Some(&seconds) = self.seconds.get(&set) {
            return seconds;
        }
        let (mut spans, mut at) = (Vec::new(), set);
        while at != 0 {
            let (before, pattern) = self.sets[at as usize];
            spans.extend_from_slice(&self.spans[pattern as usize]);
            at = before;
        }
        spans.sort_unstable();
        let (mut sum, mut until) = (0, 0);
        for (start, end) in spans {
            sum += end.saturating_sub(start.max(until));
            until = until.max(end);
        }
        let seconds = SimTime::from_ps(sum).seconds();
        self.seconds.insert(set, seconds);
        seconds
    }
}

/// What one link carried for the axis, and the patterns that did so.
#[derive(Clone, Copy, Default)]
struct Crossed {
    /// Bytes by the paths before any fault, of all patterns and of those of the axis.
    all: f64,
    wanted: f64,
    set: u32,
}

/// The figures `utilization_in_flight_PLACE` and `latency_share_in_flight` of the replicate whose log and table these
/// are; of the operations of `axis`, or of all communication where there is none.
pub fn figures(case: &Case, log: &RunLog, table: &BundleTable, axis: Option<Axis>) -> Vec<Figure> {
    let patterns: Vec<Axis> =
        case.work.jobs.iter().flat_map(|job| job.plan.patterns.iter().map(|pattern| pattern.axis)).collect();
    let wanted = |pattern: usize| axis.is_none_or(|axis| patterns[pattern] == axis);
    let mut flight = InFlight::of(case, log);
    let mut crossed = vec![Crossed::default(); case.fabric.link_count()];
    let mut cap = 0.0_f64;
    for pattern in 0..table.patterns() {
        let (asked, wanted) = (log.pattern_bytes[pattern], wanted(pattern));
        let alone = flight.with(0, pattern as u32);
        for bundle in table.bundles_of(PatternId::from_index(pattern)) {
            let bytes = asked * table.volume[bundle];
            for (link, share) in table.links_of(bundle) {
                let one = &mut crossed[link.index()];
                one.all += bytes * share;
                if wanted && bytes > 0.0 {
                    one.wanted += bytes * share;
                    if flight.sets[one.set as usize].1 != pattern as u32 {
                        one.set = flight.with(one.set, pattern as u32);
                    }
                }
            }
            let seconds = if wanted { flight.seconds(alone) } else { 0.0 };
            if seconds > 0.0 && table.cap[bundle].is_finite() {
                cap = cap.max(bytes / (table.cap[bundle] * seconds));
            }
        }
    }
    let mut used = |link: LinkId| -> f64 {
        let one = crossed[link.index()];
        let most = case.fabric.capacity(link).bytes_per_s() * flight.seconds(one.set);
        let bytes = log.link_bytes[link.index()] * if one.all > 0.0 { one.wanted / one.all } else { 0.0 };
        // Acknowledgements are still on their way when the operation that they are for has ended.
        if most > 0.0 { (bytes / most).min(1.0) } else { 0.0 }
    };
    let down: BTreeSet<CableId> = log
        .incidents
        .iter()
        .filter_map(|incident| match incident.kind {
            IncidentKind::Down(cable) => Some(cable),
            _ => None,
        })
        .collect();
    let places = places(case, &mut used);
    let of = axis
        .map_or("any operation".to_owned(), |axis| format!("{} operations", axis.name().replace('_', "-")));
    let note =
        format!("bytes over what the most used link could carry while {of} that cross it were in flight");
    let mut figures = Vec::new();
    for (name, (value, link)) in &places {
        figures.push(declared::UTILIZATION_IN_FLIGHT.of(name).figure(*value, &note));
        if let Some(least) = least_port(case, *link, &down, &mut used) {
            let note = "the same for the least used port of the NIC that the most used port is of";
            figures.push(declared::UTILIZATION_IN_FLIGHT_LEAST.of(name).figure(least, note));
        }
    }
    if cap > 0.0 {
        let note = "bus bandwidth over the cap that hosts set on the collective, the nearest to its cap";
        figures.push(declared::UTILIZATION_IN_FLIGHT_HOST_CAP.figure(cap.min(1.0), note));
    }
    if let Some(share) = latency_share(case, log, table, &wanted).filter(|_| !places.is_empty()) {
        let note = format!("of the time of {of}, what hops and stages take whatever the bytes");
        figures.push(declared::LATENCY_SHARE_IN_FLIGHT.figure(share, &note));
    }
    figures
}

/// The most used link of each place, and how much it is used.
fn places(case: &Case, used: &mut impl FnMut(LinkId) -> f64) -> BTreeMap<String, (f64, LinkId)> {
    let fabric = &case.fabric;
    let mut places: BTreeMap<String, (f64, LinkId)> = BTreeMap::new();
    for cable in fabric.cables() {
        for link in [cable.forward(), cable.backward()] {
            let value = used(link);
            if value <= 0.0 {
                continue;
            }
            let class = fabric.cable_class(cable);
            let name = if class >= CableClass::Access {
                let ends = [fabric.source(link), fabric.target(link)]
                    .map(|device| ENDS[usize::from(tier(fabric, device))]);
                format!("{}_to_{}", ends[0], ends[1])
            } else {
                class.name().to_owned()
            };
            let most = places.entry(name).or_insert((value, link));
            if value > most.0 {
                *most = (value, link);
            }
        }
    }
    places
}

/// The least used port of the NIC at an end of an access link, in the same direction; none for other links and for
/// NICs with one port, those aside whose cables went down.
fn least_port(
    case: &Case,
    link: LinkId,
    down: &BTreeSet<CableId>,
    used: &mut impl FnMut(LinkId) -> f64,
) -> Option<f64> {
    let fabric = &case.fabric;
    let sends = match (tier(fabric, fabric.source(link)), tier(fabric, fabric.target(link))) {
        (0, 1) => true,
        (1, 0) => false,
        _ => return None,
    };
    let nic: DeviceId = if sends { fabric.source(link) } else { fabric.target(link) };
    let role = fabric.port_role(fabric.ports(nic).find(|&port| fabric.cable_at(port) == Some(link.cable()))?);
    let ports = fabric.ports(nic).filter(|&port| fabric.port_role(port) == role);
    let links = ports.filter_map(|port| {
        let cable = fabric.cable_at(port).filter(|cable| !down.contains(cable))?;
        let out = fabric.link_from(cable, port);
        Some(if sends { out } else { out.reverse() })
    });
    let all: Vec<f64> = links.map(used).collect();
    if all.len() < 2 { None } else { all.into_iter().reduce(f64::min) }
}

/// Share of the time of finished operations that their patterns' latency takes.
fn latency_share(
    case: &Case,
    log: &RunLog,
    table: &BundleTable,
    wanted: &impl Fn(usize) -> bool,
) -> Option<f64> {
    let (mut latency, mut all) = (0.0, 0.0);
    for id in 0..case.work.operations {
        let Work::Communicate { pattern, .. } = case.work.operation(OperationId::from_index(id)).work else {
            continue;
        };
        let (start, end) = (log.times.start[id], log.times.end[id]);
        if end != SimTime::NEVER && wanted(pattern.index()) {
            let took = end.since(start);
            latency += table.latency[pattern.index()].min(took).seconds();
            all += took.seconds();
        }
    }
    (all > 0.0).then(|| latency / all)
}

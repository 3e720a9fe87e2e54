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
use super::latency::Latencies;
use crate::capacity::{Capacities, Span};
use crate::exposed::axis_name;
use crate::figures::declared::network as declared;
use crate::links::{ENDS, tier};
use crate::movement::Movement;

/// First words of the figures of this module.
pub const IN_FLIGHT: &str = "utilization_in_flight_";
/// The share of the time in flight that goes by whatever the bytes.
pub const LATENCY: &str = declared::LATENCY_SHARE_IN_FLIGHT.name;
/// The part of it that faults add.
pub const FAULT_DELAY: &str = declared::FAULT_DELAY_SHARE_IN_FLIGHT.name;
/// The most delay that faults add to an operation.
pub const FAULT_DELAY_MAX: &str = declared::FAULT_DELAY_MAX.name;
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
    /// By pattern, counted over the case: spans in which its operations moved.
    spans: Vec<Vec<Span>>,
    /// Sets of patterns as a tree: the set without its last pattern, and that pattern. Row 0 is the empty set.
    sets: Vec<(u32, u32)>,
    children: BTreeMap<(u32, u32), u32>,
    seconds: BTreeMap<u32, f64>,
}

impl InFlight {
    fn of(case: &Case, movement: &Movement<'_>) -> Self {
        let mut spans = vec![Vec::new(); case.work.patterns];
        for id in (0..case.work.operations).map(OperationId::from_index) {
            if let Work::Communicate { pattern, .. } = case.work.operation(id).work {
                spans[pattern.index()].extend(movement.pieces(id).into_iter().map(|piece| piece.span));
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

    /// Disjoint spans in which any operation of a set of patterns moved, in order of time.
    fn union(&self, set: u32) -> Vec<Span> {
        let (mut spans, mut at) = (Vec::new(), set);
        while at != 0 {
            let (before, pattern) = self.sets[at as usize];
            spans.extend_from_slice(&self.spans[pattern as usize]);
            at = before;
        }
        spans.sort_unstable();
        let mut union: Vec<Span> = Vec::new();
        for (start, end) in spans {
            match union.last_mut() {
                Some(last) if last.1 >= start => last.1 = last.1.max(end),
                _ => union.push((start, end)),
            }
        }
        union
    }

    /// Seconds in which any operation of a set of patterns moved.
    fn seconds(&mut self, set: u32) -> f64 {
        if let Some(&seconds) = self.seconds.get(&set) {
            return seconds;
        }
        let sum = self.union(set).iter().map(|span| span.1 - span.0).sum();
        let seconds = SimTime::from_ps(sum).seconds();
        self.seconds.insert(set, seconds);
        seconds
    }

    /// Seconds at its whole capacity in which a link carries as much as it could meanwhile.
    fn seconds_of(&mut self, capacities: &Capacities, link: LinkId, set: u32) -> f64 {
        if capacities.is_whole(link) { self.seconds(set) } else { capacities.seconds(link, &self.union(set)) }
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

/// The figures `utilization_in_flight_PLACE` and `latency_share_in_flight` of the replicate with this number, whose log
/// and table these are; of the operations of `axis`, or of all communication where there is none.
pub fn figures(
    case: &Case,
    (replicate, log): (u32, &RunLog),
    table: &BundleTable,
    axis: Option<Axis>,
) -> Vec<Figure> {
    let patterns: Vec<Axis> =
        case.work.jobs.iter().flat_map(|job| job.plan.patterns.iter().map(|pattern| pattern.axis)).collect();
    let wanted = |pattern: usize| axis.is_none_or(|axis| patterns[pattern] == axis);
    let movement = Movement::of(case, log);
    let capacities = Capacities::of(case, replicate, log);
    let mut flight = InFlight::of(case, &movement);
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
        let most = case.fabric.capacity(link).bytes_per_s() * flight.seconds_of(&capacities, link, one.set);
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
    let note = format!("bytes over what the most used link could carry while {of} that cross it moved");
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
    let latencies = Latencies::of(case, replicate, table);
    let shares = LatencyShares::of(case, log, &movement, (&latencies, &wanted));
    if let Some(shares) = shares.filter(|_| !places.is_empty()) {
        let note = format!("of the time of {of}, what hops and stages take whatever the bytes");
        figures.push(declared::LATENCY_SHARE_IN_FLIGHT.figure(shares.all, &note));
        if shares.most > SimTime::ZERO {
            let note = format!("of the time of {of}, the delay that faults add");
            figures.push(declared::FAULT_DELAY_SHARE_IN_FLIGHT.figure(shares.added, &note));
            let note = "delay that faults add to an operation, the most of any";
            figures.push(declared::FAULT_DELAY_MAX.figure(shares.most.seconds(), note));
        }
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

/// Shares of the time in which operations moved, 0..1.
#[derive(Clone, Copy, PartialEq, Debug)]
struct LatencyShares {
    /// What latency takes.
    all: f64,
    /// What of it faults add.
    added: f64,
    /// The most that faults add to an operation.
    most: SimTime,
}

impl LatencyShares {
    /// Of finished operations of the patterns that are wanted; none where there are none.
    fn of(
        case: &Case,
        log: &RunLog,
        movement: &Movement<'_>,
        (latencies, wanted): (&Latencies<'_>, &impl Fn(usize) -> bool),
    ) -> Option<Self> {
        let (mut latency, mut added, mut all, mut most) = (0.0, 0.0, 0.0, SimTime::ZERO);
        for id in (0..case.work.operations).map(OperationId::from_index) {
            let Work::Communicate { pattern, .. } = case.work.operation(id).work else { continue };
            let end = log.times.end[id.index()];
            if end == SimTime::NEVER || !wanted(pattern.index()) {
                continue;
            }
            let took = movement.pieces(id).iter().map(|piece| piece.span.1 - piece.span.0).sum();
            let took = SimTime::from_ps(took);
            let (whole, by_faults) = latencies.of_operation(pattern.index(), end);
            latency += whole.min(took).seconds();
            added += by_faults.min(took).seconds();
            all += took.seconds();
            most = most.max(by_faults.min(took));
        }
        (all > 0.0).then(|| Self { all: latency / all, added: added / all, most })
    }
}

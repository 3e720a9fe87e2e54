//! What links carried over time, as the page reads it: bins of one width for each link that carried anything.
//!
//! No engine keeps what each link carried when. The shape over time comes from operations: bytes of each are spread
//! evenly over the pieces of time in which it moved, on the paths that its queue pairs had then. The sum is exact: each
//! link's bins add up to the bytes that the run counted on it, and none is more than the link can carry in its time, at
//! the capacity that faults leave it then.
use std::collections::BTreeMap;

use railtwin_engine::lower::FlowPath;
use railtwin_engine::{BundleTable, Case, RunLog};
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, PatternId, Work};
use serde_json::{Value, json};

use crate::capacity::Capacities;
use crate::columns::{f32_column, u8_column, u32_column};
use crate::movement::Movement;
use crate::moves::Moves;

/// Bins of the time slider.
pub const BINS: usize = 60;
/// Most of a bin's value: it stands for the peak of its link.
const FULL: f64 = 255.0;

/// Bytes of one link by bin.
pub type Series = [f64; BINS];
/// What a link carried over time, as parts of each other: a fabric has many links.
pub type Shape = [f32; BINS];

/// The shapes of links on the way of any operation, by link id.
pub fn shapes(
    case: &Case,
    log: &RunLog,
    table: &BundleTable,
    flows: &[FlowPath],
    moves: &Moves,
) -> BTreeMap<u32, Shape> {
    let shifts = shifts(case, flows, moves);
    let after: Vec<Series> = moves.epochs.iter().map(|epoch| part_after(epoch.at, log.end)).collect();
    let mut shapes: BTreeMap<u32, Shape> = BTreeMap::new();
    for (pattern, moved) in moved_by_pattern(case, log, table.patterns()).iter().enumerate() {
        let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
        for bundle in table.bundles_of(PatternId::from_index(pattern)) {
            for (link, share) in table.links_of(bundle) {
                *shares.entry(link.0).or_default() += share * table.volume[bundle];
            }
        }
        // What changes of routes add to the share of a link in each bin, or take from it.
        let mut moved_shares: BTreeMap<u32, Series> = BTreeMap::new();
        for &(epoch, link, share) in shifts.get(&(pattern as u32)).into_iter().flatten() {
            let sums = moved_shares.entry(link.0).or_insert([0.0; BINS]);
            sums.iter_mut().zip(&after[epoch]).for_each(|(sum, part)| *sum += share * part);
            shares.entry(link.0).or_default();
        }
        for (link, share) in shares {
            let sums = shapes.entry(link).or_insert([0.0; BINS]);
            let changes = moved_shares.get(&link);
            for (bin, (sum, bytes)) in sums.iter_mut().zip(moved).enumerate() {
                let here = share + changes.map_or(0.0, |changes| changes[bin]);
                *sum += (here.max(0.0) * bytes) as f32;
            }
        }
    }
    shapes
}

/// The bytes of one link by bin: its shape, with the sum that the run counted on it.
pub(crate) fn series(
    case: &Case,
    log: &RunLog,
    (capacities, shape): (&Capacities, &Shape),
    link: LinkId,
) -> Series {
    let most = most(case, log, capacities, link);
    let mut series = shape.map(f64::from);
    fit(&mut series, log.link_bytes[link.index()], &most);
    series
}

/// Bytes that a link could carry in each bin, at the capacity that faults left it then.
fn most(case: &Case, log: &RunLog, capacities: &Capacities, link: LinkId) -> Series {
    let rate = case.fabric.capacity(link).bytes_per_s();
    if capacities.is_whole(link) {
        return [rate * log.end.seconds() / BINS as f64; BINS];
    }
    let edge = |bin: usize| (u128::from(log.end.ps()) * bin as u128 / BINS as u128) as u64;
    std::array::from_fn(|bin| rate * capacities.seconds(link, &[(edge(bin), edge(bin + 1))]))
}

/// Scales a shape to a sum of `bytes`, no bin above its `most`; what does not fit goes to bins with room, as much as each
/// has, those in which the shape is above 0 first. A sum that fits nowhere is spread as `most` is. A shape without bytes
/// is left empty.
fn fit(shape: &mut Series, bytes: f64, most: &Series) {
    if bytes.is_nan() || bytes <= 0.0 || shape.iter().all(|&value| value <= 0.0) {
        *shape = [0.0; BINS];
        return;
    }
    let room: f64 = most.iter().sum();
    if bytes >= room {
        let even = bytes / BINS as f64;
        *shape = if room > 0.0 { most.map(|most| bytes * most / room) } else { [even; BINS] };
        return;
    }
    // Nearly every link: no bin comes above its most.
    let scale = bytes / shape.iter().sum::<f64>();
    if shape.iter().zip(most).all(|(shape, most)| *most > 0.0 && shape * scale <= *most) {
        shape.iter_mut().for_each(|value| *value *= scale);
        return;
    }
    let mut full = most.map(|most| most <= 0.0);
    loop {
        let sum_of = |of: &Series, filled: bool| -> f64 {
            (0..BINS).filter(|&bin| full[bin] == filled).map(|bin| of[bin]).sum()
        };
        let (left, sum) = (bytes - sum_of(most, true), sum_of(shape, false));
        if sum <= 0.0 {
            let room = sum_of(most, false);
            (0..BINS).filter(|&bin| !full[bin]).for_each(|bin| shape[bin] = left * most[bin] / room);
            break;
        }
        let scale = left / sum;
        let over: [bool; BINS] = std::array::from_fn(|bin| !full[bin] && shape[bin] * scale > most[bin]);
        if !over.contains(&true) {
            (0..BINS).filter(|&bin| !full[bin]).for_each(|bin| shape[bin] *= scale);
            break;
        }
        full.iter_mut().zip(over).for_each(|(full, over)| *full |= over);
    }
    (0..BINS).filter(|&bin| full[bin]).for_each(|bin| shape[bin] = most[bin]);
}

/// Part of each bin that lies after a moment.
fn part_after(at: SimTime, end: SimTime) -> Series {
    let at = at.ps() as f64 / end.ps().max(1) as f64 * BINS as f64;
    std::array::from_fn(|bin| (bin as f64 + 1.0 - at).clamp(0.0, 1.0))
}

/// What each change of routes took from links and gave to others: epoch, link, and bytes for each byte of an
/// operation, by pattern.
fn shifts(case: &Case, flows: &[FlowPath], moves: &Moves) -> BTreeMap<u32, Vec<(usize, LinkId, f64)>> {
    let mut shifts: BTreeMap<u32, Vec<(usize, LinkId, f64)>> = BTreeMap::new();
    for (at, epoch) in moves.epochs.iter().enumerate() {
        for one in &epoch.moves {
            let flow = &flows[one.flow as usize];
            let list = shifts.entry(flow.pattern).or_default();
            for (links, sign) in [(&one.before, -1.0), (&one.after, 1.0)] {
                let side_by_side = side_by_side(case, links);
                list.extend(links.iter().map(|&link| {
                    let parts = side_by_side[&case.fabric.source(link)];
                    (at, link, sign * flow.share / parts)
                }));
            }
        }
    }
    shifts
}

/// Links of a path that leave each device: more than one where packets are spread. A device that is reached over one
/// of several links gets its part of the bytes only, which is left out here: it changes the shape, not the sum.
fn side_by_side(case: &Case, links: &[LinkId]) -> BTreeMap<DeviceId, f64> {
    let mut count: BTreeMap<DeviceId, f64> = BTreeMap::new();
    for &link in links {
        *count.entry(case.fabric.source(link)).or_default() += 1.0;
    }
    count
}

/// Bytes that each pattern's operations move in each bin.
fn moved_by_pattern(case: &Case, log: &RunLog, patterns: usize) -> Vec<Series> {
    let mut series = vec![[0.0; BINS]; patterns];
    let end = log.end.ps().max(1) as f64;
    let movement = Movement::of(case, log);
    for id in (0..case.work.operations).map(OperationId::from_index) {
        let Work::Communicate { pattern, bytes } = case.work.operation(id).work else { continue };
        for piece in movement.pieces(id) {
            let [from, to] = [piece.span.0, piece.span.1].map(|at| at as f64 / end * BINS as f64);
            let last = (to.ceil() as usize).min(BINS);
            for (bin, sum) in series[pattern.index()].iter_mut().enumerate().take(last).skip(from as usize) {
                let overlap = to.min(bin as f64 + 1.0) - from.max(bin as f64);
                *sum += bytes as f64 * piece.share * (overlap / (to - from)).max(0.0);
            }
        }
    }
    series
}

/// The page's `link_bins`; `rows` are the rows of its table of links, each with all links from one device to another.
pub fn page(
    case: &Case,
    log: &RunLog,
    (capacities, shapes): (&Capacities, &BTreeMap<u32, Shape>),
    rows: &[&[LinkId]],
) -> Value {
    let mut bins = Columns::default();
    let mut whole = true;
    for (index, links) in rows.iter().enumerate() {
        let (mut worst, mut carried) = ([0.0_f64; BINS], [0.0_f64; BINS]);
        let mut could = [0.0_f64; BINS];
        for link in *links {
            let most = most(case, log, capacities, *link);
            could.iter_mut().zip(&most).for_each(|(sum, most)| *sum += most);
            whole &= capacities.is_whole(*link);
            let Some(shape) = shapes.get(&link.0) else { continue };
            let bytes = series(case, log, (capacities, shape), *link);
            for bin in (0..BINS).filter(|&bin| bytes[bin] > 0.0) {
                worst[bin] = worst[bin].max(if most[bin] > 0.0 { bytes[bin] / most[bin] } else { 1.0 });
                carried[bin] += bytes[bin];
            }
        }
        if carried.iter().any(|&bytes| bytes > 0.0) {
            let nominal: f64 = links.iter().map(|&link| case.fabric.capacity(link).bytes_per_s()).sum();
            let width = log.end.seconds() / BINS as f64;
            bins.push(index as u32, &worst, &carried, &could.map(|most| most / (nominal * width)));
        }
    }
    let mut value = json!({
        "bin_ps": log.end.ps() as f64 / BINS as f64,
        "bins": BINS,
        "link_rows": u32_column(&bins.rows),
        "peak": f32_column(&bins.peak),
        "utilization": u8_column(&bins.worst),
    });
    // One link a row with all its capacity: what is carried has the shape of the utilization.
    if !whole || rows.iter().any(|links| links.len() > 1) {
        value["carried"] = u8_column(&bins.carried);
    }
    if !whole {
        value["capacity"] = u8_column(&bins.capacity);
    }
    value
}

#[derive(Default)]
struct Columns {
    rows: Vec<u32>,
    peak: Vec<f32>,
    worst: Vec<u8>,
    carried: Vec<u8>,
    capacity: Vec<u8>,
}

impl Columns {
    fn push(&mut self, row: u32, worst: &Series, carried: &Series, capacity: &Series) {
        let peak = worst.iter().copied().fold(0.0, f64::max);
        self.rows.push(row);
        self.peak.push(peak as f32);
        self.worst.extend(parts(worst));
        self.carried.extend(parts(carried));
        self.capacity.extend(capacity.iter().map(|share| (share * FULL).round() as u8));
    }
}

/// Values as parts of the highest.
fn parts(values: &Series) -> impl Iterator<Item = u8> + '_ {
    let peak = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    values.iter().map(move |value| (value / peak * FULL).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Question, Run};
    use proptest::prelude::*;

    proptest! {
        /// Whatever the shape: the sum is kept, and no bin holds more than fits.
        #[test]
        fn a_fitted_shape_keeps_sum_and_bound(
            values in proptest::collection::vec(prop_oneof![Just(0.0), 0.0..1e9_f64], BINS),
            used in 0.0..1.0_f64,
        ) {
            let mut shape: Series = values.clone().try_into().unwrap();
            // A quarter of the time nothing, a quarter half of it.
            let most: Series = std::array::from_fn(|bin| [7e9, 0.0, 3.5e9, 7e9][bin * 4 / BINS]);
            let bytes = used * most.iter().sum::<f64>();
            fit(&mut shape, bytes, &most);
            let sum: f64 = shape.iter().sum();
            if values.iter().any(|&value| value > 0.0) && bytes > 0.0 {
                prop_assert!((sum / bytes - 1.0).abs() < 1e-9, "{sum} {bytes}");
            } else {
                prop_assert_eq!(sum, 0.0);
            }
            let fits = |(value, most): (&f64, &f64)| (0.0..=most * (1.0 + 1e-9)).contains(value);
            prop_assert!(shape.iter().zip(&most).all(fits));
        }
    }

    /// An uplink is dead from 50 to 160 ms: what it carried lies outside of that time, what took its place
    /// inside, and each link's bins add up to its bytes.
    #[test]
    fn bins_follow_paths_and_add_up() {
        let text = include_str!("../../../scenarios/smallest/one-uplink-down.toml");
        let question = Question::of_text("b.toml", text, std::path::Path::new("."));
        let run = Run::of(question.resolve(&question.points().unwrap()[0].scenario).unwrap(), &|| ());
        let simulation = run.simulation.as_ref().unwrap();
        let (case, log) = (&run.resolved.case, &simulation.log);
        let lowering = railtwin_engine::lower::Lowering::new(case, simulation.chosen);
        let mask = railtwin_routing::LinkMask::none(&case.fabric);
        let view = railtwin_engine::choose::View { mask: &mask, planned: &mask };
        let (table, flows) = lowering.table_of(view, true);
        let shapes = shapes(case, log, &table, &flows, run.moves());
        let capacities = Capacities::of(case, simulation.chosen, log);
        let width = log.end.seconds() / BINS as f64;
        let cable = case.fabric.cable_named("leaf-0:uplink-1").unwrap();
        for (link, bytes) in log.link_bytes.iter().enumerate() {
            let link = LinkId(link as u32);
            if case.fabric.cable_class(link.cable()) < railtwin_fabric::CableClass::Access {
                continue;
            }
            let bins = shapes
                .get(&link.0)
                .map_or([0.0; BINS], |shape| series(case, log, (&capacities, shape), link));
            let sum: f64 = bins.iter().sum();
            assert!((sum - bytes).abs() <= 1e-9 * bytes.max(1.0), "{link:?}: {sum} {bytes}");
            let most = case.fabric.capacity(link).bytes_per_s() * width;
            assert!(bins.iter().all(|&bin| bin <= most * (1.0 + 1e-9)), "{link:?}");
            if link.cable() == cable && *bytes > 0.0 {
                let dead = (0.06 / width) as usize..(0.15 / width) as usize;
                assert!(!dead.is_empty() && bins[dead].iter().all(|&bin| bin == 0.0), "{bins:?}");
            }
        }
        assert!(log.link_bytes.iter().any(|&bytes| bytes > 0.0));
    }
}

//! Phases: for how long rates hold, and how bundles move that end before.
use std::rc::Rc;

use railtwin_engine::BundleTable;
use railtwin_workload::PatternId;

use crate::rates::Rates;

/// Bundles in flight together times links of their strands, up to which rates are found anew whenever a bundle ends:
/// seconds on one core. Where every bundle ends at a time of its own, work grows with the square of the bundles.
pub const EXACT_WORK: u64 = 1 << 26;
/// Beyond it rates hold for this share of the time that the slowest bundle still needs: so much longer than need be
/// does a phase take, and a pattern at most.
pub const APART: f64 = 1.0 / 128.0;

/// Share of a bundle's bytes below which it counts as done: far above rounding, far below a packet.
pub const FINISHED: f64 = 1e-9;

/// Seconds until the first bundle is done; infinite when none moves.
pub fn first_end(left: &[f64], rates: &[f64]) -> f64 {
    let times = left.iter().zip(rates).filter(|&(&left, &rate)| left > 0.0 && rate > 0.0);
    times.map(|(left, rate)| left / rate).fold(f64::INFINITY, f64::min)
}

/// Links of strands that searches for the end of every bundle would look at, were each to end alone.
pub(crate) fn work(table: &BundleTable, patterns: &[PatternId]) -> u64 {
    let strands = &table.strands;
    let sizes = patterns.iter().map(|&pattern| {
        let bundles = table.bundles_of(pattern);
        let [from, to] = [bundles.start, bundles.end].map(|bundle| strands.bundle_start[bundle] as usize);
        (bundles.len() as u64, u64::from(strands.link_start[to] - strands.link_start[from]))
    });
    let (bundles, links) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
    bundles * links
}

/// Seconds until the last bundle that moves is done at these rates; 0 when none moves.
pub(crate) fn last_end(left: &[f64], rates: &[f64]) -> f64 {
    let times = left.iter().zip(rates).filter(|&(&left, &rate)| left > 0.0 && rate > 0.0);
    times.map(|(left, rate)| left / rate).fold(0.0, f64::max)
}

/// The same rates where no bundle of `patterns` ends within `step` seconds, but at its end; else those that do move at
/// what they have left over these seconds, and leave what they do not use to nobody until then.
pub fn averaged(
    table: &BundleTable,
    patterns: &[PatternId],
    left: &[f64],
    rates: Rc<Rates>,
    step: f64,
) -> Rc<Rates> {
    let ends_before = |row: usize, rates: &Rates| rates.bundles[row] * step > left[row] * (1.0 + FINISHED);
    let any = (0..left.len()).any(|row| left[row] > 0.0 && ends_before(row, &rates));
    if !any {
        return rates;
    }
    let mut slower = Rates { bundles: rates.bundles.clone(), strands: rates.strands.clone() };
    let mut strands = slower.strands.iter_mut().peekable();
    let bundles = patterns.iter().flat_map(|&pattern| table.bundles_of(pattern));
    for (row, bundle) in bundles.enumerate() {
        let share = if left[row] > 0.0 && ends_before(row, &rates) {
            left[row] / (step * rates.bundles[row])
        } else {
            1.0
        };
        slower.bundles[row] *= share;
        let end = table.strands.bundle_start[bundle + 1];
        while let Some((_, rate)) = strands.next_if(|(strand, _)| *strand < end) {
            *rate *= share;
        }
    }
    Rc::new(slower)
}

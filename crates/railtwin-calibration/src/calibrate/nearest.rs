//! Times of a larger cluster by the constants of the nearest number of hosts that was measured: as many steps as the larger
//! one has, each at the latency of the smaller one. They stand beside models to show what these gain.
use railtwin_workload::cost::steps;
use railtwin_workload::{Collective, Group, collective::bus_factor};

use super::Fitted;

/// Seconds of `bytes` over a larger group by the ranges of the largest number of hosts that was fitted; none without one.
pub fn nearest(fitted: &[Fitted], collective: Collective, group: Group, bytes: u64) -> Option<f64> {
    let of = fitted.iter().filter(|one| one.collective == collective && one.group.local == group.local);
    let one = of.filter(|one| one.group.hosts > 1).max_by_key(|one| one.group.hosts)?;
    let row = one.fit.ranges.iter().position(|range| range.until.is_none_or(|until| bytes < until))?;
    let count = f64::from(steps(collective, *one.algorithms.get(row)?, group));
    Some(count * one.step(row) + bytes as f64 * bus_factor(collective, group.ranks) / one.busbw(row))
}

//! Offset and drift of the host's clock against that of rank 0, from exchanges of pings.
use crate::ping::ClockSample;

/// Time over which the exchange with the least round trip is taken: 50 exchanges of the common 200 ms.
const WINDOW_NS: u64 = 10_000_000_000;

/// Follows the clock of the host.
#[derive(Debug, Default)]
pub(crate) struct HostClock {
    from_ns: Option<u64>,
    best: Option<ClockSample>,
    before: Option<ClockSample>,
}

/// Offset, ns, and drift, ns each second.
pub(crate) type Reading = (i64, i64);

impl HostClock {
    /// Takes an exchange; returns a reading at the end of each window.
    pub(crate) fn take(&mut self, sample: ClockSample) -> Option<Reading> {
        let from_ns = *self.from_ns.get_or_insert(sample.at_ns);
        if self.best.is_none_or(|best| sample.trip_ns < best.trip_ns) {
            self.best = Some(sample);
        }
        if sample.at_ns.saturating_sub(from_ns) < WINDOW_NS {
            return None;
        }
        let best = self.best.take()?;
        self.from_ns = Some(sample.at_ns);
        let before = self.before.replace(best);
        Some((offset(&best), before.map_or(0, |before| drift(&before, &best))))
    }
}

/// Half of the round trip is the uncertainty: the ways there and back may differ by all of it.
fn uncertainty_ns(sample: &ClockSample) -> i64 {
    (sample.trip_ns / 2) as i64
}

fn offset(sample: &ClockSample) -> i64 {
    if sample.offset_ns.abs() <= uncertainty_ns(sample) { 0 } else { sample.offset_ns }
}

fn drift(before: &ClockSample, now: &ClockSample) -> i64 {
    let grown = now.offset_ns.saturating_sub(before.offset_ns);
    let span_ns = now.at_ns.saturating_sub(before.at_ns);
    if span_ns == 0 || grown.abs() <= uncertainty_ns(before) + uncertainty_ns(now) {
        return 0;
    }
    (i128::from(grown) * 1_000_000_000 / i128::from(span_ns)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn readings(offset: impl Fn(u64) -> i64, trip_ns: u64) -> Vec<Reading> {
        let mut clock = HostClock::default();
        let samples = (0..200).map(|at| at * S / 5);
        // Every seventh exchange alone is not delayed on its way back.
        let of = |at_ns: u64| {
            let late = if (at_ns / (S / 5)).is_multiple_of(7) { 0 } else { 3_000_000 };
            let offset_ns = offset(at_ns) + late / 2;
            ClockSample { at_ns, offset_ns, trip_ns: trip_ns + late as u64 }
        };
        samples.filter_map(|at_ns| clock.take(of(at_ns))).collect()
    }

    #[test]
    fn an_offset_is_found_and_one_below_the_uncertainty_is_none() {
        assert_eq!(readings(|_| 5_000_000, 100_000), [(5_000_000, 0); 3]);
        assert_eq!(readings(|_| 40_000, 100_000), [(0, 0); 3]);
    }

    #[test]
    fn a_drift_is_found() {
        let all = readings(|at_ns| 1_000_000 + (at_ns / 5_000) as i64, 100_000);
        assert!(all[1..].iter().all(|(_, drift)| (199_000..201_000).contains(drift)), "{all:?}");
    }
}

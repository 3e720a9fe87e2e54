//! What the transfers of one shape took so far in one communicator: the measure where peers are few, or slow alike.
//!
//! A barrier makes all ranks look alike, so operations do not show which connection is slow. They do show that the
//! transfer, which begins when the last rank has come, takes longer than it did. Late ranks and clocks have no part in
//! it.
use crate::settings::Settings;

/// Windows of operations that make a past: one alone does not tell how much windows differ.
const WINDOWS: u32 = 2;
/// Windows that count in the past: older ones are forgotten, so that it follows slow changes of the job.
const REMEMBERED: u32 = 8;
/// Standard error of the median of normal values, in standard deviations over the root of their number. Their standard
/// deviation is as many times their mean distance from the median: both are the root of π / 2.
pub const MEDIAN_ERROR: f64 = 1.2533;
/// Times the slow share by which single operations are beyond doubt.
const CLEAR: f64 = 2.0;
/// Operations in a row that are no chance pause, as late ranks need them too.
const RUN: u32 = 3;

/// The past of one shape in one communicator, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OwnPast {
    operations: u32,
    windows: u32,
    /// Median of the windows.
    usual: f32,
    /// Their mean distance from it.
    scatter: f32,
    /// Robust deviation of operations within a window.
    deviation: f32,
    /// Operations in a row that are beyond doubt: their number, time and least.
    run: u32,
    run_ns: f32,
    run_least: f32,
}

impl OwnPast {
    /// What a transfer usually takes; none before there is a past.
    pub fn usual_ns(&self, settings: &Settings) -> Option<f64> {
        (self.operations >= WINDOWS * settings.window).then_some(f64::from(self.usual))
    }

    /// What the median of so many operations must exceed the usual by before it is no chance.
    pub fn least_ns(&self, settings: &Settings, deviation: f64, operations: usize) -> f64 {
        let deviation = deviation.max(f64::from(self.deviation));
        let error = (deviation / (operations.max(1) as f64).sqrt()).max(f64::from(self.scatter));
        (settings.slow_share * f64::from(self.usual)).max(settings.deviations * MEDIAN_ERROR * error)
    }

    /// Takes one transfer in, as it ends.
    pub fn arrive(&mut self, settings: &Settings, transfer_ns: f32) {
        let Some(usual) = self.usual_ns(settings) else { return };
        let single = f64::from(self.deviation).max(MEDIAN_ERROR * f64::from(self.scatter));
        let least = (CLEAR * settings.slow_share * usual).max(settings.deviations * single);
        if f64::from(transfer_ns) > usual + least {
            self.run_least = if self.run == 0 { transfer_ns } else { self.run_least.min(transfer_ns) };
            self.run += 1;
            self.run_ns += transfer_ns;
        } else {
            (self.run, self.run_ns) = (0, 0.0);
        }
    }

    /// By how much a run of operations is slow at least: half a window of them, or three that take as long as a window
    /// usually does. Who waits for full windows waits minutes where an operation takes 25 times as long.
    pub fn run_excess_ns(&self, settings: &Settings, window_ns: f64) -> Option<f64> {
        let long = self.run >= RUN && f64::from(self.run_ns) > window_ns;
        (long || self.run >= RUN.max(settings.window / 2))
            .then(|| f64::from(self.run_least) - f64::from(self.usual))
    }

    /// Whether operations are beyond doubt just now.
    pub fn is_running(&self) -> bool {
        self.run > 0
    }

    /// Takes a window in that was not slow.
    pub fn learn(&mut self, median: f64, deviation: f64, operations: usize) {
        self.windows += 1;
        self.operations = self.operations.saturating_add(operations as u32);
        let weight = 1.0 / self.windows.min(REMEMBERED) as f32;
        let distance = (median as f32 - self.usual).abs();
        if self.windows > 1 {
            self.scatter += weight * (distance - self.scatter);
        }
        self.usual += weight * (median as f32 - self.usual);
        self.deviation += weight * (deviation as f32 - self.deviation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past() -> OwnPast {
        let mut past = OwnPast::default();
        past.learn(100.0, 1.0, 16);
        assert_eq!(past.usual_ns(&Settings::default()), None, "one window is no past");
        past.learn(100.0, 1.0, 16);
        past
    }

    #[test]
    fn a_run_is_half_a_window_or_three_that_take_as_long_as_one() {
        let settings = Settings::default();
        let mut past = past();
        (0..7).for_each(|_| past.arrive(&settings, 120.0));
        assert_eq!(past.run_excess_ns(&settings, 16.0 * 1000.0), None);
        past.arrive(&settings, 115.0);
        assert_eq!(past.run_excess_ns(&settings, 16.0 * 1000.0), Some(15.0));
        past.arrive(&settings, 105.0);
        assert_eq!(past.run_excess_ns(&settings, 0.0), None, "one in time ends it");
        (0..3).for_each(|_| past.arrive(&settings, 6000.0));
        assert_eq!(past.run_excess_ns(&settings, 16.0 * 1000.0), Some(5900.0));
    }

    #[test]
    fn chance_of_few_operations_widens_the_limit() {
        let settings = Settings::default();
        let past = past();
        assert_eq!(past.least_ns(&settings, 0.0, 16), 5.0, "the slow share, where chance is less");
        assert!((past.least_ns(&settings, 0.0, 1) - 6.0 * MEDIAN_ERROR).abs() < 1e-9);
        assert!((past.least_ns(&settings, 20.0, 16) - 30.0 * MEDIAN_ERROR).abs() < 1e-6);
    }
}

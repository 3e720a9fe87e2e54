//! How what people ask for swings over a day.
use std::f64::consts::TAU;

/// Hour of the day at which most comes where there is a tide: as jobs are submitted (docs/models/job-streams.md).
const PEAK_HOUR: f64 = 15.0;
/// Hours of a day.
const HOURS: f64 = 24.0;

/// What comes at an hour of the day over the mean of the day: `1 + swing · cos(2π (hour − 15) / 24)`.
///
/// ```
/// use railtwin_workload::tide::at;
/// assert_eq!(at(15.0, 0.6), 1.6);
/// assert_eq!(at(15.0, 0.0), 1.0);
/// ```
pub fn at(hour: f64, swing: f64) -> f64 {
    let turn = (hour - PEAK_HOUR) / HOURS * TAU;
    1.0 + swing * turn.cos()
}

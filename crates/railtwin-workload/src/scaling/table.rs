//! Tables over sizes.
use super::StepPoint;

/// A value at `at` between points of ascending positions: by ratio on both axes where all is above zero, else along lines;
/// the first and last value beyond them.
fn interpolated(points: &[(f64, f64)], at: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < at);
    match (next.checked_sub(1).and_then(|row| points.get(row)), points.get(next)) {
        (None, None) => 0.0,
        (None, Some(only)) | (Some(only), None) => only.1,
        (Some(&(x0, y0)), Some(&(x1, y1))) => {
            if y0 > 0.0 && y1 > 0.0 && x0 > 0.0 {
                let share = (at / x0).ln() / (x1 / x0).ln();
                (y0.ln() * (1.0 - share) + y1.ln() * share).exp()
            } else {
                y0 + (y1 - y0) * (at - x0) / (x1 - x0)
            }
        }
    }
}

/// Seconds at `at` of points of ascending bytes: [`interpolated`] between them. Beyond the last, and below the first, a line on
/// through the two that are nearest, which never rises towards smaller sizes nor falls faster than the size does. None
/// without a point.
pub(super) fn extended(points: &[(f64, f64)], at: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let slope = |a: &(f64, f64), b: &(f64, f64)| ((b.1 - a.1) / (b.0 - a.0)).max(0.0);
    if at < first.0 {
        let slope = points.get(1).map_or(0.0, |second| slope(first, second));
        return Some((first.1 - (first.0 - at) * slope).max(first.1 * at / first.0));
    }
    if at > last.0 {
        let before = points.len().checked_sub(2).and_then(|row| points.get(row));
        let slope = before.map_or(last.1 / last.0, |before| slope(before, last));
        return Some(last.1 + (at - last.0) * slope);
    }
    Some(interpolated(points, at))
}

/// Seconds of a step of a chunk.
pub(super) fn step(points: &[StepPoint], chunk: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = points.iter().map(|point| (point.chunk as f64, point.seconds)).collect();
    extended(&points, chunk)
}

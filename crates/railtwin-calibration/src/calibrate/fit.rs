//! From sizes and times to latency and bandwidth: t = l + g B in ranges of size, as protocols and algorithms change.

/// Times that scatter by less than this, relative, are told as they are: repeats of healthy clusters differ by as much.
const SCATTER: f64 = 0.01;
/// Most ranges of size in one kind of tests: NCCL has three protocols.
const RANGES: usize = 3;
/// Sizes that a range needs: two constants are fitted in it.
const SIZES: usize = 2;
/// Constants that a range adds: latency, bandwidth, and where it begins.
const CONSTANTS: usize = 3;

/// A median time of one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Bytes as nccl-tests counts them.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
    /// Tests that measured it: of sizes with other numbers no test measured both, so that they have no line in common.
    pub by: u32,
}

/// A range of sizes with one latency and one bandwidth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Smallest size of it that was measured.
    pub from: u64,
    /// Size from which the next range holds; none for the last.
    pub until: Option<u64>,
    /// Seconds that do not depend on size.
    pub latency: f64,
    /// Bytes per second of the operation beyond them.
    pub bandwidth: f64,
}

/// Channels that small transfers are cut into: at most `bandwidth` up to `bytes`, twice as much at twice the size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Channels {
    /// Bytes per second.
    pub bandwidth: f64,
    /// Largest size that so many channels carry.
    pub bytes: u64,
}

/// What sizes of one kind take.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fit {
    /// Ranges, from small to large.
    pub ranges: Vec<Range>,
    /// Of point-to-point transfers, where channels limit small ones.
    pub channels: Option<Channels>,
}

impl Fit {
    /// Seconds that `bytes` take; none without a range.
    pub fn seconds(&self, bytes: u64) -> Option<f64> {
        let range = self.ranges.iter().find(|range| range.until.is_none_or(|until| bytes < until))?;
        let time = range.latency + bytes as f64 / range.bandwidth;
        let limit = self.channels.map_or(0.0, |channels| bytes as f64 / channels.reach(bytes));
        Some(time.max(limit))
    }
}

impl Channels {
    /// Bytes per second of a transfer: channels double with each double of the size.
    fn reach(&self, bytes: u64) -> f64 {
        self.bandwidth * bytes.div_ceil(self.bytes).max(1).next_power_of_two() as f64
    }
}

/// A line through points: latency, bandwidth, and the sum of squares of relative errors.
struct Line {
    latency: f64,
    bandwidth: f64,
    squares: f64,
}

/// The line of least relative error. Latency is not below zero, bandwidth not above `most`.
fn line(points: &[Point], most: f64) -> Line {
    if let [one] = points {
        // Of a single size nobody knows the latency.
        let bandwidth = (one.bytes as f64 / one.seconds).min(most);
        let error = one.bytes as f64 / bandwidth / one.seconds - 1.0;
        return Line { latency: 0.0, bandwidth, squares: error * error };
    }
    let (mut xx, mut xy, mut yy, mut x, mut y) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let (one, size) = (1.0 / point.seconds, point.bytes as f64 / point.seconds);
        xx += one * one;
        xy += one * size;
        yy += size * size;
        x += one;
        y += size;
    }
    let determinant = xx * yy - xy * xy;
    let (mut latency, mut per_byte) = ((x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant);
    if !(per_byte * most >= 1.0 && latency.is_finite() && per_byte.is_finite()) {
        per_byte = 1.0 / most;
        latency = (x - per_byte * xy) / xx;
    }
    if !(latency >= 0.0 && per_byte > 0.0) {
        (latency, per_byte) = (0.0, (y / yy).max(1.0 / most));
    }
    let error = |point: &Point| (latency + per_byte * point.bytes as f64) / point.seconds - 1.0;
    Line { latency, bandwidth: 1.0 / per_byte, squares: points.iter().map(|p| error(p) * error(p)).sum() }
}

/// Bayes' information criterion: what is left unexplained, and what was paid for it in constants.
fn criterion(squares: f64, points: usize, constants: usize) -> f64 {
    let n = points as f64;
    n * (squares / n + SCATTER * SCATTER).ln() + constants as f64 * n.ln()
}

/// Fits points of ascending size, one for each; none for fewer than two. No range goes beyond `most` bytes per second, what
/// hardware allows; infinite where that is not known. `channels` tries whether they limit.
pub fn fit(points: &[Point], most: f64, channels: bool) -> Option<Fit> {
    let mut best: Option<(f64, Fit)> = None;
    let mut offer = |value: f64, fit: Fit| {
        if best.as_ref().is_none_or(|(least, _)| value < *least) {
            best = Some((value, fit));
        }
    };
    let mut cuts = vec![0, points.len()];
    try_cuts(points, most, &mut cuts, &mut offer);
    if channels && points.windows(2).all(|pair| pair[0].by == pair[1].by) {
        try_channels(points, most, &mut offer);
    }
    best.map(|(_, fit)| fit)
}

/// Offers all ways to cut the last range of `cuts` further.
fn try_cuts(points: &[Point], most: f64, cuts: &mut Vec<usize>, offer: &mut impl FnMut(f64, Fit)) {
    let last = cuts.len() - 2;
    let border = |at: usize| at == 0 || at == points.len() || points[at - 1].by != points[at].by;
    let whole = |pair: &[usize]| {
        let alike = points[pair[0]..pair[1]].iter().all(|point| point.by == points[pair[0]].by);
        alike && (pair[1] - pair[0] >= SIZES || border(pair[0]) && border(pair[1]))
    };
    if points.len() >= SIZES && cuts.windows(2).all(whole) {
        let lines: Vec<Line> = cuts.windows(2).map(|pair| line(&points[pair[0]..pair[1]], most)).collect();
        let squares = lines.iter().map(|line| line.squares).sum();
        let ranges = ranges(points, cuts, &lines);
        let value = criterion(squares, points.len(), CONSTANTS * lines.len() - 1);
        offer(value, Fit { ranges, channels: None });
    }
    let borders = (1..points.len()).filter(|&at| border(at)).count();
    if cuts.len() > RANGES + borders {
        return;
    }
    for cut in cuts[last] + 1..points.len() {
        // A cut that leaves too few sizes before it comes to nothing.
        if !border(cut) && cut - cuts[last] < SIZES {
            continue;
        }
        cuts.insert(last + 1, cut);
        try_cuts(points, most, cuts, offer);
        cuts.remove(last + 1);
    }
}

fn ranges(points: &[Point], cuts: &[usize], lines: &[Line]) -> Vec<Range> {
    let of = |(line, pair): (&Line, &[usize])| {
        // Where NCCL changes its mind lies between two sizes: in the middle by ratio.
        let next = points.get(pair[1]);
        let until = next.map(|next| (points[pair[1] - 1].bytes as f64 * next.bytes as f64).sqrt() as u64);
        Range { from: points[pair[0]].bytes, until, latency: line.latency, bandwidth: line.bandwidth }
    };
    lines.iter().zip(cuts.windows(2)).map(of).collect()
}

/// Offers small sizes limited by channels and larger ones by a line.
fn try_channels(points: &[Point], most: f64, offer: &mut impl FnMut(f64, Fit)) {
    for few in 1..points.len().saturating_sub(1) {
        // Where several fit alike the fewest channels that the sizes show: the first one is kept.
        for power in (16..36).rev() {
            let bytes = 1_u64 << power;
            let unit = |point: &Point| {
                point.bytes as f64
                    / point.seconds
                    / point.bytes.div_ceil(bytes).max(1).next_power_of_two() as f64
            };
            let mut units: Vec<f64> = points[..few].iter().map(unit).collect();
            let Some(bandwidth) = railtwin_diagnosis::robust::median(&mut units) else { continue };
            let rest = line(&points[few..], most);
            let range = Range {
                from: points[0].bytes,
                until: None,
                latency: rest.latency,
                bandwidth: rest.bandwidth,
            };
            let fit = Fit { ranges: vec![range], channels: Some(Channels { bandwidth, bytes }) };
            let error = |point: &Point| fit.seconds(point.bytes).map_or(1.0, |own| own / point.seconds - 1.0);
            let squares = points.iter().map(|point| error(point) * error(point)).sum();
            offer(criterion(squares, points.len(), CONSTANTS + 1), fit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(seconds: impl Fn(u64) -> f64) -> Vec<Point> {
        (20..30)
            .map(|power| 1_u64 << power)
            .map(|bytes| Point { bytes, seconds: seconds(bytes), by: 0 })
            .collect()
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(latency in 1e-6..1e-3_f64, bandwidth in 1e9..1e12_f64) {
            let fit = fit(&points(|bytes| latency + bytes as f64 / bandwidth), f64::INFINITY, false).unwrap();
            prop_assert_eq!(fit.ranges.len(), 1);
            prop_assert!((fit.ranges[0].latency / latency - 1.0).abs() < 1e-6);
            prop_assert!((fit.ranges[0].bandwidth / bandwidth - 1.0).abs() < 1e-6);
        }

        #[test]
        fn nothing_breaks_it(
            times in proptest::collection::vec(1e-9..1e3_f64, 0..12),
            channels: bool,
            other in 0..12_u32,
        ) {
            let point = |(power, &seconds): (u32, &f64)| {
                Point { bytes: 1 << power, seconds, by: u32::from(power - 20 >= other) }
            };
            let all: Vec<Point> = (20..).zip(&times).map(point).collect();
            let fit = fit(&all, 1e12, channels);
            prop_assert_eq!(fit.is_some(), all.len() >= 2);
            for range in fit.into_iter().flat_map(|fit| fit.ranges) {
                prop_assert!(range.latency >= 0.0 && range.bandwidth > 0.0);
            }
        }
    }

    #[test]
    fn no_range_goes_beyond_what_hardware_allows() {
        // Twice the size in hardly more time: as if bandwidth were without end.
        let found = fit(&points(|bytes| 1e-3 + bytes as f64 / 1e15), 1e11, false).unwrap();
        assert!(found.ranges.iter().all(|range| range.bandwidth <= 1e11 * (1.0 + 1e-9)), "{found:?}");
    }

    #[test]
    fn a_change_of_protocol_is_found() {
        let two = |bytes: u64| match bytes {
            0..33_554_433 => 100e-6 + bytes as f64 / 150e9,
            _ => 400e-6 + bytes as f64 / 300e9,
        };
        let found = fit(&points(two), f64::INFINITY, false).unwrap();
        assert_eq!(found.ranges.len(), 2);
        assert!((found.ranges[1].latency / 400e-6 - 1.0).abs() < 1e-6);
        let border = found.ranges[0].until.unwrap();
        assert!((33_554_432..67_108_864).contains(&border), "{border}");
    }

    /// Small sizes of one pair of hosts and large ones of all: what hosts differ by is no latency.
    #[test]
    fn sizes_of_other_tests_have_a_line_of_their_own() {
        let of = |by: u32, power: u32, bandwidth: f64| {
            let bytes = 1_u64 << power;
            Point { bytes, seconds: 20e-6 + bytes as f64 / bandwidth, by }
        };
        let all = [of(0, 25, 43e9), of(0, 27, 43e9), of(0, 29, 43e9), of(1, 33, 39e9)];
        let found = fit(&all, f64::INFINITY, true).unwrap();
        assert_eq!(found.ranges.len(), 2);
        assert!((found.ranges[0].bandwidth / 43e9 - 1.0).abs() < 1e-6);
        assert!((found.ranges[1].bandwidth / 39e9 - 1.0).abs() < 1e-3 && found.ranges[1].latency == 0.0);
    }

    /// One size in few channels says how many carry that size, and not that half of it has half as many.
    #[test]
    fn no_more_channels_than_sizes_show() {
        let seconds = |bytes: u64| {
            bytes as f64 / (80e9 * bytes.div_ceil(64 << 20).next_power_of_two() as f64).min(360e9)
        };
        let all: Vec<Point> = (26..36)
            .step_by(2)
            .map(|power| Point { bytes: 1 << power, seconds: seconds(1 << power), by: 0 })
            .collect();
        let found = fit(&all, f64::INFINITY, true).unwrap();
        let half = found.seconds(32 << 20).unwrap() / seconds(32 << 20);
        assert!((half - 1.0).abs() < 0.05, "{half} {found:?}");
    }

    #[test]
    fn channels_that_double_with_the_size_are_found() {
        // 80 GB/s up to 4 MiB, twice as much at 8 MiB, and so on to 360 GB/s.
        let seconds = |bytes: u64| {
            let times = bytes.div_ceil(4 << 20).next_power_of_two() as f64;
            bytes as f64 / (80e9 * times).min(360e9)
        };
        let found = fit(&points(seconds), f64::INFINITY, true).unwrap();
        let channels = found.channels.unwrap();
        assert_eq!(channels.bytes, 4 << 20);
        assert!((channels.bandwidth / 80e9 - 1.0).abs() < 1e-6);
        assert!(fit(&points(seconds), f64::INFINITY, false).unwrap().channels.is_none());
    }
}

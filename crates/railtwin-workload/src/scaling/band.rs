//! How far measurements are off what was predicted, by size and by how far beyond the fit the cluster is.

/// Sizes of a class are below these bytes, the last are the others: latency, the change of protocols, trees, bandwidth.
const CLASSES: [u64; 3] = [(32 << 10) + 1, (1 << 20) + 1, (32 << 20) + 1];

/// 80 % of the measurements of a class of sizes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BandRow {
    /// Class of sizes, from 0.
    pub class: u32,
    /// Holds for clusters of up to so many times the ranks that were fitted.
    pub beyond: u32,
    /// 10th percentile of measured over predicted.
    pub low: f64,
    /// 90th percentile.
    pub high: f64,
}

/// Where nothing was held back: measured over predicted of clusters of 2 and 4 times the ranks that were fitted, of GH200
/// hosts (`railtwin calibrate --json` over their times), and of 8 to 32 times as many, of GH200 and A100 hosts.
pub const PRIOR_BAND: [BandRow; 12] = [
    BandRow { class: 0, beyond: 2, low: 0.94, high: 1.08 },
    BandRow { class: 1, beyond: 2, low: 0.74, high: 1.78 },
    BandRow { class: 2, beyond: 2, low: 0.89, high: 2.78 },
    BandRow { class: 3, beyond: 2, low: 0.99, high: 1.98 },
    BandRow { class: 0, beyond: 4, low: 0.92, high: 1.10 },
    BandRow { class: 1, beyond: 4, low: 0.61, high: 1.80 },
    BandRow { class: 2, beyond: 4, low: 0.81, high: 1.24 },
    BandRow { class: 3, beyond: 4, low: 0.98, high: 3.02 },
    BandRow { class: 0, beyond: 32, low: 0.91, high: 1.22 },
    BandRow { class: 1, beyond: 32, low: 0.84, high: 2.07 },
    BandRow { class: 2, beyond: 32, low: 0.70, high: 1.46 },
    BandRow { class: 3, beyond: 32, low: 1.12, high: 1.96 },
];

/// The class of a size: up to 32 KiB, to 1 MiB, to 32 MiB, and above.
pub fn size_class(bytes: u64) -> u32 {
    CLASSES.partition_point(|&least| bytes >= least) as u32
}

/// The nearest row that reaches as far: of the model's own, else of the priors, else the farthest of all.
pub(super) fn of(rows: &[BandRow], beyond: f64, bytes: u64) -> (f64, f64) {
    let class = size_class(bytes);
    let reaches = |row: &&BandRow| row.class == class && f64::from(row.beyond) >= beyond;
    let near = |rows: &[BandRow]| rows.iter().filter(reaches).min_by_key(|row| row.beyond).copied();
    let farthest =
        || PRIOR_BAND.iter().filter(|row| row.class == class).max_by_key(|row| row.beyond).copied();
    let row = near(rows).or_else(|| near(&PRIOR_BAND)).or_else(farthest);
    row.map_or((1.0, 1.0), |row| (row.low, row.high))
}

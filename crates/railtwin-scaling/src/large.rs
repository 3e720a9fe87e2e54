//! Trees of more bytes than were seen, from those that were and from rings.
use railtwin_diagnosis::robust::median;
use railtwin_workload::scaling::{LEVEL_BYTES, LargeTrees, LevelPoint, StepPoint};

/// Sizes of trees from which those of larger ones are told, where there are enough.
const LARGE_FROM: u64 = 1 << 20;
/// Sizes of a cluster that is more than a probe.
pub(super) const SIZES: usize = 4;

/// First value and slope of the line through points whose slope is the median of those of all pairs (Theil and Sen); none
/// without two positions.
pub(super) fn robust_line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let mut slopes = Vec::new();
    for (row, a) in points.iter().enumerate() {
        slopes.extend(points[row + 1..].iter().filter(|b| b.0 != a.0).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    let slope = median(&mut slopes)?;
    let mut first: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    Some((median(&mut first)?, slope))
}

/// Seconds of each byte of an all-reduce in the fastest ring.
pub(super) fn per_byte(steps: &[StepPoint]) -> Option<f64> {
    steps.iter().map(|step| 2.0 * step.seconds / step.chunk as f64).min_by(f64::total_cmp)
}

/// Trees of more bytes than were seen, at `share` of a ring's bandwidth.
pub(super) fn large(trees: &[LevelPoint], steps: &[StepPoint], share: f64) -> Option<LargeTrees> {
    let (per_byte, last) = (per_byte(steps)? / share, trees.last()?);
    let from = trees.iter().position(|tree| tree.bytes >= LARGE_FROM).unwrap_or(trees.len());
    let seen = &trees[from.min(trees.len().saturating_sub(SIZES))..];
    let levels: Vec<(f64, f64)> = seen.iter().map(|tree| (tree.bytes as f64, tree.level)).collect();
    let (level, level_per_byte) = robust_line(&levels)?;
    let mut first: Vec<f64> = seen.iter().map(|tree| tree.first - tree.bytes as f64 * per_byte).collect();
    Some(LargeTrees {
        first: median(&mut first)?.max(0.0),
        level: level.max(0.0),
        level_per_byte: level_per_byte.max(0.0),
        level_bytes: last.bytes.min(LEVEL_BYTES),
        per_byte,
    })
}

//! When the paces of jobs that share links are steady.

/// Blocks that are watched before a pace is believed.
const BLOCKS_LEAST: usize = 4;
/// Blocks after which noise without a trend is believed, too.
const BLOCKS_MOST: usize = 24;
/// Standard errors within which a mean is believed to lie: 98 % of Student's t with few blocks.
const ERRORS: f64 = 3.0;

/// Mean step times, block after block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Estimate {
    /// By block, by job: mean seconds of the steps that ended in it; infinite where none did.
    blocks: Vec<Vec<f64>>,
    /// By block, by job: steps that ended in it, and their seconds.
    counts: Vec<Vec<(f64, f64)>>,
}

impl Estimate {
    /// Adds a block: by job the steps that ended in it and their seconds.
    pub(crate) fn add(&mut self, block: &[(f64, f64)]) {
        self.counts.push(block.to_vec());
        self.blocks.push(block.iter().map(|&(steps, seconds)| seconds / steps).map(of_none).collect());
    }

    /// Forgets the older half of the blocks.
    fn forget(&mut self) {
        let half = self.blocks.len() / 2;
        self.blocks.drain(..half);
        self.counts.drain(..half);
    }

    /// Steps a second of each job, where they are known within `share` of themselves.
    pub(crate) fn steady(&mut self, share: f64) -> Option<Vec<f64>> {
        if self.blocks.len() < BLOCKS_LEAST {
            return None;
        }
        let jobs = self.blocks[0].len();
        let is_known = (0..jobs).all(|job| self.is_known(job, share));
        if !is_known && self.blocks.len() >= BLOCKS_MOST {
            if !(0..jobs).all(|job| self.has_no_trend(job)) {
                self.forget();
                return None;
            }
        } else if !is_known {
            return None;
        }
        let rate = |job: usize| {
            let of_job = self.counts.iter().map(|block| block[job]);
            let (steps, seconds) = of_job.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            if steps > 0.0 { steps / seconds } else { 0.0 }
        };
        Some((0..jobs).map(rate).collect())
    }

    /// Whether a block that was watched later agrees, within noise or `share`.
    pub(crate) fn agrees(&self, block: &[(f64, f64)], share: f64) -> bool {
        (0..block.len()).all(|job| {
            let (mean, spread) = self.mean_of(job, 0..self.blocks.len());
            let later = of_none(block[job].1 / block[job].0);
            if later.is_infinite() || mean.is_infinite() {
                return later == mean;
            }
            (later - mean).abs() <= (ERRORS * spread).max(2.0 * share * mean)
        })
    }

    fn mean_of(&self, job: usize, blocks: std::ops::Range<usize>) -> (f64, f64) {
        let values = || self.blocks[blocks.clone()].iter().map(|block| block[job]);
        let count = blocks.len() as f64;
        let mean = values().sum::<f64>() / count;
        let square = values().map(|value| (value - mean) * (value - mean)).sum::<f64>();
        (mean, (square / (count - 1.0).max(1.0)).sqrt())
    }

    fn is_known(&self, job: usize, share: f64) -> bool {
        let blocks = self.blocks.len();
        if self.blocks.iter().all(|block| block[job].is_infinite()) {
            return true;
        }
        let (mean, spread) = self.mean_of(job, 0..blocks);
        ERRORS * spread / (blocks as f64).sqrt() <= share * mean
    }

    /// Whether both halves agree within noise.
    fn has_no_trend(&self, job: usize) -> bool {
        let (blocks, half) = (self.blocks.len(), self.blocks.len() / 2);
        let ((first, one), (second, other)) = (self.mean_of(job, 0..half), self.mean_of(job, half..blocks));
        first == second
            || (first - second).abs() <= ERRORS * ((one * one + other * other) / half as f64).sqrt()
    }
}

/// No step at all is one without an end.
fn of_none(mean: f64) -> f64 {
    if mean.is_nan() { f64::INFINITY } else { mean }
}

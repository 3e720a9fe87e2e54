//! How many GPUs jobs want.
use crate::error::WorkloadError;

/// Sizes of jobs and the share of jobs that has each.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeMix {
    /// GPUs and share, from small to large; shares add up to 1.
    sizes: Vec<(u32, f64)>,
}

/// Jobs of HPN's Figure 6 by GPUs, of 1,000.
///
/// The text has two points of it: 963 of 1,000 take less than 1K GPUs, none takes 3K. The rest is our choice: powers of two for
/// the most part, whole hosts of 8 from there, whole multiples of 64 from there; over half have at most 16 GPUs.
/// None has 1,024, of which the text does not say whether it is less than 1K.
const HPN: [(u32, f64); 23] = [
    (1, 80.0),
    (2, 45.0),
    (4, 70.0),
    (8, 200.0),
    (16, 150.0),
    (24, 20.0),
    (32, 115.0),
    (48, 15.0),
    (64, 95.0),
    (128, 70.0),
    (192, 15.0),
    (256, 45.0),
    (320, 8.0),
    (384, 8.0),
    (512, 20.0),
    (640, 3.0),
    (768, 3.0),
    (896, 1.0),
    (1_280, 8.0),
    (1_536, 10.0),
    (2_048, 13.0),
    (2_560, 5.0),
    (2_880, 1.0),
];

impl SizeMix {
    /// HPN's Figure 6: 96.3 % of jobs below 1,024 GPUs, none with 3,000 or more.
    pub fn hpn() -> Self {
        let total: f64 = HPN.iter().map(|(_, count)| count).sum();
        Self { sizes: HPN.map(|(gpus, count)| (gpus, count / total)).to_vec() }
    }

    /// A mix of sizes and weights; a size that is named twice has both weights.
    ///
    /// # Errors
    /// [`WorkloadError`] for a size of 0, a weight that is no number over 0, and no size at all.
    pub fn new(weights: &[(u32, f64)]) -> Result<Self, WorkloadError> {
        let accepted = "name sizes from 1 GPU up, each with a weight over 0";
        if weights.is_empty() {
            return Err(WorkloadError::new("sizes", "nothing", accepted));
        }
        for &(gpus, weight) in weights {
            if gpus == 0 || !(weight > 0.0 && weight.is_finite()) {
                return Err(WorkloadError::new("sizes", format!("{gpus} GPUs: {weight}"), accepted));
            }
        }
        let mut sizes = weights.to_vec();
        sizes.sort_by_key(|&(gpus, _)| gpus);
        sizes.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 += next.1;
            }
            same
        });
        let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
        sizes.iter_mut().for_each(|(_, weight)| *weight /= total);
        Ok(Self { sizes })
    }

    /// The mix of the jobs that a cluster of `gpus` GPUs can hold.
    ///
    /// # Errors
    /// [`WorkloadError`] where all are larger.
    pub fn up_to(&self, gpus: u32) -> Result<Self, WorkloadError> {
        let held: Vec<(u32, f64)> = self.sizes.iter().copied().filter(|&(size, _)| size <= gpus).collect();
        if held.is_empty() {
            let smallest = self.sizes.first().map_or(0, |&(size, _)| size);
            let accepted = format!("the smallest job of the mix wants {smallest}");
            return Err(WorkloadError::new("gpus", gpus, accepted));
        }
        Self::new(&held)
    }

    /// Sizes and their shares, from small to large; shares add up to 1.
    pub fn shares(&self) -> &[(u32, f64)] {
        &self.sizes
    }

    /// Share of jobs below `gpus` GPUs.
    pub fn below(&self, gpus: u32) -> f64 {
        self.sizes.iter().filter(|&&(size, _)| size < gpus).map(|(_, share)| share).sum()
    }

    /// Mean size.
    pub fn mean(&self) -> f64 {
        self.sizes.iter().map(|&(gpus, share)| f64::from(gpus) * share).sum()
    }

    /// The size that `lot`, a number in 0..1, draws.
    pub fn by_lot(&self, lot: f64) -> u32 {
        let mut left = lot;
        for &(gpus, share) in &self.sizes {
            left -= share;
            if left < 0.0 {
                return gpus;
            }
        }
        self.sizes.last().map_or(0, |&(gpus, _)| gpus)
    }
}

//! Megatron's rank order and the communicators of each axis.
use crate::error::WorkloadError;

/// Sizes of the axes. Ranks count with `tp` fastest, then data parallel (with `ep` fastest inside), then `pp`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parallelism {
    /// Tensor parallel size.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Data parallel size.
    pub dp: u32,
    /// Expert parallel size; divides `dp`.
    pub ep: u32,
}

impl Parallelism {
    /// Checks the sizes.
    ///
    /// # Errors
    /// [`WorkloadError`] naming the axis.
    pub fn check(&self) -> Result<(), WorkloadError> {
        for (field, value) in [("tp", self.tp), ("pp", self.pp), ("dp", self.dp), ("ep", self.ep)] {
            if value == 0 {
                return Err(WorkloadError::new(field, value, "write a whole number from 1 up"));
            }
        }
        if !self.dp.is_multiple_of(self.ep) {
            let accepted =
                format!("expert parallel groups split data parallel ones: write a divisor of {}", self.dp);
            return Err(WorkloadError::new("ep", self.ep, accepted));
        }
        let ranks = u64::from(self.tp) * u64::from(self.pp) * u64::from(self.dp);
        if ranks > 4_000_000 {
            return Err(WorkloadError::new("tp × pp × dp", ranks, "at most 4,000,000 ranks fit a job"));
        }
        Ok(())
    }

    /// Ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.tp * self.pp * self.dp
    }

    /// Ranks of one pipeline stage, contiguous.
    pub fn stage_ranks(&self) -> u32 {
        self.tp * self.dp
    }

    /// The rank at a position.
    pub fn rank(&self, tp: u32, dp: u32, pp: u32) -> u32 {
        tp + self.tp * (dp + self.dp * pp)
    }

    /// Tensor parallel communicators of a stage.
    pub fn tp_groups(&self, stage: u32) -> Vec<Vec<u32>> {
        (0..self.dp).map(|dp| (0..self.tp).map(|tp| self.rank(tp, dp, stage)).collect()).collect()
    }

    /// Data parallel communicators of a stage.
    pub fn dp_groups(&self, stage: u32) -> Vec<Vec<u32>> {
        (0..self.tp).map(|tp| (0..self.dp).map(|dp| self.rank(tp, dp, stage)).collect()).collect()
    }

    /// Expert parallel communicators of a stage: `ep` consecutive data parallel ranks.
    pub fn ep_groups(&self, stage: u32) -> Vec<Vec<u32>> {
        let blocks = (0..self.dp / self.ep).flat_map(|block| (0..self.tp).map(move |tp| (block, tp)));
        blocks
            .map(|(block, tp)| (0..self.ep).map(|e| self.rank(tp, block * self.ep + e, stage)).collect())
            .collect()
    }

    /// Data parallel communicators of the experts of a stage: the same expert in every expert parallel group.
    pub fn dp_ep_groups(&self, stage: u32) -> Vec<Vec<u32>> {
        let experts = (0..self.ep).flat_map(|e| (0..self.tp).map(move |tp| (e, tp)));
        let blocks = self.dp / self.ep;
        experts.map(|(e, tp)| (0..blocks).map(|b| self.rank(tp, b * self.ep + e, stage)).collect()).collect()
    }

    /// Pairs of ranks that hand activations from one stage to another: sender, receiver, sender, ….
    pub fn stage_pairs(&self, from: u32, to: u32) -> Vec<u32> {
        let ranks = self.stage_ranks();
        (0..ranks).flat_map(|i| [from * ranks + i, to * ranks + i]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_axis_covers_a_stage_once(tp in 1u32..5, pp in 1u32..4, ep in 1u32..5, blocks in 1u32..5) {
            let p = Parallelism { tp, pp, dp: ep * blocks, ep };
            p.check().unwrap();
            for stage in 0..pp {
                let expected: Vec<u32> = (stage * p.stage_ranks()..(stage + 1) * p.stage_ranks()).collect();
                for groups in [p.tp_groups(stage), p.dp_groups(stage), p.ep_groups(stage), p.dp_ep_groups(stage)] {
                    let mut ranks: Vec<u32> = groups.concat();
                    ranks.sort_unstable();
                    prop_assert_eq!(&ranks, &expected);
                }
                prop_assert!(p.ep_groups(stage).iter().all(|g| g.len() == ep as usize));
                prop_assert!(p.dp_ep_groups(stage).iter().all(|g| g.len() == blocks as usize));
            }
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let p = Parallelism { tp: 2, pp: 1, dp: 6, ep: 4 };
        assert!(p.check().unwrap_err().to_string().contains("ep = 4"));
    }
}

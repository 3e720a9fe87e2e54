//! The order of forward and backward passes on each stage: 1F1B, plain and interleaved.
//!
//! Source: Narayanan et al. 2021 («Efficient large-scale language model training on GPU clusters using
//! Megatron-LM»), section 2.2: warm-up forwards, one forward one backward, cool-down backwards.
use crate::error::WorkloadError;

/// One pass of one micro-batch through one model chunk of a stage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pass {
    /// Forward, else backward.
    pub forward: bool,
    /// Micro-batch.
    pub micro_batch: u32,
    /// Model chunk of the stage.
    pub chunk: u32,
}

/// A pipeline: stages, chunks of each stage, micro-batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pipeline {
    /// Stages.
    pub stages: u32,
    /// Model chunks of a stage; 1 = not interleaved.
    pub chunks: u32,
    /// Micro-batches of a step.
    pub micro_batches: u32,
}

impl Pipeline {
    /// Checks the sizes.
    ///
    /// # Errors
    /// [`WorkloadError`] naming the field.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let fields =
            [("pp", self.stages), ("interleave", self.chunks), ("micro_batches", self.micro_batches)];
        for (field, value) in fields {
            if value == 0 {
                return Err(WorkloadError::new(field, value, "write a whole number from 1 up"));
            }
        }
        if self.chunks > 1 && self.stages < 2 {
            return Err(WorkloadError::new(
                "interleave",
                self.chunks,
                "interleaving needs two stages or more",
            ));
        }
        if self.chunks > 1 && !self.micro_batches.is_multiple_of(self.stages) {
            let accepted = format!("interleaving needs a multiple of the {} stages", self.stages);
            return Err(WorkloadError::new("micro_batches", self.micro_batches, accepted));
        }
        Ok(())
    }

    /// Forward passes that `stage` runs before the first backward one, but the one that this follows at once.
    fn warm_up(&self, stage: u32) -> u32 {
        let behind = self.stages - stage - 1;
        let warm_up = match self.chunks {
            1 => behind,
            _ => behind * 2 + (self.chunks - 1) * self.stages,
        };
        warm_up.min(self.micro_batches * self.chunks)
    }

    /// Forward passes of `stage`, each of one chunk, whose activations wait for their backward pass, at most.
    pub fn in_flight(&self, stage: u32) -> u32 {
        (self.warm_up(stage) + 1).min(self.micro_batches * self.chunks)
    }

    /// The passes of `stage` in the order in which it runs them.
    pub fn order(&self, stage: u32) -> Vec<Pass> {
        let total = self.micro_batches * self.chunks;
        let warmup = self.warm_up(stage);
        let mut passes = Vec::with_capacity(2 * total as usize);
        passes.extend((0..warmup).map(|k| self.pass(true, k)));
        for k in warmup..total {
            passes.push(self.pass(true, k));
            passes.push(self.pass(false, k - warmup));
        }
        passes.extend((total - warmup..total).map(|k| self.pass(false, k)));
        passes
    }

    /// The `k`-th forward (or backward) pass of any stage.
    fn pass(&self, forward: bool, k: u32) -> Pass {
        if self.chunks == 1 {
            return Pass { forward, micro_batch: k, chunk: 0 };
        }
        let round = self.stages * self.chunks;
        let chunk = k % round / self.stages;
        let chunk = if forward { chunk } else { self.chunks - 1 - chunk };
        Pass { forward, micro_batch: k / round * self.stages + k % self.stages, chunk }
    }

    /// The stage and pass whose output a pass of `stage` needs from another stage; none at the ends.
    pub fn input(&self, stage: u32, pass: Pass) -> Option<(u32, Pass)> {
        let (last, last_chunk) = (self.stages - 1, self.chunks - 1);
        match (pass.forward, stage) {
            (true, 0) if pass.chunk == 0 => None,
            (true, 0) => Some((last, Pass { chunk: pass.chunk - 1, ..pass })),
            (true, _) => Some((stage - 1, pass)),
            (false, s) if s == last && pass.chunk == last_chunk => None,
            (false, s) if s == last => Some((0, Pass { chunk: pass.chunk + 1, ..pass })),
            (false, _) => Some((stage + 1, pass)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_pass_runs_once_and_the_pipeline_never_waits_for_itself(
            stages in 1u32..6, chunks in 1u32..4, rounds in 1u32..4
        ) {
            let pipeline = Pipeline { stages, chunks, micro_batches: stages * rounds };
            prop_assume!(pipeline.check().is_ok());
            let orders: Vec<Vec<Pass>> = (0..stages).map(|s| pipeline.order(s)).collect();
            for (stage, order) in orders.iter().enumerate() {
                let mut held = 0_u32;
                let most = order.iter().map(|pass| { if pass.forward { held += 1 } else { held -= 1 }; held }).max();
                prop_assert_eq!(most, Some(pipeline.in_flight(stage as u32)));
                let distinct: BTreeSet<Pass> = order.iter().copied().collect();
                prop_assert_eq!(distinct.len(), order.len());
                prop_assert_eq!(order.len() as u32, 2 * stages * rounds * chunks);
            }
            // Run it: a stage goes on when its next pass has its input; all must finish.
            let mut done: BTreeSet<(u32, Pass)> = BTreeSet::new();
            let mut next = vec![0; stages as usize];
            loop {
                let mut moved = false;
                for stage in 0..stages {
                    while let Some(&pass) = orders[stage as usize].get(next[stage as usize]) {
                        let own_forward = pass.forward || done.contains(&(stage, Pass { forward: true, ..pass }));
                        let ready = pipeline.input(stage, pass).is_none_or(|from| done.contains(&from));
                        if !(ready && own_forward) {
                            break;
                        }
                        done.insert((stage, pass));
                        next[stage as usize] += 1;
                        moved = true;
                    }
                }
                if !moved {
                    break;
                }
            }
            prop_assert_eq!(done.len() as u32, stages * 2 * stages * rounds * chunks);
        }
    }

    #[test]
    fn the_last_stage_alternates_from_the_start() {
        let order = Pipeline { stages: 4, chunks: 1, micro_batches: 8 }.order(3);
        assert!(order.iter().enumerate().all(|(i, pass)| pass.forward == (i % 2 == 0)));
    }
}

//! Models by name: what a transformer computes and communicates in a step, from its sizes.
use std::collections::BTreeMap;

use railtwin_units::SimTime;

use crate::collective::Collective;
use crate::error::WorkloadError;
use crate::pipeline::Pipeline;
use crate::plan::{Axis, Plan};
use crate::ranks::Parallelism;
use crate::train::{Phase, PhaseCollective, Row, TrainingStep};

/// Sizes of a transformer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transformer {
    /// Name in scenarios.
    pub name: &'static str,
    /// Layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u64,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Vocabulary.
    pub vocabulary: u64,
    /// Parameters as the model's authors count them.
    pub parameters: f64,
}

/// GPT-3 175B (Brown et al. 2020, table 2.1) with its sequence of 2048 tokens.
pub const GPT3_175B: Transformer = Transformer {
    name: "gpt3-175b",
    layers: 96,
    hidden: 12_288,
    sequence: 2_048,
    vocabulary: 51_200,
    parameters: 175e9,
};

/// Models that [`Transformer::named`] knows.
pub const MODELS: [Transformer; 1] = [GPT3_175B];

/// Bytes of one number in half precision.
const HALF: u64 = 2;

impl Transformer {
    /// The model called `name`.
    pub fn named(name: &str) -> Option<Self> {
        MODELS.into_iter().find(|model| model.name == name)
    }

    /// Floating point operations of one layer's forward pass over `tokens` tokens:
    /// 24 b s h² (1 + s / 6h), Narayanan et al. 2021, appendix.
    pub fn layer_flops(&self, tokens: u64) -> f64 {
        let (h, s) = (self.hidden as f64, self.sequence as f64);
        24.0 * tokens as f64 * h * h * (1.0 + s / (6.0 * h))
    }

    /// Floating point operations of a step over `tokens` tokens, without recomputation:
    /// 72 b s l h² (1 + s / 6h + V / 12lh), three times the forward pass.
    pub fn step_flops(&self, tokens: u64) -> f64 {
        let (h, l) = (self.hidden as f64, f64::from(self.layers));
        let logits = 6.0 * tokens as f64 * h * self.vocabulary as f64;
        3.0 * self.layer_flops(tokens) * l + logits
    }
}

/// How a job trains a transformer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Training {
    /// The model.
    pub model: Transformer,
    /// Sizes of the axes.
    pub parallelism: Parallelism,
    /// Micro-batches of a step in each pipeline.
    pub micro_batches: u32,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// Model chunks of a stage; 1 = not interleaved.
    pub interleave: u32,
    /// Peak of one GPU, FLOP per second.
    pub gpu_flops: f64,
    /// Share of that peak that computation reaches, 0..1.
    pub efficiency: f64,
}

/// Bytes of a step as HPN table 3 counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Volumes {
    /// All-reduce of one rank's gradients in half precision.
    pub dp: u64,
    /// One activation handed to the next stage, scattered over the tensor parallel ranks.
    pub pp: u64,
    /// The activations of all layers of a stage for one micro-batch, each all-reduced whole.
    pub tp: u64,
}

impl Training {
    /// Bytes that each axis moves (HPN table 3).
    pub fn volumes(&self) -> Volumes {
        let p = &self.parallelism;
        let activation = self.activation_bytes();
        Volumes {
            dp: (self.model.parameters / f64::from(p.tp * p.pp) * HALF as f64) as u64,
            pp: activation / u64::from(p.tp),
            tp: activation * u64::from(self.model.layers / p.pp),
        }
    }

    /// Bytes of one micro-batch's activations between layers.
    fn activation_bytes(&self) -> u64 {
        u64::from(self.micro_batch) * self.model.sequence * self.model.hidden * HALF
    }

    /// Tokens of a step.
    pub fn tokens(&self) -> u64 {
        let sequences = u64::from(self.parallelism.dp) * u64::from(self.micro_batches * self.micro_batch);
        sequences * self.model.sequence
    }

    /// The graph of operations of a step.
    ///
    /// # Errors
    /// [`WorkloadError`] naming the field that does not fit.
    pub fn plan(&self) -> Result<Plan, WorkloadError> {
        let p = self.parallelism;
        p.check()?;
        if !(self.efficiency > 0.0 && self.efficiency <= 1.0) {
            return Err(WorkloadError::new(
                "efficiency",
                self.efficiency,
                "write a number over 0 and up to 1",
            ));
        }
        if self.micro_batch == 0 {
            return Err(WorkloadError::new("micro_batch", 0, "write a whole number from 1 up"));
        }
        let chunks = p.pp * self.interleave.max(1);
        if !self.model.layers.is_multiple_of(chunks) {
            let accepted = format!("pp × interleave must divide the model's {} layers", self.model.layers);
            return Err(WorkloadError::new("pp × interleave", chunks, accepted));
        }
        let pipeline =
            Pipeline { stages: p.pp, chunks: self.interleave.max(1), micro_batches: self.micro_batches };
        let step = TrainingStep {
            parallelism: p,
            pipeline,
            segments: vec![self.layers(self.model.layers / chunks), vec![self.logits()]],
            segments_of: self.segments_of(pipeline),
            stage_bytes: self.volumes().pp,
            closing: vec![self.gradients()],
            algorithms: BTreeMap::new(),
        };
        let mut plan = step.plan()?;
        plan.flops = Some(self.model.step_flops(self.tokens()));
        plan.tokens = Some(self.tokens());
        let volumes = self.volumes();
        plan.volumes = vec![(Axis::Dp, volumes.dp), (Axis::Pp, volumes.pp), (Axis::Tp, volumes.tp)];
        Ok(plan)
    }

    /// The last chunk of the last stage also computes the logits.
    fn segments_of(&self, pipeline: Pipeline) -> Vec<Vec<u32>> {
        let last = pipeline.stages * pipeline.chunks - 1;
        let chunks = (0..=last).flat_map(|chunk| (0..pipeline.micro_batches).map(move |_| chunk));
        chunks.map(|chunk| if chunk == last { vec![0, 1] } else { vec![0] }).collect()
    }

    fn time(&self, flops: f64) -> SimTime {
        let rate = self.gpu_flops * self.efficiency * f64::from(self.parallelism.tp);
        SimTime::from_seconds(flops / rate)
    }

    /// Attention and MLP of `count` layers: a third and two thirds of the products of a layer, each ended by
    /// an all-reduce of the activations forward, and of their gradients backward.
    fn layers(&self, count: u32) -> Vec<Row> {
        let tokens = u64::from(self.micro_batch) * self.model.sequence;
        let flops = self.model.layer_flops(tokens);
        let collective = (self.parallelism.tp > 1).then(|| PhaseCollective {
            axis: Axis::Tp,
            collective: Collective::AllReduce,
            bytes: self.activation_bytes(),
        });
        let half = |name: &str, share: f64| {
            let compute = self.time(flops * share);
            Row {
                name: name.to_owned(),
                forward: Phase { compute, collective },
                input_gradient: Phase { compute, collective },
                weight_gradient: Phase { compute, collective: None },
            }
        };
        let layer = [half("attention", 1.0 / 3.0), half("mlp", 2.0 / 3.0)];
        (0..count).flat_map(|_| layer.clone()).collect()
    }

    fn logits(&self) -> Row {
        let tokens = u64::from(self.micro_batch) * self.model.sequence;
        let flops = 2.0 * tokens as f64 * self.model.hidden as f64 * self.model.vocabulary as f64;
        let phase = Phase { compute: self.time(flops), collective: None };
        Row { name: "logits".to_owned(), forward: phase, input_gradient: phase, weight_gradient: phase }
    }

    /// The all-reduce of the gradients after the last backward pass.
    fn gradients(&self) -> Row {
        let collective = (self.parallelism.dp > 1).then(|| PhaseCollective {
            axis: Axis::Dp,
            collective: Collective::AllReduce,
            bytes: self.volumes().dp,
        });
        Row {
            name: "gradients".to_owned(),
            forward: Phase::default(),
            input_gradient: Phase::default(),
            weight_gradient: Phase { compute: SimTime::ZERO, collective },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn training(parallelism: Parallelism) -> Training {
        Training {
            model: GPT3_175B,
            parallelism,
            micro_batches: 16,
            micro_batch: 1,
            interleave: 1,
            gpu_flops: 989.5e12,
            efficiency: 0.5,
        }
    }

    #[test]
    fn volumes_follow_hpn_table_3() {
        let volumes = training(Parallelism { tp: 8, pp: 8, dp: 512, ep: 1 }).volumes();
        assert!((volumes.dp as f64 / 5.5e9 - 1.0).abs() < 0.01);
        assert!((volumes.pp as f64 / 6e6 - 1.0).abs() < 0.05);
        assert!((volumes.tp as f64 / 560e6 - 1.0).abs() < 0.10);
    }

    #[test]
    fn computation_of_all_stages_is_the_model_s_work() {
        let training = training(Parallelism { tp: 8, pp: 8, dp: 2, ep: 1 });
        let plan = training.plan().unwrap();
        let seconds: f64 = (0..8).map(|lane| plan.compute_of_lane(lane).seconds()).sum();
        let rate = training.gpu_flops * training.efficiency * 8.0 * 2.0;
        assert!((seconds * rate / plan.flops.unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn layers_that_do_not_divide_are_refused() {
        let error = training(Parallelism { tp: 8, pp: 7, dp: 2, ep: 1 }).plan().unwrap_err();
        assert!(error.to_string().contains("96 layers"), "{error}");
    }
}

//! Classes of jobs: what one step of a well-known model computes and communicates on so many GPUs.
//!
//! A recipe ([`crate::recipe`]) gives every operation of a step; a class gives its sums, for who simulates weeks of jobs.
//! The models and their numbers are in [`catalogue`]; what they are taken from, and which of them are our choice, is said
//! there line by line.
//!
//! ```
//! use railtwin_workload::JobClass;
//! // 22e9 parameters on one host of A100: Korthikanti et al. 2022, table 5, measure 1.10 s.
//! let step = JobClass::named("gpt-22b").unwrap().step(8, 312_000_000_000_000);
//! assert!((step.compute.seconds() - 1.10).abs() < 0.01);
//! assert_eq!((step.tensor, step.pipeline, step.data), (8, 1, 1));
//! ```
use railtwin_units::{Bytes, SimTime};

use crate::memory::Recompute;
use crate::models::Transformer;
use crate::ranks::Parallelism;
use crate::recipe::Training;

pub mod catalogue;
pub mod seq2seq;

pub use seq2seq::EncoderDecoder;

/// Bytes of gradients that are reduced together, by default in PyTorch's `DistributedDataParallel` (`bucket_cap_mb` 25).
const BUCKET: f64 = 25.0 * 1024.0 * 1024.0;
/// Share of a step's computation that a forward pass takes: one of three passes of equal FLOPs.
const FORWARD: f64 = 1.0 / 3.0;

/// A model that jobs train, and how they train it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct JobClass {
    /// Name in job lists and on the command line.
    pub name: &'static str,
    /// The model.
    pub model: Model,
    /// Samples of a step in each replica: sequences, images, pairs of sentences, rows.
    pub samples: u32,
    /// Samples that run through a replica together; divides `samples`.
    pub micro_batch: u32,
    /// Tensor parallel ranks of a replica.
    pub tensor: u32,
    /// Pipeline stages of a replica.
    pub pipeline: u32,
    /// Ranks of a data parallel group that share the experts among themselves; 1 where there are none.
    pub experts_over: u32,
    /// Share of the GPUs' dense half-precision peak that computation reaches alone, 0..1, with what tensor parallelism and
    /// the pipeline's bubble cost in it.
    pub efficiency: f64,
    /// Which activations are computed again, which is part of the efficiency; whole layers exchange again, too.
    pub recompute: Recompute,
    /// Bytes of a gradient as it is reduced.
    pub gradient_bytes: u64,
    /// Fewest and most GPUs of a job of this class.
    pub gpus: [u32; 2],
}

/// What a class trains.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Model {
    /// A language model that predicts the next token; logits for each.
    Decoder(Transformer),
    /// Layers of a transformer whose outputs are few: masked tokens, one label of an image. Logits are not counted.
    Encoder(Transformer),
    /// An encoder, and a decoder that looks at it.
    EncoderDecoder(EncoderDecoder),
    /// A network of convolutions.
    Convolutional {
        /// Parameters.
        parameters: f64,
        /// Floating point operations of a forward pass over one image.
        forward_flops: f64,
    },
    /// Embedding tables that lie spread over the ranks, and perceptrons that every rank has.
    Recommender {
        /// Parameters of the perceptrons.
        parameters: f64,
        /// Floating point operations of a forward pass over one row.
        forward_flops: f64,
        /// Tables.
        tables: u64,
        /// Numbers of a row of a table.
        dimension: u64,
    },
}

/// What one step of a job of a class does on so many GPUs.
///
/// Tensor parallel groups lie inside a host, where their traffic is part of the efficiency. Rings and trees send more than
/// what they reduce (`bus_factor` in [`crate::collective`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassStep {
    /// Computation of a step on one GPU; all GPUs are alike.
    pub compute: SimTime,
    /// Share of the computation after which communication may begin, 0..1; 1 = nothing overlaps.
    pub overlap_from: f64,
    /// Tensor parallel ranks of a replica.
    pub tensor: u32,
    /// Pipeline stages.
    pub pipeline: u32,
    /// Replicas. `tensor · pipeline · data` are the GPUs.
    pub data: u32,
    /// Gradients that each rank all-reduces over its data parallel group in a step.
    pub reduced: Bytes,
    /// Bytes that each rank sends to the next pipeline stage in a step; it gets as many gradients back. The last stage sends
    /// none.
    pub passed: Bytes,
    /// Bytes that each rank sends to others of its data parallel group in all-to-alls in a step.
    pub exchanged: Bytes,
    /// Ranks next to each other in a data parallel group that exchange these among themselves; `data` where all do, 1 where
    /// none does.
    pub among: u32,
}

impl ClassStep {
    /// Bytes that a rank sends in a step: twice what it all-reduces, as in a ring of many, and what it passes on and
    /// exchanges.
    pub fn sent(&self) -> f64 {
        2.0 * self.reduced.0 as f64 + (self.passed.0 + self.exchanged.0) as f64
    }
}

impl JobClass {
    /// All classes.
    pub const ALL: &'static [JobClass] = &catalogue::CLASSES;

    /// The class called `name`.
    pub fn named(name: &str) -> Option<&'static JobClass> {
        Self::ALL.iter().find(|class| class.name == name)
    }

    /// Names of all classes, as an error or a help text lists them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|class| class.name)
    }

    /// GPUs that a job must have a multiple of: a replica, or the replicas that share the experts.
    pub fn slice(&self) -> u32 {
        self.tensor * self.pipeline * self.experts_over
    }

    /// Whether jobs of this class have so many GPUs.
    pub fn fits(&self, gpus: u32) -> bool {
        let [least, most] = self.gpus;
        (least..=most).contains(&gpus) && gpus.is_multiple_of(self.slice())
    }

    /// Parameters of the whole model; of a recommender those outside of the tables.
    pub fn parameters(&self) -> f64 {
        match self.model {
            Model::Decoder(model) | Model::Encoder(model) => model.parameters,
            Model::EncoderDecoder(model) => model.parameters(),
            Model::Convolutional { parameters, .. } | Model::Recommender { parameters, .. } => parameters,
        }
    }

    /// Floating point operations of a sample, forward and backward: three times the forward pass.
    pub fn sample_flops(&self) -> f64 {
        match self.model {
            Model::Decoder(model) => model.step_flops(model.sequence),
            Model::Encoder(model) => 3.0 * f64::from(model.layers) * model.layer_flops(model.sequence),
            Model::EncoderDecoder(model) => 3.0 * model.forward_flops(),
            Model::Convolutional { forward_flops, .. } | Model::Recommender { forward_flops, .. } => {
                3.0 * forward_flops
            }
        }
    }

    /// Micro-batches of a step in each replica.
    pub fn micro_batches(&self) -> u32 {
        self.samples / self.micro_batch
    }

    /// What a step does on `gpus` GPUs with a dense half-precision peak of `gpu_flops` FLOP per second each.
    ///
    /// A job has as many samples for each GPU whatever its size. On GPUs that are no multiple of a replica, tensor and
    /// pipeline parallelism shrink to what divides them; such a job may need more memory than there is ([`Self::fits`] tells
    /// which do not). No GPUs count as one.
    pub fn step(&self, gpus: u32, gpu_flops: u64) -> ClassStep {
        let gpus = gpus.max(1);
        let tensor = common_divisor(gpus, self.tensor);
        let pipeline = common_divisor(gpus / tensor, self.pipeline);
        let data = gpus / (tensor * pipeline);
        let among = common_divisor(data, self.experts_over);
        // Samples of a replica, as many for each GPU as in the layout of the class.
        let replica = f64::from(tensor * pipeline) / f64::from(self.tensor * self.pipeline);
        let micro_batches = (f64::from(self.micro_batches()) * replica).max(1.0);
        let flops = f64::from(self.samples) * self.sample_flops() / f64::from(self.tensor * self.pipeline);
        let reduced = if data == 1 { 0.0 } else { self.gradients([tensor, pipeline, data, among]) };
        let (among, exchanged) = self.exchanged([tensor, pipeline, data, among]);
        let passed = self.handed_on(tensor, pipeline);
        let overlap_from = if exchanged > 0.0 {
            // Layers wait for what they exchange.
            1.0
        } else if reduced > 0.0 {
            // Backward through the last micro-batch, gradients are reduced as soon as a bucket of them is full.
            1.0 - (1.0 - FORWARD) / micro_batches * (1.0 - (BUCKET / reduced).min(1.0))
        } else if passed > 0.0 {
            // The first stage sends when its first micro-batch has run forward.
            FORWARD / micro_batches
        } else {
            1.0
        };
        ClassStep {
            compute: SimTime::from_seconds(flops / (gpu_flops as f64 * self.efficiency)),
            overlap_from,
            tensor,
            pipeline,
            data,
            reduced: bytes(reduced),
            passed: bytes(passed),
            exchanged: bytes(exchanged),
            among,
        }
    }

    /// The recipe of a decoder in a layout; none of other models. Micro-batches are those of the class.
    pub fn training(&self, parallelism: Parallelism, gpu_flops: u64) -> Option<Training> {
        let Model::Decoder(model) = self.model else { return None };
        Some(Training {
            model,
            parallelism,
            micro_batches: self.micro_batches(),
            micro_batch: self.micro_batch,
            interleave: 1,
            zero: 0,
            recompute: self.recompute,
            gpu_flops: gpu_flops as f64,
            efficiency: self.efficiency,
        })
    }

    /// Gradients that a rank holds, bytes. Experts are reduced where more than one group holds them.
    fn gradients(&self, [tensor, pipeline, data, among]: [u32; 4]) -> f64 {
        let parallelism = Parallelism { tp: tensor, pp: pipeline, dp: data, ep: among };
        match self.training(parallelism, 1) {
            Some(training) => {
                let volumes = training.volumes();
                let experts = if data > among { volumes.dp_ep } else { 0 };
                // Volumes are in half precision.
                (volumes.dp + experts) as f64 * self.gradient_bytes as f64 / 2.0
            }
            None => self.parameters() * self.gradient_bytes as f64 / f64::from(tensor * pipeline),
        }
    }

    /// Who exchanges, and what each sends to others in a step, bytes.
    fn exchanged(&self, [tensor, pipeline, data, among]: [u32; 4]) -> (u32, f64) {
        let to_others = |ranks: u32| f64::from(ranks - 1) / f64::from(ranks);
        match self.model {
            Model::Decoder(model) if model.has_experts() && among > 1 => {
                let parallelism = Parallelism { tp: tensor, pp: pipeline, dp: data, ep: among };
                let layer = self.training(parallelism, 1).map_or(0, |training| training.volumes().ep);
                let layers = f64::from(model.layers) / f64::from(pipeline);
                // To the experts and back, forward, backward, and where a layer runs forward again.
                let ways = if self.recompute == Recompute::Full { 6.0 } else { 4.0 };
                // Samples are as many for each GPU.
                let share = f64::from(tensor * pipeline) / f64::from(self.tensor * self.pipeline);
                let passes = ways * f64::from(self.micro_batches()) * share;
                (among, layer as f64 * layers * passes * to_others(among))
            }
            Model::Recommender { tables, dimension, .. } if data > 1 => {
                // Rows of all tables in half precision, and their gradients.
                let rows = f64::from(self.samples) * (tables * dimension * 2) as f64;
                (data, 2.0 * rows * to_others(data))
            }
            _ => (1, 0.0),
        }
    }

    /// Activations that a rank hands to the next stage in a step, bytes.
    fn handed_on(&self, tensor: u32, pipeline: u32) -> f64 {
        if pipeline == 1 {
            return 0.0;
        }
        let parallelism = Parallelism { tp: tensor, pp: pipeline, dp: 1, ep: 1 };
        let share = f64::from(tensor * pipeline) / f64::from(self.tensor * self.pipeline);
        let passes = f64::from(self.micro_batches()) * share;
        self.training(parallelism, 1).map_or(0.0, |training| training.volumes().pp as f64 * passes)
    }
}

/// The nearest whole number of bytes.
fn bytes(count: f64) -> Bytes {
    Bytes(count.round() as u64)
}

/// The greatest common divisor of two numbers over 0.
fn common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests;

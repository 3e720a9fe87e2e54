//! Recipes: what training a transformer computes and communicates in a step, from its sizes.
use std::collections::BTreeMap;

use railtwin_units::SimTime;

use crate::collective::Collective;
use crate::error::WorkloadError;
use crate::memory::Recompute;
use crate::models::Transformer;
use crate::pipeline::Pipeline;
use crate::plan::{Axis, Plan};
use crate::ranks::Parallelism;
use crate::train::{Phase, PhaseCollective, Row, Shards, TrainingStep};

/// Bytes of one number in half precision.
const HALF: u64 = 2;

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
    /// Stage of ZeRO, what data parallel ranks hold in parts: 0 nothing, 1 the optimizer's state, 2 also
    /// gradients, 3 also weights (Rajbhandari et al. 2020).
    pub zero: u32,
    /// What is computed again in the backward pass.
    pub recompute: Recompute,
    /// Peak of one GPU, FLOP per second.
    pub gpu_flops: f64,
    /// Share of that peak that computation reaches, 0..1.
    pub efficiency: f64,
}

/// Bytes of a step as HPN table 3 counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Volumes {
    /// All-reduce of one rank's gradients in half precision, without those of experts.
    pub dp: u64,
    /// All-reduce of the gradients of one rank's experts; 0 in a dense model.
    pub dp_ep: u64,
    /// What one rank hands to the experts of its tokens in a layer, and gets back from them; 0 in a dense model.
    pub ep: u64,
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
        let experts = self.model.expert_parameters() as f64;
        let shard = f64::from(p.tp * p.pp);
        let tokens = if self.model.has_experts() { self.model.experts_per_token * activation } else { 0 };
        Volumes {
            dp: ((self.model.parameters - experts) / shard * HALF as f64) as u64,
            dp_ep: (experts / shard / f64::from(p.ep) * HALF as f64) as u64,
            ep: tokens,
            pp: activation / u64::from(p.tp),
            tp: activation * u64::from(self.model.layers / p.pp),
        }
    }

    /// Bytes that the data parallel axis hands to each kind of collective in a step: all-reduce, reduce-scatter
    /// and all-gather of what [`Volumes::dp`] counts once. With m micro-batches:
    ///
    /// | stage | all-reduce | reduce-scatter | all-gather |
    /// | --- | --- | --- | --- |
    /// | 0 | 1 | | |
    /// | 1 | | 1 | 1 |
    /// | 2 | | m | 1 |
    /// | 3 | | m | 2 m |
    ///
    /// For m = 1 these are ZeRO's 2 Ψ, 2 Ψ, 2 Ψ and 3 Ψ (Rajbhandari et al. 2020, section 7): a ring sends an
    /// all-reduce twice and the others once.
    pub fn data_parallel_bytes(&self) -> [(Collective, u64); 3] {
        let (dp, m) = (self.volumes().dp, u64::from(self.micro_batches));
        let [reduce, scatter, gather] = match self.zero {
            _ if self.parallelism.dp == 1 => [0, 0, 0],
            0 => [1, 0, 0],
            1 => [0, 1, 1],
            2 => [0, m, 1],
            _ => [0, m, 2 * m],
        };
        let kinds = [Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather];
        [(kinds[0], reduce * dp), (kinds[1], scatter * dp), (kinds[2], gather * dp)]
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
        if self.zero > 3 {
            return Err(WorkloadError::new("zero", self.zero, "ZeRO has the stages 0, 1, 2 and 3"));
        }
        self.check_experts()?;
        let chunks = p.pp * self.interleave.max(1);
        if !self.model.layers.is_multiple_of(chunks) {
            let accepted = format!("pp × interleave must divide the model's {} layers", self.model.layers);
            return Err(WorkloadError::new("pp × interleave", chunks, accepted));
        }
        let pipeline = self.pipeline();
        let step = TrainingStep {
            parallelism: p,
            pipeline,
            segments: vec![self.layers(self.model.layers / chunks), vec![self.logits()]],
            segments_of: self.segments_of(pipeline),
            stage_bytes: self.volumes().pp,
            closing: self.closing(),
            algorithms: BTreeMap::new(),
        };
        let mut plan = step.plan()?;
        plan.flops = Some(self.model.step_flops(self.tokens()));
        plan.tokens = Some(self.tokens());
        plan.memory = Some(self.memory());
        let volumes = self.volumes();
        plan.volumes = vec![(Axis::Dp, volumes.dp), (Axis::Pp, volumes.pp), (Axis::Tp, volumes.tp)];
        if self.model.has_experts() {
            plan.volumes.extend([(Axis::Ep, volumes.ep), (Axis::DpEp, volumes.dp_ep)]);
        }
        Ok(plan)
    }

    /// The pipeline that the micro-batches run through.
    pub(crate) fn pipeline(&self) -> Pipeline {
        Pipeline {
            stages: self.parallelism.pp,
            chunks: self.interleave.max(1),
            micro_batches: self.micro_batches,
        }
    }

    /// Experts lie whole on the ranks of an expert parallel group, and what ZeRO parts is not theirs.
    fn check_experts(&self) -> Result<(), WorkloadError> {
        let (p, model) = (self.parallelism, &self.model);
        if !model.experts.is_multiple_of(u64::from(p.ep)) {
            let accepted =
                format!("{} has {} experts in a layer: write a divisor of that", model.name, model.experts);
            return Err(WorkloadError::new("ep", p.ep, accepted));
        }
        if model.has_experts() && p.tp > 1 {
            return Err(WorkloadError::new(
                "tp",
                p.tp,
                format!("experts of {} are not split: write 1", model.name),
            ));
        }
        if model.has_experts() && self.zero > 0 {
            let accepted = format!("{} has experts, which the recipe does not part: write 0", model.name);
            return Err(WorkloadError::new("zero", self.zero, accepted));
        }
        Ok(())
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

    /// Attention and MLP of `count` layers, which share a layer's products as their weights do, each ended by
    /// an all-reduce of the activations forward, and of their gradients backward.
    fn layers(&self, count: u32) -> Vec<Row> {
        let tokens = u64::from(self.micro_batch) * self.model.sequence;
        let flops = self.model.layer_flops(tokens);
        let collective = (self.parallelism.tp > 1).then(|| PhaseCollective {
            axis: Axis::Tp,
            collective: Collective::AllReduce,
            bytes: self.activation_bytes(),
        });
        let half = |name: &str, share: f64, shards: Shards| {
            let compute = self.time(flops * share);
            Row {
                name: name.to_owned(),
                forward: Phase { compute, collective },
                input_gradient: Phase { compute, collective },
                weight_gradient: Phase { compute, collective: None },
                shards: self.sharded().then_some(shards),
            }
        };
        // A layer's weights are gathered together: for its first half forward, for its second backward, or before the
        // layer runs forward again.
        let bytes = self.volumes().dp as f64 / f64::from(self.model.layers / self.parallelism.pp);
        let gradients = bytes.round() as u64;
        let weights = if self.zero == 3 { gradients } else { 0 };
        let attention = self.model.attention_share();
        let full = self.recompute == Recompute::Full;
        let backward = if full { 0 } else { weights };
        let mut layer = vec![
            half("attention", attention, Shards { forward: weights, backward: 0, gradients }),
            half("mlp", 1.0 - attention, Shards { forward: 0, backward, gradients: 0 }),
        ];
        if self.model.has_experts() {
            layer.insert(1, self.to_experts("dispatch"));
            layer.push(self.to_experts("combine"));
        }
        if full {
            layer.extend(again(&layer));
        }
        (0..count).flat_map(|_| layer.clone()).collect()
    }

    /// Tokens to their experts or back, forward; gradients the same way backward.
    fn to_experts(self, name: &str) -> Row {
        let bytes = self.volumes().ep;
        let collective = (self.parallelism.ep > 1).then_some(PhaseCollective {
            axis: Axis::Ep,
            collective: Collective::AllToAll,
            bytes,
        });
        let phase = Phase { compute: SimTime::ZERO, collective };
        Row {
            name: name.to_owned(),
            forward: phase,
            input_gradient: phase,
            weight_gradient: Phase::default(),
            shards: None,
        }
    }

    /// Whether ranks hold gradients in parts.
    fn sharded(&self) -> bool {
        self.parallelism.dp > 1 && self.zero >= 2
    }

    fn logits(&self) -> Row {
        let tokens = u64::from(self.micro_batch) * self.model.sequence;
        let flops = 2.0 * tokens as f64 * self.model.hidden as f64 * self.model.vocabulary as f64;
        let phase = Phase { compute: self.time(flops), collective: None };
        Row {
            name: "logits".to_owned(),
            forward: phase,
            input_gradient: phase,
            weight_gradient: phase,
            shards: None,
        }
    }

    /// What follows the last backward pass: the gradients where they are not scattered in it, then the weights
    /// that the optimizer changed where they are not gathered in the passes.
    fn closing(&self) -> Vec<Row> {
        let Volumes { dp, dp_ep, .. } = self.volumes();
        let of_axis = |name: &str, axis, collective, bytes| {
            let collective = PhaseCollective { axis, collective, bytes };
            let phase = Phase { compute: SimTime::ZERO, collective: Some(collective) };
            Row {
                name: name.to_owned(),
                forward: Phase::default(),
                input_gradient: Phase::default(),
                weight_gradient: phase,
                shards: None,
            }
        };
        let row = |name: &str, collective| of_axis(name, Axis::Dp, collective, dp);
        let weights = || row("weights", Collective::AllGather);
        let shared = self.parallelism.dp > self.parallelism.ep;
        match self.zero {
            _ if self.parallelism.dp == 1 => vec![],
            0 if self.model.has_experts() && shared => {
                let experts = of_axis("gradients of experts", Axis::DpEp, Collective::AllReduce, dp_ep);
                vec![row("gradients", Collective::AllReduce), experts]
            }
            0 => vec![row("gradients", Collective::AllReduce)],
            1 => vec![row("gradients", Collective::ReduceScatter), weights()],
            2 => vec![weights()],
            _ => vec![],
        }
    }
}

/// A layer's forward pass once more, as rows behind the layer: these do nothing forward, and backward they come first, in
/// the order in which the layer runs.
fn again(layer: &[Row]) -> Vec<Row> {
    let once = |row: &Row| Row {
        name: format!("{} again", row.name),
        forward: Phase::default(),
        input_gradient: row.forward,
        weight_gradient: Phase::default(),
        shards: row.shards.map(|shards| Shards { forward: 0, backward: shards.forward, gradients: 0 }),
    };
    layer.iter().rev().map(once).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{DBRX, GPT3_175B, LLAMA_7B, MODELS};
    use crate::plan::Work;

    fn training(parallelism: Parallelism) -> Training {
        Training {
            model: GPT3_175B,
            parallelism,
            micro_batches: 16,
            micro_batch: 1,
            interleave: 1,
            zero: 0,
            recompute: Recompute::Selective,
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

    /// Bytes of the data parallel axis of one lane of a plan.
    fn bytes_of(plan: &Plan, kind: Collective) -> f64 {
        let dp = plan.operations.iter().filter(|o| o.axis == Axis::Dp && o.lane == 0);
        let bytes = dp.filter_map(|operation| match operation.work {
            Work::Communicate { pattern, bytes } => {
                (plan.patterns[pattern.index()].collective == kind).then_some(bytes as f64)
            }
            Work::Compute(_) => None,
        });
        bytes.sum()
    }

    #[test]
    fn zero_moves_what_its_formula_says() {
        for (pp, interleave) in [(1, 1), (2, 2)] {
            for (zero, times) in [(0, 2), (1, 2), (2, 5), (3, 12)] {
                let parallelism = Parallelism { tp: 2, pp, dp: 8, ep: 1 };
                let training =
                    Training { model: LLAMA_7B, micro_batches: 4, zero, interleave, ..training(parallelism) };
                let plan = training.plan().unwrap();
                let mut sent = 0.0;
                for (kind, expected) in training.data_parallel_bytes() {
                    let bytes = bytes_of(&plan, kind);
                    assert!((bytes - expected as f64).abs() <= 1e-6 * bytes, "zero {zero}, {}", kind.name());
                    sent += bytes * crate::collective::bus_factor(kind, 8) / (7.0 / 8.0);
                }
                // Ψ in half precision for each time that a ring sends it.
                let psi = 6.7e9 / (2.0 * f64::from(pp)) * 2.0;
                assert!((sent / (f64::from(times) * psi) - 1.0).abs() < 1e-6, "zero {zero}: {sent}");
            }
        }
    }

    #[test]
    fn full_recomputation_takes_a_forward_pass_of_the_layers_more() {
        for (model, zero, ep) in [(GPT3_175B, 0, 1), (LLAMA_7B, 3, 1), (DBRX, 0, 4)] {
            let tp = if ep > 1 { 1 } else { 2 };
            let parallelism = Parallelism { tp, pp: 2, dp: 4, ep };
            let selective = Training { model, micro_batches: 4, zero, ..training(parallelism) };
            let full = Training { recompute: Recompute::Full, ..selective };
            let (plain, again) = (selective.plan().unwrap(), full.plan().unwrap());
            // Of six FLOPs for a token and weight of a layer eight are left, and the logits are not computed again.
            let forward = 4.0 * f64::from(model.layers) / 2.0 * model.layer_flops(model.sequence);
            let expected = forward / (full.gpu_flops * full.efficiency * f64::from(tp));
            let more = again.compute_of_lane(0).seconds() - plain.compute_of_lane(0).seconds();
            assert!((more / expected - 1.0).abs() < 1e-6, "{}: {more} for {expected}", model.name);
            let count = |plan: &Plan, axis| plan.operations.iter().filter(|o| o.axis == axis).count();
            let sends = |plan: &Plan| count(plan, Axis::Tp) + count(plan, Axis::Ep);
            assert_eq!(2 * sends(&again), 3 * sends(&plain), "{}", model.name);
            assert_eq!(
                count(&again, Axis::Dp),
                count(&plain, Axis::Dp),
                "weights are gathered no more often"
            );
            assert_eq!(again.flops, plain.flops, "what is computed again is no work of the model");
        }
    }

    #[test]
    fn one_replica_has_nothing_to_share() {
        for zero in 0..=3 {
            let training = Training { zero, ..training(Parallelism { tp: 8, pp: 8, dp: 1, ep: 1 }) };
            assert!(training.plan().unwrap().operations.iter().all(|o| o.axis != Axis::Dp));
        }
        let none = Training { zero: 4, ..training(Parallelism { tp: 8, pp: 8, dp: 2, ep: 1 }) };
        assert!(none.plan().unwrap_err().to_string().contains("zero = 4"));
    }

    #[test]
    fn every_model_makes_a_plan_that_does_its_work() {
        for model in MODELS {
            let tp = if model.has_experts() { 1 } else { 8 };
            let training = Training { model, ..training(Parallelism { tp, pp: 2, dp: 2, ep: 1 }) };
            let plan = training.plan().unwrap();
            let seconds: f64 = (0..2).map(|lane| plan.compute_of_lane(lane).seconds()).sum();
            let rate = training.gpu_flops * training.efficiency * f64::from(tp) * 2.0;
            assert!((seconds * rate / plan.flops.unwrap() - 1.0).abs() < 1e-6, "{}", model.name);
        }
    }

    #[test]
    fn tokens_go_to_experts_and_back_and_experts_share_gradients_among_themselves() {
        let parallelism = Parallelism { tp: 1, pp: 1, dp: 64, ep: 16 };
        let moe = Training { model: DBRX, micro_batches: 2, ..training(parallelism) };
        let plan = moe.plan().unwrap();
        let of = |axis| plan.operations.iter().filter(move |operation| operation.axis == axis);
        let bytes = |axis| {
            let bytes = of(axis).map(|operation| match operation.work {
                Work::Communicate { bytes, .. } => bytes,
                Work::Compute(_) => 0,
            });
            bytes.collect::<Vec<u64>>()
        };
        // There and back, forward and backward, in each of 40 layers of both micro-batches; four experts for a token.
        assert_eq!(bytes(Axis::Ep), vec![4 * 4_096 * 6_144 * 2; 2 * 40 * 4]);
        // 16 experts of three matrices on 16 ranks: one for each; all else is everybody's.
        let expert = 40 * 3 * 6_144 * 10_752_u64;
        assert_eq!(bytes(Axis::DpEp), vec![2 * expert]);
        assert_eq!(bytes(Axis::Dp), vec![2 * (132_000_000_000 - 16 * expert)]);
        let pattern = |axis| plan.patterns.iter().find(|pattern| pattern.axis == axis).unwrap();
        assert_eq!(pattern(Axis::Ep).communicators[1], (16..32).collect::<Vec<u32>>());
        assert_eq!(pattern(Axis::DpEp).communicators[1], vec![1, 17, 33, 49]);
    }

    #[test]
    fn experts_that_do_not_fit_are_refused() {
        let moe = |tp, ep, zero, model| {
            let training = Training { model, zero, ..training(Parallelism { tp, pp: 1, dp: 24, ep }) };
            training.plan().unwrap_err().to_string()
        };
        assert!(moe(1, 6, 0, DBRX).contains("ep = 6: dbrx has 16 experts"), "{}", moe(1, 6, 0, DBRX));
        assert!(moe(1, 2, 0, LLAMA_7B).contains("llama-7b has 1 experts"), "{}", moe(1, 2, 0, LLAMA_7B));
        assert!(moe(2, 8, 0, DBRX).contains("tp = 2"));
        assert!(moe(1, 8, 1, DBRX).contains("zero = 1"));
    }

    #[test]
    fn layers_that_do_not_divide_are_refused() {
        let error = training(Parallelism { tp: 8, pp: 7, dp: 2, ep: 1 }).plan().unwrap_err();
        assert!(error.to_string().contains("96 layers"), "{error}");
    }
}

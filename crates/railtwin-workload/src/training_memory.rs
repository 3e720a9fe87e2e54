//! Memory of a GPU of each pipeline stage of a training job.
use crate::memory::{HALF, Memory, Recompute, layer_activation_bytes, state_bytes};
use crate::models::Family;
use crate::recipe::Training;

/// Layers whose whole weights ZeRO's stage 3 holds at once: the one that runs and the one gathered behind it.
const GATHERED_LAYERS: u32 = 2;

impl Training {
    /// Memory of a GPU of the stage whose GPUs hold most.
    pub fn memory(&self) -> Memory {
        let stages = (0..self.parallelism.pp).map(|stage| self.memory_of(stage));
        stages
            .reduce(|most, stage| if stage.total() > most.total() { stage } else { most })
            .unwrap_or_default()
    }

    /// Memory of a GPU of one stage.
    pub fn memory_of(&self, stage: u32) -> Memory {
        let (p, model) = (&self.parallelism, &self.model);
        let (tp, last) = (f64::from(p.tp), stage + 1 == p.pp);
        let layers = f64::from(model.layers) / f64::from(p.pp);
        let experts = if model.has_experts() { (model.experts * model.mlp_weights()) as f64 } else { 0.0 };
        let layer = (model.layer_parameters() as f64 - experts) / tp;
        let mut shared = layers * layer;
        if stage == 0 {
            shared += model.embedding_parameters() as f64 / tp;
        }
        if last {
            // One matrix for embedding and logits lies on both ends of a pipeline.
            let copy = if p.pp > 1 { model.tied_parameters() } else { 0 };
            shared += (model.head_parameters() + copy) as f64 / tp;
        }
        let [mut weights, mut gradients, mut optimizer] = state_bytes(shared, p.dp, self.zero);
        // Experts lie whole on the ranks of their group, and ZeRO does not part them.
        let own = state_bytes(layers * experts / f64::from(p.ep), p.dp / p.ep.max(1), 0);
        weights += own[0];
        gradients += own[1];
        optimizer += own[2];
        if p.dp > 1 && self.zero >= 2 {
            gradients += HALF * layer;
        }
        if p.dp > 1 && self.zero == 3 {
            weights += HALF * layer * f64::from(GATHERED_LAYERS).min(layers);
        }
        Memory { stage, weights, gradients, optimizer, activations: self.activations_of(stage) }
    }

    /// Activations of a stage while most micro-batches are in flight on it. On the first stage of 1F1B these are as many
    /// as there are stages, interleaved 1 + (p - 1) / (p v) times that (Korthikanti et al. 2022, section 4.2.3).
    fn activations_of(&self, stage: u32) -> f64 {
        let (p, model) = (&self.parallelism, &self.model);
        let tokens = u64::from(self.micro_batch) * model.sequence;
        let (of_token, tp) = (tokens as f64, f64::from(p.tp));
        let pipeline = self.pipeline();
        let passes = f64::from(pipeline.in_flight(stage));
        let layers = f64::from(model.layers) / f64::from(p.pp * pipeline.chunks);
        let mut bytes = passes * layers * layer_activation_bytes(model, tokens, self.recompute);
        if self.recompute == Recompute::Full {
            // The layer that is just computed again.
            bytes += layer_activation_bytes(model, tokens, Recompute::Selective);
        }
        if stage == 0 && model.family == Family::Gpt {
            // The mask of the dropout behind the embedding, a byte.
            bytes += of_token * model.hidden as f64 * f64::from(p.pp.min(self.micro_batches));
        }
        if stage + 1 == p.pp {
            // The last norm, the input of the logits, and these in single precision (section 4.3).
            bytes += 4.0 * of_token * (model.hidden + model.vocabulary) as f64;
        }
        bytes / tp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{DBRX, GPT_22B, GPT3_175B, LLAMA_7B, LLAMA3_405B, MODELS, Transformer};
    use crate::ranks::Parallelism;

    fn training(model: Transformer, [tp, pp, dp]: [u32; 3]) -> Training {
        Training {
            model,
            parallelism: Parallelism { tp, pp, dp, ep: 1 },
            micro_batches: 64,
            micro_batch: 1,
            interleave: 1,
            zero: 0,
            recompute: Recompute::Selective,
            gpu_flops: 312e12,
            efficiency: 0.5,
        }
    }

    fn near(value: f64, expected: f64, within: f64) {
        assert!((value / expected - 1.0).abs() <= within, "{value} is not {expected}");
    }

    /// Rajbhandari et al. 2020, figure 1: 7.5e9 parameters on 64 GPUs; section 3.1: 1.5e9 parameters need 24 GB.
    #[test]
    fn zero_keeps_what_its_authors_print() {
        for (zero, gigabytes) in [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)] {
            let sum: f64 = state_bytes(7.5e9, 64, zero).iter().sum();
            assert!((sum / 1e9 - gigabytes).abs() < 0.05, "zero {zero}: {sum}");
        }
        assert_eq!(state_bytes(1.5e9, 1, 0).iter().sum::<f64>(), 24e9);
        assert_eq!(state_bytes(1.5e9, 1, 3), state_bytes(1.5e9, 1, 0));
    }

    #[test]
    fn a_whole_model_on_one_gpu_holds_sixteen_bytes_of_each_parameter() {
        for model in MODELS {
            let memory = training(model, [1, 1, 1]).memory();
            let state = memory.weights + memory.gradients + memory.optimizer;
            assert_eq!(state, 16.0 * model.counted_parameters() as f64, "{}", model.name);
        }
        // 175e9 parameters: 2.8 TB.
        let memory = training(GPT3_175B, [1, 1, 1]).memory();
        near(memory.weights + memory.gradients + memory.optimizer, 2.8e12, 0.01);
    }

    /// Korthikanti et al. 2022, section 5: 5 a s / h is 80 for GPT-3 and 64 for MT-NLG 530B beside the 34 that stay, so
    /// that selective recomputation saves 70 % and 65 %.
    #[test]
    fn activations_of_a_layer_are_korthikanti_s() {
        let mt_nlg = Transformer {
            name: "mt-nlg",
            layers: 105,
            hidden: 20_480,
            ffn: 81_920,
            heads: 128,
            kv_heads: 128,
            ..GPT3_175B
        };
        for (model, scores, saved) in [(GPT3_175B, 80.0, 0.70), (mt_nlg, 64.0, 0.65)] {
            let tokens = 4 * model.sequence;
            let unit = tokens as f64 * model.hidden as f64;
            let all = layer_activation_bytes(&model, tokens, Recompute::None);
            let selective = layer_activation_bytes(&model, tokens, Recompute::Selective);
            assert_eq!((all, selective), ((34.0 + scores) * unit, 34.0 * unit));
            assert!((1.0 - selective / all - saved).abs() < 0.005, "{}", model.name);
            assert_eq!(layer_activation_bytes(&model, tokens, Recompute::Full), 2.0 * unit);
        }
    }

    /// Korthikanti et al. 2022, equation 5 and section 4.2.3, for the 175B of its table 3: tp 8, pp 8, three chunks.
    #[test]
    fn the_first_stage_keeps_all_layers_and_more_where_it_is_interleaved() {
        let plain = training(GPT3_175B, [8, 8, 1]);
        let unit = 2_048.0 * 12_288.0 / 8.0;
        let masks = 8.0 * unit;
        assert_eq!(plain.memory_of(0).activations, 96.0 * 34.0 * unit + masks);
        let interleaved = Training { interleave: 3, ..plain };
        near(interleaved.memory_of(0).activations - masks, 96.0 * 34.0 * unit * (1.0 + 7.0 / 24.0), 1e-12);
        // Fewer micro-batches than stages, fewer in flight.
        let few = Training { micro_batches: 2, ..plain };
        assert_eq!(few.memory_of(0).activations, 2.0 * 12.0 * 34.0 * unit + 2.0 * unit);
        assert_eq!(
            few.memory_of(7).activations,
            12.0 * 34.0 * unit + 4.0 * unit * (1.0 + 51_200.0 / 12_288.0)
        );
        let full = Training { recompute: Recompute::Full, ..plain };
        assert_eq!(full.memory_of(0).activations, 96.0 * 2.0 * unit + 34.0 * unit + masks);
    }

    /// Korthikanti et al. 2022, table 3: GPT 22B on 8 and GPT-3 175B on 64 A100 of 80 GB; Llama team 2024, table 4: 405B
    /// at tp 8 and pp 16, here at the 14 stages that divide its layers, on H100 of 80 GB without recomputation.
    #[test]
    fn what_was_trained_fits() {
        let gigabyte = 80.0 * 1024.0_f64.powi(3);
        let batch = Training { micro_batch: 4, ..training(GPT_22B, [8, 1, 1]) };
        let gpt3 = Training { interleave: 3, ..training(GPT3_175B, [8, 8, 1]) };
        let llama = Training { zero: 1, micro_batches: 16, ..training(LLAMA3_405B, [8, 14, 128]) };
        for (training, least) in [(batch, 0.5), (gpt3, 0.5), (llama, 0.3)] {
            let share = training.memory().total() / gigabyte;
            assert!((least..1.0).contains(&share), "{}: {share}", training.model.name);
        }
        // And what cannot be trained does not: 6.7e9 · 16 bytes are more than 80 GB.
        assert!(training(LLAMA_7B, [1, 1, 512]).memory().total() > gigabyte);
        assert!(Training { zero: 1, ..training(LLAMA_7B, [1, 1, 512]) }.memory().total() < gigabyte);
    }

    #[test]
    fn stages_hold_the_model_together_and_experts_lie_in_their_group() {
        for model in [GPT3_175B, LLAMA_7B] {
            let training = training(model, [2, 4, 1]);
            let weights: f64 = (0..4).map(|stage| training.memory_of(stage).weights).sum();
            let all = model.counted_parameters() + model.tied_parameters();
            near(weights, 2.0 * all as f64 / 2.0, 1e-12);
        }
        let spread = Training {
            parallelism: Parallelism { tp: 1, pp: 1, dp: 64, ep: 16 },
            ..training(DBRX, [1, 1, 64])
        };
        let shared = DBRX.counted_parameters() - DBRX.expert_parameters();
        let held = shared + DBRX.expert_parameters() / 16;
        assert_eq!(spread.memory().optimizer, 12.0 * held as f64);
    }

    #[test]
    fn parts_of_zero_hold_whole_layers_while_they_run() {
        let parted = |zero| Training { zero, ..training(LLAMA_7B, [1, 1, 64]) }.memory();
        let layer = 2.0 * LLAMA_7B.layer_parameters() as f64;
        let model = 2.0 * LLAMA_7B.counted_parameters() as f64;
        near(parted(2).gradients, model / 64.0 + layer, 1e-12);
        near(parted(3).weights, model / 64.0 + 2.0 * layer, 1e-12);
        assert_eq!(parted(1).weights, model);
    }
}

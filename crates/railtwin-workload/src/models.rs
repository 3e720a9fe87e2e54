//! Shapes of transformers by name, and what follows from a shape: parameters and floating point operations.

/// Sizes of a transformer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transformer {
    /// Name in scenarios.
    pub name: &'static str,
    /// Layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u64,
    /// Inner size of the MLP, or of one expert.
    pub ffn: u64,
    /// Experts of a layer, each an MLP of its own; 1 = a dense model.
    pub experts: u64,
    /// Experts that each token goes to.
    pub experts_per_token: u64,
    /// Attention heads.
    pub heads: u64,
    /// Heads of keys and values; fewer than `heads` with grouped queries.
    pub kv_heads: u64,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Vocabulary.
    pub vocabulary: u64,
    /// GPT's blocks or LLaMA's.
    pub family: Family,
    /// Parameters as the model's authors count them.
    pub parameters: f64,
}

/// What a layer consists of beyond its sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Two MLP matrices, biases, learned positions, one matrix for embedding and logits (Brown et al. 2020).
    Gpt,
    /// Three MLP matrices (SwiGLU), no biases, rotary positions, separate matrices for embedding and logits
    /// (Touvron et al. 2023).
    Llama,
}

/// GPT-3 175B (Brown et al. 2020, table 2.1) with its sequence of 2048 tokens; the vocabulary padded as Megatron does.
pub const GPT3_175B: Transformer = Transformer {
    name: "gpt3-175b",
    layers: 96,
    hidden: 12_288,
    ffn: 49_152,
    experts: 1,
    experts_per_token: 1,
    heads: 96,
    kv_heads: 96,
    sequence: 2_048,
    vocabulary: 51_200,
    family: Family::Gpt,
    parameters: 175e9,
};

/// GPT 22B (Korthikanti et al. 2022, table 3).
pub const GPT_22B: Transformer = Transformer {
    name: "gpt-22b",
    layers: 48,
    hidden: 6_144,
    ffn: 24_576,
    heads: 64,
    kv_heads: 64,
    parameters: 22e9,
    ..GPT3_175B
};

/// BERT large (Devlin et al. 2019, section 3) at its sequence of 512 tokens, its words those of the uncased model; the paper
/// says 340e6 parameters, the published weights have 335e6. Its layers are GPT's in bytes and operations.
pub const BERT_LARGE: Transformer = Transformer {
    name: "bert-large",
    layers: 24,
    hidden: 1_024,
    ffn: 4_096,
    heads: 16,
    kv_heads: 16,
    sequence: 512,
    vocabulary: 30_522,
    parameters: 335e6,
    ..GPT3_175B
};

/// LLaMA 7B (Touvron et al. 2023, table 2).
pub const LLAMA_7B: Transformer = Transformer {
    name: "llama-7b",
    layers: 32,
    hidden: 4_096,
    ffn: 11_008,
    experts: 1,
    experts_per_token: 1,
    heads: 32,
    kv_heads: 32,
    sequence: 2_048,
    vocabulary: 32_000,
    family: Family::Llama,
    parameters: 6.7e9,
};

/// LLaMA 13B (Touvron et al. 2023, table 2).
pub const LLAMA_13B: Transformer = Transformer {
    name: "llama-13b",
    layers: 40,
    hidden: 5_120,
    ffn: 13_824,
    heads: 40,
    kv_heads: 40,
    parameters: 13.0e9,
    ..LLAMA_7B
};

/// LLaMA 65B (Touvron et al. 2023, table 2).
pub const LLAMA_65B: Transformer = Transformer {
    name: "llama-65b",
    layers: 80,
    hidden: 8_192,
    ffn: 22_016,
    heads: 64,
    kv_heads: 64,
    parameters: 65.2e9,
    ..LLAMA_7B
};

/// Llama 3 8B (Llama team 2024, table 3) with the sequence of 8192 tokens that it is first trained on.
/// The name rounds 8.03e9, the parameters that Meta publishes with the weights.
pub const LLAMA3_8B: Transformer = Transformer {
    name: "llama3-8b",
    layers: 32,
    hidden: 4_096,
    ffn: 14_336,
    experts: 1,
    experts_per_token: 1,
    heads: 32,
    kv_heads: 8,
    sequence: 8_192,
    vocabulary: 128_256,
    family: Family::Llama,
    parameters: 8.03e9,
};

/// Llama 3 70B (Llama team 2024, table 3), 70.6e9 parameters.
pub const LLAMA3_70B: Transformer = Transformer {
    name: "llama3-70b",
    layers: 80,
    hidden: 8_192,
    ffn: 28_672,
    heads: 64,
    parameters: 70.6e9,
    ..LLAMA3_8B
};

/// Llama 3 405B (Llama team 2024, table 3).
pub const LLAMA3_405B: Transformer = Transformer {
    name: "llama3-405b",
    layers: 126,
    hidden: 16_384,
    ffn: 53_248,
    heads: 128,
    parameters: 405e9,
    ..LLAMA3_8B
};

/// Mixtral 8x7B (Jiang et al. 2024, table 1) at a sequence of 4096 tokens; 46.7e9 parameters, as its authors publish them
/// with the weights.
pub const MIXTRAL_8X7B: Transformer = Transformer {
    name: "mixtral-8x7b",
    ffn: 14_336,
    experts: 8,
    experts_per_token: 2,
    kv_heads: 8,
    sequence: 4_096,
    parameters: 46.7e9,
    ..LLAMA_7B
};

/// DBRX (Databricks 2024, `config.json` of its weights) at a sequence of 4096 tokens; 132e9 parameters.
pub const DBRX: Transformer = Transformer {
    name: "dbrx",
    layers: 40,
    hidden: 6_144,
    ffn: 10_752,
    experts: 16,
    experts_per_token: 4,
    heads: 48,
    kv_heads: 8,
    sequence: 4_096,
    vocabulary: 100_352,
    family: Family::Llama,
    parameters: 132e9,
};

/// Models that [`Transformer::named`] knows.
pub const MODELS: [Transformer; 11] = [
    GPT3_175B,
    GPT_22B,
    BERT_LARGE,
    LLAMA_7B,
    LLAMA_13B,
    LLAMA_65B,
    LLAMA3_8B,
    LLAMA3_70B,
    LLAMA3_405B,
    MIXTRAL_8X7B,
    DBRX,
];

impl Transformer {
    /// The model called `name`.
    pub fn named(name: &str) -> Option<Self> {
        MODELS.into_iter().find(|model| model.name == name)
    }

    /// Weights of a layer's attention matrices: queries and output h², keys and values h² · kv_heads / heads each.
    pub fn attention_weights(&self) -> u64 {
        2 * self.hidden * self.hidden + 2 * self.hidden * (self.hidden * self.kv_heads / self.heads)
    }

    /// Weights of the matrices of a layer's MLP, or of one expert.
    pub fn mlp_weights(&self) -> u64 {
        let matrices = match self.family {
            Family::Gpt => 2,
            Family::Llama => 3,
        };
        matrices * self.hidden * self.ffn
    }

    /// Whether tokens go to experts.
    pub fn has_experts(&self) -> bool {
        self.experts > 1
    }

    /// Parameters of all experts of all layers; 0 in a dense model.
    pub fn expert_parameters(&self) -> u64 {
        if self.has_experts() { u64::from(self.layers) * self.experts * self.mlp_weights() } else { 0 }
    }

    /// Weights of a layer that each token meets: attention, and the MLP or the experts that it goes to.
    fn met_weights(&self) -> u64 {
        self.attention_weights() + self.experts_per_token * self.mlp_weights()
    }

    /// Share of a layer's products that its attention matrices have, 0..1; the MLP has the rest.
    pub fn attention_share(&self) -> f64 {
        self.attention_weights() as f64 / self.met_weights() as f64
    }

    /// Parameters of a layer with all its experts: matrices, biases, norms.
    pub fn layer_parameters(&self) -> u64 {
        // What picks experts for a token is a matrix of its own.
        let picks = if self.has_experts() { self.experts * self.hidden } else { 0 };
        let h = self.hidden;
        let rest = match self.family {
            // Biases of queries, keys, values, output and MLP; two norms of a gain and a bias each.
            Family::Gpt => 4 * h + self.ffn + h + 4 * h,
            Family::Llama => 2 * h,
        };
        self.attention_weights() + self.experts * self.mlp_weights() + picks + rest
    }

    /// Parameters before the layers: the embedding, and positions where they are learned.
    pub fn embedding_parameters(&self) -> u64 {
        let positions = if self.family == Family::Gpt { self.sequence } else { 0 };
        (self.vocabulary + positions) * self.hidden
    }

    /// Parameters behind the layers: the last norm, and the matrix of the logits where it is one of its own.
    pub fn head_parameters(&self) -> u64 {
        match self.family {
            Family::Gpt => 2 * self.hidden,
            Family::Llama => (self.vocabulary + 1) * self.hidden,
        }
    }

    /// Parameters of the embedding that are those of the logits too.
    pub fn tied_parameters(&self) -> u64 {
        if self.family == Family::Gpt { self.vocabulary * self.hidden } else { 0 }
    }

    /// Parameters counted from the shape: layers, embedding, positions, logits.
    pub fn counted_parameters(&self) -> u64 {
        u64::from(self.layers) * self.layer_parameters()
            + self.embedding_parameters()
            + self.head_parameters()
    }

    /// Floating point operations of one layer's forward pass over `tokens` tokens: two for each token and weight that it
    /// meets, and 4 s h for each token's scores and their product with the values. For GPT's shape this is
    /// 24 b s h² (1 + s / 6h), Narayanan et al. 2021, appendix.
    pub fn layer_flops(&self, tokens: u64) -> f64 {
        let weights = self.met_weights() as f64;
        let scores = (2 * self.sequence * self.hidden) as f64;
        2.0 * tokens as f64 * weights * (1.0 + scores / weights)
    }

    /// Floating point operations of a step over `tokens` tokens, without recomputation: three times the forward
    /// pass of all layers and of the logits, 2 h V for each token. For GPT's shape this is
    /// 72 b s l h² (1 + s / 6h + V / 12lh).
    pub fn step_flops(&self, tokens: u64) -> f64 {
        let logits = 6.0 * tokens as f64 * self.hidden as f64 * self.vocabulary as f64;
        3.0 * self.layer_flops(tokens) * f64::from(self.layers) + logits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_the_parameters_that_their_authors_count() {
        for model in MODELS {
            let counted = model.counted_parameters() as f64;
            assert!((counted / model.parameters - 1.0).abs() < 0.01, "{}: {counted}", model.name);
            assert_eq!(Transformer::named(model.name), Some(model));
            assert_eq!(model.hidden % model.heads, 0);
            assert_eq!(model.heads % model.kv_heads, 0);
        }
        // To the last parameter where the weights are published.
        assert_eq!(LLAMA_7B.counted_parameters(), 6_738_415_616);
        assert_eq!(LLAMA_13B.counted_parameters(), 13_015_864_320);
        assert_eq!(LLAMA3_8B.counted_parameters(), 8_030_261_248);
        assert_eq!(LLAMA3_70B.counted_parameters(), 70_553_706_496);
    }

    #[test]
    fn the_flops_of_gpt_are_narayanan_s() {
        let (tokens, m) = (4_096_u64, GPT3_175B);
        let (h, s, l, v) = (m.hidden as f64, m.sequence as f64, f64::from(m.layers), m.vocabulary as f64);
        let layer = 24.0 * tokens as f64 * h * h * (1.0 + s / (6.0 * h));
        assert!((m.layer_flops(tokens) / layer - 1.0).abs() < 1e-12);
        let step = 72.0 * tokens as f64 * l * h * h * (1.0 + s / (6.0 * h) + v / (12.0 * l * h));
        assert!((m.step_flops(tokens) / step - 1.0).abs() < 1e-12);
        assert_eq!(m.attention_share(), 1.0 / 3.0);
    }

    #[test]
    fn a_step_takes_six_flops_for_each_parameter_and_token_and_more_for_attention() {
        for model in MODELS {
            let tokens = model.sequence;
            let idle =
                (model.experts - model.experts_per_token) * model.mlp_weights() * u64::from(model.layers);
            let met = model.parameters - idle as f64;
            let ratio = model.step_flops(tokens) / (6.0 * met * tokens as f64);
            assert!((0.95..1.35).contains(&ratio), "{}: {ratio}", model.name);
        }
    }
}

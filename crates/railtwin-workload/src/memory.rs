//! Memory of a GPU in training: weights, gradients, the optimizer's state, activations.
//!
//! Sources: mixed-precision Adam keeps 2 + 2 + 12 bytes of each parameter, which the stages of ZeRO part over the data
//! parallel ranks (Rajbhandari et al. 2020, sections 3.1 and 5); activations are counted operand by operand (Korthikanti
//! et al. 2022 «Reducing activation recomputation in large transformer models», sections 4 and 5). Half precision
//! throughout, sequence parallelism wherever there is tensor parallelism, the pipeline's micro-batches in flight.
use crate::models::{Family, Transformer};

/// Bytes of a weight or of its gradient in half precision.
pub(crate) const HALF: f64 = 2.0;
/// Bytes that Adam keeps of a parameter: a copy, momentum and variance in single precision.
const ADAM: f64 = 12.0;

railtwin_units::choice! {
    /// Which activations are computed again in the backward pass instead of kept.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Recompute {
        /// None.
        None = "none",
        /// The scores of attention, as flash attention does by itself.
        #[default]
        Selective = "selective",
        /// All of a layer but its input: a forward pass of each layer more.
        Full = "full",
    }
}

/// Bytes that a GPU holds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Memory {
    /// Pipeline stage of the GPU.
    pub stage: u32,
    /// Weights in half precision.
    pub weights: f64,
    /// Gradients in half precision.
    pub gradients: f64,
    /// The optimizer's state.
    pub optimizer: f64,
    /// Activations kept for the backward pass, where most are in flight.
    pub activations: f64,
}

impl Memory {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.weights + self.gradients + self.optimizer + self.activations
    }

    /// The parts by name.
    pub fn parts(&self) -> [(&'static str, f64); 4] {
        [
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("activations", self.activations),
        ]
    }
}

/// Bytes of weights, gradients and optimizer's state of `parameters` parameters on one of `dp` data parallel ranks, by
/// ZeRO's stage (Rajbhandari et al. 2020, figure 1).
pub fn state_bytes(parameters: f64, dp: u32, zero: u32) -> [f64; 3] {
    let ranks = f64::from(dp.max(1));
    let parted = |bytes: f64, from: u32| if zero >= from { bytes / ranks } else { bytes };
    [parted(HALF * parameters, 3), parted(HALF * parameters, 2), parted(ADAM * parameters, 1)]
}

/// Bytes that one layer keeps of `tokens` tokens for its backward pass, over all tensor parallel ranks.
///
/// For GPT's shape this is s b h (34 + 5 a s / h), and without the scores 34 s b h (Korthikanti et al. 2022, equations 1
/// and 6). LLaMA's blocks have no dropout and no kept input of an activation function beside the product of SwiGLU:
/// 12 h + 4 h k / a + 6 f bytes of a token, with k heads of keys and values and an MLP of f; of the scores only their
/// softmax is kept, 2 a s. Where tokens go to experts each of a token's experts keeps its own input, output and inner
/// values.
pub fn layer_activation_bytes(model: &Transformer, tokens: u64, recompute: Recompute) -> f64 {
    let (h, f) = (model.hidden as f64, model.ffn as f64);
    let (heads, grouped) = (model.heads as f64, model.kv_heads as f64 / model.heads as f64);
    let experts = model.experts_per_token as f64;
    // Norms, the input of queries, keys and values, these themselves, the input of the output projection.
    let attention = 4.0 * h + 2.0 * h + (2.0 + 4.0 * grouped) * h + 2.0 * h;
    let (rest, scores) = match model.family {
        // Two masks of dropout of a byte; input of the MLP, input and output of its activation function.
        Family::Gpt => (2.0 * h + 2.0 * h + 4.0 * f, 5.0 * heads * model.sequence as f64),
        Family::Llama if model.has_experts() => {
            (2.0 * h + experts * (4.0 * h + 6.0 * f), 2.0 * heads * model.sequence as f64)
        }
        Family::Llama => (2.0 * h + 6.0 * f, 2.0 * heads * model.sequence as f64),
    };
    let of_token = match recompute {
        Recompute::None => attention + rest + scores,
        Recompute::Selective => attention + rest,
        Recompute::Full => HALF * h,
    };
    tokens as f64 * of_token
}

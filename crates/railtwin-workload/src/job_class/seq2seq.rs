//! Transformers of an encoder and a decoder: parameters and floating point operations from their sizes.

/// Sizes of a transformer with an encoder and a decoder of as many layers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EncoderDecoder {
    /// Layers of the encoder, and of the decoder.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u64,
    /// Width of queries, keys and values over all heads.
    pub inner: u64,
    /// Inner size of the MLP.
    pub ffn: u64,
    /// Vocabulary; one matrix for both embeddings and the logits.
    pub vocabulary: u64,
    /// Tokens of a sample that the encoder reads.
    pub source: u64,
    /// Tokens of a sample that the decoder writes.
    pub target: u64,
}

impl EncoderDecoder {
    /// Parameters: layers and the embedding, without norms, biases and positions.
    pub fn parameters(&self) -> f64 {
        let [attention, mlp] = self.weights();
        let layers = f64::from(self.layers);
        // A layer of the decoder looks at what is written and at what was read.
        layers * (attention + mlp) + layers * (2.0 * attention + mlp) + (self.vocabulary * self.hidden) as f64
    }

    /// Floating point operations of a forward pass over one sample: two for each token and weight that it meets, 4 · inner for
    /// each pair of tokens of which one looks at the other, and the logits (Kaplan et al. 2020, section 2.1, counted for both
    /// stacks).
    pub fn forward_flops(&self) -> f64 {
        let [attention, mlp] = self.weights();
        let (source, target) = (self.source as f64, self.target as f64);
        let encoder = 2.0 * source * (attention + mlp);
        // Keys and values of what was read are made of its tokens, queries and outputs of those that are written.
        let decoder = 2.0 * target * (attention + attention / 2.0 + mlp) + 2.0 * source * attention / 2.0;
        let looks = source * source + target * target + target * source;
        let layers = f64::from(self.layers) * (encoder + decoder + 4.0 * self.inner as f64 * looks);
        layers + 2.0 * target * (self.hidden * self.vocabulary) as f64
    }

    /// Weights of an attention and of an MLP.
    fn weights(&self) -> [f64; 2] {
        [(4 * self.hidden * self.inner) as f64, (2 * self.hidden * self.ffn) as f64]
    }
}

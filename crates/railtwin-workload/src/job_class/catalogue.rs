//! The eleven classes, as many as Crux (Cao et al., SIGCOMM '24) runs in its simulation, which does not say which; its
//! testbed has a GPT-3 variant, BERT and ResNet.
//!
//! Shapes are those of the papers named. `efficiency` is worked out of a published throughput, by the FLOPs that
//! [`JobClass::sample_flops`] counts and the peak of the GPU that was measured. On another GPU it is another: ViT-g/14 has 0.44
//! on A100 and 0.29 on H100. `samples` and `gpus` are ours where no source is named; the range that we hold for reasonable stands
//! beside them. Gradients of language models are reduced in half precision as HPN's table 3 counts them.
use super::{EncoderDecoder, JobClass, Model};
use crate::memory::Recompute;
use crate::models::{DBRX, Family, GPT_22B, GPT3_175B, LLAMA_13B, Transformer};

/// GPT-3 175B, tensor 8 and pipeline 8, 64 sequences in micro-batches of 1: Korthikanti et al. 2022, tables 3 and 5, where it
/// reaches 51.4 % of A100s (0.40..0.55; MegaScale 0.55, Narayanan et al. 2021 0.45).
const GPT3: JobClass = JobClass {
    name: "gpt3-175b",
    model: Model::Decoder(GPT3_175B),
    samples: 64,
    micro_batch: 1,
    tensor: 8,
    pipeline: 8,
    experts_over: 1,
    efficiency: 0.514,
    recompute: Recompute::Selective,
    gradient_bytes: 2,
    gpus: [64, 4_096],
};

/// GPT 22B, tensor 8, 4 sequences at once: Korthikanti et al. 2022, tables 3 and 5, 41.5 % (0.38..0.50).
const GPT22: JobClass = JobClass {
    name: "gpt-22b",
    model: Model::Decoder(GPT_22B),
    samples: 4,
    micro_batch: 4,
    tensor: 8,
    pipeline: 1,
    efficiency: 0.415,
    gpus: [8, 1_024],
    ..GPT3
};

/// GPT-3 6.7B (Brown et al. 2020, table 2.1), tensor 4 as Narayanan et al. 2021, table 1, have a model of 7.5B.
/// NVIDIA NeMo's 5B trains 726,384 tokens a second on 160 A100: 0.47; we take 0.44 (0.41..0.47). 8 sequences of a replica
/// (2..32; the paper's 2 million tokens are 8 on 512 GPUs).
const GPT7: JobClass = JobClass {
    name: "gpt3-6.7b",
    model: Model::Decoder(Transformer {
        name: "gpt3-6.7b",
        layers: 32,
        hidden: 4_096,
        ffn: 16_384,
        heads: 32,
        kv_heads: 32,
        parameters: 6.7e9,
        ..GPT3_175B
    }),
    samples: 8,
    tensor: 4,
    efficiency: 0.44,
    gpus: [4, 512],
    ..GPT22
};

/// LLaMA 13B, tensor 4. Its authors' 65B has 380 tokens a second on an A100 (Touvron et al. 2023, section 2.4): 0.48; we take
/// 0.45 (0.40..0.50). 8 sequences of a replica (2..32; the paper's 4 million tokens are 8 on 1,024 GPUs).
const LLAMA: JobClass = JobClass {
    name: "llama-13b",
    model: Model::Decoder(LLAMA_13B),
    samples: 8,
    micro_batch: 2,
    tensor: 4,
    efficiency: 0.45,
    gpus: [8, 1_024],
    ..GPT22
};

/// DBRX, pipeline 4 and its 16 experts over 16 ranks, 8 sequences in micro-batches of 1 (4..32). Layers run
/// forward again, as their activations would take 70 GB. NVIDIA NeMo AutoModel has 0.22 to 0.33 for mixtures of experts on H100
/// with the exchange in it, which stands apart here: we take 0.30 (0.22..0.40).
const MOE: JobClass = JobClass {
    name: "dbrx",
    model: Model::Decoder(DBRX),
    samples: 8,
    micro_batch: 1,
    tensor: 1,
    pipeline: 4,
    experts_over: 16,
    efficiency: 0.30,
    recompute: Recompute::Full,
    gpus: [64, 3_072],
    ..GPT3
};

/// BERT-large (Devlin et al. 2019) on sequences of 512. DeepSpeed trains 52 a second on a V100 of 125 TFLOP/s: 0.42
/// (0.28..0.55). 32 of a GPU (8..56).
const BERT: JobClass = JobClass {
    name: "bert-large",
    model: Model::Encoder(Transformer {
        name: "bert-large",
        layers: 24,
        hidden: 1_024,
        ffn: 4_096,
        heads: 16,
        kv_heads: 16,
        sequence: 512,
        vocabulary: 30_522,
        parameters: 340e6,
        ..GPT3_175B
    }),
    samples: 32,
    micro_batch: 32,
    tensor: 1,
    pipeline: 1,
    efficiency: 0.42,
    gpus: [1, 256],
    ..GPT3
};

/// T5 3B (Raffel et al. 2020: 512 tokens in, 114 out), tensor 2. NVIDIA NeMo's T5 of 3B, of another shape, trains 1,395,131
/// tokens a second on 160 A100, and 16.38 times as fast on 20 hosts as on one: 0.38 alone where only tokens read are counted,
/// 0.31 where those written are, too; we take 0.35 (0.28..0.42). 24 pairs of a replica (its 2,160 on 160 GPUs are 27).
const T5: JobClass = JobClass {
    name: "t5-3b",
    model: Model::EncoderDecoder(EncoderDecoder {
        layers: 24,
        hidden: 1_024,
        inner: 4_096,
        ffn: 16_384,
        vocabulary: 32_128,
        source: 512,
        target: 114,
    }),
    samples: 24,
    micro_batch: 24,
    tensor: 2,
    efficiency: 0.35,
    gpus: [2, 256],
    ..BERT
};

/// Transformer-big for translation (Vaswani et al. 2017). NVIDIA's implementation trains 32,153 tokens a second on a V100 of
/// 125 TFLOP/s, 5,120 at once: 0.33 (0.25..0.40). Those are 160 pairs of 32 tokens. Ott et al. 2018 train on 128 GPUs.
const NMT: JobClass = JobClass {
    name: "nmt-big",
    model: Model::EncoderDecoder(EncoderDecoder {
        layers: 6,
        hidden: 1_024,
        inner: 1_024,
        ffn: 4_096,
        vocabulary: 37_000,
        source: 32,
        target: 32,
    }),
    samples: 160,
    micro_batch: 160,
    efficiency: 0.33,
    gpus: [1, 128],
    ..BERT
};

/// ResNet-50 (He et al. 2016; 4.1e9 multiplications and additions with the stride of version 1.5). NVIDIA's implementation
/// trains 2,470 images a second on an A100, 256 at once: 0.195 (0.15..0.25). PyTorch's autocast leaves gradients in single
/// precision. Goyal et al. 2017 train on 256 GPUs.
const RESNET: JobClass = JobClass {
    name: "resnet-50",
    model: Model::Convolutional { parameters: 25.6e6, forward_flops: 8.2e9 },
    samples: 256,
    micro_batch: 256,
    efficiency: 0.195,
    gradient_bytes: 4,
    gpus: [1, 256],
    ..BERT
};

/// ViT-g/14 (Zhai et al. 2022, table 2) on images of 224 × 224: 256 patches and a class. NVIDIA NeMo trains 693 a second on 8
/// A100: 0.44 (0.29, its figure for H100, ..0.50). 64 of a GPU (32..128).
const VIT: JobClass = JobClass {
    name: "vit-g14",
    model: Model::Encoder(Transformer {
        name: "vit-g14",
        layers: 40,
        hidden: 1_408,
        ffn: 6_144,
        heads: 16,
        kv_heads: 16,
        sequence: 257,
        vocabulary: 0,
        parameters: 1_011e6,
        family: Family::Gpt,
        ..GPT3_175B
    }),
    samples: 64,
    micro_batch: 64,
    efficiency: 0.44,
    gpus: [1, 512],
    ..BERT
};

/// DLRM (Naumov et al. 2019) as MLPerf has it: 26 tables of rows of 128, perceptrons 13-512-256-128 and 479-1024-1024-512-256-1
/// with the products of 27 vectors between them. NVIDIA's implementation runs the 4.195e9 rows of Criteo's days once in 4 min
/// 36 s on 8 A100, 8,192 rows each: 0.09 (0.05..0.15), as reading tables takes the time.
const DLRM: JobClass = JobClass {
    name: "dlrm",
    model: Model::Recommender {
        parameters: DLRM_WEIGHTS as f64,
        forward_flops: (2 * DLRM_WEIGHTS + 2 * 27 * 27 * 128) as f64,
        tables: 26,
        dimension: 128,
    },
    samples: 8_192,
    micro_batch: 8_192,
    efficiency: 0.09,
    gradient_bytes: 4,
    gpus: [2, 128],
    ..BERT
};

/// Weights of DLRM's perceptrons.
const DLRM_WEIGHTS: u64 =
    13 * 512 + 512 * 256 + 256 * 128 + 479 * 1_024 + 1_024 * 1_024 + 1_024 * 512 + 512 * 256 + 256;

/// All classes, the largest first.
pub const CLASSES: [JobClass; 11] = [GPT3, MOE, GPT22, LLAMA, GPT7, T5, VIT, BERT, NMT, RESNET, DLRM];

//! Classes against what was published, against the recipe and against each other.
use super::*;
use crate::models::Family;

const A100: u64 = 312_000_000_000_000;
const V100: f64 = 125e12;

fn class(name: &str) -> &'static JobClass {
    JobClass::named(name).unwrap()
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value / expected - 1.0).abs() <= within, "{value} is not {expected}");
}

/// Samples that a GPU computes in a second.
fn rate(class: &JobClass, gpu_flops: f64) -> f64 {
    let step = class.step(class.slice(), gpu_flops as u64);
    f64::from(class.samples) / f64::from(class.tensor * class.pipeline) / step.compute.seconds()
}

#[test]
fn there_are_eleven_and_each_fits_its_own_sizes() {
    assert_eq!(JobClass::ALL.len(), 11);
    for class in JobClass::ALL {
        assert_eq!(JobClass::named(class.name), Some(class));
        assert!(class.samples.is_multiple_of(class.micro_batch), "{}", class.name);
        assert!(class.tensor <= 8 && class.efficiency < 0.6);
        let [least, most] = class.gpus;
        assert!(class.fits(least) && class.fits(most), "{}", class.name);
        assert!(!class.fits(most + class.slice()));
        for gpus in [least, most, 7, 96, 1_104] {
            let step = class.step(gpus, A100);
            assert_eq!(step.tensor * step.pipeline * step.data, gpus);
            assert!((0.0..=1.0).contains(&step.overlap_from), "{}: {}", class.name, step.overlap_from);
            assert_eq!(step.compute, class.step(least, A100).compute, "as many samples for each GPU");
        }
    }
}

/// What the classes were not fitted to: sizes that authors print, beside what ours are made of.
#[test]
fn models_have_the_parameters_and_flops_of_their_authors() {
    near(class("t5-3b").parameters(), 2_851_598_336.0, 0.001);
    near(class("nmt-big").parameters(), 213e6, 0.01);
    // Zhai et al. 2022, table 2: 1,011 million parameters and 533.1 GFLOP for an image.
    near(class("vit-g14").sample_flops() / 3.0, 533.1e9, 0.005);
    for name in ["vit-g14", "bert-large"] {
        let Model::Encoder(model) = class(name).model else { panic!("{name} is an encoder") };
        near(model.counted_parameters() as f64, model.parameters, 0.02);
    }
    let Model::Decoder(model) = class("gpt3-6.7b").model else { panic!("GPT is a decoder") };
    near(model.counted_parameters() as f64, 6.7e9, 0.01);
    assert_eq!(model.family, Family::Gpt);
    // DeepSpeed's blog: 53 TFLOP/s where 52 sequences of BERT-large a second are trained.
    near(class("bert-large").sample_flops() * 52.0, 53e12, 0.02);
}

/// Throughputs that efficiencies come from, given back by the whole of a class.
#[test]
fn classes_run_as_fast_as_was_published() {
    near(class("gpt3-175b").step(64, A100).compute.seconds(), 13.75, 0.01);
    near(class("gpt-22b").step(8, A100).compute.seconds(), 1.10, 0.01);
    near(rate(class("resnet-50"), A100 as f64), 2_470.0, 0.01);
    near(rate(class("vit-g14"), A100 as f64), 693.0 / 8.0, 0.02);
    near(rate(class("bert-large"), V100), 52.0, 0.01);
    near(rate(class("nmt-big"), V100) * 32.0, 32_153.0, 0.03);
    near(rate(class("dlrm"), A100 as f64), 4.195e9 / 276.0 / 8.0, 0.02);
}

#[test]
fn replicas_fit_gpus_of_80_gb() {
    for class in JobClass::ALL {
        let dp = class.experts_over;
        let layout = Parallelism { tp: class.tensor, pp: class.pipeline, dp, ep: dp };
        let Some(training) = class.training(layout, A100) else { continue };
        let memory = training.memory().total();
        assert!(memory < 80e9, "{} takes {memory}", class.name);
        assert!(training.plan().is_ok(), "{}", class.name);
    }
}

/// HPN, table 3: gradients and activations of GPT-3 175B on tensor 8 and pipeline 8.
#[test]
fn bytes_are_those_of_the_recipe() {
    let step = class("gpt3-175b").step(512, A100);
    assert_eq!((step.tensor, step.pipeline, step.data), (8, 8, 8));
    near(step.reduced.0 as f64, 5.5e9, 0.01);
    near(step.passed.0 as f64, 64.0 * 6e6, 0.05);
    assert_eq!((step.exchanged, step.among), (Bytes(0), 1));
    // One replica has nothing to reduce, and hands on from its first micro-batch on.
    let alone = class("gpt3-175b").step(64, A100);
    assert_eq!(alone.reduced, Bytes(0));
    assert_eq!(alone.overlap_from, 1.0 / 3.0 / 64.0);
}

#[test]
fn a_step_moves_what_the_plan_of_its_recipe_moves() {
    use crate::plan::{Axis, Work};
    for name in ["gpt3-175b", "dbrx"] {
        let class = class(name);
        let gpus = 2 * class.slice();
        let step = class.step(gpus, A100);
        let layout = Parallelism { tp: step.tensor, pp: step.pipeline, dp: step.data, ep: step.among };
        let plan = class.training(layout, A100).unwrap().plan().unwrap();
        let bytes = |axes: &[Axis], lane: u32| -> f64 {
            let of = plan.operations.iter().filter(|o| axes.contains(&o.axis) && o.lane == lane);
            of.map(|o| if let Work::Communicate { bytes, .. } = o.work { bytes as f64 } else { 0.0 }).sum()
        };
        near(step.reduced.0 as f64, bytes(&[Axis::Dp, Axis::DpEp], 0), 1e-6);
        if step.among > 1 {
            let others = f64::from(step.among - 1) / f64::from(step.among);
            near(step.exchanged.0 as f64, bytes(&[Axis::Ep], 0) * others, 1e-6);
        }
        near(
            plan.flops.unwrap() / f64::from(gpus),
            class.sample_flops() * f64::from(class.samples) / f64::from(class.tensor * class.pipeline),
            1e-9,
        );
    }
}

#[test]
fn gradients_are_reduced_from_the_first_bucket_on() {
    // 102 MB of ResNet-50: backward is two thirds, and a quarter of it makes a bucket.
    let resnet = class("resnet-50").step(16, A100);
    near(resnet.overlap_from, 1.0 / 3.0 + 2.0 / 3.0 * 26_214_400.0 / 102.4e6, 1e-9);
    // Four micro-batches: only the last one's backward pass has gradients to reduce.
    let llama = class("llama-13b").step(64, A100);
    near(llama.overlap_from, 1.0 - 2.0 / 3.0 / 4.0, 0.002);
    assert_eq!(class("dlrm").step(16, A100).overlap_from, 1.0, "perceptrons wait for the tables");
    assert_eq!(class("bert-large").step(1, A100).overlap_from, 1.0);
}

#[test]
fn tables_are_exchanged_by_all_and_experts_by_their_group() {
    let dlrm = class("dlrm").step(16, A100);
    assert_eq!(dlrm.among, 16);
    near(dlrm.exchanged.0 as f64, 2.0 * 8_192.0 * 26.0 * 128.0 * 2.0 * 15.0 / 16.0, 1e-9);
    assert_eq!(class("dlrm").step(1, A100).exchanged, Bytes(0));
    let moe = class("dbrx").step(128, A100);
    assert_eq!((moe.data, moe.among), (32, 16));
    // Four experts of a token, 10 layers of a stage, there and back in three passes, 8 micro-batches.
    near(moe.exchanged.0 as f64, 4.0 * 4_096.0 * 6_144.0 * 2.0 * 10.0 * 6.0 * 8.0 * 15.0 / 16.0, 1e-9);
}

#[test]
fn what_does_not_divide_shrinks_and_does_not_fit() {
    let gpt = class("gpt3-175b");
    let step = gpt.step(12, A100);
    assert_eq!((step.tensor, step.pipeline, step.data), (4, 1, 3));
    assert!(!gpt.fits(12));
    assert_eq!(gpt.step(0, A100), gpt.step(1, A100));
}

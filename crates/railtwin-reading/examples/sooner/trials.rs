//! Trials on real times of steps and on a real trace: how soon a slowdown that is put in is found, and what healthy parts say.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin_diagnosis::Settings;
use railtwin_diagnosis::steps::{Series, Step, drifts, sensitivity, slower};
use railtwin_diagnosis::what_if::{Operation, Role, Work};
use railtwin_formats::telemetry::{megatron_trace, parse_steps_csv};
use railtwin_reading::slow_job::{JobReplay, work_of};
use railtwin_store::parquet_foreign::decode_foreign;

#[allow(clippy::disallowed_methods, reason = "a trial reads files of the repository")]
fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/telemetry");
    std::fs::read(folder.join(name)).expect("a file of the repository")
}

/// The 24 healthy runs of Llama 3.1 405B.
pub fn runs() -> Vec<Series> {
    let name = "mlperf_llama31_405b/steps.csv.gz";
    let step = |one: &railtwin_formats::telemetry::StepTime| Step {
        seconds: one.seconds,
        beside: one.beside,
        work: one.work,
    };
    let told = parse_steps_csv(name, &read(name)).expect("times of steps");
    let of = |one: railtwin_formats::telemetry::StepSeries| Series {
        steps: one.steps.iter().map(step).collect(),
        job: one.job,
        run: one.run,
    };
    told.series.into_iter().map(of).collect()
}

/// Returns whether a run shows 5 % within three steps, and stalls at 4 of 100 places or fewer.
pub fn is_quiet(run: &Series) -> bool {
    sensitivity(run).is_some_and(|told| told.share <= 0.05 && told.stalled <= 0.04)
}

/// The first `steps` steps of a run.
fn cut(run: &Series, steps: usize) -> Series {
    Series { steps: run.steps[..steps].to_vec(), ..run.clone() }
}

/// Returns whether the first `steps` steps of a healthy run lead to a finding.
pub fn is_accused(run: &Series, steps: usize) -> bool {
    let cut = [cut(run, steps)];
    !slower(&cut).is_empty() || !drifts(&cut).is_empty()
}

/// Returns whether the first `steps` steps, of which the last three take longer by `share`, lead to a finding of these three.
pub fn is_found(run: &Series, steps: usize, share: f64) -> bool {
    let mut cut = cut(run, steps);
    cut.steps[steps - 3..].iter_mut().for_each(|step| step.seconds *= 1.0 + share);
    slower(&[cut]).iter().any(|one| one.told == steps - 1 && one.from + 3 >= steps)
}

/// All operations of the trace ST: 8 ranks, 32 steps.
pub fn trace() -> Work {
    let name = "megatron_straggler/trace-ST.parquet";
    let table = decode_foreign(Path::new(name), read(name)).expect("flat columns");
    let trace = megatron_trace(name, "ST", &table).expect("a trace of Megatron");
    work_of(trace.kinds, &trace.operations)
}

/// `count` steps of a trace from the `first` on, in which one rank takes `times` as long to compute. What this rank does later in
/// a step is moved, so that its pauses stay; what other ranks do is not, though they would wait for it.
pub fn slowed(work: &Work, first: usize, count: usize, slow: Option<(u32, f64)>) -> Work {
    let steps: BTreeSet<u64> = work.operations.iter().map(|one| one.step).collect();
    let kept: BTreeSet<u64> = steps.into_iter().skip(first).take(count).collect();
    let mut operations: Vec<Operation> =
        work.operations.iter().filter(|one| kept.contains(&one.step)).copied().collect();
    operations.sort_by_key(|one| (one.step, one.rank, one.start_ns));
    let mut added: BTreeMap<u64, u64> = BTreeMap::new();
    let (slow, times) = slow.unwrap_or((u32::MAX, 1.0));
    for one in operations.iter_mut().filter(|one| one.rank == slow) {
        let added = added.entry(one.step).or_default();
        one.start_ns += *added;
        if matches!(one.role, Role::Compute(_)) {
            let longer = (one.duration_ns as f64 * (times - 1.0)) as u64;
            one.duration_ns += longer;
            *added += longer;
        }
    }
    Work { kinds: work.kinds.clone(), operations }
}

/// Ranks that findings of a trace accuse, with the least confidence.
pub fn accused(work: &Work) -> (Vec<u32>, f64) {
    let (findings, _) = JobReplay::of("trace".into(), work).judge("job", &Settings::default());
    let all: Vec<_> = findings.iter().filter(|finding| finding.accuses()).collect();
    let rank = |name: &str| name.rsplit('/').next().and_then(|rank| rank.parse().ok()).expect("a rank");
    let suspects = all.iter().flat_map(|finding| &finding.suspects);
    let mut ranks: Vec<u32> = suspects.map(|one| rank(one.component.name())).collect();
    ranks.sort_unstable();
    (ranks, all.iter().map(|finding| finding.confidence).fold(1.0, f64::min))
}

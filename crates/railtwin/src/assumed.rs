//! What a result rests on and the scenario need not say: the efficiency of computation, and the defaults that decide.
//!
//! A value that is written and equals its default is told all the same: the answer rests on it either way.
use railtwin_engine::packet::Packets;
use railtwin_engine::{Reaction, Transport};
use railtwin_fabric::HostModel;
use railtwin_scenario::{EngineName, FabricSpec, HostSpec, JobSpec, RecipeSpec, Work, Workload, host_caps};
use railtwin_store::{Figure, RunInfo};
use railtwin_workload::models::Transformer;
use railtwin_workload::{Algorithm, Collective, Recompute};

use crate::question::Resolved;

/// Name of the fact in `run.json`.
pub const FACT: &str = "assumed";
/// What stands between two of them in the fact.
const BETWEEN: &str = "; ";
/// Efficiency of a recipe that says none.
const EFFICIENCY: f64 = 0.5;

/// The assumptions that decide the answer, each with the key that would say otherwise.
pub fn assumed(resolved: &Resolved) -> Vec<String> {
    let scenario = &resolved.scenario;
    let several = scenario.jobs.len() > 1;
    let mut all = Vec::new();
    let host = scenario.fabric.host();
    // The first of a job's copies in the case.
    let mut first = 0;
    for (row, job) in scenario.jobs.iter().enumerate() {
        let at = if several { format!("job.{row}") } else { "job".to_owned() };
        match &job.work {
            Work::Workload(Workload::Recipe(spec)) => all.extend(of_recipe(resolved, &at, spec)),
            Work::Collective(spec) if spec.algorithm.is_none() && spec.kind != Collective::SendReceive => {
                let patterns = resolved.case.work.jobs.get(first).map(|job| &job.plan.patterns[..]);
                let algorithm =
                    patterns.and_then(|patterns| patterns.first()).map(|pattern| pattern.algorithm);
                let algorithm = algorithm.unwrap_or(Algorithm::default_for(spec.kind));
                all.push(format!("{} by {algorithm} ({at}.collective.algorithm)", spec.kind));
            }
            _ => {}
        }
        first += job.count as usize;
    }
    let model = resolved.case.fabric.host_models().first();
    if let Some(model) = model.filter(|_| !scenario.jobs.is_empty() && said_no_model(&scenario.fabric)) {
        all.push(format!("hosts are {} (fabric.host.model)", model.name));
    }
    let collective = |job: &JobSpec| job.work.is_collective();
    if let Some(model) = model.filter(|_| scenario.jobs.iter().any(collective)) {
        all.extend(of_caps(model, host.and_then(|host| host.caps.as_deref())));
    }
    all.extend(of_starts(resolved));
    if !scenario.faults.is_empty() || scenario.failures.is_some() {
        all.extend(of_faults(resolved));
    }
    all
}

/// How far apart hosts begin a job, which packets alone have; none where the text says it, or no library runs a job.
fn of_starts(resolved: &Resolved) -> Option<String> {
    let (scenario, packets) = (&resolved.scenario, &resolved.case.packets);
    let mut jobs = 0..resolved.case.work.jobs.len() as u32;
    let is_drawn = scenario.engine == EngineName::Packet
        && packets.keys.start_jitter == Packets::default().start_jitter
        && jobs.any(|job| packets.has_library(job));
    is_drawn
        .then(|| format!("hosts begin a job up to {} apart (packet.start_jitter)", packets.keys.start_jitter))
}

/// Whose costs of collectives hold, where the text does not say; none where there are none to have.
fn of_caps(model: &HostModel, said: Option<&str>) -> Option<String> {
    let whose = match said {
        Some("none") => return Some("collectives cost hosts nothing (fabric.host.caps)".to_owned()),
        Some(_) => return None,
        None if model.gpu_flops.is_none() => return None,
        None if host_caps::models().contains(&model.name.as_str()) => "what is known of their model",
        None => "what NCCL's own model has",
    };
    Some(format!("collectives cost hosts {whose} (fabric.host.caps)"))
}

/// Whether the text leaves the host model to the preset or the importer.
fn said_no_model(fabric: &FabricSpec) -> bool {
    fabric.host().is_some_and(|host: &HostSpec| host.model.is_none())
}

fn of_recipe(resolved: &Resolved, at: &str, spec: &RecipeSpec) -> Vec<String> {
    let at = format!("{at}.workload");
    let model = resolved.case.fabric.host_models().first();
    let peak = model.and_then(|model| model.gpu_flops).unwrap_or(0) as f64 / 1e12;
    let word = if spec.efficiency == EFFICIENCY { ", the default" } else { "" };
    let mut all = vec![format!("efficiency {}{word}, of {peak} TFLOP/s ({at}.efficiency)", spec.efficiency)];
    if spec.micro_batches == 1 {
        all.push(format!("1 micro-batch a step ({at}.micro_batches)"));
    }
    if spec.micro_batch == 1 {
        let tokens = Transformer::named(&spec.recipe).map_or(0, |model| model.sequence);
        all.push(format!("1 sequence of {tokens} tokens in a micro-batch ({at}.micro_batch)"));
    }
    if spec.dp > 1 && spec.zero == 0 {
        all.push(format!("data parallel ranks hold the same, ZeRO parts nothing ({at}.zero)"));
    }
    if spec.pp > 1 && spec.interleave == 1 {
        all.push(format!("stages are not interleaved ({at}.interleave)"));
    }
    if spec.recompute == Recompute::Selective {
        all.push(format!("scores of attention are not kept, at no cost in time ({at}.recompute)"));
    }
    all
}

fn of_faults(resolved: &Resolved) -> Vec<String> {
    let (scenario, case) = (&resolved.scenario, &resolved.case);
    let mut all = Vec::new();
    if scenario.transport == Transport::default() {
        let transport = &case.transport;
        all.push(format!(
            "queue pairs try again each {:.3} s, {} times, then die (transport)",
            transport.ack_timeout().seconds(),
            transport.retry_count
        ));
    }
    if scenario.reaction == Reaction::default() {
        let reaction = &case.reaction;
        all.push(format!(
            "a dead port is seen after {}, routes follow after {} and {} (reaction)",
            reaction.detection, reaction.withdrawal, reaction.convergence
        ));
    }
    all
}

/// Tells the note of each model FLOPs utilization what efficiency it hangs on.
pub fn note_mfu(resolved: &Resolved, figures: &mut [Figure]) {
    let several = resolved.case.work.jobs.len() > 1;
    for (row, job) in resolved.scenario.jobs.iter().enumerate() {
        let Work::Workload(Workload::Recipe(spec)) = &job.work else { continue };
        let own = |name: &str| match (several, name.strip_suffix(".mfu")) {
            (true, Some(of)) => of == job.name || copy_of(&job.name, of),
            _ => row == 0 && name == "mfu",
        };
        let word = if spec.efficiency == EFFICIENCY { " (assumed)" } else { "" };
        for figure in figures.iter_mut().filter(|figure| own(&figure.name)) {
            figure.note.push_str(&format!("; computation runs at {} of the peak{word}", spec.efficiency));
        }
    }
}

/// Whether `name` is that of a copy of the job, such as `train-3`.
fn copy_of(job: &str, name: &str) -> bool {
    let number = name.strip_prefix(job).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The fact of a run, none where nothing is assumed.
pub(crate) fn fact(resolved: &Resolved) -> Option<String> {
    fact_of(&assumed(resolved))
}

/// Assumptions as a fact, none where there are none.
pub(crate) fn fact_of(all: &[String]) -> Option<String> {
    (!all.is_empty()).then(|| all.join(BETWEEN))
}

/// What a run assumed, as its `run.json` has it.
pub fn of_info(info: &RunInfo) -> Vec<&str> {
    info.facts.get(FACT).map_or_else(Vec::new, |fact| fact.split(BETWEEN).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Question, Run};
    use std::path::Path;

    fn resolved(job: &str) -> Resolved {
        let text = format!(
            "schema = 1\nname = \"a\"\nfabric = {{ preset = \"hpn\", segments = 2, hosts = 2 }}\n{job}\n"
        );
        let question = Question::of_text("a.toml", &text, Path::new("."));
        let point = question.points().unwrap().remove(0);
        question.resolve(&point.scenario).unwrap()
    }

    const LLAMA: &str = "recipe = \"llama-7b\", tp = 8, dp = 2";

    #[test]
    fn what_mfu_hangs_on_is_told_in_facts_and_in_its_note() {
        let run = Run::of(resolved(&format!("job = [{{ workload = {{ {LLAMA} }} }}]")), &|| ());
        let told = of_info(&run.info);
        assert_eq!(told[0], "efficiency 0.5, the default, of 989.5 TFLOP/s (job.workload.efficiency)");
        let keys: Vec<&str> = told.iter().map(|line| line.rsplit_once('(').unwrap().1).collect();
        let workload = ["efficiency", "micro_batches", "micro_batch", "zero", "recompute"];
        let expected: Vec<String> = workload.iter().map(|key| format!("job.workload.{key})")).collect();
        assert_eq!(keys[..5], expected);
        assert_eq!(keys[5..], ["fabric.host.model)", "fabric.host.caps)"]);
        let note = &run.info.figures.iter().find(|figure| figure.name == "mfu").unwrap().note;
        assert!(note.ends_with("; computation runs at 0.5 of the peak (assumed)"), "{note}");
        let said = "micro_batches = 2, micro_batch = 2, efficiency = 0.4, zero = 1, recompute = \"full\"";
        let run = Run::of(resolved(&format!("job = [{{ workload = {{ {LLAMA}, {said} }} }}]")), &|| ());
        let told = of_info(&run.info);
        assert_eq!(told[0], "efficiency 0.4, of 989.5 TFLOP/s (job.workload.efficiency)");
        assert_eq!(told.len(), 3, "{told:?}");
    }

    #[test]
    fn defaults_of_collectives_and_faults_are_told_and_jobs_by_number() {
        let collective = "{ hosts = 2, collective = { kind = \"all-reduce\", bytes = \"1 MB\" } }";
        let told = assumed(&resolved(&format!("job = [{collective}, {{ workload = {{ {LLAMA} }} }}]")));
        assert!(
            told[0].starts_with("all-reduce by nvls-tree ")
                && told[0].ends_with("(job.0.collective.algorithm)"),
            "{told:?}"
        );
        assert!(told.iter().any(|line| line.ends_with("(job.1.workload.efficiency)")), "{told:?}");
        assert!(told.iter().any(|line| line.ends_with("(fabric.host.caps)")), "{told:?}");
        let down = "[[fault]]\nat = \"1 ms\"\ncable = \"host-0/nic-0:port-0\"\nkind = \"down\"\n";
        let told = assumed(&resolved(&format!("job = [{collective}]\n{down}")));
        assert!(
            told.iter()
                .any(|line| line == "queue pairs try again each 4.295 s, 7 times, then die (transport)")
        );
        assert!(told.iter().any(|line| line.ends_with("(reaction)")), "{told:?}");
        let told =
            assumed(&resolved(&format!("job = [{collective}]\ntransport = {{ timeout = 18 }}\n{down}")));
        assert!(!told.iter().any(|line| line.ends_with("(transport)")), "{told:?}");
    }

    #[test]
    fn memory_is_a_figure_of_each_job_that_says_it() {
        let figures = |job: &str| Run::of(resolved(job), &|| ()).info.figures;
        let one = figures(&format!("job = [{{ workload = {{ {LLAMA} }} }}]"));
        let value =
            |name: &str| one.iter().find(|figure| figure.name == name).and_then(|figure| figure.value);
        // 6,738,415,616 parameters on eight ranks, of which this host has two sets.
        let parameters = 6_738_415_616.0 / 8.0;
        assert_eq!(value("gpu_memory_weights"), Some(2.0 * parameters));
        assert_eq!(value("gpu_memory_gradients"), Some(2.0 * parameters));
        assert_eq!(value("gpu_memory_optimizer"), Some(12.0 * parameters));
        let all = 16.0 * parameters + value("gpu_memory_activations").unwrap();
        assert_eq!(value("gpu_memory"), Some(all));
        assert!((value("gpu_memory_share").unwrap() - all / 85_899_345_920.0).abs() < 1e-9);
        let collective = "{ hosts = 1, collective = { kind = \"all-reduce\", bytes = \"1 MB\" } }";
        let none = figures(&format!("job = [{collective}]"));
        assert!(!none.iter().any(|figure| figure.name.contains("memory")), "{none:?}");
        let two = figures(&format!("job = [{collective}, {{ name = \"b\", workload = {{ {LLAMA} }} }}]"));
        assert!(two.iter().any(|figure| figure.name == "b.gpu_memory"), "{two:?}");
        assert!(two.iter().all(|figure| !figure.name.starts_with("gpu_memory")), "{two:?}");
    }
}

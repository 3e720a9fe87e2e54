//! Whether the memory of a GPU holds what a training job keeps in it.
use railtwin_fabric::HostModel;
use railtwin_workload::Recompute;
use railtwin_workload::memory::Memory;
use railtwin_workload::recipe::Training;

const GIB: f64 = (1_u64 << 30) as f64;

/// What is missing and what would help; none where the job fits, or the memory of the host's GPUs is unknown.
pub(crate) fn shortage(training: &Training, host: &HostModel) -> Option<(String, String)> {
    let limit = host.gpu_memory?.0 as f64;
    let memory = training.memory();
    if memory.total() <= limit {
        return None;
    }
    let parts: Vec<String> =
        memory.parts().iter().map(|(name, bytes)| format!("{name} {:.1}", bytes / GIB)).collect();
    let message = format!(
        "a GPU of stage {} needs {:.1} GiB, but one of {} has {:.1} GiB: {}",
        memory.stage,
        memory.total() / GIB,
        host.name,
        limit / GIB,
        parts.join(", ")
    );
    let remedy = match remedies(training).into_iter().find(|(_, memory)| memory.total() <= limit) {
        Some((words, memory)) => format!("write {words}, which needs {:.1} GiB", memory.total() / GIB),
        None if training.model.has_experts() => "raise ep or pp".to_owned(),
        None => "raise tp or pp".to_owned(),
    };
    Some((message, format!("{remedy}, or memory = \"allow\" to run it all the same")))
}

/// The same job with less in memory, the change that costs least first.
fn remedies(training: &Training) -> Vec<(String, Memory)> {
    let mut all = Vec::new();
    let stages = if training.parallelism.dp > 1 && !training.model.has_experts() { 3 } else { training.zero };
    for recompute in [training.recompute, Recompute::Selective, Recompute::Full] {
        for zero in training.zero..=stages {
            let mut words = Vec::new();
            if zero != training.zero {
                words.push(format!("zero = {zero}"));
            }
            if recompute != training.recompute {
                let name = if recompute == Recompute::Full { "full" } else { "selective" };
                words.push(format!("recompute = \"{name}\""));
            }
            let keeps_more = training.recompute == Recompute::Full && recompute == Recompute::Selective;
            if !words.is_empty() && !keeps_more {
                all.push((words.join(" and "), Training { zero, recompute, ..*training }.memory()));
            }
        }
    }
    all
}

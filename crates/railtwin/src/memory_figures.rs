//! What a training job keeps in the memory of a GPU, as figures.
use railtwin_engine::Case;
use railtwin_store::Figure;

use crate::figures::declared::{Named, job as declared};

/// Bytes by kind of the GPU that holds most, of each job whose workload says them. Collectives, traces and files of other
/// tools do not: they have no such figure.
pub fn figures(case: &Case) -> Vec<Figure> {
    let several = case.work.jobs.len() > 1;
    let mut figures = Vec::new();
    for (job, places) in case.work.jobs.iter().zip(&case.placements) {
        let Some(memory) = &job.plan.memory else { continue };
        let note = format!("on a GPU of stage {}, which holds most", memory.stage);
        let mut push = |of: Named, value: f64, note: &str| {
            let figure = of.figure(value, note);
            let name = if several { format!("{}.{}", job.name, figure.name) } else { figure.name };
            figures.push(Figure { name, ..figure });
        };
        for (part, bytes) in memory.parts() {
            push(declared::GPU_MEMORY_PART.of(part), bytes.round(), &note);
        }
        let all = format!("weights, gradients, optimizer and activations {note}");
        push(declared::GPU_MEMORY.into(), memory.total().round(), &all);
        let of_host = places.first().and_then(|place| case.fabric.host_model(place.host).gpu_memory);
        if let Some(limit) = of_host {
            let note =
                format!("gpu_memory over the {:.0} GiB of a GPU", limit.0 as f64 / (1_u64 << 30) as f64);
            push(declared::GPU_MEMORY_SHARE.into(), memory.total() / limit.0 as f64, &note);
        }
    }
    figures
}

//! What a training job keeps in the memory of a GPU, as figures.
use railtwin_engine::Case;
use railtwin_store::Figure;

/// Bytes by kind of the GPU that holds most, of each job whose workload says them. Collectives, traces and files of other
/// tools do not: they have no such figure.
pub fn figures(case: &Case) -> Vec<Figure> {
    let several = case.work.jobs.len() > 1;
    let mut figures = Vec::new();
    for (job, places) in case.work.jobs.iter().zip(&case.placements) {
        let Some(memory) = &job.plan.memory else { continue };
        let note = format!("on a GPU of stage {}, which holds most", memory.stage);
        let mut push = |name: &str, value: f64, unit: &str, note: &str| {
            let name = if several { format!("{}.{name}", job.name) } else { name.to_owned() };
            let mut figure = Figure::new(&name, value, unit);
            figure.note = note.to_owned();
            figures.push(figure);
        };
        for (part, bytes) in memory.parts() {
            push(&format!("gpu_memory_{part}"), bytes.round(), "bytes", &note);
        }
        push(
            "gpu_memory",
            memory.total().round(),
            "bytes",
            &format!("weights, gradients, optimizer and activations {note}"),
        );
        let of_host = places.first().and_then(|place| case.fabric.host_model(place.host).gpu_memory);
        if let Some(limit) = of_host {
            let note =
                format!("gpu_memory over the {:.0} GiB of a GPU", limit.0 as f64 / (1_u64 << 30) as f64);
            push("gpu_memory_share", memory.total() / limit.0 as f64, "ratio", &note);
        }
    }
    figures
}

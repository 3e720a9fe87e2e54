//! A SimAI workload as a training step: what the rows of the file mean.
//!
//! The file unrolls one pipeline stage: rows that run once, then `ga` micro-batches, each from an
//! `embedding_layer` row to a `final_*` row, then rows of the loss and the optimizer. Read so:
//!
//! * Every stage runs the rows between embedding and final row; the embedding belongs to the first stage,
//!   the final rows to the last.
//! * `vpp` cuts a stage into that many model chunks (interleaved 1F1B), as SimAI's own bubble formula does,
//!   where the rows divide; the caller may say otherwise.
//! * The rows before the first embedding (gradient and parameter collectives of the distributed optimizer) run
//!   once on every stage after its last backward pass, last row first; then the loss and optimizer rows.
//! * `pp_comm` bytes go from every rank of a stage to its like in the next, for each micro-batch and chunk.
use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_workload::pipeline::Pipeline;
use railtwin_workload::train::{Phase as StepPhase, PhaseCollective, Row, TrainingStep};
use railtwin_workload::{Axis, Collective, Parallelism, Plan};

use crate::error::FormatError;
use crate::simai::{CollectiveKind, Group, Phase, SimaiLayer, SimaiWorkload};

/// Prefixes of rows at the end of the file that run once.
const ONCE_AT_THE_END: [&str; 2] = ["cross_entropy", "optimizer"];

/// Rows of the file by what they mean.
#[derive(Debug)]
struct Parts<'a> {
    head: &'a [SimaiLayer],
    micro_batches: Vec<&'a [SimaiLayer]>,
    tail: &'a [SimaiLayer],
}

impl SimaiWorkload {
    /// The graph of operations of one step. `source_name` is the name that errors show; `interleave`
    /// overrides the model chunks of a stage.
    ///
    /// # Errors
    /// [`FormatError`] where header and rows do not make a job.
    pub fn plan(&self, source_name: &str, interleave: Option<u32>) -> Result<Plan, FormatError> {
        let mut notes = self.warnings.clone();
        let parts = self.parts(&mut notes);
        let parallelism = self.parallelism(source_name)?;
        let chunks = self.chunks(&parts, interleave, &mut notes);
        let pipeline = Pipeline { stages: self.pp, chunks, micro_batches: parts.micro_batches.len() as u32 };
        let (segments, segments_of) = segments(&parts, pipeline);
        let mut closing: Vec<Row> = parts.head.iter().rev().map(row).collect();
        closing.extend(parts.tail.iter().map(row));
        closing.push(self.update());
        let step = TrainingStep {
            parallelism,
            pipeline,
            segments,
            segments_of,
            stage_bytes: self.pp_comm_bytes,
            closing,
            algorithms: BTreeMap::new(),
        };
        let mut plan = step.plan().map_err(|error| {
            FormatError::new("SimAI workload", source_name, error.to_string(), "change the header to fit")
        })?;
        plan.notes = notes;
        Ok(plan)
    }

    /// Compute time of all rows: forward, input gradient, weight gradient and update together.
    pub fn compute(&self) -> SimTime {
        let row = |layer: &SimaiLayer| {
            let phases = [layer.forward, layer.input_gradient, layer.weight_gradient];
            phases.iter().map(|phase| phase.compute_ns).sum::<u64>() + layer.update_ns
        };
        SimTime::from_ns(self.layers.iter().map(row).sum())
    }

    fn parts(&self, notes: &mut Vec<String>) -> Parts<'_> {
        let rows = &self.layers[..];
        let starts: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].name == "embedding_layer").collect();
        let once = |layer: &SimaiLayer| ONCE_AT_THE_END.iter().any(|name| layer.name.starts_with(name));
        let body_end = rows.iter().rposition(|layer| !once(layer)).map_or(0, |last| last + 1);
        if starts.len() as u32 != self.ga || starts.last().is_some_and(|&last| last >= body_end) {
            notes.push(format!(
                "the file has {} embedding rows for ga {}: its rows run as one micro-batch",
                starts.len(),
                self.ga
            ));
            return Parts { head: &[], micro_batches: vec![&rows[..body_end]], tail: &rows[body_end..] };
        }
        let ends = starts[1..].iter().copied().chain([body_end]);
        Parts {
            head: &rows[..starts[0]],
            micro_batches: starts.iter().zip(ends).map(|(&start, end)| &rows[start..end]).collect(),
            tail: &rows[body_end..],
        }
    }

    fn parallelism(&self, source_name: &str) -> Result<Parallelism, FormatError> {
        let model = self.tp * self.pp;
        let all = self.all_gpus.unwrap_or(model * self.ep);
        if !all.is_multiple_of(model) || all == 0 {
            let problem = format!("{all} GPUs are not a multiple of tp {} × pp {}", self.tp, self.pp);
            return Err(FormatError::new("SimAI workload", source_name, problem, "write all_gpus to fit"));
        }
        Ok(Parallelism { tp: self.tp, pp: self.pp, dp: all / model, ep: self.ep })
    }

    fn chunks(&self, parts: &Parts<'_>, interleave: Option<u32>, notes: &mut Vec<String>) -> u32 {
        if let Some(chunks) = interleave {
            return chunks;
        }
        let micro_batches = parts.micro_batches.len() as u32;
        let fits = self.pp > 1
            && micro_batches.is_multiple_of(self.pp)
            && parts.micro_batches.iter().all(|rows| (body(rows).len() as u32).is_multiple_of(self.vpp));
        if !fits && self.vpp > 1 && self.pp > 1 {
            notes.push(format!("vpp {} does not divide the rows of a stage: not interleaved", self.vpp));
        }
        if fits { self.vpp } else { 1 }
    }

    /// The weight updates of all rows together.
    fn update(&self) -> Row {
        let time = SimTime::from_ns(self.layers.iter().map(|layer| layer.update_ns).sum());
        let forward = StepPhase { compute: time, collective: None };
        let none = StepPhase::default();
        Row {
            name: "weight_update".into(),
            forward,
            input_gradient: none,
            weight_gradient: none,
            shards: None,
        }
    }
}

/// Rows of a micro-batch without embedding and final rows.
fn body(rows: &[SimaiLayer]) -> std::ops::Range<usize> {
    let start = usize::from(rows.first().is_some_and(|row| row.name.starts_with("embedding")));
    let end = rows.iter().rposition(|row| !row.name.starts_with("final")).map_or(start, |last| last + 1);
    start..end.max(start)
}

/// The runs of rows that passes refer to, equal ones once, and which each pass takes.
fn segments(parts: &Parts<'_>, pipeline: Pipeline) -> (Vec<Vec<Row>>, Vec<Vec<u32>>) {
    let mut segments: Vec<Vec<Row>> = Vec::new();
    let mut find = |rows: &[SimaiLayer]| -> u32 {
        let rows: Vec<Row> = rows.iter().map(row).collect();
        let known = segments.iter().position(|segment| *segment == rows);
        known.unwrap_or_else(|| {
            segments.push(rows);
            segments.len() - 1
        }) as u32
    };
    let mut per_micro_batch = Vec::new();
    for rows in &parts.micro_batches {
        let middle = body(rows);
        let chunk = middle.len() / pipeline.chunks as usize;
        let mut runs = vec![find(&rows[..middle.start])];
        for c in 0..pipeline.chunks as usize {
            let start = middle.start + c * chunk;
            let end = if c + 1 == pipeline.chunks as usize { middle.end } else { start + chunk };
            runs.push(find(&rows[start..end]));
        }
        runs.push(find(&rows[middle.end..]));
        per_micro_batch.push(runs);
    }
    let mut of = Vec::new();
    for stage in 0..pipeline.stages {
        for chunk in 0..pipeline.chunks {
            for runs in &per_micro_batch {
                let first = stage == 0 && chunk == 0;
                let last = stage + 1 == pipeline.stages && chunk + 1 == pipeline.chunks;
                let take = first.then_some(runs[0]).into_iter().chain([runs[chunk as usize + 1]]);
                of.push(take.chain(last.then_some(runs[runs.len() - 1])).collect());
            }
        }
    }
    (segments, of)
}

fn row(layer: &SimaiLayer) -> Row {
    Row {
        name: layer.name.clone(),
        forward: phase(layer.forward),
        input_gradient: phase(layer.input_gradient),
        weight_gradient: phase(layer.weight_gradient),
        shards: None,
    }
}

fn phase(phase: Phase) -> StepPhase {
    let collective = phase.collective.map(|collective| PhaseCollective {
        axis: match collective.group {
            Group::Tp => Axis::Tp,
            Group::Dp => Axis::Dp,
            Group::Ep => Axis::Ep,
            Group::DpEp => Axis::DpEp,
        },
        collective: match collective.kind {
            CollectiveKind::AllReduce => Collective::AllReduce,
            CollectiveKind::AllGather => Collective::AllGather,
            CollectiveKind::ReduceScatter => Collective::ReduceScatter,
            CollectiveKind::AllToAll => Collective::AllToAll,
            CollectiveKind::Broadcast => Collective::Broadcast,
        },
        bytes: phase.bytes,
    });
    StepPhase { compute: SimTime::from_ns(phase.compute_ns), collective }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SimaiWorkload {
        let bytes = include_bytes!("../../../data/simai/simai_workload_analytical.txt");
        SimaiWorkload::parse("simai_workload_analytical.txt", bytes).unwrap()
    }

    #[test]
    fn the_example_is_24_micro_batches_of_8_layers() {
        let workload = example();
        let parts = workload.parts(&mut Vec::new());
        assert_eq!((parts.head.len(), parts.micro_batches.len(), parts.tail.len()), (6, 24, 7));
        assert!(parts.micro_batches.iter().all(|rows| body(rows).len() == 8 * 9));
    }

    #[test]
    fn a_middle_stage_computes_the_file_without_embedding_and_final_rows() {
        let workload = example();
        let plan = workload.plan("x", None).unwrap();
        assert_eq!((plan.ranks, plan.lanes.len()), (9_216, 12));
        let of_rows = |keep: &dyn Fn(&SimaiLayer) -> bool| -> u64 {
            let sum = |l: &SimaiLayer| {
                l.forward.compute_ns + l.input_gradient.compute_ns + l.weight_gradient.compute_ns
            };
            workload.layers.iter().filter(|layer| keep(layer)).map(sum).sum()
        };
        let update: u64 = workload.layers.iter().map(|layer| layer.update_ns).sum();
        let edge = |l: &SimaiLayer| l.name == "embedding_layer" || l.name.starts_with("final");
        let middle = SimTime::from_ns(of_rows(&|l| !edge(l)) + update);
        assert_eq!(plan.compute_of_lane(5), middle);
        let all = plan.compute_of_lane(0) + plan.compute_of_lane(11) - middle;
        assert_eq!(all, workload.compute(), "first and last stage together hold the edge rows once");
    }

    #[test]
    fn every_stage_runs_the_expert_collectives_of_its_file() {
        let plan = example().plan("x", None).unwrap();
        let count = |lane, axis| plan.operations.iter().filter(|o| o.lane == lane && o.axis == axis).count();
        // 24 micro-batches × 8 layers × 2 all-to-alls, forward and backward.
        assert_eq!(count(4, Axis::Ep), 24 * 8 * 2 * 2);
        assert_eq!((count(4, Axis::DpEp), count(4, Axis::Dp)), (2, 2));
    }

    #[test]
    fn a_file_without_micro_batches_runs_as_one() {
        let bytes = include_bytes!("../../../data/simai/simai_micro_all_reduce.txt");
        let workload = SimaiWorkload::parse("micro", bytes).unwrap();
        let plan = workload.plan("micro", None).unwrap();
        assert_eq!(plan.ranks, 8);
        assert!(plan.notes.iter().any(|note| note.contains("one micro-batch")), "{:?}", plan.notes);
        let collectives = plan.operations.iter().filter(|o| o.axis == Axis::Tp).count();
        assert_eq!(collectives, 2);
    }
}

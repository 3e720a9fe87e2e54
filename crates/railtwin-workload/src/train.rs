//! A training step from what each pass of each stage does: pipeline order, sends between stages, overlap of
//! collectives with the weight gradient, and what runs once after the last backward pass.
use std::collections::BTreeMap;

use railtwin_units::SimTime;

use crate::collective::{Algorithm, Collective};
use crate::error::WorkloadError;
use crate::pipeline::{Pass, Pipeline};
use crate::plan::{Axis, Operation, OperationId, Pattern, PatternId, Plan, PlanBuilder, Work};
use crate::ranks::Parallelism;

/// A collective that ends a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhaseCollective {
    /// Axis whose communicators run it.
    pub axis: Axis,
    /// What they run.
    pub collective: Collective,
    /// Bytes as the collective counts them.
    pub bytes: u64,
}

/// Computation, then a collective that needs its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Phase {
    /// Time to compute.
    pub compute: SimTime,
    /// The collective, where there is one.
    pub collective: Option<PhaseCollective>,
}

/// One row of a model: a layer or a part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Name.
    pub name: String,
    /// Forward pass.
    pub forward: Phase,
    /// Gradient of the input: the backward pass of the rows before waits for it.
    pub input_gradient: Phase,
    /// Gradient of the weights: overlaps with the collective of the input gradient.
    pub weight_gradient: Phase,
    /// What data parallel ranks hold in parts; none where each holds the row whole.
    pub shards: Option<Shards>,
}

/// A row of which each data parallel rank holds a part (ZeRO stages 2 and 3, Rajbhandari et al. 2020).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shards {
    /// Bytes of weights gathered before the row runs forward; 0 = nothing to gather.
    pub forward: u64,
    /// Bytes of weights gathered before the row runs backward.
    pub backward: u64,
    /// Bytes of gradients scattered after the row ran backward.
    pub gradients: u64,
}

/// A training step of one job.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainingStep {
    /// Sizes of the axes.
    pub parallelism: Parallelism,
    /// Stages, chunks, micro-batches.
    pub pipeline: Pipeline,
    /// Runs of rows that passes refer to.
    pub segments: Vec<Vec<Row>>,
    /// Rows in `segments` for each pass, in order of stage, chunk, micro-batch; a pass runs several in turn.
    pub segments_of: Vec<Vec<u32>>,
    /// Bytes that one rank hands to the next stage for one micro-batch.
    pub stage_bytes: u64,
    /// What every stage runs once after its last backward pass, in order.
    pub closing: Vec<Row>,
    /// Algorithm of a collective; the default where not listed.
    pub algorithms: BTreeMap<(Axis, Collective), Algorithm>,
}

impl TrainingStep {
    /// The graph of operations, one lane for each stage.
    ///
    /// # Errors
    /// [`WorkloadError`] when sizes do not fit.
    pub fn plan(&self) -> Result<Plan, WorkloadError> {
        self.parallelism.check()?;
        self.pipeline.check()?;
        let lanes = (0..self.pipeline.stages).map(|stage| format!("stage {stage}")).collect();
        let mut writer = Writer {
            step: self,
            builder: PlanBuilder::new(self.parallelism.ranks(), lanes),
            patterns: BTreeMap::new(),
            sends: BTreeMap::new(),
            last: vec![Vec::new(); self.pipeline.stages as usize],
            begun: vec![Vec::new(); self.pipeline.stages as usize],
            scatters: vec![None; self.pipeline.stages as usize],
        };
        writer.passes();
        for stage in 0..self.pipeline.stages {
            let scatter = writer.scatters[stage as usize];
            writer.last[stage as usize].extend(scatter);
            for row in &self.closing {
                writer.backward(stage, row);
                writer.forward(stage, row);
            }
        }
        Ok(writer.builder.finish())
    }

    fn rows(&self, stage: u32, pass: Pass) -> impl DoubleEndedIterator<Item = &Row> {
        let chunk = stage * self.pipeline.chunks + pass.chunk;
        let index = chunk * self.pipeline.micro_batches + pass.micro_batch;
        self.segments_of[index as usize].iter().flat_map(|&segment| &self.segments[segment as usize])
    }
}

struct Writer<'a> {
    step: &'a TrainingStep,
    builder: PlanBuilder,
    patterns: BTreeMap<(u32, u32, Axis, Collective), PatternId>,
    /// The send that carries the output of a pass of a stage onward.
    sends: BTreeMap<(u32, Pass), OperationId>,
    /// What the next operation of a stage waits for.
    last: Vec<Vec<OperationId>>,
    /// What the latest row with gathered weights waited for: the next are gathered from then on.
    begun: Vec<Vec<OperationId>>,
    /// The latest scatter of gradients of a stage.
    scatters: Vec<Option<OperationId>>,
}

impl Writer<'_> {
    /// Writes all passes in an order in which every pass comes after what it needs.
    fn passes(&mut self) {
        let pipeline = self.step.pipeline;
        let orders: Vec<Vec<Pass>> = (0..pipeline.stages).map(|stage| pipeline.order(stage)).collect();
        let mut next = vec![0; orders.len()];
        let mut left: usize = orders.iter().map(Vec::len).sum();
        while left > 0 {
            for stage in 0..pipeline.stages {
                while let Some(&pass) = orders[stage as usize].get(next[stage as usize]) {
                    let input = pipeline.input(stage, pass);
                    let arrival = input.map(|from| self.sends.get(&from).copied());
                    if let Some(None) = arrival {
                        break;
                    }
                    self.pass(stage, pass, arrival.flatten());
                    next[stage as usize] += 1;
                    left -= 1;
                }
            }
        }
    }

    fn pass(&mut self, stage: u32, pass: Pass, arrival: Option<OperationId>) {
        self.last[stage as usize].extend(arrival);
        let step = self.step;
        if pass.forward {
            for row in step.rows(stage, pass) {
                self.forward(stage, row);
            }
        } else {
            for row in step.rows(stage, pass).rev() {
                self.backward(stage, row);
            }
        }
        self.send(stage, pass);
    }

    /// Hands the output of a pass to the stage that needs it.
    fn send(&mut self, stage: u32, pass: Pass) {
        let pipeline = self.step.pipeline;
        let stages = 0..pipeline.stages;
        let chunks = [pass.chunk, pass.chunk.wrapping_sub(1), pass.chunk + 1];
        let target = stages
            .flat_map(|s| chunks.map(|chunk| (s, Pass { chunk, ..pass })))
            .filter(|(_, p)| p.chunk < pipeline.chunks)
            .find(|&(s, p)| pipeline.input(s, p) == Some((stage, pass)));
        let Some((target, _)) = target else { return };
        if target == stage {
            return;
        }
        let pattern = self.pattern(stage, target, Axis::Pp, Collective::SendReceive);
        let name = self.builder.name(if pass.forward { "send activations" } else { "send gradients" });
        let work = Work::Communicate { pattern, bytes: self.step.stage_bytes };
        let operation = Operation { lane: stage, name, axis: Axis::Pp, work };
        let after = self.last[stage as usize].clone();
        let send = self.builder.push(operation, &after);
        self.sends.insert((stage, pass), send);
    }

    /// Gathers weights for a row while what the last weights were gathered for still computes.
    fn gather(&mut self, stage: u32, row: &Row, bytes: u64) {
        let gathered = PhaseCollective { axis: Axis::Dp, collective: Collective::AllGather, bytes };
        let after = self.begun[stage as usize].clone();
        if let Some(gather) = self.collective(stage, &row.name, Some(gathered), &after) {
            self.last[stage as usize].push(gather);
            self.begun[stage as usize] = self.last[stage as usize].clone();
        }
    }

    /// Scatters the gradients of a row, after those before it; nothing but the end of the step waits for it.
    fn scatter(&mut self, stage: u32, row: &Row, weight: &[OperationId]) {
        let bytes = row.shards.map_or(0, |shards| shards.gradients);
        let scattered = PhaseCollective { axis: Axis::Dp, collective: Collective::ReduceScatter, bytes };
        let mut after = weight.to_vec();
        after.extend(self.scatters[stage as usize]);
        after.sort_unstable();
        let scatter = self.collective(stage, &row.name, Some(scattered), &after);
        self.scatters[stage as usize] = scatter.or(self.scatters[stage as usize]);
    }

    fn forward(&mut self, stage: u32, row: &Row) {
        self.gather(stage, row, row.shards.map_or(0, |shards| shards.forward));
        let compute = self.compute(stage, &row.name, row.forward.compute);
        let done = self.collective(stage, &row.name, row.forward.collective, &compute);
        self.last[stage as usize] = done.map_or(compute, |id| vec![id]);
    }

    fn backward(&mut self, stage: u32, row: &Row) {
        self.gather(stage, row, row.shards.map_or(0, |shards| shards.backward));
        let input = self.compute(stage, &row.name, row.input_gradient.compute);
        let input_done = self.collective(stage, &row.name, row.input_gradient.collective, &input);
        self.last[stage as usize] = input;
        let weight = self.compute(stage, &row.name, row.weight_gradient.compute);
        let weight_done = self.collective(stage, &row.name, row.weight_gradient.collective, &weight);
        self.scatter(stage, row, &weight);
        let mut ends: Vec<OperationId> = input_done.into_iter().chain(weight_done).collect();
        if weight_done.is_none() {
            ends.extend(&weight);
        }
        ends.sort_unstable();
        ends.dedup();
        self.last[stage as usize] = ends;
    }

    /// A computation after what the stage did last; nothing is added for no time at all.
    fn compute(&mut self, stage: u32, name: &str, time: SimTime) -> Vec<OperationId> {
        let after = self.last[stage as usize].clone();
        if time == SimTime::ZERO {
            return after;
        }
        let name = self.builder.name(name);
        let work = Work::Compute(time);
        vec![self.builder.push(Operation { lane: stage, name, axis: Axis::Compute, work }, &after)]
    }

    fn collective(
        &mut self,
        stage: u32,
        name: &str,
        collective: Option<PhaseCollective>,
        after: &[OperationId],
    ) -> Option<OperationId> {
        let PhaseCollective { axis, collective, bytes } = collective.filter(|c| c.bytes > 0)?;
        let pattern = self.pattern(stage, stage, axis, collective);
        let name = self.builder.name(name);
        let work = Work::Communicate { pattern, bytes };
        Some(self.builder.push(Operation { lane: stage, name, axis, work }, after))
    }

    fn pattern(&mut self, stage: u32, target: u32, axis: Axis, collective: Collective) -> PatternId {
        if let Some(&pattern) = self.patterns.get(&(stage, target, axis, collective)) {
            return pattern;
        }
        let p = &self.step.parallelism;
        let communicators = match axis {
            Axis::Tp => p.tp_groups(stage),
            Axis::Ep => p.ep_groups(stage),
            Axis::DpEp => p.dp_ep_groups(stage),
            Axis::Pp => vec![p.stage_pairs(stage, target)],
            Axis::Dp | Axis::Compute | Axis::Other | Axis::Storage => p.dp_groups(stage),
        };
        let chosen = self.step.algorithms.get(&(axis, collective)).copied();
        let id = self.builder.pattern(Pattern::new(axis, collective, chosen, communicators));
        self.patterns.insert((stage, target, axis, collective), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(compute_ns: u64) -> Row {
        let compute = SimTime::from_ns(compute_ns);
        let phase = Phase { compute, collective: None };
        Row {
            name: "layer".into(),
            forward: phase,
            input_gradient: phase,
            weight_gradient: phase,
            shards: None,
        }
    }

    fn step(stages: u32, chunks: u32, micro_batches: u32) -> TrainingStep {
        TrainingStep {
            parallelism: Parallelism { tp: 1, pp: stages, dp: 2, ep: 1 },
            pipeline: Pipeline { stages, chunks, micro_batches },
            segments: vec![vec![row(10)]],
            segments_of: vec![vec![0]; (stages * chunks * micro_batches) as usize],
            stage_bytes: 100,
            closing: vec![],
            algorithms: BTreeMap::new(),
        }
    }

    #[test]
    fn every_stage_computes_all_passes_and_sends_between_stages() {
        let plan = step(3, 2, 6).plan().unwrap();
        for lane in 0..3 {
            assert_eq!(plan.compute_of_lane(lane), SimTime::from_ns(6 * 2 * 30));
        }
        let sends = plan.operations.iter().filter(|o| o.axis == Axis::Pp).count();
        // Forward: 6 micro-batches cross 5 chunk borders; backward the same.
        assert_eq!(sends, 2 * 6 * 5);
    }

    #[test]
    fn the_weight_gradient_does_not_wait_for_the_collective_of_the_input_gradient() {
        let mut one = step(1, 1, 1);
        let collective =
            Some(PhaseCollective { axis: Axis::Dp, collective: Collective::AllReduce, bytes: 8 });
        one.segments[0][0].input_gradient.collective = collective;
        let plan = one.plan().unwrap();
        let find = |axis, from: usize| {
            plan.operations.iter().skip(from).position(|o| o.axis == axis).map(|i| i + from).unwrap()
        };
        let all_reduce = find(Axis::Dp, 0);
        let weight = find(Axis::Compute, all_reduce + 1);
        let ids = |i: usize| plan.dependencies_of(OperationId::from_index(i)).to_vec();
        assert_eq!(ids(weight), ids(all_reduce), "both follow the input gradient's computation");
    }

    #[test]
    fn weights_are_gathered_while_the_row_before_computes_and_scatters_hold_nothing_up() {
        let mut one = step(1, 1, 2);
        let shards = Some(Shards { forward: 8, backward: 8, gradients: 8 });
        one.segments = vec![vec![Row { shards, ..row(10) }, Row { shards, ..row(10) }]];
        let plan = one.plan().unwrap();
        let of = |i: usize| plan.operations[i];
        let collective = |i: usize| match of(i).work {
            Work::Communicate { pattern, .. } => Some(plan.patterns[pattern.index()].collective),
            Work::Compute(_) => None,
        };
        let count = |kind| (0..plan.operations.len()).filter(|&i| collective(i) == Some(kind)).count();
        // Two rows, two micro-batches, forward and backward.
        assert_eq!((count(Collective::AllGather), count(Collective::ReduceScatter)), (8, 4));
        let computes: Vec<usize> = (0..plan.operations.len()).filter(|&i| collective(i).is_none()).collect();
        let waits = |i: usize| plan.dependencies_of(OperationId::from_index(i)).to_vec();
        for &compute in &computes {
            let waited = waits(compute);
            assert!(waited.iter().all(|id| collective(id.index()) != Some(Collective::ReduceScatter)));
        }
        for gather in (0..plan.operations.len()).filter(|&i| collective(i) == Some(Collective::AllGather)) {
            // Never for the computation of the row just before it.
            let before = computes.iter().rev().find(|&&i| i < gather);
            assert!(before.is_none_or(|&i| !waits(gather).contains(&OperationId::from_index(i))));
        }
    }
}

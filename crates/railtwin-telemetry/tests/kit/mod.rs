//! Small jobs on small fabrics, for tests and benches.
#![allow(dead_code, reason = "every test uses its part of the kit")]
#![allow(clippy::unwrap_used, reason = "a test")]
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_control::{PlacementPolicy, Placer};
use railtwin_engine::{
    Balancer, Case, EdgeRates, Engine, Impairment, RankFault, RankTrouble, RoutingCase, RunLog, WorkGraph,
};
use railtwin_fabric::preset::Hpn;
use railtwin_flowsim::FlowEngine;
use railtwin_records::Directory;
use railtwin_telemetry::{Durations, Replay, Settings};
use railtwin_units::SimTime;
use railtwin_workload::pipeline::Pipeline;
use railtwin_workload::train::{Phase, PhaseCollective, Row, TrainingStep};
use railtwin_workload::{Algorithm, Axis, Collective, Parallelism, Plan};

/// What a job does besides computing.
#[derive(Clone, Copy)]
pub struct Job {
    pub parallelism: Parallelism,
    pub layers: usize,
    pub micro_batches: u32,
    /// Bytes of the data-parallel collective.
    pub gradients: u64,
    pub dp: (Collective, Algorithm),
}

impl Job {
    pub fn new(tp: u32, pp: u32, dp: u32, ep: u32) -> Self {
        let parallelism = Parallelism { tp, pp, dp, ep };
        let dp = (Collective::AllReduce, Algorithm::Ring);
        Self { parallelism, layers: 2, micro_batches: if pp > 1 { 4 } else { 1 }, gradients: 1 << 30, dp }
    }

    pub fn plan(self) -> Plan {
        let p = self.parallelism;
        let compute = SimTime::from_ns(20_000_000);
        let ends = |axis, collective, bytes| Some(PhaseCollective { axis, collective, bytes });
        let within = if p.ep > 1 {
            ends(Axis::Ep, Collective::AllToAll, 64 << 20)
        } else if p.tp > 1 {
            ends(Axis::Tp, Collective::AllReduce, 64 << 20)
        } else {
            None
        };
        let row = |name: &str, phase: Phase, weight: Phase| Row {
            name: name.into(),
            forward: phase,
            input_gradient: phase,
            weight_gradient: weight,
            shards: None,
        };
        let layer = row("layer", Phase { compute, collective: within }, Phase { compute, collective: None });
        let none = Phase { compute: SimTime::ZERO, collective: None };
        let closing = Phase { compute: SimTime::ZERO, collective: ends(Axis::Dp, self.dp.0, self.gradients) };
        let closing = if p.dp > 1 { vec![row("gradients", none, closing)] } else { vec![] };
        let pipeline = Pipeline { stages: p.pp, chunks: 1, micro_batches: self.micro_batches };
        let step = TrainingStep {
            parallelism: p,
            pipeline,
            segments: vec![vec![layer; self.layers]],
            segments_of: vec![vec![0]; (p.pp * self.micro_batches) as usize],
            stage_bytes: 16 << 20,
            closing,
            algorithms: BTreeMap::from([((Axis::Dp, self.dp.0), self.dp.1)]),
        };
        step.plan().unwrap()
    }
}

/// A case of one job on an HPN pod with as many hosts as it needs.
pub fn case(job: Job, steps: u32) -> Case {
    let ranks = job.parallelism.ranks();
    let hosts = ranks.div_ceil(8);
    let per_segment = hosts.min(128);
    // 15 segments fill a pod.
    let pods = hosts.div_ceil(15 * per_segment);
    let fabric = Hpn {
        pods,
        segments: Some(hosts.div_ceil(pods * per_segment).max(2)),
        hosts: Some(per_segment),
        spare_hosts: Some(0),
        spines: Some(if hosts > 64 { 60 } else { 8 }),
        ..Hpn::default()
    };
    let fabric = Arc::new(fabric.build().unwrap());
    let mut work = WorkGraph::default();
    work.push("job".into(), SimTime::ZERO, job.plan(), steps);
    let placement = Placer::new(&fabric, 1).place("job", ranks, &PlacementPolicy::Packed).unwrap();
    let routing = RoutingCase { balancer: Balancer::Disjoint, ..RoutingCase::default() };
    Case { routing, ..Case::new(fabric, work, vec![placement]) }
}

/// The run of a case without its faults.
pub fn healthy_log(case: &Case) -> RunLog {
    let healthy =
        Case { faults: vec![], impairments: vec![], rank_faults: vec![], truths: vec![], ..case.clone() };
    FlowEngine::default().run(&healthy, 0)
}

/// Rates of the network without faults, and after each of `changes`.
pub fn states(case: &Case, changes: &[SimTime]) -> Vec<EdgeRates> {
    let healthy = Case { faults: vec![], impairments: vec![], ..case.clone() };
    let first = FlowEngine::default().edge_rates(&healthy, 0, SimTime::ZERO);
    let later = changes.iter().map(|&at| FlowEngine::default().edge_rates(case, 0, at));
    std::iter::once(first).chain(later).collect()
}

/// A replay of a case.
pub fn replay(case: &Case, settings: Settings, changes: &[SimTime]) -> (Replay, Directory) {
    let durations = Durations::from_log(&case.work, 0, &healthy_log(case)).unwrap();
    let mut directory = Directory::default();
    let states = states(case, changes);
    let replay = Replay::new(case, 0, durations, states, settings, &mut directory).unwrap();
    (replay, directory)
}

/// Trouble of a rank from the start on.
pub fn trouble(rank: u32, trouble: RankTrouble) -> RankFault {
    RankFault { job: 0, rank, from: SimTime::ZERO, until: SimTime::NEVER, trouble }
}

/// A link with a share of its capacity from the start on.
pub fn throttled(link: railtwin_fabric::LinkId, capacity: f64) -> Impairment {
    Impairment { capacity, ..Impairment::none(link) }
}

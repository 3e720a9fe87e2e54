//! A healthy job that faults are injected into: what every trial has in common.
use railtwin_engine::{Case, EdgeRates, Engine};
use railtwin_fabric::LinkId;
use railtwin_flowsim::FlowEngine;
use railtwin_scenario::Scenario;
use railtwin_telemetry::Durations;
use railtwin_units::SimTime;
use railtwin_workload::Axis;

use railtwin::Error;
use railtwin::Question;

/// Scenarios that are scored on, by number of ranks.
const SCENARIOS: [(u32, &str, &str); 3] = [
    (128, "llama-7b-128.toml", include_str!("../../../../scenarios/score/llama-7b-128.toml")),
    (1_024, "llama-7b-1024.toml", include_str!("../../../../scenarios/score/llama-7b-1024.toml")),
    (16_384, "llama-7b-16384.toml", include_str!("../../../../scenarios/score/llama-7b-16384.toml")),
];
/// A job with experts, and a neighbor's job beside it.
const EXPERTS: (&str, &str) = ("moe-128.toml", include_str!("../../../../scenarios/score/moe-128.toml"));

/// A resolved scenario, simulated once without faults. Its first job is the one that is looked at.
#[derive(Debug)]
pub struct Bench {
    /// Ranks of the job.
    pub ranks: u32,
    /// What faults are written into.
    pub scenario: Scenario,
    /// The case without faults.
    pub case: Case,
    /// What its operations take.
    pub durations: Durations,
    /// What its queue pairs carry.
    pub rates: EdgeRates,
    /// Links that its queue pairs cross, ascending.
    pub used: Vec<LinkId>,
}

impl Bench {
    /// Numbers of ranks that there are scenarios for.
    pub fn sizes() -> impl Iterator<Item = u32> {
        SCENARIOS.iter().map(|(ranks, ..)| *ranks)
    }

    /// The bench of so many ranks.
    ///
    /// # Errors
    /// What the scenario's own resolution says; none for the sizes of [`Self::sizes`] in a sound build.
    pub fn of(ranks: u32) -> Result<Option<Self>, Error> {
        let known = SCENARIOS.iter().find(|(size, ..)| *size == ranks);
        known.map(|(_, file, text)| Self::new(file, text)).transpose()
    }

    /// The bench of a job with experts, on whose leaves and spines a neighbor trains as well.
    ///
    /// # Errors
    /// What the scenario's own resolution says; none in a sound build.
    pub fn with_experts() -> Result<Self, Error> {
        Self::new(EXPERTS.0, EXPERTS.1)
    }

    fn new(file: &str, text: &str) -> Result<Self, Error> {
        let question = Question::of_text(file, text, std::path::Path::new("."));
        let point = question.points()?.remove(0);
        let resolved = question.resolve(&point.scenario)?;
        let (scenario, case) = (resolved.scenario, resolved.case);
        let engine = FlowEngine::default();
        let log = engine.run(&case, 0);
        let durations = Durations::from_log(&case.work, 0, &log)?;
        let rates = engine.edge_rates(&case, 0, SimTime::ZERO);
        let mut used: Vec<LinkId> = rates.links.iter().map(|&link| LinkId(link)).collect();
        used.sort_unstable();
        used.dedup();
        let ranks = case.work.jobs[0].plan.ranks;
        Ok(Self { ranks, scenario, case, durations, rates, used })
    }

    /// Axes whose operations ranks tell of: all that cross the fabric. Tensor parallel ones stay inside hosts.
    pub fn axes(&self) -> Vec<Axis> {
        let mut axes: Vec<Axis> = self.case.work.jobs[0].plan.patterns.iter().map(|one| one.axis).collect();
        axes.retain(|&axis| axis != Axis::Tp);
        axes.sort_unstable();
        axes.dedup();
        axes
    }
}

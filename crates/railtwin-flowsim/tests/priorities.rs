//! Priorities of jobs: who goes first, and what changes when a controller says so in the run.
use proptest::prelude::*;
use railtwin_control::controller::{Action, Controller, Decision, Event};
use railtwin_control::paths::JobId;
use railtwin_engine::own::{Own, Site};
use railtwin_engine::{Balancer, Engine, PRIORITY_MAX};
use railtwin_flowsim::{FlowEngine, Shortcuts};
use railtwin_testkit::near;
use railtwin_units::{SimTime, stream};
use railtwin_workload::OperationId;

use crate::engine_laws::{draws, run};

/// Gives jobs priorities by lot, again and again.
#[derive(Debug)]
struct ByLot {
    jobs: u32,
    period: SimTime,
    turn: u64,
}

impl Controller for ByLot {
    fn name(&self) -> &'static str {
        "by-lot"
    }
    fn on_event(&mut self, _now: SimTime, _event: &Event<'_>) {}
    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        if now < self.next_time() {
            return;
        }
        self.turn += 1;
        let job = (stream::mix(self.turn) % u64::from(self.jobs)) as u32;
        let priority = (stream::mix(stream::mix(self.turn)) % u64::from(PRIORITY_MAX + 1)) as u8;
        decisions.push(Decision { action: Action::Priority { job: JobId(job), priority }, reason: "lot" });
    }
    fn next_time(&self) -> SimTime {
        if self.turn == 40 {
            return SimTime::NEVER;
        }
        SimTime::from_ps(self.period.ps() * (self.turn + 1))
    }
}

/// Who ranks jobs gives priorities and paths by who else is there: what holds of priorities as they are said does not hold
/// of it.
fn without_crux(balancer: Balancer) -> Balancer {
    if balancer.sharing().is_some() { Balancer::Ecmp } else { balancer }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Strict priority: whoever goes first does not notice that anybody else is there.
    #[test]
    fn jobs_of_the_highest_priority_run_as_if_the_others_did_not(mut draw in draws()) {
        draw.priorities = vec![2, (draw.seed % 3) as u8, (draw.seed / 3 % 2) as u8];
        draw.balancer = without_crux(draw.balancer);
        let case = draw.case();
        let mut alone = case.clone();
        let lower = |priority: u8| priority < 2;
        for job in alone.work.jobs.iter_mut().filter(|job| lower(job.priority)) {
            job.start = SimTime::from_ns(1_000_000_000_000);
        }
        let (with, without) = (run(&case), run(&alone));
        prop_assert_eq!(with.unfinished, 0);
        for operation in 0..case.work.operations {
            let job = case.work.job_of(OperationId::from_index(operation));
            if !lower(case.work.jobs[job].priority) {
                let [a, b] = [&with, &without].map(|log| log.times.end[operation].seconds());
                prop_assert!(near(a, b, 1e-8, 1e-11), "{} {}", a, b);
            }
        }
    }

    /// What was known of patterns in flight goes on where priorities come in: as if all had been solved whole from the
    /// start, and to the end.
    #[test]
    fn priorities_said_in_the_run_lose_no_byte(mut draw in draws(), period in 1u64..3_000) {
        draw.balancer = without_crux(draw.balancer);
        let mut case = draw.case();
        let (jobs, period) = (case.work.jobs.len() as u32, SimTime::from_ns(period * 1_000));
        let made = move |_: &Site| vec![Box::new(ByLot { jobs, period, turn: 0 }) as Box<dyn Controller>];
        prop_assume!(Own::refused_by(case.routing.balancer).is_none());
        let plain = run(&case);
        case.own = Some(Own::new(&["by-lot"], made));
        let (log, whole) = (run(&case), FlowEngine { shortcuts: Shortcuts::NONE }.run(&case, 1));
        prop_assert_eq!(log.unfinished, 0);
        for (a, b) in log.times.end.iter().zip(&whole.times.end) {
            prop_assert!(near(a.seconds(), b.seconds(), 1e-7, 1e-10), "{} {}", a, b);
        }
        // Under a dynamic split priorities may move bytes to other paths.
        for (a, b) in log.link_bytes.iter().zip(if case.routing.is_dynamic() { &whole } else { &plain }.link_bytes.iter()) {
            prop_assert!(near(*a, *b, 1e-6, 1.0), "{} {}", a, b);
        }
    }
}

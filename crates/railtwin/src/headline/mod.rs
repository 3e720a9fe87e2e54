//! The headline of a run, and of two: evidence first, words after.
//!
//! What is worst comes first: jobs that never end, whom diagnosis accuses, what faults and packets cost; then how
//! long a step takes and of what; last what binds. Each number is a figure of the run, the difference of two, or a
//! count or time in its tables, written as they are there.
//!
//! * [`evidence`]: pieces of evidence and their order; [`trouble`]: collects them; [`words`]: writes them.
//! * [`stall`]: what stalls waited for.
//! * [`step`]: the result; [`life`]: that of weeks.
//! * [`limits`]: utilization while operations were in flight; [`latency`]: what takes time whatever the bytes;
//!   [`binds`]: what binds; [`bound`]: what a balancer could save at most.
//! * [`comparison`]: two runs.
//! * [`lines`]: the headline of at most thirty words, and the evidence below it.
//! * [`known`]: figures by name and job; [`numbers`]: how numbers are written.
pub mod binds;
pub mod bound;
pub mod comparison;
pub mod evidence;
pub mod known;
pub mod latency;
pub mod life;
pub mod limits;
pub mod lines;
pub mod numbers;
pub mod stall;
pub mod step;
pub mod trouble;
pub mod words;

use railtwin_engine::{BundleTable, Case};
use railtwin_store::Figure;

use crate::simulate::Simulation;
use crate::telemetry_run::TelemetryRun;
use evidence::{Evidence, What, rank};
use known::Known;

pub use comparison::{of_scenarios, of_two};
pub use lines::Headline;

/// Pieces of trouble that come before the result; the others are the last evidence lines.
const TROUBLES: usize = 2;

/// The headline of a run by the name of its scenario, its figures and its telemetry.
pub fn of_run(
    name: &str,
    figures: &[Figure],
    case: &Case,
    simulation: &Simulation,
    told: Option<&TelemetryRun>,
) -> Headline {
    let jobs = names(case);
    let again = case.work.jobs.iter().filter(|job| job.goes_on_as.is_some()).count();
    let known = Known { figures, jobs: &jobs, again };
    let mut all = trouble::standing(case, simulation, &known);
    all.extend(trouble::accused(told.map_or(&[][..], |told| &told.findings)));
    let end = trouble::last(&simulation.log).seconds();
    let costs = trouble::faults(&known, end);
    all.extend(trouble::injected(case, &known, end, &costs));
    all.extend(costs);
    all.extend(trouble::outside(case, end, told.map(|told| told.span_ns[1] as f64 / 1e9)));
    all.extend(stall::causes(&known, end));
    all.extend(trouble::packets(&known));
    all.extend(trouble::alarms(&simulation.log));
    text(name, all, &known, simulation.replicates.len())
}

/// The figures that tell what binds, of the replicate that is shown, by its table of bundles and the other figures.
pub fn figures(case: &Case, simulation: &Simulation, table: &BundleTable, others: &[Figure]) -> Vec<Figure> {
    let jobs = names(case);
    let axis = limits::costliest(&Known { figures: others, jobs: &jobs, again: 0 });
    limits::figures(case, (simulation.chosen, &simulation.log), table, axis)
}

fn names(case: &Case) -> Vec<String> {
    case.work.jobs.iter().map(|job| job.name.clone()).collect()
}

/// The headline of evidence and figures.
fn text(name: &str, mut all: Vec<Evidence>, known: &Known<'_>, draws: usize) -> Headline {
    let stands = all.iter().any(|evidence| evidence.what.stands());
    let named = all.iter().any(|e| matches!(&e.what, What::Stands { cause, .. } if cause.is_named()));
    // Of a job that stands it says nothing how long it stood, nor another time what it was that stopped it.
    all.retain(|evidence| match evidence.what {
        What::Stalled(_) | What::StallCauses(_) | What::Lost { .. } => !stands,
        What::Fault { .. } => !named,
        _ => true,
    });
    rank(&mut all);
    let jobs_standing = all.iter().filter(|e| matches!(e.what, What::Stands { .. })).count();
    let mut clauses: Vec<String> = Vec::new();
    if jobs_standing > 1 {
        let (standing, jobs) =
            (numbers::whole(jobs_standing as u64), numbers::whole(known.jobs.len() as u64));
        clauses.push(format!(
            "{standing} of {jobs} jobs never end, the first of them: {}",
            words::clause(&all[0])
        ));
    }
    // Of jobs that stand the first one is told, and how many they are.
    let told = all
        .iter()
        .enumerate()
        .filter(|(row, e)| jobs_standing < 2 || (*row > 0 && !matches!(e.what, What::Stands { .. })));
    clauses.extend(told.map(|(_, evidence)| words::clause(evidence)));
    let rest = clauses.split_off(clauses.len().min(TROUBLES));
    let faulty =
        all.iter().any(|e| matches!(e.what, What::Fault { .. } | What::Stalled(_) | What::Lost { .. }));
    // A job that stands has no step time, and what held it is no link that was full.
    if !stands {
        let lived = life::lived(known);
        clauses.splice(..0, lived);
        clauses.extend(step::result(known, draws));
        clauses.extend(binds::binds(known, faulty));
    }
    clauses.extend(rest);
    Headline::of(name, &clauses)
}

#[cfg(test)]
mod tests {
    use super::evidence::Cause;
    use super::*;

    fn piece(subject: &str, what: What, at: f64) -> Evidence {
        Evidence { subject: subject.to_owned(), what, cost: 1.0, at: Some(at), certainty: 1.0 }
    }

    #[test]
    fn of_jobs_that_stand_the_first_is_told_and_how_many_there_are() {
        let jobs = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let figures = [Figure::new("c.step_time", 1.0, "s")];
        let known = Known { figures: &figures, jobs: &jobs, again: 0 };
        let stands = |unfinished| What::Stands { cause: Cause::QueuePair(None), unfinished };
        let all = vec![piece("job a", stands(3), 9.0), piece("job b", stands(5), 4.0)];
        assert_eq!(
            text("x", all, &known, 1).text,
            "x: 2 of 3 jobs never end, the first of them: job b halted at 4.000 s: a queue pair died; 5 operations \
             stand unfinished."
        );
    }

    #[test]
    fn trouble_comes_before_the_result_and_what_binds_last() {
        let figures = [
            Figure::new("busbw_mean", 24.5e9, ""),
            Figure::new("step_time", 1.0, "s"),
            Figure::new("utilization_in_flight_nic_to_leaf", 0.95, "ratio"),
        ];
        let known = Known { figures: &figures, jobs: &[], again: 0 };
        let paused = piece("links from leaf to NIC", What::Paused { share: 0.5, frames: 15_183 }, 0.0);
        assert_eq!(
            text("x", vec![paused], &known, 1).text,
            "x: 15,183 pause frames: links from leaf to NIC stood still for up to 50.0 % of the run. \
             24.5 Gbps of bus bandwidth."
        );
    }
}

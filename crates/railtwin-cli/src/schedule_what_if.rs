//! `railtwin schedule --what-if`: the placements of a job before it is placed, the best first.
use std::thread::available_parallelism;

use railtwin::cost::{Cost, ELSEWHERE};
use railtwin::cost_json::of_what_if;
use railtwin::impact::StepTime;
use railtwin::what_if::{Outcome, Way, draws_most, options_of, row_of, what_if};
use railtwin_scenario::EngineName;

use crate::foreseen::goes_on;
use crate::impact::time;
use crate::meter::Meter;
use crate::one_point::one_point;
use crate::table::TextTable;
use crate::{CliError, Streams};

pub(crate) fn run(
    file: &str,
    (job, draws): (Option<&str>, Option<u32>),
    as_json: bool,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let (question, scenario) = one_point(file, "schedule --what-if")?;
    let wrong = |error| match error {
        railtwin::Error::Argument(message) => CliError::refused(&message),
        error => CliError::of(error, &question.text),
    };
    let row = row_of(&scenario, job).map_err(wrong)?;
    let options = options_of(&scenario, draws);
    let resolved = question.resolve(&scenario).map_err(wrong)?;
    let steps = resolved.case.work.jobs.iter().map(|job| job.steps).max().unwrap_or(1);
    let runs = (draws_most(&scenario, row, options), f64::from(options.steps) / f64::from(steps.max(1)));
    let runs_elsewhere = (runs.0, runs.1.max(1.0) * ELSEWHERE);
    let cores = available_parallelism().map_or(1, usize::from);
    let cost = Cost::of_runs(&resolved, runs_elsewhere, cores, railtwin::memory::limit()).map_err(wrong)?;
    if !goes_on(&cost, streams)? {
        return Ok(());
    }
    drop(resolved);
    let meter = Meter::new(runs.0, "replicates");
    let engine = railtwin::engines::engine(EngineName::Flow, 1);
    let ways = what_if(&question, &scenario, row, (&*engine, options), &|| meter.tick()).map_err(wrong)?;
    meter.finish();
    let name = &scenario.jobs[row].name;
    match as_json {
        true => writeln!(streams.out, "{:#}", of_what_if(name, &ways))?,
        false => write!(streams.out, "{}", text(name, &ways, options.draws))?,
    }
    Ok(())
}

fn text(job: &str, ways: &[Way], draws: u32) -> String {
    let found: Vec<&Outcome> = ways.iter().filter_map(|way| way.outcome.as_ref().ok()).collect();
    let others = found.first().map_or(&[][..], |outcome| &outcome.others);
    // Jobs that are placed after it may have other hosts in each way.
    let without = |outcome: &Outcome| -> Vec<String> {
        outcome.others.iter().map(|other| time(&other.without)).collect()
    };
    let shared = found.first().map(|first| without(first));
    let shared = shared.filter(|shared| found.iter().all(|outcome| without(outcome) == *shared));
    let mut table = TextTable::default();
    let head = ["placement", "rank order", "segments", "pods", job].into_iter();
    table.row(head.chain(others.iter().map(|other| other.name.as_str())).map(str::to_owned));
    for way in ways {
        let mut cells = vec![way.placement.clone(), way.rank_order.to_owned()];
        match &way.outcome {
            Ok(outcome) => {
                cells.extend([outcome.segments.to_string(), outcome.pods.to_string()]);
                cells.push(time(&outcome.step));
                cells.extend(outcome.others.iter().zip(without(outcome)).map(
                    |(other, without)| match shared {
                        Some(_) => time(&other.with),
                        None => format!("{}, without {without}", time(&other.with)),
                    },
                ));
            }
            Err(_) => cells.extend(vec!["–".to_owned(); 3 + others.len()]),
        }
        table.noted_row(cells, &note(way));
    }
    if let Some(shared) = shared.filter(|shared| !shared.is_empty()) {
        let head = [format!("without {job}"), "–".to_owned(), "–".to_owned(), "–".to_owned(), "–".to_owned()];
        table.row(head.into_iter().chain(shared));
    }
    let over = match draws {
        1 => "one draw: another may say otherwise; write --draws 50".to_owned(),
        _ => format!("medians over {draws} draws, 5 to 95 % of them in brackets"),
    };
    format!("step times of {job} and of the others, by placement of {job}; {over}\n\n{}", table.text())
}

/// What stands behind a row.
fn note(way: &Way) -> String {
    let mut notes = Vec::new();
    if way.is_written {
        notes.push("as written".to_owned());
    }
    if !way.same.is_empty() {
        notes.push(format!("the same GPUs: {}", way.same.join("; ")));
    }
    match &way.outcome {
        Ok(outcome) => notes.extend(reasons(outcome)),
        Err(why) => notes.push(why.clone()),
    }
    notes.join(" | ")
}

/// Why jobs have no step time.
fn reasons(outcome: &Outcome) -> Vec<String> {
    let own = [("it", &outcome.step)].into_iter();
    let all = own.chain(outcome.others.iter().map(|other| (other.name.as_str(), &other.with)));
    all.filter_map(|(name, step): (&str, &StepTime)| Some(format!("{name} {}", step.reason()?))).collect()
}

//! `railtwin schedule` of a scenario: what the controller that ranks jobs hands out in its run.
use railtwin::Question;
use railtwin::cost::Cost;
use railtwin::schedule::{RunJob, RunSchedule, of_scenario, run_policies, run_policy};
use railtwin_scenario::Balancer;

use crate::foreseen::goes_on;
use crate::schedule_args::ScheduleArgs;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// Queue pairs that the text lists at most.
const LISTED: usize = 64;

pub(crate) fn run(
    args: &ScheduleArgs,
    question: &Question,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let asked = asked(args)?;
    let wrong = |error| CliError::of(error, &question.text);
    let scenario = question.points().map_err(wrong)?.into_iter().next().map(|point| point.scenario);
    let resolved = scenario.map(|scenario| question.resolve(&scenario)).transpose().map_err(wrong)?;
    if let Some(resolved) = resolved
        && !goes_on(&Cost::of_paths(&resolved), streams)?
    {
        return Ok(());
    }
    let (schedule, warnings) = of_scenario(question, asked, args.replicate.unwrap_or(0))
        .map_err(|error| CliError::of(error, &question.text))?;
    for warning in &warnings {
        writeln!(streams.notes, "{warning}")?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&schedule).expect("schedules are JSON");
        return Ok(writeln!(streams.out, "{json}")?);
    }
    shown(&schedule, streams)
}

/// The balancer that is asked for; none where the scenario says.
fn asked(args: &ScheduleArgs) -> Result<Option<Balancer>, CliError> {
    let given =
        [("--compare", args.compare), ("--optimum", args.optimum), ("--profile", args.profile.is_some())];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        let message = format!("{flag} is of files with [[link]] and [[job]], not of scenarios");
        return Err(CliError::input(message, "leave it out; `railtwin run` has the figures of a scenario"));
    }
    let refused = |policy: &str| {
        let message = format!("--policy {policy}: no controller of a run decides so");
        CliError::input(message, format!("in a scenario write one of {}", run_policies()))
    };
    args.policy.as_deref().map(|policy| run_policy(policy).map_err(|_| refused(policy))).transpose()
}

fn shown(schedule: &RunSchedule, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let RunSchedule { policy, levels, replicate, jobs } = schedule;
    let word = if *levels == 1 { "level" } else { "levels" };
    writeln!(streams.out, "{policy}: {levels} {word}, replicate {replicate}")?;
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    fn whole<T: ToString>(value: Option<T>) -> String {
        value.map_or("–".to_owned(), |value| value.to_string())
    }
    let mut table = TextTable::default();
    let head =
        ["job", "GPUs", "compute", "intensity", "factor", "priority", "level", "in the run", "DSCP", "class"];
    table.row(head.map(str::to_owned));
    for job in jobs {
        table.row([
            job.name.clone(),
            job.gpus.to_string(),
            format!("{:.6} s", job.compute_s),
            number(job.intensity),
            number(job.factor),
            number(job.priority),
            whole(job.level),
            whole(job.run_priority),
            whole(job.dscp),
            whole(job.traffic_class),
        ]);
    }
    writeln!(streams.out, "{}", table.text())?;
    pairs(jobs, streams)
}

/// One line for each queue pair, as far as there is room.
fn pairs(jobs: &[RunJob], streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut table = TextTable::default();
    table.row(["job", "from", "to", "queue pair", "source port", "class", "by", "why"].map(str::to_owned));
    let all = jobs.iter().flat_map(|job| job.queue_pairs.iter().map(move |pair| (job, pair)));
    let count = all.clone().count();
    for (job, pair) in all.take(LISTED) {
        let between = &pair.links[pair.links.len().min(1)..pair.links.len().saturating_sub(1)];
        table.row([
            job.name.clone(),
            pair.source.clone(),
            pair.target.clone(),
            pair.number.to_string(),
            pair.source_port.map_or("–".to_owned(), |port| port.to_string()),
            job.traffic_class.map_or("–".to_owned(), |class| class.to_string()),
            if between.is_empty() { "–".to_owned() } else { between.join(" ") },
            pair.reason.to_owned(),
        ]);
    }
    write!(streams.out, "{}", table.text())?;
    if count > LISTED {
        writeln!(streams.notes, "{LISTED} of {count} queue pairs; --json has all")?;
    }
    Ok(())
}

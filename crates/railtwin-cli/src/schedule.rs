//! `railtwin schedule`: who goes first, by which path, when jobs share links.
use std::path::Path;

use railtwin::Question;
use railtwin::cost::Cost;
use railtwin::schedule::{
    Asked, JobSchedule, OPTIMUM, STEPS_MOST, Schedule, SharingPolicy, has_fabric, optima, profiled, schedule,
};
use railtwin_units::SimTime;

use crate::foreseen::goes_on;
use crate::schedule_args::ScheduleArgs;
use crate::table::TextTable;
use crate::{CliError, Streams, schedule_run};

pub(crate) fn run(args: &ScheduleArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let file = &args.file;
    if args.what_if {
        return crate::schedule_what_if::run(
            &file.display().to_string(),
            (args.job.as_deref(), args.draws),
            args.json,
            streams,
        );
    }
    let question = Question::read(Path::new(file)).map_err(|error| CliError::of(error, ""))?;
    if has_fabric(&question.text) {
        return schedule_run::run(args, &question, streams);
    }
    if args.replicate.is_some() {
        let message = "--replicate is of scenarios, whose runs draw".to_owned();
        return Err(CliError::input(message, "leave it out: the file has a seed"));
    }
    if !goes_on(&Cost::least("the jobs of a file"), streams)? {
        return Ok(());
    }
    let text = question.text;
    let asked = Asked::parse(&file.display().to_string(), &text)
        .map_err(|error| CliError::of(railtwin::Error::from(error), &text))?;
    let asked = match args.profile {
        None => asked,
        Some(window) => measured(&asked, window, streams)?,
    };
    let policies = match args.compare {
        true => SharingPolicy::ALL.to_vec(),
        false => {
            let policy = args.policy.as_deref().unwrap_or("crux");
            vec![SharingPolicy::named(policy).expect("the call was checked")]
        }
    };
    let mut schedules: Vec<Schedule> = policies.into_iter().map(|policy| schedule(&asked, policy)).collect();
    if args.optimum {
        let best = optima(&asked).map_err(|message| CliError::input(message, "leave --optimum out"))?;
        schedules.extend(best);
    }
    if args.json {
        let json = match (schedules.as_slice(), args.compare) {
            ([one], false) => serde_json::to_string_pretty(one),
            (all, _) => serde_json::to_string_pretty(all),
        };
        return Ok(writeln!(streams.out, "{}", json.expect("schedules are JSON"))?);
    }
    if args.compare {
        return compared(&schedules, streams);
    }
    for (place, schedule) in schedules.iter().enumerate() {
        if place > 0 {
            writeln!(streams.out)?;
        }
        shown(schedule, streams)?;
    }
    Ok(())
}

/// The jobs with measured intensities; those of which nothing was told keep theirs, with a note.
fn measured(asked: &Asked, window: SimTime, streams: &mut Streams<'_>) -> Result<Asked, CliError> {
    let most = asked.steps_within(window);
    if most > STEPS_MOST {
        let message = format!("--profile {} s has {most:.0} steps of all jobs", window.seconds());
        return Err(CliError::input(message, format!("write a time with at most {STEPS_MOST} of them")));
    }
    let (measured, steps) = profiled(asked, window);
    for (job, step) in asked.tenants.jobs.iter().zip(steps) {
        let name = &job.name;
        match step {
            Some(step) => writeln!(streams.notes, "{name}: a step of {step:.4} s by its traffic")?,
            None => writeln!(
                streams.notes,
                "{name}: its traffic tells no step; its intensity is that of the file"
            )?,
        }
    }
    Ok(measured)
}

/// One line for each policy.
fn compared(schedules: &[Schedule], streams: &mut Streams<'_>) -> Result<(), CliError> {
    let mut table = TextTable::default();
    table.row(["policy", "levels", "utilization", "work/s", "slowest"].map(str::to_owned));
    for schedule in schedules {
        let slowest = schedule.jobs.iter().filter_map(|job| Some((slowdown(job)?, &job.name)));
        let slowest = slowest.max_by(|first, second| first.0.total_cmp(&second.0));
        let cells = [
            schedule.policy.clone(),
            schedule.levels.to_string(),
            format!("{:.4}", schedule.utilization),
            format!("{:.4}", schedule.work_per_s),
            slowest.map_or("–".to_owned(), |(times, name)| format!("{name} × {times:.3}")),
        ];
        table.noted_row(cells, &beyond(schedule));
    }
    write!(streams.out, "{}", table.text())?;
    if schedules.iter().any(|schedule| schedule.tried.is_some()) {
        writeln!(
            streams.out,
            "\n{OPTIMUM}: the most work/s over all paths and orders of jobs, and of cassini's time shifts"
        )?;
    }
    Ok(())
}

/// That a schedule takes more levels than the network has.
fn beyond(schedule: &Schedule) -> String {
    match schedule.levels > schedule.network_levels {
        true => format!("the network has {}", counted(schedule.network_levels)),
        false => String::new(),
    }
}

/// `1 level`, `2 levels`.
fn counted(levels: u32) -> String {
    if levels == 1 { "1 level".to_owned() } else { format!("{levels} levels") }
}

/// Times that a job's step takes of what it takes alone.
fn slowdown(job: &JobSchedule) -> Option<f64> {
    Some(job.step_s? / job.step_alone_s)
}

/// One line for each job.
fn shown(schedule: &Schedule, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let reference = schedule.reference_job.as_ref();
    let held = reference.map_or(String::new(), |job| format!(", correction factors against {job}"));
    let tried = schedule.tried.map_or(String::new(), |tried| {
        let within = if schedule.policy == OPTIMUM {
            String::new()
        } else {
            format!(" within {}", counted(schedule.network_levels))
        };
        format!(", the most work{within} of {tried} ways to choose paths and of cassini's time shifts")
    });
    writeln!(streams.out, "{}: utilization {:.4}{held}{tried}", schedule.policy, schedule.utilization)?;
    let mut table = TextTable::default();
    let head = [
        "job",
        "GPUs",
        "intensity",
        "factor",
        "priority",
        "level",
        "DSCP",
        "class",
        "shift",
        "step alone",
        "step",
        "ports",
    ];
    table.row(head.map(str::to_owned));
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    let whole = |value: Option<u8>| value.map_or("–".to_owned(), |value| value.to_string());
    for job in &schedule.jobs {
        let ports: Vec<String> = job
            .transfers
            .iter()
            .map(|taken| taken.source_port.map_or(format!("path {}", taken.path), |port| port.to_string()))
            .collect();
        table.row([
            job.name.clone(),
            job.gpus.to_string(),
            number(job.intensity),
            number(job.factor),
            number(job.priority),
            job.level.to_string(),
            whole(job.dscp),
            whole(job.traffic_class),
            format!("{:.4} s", job.shift_s),
            format!("{:.4} s", job.step_alone_s),
            job.step_s.map_or("–".to_owned(), |step| format!("{step:.4} s")),
            if ports.is_empty() { "–".to_owned() } else { ports.join(" ") },
        ]);
    }
    Ok(write!(streams.out, "{}", table.text())?)
}

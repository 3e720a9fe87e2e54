//! `railtwin downtime`: where a job's time goes when it crashes, as booked, as expected, as recorded, as published.
use clap::Args;
use railtwin::cost::Cost;
use railtwin_reliability::downtime::Booking;
use railtwin_reliability::failure_rates::Cause;
use serde_json::{Map, Value, json};

use crate::downtime_incidents::{Job, read};
use crate::downtime_lines::LINES;
use crate::downtime_plan::PlanFlags;
use crate::downtime_text::{hours_of, percent};
use crate::foreseen::{goes_on, unknown};
use crate::table::TextTable;
use crate::{CliError, Streams, downtime_life, downtime_plan, downtime_replay, downtime_table3};

/// Arguments of `downtime`.
#[derive(Args, Debug)]
#[command(
    after_help = "Without --plan, --replay, --table3 or --run, FILE lists incidents (.csv or .json), which are booked."
)]
pub struct DowntimeArgs {
    /// Incidents (.csv or .json), a plan (.toml) with --plan, a history of faults (.json) with --replay, or a scenario
    /// (.toml) with --run
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Say what to expect of a job: downtime, money, the best checkpoint interval, spares
    #[arg(long)]
    plan: bool,
    /// Replay a history of faults: hosts out of service, spares, mean time between failures
    #[arg(long, conflicts_with = "plan")]
    replay: bool,
    /// Print C4's Table III beside what its rates and times come to
    #[arg(long, conflicts_with_all = ["plan", "replay"])]
    table3: bool,
    /// Live through the failures of a scenario with [steering] and book it beside Table III
    #[arg(long, conflicts_with_all = ["plan", "replay", "table3", "hours"])]
    run: bool,
    /// Lives by lot, in place of the scenario's
    #[arg(long, value_name = "COUNT", requires = "run")]
    seeds: Option<String>,
    /// Hours that each job was watched, or that the plan asks about
    #[arg(long, value_name = "HOURS")]
    hours: Option<String>,
    #[command(flatten)]
    flags: PlanFlags,
    /// Hosts of the cluster of a history
    #[arg(long, value_name = "COUNT", requires = "replay")]
    hosts: Option<String>,
    /// Share of the time in which spares are to suffice, such as 0.99
    #[arg(long, value_name = "SHARE", requires = "replay")]
    availability: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DowntimeArgs, streams: &mut Streams<'_>) -> Result<(), CliError> {
    let file = args.file.as_deref();
    let flags = args.flags.given();
    if let (false, Some((flag, _))) = (args.plan, flags.first()) {
        let message = format!("--{} belongs to a plan", flag.replace('_', "-"));
        return Err(CliError::input(message, "write --plan as well"));
    }
    if args.run {
        unknown("`downtime --run`")?;
    } else if !goes_on(&Cost::least("incidents"), streams)? {
        return Ok(());
    }
    let (json, text) = match (args.plan, args.replay, args.table3) {
        _ if args.run => downtime_life::answer(file, args.seeds.as_deref())?,
        (true, ..) => downtime_plan::answer(file, args.hours.as_deref(), &flags)?,
        (_, true, _) => {
            let hours = args.hours.as_deref();
            downtime_replay::answer(file, hours, args.hosts.as_deref(), args.availability.as_deref())?
        }
        (_, _, true) => match file.or(args.hours.as_deref()) {
            None => downtime_table3::answer(),
            Some(more) => {
                let message = format!("--table3 takes nothing else, but there is {more}");
                return Err(CliError::input(message, "leave it out"));
            }
        },
        _ => booked(file, args.hours.as_deref())?,
    };
    match args.json {
        true => {
            serde_json::to_writer_pretty(&mut *streams.out, &json).map_err(std::io::Error::from)?;
            Ok(writeln!(streams.out)?)
        }
        false => Ok(write!(streams.out, "{text}")?),
    }
}

/// The account of a file of incidents, as JSON and for people.
fn booked(file: Option<&str>, hours: Option<&str>) -> Result<(Value, String), CliError> {
    let Some(file) = file else {
        let message = "there is no file of incidents";
        return Err(CliError::input(
            message,
            "name a .csv or .json file, or write --plan, --replay, --table3 or --run",
        ));
    };
    let hours = hours.map(hours_of).transpose()?;
    let jobs = read(file, hours)?;
    let all = jobs.iter().skip(1).fold(jobs[0].booking.clone(), |sum, job| sum.joined(&job.booking));
    let by_job: Vec<Value> = jobs.iter().map(|job| value_of(&job.name, &job.booking)).collect();
    Ok((json!({ "jobs": by_job, "all": value_of("all", &all) }), text_of(&jobs, &all)))
}

fn value_of(name: &str, booking: &Booking) -> Value {
    let by_cause = |counts: &[u32; 5]| -> Map<String, Value> {
        Cause::ALL.iter().map(|cause| (cause.name().to_owned(), json!(counts[cause.index()]))).collect()
    };
    json!({
        "job": name,
        "hours": booking.span,
        "crashes": by_cause(&booking.crashes),
        "slowdowns": { "communication": booking.slowdowns[0], "other": booking.slowdowns[1] },
        "time_h": booking.time,
        "share": booking.shares(),
        "overlap_h": booking.overlap,
    })
}

fn text_of(jobs: &[Job], all: &Booking) -> String {
    let mut columns: Vec<(&str, &Booking)> =
        jobs.iter().map(|job| (job.name.as_str(), &job.booking)).collect();
    if jobs.len() > 1 {
        columns.push(("all", all));
    }
    let mut table = TextTable::default();
    let heads = columns.iter().flat_map(|(name, _)| [(*name).to_owned(), "hours".to_owned()]);
    table.row(std::iter::once(String::new()).chain(heads));
    // A plan's parts; nothing of a file of incidents is booked as these.
    let absent = ["waiting for spares", "checkpointing"];
    for (name, of) in LINES.iter().filter(|(name, _)| !absent.contains(name)) {
        let cells = columns
            .iter()
            .flat_map(|(_, booking)| [percent(of(&booking.shares())), format!("{:.2}", of(&booking.time))]);
        table.row(std::iter::once((*name).to_owned()).chain(cells));
    }
    let totals = columns.iter().flat_map(|(_, b)| [percent(1.0), format!("{:.2}", b.span)]);
    table.row(std::iter::once("watched".to_owned()).chain(totals));
    let crashes: u32 = all.crashes.iter().sum();
    let by_cause: Vec<String> =
        Cause::ALL.iter().map(|cause| format!("{} {}", all.crashes[cause.index()], cause.name())).collect();
    let mut text = format!("{}\n{crashes} crashes: {}\n", table.text(), by_cause.join(", "));
    let [communication, other] = all.slowdowns;
    if communication + other > 0 {
        text.push_str(&format!("{communication} slowdowns of communication, {other} of all else\n"));
    }
    if all.overlap > 0.0 {
        text.push_str(&format!("{:.2} h of incidents overlap and are booked once\n", all.overlap));
    }
    text
}

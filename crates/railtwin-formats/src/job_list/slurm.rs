//! Jobs of Slurm, as `sacct --parsable2` or `--parsable` prints them.
//!
//! Formats of the fields: sacct(1), «Job Accounting Fields». Steps (`123.batch`, `123.0`) are parts of their jobs; components of
//! a heterogeneous job (`123+0`, `123+1`) run together and are one job here.
use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_workload::SubmittedJob;

use super::columns::{Columns, Row, no_time};
use super::slurm_time::{Moment, elapsed, moment};
use super::{GPUS_MAX, Read};
use crate::error::FormatError;

const NEEDED: [&str; 2] = ["JobID", "Submit"];
const OTHERS: [&str; 7] = ["AllocTRES", "ReqTRES", "Elapsed", "ElapsedRaw", "Start", "End", "State"];
/// Columns that the reader wants, as an error says it.
const COMMAND: &str =
    "print sacct --allusers --parsable2 --format=JobID,Submit,Start,End,Elapsed,AllocTRES,ReqTRES,State";
/// What a moment may look like.
const MOMENT: &str = "write 2024-01-31T13:05:22 or seconds since 1970 (SLURM_TIME_FORMAT standard or %s)";
/// Longest span of a list, seconds: simulated time ends after 213 days.
const SPAN_MAX: i64 = 213 * 86_400;

/// A job whose time of submission is not yet counted from the first one's.
struct Found {
    name: String,
    submitted: i64,
    gpus: u32,
    duration: SimTime,
    line: u64,
}

pub(super) fn read(read: &mut Read<'_>, text: &str) -> Result<(), FormatError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let Some((_, first)) = lines.next() else { return Ok(()) };
    // --parsable ends every line with a bar.
    let bar = first.trim_end().ends_with('|');
    let fields = |line: &'_ str| -> Vec<String> {
        let line = line.trim_end_matches(['\r', '\n']);
        let line = if bar { line.strip_suffix('|').unwrap_or(line) } else { line };
        line.split('|').map(str::to_owned).collect()
    };
    let header = fields(first);
    let header: Vec<&str> = header.iter().map(|name| name.trim()).collect();
    let columns = columns_of(read, &header)?;
    let mut jobs = JoinedJobs::default();
    for (number, line) in lines {
        let line_number = number as u64 + 1;
        let row = fields(line);
        if row.len() != header.len() {
            let accepted = format!(
                "the first line has {}; names of jobs may hold a bar, so leave out JobName",
                header.len()
            );
            return Err(read
                .error(format!("the row has {} fields", row.len()), accepted)
                .at_line(line_number));
        }
        let row = columns.row(row.iter().map(String::as_str).collect(), line_number);
        if let Some(found) = job(read, &row)? {
            jobs.add(read, found);
        }
    }
    submit(read, jobs.all)
}

/// The columns of a list, which tell what a job asked for and how long it ran.
fn columns_of(read: &mut Read<'_>, header: &[&str]) -> Result<Columns, FormatError> {
    let columns = Columns::find(read, header, &NEEDED, &OTHERS)?;
    if !columns.has("AllocTRES") && !columns.has("ReqTRES") {
        return Err(read.error("has neither AllocTRES nor ReqTRES", COMMAND).at_line(1));
    }
    let both = columns.has("Start") && columns.has("End");
    if !(both || columns.has("Elapsed") || columns.has("ElapsedRaw")) {
        return Err(read.error("has no Elapsed, and not both of Start and End", COMMAND).at_line(1));
    }
    Ok(columns)
}

/// Jobs in the order of their first rows.
#[derive(Default)]
struct JoinedJobs {
    all: Vec<Found>,
    /// Rows of heterogeneous jobs, by their numbers.
    heterogeneous: BTreeMap<String, usize>,
}

impl JoinedJobs {
    /// Adds a job, or joins a component to the first of its heterogeneous job.
    fn add(&mut self, read: &mut Read<'_>, found: Found) {
        let Some((whole, _)) = found.name.split_once('+') else {
            self.all.push(found);
            return;
        };
        match self.heterogeneous.get(whole) {
            Some(&at) => {
                let job = &mut self.all[at];
                job.gpus = (job.gpus + found.gpus).min(GPUS_MAX);
                job.duration = job.duration.max(found.duration);
                read.notes.add("components of heterogeneous jobs are joined to the first of their job");
            }
            None => {
                self.heterogeneous.insert(whole.to_owned(), self.all.len());
                self.all.push(Found { name: whole.to_owned(), ..found });
            }
        }
    }
}

/// Puts jobs into the list, with their times counted from the first submission.
fn submit(read: &mut Read<'_>, jobs: Vec<Found>) -> Result<(), FormatError> {
    let first = jobs.iter().map(|job| job.submitted).min().unwrap_or(0);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for job in jobs {
        let since = job.submitted - first;
        if since > SPAN_MAX {
            let days = since / 86_400;
            return Err(read
                .error(
                    format!("was submitted {days} days after the first job of the list"),
                    "simulated time ends after 213 days: print a shorter time with --starttime and --endtime",
                )
                .at_line(job.line)
                .field("column Submit"));
        }
        // With --duplicates a number stands for several jobs, or for several runs of one.
        let count = seen.entry(job.name.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { job.name } else { format!("{}~{count}", job.name) };
        let submitted = SimTime::from_seconds(since as f64);
        read.jobs.push(SubmittedJob {
            name,
            submitted,
            gpus: job.gpus,
            duration: job.duration,
            class: None,
            places: Vec::new(),
            near: Vec::new(),
        });
    }
    Ok(())
}

/// The job of a row; none for a step, and for what did not run on GPUs.
fn job(read: &mut Read<'_>, row: &Row<'_>) -> Result<Option<Found>, FormatError> {
    let name = row.needed(read, "JobID", "every job has a number")?;
    if name.contains('.') {
        return Ok(None);
    }
    let Some(duration) = duration(read, row)? else {
        read.notes.add("jobs that never ran are left out");
        return Ok(None);
    };
    let allocated = gpus(read, row, "AllocTRES")?;
    let gpus = match allocated {
        Some(gpus) => gpus,
        None => gpus_or_none(read, row)?,
    };
    if gpus == 0 {
        read.notes.add("jobs without GPUs are left out");
        return Ok(None);
    }
    let Moment::At(submitted) = known(read, row, "Submit")? else {
        return Err(row.error(read, "Submit", "is no time of submission", MOMENT));
    };
    if row.get("State").eq_ignore_ascii_case("RUNNING") {
        read.notes.add("jobs that still ran last as long as they had by then");
    }
    Ok(Some(Found { name: name.to_owned(), submitted, gpus, duration, line: row.line }))
}

fn gpus_or_none(read: &Read<'_>, row: &Row<'_>) -> Result<u32, FormatError> {
    Ok(gpus(read, row, "ReqTRES")?.unwrap_or(0))
}

/// How long a job ran; none if it did not.
fn duration(read: &Read<'_>, row: &Row<'_>) -> Result<Option<SimTime>, FormatError> {
    let accepted = "write [days-]hours:minutes:seconds";
    for column in ["ElapsedRaw", "Elapsed"] {
        let text = row.get(column);
        if !text.is_empty() {
            let refused = |error| row.error(read, column, no_time(error, "a duration"), accepted);
            let time = elapsed(text).map_err(refused)?;
            return Ok((time != SimTime::ZERO).then_some(time));
        }
    }
    match (known(read, row, "Start")?, known(read, row, "End")?) {
        (Moment::At(start), Moment::At(end)) if end > start => {
            if end - start > SPAN_MAX {
                return Err(row.error(
                    read,
                    "End",
                    "is more than 213 days after the start",
                    "simulated time ends then",
                ));
            }
            Ok(Some(SimTime::from_seconds((end - start) as f64)))
        }
        _ => Ok(None),
    }
}

/// A moment, or that it is not known.
fn known(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<Moment, FormatError> {
    moment(row.get(column)).ok_or_else(|| row.error(read, column, "is not a time", MOMENT))
}

/// GPUs among trackable resources: `gres/gpu=8`, or else the sum of `gres/gpu:a100=4` and its like; none where the field is
/// empty or not there.
fn gpus(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<Option<u32>, FormatError> {
    let text = row.get(column);
    if text.is_empty() {
        return Ok(None);
    }
    let (mut all, mut typed) = (None, 0_u32);
    for resource in text.split(',') {
        let Some((name, count)) = resource.split_once('=') else { continue };
        let name = name.trim();
        let of_type = name.strip_prefix("gres/gpu").is_some_and(|rest| rest.starts_with(':'));
        if name != "gres/gpu" && !of_type {
            continue;
        }
        let count = count.trim().parse::<u32>().ok().filter(|&count| count <= GPUS_MAX).ok_or_else(|| {
            let accepted = format!("write gres/gpu=N with a whole number up to {GPUS_MAX}");
            row.error(read, column, "has no number of GPUs", accepted)
        })?;
        if of_type {
            typed = (typed + count).min(GPUS_MAX);
        } else {
            all = Some(count);
        }
    }
    Ok(Some(all.unwrap_or(typed)))
}

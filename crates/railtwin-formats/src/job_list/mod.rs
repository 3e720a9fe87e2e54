//! Lists of jobs: what was submitted when, how many GPUs it wanted and how long it ran.
//!
//! Read are the project's own CSV, the pods of Alibaba's trace `openb`, and what Slurm's `sacct --parsable2` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_units::SimTime;
use railtwin_workload::SubmittedJob;

use crate::error::{FormatError, text_of};
use crate::telemetry::input;

mod columns;
mod openb;
mod own;
mod slurm;
mod slurm_time;

/// Name of this format in errors.
const FORMAT: &str = "job list";
/// What would be accepted as a list of jobs.
const ACCEPTED: &str = "accepted are CSV with the columns name,submitted,gpus,duration and perhaps class, places and near, \
                        the pods of openb (name,num_gpu,creation_time,deletion_time,scheduled_time), and the output of \
                        sacct --parsable2 with JobID, Submit, Elapsed and AllocTRES";
/// Picoseconds of a second.
const PS: u64 = 1_000_000_000_000;
/// Most GPUs of a job.
const GPUS_MAX: u32 = 4_000_000;

/// Where a list of jobs comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobListFormat {
    /// CSV of the project.
    Own,
    /// Pods of Alibaba's trace `openb`.
    Openb,
    /// `sacct --parsable2` of Slurm.
    Slurm,
}

impl JobListFormat {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "CSV of railtwin",
            Self::Openb => "openb pods",
            Self::Slurm => "Slurm sacct",
        }
    }
}

/// A list of jobs that was read.
#[derive(Clone, PartialEq, Debug)]
pub struct JobList {
    /// Where it comes from.
    pub format: JobListFormat,
    /// The jobs in the order in which they were submitted; lists with dates begin at 0 with their first job.
    pub jobs: Vec<SubmittedJob>,
    /// What was left out or read otherwise than it stands, a sentence each, with how often.
    pub notes: Vec<String>,
}

/// Reads a list of jobs, plain or as gzip; the first line tells which format it is. `source_name` appears in errors.
///
/// ```
/// let text = "name,submitted,gpus,duration,class\nmine,90,16,2 h,bert-large\nyours,0,8,600,\n";
/// let list = railtwin_formats::job_list("jobs.csv", text.as_bytes())?;
/// assert_eq!(list.jobs[1].name, "mine");
/// assert_eq!(list.jobs[1].duration.seconds(), 7200.0);
/// # Ok::<(), railtwin_formats::FormatError>(())
/// ```
///
/// # Errors
/// [`FormatError`] for a file that is no such list, a missing column, a value that is none, a name that stands twice, and a list
/// without a job that ran on GPUs.
pub fn job_list(source_name: &str, bytes: &[u8]) -> Result<JobList, FormatError> {
    let bytes = input::plain(FORMAT, source_name, bytes)?;
    let text = text_of(FORMAT, source_name, &bytes)?;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let has = |separator: char, column: &str| {
        first.split(separator).any(|field| field.trim().trim_matches('"').eq_ignore_ascii_case(column))
    };
    let mut read = Read { source_name, jobs: Vec::new(), notes: Notes::default() };
    let format = if has('|', "JobID") {
        slurm::read(&mut read, text)?;
        JobListFormat::Slurm
    } else if has(',', "num_gpu") && has(',', "creation_time") {
        openb::read(&mut read, text)?;
        JobListFormat::Openb
    } else if has(',', "submitted") || has(',', "gpus") {
        own::read(&mut read, text)?;
        JobListFormat::Own
    } else {
        return Err(FormatError::new(FORMAT, source_name, "is no list of jobs", ACCEPTED));
    };
    let Read { mut jobs, notes, .. } = read;
    let notes = notes.sentences();
    if jobs.is_empty() {
        let mut problem = "has no job that ran on GPUs".to_owned();
        if !notes.is_empty() {
            let _ = write!(problem, " ({})", notes.join("; "));
        }
        return Err(FormatError::new(FORMAT, source_name, problem, "name a list with at least one"));
    }
    jobs.sort_by_key(|job| job.submitted);
    Ok(JobList { format, jobs, notes })
}

/// The jobs as CSV of the project, which [`job_list`] gives back as they are.
pub fn job_list_csv(jobs: &[SubmittedJob]) -> String {
    let has_places = jobs.iter().any(|job| !job.places.is_empty());
    let mut text = String::from("name,submitted,gpus,duration,class");
    let has_near = jobs.iter().any(|job| !job.near.is_empty());
    text.push_str(if has_places { ",places" } else { "" });
    text.push_str(if has_near { ",near\n" } else { "\n" });
    for job in jobs {
        let class = job.class.map_or("", |class| class.name);
        let (submitted, duration) = (seconds(job.submitted), seconds(job.duration));
        // Writing to a String cannot fail.
        let _ = write!(text, "{},{submitted},{},{duration},{class}", quoted(&job.name), job.gpus);
        if has_places {
            let _ = write!(text, ",{}", quoted_or_empty(&own::places_text(&job.places)));
        }
        if has_near {
            let _ = write!(text, ",{}", own::near_text(&job.near));
        }
        text.push('\n');
    }
    text
}

/// Seconds with as many decimals as the time has.
fn seconds(time: SimTime) -> String {
    let (whole, rest) = (time.ps() / PS, time.ps() % PS);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:012}").trim_end_matches('0').to_owned()
}

/// A field of a CSV, in quotes where it needs them.
fn quoted(field: &str) -> String {
    let plain = |c: char| !matches!(c, ',' | '"' | '\n' | '\r');
    if !field.is_empty() && field.chars().all(plain) && field.trim() == field {
        return field.to_owned();
    }
    format!("\"{}\"", field.replace('"', "\"\""))
}

fn quoted_or_empty(field: &str) -> String {
    if field.is_empty() { String::new() } else { quoted(field) }
}

/// What is being read.
struct Read<'a> {
    source_name: &'a str,
    jobs: Vec<SubmittedJob>,
    notes: Notes,
}

impl Read<'_> {
    fn error(&self, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted)
    }
}

/// Sentences and how often each is true.
#[derive(Default)]
struct Notes(BTreeMap<&'static str, u64>);

impl Notes {
    fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn sentences(&self) -> Vec<String> {
        self.0.iter().map(|(what, count)| format!("{count} {what}")).collect()
    }
}

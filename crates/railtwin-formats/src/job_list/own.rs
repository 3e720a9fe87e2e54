//! CSV of the project: name, submitted, gpus, duration, and perhaps class, places and near.
use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_units::decimal::DecimalError;
use railtwin_workload::{JobClass, SubmittedJob};

use super::Read;
use super::columns::{Columns, Row, csv_rows, no_time, plain_seconds};
use crate::error::FormatError;

/// What a time may look like.
const TIME: &str = "write seconds such as 3600, or a number with ps, ns, us, ms, s, min or h such as 1.5 h; \
                    simulated time ends after 213 days";

/// What places may look like.
const PLACES: &str =
    "leave it empty, or write hosts with GPUs of them, as many as the job has, such as 0:0-3 1:0,2";
/// What hosts to be near may look like.
const NEAR: &str = "leave it empty, or write numbers of hosts, such as 0 8";
/// Most hosts that a job may be near; one names those of a segment or a few of its data.
const NEAR_MAX: usize = 1024;
/// Most GPUs of a host.
const GPUS_OF_HOST_MAX: u32 = 1024;

pub(super) fn read(read: &mut Read<'_>, text: &str) -> Result<(), FormatError> {
    let rows = csv_rows(read, text)?;
    let Some(((_, header), rows)) = rows.split_first() else { return Ok(()) };
    let header: Vec<&str> = header.iter().collect();
    let needed = ["name", "submitted", "gpus", "duration"];
    let columns = Columns::find(read, &header, &needed, &["class", "places", "near"])?;
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (line, record) in rows {
        let row = columns.row(record.iter().collect(), *line);
        let name = row.needed(read, "name", "give each job a name of its own")?.to_owned();
        if let Some(first) = names.insert(name.clone(), *line) {
            let problem = format!("is the name of the job on line {first} already");
            return Err(row.error(read, "name", problem, "give each job a name of its own"));
        }
        let submitted = time(read, &row, "submitted")?;
        let gpus = row.gpus(read, "gpus")?;
        if gpus == 0 {
            return Err(row.error(read, "gpus", "is no number of GPUs of a job", "write 1 or more"));
        }
        let duration = time(read, &row, "duration")?;
        if duration == SimTime::ZERO {
            return Err(row.error(read, "duration", "is no duration of a job", "write a time over 0"));
        }
        let class = match row.get("class") {
            "" => None,
            name => Some(JobClass::named(name).ok_or_else(|| {
                let names: Vec<&str> = JobClass::names().collect();
                let accepted = format!("leave it empty or write one of {}", names.join(", "));
                row.error(read, "class", "is no class of jobs", accepted)
            })?),
        };
        let places = places(read, &row, gpus)?;
        let near = near(read, &row, !places.is_empty())?;
        read.jobs.push(SubmittedJob { name, submitted, gpus, duration, class, places, near });
    }
    Ok(())
}

/// Hosts and GPUs such as `0:0-3 1:0,2`, in the order of ranks; none where nothing stands there.
fn places(read: &Read<'_>, row: &Row<'_>, gpus: u32) -> Result<Vec<(u32, u32)>, FormatError> {
    let wrong = |problem: String| row.error(read, "places", problem, PLACES);
    let text = row.get("places");
    let mut places: Vec<(u32, u32)> = Vec::new();
    'parts: for part in text.split_whitespace() {
        let not_places = || wrong(format!("has {part:?}, which is no host with its GPUs"));
        let (host, list) = part.split_once(':').ok_or_else(not_places)?;
        let host: u32 = host.parse().map_err(|_| not_places())?;
        for range in list.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<u32>().ok().filter(|&gpu| gpu < GPUS_OF_HOST_MAX);
            let (Some(first), Some(last)) = (number(first), number(last)) else { return Err(not_places()) };
            if first > last {
                return Err(not_places());
            }
            places.extend((first..=last).map(|gpu| (host, gpu)));
            // Some bytes may name thousands of GPUs: more than the job has are not kept.
            if places.len() > gpus as usize {
                break 'parts;
            }
        }
    }
    if !places.is_empty() && places.len() != gpus as usize {
        let problem = match places.len() > gpus as usize {
            true => format!("names more than the {gpus} GPUs of the job"),
            false => format!("names {} GPUs, but the job has {gpus}", places.len()),
        };
        return Err(wrong(problem));
    }
    let mut sorted = places.clone();
    sorted.sort_unstable();
    if let Some(two) = sorted.windows(2).find(|two| two[0] == two[1]) {
        return Err(wrong(format!("names GPU {} of host {} twice", two[0].1, two[0].0)));
    }
    Ok(places)
}

/// Hosts such as `0 8`; none where nothing stands there.
fn near(read: &Read<'_>, row: &Row<'_>, has_places: bool) -> Result<Vec<u32>, FormatError> {
    let mut hosts: Vec<u32> = Vec::new();
    for text in row.get("near").split_whitespace() {
        let problem = match text.parse() {
            Ok(host) if hosts.contains(&host) => format!("names host {host} twice"),
            Ok(_) if hosts.len() == NEAR_MAX => format!("names more than {NEAR_MAX} hosts"),
            Ok(host) => {
                hosts.push(host);
                continue;
            }
            Err(_) => format!("has {text:?}, which is no host"),
        };
        return Err(row.error(read, "near", problem, NEAR));
    }
    if has_places && !hosts.is_empty() {
        let accepted = "leave one of both empty";
        return Err(row.error(read, "near", "stands beside places, which say where the job is", accepted));
    }
    Ok(hosts)
}

/// What [`near`] gives back, as text.
pub(super) fn near_text(hosts: &[u32]) -> String {
    hosts.iter().map(u32::to_string).collect::<Vec<String>>().join(" ")
}

/// What [`places`] gives back, as text.
pub(super) fn places_text(places: &[(u32, u32)]) -> String {
    let mut text = String::new();
    for of_host in places.chunk_by(|one, other| one.0 == other.0) {
        let gpus: Vec<String> = of_host
            .chunk_by(|one, other| other.1 == one.1 + 1)
            .map(|run| match (run[0].1, run[run.len() - 1].1) {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("{first}-{last}"),
            })
            .collect();
        let space = if text.is_empty() { "" } else { " " };
        text.push_str(&format!("{space}{}:{}", of_host[0].0, gpus.join(",")));
    }
    text
}

fn time(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<SimTime, FormatError> {
    let text = row.needed(read, column, TIME)?;
    let refused = |problem: String| row.error(read, column, problem, TIME);
    let time = match (plain_seconds(text), text.parse::<SimTime>()) {
        (Ok(time), _) | (_, Ok(time)) => time,
        (Err(DecimalError::Malformed), Err(error)) if !error.is_malformed() => {
            return Err(refused(error.problem().to_owned()));
        }
        (Err(error), _) => return Err(refused(no_time(error, "a time"))),
    };
    match time {
        SimTime::NEVER => Err(refused(no_time(DecimalError::TooLarge, "a time"))),
        time => Ok(time),
    }
}

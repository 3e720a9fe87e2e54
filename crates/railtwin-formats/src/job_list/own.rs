//! CSV of the project: name, submitted, gpus, duration, and perhaps class.
use std::collections::BTreeMap;

use railtwin_units::SimTime;
use railtwin_workload::{JobClass, SubmittedJob};

use super::Read;
use super::columns::{Columns, Row, csv_rows, plain_seconds};
use crate::error::FormatError;

/// What a time may look like.
const TIME: &str = "write seconds such as 3600, or a number with ps, ns, us, ms, s, min or h such as 1.5 h; \
                    simulated time ends after 213 days";

pub(super) fn read(read: &mut Read<'_>, text: &str) -> Result<(), FormatError> {
    let rows = csv_rows(read, text)?;
    let Some(((_, header), rows)) = rows.split_first() else { return Ok(()) };
    let header: Vec<&str> = header.iter().collect();
    let columns = Columns::find(read, &header, &["name", "submitted", "gpus", "duration"], &["class"])?;
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
        read.jobs.push(SubmittedJob { name, submitted, gpus, duration, class });
    }
    Ok(())
}

fn time(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<SimTime, FormatError> {
    let text = row.needed(read, column, TIME)?;
    let time = plain_seconds(text).or_else(|| text.parse().ok()).filter(|&time| time != SimTime::NEVER);
    time.ok_or_else(|| row.error(read, column, "is not a time", TIME))
}

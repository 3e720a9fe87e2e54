//! Pods of Alibaba's trace `openb` (clusterdata, cluster-trace-gpu-v2023): seconds since the trace began, GPUs as a number and
//! thousandths of one.
use railtwin_units::SimTime;
use railtwin_workload::SubmittedJob;

use super::columns::{Columns, Row, csv_rows, no_time, plain_seconds};
use super::{PS, Read};
use crate::error::FormatError;

const NEEDED: [&str; 5] = ["name", "num_gpu", "creation_time", "deletion_time", "scheduled_time"];

pub(super) fn read(read: &mut Read<'_>, text: &str) -> Result<(), FormatError> {
    let rows = csv_rows(read, text)?;
    let Some(((_, header), rows)) = rows.split_first() else { return Ok(()) };
    let header: Vec<&str> = header.iter().collect();
    let columns = Columns::find(read, &header, &NEEDED, &["gpu_milli"])?;
    for (line, record) in rows {
        let row = columns.row(record.iter().collect(), *line);
        let name = row.needed(read, "name", "every pod has a name")?.to_owned();
        let gpus = row.gpus(read, "num_gpu")?;
        let created = needed_time(read, &row, "creation_time")?;
        if gpus == 0 {
            read.notes.add("pods without GPUs are left out");
            continue;
        }
        let (Some(scheduled), Some(deleted)) =
            (time(read, &row, "scheduled_time")?, time(read, &row, "deletion_time")?)
        else {
            read.notes.add("pods that were never scheduled, or not deleted, are left out");
            continue;
        };
        if deleted <= scheduled {
            read.notes.add("pods that ended as they began are left out");
            continue;
        }
        let milli = row.get("gpu_milli");
        if gpus == 1 && !matches!(milli, "" | "1000") {
            if milli.parse::<u32>().is_err() {
                let accepted = "write thousandths of a GPU, from 0 to 1000";
                return Err(row.error(read, "gpu_milli", "is not a part of a GPU", accepted));
            }
            read.notes.add("pods that share a GPU have it alone here");
        }
        let duration = deleted.since(scheduled);
        read.jobs.push(SubmittedJob {
            name,
            submitted: created,
            gpus,
            duration,
            class: None,
            places: Vec::new(),
            near: Vec::new(),
        });
    }
    let first = read.jobs.iter().map(|job| job.submitted).min().unwrap_or_default();
    for job in &mut read.jobs {
        job.submitted = job.submitted.since(first);
    }
    Ok(())
}

fn time(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<Option<SimTime>, FormatError> {
    match row.get(column) {
        "" => Ok(None),
        text => plain_seconds(text).map(Some).map_err(|error| {
            let accepted = format!("write seconds since the trace began, up to {}", u64::MAX / PS);
            row.error(read, column, no_time(error, "a time"), accepted)
        }),
    }
}

fn needed_time(read: &Read<'_>, row: &Row<'_>, column: &str) -> Result<SimTime, FormatError> {
    row.needed(read, column, "every pod was created some time")?;
    Ok(time(read, row, column)?.unwrap_or_default())
}

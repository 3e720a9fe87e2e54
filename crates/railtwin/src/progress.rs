//! Throughput over time as the page reads it: bytes and steps in buckets of time, and the steps themselves.
use railtwin_records::{Column, ColumnData, Table};
use serde_json::Value;

use crate::columns::PageTable;
use crate::simulate::Replicate;

/// Rows of the page's table of steps; neighboring steps of a job are joined where there are more.
pub const STEPS_MAX: usize = 10_000;

/// The page's table of steps of one replicate. A row stands for `steps` steps of a job, one after the other.
pub fn steps(replicate: &Replicate) -> Value {
    let joined = replicate.steps.len().div_ceil(STEPS_MAX).max(1) as u32;
    // Job, first step, steps, start, end; in picoseconds.
    let mut rows: Vec<(u32, u32, u32, u64, u64)> = Vec::new();
    for &(job, step, start, duration) in &replicate.steps {
        let end = start.ps() + duration.ps();
        match rows.last_mut() {
            Some(last) if last.0 == job as u32 && last.1 + last.2 == step && last.2 < joined => {
                (last.2, last.4) = (last.2 + 1, end);
            }
            _ => rows.push((job as u32, step, 1, start.ps(), end)),
        }
    }
    PageTable::new(rows.len())
        .u32("job", &rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .u32("first", &rows.iter().map(|row| row.1).collect::<Vec<_>>())
        .u32("steps", &rows.iter().map(|row| row.2).collect::<Vec<_>>())
        .f64("start_ps", &rows.iter().map(|row| row.3 as f64).collect::<Vec<_>>())
        .f64("end_ps", &rows.iter().map(|row| row.4 as f64).collect::<Vec<_>>())
        .finish()
}

/// The page's `throughput` from the run's table of that name, with columns `job`, `time_s` (start of the bucket),
/// `bytes` and `steps_ended`; none where a column is missing or names a job that is not of the run.
pub fn throughput(table: &Table, jobs: &[&str]) -> Option<Value> {
    let column = |name: &str| numbers(table.columns.iter().find(|column| column.name == name)?);
    let Some(ColumnData::Text { dictionary, codes }) = table.column("job") else { return None };
    let known: Option<Vec<u32>> =
        dictionary.iter().map(|name| Some(jobs.iter().position(|job| job == name)? as u32)).collect();
    let known = known?;
    let job: Vec<u32> = codes.iter().map(|&code| known[code as usize]).collect();
    let made = PageTable::new(table.rows())
        .u32("job", &job)
        .f64("start_s", &column("time_s")?)
        .f64("bytes", &column("bytes")?)
        .f64("steps", &column("steps_ended")?);
    Some(made.finish())
}

fn numbers(column: &Column) -> Option<Vec<f64>> {
    match &column.data {
        ColumnData::U64(values) => Some(values.iter().map(|&value| value as f64).collect()),
        ColumnData::U32(values) => Some(values.iter().map(|&value| value.into()).collect()),
        ColumnData::F64(values) => Some(values.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_units::SimTime;

    fn replicate(count: u32) -> Replicate {
        let at = |ms: u64| SimTime::from_ps(ms * 1_000_000_000);
        let steps = (0..count).map(|step| (0, step, at(10 * u64::from(step)), at(8)));
        let steps = steps.chain([(1, 0, at(5), at(100))]).collect();
        Replicate { steps, stops: vec![None; 2], ..Replicate::default() }
    }

    #[test]
    fn steps_are_listed_and_many_are_joined() {
        assert_eq!(steps(&replicate(3))["rows"], 4);
        let many = steps(&replicate(3 * STEPS_MAX as u32));
        let rows = many["rows"].as_u64().unwrap();
        assert!((7_500..=STEPS_MAX as u64).contains(&rows), "{rows}");
    }

    #[test]
    fn throughput_is_taken_by_column_names() {
        let table = |job: &str| {
            Table::new(
                "throughput",
                vec![
                    Column::coded("job", [job, job]),
                    Column::f64("time_s", vec![0.0, 0.1]),
                    Column::u64("bytes", vec![7, 9]),
                    Column::u32("steps_ended", vec![0, 1]),
                ],
            )
        };
        let value = throughput(&table("b"), &["a", "b"]).unwrap();
        assert_eq!(
            (value["rows"].as_u64(), value["columns"]["bytes"]["type"].as_str()),
            (Some(2), Some("f64"))
        );
        assert!(throughput(&table("c"), &["a", "b"]).is_none(), "a job that is not of the run");
        let mut short = table("a");
        short.columns.pop();
        assert!(throughput(&short, &["a"]).is_none());
    }
}

//! Times of nccl-tests as a table: a row for each size, with a column for the size of the cluster.

use std::collections::BTreeMap;

use railtwin_workload::Collective;
use railtwin_workload::collective::bus_factor;

use super::input;
use super::names::operation_kind;
use super::nccl_tests::{NcclTest, NcclTestDevice, NcclTestLog, NcclTestMeasure, NcclTestResult};
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "table of nccl-tests";
/// What is accepted, for errors.
const ACCEPTED: &str = "columns are bytes, gpus, time_out_of_place_us or time_in_place_us, and where there are several \
                        hosts, settings and collectives hosts, setting and collective";
/// Most ranks of a test: a table of more is of something else.
const RANKS_MAX: u32 = 1 << 20;

/// Columns and the names that each has.
const BYTES: &[&str] = &["bytes", "size", "size_bytes", "msg_size", "message_size"];
const GPUS: &[&str] = &["gpus", "ranks", "nranks", "ngpus", "n_gpus", "num_gpus", "world_size"];
const HOSTS: &[&str] = &["hosts", "nodes", "nnodes", "n_nodes", "num_nodes"];
const SETTING: &[&str] = &["setting", "settings", "config", "configuration", "variant"];
const COLLECTIVE: &[&str] = &["collective", "test", "operation", "benchmark"];
const OUT_OF_PLACE: &[&str] =
    &["time_out_of_place_us", "out_of_place_us", "oop_time_us", "time_us", "out_of_place_time_us"];
const IN_PLACE: &[&str] = &["time_in_place_us", "in_place_us", "ip_time_us", "in_place_time_us"];

/// Places of the columns.
struct Columns {
    bytes: usize,
    gpus: usize,
    hosts: Option<usize>,
    setting: Option<usize>,
    collective: Option<usize>,
    times: [Option<usize>; 2],
}

/// Whether the first line of a text names such columns.
pub(super) fn is_table(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or("");
    first.contains(',') && columns(&first.split(',').collect()).is_some()
}

fn columns(header: &csv::StringRecord) -> Option<Columns> {
    let plain: Vec<String> = header
        .iter()
        .map(|name| name.trim().trim_matches('"').to_ascii_lowercase().replace([' ', '-'], "_"))
        .collect();
    let at = |names: &[&str]| plain.iter().position(|known| names.contains(&known.as_str()));
    let times = [at(OUT_OF_PLACE), at(IN_PLACE)];
    let found = Columns {
        bytes: at(BYTES)?,
        gpus: at(GPUS)?,
        hosts: at(HOSTS),
        setting: at(SETTING),
        collective: at(COLLECTIVE),
        times,
    };
    times.iter().any(Option::is_some).then_some(found)
}

/// Who measured what: setting, collective, ranks and hosts.
type Key = (String, Option<Collective>, u32, u32);

/// Reads a table of times by size of the cluster, as summaries of nccl-tests have them: a column of `bytes`, one of `gpus`,
/// times out of place, in place or both in microseconds, and where the table has them `hosts`, `setting` and `collective`.
/// Without a collective it is an all-reduce, without hosts all ranks are on one. Each setting, collective and size of the
/// cluster is a test. A row without a number is skipped.
///
/// # Errors
/// A text that is no table of such columns, or that has no row that can be read: its first one that is wrong.
pub fn parse_nccl_tests_table(source_name: &str, bytes: &[u8]) -> Result<NcclTestLog, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        FormatError::new(FORMAT, source_name, "is not a row of comma-separated values", ACCEPTED)
            .at_line(line)
    };
    let header = reader.headers().map_err(|error| broken(&error))?.clone();
    let places = columns(&header)
        .ok_or_else(|| FormatError::new(FORMAT, source_name, "has no such columns", ACCEPTED).at_line(1))?;
    let mut tests: BTreeMap<Key, Vec<NcclTestResult>> = BTreeMap::new();
    let mut skipped = Skipped::default();
    for record in reader.records() {
        let Some(record) = skipped.keep(record.map_err(|error| broken(&error))) else { continue };
        if record.iter().all(str::is_empty) {
            continue;
        }
        if let Some((key, result)) = skipped.keep(row(source_name, &places, &record)) {
            tests.entry(key).or_default().push(result);
        }
    }
    if tests.is_empty() {
        let none = FormatError::new(FORMAT, source_name, "has no row", ACCEPTED);
        return Err(skipped.all().unwrap_or(none));
    }
    let mut notes = Vec::new();
    if places.collective.is_none() {
        notes.push("no column names the collective: all rows are taken for all-reduces".to_owned());
    }
    Ok(NcclTestLog { tests: tests.into_iter().map(test_of).collect(), notes, skipped })
}

/// A row as a measurement, and the test that it is of.
fn row(
    source_name: &str,
    places: &Columns,
    record: &csv::StringRecord,
) -> Result<(Key, NcclTestResult), FormatError> {
    let line = record.position().map_or(0, csv::Position::line);
    let cell = |place: usize| record.get(place).unwrap_or("");
    let wrong = |name: &str, value: &str, problem: &str| {
        FormatError::new(FORMAT, source_name, problem, ACCEPTED).at_line(line).field(name).found(value)
    };
    let whole = |place: usize, name: &str| {
        let value = cell(place);
        let most = u64::from(u32::MAX);
        let number = value.parse::<u64>().ok().filter(|&number| number > 0);
        number
            .filter(|&number| name == "bytes" || number <= most)
            .ok_or_else(|| wrong(name, value, "is no whole number above zero"))
    };
    let bytes = whole(places.bytes, "bytes")?;
    let gpus = whole(places.gpus, "gpus")? as u32;
    let hosts = places.hosts.map_or(Ok(1), |place| whole(place, "hosts"))? as u32;
    if gpus > RANKS_MAX || !gpus.is_multiple_of(hosts) {
        return Err(wrong("gpus", &gpus.to_string(), "is no multiple of the hosts, or beyond 1,048,576"));
    }
    let collective = match places.collective.map(cell) {
        None => Some(Collective::AllReduce),
        Some(value) => Collective::named(&operation_kind(value)),
    };
    if collective.is_none() {
        let value = places.collective.map_or("", cell);
        return Err(wrong("collective", value, "is no collective that is known"));
    }
    let mut measures = [None, None];
    for (place, slot) in places.times.iter().zip(&mut measures) {
        let Some(value) = place.map(cell).filter(|value| !value.is_empty() && *value != "N/A") else {
            continue;
        };
        let us = value.parse::<f64>().ok().filter(|us| us.is_finite() && *us > 0.0);
        let us = us.ok_or_else(|| wrong("time", value, "is no time in microseconds"))?;
        let algorithm = bytes as f64 / us * 1e-3;
        let factor = collective.map_or(1.0, |collective| bus_factor(collective, gpus));
        *slot = Some(NcclTestMeasure {
            time_us: us,
            algorithm_gb_per_s: algorithm,
            bus_gb_per_s: algorithm * factor,
            ..NcclTestMeasure::default()
        });
    }
    let [out_of_place, in_place] = measures;
    if out_of_place.is_none() && in_place.is_none() {
        return Err(wrong("time", "", "has no time"));
    }
    let setting = places.setting.map_or("", cell).to_owned();
    let result = NcclTestResult { bytes, out_of_place, in_place, line, ..NcclTestResult::default() };
    Ok(((setting, collective, gpus, hosts), result))
}

/// A test of all rows of one setting and size of the cluster. A table names no hosts: they are numbered.
fn test_of(((setting, collective, gpus, hosts), results): (Key, Vec<NcclTestResult>)) -> NcclTest {
    let of_host = gpus / hosts.max(1);
    let device = |rank: u32| NcclTestDevice {
        rank,
        host: format!("host {}", rank / of_host.max(1)),
        gpu: rank % of_host.max(1),
        ..NcclTestDevice::default()
    };
    NcclTest {
        name: collective.map_or(String::new(), |collective| program(collective).to_owned()),
        setting,
        devices: (0..gpus).map(device).collect(),
        results,
        complete: true,
        ..NcclTest::default()
    }
}

/// The program of nccl-tests that runs a collective.
fn program(collective: Collective) -> &'static str {
    match collective {
        Collective::AllReduce => "all_reduce_perf",
        Collective::AllGather => "all_gather_perf",
        Collective::ReduceScatter => "reduce_scatter_perf",
        Collective::AllToAll => "alltoall_perf",
        Collective::Broadcast => "broadcast_perf",
        Collective::SendReceive => "sendrecv_perf",
        // None has: the name of the collective.
        Collective::ExpertDispatch | Collective::ExpertCombine => collective.name(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: &str = "setting,gpus,hosts,bytes,time_out_of_place_us,time_in_place_us\n\
                         a,8,2,1024,10,12\na,8,2,2048,20,\nb,16,4,1024,x,1\nb,16,4,1024,30,31\n";

    #[test]
    fn each_setting_and_size_of_the_cluster_is_a_test() {
        let log = parse_nccl_tests_table("t.csv", TABLE.as_bytes()).unwrap();
        assert_eq!((log.tests.len(), log.skipped.count(), log.notes.len()), (2, 1, 1));
        let first = &log.tests[0];
        assert_eq!(
            (first.setting.as_str(), first.name.as_str(), first.devices.len()),
            ("a", "all_reduce_perf", 8)
        );
        let measure = first.results[0].out_of_place.as_ref().unwrap();
        assert!((measure.bus_gb_per_s - 1024.0 / 10e-6 * 2.0 * 7.0 / 8.0 * 1e-9).abs() < 1e-12);
        assert!(first.results[1].in_place.is_none());
        assert!(is_table(TABLE) && !is_table("step,step_time_ms\n1,2\n"));
    }

    #[test]
    fn a_table_of_wrong_rows_says_what_is_wrong() {
        let error = parse_nccl_tests_table("t.csv", b"gpus,hosts,bytes,time_us\n8,3,1,1\n").unwrap_err();
        assert!(error.to_string().contains("gpus"), "{error}");
        let error =
            parse_nccl_tests_table("t.csv", b"collective,gpus,bytes,time_us\nfoo,8,1,1\n").unwrap_err();
        assert!(error.to_string().contains("foo"), "{error}");
    }

    proptest! {
        #[test]
        fn nothing_breaks_it(rows in "[a-z0-9,.\\-\n\"]{0,200}") {
            let text = format!("gpus,hosts,bytes,time_us\n{rows}");
            let _ = parse_nccl_tests_table("t.csv", text.as_bytes());
        }
    }
}

//! `ethtool -S`, and listings of `/sys/class/infiniband` and `/sys/class/net`: a name and a value to a line.

use railtwin_records::{Component, Counter};

use super::nic_counters::{Join, Readings, counter_of, host_of, nic, nic_of};
use super::{Hints, Telemetry, input};
use crate::error::FormatError;

/// Name of the first format in errors.
const ETHTOOL: &str = "ethtool -S";

/// Name of the second.
const LISTING: &str = "counter listing";

/// Counters that `ethtool -S` prints. Host and NIC come from the hints or from the file name
/// (`ethtool_host-3_mlx5_1.txt`); a line `# NIC` before a block names the NIC of the block.
///
/// # Errors
/// A file in which nothing is a counter that is known. A line that is no counter, or has no number, is skipped.
pub fn parse_ethtool(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<Telemetry, FormatError> {
    let text = input::lossy(ETHTOOL, source_name, bytes)?;
    let mut readings = Readings::default();
    let host = host_of(source_name, hints, &mut readings);
    let mut name_of_nic = nic_of(source_name, hints).unwrap_or_else(|| "nic".to_owned());
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            // A line that lost its first letter is no name of a NIC.
            let word = comment.split_whitespace().last().map(|word| word.trim_end_matches(':'));
            let is_name = |word: &&str| word.starts_with(char::is_alphabetic) && input::is_whole(word);
            if let Some(word) = word.filter(is_name) {
                word.clone_into(&mut name_of_nic);
            }
            continue;
        }
        if line.is_empty() || line.ends_with("statistics:") {
            continue;
        }
        let wrong = |problem: &str, accepted: &str| {
            FormatError::new(ETHTOOL, source_name, problem, accepted).at_line(number).found(line)
        };
        let Some((name, value)) = line.rsplit_once(':') else {
            readings.wrong(wrong("is no counter", "write rx_discards_phy: 12"), line);
            continue;
        };
        let value = value.trim().parse().ok().filter(|value: &f64| value.is_finite());
        let Some(value) = value.filter(|_| input::is_whole(name)) else {
            readings.wrong(wrong("has a value that is no number", "write rx_discards_phy: 12"), line);
            continue;
        };
        readings.take_nic(&nic(&host, &name_of_nic), name.trim(), value, hints.time_ns);
    }
    finish(ETHTOOL, source_name, readings)
}

/// A listing such as `grep -H . /sys/class/infiniband/*/ports/*/hw_counters/*` gives (`path:value`), or lines
/// `name value`. A path names the NIC; host and other NICs come from the hints or from the file name.
///
/// # Errors
/// A file in which nothing is a counter that is known. A line without name and value, or a counter that is known and
/// whose value is no number, is skipped.
pub fn parse_counter_listing(
    source_name: &str,
    bytes: &[u8],
    hints: &Hints,
) -> Result<Telemetry, FormatError> {
    let text = input::lossy(LISTING, source_name, bytes)?;
    let mut readings = Readings::default();
    let host = host_of(source_name, hints, &mut readings);
    let of_file = nic_of(source_name, hints).unwrap_or_else(|| "nic".to_owned());
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |problem: &str| {
            let accepted = "write out_of_sequence 12, or /sys/class/infiniband/mlx5_0/…/out_of_sequence:12";
            FormatError::new(LISTING, source_name, problem, accepted).at_line(number).found(line)
        };
        let Some((path, value)) = name_and_value(line).filter(|_| input::is_whole(line)) else {
            readings.wrong(wrong("has no name and value"), line);
            continue;
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        let component = nic(&host, nic_of_path(path).unwrap_or(&of_file));
        if let Some(up) = link_state(name, value) {
            take_link(&mut readings, &component, up, hints.time_ns);
            continue;
        }
        match value.parse::<f64>().ok().filter(|value| value.is_finite()) {
            Some(value) => readings.take_nic(&component, name, value, hints.time_ns),
            None if counter_of(name).is_some() => {
                readings.wrong(wrong("has a value that is no number"), line);
            }
            // Files such as link_layer hold words.
            None => readings.skip(),
        }
    }
    finish(LISTING, source_name, readings)
}

/// A path with its value, or a name with its value.
pub(crate) fn name_and_value(line: &str) -> Option<(&str, &str)> {
    let cut = if line.starts_with('/') { line.find(':') } else { line.find([' ', '\t', ':', '=']) }?;
    let (name, value) = line.split_at(cut);
    let value = value.trim_start_matches([' ', '\t', ':', '=']).trim();
    (!value.is_empty()).then_some((name, value))
}

fn nic_of_path(path: &str) -> Option<&str> {
    let mut parts = path.split('/');
    parts.find(|part| *part == "infiniband" || *part == "net")?;
    parts.next().filter(|name| !name.is_empty())
}

/// Whether a link is up, where a file tells: `state` is `4: ACTIVE`, `operstate` is `up`.
fn link_state(name: &str, value: &str) -> Option<bool> {
    match name {
        "state" => Some(value.contains("ACTIVE")),
        "operstate" => Some(value == "up"),
        "carrier" => Some(value == "1"),
        _ => None,
    }
}

fn take_link(readings: &mut Readings, nic: &Component, up: bool, time_ns: u64) {
    readings.take(nic, Counter::LinkUp, f64::from(u8::from(up)), Join::Largest, time_ns);
}

fn finish(format: &'static str, source_name: &str, readings: Readings) -> Result<Telemetry, FormatError> {
    if readings.is_empty() {
        if let Some(error) = readings.first_wrong() {
            return Err(error);
        }
        let accepted = "known are out_of_sequence, local_ack_timeout_err, rx_prio3_pause_duration and others: see \
                        docs/reference/formats.md";
        return Err(FormatError::new(format, source_name, "has no counter that is known", accepted));
    }
    Ok(readings.finish())
}

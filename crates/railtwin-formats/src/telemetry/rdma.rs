//! `rdma statistic show` of iproute2, as JSON (`-j`) or as text.

use super::json::{Node, Place, parse};
use super::nic_counters::{Readings, counter_of, host_of, nic};
use super::tree::Tree;
use super::{Hints, Telemetry, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "rdma statistic";

/// Counters of all RDMA links of a host. The host comes from the hints or from the file name.
///
/// # Errors
/// What is neither a JSON list of links nor lines of `link NIC/PORT name value …`, or has no counter that is known. A link
/// without name, or a counter whose value is no number, is skipped.
pub fn parse_rdma_statistic(
    source_name: &str,
    bytes: &[u8],
    hints: &Hints,
) -> Result<Telemetry, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut readings = Readings::default();
    let host = host_of(source_name, hints, &mut readings);
    // Of lines the first may be damaged.
    let is_text = text.lines().any(|line| line.starts_with("link "));
    if text.trim_start().starts_with('[') && !is_text {
        let value = parse(FORMAT, source_name, &text)?;
        let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
        for link in root.items()? {
            if let Err(error) = take_link(&link, &host, hints, &mut readings) {
                readings.wrong(error, "");
            }
        }
    } else {
        read_text(source_name, &text, &host, hints, &mut readings);
    }
    if readings.is_empty() {
        if let Some(error) = readings.first_wrong() {
            return Err(error);
        }
        let accepted = "give what `rdma statistic show -j` prints";
        return Err(FormatError::new(FORMAT, source_name, "has no counter that is known", accepted));
    }
    Ok(readings.finish())
}

/// One link of the JSON form.
fn take_link(link: &Node, host: &str, hints: &Hints, readings: &mut Readings) -> Result<(), FormatError> {
    let name = nic(host, link.need("ifname")?.text()?);
    for (key, value) in link.members()? {
        // Other members name the port and optional counter sets.
        if key == "ifname" || key == "port" || matches!(value.value(), Tree::Dict(_) | Tree::List(_)) {
            continue;
        }
        match value.f64() {
            Ok(count) => readings.take_nic(&name, key, count, hints.time_ns),
            Err(error) if counter_of(key).is_some() => readings.wrong(error, key),
            Err(_) => {}
        }
    }
    Ok(())
}

/// `link mlx5_0/1 out_of_sequence 0 …`, on one line or over several.
fn read_text(source_name: &str, text: &str, host: &str, hints: &Hints, readings: &mut Readings) {
    let mut link = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let wrong = |problem: &str, found: &str| {
            let accepted = "write link mlx5_0/1 out_of_sequence 0 local_ack_timeout_err 0";
            FormatError::new(FORMAT, source_name, problem, accepted).at_line(number).found(found)
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut at = 0;
        while let Some(&name) = words.get(at) {
            let value = words.get(at + 1).copied().unwrap_or_default();
            let is_count = value.parse::<u64>().is_ok();
            // Where a value is missing the next word is the next name.
            let is_name = value.starts_with(|letter: char| letter.is_ascii_alphabetic());
            at += if name == "link" || is_count || !is_name { 2 } else { 1 };
            if name == "link" {
                let named = value.split('/').next().filter(|name| !name.is_empty() && input::is_whole(name));
                link = named.map(|name| nic(host, name));
                if link.is_none() {
                    readings.wrong(wrong("is no link", value), "");
                }
                continue;
            }
            match (&link, value.parse::<u64>()) {
                (Some(link), Ok(count)) => readings.take_nic(link, name, count as f64, hints.time_ns),
                (None, _) => readings.wrong(wrong("stands before any link", name), name),
                (_, Err(_)) if value.is_empty() => readings.wrong(wrong("has no value", name), name),
                (_, Err(_)) => readings.wrong(wrong("is no whole number", value), name),
            }
        }
    }
}

//! `rdma statistic show` of iproute2, as JSON (`-j`) or as text.

use super::json::{Node, Place, parse};
use super::nic_counters::{Readings, host_of, nic};
use super::{Hints, Telemetry, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "rdma statistic";

/// Counters of all RDMA links of a host. The host comes from the hints or from the file name.
///
/// # Errors
/// What is neither a JSON list of links nor lines of `link NIC/PORT name value …`; a value that is no number.
pub fn parse_rdma_statistic(
    source_name: &str,
    bytes: &[u8],
    hints: &Hints,
) -> Result<Telemetry, FormatError> {
    let text = input::text(FORMAT, source_name, bytes)?;
    let mut readings = Readings::default();
    let host = host_of(source_name, hints, &mut readings);
    if text.trim_start().starts_with('[') {
        let value = parse(FORMAT, source_name, &text)?;
        let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
        for link in root.items()? {
            let name = nic(&host, link.need("ifname")?.text()?);
            for (key, value) in link.members()? {
                // Other members name the port and optional counter sets.
                if key != "ifname" && key != "port" && value.value().is_number() {
                    readings.take_nic(&name, key, value.f64()?, hints.time_ns);
                }
            }
        }
    } else {
        read_text(source_name, &text, &host, hints, &mut readings)?;
    }
    if readings.is_empty() {
        let accepted = "give what `rdma statistic show -j` prints";
        return Err(FormatError::new(FORMAT, source_name, "has no counter that is known", accepted));
    }
    Ok(readings.finish())
}

/// `link mlx5_0/1 out_of_sequence 0 …`, on one line or over several.
fn read_text(
    source_name: &str,
    text: &str,
    host: &str,
    hints: &Hints,
    readings: &mut Readings,
) -> Result<(), FormatError> {
    let mut link = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let wrong = |problem: &str, found: &str| {
            let accepted = "write link mlx5_0/1 out_of_sequence 0 local_ack_timeout_err 0";
            FormatError::new(FORMAT, source_name, problem, accepted).at_line(number).found(found)
        };
        let mut words = line.split_whitespace();
        while let Some(name) = words.next() {
            let value = words.next().ok_or_else(|| wrong("has no value", name))?;
            if name == "link" {
                link = Some(nic(host, value.split('/').next().unwrap_or(value)));
                continue;
            }
            let link = link.as_ref().ok_or_else(|| wrong("stands before any link", name))?;
            let count: u64 = value.parse().map_err(|_| wrong("is no whole number", value))?;
            readings.take_nic(link, name, count as f64, hints.time_ns);
        }
    }
    Ok(())
}

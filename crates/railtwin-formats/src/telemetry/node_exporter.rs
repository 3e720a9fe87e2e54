//! node_exporter: Prometheus metrics of a host and its NICs.

use railtwin_records::{Component, Counter};

use super::nic_counters::{Join, Readings, host_of, nic};
use super::prometheus::{FORMAT, parse_prometheus};
use super::{Hints, Telemetry};
use crate::error::FormatError;

/// Metrics of NICs and their ports, our counter, how it joins.
const OF_NICS: &[(&str, Counter, Join)] = &[
    ("node_infiniband_link_downed_total", Counter::LinkDowns, Join::Largest),
    ("node_network_carrier_down_changes_total", Counter::LinkDowns, Join::Largest),
    ("node_infiniband_symbol_error_total", Counter::ReceiveErrors, Join::Largest),
    ("node_infiniband_port_receive_errors_total", Counter::ReceiveErrors, Join::Largest),
    ("node_network_receive_frame_total", Counter::ReceiveErrors, Join::Largest),
    ("node_infiniband_port_discards_transmitted_total", Counter::Drops, Join::Sum),
    ("node_network_receive_drop_total", Counter::Drops, Join::Sum),
    ("node_network_transmit_drop_total", Counter::Drops, Join::Sum),
    ("node_infiniband_port_data_transmitted_bytes_total", Counter::BytesSent, Join::Largest),
    ("node_infiniband_port_data_received_bytes_total", Counter::BytesReceived, Join::Largest),
    ("node_network_transmit_bytes_total", Counter::BytesSent, Join::Largest),
    ("node_network_receive_bytes_total", Counter::BytesReceived, Join::Largest),
    ("node_network_up", Counter::LinkUp, Join::Largest),
];

/// Counters of a host: its NICs, and processes killed for want of memory. The host is the one of the hints, else the
/// label `instance`, else what the file name says. The loopback device is left out.
///
/// # Errors
/// A text without any metric that is known.
pub fn parse_node_exporter(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<Telemetry, FormatError> {
    let read = parse_prometheus(source_name, bytes)?;
    let mut readings = Readings::default();
    readings.wrong_lines(&read);
    for line in &read.wrong {
        readings.lose(line, OF_NICS.iter().copied());
    }
    for sample in read.samples().filter(|sample| sample.value.is_finite()) {
        let told = hints.host.as_deref().or_else(|| sample.first_label(&["instance", "nodename"]));
        let time_ns = sample.time_ns(hints.time_ns);
        if sample.name == "node_vmstat_oom_kill" {
            let host = told.map(str::to_owned).unwrap_or_else(|| host_of(source_name, hints, &mut readings));
            let host = Component::Host(host);
            readings.take(&host, Counter::OutOfMemoryKills, sample.value, Join::Largest, time_ns);
            continue;
        }
        let found = OF_NICS.iter().find(|(name, ..)| *name == sample.name);
        let device = sample.label("device").filter(|device| *device != "lo");
        let (Some(&(_, counter, join)), Some(device)) = (found, device) else {
            readings.skip();
            continue;
        };
        let host = told.map(str::to_owned).unwrap_or_else(|| host_of(source_name, hints, &mut readings));
        readings.take(&nic(&host, device), counter, sample.value, join, time_ns);
    }
    if readings.is_empty() {
        if let Some(error) = readings.first_wrong() {
            return Err(error);
        }
        let accepted = "known are metrics of node_exporter, xpu_timer and the DCGM exporter";
        return Err(FormatError::new(
            FORMAT,
            source_name,
            "has no metric that diagnosis has a use for",
            accepted,
        ));
    }
    Ok(readings.finish())
}

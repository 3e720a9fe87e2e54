//! What NICs and their ports count, by the names that Linux, RDMA drivers and ethtool give it.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::PortClass;
use railtwin_records::{Component, Counter};

use super::Note;
use super::builder::Builder;
use super::names::host_and_nic_of_name;
use super::port_counters::{PortReading, fits, is_named, port_class};
use super::prometheus::PrometheusText;
use super::skipped::Skipped;
use super::{Hints, Telemetry, Times};
use crate::error::FormatError;

/// How several foreign counters become one of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Join {
    /// They count different things of one kind.
    Sum,
    /// They count the same thing in other ways, or overlap: the largest is the safe one.
    Largest,
}

/// Foreign name (`*` stands for a number, such as a priority), our counter, what one unit is, how they join.
const NAMES: &[(&str, Counter, f64, Join)] = &[
    ("out_of_sequence", Counter::OutOfSequence, 1.0, Join::Largest),
    ("responder_oos", Counter::OutOfSequence, 1.0, Join::Largest),
    ("local_ack_timeout_err", Counter::AckTimeouts, 1.0, Join::Largest),
    ("requester_timeout", Counter::AckTimeouts, 1.0, Join::Largest),
    ("rp_cnp_handled", Counter::Cnps, 1.0, Join::Largest),
    ("link_downed", Counter::LinkDowns, 1.0, Join::Largest),
    ("link_down_events_phy", Counter::LinkDowns, 1.0, Join::Largest),
    ("link_down_events", Counter::LinkDowns, 1.0, Join::Largest),
    ("carrier_down_count", Counter::LinkDowns, 1.0, Join::Largest),
    ("symbol_error", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("port_rcv_errors", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_symbol_err_phy", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_crc_errors_phy", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_crc_errors", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_fcs_errors", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_fcs_err_frames", Counter::ReceiveErrors, 1.0, Join::Largest),
    ("rx_discards_phy", Counter::Drops, 1.0, Join::Sum),
    ("tx_discards_phy", Counter::Drops, 1.0, Join::Sum),
    ("port_xmit_discards", Counter::Drops, 1.0, Join::Sum),
    ("rx_discards", Counter::Drops, 1.0, Join::Sum),
    ("tx_discards", Counter::Drops, 1.0, Join::Sum),
    // mlx5 and bnxt give durations in microseconds. Priorities may be paused at the same time.
    ("rx_prio*_pause_duration", Counter::PausedNs, 1000.0, Join::Largest),
    ("rx_global_pause_duration", Counter::PausedNs, 1000.0, Join::Largest),
    ("pfc_pri*_rx_duration_us", Counter::PausedNs, 1000.0, Join::Largest),
    ("tx_prio*_pause", Counter::PauseFramesSent, 1.0, Join::Sum),
    ("tx_global_pause", Counter::PauseFramesSent, 1.0, Join::Sum),
    ("tx_pfc_ena_frames_pri*", Counter::PauseFramesSent, 1.0, Join::Sum),
    ("tx_bytes_phy", Counter::BytesSent, 1.0, Join::Largest),
    ("rx_bytes_phy", Counter::BytesReceived, 1.0, Join::Largest),
    ("tx_bytes", Counter::BytesSent, 1.0, Join::Largest),
    ("rx_bytes", Counter::BytesReceived, 1.0, Join::Largest),
    // InfiniBand counts data in words of four bytes.
    ("port_xmit_data", Counter::BytesSent, 4.0, Join::Largest),
    ("port_rcv_data", Counter::BytesReceived, 4.0, Join::Largest),
];

/// Counters of InfiniBand ports that stand still at the largest number that their bits hold (volume 1, section 16.1.3.5).
const BITS: &[(&str, u32)] = &[
    ("symbol_error", 16),
    ("link_error_recovery", 8),
    ("link_downed", 8),
    ("port_rcv_errors", 16),
    ("port_rcv_remote_physical_errors", 16),
    ("port_rcv_switch_relay_errors", 16),
    ("port_xmit_discards", 16),
    ("port_xmit_constraint_errors", 8),
    ("port_rcv_constraint_errors", 8),
    ("local_link_integrity_errors", 4),
    ("excessive_buffer_overrun_errors", 4),
    ("VL15_dropped", 16),
];

/// Our counter for a foreign name, what one unit is, and how it joins with others.
pub(crate) fn counter_of(name: &str) -> Option<(Counter, f64, Join)> {
    let found = NAMES.iter().find(|(pattern, ..)| fits(pattern, name));
    found.map(|&(_, counter, unit, join)| (counter, unit, join))
}

/// Readings of counters, joined.
#[derive(Default)]
pub(crate) struct Readings {
    values: BTreeMap<(Component, Counter, u64), f64>,
    ports: Vec<PortReading>,
    unused: u64,
    notes: Vec<Note>,
    skipped: Skipped,
    partial: BTreeSet<Counter>,
}

impl Readings {
    /// Takes a foreign counter of a NIC; what is not known is counted.
    pub(crate) fn take_nic(&mut self, nic: &Component, name: &str, value: f64, time_ns: u64) {
        let full = |bits: u32| value == f64::from((1_u32 << bits) - 1);
        if let Some((_, bits)) = BITS.iter().find(|(known, bits)| *known == name && full(*bits)) {
            self.note(Note::Saturated {
                port: nic.name().to_owned(),
                counter: name.to_owned(),
                value: value as u32,
                bits: *bits,
            });
        }
        match counter_of(name) {
            Some((counter, unit, join)) => self.take(nic, counter, value * unit, join, time_ns),
            None if is_named(name) => {}
            None => self.unused += 1,
        }
        self.take_port(nic, name, value, time_ns);
    }

    /// Keeps a counter of a port by its driver's name.
    pub(crate) fn take_port(&mut self, port: &Component, name: &str, value: f64, time_ns: u64) {
        // Counters of single queues are thousands, and add nothing to those of their port.
        if port_class(name) != Some(PortClass::Traffic) || is_named(name) {
            self.ports.push(PortReading { port: port.clone(), counter: name.to_owned(), time_ns, value });
        }
    }

    pub(crate) fn take(
        &mut self,
        entity: &Component,
        counter: Counter,
        value: f64,
        join: Join,
        time_ns: u64,
    ) {
        let slot = self.values.entry((entity.clone(), counter, time_ns)).or_insert(0.0);
        *slot = match join {
            Join::Sum => *slot + value,
            Join::Largest => slot.max(value),
        };
    }

    /// Counts a counter that diagnosis has no use for.
    pub(crate) fn skip(&mut self) {
        self.unused += 1;
    }

    /// Counts a line that is wrong. `line` is its text: see [`Readings::lose`].
    pub(crate) fn wrong(&mut self, error: FormatError, line: &str) {
        self.skipped.take(error);
        self.lose(line, NAMES.iter().map(|&(name, counter, _, join)| (name, counter, join)));
    }

    /// Takes over lines that were wrong.
    pub(crate) fn wrong_lines(&mut self, read: &PrometheusText) {
        self.skipped = read.skipped.clone();
    }

    /// Leaves out counters that are sums with a part in a line that is wrong: the sum of the others is too small, and
    /// would seem to grow at the next reading.
    pub(crate) fn lose(&mut self, line: &str, names: impl Iterator<Item = (&'static str, Counter, Join)>) {
        let stands = |name: &str| name.split('*').all(|part| line.contains(part));
        let lost = names.filter(|(name, _, join)| *join == Join::Sum && stands(name));
        self.partial.extend(lost.map(|(_, counter, _)| counter));
    }

    pub(crate) fn note(&mut self, note: impl Into<Note>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.ports.iter().any(|reading| is_named(&reading.counter))
    }

    /// The first line that was wrong.
    pub(crate) fn first_wrong(&self) -> Option<FormatError> {
        self.skipped.all()
    }

    /// Counters in order of entity and name.
    pub(crate) fn finish(self) -> Telemetry {
        let mut builder = Builder::default();
        let mut notes = self.notes;
        if self.unused > 0 {
            notes.push(format!("{} counters that diagnosis has no use for skipped", self.unused).into());
        }
        for counter in &self.partial {
            notes.push(
                format!("{}: left out, as a line that it is the sum of is wrong", counter.name()).into(),
            );
        }
        for ((entity, counter, time_ns), value) in self.values {
            if self.partial.contains(&counter) {
                continue;
            }
            builder.counter(entity, counter, time_ns, value);
        }
        let (directory, batch) = builder.finish();
        Telemetry {
            directory,
            batch,
            times: Times::Kernels,
            ports: self.ports,
            notes,
            skipped: self.skipped,
            ..Telemetry::default()
        }
    }
}

/// The host of a file: what the caller knows, else what the file name says.
pub(crate) fn host_of(source_name: &str, hints: &Hints, readings: &mut Readings) -> String {
    let told = hints.host.clone().or_else(|| host_and_nic_of_name(source_name).0);
    told.unwrap_or_else(|| {
        readings.note("nothing tells the host: it is called `unknown-host`".to_owned());
        "unknown-host".to_owned()
    })
}

/// The NIC of a file: what the caller knows, else what the file name says.
pub(crate) fn nic_of(source_name: &str, hints: &Hints) -> Option<String> {
    hints.nic.clone().or_else(|| host_and_nic_of_name(source_name).1)
}

/// The component of a NIC.
pub(crate) fn nic(host: &str, nic: &str) -> Component {
    Component::Nic(format!("{host}/{nic}"))
}

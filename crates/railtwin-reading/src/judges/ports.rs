//! Counters of NICs and ports by the names of their drivers: each beside the same counter of its peers.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust::spread;
use railtwin_formats::telemetry::{PortReading, port_class};
use railtwin_records::seen::{CounterSeen, PortClass};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use super::view::{Judgement, RowsView};

/// Least ports with a counter before they have a median; of fewer nothing is expected to grow.
const PEERS: usize = 3;
/// Least growth of a counter of errors: single ones come with a start of a peer or a new route.
const FEW: f64 = 10.0;
/// Share of packets below which errors cost nothing that can be measured: go-back-N sends at most one window (some
/// hundred packets) again for each, so one in a million costs less than a thousandth of the rate.
const PACKETS_SHARE: f64 = 1e-6;
/// Times the median of the peers that errors must reach: counters that follow traffic differ as much as traffic does,
/// and ports of one job differ by about two.
const TRAFFIC: f64 = 2.0;
/// Times the median of the peers that pauses and waits must reach: every incast makes some, at whichever port it meets.
const PAUSES: f64 = 10.0;
/// Share of time that a port must be able to stand paused before pauses are told.
const PAUSED_SHARE: f64 = 0.01;
/// Longest time in nanoseconds for which one frame can pause a port: 65,535 quanta of 512 bits at 100 Gbit/s
/// (IEEE 802.3 annex 31B). Faster ports stand still for less.
const FRAME_NS: f64 = 65_535.0 * 512.0 / 100.0;
/// Least growth of waits in ticks, whose length drivers do not tell.
const TICKS: f64 = 1e5;
/// Nanoseconds of a minute.
const MINUTE_NS: f64 = 60e9;
/// Lines of evidence of one finding, and counters of a note.
const ROWS: usize = 8;
const NOTED: usize = 4;
/// Confidence in a port whose symptom a fault of another port explains: below an accusation.
const EXPLAINED: f64 = 0.4;

/// One counter of one port over all of its readings.
#[derive(Clone, Copy, Default)]
struct Series {
    readings: u32,
    first_ns: u64,
    last_ns: u64,
    last: f64,
    grown: f64,
    since: Since,
}

impl Series {
    fn read(&mut self, time_ns: u64, value: f64) {
        if self.readings == 0 {
            (self.first_ns, self.last_ns, self.last, self.readings) = (time_ns, time_ns, value, 1);
            return;
        }
        if time_ns <= self.last_ns {
            return;
        }
        // A value that falls is a reset.
        let grown = (value - self.last).max(0.0);
        if grown > 0.0 && self.grown == 0.0 {
            self.since = Since::between(self.last_ns, time_ns);
        }
        self.grown += grown;
        (self.last_ns, self.last) = (time_ns, value);
        self.readings += 1;
    }

    /// Growth a minute; none of a single reading.
    fn rate(&self) -> Option<f64> {
        let span_ns = self.last_ns.saturating_sub(self.first_ns) as f64;
        (span_ns > 0.0).then(|| self.grown / span_ns * MINUTE_NS)
    }
}

/// All counters by name, then by port.
struct Counters<'a>(BTreeMap<&'a str, BTreeMap<&'a Component, Series>>);

/// A counter of a port that grew unlike those of its peers.
struct Outlier<'a> {
    counter: &'a str,
    rate: f64,
    expected: f64,
    series: Series,
}

impl<'a> Counters<'a> {
    fn of(readings: &'a [PortReading]) -> Self {
        let mut sorted: Vec<&PortReading> = readings.iter().filter(|one| one.value.is_finite()).collect();
        sorted.sort_by_key(|reading| reading.time_ns);
        let mut all: BTreeMap<&str, BTreeMap<&Component, Series>> = BTreeMap::new();
        for reading in sorted {
            let ports = all.entry(&reading.counter).or_default();
            ports.entry(&reading.port).or_default().read(reading.time_ns, reading.value);
        }
        Self(all)
    }

    /// Packets that a port sent or received a minute, where it counts them or their bytes.
    fn packets(&self, port: &Component) -> f64 {
        let is_packets =
            |name: &str| name.contains("packets") && port_class(name) == Some(PortClass::Traffic);
        let of = |(_, ports): (&&str, &BTreeMap<&Component, Series>)| ports.get(port)?.rate();
        let packets = self.0.iter().filter(|(name, _)| is_packets(name)).filter_map(of);
        let most = packets.fold(0.0, f64::max);
        // A packet of RoCE or InfiniBand has 4,096 bytes at most.
        let bytes = ["rx_bytes_phy", "tx_bytes_phy", "rx_bytes", "tx_bytes"].iter();
        let bytes = bytes.filter_map(|name| self.0.get(name)?.get(port)?.rate()).fold(0.0, f64::max);
        most.max(bytes / 4096.0)
    }

    /// Ports whose counter grew unlike those of their peers.
    fn outliers(&self, name: &'a str, deviations: f64) -> Vec<(&'a Component, Outlier<'a>)> {
        let Some(ports) = self.0.get(name) else { return Vec::new() };
        let rates: Vec<(&Component, f64, Series)> =
            ports.iter().filter_map(|(port, series)| Some((*port, series.rate()?, *series))).collect();
        let mut values: Vec<f64> = rates.iter().map(|(_, rate, _)| *rate).collect();
        let is_known = values.len() >= PEERS;
        let (median, deviation) = if is_known { spread(&mut values).unwrap_or_default() } else { (0.0, 0.0) };
        let class = port_class(name);
        let is_usual = !matches!(
            class,
            Some(PortClass::OwnError | PortClass::Drop | PortClass::Loss | PortClass::PeerError)
        );
        if is_usual && !is_known {
            return Vec::new();
        }
        let times = if is_usual { PAUSES } else { TRAFFIC };
        let bound = (median + deviations * deviation.max(median.sqrt()).max(1.0)).max(times * median);
        let stands_out = |&(port, rate, series): &(&'a Component, f64, Series)| {
            let floor = if is_usual { least_pauses(name) } else { PACKETS_SHARE * self.packets(port) };
            let few = if is_usual { 0.0 } else { FEW };
            rate > bound && rate >= floor && series.grown >= few
        };
        let found = rates.into_iter().filter(stands_out);
        found
            .map(|(port, rate, series)| (port, Outlier { counter: name, rate, expected: median, series }))
            .collect()
    }
}

/// Least growth a minute of a counter of pauses or waits.
fn least_pauses(name: &str) -> f64 {
    if name.contains("storm") {
        1.0
    } else if name.contains("duration") {
        // Microseconds.
        PAUSED_SHARE * MINUTE_NS / 1e3
    } else if name == "port_xmit_wait" {
        TICKS
    } else {
        PAUSED_SHARE * MINUTE_NS / FRAME_NS
    }
}

/// Counters that rules over streams judge, with the fabric where it is given.
fn is_judged_elsewhere(name: &str) -> bool {
    const NAMES: [&str; 15] = [
        "out_of_sequence",
        "responder_oos",
        "local_ack_timeout_err",
        "requester_timeout",
        "link_downed",
        "link_down_events_phy",
        "carrier_down_count",
        "symbol_error",
        "port_rcv_errors",
        "rx_symbol_err_phy",
        "rx_crc_errors_phy",
        "rx_crc_errors",
        "rx_fcs_errors",
        "rx_fcs_err_frames",
        "link_down_events",
    ];
    NAMES.contains(&name)
}

/// Findings about ports whose counters outgrow those of their peers; a note on counters without a class that do.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let counters = Counters::of(&view.merged.telemetry.ports);
    let deviations = view.settings.deviations;
    let mut by_port: BTreeMap<&Component, Vec<(PortClass, Outlier<'_>)>> = BTreeMap::new();
    let mut unclassed = Vec::new();
    for name in counters.0.keys() {
        match port_class(name) {
            Some(class) if class.is_symptom() && !is_judged_elsewhere(name) => {
                for (port, outlier) in counters.outliers(name, deviations) {
                    by_port.entry(port).or_default().push((class, outlier));
                }
            }
            Some(_) => {}
            None => unclassed.extend(counters.outliers(name, deviations)),
        }
    }
    let causes: BTreeSet<&Component> = by_port
        .iter()
        .filter(|(_, all)| all.iter().any(|(class, _)| class.is_own()))
        .map(|(port, _)| *port)
        .collect();
    let findings = by_port.iter().map(|(port, all)| {
        let is_explained = !causes.is_empty() && !causes.contains(port);
        finding(port, all, is_explained)
    });
    Judgement { findings: findings.collect(), notes: note(&unclassed).into_iter().collect(), failed_tests: 0 }
}

/// Confidence, likely faults and advice of a class.
fn meaning(class: PortClass) -> (f64, Vec<FaultKind>, &'static str) {
    match class {
        PortClass::PauseSent => (
            0.75,
            vec![FaultKind::PauseStorm, FaultKind::Slow],
            "a port that sends pauses takes packets in too slowly: see PCIe, memory and CPU of its host",
        ),
        PortClass::Drop => (
            0.75,
            vec![FaultKind::Lossy, FaultKind::Slow],
            "compare its PFC, priorities, buffers and PCIe with those of its peers: only this port drops",
        ),
        PortClass::OwnError => (
            0.75,
            vec![FaultKind::Lossy],
            "clean or swap the cable and its optics first, then the NIC or port",
        ),
        PortClass::Loss => (
            0.6,
            vec![FaultKind::Lossy],
            "packets are lost between this port and its peers: see errors and drops of its cable, its leaf and its peers",
        ),
        PortClass::PeerError => (
            0.5,
            vec![FaultKind::Lossy],
            "the peers of its connections report or cause these errors: see their logs and counters, too",
        ),
        _ => (
            0.45,
            vec![FaultKind::Slow],
            "the far end of its cable holds this port up: give counters of the switch and of the hosts that it sends to",
        ),
    }
}

fn finding(port: &Component, all: &[(PortClass, Outlier<'_>)], is_explained: bool) -> Finding {
    let mut lines: Vec<&(PortClass, Outlier<'_>)> = all.iter().collect();
    lines.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.rate.total_cmp(&a.1.rate)));
    let class = lines.first().map_or(PortClass::Harmless, |line| line.0);
    let (confidence, faults, advice) = meaning(class);
    let seen = |(class, outlier): &&(PortClass, Outlier<'_>)| {
        let (port, counter) = (port.name().to_owned(), outlier.counter.to_owned());
        let seen = CounterSeen::PortGrowth { port, counter, class: *class };
        Evidence::new(seen, outlier.rate.round(), outlier.expected.round())
    };
    let last_ns = lines.iter().map(|(_, outlier)| outlier.series.last_ns).max().unwrap_or(0);
    Finding {
        at_ns: last_ns,
        since: Since::earliest(lines.iter().map(|(_, outlier)| outlier.series.since), last_ns),
        syndrome: Syndrome::Counter,
        faults,
        suspects: vec![Suspect { component: port.clone(), share: 1.0 }],
        confidence: if is_explained { confidence.min(EXPLAINED) } else { confidence },
        severity: 0.0,
        cost: None,
        evidence: lines.iter().take(ROWS).map(seen).collect(),
        advice: if is_explained {
            "faults of other ports, told beside it, may be the cause of what this one counts".to_owned()
        } else {
            advice.to_owned()
        },
    }
}

/// Counters without a class that outgrow their peers, named with port and growth.
fn note(unclassed: &[(&Component, Outlier<'_>)]) -> Option<String> {
    let one = |(port, outlier): &(&Component, Outlier<'_>)| {
        format!(
            "{} of {} grows by {:.0} a minute, peers by {:.0}",
            outlier.counter,
            port.name(),
            outlier.rate,
            outlier.expected
        )
    };
    let named: Vec<String> = unclassed.iter().take(NOTED).map(one).collect();
    let more = if unclassed.len() > named.len() { "; …" } else { "" };
    (!named.is_empty())
        .then(|| format!("counters without a known meaning outgrow their peers: {}{more}", named.join("; ")))
}

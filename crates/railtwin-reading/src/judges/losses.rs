//! Ratios between counters of a single reading: packets that are lost on a fabric that should lose none.
use std::collections::BTreeMap;

use railtwin_formats::telemetry::{PortReading, port_class};
use railtwin_records::seen::{CounterSeen, PortClass};
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

use super::view::{Judgement, RowsView};

/// Recoveries from loss since the start below which nothing is said. A restart of a peer or a new route costs each queue
/// pair one recovery; a NIC has some hundred at a time, so tens of such events stay below it.
const RECOVERIES: f64 = 10_000.0;
/// Recoveries for each packet that came marked. Marking begins long before a buffer is full (DCQCN: Kmin at a few per
/// cent of it) and is there so that none overflows: one loss in a thousand marks is no exception any more.
const OF_MARKS: f64 = 1e-3;
/// Recoveries for each packet: one in a million costs go-back-N less than a thousandth of its rate.
const OF_PACKETS: f64 = 1e-6;
/// Confidence: totals since the start do not tell when it was, nor where on the paths.
const CONFIDENCE: f64 = 0.55;

/// Recoveries from loss: negative acknowledgements that a NIC received, and its timeouts.
const RECOVERED: [&str; 8] = [
    "packet_seq_err",
    "local_ack_timeout_err",
    "seq_err_naks_rcvd",
    "to_retransmits",
    "retrans_pkts",
    "retrans_timeout_events",
    "tcpRetransSegs",
    "requester_timeout",
];
/// Packets that came marked; sent notifications where these are not counted.
const MARKED: [&str; 5] =
    ["np_ecn_marked_roce_packets", "rx_ecn_marked_pkts", "RxECNMrkd", "np_cnp_sent", "tx_cnp_pkts"];

/// Findings about NICs of which one reading shows more losses than a lossless fabric can have.
pub(super) fn judge(view: &RowsView<'_>) -> Judgement {
    let mut ports: BTreeMap<&Component, BTreeMap<&str, Vec<&PortReading>>> = BTreeMap::new();
    for reading in &view.merged.telemetry.ports {
        let counters = ports.entry(&reading.port).or_default();
        counters.entry(reading.counter.as_str()).or_default().push(reading);
    }
    let findings: Vec<Finding> =
        ports.into_iter().filter_map(|(port, counters)| of_port(port, &counters)).collect();
    findings.into()
}

fn of_port(port: &Component, counters: &BTreeMap<&str, Vec<&PortReading>>) -> Option<Finding> {
    // Where there are two readings their growth says more.
    let once = |name: &str| counters.get(name).filter(|all| all.len() == 1).map(|all| all[0]);
    let recovered: Vec<&PortReading> = RECOVERED.iter().filter_map(|name| once(name)).collect();
    let lost: f64 = recovered.iter().map(|reading| reading.value).sum();
    let marks = MARKED.iter().filter_map(|name| once(name)).map(|reading| reading.value);
    let marked = marks.fold(0.0, f64::max);
    let is_packets = |name: &&&str| name.contains("packets") || name.ends_with("_pkts");
    let packets =
        counters.keys().filter(is_packets).filter(|name| port_class(name) == Some(PortClass::Traffic));
    let packets = packets.filter_map(|name| once(name)).map(|reading| reading.value).fold(0.0, f64::max);
    let is_much = lost >= RECOVERIES
        && match (marked > 0.0, packets > 0.0) {
            (true, true) => lost >= OF_MARKS * marked && lost >= OF_PACKETS * packets,
            (true, false) => lost >= OF_MARKS * marked,
            (false, true) => lost >= OF_PACKETS * packets,
            // Nothing says how much was sent.
            (false, false) => false,
        };
    is_much.then(|| finding(port, &recovered, marked, counters))
}

fn finding(
    port: &Component,
    recovered: &[&PortReading],
    marked: f64,
    counters: &BTreeMap<&str, Vec<&PortReading>>,
) -> Finding {
    let evidence = |reading: &PortReading, class: PortClass| {
        let (port, counter) = (port.name().to_owned(), reading.counter.clone());
        Evidence::new(CounterSeen::PortTotal { port, counter, class }, reading.value, 0.0)
    };
    let mut told: Vec<&&PortReading> = recovered.iter().filter(|reading| reading.value > 0.0).collect();
    told.sort_by(|a, b| b.value.total_cmp(&a.value));
    let mut lines: Vec<Evidence> =
        told.into_iter().map(|reading| evidence(reading, PortClass::Loss)).collect();
    let marks = MARKED.iter().filter_map(|name| counters.get(name)?.first());
    lines.extend(marks.filter(|one| one.value > 0.0).take(1).map(|one| evidence(one, PortClass::Congestion)));
    let at_ns = recovered.first().map_or(0, |reading| reading.time_ns);
    let advice = if marked > 0.0 {
        "its fabric marks packets and loses them all the same: see that PFC is on for the priority of this traffic at NICs and at \
         every switch, and drops of switches; a second reading tells whether it goes on"
    } else {
        "see errors and drops of its cable, its leaf and its peers; a second reading tells whether it goes on"
    };
    Finding {
        at_ns,
        since: Since::default(),
        syndrome: Syndrome::Counter,
        faults: vec![FaultKind::Lossy],
        suspects: vec![Suspect { component: port.clone(), share: 1.0 }],
        confidence: CONFIDENCE,
        severity: 0.0,
        cost: None,
        evidence: lines,
        advice: advice.to_owned(),
    }
}

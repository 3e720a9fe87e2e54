//! TCP_INFO of connections, as `ss -tin` and `ss -tinm` of iproute2 print it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::names::host_and_nic_of_name;
use super::pair_probe::{PairProbe, ProbeEnd};
use super::probe_table::ProbeTable;
use super::{Hints, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "ss -tin";
/// Name of what was read in evidence.
const TABLE: &str = "tcp-info";
/// Segments that must have been sent before a share of them that was sent again says something.
const SEGMENTS: u64 = 100;

/// Whether a line holds what TCP knows of a connection.
fn is_info(line: &str) -> bool {
    let words = || line.split_whitespace();
    let rtt = words().any(|word| word.strip_prefix("rtt:").is_some_and(|rest| rest.contains('/')));
    rtt && words().any(|word| word.starts_with("cwnd:") || word.starts_with("mss:"))
}

/// Whether a text is what `ss` prints with `-i`.
pub(crate) fn is_ss(text: &str) -> bool {
    text.lines().any(is_info)
}

/// Reads connections with what TCP knows of each: round-trip time (halved as a delay), segments sent and sent again as
/// probes sent and lost, and the rate at which data last came through (`delivery_rate`) where the connection was busy and
/// the sender did not lack data. This side's host comes from the hints or the file name, else it is the local address; the
/// other side is the remote address. Connections within the host are left out, as are those that listen.
///
/// # Errors
/// A text without any connection; the first that is wrong.
pub fn parse_ss(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<ProbeTable, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let host = hints.host.clone().or_else(|| host_and_nic_of_name(source_name).0);
    let mut table = ProbeTable::default();
    let mut ends: Option<[String; 2]> = None;
    let mut limited = 0_u64;
    // Connections between the same hosts are one way: their numbers are joined.
    let mut ways: BTreeMap<([ProbeEnd; 2], String), Vec<Sample>> = BTreeMap::new();
    for (line, number) in text.lines().zip(1_u64..) {
        if !is_info(line) {
            if let Some(found) = addresses(line) {
                ends = Some(found);
            }
            continue;
        }
        // With `-O` both stand on one line.
        let Some([local, remote]) = addresses(line).or_else(|| ends.take()) else { continue };
        let remote_is_own =
            local == remote || remote.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if remote_is_own {
            continue;
        }
        let sample = table.skipped.keep(Sample::of(source_name, line, number));
        let Some(sample) = sample else { continue };
        limited += u64::from(sample.limited);
        let end = |host: String| ProbeEnd { host, nic: String::new() };
        let own = host.clone().unwrap_or_else(|| local.clone());
        ways.entry(([end(own), end(remote)], local)).or_default().push(sample);
    }
    for ((ends, local), samples) in ways {
        let one = PairProbe { table: TABLE, time_ns: hints.time_ns, ends, local, ..PairProbe::default() };
        for sample in &samples {
            table.pairs.push(PairProbe {
                kind: "TCP round trip".into(),
                sent: u32::try_from(sample.sent.max(1)).unwrap_or(u32::MAX),
                lost: u32::try_from(sample.again.min(sample.sent)).unwrap_or(u32::MAX),
                delay_ns: (sample.rtt_ms * 1e6 / 2.0).round().max(1.0) as u64,
                ..one.clone()
            });
        }
        let rates: Vec<f64> = samples.iter().filter_map(|sample| sample.rate).collect();
        if !rates.is_empty() {
            let bits_per_s = rates.iter().sum::<f64>() / rates.len() as f64;
            table.pairs.push(PairProbe { kind: "TCP delivery rate".into(), bits_per_s, ..one });
        }
    }
    if limited > 0 {
        table.notes.push(format!(
            "{limited} connections were mostly held up by their ends (the receiver's window, the send buffer or the \
             application): their rates say nothing of the network and are left out"
        ));
    }
    if table.pairs.is_empty() {
        let none = || {
            let accepted = "give what `ss -tin` prints on a host whose connections are open";
            FormatError::new(FORMAT, source_name, "holds no connection to another host", accepted)
        };
        return Err(table.skipped.all().unwrap_or_else(none));
    }
    Ok(table)
}

/// What TCP knows of one connection.
struct Sample {
    rtt_ms: f64,
    /// Segments sent, and those of them that were sent again.
    sent: u64,
    again: u64,
    /// Bits per second, where the network and not an end set it.
    rate: Option<f64>,
    /// Whether an end held it up for most of its time.
    limited: bool,
}

impl Sample {
    fn of(source_name: &str, line: &str, number: u64) -> Result<Self, FormatError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix(':'));
        let whole = |key: &str| value(key).and_then(|text| text.parse::<u64>().ok());
        let rtt = value("rtt").and_then(|text| text.split('/').next());
        let rtt_ms = rtt.and_then(|text| text.parse::<f64>().ok()).filter(|ms| ms.is_finite() && *ms >= 0.0);
        let Some(rtt_ms) = rtt_ms else {
            let error = FormatError::new(FORMAT, source_name, "is no time", "write rtt:0.213/0.011");
            return Err(error.at_line(number).field("rtt").found(rtt.unwrap_or_default()));
        };
        // `retrans:0/12`: now, and ever.
        let again =
            value("retrans").and_then(|text| text.rsplit('/').next()).and_then(|text| text.parse().ok());
        let sent = whole("data_segs_out").or_else(|| whole("segs_out")).unwrap_or(0);
        let share = |key: &str| {
            // `rwnd_limited:120ms(35.2%)`.
            let text = value(key)?;
            text.split_once('(')?.1.trim_end_matches([')', '%']).parse::<f64>().ok()
        };
        let held = share("rwnd_limited").unwrap_or(0.0) + share("sndbuf_limited").unwrap_or(0.0);
        let app = words.contains(&"app_limited");
        let rate =
            words.iter().position(|word| *word == "delivery_rate").and_then(|at| bits(words.get(at + 1)?));
        let limited = held > 50.0;
        Ok(Self {
            rtt_ms,
            // Few segments are no share of anything.
            sent: if sent >= SEGMENTS { sent } else { 1 },
            again: if sent >= SEGMENTS { again.unwrap_or(0) } else { 0 },
            rate: rate.filter(|_| !limited && !app),
            limited,
        })
    }
}

/// Bits per second of `12.3Gbps`, or of a bare number.
fn bits(text: &str) -> Option<f64> {
    let text = text.trim_end_matches("bps");
    let (number, scale) = match text.chars().next_back()? {
        'K' => (&text[..text.len() - 1], 1e3),
        'M' => (&text[..text.len() - 1], 1e6),
        'G' => (&text[..text.len() - 1], 1e9),
        'T' => (&text[..text.len() - 1], 1e12),
        _ => (text, 1.0),
    };
    number.parse::<f64>().ok().map(|value| value * scale).filter(|value| value.is_finite() && *value > 0.0)
}

/// Local and remote address of a line `ESTAB 0 0 10.0.0.1:4000 10.0.0.2:5000`.
fn addresses(line: &str) -> Option<[String; 2]> {
    let mut found = line.split_whitespace().filter_map(|word| {
        let (address, port) = word.rsplit_once(':')?;
        let is_port = port.bytes().all(|letter| letter.is_ascii_digit()) && !port.is_empty();
        // `[::ffff:10.0.0.1]:22`, `10.0.0.1%eth0:22`.
        let address = address.trim_start_matches('[').trim_end_matches(']');
        let address = address.split('%').next().unwrap_or(address);
        let address = address.parse::<IpAddr>().ok().filter(|_| is_port)?;
        Some(address.to_canonical().to_string())
    });
    let both = [found.next()?, found.next()?];
    Some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: &str = "State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process\n\
        ESTAB  0      0      10.0.0.1:40000     10.0.0.2:5000\n\
        \t cubic wscale:7,7 rto:204 rtt:0.213/0.011 mss:8948 cwnd:10 bytes_acked:9000000 segs_out:1200 data_segs_out:1000 \
        send 3.3Gbps lastsnd:1 pacing_rate 6Gbps delivery_rate 9.5Gbps busy:120ms retrans:0/12 rcv_space:14480\n\
        ESTAB  0      0      [::ffff:10.0.0.1]:40001     [::ffff:10.0.0.3]:5000\n\
        \t cubic rto:204 rtt:0.4/0.1 mss:8948 cwnd:10 data_segs_out:5000 delivery_rate 900Mbps busy:100ms \
        rwnd_limited:80ms(80.0%)\n\
        ESTAB  0 0 127.0.0.1:1 127.0.0.1:2\n\t cubic rtt:0.02/0.01 mss:65483 cwnd:10\n";

    #[test]
    fn connections_become_delays_losses_and_rates() {
        let found = parse_ss("ss_node7.txt", LINES.as_bytes(), &Hints::default()).expect("connections");
        let names: Vec<(&str, &str)> =
            found.pairs.iter().map(|pair| (pair.ends[0].host.as_str(), pair.ends[1].host.as_str())).collect();
        assert_eq!(names, [("node7", "10.0.0.2"), ("node7", "10.0.0.2"), ("node7", "10.0.0.3")]);
        let first = &found.pairs[0];
        assert_eq!((first.sent, first.lost, first.delay_ns), (1000, 12, 106_500));
        assert_eq!(found.pairs[1].bits_per_s, 9.5e9);
        assert!(found.notes[0].starts_with("1 connections"), "{:?}", found.notes);
        let own = parse_ss("ss.txt", LINES.as_bytes(), &Hints::default()).expect("connections");
        assert_eq!(own.pairs[0].ends[0].host, "10.0.0.1");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(
            text in "(rtt:|/|mss:|cwnd:|retrans:|delivery_rate |10\\.0\\.0\\.[12]:[0-9]{1,5} |[0-9.]{0,9}|[ \n%GMbps()]){0,60}"
        ) {
            let _ = is_ss(&text);
            if let Ok(table) = parse_ss("t", text.as_bytes(), &Hints::default()) {
                prop_assert!(table.pairs.iter().all(|pair| pair.lost <= pair.sent));
            }
        }
    }
}

//! Plain transfers of `railtwin calibrate`: what perftest measured between two NICs.
use railtwin_calibration::calibrate::Plain;
use railtwin_calibration::calibrate::plain::{fastest, timed};

use railtwin_units::Bytes;

use crate::table::TextTable;

/// The table of plain transfers.
pub(crate) fn shown(all: &[Plain]) -> String {
    let mut table = TextTable::default();
    let heads = ["plain transfers", "sizes", "us beside bytes", "GB/s", "of the wire", "error"];
    table.row(heads.map(str::to_owned));
    for one in all {
        let worst = one.errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        for (row, range) in one.fit.ranges.iter().enumerate() {
            let until = range.until.map_or("up".to_owned(), |until| format!("to {}", size(until)));
            let last = range.until.is_none();
            let share = one.share().filter(|_| last && !one.kind.latency).map_or(String::new(), percent);
            table.row([
                if row == 0 { one.kind.words() } else { String::new() },
                if one.sizes == 1 { size(range.from) } else { format!("{} {until}", size(range.from)) },
                if one.sizes == 1 && !one.kind.latency {
                    "-".to_owned()
                } else {
                    format!("{:.2}", range.latency * 1e6)
                },
                if range.bandwidth < f64::MAX {
                    format!("{:.2}", range.bandwidth / 1e9)
                } else {
                    "-".to_owned()
                },
                share,
                if row == 0 { percent(worst) } else { String::new() },
            ]);
        }
    }
    table.text()
}

/// What runs of perftest say nothing of; nothing without any.
pub(crate) fn unidentified(all: &[Plain]) -> Vec<String> {
    let mut lines = Vec::new();
    if all.is_empty() {
        return lines;
    }
    match timed(all) {
        None => lines.push("the start of a plain transfer: no run of ib_write_lat or ib_send_lat".to_owned()),
        Some(timed) => {
            if timed.sizes < 2 && fastest(all).is_none() {
                lines.push("what plain transfers carry: one size of one message; run with -a".to_owned());
            }
            let short = timed.fit.ranges.first().map_or(0.0, |range| timed.network - range.latency);
            if short > 0.0 {
                lines.push(format!(
                    "what hosts add to the start of a plain transfer: links and switches of a simulation take {:.2} us, {:.2} us \
                     more than was measured",
                    timed.network * 1e6,
                    short * 1e6
                ));
            }
            lines.push("how many switches lie between the NICs of perftest: one is taken off".to_owned());
        }
    }
    match fastest(all) {
        None if timed(all).is_none_or(|one| one.sizes < 2) => {
            lines.push("what a NIC carries: no run of ib_write_bw one way".to_owned());
        }
        Some(fastest) if fastest.line.is_none() => {
            lines.push(
                "whether NICs or the wire limit plain transfers: say what hosts are with --fabric".to_owned(),
            );
        }
        Some(fastest) if fastest.at_the_limit() == Some(true) => {
            lines.push("what NICs would carry beyond their wire".to_owned());
        }
        _ => {}
    }
    let mut unused = |what: &str, wanted: &dyn Fn(&Plain) -> bool| {
        if all.iter().any(wanted) {
            lines.push(what.to_owned());
        }
    };
    unused("one way of a read: its latency is a round trip, and stands in no cap", &|one| {
        one.kind.latency && one.kind.verb == railtwin_formats::telemetry::PerftestVerb::Read
    });
    unused("one way of runs both ways: their bandwidth is of both, and stands in no cap", &|one| {
        one.kind.bidirectional
    });
    lines
}

pub(crate) fn data(one: &Plain) -> serde_json::Value {
    let ranges = one.fit.ranges.iter().map(|range| {
        serde_json::json!({
            "from_bytes": range.from,
            "until_bytes": range.until,
            "us_beside_bytes": range.latency * 1e6,
            "gb_per_s": (range.bandwidth < f64::MAX).then_some(range.bandwidth / 1e9),
        })
    });
    serde_json::json!({
        "verb": one.kind.verb.name(),
        "latency": one.kind.latency,
        "bidirectional": one.kind.bidirectional,
        "connection": one.kind.connection,
        "mtu_bytes": one.kind.mtu,
        "queue_pairs": one.kind.queue_pairs,
        "runs": one.runs,
        "sizes": one.sizes,
        "ranges": ranges.collect::<Vec<_>>(),
        "reached_gb_per_s": one.reached / 1e9,
        "wire_share": one.share(),
        "network_us": one.network * 1e6,
        "errors": one.errors,
        "errors_left_out": one.left_out,
    })
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A size to three digits: borders lie between sizes.
pub(crate) fn size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    match mib {
        _ if mib < 1.0 => Bytes(bytes).shortest(),
        _ if mib < 1000.0 => format!("{mib:.0} MiB"),
        _ => format!("{:.1} GiB", mib / 1024.0),
    }
}

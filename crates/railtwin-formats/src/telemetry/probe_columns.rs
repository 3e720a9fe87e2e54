//! What a column of a table of probes means, by the words of its name: who probed whom, delays, losses, bandwidths.

/// How delays of several columns are preferred: less is better.
const MEDIAN: u8 = 0;
const MEAN: u8 = 1;
const LEAST: u8 = 2;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Role {
    /// The host of an end, 0 for who sent; names come before addresses.
    Host { end: usize, address: bool },
    /// The NIC of an end.
    Nic { end: usize },
    /// UDP source port.
    SourcePort,
    /// A delay: seconds of one of its unit where the name tells it, whether there and back, and how good it is.
    Delay { unit: Option<f64>, both_ways: bool, rank: u8 },
    /// Messages sent.
    Sent,
    /// Messages answered.
    Received,
    /// Messages not answered.
    Lost,
    /// Share of messages not answered, and what one of its unit is; none where the name does not tell.
    Loss { scale: Option<f64> },
    /// Whether it was answered, in words.
    Success,
    /// Bandwidth: bits per second of one of its unit.
    Bandwidth { unit: f64 },
    /// When.
    Time,
    /// Bytes of a message.
    Bytes,
}

/// Words of a name in lower case: at signs, and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        let parts = !letter.is_alphanumeric() && letter != 'µ';
        if parts || (small && letter.is_uppercase()) {
            words.push(String::new());
        }
        small = letter.is_lowercase();
        if !parts && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Seconds of one of a unit.
pub(super) fn seconds(unit: &str) -> Option<f64> {
    let unit = unit.trim().to_lowercase();
    match unit.as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Some(1e-3),
        "us" | "µs" | "\u{3bc}s" | "usec" | "usecs" | "micros" | "microseconds" => Some(1e-6),
        "ns" | "nsec" | "nsecs" | "nanos" | "nanoseconds" => Some(1e-9),
        _ => None,
    }
}

/// Bits per second of a unit that a name has, such as `Gbps`, `GB/s` or `MiB/sec`: `B` is bytes and `b` is bits.
pub(super) fn bits(name: &str) -> Option<f64> {
    for (at, _) in name.char_indices() {
        let rest = &name[at..];
        let before = name[..at].chars().next_back();
        if before.is_some_and(char::is_alphanumeric) {
            continue;
        }
        let (scale, rest) = match rest.chars().next() {
            Some('K' | 'k') => (1e3, &rest[1..]),
            Some('M' | 'm') => (1e6, &rest[1..]),
            Some('G' | 'g') => (1e9, &rest[1..]),
            Some('T' | 't') => (1e12, &rest[1..]),
            _ => (1.0, rest),
        };
        let (scale, rest) = match rest.strip_prefix('i') {
            // Powers of 1024.
            Some(rest) if scale > 1.0 => (1024_f64.powf(f64::log10(scale) / 3.0), rest),
            _ => (scale, rest),
        };
        let lower = rest.to_lowercase();
        let ends = |tail: &str| !tail.starts_with(char::is_alphanumeric);
        let per_second = |rest: &str| {
            ["ps", "/sec", "/s", "_per_s", "_s", "_per_sec", "its_per_s", "it/s", "its/s", "itps"]
                .iter()
                .any(|end| rest.strip_prefix(end).is_some_and(ends))
        };
        if rest.starts_with('B') && per_second(&lower[1..]) {
            // `GBps` are bytes; in `GBPS`, all capitals say nothing.
            let bytes = !rest.starts_with("BPS");
            return Some(scale * if bytes { 8.0 } else { 1.0 });
        }
        if rest.starts_with('b') && per_second(&lower[1..]) {
            return Some(scale);
        }
    }
    None
}

/// Which end a name tells, and how many of its words say so.
fn end(words: &[String]) -> Option<usize> {
    const FIRST: [&str; 8] = ["source", "src", "from", "sender", "client", "local", "origin", "initiator"];
    const SECOND: [&str; 9] =
        ["destination", "dest", "dst", "to", "target", "receiver", "server", "remote", "peer"];
    let long = |word: &str, begins: &[&str]| {
        begins
            .iter()
            .any(|begin| word == *begin || begin.len() > 2 && *begin != "from" && word.starts_with(begin))
    };
    let first = words.first()?;
    let last = words.last()?;
    if long(first, &FIRST) || words.len() > 1 && ["a", "1"].contains(&last.as_str()) && is_host(first) {
        Some(0)
    } else if long(first, &SECOND) || words.len() > 1 && ["b", "2"].contains(&last.as_str()) && is_host(first)
    {
        Some(1)
    } else {
        numbered(first).filter(|_| words.len() == 1)
    }
}

/// `node1` and `host2` as names of columns.
fn numbered(word: &str) -> Option<usize> {
    let kind = word.strip_suffix(['1', '2'])?;
    is_host(kind).then_some(usize::from(word.ends_with('2')))
}

fn is_host(word: &str) -> bool {
    ["host", "node", "hostname", "machine", "server"].contains(&word)
}

/// What a column of that name holds; none where it is of no use or not known.
pub(super) fn role(name: &str) -> Option<Role> {
    let words = words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let part = |wanted: &[&str]| words.iter().any(|word| wanted.iter().any(|one| word.ends_with(one)));
    if let Some(end) = end(&words) {
        if has(&["nic", "hca", "dev", "device", "iface", "interface", "rail"]) || part(&["nic", "hca", "dev"])
        {
            return Some(Role::Nic { end });
        }
        if part(&["port"]) {
            return (end == 0).then_some(Role::SourcePort);
        }
        if has(&["rack", "pod", "switch", "tor", "leaf", "dc", "zone", "region", "rank", "gpu", "az", "qp"]) {
            return None;
        }
        let address = part(&["ip", "ipv4", "ipv6", "addr", "address", "gid", "id"]);
        return Some(Role::Host { end, address });
    }
    let share = has(&["pct", "percent", "percentage", "perc"]) || name.contains('%');
    let loss = has(&["loss", "lost", "drop", "drops", "dropped", "losses"])
        || has(&["fail", "failed", "failures", "timeouts", "timedout", "unanswered", "missed"]);
    if loss {
        let of_whole = has(&["ratio", "rate", "share", "fraction", "frac", "loss"]);
        return Some(match (share, of_whole) {
            (true, _) => Role::Loss { scale: Some(0.01) },
            (false, true) => Role::Loss { scale: None },
            (false, false) => Role::Lost,
        });
    }
    if has(&["received", "recv", "rcvd", "replies", "answered", "succeeded"]) || words == ["rx"] {
        return Some(Role::Received);
    }
    if has(&["sent", "transmitted", "xmit", "probes", "packets", "pkts", "count", "samples"])
        || words == ["tx"]
    {
        return Some(Role::Sent);
    }
    if has(&["bw", "bandwidth", "throughput", "goodput", "rate"]) || part(&["bps"]) {
        return bits(name).map(|unit| Role::Bandwidth { unit });
    }
    delay(name, &words).or_else(|| {
        if has(&["success", "reachable", "status", "result", "alive", "ok"]) {
            Some(Role::Success)
        } else if has(&["time", "timestamp", "ts", "date", "datetime", "epoch", "when"]) {
            Some(Role::Time)
        } else {
            has(&["bytes", "size", "msgsize", "payload"]).then_some(Role::Bytes)
        }
    })
}

/// A delay by the words of its name; tails and spreads are none.
fn delay(name: &str, words: &[String]) -> Option<Role> {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let tail = |word: &String| {
        let number = word.trim_start_matches('p').trim_end_matches("th");
        word.len() > 1
            && number.len() >= 2
            && number.starts_with(['9', '7', '8'])
            && number.parse::<u32>().is_ok()
    };
    if has(&["max", "std", "stdev", "stddev", "mdev", "jitter", "var", "variance", "dev", "maximum"])
        || words.iter().any(tail)
    {
        return None;
    }
    let median = has(&["median", "p50", "typical", "typ", "50th", "med"]);
    let mean = has(&["avg", "mean", "average"]);
    let least = has(&["min", "minimum"]);
    let unit = words.iter().find_map(|word| seconds(word)).or_else(|| {
        // Names in one word: `rttus`, `latencyms`.
        words.iter().find_map(|word| {
            let rest =
                ["rtt", "latency", "delay", "ping"].iter().find_map(|begin| word.strip_prefix(begin))?;
            seconds(rest)
        })
    });
    let begins =
        |begins: &[&str]| words.iter().any(|word| begins.iter().any(|begin| word.starts_with(begin)));
    let both_ways = begins(&["rtt", "ping"]) || has(&["round"]);
    let named = both_ways || begins(&["latency", "delay", "oneway", "owd"]) || has(&["lat", "response"]);
    // `time_ms` and `avg_us` are delays; `time` alone is when.
    let by_unit = unit.is_some() && (median || mean || least || has(&["time", "elapsed"]));
    let rank = if median {
        MEDIAN
    } else if least {
        LEAST
    } else {
        MEAN
    };
    let is_delay = named || by_unit && !name.is_empty();
    is_delay.then_some(Role::Delay { unit, both_ways, rank })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_of_columns_tell_their_role() {
        let host = |end, address| Some(Role::Host { end, address });
        let delay = |unit, both_ways, rank| Some(Role::Delay { unit, both_ways, rank });
        for (name, wanted) in [
            ("source", host(0, false)),
            ("src_host", host(0, false)),
            ("dstIp", host(1, true)),
            ("to", host(1, false)),
            ("host_b", host(1, false)),
            ("node1", host(0, false)),
            ("src_nic", Some(Role::Nic { end: 0 })),
            ("source_port", Some(Role::SourcePort)),
            ("dst_port", None),
            ("src_rack", None),
            ("rtt_us", delay(Some(1e-6), true, MEAN)),
            ("RTT (ms)", delay(Some(1e-3), true, MEAN)),
            ("avgRtt", delay(None, true, MEAN)),
            ("latency_p50_us", delay(Some(1e-6), false, MEDIAN)),
            ("p99_us", None),
            ("rtt_max_ms", None),
            ("min_ms", delay(Some(1e-3), false, LEAST)),
            ("timestamp", Some(Role::Time)),
            ("time_ms", delay(Some(1e-3), false, MEAN)),
            ("loss_pct", Some(Role::Loss { scale: Some(0.01) })),
            ("packet loss (%)", Some(Role::Loss { scale: Some(0.01) })),
            ("loss", Some(Role::Loss { scale: None })),
            ("lost", Some(Role::Lost)),
            ("packets_sent", Some(Role::Sent)),
            ("received", Some(Role::Received)),
            ("bw_gbps", Some(Role::Bandwidth { unit: 1e9 })),
            ("bandwidth (GB/s)", Some(Role::Bandwidth { unit: 8e9 })),
            ("bandwidth", None),
            ("size", Some(Role::Bytes)),
            ("status", Some(Role::Success)),
            ("comment", None),
        ] {
            assert_eq!(role(name), wanted, "{name}");
        }
        assert_eq!(bits("BW average[MiB/sec]"), Some(8.0 * 1_048_576.0));
        assert_eq!(bits("Gb/s"), Some(1e9));
    }

    proptest! {
        #[test]
        fn any_name_is_taken(name in "\\PC{0,30}") {
            if let Some(Role::Bandwidth { unit }) = role(&name) {
                prop_assert!(unit > 0.0);
            }
        }
    }
}

//! First lines about devices: ports by their counters, links of PCIe, GPUs that slow down, from typed evidence.
use railtwin_records::seen::{CounterSeen, DeviceSeen, LogSeen, PortClass};
use railtwin_records::{FaultKind, Finding, Seen, Syndrome};

/// Counters that a first line names.
const NAMED: usize = 2;

/// The words for counters of a port: `drops packets (rx_prio3_buf_discard grows by 500,000 a minute)`.
pub(crate) fn of_port(finding: &Finding) -> Option<String> {
    let grown = finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Counter(CounterSeen::PortGrowth { counter, class, .. }) => Some((counter, *class, line.value)),
        _ => None,
    });
    if let Some((counter, class, rate)) = grown {
        return Some(format!("{} ({counter} grows by {} a minute)", class.words(), grouped(rate)));
    }
    let totals = |wanted: PortClass| {
        finding.evidence.iter().filter_map(move |line| match &line.seen {
            Seen::Counter(CounterSeen::PortTotal { counter, class, .. }) if *class == wanted => {
                Some(format!("{} {counter}", grouped(line.value)))
            }
            _ => None,
        })
    };
    let lost: Vec<String> = totals(PortClass::Loss).take(NAMED).collect();
    let lossless =
        if totals(PortClass::Congestion).next().is_some() { "; the fabric is not lossless" } else { "" };
    (!lost.is_empty()).then(|| format!("packets are lost on its paths ({}){lossless}", lost.join(", ")))
}

/// The words for lines of a kernel about a device: `its PCIe link carries 63 of 252 Gb/s (8 GT/s x8 at 0000:b2:00)`.
pub(crate) fn of_log(finding: &Finding) -> Option<String> {
    finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Log(LogSeen::PcieLink { speed, at, .. }) => {
            let at = at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
            Some(format!(
                "its PCIe link carries {:.0} of {:.0} Gb/s ({speed}{at})",
                line.value, line.expected
            ))
        }
        Seen::Log(LogSeen::FatalNvlink { link, number, .. }) => {
            Some(format!("fatal error of its NVLink {link} (Xid {number})"))
        }
        Seen::Log(LogSeen::NotStarted { driver, .. }) => {
            Some(format!("fatal error at its start: {driver} gave it up"))
        }
        Seen::Log(LogSeen::RegistrationFailed { error, .. }) => {
            let meaning = if *error == -12 { ", out of memory" } else { "" };
            Some(format!("cannot register memory (error {error}{meaning})"))
        }
        _ => None,
    })
}

/// The words for tables about a device: `runs at 1X of 4X`, `PFC storm at queue 3, not over (407,981 packets dropped)`.
pub(crate) fn of_table(finding: &Finding) -> Option<String> {
    let seen = |line: &railtwin_records::Evidence| match &line.seen {
        Seen::Device(seen) => Some(seen.clone()),
        _ => None,
    };
    let dropped: f64 = finding
        .evidence
        .iter()
        .filter(|line| matches!(line.seen, Seen::Device(DeviceSeen::StormDrops { .. })))
        .map(|line| line.value)
        .sum();
    let first = finding.evidence.iter().find_map(seen)?;
    Some(match first {
        DeviceSeen::NearestNic { path, usual, .. } => {
            format!("no NIC is nearer than {path}, most GPUs of its host have one by {usual}")
        }
        DeviceSeen::LinkWidth { width, possible, .. } => format!("runs at {width} of {possible}"),
        DeviceSeen::LinkSpeed { speed, possible, .. } => format!("runs at {speed}, {possible} possible"),
        DeviceSeen::Storms { queue, is_over, .. } => {
            let state = if is_over { "restored" } else { "still stormed" };
            format!("PFC storm at queue {queue}, {state} ({} packets dropped)", grouped(dropped))
        }
        DeviceSeen::PortState { state, .. } => format!("its link is {state}"),
        DeviceSeen::PortRate { .. } => {
            let line = finding.evidence.first()?;
            format!("its link runs at {} of {} Gb/s", line.value, line.expected)
        }
        DeviceSeen::PortTrouble { text, .. } => format!("reports \"{text}\""),
        DeviceSeen::GpuReports { field, text, .. } => format!("{field}: {text}"),
        DeviceSeen::NvlinksInactive { links, .. } => format!("{} of its NVLinks are inactive", links.len()),
        DeviceSeen::NvlinkErrorsOf { link, what, .. } => format!("{what} errors of its NVLink {link}"),
        _ => return None,
    })
}

/// How a GPU is slowed down: `slowed by heat (345 of 1980 MHz, 91 °C)`.
pub(crate) fn of_clock(finding: &Finding) -> Option<String> {
    if finding.syndrome != Syndrome::Counter || finding.faults.first() != Some(&FaultKind::SlowGpu) {
        return None;
    }
    let (mut reasons, mut figures, mut is_hot) = (None, Vec::new(), false);
    for line in &finding.evidence {
        match &line.seen {
            Seen::Counter(CounterSeen::ClockReasons { reasons: named, .. }) => {
                reasons.get_or_insert(named);
            }
            Seen::Counter(CounterSeen::Clock { .. }) if figures.is_empty() => {
                figures.push(format!("{:.0} of {:.0} MHz", line.value, line.expected));
            }
            Seen::Counter(CounterSeen::Temperature { .. }) if figures.len() < 2 => {
                is_hot |= line.value >= line.expected;
                figures.push(format!("{:.0} °C", line.value));
            }
            _ => {}
        }
    }
    let by = match reasons {
        Some(named) if named.contains("heat") => "slowed by heat",
        Some(named) if named.contains("brake") => "slowed by a power brake",
        Some(_) => "slowed by its hardware",
        None if is_hot => "slowed by heat",
        None => "runs at a low clock",
    };
    (!figures.is_empty() || reasons.is_some()).then(|| match figures.is_empty() {
        true => by.to_owned(),
        false => format!("{by} ({})", figures.join(", ")),
    })
}

/// A whole number with commas between its thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs().min(1e18));
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn thousands_are_parted() {
        for (value, text) in [(0.0, "0"), (999.0, "999"), (1000.0, "1,000"), (929_974.0, "929,974")] {
            assert_eq!(super::grouped(value), text);
        }
    }
}

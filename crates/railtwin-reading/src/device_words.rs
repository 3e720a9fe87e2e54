//! First lines about devices: ports by their counters, links of PCIe, GPUs that slow down, from typed evidence.
use railtwin_records::seen::{CounterSeen, PortClass};
use railtwin_records::{Finding, Seen};

/// Counters that a first line names.
const NAMED: usize = 2;

/// What counters of a port show: `drops packets (rx_prio3_buf_discard grows by 500,000 a minute)`.
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

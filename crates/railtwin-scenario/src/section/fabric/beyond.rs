//! Clusters beyond those that costs were measured on: said beside the results.
use railtwin_units::Bytes;
use railtwin_workload::Collective;
use railtwin_workload::scaling::Scaled;

/// A collective over more ranks than its cost was measured on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Beyond {
    /// The collective.
    pub(crate) collective: Collective,
    /// Its ranks.
    pub(crate) ranks: u32,
    /// Most ranks that its cost was measured on.
    pub(crate) measured: u32,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// What the model says of it; none where the cost of the nearest number of hosts was taken.
    pub(crate) scaled: Option<Scaled>,
}

impl Beyond {
    /// How many times the ranks that were measured.
    fn times(&self) -> f64 {
        f64::from(self.ranks) / f64::from(self.measured.max(1))
    }
}

/// Adds one, if it is the farthest of its collective, and of those as far the largest.
pub(crate) fn keep(all: &mut Vec<Beyond>, one: Beyond) {
    let rank = |one: &Beyond| (one.ranks, one.bytes);
    match all.iter_mut().find(|other| other.collective == one.collective) {
        Some(other) if rank(&one) > rank(other) => *other = one,
        Some(_) => {}
        None => all.push(one),
    }
}

/// What is said of one.
pub(crate) fn told(job: &str, one: &Beyond) -> String {
    let begin = format!(
        "job {job}: the cost of {} was fitted on at most {} GPUs and is asked for {}, {} x as many",
        one.collective.name(),
        one.measured,
        one.ranks,
        digits(one.times()),
    );
    let Some(scaled) = one.scaled else {
        return format!(
            "{begin}: that of the nearest number of hosts is taken, and nothing says how far it is off"
        );
    };
    let (low, high) = (scaled.seconds * scaled.band.0, scaled.seconds * scaled.band.1);
    let other = scaled.other().map_or(String::new(), |(algorithm, seconds)| {
        format!("; by {}, should NCCL take it, {}", algorithm.name(), time(seconds))
    });
    format!(
        "{begin}: {} alone on the network take {} by {}, in 80 % of cases {} to {}{other}",
        Bytes(one.bytes),
        time(scaled.seconds),
        scaled.algorithm.name(),
        time(low),
        time(high),
    )
}

/// Three digits of a number.
fn digits(value: f64) -> String {
    let places = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9);
    let text = format!("{value:.*}", places as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Seconds in the unit that fits.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", digits(s)),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        s => format!("{} us", digits(s * 1e6)),
    }
}

#[cfg(test)]
mod tests {
    use railtwin_workload::Algorithm;

    use super::*;

    #[test]
    fn the_farthest_of_a_collective_is_told_with_its_band() {
        let scaled = Scaled {
            algorithm: Algorithm::Tree,
            seconds: 6.14e-3,
            serial: Some(9.9e-3),
            tree: Some(6.14e-3),
            beyond: 32.0,
            band: (0.5, 2.0),
        };
        let one = Beyond {
            collective: Collective::AllReduce,
            ranks: 2048,
            measured: 64,
            bytes: 1 << 27,
            scaled: Some(scaled),
        };
        let mut all = Vec::new();
        for other in [Beyond { ranks: 128, ..one }, one, Beyond { bytes: 1, ..one }] {
            keep(&mut all, other);
        }
        assert_eq!(all, [one]);
        let text = told("a", &one);
        assert!(text.contains("at most 64 GPUs and is asked for 2048, 32 x as many"), "{text}");
        assert!(text.contains("6.14 ms by tree, in 80 % of cases 3.07 ms to 12.3 ms; by ring"), "{text}");
        assert!(told("a", &Beyond { scaled: None, ..one }).contains("nearest"));
    }
}

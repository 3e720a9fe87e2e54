//! Traffic that no record tells of: what a port sent beyond the bytes of the messages over its link.
use std::collections::BTreeMap;

use railtwin_records::{Batch, Counter, Directory};

use crate::context::Context;

/// Share of the recorded bytes up to which more counted ones are no traffic: headers are 1.5 to 8 % (62 B beside 4 or
/// 1 KiB), and an operation or two of a window are counted in one and recorded in the next.
const MARGIN: f64 = 0.1;
/// What queue pairs lost, others must have sent, as together they fill the link; half of it is asked for, as the
/// other traffic may begin or end within the window.
const TAKEN: f64 = 0.5;
/// Readings kept of a port, and how far they are apart at least: two minutes, in which slowness shows.
const READINGS: usize = 12;
const APART_NS: u64 = 10_000_000_000;

/// What was counted and recorded up to a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reading {
    at_ns: u64,
    counted: f64,
    recorded: f64,
}

/// What a port's bytes say of slow queue pairs over its link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Traffic {
    /// Not enough was read since they became slow.
    Unknown,
    /// The port sent what records tell, and no more: nobody else was there.
    Recorded,
    /// It sent so many bytes more than recorded and usual, where so many would explain the slowness.
    More(f64, f64),
}

/// Counted and recorded bytes by link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Unrecorded {
    /// Bytes of each flow so far.
    carried: Vec<f64>,
    /// Flows over each link.
    flows: BTreeMap<u32, Vec<u32>>,
    /// By the link that leaves the port, in order of time.
    ports: BTreeMap<u32, Vec<Reading>>,
}

impl Unrecorded {
    /// Takes in the flows that the directory has more than before.
    pub fn grow(&mut self, directory: &Directory) {
        for (row, flow) in directory.flows.iter().enumerate().skip(self.carried.len()) {
            for &link in &flow.links {
                self.flows.entry(link).or_default().push(row as u32);
            }
        }
        self.carried.resize(directory.flows.len(), 0.0);
    }

    /// Takes a batch in: its messages count as sent before its counters were read.
    pub fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        for (&flow, &bytes) in batch.messages.flow.iter().zip(&batch.messages.bytes) {
            if let Some(carried) = self.carried.get_mut(flow as usize) {
                *carried += bytes as f64;
            }
        }
        let rows = &batch.counters;
        for row in (0..rows.len()).filter(|&row| rows.counter[row] == Counter::BytesSent) {
            let entity = context.directory.entities.get(rows.entity[row] as usize);
            let Some(link) = entity.and_then(|entity| entity.link) else { continue };
            let Some(flows) = self.flows.get(&link).filter(|_| rows.value[row].is_finite()) else { continue };
            let recorded = flows.iter().map(|&flow| self.carried[flow as usize]).sum();
            let reading = Reading { at_ns: batch.until_ns, counted: rows.value[row], recorded };
            keep(self.ports.entry(link).or_default(), reading);
        }
    }

    /// Whether traffic that no record tells of explains that queue pairs over a link are `ratio` times as slow as
    /// others, since `since_ns`. The time between two readings must be `least_ns` at least: several operations.
    pub fn traffic(&self, link: u32, since_ns: u64, ratio: f64, least_ns: u64) -> Traffic {
        let Some(readings) = self.ports.get(&link) else { return Traffic::Unknown };
        let Some(&last) = readings.last() else { return Traffic::Unknown };
        let begun = readings.partition_point(|reading| reading.at_ns < since_ns);
        // What was there before the slowness does not explain it.
        let usual = match readings[..begun] {
            [first, .., before] => first.beyond(before) / first.until(before),
            _ => 0.0,
        };
        let enough =
            |from: &Reading| last.at_ns >= from.at_ns + least_ns.max(1) && last.recorded > from.recorded;
        let more = |from: &Reading| {
            let beyond = from.beyond(last) - usual.max(0.0) * from.until(last);
            let asked = (TAKEN * (ratio - 1.0)).max(MARGIN) * (last.recorded - from.recorded);
            (beyond >= asked).then_some(Traffic::More(beyond, asked))
        };
        if let Some(from) = readings.get(begun).filter(|from| enough(from)) {
            return more(from).unwrap_or(Traffic::Recorded);
        }
        // The slowness began between two readings: other traffic shows, that there is none does not.
        let from = readings[..begun].last().filter(|from| enough(from));
        from.and_then(more).unwrap_or(Traffic::Unknown)
    }

    /// Bytes held, about.
    pub fn memory_bytes(&self) -> usize {
        8 * self.carried.capacity()
            + self.flows.values().map(|flows| 4 * flows.capacity()).sum::<usize>()
            + self.ports.values().map(|port| size_of::<Reading>() * port.capacity()).sum::<usize>()
    }
}

impl Reading {
    /// Bytes counted beyond those recorded until a later reading.
    fn beyond(self, later: Self) -> f64 {
        (later.counted - self.counted) - (later.recorded - self.recorded)
    }

    fn until(self, later: Self) -> f64 {
        (later.at_ns - self.at_ns).max(1) as f64
    }
}

/// Takes a reading in; a counter that falls begins anew.
fn keep(readings: &mut Vec<Reading>, reading: Reading) {
    if readings.last().is_some_and(|last| reading.counted < last.counted) {
        readings.clear();
    }
    if let [.., before, last] = &mut readings[..]
        && last.at_ns < before.at_ns + APART_NS
    {
        *last = reading;
        return;
    }
    if readings.len() == READINGS {
        readings.remove(0);
    }
    readings.push(reading);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// A port read every ten seconds that sends `sent` bytes in each while records tell of 100.
    fn port(sent: &[f64]) -> Unrecorded {
        let mut all = Unrecorded::default();
        let (mut counted, port) = (0.0, all.ports.entry(4).or_default());
        for (row, sent) in (0_u64..).zip(sent) {
            keep(port, Reading { at_ns: row * 10 * SECOND, counted, recorded: 100.0 * row as f64 });
            counted += sent;
        }
        all
    }

    #[test]
    fn headers_are_no_traffic_and_what_fills_the_link_is() {
        let quiet = port(&[102.0; 8]);
        assert_eq!(quiet.traffic(4, 40 * SECOND, 1.5, SECOND), Traffic::Recorded);
        let met = port(&[102.0, 102.0, 102.0, 102.0, 260.0, 260.0, 260.0, 0.0]);
        assert!(matches!(met.traffic(4, 40 * SECOND, 1.5, SECOND), Traffic::More(more, _) if more > 450.0));
        assert_eq!(met.traffic(5, 40 * SECOND, 1.5, SECOND), Traffic::Unknown, "nobody counts there");
    }

    #[test]
    fn what_was_always_there_explains_nothing() {
        let always = port(&[160.0; 8]);
        assert_eq!(always.traffic(4, 40 * SECOND, 1.5, SECOND), Traffic::Recorded);
    }

    #[test]
    fn a_slowness_between_two_readings_shows_traffic_but_never_that_there_is_none() {
        let quiet = port(&[102.0; 6]);
        assert_eq!(quiet.traffic(4, 45 * SECOND, 1.5, SECOND), Traffic::Unknown);
        let met = port(&[102.0, 102.0, 102.0, 102.0, 180.0, 0.0]);
        assert!(matches!(met.traffic(4, 45 * SECOND, 1.5, SECOND), Traffic::More(..)));
        assert_eq!(met.traffic(4, 45 * SECOND, 1.5, 20 * SECOND), Traffic::Unknown, "too few operations");
    }

    #[test]
    fn readings_close_together_are_one_and_resets_begin_anew() {
        let mut readings: Vec<Reading> = Vec::new();
        for second in 0..100_u64 {
            let counted = if second < 50 { second } else { second - 50 } as f64;
            keep(&mut readings, Reading { at_ns: second * SECOND, counted, recorded: 0.0 });
        }
        assert_eq!(readings[0].at_ns, 50 * SECOND);
        assert!(readings.len() <= 6, "{readings:?}");
        assert_eq!(readings.last().unwrap().at_ns, 99 * SECOND);
    }
}

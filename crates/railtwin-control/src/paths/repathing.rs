//! Hosts that give a queue pair another path when its packets keep arriving marked: PLB's rule (Qureshi et al., SIGCOMM
//! 2022; `tcp_plb.c` of Linux), which HPN section 6.1 names among host-based schemes that balance by congestion signals
//! over paths chosen blindly.
use std::collections::BTreeMap;

use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_units::{SimTime, stream};

use super::assignment::JobId;
use crate::controller::{Action, Controller, Decision, Event, QueuePairCounters};

/// When a queue pair takes another path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RepathingOptions {
    /// A round in which this share of the packets was marked, or more, is a congested one.
    pub marked: f64,
    /// Congested rounds in a row after which the queue pair moves.
    pub rounds: u32,
    /// What source ports are drawn from.
    pub draw: u64,
}

/// How a queue pair fares.
#[derive(Clone, Copy, Debug)]
struct Fares {
    job: JobId,
    /// Congested rounds in a row.
    congested: u32,
    /// Source ports drawn so far.
    drawn: u32,
}

/// All hosts, each of which looks at its own queue pairs. A round is one feedback in which the queue pair received
/// something; PLB's is a round trip.
#[derive(Clone, Debug)]
pub struct Repathing {
    options: RepathingOptions,
    queue_pairs: BTreeMap<u32, Fares>,
    /// Rows of queue pairs that are to move.
    due: Vec<u32>,
}

impl Repathing {
    /// Hosts without queue pairs.
    pub const fn new(options: RepathingOptions) -> Self {
        Self { options, queue_pairs: BTreeMap::new(), due: Vec::new() }
    }

    fn hear(&mut self, &QueuePairCounters { queue_pair, marked }: &QueuePairCounters) {
        let Some(fares) = self.queue_pairs.get_mut(&queue_pair) else { return };
        fares.congested = if marked >= self.options.marked { fares.congested + 1 } else { 0 };
        if fares.congested >= self.options.rounds {
            fares.congested = 0;
            self.due.push(queue_pair);
        }
    }
}

impl Controller for Repathing {
    fn name(&self) -> &'static str {
        "repathing"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Opened(openings) => {
                for opening in openings {
                    let rows = opening.first..opening.first + opening.numbers.len() as u32;
                    let fares = Fares { job: opening.job, congested: 0, drawn: 0 };
                    self.queue_pairs.extend(rows.map(|row| (row, fares)));
                }
            }
            Event::Closed(job) => self.queue_pairs.retain(|_, fares| fares.job != job),
            Event::Counters(counters) => counters.queue_pairs.iter().for_each(|one| self.hear(one)),
            _ => {}
        }
    }

    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        for queue_pair in std::mem::take(&mut self.due) {
            let Some(fares) = self.queue_pairs.get_mut(&queue_pair) else { continue };
            fares.drawn += 1;
            // Blindly: whether the port leads elsewhere shows when marks stay away.
            let number = u64::from(queue_pair) << 32 | u64::from(fares.drawn);
            let ports = u64::from(LAST_PORT - FIRST_PORT) + 1;
            let port = FIRST_PORT + (stream::mix(self.options.draw ^ stream::mix(number)) % ports) as u16;
            let action = Action::Path { queue_pair, source_port: Some(port) };
            decisions.push(Decision { action, reason: "marked" });
        }
    }
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::DeviceId;

    use super::*;
    use crate::controller::{Counters, Opening};

    fn round(hosts: &mut Repathing, marked: &[(u32, f64)]) -> Vec<(u32, u16)> {
        let row = |&(queue_pair, marked): &(u32, f64)| QueuePairCounters { queue_pair, marked };
        let rows: Vec<QueuePairCounters> = marked.iter().map(row).collect();
        let counters = Counters { period: SimTime::from_ns(1), links: &[], queue_pairs: &rows };
        hosts.on_event(SimTime::ZERO, &Event::Counters(counters));
        let mut decisions = Vec::new();
        hosts.decide(SimTime::ZERO, &mut decisions);
        let path = |one: &Decision| match one.action {
            Action::Path { queue_pair, source_port: Some(port) } => (queue_pair, port),
            other => panic!("{other:?}"),
        };
        decisions.iter().map(path).collect()
    }

    #[test]
    fn only_marks_in_a_row_move_a_queue_pair() {
        let mut hosts = Repathing::new(RepathingOptions { marked: 0.5, rounds: 3, draw: 1 });
        let (source, target, numbers) = (DeviceId(0), DeviceId(1), [5, 6]);
        let (job, inside) = (JobId(0), None);
        let opening =
            Opening { job, source, target, ports: 1, first: 4, numbers: &numbers, bytes: 1.0, inside };
        hosts.on_event(SimTime::ZERO, &Event::Opened(&[opening]));
        assert_eq!(round(&mut hosts, &[(4, 1.0), (5, 0.6)]), []);
        // A round without packets counts for nothing, one with few marks ends the row.
        assert_eq!(round(&mut hosts, &[(5, 0.4)]), []);
        assert_eq!(round(&mut hosts, &[(4, 0.5), (5, 0.9)]), []);
        let first = round(&mut hosts, &[(4, 0.7), (5, 0.9), (9, 1.0)]);
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].0, 4);
        assert!((FIRST_PORT..=LAST_PORT).contains(&first[0].1));
        // Counted from the beginning again, and another port next time.
        let moved: Vec<(u32, u16)> = (0..3).flat_map(|_| round(&mut hosts, &[(4, 1.0)])).collect();
        assert!(moved.len() == 1 && moved[0] != first[0], "{moved:?}");
    }
}

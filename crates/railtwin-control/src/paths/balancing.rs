//! Hosts that shift bytes to the queue pairs whose messages complete fastest (C4P, C4 section III-B: the communication
//! library evaluates completion times on its paths and prioritizes the fastest).
use std::collections::BTreeMap;

use railtwin_units::SimTime;

use super::assignment::JobId;
use super::load_balance::{LoadBalance, WHOLE};
use crate::controller::{Action, Completion, Controller, Decision, Event, Opening};

/// How hosts go by completion times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BalancingOptions {
    /// Weight of the newest measurement, above 0 and up to 1.
    pub smoothing: f64,
    /// Least share of a queue pair, of an even one; 0 to 1.
    pub floor: f64,
    /// Shares of a connection are told when one of them differs by this share of an even one at least.
    pub least_change: f64,
}

/// A connection with shares.
#[derive(Clone, Debug)]
struct Shared {
    job: JobId,
    balance: LoadBalance,
    /// What its queue pairs were told last.
    told: Vec<u32>,
    /// Whether something completed since shares were found last.
    news: bool,
}

/// All hosts, each of which weighs the queue pairs of its own connections by their completion times.
#[derive(Clone, Debug)]
pub struct Balancing {
    options: BalancingOptions,
    /// By row of the first queue pair. Connections of one queue pair have nothing to shift.
    connections: BTreeMap<u32, Shared>,
}

impl Balancing {
    /// Hosts without connections.
    pub const fn new(options: BalancingOptions) -> Self {
        Self { options, connections: BTreeMap::new() }
    }

    fn open(&mut self, opening: &Opening<'_>) {
        let count = opening.numbers.len();
        let even = f64::from(WHOLE) / count.max(1) as f64;
        let floor = (even * self.options.floor.clamp(0.0, 1.0)) as u32;
        if count > 1
            && let Ok(balance) = LoadBalance::new(count, self.options.smoothing, floor)
        {
            let told = balance.shares().to_vec();
            let one = Shared { job: opening.job, balance, told, news: false };
            self.connections.insert(opening.first, one);
        }
    }

    fn hear(&mut self, &Completion { queue_pair, bytes, time }: &Completion) {
        let Some((first, one)) = self.connections.range_mut(..=queue_pair).next_back() else { return };
        let index = (queue_pair - first) as usize;
        if index < one.told.len() {
            one.balance.observe(index, bytes, time);
            one.news = true;
        }
    }
}

impl Controller for Balancing {
    fn name(&self) -> &'static str {
        "balancing"
    }

    fn on_event(&mut self, _now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Opened(openings) => openings.iter().for_each(|opening| self.open(opening)),
            Event::Closed(job) => self.connections.retain(|_, one| one.job != job),
            Event::Completed(completions) => completions.iter().for_each(|one| self.hear(one)),
            _ => {}
        }
    }

    fn decide(&mut self, _now: SimTime, decisions: &mut Vec<Decision>) {
        for (&first, one) in self.connections.iter_mut().filter(|(_, one)| one.news) {
            one.news = false;
            one.balance.rebalance();
            let shares = one.balance.shares();
            let even = f64::from(WHOLE) / shares.len() as f64;
            let apart = shares.iter().zip(&one.told).map(|(new, old)| new.abs_diff(*old)).max();
            if f64::from(apart.unwrap_or(0)) < (even * self.options.least_change).max(1.0) {
                continue;
            }
            one.told.copy_from_slice(shares);
            let weight = |(queue_pair, &share): (u32, &u32)| Decision {
                action: Action::Weight { queue_pair, share },
                reason: "completion-time",
            };
            decisions.extend((first..).zip(shares).map(weight));
        }
    }
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::DeviceId;

    use super::*;

    const OPTIONS: BalancingOptions = BalancingOptions { smoothing: 1.0, floor: 0.125, least_change: 0.01 };

    fn opened(rows: &[(u32, u32)]) -> Balancing {
        let mut hosts = Balancing::new(OPTIONS);
        for (job, &(first, count)) in (0..).zip(rows) {
            let numbers = vec![7; count as usize];
            let opening = Opening {
                job: JobId(job),
                source: DeviceId(0),
                target: DeviceId(1),
                ports: 1,
                first,
                numbers: &numbers,
                bytes: 1.0,
                inside: None,
            };
            hosts.on_event(SimTime::ZERO, &Event::Opened(&[opening]));
        }
        hosts
    }

    fn told(hosts: &mut Balancing, completions: &[(u32, u64, u64)]) -> Vec<(u32, u32)> {
        let row = |&(queue_pair, bytes, us): &(u32, u64, u64)| Completion {
            queue_pair,
            bytes,
            time: SimTime::from_ns(us * 1_000),
        };
        let rows: Vec<Completion> = completions.iter().map(row).collect();
        hosts.on_event(SimTime::ZERO, &Event::Completed(&rows));
        let mut decisions = Vec::new();
        hosts.decide(SimTime::ZERO, &mut decisions);
        let weight = |one: &Decision| match one.action {
            Action::Weight { queue_pair, share } => (queue_pair, share),
            other => panic!("{other:?}"),
        };
        decisions.iter().map(weight).collect()
    }

    #[test]
    fn shares_follow_completion_times_and_settle() {
        let mut hosts = opened(&[(0, 2), (2, 1), (3, 2)]);
        // Twice as fast, with an eighth of an even share for each: 4,096 + 57,344 parts at 2 : 1.
        let first =
            told(&mut hosts, &[(0, 1 << 20, 100), (1, 1 << 20, 200), (2, 1 << 20, 1), (4, 1 << 20, 5)]);
        assert_eq!(first, [(0, 4_096 + 38_229), (1, 4_096 + 19_115)]);
        // The same rates again, and a connection of one queue pair: nothing is told.
        assert_eq!(told(&mut hosts, &[(0, 2 << 20, 200), (1, 1 << 20, 200), (2, 1, 1)]), []);
        assert_eq!(told(&mut hosts, &[]), []);
        hosts.on_event(SimTime::ZERO, &Event::Closed(JobId(0)));
        assert_eq!(told(&mut hosts, &[(0, 1 << 20, 200), (1, 1 << 20, 100)]), []);
    }
}

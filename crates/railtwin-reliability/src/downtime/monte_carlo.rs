//! A plan by lot: one long history of a job, cut into windows.
use std::collections::VecDeque;

use serde::Serialize;

use crate::downtime::account::{Account, Part};
use crate::downtime::plan::Plan;
use crate::failure_rates::{Cause, Draw};

/// Shares of time over windows of a plan's hours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Simulated {
    /// Windows.
    pub windows: u32,
    /// Mean shares.
    pub shares: Account,
    /// Standard errors of the means, windows taken as independent.
    pub error: Account,
    /// Downtime of the 5th, 50th and 95th window of a hundred, share of time.
    pub downtime: [f64; 3],
    /// Crashes in a window on average.
    pub crashes: f64,
}

/// Plays `windows` windows of the plan's hours after one that is thrown away. Crashes come by lot while the job
/// runs, with their causes; diagnosis takes exponential time around its mean; all else is as the plan says.
pub fn simulate(plan: &Plan, windows: u32, seed: u64) -> Simulated {
    let windows = windows.max(1);
    let mut play = Play::new(plan, windows, seed);
    while play.now < play.end() {
        play.round();
    }
    let kept = play.shares.get(1..=windows as usize).unwrap_or_default();
    let count = f64::from(windows);
    let mean = kept.iter().fold(Account::default(), |sum, &window| sum + window) * (1.0 / count);
    let squares = kept.iter().fold(Account::default(), |sum, &window| {
        let off = window + mean * -1.0;
        sum + off.map(|off| off * off)
    });
    let error = squares.map(|sum| (sum / (count - 1.0).max(1.0) / count).sqrt());
    let mut downtime: Vec<f64> = kept.iter().map(Account::downtime).collect();
    downtime.sort_by(f64::total_cmp);
    let at = |share: f64| downtime.get((share * (count - 1.0)).round() as usize).copied().unwrap_or(0.0);
    Simulated {
        windows,
        shares: mean,
        error,
        downtime: [at(0.05), at(0.5), at(0.95)],
        crashes: f64::from(play.crashes) / count,
    }
}

/// A history that is being played.
struct Play<'a> {
    plan: &'a Plan,
    rates: [f64; 5],
    local: [f64; 5],
    draw: Draw,
    now: f64,
    /// When each host that is away comes back, in order.
    away: VecDeque<f64>,
    /// Shares of each window, the one that is thrown away first.
    shares: Vec<Account>,
    crashes: u32,
}

impl<'a> Play<'a> {
    fn new(plan: &'a Plan, windows: u32, seed: u64) -> Self {
        let gpus = f64::from(plan.gpus);
        let (rates, local) = (plan.rates.by_cause(gpus), plan.rates.local_by_cause(gpus));
        Self {
            plan,
            rates,
            local,
            draw: Draw::new(seed, "downtime"),
            now: 0.0,
            away: VecDeque::new(),
            shares: vec![Account::default(); windows as usize + 1],
            crashes: 0,
        }
    }

    fn end(&self) -> f64 {
        self.plan.hours * self.shares.len() as f64
    }

    /// Runs until a crash and stands still until the next start.
    fn round(&mut self) {
        let plan = self.plan;
        let left = self.end() - self.now;
        let crash = self.draw.exponential(1.0 / self.rates.iter().sum::<f64>());
        let running = crash.min(left);
        let segment = plan.interval + plan.checkpoint_cost;
        // Segments without end or of no length: nothing, or all, is kept.
        let whole = match segment {
            _ if crash > left => running,
            0.0 => running,
            _ => (running / segment).floor() * segment,
        };
        let work =
            if plan.checkpoint_cost > 0.0 && segment.is_finite() { plan.interval / segment } else { 1.0 };
        self.book(whole, &[(Part::Productive, work), (Part::Checkpointing, 1.0 - work)]);
        self.book(running - whole, &[(Part::PostCheckpoint, 1.0)]);
        if crash > left {
            return;
        }
        if self.now >= plan.hours {
            self.crashes += 1;
        }
        let c = self.draw.index(self.rates.iter().copied());
        let is_local = self.draw.chance(self.local[c] / self.rates[c]);
        let diagnosis = self.draw.exponential(plan.diagnosis[c]);
        self.book(plan.detection[c], &[(Part::Detection, 1.0)]);
        self.book(diagnosis + plan.isolation, &[(Part::Diagnosis(Cause::ALL[c]), 1.0)]);
        if is_local {
            self.replace();
        }
        self.book(plan.restart, &[(Part::Reinitialisation, 1.0)]);
    }

    /// Sends a host to repair and waits where no spare is left.
    fn replace(&mut self) {
        let Some(spares) = self.plan.spares else { return };
        while self.away.front().is_some_and(|&back| back <= self.now) {
            self.away.pop_front();
        }
        self.away.push_back(self.now + self.plan.repair);
        if self.away.len() > spares as usize
            && let Some(back) = self.away.pop_front()
        {
            self.book(back - self.now, &[(Part::Waiting, 1.0)]);
        }
    }

    /// Books hours from now on, each part with its share of them, over the windows that they touch.
    fn book(&mut self, hours: f64, parts: &[(Part, f64)]) {
        let until = (self.now + hours).min(self.end());
        let length = self.plan.hours;
        while self.now < until {
            let window = ((self.now / length) as usize).min(self.shares.len() - 1);
            let mut edge = (window + 1) as f64 * length;
            if edge <= self.now || window + 1 == self.shares.len() {
                edge = until;
            }
            let piece = edge.min(until) - self.now;
            for &(part, share) in parts {
                self.shares[window][part] += piece * share / length;
            }
            self.now = edge.min(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure_rates::FailureRates;

    /// Each part of the closed form lies within four standard errors of the mean by lot.
    fn agree(plan: &Plan) {
        let (expected, simulated) = (plan.expected(), simulate(plan, 4000, 11));
        for part in Part::ALL {
            let (closed, lot) = (expected.shares[part], simulated.shares[part]);
            let error = simulated.error[part];
            assert!((closed - lot).abs() <= 4.0 * error + 1e-9, "{part:?}: {closed} {lot} ± {error}");
            assert!(error < 0.02 * lot.max(1e-3), "{part:?}: {lot} ± {error} tells little");
        }
        assert!((simulated.crashes / expected.crashes - 1.0).abs() < 0.02);
        assert!((simulated.shares.total() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn lots_and_the_closed_form_agree() {
        let mut plan = Plan { spares: None, ..Plan::new(FailureRates::c4(), 2400) };
        plan.detection = [0.1, 0.5, 1.0, 0.5, 0.2];
        plan.diagnosis = [9.0, 10.0, 4.0, 2.0, 5.0];
        agree(&plan);
        plan.interval = 30.0;
        plan.checkpoint_cost = 2.0;
        agree(&plan);
        agree(&Plan { spares: None, ..Plan::new(FailureRates::llama3(), 16_384) });
    }

    #[test]
    fn waiting_for_spares_is_near_the_formula() {
        let plan = Plan { spares: Some(1), ..Plan::new(FailureRates::c4(), 4096) };
        let (closed, lot) = (plan.expected().shares, simulate(&plan, 2000, 5).shares);
        let ratio = lot[Part::Waiting] / closed[Part::Waiting];
        assert!((0.9..1.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn the_same_seed_gives_the_same_history() {
        let plan = Plan::new(FailureRates::c4(), 2400);
        assert_eq!(simulate(&plan, 20, 1), simulate(&plan, 20, 1));
        assert_ne!(simulate(&plan, 20, 1), simulate(&plan, 20, 2));
    }

    #[test]
    fn a_job_that_never_crashes_works() {
        let plan = Plan { rates: FailureRates::c4().scaled(0.0), ..Plan::new(FailureRates::c4(), 8) };
        let simulated = simulate(&plan, 3, 1);
        assert_eq!((simulated.crashes, simulated.shares.downtime()), (0.0, 0.0));
        assert!((simulated.shares.total() - 1.0).abs() < 1e-9);
    }
}

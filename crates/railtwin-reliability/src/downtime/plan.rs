//! What to expect of a job: downtime by part in closed form, money, the best checkpoint interval.
//!
//! A job runs until a crash, Poisson while it runs, then stands still until it runs again: a renewal process. With
//! work `t` between checkpoints of cost `c`, crash rate `l` and mean standstill `D`, of each mean round of
//! `1/l + D`, `t / (exp(l (t + c)) - 1)` is work that counts, `c / (exp(l (t + c)) - 1)` is checkpointing, and what
//! is left of `1/l` is lost with the crash.
use railtwin_units::probability::{binomial_above, poisson_above};
use serde::Serialize;

use crate::downtime::account::{Account, Part};
use crate::downtime::interval::{best, daly, young};
use crate::downtime::spares::erlang_loss;
use crate::failure_rates::{Cause, FailureRates, MONTH_H};

/// What a job is and how failures are dealt with; times in hours.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Plan {
    /// How often what fails.
    pub rates: FailureRates,
    /// GPUs of the job.
    pub gpus: u32,
    /// GPUs of a host.
    pub gpus_per_host: u32,
    /// Hours that are asked about.
    pub hours: f64,
    /// Work between two checkpoints.
    pub interval: f64,
    /// How long a checkpoint holds the job up.
    pub checkpoint_cost: f64,
    /// From a failure until somebody knows, by cause.
    pub detection: [f64; 5],
    /// From then until the culprit is known, by cause.
    pub diagnosis: [f64; 5],
    /// Taking it out.
    pub isolation: f64,
    /// From the restart until steps run.
    pub restart: f64,
    /// Spare hosts; none = as many as are needed.
    pub spares: Option<u32>,
    /// How long a host is away.
    pub repair: f64,
    /// Money for a GPU and hour.
    pub price: f64,
}

/// What comes of a plan.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Expected {
    /// Mean running hours between crashes; infinite (null) where nothing fails.
    pub mtbf: f64,
    /// Crashes in the hours asked about.
    pub crashes: f64,
    /// The same by cause.
    pub crashes_by_cause: [f64; 5],
    /// Shares of time.
    pub shares: Account,
    /// Money lost to downtime and checkpointing in the hours asked about.
    pub money_lost: f64,
    /// Money of one crash on average.
    pub money_per_crash: f64,
    /// Money of all GPUs in the hours asked about.
    pub money: f64,
    /// The best interval, exact, and by Daly's and Young's formulas.
    pub best_interval: [f64; 3],
    /// Downtime and checkpointing with the best interval, share of time.
    pub lost_at_best: f64,
    /// Hosts away on average while the job runs.
    pub hosts_away: f64,
    /// Chance at a random moment that more hosts are away than there are spares: Poisson and binomial; null
    /// without a bound on spares.
    pub spares_run_out: Option<[f64; 2]>,
}

/// What a changed input does.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sensitivity {
    /// The input.
    pub input: &'static str,
    /// Downtime and checkpointing at half of it, share of time.
    pub half: f64,
    /// At twice it.
    pub twice: f64,
}

impl Plan {
    /// Table I's rates on 2,400 GPUs of 8 to a host with 8 spares for every 128 hosts, a checkpoint of 100 s every
    /// 3 h (HPN, section 2.3), seen after the 30 min of the elastic agent, diagnosed within an hour.
    pub fn new(rates: FailureRates, gpus: u32) -> Self {
        let gpus_per_host = 8;
        Self {
            rates,
            gpus,
            gpus_per_host,
            hours: MONTH_H,
            interval: 3.0,
            checkpoint_cost: 100.0 / 3600.0,
            detection: [0.5; 5],
            diagnosis: [1.0; 5],
            isolation: 10.0 / 60.0,
            restart: 10.0 / 60.0,
            spares: Some(gpus.div_ceil(gpus_per_host).div_ceil(16)),
            repair: 24.0,
            // HPN, section 2.3: 20,000 dollars an hour for 3,000 GPUs.
            price: 20_000.0 / 3000.0,
        }
    }

    /// Hosts of the job.
    pub fn hosts(&self) -> u32 {
        self.gpus.div_ceil(self.gpus_per_host.max(1))
    }

    /// Standstill after a crash of each cause, without waiting for spares.
    pub(crate) fn standstill(&self) -> [f64; 5] {
        std::array::from_fn(|c| self.detection[c] + self.diagnosis[c] + self.isolation + self.restart)
    }

    /// What to expect in the long run.
    pub fn expected(&self) -> Expected {
        let rates = self.rates.by_cause(f64::from(self.gpus));
        let rate: f64 = rates.iter().sum();
        let away = self.hosts_away();
        let waits = self.spares.map_or(0.0, |spares| erlang_loss(away, spares.saturating_add(1)));
        let mut shares = self.round() * (1.0 - waits);
        shares[Part::Waiting] = waits;
        let running = shares[Part::Productive] + shares[Part::PostCheckpoint] + shares[Part::Checkpointing];
        let money = self.price * f64::from(self.gpus) * self.hours;
        let crashes = rate * running * self.hours;
        let mut at_best = self.clone();
        at_best.interval = best(self.checkpoint_cost, 1.0 / rate);
        let of_crashes = money * shares.downtime();
        Expected {
            mtbf: 1.0 / rate,
            crashes,
            crashes_by_cause: rates.map(|rate| rate * running * self.hours),
            money_lost: money * (1.0 - shares[Part::Productive]),
            money_per_crash: if crashes > 0.0 { of_crashes / crashes } else { 0.0 },
            money,
            best_interval: [best, daly, young].map(|rule| rule(self.checkpoint_cost, 1.0 / rate)),
            lost_at_best: 1.0 - (1.0 - waits) * at_best.round()[Part::Productive],
            hosts_away: away,
            spares_run_out: self.spares.map(|spares| {
                let hosts = self.hosts() + spares;
                let out = away / f64::from(hosts.max(1));
                [poisson_above(away, spares), binomial_above(hosts, out.min(1.0), spares)]
            }),
            shares,
        }
    }

    /// Downtime and checkpointing, share of time.
    pub fn lost(&self) -> f64 {
        1.0 - self.expected().shares[Part::Productive]
    }

    /// Hosts away on average while the job does not wait for one: local crashes per hour times repair.
    fn hosts_away(&self) -> f64 {
        let gpus = f64::from(self.gpus);
        let local: f64 = self.rates.local_by_cause(gpus).iter().sum();
        let standing: f64 =
            self.rates.by_cause(gpus).iter().zip(self.standstill()).map(|(rate, still)| rate * still).sum();
        local / (1.0 + standing) * self.repair
    }

    /// Shares of a round of running and standing still.
    fn round(&self) -> Account {
        let rates = self.rates.by_cause(f64::from(self.gpus));
        let rate: f64 = rates.iter().sum();
        let segment = self.interval + self.checkpoint_cost;
        let share_of_segment = |part: f64| if segment.is_finite() { part / segment } else { 1.0 };
        // Hours of whole segments in a round, times the rate; all of them where nothing fails.
        let load = rate * segment;
        let kept = match load {
            _ if rate == 0.0 => 1.0,
            _ if load == 0.0 => 1.0,
            _ if load.is_finite() => load / load.exp_m1(),
            _ => 0.0,
        };
        let mut round = Account::default();
        round[Part::Productive] = match self.checkpoint_cost {
            0.0 => kept,
            _ if rate == 0.0 => share_of_segment(self.interval),
            _ => kept * share_of_segment(self.interval),
        };
        round[Part::Checkpointing] = kept - round[Part::Productive];
        round[Part::PostCheckpoint] = 1.0 - kept;
        for cause in Cause::ALL {
            let c = cause.index();
            round[Part::Detection] += rates[c] * self.detection[c];
            round[Part::Diagnosis(cause)] = rates[c] * (self.diagnosis[c] + self.isolation);
            round[Part::Reinitialisation] += rates[c] * self.restart;
        }
        let length = round.total();
        round * (1.0 / length)
    }

    /// What halving and doubling each input does to downtime and checkpointing.
    pub fn sensitivity(&self) -> Vec<Sensitivity> {
        type Change = fn(&mut Plan, f64);
        let inputs: [(&'static str, Change); 8] = [
            ("failure rates", |plan, by| plan.rates = plan.rates.clone().scaled(by)),
            ("checkpoint interval", |plan, by| plan.interval *= by),
            ("checkpoint cost", |plan, by| plan.checkpoint_cost *= by),
            ("detection", |plan, by| plan.detection = plan.detection.map(|time| time * by)),
            ("diagnosis", |plan, by| plan.diagnosis = plan.diagnosis.map(|time| time * by)),
            ("isolation", |plan, by| plan.isolation *= by),
            ("restart", |plan, by| plan.restart *= by),
            ("repair", |plan, by| plan.repair *= by),
        ];
        let at = |change: Change, by: f64| {
            let mut plan = self.clone();
            change(&mut plan, by);
            plan.lost()
        };
        let each = inputs.into_iter();
        each.map(|(input, change)| Sensitivity { input, half: at(change, 0.5), twice: at(change, 2.0) })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_crashes_lose_half_an_interval() {
        let mut plan = Plan::new(FailureRates::hpn(), 3000);
        plan.checkpoint_cost = 0.0;
        let expected = plan.expected();
        let lost = expected.shares[Part::PostCheckpoint] * plan.hours / expected.crashes;
        assert!((lost - 1.5).abs() < 0.01, "{lost}");
        assert!((expected.shares.total() - 1.0).abs() < 1e-12);
        // 30,000 dollars of work go with a crash.
        assert!((lost * plan.price * 3000.0 / 30_000.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn shares_make_a_whole_in_the_extremes() {
        let mut plan = Plan::new(FailureRates::c4(), 4096);
        for (interval, cost, scale) in
            [(3.0, 0.0, 1.0), (1e-9, 0.0, 1.0), (3.0, 0.1, 0.0), (f64::INFINITY, 0.1, 0.0), (50.0, 9.0, 1e3)]
        {
            plan.interval = interval;
            plan.checkpoint_cost = cost;
            plan.rates = FailureRates::c4().scaled(scale);
            let shares = plan.expected().shares;
            assert!((shares.total() - 1.0).abs() < 1e-9, "{shares:?}");
            assert!(Part::ALL.iter().all(|&part| (0.0..=1.0).contains(&shares[part])), "{shares:?}");
        }
        let never = Plan { rates: FailureRates::c4().scaled(0.0), ..Plan::new(FailureRates::c4(), 8) };
        let expected = never.expected();
        assert_eq!((expected.crashes, expected.shares.downtime()), (0.0, 0.0));
        assert!((expected.shares[Part::Checkpointing] - (1.0 / 36.0) / (3.0 + 1.0 / 36.0)).abs() < 1e-12);
        assert_eq!(expected.lost_at_best, 0.0);
    }

    #[test]
    fn the_best_interval_loses_least_and_everything_costs() {
        let plan = Plan::new(FailureRates::c4(), 2400);
        let expected = plan.expected();
        for factor in [0.8, 1.25] {
            let other = Plan { interval: expected.best_interval[0] * factor, ..plan.clone() };
            assert!(other.lost() > expected.lost_at_best);
        }
        for input in plan.sensitivity() {
            assert!(input.input == "checkpoint interval" || input.half <= input.twice, "{input:?}");
        }
    }

    #[test]
    fn without_spares_jobs_wait() {
        let none = Plan { spares: Some(0), ..Plan::new(FailureRates::c4(), 4096) };
        let few = Plan { spares: Some(1), ..none.clone() };
        let any = Plan { spares: None, ..none.clone() };
        let waits = |plan: &Plan| plan.expected().shares[Part::Waiting];
        assert!(waits(&none) > waits(&few) && waits(&few) > 0.0 && waits(&any) == 0.0);
        assert!(any.expected().spares_run_out.is_none());
    }
}

//! How often what fails: rates by component and root cause, and crashes drawn from them.
//!
//! Rates are per GPU and month of running; a job of n GPUs crashes n times as often, each crash being of one GPU or
//! of what it hangs on. A month has 30 days.
use rand::RngExt;
use serde::Serialize;

use railtwin_units::stream;

/// Hours of a month of 30 days.
pub const MONTH_H: f64 = 720.0;
/// Interruptions of Llama 3 405B by component, as shipped in `data/failures`.
const LLAMA3: &str = include_str!("../../../data/failures/llama3_405b_interruptions.csv");
/// Days and GPUs of that table.
const LLAMA3_RUN: (f64, f64) = (54.0, 16_384.0);
/// GPUs of the job of C4's Table I.
const C4_GPUS: f64 = 4096.0;
/// Share of the cables between NIC and leaf that fail in a month (HPN, section 2.3).
pub const HPN_ACCESS_CABLE: f64 = 0.057e-2;
/// Share of leaves that fail in a month (HPN, section 2.3).
pub const HPN_LEAF: f64 = 0.051e-2;
/// Hours until what failed works again where the source of a rate does not tell: our assumption of a day, in which
/// somebody replaces a part that is on stock.
pub const REPAIR_H: f64 = 24.0;

railtwin_units::choice! {
    /// What a crash turns out to be: the rows of C4's Table III, in its order.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Cause {
        /// Uncorrectable memory of a GPU, or NVLink.
        EccNvlink = "ecc-nvlink",
        /// Any other error of the GPU that CUDA reports.
        Cuda = "cuda",
        /// A collective that does not end (Table I calls it NCCL timeout).
        CclTimeout = "ccl-timeout",
        /// Messages without acknowledgement: a dead peer, NIC or link.
        AckTimeout = "ack-timeout",
        /// All else.
        Unknown = "unknown",
    }
}

impl Cause {
    /// The cause called so.
    pub fn parse(name: &str) -> Option<Self> {
        Self::named(name)
    }

    /// All names, for messages.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// Place in [`Self::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether the GPU is to blame (C4, section IV-B1).
    pub const fn is_gpu(self) -> bool {
        matches!(self, Self::EccNvlink | Self::Cuda)
    }
}

/// How often one component fails.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FailureRate {
    /// What fails, in the words of the source.
    pub component: String,
    /// What the crash is booked as.
    pub cause: Cause,
    /// Crashes per GPU and month of running.
    pub per_gpu_month: f64,
    /// Share of them that taking one host out cures, 0..1.
    pub local: f64,
}

/// Rates of everything that crashes a job.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FailureRates {
    /// Name of the preset, or of who gave them.
    pub name: String,
    /// The components.
    pub rates: Vec<FailureRate>,
}

/// A crash of a job.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Crash {
    /// Hours from the start.
    pub at_h: f64,
    /// Index in [`FailureRates::rates`].
    pub rate: usize,
    /// Root cause.
    pub cause: Cause,
    /// Whether one host is to blame.
    pub local: bool,
    /// The GPU that fails, or of the host that does.
    pub gpu: u32,
}

impl FailureRates {
    /// The presets.
    pub const PRESETS: [&'static str; 4] = ["c4", "llama3", "hpn", "hpn-dual"];

    /// The preset called so.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "c4" => Some(Self::c4()),
            "llama3" => Some(Self::llama3()),
            "hpn" => Some(Self::hpn()),
            "hpn-dual" => Some(Self::hpn_dual()),
            _ => None,
        }
    }

    /// C4, Table I: 40 crashes in a month of a job of 4,096 GPUs. Shares of 40 and of each cause are counts: 11, 5,
    /// 8, 11 and 5 crashes, of which 11, 5, 6, 9 and 2 are local.
    pub fn c4() -> Self {
        let counts = [(11, 11), (5, 5), (8, 6), (11, 9), (5, 2)];
        let rates = Cause::ALL.into_iter().zip(counts).map(|(cause, (count, local))| FailureRate {
            component: cause.name().to_owned(),
            cause,
            per_gpu_month: f64::from(count) / C4_GPUS,
            local: f64::from(local) / f64::from(count),
        });
        Self { name: "c4".to_owned(), rates: rates.collect() }
    }

    /// Llama 3 405B: unexpected interruptions by component. Which cause a component counts as is ours: memory as
    /// ECC, other GPU faults as CUDA, network and NIC as ACK timeout, the watchdog as CCL timeout. So is that
    /// software, switches and unexplained timeouts are not local.
    pub fn llama3() -> Self {
        let (days, gpus) = LLAMA3_RUN;
        let per_gpu_month = |count: &str| {
            let count: f64 = count.parse().expect("the shipped table counts");
            count / gpus / (days / 30.0)
        };
        let rates = LLAMA3.lines().skip(1).map(|line| {
            let mut cells = line.split(',');
            let mut cell = || cells.next().expect("the shipped table has three columns");
            let (component, category, count) = (cell(), cell(), cell());
            let (cause, local) = match (component, category) {
                ("GPU HBM3 Memory" | "GPU SRAM Memory", _) => (Cause::EccNvlink, 1.0),
                (_, "GPU") => (Cause::Cuda, 1.0),
                ("NIC", _) => (Cause::AckTimeout, 1.0),
                (_, "Network") => (Cause::AckTimeout, 0.0),
                ("NCCL Watchdog Timeouts", _) => (Cause::CclTimeout, 0.0),
                (_, "Dependency") => (Cause::Unknown, 0.0),
                _ => (Cause::Unknown, 1.0),
            };
            FailureRate { component: component.to_owned(), cause, per_gpu_month: per_gpu_month(count), local }
        });
        Self { name: "llama3".to_owned(), rates: rates.collect() }
    }

    /// HPN, section 2.3, with one leaf to a NIC: 0.057 % of the cables between NIC and leaf and 0.051 % of leaves
    /// fail in a month; a leaf serves 64 GPUs. Network alone: GPUs do not fail here.
    pub fn hpn() -> Self {
        let rate = |component: &str, per_gpu_month, local| FailureRate {
            component: component.to_owned(),
            cause: Cause::AckTimeout,
            per_gpu_month,
            local,
        };
        let rates = vec![rate("access cable", HPN_ACCESS_CABLE, 1.0), rate("leaf", HPN_LEAF / 64.0, 0.0)];
        Self { name: "hpn".to_owned(), rates }
    }

    /// The same with two leaves to a NIC and repairs within a day: only two failures at once crash a job
    /// ([`crate::downtime::leaves`]).
    pub fn hpn_dual() -> Self {
        use crate::downtime::leaves::pair_rate;
        let rate = |component: &str, per_month: f64, gpus: f64, local| FailureRate {
            component: component.to_owned(),
            cause: Cause::AckTimeout,
            per_gpu_month: pair_rate(per_month / MONTH_H, REPAIR_H) * MONTH_H / gpus,
            local,
        };
        let rates = vec![
            rate("both access cables", HPN_ACCESS_CABLE, 1.0, 1.0),
            // A leaf set of HPN serves one rail of a segment: 128 GPUs.
            rate("both leaves", HPN_LEAF, 128.0, 0.0),
        ];
        Self { name: "hpn-dual".to_owned(), rates }
    }

    /// All rates times a factor: 0.5 for parts that fail half as often.
    pub fn scaled(mut self, factor: f64) -> Self {
        for rate in &mut self.rates {
            rate.per_gpu_month *= factor;
        }
        self
    }

    /// Crashes per running hour of a job of `gpus` GPUs.
    pub fn per_hour(&self, gpus: f64) -> f64 {
        self.by_cause(gpus).iter().sum()
    }

    /// The same by cause, in the order of [`Cause::ALL`].
    pub fn by_cause(&self, gpus: f64) -> [f64; 5] {
        self.sum(gpus, |_| 1.0)
    }

    /// Those of them that taking one host out cures.
    pub fn local_by_cause(&self, gpus: f64) -> [f64; 5] {
        self.sum(gpus, |rate| rate.local)
    }

    fn sum(&self, gpus: f64, weight: impl Fn(&FailureRate) -> f64) -> [f64; 5] {
        let mut sums = [0.0; 5];
        for rate in &self.rates {
            sums[rate.cause.index()] += rate.per_gpu_month * weight(rate) * gpus / MONTH_H;
        }
        sums
    }

    /// Share of crashes that are local; 0 where nothing fails.
    pub fn local_share(&self) -> f64 {
        let all = self.per_hour(1.0);
        let local: f64 = self.local_by_cause(1.0).iter().sum();
        if all > 0.0 { local / all } else { 0.0 }
    }

    /// Crashes of `hours` running hours of a job of `gpus` GPUs: a Poisson process, by lot from `seed`.
    pub fn crashes(&self, gpus: u32, hours: f64, seed: u64) -> Vec<Crash> {
        let mut draw = Draw::new(seed, "failures");
        draw.arrivals(self.per_hour(f64::from(gpus)), hours, |draw, at_h| {
            let rate = draw.index(self.rates.iter().map(|rate| rate.per_gpu_month));
            let local = draw.chance(self.rates[rate].local);
            let gpu = draw.below(gpus);
            Crash { at_h, rate, cause: self.rates[rate].cause, local, gpu }
        })
    }
}

/// Draws of one purpose.
#[derive(Clone, Debug)]
pub struct Draw(stream::Stream);

impl Draw {
    /// The draws called `name` of a seed: the same pair gives the same ones.
    pub fn new(seed: u64, name: &str) -> Self {
        Self(stream::named(seed, name))
    }

    /// What `each` makes of every arrival, at its hour, of a Poisson process of `per_hour` that runs for `hours`.
    pub fn arrivals<T>(
        &mut self,
        per_hour: f64,
        hours: f64,
        mut each: impl FnMut(&mut Self, f64) -> T,
    ) -> Vec<T> {
        let mut all = Vec::new();
        let mut at_h = self.exponential(1.0 / per_hour);
        while at_h < hours {
            all.push(each(self, at_h));
            at_h += self.exponential(1.0 / per_hour);
        }
        all
    }

    /// Even in (0, 1].
    fn unit(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    /// Exponential with this mean; an infinite mean never comes.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        let unit = self.unit();
        if mean.is_finite() { -unit.ln() * mean } else { f64::INFINITY }
    }

    /// Whether what happens in this share of cases does, 0..1.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() <= share
    }

    /// A whole number below `count`, each as likely; 0 where `count` is 0.
    pub fn below(&mut self, count: u32) -> u32 {
        self.0.random_range(0..count.max(1))
    }

    /// An index with chances in proportion to weights; the last where all are zero.
    pub(crate) fn index(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let mut left = self.unit() * weights.clone().sum::<f64>();
        let mut last = 0;
        for (index, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
            last = index;
            left -= weight;
            if left <= 0.0 {
                break;
            }
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c4_counts_forty_crashes_of_which_thirty_three_are_local() {
        let c4 = FailureRates::c4();
        let month = |rates: [f64; 5]| rates.map(|rate| (rate * MONTH_H * 1e9).round() / 1e9);
        assert_eq!(month(c4.by_cause(4096.0)), [11.0, 5.0, 8.0, 11.0, 5.0]);
        assert_eq!(month(c4.local_by_cause(4096.0)), [11.0, 5.0, 6.0, 9.0, 2.0]);
        assert!((c4.local_share() - 0.825).abs() < 1e-12);
    }

    #[test]
    fn llama_is_interrupted_every_three_hours() {
        let llama = FailureRates::llama3();
        assert_eq!(llama.rates.len(), 18);
        let hours = 1.0 / llama.per_hour(16_384.0);
        assert!((hours - 54.0 * 24.0 / 419.0).abs() < 1e-9, "{hours}");
    }

    #[test]
    fn a_job_of_three_thousand_gpus_crashes_once_or_twice_a_month() {
        let crashes = FailureRates::hpn().per_hour(3000.0) * MONTH_H;
        assert!((crashes - 1.734).abs() < 1e-3, "{crashes}");
        assert!(FailureRates::hpn_dual().per_hour(3000.0) * MONTH_H < 1e-3);
    }

    #[test]
    fn drawn_crashes_keep_rates_and_repeat() {
        let c4 = FailureRates::c4();
        let months = 2000.0;
        let crashes = c4.crashes(4096, months * MONTH_H, 7);
        let mean = crashes.len() as f64 / months;
        // The mean of 2,000 months of 40 has a standard error of 0.14.
        assert!((mean - 40.0).abs() < 0.6, "{mean}");
        let local = crashes.iter().filter(|crash| crash.local).count() as f64 / crashes.len() as f64;
        assert!((local - 0.825).abs() < 0.006, "{local}");
        assert_eq!(c4.crashes(4096, MONTH_H, 3), c4.crashes(4096, MONTH_H, 3));
        assert_ne!(c4.crashes(4096, MONTH_H, 3), c4.crashes(4096, MONTH_H, 4));
        assert!(crashes.is_sorted_by(|a, b| a.at_h <= b.at_h));
        assert!(crashes.iter().all(|crash| crash.gpu < 4096));
        assert!(c4.scaled(0.0).crashes(4096, MONTH_H, 3).is_empty());
    }
}

//! The baseline beside our own: ranks ordered by the time that their kernels take, and how far averages hide one.
use railtwin_records::seen::OperationSeen;
use railtwin_records::{Batch, Evidence, Finding, NOT_YET, Since, Suspect, Syndrome};

use crate::context::Context;
use crate::detector::Detector;

/// Plain standard deviations beyond which the baseline points at a rank.
const STANDS_OUT: f64 = 3.0;

/// Ranks a job's ranks by the mean time of their collective kernels in a window, and points at the one that takes least:
/// it waits least for others. It looks at no communicator, no cause, no network and no chance but the plain deviation,
/// as monitors that rank machines by kernel time do (named in C4 section V).
#[derive(Debug, Default)]
pub struct KernelTime {
    sums: Vec<(f64, u32)>,
    told: Vec<bool>,
    records: u64,
    /// When the last two windows ended.
    ended_ns: [u64; 2],
}

impl KernelTime {
    fn job(&mut self, context: &Context<'_>, job: u32, now_ns: u64, findings: &mut Vec<Finding>) {
        let ranks = &context.directory.ranks;
        let of_job =
            |rank: &usize| ranks.get(*rank).is_some_and(|info| info.job == job) && self.sums[*rank].1 > 0;
        let rows: Vec<usize> = (0..self.sums.len()).filter(of_job).collect();
        let means: Vec<f64> =
            rows.iter().map(|&rank| self.sums[rank].0 / f64::from(self.sums[rank].1)).collect();
        let Some(least) = (0..means.len()).min_by(|&a, &b| means[a].total_cmp(&means[b])) else { return };
        let count = means.len() as f64;
        let mean = means.iter().sum::<f64>() / count;
        let deviation = (means.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        // Of n values none is further than (n - 1) / sqrt(n) deviations from their mean: few ranks need less.
        let beyond = STANDS_OUT.min(0.9 * (count - 1.0) / count.sqrt());
        let stands_out = deviation > 0.0 && (mean - means[least]) / deviation > beyond;
        for (index, &rank) in rows.iter().enumerate() {
            let now = stands_out && index == least;
            if now && !self.told[rank] {
                findings.push(Finding {
                    at_ns: now_ns,
                    since: Since::between(self.ended_ns[0], now_ns),
                    syndrome: Syndrome::NonCommunicationSlow,
                    faults: Vec::new(),
                    suspects: vec![Suspect {
                        component: context.directory.rank_component(rank as u32),
                        share: 1.0,
                    }],
                    confidence: 0.5,
                    severity: ((mean - means[least]) / mean.max(1.0)).clamp(0.0, 1.0),
                    cost: None,
                    evidence: vec![Evidence::new(
                        OperationSeen::KernelTime {},
                        means[least] / 1e3,
                        mean / 1e3,
                    )],
                    advice: String::new(),
                });
            }
            self.told[rank] = now;
        }
    }
}

impl Detector for KernelTime {
    fn name(&self) -> &'static str {
        "kernel-time"
    }

    fn observe(&mut self, context: &Context<'_>, batch: &Batch) {
        let ranks = context.directory.ranks.len();
        self.sums.resize(ranks, (0.0, 0));
        self.told.resize(ranks, false);
        let operations = &batch.operations;
        for row in 0..operations.len() {
            let (enter, end) = (operations.enter_ns[row], operations.end_ns[row]);
            if let Some(sum) = self.sums.get_mut(operations.rank[row] as usize)
                && end != NOT_YET
                && end >= enter
            {
                sum.0 += (end - enter) as f64;
                sum.1 += 1;
                self.records += 1;
            }
        }
    }

    fn judge(&mut self, context: &Context<'_>, now_ns: u64, findings: &mut Vec<Finding>) {
        let ranks = self.sums.iter().filter(|sum| sum.1 > 0).count() as u64;
        if ranks == 0 || self.records < ranks * u64::from(context.settings.window) {
            return;
        }
        for job in 0..context.directory.jobs.len() as u32 {
            self.job(context, job, now_ns, findings);
        }
        self.sums.fill((0.0, 0));
        self.records = 0;
        self.ended_ns = [self.ended_ns[1], now_ns];
    }
}

/// How far one of several entities stands out in samples of their activity over time (`samples[entity][time]`): the
/// largest distance, over all times, of its value from the mean of the others, in the others' plain deviations. Some
/// hundredth of their mean counts as the least deviation, so that noiseless samples give a number.
///
/// Activity is whatever is sampled: bytes sent, or time busy. The same samples averaged to one second by [`averaged`]
/// show what a coarse monitor would see.
pub fn separation(samples: &[Vec<f64>], entity: usize) -> f64 {
    let Some(mine) = samples.get(entity) else { return 0.0 };
    let all: f64 = samples.iter().flatten().sum();
    let values = samples.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let floor = 0.01 * (all / values).abs();
    let mut most = 0.0_f64;
    for (time, &value) in mine.iter().enumerate() {
        let others = || {
            samples
                .iter()
                .enumerate()
                .filter(|(row, _)| *row != entity)
                .filter_map(|(_, other)| other.get(time))
        };
        let count = others().count() as f64;
        if count < 2.0 {
            continue;
        }
        let mean = others().sum::<f64>() / count;
        let deviation = (others().map(|other| (other - mean).powi(2)).sum::<f64>() / count).sqrt().max(floor);
        if deviation > 0.0 {
            most = most.max((value - mean).abs() / deviation);
        }
    }
    most
}

/// Means of so many samples in a row each; what is left over at the end is dropped.
pub fn averaged(samples: &[Vec<f64>], together: usize) -> Vec<Vec<f64>> {
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    samples.iter().map(|row| row.chunks_exact(together.max(1)).map(mean).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of 8 ranks each millisecond: 20 ms of traffic in each step of 100 ms; rank 3 begins 5 ms late.
    fn traffic() -> Vec<Vec<f64>> {
        let noise = |rank: usize, time: usize| ((rank * 7919 + time * 104_729) % 997) as f64 / 997.0 * 0.1;
        (0..8)
            .map(|rank| {
                let late = if rank == 3 { 5 } else { 0 };
                (0..5000)
                    .map(|time| {
                        f64::from((60 + late..80 + late).contains(&(time % 100))) * (1.0 + noise(rank, time))
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn seconds_hide_what_milliseconds_show() {
        let fine = traffic();
        assert!(separation(&fine, 3) > 10.0, "{}", separation(&fine, 3));
        let coarse = averaged(&fine, 1000);
        assert_eq!(coarse[0].len(), 5);
        assert!(separation(&coarse, 3) < 3.0, "{}", separation(&coarse, 3));
    }
}

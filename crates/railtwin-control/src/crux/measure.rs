//! Intensity as Crux's daemon measures it (section 5): the job goes first for a while, so that nobody is in its way;
//! computation and the time in which data moves are summed over that time and divided by its steps, whose length is read
//! off the spectrum of the traffic.
use super::contention::{Contention, Start};
use super::demand::Demand;

/// Samples of a profile; a power of two.
const SAMPLES: usize = 1 << 14;
/// Fewest steps from which a spectrum tells their length.
const STEPS_LEAST: f64 = 3.0;
/// Fewest samples of a step.
const SAMPLES_LEAST: f64 = 8.0;

/// What was measured of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Seconds of a step, by the strongest line of the spectrum.
    pub step: f64,
    /// Work for each second of communication.
    pub intensity: f64,
}

impl Profile {
    /// Of `job` at the highest priority for `window` seconds, beside the others as they are. None for a job without
    /// traffic, or with too few steps in the window or samples in a step to tell them.
    pub fn of(demand: &Demand, start: &Start, job: usize, window: f64) -> Option<Self> {
        let levels: Vec<u32> = (0..demand.jobs.len()).map(|one| u32::from(one != job)).collect();
        let mut seen = Seen { spacing: window / SAMPLES as f64, moving: vec![0.0; SAMPLES], computing: 0.0 };
        Contention::new(demand, start, window).watch(&levels, job, &mut seen);
        let moving: f64 = seen.moving.iter().sum();
        let line = strongest_line(&seen.moving)?;
        let (steps, per_step) = (line, SAMPLES as f64 / line);
        if moving <= 0.0 || steps < STEPS_LEAST || per_step < SAMPLES_LEAST {
            return None;
        }
        let (job, computed) = (&demand.jobs[job], seen.computing);
        // Work is what the GPUs did in the time that they computed; steps cancel out of the intensity.
        let (work, seconds) = (computed / job.compute * job.work / steps, moving / steps);
        Some(Self { step: window / steps, intensity: work / seconds })
    }
}

/// What counters of a host show of one job.
#[derive(Debug)]
pub(super) struct Seen {
    spacing: f64,
    /// Seconds of each sample in which data moved.
    moving: Vec<f64>,
    /// Seconds in which its GPUs computed.
    computing: f64,
}

impl Seen {
    /// Adds a span in which data moved or not, and how long of it GPUs computed.
    pub(super) fn add(&mut self, from: f64, until: f64, is_moving: bool, computing: f64) {
        self.computing += computing;
        let mut at = from;
        while is_moving && at < until {
            let sample = ((at / self.spacing) as usize).min(self.moving.len() - 1);
            // The last sample takes what rounding leaves.
            let end =
                if sample + 1 == self.moving.len() { until } else { (sample + 1) as f64 * self.spacing };
            let end = end.min(until);
            self.moving[sample] += end - at;
            at = if end > at { end } else { until };
        }
    }
}

/// The strongest line of the spectrum, in waves over all samples, between lines by a parabola over the magnitudes of
/// three. Bursts of one length have no line above that of their period: |sin(kπd) / k| falls from k = 1 on.
fn strongest_line(samples: &[f64]) -> Option<f64> {
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let count = samples.len() as f64;
    // Hann's window, or a period that does not divide the samples leaks into all lines.
    let weight = |at: usize| 0.5 - 0.5 * (2.0 * std::f64::consts::PI * at as f64 / count).cos();
    let mut values: Vec<[f64; 2]> =
        samples.iter().enumerate().map(|(at, value)| [(value - mean) * weight(at), 0.0]).collect();
    transform(&mut values);
    let power = |line: usize| values[line][0].hypot(values[line][1]);
    let strongest =
        (1..samples.len() / 2 - 1).max_by(|&first, &second| power(first).total_cmp(&power(second)))?;
    let [before, at, after] =
        [strongest - 1, strongest, strongest + 1].map(|line| power(line).max(f64::MIN_POSITIVE).ln());
    let bend = before - 2.0 * at + after;
    let shift = if bend < 0.0 { 0.5 * (before - after) / bend } else { 0.0 };
    (power(strongest) > 0.0).then_some(strongest as f64 + shift)
}

/// The discrete Fourier transform in place (Cooley and Tukey 1965, radix 2); as many values as a power of two.
fn transform(values: &mut [[f64; 2]]) {
    let count = values.len();
    let bits = count.trailing_zeros();
    for at in 0..count {
        let other = at.reverse_bits() >> (usize::BITS - bits);
        if at < other {
            values.swap(at, other);
        }
    }
    let mut half = 1;
    while half < count {
        for pair in 0..half {
            let (sin, cos) = (-std::f64::consts::PI * pair as f64 / half as f64).sin_cos();
            for low in (pair..count).step_by(2 * half) {
                let [re, im] = values[low + half];
                let turned = [re * cos - im * sin, re * sin + im * cos];
                let here = values[low];
                values[low] = [here[0] + turned[0], here[1] + turned[1]];
                values[low + half] = [here[0] - turned[0], here[1] - turned[1]];
            }
        }
        half *= 2;
    }
}

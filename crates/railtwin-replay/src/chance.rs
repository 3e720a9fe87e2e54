//! Chance: how much healthy ranks vary, and which packets are lost. The same seed and numbers give the same draw, in whatever
//! order they are asked for.
use railtwin_telemetry::Jitter;
use railtwin_units::stream::{mix, number};

/// Kinds of draws.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    /// Computation of a host's ranks in a step: by step and host.
    Host = 1,
    /// Computation of a rank in a step: by step and rank.
    Rank,
    /// Whether a rank is held up in a step, and for how long.
    Spike,
    /// Time of an operation.
    Operation,
    /// Time of the stages of an edge in an operation.
    Edge,
    /// Packets of a stage that are lost.
    Loss,
    /// Pings that are lost.
    Ping,
    /// When in their interval heartbeats of a rank come.
    Phase,
}

/// Draws of one replay.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    seed: u64,
    pub(crate) jitter: Jitter,
}

impl Chance {
    pub(crate) fn new(seed: u64, jitter: Jitter) -> Self {
        Self { seed: number(seed, "live-replay"), jitter }
    }

    fn bits(&self, what: Draw, a: u64, b: u64) -> u64 {
        mix(self.seed ^ mix(a ^ ((what as u64) << 56)).wrapping_add(mix(b).rotate_left(23)))
    }

    /// A number in 0..1.
    pub(crate) fn unit(&self, what: Draw, a: u64, b: u64) -> f64 {
        (self.bits(what, a, b) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A factor of median 1 whose logarithm has the deviation `sigma` (Box and Muller 1958).
    fn factor(&self, what: Draw, a: u64, b: u64, sigma: f64) -> f64 {
        if sigma <= 0.0 {
            return 1.0;
        }
        let first = self.bits(what, a, b);
        let unit = |bits: u64| (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let (u, v) = (unit(first), unit(mix(first)));
        (sigma * (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()).exp()
    }

    /// Times as long as a rank of a host computes in a step.
    pub(crate) fn compute(&self, step: u64, rank: u64, host: u64) -> f64 {
        let jitter = &self.jitter;
        let slow = self.factor(Draw::Host, step, host, jitter.host_compute)
            * self.factor(Draw::Rank, step, rank, jitter.rank_compute);
        let unit = self.unit(Draw::Spike, step, rank);
        let is_held_up = unit < jitter.spike_probability;
        // Longer ones follow a Pareto law of index 2; what is left of the draw is even again.
        let tail = 1.0 - unit / jitter.spike_probability.max(f64::MIN_POSITIVE);
        slow + if is_held_up { jitter.spike_share / tail.max(1e-6).sqrt() } else { 0.0 }
    }

    /// Times as long as an edge takes in an operation.
    pub(crate) fn edge(&self, operation: u64, edge: u64) -> f64 {
        self.factor(Draw::Operation, operation, 0, self.jitter.operation)
            * self.factor(Draw::Edge, operation, edge, self.jitter.message)
    }

    /// How many of `packets` are lost, each with probability `share`.
    pub(crate) fn lost(&self, packets: u64, share: f64, stage: u64, edge: u64) -> u64 {
        if share <= 0.0 {
            return 0;
        }
        let is_lost = |packet: &u64| self.unit(Draw::Loss, stage, edge << 32 | packet) < share;
        (0..packets).filter(is_lost).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_their_spread_and_repeat() {
        let chance =
            Chance::new(7, Jitter { host_compute: 0.0, spike_probability: 0.0, ..Jitter::default() });
        let all: Vec<f64> = (0..4_000).map(|step| chance.compute(step, 3, 0).ln()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let deviation = (all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
        assert!(mean.abs() < 1e-3 && (deviation / 0.012 - 1.0).abs() < 0.05, "{mean} {deviation}");
        assert_eq!(chance.compute(5, 3, 0), chance.compute(5, 3, 0));
        assert_ne!(chance.compute(5, 3, 0), chance.compute(5, 4, 0));
    }

    #[test]
    fn a_share_of_packets_is_lost() {
        let chance = Chance::new(7, Jitter::NONE);
        let lost: u64 = (0..1_000).map(|stage| chance.lost(100, 0.02, stage, 1)).sum();
        assert!((1_800..2_200).contains(&lost), "{lost}");
        assert_eq!(chance.lost(100, 0.0, 1, 1), 0);
        assert_eq!(chance.compute(3, 1, 1), 1.0, "without jitter nothing varies");
    }
}

//! Chance: how healthy clusters vary. See docs/models/telemetry.md for where the figures come from.
use railtwin_units::stream::{self, Stream, mix};
use rand::{Rng, RngExt};

/// How much healthy runs vary. Sigmas are those of the logarithm.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Jitter {
    /// Computation of all ranks of a host in a step.
    pub host_compute: f64,
    /// Computation of one rank in a step, on top of its host's.
    pub rank_compute: f64,
    /// Probability that a rank is held up in a step (a kernel interrupt, garbage collection).
    pub spike_probability: f64,
    /// By what share of its computation at least; longer ones follow a Pareto law of index 2.
    pub spike_share: f64,
    /// Time of a collective at equal size.
    pub operation: f64,
    /// Time of the messages of one queue pair in one operation.
    pub message: f64,
    /// A checkpoint is written every so many steps; 0 = never.
    pub checkpoint_steps: u32,
    /// Seconds that it holds every rank up.
    pub checkpoint_seconds: f64,
    /// Spread of that time over hosts.
    pub checkpoint_spread: f64,
    /// Load of experts per rank and step: computation that follows an expert-parallel collective.
    pub expert: f64,
    /// Times an hour that another job's flows meet this job's on a link.
    pub collisions_per_hour: f64,
    /// Minutes that they meet, in the mean.
    pub collision_minutes: f64,
    /// Times longer that messages over that link take meanwhile.
    pub collision_factor: f64,
    /// Most that a host's clock is off, in seconds.
    pub clock_offset: f64,
    /// Most that it drifts, in parts per million.
    pub clock_drift: f64,
}

impl Jitter {
    /// None at all, and clocks that agree.
    pub const NONE: Self = Self {
        host_compute: 0.0,
        rank_compute: 0.0,
        spike_probability: 0.0,
        spike_share: 0.0,
        operation: 0.0,
        message: 0.0,
        checkpoint_steps: 0,
        checkpoint_seconds: 0.0,
        checkpoint_spread: 0.0,
        expert: 0.0,
        collisions_per_hour: 0.0,
        collision_minutes: 0.0,
        collision_factor: 1.0,
        clock_offset: 0.0,
        clock_drift: 0.0,
    };
}

impl Jitter {
    /// So many times as much chance: all spreads, and how often ranks are held up and other jobs are met. When checkpoints
    /// come and what they take stays, and so do the clocks.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            host_compute: self.host_compute * factor,
            rank_compute: self.rank_compute * factor,
            spike_probability: (self.spike_probability * factor).min(1.0),
            operation: self.operation * factor,
            message: self.message * factor,
            checkpoint_spread: self.checkpoint_spread * factor,
            expert: self.expert * factor,
            collisions_per_hour: self.collisions_per_hour * factor,
            ..self
        }
    }
}

impl Default for Jitter {
    fn default() -> Self {
        Self {
            host_compute: 0.003,
            rank_compute: 0.012,
            spike_probability: 1e-4,
            spike_share: 0.05,
            operation: 0.016,
            message: 0.007,
            checkpoint_steps: 100,
            checkpoint_seconds: 5.0,
            checkpoint_spread: 0.1,
            expert: 0.1,
            collisions_per_hour: 0.5,
            collision_minutes: 3.0,
            collision_factor: 1.5,
            clock_offset: 1.0,
            clock_drift: 20.0,
        }
    }
}

/// Entries of a table of factors: far more than one rank's draws are looked at together.
const ENTRIES: usize = 1 << 14;

/// Factors drawn once, looked up ever after: a draw costs a load.
#[derive(Clone, Debug)]
pub(crate) struct Factors {
    table: Vec<f32>,
}

impl Factors {
    /// Lognormal factors of median 1.
    pub(crate) fn lognormal(stream: &mut Stream, sigma: f64) -> Self {
        let table = (0..ENTRIES).map(|_| (normal(stream) * sigma).exp() as f32).collect();
        Self { table }
    }

    /// The factor of draw `at`, any number.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> f64 {
        f64::from(self.table[at & (ENTRIES - 1)])
    }
}

/// A normal number (Box and Muller 1958).
fn normal(stream: &mut Stream) -> f64 {
    let (u, v): (f64, f64) = (stream.random(), stream.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Named draws: the same name and numbers give the same draw, in whatever order they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draws {
    seed: u64,
}

impl Draws {
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self { seed: stream::named(seed, name).next_u64() }
    }

    /// 64 random bits for a pair of numbers.
    #[inline]
    pub(crate) fn bits(self, a: u64, b: u64) -> u64 {
        mix(self.seed ^ mix(a).wrapping_add(mix(b ^ 0x5851_f42d_4c95_7f2d).rotate_left(23)))
    }

    /// A number in 0..1 for a pair of numbers.
    #[inline]
    pub(crate) fn unit(self, a: u64, b: u64) -> f64 {
        (self.bits(a, b) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

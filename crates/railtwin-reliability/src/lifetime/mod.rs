//! The lifetime of a job over weeks: failures stop it, somebody finds them, a spare takes a host's place, it restarts from
//! its latest checkpoint, and every moment is booked as C4's Table III has it.
//!
//! Between events nothing changes, so no step is simulated here: callers give the healthy time of a step and the effect of
//! each failure. All decisions are those of the controllers that callers give, such as [`railtwin_control::Steering`].
//!
//! * [`recovery`]: settings of responses to failures.
//! * [`hits`]: failures of a job, and who finds them when.
//! * [`detectors`]: times of our detectors, by the score card.
//! * [`driver`]: events in time; [`progress`]: steps, checkpoints, work that a crash takes back.
//! * [`outcome`]: accounts, standstills and actions of one lifetime; [`Lifetimes`]: all of a job.
//! * [`booking`]: the account of a job whose run was followed step by step.
pub mod booking;
pub mod detectors;
pub mod driver;
pub mod hits;
pub mod outcome;
pub mod progress;
pub mod recovery;
mod spread;

use railtwin_units::SimTime;

pub use outcome::{Done, Finder, Lifetime, Standstill};
pub use recovery::Recovery;
pub use spread::Spread;

use crate::downtime::Account;

/// The lifetimes of a job, one for each seed.
#[derive(Clone, Debug)]
pub struct Lifetimes {
    /// The job.
    pub job: String,
    /// Its ranks.
    pub ranks: u32,
    /// Ranks of one of its hosts, the first.
    pub ranks_per_host: u32,
    /// Real time of each lifetime.
    pub span: SimTime,
    /// Healthy time of a step.
    pub step: SimTime,
    /// Time of a step with the spares of the shown lifetime in place; the healthy one where none took a place.
    pub step_with_spares: SimTime,
    /// In the order of their seeds.
    pub lives: Vec<Lifetime>,
    /// Index of the lifetime that tables show.
    pub shown: usize,
    /// Whether it is that of a run whose steps were followed, and not a random one.
    pub is_followed: bool,
}

impl Lifetimes {
    /// The lifetime that tables show.
    pub fn shown(&self) -> &Lifetime {
        &self.lives[self.shown]
    }

    /// Returns the spread of an amount over lifetimes.
    pub fn spread(&self, of: impl Fn(&Lifetime) -> f64) -> Spread {
        Spread::of(self.lives.iter().map(of)).expect("there is a lifetime")
    }

    /// Returns the spread of a share of time over lifetimes.
    pub fn share(&self, of: impl Fn(&Account) -> f64) -> Spread {
        self.spread(|lifetime| of(&lifetime.shares))
    }
}

/// Returns the index of the lifetime with the median downtime, the lower one of two. There must be one.
pub fn median_downtime(lives: &[Lifetime]) -> usize {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    let downtime = |&life: &usize| lives[life].shares.downtime();
    order.sort_by(|a, b| downtime(a).total_cmp(&downtime(b)));
    order[(order.len() - 1) / 2]
}

//! Whether somebody is slower step after step, or only was by chance.
use std::f64::consts::PI;

use railtwin_units::probability::binomial_above;

use crate::steps::drift::student_above;
use crate::{Settings, robust};

/// Fewest steps that show slowness: one long pause touches two steps, the one in which it begins and the next.
const STEPS_MIN: usize = 3;
/// Fewest steps by which the spread of a mean, or a share of steps, is known.
const MANY: usize = 8;
/// Share of steps in which somebody must be slower.
const MOST: f64 = 0.75;
/// Chance that any of those who are compared looks so slow in so many steps, were none of them slower than the others.
const CHANCE: f64 = 0.001;
/// Standard errors over steps by which a mean must exceed none. Six leave no chance to the slowest of thousands of ranks
/// over many steps, and to one in 3,000 over eight.
const ERRORS: f64 = 6.0;
/// Steps at least over which it must be spread: one long pause is no slowness.
const SPREAD: f64 = 3.0;
/// Share of jobs in which one component is slow all the time: 1.7 % of the jobs that straggle, which are 42.5 % of all (Lin et
/// al., OSDI '25).
const SLOW_JOBS: f64 = 0.425 * 0.017;

/// Components that are compared with each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Compared {
    /// How many they are.
    count: usize,
    /// By what share they differ in a step, as a rule.
    differ: f64,
}

impl Compared {
    /// Shares by which each exceeds its peers, step by step.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a [f64]>, settings: &Settings) -> Self {
        let (mut count, mut shares) = (0, Vec::new());
        for of_steps in all {
            count += 1;
            shares.extend(of_steps.iter().map(|share| share.abs()));
        }
        // Half of the draws of a Cauchy distribution are within its scale.
        let differ = robust::median(&mut shares).unwrap_or(0.0).max(settings.slow_share);
        Self { count: count.max(1), differ }
    }

    /// Chance that one of them is slower by so much in each of so many steps. A share of a step beyond
    /// [`Settings::slow_share`] is drawn from a Cauchy distribution, the Student's t of one degree of freedom: real times
    /// have tails as heavy, and few steps do not tell them.
    fn chance(&self, least: f64, steps: usize, settings: &Settings) -> f64 {
        let beyond = ((least - settings.slow_share) / self.differ).max(0.0);
        let above = 0.5 - beyond.atan() / PI;
        (self.count as f64 * above.powi(steps as i32)).min(1.0)
    }
}

/// Slowness that lasts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lasting {
    /// By how much somebody is slower, as a share.
    pub excess: f64,
    /// Chance that any of those who are compared looks so by chance.
    pub chance: f64,
}

/// Belief, from 0 to 1, in a slowness that looks so by chance in `chance` of all jobs, beside the share of jobs in which one is
/// slow (Bayes' rule).
pub fn belief(chance: f64) -> f64 {
    SLOW_JOBS / (SLOW_JOBS + chance)
}

/// Slowness of one of those who are compared, where that lasts; `excess` holds the share of each step.
///
/// Each rule gives a chance, and the least counts. It exceeds [`Settings::slow_share`] in all of three steps or more, by so much
/// that chance gives it to none of all ([`Compared::chance`]): then the median. Or, over eight steps or more, in three quarters
/// of them, and in more than chance gives to one of all (sign test, times their number): then the median. Or its mean does, by
/// six standard errors, and is spread over three steps at least (n · mean² / mean of squares).
pub(super) fn lasting(excess: &[f64], compared: Compared, settings: &Settings) -> Option<Lasting> {
    let middle = robust::median(&mut excess.to_vec()).filter(|_| excess.len() >= STEPS_MIN)?;
    let least = excess.iter().copied().fold(f64::INFINITY, f64::min);
    let of_all = compared.chance(least, excess.len(), settings);
    let of_all = (least > settings.slow_share && of_all <= CHANCE).then_some(of_all);
    let many = (excess.len() >= MANY).then(|| of_many(excess, middle, compared, settings)).flatten();
    let least_chance = |one: Lasting| Lasting { chance: one.chance.min(of_all.unwrap_or(1.0)), ..one };
    many.map(least_chance).or(of_all.map(|chance| Lasting { excess: middle, chance }))
}

/// The rules that need many steps.
fn of_many(excess: &[f64], middle: f64, compared: Compared, settings: &Settings) -> Option<Lasting> {
    let count = excess.len() as f64;
    let above = excess.iter().filter(|share| **share > settings.slow_share).count();
    let chance = binomial_above(excess.len() as u32, 0.5, above.saturating_sub(1) as u32);
    let chance = chance * compared.count as f64;
    let most = above as f64 >= MOST * count && chance <= CHANCE;
    if most && middle > settings.slow_share {
        return Some(Lasting { excess: middle, chance });
    }
    let mean = excess.iter().sum::<f64>() / count;
    let squares = excess.iter().map(|share| share * share).sum::<f64>() / count;
    let error = ((squares - mean * mean).max(0.0) / (count - 1.0)).sqrt();
    let spread = squares > 0.0 && count * mean * mean / squares >= SPREAD;
    let is_slow = mean > settings.slow_share && mean > ERRORS * error && spread;
    let chance = || compared.count as f64 * student_above(mean / error, excess.len() - 1);
    is_slow.then(|| Lasting { excess: mean, chance: if error > 0.0 { chance().min(1.0) } else { 0.0 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_and_what_was_chance_is_not() {
        let settings = Settings::default();
        let compared = Compared { count: 64, differ: 0.05 };
        let lasting =
            |excess: &[f64], settings: &Settings| lasting(excess, compared, settings).map(|one| one.excess);
        let close = |told: Option<f64>, share: f64| told.is_some_and(|told| (told - share).abs() < 1e-9);
        assert!(close(lasting(&[0.2; 8], &settings), 0.2));
        // By its size and by how often it was seen.
        let least = |share: f64| (1..99).find(|&steps| lasting(&vec![share; steps], &settings).is_some());
        assert_eq!([1.0, 0.5, 0.2, 0.1, 0.06].map(least), [Some(3), Some(4), Some(5), Some(8), Some(8)]);
        assert_eq!(lasting(&[0.04; 32], &settings), None, "too little");
        let chance = [0.1, 0.2, 0.06, 0.5, -0.1, 0.08, 0.3, 0.07];
        assert_eq!(
            lasting(&chance, &settings),
            None,
            "one of 64 is slower in seven steps of eight by chance"
        );
        let most: Vec<f64> = chance.iter().copied().cycle().take(40).collect();
        assert!(close(lasting(&most, &settings), 0.09), "and not in 35 of 40");
        let mut once = [0.0; 32];
        once[3] = 50.0;
        assert_eq!(lasting(&once, &settings), None, "one long pause");
        let swaying: Vec<f64> = (0..32).map(|step| if step % 3 == 0 { 1.0 } else { -0.4 }).collect();
        assert_eq!(lasting(&swaying, &settings), None, "up and down");
        let later: Vec<f64> = (0..100).map(|step| if step < 60 { 0.0 } else { 0.3 }).collect();
        assert!(close(lasting(&later, &settings), 0.12));
    }

    #[test]
    fn belief_follows_size_and_repetition() {
        let settings = Settings::default();
        let of = |share: f64, steps: usize| {
            let compared = Compared::of([&[0.01_f64; 8][..]; 8].into_iter(), &settings);
            belief(compared.chance(share, steps, &settings))
        };
        assert!(of(1.0, 3) > 0.99 && of(0.3, 3) < of(1.0, 3) && of(0.3, 3) < of(0.3, 4), "{}", of(1.0, 3));
        // Ranks that differ by themselves take the evidence away.
        let uneven = Compared::of([&[0.5_f64, -0.4, 0.6][..]; 8].into_iter(), &settings);
        assert!(uneven.chance(1.0, 3, &settings) > 10.0 * CHANCE);
    }
}

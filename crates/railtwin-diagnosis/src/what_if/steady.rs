//! Whether somebody is slower step after step, or only was by chance.
use railtwin_units::probability::binomial_above;

use crate::{Settings, robust};

/// Fewest steps that tell.
const STEPS_MIN: usize = 8;
/// Share of steps in which somebody must be slower.
const MOST: f64 = 0.75;
/// Chance that any of those who are compared is slower in so many steps, were each as often slower as faster.
const CHANCE: f64 = 0.001;
/// Standard errors over steps by which a mean must exceed none. Six leave no chance to the slowest of thousands of ranks
/// over many steps, and to one in 3,000 over eight.
const ERRORS: f64 = 6.0;
/// Steps at least over which it must be spread: one long pause is no slowness.
const SPREAD: f64 = 3.0;

/// By how much somebody is slower, as a share, where that lasts; `excess` holds the share of each step, and `compared` is
/// among how many.
///
/// Either it exceeds [`Settings::slow_share`] in three quarters of the steps, and in more than chance gives to one of all
/// that are compared (sign test, times their number): then the median. Or its mean does, by six standard errors, and is
/// spread over three steps at least (n · mean² / mean of squares).
pub(super) fn lasting(excess: &[f64], compared: usize, settings: &Settings) -> Option<f64> {
    let count = excess.len() as f64;
    if excess.len() < STEPS_MIN {
        return None;
    }
    let above = excess.iter().filter(|share| **share > settings.slow_share).count();
    let middle = robust::median(&mut excess.to_vec())?;
    let chance = binomial_above(excess.len() as u32, 0.5, above.saturating_sub(1) as u32);
    let most = above as f64 >= MOST * count && chance * compared.max(1) as f64 <= CHANCE;
    if most && middle > settings.slow_share {
        return Some(middle);
    }
    let mean = excess.iter().sum::<f64>() / count;
    let squares = excess.iter().map(|share| share * share).sum::<f64>() / count;
    let error = ((squares - mean * mean).max(0.0) / (count - 1.0)).sqrt();
    let spread = squares > 0.0 && count * mean * mean / squares >= SPREAD;
    (mean > settings.slow_share && mean > ERRORS * error && spread).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_and_what_was_chance_is_not() {
        let settings = Settings::default();
        let lasting = |excess: &[f64], settings: &Settings| lasting(excess, 64, settings);
        let close = |told: Option<f64>, share: f64| told.is_some_and(|told| (told - share).abs() < 1e-9);
        assert!(close(lasting(&[0.2; 8], &settings), 0.2));
        assert_eq!(lasting(&[0.2; 7], &settings), None, "too few steps");
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
}

//! Whether somebody is slower step after step, or only was by chance.
use crate::{Settings, robust};

/// Fewest steps that tell.
const STEPS_MIN: usize = 8;
/// Share of steps in which somebody must be slower.
const MOST: f64 = 0.75;
/// Standard errors over steps by which a mean must exceed none, where somebody is slower in some steps only. Six leave
/// no chance to the slowest of thousands of ranks.
const ERRORS: f64 = 6.0;
/// Steps at least over which it must be spread: one long pause is no slowness.
const SPREAD: f64 = 3.0;

/// By how much somebody is slower, as a share, where that lasts; `excess` holds the share of each step.
///
/// Either it exceeds [`Settings::slow_share`] in three quarters of the steps: then the median. Or its mean does, by six
/// standard errors, and is spread over three steps at least (n · mean² / mean of squares).
pub(super) fn lasting(excess: &[f64], settings: &Settings) -> Option<f64> {
    let count = excess.len() as f64;
    if excess.len() < STEPS_MIN {
        return None;
    }
    let above = excess.iter().filter(|share| **share > settings.slow_share).count() as f64;
    let middle = robust::median(&mut excess.to_vec())?;
    if above >= MOST * count && middle > settings.slow_share {
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
        assert_eq!(lasting(&[0.2; 8], &settings), Some(0.2));
        assert_eq!(lasting(&[0.2; 7], &settings), None, "too few steps");
        assert_eq!(lasting(&[0.04; 32], &settings), None, "too little");
        let mut once = [0.0; 32];
        once[3] = 50.0;
        assert_eq!(lasting(&once, &settings), None, "one long pause");
        let swaying: Vec<f64> = (0..32).map(|step| if step % 3 == 0 { 1.0 } else { -0.4 }).collect();
        assert_eq!(lasting(&swaying, &settings), None, "up and down");
        let later: Vec<f64> = (0..100).map(|step| if step < 60 { 0.0 } else { 0.3 }).collect();
        assert!(lasting(&later, &settings).is_some_and(|share| (share - 0.12).abs() < 1e-9));
    }
}

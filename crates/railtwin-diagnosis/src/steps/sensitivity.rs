//! The least slowdown that a run shows within three steps, by how far its own steps stray.
use super::shift::{IN_A_ROW, LONG, RARE, STALL, USUAL_MIN, chance, usual};
use super::{Series, Step};

/// Shares of a step that are tried, and the share of places of a run at which one must be found.
const SHARES: [f64; 14] = [0.03, 0.035, 0.04, 0.045, 0.05, 0.055, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5];
const PLACES: f64 = 0.99;
/// Places of a run that are tried at most, spread over it.
const TRIED: usize = 200;

/// How small a slowdown a run shows within three steps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sensitivity {
    /// The least share by which three steps in a row must take longer to be found at once, at 99 of 100 places of the run at which
    /// none of the three is a stall; infinite where 50 % is not enough.
    pub share: f64,
    /// Share of places at which one of three steps is a stall: there it may take more steps.
    pub stalled: f64,
}

/// Returns how small a slowdown a run shows; none for a run that is too short, or whose steps are of several works.
///
/// Three steps at each place are held against what was usual then, as [`super::changes`] does with the last steps of a run that is
/// compared with no other.
pub fn sensitivity(run: &Series) -> Option<Sensitivity> {
    let steps = &run.steps;
    if steps.iter().any(|step| step.work.to_bits() != steps[0].work.to_bits()) {
        return None;
    }
    let stride = steps.len().div_ceil(TRIED).max(1);
    let (mut own, mut needed, mut stalled) = (Vec::new(), Vec::new(), 0);
    for (at, step) in steps.iter().enumerate() {
        let told = if own.len() < USUAL_MIN { None } else { usual(&own, None) };
        if let (Some(told), Some(three)) = (told, steps.get(at..at + IN_A_ROW))
            && at % stride == 0
        {
            match three.iter().all(|one| one.seconds <= STALL * told[0]) {
                true => needed.push(least_share(&steps[..at], three, told)),
                false => stalled += 1,
            }
        }
        if told.is_none_or(|[usual, limit]| step.seconds <= usual + limit) {
            own.push(step.seconds);
            own.drain(..own.len().saturating_sub(LONG));
        }
    }
    needed.sort_by(f64::total_cmp);
    let place = (PLACES * needed.len() as f64).ceil() as usize;
    let share = *needed.get(place.checked_sub(1)?)?;
    Some(Sensitivity { share, stalled: f64::from(stalled) / (needed.len() as f64 + f64::from(stalled)) })
}

/// The least of the shares by which three steps after others must take longer to be found; infinite where none is enough.
fn least_share(before: &[Step], three: &[Step], [usual, limit]: [f64; 2]) -> f64 {
    let recent = before[before.len().saturating_sub(LONG)..].iter();
    let before: Vec<f64> = recent.filter(|step| !step.beside).map(|step| step.seconds).collect();
    let mut took: Vec<f64> = three.iter().map(|step| step.seconds).collect();
    took.sort_by(f64::total_cmp);
    let is_found = |share: &f64| {
        let [least, next] = [took[0], took[1]].map(|seconds| seconds * (1.0 + share));
        let like = [least - limit / 2.0, next + limit / 2.0];
        least > usual + limit && next - least <= limit && chance(&before, like, IN_A_ROW) < RARE
    };
    SHARES.into_iter().find(is_found).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seconds: impl Iterator<Item = f64>) -> Series {
        let step = |seconds| Step { seconds, beside: false, work: 0.0 };
        Series { job: "job".into(), run: String::new(), steps: seconds.map(step).collect() }
    }

    #[test]
    fn a_quiet_run_shows_less_than_one_whose_level_changes() {
        let share = |run: &Series| sensitivity(run).map(|told| told.share);
        let quiet = run((0..300).map(|step| 10.0 + 0.01 * f64::from(step * 7 % 11)));
        assert_eq!(sensitivity(&quiet), Some(Sensitivity { share: 0.04, stalled: 0.0 }));
        // Its level changes by 3 % for five steps now and then.
        let noisy = run((0..300).map(|step| if step % 40 < 5 { 10.3 } else { 10.0 }));
        assert!(share(&noisy).is_some_and(|share| share > 0.05), "{:?}", share(&noisy));
        let stalls = run((0..300).map(|step| if step % 50 == 9 { 20.0 } else { 10.0 }));
        assert!(sensitivity(&stalls).is_some_and(|told| told.share < 0.05 && told.stalled > 0.04));
        assert_eq!(sensitivity(&run((0..9).map(|_| 10.0))), None);
    }
}

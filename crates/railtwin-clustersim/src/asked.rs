//! What a job asks of links, of which inference leaves it a part.
use railtwin_control::crux::demand::JobDemand;

/// What a job asks of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// Of what is left of them now.
    pub now: JobDemand,
    /// Of whole links, where inference crosses one of them.
    whole: Option<Box<JobDemand>>,
}

impl Asked {
    /// Of links of which inference takes these shares, by link; none are there where nobody serves.
    pub(crate) fn of(whole: JobDemand, taken: &[f64]) -> Self {
        let is_taken =
            |load: &(u32, f64)| load.1 > 0.0 && taken.get(load.0 as usize).is_some_and(|&one| one > 0.0);
        if !whole.loads.iter().any(is_taken) {
            return Self { now: whole, whole: None };
        }
        let now = whole.beside(|link| taken[link as usize]);
        Self { now, whole: Some(Box::new(whole)) }
    }

    /// Of whole links.
    pub(crate) fn whole(&self) -> &JobDemand {
        self.whole.as_deref().unwrap_or(&self.now)
    }

    /// Whether inference takes something of its links.
    pub(crate) fn is_beside(&self) -> bool {
        self.whole.is_some()
    }

    /// The same where inference takes these shares now.
    pub(crate) fn turned(self, taken: &[f64]) -> Self {
        Self::of(self.whole.map_or(self.now, |whole| *whole), taken)
    }

    /// Seconds of a step with nobody else in the way: on whole links, and on what is left of them now.
    pub(crate) fn steps_alone(&self) -> [f64; 2] {
        [self.whole().step_alone(), self.now.step_alone()]
    }
}

/// Seconds for which a step has gone on by another measure of what is left of links: it takes as long from here as what is
/// left of its communication and computation says.
pub(crate) fn carried(before: &JobDemand, after: &JobDemand, elapsed: f64) -> f64 {
    let talked = if before.seconds > 0.0 { (elapsed - before.ready) / before.seconds } else { 1.0 };
    let waits = (before.ready - elapsed).max(0.0);
    let talks = waits + (1.0 - talked.clamp(0.0, 1.0)) * after.seconds;
    after.step_alone() - talks.max(before.compute - elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes for two seconds, of which its communication may begin after one.
    fn job(seconds: f64) -> JobDemand {
        JobDemand {
            loads: vec![(0, seconds)],
            largest: 1.0,
            seconds,
            compute: 2.0,
            ready: 1.0,
            ..JobDemand::default()
        }
    }

    #[test]
    fn what_is_left_of_a_step_goes_on_as_fast_as_links_let_it() {
        let (narrow, wide) = (job(4.0), job(2.0));
        // Before it communicates, and while it stands still.
        assert_eq!((carried(&narrow, &wide, 0.5), carried(&narrow, &wide, -3.0)), (0.5, -3.0));
        // Half of it is left: two seconds are one.
        assert_eq!(carried(&narrow, &wide, 3.0), 2.0);
        assert_eq!(carried(&wide, &narrow, 2.0), 3.0);
        // All of it is done, and a tenth of a second is to be computed.
        let short = job(0.5);
        assert!((carried(&short, &wide, 1.9) - 2.9).abs() < 1e-12);
    }

    #[test]
    fn who_crosses_nothing_of_inference_asks_what_it_asked() {
        let one = Asked::of(job(4.0), &[0.0, 0.5]);
        assert!(!one.is_beside() && one.now == job(4.0) && one.steps_alone() == [5.0, 5.0]);
        let half = Asked::of(job(4.0), &[0.5]);
        assert_eq!((half.now.seconds, half.whole().seconds), (8.0, 4.0));
        assert_eq!(half.steps_alone(), [5.0, 9.0]);
        let quarter = half.turned(&[0.25]);
        assert_eq!((quarter.now.seconds, quarter.whole().seconds), (4.0 / 0.75, 4.0));
    }
}

//! When each rank runs, and how fast it computes.
use railtwin::Error;
use railtwin_engine::{Case, RankTrouble};
use railtwin_units::SimTime;

/// A stretch of time, ns; the end is infinite for what stays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) until: f64,
}

impl Span {
    fn holds(&self, now: f64) -> bool {
        self.from <= now && now < self.until
    }
}

/// Input that comes late: when, by how much and in every which step.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Late {
    span: Span,
    ns: f64,
    every: u64,
}

/// Faults of one rank.
#[derive(Clone, Default, Debug)]
struct OfRank {
    stops: Vec<Span>,
    slow: Vec<(Span, f64)>,
    late: Vec<Late>,
    gone: Option<f64>,
}

/// Faults of all ranks.
#[derive(Clone, Default, Debug)]
pub(crate) struct RankFaults {
    ranks: Vec<OfRank>,
}

impl RankFaults {
    /// The faults of a job's ranks.
    pub(crate) fn of(case: &Case, job: usize, ranks: usize) -> Result<Self, Error> {
        let mut all = Self { ranks: vec![OfRank::default(); ranks] };
        for fault in case.rank_faults.iter().filter(|fault| fault.job as usize == job) {
            let of = &mut all.ranks[fault.rank as usize];
            let ns = |at: SimTime| if at == SimTime::NEVER { f64::INFINITY } else { at.ps() as f64 / 1e3 };
            let span = Span { from: ns(fault.from), until: ns(fault.until) };
            match fault.trouble {
                RankTrouble::Slow(times) => of.slow.push((span, times)),
                RankTrouble::Late { time, every } => {
                    of.late.push(Late { span, ns: ns(time), every: u64::from(every.max(1)) });
                }
                RankTrouble::Hang => of.stops.push(span),
                RankTrouble::Gone => of.gone = Some(of.gone.unwrap_or(f64::INFINITY).min(span.from)),
                _ => {
                    let words = "live records of a simulated job know no fault of this kind; \
                                 write slow-gpu, slow-data, storage-stall, hang, crash or gpu-error";
                    return Err(Error::Argument(words.to_owned()));
                }
            }
        }
        Ok(all)
    }

    /// When the process of a rank ends; infinite where it does not.
    pub(crate) fn gone(&self, rank: usize) -> f64 {
        self.ranks[rank].gone.unwrap_or(f64::INFINITY)
    }

    /// When a rank stands still.
    pub(crate) fn stops(&self, rank: usize) -> &[Span] {
        &self.ranks[rank].stops
    }

    /// Ends the process of a rank.
    pub(crate) fn end(&mut self, rank: usize, at: f64) {
        let gone = &mut self.ranks[rank].gone;
        *gone = Some(gone.unwrap_or(f64::INFINITY).min(at));
    }

    /// Whether the process of a rank runs.
    pub(crate) fn runs(&self, rank: usize, now: f64) -> bool {
        now < self.gone(rank) && !self.ranks[rank].stops.iter().any(|stop| stop.holds(now))
    }

    /// The first time from `now` on at which a rank runs; infinite where there is none.
    pub(crate) fn runs_from(&self, rank: usize, now: f64) -> f64 {
        let mut at = now;
        while let Some(stop) = self.ranks[rank].stops.iter().find(|stop| stop.holds(at)) {
            at = stop.until;
        }
        if at < self.gone(rank) { at } else { f64::INFINITY }
    }

    /// Delay of the input of a step that a rank begins at `now`.
    pub(crate) fn late(&self, rank: usize, step: u64, now: f64) -> f64 {
        let late = self.ranks[rank].late.iter();
        let late = late.filter(|late| late.span.holds(now) && step.is_multiple_of(late.every));
        late.map(|late| late.ns).sum()
    }

    /// When work of `ns` ends that a rank begins at `now`: it stands while the rank is stopped, and takes longer on a slow
    /// GPU where `computes`.
    pub(crate) fn work(&self, rank: usize, now: f64, ns: f64, computes: bool) -> f64 {
        let of = &self.ranks[rank];
        let slow = || of.slow.iter().filter(|_| computes);
        let spans = || of.stops.iter().chain(slow().map(|(span, _)| span));
        let (mut at, mut left) = (now, ns);
        loop {
            let times: f64 = slow().filter(|(span, _)| span.holds(at)).map(|(_, times)| times).product();
            let stands = of.stops.iter().any(|stop| stop.holds(at));
            let turns = spans().flat_map(|span| [span.from, span.until]).filter(|turn| *turn > at);
            let next = turns.fold(f64::INFINITY, f64::min);
            let end = if stands { f64::INFINITY } else { at + left * times };
            if end <= next {
                return if end < self.gone(rank) { end } else { f64::INFINITY };
            }
            left -= if stands { 0.0 } else { (next - at) / times };
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(of: OfRank) -> RankFaults {
        RankFaults { ranks: vec![of] }
    }

    #[test]
    fn work_is_longer_while_a_gpu_is_slow_and_stands_while_a_rank_is_stopped() {
        let span = |from, until| Span { from, until };
        let slow = one(OfRank { slow: vec![(span(10.0, 30.0), 2.0)], ..OfRank::default() });
        assert_eq!(slow.work(0, 0.0, 10.0, true), 10.0);
        assert_eq!(slow.work(0, 5.0, 10.0, true), 20.0, "half of it at half the speed");
        assert_eq!(slow.work(0, 0.0, 30.0, true), 40.0, "and on at full speed after repair");
        assert_eq!(slow.work(0, 5.0, 10.0, false), 15.0, "no GPU is in loading");
        let stopped = one(OfRank { stops: vec![span(10.0, 30.0)], ..OfRank::default() });
        assert_eq!(stopped.work(0, 5.0, 10.0, true), 35.0);
        assert_eq!(stopped.runs_from(0, 15.0), 30.0);
        let gone = one(OfRank { gone: Some(12.0), ..OfRank::default() });
        assert_eq!(gone.work(0, 5.0, 5.0, true), 10.0);
        assert_eq!(gone.work(0, 5.0, 10.0, true), f64::INFINITY);
    }
}

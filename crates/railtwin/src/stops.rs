//! What kept a job from its end, and how a figure says so that would need the end.
use railtwin_engine::{Case, IncidentKind, RankFault, RunLog};
use railtwin_units::SimTime;

/// Why a job did not end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// A queue pair died after its last retransmission.
    Halted,
    /// A rank never arrives, is gone, or disagrees on sizes.
    Hung,
    /// Cables are dead and nothing leads around them.
    NoRoute,
    /// Nothing moves, for want of capacity.
    Still,
    /// Simulated time came to its end before the job did.
    TimeUp,
}

/// That a job did not end, and since when it could not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stop {
    /// From when on.
    pub at: SimTime,
    /// Why.
    pub cause: Cause,
}

impl Stop {
    /// Why a job, by its row, did not end; none where all its operations did, its processes were ended while it was at
    /// work, or another job goes on with its steps.
    pub fn of(case: &Case, row: usize, log: &RunLog) -> Option<Self> {
        let job = case.work.jobs.get(row).filter(|job| job.goes_on_as.is_none())?;
        let ends = &log.times.end[job.operations()];
        if ends.iter().all(|&end| end != SimTime::NEVER) {
            return None;
        }
        let of_job =
            |kind: &IncidentKind| matches!(kind, IncidentKind::Halted(halted) if *halted as usize == row);
        let before = |at: &SimTime| *at < job.until;
        let halted = log.incidents.iter().find(|incident| of_job(&incident.kind)).map(|incident| incident.at);
        if let Some(at) = halted.filter(before) {
            return Some(Self { at, cause: Cause::Halted });
        }
        if let Some(at) = Self::for_good(case, row).filter(before) {
            return Some(Self { at, cause: Cause::Hung });
        }
        // Its processes were ended, and it was at work until then.
        if job.until <= log.counted_until {
            return None;
        }
        let last = ends.iter().filter(|&&end| end != SimTime::NEVER).max().copied().unwrap_or(job.start);
        if log.time_up {
            return Some(Self { at: last, cause: Cause::TimeUp });
        }
        match last_death(log) {
            Some(at) => Some(Self { at, cause: Cause::NoRoute }),
            None => Some(Self { at: last, cause: Cause::Still }),
        }
    }

    /// Whether the processes of a job were ended while it was at work, as was asked for.
    pub fn was_asked_for(case: &Case, row: usize, log: &RunLog) -> bool {
        case.work.jobs[row].until < SimTime::NEVER && Self::of(case, row, log).is_none()
    }

    /// When the first rank of a job hangs, goes or disagrees on sizes for good.
    pub fn for_good(case: &Case, row: usize) -> Option<SimTime> {
        RankFault::for_good(&case.rank_faults, row as u32)
    }

    /// Why there is no figure: `halted at 12.5 s`.
    pub fn words(self) -> String {
        let at = moment(self.at);
        match self.cause {
            Cause::Halted => format!("halted at {at}"),
            Cause::Hung => format!("hung from {at} on"),
            Cause::NoRoute if self.at == SimTime::ZERO => "no route from the start on".to_owned(),
            Cause::NoRoute => format!("no route left at {at}"),
            Cause::Still => format!("stood still from {at} on"),
            Cause::TimeUp => "not ended at the end of simulated time".to_owned(),
        }
    }
}

/// When the last of the cables died that are dead at the end; none where all live.
fn last_death(log: &RunLog) -> Option<SimTime> {
    let mut dead = std::collections::BTreeMap::new();
    for incident in &log.incidents {
        match incident.kind {
            IncidentKind::Down(cable) => {
                dead.insert(cable, incident.at);
            }
            IncidentKind::Up(cable) => {
                dead.remove(&cable);
            }
            _ => {}
        }
    }
    dead.into_values().max()
}

/// Why a figure over several draws of the hashes has no value: `halted in 3 of 20 draws, first at 12.5 s`; none
/// where the job ended in each.
pub fn reason(draws: &[Option<Stop>]) -> Option<String> {
    let stops: Vec<Stop> = draws.iter().copied().flatten().collect();
    let first = stops.iter().copied().min()?;
    if draws.len() == 1 {
        return Some(first.words());
    }
    let (in_draws, at) = (format!("in {} of {} draws", stops.len(), draws.len()), moment(first.at));
    if stops.iter().any(|stop| stop.cause != first.cause) {
        return Some(format!("did not end {in_draws}, the first: {}", first.words()));
    }
    Some(match first.cause {
        Cause::Halted => format!("halted {in_draws}, first at {at}"),
        Cause::Hung => format!("hung {in_draws}, first from {at} on"),
        Cause::NoRoute => format!("no route left {in_draws}, first at {at}"),
        Cause::Still => format!("stood still {in_draws}, first from {at} on"),
        Cause::TimeUp => format!("not ended at the end of simulated time {in_draws}"),
    })
}

/// Why one replicate has no end: of the first job that did not end, with its name where there are several; none where
/// all ended.
pub fn of_run(case: &Case, log: &RunLog) -> Option<String> {
    let jobs = &case.work.jobs;
    let (row, stop) = (0..jobs.len()).find_map(|row| Some((row, Stop::of(case, row, log)?)))?;
    Some(if jobs.len() > 1 { format!("{} {}", jobs[row].name, stop.words()) } else { stop.words() })
}

/// A moment with four significant digits: `12.5 s`, `15 ms`.
pub fn moment(at: SimTime) -> String {
    const UNITS: [(f64, &str); 4] = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];
    let ps = at.ps() as f64;
    let (scale, unit) = UNITS.into_iter().find(|(scale, _)| ps >= *scale).unwrap_or((1.0, "ps"));
    let value = ps / scale;
    // Digits after the point that four significant ones leave.
    let digits = (3 - value.max(1.0).log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(cause: Cause, ms: u64) -> Stop {
        Stop { at: SimTime::from_ns(ms * 1_000_000), cause }
    }

    #[test]
    fn moments_have_four_digits() {
        let texts = [0, 7, 15_000_000_000, 12_500_000_000_000, 2_000_000_000_000_000, 538_967_125_000]
            .map(|ps| moment(SimTime::from_ps(ps)));
        assert_eq!(texts, ["0 ps", "7 ps", "15 ms", "12.5 s", "2000 s", "539 ms"]);
    }

    #[test]
    fn one_draw_says_when_and_several_say_in_how_many() {
        let halted = Some(stop(Cause::Halted, 12_500));
        assert_eq!(reason(&[None]), None);
        assert_eq!(reason(&[halted]).as_deref(), Some("halted at 12.5 s"));
        assert_eq!(reason(&[Some(stop(Cause::NoRoute, 0))]).as_deref(), Some("no route from the start on"));
        let later = Some(stop(Cause::Halted, 13_000));
        let several = reason(&[None, later, halted, None]);
        assert_eq!(several.as_deref(), Some("halted in 2 of 4 draws, first at 12.5 s"));
        let mixed = reason(&[None, Some(stop(Cause::TimeUp, 20_000)), halted]);
        assert_eq!(mixed.as_deref(), Some("did not end in 2 of 3 draws, the first: halted at 12.5 s"));
    }
}

//! Step times of jobs beside each other over draws of their starts, for verbs that ask what a change costs: all are there
//! at once, whenever the scenario has them begin and however few steps it gives them, and a job that does not end says why.
use std::ops::Range;

use railtwin_engine::{Case, Engine};
use railtwin_units::SimTime;
use rayon::prelude::*;

use super::{Band, Options, STEPS_MOST, log_of, mean, start_of, too_many, with_work};
use crate::error::Error;
use crate::exposed::steps_of;
use crate::simulate::{mean_step, simulate};
use crate::stops::{Stop, reason};

/// Step time of a job over draws: the mean of a step in each, or why there is none.
#[derive(Clone, PartialEq, Debug)]
pub enum StepTime {
    /// Seconds.
    Seconds(Band),
    /// Why it does not end.
    None(String),
}

impl StepTime {
    /// Median seconds, where there are.
    pub fn seconds(&self) -> Option<f64> {
        self.band().map(|band| band.median)
    }

    /// Seconds over the draws, where there are.
    pub fn band(&self) -> Option<Band> {
        match self {
            Self::Seconds(band) => Some(*band),
            Self::None(_) => None,
        }
    }

    /// Why there are none.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Seconds(_) => None,
            Self::None(reason) => Some(reason),
        }
    }

    /// Of the draws of one job: why it did not end in some, else its seconds in each, where it has steps.
    fn of(draws: Vec<Result<Option<f64>, Stop>>) -> Self {
        let stops: Vec<Option<Stop>> = draws.iter().map(|draw| draw.err()).collect();
        if let Some(reason) = reason(&stops) {
            return Self::None(reason);
        }
        let steps: Vec<f64> = draws.into_iter().filter_map(|draw| draw.ok().flatten()).collect();
        if steps.is_empty() {
            return Self::None("it has no step".to_owned());
        }
        Self::Seconds(Band::of(steps))
    }
}

/// How jobs are drawn beside each other: the same starts for each change that is asked about.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    options: Options,
    /// Seconds of a step alone by job, by which starts are drawn; none for one that never ends one, or takes no time.
    periods: Vec<Option<f64>>,
}

impl Draws {
    /// For changes of `case`, by its jobs alone; a job that is alone begins when the scenario says.
    pub(crate) fn of(case: &Case, engine: &dyn Engine, options: Options) -> Result<Self, Error> {
        let jobs = case.work.jobs.len();
        let period = |row: usize| {
            let steps = |other: usize| if other == row { options.steps.max(1) } else { 0 };
            let one = with_work(case, &|other| (SimTime::ZERO, steps(other)));
            let log = log_of(engine, &one, 0)?;
            let seconds = mean(&one, row, &log, (SimTime::ZERO, SimTime::NEVER));
            Ok((Stop::of(&one, row, &log).is_none() && seconds > 0.0).then_some(seconds))
        };
        let rows = if jobs > 1 { 0..jobs } else { 0..0 };
        let periods: Vec<Result<Option<f64>, Error>> = rows.into_par_iter().map(period).collect();
        Ok(Self { options, periods: periods.into_iter().collect::<Result<_, Error>>()? })
    }

    /// The draws without the jobs `gone`, and the case in which they do nothing. The others keep their hosts and starts.
    pub(crate) fn without(&self, case: &Case, gone: &Range<usize>) -> (Self, Case) {
        let mut periods = self.periods.clone();
        periods.iter_mut().enumerate().filter(|(row, _)| gone.contains(row)).for_each(|(_, own)| *own = None);
        let work = |row: usize| {
            let job = &case.work.jobs[row];
            (job.start, if gone.contains(&row) { 0 } else { job.steps })
        };
        (Self { options: self.options, periods }, with_work(case, &work))
    }

    /// Step times of all jobs of a case, in the order of the scenario; `progress` hears of each draw. The result does not
    /// depend on the number of threads.
    pub(crate) fn steps(
        &self,
        case: &Case,
        engine: &dyn Engine,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Vec<StepTime>, Error> {
        let (jobs, draws) = (case.work.jobs.len(), self.options.draws.max(1));
        let mut all: Vec<Vec<Result<Option<f64>, Stop>>> = vec![Vec::new(); jobs];
        if jobs < 2 {
            let runs = simulate(case, engine, draws, progress, &mut |_, _| Ok(()))?;
            for replicate in &runs.replicates {
                for (row, of_job) in all.iter_mut().enumerate() {
                    of_job.push(replicate.stops[row].map_or_else(|| Ok(mean_step(replicate, row)), Err));
                }
            }
            return Ok(all.into_iter().map(StepTime::of).collect());
        }
        let counts = self.counts(case)?;
        let one = |number: u32| {
            let drawn = self.drawn(case, engine, &counts, number);
            progress();
            drawn
        };
        let drawn: Vec<Result<_, Error>> = (0..draws).into_par_iter().map(one).panic_fuse().collect();
        for draw in drawn {
            all.iter_mut().zip(draw?).for_each(|(of_job, step)| of_job.push(step));
        }
        Ok(all.into_iter().map(StepTime::of).collect())
    }

    /// Steps of each job, so that all are there while the slowest does as many as are asked for.
    fn counts(&self, case: &Case) -> Result<Vec<u32>, Error> {
        let longest = self.periods.iter().flatten().copied().fold(0.0, f64::max);
        let span = longest * f64::from(self.options.steps.max(1) + 2);
        let count = |(row, own): (usize, &Option<f64>)| match own {
            Some(own) => ((span / own).ceil() as u64).saturating_add(1),
            None => u64::from(case.work.jobs[row].steps),
        };
        let counts: Vec<u64> = self.periods.iter().enumerate().map(count).collect();
        if counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count)) > STEPS_MOST {
            let periods: Vec<f64> = self.periods.iter().map(|own| own.unwrap_or(longest)).collect();
            return Err(too_many(case, &periods));
        }
        Ok(counts.into_iter().map(|count| count as u32).collect())
    }

    fn drawn(
        &self,
        case: &Case,
        engine: &dyn Engine,
        counts: &[u32],
        number: u32,
    ) -> Result<Vec<Result<Option<f64>, Stop>>, Error> {
        let start = |(row, own): (usize, &Option<f64>)| {
            own.map_or(SimTime::ZERO, |own| start_of(case, row, own, number))
        };
        let starts: Vec<SimTime> = self.periods.iter().enumerate().map(start).collect();
        let all = with_work(case, &|row| (starts[row], counts[row]));
        let log = log_of(engine, &all, number)?;
        let stops: Vec<Option<Stop>> = (0..starts.len()).map(|row| Stop::of(&all, row, &log)).collect();
        let ends = (0..starts.len()).filter(|&row| stops[row].is_none() && self.periods[row].is_some());
        let ends = ends.filter_map(|row| Some(steps_of(&all.work.jobs[row], &log.times).last()?.2));
        let window = (starts.iter().max().copied().unwrap_or_default(), ends.min().unwrap_or(SimTime::NEVER));
        let step = |(row, stop): (usize, &Option<Stop>)| match stop {
            Some(stop) => Err(*stop),
            None if counts[row] == 0 => Ok(None),
            None => Ok(Some(mean(&all, row, &log, window))),
        };
        Ok(stops.iter().enumerate().map(step).collect())
    }
}

//! One side of a comparison: the run, its jobs and the spread of its figures.
use railtwin_store::{Figure, RunInfo};

use super::{DRAWS, JOB, RESTART};
use crate::figures::declared::job::{BUSBW_MEAN, HALTED, STEP_TIME, STEP_TIME_P5, STEP_TIME_P95};
use crate::figures::declared::life::{DOWNTIME, DOWNTIME_LEAST, DOWNTIME_MOST};
use crate::figures::declared::network::OPERATIONS_UNFINISHED;
use crate::figures::declared::{Better, By, Declared, cluster};
use crate::headline::known::Known;
use crate::headline::numbers::whole;

/// Kinds of runs; two of different kinds have no figures in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Steps of jobs.
    Steps,
    /// Weeks of jobs.
    Weeks,
}

/// One side of a comparison.
pub(super) struct Side<'a> {
    pub(super) info: &'a RunInfo,
    /// Names of its jobs, without those that go on with the steps of another.
    pub(super) jobs: Vec<String>,
    /// Draws of the hash seeds.
    pub(super) draws: u64,
}

impl<'a> Side<'a> {
    pub(super) fn of(info: &'a RunInfo) -> Self {
        let all = info.facts.iter().filter(|(_, text)| !text.starts_with(RESTART));
        let jobs = all.filter_map(|(name, _)| name.strip_prefix(JOB)).map(str::to_owned).collect();
        let draws = info.facts.get(DRAWS).and_then(|text| text.parse().ok()).unwrap_or(1);
        Self { info, jobs, draws }
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known { figures: &self.info.figures, jobs: &self.jobs, again: 0 }
    }

    /// The kind of the run; none of one without jobs.
    pub(super) fn kind(&self) -> Option<Kind> {
        if self.figure(None, cluster::GPU_UTILIZATION.name).is_some() {
            return Some(Kind::Weeks);
        }
        let has = |figure: &Figure| crate::figures::parts_of(&figure.name).1 == STEP_TIME.name;
        self.info.figures.iter().any(has).then_some(Kind::Steps)
    }

    /// Whether its job was followed over restarts, so that a halt is not its end.
    pub(super) fn has_life(&self) -> bool {
        self.value(None, DOWNTIME.name).is_some()
    }

    /// What its jobs are, whatever they are called; of weeks how many jobs come in how many days.
    pub(super) fn work(&self) -> Vec<&str> {
        let of = |wanted: fn(&str) -> bool| {
            let facts = self.info.facts.iter().filter(move |(name, _)| wanted(name));
            facts.map(|(_, text)| text.as_str()).filter(|text| !text.starts_with(RESTART))
        };
        if self.kind() == Some(Kind::Weeks) {
            return of(|name| matches!(name, "days" | "jobs that come")).collect();
        }
        let mut work: Vec<&str> = of(|name| name.starts_with(JOB)).collect();
        work.sort_unstable();
        work
    }

    /// How many days of weeks.
    pub(super) fn days(&self) -> String {
        self.info.facts.get("days").cloned().unwrap_or_default()
    }

    /// A figure of a job, or of the run where `job` is none; of an only job the bare name counts too.
    pub(super) fn figure(&self, job: Option<&str>, name: &str) -> Option<&'a Figure> {
        let by_name = |name: &str| self.info.figures.iter().find(|figure| figure.name == name);
        match job {
            None => by_name(name),
            Some(job) => {
                let own = by_name(&format!("{job}.{name}"));
                own.or_else(|| if self.jobs.len() < 2 { by_name(name) } else { None })
            }
        }
    }

    pub(super) fn value(&self, job: Option<&str>, name: &str) -> Option<f64> {
        self.figure(job, name).and_then(|figure| figure.value)
    }

    /// The job in which the figure is worst.
    pub(super) fn worst(&self, of: &Declared) -> Option<&str> {
        let sign = if of.better == Better::More { -1.0 } else { 1.0 };
        let values = self.jobs.iter().filter_map(|job| Some((job, self.value(Some(job), of.name)?)));
        values.reduce(|a, b| if sign * b.1 > sign * a.1 { b } else { a }).map(|(job, _)| job.as_str())
    }

    /// Lowest and highest value over the draws or lives that the figure is a median or mean of; none where it has no such
    /// spread. Bounds of a figure of one draw are no spread of draws: they are those over links or operations.
    pub(super) fn band(&self, job: Option<&str>, of: &Declared, name: &str) -> Option<[f64; 2]> {
        let by =
            |low: &Declared, high: &Declared| Some([self.value(job, low.name)?, self.value(job, high.name)?]);
        if *of == STEP_TIME {
            return by(&STEP_TIME_P5, &STEP_TIME_P95);
        }
        if *of == DOWNTIME {
            return by(&DOWNTIME_LEAST, &DOWNTIME_MOST);
        }
        let figure = self.figure(job, name)?;
        (self.draws > 1 || of.by == By::Life).then_some([figure.low?, figure.high?])
    }

    /// Whether figures of this kind are made of several draws or lives.
    pub(super) fn has_spread(&self, of: &Declared) -> bool {
        let lives = || self.band(None, &DOWNTIME, DOWNTIME.name).is_some_and(|[least, most]| least < most);
        if of.by == By::Life { lives() } else { self.draws > 1 && of.by != By::Cluster }
    }

    /// Why it has no end; none where it has one, or where its job restarts after a halt.
    pub(super) fn without_end(&self) -> Option<String> {
        if self.has_life() || self.kind() == Some(Kind::Weeks) {
            return None;
        }
        let figures = self.jobs.iter().filter_map(|job| self.figure(Some(job), STEP_TIME.name));
        let bare = self.figure(None, STEP_TIME.name);
        let reason = figures.chain(bare).find(|figure| figure.value.is_none() && !figure.reason.is_empty());
        let unfinished = self.value(None, OPERATIONS_UNFINISHED.name).unwrap_or(0.0);
        let halts = self.jobs.iter().filter_map(|job| self.value(Some(job), HALTED.name));
        let halted = halts.chain(self.value(None, HALTED.name)).any(|draws| draws > 0.0);
        if let Some(figure) = reason {
            return Some(figure.reason.clone());
        }
        let word = if halted { "halted" } else { "never ended" };
        match unfinished {
            0.0 if !halted => None,
            0.0 => Some(word.to_owned()),
            count => Some(format!("{word} ({} operations unfinished)", whole(count as u64))),
        }
    }

    /// The figure that sums up the run: its downtime, its GPU utilization, else bandwidth or step time of the worst job.
    pub(super) fn main(&self) -> Option<(&'static Declared, Option<&str>)> {
        const OF_RUN: [&Declared; 2] = [&DOWNTIME, &cluster::GPU_UTILIZATION];
        const OF_JOB: [&Declared; 2] = [&BUSBW_MEAN, &STEP_TIME];
        if let Some(of) = OF_RUN.into_iter().find(|of| self.value(None, of.name).is_some()) {
            return Some((of, None));
        }
        if let Some(of) = OF_JOB.into_iter().find(|of| self.value(None, of.name).is_some()) {
            return Some((of, self.jobs.first().map(String::as_str)));
        }
        OF_JOB.into_iter().find_map(|of| Some((of, Some(self.worst(of)?))))
    }
}

//! Figures by name, as a headline looks them up.
use railtwin_store::Figure;

use crate::figures::declared;

/// The figures of a run and its jobs.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// All figures of the run.
    pub figures: &'a [Figure],
    /// Names of its jobs.
    pub jobs: &'a [String],
    /// How many of them go on with the steps of another.
    pub again: usize,
}

impl<'a> Known<'a> {
    /// A figure by its whole name.
    pub fn figure(&self, name: &str) -> Option<&'a Figure> {
        // A name that nobody declares is found in no run, and nothing would tell.
        debug_assert!(declared(name).is_some(), "{name} is no figure");
        self.figures.iter().find(|figure| figure.name == name)
    }

    /// Its value.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figure(name).and_then(|figure| figure.value)
    }

    /// Its value; 0 where there is none.
    pub fn count(&self, name: &str) -> f64 {
        self.value(name).unwrap_or(0.0)
    }

    /// A figure of a job: by its bare name where the run has one job, else by `JOB.NAME`.
    pub fn of_job(&self, job: usize, name: &str) -> Option<&'a Figure> {
        match self.jobs {
            [_] | [] => self.figure(name),
            jobs => self.figure(&format!("{}.{name}", jobs.get(job)?)),
        }
    }

    /// The value of a job's figure.
    pub fn value_of_job(&self, job: usize, name: &str) -> Option<f64> {
        self.of_job(job, name).and_then(|figure| figure.value)
    }

    /// The largest value of a figure over jobs, and whose it is.
    pub fn largest(&self, name: &str) -> Option<(usize, f64)> {
        let jobs = 0..self.jobs.len().max(1);
        let values = jobs.filter_map(|job| Some((job, self.value_of_job(job, name)?)));
        values.reduce(|a, b| if b.1 > a.1 { b } else { a })
    }

    /// What a sentence calls a job: nothing in a run with one job, whose name goes without saying.
    pub fn job_words(&self, job: usize) -> String {
        match self.jobs {
            [_] | [] => "the job".to_owned(),
            jobs => jobs.get(job).map_or_else(|| "a job".to_owned(), |name| format!("job {name}")),
        }
    }
}

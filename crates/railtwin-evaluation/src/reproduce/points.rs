//! The points of a scenario of the papers: which of them some row reads, and their runs, side by side.
use std::path::Path;

use railtwin_scenario::{Scenario, SweepPoint, Work, Workload};
use railtwin_store::Figure;
use railtwin_units::{Bytes, SimTime};
use rayon::prelude::*;

use super::cost::of_calculation;
use super::crux::Cases;
use super::pick::Point;
use super::sweep::Set;
use super::{CALCULATION, FILES, PAPERS, calculate, place};
use railtwin::Error;
use railtwin::Estimate;
use railtwin::Question;
use railtwin::Run;
use railtwin::cost::Cost;
use railtwin::gain::gains;
use railtwin::intranode::{Told, saturations};

/// How much more than by default is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) replicates: Option<u32>,
    pub(super) bytes: Option<Bytes>,
    pub(super) cases: Cases,
}

impl Length {
    fn set(self, scenario: &mut Scenario) {
        if let Some(replicates) = self.replicates {
            scenario.run.replicates = replicates;
        }
        if let Some(spec) = scenario.intranode.as_mut().filter(|_| self.cases.is_full()) {
            // SAURON section 4.2.
            spec.duration = spec.duration.max(SimTime::from_ns(2_500_000));
        }
        for job in scenario.jobs.iter_mut() {
            match (&mut job.work, self.bytes) {
                (Work::Collective(collective), Some(bytes)) => collective.bytes = Some(bytes),
                (Work::Workload(Workload::Traffic(traffic)), Some(bytes)) => traffic.set_bytes(bytes),
                _ => {}
            }
        }
    }
}

/// What is run.
enum Of {
    /// A calculation, by its name.
    Calculation(String, Cases, Set),
    /// A scenario, point by point.
    Sweep(Question, Vec<SweepPoint>),
}

/// The points of a scenario of the papers; the gains of its sweep stand in a point without labels, as all figures of a
/// calculation do that has no points.
pub(super) struct Points {
    /// With figures once they have run, and without where no row reads them.
    pub(super) points: Vec<Point>,
    of: Of,
    /// By point: whether a row reads it.
    wanted: Vec<bool>,
    /// Points that cannot be, as what is put into them does not fit, are left without figures.
    lenient: bool,
}

impl Points {
    /// The points with what is put in, not yet run.
    pub(super) fn of(name: &str, length: Length, set: &Set) -> Result<Self, Error> {
        if let Some(calculation) = name.strip_prefix(CALCULATION) {
            let labels = calculate::labels(calculation, length.cases, set);
            return Ok(Self {
                wanted: vec![false; labels.len()],
                points: labels.into_iter().map(|label| Point { label, figures: Vec::new() }).collect(),
                of: Of::Calculation(calculation.to_owned(), length.cases, set.clone()),
                lenient: false,
            });
        }
        let text = PAPERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let text = text.ok_or_else(|| Error::Argument(format!("the table names no scenario {name:?}")))?;
        let text = set.put_into(text);
        let question = Question::of_text(&place(name), &text, Path::new(".")).with_files(FILES);
        let mut sweep = question.points()?;
        for point in &mut sweep {
            length.set(&mut point.scenario);
            point.scenario.run.replicates = set.draws(point.scenario.run.replicates);
        }
        // A gain is over all points.
        let wanted = sweep.iter().map(|point| point.scenario.gain.is_some()).collect();
        let points = sweep.iter().map(|point| Point::new(&point.label, Vec::new())).collect();
        Ok(Self { points, of: Of::Sweep(question, sweep), wanted, lenient: !set.is_empty() })
    }

    /// A row reads these.
    pub(super) fn want(&mut self, rows: &[usize]) {
        rows.iter().for_each(|&row| self.wanted[row] = true);
    }

    /// Cost of all that some row reads, side by side on so many cores.
    pub(super) fn cost(&self, cores: usize) -> Result<Cost, Error> {
        let (question, sweep) = match &self.of {
            Of::Sweep(question, sweep) => (question, sweep),
            Of::Calculation(name, ..) => return Ok(of_calculation(name)),
        };
        let mut all = Cost::least("no points");
        let wanted = sweep.iter().zip(&self.wanted).filter(|(_, wanted)| **wanted);
        let side_by_side = cores.clamp(1, wanted.clone().count().max(1)) as f64;
        for (point, _) in wanted {
            let one = match point.scenario.intranode {
                Some(_) => question.intranode(&point.scenario, 1)?.cost().clone(),
                None => match question.resolve(&point.scenario) {
                    Ok(resolved) => Estimate::of(&resolved, 1).with_packets(&resolved).cost(),
                    Err(_) if self.lenient => continue,
                    Err(error) => return Err(error),
                },
            };
            all = all.then(&one);
        }
        Ok(Cost { bytes: all.bytes * side_by_side, seconds: all.seconds / side_by_side, ..all })
    }

    /// Runs all that some row reads, side by side; what comes out does not depend on the number of threads.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        let (question, sweep) = match &self.of {
            Of::Sweep(question, sweep) => (question, sweep),
            Of::Calculation(name, cases, set) => {
                let unknown = || Error::Argument(format!("the table names no calculation {name:?}"));
                self.points = calculate::points(name, *cases, set, &self.wanted).ok_or_else(unknown)?;
                return Ok(());
            }
        };
        let run = |(point, wanted): (&SweepPoint, &bool)| -> Result<_, Error> {
            if !wanted {
                return Ok(Vec::new());
            }
            if point.scenario.intranode.is_some() {
                let asked = question.intranode(&point.scenario, 1)?;
                return Ok(asked.figures(&asked.run()));
            }
            match question.resolve(&point.scenario) {
                Ok(resolved) => Ok(Run::of(resolved, &|| ()).info.figures),
                Err(_) if self.lenient => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        };
        let figures: Result<Vec<_>, Error> =
            sweep.par_iter().zip(&self.wanted).map(run).panic_fuse().collect();
        for (point, figures) in self.points.iter_mut().zip(figures?) {
            point.figures = figures;
        }
        if sweep.iter().any(|point| point.scenario.intranode.is_some()) {
            add_saturations(&mut self.points);
        }
        if let Some(gain) = sweep.last().and_then(|point| point.scenario.gain.clone()) {
            let labels = sweep.iter().map(|point| point.label.as_slice());
            let all: Vec<_> = labels.zip(self.points.iter().map(|point| point.figures.as_slice())).collect();
            let gains = gains(&gain, &all);
            self.points.push(Point { label: Vec::new(), figures: gains.figures });
        }
        Ok(())
    }
}

/// Adds a point for each choice on the other axes than that of loads, with the load from which on it is saturated; 2, which
/// no load is, where none does it.
fn add_saturations(points: &mut Vec<Point>) {
    let ran = points.iter().filter(|point| !point.figures.is_empty());
    let told = |point: &Point| Told {
        label: point.label.clone(),
        figures: point.figures.clone(),
        unexpected: Vec::new(),
    };
    let told: Vec<Told> = ran.map(told).collect();
    for (label, load) in saturations(&told) {
        let figures = vec![Figure::new("saturation_load", load.unwrap_or(2.0), "ratio")];
        points.push(Point { label, figures });
    }
}

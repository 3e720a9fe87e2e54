//! In how many choices of its fitted parameters a figure of the table stays met.
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::crux::Cases;
use super::points::{Length, Points};
use super::sweep::Choice;
use super::{CALCULATION, Row, Wanted};
use railtwin::Error;

/// A figure over the choices of what its row has fitted.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Robust {
    /// In how many choices it lies within its bounds.
    pub met: u32,
    /// How many choices there are; one without a value is not met.
    pub of: u32,
    /// The least of all choices; null where none has a value.
    pub least: Option<f64>,
    /// The most of all choices; null where none has a value.
    pub most: Option<f64>,
}

/// A figure at one choice of what its row has fitted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Chosen {
    /// Parameters, or axes, and what was chosen of each.
    pub choice: Vec<(String, String)>,
    /// The figure there; null where it has no value.
    pub value: Option<f64>,
    /// Whether it lies within its bounds.
    pub met: bool,
}

/// All choices of a row, each once.
fn choices(row: &Row) -> Vec<Choice> {
    let calculation = row.source().starts_with(CALCULATION);
    let mut seen = BTreeSet::new();
    let all = row.sweep.iter().flat_map(|sweep| sweep.choices(calculation));
    all.filter(|choice| seen.insert((calculation.then(|| choice.set.key("")), choice.at.clone()))).collect()
}

/// How robust a figure is, and what it is at each choice.
pub(super) type Told = (Robust, Vec<Chosen>);

/// By row and figure how robust it is; none of a row that names no sweep, and of a figure that is skipped.
pub(super) fn robust(rows: &[Row], progress: &dyn Fn(&str)) -> Result<Vec<Vec<Option<Told>>>, Error> {
    let plans: Vec<Vec<Choice>> = rows.iter().map(choices).collect();
    let mut points_of: BTreeMap<String, Points> = BTreeMap::new();
    for (row, plan) in rows.iter().zip(&plans) {
        for choice in plan {
            for source in row.scenarios() {
                let key = choice.set.key(&source);
                if let Entry::Vacant(free) = points_of.entry(key) {
                    free.insert(Points::of(&source, length(), &choice.set)?);
                }
            }
            for wanted in &row.figures {
                let picked = wanted.from.with(&choice.at);
                let [own, against] = keys(row, wanted, choice);
                let (ours, others) = picked.reads(&points_of[&own].points, &points_of[&against].points);
                points_of.get_mut(&own).expect("it is there").want(&ours);
                points_of.get_mut(&against).expect("it is there").want(&others);
            }
        }
    }
    for (key, points) in &mut points_of {
        progress(key);
        points.run()?;
    }
    let of_row = |(row, plan): (&Row, &Vec<Choice>)| {
        row.figures.iter().map(|wanted| over(row, wanted, plan, &points_of)).collect()
    };
    Ok(rows.iter().zip(&plans).map(of_row).collect())
}

fn length() -> Length {
    Length { replicates: None, bytes: None, cases: Cases::SHORT }
}

/// The points that a figure is taken from, and those that it is held against.
fn keys(row: &Row, wanted: &Wanted, choice: &Choice) -> [String; 2] {
    let own = row.source();
    let against = wanted.from.against().unwrap_or(&own);
    [choice.set.key(&own), choice.set.key(against)]
}

fn over(row: &Row, wanted: &Wanted, plan: &[Choice], points_of: &BTreeMap<String, Points>) -> Option<Told> {
    if plan.is_empty() || wanted.skipped.is_some() {
        return None;
    }
    let mut robust = Robust { met: 0, of: 0, least: None, most: None };
    let mut all = Vec::with_capacity(plan.len());
    for choice in plan {
        let picked = wanted.from.with(&choice.at);
        let [own, against] = keys(row, wanted, choice);
        let values = picked.values(&wanted.figure, &points_of[&own].points, &points_of[&against].points);
        robust.of += 1;
        let value = values.ok().map(|values| picked.taken(&values)).filter(|value| !value.is_nan());
        let met = value.is_some_and(|value| wanted.is_met(value));
        let put = if row.source().starts_with(CALCULATION) { choice.set.chosen() } else { Vec::new() };
        all.push(Chosen { choice: put.into_iter().chain(choice.at.iter().cloned()).collect(), value, met });
        robust.met += u32::from(met);
        if let Some(value) = value {
            robust.least = Some(robust.least.map_or(value, |least| least.min(value)));
            robust.most = Some(robust.most.map_or(value, |most| most.max(value)));
        }
    }
    Some((robust, all))
}

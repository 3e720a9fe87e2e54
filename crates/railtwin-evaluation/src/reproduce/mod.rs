//! The reproduction table: figures that the papers print, beside ours.
//!
//! Rows stand in `rows.toml`; their scenarios in `scenarios/papers/` of the repository, or in `scenarios/peers/` where
//! they are held against other simulators, `scenarios/reference/` where README holds two fabrics against each other,
//! embedded here, so that `railtwin run scenarios/papers/<name>.toml --json` prints the same values.
//! Rows of models without a run name a calculation instead ([`calculate`]).
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use railtwin_units::Bytes;
use serde::{Deserialize, Serialize};

use railtwin::Error;
use railtwin::Question;

mod agreed;
mod bursts;
mod calculate;
mod co_tuning;
pub mod cost;
mod cross_segment;
mod crux;
mod design;
mod detect;
mod experts;
mod job_sizes;
mod keys;
mod page;
mod pick;
mod points;
mod relay;
mod robust;
mod sauron;
mod sweep;
mod tenants;
mod testbed;
mod weeks;
use agreed::Name;
use crux::Cases;
use pick::Picked;
use points::{Length, Points};
use sweep::{Set, Sweep};

pub use agreed::{Agreed, AgreedTable};
pub use keys::keys;
pub use page::{accepted, markdown, number, totals, with_table};
pub use robust::{Chosen, Robust};

include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Rows of the table as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    kind: RowKind,
    #[serde(default)]
    scenario: Option<String>,
    /// A model without a run, instead of a scenario.
    #[serde(default)]
    calculation: Option<String>,
    /// Draws where those of the scenario take too long.
    #[serde(default)]
    draws: Option<u32>,
    #[serde(default)]
    full_replicates: Option<u32>,
    /// Bytes of each job's traffic or collective that take as long as the paper's experiment.
    #[serde(default)]
    full_bytes: Option<Bytes>,
    #[serde(default)]
    fitted: BTreeMap<String, toml::Value>,
    /// What the fitted parameters might as well have been; the choices of all sweeps together.
    #[serde(default)]
    sweep: Vec<Sweep>,
    /// Why what is fitted is not swept.
    #[serde(default)]
    unswept: Option<String>,
    /// Why a bound is open, of all figures that do not say it themselves.
    #[serde(default)]
    open: Option<String>,
    figures: Vec<Wanted>,
}

impl Row {
    /// What its figures come from: a scenario's name, or that of a calculation after [`CALCULATION`].
    fn source(&self) -> String {
        match (&self.scenario, &self.calculation) {
            (Some(scenario), None) => scenario.clone(),
            (None, Some(calculation)) => format!("{CALCULATION}{calculation}"),
            _ => panic!("a test reads the table: {} names a scenario or a calculation", self.id),
        }
    }

    /// All that its figures come from: its own source first, then what it is held against.
    fn scenarios(&self) -> Vec<String> {
        let others = self.figures.iter().filter_map(|wanted| wanted.from.against().map(str::to_owned));
        std::iter::once(self.source()).chain(others).collect()
    }

    /// What it asks of its case, without the words beside it.
    fn asks(&self) -> String {
        let of_figure = |wanted: &Wanted| {
            let Wanted { figure, from, paper, kind, low, high, skipped, open: _ } = wanted;
            format!("{figure} {from:?} {paper} {kind:?} {low:?} {high:?} {}\n", skipped.is_some())
        };
        let figures: String = self.figures.iter().map(of_figure).collect();
        format!("{:?} {:?} {:?}\n{figures}", self.kind, self.draws, self.sweep)
    }
}

/// Begins the key of a calculation; no scenario has a space in its name.
const CALCULATION: &str = "calculation ";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    figure: String,
    #[serde(default)]
    from: Picked,
    paper: f64,
    /// How this figure comes about, where not as the row's others.
    #[serde(default)]
    kind: Option<RowKind>,
    #[serde(default)]
    low: Option<f64>,
    #[serde(default)]
    high: Option<f64>,
    #[serde(default)]
    skipped: Option<String>,
    /// Why a bound is open.
    #[serde(default)]
    open: Option<String>,
}

impl Wanted {
    /// Least and most that count as met; the paper's figure alone where neither is written.
    fn bounds(&self) -> [Option<f64>; 2] {
        let exact = self.low.is_none() && self.high.is_none();
        [self.low.or(exact.then_some(self.paper)), self.high.or(exact.then_some(self.paper))]
    }

    fn is_met(&self, value: f64) -> bool {
        let [low, high] = self.bounds();
        low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high)
    }
}

/// How a figure comes about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKind {
    /// Counted on the built graph or computed from a plan.
    Arithmetic,
    /// From routes, without time.
    Analytic,
    /// From runs.
    Simulated,
    /// From a controller's decisions.
    Controller,
    /// Put in as the paper has it: that it comes out again shows nothing.
    Input,
    /// Our own, of README: guarded and swept, and held against nobody's.
    Own,
}

/// One figure beside the paper's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reproduced {
    /// Id in the fidelity catalogue.
    pub id: String,
    /// Figure as the run calls it.
    pub figure: String,
    /// How it comes about.
    pub kind: RowKind,
    /// The scenario's file in the repository, or `calculation` and its name.
    pub scenario: String,
    /// What the paper prints.
    pub paper: f64,
    /// What came out; null where the run has no such figure, or the figure no value.
    pub ours: Option<f64>,
    /// The least and the most over the points that `ours` is taken from: draws, or values of axes that the row leaves
    /// open; absent where it is of one point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<[f64; 2]>,
    /// Why nothing came out; absent where something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Least that counts as met; null = open.
    pub low: Option<f64>,
    /// Most that counts as met; null = open.
    pub high: Option<f64>,
    /// Whether ours lies within; absent of a figure that is skipped, and of one that was put in and came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// Why the paper's figure cannot be derived, where the catalogue says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Why a bound is open; absent where both are closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// In how many choices of what is fitted it stays met; absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robust: Option<Robust>,
    /// What it is at each of these choices; absent where nobody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Chosen>,
    /// Whether its row names choices of what is fitted.
    pub swept: bool,
    /// Why what is fitted is not swept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unswept: Option<String>,
    /// Parameters that the paper leaves open and we chose.
    pub fitted: BTreeMap<String, serde_json::Value>,
    /// Seconds of its scenario and of those that it is held against; filled in by who has a clock.
    pub seconds: f64,
}

impl Reproduced {
    /// What became of it, as the table says it.
    pub fn outcome(&self) -> &'static str {
        match (self.met, &self.skipped, self.kind) {
            (_, _, RowKind::Own) => "own",
            (Some(true), ..) => "met",
            (Some(false), ..) => "MISSED",
            (None, Some(_), _) => "skipped",
            (None, None, _) => "put in",
        }
    }
}

/// Ids of the table in its order, each once.
pub fn ids() -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for row in rows() {
        if !ids.contains(&row.id) {
            ids.push(row.id);
        }
    }
    ids
}

fn rows() -> Vec<Row> {
    let rows: Rows = toml::from_str(include_str!("rows.toml")).expect("a test reads the table");
    rows.row
}

/// Reproduces the rows with `wanted` ids (all when empty). `full` takes the papers' length; `clock` gives wall
/// seconds; `progress` hears of each scenario before it runs.
///
/// # Errors
/// [`Error::Argument`] for an id that the table does not have.
pub fn reproduce(
    wanted: &[String],
    full: bool,
    clock: &dyn Fn() -> f64,
    progress: &dyn Fn(&str),
) -> Result<Vec<Reproduced>, Error> {
    reproduce_where(wanted, &|_| true, full, clock, progress)
}

/// Rows with `wanted` ids and the figures that `keep` keeps of them, and the points that they read, by source.
fn prepared(
    wanted: &[String],
    keep: &dyn Fn(&Reproduced) -> bool,
    full: bool,
) -> Result<(Vec<Row>, BTreeMap<String, Points>), Error> {
    let (mut rows, all) = (rows_of(wanted)?, rows());
    for row in &mut rows {
        let figures = std::mem::take(&mut row.figures);
        row.figures = figures.into_iter().filter(|wanted| keep(&frame(row, wanted))).collect();
    }
    rows.retain(|row| !row.figures.is_empty());
    // Points before runs: which of them are run is what all rows read together.
    let mut points_of: BTreeMap<String, Points> = BTreeMap::new();
    for row in &rows {
        for scenario in row.scenarios() {
            if !points_of.contains_key(&scenario) {
                let length = length(&scenario, &all, full);
                points_of.insert(scenario.clone(), Points::of(&scenario, length, &Set::default())?);
            }
        }
    }
    for row in &rows {
        for wanted in &row.figures {
            let of = |name: &str| &points_of[name].points;
            let own = row.source();
            let against = wanted.from.against().unwrap_or(&own).to_owned();
            let (ours, others) = wanted.from.reads(of(&own), of(&against));
            points_of.get_mut(&own).expect("it is there").want(&ours);
            points_of.get_mut(&against).expect("it is there").want(&others);
        }
    }
    Ok((rows, points_of))
}

/// As [`reproduce`], of the figures alone that `keep` keeps of what is known before anything has run: what the others are
/// read from is not run, and these come out as they do beside them.
///
/// # Errors
/// Those of [`reproduce`].
pub fn reproduce_where(
    wanted: &[String],
    keep: &dyn Fn(&Reproduced) -> bool,
    full: bool,
    clock: &dyn Fn() -> f64,
    progress: &dyn Fn(&str),
) -> Result<Vec<Reproduced>, Error> {
    let (rows, mut points_of) = prepared(wanted, keep, full)?;
    let mut seconds_of: BTreeMap<String, f64> = BTreeMap::new();
    let mut table = Vec::new();
    for row in &rows {
        for scenario in row.scenarios() {
            if let Entry::Vacant(first) = seconds_of.entry(scenario.clone()) {
                progress(&scenario);
                let start = clock();
                points_of.get_mut(&scenario).expect("it is there").run()?;
                first.insert(clock() - start);
            }
        }
        let seconds =
            row.scenarios().iter().collect::<BTreeSet<_>>().into_iter().map(|name| seconds_of[name]).sum();
        table.extend(row.figures.iter().map(|wanted| reproduced(row, wanted, &points_of, seconds)));
    }
    Ok(table)
}

/// How long a scenario is run: as long as any row of the table asks for, so that a figure does not hang on which rows are
/// wanted beside it.
fn length(scenario: &str, all: &[Row], full: bool) -> Length {
    let of = || all.iter().filter(|row| row.scenarios().iter().any(|name| name == scenario));
    Length {
        replicates: of().filter_map(|row| if full { row.full_replicates } else { row.draws }).max(),
        bytes: of().filter_map(|row| row.full_bytes.filter(|_| full)).max(),
        cases: if full { Cases::FULL } else { Cases::SHORT },
    }
}

/// Ids that are asked for, those of ranges such as `QX01-QX15` (or with an en dash) one by one in the order of the table.
///
/// # Errors
/// [`Error::Argument`] for a name of no row.
pub fn asked_ids(asked: &[String]) -> Result<Vec<String>, Error> {
    let known = ids();
    let place = |id: &str| known.iter().position(|one| one == id);
    let mut found = Vec::new();
    for one in asked {
        let ends = one.split_once(['-', '–']).and_then(|(first, last)| Some((place(first)?, place(last)?)));
        match (place(one), ends) {
            (Some(at), _) => found.push(known[at].clone()),
            (None, Some((first, last))) if first <= last => found.extend_from_slice(&known[first..=last]),
            _ => {
                let known = known.join(", ");
                let message =
                    format!("no row {one:?}; write some of, or a range such as QX01-QX15 of: {known}");
                return Err(Error::Argument(message));
            }
        }
    }
    Ok(found)
}

/// The rows with `wanted` ids, all when empty.
fn rows_of(wanted: &[String]) -> Result<Vec<Row>, Error> {
    let wanted = asked_ids(wanted)?;
    Ok(rows().into_iter().filter(|row| wanted.is_empty() || wanted.contains(&row.id)).collect())
}

/// Adds to figures of the table that `keep` keeps in how many choices of what is fitted they stay met.
/// `progress` hears of each source before it runs.
///
/// # Errors
/// Those of [`reproduce`].
pub fn add_robustness(
    table: &mut [Reproduced],
    keep: &dyn Fn(&Reproduced) -> bool,
    progress: &dyn Fn(&str),
) -> Result<(), Error> {
    let wanted: BTreeSet<Name> = table.iter().filter(|row| keep(row)).map(agreed::name).collect();
    let mut rows = rows();
    rows.retain(|row| row.figures.iter().any(|figure| wanted.contains(&agreed::name(&frame(row, figure)))));
    let robust = robust::robust(&rows, progress)?;
    let frames =
        rows.iter().flat_map(|row| row.figures.iter().map(|figure| agreed::name(&frame(row, figure))));
    let told: BTreeMap<Name, _> = frames.zip(robust.into_iter().flatten()).collect();
    for row in table.iter_mut().filter(|row| wanted.contains(&agreed::name(row))) {
        let told = told.get(&agreed::name(row)).cloned().flatten();
        (row.robust, row.choices) = told.map_or((None, Vec::new()), |(robust, all)| (Some(robust), all));
    }
    Ok(())
}

/// All figures of the table, before anything has run.
pub fn frames() -> Vec<Reproduced> {
    let of_row = |row: &Row| row.figures.iter().map(|wanted| frame(row, wanted)).collect::<Vec<_>>();
    rows().iter().flat_map(of_row).collect()
}

/// The file of a scenario in the repository; a calculation as it is called.
fn place(scenario: &str) -> String {
    if scenario.starts_with(CALCULATION) {
        return scenario.to_owned();
    }
    let folder = if scenario.contains('/') { "scenarios" } else { "scenarios/papers" };
    format!("{folder}/{scenario}.toml")
}

/// A scenario of the papers, with what is put into it.
///
/// # Panics
/// Where there is none of that name.
fn paper(name: &str, set: &Set) -> Question {
    let text = PAPERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let text = set.put_into(text.expect("a test asks for it"));
    Question::of_text(&place(name), &text, Path::new(".")).with_files(FILES)
}

/// A figure before anything has run.
fn frame(row: &Row, wanted: &Wanted) -> Reproduced {
    let json = |value: &toml::Value| serde_json::to_value(value).unwrap_or(serde_json::Value::Null);
    let [low, high] = wanted.bounds();
    let open = low.is_none() || high.is_none();
    Reproduced {
        id: row.id.clone(),
        figure: wanted.from.name(&wanted.figure),
        kind: wanted.kind.unwrap_or(row.kind),
        scenario: place(&row.source()),
        paper: wanted.paper,
        ours: None,
        reason: None,
        low,
        high,
        met: None,
        skipped: wanted.skipped.clone(),
        open: wanted.open.clone().or_else(|| row.open.clone()).filter(|_| open),
        robust: None,
        choices: Vec::new(),
        swept: !row.sweep.is_empty() && wanted.skipped.is_none(),
        unswept: row.unswept.clone(),
        fitted: row.fitted.iter().map(|(name, value)| (name.clone(), json(value))).collect(),
        spread: None,
        seconds: 0.0,
    }
}

fn reproduced(row: &Row, wanted: &Wanted, points_of: &BTreeMap<String, Points>, seconds: f64) -> Reproduced {
    let own = row.source();
    let (points, others) =
        (&points_of[&own].points, &points_of[wanted.from.against().unwrap_or(&own)].points);
    let values = wanted.from.values(&wanted.figure, points, others);
    let value = values.as_ref().map(|values| wanted.from.taken(values)).map_err(Clone::clone);
    let (ours, reason) = (value.as_ref().ok().copied(), value.err());
    let spread = values.ok().filter(|values| values.len() > 1).map(|values| pick::range(&values));
    let met = ours.is_some_and(|ours| wanted.is_met(ours));
    let frame = frame(row, wanted);
    // What was put in and does not come out is a fault of ours.
    let counts = match frame.kind {
        RowKind::Own => false,
        RowKind::Input => !met && wanted.skipped.is_none(),
        _ => wanted.skipped.is_none(),
    };
    Reproduced { ours, reason, spread, seconds, met: counts.then_some(met), ..frame }
}

#[cfg(test)]
mod tests;

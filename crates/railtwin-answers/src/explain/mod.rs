//! Explanation of a measured bus bandwidth or step time: causes that it may have, each simulated, the likeliest first.
//!
//! A hypothesis is a change to the scenario: another balancer, fewer NICs, another algorithm, a fault. The flow engine says
//! what comes of it; the band of its figures and the error of the model make a log-normal density, and hypotheses are in
//! the order of the density that they give the measured figure. So one whose band holds anything stands behind one that
//! fits closely. Causes that logs or telemetry show come before all others.
mod edits;
mod evidence;
mod hypotheses;
mod json;
mod next;
mod setting;
mod trial;
mod weigh;

use std::path::PathBuf;

use railtwin_engine::Engine;
use railtwin_reading::Diagnosed;

pub use self::edits::Edit;
pub use self::hypotheses::{Area, Experiment, Hypothesis, SlowPart};
pub use self::json::json_of;
pub use self::next::Measurement;
pub use self::setting::Setting;
pub use self::weigh::{MODEL_ERROR, Weighed};

use self::evidence::shown;
use self::hypotheses::{COLLISIONS, Scene};
use self::trial::Trials;
use self::weigh::weigh;

/// Hypotheses whose figure differs from the expected one by less say nothing: the change makes no difference here.
const SAME: f64 = 0.01;

/// Ratio of densities below which two hypotheses fit about as well.
const ALIKE: f64 = 3.0;

/// The measured figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Measured {
    /// Bus bandwidth as nccl-tests has it, GB/s.
    BusBandwidth(f64),
    /// Time of a step of the job, seconds.
    StepTime(f64),
}

impl Measured {
    /// The figure.
    pub const fn value(self) -> f64 {
        match self {
            Self::BusBandwidth(value) | Self::StepTime(value) => value,
        }
    }

    /// Its unit.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::BusBandwidth(_) => "GB/s",
            Self::StepTime(_) => "s",
        }
    }
}

/// A question.
pub struct Asked<'a> {
    /// Text of the scenario, of one point.
    pub text: &'a str,
    /// Folder that its paths are relative to.
    pub folder: PathBuf,
    /// Row of the job.
    pub job: usize,
    /// The measured figure of that job.
    pub measured: Measured,
    /// Diagnosis of its logs or telemetry.
    pub evidence: Option<&'a Diagnosed>,
    /// Draws of hash seeds for collisions.
    pub draws: u32,
    /// Assumptions of the scenario, a line each.
    pub assumed: Vec<String>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Explained {
    /// The measured figure.
    pub measured: Measured,
    /// The figure without any fault.
    pub expected: Weighed,
    /// All hypotheses that were simulated or that evidence shows, the likeliest first; that nothing is wrong is one.
    pub ranked: Vec<Weighed>,
    /// The measurement that parts the first two; none where one is left, or nothing parts them.
    pub next: Option<Measurement>,
    /// Hypotheses that could not be simulated.
    pub not_simulated: Vec<Weighed>,
    /// Remarks on the answer.
    pub notes: Vec<String>,
    /// Assumptions of the scenario, a line each.
    pub assumed: Vec<String>,
}

impl Explained {
    /// The answer in a sentence.
    pub fn answer(&self) -> String {
        let unit = self.measured.unit();
        let measured = self.measured.value();
        let (low, high) = self.expected.band.unwrap_or_default();
        let expected = format!("{} to {} {unit} expected", figure(low), figure(high));
        if self.is_better() {
            return format!(
                "{} {unit} measured, {expected}: no fault makes it better than expected, so what is assumed is not so",
                figure(measured)
            );
        }
        let first = self.ranked.first().map_or("no hypothesis", |one| one.hypothesis.says.as_str());
        let none = self.ranked.first().is_some_and(|one| !one.fits(self.measured) && one.shown_by.is_empty());
        let alike = match self.alike() {
            _ if none => " (it does not come to what was measured, nor does another)".to_owned(),
            count @ 2.. => format!(" (causes 1 to {count} fit about as well)"),
            _ => String::new(),
        };
        format!("{} {unit} measured, {expected}; likeliest: {first}{alike}", figure(measured))
    }

    /// Whether what was measured is better than all that is expected: a higher bandwidth, a shorter step.
    pub fn is_better(&self) -> bool {
        let Some((low, high)) = self.expected.band else { return false };
        match self.measured {
            Measured::BusBandwidth(value) => value > high,
            Measured::StepTime(value) => value < low,
        }
    }

    /// How many of the first hypotheses fit about as well as the first: their densities are within a factor of 3. Beside one
    /// that evidence shows there is none.
    pub fn alike(&self) -> usize {
        let Some(first) = self.ranked.first() else { return 0 };
        let is_alike = |one: &&Weighed| one.cost - first.cost < ALIKE.ln() && one.shown_by.is_empty();
        1 + self.ranked.iter().skip(1).take_while(|one| first.shown_by.is_empty() && is_alike(one)).count()
    }
}

/// A figure with three digits.
pub fn figure(value: f64) -> String {
    let digits =
        if value >= 100.0 { 0 } else { (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) };
    format!("{value:.*}", digits as usize)
}

/// Explains a measured figure; `progress` hears of each simulated draw.
///
/// # Errors
/// The reason where the scenario cannot be simulated as it is.
pub fn explain(
    asked: &Asked<'_>,
    engine: &dyn Engine,
    progress: &(dyn Fn() + Sync),
) -> Result<Explained, String> {
    let measured = asked.measured;
    let of = (asked.text, asked.folder.clone());
    let trials = Trials::new(of, (asked.job, measured), engine, progress)?;
    let base = trials.resolved(&[])?;
    let scene = Scene::of(&base, &trials);
    let expected = weigh(scene.expected(), &trials, measured);
    let Some(usual) = expected.figure else {
        return Err(expected.not_simulated.unwrap_or_default());
    };
    let mut hypotheses = scene.hypotheses(asked.draws);
    let evidence = asked.evidence.map(|told| shown(told, &scene, &base.case.fabric)).unwrap_or_default();
    let mut beside = Vec::new();
    for one in evidence {
        let name = match one.what {
            Ok(name) => name.to_owned(),
            Err(hypothesis) => {
                let name = hypothesis.name.clone();
                if !hypotheses.iter().any(|one| one.name == name) {
                    hypotheses.push(hypothesis);
                }
                name
            }
        };
        beside.push((name, one.line, one.remedy));
    }
    let (mut ranked, mut not_simulated, mut notes) = (vec![expected.clone()], Vec::new(), Vec::new());
    for hypothesis in hypotheses {
        let mut one = weigh(hypothesis, &trials, measured);
        for (_, line, remedy) in beside.iter().filter(|(name, ..)| *name == one.hypothesis.name) {
            one.shown_by.push(line.clone());
            one.remedy.clone_from(remedy);
        }
        let is_same = one.share.is_none() && one.figure.is_some_and(|own| (own / usual - 1.0).abs() < SAME);
        match (one.shown_by.is_empty(), one.figure) {
            (true, None) => not_simulated.push(one),
            (true, Some(_)) if is_same => {
                if one.hypothesis.name == COLLISIONS {
                    notes.push(format!("in none of {} draws of hash seeds do flows collide", asked.draws));
                }
            }
            _ => ranked.push(one),
        }
    }
    let fits_expected = expected.fits(measured);
    let is_shown = |one: &Weighed| !one.shown_by.is_empty() && !fits_expected;
    ranked.sort_by(|a, b| is_shown(b).cmp(&is_shown(a)).then(a.cost.total_cmp(&b.cost)));
    let assumed = asked.assumed.clone();
    let mut found = Explained { measured, expected, ranked, next: None, not_simulated, notes, assumed };
    if found.is_better() {
        found.ranked.sort_by_key(|one| one.hypothesis.area != Area::Expected);
    } else if let [first, second, ..] = found.ranked.as_slice() {
        found.next = next::best((first, second), &scene, &base, &trials).filter(Measurement::parts);
    }
    Ok(found)
}

//! Keys of a pair of hosts, fitted to what perftest measured: least squares of relative errors, and which keys the
//! measurements tell at all.
use std::collections::BTreeMap;

use railtwin_engine::intranode::{IntranodeSpec, Measure};
use railtwin_units::{Bytes, SimTime};
use rayon::prelude::*;
use serde::Serialize;

use super::measured::{Compared, Pair, Test};
use crate::error::Error;
use railtwin_calibration::least_squares::solve;

/// Least scatter of a measurement, relative: perftest prints two decimals, of 1.12 us half a digit of the last is this.
const SCATTER: f64 = 0.005;
/// A key is told where two standard deviations of it are no more than this share of its value.
const TOLD: f64 = 0.5;
/// Most steps of a search, and the least gain that is worth another one.
const STEPS: usize = 40;
const GAIN: f64 = 1e-6;

railtwin_units::choice! {
    /// What a pair of hosts can show of its hosts and adapters.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum FitKey {
        /// Time from the posting of a message to its first byte, ps.
        Overhead = "intranode.pair.overhead",
        /// Time between the starts of two messages, ps.
        Gap = "intranode.pair.gap",
        /// Bytes of a TLP beside its payload.
        TlpOverhead = "intranode.pcie.tlp_overhead",
        /// Time of the target NIC for each packet of the host, ps.
        Unpack = "intranode.unpack",
    }
}

/// Keys that none of these measurements can tell from others, and why.
pub const NEVER_TOLD: [(&str, &str); 3] = [
    (
        "intranode.pcie.ack_factor",
        "an ACK for so many TLPs is as some bytes more of each: tlp_overhead has both",
    ),
    ("intranode.pack", "the slower of both NICs tells: unpack has it"),
    ("fabric.delay", "it is as long for all sizes: overhead has it"),
];

impl FitKey {
    /// Its last word, as `--fit` takes it.
    pub fn word(self) -> &'static str {
        self.name().rsplit('.').next().unwrap_or_default()
    }

    /// The value of a scenario, in ps or bytes; none where it has no such key.
    pub fn of(self, spec: &IntranodeSpec) -> Option<f64> {
        Some(match self {
            Self::Overhead => spec.pair?.overhead.ps() as f64,
            Self::Gap => spec.pair?.gap.ps() as f64,
            Self::TlpOverhead => spec.pcie?.tlp_overhead.0 as f64,
            Self::Unpack => spec.unpack.ps() as f64,
        })
    }

    fn set(self, spec: &mut IntranodeSpec, value: f64) {
        let time = SimTime::from_ps(value as u64);
        match (self, &mut spec.pair, &mut spec.pcie) {
            (Self::Overhead, Some(pair), _) => pair.overhead = time,
            (Self::Gap, Some(pair), _) => pair.gap = time,
            (Self::TlpOverhead, _, Some(pcie)) => pcie.tlp_overhead = Bytes(value as u64),
            (Self::Unpack, ..) => spec.unpack = time,
            _ => {}
        }
    }

    /// Most that is searched: a second, or what scenarios take.
    fn most(self) -> f64 {
        if self == Self::TlpOverhead { 64.0 } else { 1e12 }
    }

    /// What is written: times in whole ns, conversion in 10 ps, bytes.
    fn digit(self) -> f64 {
        match self {
            Self::Overhead | Self::Gap => 1_000.0,
            Self::TlpOverhead => 1.0,
            Self::Unpack => 10.0,
        }
    }

    fn rounded(self, value: f64, digit: f64) -> f64 {
        ((value / digit).round() * digit).clamp(0.0, self.most())
    }

    /// As a scenario has it: `293 ns`, `24 B`.
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::TlpOverhead => format!("{value:.0} B"),
            _ => format!("{} ns", (value / 10.0).round() / 100.0),
        }
    }

    /// How far a value is moved to see what changes.
    fn nudge(self, value: f64) -> f64 {
        match self {
            Self::TlpOverhead => 1.0,
            _ => (value * 0.02).max(self.digit()).round(),
        }
    }
}

/// A key after the fit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FittedKey {
    /// Its name.
    #[serde(rename = "key")]
    pub name: &'static str,
    /// Its value in the scenario, ps or bytes.
    pub before: f64,
    /// The fitted value.
    pub after: f64,
    /// Two standard deviations of it.
    pub within: f64,
    /// The same as a scenario has them.
    pub text: String,
    /// See `text`.
    pub within_text: String,
}

/// A key that keeps its value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Untold {
    /// Its name.
    #[serde(rename = "key")]
    pub name: &'static str,
    /// Why.
    pub why: String,
}

/// A test after the fit.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Fitted {
    /// What was fitted.
    pub keys: Vec<FittedKey>,
    /// What these measurements do not tell.
    pub untold: Vec<Untold>,
    /// The model before.
    pub before: Compared,
    /// The model after.
    pub after: Compared,
    /// Keys as the model has them after.
    #[serde(skip)]
    pub spec: IntranodeSpec,
}

/// Fits keys of a pair to a test: all that it tells, or those of `wanted`.
///
/// # Errors
/// [`Error::Argument`] where a key of `wanted` is not told, or nothing is; [`Error::Scenario`] for what cannot be.
pub fn fit(pair: &Pair, test: &Test, wanted: Option<&[FitKey]>) -> Result<Fitted, Error> {
    let mut search = Search { pair, test, known: BTreeMap::new() };
    let has = |key: &FitKey| key.of(&pair.spec).is_some();
    let mut keys: Vec<FitKey> = wanted.map_or_else(|| FitKey::ALL.to_vec(), <[FitKey]>::to_vec);
    if let Some(missing) = keys.iter().find(|key| wanted.is_some() && !has(key)) {
        return Err(Error::Argument(format!(
            "the scenario has no {missing}; write its section, or fit other keys"
        )));
    }
    keys.retain(has);
    let mut untold: Vec<Untold> = Vec::new();
    loop {
        let measured = test.samples.iter().filter(|sample| !sample.is_inline).count();
        let Some(found) = (!keys.is_empty()).then(|| search.best(&keys)).transpose()? else {
            let why: Vec<String> = untold.iter().map(|key| format!("{}: {}", key.name, key.why)).collect();
            return Err(Error::Argument(format!(
                "these measurements tell no key: {}; measure more sizes",
                why.join(", ")
            )));
        };
        let within = search.within(&found, &keys, measured)?;
        let share = |row: usize| within[row] / keys[row].of(&found).unwrap_or(0.0).max(f64::MIN_POSITIVE);
        // Of several that are not told at all the last goes: the others are more often what differs.
        let worst = (0..keys.len()).max_by(|&a, &b| share(a).min(1e6).total_cmp(&share(b).min(1e6)));
        let Some(worst) = worst.filter(|&row| share(row) > TOLD) else {
            return search.told(found, &keys, &within, untold);
        };
        let key = keys[worst];
        let value = key.of(&found).unwrap_or(0.0);
        let why = match measured < keys.len() {
            true => format!("{measured} sizes are too few for {} keys", keys.len()),
            false if within[worst] > 1e3 * value.max(key.digit()) => {
                "no size that was measured changes with it, or another key changes them alike".to_owned()
            }
            false => {
                let (low, high) = ((value - within[worst]).max(0.0), value + within[worst]);
                format!("anything from {} to {} fits as well", key.shown(low), key.shown(high))
            }
        };
        if wanted.is_some() {
            return Err(Error::Argument(format!(
                "these measurements do not tell {key}: {why}; leave it out of --fit"
            )));
        }
        untold.push(Untold { name: key.name(), why });
        keys.remove(worst);
    }
}

/// The model at settings that were asked for, kept.
struct Search<'a> {
    pair: &'a Pair,
    test: &'a Test,
    known: BTreeMap<(usize, [u64; 3]), f64>,
}

impl Search<'_> {
    /// What the model has for each sample. Bandwidth does not hear of `overhead`, nor latency of `gap`.
    fn modelled(&mut self, spec: &IntranodeSpec) -> Result<Vec<f64>, Error> {
        let value = |key: FitKey| key.of(spec).unwrap_or(0.0) as u64;
        let name = |(row, sample): (usize, &super::measured::Sample)| {
            let time = if sample.measure == Measure::Latency { FitKey::Overhead } else { FitKey::Gap };
            (row, [time, FitKey::TlpOverhead, FitKey::Unpack].map(value))
        };
        let names: Vec<_> = self.test.samples.iter().enumerate().map(name).collect();
        let missing: Vec<_> = names.iter().filter(|name| !self.known.contains_key(name)).collect();
        let run = |name: &&(usize, [u64; 3])| -> Result<f64, Error> {
            let sample = &self.test.samples[name.0];
            self.pair.modelled(spec, sample.bytes, sample.measure)
        };
        let values: Result<Vec<f64>, Error> = missing.par_iter().map(run).panic_fuse().collect();
        let values: Vec<_> = missing.into_iter().copied().zip(values?).collect();
        self.known.extend(values);
        Ok(names.iter().map(|name| self.known[name]).collect())
    }

    /// Logarithms of model over measurement: relative errors that weigh twice too much as half too little.
    fn residuals(&mut self, spec: &IntranodeSpec) -> Result<Vec<f64>, Error> {
        let modelled = self.modelled(spec)?;
        let both = self.test.samples.iter().zip(modelled).filter(|(sample, _)| !sample.is_inline);
        Ok(both.map(|(sample, ours)| (ours / sample.measured).ln()).collect())
    }

    /// Derivatives of residuals, a row for each, by central differences.
    fn slopes(&mut self, spec: &IntranodeSpec, keys: &[FitKey]) -> Result<Vec<Vec<f64>>, Error> {
        let mut rows = vec![Vec::new(); self.residuals(spec)?.len()];
        for &key in keys {
            let value = key.of(spec).unwrap_or(0.0);
            let nudge = key.nudge(value);
            let (low, high) = ((value - nudge).max(0.0), (value + nudge).min(key.most()));
            let mut at = |value: f64| {
                let mut moved = *spec;
                key.set(&mut moved, value);
                self.residuals(&moved)
            };
            let (low_residuals, high_residuals) = (at(low)?, at(high)?);
            for (row, (a, b)) in rows.iter_mut().zip(low_residuals.iter().zip(&high_residuals)) {
                row.push((b - a) / (high - low));
            }
        }
        Ok(rows)
    }

    /// Where the search begins: what the smallest sizes say of times, the largest bandwidth of conversion; bytes as the
    /// scenario has them.
    fn start(&mut self, keys: &[FitKey]) -> Result<IntranodeSpec, Error> {
        let mut spec = self.pair.spec;
        let of = |measure: Measure| {
            self.test
                .samples
                .iter()
                .enumerate()
                .filter(move |(_, one)| one.measure == measure && !one.is_inline)
        };
        if let Some((_, first)) = of(Measure::Bandwidth).next().filter(|_| keys.contains(&FitKey::Gap)) {
            FitKey::Gap.set(&mut spec, (first.bytes as f64 / first.measured * 1e12).min(FitKey::Gap.most()));
        }
        let latency = of(Measure::Latency).next().filter(|_| keys.contains(&FitKey::Overhead));
        let most = of(Measure::Bandwidth).map(|(_, one)| one.measured).reduce(f64::max);
        if let Some((row, first)) = latency {
            let mut without = spec;
            FitKey::Overhead.set(&mut without, 0.0);
            let left = (first.measured - self.modelled(&without)?[row]).max(0.0) * 1e12;
            FitKey::Overhead.set(&mut spec, left.min(FitKey::Overhead.most()));
        }
        // Conversion counts only where it is what limits the largest bandwidth.
        if let Some(most) = most.filter(|_| keys.contains(&FitKey::Unpack)) {
            let payload = spec.packet().1 as f64;
            let limit = payload / most * 1e12;
            let mut slower = spec;
            FitKey::Unpack.set(&mut slower, limit);
            if squares(&self.residuals(&slower)?) < squares(&self.residuals(&spec)?) {
                spec = slower;
            }
        }
        Ok(spec)
    }

    /// The values of keys with the least sum of squares, as they are written.
    fn best(&mut self, keys: &[FitKey]) -> Result<IntranodeSpec, Error> {
        let start = self.start(keys)?;
        let mut at = self.descend(start, keys)?;
        for &key in keys {
            let value = key.of(&at).unwrap_or(0.0);
            key.set(&mut at, key.rounded(value, key.digit()));
        }
        let mut least = squares(&self.residuals(&at)?);
        // One digit up or down, with all others moved after it: bytes are whole, and what a byte more takes of each packet
        // another key gives back.
        for _ in 0..STEPS {
            let mut better = None;
            for (&key, way) in keys.iter().flat_map(|key| [(key, 1.0), (key, -1.0)]) {
                let mut next = at;
                let value = key.of(&at).unwrap_or(0.0);
                key.set(&mut next, key.rounded(value + way * key.digit(), key.digit()));
                if key == FitKey::TlpOverhead {
                    let others: Vec<FitKey> = keys.iter().copied().filter(|&other| other != key).collect();
                    next = self.descend(next, &others)?;
                    others.iter().for_each(|other| {
                        let value = other.of(&next).unwrap_or(0.0);
                        other.set(&mut next, other.rounded(value, other.digit()));
                    });
                }
                let there = squares(&self.residuals(&next)?);
                if there < least * (1.0 - GAIN) {
                    (least, better) = (there, Some(next));
                }
            }
            let Some(next) = better else { break };
            at = next;
        }
        Ok(at)
    }

    /// Levenberg's and Marquardt's search.
    fn descend(&mut self, mut at: IntranodeSpec, keys: &[FitKey]) -> Result<IntranodeSpec, Error> {
        if keys.is_empty() {
            return Ok(at);
        }
        let mut residuals = self.residuals(&at)?;
        let mut damping = 1e-3;
        for _ in 0..STEPS {
            let slopes = self.slopes(&at, keys)?;
            let before = squares(&residuals);
            let mut moved = None;
            for _ in 0..8 {
                let next = step(&at, keys, &slopes, &residuals, damping);
                let there = self.residuals(&next)?;
                if squares(&there) < before {
                    damping = (damping / 4.0).max(1e-9);
                    moved = Some((next, there));
                    break;
                }
                damping *= 8.0;
            }
            let Some((next, there)) = moved else { break };
            let gain = before - squares(&there);
            (at, residuals) = (next, there);
            if gain < GAIN * before {
                break;
            }
        }
        Ok(at)
    }

    /// Two standard deviations of each key, by the scatter of what is left.
    fn within(&mut self, at: &IntranodeSpec, keys: &[FitKey], measured: usize) -> Result<Vec<f64>, Error> {
        if measured < keys.len() {
            return Ok(vec![f64::MAX; keys.len()]);
        }
        let residuals = self.residuals(at)?;
        let slopes = self.slopes(at, keys)?;
        let free = (residuals.len() - keys.len()).max(1) as f64;
        let scatter = (squares(&residuals) / free).sqrt().max(SCATTER);
        let spread = solve(&slopes, &residuals).spread;
        Ok(spread.into_iter().map(|spread| (2.0 * scatter * spread).min(f64::MAX)).collect())
    }

    fn told(
        &mut self,
        found: IntranodeSpec,
        keys: &[FitKey],
        within: &[f64],
        mut untold: Vec<Untold>,
    ) -> Result<Fitted, Error> {
        let of = |(&key, &within): (&FitKey, &f64)| {
            let after = key.of(&found).unwrap_or(0.0);
            FittedKey {
                name: key.name(),
                before: key.of(&self.pair.spec).unwrap_or(0.0),
                after,
                within,
                text: key.shown(after),
                within_text: key.shown(within.max(key.digit())),
            }
        };
        let keys = keys.iter().zip(within).map(of).collect();
        let never =
            NEVER_TOLD.iter().filter(|(name, _)| self.pair.spec.pcie.is_some() || !name.contains("pcie"));
        untold.extend(never.map(|(name, why)| Untold { name, why: (*why).to_owned() }));
        let before = Compared::new(self.test, self.modelled(&self.pair.spec.clone())?);
        let after = Compared::new(self.test, self.modelled(&found)?);
        Ok(Fitted { keys, untold, before, after, spec: found })
    }
}

/// The sum of squares.
fn squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|one| one * one).sum()
}

/// A step: the least squares of residuals that change by their slopes, kept short by `damping`.
fn step(
    at: &IntranodeSpec,
    keys: &[FitKey],
    slopes: &[Vec<f64>],
    residuals: &[f64],
    damping: f64,
) -> IntranodeSpec {
    let mut rows = slopes.to_vec();
    let mut right: Vec<f64> = residuals.iter().map(|one| -one).collect();
    for column in 0..keys.len() {
        let length: f64 = slopes.iter().map(|row| row[column] * row[column]).sum();
        let mut row = vec![0.0; keys.len()];
        row[column] = (damping * length).sqrt();
        rows.push(row);
        right.push(0.0);
    }
    let step = solve(&rows, &right);
    let mut next = *at;
    for (&key, step) in keys.iter().zip(step.values) {
        let value = key.of(at).unwrap_or(0.0);
        // Whole ps and whole bytes: what keys can be.
        key.set(&mut next, key.rounded(value + step, 1.0));
    }
    next
}

impl Fitted {
    /// What was fitted, as text for a scenario.
    pub fn toml(&self) -> String {
        let mut text = String::new();
        for (section, prefix) in [
            ("[intranode]", "intranode."),
            ("[intranode.pcie]", "intranode.pcie."),
            ("[intranode.pair]", "intranode.pair."),
        ] {
            let of = self.keys.iter().filter_map(|key| Some((key.name.strip_prefix(prefix)?, &key.text)));
            let of: Vec<_> = of.filter(|(word, _)| !word.contains('.')).collect();
            if of.is_empty() {
                continue;
            }
            text.push_str(section);
            text.push('\n');
            of.iter().for_each(|(word, value)| text.push_str(&format!("{word} = \"{value}\"\n")));
        }
        text
    }
}

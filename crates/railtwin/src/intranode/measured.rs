//! What perftest measured between two hosts, beside what the model has for the same pair.
use std::collections::BTreeMap;

use railtwin_engine::intranode::{IntranodeSpec, Measure};
use railtwin_fabric::Fabric;
use railtwin_formats::telemetry::{PerftestMeasure, PerftestResult, PerftestRun, PerftestVerb};
use railtwin_packetsim::intranode::{IntranodeRun, PAIR_DEPTH};
use railtwin_scenario::Source;
use railtwin_units::Bytes;
use rayon::prelude::*;
use serde::Serialize;

use crate::error::Error;
use crate::question::Question;

/// Largest message that is compared: perftest's `-a` ends at 8 MiB, and a scenario's at 1 GiB.
const LARGEST: u64 = 1 << 30;
/// Bytes that a run for bandwidth sends, in no fewer than two messages: one behind the other, its rate is that of many.
const SENT: u64 = 8 << 20;

/// Axes that measurements replace.
const REPLACED: [&str; 2] = ["intranode.message", "intranode.pair.measure"];

/// What was measured at one size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Sample {
    /// Bytes of a message.
    pub bytes: u64,
    /// What it is: bandwidth in bytes per second, latency in seconds.
    pub measure: Measure,
    /// The median where several runs measured it.
    pub measured: f64,
    /// Whether the adapter got the message with its work request (`Max inline data`), without reading it over PCIe: the
    /// model has no such thing, and it counts in no error.
    pub is_inline: bool,
}

impl Sample {
    /// Whether it is a latency.
    pub fn is_latency(&self) -> bool {
        self.measure == Measure::Latency
    }
}

/// What was measured of one operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Test {
    /// The operation.
    pub verb: PerftestVerb,
    /// Bandwidths by size, then latencies by size.
    pub samples: Vec<Sample>,
}

/// What the model has of a test, and how far that is from it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// By sample, in the same units.
    pub modelled: Vec<f64>,
    /// Of bandwidths; none without one.
    pub bandwidth: Option<Errors>,
    /// Of latencies; none without one.
    pub latency: Option<Errors>,
}

/// Relative errors without their signs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Errors {
    /// Their mean.
    pub mean: f64,
    /// The largest.
    pub most: f64,
    /// How many there are.
    pub sizes: usize,
}

/// Measurements, and whether one was inline, by whether they are latencies and by size.
type BySize = BTreeMap<(bool, u64), (Vec<f64>, bool)>;

/// Sorts measurements by operation; words say what was left aside and why.
pub fn tests(logs: &[(String, Vec<PerftestRun>)]) -> (Vec<Test>, Vec<String>) {
    let mut found: BTreeMap<PerftestVerb, BySize> = BTreeMap::new();
    let mut notes = Vec::new();
    for (log, run) in logs.iter().flat_map(|(log, runs)| runs.iter().map(move |run| (log, run))) {
        let aside = match run.verb {
            PerftestVerb::Other => Some("the log does not say that it writes, reads or sends"),
            _ if run.bidirectional => Some("both sides sent, and a pair here sends one way"),
            _ => None,
        };
        if let Some(why) = aside {
            notes.push(format!("{log}: a run is left aside: {why}"));
            continue;
        }
        if run.queue_pairs > 1 {
            notes.push(format!(
                "{log}: {} queue pairs measured this, and the pair here has one",
                run.queue_pairs
            ));
        }
        let is_bandwidth =
            |result: &PerftestResult| matches!(result.measure, PerftestMeasure::Bandwidth { .. });
        if (1..PAIR_DEPTH).contains(&(run.depth as usize)) && run.results.iter().any(is_bandwidth) {
            notes.push(format!(
                "{log}: {} messages were in flight, and the pair here has {PAIR_DEPTH}: bandwidths of messages that end within \
                 a round trip are not comparable",
                run.depth
            ));
        }
        let test = found.entry(run.verb).or_default();
        for result in &run.results {
            if result.bytes > LARGEST {
                notes.push(format!("{log}: messages of {} B are left aside: above 1 GiB", result.bytes));
                continue;
            }
            let (is_latency, measured) = match result.measure {
                PerftestMeasure::Bandwidth { bytes_per_s } => (false, bytes_per_s),
                PerftestMeasure::Latency { seconds } => (true, seconds),
            };
            let (all, is_inline) = test.entry((is_latency, result.bytes)).or_default();
            all.push(measured);
            *is_inline |= result.bytes <= u64::from(run.inline);
        }
    }
    let test = |(verb, by_size): (PerftestVerb, BySize)| {
        let sample = |((is_latency, bytes), (mut all, is_inline)): ((bool, u64), (Vec<f64>, bool))| {
            let measure = if is_latency { Measure::Latency } else { Measure::Bandwidth };
            all.sort_by(f64::total_cmp);
            let measured = (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0;
            Sample { bytes, measure, measured, is_inline }
        };
        Test { verb, samples: by_size.into_iter().map(sample).collect() }
    };
    (found.into_iter().map(test).filter(|test| !test.samples.is_empty()).collect(), notes)
}

/// A pair of hosts of a scenario, asked at any size.
#[derive(Debug)]
pub struct Pair {
    fabric: Fabric,
    /// What the scenario asks.
    pub spec: IntranodeSpec,
    seed: u64,
    file: String,
    text: String,
}

impl Question {
    /// The pair of hosts of a scenario with `[intranode.pair]`. Axes of sizes and measures are replaced by what was
    /// measured; it may have no others.
    ///
    /// # Errors
    /// [`Error::Argument`] without a pair and with other axes; [`Error::Scenario`] for what cannot be.
    pub fn intranode_pair(&self) -> Result<Pair, Error> {
        let points = self.points()?;
        let axes = || points.iter().flat_map(|point| &point.label).map(|(axis, _)| axis.as_str());
        if let Some(axis) = axes().find(|axis| !REPLACED.contains(axis)) {
            let message = format!("the scenario has several values of {axis}; give it one to compare with");
            return Err(Error::Argument(message));
        }
        let scenario = &points[0].scenario;
        let Some(spec) = scenario.intranode.filter(|spec| spec.pair.is_some()) else {
            let message = "the scenario has no pair of hosts; write [intranode.pair]";
            return Err(Error::Argument(message.to_owned()));
        };
        let fabric = self.fabric(scenario)?;
        let (file, text) = (self.file.clone(), self.text.clone());
        let pair = Pair { fabric, spec, seed: scenario.seed, file, text };
        pair.modelled(&pair.spec, spec.message.0, Measure::Latency)?;
        Ok(pair)
    }
}

impl Pair {
    /// What the model has at a size: bytes per second, or seconds. Bandwidth is that of 8 MiB, or of two messages where
    /// these are more.
    ///
    /// # Errors
    /// [`Error::Scenario`] for what cannot be.
    pub fn modelled(&self, spec: &IntranodeSpec, bytes: u64, measure: Measure) -> Result<f64, Error> {
        let mut spec = *spec;
        spec.message = Bytes(bytes);
        if let Some(pair) = &mut spec.pair {
            pair.measure = measure;
            // One message at a time has the network for itself: they all take as long.
            pair.messages = match measure {
                Measure::Latency => 1,
                Measure::Bandwidth => {
                    u32::try_from(SENT / bytes).unwrap_or(u32::MAX).clamp(2, pair.messages.max(2))
                }
            };
        }
        let run = IntranodeRun::new(&self.fabric, &spec, self.seed, 1).map_err(|refused| {
            let source = Source { file: &self.file, text: &self.text };
            source.error(&refused.key, refused.message, Some(&refused.hint))
        })?;
        let log = run.run();
        Ok(match measure {
            Measure::Latency => log.latencies[1].mean_whole().unwrap_or(f64::NAN),
            Measure::Bandwidth => {
                log.messages.saturating_sub(1) as f64 * bytes as f64 / (log.span_ps as f64 * 1e-12)
            }
        })
    }

    /// A test beside the model as `spec` has it; sizes are run side by side.
    ///
    /// # Errors
    /// [`Error::Scenario`] for what cannot be.
    pub fn compared(&self, spec: &IntranodeSpec, test: &Test) -> Result<Compared, Error> {
        let one = |sample: &Sample| self.modelled(spec, sample.bytes, sample.measure);
        let modelled: Result<Vec<f64>, Error> = test.samples.par_iter().map(one).panic_fuse().collect();
        Ok(Compared::new(test, modelled?))
    }
}

impl Compared {
    /// Of a value for each sample.
    pub fn new(test: &Test, modelled: Vec<f64>) -> Self {
        let errors = |measure: Measure| {
            let of = test.samples.iter().zip(&modelled);
            let of = of.filter(|(sample, _)| sample.measure == measure && !sample.is_inline);
            let all: Vec<f64> = of.map(|(sample, ours)| (ours / sample.measured - 1.0).abs()).collect();
            (!all.is_empty()).then(|| Errors {
                mean: all.iter().sum::<f64>() / all.len() as f64,
                most: all.iter().copied().fold(0.0, f64::max),
                sizes: all.len(),
            })
        };
        Self { bandwidth: errors(Measure::Bandwidth), latency: errors(Measure::Latency), modelled }
    }
}

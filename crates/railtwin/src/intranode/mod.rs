//! Traffic inside hosts and between them: the verb `intranode`.
//!
//! [`IntranodeQuestion`] is a point of a scenario with `[intranode]`, [`IntranodeQuestion::run`] what comes of it,
//! [`saturations`] and [`orders`] what a sweep over loads says, [`answer`] all of it, [`page()`] its page.
//! [`regressions`] fit equation 3 of SAURON to a sweep over shares that leave hosts; [`measured`] and [`fit()`] are for
//! pairs of hosts beside perftest.
use std::collections::BTreeMap;

use railtwin_engine::IntranodeLog;
use railtwin_engine::intranode::{Idle, IntranodeSpec, Latencies, Measure, PARTS};
use railtwin_fabric::{Fabric, HostId};
use railtwin_packetsim::intranode::IntranodeRun;
use railtwin_scenario::{Bounds, Scenario, Source, SweepPoint};
use railtwin_store::Figure;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

mod cost;
pub mod fit;
pub mod measured;
mod order;
mod page;
mod regression;
mod saturation;

pub use self::fit::fit;
pub use self::order::{Order, Saturated, orders};
pub use self::page::{page, part_words};
pub use self::regression::{ADJUSTMENTS, Model, Regression, Throughput, regressions};
use self::saturation::{CARRIED, FILLING, settled_name};
pub use self::saturation::{FILLS, LOAD, SHORT_OF, is_growing, saturations, unsettled};
use crate::cost::Cost;
use crate::error::Error;
use crate::question::Question;
use crate::run::unexpected;

/// What was chosen on each axis.
pub type Label = Vec<(String, String)>;

/// Rows of points by what was chosen on the axes that are kept, in the order of points.
fn groups<'a>(
    labels: impl Iterator<Item = &'a Label>,
    keeps: impl Fn(&str) -> bool,
) -> Vec<(Label, Vec<usize>)> {
    let mut groups: Vec<(Label, Vec<usize>)> = Vec::new();
    for (row, label) in labels.enumerate() {
        let kept: Label = label.iter().filter(|(axis, _)| keeps(axis)).cloned().collect();
        match groups.iter_mut().find(|(label, _)| *label == kept) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((kept, vec![row])),
        }
    }
    groups
}

/// A point with `[intranode]`, resolved.
#[derive(Debug)]
pub struct IntranodeQuestion {
    /// Name of the scenario.
    pub name: String,
    /// Name of the fabric.
    pub fabric_name: String,
    /// What is asked.
    pub spec: IntranodeSpec,
    /// Hosts.
    pub hosts: u64,
    /// GPUs of all hosts.
    pub gpus: u64,
    /// Capacity of the links of all GPUs, bit/s.
    pub capacity: f64,
    /// What figures are expected to be.
    expect: BTreeMap<String, Bounds>,
    /// Keys that are written and change nothing.
    idle: Vec<Idle>,
    cost: Cost,
    run: IntranodeRun,
}

/// What came of a point.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Told {
    /// What was chosen on each axis.
    pub label: Label,
    /// What came out.
    pub figures: Vec<Figure>,
    /// What is not as `[expect]` has it, in words.
    pub unexpected: Vec<String>,
}

impl Told {
    /// A figure by name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name)?.value
    }
}

impl Question {
    /// The traffic of a point; `threads` work off its run.
    ///
    /// # Errors
    /// [`Error::Scenario`] for what cannot be, at its key; [`Error::Argument`] without `[intranode]`.
    pub fn intranode(&self, scenario: &Scenario, threads: u32) -> Result<IntranodeQuestion, Error> {
        let Some(spec) = scenario.intranode else {
            let message = "the scenario has no [intranode]: write [intranode], or ask `railtwin run`";
            return Err(Error::Argument(message.to_owned()));
        };
        let fabric: Fabric = self.fabric(scenario)?;
        let cost = cost::of(&fabric, &spec, threads);
        cost.check(crate::memory::limit())?;
        let run = IntranodeRun::new(&fabric, &spec, scenario.seed, threads).map_err(|refused| {
            let source = Source { file: &self.file, text: &self.text };
            source.error(&refused.key, refused.message, Some(&refused.hint))
        })?;
        let model = fabric.host_model(HostId(0));
        let hosts = fabric.hosts().len() as u64;
        let gpus = hosts * u64::from(model.gpus);
        let capacity = spec.link_rate(model).bits_per_s() as f64 * gpus as f64;
        let (name, fabric_name) = (scenario.name.clone(), fabric.name().to_owned());
        let expect = scenario.expect.clone();
        let mut idle = spec.idle();
        if let Some(host) = scenario.fabric.host() {
            idle.extend(spec.idle_of_host(host, model.nvlink.is_some()));
        }
        Ok(IntranodeQuestion { name, fabric_name, spec, hosts, gpus, capacity, expect, idle, cost, run })
    }

    /// The traffic of all points, with what was chosen on each axis.
    ///
    /// # Errors
    /// Those of [`Self::intranode`], of the first point that has one.
    pub fn intranode_points(
        &self,
        points: &[SweepPoint],
        threads: u32,
    ) -> Result<Vec<(Label, IntranodeQuestion)>, Error> {
        points
            .iter()
            .map(|point| Ok((point.label.clone(), self.intranode(&point.scenario, threads)?)))
            .collect()
    }
}

impl IntranodeQuestion {
    /// Memory and time that it takes.
    pub fn cost(&self) -> &Cost {
        &self.cost
    }
}

/// Cost of all points, with so many side by side; none without points.
///
/// # Errors
/// [`Error::TooLarge`] where that is more than the command may take.
pub fn cost(asked: &[(Label, IntranodeQuestion)], side_by_side: usize) -> Result<Option<Cost>, Error> {
    let costs: Vec<Cost> = asked.iter().map(|(_, question)| question.cost.clone()).collect();
    let all = cost::of_all(&costs, side_by_side);
    all.as_ref().map_or(Ok(()), |all| all.check(crate::memory::limit()))?;
    Ok(all)
}

/// What is said beside the points of a scenario: keys that change nothing at any of them.
pub fn warnings(asked: &[(Label, IntranodeQuestion)]) -> Vec<String> {
    let Some(((_, first), others)) = asked.split_first() else { return Vec::new() };
    let everywhere =
        |idle: &Idle| others.iter().all(|(_, question)| question.idle.iter().any(|(key, _)| *key == idle.0));
    first.idle.iter().copied().filter(everywhere).map(words_of_idle).collect()
}

/// What a key that changes nothing is told as.
pub fn words_of_idle((key, why): Idle) -> String {
    format!("{key} changes nothing: {why}")
}

/// All that came of the points of a scenario, for machines: figures of each, where a sweep over loads saturates and in which
/// order, and `regressions` where these were asked for.
pub fn answer(
    asked: &[(Label, IntranodeQuestion)],
    told: &[Told],
    regressions: Option<&[Regression]>,
) -> Value {
    let saturations: Vec<_> =
        saturations(told).into_iter().map(|(label, load)| json!({ "label": label, "load": load })).collect();
    let name = asked.first().map(|(_, question)| &question.name);
    let mut all = json!({
        "name": name,
        "points": told,
        "saturations": saturations,
        "unsettled": unsettled(told).map(|point| &point.label).collect::<Vec<_>>(),
        "orders": orders(told),
        "warnings": warnings(asked),
    });
    if let Some(found) = regressions {
        all["regressions"] = json!(found);
    }
    all
}

/// What comes of points, given with what was chosen on each axis, side by side where `side_by_side`; `progress` hears of
/// each that is done. The result does not depend on it.
pub fn told(
    asked: &[(Label, IntranodeQuestion)],
    side_by_side: bool,
    progress: &(dyn Fn() + Sync),
) -> Vec<Told> {
    let one = |(label, question): &(Label, IntranodeQuestion)| {
        let figures = question.figures(&question.run());
        progress();
        let unexpected = unexpected(&question.expect, &figures).iter().map(ToString::to_string).collect();
        Told { label: label.clone(), figures, unexpected }
    };
    match side_by_side {
        true => asked.par_iter().map(one).panic_fuse().collect(),
        false => asked.iter().map(one).collect(),
    }
}

impl IntranodeQuestion {
    /// Runs, and longer where it has not settled, as far as `longest` goes. The result does not depend on the number of
    /// threads.
    pub fn run(&self) -> IntranodeLog {
        self.run.run_while(|log| {
            let mut latencies = latencies_of(log).into_iter();
            filling(log).any(|(_, share)| share > FILLS)
                || latencies.any(|(_, all, late)| !all.is_settled(late, log.warm_up_ps))
        })
    }

    /// Figures of a run; one that it has no value for says why.
    pub fn figures(&self, log: &IntranodeLog) -> Vec<Figure> {
        let span = log.span_ps as f64 * 1e-12;
        let mut figures = match self.spec.pair {
            None => self.rates(log, span),
            Some(pair) if pair.measure == Measure::Latency => Vec::new(),
            Some(_) => {
                let bytes = log.messages.saturating_sub(1) as f64 * self.spec.message.0 as f64;
                vec![over("bandwidth", bytes, span, "bytes_per_s", "all messages arrived at once")]
            }
        };
        for (class, latencies, late) in latencies_of(log) {
            figures.extend(self.latencies(class, latencies, (late, log.warm_up_ps)));
        }
        figures.push(Figure::new("messages", log.messages as f64, "count"));
        figures.push(Figure::new("packet_hops", log.packet_hops as f64, "count"));
        figures
    }

    /// What traffic of a pattern offered and what arrived, in the time that is counted, s. Capacity and all figures but
    /// those of units are of GPUs among each other.
    fn rates(&self, log: &IntranodeLog, span: f64) -> Vec<Figure> {
        let rate = |bytes: u64| bytes as f64 * 8.0 / span;
        let offered: u64 = log.offered_bytes.iter().sum();
        let both = log.intra_bytes + log.inter_bytes;
        let mut figures = vec![Figure::new("gpus", self.gpus as f64, "count")];
        for (name, value) in [
            ("capacity", self.capacity),
            ("offered_rate", rate(offered)),
            ("rate", rate(both)),
            ("intra_rate", rate(log.intra_bytes)),
            ("inter_rate", rate(log.inter_bytes)),
            ("network_rate", rate(log.network_bytes)),
            ("payload_rate", rate(log.payload_bytes)),
        ] {
            figures.push(Figure::new(name, value, "bits_per_s"));
        }
        for (class, filling) in filling(log) {
            let [offered, arrived, _] = of_class(log, class);
            figures.push(Figure::new(CARRIED[class], within(arrived as f64 / offered as f64), "ratio"));
            figures.push(Figure::new(FILLING[class], within(filling), "ratio"));
        }
        figures.push(Figure::new("counted_time", span, "s"));
        let none = "no message was made between warm_up and duration";
        // Messages that were queued before counting began may arrive in addition to those of the window: at most 1.
        figures.push(over("carried_share", both.min(offered) as f64, offered as f64, "ratio", none));
        figures.push(over(
            "refused_share",
            log.refused_bytes.iter().sum::<u64>() as f64,
            offered as f64,
            "ratio",
            none,
        ));
        figures.push(Figure::new("capacity_share", within(rate(both) / self.capacity), "ratio"));
        let units = &log.units;
        if self.spec.units.is_some() {
            for (name, bytes) in ["to_units_rate", "from_units_rate"].into_iter().zip(units.bytes) {
                figures.push(Figure::new(name, rate(bytes), "bits_per_s"));
            }
            let (refused, offered) = (units.refused_bytes.iter().sum(), units.offered_bytes.iter().sum());
            let share = |bytes: u64| bytes as f64;
            figures.push(over("units_refused_share", share(refused), share(offered), "ratio", none));
        }
        figures
    }

    /// Latencies of messages that stay in their host (`intra`) or leave it, or go to units or come from them; of a pair that
    /// is measured for bandwidth none. With the messages of the second half of the window, and the warm-up, ps.
    fn latencies(&self, class: &str, latencies: &Latencies, half: (&Latencies, u64)) -> Vec<Figure> {
        let share = self.spec.inter_share();
        let is_asked = match self.spec.pair {
            Some(pair) => class == "inter" && pair.measure == Measure::Latency,
            None => match class {
                "inter" => share > 0.0,
                "intra" => {
                    share + self.spec.units.map_or(0.0, |units| units.to) < 1.0 && self.gpus > self.hosts
                }
                "to_units" => self.spec.units.is_some_and(|units| units.to > 0.0),
                _ => self.spec.units.is_some_and(|units| units.from > 0.0),
            },
        };
        if !is_asked {
            return Vec::new();
        }
        let whole = format!("{class}_latency");
        let Some(mean) = latencies.mean_whole() else {
            return vec![Figure::missing(
                &whole,
                "s",
                "no such message arrived between warm_up and duration",
            )];
        };
        let mut figures = vec![
            Figure::new(&whole, mean, "s"),
            Figure::new(&format!("{whole}_longest"), latencies.longest as f64 * 1e-12, "s"),
        ];
        if self.spec.pair.is_none() {
            let (late, warm_up) = half;
            let settled = latencies.is_settled(late, warm_up);
            figures.push(Figure::new(&settled_name(&whole), f64::from(u8::from(settled)), "ratio"));
            figures.extend(
                latencies.growth(late).map(|growth| Figure::new(&format!("{whole}_growth"), growth, "ratio")),
            );
        }
        for (part, name) in PARTS.iter().enumerate() {
            if class == "inter" || latencies.sums[part] > 0 {
                figures.push(Figure::new(
                    &format!("{whole}_{name}"),
                    latencies.mean(part).unwrap_or(0.0),
                    "s",
                ));
            }
        }
        figures
    }
}

/// Bytes of a class of [`CARRIED`] that were offered, that arrived and that were refused.
fn of_class(log: &IntranodeLog, class: usize) -> [u64; 3] {
    let units = &log.units;
    match class {
        0 => [log.offered_bytes[0], log.intra_bytes, log.refused_bytes[0]],
        1 => [log.offered_bytes[1], log.inter_bytes, log.refused_bytes[1]],
        unit => [units.offered_bytes[unit - 2], units.bytes[unit - 2], units.refused_bytes[unit - 2]],
    }
}

/// A share of the window, which chance and what queues held before may put beyond 0 and 1.
const fn within(share: f64) -> f64 {
    share.clamp(0.0, 1.0)
}

/// Latencies of each class with those of the second half of the window.
fn latencies_of(log: &IntranodeLog) -> [(&'static str, &Latencies, &Latencies); 4] {
    let ([intra, inter], [to, from]) = (&log.latencies, &log.units.latencies);
    let ([late_intra, late_inter], [late_to, late_from]) = (&log.late, &log.units.late);
    [
        ("intra", intra, late_intra),
        ("inter", inter, late_inter),
        ("to_units", to, late_to),
        ("from_units", from, late_from),
    ]
}

/// Classes of [`CARRIED`] of which anything was offered, each with what share of that came to stand in queues.
fn filling(log: &IntranodeLog) -> impl Iterator<Item = (usize, f64)> {
    let all = (0..CARRIED.len()).map(|class| (class, of_class(log, class)));
    all.filter(|(_, [offered, ..])| *offered > 0).map(|(class, [offered, arrived, refused])| {
        (class, (offered as f64 - arrived as f64 - refused as f64) / offered as f64)
    })
}

/// A figure that is one number over another, or why there is none where the other is 0.
fn over(name: &str, value: f64, other: f64, unit: &str, none: &str) -> Figure {
    if other > 0.0 { Figure::new(name, value / other, unit) } else { Figure::missing(name, unit, none) }
}

//! What collectives and plain transfers cost the hosts of a cluster, from its nccl-tests, its step logs and its perftest:
//! caps that scenarios take.
//!
//! * `gather`: times by kind and size.
//! * [`mod@plain`]: what two NICs do without a collective library.
//! * [`mod@fit`]: latency and bandwidth in ranges of size.
//! * [`mod@label`]: which algorithm a range is of, as logs do not say.
//! * [`mod@scaling`]: models for any number of hosts, and [`fn@nearest`], what they must beat.
//! * [`mod@network`]: what the network has of the latency.
pub mod fit;
mod gather;
pub mod label;
mod nearest;
pub mod network;
pub mod plain;
mod scaling;

use std::collections::BTreeMap;

use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::{NcclTest, PerftestRun, Telemetry};
use railtwin_scenario::{CapSpec, CapsFile};
use railtwin_units::{Bytes, Rate, SimTime};
use railtwin_workload::cost::steps;
use railtwin_workload::{Algorithm, Collective, Group, collective::bus_factor};

use crate::bandwidth::Kind;
use crate::bandwidth::bounds::{self, HostRates, Operation};
use crate::products::model_of_product;
use fit::{Fit, Point};
pub use nearest::nearest;
pub use plain::Plain;
pub use scaling::{Scaling, scaling};

/// Of the network's limit that a bandwidth must reach for the network to be what limits it.
pub const AT_THE_LIMIT: f64 = 0.98;

/// A kind of tests with what was fitted to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// The collective.
    pub collective: Collective,
    /// Ranks on hosts.
    pub group: Group,
    /// Tests of the kind with a result; of step logs operations.
    pub tests: usize,
    /// Whether it is of step logs.
    pub steps: bool,
    /// The algorithm of each size where logs tell one alone.
    pub told: BTreeMap<u64, Option<Algorithm>>,
    /// What its sizes take.
    pub fit: Fit,
    /// The algorithm of each range.
    pub algorithms: Vec<Algorithm>,
    /// Latency of each range that the network has, seconds.
    pub network: Vec<f64>,
    /// Whether the network limits a range rather than its hosts; none where its NICs are not known.
    pub at_the_limit: Vec<Option<bool>>,
    /// Relative errors over the sizes that it was fitted to.
    pub errors: Vec<f64>,
    /// Relative errors over sizes that were left out, once the odd and once the even ones.
    pub left_out: [Vec<f64>; 2],
}

/// Tests that were left aside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aside {
    /// Their kind in words.
    pub kind: String,
    /// Why.
    pub why: &'static str,
}

/// What was found in some logs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Calibration {
    /// Kinds in their order.
    pub fitted: Vec<Fitted>,
    /// Plain transfers between two NICs, as perftest has them.
    pub plain: Vec<Plain>,
    /// Models for any number of hosts.
    pub scaling: Vec<Scaling>,
    /// Tests left aside.
    pub aside: Vec<Aside>,
    /// Host model that the GPUs or the fabric tell; none where nobody does.
    pub model: Option<String>,
}

/// The collective of a kind of tests, as scenarios name it.
fn collective_of(kind: &Kind) -> Option<Collective> {
    let name = if kind.collective == "send/receive" { "send-receive" } else { kind.collective.as_str() };
    Collective::named(name)
}

/// Bytes per second of an operation that the hardware of some hosts allows; infinite where it is not known.
fn most(kind: &Kind, collective: Collective, model: Option<&HostModel>) -> f64 {
    let bound = || {
        let operation = Operation::of_name(&kind.collective)?;
        let bounds = bounds::bounds(operation, kind.hosts, kind.gpus?, &HostRates::of(model?)).ok()?;
        // Over several hosts what their NICs carry; inside one NVLS exceeds what NVLink does in rings.
        let bound = if kind.hosts > 1 { bounds.line_rate } else { bounds.most };
        Some(bound.gb_per_s * 1e9 / bus_factor(collective, kind.ranks))
    };
    bound().filter(|most| *most > 0.0).unwrap_or(f64::INFINITY)
}

/// What is fitted.
#[derive(Clone, Copy, Default)]
pub struct Sources<'a> {
    /// Runs of nccl-tests by log.
    pub nccl_tests: &'a [(String, Vec<NcclTest>)],
    /// Runs of perftest by log.
    pub perftest: &'a [(String, Vec<PerftestRun>)],
    /// Operations of jobs: what their logs say of each collective.
    pub steps: Option<&'a Telemetry>,
    /// Ranks of a host, numbered host by host, for step logs that name no hosts.
    pub gpus: Option<u32>,
}

/// Fits nccl-tests, given by log. `host` is what hosts are; without it their GPUs tell.
pub fn calibrate(logs: &[(String, Vec<NcclTest>)], host: Option<&HostModel>) -> Calibration {
    calibrate_all(&Sources { nccl_tests: logs, ..Sources::default() }, host)
}

/// Fits all that logs have. `host` is what hosts are; without it the GPUs of nccl-tests tell.
pub fn calibrate_all(sources: &Sources<'_>, host: Option<&HostModel>) -> Calibration {
    let mut found = Calibration::default();
    let mut kinds = gather::of_tests(sources.nccl_tests);
    if let Some(steps) = sources.steps {
        gather::add_steps(steps, sources.gpus, &mut kinds, &mut found.aside);
    }
    for (kind, samples) in kinds {
        let model = host.cloned().or_else(|| model_of_product(&kind.product));
        let mut aside =
            |why| found.aside.push(Aside { kind: format!("{} {}", kind.collective, kind.shape()), why });
        let Some(collective) = collective_of(&kind) else {
            aside("scenarios have no such collective");
            continue;
        };
        let (Some(local), 1.., 1) = (kind.gpus, kind.hosts, kind.groups) else {
            aside("hosts are not alike, not named, or share what they have among groups");
            continue;
        };
        let group = Group::of(kind.hosts, local);
        let points = samples.points();
        let channels = collective == Collective::SendReceive;
        let most = most(&kind, collective, model.as_ref());
        let Some(fit) = fit::fit(&points, most, channels).filter(|_| group.ranks > 1) else {
            aside("two sizes or more and two ranks or more are needed");
            continue;
        };
        if found.model.is_none() {
            found.model = model.as_ref().map(|model| model.name.clone());
        }
        let (errors, left_out) = errors_of(&fit, &points, most, channels);
        found.fitted.push(Fitted {
            collective,
            group,
            tests: samples.tests,
            steps: samples.steps,
            told: samples.told,
            algorithms: Vec::new(),
            network: Vec::new(),
            at_the_limit: Vec::new(),
            errors,
            left_out,
            fit,
        });
    }
    found.model = found.model.or_else(|| host.map(|host| host.name.clone()));
    let model = host.cloned().or_else(|| HostModel::named(found.model.as_deref()?));
    found.scaling = scaling(sources.nccl_tests, model.as_ref());
    found.plain = plain::plain(sources.perftest, model.as_ref());
    label::label(&mut found.fitted, model.as_ref().map(HostRates::of).as_ref());
    for one in &mut found.fitted {
        let of = |&algorithm: &Algorithm| {
            let host = model.as_ref();
            host.map_or(0.0, |host| network::latency(host, one.collective, algorithm, one.group))
        };
        one.network = one.algorithms.iter().map(of).collect();
    }
    found
}

impl Fitted {
    /// Bus bandwidth of a range, bytes per second.
    pub fn busbw(&self, range: usize) -> f64 {
        self.fit.ranges[range].bandwidth * bus_factor(self.collective, self.group.ranks)
    }

    /// Latency of one step of a range that hosts add to the network's, seconds.
    pub fn step(&self, range: usize) -> f64 {
        let count = steps(self.collective, self.algorithms[range], self.group).max(1);
        (self.fit.ranges[range].latency - self.network[range]).max(0.0) / f64::from(count)
    }

    /// The caps that say the same. What the network limits is no cap of hosts.
    pub fn caps(&self) -> Vec<CapSpec> {
        let factor = bus_factor(self.collective, self.group.ranks);
        let cap = |(row, range): (usize, &fit::Range)| CapSpec {
            collective: self.collective,
            algorithm: self.algorithms[row],
            host: None,
            hosts: Some(self.group.hosts),
            gpus: Some(self.group.local),
            from: Some(Bytes(range.from)),
            until: range.until.map(Bytes),
            protocol: None,
            step: Some(SimTime::from_ns((self.step(row) * 1e9).round() as u64)),
            message: None,
            busbw: (self.at_the_limit[row] != Some(true)).then(|| rate(range.bandwidth * factor)),
            channel: self.fit.channels.map(|channels| rate(channels.bandwidth * factor)),
            channel_bytes: self.fit.channels.map(|channels| Bytes(channels.bytes)),
            plain: None,
        };
        self.fit.ranges.iter().enumerate().map(cap).collect()
    }
}

impl Calibration {
    /// The file that scenarios take.
    pub fn file(&self) -> CapsFile {
        let plain = plain::caps(&self.plain);
        let scaling = self.scaling.iter().map(Scaling::spec).collect();
        CapsFile::new(self.fitted.iter().flat_map(Fitted::caps).chain(plain).collect(), scaling)
    }

    /// Median and 90th percentile of relative errors over the sizes of some collectives that were left out; none without
    /// any.
    pub fn left_out(&self, turn: usize, collectives: &[Collective]) -> Option<(f64, f64, usize)> {
        let of = self.fitted.iter().filter(|one| collectives.contains(&one.collective));
        spread(of.flat_map(|one| &one.left_out[turn]))
    }

    /// The same of the second turn in two parts: sizes between those that were fitted, and the smallest ones, below them.
    #[allow(clippy::type_complexity, reason = "two of what left_out gives")]
    pub fn between_and_below(
        &self,
        collectives: &[Collective],
    ) -> (Option<(f64, f64, usize)>, Option<(f64, f64, usize)>) {
        let of = || self.fitted.iter().filter(|one| collectives.contains(&one.collective));
        let between = spread(of().flat_map(|one| one.left_out[1].iter().skip(1)));
        (between, spread(of().filter_map(|one| one.left_out[1].first())))
    }

    /// The same of plain transfers.
    pub fn plain_left_out(&self, turn: usize) -> Option<(f64, f64, usize)> {
        spread(self.plain.iter().flat_map(|one| &one.left_out[turn]))
    }
}

/// Median and 90th percentile of errors without their signs, and how many there are; none without any.
fn spread<'a>(errors: impl Iterator<Item = &'a f64>) -> Option<(f64, f64, usize)> {
    let mut errors: Vec<f64> = errors.map(|error| error.abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| errors.get(((errors.len() as f64 * share).ceil() as usize).max(1) - 1).copied();
    Some((at(0.5)?, at(0.9)?, errors.len()))
}

/// Errors over the sizes of a fit, and over every other size with a fit of the rest, in both turns.
fn errors_of(fit: &Fit, points: &[Point], most: f64, channels: bool) -> (Vec<f64>, [Vec<f64>; 2]) {
    let error = |fit: &Fit, point: &Point| Some(fit.seconds(point.bytes)? / point.seconds - 1.0);
    let left_out = [0, 1].map(|turn| {
        let half = |turn: usize| points.iter().skip(turn).step_by(2).copied();
        let of_half = fit::fit(&half(turn).collect::<Vec<_>>(), most, channels);
        half(1 - turn).filter_map(|point| error(of_half.as_ref()?, &point)).collect()
    });
    (points.iter().filter_map(|point| error(fit, point)).collect(), left_out)
}

/// As many digits as measurements bear.
fn rate(bytes_per_s: f64) -> Rate {
    Rate::from_bits_per_s((bytes_per_s * 8e-7).round().clamp(1.0, 1e11) as u64 * 10_000_000)
}

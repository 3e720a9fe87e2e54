//! Whether bandwidths that nccl-tests measured are normal: against what the hardware allows, and against their peers.
//!
//! * [`mod@bounds`]: what hardware allows of each collective.
//! * [`kinds`]: tests that can be compared.
//! * [`verdict`]: tests below their peers, tests that fall with size, hosts that they have in common.
//! * [`check`]: all of it.
pub mod bounds;
pub mod kinds;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::robust::median;
use railtwin_fabric::HostModel;
use railtwin_formats::telemetry::{NcclTest, NcclTestEnd};

pub use bounds::{Bound, Bounds, HostRates, Limit, Operation};
pub use kinds::{Kind, Test};
pub use verdict::{HostCount, LowTest};

use crate::products::model_of_product;

/// A kind of tests is low when its large sizes stay below this share of line rate, as the median of all its tests.
///
/// On a healthy cluster of H100 hosts (cluster01 of nccl-tests-cluster) kinds reach 0.51 to 1.07, but for one at 0.31.
pub const LINE_SHARE: f64 = 0.5;
/// Above this share of the bound what is assumed of the hosts cannot be so: measured ones exceed theirs by 0.003 at most.
pub const BOUND_SHARE: f64 = 1.01;
/// Sizes from this part of the largest one on are large.
pub const LARGE: u64 = 8;
/// Latency binds below this share of what the largest size reaches.
pub const LATENCY_SHARE: f64 = 0.5;

/// What the largest size reaches over what half of it or less does, from which bandwidth still rises with size. Where
/// latency takes half of the time or more, twice the size gives 1.5 times the bandwidth at least.
pub const RISING: f64 = 1.25;
/// Longest latency of a step between two hosts, in seconds: ten round trips of a slow TCP network.
const STEP_S: f64 = 1e-3;

/// A measurement and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Worst {
    /// Bus bandwidth, GB/s.
    pub gb_per_s: f64,
    /// The log.
    pub file: String,
    /// The hosts of the test.
    pub hosts: Vec<String>,
}

/// All measurements of a kind at one size.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeRow {
    /// Size, bytes.
    pub bytes: u64,
    /// Measurements: tests, out of place and in place.
    pub measurements: usize,
    /// Median bus bandwidth, GB/s.
    pub median: f64,
    /// Median algorithm bandwidth (bytes over time), GB/s.
    pub algorithm: f64,
    /// The lowest of them.
    pub worst: Worst,
    /// The median over line rate; none where no bound is known.
    pub share: Option<f64>,
    /// Whether the median is below half of that at the largest size.
    pub latency: bool,
}

/// How a kind of tests stands to what the hardware allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// At half of line rate or more.
    Normal,
    /// Below half of line rate.
    Low,
    /// Below half of line rate, where larger sizes would reach more: latency may be why.
    TooSmall,
    /// Above the bound: what is assumed of the hosts is not so.
    AboveBound,
    /// No bound is known, or nothing was measured.
    Unknown,
}

impl Verdict {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Low => "low",
            Self::TooSmall => "too small",
            Self::AboveBound => "above bound",
            Self::Unknown => "unknown",
        }
    }
}

/// A kind of tests with all that was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// The kind.
    pub kind: Kind,
    /// Tests with a result.
    pub tests: Vec<Test>,
    /// What the hardware allows, or why that is not known.
    pub bounds: Result<Bounds, String>,
    /// A row for each size, from the smallest.
    pub sizes: Vec<SizeRow>,
    /// Median bus bandwidth over the large sizes of all tests, GB/s; none where nothing was measured.
    pub large: Option<f64>,
    /// How it stands to what the hardware allows.
    pub verdict: Verdict,
}

impl Group {
    /// The median over the large sizes as a share of line rate.
    pub fn share(&self) -> Option<f64> {
        Some(self.large? / self.bounds.as_ref().ok()?.line_rate.gb_per_s)
    }
}

/// A test that did not come to its end.
#[derive(Clone, PartialEq, Debug)]
pub struct EndedTest {
    /// The log.
    pub file: String,
    /// Its line that says so, or the last one, from 1.
    pub line: u64,
    /// What was tested.
    pub kind: Kind,
    /// Its hosts in order of their names.
    pub hosts: Vec<String>,
    /// How it ended.
    pub end: NcclTestEnd,
    /// The line that says so; empty where none does.
    pub said: String,
    /// Largest size that came to its end before, in bytes; none where none did.
    pub after_bytes: Option<u64>,
}

/// What a host was taken for.
#[derive(Clone, PartialEq, Debug)]
pub struct Assumed {
    /// Product name of the GPUs.
    pub product: String,
    /// What the hosts are; none where the product does not tell.
    pub host: Option<HostRates>,
    /// Whether the product told it; else it was given.
    pub by_product: bool,
    /// The host model that the product tells; none where it does not.
    pub told: Option<String>,
}

/// What is to be said of some logs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Checked {
    /// Kinds of tests in their order.
    pub groups: Vec<Group>,
    /// What hosts were taken for, by product.
    pub assumed: Vec<Assumed>,
    /// Tests that are low by themselves, the lowest first.
    pub low: Vec<LowTest>,
    /// Tests that did not come to their end, in the order of logs.
    pub ended: Vec<EndedTest>,
    /// Hosts that low tests, or tests that did not come to their end, have in common.
    pub hosts: Vec<HostCount>,
    /// Tests in all.
    pub tests: usize,
    /// Logs and numbers of tests with wrong elements.
    pub wrong: Vec<(String, usize)>,
}

impl Checked {
    /// Whether nothing is low, no test failed and all results are right.
    pub fn is_well(&self) -> bool {
        let low = self.groups.iter().any(|group| group.verdict == Verdict::Low);
        !low && self.low.is_empty() && self.ended.is_empty() && self.wrong.is_empty()
    }
}

/// Checks tests, given by log. `host` is what hosts are; without it their GPUs tell ([`model_of_product`]).
///
/// Never fails: what cannot be judged says so in its group.
pub fn check(logs: &[(String, Vec<NcclTest>)], host: Option<&HostModel>) -> Checked {
    let mut checked = Checked::default();
    let mut kinds: BTreeMap<Kind, (Option<Operation>, Vec<Test>)> = BTreeMap::new();
    let mut products = BTreeSet::new();
    for (file, tests) in logs {
        for (row, test) in tests.iter().enumerate() {
            checked.tests += 1;
            let (kind, read) = (Kind::of(test), Test::of(file, row + 1, test));
            products.insert(kind.product.clone());
            if read.wrong > 0 {
                checked.wrong.push((file.clone(), row + 1));
            }
            if let Some(failure) = &test.failure {
                checked.ended.push(EndedTest {
                    file: file.clone(),
                    line: failure.number,
                    kind: kind.clone(),
                    hosts: read.hosts.clone(),
                    end: failure.end,
                    said: failure.line.clone(),
                    after_bytes: failure.after_bytes,
                });
            }
            let known = Operation::of_program(&test.name);
            let (_, tests) = kinds.entry(kind).or_insert_with(|| (known, Vec::new()));
            if !read.sizes.is_empty() {
                tests.push(read);
            }
        }
    }
    checked.assumed = products
        .into_iter()
        .map(|product| {
            let told = model_of_product(&product);
            let rates = host.or(told.as_ref()).map(HostRates::of);
            let told = told.map(|model| model.name);
            Assumed { product, host: rates, by_product: host.is_none(), told }
        })
        .collect();
    for (kind, (operation, tests)) in kinds {
        let rates = checked.assumed.iter().find(|one| one.product == kind.product);
        let bounds = bounds_of(&kind, operation, rates.and_then(|one| one.host.as_ref()));
        checked.groups.push(group(kind, tests, bounds));
    }
    checked.low = verdict::low_tests(&checked.groups);
    checked.hosts = verdict::hosts_of(&checked);
    checked
}

fn bounds_of(kind: &Kind, operation: Option<Operation>, host: Option<&HostRates>) -> Result<Bounds, String> {
    let operation = operation.ok_or_else(|| format!("no bound of {} is known", kind.collective))?;
    if kind.hosts == 0 {
        return Err("the log names no hosts".to_owned());
    }
    if kind.groups > 1 {
        return Err("groups share what a host has".to_owned());
    }
    let gpus = kind.gpus.ok_or("hosts have different numbers of GPUs")?;
    let host = host.ok_or_else(|| match kind.product.as_str() {
        "" => "the log names no product of the GPUs".to_owned(),
        product => format!("the host of a {product} is not known"),
    })?;
    bounds::bounds(operation, kind.hosts, gpus, host)
}

fn group(kind: Kind, tests: Vec<Test>, bounds: Result<Bounds, String>) -> Group {
    let sizes = size_rows(&tests, bounds.as_ref().ok().map(|bounds| bounds.line_rate.gb_per_s));
    let largest = sizes.last().map_or(0, |row| row.bytes);
    let mut large: Vec<f64> = tests
        .iter()
        .flat_map(|test| &test.sizes)
        .filter(|(bytes, _)| is_large(**bytes, largest))
        .flat_map(|(_, values)| values.iter().copied())
        .collect();
    let large = median(&mut large);
    let verdict = match (large, &bounds) {
        (Some(large), Ok(bounds)) if large < LINE_SHARE * bounds.line_rate.gb_per_s => {
            let may_be_latency = is_rising(&sizes, bounds.line_rate.gb_per_s, kind.ranks);
            if may_be_latency { Verdict::TooSmall } else { Verdict::Low }
        }
        (Some(large), Ok(bounds)) if large > BOUND_SHARE * bounds.most.gb_per_s => Verdict::AboveBound,
        (Some(_), Ok(_)) => Verdict::Normal,
        _ => Verdict::Unknown,
    };
    Group { kind, tests, bounds, sizes, large, verdict }
}

/// Whether latency may be what keeps the largest size below line rate (GB/s): bandwidth still rises there. Of one size alone
/// the time tells: what it takes beyond line rate is within [`STEP_S`] for each of the `2 (n - 1)` steps of a ring.
fn is_rising(sizes: &[SizeRow], line_rate: f64, ranks: u32) -> bool {
    let Some(last) = sizes.last() else { return true };
    let half = sizes.iter().rev().find(|row| row.bytes <= last.bytes / 2);
    half.map_or_else(
        || {
            // A log that has bus bandwidth alone is off by at most the factor between the two, 2.
            let rate = if last.algorithm > 0.0 { last.algorithm } else { last.median };
            let seconds = last.bytes as f64 / (rate * 1e9);
            let beyond = seconds * (1.0 - last.median / line_rate);
            let steps = 2 * ranks.saturating_sub(1).max(1);
            beyond <= STEP_S * f64::from(steps)
        },
        |half| last.median > RISING * half.median,
    )
}

/// Whether a size is large beside the largest one.
fn is_large(bytes: u64, largest: u64) -> bool {
    bytes >= largest / LARGE
}

fn size_rows(tests: &[Test], line_rate: Option<f64>) -> Vec<SizeRow> {
    let sizes: BTreeSet<u64> = tests.iter().flat_map(|test| test.sizes.keys().copied()).collect();
    let of_size = |bytes: u64| {
        let mut worst: Option<(f64, &Test)> = None;
        let (mut bus, mut algorithm) = (Vec::new(), Vec::new());
        for test in tests {
            for &value in test.sizes.get(&bytes).into_iter().flatten() {
                bus.push(value);
                if worst.is_none_or(|(lowest, _)| value < lowest) {
                    worst = Some((value, test));
                }
            }
            algorithm.extend(test.algorithm.get(&bytes).into_iter().flatten());
        }
        let (gb_per_s, test) = worst?;
        let median_bus = median(&mut bus)?;
        Some(SizeRow {
            bytes,
            measurements: bus.len(),
            median: median_bus,
            algorithm: median(&mut algorithm)?,
            worst: Worst { gb_per_s, file: test.file.clone(), hosts: test.hosts.clone() },
            share: line_rate.map(|rate| median_bus / rate),
            latency: false,
        })
    };
    let mut rows: Vec<SizeRow> = sizes.into_iter().filter_map(of_size).collect();
    let largest = rows.last().map_or(0.0, |row| row.median);
    rows.iter_mut().for_each(|row| row.latency = row.median < LATENCY_SHARE * largest);
    rows
}

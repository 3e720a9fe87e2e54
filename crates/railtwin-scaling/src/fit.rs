//! From times over several numbers of hosts to a model.
//!
//! 1. The switch over each number of hosts: from the largest size down the first that takes more than 2.2 times as long as
//!    half of it. No one algorithm does; below it trees ran, from it on rings.
//! 2. Times more than 1.5 times above what a larger call over as many hosts or more took are refused and lowered to it, a
//!    ring's to those of rings.
//! 3. Steps: the median over clusters of more than two hosts of the time of a step, by the bytes of a chunk.
//! 4. Trees: of each size a robust line over the logarithm of the hosts.
//! 5. A probe of a larger cluster, a few sizes, replaces the priors of ρ and δ.
use std::collections::BTreeMap;

use railtwin_diagnosis::robust::median;
use railtwin_workload::Collective;
use railtwin_workload::collective::bus_factor;
use railtwin_workload::scaling::{
    LevelPoint, NetworkPart, PRIOR_DISTANCE, PRIOR_SHARE, ScalingModel, StepPoint, Switch, serial,
};

use super::large::{SIZES, large, robust_line};
use super::probe::probe;
use super::refuse::{Times, refuse};
use super::{ClusterTimes, Outlier};

/// Over the ratio of two sizes: the ratio of their times above which no one algorithm took both.
const ALGORITHM: f64 = 1.1;
/// Smallest size of a switch: below, LL gives way to LL128 and Simple.
const SWITCH_MIN: u64 = 128 << 10;
/// A time more than this many times that of twice the bytes is no size at which rings begin.
const SPIKE: f64 = 2.0;

/// A model, and what was refused.
#[derive(Clone, PartialEq, Debug)]
pub struct ScalingFit {
    /// The model.
    pub model: ScalingModel,
    /// Times that were refused, by hosts and bytes.
    pub outliers: Vec<Outlier>,
    /// Constants that are priors: `distance`, `share`.
    pub priors: Vec<&'static str>,
    /// Hosts of probes: clusters of so few sizes that they set constants and no table.
    pub probes: Vec<u32>,
}

/// Fits a series; none with fewer than two numbers of hosts of an all-reduce, or without any time.
pub fn fit(series: &ClusterTimes) -> Option<ScalingFit> {
    let whole = |of: &BTreeMap<u64, f64>| of.len() >= SIZES;
    let mut times: Times =
        series.seconds.iter().filter(|(_, of)| whole(of)).map(|(h, of)| (*h, of.clone())).collect();
    let all_reduce = series.collective == Collective::AllReduce;
    let largest = times.keys().next_back().copied()?;
    if all_reduce && times.len() < 2 {
        return None;
    }
    let switches: Vec<Switch> = match all_reduce {
        true => times.iter().filter_map(|(&hosts, of)| switch(hosts, of)).collect(),
        false => Vec::new(),
    };
    let outliers = refuse(&mut times, |hosts, bytes| all_reduce && is_tree(&switches, hosts, bytes));
    let steps = steps(series, &times, &switches);
    let trees = if all_reduce { trees(&times, &switches) } else { Vec::new() };
    let busbw = [ring_busbw(series, &steps, largest), tree_busbw(series, &times, &switches)];
    let mut model = ScalingModel {
        collective: series.collective,
        local: series.local,
        hosts: times.keys().copied().collect(),
        large: large(&trees, &steps, PRIOR_SHARE),
        steps,
        trees,
        distance: PRIOR_DISTANCE,
        switches,
        network: NetworkPart::default(),
        busbw,
        network_limits: false,
        band: Vec::new(),
    };
    if model.steps.is_empty() && model.trees.is_empty() {
        return None;
    }
    let probes: Times = series
        .seconds
        .iter()
        .filter(|(hosts, of)| !whole(of) && **hosts > largest)
        .map(|(hosts, of)| (*hosts, of.clone()))
        .collect();
    let priors = probe(series, &mut model, &probes);
    Some(ScalingFit { model, outliers, priors, probes: probes.into_keys().collect() })
}

/// The size from which rings ran over so many hosts. Two hosts have no tree that is not a ring.
fn switch(hosts: u32, times: &BTreeMap<u64, f64>) -> Option<Switch> {
    let sizes: Vec<(u64, f64)> = times.iter().map(|(bytes, seconds)| (*bytes, *seconds)).collect();
    let jumps = |three: &&[(u64, f64)]| {
        let ratio = three[1].0 as f64 / three[0].0 as f64;
        let spike = three[1].1 > SPIKE * three[2].1;
        three[1].0 >= SWITCH_MIN && three[1].1 > ALGORITHM * ratio * three[0].1 && !spike
    };
    // One size alone does not tell a switch from a time that is wrong.
    let bytes = sizes.windows(3).rev().find(jumps)?[1].0;
    (hosts > 2).then_some(Switch { hosts, bytes })
}

/// Whether a tree ran: below the switch of its hosts, of two hosts below that of all others.
fn is_tree(switches: &[Switch], hosts: u32, bytes: u64) -> bool {
    let own = switches.iter().find(|one| one.hosts == hosts).map(|one| one.bytes);
    let least = || switches.iter().map(|one| one.bytes).min();
    own.or_else(least).is_none_or(|from| bytes < from)
}

/// Seconds of a step by the bytes of a chunk. Two hosts are looked at where there are no more: each reaches the other by
/// both directions of a ring.
fn steps(series: &ClusterTimes, times: &Times, switches: &[Switch]) -> Vec<StepPoint> {
    let many = times.keys().any(|&hosts| hosts > 2);
    let all_reduce = series.collective == Collective::AllReduce;
    let mut found: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (&hosts, of) in times.iter().filter(|(hosts, _)| !many || **hosts > 2) {
        let (count, parts) = serial(series.collective, series.group(hosts));
        let from = switches.iter().find(|one| one.hosts == hosts).map(|one| one.bytes);
        let from = if all_reduce { from.unwrap_or(u64::MAX) } else { 0 };
        for (bytes, seconds) in of.range(from..) {
            let chunk = (bytes / u64::from(parts)).max(1);
            found.entry(chunk).or_default().push(seconds / f64::from(count.max(1)));
        }
    }
    let of =
        |(chunk, mut seconds): (u64, Vec<f64>)| Some(StepPoint { chunk, seconds: median(&mut seconds)? });
    found.into_iter().filter_map(of).collect()
}

/// Of each size that trees of two numbers of hosts were seen of: time of one host, and of each double.
fn trees(times: &Times, switches: &[Switch]) -> Vec<LevelPoint> {
    let mut found: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for (&hosts, of) in times {
        for (&bytes, &seconds) in of.iter().filter(|(bytes, _)| is_tree(switches, hosts, **bytes)) {
            found.entry(bytes).or_default().push((f64::from(hosts).log2(), seconds));
        }
    }
    let of = |(bytes, points): (u64, Vec<(f64, f64)>)| {
        let (first, level) = robust_line(&points).filter(|(_, level)| *level >= 0.0).or_else(|| {
            let mut all: Vec<f64> = points.iter().map(|point| point.1).collect();
            Some((median(&mut all).filter(|_| points.len() > 1)?, 0.0))
        })?;
        Some(LevelPoint { bytes, first, level })
    };
    found.into_iter().filter_map(of).collect()
}

/// Bus bandwidth of the fastest steps over the largest cluster, bytes per second.
fn ring_busbw(series: &ClusterTimes, steps: &[StepPoint], hosts: u32) -> f64 {
    let group = series.group(hosts);
    let (count, parts) = serial(series.collective, group);
    let factor = bus_factor(series.collective, group.ranks) * f64::from(parts) / f64::from(count.max(1));
    steps.iter().map(|step| step.chunk as f64 / step.seconds * factor).fold(1.0, f64::max)
}

/// Bus bandwidth of the fastest tree, bytes per second.
fn tree_busbw(series: &ClusterTimes, times: &Times, switches: &[Switch]) -> f64 {
    let of = |(&hosts, of): (&u32, &BTreeMap<u64, f64>)| {
        let factor = bus_factor(series.collective, series.group(hosts).ranks);
        let trees = of.iter().filter(move |(bytes, _)| is_tree(switches, hosts, **bytes));
        trees.map(move |(bytes, seconds)| *bytes as f64 / seconds * factor).fold(1.0, f64::max)
    };
    times.iter().map(of).fold(1.0, f64::max)
}

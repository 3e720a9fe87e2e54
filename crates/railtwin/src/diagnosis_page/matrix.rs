//! The delay matrix: network time per byte between NICs, over that of pairs alike.
use std::collections::BTreeMap;

use railtwin_diagnosis::robust::median;
use railtwin_engine::Case;
use railtwin_fabric::{DeviceId, NONE};
use serde_json::{Value, json};

use super::components::{access_links, nic_named};
use crate::columns::PageTable;
use crate::telemetry_run::TelemetryRun;
use crate::telemetry_run::traffic::Pair;

/// Cells that a page takes.
const CELLS_MAX: usize = 200_000;
/// A pair that takes so many times the time of those alike is always listed.
const SLOW: f64 = 1.1;

/// The matrix of what was sent since `since_ns`; none without messages.
pub(super) fn matrix(case: &Case, run: &TelemetryRun, since_ns: u64) -> Option<Value> {
    let fabric = &*case.fabric;
    let pairs = run.traffic.pairs(&run.directory, since_ns);
    if pairs.is_empty() {
        return None;
    }
    let medians = medians(&pairs);
    let flow = |pair: &Pair| &run.directory.flows[pair.flow as usize];
    let ratio = |pair: &Pair| {
        let usual = medians.get(&pair.alike).copied().unwrap_or(0.0);
        if usual > 0.0 { pair.ns_per_byte / usual } else { 1.0 }
    };
    let total = pairs.len();
    // All slow pairs, and of the others every so-manieth.
    let others = pairs.iter().filter(|pair| ratio(pair) < SLOW).count();
    let room = CELLS_MAX.saturating_sub(total - others).max(1);
    let every = if total > CELLS_MAX { others.div_ceil(room) } else { 1 };
    let mut other = 0_usize;
    let mut listed: Vec<&Pair> = pairs
        .iter()
        .filter(|pair| {
            other += usize::from(ratio(pair) < SLOW);
            ratio(pair) >= SLOW || other.is_multiple_of(every)
        })
        .collect();
    listed.truncate(CELLS_MAX);
    // In the order of the fabric; NICs that it does not know come last, by name.
    let device = |name: &str| nic_named(fabric, name);
    let mut ends: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    let key = |name| (device(name).map_or(u32::MAX, |nic: DeviceId| nic.0), name);
    for pair in &listed {
        for name in [&flow(pair).source_nic, &flow(pair).target_nic] {
            ends.insert(key(name), 0);
        }
    }
    ends.values_mut().zip(0..).for_each(|(row, at)| *row = at);
    let row = |name| ends.get(&key(name)).copied().unwrap_or_default();
    let several_pods = fabric.hosts().iter().any(|host| host.pod != fabric.hosts()[0].pod);
    let leaf = |name: &str| {
        let link = device(name).and_then(|nic| access_links(fabric, nic).first().copied());
        link.map_or_else(String::new, |link| fabric.device_name(fabric.target(link)))
    };
    let segment = |name: &str| {
        let host = device(name).and_then(|nic| fabric.host_of(nic));
        let Some(host) = host.map(|host| &fabric.hosts()[host.index()]) else { return String::new() };
        if host.segment == NONE {
            return String::new();
        }
        let pod = if several_pods { format!("pod {} ", host.pod) } else { String::new() };
        format!("{pod}segment {}", host.segment)
    };
    let column = |of: &dyn Fn(&str) -> String| ends.keys().map(|key| of(key.1)).collect::<Vec<String>>();
    let host = |name: &str| name.split_once('/').map_or(name, |(host, _)| host).to_owned();
    let (hosts, leaves, segments) = (column(&host), column(&leaf), column(&segment));
    let texts = |values: &[String]| values.to_vec();
    let endpoints = PageTable::new(ends.len())
        .text("name", ends.keys().map(|key| key.1))
        .text("host", texts(&hosts).iter().map(String::as_str))
        .text("leaf", texts(&leaves).iter().map(String::as_str))
        .text("segment", texts(&segments).iter().map(String::as_str));
    let cells = PageTable::new(listed.len())
        .u32("source", &listed.iter().map(|pair| row(&flow(pair).source_nic)).collect::<Vec<_>>())
        .u32("target", &listed.iter().map(|pair| row(&flow(pair).target_nic)).collect::<Vec<_>>())
        .f32("ratio", &listed.iter().map(|pair| ratio(pair) as f32).collect::<Vec<_>>())
        .u32("samples", &listed.iter().map(|pair| pair.samples).collect::<Vec<_>>());
    // One value stands for a ratio of 1 only where all pairs are alike.
    let alone = medians.values().next().copied().filter(|_| medians.len() == 1);
    Some(json!({
        "endpoints": endpoints.finish(), "cells": cells.finish(), "total": total, "median_ns_per_byte": alone,
    }))
}

fn medians(pairs: &[Pair]) -> BTreeMap<(String, usize), f64> {
    let mut values: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        values.entry(pair.alike.clone()).or_default().push(pair.ns_per_byte);
    }
    let of = |mut values: Vec<f64>| median(&mut values).unwrap_or(0.0);
    values.into_iter().map(|(alike, values)| (alike, of(values))).collect()
}

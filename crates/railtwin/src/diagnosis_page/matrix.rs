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
/// A pair that takes so many times the time of those alike is listed before others.
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
    let ratios: Vec<f64> = pairs.iter().map(ratio).collect();
    let listed: Vec<&Pair> = listed(&ratios, CELLS_MAX).into_iter().map(|row| &pairs[row]).collect();
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

/// Rows of pairs to list, ascending, at most `room`: the slowest, and of the others every so-manieth. Where slow pairs
/// alone are more than the room, as noise of 10 % makes them, half of it is theirs, the slowest first.
fn listed(ratios: &[f64], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ratios.len()).collect();
    if order.len() <= room {
        return order;
    }
    order.sort_by(|&a, &b| ratios[b].total_cmp(&ratios[a]).then(a.cmp(&b)));
    let slow = order.partition_point(|&row| ratios[row] >= SLOW).min(room / 2);
    let mut chosen = order[..slow].to_vec();
    let mut others = order.split_off(slow);
    others.sort_unstable();
    let every = others.len().div_ceil(room - slow);
    chosen.extend(others.into_iter().step_by(every));
    chosen.sort_unstable();
    chosen
}

fn medians(pairs: &[Pair]) -> BTreeMap<(String, usize), f64> {
    let mut values: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for pair in pairs {
        values.entry(pair.alike.clone()).or_default().push(pair.ns_per_byte);
    }
    let of = |mut values: Vec<f64>| median(&mut values).unwrap_or(0.0);
    values.into_iter().map(|(alike, values)| (alike, of(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::listed;

    /// A million pairs, half of them beyond 10 % by noise, and the last row five times slow: all of it is listed.
    #[test]
    fn the_slowest_pairs_are_listed_wherever_they_stand() {
        let side = 1_000_usize;
        let noise = |at: usize| 0.8 + 0.4 * ((at * 7_919) % 1_009) as f64 / 1_009.0;
        let ratios: Vec<f64> =
            (0..side * side).map(|at| if at / side == side - 1 { 5.0 } else { noise(at) }).collect();
        let rows = listed(&ratios, 200_000);
        assert!(rows.len() <= 200_000 && rows.len() > 150_000, "{}", rows.len());
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(rows.iter().filter(|&&row| row / side == side - 1).count(), side);
        // The others still show what is usual: as many fast ones as a draw has.
        let fast = rows.iter().filter(|&&row| ratios[row] < 1.0).count();
        assert!(fast > 20_000, "{fast}");
        assert_eq!(listed(&ratios[..10], 200_000), (0..10).collect::<Vec<_>>());
    }
}

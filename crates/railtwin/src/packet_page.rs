//! What packets leave behind, as the page reads it: queues over time, completion times, pauses by hop.
use std::collections::BTreeMap;

use railtwin_engine::packet_log::PacketFlow;
use railtwin_engine::{Case, PacketLog, RunLog};
use railtwin_fabric::{LinkId, NONE};
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, Work};
use serde_json::{Value, json};

use crate::columns::{PageTable, u8_column, u32_column};
use crate::figures::quantile;
use crate::links::{ENDS, links_by_hop};
use crate::packet_figures::{completion_times, paused, unfinished};
use crate::packet_tables::at;
use crate::paths::pattern_words;
use crate::tables::network_names;

/// Cells of the page's picture of queues at most: links times bins.
pub const CELLS_MAX: usize = 200_000;
/// Bins of that picture at most: more than a screen shows apart.
pub const BINS_MAX: usize = 400;
/// Steps between the least and the largest completion time; a multiple of 1,000, so that quantiles in per mille are
/// exact.
const FCT_STEPS: usize = 2_000;
/// Transfers that the page lists.
pub const SLOWEST_MAX: usize = 500;
/// Communications beyond which a page does not carry when each of them ran.
pub const OPERATIONS_MAX: usize = 5_000;

/// The page's `packets`; `link_rows` is the row of the page's table of links for each link, by id.
pub fn packets(case: &Case, log: &RunLog, packets: &PacketLog, link_rows: &[u32]) -> Value {
    let names = network_names(&case.fabric);
    let mut value = json!({
        "fct": completion(packets, unfinished(case, log, packets)),
        "slowest": slowest(case, packets, &names),
        "hops": hops(case, log, packets),
    });
    if packets.sample > SimTime::ZERO && log.end > SimTime::ZERO {
        value["queues"] = queues(case, log, packets, link_rows, &names);
    }
    value
}

/// Completion times of all transfers in ascending order; of many, evenly spaced quantiles of them.
fn completion(packets: &PacketLog, unfinished: usize) -> Value {
    let times = completion_times(packets);
    let ps = |seconds: f64| (seconds * 1e12).round();
    let shown: Vec<f64> = if times.len() <= FCT_STEPS + 1 {
        times.iter().copied().map(ps).collect()
    } else {
        let parts = (0..=FCT_STEPS).map(|step| step as f64 / FCT_STEPS as f64);
        parts.filter_map(|part| quantile(&times, part)).map(ps).collect()
    };
    json!({
        "flows": times.len(),
        "unfinished": unfinished,
        "mean_ps": ps(times.iter().sum::<f64>() / times.len().max(1) as f64),
        "times": PageTable::new(shown.len()).f64("fct_ps", &shown).finish(),
    })
}

/// The transfers that took longest, slowest first.
fn slowest(case: &Case, packets: &PacketLog, names: &[String]) -> Value {
    let mut flows: Vec<&PacketFlow> =
        packets.flows.iter().filter(|flow| flow.end != SimTime::NEVER).collect();
    flows.sort_by_key(|flow| std::cmp::Reverse(flow.end.since(flow.start)));
    flows.truncate(SLOWEST_MAX);
    let words = pattern_words(case);
    let of = |flow: &&PacketFlow| words.get(flow.pattern as usize);
    let f64s = |of: fn(&PacketFlow) -> u64| flows.iter().map(|flow| of(flow) as f64).collect::<Vec<_>>();
    PageTable::new(flows.len())
        .u32("operation", &flows.iter().map(|flow| flow.operation).collect::<Vec<_>>())
        .text("job", flows.iter().map(|flow| of(flow).map_or("", |words| words.0)))
        .text("kind", flows.iter().map(|flow| of(flow).map_or("", |words| words.1.as_str())))
        .text("source", flows.iter().map(|flow| names[flow.source.index()].as_str()))
        .text("target", flows.iter().map(|flow| names[flow.target.index()].as_str()))
        .f64("bytes", &f64s(|flow| flow.bytes))
        .f64("start_ps", &f64s(|flow| flow.start.ps()))
        .f64("end_ps", &f64s(|flow| flow.end.ps()))
        .finish()
}

/// Pauses and queues of each hop: a row for each kind of link.
fn hops(case: &Case, log: &RunLog, packets: &PacketLog) -> Value {
    let hops = links_by_hop(&case.fabric);
    let columns = &packets.links;
    let sum = |links: &Vec<LinkId>, column: &[u32]| links.iter().map(|&l| f64::from(at(column, l))).sum();
    let shares: Vec<_> = hops.values().map(|links| paused(log, packets, links)).collect();
    let most = |links: &Vec<LinkId>| {
        links.iter().map(|&link| at(&columns.queue_bytes_max, link)).max().unwrap_or(0) as f64
    };
    PageTable::new(hops.len())
        .text("source", hops.keys().map(|hop| ENDS[usize::from(hop.0)]))
        .text("target", hops.keys().map(|hop| ENDS[usize::from(hop.1)]))
        .u32("links", &hops.values().map(|links| links.len() as u32).collect::<Vec<_>>())
        .f64("pause_frames", &hops.values().map(|l| sum(l, &columns.pause_frames)).collect::<Vec<f64>>())
        .f64("paused_mean", &shares.iter().map(|share| share.mean).collect::<Vec<_>>())
        .f64("paused_max", &shares.iter().map(|share| share.max).collect::<Vec<_>>())
        .f64("queue_bytes_max", &hops.values().map(most).collect::<Vec<_>>())
        .f64("dropped", &hops.values().map(|l| sum(l, &columns.dropped)).collect::<Vec<f64>>())
        .f64("cnps", &hops.values().map(|l| sum(l, &columns.cnps)).collect::<Vec<f64>>())
        .finish()
}

/// One link over time: bytes that waited and time paused, in each bin.
#[derive(Debug)]
struct Series {
    bytes: Vec<u64>,
    paused: Vec<u64>,
}

/// Samples joined into bins, of the links that a page has room for.
fn queues(case: &Case, log: &RunLog, packets: &PacketLog, link_rows: &[u32], names: &[String]) -> Value {
    let taken = log.end.ps().div_ceil(packets.sample.ps()) as usize;
    let last = packets.samples.iter().map(|sample| sample.index as usize + 1).max().unwrap_or(0);
    let joined = taken.max(last).div_ceil(BINS_MAX).max(1);
    let bins = taken.max(last).div_ceil(joined);
    let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
    for sample in packets.samples.iter().filter(|sample| link_rows[sample.link as usize] != NONE) {
        let peak = peaks.entry(sample.link).or_default();
        *peak = sample.bytes_max.max(*peak);
    }
    let links = kept(packets, &peaks, CELLS_MAX / bins.max(1));
    let mut series: BTreeMap<u32, Series> =
        links.iter().map(|link| (link.0, Series { bytes: vec![0; bins], paused: vec![0; bins] })).collect();
    for sample in &packets.samples {
        if let Some(of) = series.get_mut(&sample.link) {
            let bin = sample.index as usize / joined;
            of.bytes[bin] = of.bytes[bin].max(sample.bytes_max);
            of.paused[bin] += sample.paused_ps;
        }
    }
    let bin_ps = packets.sample.ps() * joined as u64;
    let paused = |ps: u64| ((ps as f64 / bin_ps as f64).min(1.0) * 255.0).round() as u8;
    let cells = || links.iter().map(|link| &series[&link.0]);
    let columns = &packets.links;
    let of_link = |of: &dyn Fn(LinkId) -> f64| links.iter().map(|&link| of(link)).collect::<Vec<_>>();
    let fabric = &case.fabric;
    let cables: Vec<String> = links.iter().map(|link| fabric.cable_name(link.cable())).collect();
    let table = PageTable::new(links.len())
        .u32("link", &links.iter().map(|link| link_rows[link.index()]).collect::<Vec<_>>())
        .text("source", links.iter().map(|&link| names[fabric.source(link).index()].as_str()))
        .text("target", links.iter().map(|&link| names[fabric.target(link).index()].as_str()))
        .text("cable", cables.iter().map(String::as_str))
        .f64("queue_bytes_max", &of_link(&|link| at(&columns.queue_bytes_max, link) as f64))
        .f64("paused_ps", &of_link(&|link| at(&columns.paused_ps, link) as f64))
        .f64("pause_frames", &of_link(&|link| at(&columns.pause_frames, link).into()))
        .f64("dropped", &of_link(&|link| at(&columns.dropped, link).into()))
        .finish();
    json!({
        "bin_ps": bin_ps as f64,
        "bins": bins,
        "sample_ps": packets.sample.ps() as f64,
        "total": peaks.len(),
        "links": table,
        "bytes": u32_column(&cells().flat_map(|s| &s.bytes).map(|&bytes| bytes.min(u32::MAX.into()) as u32).collect::<Vec<_>>()),
        "paused": u8_column(&cells().flat_map(|s| &s.paused).map(|&ps| paused(ps)).collect::<Vec<_>>()),
    })
}

/// At most `most` links, in order of their ids: those with the longest queues, and those paused longest, in turns.
fn kept(packets: &PacketLog, peaks: &BTreeMap<u32, u64>, most: usize) -> Vec<LinkId> {
    let mut by_bytes: Vec<LinkId> = peaks.keys().map(|&link| LinkId(link)).collect();
    if by_bytes.len() <= most {
        return by_bytes;
    }
    let mut by_pause = by_bytes.clone();
    by_bytes.sort_by_key(|link| std::cmp::Reverse(peaks[&link.0]));
    by_pause.sort_by_key(|link| std::cmp::Reverse(at(&packets.links.paused_ps, *link)));
    let mut kept = std::collections::BTreeSet::new();
    for link in by_bytes.into_iter().zip(by_pause).flat_map(<[LinkId; 2]>::from) {
        if kept.len() < most {
            kept.insert(link);
        }
    }
    kept.into_iter().collect()
}

/// When each communication ran, for runs of few enough of them: what two engines are compared by.
pub fn operations(case: &Case, log: &RunLog) -> Option<Value> {
    let work = &case.work;
    let ids = (0..work.operations).map(OperationId::from_index);
    let communications = ids.filter_map(|id| match work.operation(id).work {
        Work::Communicate { bytes, .. } => Some((id, bytes)),
        Work::Compute(_) => None,
    });
    let all: Vec<(OperationId, u64)> = communications.take(OPERATIONS_MAX + 1).collect();
    if all.is_empty() || all.len() > OPERATIONS_MAX {
        return None;
    }
    let ended: Vec<_> =
        all.into_iter().filter(|(id, _)| log.times.end[id.index()] != SimTime::NEVER).collect();
    let job = |id: OperationId| &work.jobs[work.job_of(id)];
    let operation = |id: OperationId| work.operation(id);
    let lane = |id: OperationId| job(id).plan.lanes[operation(id).lane as usize].as_str();
    let name = |id: OperationId| job(id).plan.names[operation(id).name as usize].as_str();
    let ps =
        |times: &[SimTime]| ended.iter().map(|(id, _)| times[id.index()].ps() as f64).collect::<Vec<_>>();
    let ids = || ended.iter().map(|(id, _)| *id);
    let table = PageTable::new(ended.len())
        .u32("operation", &ids().map(|id| id.0).collect::<Vec<_>>())
        .text("job", ids().map(|id| job(id).name.as_str()))
        .text("lane", ids().map(lane))
        .text("axis", ids().map(|id| operation(id).axis.name()))
        .text("name", ids().map(name))
        .f64("bytes", &ended.iter().map(|(_, bytes)| *bytes as f64).collect::<Vec<_>>())
        .f64("start_ps", &ps(&log.times.start))
        .f64("end_ps", &ps(&log.times.end));
    Some(table.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_sample::{Given, run_with};

    fn numbers<const N: usize, T>(column: &Value, of: fn([u8; N]) -> T) -> Vec<T> {
        use base64::Engine as _;
        let data = column["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
        bytes.chunks_exact(N).map(|chunk| of(chunk.try_into().unwrap())).collect()
    }

    #[test]
    fn samples_are_joined_into_bins_without_losing_peaks() {
        let run = run_with(&Given { samples: 1_000, ..Given::default() });
        let payload = run.payload().unwrap();
        let queues = &payload["packets"]["queues"];
        let (bins, rows) = (queues["bins"].as_u64().unwrap(), queues["links"]["rows"].as_u64().unwrap());
        assert_eq!((bins, queues["total"].as_u64()), (334, Some(rows)));
        assert_eq!(queues["bin_ps"], 3.0 * queues["sample_ps"].as_f64().unwrap());
        let bytes = numbers(&queues["bytes"], u32::from_le_bytes);
        assert_eq!(bytes.len() as u64, bins * rows);
        let log = run.simulation.as_ref().unwrap().log.packets.as_ref().unwrap();
        let peak = log.samples.iter().map(|sample| sample.bytes_max).max().unwrap();
        assert_eq!(u64::from(*bytes.iter().max().unwrap()), peak);
        let links = numbers(&queues["links"]["columns"]["link"], u32::from_le_bytes);
        assert!(links.iter().all(|&row| u64::from(row) < payload["links"]["rows"].as_u64().unwrap()));
    }

    #[test]
    fn a_page_has_room_for_so_many_links_and_takes_both_kinds_of_worst() {
        let run = run_with(&Given::default());
        let packets = run.simulation.as_ref().unwrap().log.packets.as_ref().unwrap();
        let peaks: BTreeMap<u32, u64> =
            packets.samples.iter().map(|sample| (sample.link, sample.bytes_max)).collect();
        let all: Vec<LinkId> = peaks.keys().map(|&link| LinkId(link)).collect();
        assert_eq!(kept(packets, &peaks, 1_000), all);
        let few = kept(packets, &peaks, 4);
        assert_eq!(few.len(), 4);
        let longest = all.iter().max_by_key(|link| at(&packets.links.paused_ps, **link)).unwrap();
        let fullest = all.iter().max_by_key(|link| peaks[&link.0]).unwrap();
        assert!(few.contains(longest) && few.contains(fullest));
    }

    #[test]
    fn completion_times_are_their_own_quantiles() {
        let run = run_with(&Given { flows: 5_001, ..Given::default() });
        let payload = run.payload().unwrap();
        let fct = &payload["packets"]["fct"];
        assert_eq!((fct["flows"].as_u64(), fct["unfinished"].as_u64()), (Some(5_000), Some(1)));
        let shown = numbers(&fct["times"]["columns"]["fct_ps"], f64::from_le_bytes);
        assert_eq!(shown.len(), FCT_STEPS + 1);
        let log = &run.simulation.as_ref().unwrap().log;
        let all = completion_times(log.packets.as_ref().unwrap());
        for part in [0.0, 0.5, 0.99, 1.0] {
            let exact = quantile(&all, part).unwrap() * 1e12;
            let ours = quantile(&shown, part).unwrap();
            assert!((ours - exact).abs() <= 1.0, "{part}: {ours} is not {exact}");
        }
        assert_eq!(payload["packets"]["slowest"]["rows"], SLOWEST_MAX);
    }

    #[test]
    fn runs_of_flows_have_operations_and_no_packets() {
        let run = run_with(&Given { none: true, ..Given::default() });
        let payload = run.payload().unwrap();
        assert!(payload.get("packets").is_none());
        assert_eq!(payload["operations"]["rows"], 3);
        let names: Vec<String> = run.tables().into_iter().map(|table| table.name).collect();
        assert!(!names.iter().any(|name| name == "queues" || name == "packet_flows"));
    }
}

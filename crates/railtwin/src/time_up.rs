//! The end of simulated time, in words: what it cut off, over which link, and what to do.
use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case, IncidentKind, RoutingCase};
use railtwin_fabric::LinkId;
use railtwin_routing::LinkMask;
use railtwin_store::RunInfo;
use railtwin_units::SimTime;
use railtwin_workload::{OperationId, PatternId, Work};

use crate::simulate::Simulation;

/// Replicates whose simulated time was up, among the counters of a run.
pub const COUNTER: &str = "replicates_out_of_time";
const DAY: f64 = 86_400.0;

/// The sentence for `run.json`; none where simulated time was enough. `table` holds the paths of the chosen replicate
/// without faults.
pub fn warning(case: &Case, done: &Simulation, table: &BundleTable) -> Option<String> {
    let out = done.replicates.iter().filter(|replicate| replicate.time_up).count();
    if out == 0 {
        return None;
    }
    let days = SimTime::NEVER.seconds() / DAY;
    let of = match done.replicates.len() {
        1 => String::new(),
        all => format!(" in {out} of {all} replicates"),
    };
    // Acknowledgements of packets have their own sizes: what they add is left out.
    let bare = (done.log.packets.is_some() && case.routing.message.is_some()).then(|| {
        let routing = RoutingCase { message: None, ..case.routing };
        let bare = Case { routing, ..case.clone() };
        Lowering::new(&bare, done.chosen).table(&LinkMask::none(&case.fabric), false).0
    });
    let table = bare.as_ref().unwrap_or(table);
    let what = if done.log.time_up { cut_off(case, done, table) } else { None };
    let what =
        what.unwrap_or_else(|| "work was left that still moved; send less or run fewer steps".to_owned());
    Some(format!("simulated time ends after {days:.1} days, which was not enough{of}: {what}"))
}

/// The warning of a run whose time was up: it is the first of its warnings.
pub fn of(info: &RunInfo) -> Option<&str> {
    info.counters.get(COUNTER).filter(|&&count| count > 0)?;
    info.warnings.first().map(String::as_str)
}

/// Of the operations that had begun, that which takes longest by itself.
fn cut_off(case: &Case, done: &Simulation, table: &BundleTable) -> Option<String> {
    let (work, log) = (&case.work, &done.log);
    let halted = |job: usize| {
        log.incidents.iter().any(|one| matches!(one.kind, IncidentKind::Halted(row) if row as usize == job))
    };
    let mut longest: Option<(f64, usize, bool, String)> = None;
    for (row, job) in work.jobs.iter().enumerate().filter(|(row, _)| !halted(*row)) {
        let length = job.plan.operations.len();
        let cut = job
            .operations()
            .filter(|&id| log.times.end[id] == SimTime::NEVER && log.times.start[id] < SimTime::NEVER);
        // One step's worth holds every kind of operation.
        for id in cut.take(length) {
            let operation = work.operation(OperationId(id as u32));
            let name = &job.plan.names[operation.name as usize];
            let (seconds, is_sent, words) = match operation.work {
                Work::Compute(time) => {
                    (time.seconds(), false, format!("its {name} takes {}", long(time.seconds())))
                }
                Work::Communicate { pattern, bytes } => {
                    let Some((link, seconds)) = slowest(case, table, pattern, bytes) else { continue };
                    let (link, rate) = (case.fabric.link_name(link), case.fabric.capacity(link));
                    let (size, takes) = (size(bytes), long(seconds));
                    (
                        seconds,
                        true,
                        format!("its {name} of {size} takes at least {takes} over {link} at {rate:.0}"),
                    )
                }
            };
            if longest.as_ref().is_none_or(|(most, ..)| seconds > *most) {
                longest = Some((seconds, row, is_sent, words));
            }
        }
    }
    let (seconds, row, is_sent, words) = longest?;
    let job = &work.jobs[row];
    let steps = done.replicates[done.chosen as usize].steps.iter().filter(|(of, ..)| *of == row).count();
    let todo = if seconds < SimTime::NEVER.seconds() / 2.0 && job.steps > 1 {
        "run fewer steps, or make them shorter"
    } else if is_sent {
        "send less, or raise that link's rate"
    } else {
        "make it shorter"
    };
    Some(format!("job {} ended {steps} of {} steps, {words}; {todo}", job.name, job.steps))
}

/// The link that takes longest for what a pattern puts on it, and the seconds at its whole rate.
fn slowest(case: &Case, table: &BundleTable, pattern: PatternId, bytes: u64) -> Option<(LinkId, f64)> {
    let mut loads = std::collections::BTreeMap::new();
    for bundle in table.bundles_of(pattern) {
        for (link, share) in table.links_of(bundle) {
            *loads.entry(link).or_insert(0.0) += share * table.volume[bundle] * bytes as f64;
        }
    }
    let times =
        loads.into_iter().map(|(link, bytes)| (link, bytes / case.fabric.capacity(link).bytes_per_s()));
    times.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
}

/// Bytes for people, in decimal units as rates have them.
fn size(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let unit = units.into_iter().find(|(_, scale)| bytes as f64 >= *scale);
    unit.map_or_else(|| format!("{bytes} B"), |(unit, scale)| format!("{:.2} {unit}", bytes as f64 / scale))
}

fn long(seconds: f64) -> String {
    if seconds >= DAY { format!("{:.1} days", seconds / DAY) } else { format!("{seconds:.3} s") }
}

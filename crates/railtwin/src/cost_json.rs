//! What jobs cost each other, as JSON: of the command's `--json` and of Python.
use std::collections::BTreeSet;

use railtwin_fabric::{CableId, Fabric};
use serde_json::{Value, json};

use crate::impact::{Impact, Impacts};
use crate::interference::{Band, Interference, StepTime};
use crate::what_if::Way;

/// What jobs on one fabric cost each other: `draws`, `jobs` with times in seconds, `links` that several use.
pub fn of_interference(found: &Interference, fabric: &Fabric) -> Value {
    let band = |band: &Band| json!({ "p5": band.p5, "median": band.median, "p95": band.p95 });
    let name = |row: usize| found.jobs[row].name.as_str();
    let jobs: Vec<Value> = found
        .jobs
        .iter()
        .map(|job| {
            let shares = job.shares.iter().map(|&(other, links)| json!({ "job": name(other), "links": links }));
            json!({
                "name": job.name, "gpus": job.gpus,
                "alone_s": band(&job.alone), "together_s": band(&job.together), "slowdown": band(&job.slowdown),
                "shares_links_with": shares.collect::<Vec<_>>(),
            })
        })
        .collect();
    let links = found.links.iter().map(|link| {
        let by = link
            .jobs
            .iter()
            .zip(&link.asked)
            .map(|(&job, share)| json!({ "job": name(job), "share": share }));
        json!({ "link": fabric.link_name(link.link), "asked": link.all(), "by": by.collect::<Vec<_>>() })
    });
    json!({ "draws": found.draws, "jobs": jobs, "links": links.collect::<Vec<_>>() })
}

/// Devices of a call, with step times in seconds before and after they are drained: one device as it is, several as
/// `devices` and, drained at once, as `together`.
pub fn of_impact(found: &Impacts, fabric: &Fabric) -> Value {
    let each = || found.each.iter().map(|one| of_device(one, fabric));
    match &found.together {
        None => each().next().unwrap_or_default(),
        Some(together) => json!({
            "devices": each().collect::<Vec<_>>(), "together": of_drained(together, fabric),
        }),
    }
}

/// One device and its kind.
fn of_device(found: &Impact, fabric: &Fabric) -> Value {
    let mut all = of_drained(found, fabric);
    let subject = found.subjects.first();
    all["device"] = json!(subject.map(|subject| &subject.name));
    all["kind"] = json!(subject.map(|subject| subject.kind));
    all["stand_in"] = json!(found.stand_ins.first().map(|one| fabric.host_name(one.by)));
    all
}

/// Devices that are drained together: cables, stand-ins, free hosts, jobs with step times in seconds.
pub fn of_drained(found: &Impact, fabric: &Fabric) -> Value {
    let jobs = found.jobs.iter().map(|job| {
        json!({
            "name": job.name, "ranks": job.ranks, "touched": job.touched,
            "queue_pairs_touched": job.queue_pairs, "queue_pairs": job.all_queue_pairs,
            "cut": job.cut, "gone": job.gone, "before": step(&job.before), "drained": step(&job.after),
        })
    });
    let cables: BTreeSet<CableId> =
        found.subjects.iter().flat_map(|subject| subject.cables.iter().copied()).collect();
    let cables = cables.into_iter().map(|cable| fabric.cable_name(cable));
    let stand_ins = found
        .stand_ins
        .iter()
        .map(|one| json!({ "lost": fabric.host_name(one.lost), "by": fabric.host_name(one.by) }));
    let free = found.free.iter().map(|&host| {
        let place = fabric.host(host);
        json!({
            "host": fabric.host_name(host), "pod": place.pod, "segment": place.segment, "is_backup": place.spare,
        })
    });
    json!({
        "cables": cables.collect::<Vec<_>>(), "stand_ins": stand_ins.collect::<Vec<_>>(),
        "free_hosts": free.collect::<Vec<_>>(), "jobs": jobs.collect::<Vec<_>>(),
    })
}

/// The placements of a job, the best first, with step times in seconds.
pub fn of_what_if(job: &str, ways: &[Way]) -> Value {
    let rows = ways.iter().map(|way| {
        let outcome = way.outcome.as_ref().ok().map(|outcome| {
            let others = outcome.others.iter().map(|other| {
                let mut one = step(&other.with);
                one["job"] = json!(other.name);
                one["without"] = step(&other.without);
                one
            });
            let mut all = step(&outcome.step);
            all["segments"] = json!(outcome.segments);
            all["pods"] = json!(outcome.pods);
            all["others"] = json!(others.collect::<Vec<_>>());
            all
        });
        json!({
            "placement": way.placement, "rank_order": way.rank_order, "is_written": way.is_written,
            "same": way.same, "outcome": outcome, "problem": way.outcome.as_ref().err(),
        })
    });
    json!({ "job": job, "ways": rows.collect::<Vec<_>>() })
}

/// A step time as JSON: median seconds and the band, or why there are none.
pub fn step(step: &StepTime) -> Value {
    let (p5, p95) = (step.band().map(|band| band.p5), step.band().map(|band| band.p95));
    json!({ "step_s": step.seconds(), "p5_s": p5, "p95_s": p95, "reason": step.reason() })
}

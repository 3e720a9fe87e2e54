//! What jobs cost each other, as JSON: of the command's `--json` and of Python.
use railtwin_fabric::Fabric;
use serde_json::{Value, json};

use crate::impact::Impact;
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

/// What a device touches, and step times in seconds before and after it is drained.
pub fn of_impact(found: &Impact, fabric: &Fabric) -> Value {
    let jobs = found.jobs.iter().map(|job| {
        json!({
            "name": job.name, "ranks": job.ranks, "touched": job.touched,
            "queue_pairs_touched": job.queue_pairs, "queue_pairs": job.all_queue_pairs,
            "cut": job.cut, "gone": job.gone, "before": step(&job.before), "drained": step(&job.after),
        })
    });
    let cables = found.subject.cables.iter().map(|&cable| fabric.cable_name(cable));
    json!({
        "device": found.subject.name, "kind": found.subject.kind, "cables": cables.collect::<Vec<_>>(),
        "stand_in": found.stand_in.map(|host| format!("host-{}", host.0)),
        "jobs": jobs.collect::<Vec<_>>(),
    })
}

/// The placements of a job, the best first, with step times in seconds.
pub fn of_what_if(job: &str, ways: &[Way]) -> Value {
    let rows = ways.iter().map(|way| {
        let outcome = way.outcome.as_ref().ok().map(|outcome| {
            let others = outcome.others.iter().map(|(name, time)| {
                let mut one = step(time);
                one["job"] = json!(name);
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
fn step(step: &StepTime) -> Value {
    let (p5, p95) = (step.band().map(|band| band.p5), step.band().map(|band| band.p95));
    json!({ "step_s": step.seconds(), "p5_s": p5, "p95_s": p95, "reason": step.reason() })
}

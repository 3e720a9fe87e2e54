//! The page of weeks of jobs: its sentence, and the data that it carries (docs/reference/report-payload.md).
use serde_json::{Value, json};

use super::figures::{Band, compared};
use super::told::{JobTold, Told};
use super::{ClusterQuestion, DAY};
use crate::columns::{PageTable, u32_column};
use crate::figures::declared::{Better, Unit, declared};
use crate::report::filled;

/// Rows of jobs that a page carries at most, over all policies and seeds; one seed is told whatever it takes.
const JOBS_MOST: usize = 60_000;
/// Pairs of jobs that contended, of one policy and seed: more edges are a hairball.
const PAIRS_MOST: usize = 60;
/// Shares of the GPUs' time closer than this are told as the same: what is shown has a tenth of a percent.
const SAME: f64 = 0.000_5;

/// The page with what was told of `cluster`, policy after policy, each under the same seeds.
pub fn page(cluster: &ClusterQuestion, description: &str, told: &[Told]) -> String {
    let hosts = (0..cluster.fabric.hosts().len()).map(railtwin_fabric::HostId::from_index);
    let places = hosts.map(|host| cluster.fabric.host_model(host).gpus).sum();
    let names = (cluster.name.as_str(), cluster.fabric.name(), description);
    filled(&cluster.name, "cluster", data(names, cluster.spec.sharing.name(), places, told))
}

/// The sentence of one policy and seed.
pub(super) fn headline_of(told: &Told) -> String {
    headline(&[vec![told]], 0, 0)
}

/// Policies in the order in which they were told, each with its seeds.
fn by_policy(told: &[Told]) -> Vec<Vec<&Told>> {
    let mut policies: Vec<Vec<&Told>> = Vec::new();
    for one in told {
        match policies.iter_mut().find(|of| of[0].policy == one.policy) {
            Some(of) => of.push(one),
            None => policies.push(vec![one]),
        }
    }
    policies
}

/// The policy that others are measured by: hashing, else what the scenario has, else the first.
fn base_of(policies: &[Vec<&Told>], own: &str) -> usize {
    let place = |name: &str| policies.iter().position(|of| of[0].policy == name);
    place("ecmp").or_else(|| place(own)).unwrap_or(0)
}

fn data((name, fabric, description): (&str, &str, &str), own: &str, places: u32, told: &[Told]) -> Value {
    let policies = by_policy(told);
    let base = base_of(&policies, own);
    let best = best_of(&policies, base, own);
    let bands: Vec<Vec<Band>> = policies.iter().map(|of| compared(of)).collect();
    let first = &told[0];
    let figures: Vec<Value> = first
        .figures
        .iter()
        .map(|figure| {
            let (better, ratio) = reading(figure.name);
            let values = bands.iter().map(|of| {
                let band = of.iter().find(|band| band.name == figure.name)?;
                Some(json!({ "least": band.least, "median": band.median, "most": band.most }))
            });
            json!({
                "name": figure.name, "meaning": figure.meaning,
                "unit": if ratio { "ratio" } else { figure.unit },
                "better": better, "values": values.collect::<Vec<Option<Value>>>(),
            })
        })
        .collect();
    // Seeds are told whole, job by job, as far as there is room, so that policies stay comparable.
    let mut whole = 0;
    let mut rows = 0;
    for seed in 0..policies[0].len() {
        rows += policies.iter().map(|of| of[seed].jobs.len()).sum::<usize>();
        if seed > 0 && rows > JOBS_MOST {
            break;
        }
        whole = seed + 1;
    }
    let seeds: Vec<u64> = policies[0].iter().map(|one| one.seed).collect();
    let lives = policies.iter().flat_map(|of| of[..whole].iter().map(|one| life(one)));
    json!({
        "name": name, "fabric_name": fabric, "description": description,
        "version": env!("CARGO_PKG_VERSION"), "headline": headline(&policies, base, best),
        "gpus": first.gpus, "places": places, "span_s": first.days * DAY,
        "policies": policies.iter().map(|of| of[0].policy).collect::<Vec<_>>(), "base": base,
        "best": best,
        "seeds": seeds.iter().map(|&seed| seed as f64).collect::<Vec<_>>(), "whole_seeds": whole,
        "figures": figures,
        "jobs": policies[0][..whole].iter().map(|one| jobs(one)).collect::<Vec<_>>(),
        "lives": lives.collect::<Vec<_>>(),
    })
}

/// Which way a figure is better, and whether it is a share; a figure that is not known here is shown as it is.
fn reading(name: &str) -> (Option<&'static str>, bool) {
    let Some(of) = declared(name) else { return (None, false) };
    (Some(of.better).filter(|way| *way != Better::Neither).map(Better::name), of.unit == Unit::Share)
}

/// Jobs of a seed, which all policies have alike.
fn jobs(told: &Told) -> Value {
    PageTable::new(told.jobs.len())
        .text("name", told.jobs.iter().map(|job| job.name.as_str()))
        .text("class", told.jobs.iter().map(|job| job.class.as_str()))
        .u32("gpus", &told.jobs.iter().map(|job| job.gpus).collect::<Vec<_>>())
        .f64("submitted_s", &told.jobs.iter().map(|job| job.submitted_s).collect::<Vec<_>>())
        .finish()
}

/// Times that a job ran of what it would have run alone under the policy; of one that still runs at the end, so far.
fn slowdown(job: &JobTold, span: f64) -> f64 {
    let so_far = || {
        let alone = job.steps * job.step_alone_s * job.own_collisions?;
        (alone > 0.0).then_some((span - job.started_s?) / alone)
    };
    job.slowdown.or_else(so_far).unwrap_or(f64::NAN)
}

/// What became of the jobs under one policy and seed.
fn life(told: &Told) -> Value {
    let span = told.days * DAY;
    let column = |of: &dyn Fn(&JobTold) -> Option<f64>| -> Vec<f64> {
        told.jobs.iter().map(|job| of(job).unwrap_or(f64::NAN)).collect()
    };
    let narrow =
        |of: &dyn Fn(&JobTold) -> f64| -> Vec<f32> { told.jobs.iter().map(|job| of(job) as f32).collect() };
    let (mut start, mut first, mut last) = (vec![0], Vec::new(), Vec::new());
    for job in &told.jobs {
        first.extend(job.held.iter().map(|run| run.0));
        last.extend(job.held.iter().map(|run| run.1));
        start.push(first.len() as u32);
    }
    let jobs = PageTable::new(told.jobs.len())
        .f64("started_s", &column(&|job| job.started_s))
        .f64("ended_s", &column(&|job| job.ended_s))
        .f32("slowdown", &narrow(&|job| slowdown(job, span)))
        .f32("contended_s", &narrow(&|job| job.contended_s))
        .finish();
    let shares = |values: &[Option<f64>]| -> Vec<f32> {
        values.iter().map(|value| value.unwrap_or(f64::NAN) as f32).collect()
    };
    let plain = |values: &[f64]| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() };
    let hours = PageTable::new(told.hours.occupancy.len())
        .f32("occupancy", &plain(&told.hours.occupancy))
        .f32("gpu_utilization", &shares(&told.hours.gpu_utilization))
        .f32("gpu_intensity", &shares(&told.hours.gpu_intensity))
        .f32("waiting", &plain(&told.hours.waiting))
        .f32("contending", &plain(&told.hours.contending))
        .f32("inference_link_share", &shares(&told.hours.inference_link_share))
        .finish();
    let pairs = &told.contended[..told.contended.len().min(PAIRS_MOST)];
    let side = |of: fn(&(usize, usize, f64)) -> usize| -> Vec<u32> {
        pairs.iter().map(|pair| of(pair) as u32).collect()
    };
    let pairs = PageTable::new(pairs.len())
        .u32("one", &side(|pair| pair.0))
        .u32("other", &side(|pair| pair.1))
        .f64("seconds", &pairs.iter().map(|pair| pair.2).collect::<Vec<_>>())
        .finish();
    json!({
        "jobs": jobs, "hours": hours, "pairs": pairs, "pairs_total": told.contended.len(),
        "held": { "start": u32_column(&start), "first": u32_column(&first), "last": u32_column(&last) },
    })
}

fn percent(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}

fn median(of: &[&Told], name: &str) -> Option<f64> {
    compared(of).into_iter().find(|band| band.name == name).map(|band| band.median)
}

/// The policy under which GPUs compute most of the time for which they are held. Where others come as close as can be
/// told the base goes first, then what the scenario has.
fn best_of(policies: &[Vec<&Told>], base: usize, own: &str) -> usize {
    let used: Vec<f64> =
        policies.iter().map(|of| median(of, "gpu_utilization").unwrap_or(f64::NEG_INFINITY)).collect();
    let most = used.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let near = |policy: &usize| used[*policy] > most - SAME || used[*policy] == most;
    let own = policies.iter().position(|of| of[0].policy == own);
    let first = [Some(base), own].into_iter().flatten().find(near);
    first.or_else(|| (0..used.len()).find(|&policy| used[policy] == most)).unwrap_or(base)
}

/// Seeds under which GPUs compute more by `one` than by `other`.
fn wins(one: &[&Told], other: &[&Told]) -> usize {
    let value = |told: &Told| told.value("gpu_utilization");
    one.iter().zip(other).filter(|(one, other)| value(one) > value(other)).count()
}

/// The answer: how much of their time GPUs compute under the best policy, and under the one it is measured by.
fn headline(policies: &[Vec<&Told>], base: usize, best: usize) -> String {
    let used = |policy: usize| median(&policies[policy], "gpu_utilization");
    let name = |policy: usize| policies[policy][0].policy;
    let seeds = policies[0].len();
    let over = if seeds > 1 { format!(" (median of {seeds} seeds)") } else { String::new() };
    let Some(of_base) = used(base) else {
        return format!("No job held a GPU under {}.", name(base));
    };
    let held = "of the time for which jobs hold them";
    if policies.len() == 1 {
        let slowdown = median(&policies[0], "slowdown_mean").map_or(String::new(), |mean| {
            format!("; jobs that end run {mean:.2} times as long as they would alone")
        });
        return format!("Under {}, GPUs compute for {} {held}{over}{slowdown}.", name(0), percent(of_base));
    }
    if best == base {
        let of_base = percent(of_base);
        return format!(
            "No policy keeps GPUs busier than {}: they compute for {of_base} {held}{over}.",
            name(base)
        );
    }
    let of_best = used(best).unwrap_or(of_base);
    let noise = match (seeds, wins(&policies[best], &policies[base])) {
        (1, _) => String::new(),
        (_, wins) if wins == seeds => format!(", more in each of {seeds} seeds"),
        (_, wins) => format!(", but more in only {wins} of {seeds} seeds"),
    };
    let rivals = (0..policies.len()).filter(|&policy| policy != best && policy != base);
    let rivals = rivals.filter_map(|policy| {
        let ahead = wins(&policies[policy], &policies[best]);
        let value = used(policy)?;
        match seeds {
            1 if value > of_best - SAME => Some(format!("; {} does as well", name(policy))),
            2.. if ahead > 0 => Some(format!("; {} is ahead of it in {ahead}", name(policy))),
            _ => None,
        }
    });
    let rivals: String = rivals.collect();
    let ended = [best, base].map(|policy| median(&policies[policy], "jobs_ended"));
    let ended = match ended {
        [Some(one), Some(other)] if one != other => {
            format!(" {one:.0} jobs end within the span, {other:.0} under {}.", name(base))
        }
        _ => String::new(),
    };
    format!(
        "{} keeps GPUs computing for {} {held}, {} for {}{over}{noise}{rivals}.{ended}",
        name(best),
        percent(of_best),
        name(base),
        percent(of_base),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cluster::Figure;
    use crate::cluster::told::{Effort, Hours};

    fn figure(name: &'static str, value: f64) -> Figure {
        Figure { name, meaning: "", unit: "", value: Some(value), reason: "", note: String::new() }
    }

    fn told(policy: &'static str, seed: u64, used: f64, ended: f64) -> Told {
        let job = JobTold {
            name: "job-0001".to_owned(),
            class: "resnet-50".to_owned(),
            gpus: 3,
            submitted_s: 10.0,
            started_s: Some(43_200.0),
            ended_s: None,
            steps: 100.0,
            step_alone_s: 216.0,
            communication_s: 0.1,
            slowdown: None,
            own_collisions: Some(1.0),
            contended_s: 5.0,
            shared_a_link: true,
            held: vec![(0, 1), (8, 8)],
        };
        let queued = JobTold { started_s: None, steps: 0.0, held: Vec::new(), ..job.clone() };
        Told {
            policy,
            seed,
            gpus: 16,
            days: 1.0,
            figures: vec![figure("gpu_utilization", used), figure("jobs_ended", ended), figure("new", 1.0)],
            reasons: BTreeMap::new(),
            jobs: vec![job, queued],
            hours: Hours {
                occupancy: vec![0.5, 0.0],
                gpu_utilization: vec![Some(used), None],
                waiting: vec![1.0, 1.0],
                contending: vec![0.0, 0.0],
                gpu_intensity: vec![Some(100.0), None],
                inference_link_share: vec![Some(0.25), None],
            },
            contended: (0..70).map(|number| (0, 1, 100.0 - f64::from(number))).collect(),
            effort: Effort {
                epochs: 0,
                watched_steps: 0.0,
                skipped_steps: 0.0,
                checks: 0,
                checks_failed: 0,
                plans: 0,
                moves: 0,
            },
            notes: Vec::new(),
            idle_gate: None,
            assumed: Vec::new(),
        }
    }

    fn of(told: &[Told]) -> Value {
        data(("weeks", "two layers", "what?"), "crux", 24, told)
    }

    #[test]
    fn the_best_policy_is_set_against_hashing() {
        let payload = of(&[told("crux", 1, 0.824, 1730.0), told("ecmp", 1, 0.606, 1180.0)]);
        assert_eq!(
            payload["headline"],
            "crux keeps GPUs computing for 82.4 % of the time for which jobs hold them, ecmp for 60.6 %. \
             1730 jobs end within the span, 1180 under ecmp."
        );
        assert_eq!((&payload["base"], &payload["policies"]), (&json!(1), &json!(["crux", "ecmp"])));
        // What the scenario has goes first among equals, and the others are named.
        let near = of(&[told("ecmp", 1, 0.6, 1.0), told("taccl", 1, 0.8002, 1.0), told("crux", 1, 0.8, 1.0)]);
        assert_eq!(near["best"], 2);
        assert_eq!(
            near["headline"],
            "crux keeps GPUs computing for 80.0 % of the time for which jobs hold them, ecmp for 60.0 %; taccl does \
             as well."
        );
        let same = of(&[told("ecmp", 1, 0.8, 1.0), told("crux", 1, 0.8001, 1.0)]);
        assert!(same["headline"].as_str().unwrap().starts_with("No policy keeps GPUs busier than ecmp"));
        let alone = of(&[told("varys", 1, 0.8, 1.0)]);
        assert_eq!(
            alone["headline"],
            "Under varys, GPUs compute for 80.0 % of the time for which jobs hold them."
        );
    }

    #[test]
    fn seeds_that_disagree_are_told() {
        let lives = |used: [f64; 2]| {
            [told("ecmp", 1, 0.5, 5.0), told("ecmp", 2, 0.6, 5.0)]
                .into_iter()
                .chain([told("crux", 1, used[0], 5.0), told("crux", 2, used[1], 5.0)])
                .collect::<Vec<Told>>()
        };
        let headline = |used| of(&lives(used))["headline"].as_str().unwrap().to_owned();
        assert!(headline([0.7, 0.7]).ends_with("(median of 2 seeds), more in each of 2 seeds."));
        assert!(headline([0.7, 0.55]).ends_with("but more in only 1 of 2 seeds."));
        let mut three = lives([0.7, 0.8]);
        three.extend([told("taccl", 1, 0.75, 5.0), told("taccl", 2, 0.74, 5.0)]);
        let text = of(&three)["headline"].as_str().unwrap().to_owned();
        assert!(text.ends_with("more in each of 2 seeds; taccl is ahead of it in 1."), "{text}");
    }

    #[test]
    fn what_is_missing_is_no_number_and_what_runs_is_told_so_far() {
        let payload = of(&[told("ecmp", 1, 0.5, 5.0)]);
        let narrow = |column: &Value| -> Vec<f32> {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(column["data"].as_str().unwrap());
            bytes.unwrap().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
        };
        let life = &payload["lives"][0];
        // Half a day for 100 steps of 216 s.
        let slowdowns = narrow(&life["jobs"]["columns"]["slowdown"]);
        assert_eq!(slowdowns[0], 2.0);
        assert!(slowdowns[1].is_nan());
        assert!(narrow(&life["hours"]["columns"]["gpu_intensity"])[1].is_nan());
        let tide = narrow(&life["hours"]["columns"]["inference_link_share"]);
        assert!(tide[0] == 0.25 && tide[1].is_nan());
        assert_eq!((&life["pairs"]["rows"], &life["pairs_total"]), (&json!(60), &json!(70)));
        assert_eq!(payload["figures"][0]["unit"], "ratio");
        assert_eq!(payload["figures"][2]["better"], Value::Null);
    }

    /// A page is for looking at: of many seeds the first ones are told job by job, the figures are of all.
    #[test]
    fn seeds_are_whole_as_far_as_there_is_room() {
        let mut lives = vec![told("ecmp", 1, 0.5, 5.0), told("ecmp", 2, 0.6, 6.0), told("ecmp", 3, 0.7, 7.0)];
        for life in &mut lives[..2] {
            life.jobs = vec![life.jobs[0].clone(); JOBS_MOST / 2];
        }
        let payload = of(&lives);
        assert_eq!(payload["whole_seeds"], 2);
        assert_eq!(
            (payload["lives"].as_array().unwrap().len(), payload["seeds"].as_array().unwrap().len()),
            (2, 3)
        );
        assert_eq!(payload["figures"][0]["values"][0], json!({ "least": 0.5, "median": 0.6, "most": 0.7 }));
    }
}

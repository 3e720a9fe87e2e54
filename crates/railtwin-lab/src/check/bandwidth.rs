//! Bandwidth of jobs by balancer, and silent links under probes, beside the flow engine.
use std::path::Path;
use std::time::Duration;

use railtwin_engine::Case;
use railtwin_units::SimTime;

use super::{CheckPlan, LabFinding};
use crate::bandwidth::{Bench, LabJob, avoid};
use crate::host::LabError;
use crate::master::{LabBalancer, MasterSetting};
use crate::page::{AvoidedLink, BandwidthDraw};
use crate::plant::Plant;
use crate::simulated::{GivenConnection, on_paths, probe_reaction};

/// Distance that measured and simulated bandwidth may have.
const NEAR: f64 = 0.1;
/// From one survey of C4P to the next.
const PERIOD: SimTime = SimTime::from_ns(100_000_000);
/// Time after which a probe is lost.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Time within which a silent link is to be left, s.
const AVOID_S: f64 = 1.0;
/// Distance that the measured and the simulated mean of that may have.
const AVOID_NEAR: f64 = 0.3;

fn setting(case: &Case, balancer: LabBalancer, draw: u32) -> MasterSetting {
    MasterSetting { balancer, ecmp: case.routing.ecmp, draw: u64::from(draw), timeout: TIMEOUT }
}

/// The draws of one balancer, each with the flow engine on its own paths.
///
/// # Errors
/// A rank fails, or the simulation does.
pub fn draws(
    plant: &Plant,
    folder: &Path,
    (name, case, jobs): (&str, &Case, &[LabJob]),
    plan: CheckPlan,
) -> Result<Vec<BandwidthDraw>, LabError> {
    let bench = Bench::of(plant, jobs, folder, plan.seconds)?;
    let balancer = match name {
        "c4p" => LabBalancer::C4p(None),
        "disjoint" => LabBalancer::Disjoint,
        _ => LabBalancer::Ecmp,
    };
    let mut all = Vec::new();
    for draw in 0..plan.draws {
        let setting = setting(case, balancer, draw);
        let measured = bench.run(&format!("{name}-{draw}"), &setting, |_| Ok(()))?;
        let given: Vec<GivenConnection> = measured
            .by_connection()
            .into_iter()
            .map(|(one, paths)| GivenConnection {
                job: one.job,
                source: one.source,
                target: one.target,
                paths,
            })
            .collect();
        let simulated = on_paths(case, &given)?;
        all.push(BandwidthDraw {
            balancer: name.to_owned(),
            draw,
            jobs: jobs.iter().map(|job| job.name.clone()).collect(),
            measured: measured.busbw,
            simulated: simulated.jobs.iter().map(|job| job.bit_per_s).collect(),
            most_on_a_link: simulated.most_on_a_link,
        });
    }
    Ok(all)
}

fn is_near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= NEAR
}

/// Judges the draws of all balancers.
pub fn judged(draws: &[BandwidthDraw]) -> Vec<LabFinding> {
    let of = |name: &str| draws.iter().filter(|one| one.balancer == name).collect::<Vec<_>>();
    let (ecmp, c4p, disjoint) = (of("ecmp"), of("c4p"), of("disjoint"));
    let mean = |some: &[&BandwidthDraw]| {
        some.iter().filter_map(|one| one.measured_mean()).sum::<f64>() / some.len().max(1) as f64
    };
    let ratios =
        |some: &[&BandwidthDraw]| -> Vec<f64> { some.iter().filter_map(|one| one.ratio()).collect() };
    let percent = |ratios: &[f64]| {
        let all: Vec<String> = ratios.iter().map(|ratio| format!("{:+.1}", 100.0 * (ratio - 1.0))).collect();
        format!("{} %", all.join(" "))
    };
    let mut findings = Vec::new();
    for (name, some) in [("ECMP", &ecmp), ("disjoint", &disjoint), ("C4P", &c4p)] {
        if some.is_empty() {
            continue;
        }
        let ratios = ratios(some);
        let near = ratios.iter().filter(|&&ratio| is_near(ratio)).count();
        let seen =
            format!("{near} of {}: {}; {:.0} Mbit/s a job", some.len(), percent(&ratios), mean(some) / 1e6);
        let what = format!("{name}: mean over jobs of each draw beside the flow engine on its paths");
        findings.push(LabFinding::new(what, "within 10 %", seen, near == some.len()));
    }
    let jobs: Vec<(f64, f64)> = c4p.iter().filter_map(|one| one.job_ratios()).collect();
    if !jobs.is_empty() {
        let least = jobs.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
        let most = jobs.iter().map(|one| one.1).fold(0.0, f64::max);
        let seen = percent(&[least, most]);
        let ok = is_near(least) && is_near(most);
        findings.push(LabFinding::new("C4P: each job beside the flow engine", "within 10 %", seen, ok));
    }
    if !ecmp.is_empty() && !c4p.is_empty() {
        let gain = mean(&c4p) / mean(&ecmp);
        let most = |some: &[&BandwidthDraw]| some.iter().map(|one| one.most_on_a_link).max().unwrap_or(0);
        let (planned, hashed) = (most(&c4p), most(&ecmp));
        let expected = "above 1, as the fullest link has fewer connections (C4 figures 9 and 10: 1.7)";
        let seen = format!("{gain:.2}, {planned} connections on the fullest link in place of {hashed}");
        let ok = gain > 1.0 && planned < hashed;
        findings.push(LabFinding::new("gain of C4P over ECMP", expected, seen, ok));
    }
    findings
}

/// Silences links while C4P probes, and judges how soon connections leave them.
pub(super) fn avoided(
    plant: &Plant,
    folder: &Path,
    (case, jobs): (&Case, &[LabJob]),
    plan: CheckPlan,
) -> Result<(LabFinding, AvoidedLink), LabError> {
    let bench = Bench::of(plant, jobs, folder, 2.0 * f64::from(plan.silenced) + 1.0)?;
    let mut samples = Vec::new();
    let setting = setting(case, LabBalancer::C4p(Some(PERIOD)), 0);
    bench.run("silent", &setting, |master| {
        samples = avoid(plant, master, plan.silenced)?;
        Ok(())
    })?;
    let simulated = probe_reaction(50)?;
    let left: Vec<f64> = samples.iter().filter_map(|one| one.seconds).collect();
    let mean = left.iter().sum::<f64>() / left.len().max(1) as f64;
    let most = left.iter().copied().fold(0.0, f64::max);
    let is_near = (mean / simulated.mean_s - 1.0).abs() <= AVOID_NEAR;
    let ok = left.len() == samples.len() && most <= AVOID_S && is_near;
    let links: Vec<String> = samples.iter().map(|one| plant.fabric.link_name(one.link)).collect();
    let expected = format!(
        "within 1 s; mean within 30 % of the simulated {:.0} ms ({:.0} to {:.0} ms)",
        simulated.mean_s * 1e3,
        simulated.least_s * 1e3,
        simulated.most_s * 1e3
    );
    let all: Vec<String> = left.iter().map(|seconds| format!("{:.0}", seconds * 1e3)).collect();
    let seen = format!(
        "{} of {} left after {} ms, mean {:.0} ms",
        left.len(),
        samples.len(),
        all.join(" "),
        mean * 1e3
    );
    let row = AvoidedLink {
        link: links.first().cloned().unwrap_or_default(),
        measured_s: mean,
        simulated_s: [simulated.least_s, simulated.mean_s, simulated.most_s],
        is_ok: ok,
    };
    Ok((LabFinding::new("silent link left by C4P that probes each 100 ms", expected, seen, ok), row))
}

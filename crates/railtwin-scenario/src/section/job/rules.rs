//! What no single key of a job shows.
use std::collections::BTreeSet;

use railtwin_control::RankOrder;

use super::experts::trouble_of_collective;
use super::{ALL_JOBS, JobSize, JobSpec, Placement, Work};
use crate::violation::Violation;

/// Gives each job without a name the name `job-<number>`.
pub(crate) fn name_jobs(jobs: &mut [JobSpec]) {
    for (index, job) in jobs.iter_mut().enumerate() {
        if job.name.is_empty() {
            job.name = format!("job-{index}");
        }
    }
}

/// The job of which a copy has that name.
fn copied<'a>(jobs: &'a [JobSpec], name: &str) -> Option<&'a str> {
    let (of, number) = name.rsplit_once('-')?;
    let copy: u32 = number.parse().ok().filter(|copy: &u32| copy.to_string() == number)?;
    jobs.iter().find(|job| job.name == of && job.count > 1 && copy < job.count).map(|job| job.name.as_str())
}

/// What is wrong with the jobs, by the paths of keys.
pub(crate) fn troubles_of_jobs(jobs: &[JobSpec]) -> Vec<(String, Violation)> {
    let mut all = Vec::new();
    let mut push = |path: String, trouble: Violation| all.push((path, trouble));
    let mut names = BTreeSet::new();
    for (index, job) in jobs.iter().enumerate() {
        if !names.insert(job.name.as_str()) {
            let message = format!("two jobs are called `{}`", job.name);
            push(format!("job.{index}.name"), (message, "give each its own name"));
        }
        if let Some(of) = copied(jobs, &job.name).filter(|_| job.count == 1) {
            let message = format!("`{}` is also the name of a copy of `{of}`", job.name);
            push(format!("job.{index}.name"), (message, "give each its own name"));
        }
        if job.name == ALL_JOBS && job.count == 1 && jobs.len() > 1 {
            let message = format!("no job of several is called `{ALL_JOBS}`");
            push(
                format!("job.{index}.name"),
                (message, "write another name: figures of all jobs have this one"),
            );
        }
        if let Some((key, trouble)) = trouble_of_job(job) {
            push(format!("job.{index}.{key}"), trouble);
        }
    }
    all
}

fn trouble_of_job(job: &JobSpec) -> Option<(&'static str, Violation)> {
    if let Work::Collective(spec) = &job.work
        && let Some(trouble) = trouble_of_collective(spec)
    {
        return Some(trouble);
    }
    let mut gpus = BTreeSet::new();
    if let Some(gpu) = job.gpus_of_host.iter().find(|gpu| !gpus.insert(**gpu)) {
        let message = format!("gpus_of_host has GPU {gpu} twice");
        return Some(("gpus_of_host", (message, "write each GPU once")));
    }
    if let (Some(most), false) = (job.gpus_per_host, job.gpus_of_host.is_empty()) {
        let message = format!("gpus_per_host = {most} beside gpus_of_host, which says how many they are");
        return Some(("gpus_per_host", (message, "leave one of both away")));
    }
    if let Placement::Hosts(hosts) = &job.placement {
        let mut seen = BTreeSet::new();
        if let Some(host) = hosts.iter().find(|host| !seen.insert(**host)) {
            let message = format!("the placement has host {host} twice");
            return Some(("placement", (message, "write each host once")));
        }
        if job.count > 1 {
            let message = format!("{} copies of the job are placed on the same hosts", job.count);
            return Some(("placement", (message, "write count = 1 and one [[job]] for each")));
        }
        if let Some(JobSize::Hosts(size)) = job.size
            && size as usize != hosts.len()
        {
            let message = format!("hosts = {size}, but the placement has {} hosts", hosts.len());
            return Some(("hosts", (message, "leave `hosts` away: the placement says it")));
        }
    }
    if let (Some(host), true) = (job.lost.first(), job.count > 1) {
        let message = format!("host {host} is lost to one of {} copies of the job", job.count);
        return Some(("lost", (message, "write count = 1 and one [[job]] for each")));
    }
    if job.until.is_some() && job.duration.is_some() {
        let message = "until beside duration, which both say when the job ends".to_owned();
        return Some(("duration", (message, "leave one of both away")));
    }
    if let Some(until) = job.until.filter(|until| *until <= job.start) {
        let message = format!("the job starts at {} and is to end at {until}", job.start);
        return Some(("until", (message, "write a later time, or leave it away")));
    }
    if job.placement == Placement::PpAcrossPods && job.rank_order != RankOrder::Given {
        let message = format!("rank_order = \"{}\" would take pipeline stages apart", job.rank_order.name());
        return Some((
            "rank_order",
            (message, "leave it away: placement = \"pp-across-pods\" says the order"),
        ));
    }
    None
}

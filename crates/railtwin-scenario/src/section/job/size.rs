//! Whether a job asks for as many GPUs as it has ranks.
use railtwin_fabric::Fabric;

use super::{JobSize, JobSpec, Placement, Work, Workload};
use crate::ScenarioError;
use crate::resolve::Source;

/// Refuses job `row` where its size or the hosts that it names are not what its `count` ranks fill.
pub(crate) fn check_size(
    fabric: &Fabric,
    row: usize,
    job: &JobSpec,
    count: u32,
    source: Source<'_>,
) -> Result<(), ScenarioError> {
    let gpus = per_host(fabric, job);
    let refuse = |key: &str, message: String, hint: &str| {
        Err(source.error(&format!("job.{row}.{key}"), message, Some(hint)))
    };
    let have = fabric.host_models().first().map_or(1, |model| model.gpus);
    if let Some(asked) = job.gpus_per_host.filter(|asked| *asked > have) {
        let message = format!("gpus_per_host = {asked}, but a host has {have} GPUs");
        return refuse("gpus_per_host", message, &format!("write 1 to {have}, or leave it away for all"));
    }
    if let Some(asked) = job.gpus_of_host.iter().find(|asked| **asked >= have) {
        let message = format!("gpus_of_host has GPU {asked}, but a host has GPUs 0 to {}", have - 1);
        return refuse("gpus_of_host", message, "name GPUs of a host");
    }
    let because = ranks_in_words(job, count);
    if let Some(size) = job.size
        && let Some(asked) = ranks(fabric, job, job.size)
        && asked != count
    {
        let (key, given) = match size {
            JobSize::Gpus(asked) => ("gpus", format!("gpus = {asked}")),
            JobSize::Hosts(hosts) => ("hosts", format!("hosts = {hosts}, which have {asked} GPUs")),
        };
        let fits = match size {
            JobSize::Hosts(_) if count.is_multiple_of(gpus) => format!("write hosts = {}", count / gpus),
            _ => format!("write gpus = {count}"),
        };
        return refuse(
            key,
            format!("{given}, but {because}"),
            &format!("{fits}, or change what the job runs"),
        );
    }
    let fill = count.div_ceil(gpus);
    let Placement::Hosts(hosts) = &job.placement else { return Ok(()) };
    if hosts.len() as u64 > u64::from(fill) {
        let message = format!("the placement has {} hosts, but {because}, which fill {fill}", hosts.len());
        return refuse("placement", message, "name as many hosts as the ranks fill");
    }
    let room = room(fabric, job, hosts);
    if room.is_some_and(|room| room < u64::from(count)) {
        let named: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let message = format!(
            "the placement names {} of {fill} hosts ({}), but {because} on {gpus} GPUs of each host",
            hosts.len(),
            named.join(", "),
        );
        return refuse("placement", message, &format!("name {fill} hosts, or make the job smaller"));
    }
    Ok(())
}

/// GPUs of these hosts that the job may take; none where the fabric lacks one of them.
fn room(fabric: &Fabric, job: &JobSpec, hosts: &[u32]) -> Option<u64> {
    let most = per_host(fabric, job);
    let of_host = |&host: &u32| {
        let host = fabric.hosts().get(host as usize)?;
        Some(u64::from(fabric.host_models()[host.model as usize].gpus.min(most)))
    };
    hosts.iter().map(of_host).sum()
}

/// «the job has 512 ranks, tp × pp × dp = 8 × 8 × 8».
fn ranks_in_words(job: &JobSpec, count: u32) -> String {
    match &job.work {
        Work::Workload(Workload::Recipe(spec)) => {
            format!("the job has {count} ranks, tp × pp × dp = {} × {} × {}", spec.tp, spec.pp, spec.dp)
        }
        Work::Workload(Workload::Simai(spec)) => format!("{} has {count} ranks", spec.simai),
        _ => format!("the job has {count} ranks"),
    }
}

/// GPUs of a host that the job takes.
pub(crate) fn per_host(fabric: &Fabric, job: &JobSpec) -> u32 {
    let gpus = fabric.host_models().first().map_or(1, |model| model.gpus);
    if !job.gpus_of_host.is_empty() {
        return gpus.min(job.gpus_of_host.len() as u32);
    }
    job.gpus_per_host.map_or(gpus, |asked| asked.min(gpus))
}

/// Ranks that a job of this size has; none where the work says it.
pub(crate) fn ranks(fabric: &Fabric, job: &JobSpec, size: Option<JobSize>) -> Option<u32> {
    size.map(|size| match size {
        JobSize::Hosts(hosts) => hosts.saturating_mul(per_host(fabric, job)),
        JobSize::Gpus(gpus) => gpus,
    })
}

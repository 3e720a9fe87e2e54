//! The jobs of a scenario that ranks can do: one all-reduce over a ring, one rank a NIC.
use railtwin::queue_pairs::plan_jobs;
use railtwin_engine::Case;
use railtwin_fabric::DeviceId;
use railtwin_routing::LinkMask;
use railtwin_workload::{Collective, Work};

use super::lanes_of;
use crate::host::LabRefusal;
use crate::plant::{Plant, PlantNic};

/// First TCP port of the first job.
const FIRST_PORT: u16 = 20_000;
/// Most bytes of one stage of a collective.
const CHUNK: u64 = 4 << 20;

/// Most connections of a rank to another.
const LANES_MAX: u32 = 16;
/// Most jobs: each has a hundred ports of its own below those of hosts.
const JOBS_MAX: usize = 100;
/// Most bytes of a collective.
const BYTES_MAX: u64 = 1 << 30;

/// A job for real ranks.
#[derive(Clone, Debug)]
pub struct LabJob {
    /// Its name.
    pub name: String,
    /// The NIC of each rank, in the order of the ring.
    pub ranks: Vec<PlantNic>,
    /// Bytes of an all-reduce.
    pub bytes: u64,
    /// Connections each way between two ranks.
    pub lanes: u32,
}

impl LabJob {
    /// Bytes by which bus bandwidth counts an all-reduce: 2 (n - 1) / n of its size, as nccl-tests has it.
    pub fn bus_bytes(&self) -> f64 {
        let ranks = self.ranks.len() as f64;
        2.0 * (ranks - 1.0) / ranks * self.bytes as f64
    }
}

/// The jobs of a case.
///
/// # Errors
/// [`LabRefusal`] for a job that is no all-reduce over one ring with one rank a NIC.
pub fn jobs_of(plant: &Plant, case: &Case) -> Result<Vec<LabJob>, LabRefusal> {
    let accepted = "write jobs with one all-reduce, algorithm = \"ring\", and one GPU of a host";
    let refused = |name: &str, what: &str| Err(LabRefusal::new(format!("job {name}: {what}"), accepted));
    let (demands, _) = plan_jobs(case, 0, &LinkMask::none(&case.fabric));
    let mut jobs = Vec::new();
    for (row, job) in case.work.jobs.iter().enumerate() {
        let mut own = job.plan.operations.iter().map(|operation| match operation.work {
            Work::Communicate { pattern, bytes } => {
                (job.plan.patterns[pattern.index()].collective == Collective::AllReduce).then_some(bytes)
            }
            Work::Compute(_) => None,
        });
        let (Some(Some(bytes)), None) = (own.next(), own.next()) else {
            return refused(&job.name, "its step is not one all-reduce");
        };
        let edges: Vec<(DeviceId, DeviceId)> = demands
            .iter()
            .filter(|demand| demand.job as usize == row)
            .map(|demand| (demand.source, demand.target))
            .collect();
        let Some(ring) = ring(&edges) else {
            return refused(&job.name, "its connections between hosts are not one ring");
        };
        let ranks: Option<Vec<PlantNic>> = ring.iter().map(|&nic| plant.nic_of(nic).cloned()).collect();
        let Some(ranks) = ranks.filter(|ranks| ranks.len() == job.plan.ranks as usize) else {
            return refused(&job.name, "several of its ranks share a NIC");
        };
        let lanes = lanes_of(case, ranks.first().map_or(1, |nic| nic.interfaces.len() as u32));
        if lanes > LANES_MAX {
            let message = format!("job {}: {lanes} queue pairs of a connection are too many", job.name);
            return Err(LabRefusal::new(
                message,
                format!("write queue_pairs for at most {LANES_MAX} over all ports"),
            ));
        }
        if !(1_024..=BYTES_MAX).contains(&bytes) {
            let message = format!("job {}: an all-reduce of {bytes} bytes", job.name);
            return Err(LabRefusal::new(message, format!("write 1024 to {BYTES_MAX} bytes")));
        }
        jobs.push(LabJob { name: job.name.clone(), ranks, bytes: bytes / 4 * 4, lanes });
    }
    if jobs.len() > JOBS_MAX {
        let message = format!("{} jobs are more than a lab runs", jobs.len());
        return Err(LabRefusal::new(message, format!("write at most {JOBS_MAX} jobs")));
    }
    match jobs.is_empty() {
        true => Err(LabRefusal::new("the scenario has no job", accepted)),
        false => Ok(jobs),
    }
}

/// The NICs of one ring in their order; none where edges are no ring.
fn ring(edges: &[(DeviceId, DeviceId)]) -> Option<Vec<DeviceId>> {
    let first = edges.first()?.0;
    let (mut at, mut ring) = (first, Vec::new());
    while ring.len() < edges.len() {
        let mut next = edges.iter().filter(|edge| edge.0 == at);
        let (Some(edge), None) = (next.next(), next.next()) else { return None };
        ring.push(at);
        at = edge.1;
    }
    (at == first).then_some(ring)
}

/// The job file of a rank.
pub(super) fn text(job: &LabJob, row: usize, folder: &str) -> String {
    let addresses: Vec<String> = job.ranks.iter().map(|nic| format!("\"{}\"", nic.address)).collect();
    let (all, port) = (addresses.join(", "), FIRST_PORT + 100 * row as u16);
    let (lanes, bytes) = (job.lanes, job.bytes);
    format!(
        "# {folder}, {}\naddresses = [{all}]\nport = {port}\nseconds = 86400.0\nrecords = \"records-{row}\"\n\
         lanes = {lanes}\npings = false\ncheck_every = 64\n[tcp]\ncongestion = \"reno\"\nwindow = 65536\nlinger = false\n\
         [paths]\nsocket = \"paths.sock\"\njob = {row}\n[[collectives]]\nalgorithm = \"ring\"\nbytes = {bytes}\n\
         chunk = {CHUNK}\n",
        job.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_told_from_other_shapes() {
        let [a, b, c] = [DeviceId(1), DeviceId(2), DeviceId(3)];
        assert_eq!(ring(&[(a, b), (b, a)]), Some(vec![a, b]));
        assert_eq!(ring(&[(a, b), (c, a), (b, c)]), Some(vec![a, b, c]));
        assert_eq!(ring(&[(a, b), (b, a), (a, c)]), None);
        assert_eq!(ring(&[(a, b), (b, c)]), None);
        assert_eq!(ring(&[]), None);
    }
}

//! What jobs ask of links, and how much computation hangs on each second of it.
use super::tenants::{Paths, Tenant, Tenants, Transfer};

/// Shares of a link beyond its capacity that are rounding.
pub const SLACK: f64 = 1e-9;

/// Seconds of a transfer on a link, and the links of a candidate that it takes in each step.
pub(super) fn loads_of<'a>(
    tenants: &'a Tenants,
    transfer: &'a Transfer,
    candidate: u32,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    let links = transfer.candidates[candidate as usize].links.iter().filter(|_| transfer.bytes.0 > 0);
    links.map(|&link| (link, seconds_on(tenants, link, transfer.bytes.0 as f64)))
}

/// Seconds that bytes take on a link alone.
pub(super) fn seconds_on(tenants: &Tenants, link: u32, bytes: f64) -> f64 {
    bytes / tenants.links[link as usize].capacity.bytes_per_s()
}

/// Sums loads of one link, in the order in which they came; links come out in order.
pub(super) fn summed(mut loads: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    loads.sort_by_key(|load| load.0);
    loads.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    loads
}

/// What each job asks of each link, by chosen paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// By job.
    pub jobs: Vec<JobDemand>,
    /// How many links there are.
    pub links: usize,
    /// Those on which levels do not hold, ascending ([`SharedLink::is_fair`](super::tenants::SharedLink)).
    pub fair: Vec<u32>,
}

/// What one job asks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobDemand {
    /// Links in order, each with the seconds that a step's bytes take on it alone: `M / B` of the paper.
    pub loads: Vec<(u32, f64)>,
    /// Bytes of its largest transfer; fair shares are of its rate.
    pub largest: f64,
    /// Seconds that a step's communication takes alone: `t` of the paper, the most of `loads`.
    pub seconds: f64,
    /// Seconds of a step's computation.
    pub compute: f64,
    /// Seconds from the begin of a step to the earliest begin of its communication.
    pub ready: f64,
    /// Work of a step.
    pub work: f64,
    /// GPUs.
    pub gpus: u32,
    /// Intensity as it was measured.
    pub measured: Option<f64>,
}

impl JobDemand {
    /// What a job asks by the candidates `chosen` for its transfers.
    pub fn of(tenants: &Tenants, job: &Tenant, chosen: &[u32]) -> Self {
        let mut loads: Vec<(u32, f64)> = Vec::new();
        let mut largest = 0.0f64;
        for (transfer, &candidate) in job.transfers.iter().zip(chosen) {
            largest = largest.max(transfer.bytes.0 as f64);
            loads.extend(loads_of(tenants, transfer, candidate));
        }
        loads.extend(job.inside);
        // Who sends nothing over links of others has a rate all the same.
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let compute = job.compute.seconds();
        let (ready, work, gpus, measured) = (compute * job.overlap_from, job.work, job.gpus, job.measured);
        Self { loads: Vec::new(), largest, seconds: 0.0, compute, ready, work, gpus, measured }
            .asking(summed(loads))
    }

    /// The same where others take the shares `taken` of links, each below 1, and leave the rest to jobs.
    #[must_use]
    pub fn beside(&self, taken: impl Fn(u32) -> f64) -> Self {
        let left = |&(link, seconds): &(u32, f64)| (link, seconds / (1.0 - taken(link)));
        let loads = self.loads.iter().map(left).collect();
        Self { loads: Vec::new(), ..*self }.asking(loads)
    }

    /// The same job with these loads.
    pub(super) fn asking(self, loads: Vec<(u32, f64)>) -> Self {
        let seconds = loads.iter().fold(0.0, |most: f64, load| most.max(load.1));
        Self { loads, seconds, ..self }
    }

    /// GPU intensity, work for each second of communication (Crux, definition 2), as measured where it was; infinite
    /// without communication.
    pub fn intensity(&self) -> f64 {
        let exact = if self.seconds > 0.0 { self.work / self.seconds } else { f64::INFINITY };
        self.measured.unwrap_or(exact)
    }

    /// Seconds of a step when nobody is in the way.
    pub fn step_alone(&self) -> f64 {
        self.compute.max(self.ready + self.seconds)
    }

    /// Share of `link` that it uses while it communicates alone: 1 where the link holds it back.
    pub(super) fn share_of(&self, link: u32) -> f64 {
        match self.loads.binary_search_by_key(&link, |load| load.0) {
            Ok(place) => self.loads[place].1 / self.seconds,
            Err(_) => 0.0,
        }
    }
}

impl Demand {
    /// What the jobs ask by `paths`.
    pub fn of(tenants: &Tenants, paths: &Paths) -> Self {
        let jobs = tenants.jobs.iter().zip(paths).map(|(job, chosen)| JobDemand::of(tenants, job, chosen));
        let fair = (0..).zip(&tenants.links).filter(|(_, link)| link.is_fair).map(|(number, _)| number);
        Self { jobs: jobs.collect(), links: tenants.links.len(), fair: fair.collect() }
    }

    /// The demand of some of the jobs, in their order.
    pub fn part(&self, jobs: &[usize]) -> Self {
        Self {
            jobs: jobs.iter().map(|&job| self.jobs[job].clone()).collect(),
            links: self.links,
            fair: self.fair.clone(),
        }
    }

    /// Links on which all that cross them cannot communicate at once, each as fast as alone.
    pub fn contended_links(&self) -> Vec<u32> {
        let mut shares = vec![0.0f64; self.links];
        for job in &self.jobs {
            job.loads.iter().for_each(|&(link, seconds)| shares[link as usize] += seconds / job.seconds);
        }
        (0..self.links as u32).filter(|&link| shares[link as usize] > 1.0 + SLACK).collect()
    }

    /// Pairs of jobs, the lower number first, that share a contended link, in order.
    pub fn contending(&self) -> Vec<(usize, usize)> {
        let mut is_contended = vec![false; self.links];
        self.contended_links().into_iter().for_each(|link| is_contended[link as usize] = true);
        let mut crossing: Vec<(u32, usize)> = Vec::new();
        for (number, job) in self.jobs.iter().enumerate() {
            let of_job = job.loads.iter().filter(|load| load.1 > 0.0 && is_contended[load.0 as usize]);
            crossing.extend(of_job.map(|load| (load.0, number)));
        }
        crossing.sort_unstable();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for of_link in crossing.chunk_by(|first, second| first.0 == second.0) {
            for (place, first) in of_link.iter().enumerate() {
                pairs.extend(of_link[place + 1..].iter().map(|second| (first.1, second.1)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Jobs by who contends with whom, over others too; jobs that contend with nobody stand alone. In order of the
    /// first job of each.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut of: Vec<usize> = (0..self.jobs.len()).collect();
        for (first, second) in self.contending() {
            let (kept, gone) = (of[first].min(of[second]), of[first].max(of[second]));
            of.iter_mut().filter(|one| **one == gone).for_each(|one| *one = kept);
        }
        let mut components = vec![Vec::new(); of.len()];
        of.iter().enumerate().for_each(|(job, &component)| components[component].push(job));
        components.retain(|jobs| !jobs.is_empty());
        components
    }
}

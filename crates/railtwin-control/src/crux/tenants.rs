//! Jobs that share links, as the scheduler sees them.
use railtwin_units::{Bytes, Rate, SimTime};

/// The rate at which a second of [`Tenant::sends`] is [`BYTES_PER_SECOND`].
const UNIT_RATE: Rate = Rate::from_gbps(8);
const BYTES_PER_SECOND: u64 = 1_000_000_000;

/// Jobs, and the links that they may share.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenants {
    /// Links, each one direction.
    pub links: Vec<SharedLink>,
    /// Jobs in the order in which they came.
    pub jobs: Vec<Tenant>,
}

/// A link in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedLink {
    /// Name for people.
    pub name: String,
    /// What it carries.
    pub capacity: Rate,
    /// Whether jobs of all levels share it alike: a link inside a host, which knows no classes of traffic, where nothing
    /// holds back who has the lower level.
    pub is_fair: bool,
}

impl SharedLink {
    /// A link on which levels hold.
    pub fn new(name: &str, capacity: Rate) -> Self {
        Self { name: name.to_owned(), capacity, is_fair: false }
    }
}

/// A job that computes and communicates step after step.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Name for people.
    pub name: String,
    /// GPUs that it holds.
    pub gpus: u32,
    /// Computation of a step.
    pub compute: SimTime,
    /// Share of a step's computation after which its communication may begin: 1 where nothing overlaps.
    pub overlap_from: f64,
    /// Work of a step, `W` of the paper, in any unit that all jobs share; GPU-seconds by default, as GPUs are alike.
    pub work: f64,
    /// GPU intensity as it was measured; none = work over communication alone.
    pub measured: Option<f64>,
    /// What it sends in each step.
    pub transfers: Vec<Transfer>,
    /// A link that no other job has, such as one inside a host, and the seconds that a step needs on it beside its
    /// transfers.
    pub inside: Option<(u32, f64)>,
}

/// Bytes that a job sends in each step, by one of several paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Bytes of a step.
    pub bytes: Bytes,
    /// Paths to choose from; at least one.
    pub candidates: Vec<Candidate>,
}

/// A path that a transfer may take.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Candidate {
    /// Links by number, once for each time that the bytes cross it.
    pub links: Vec<u32>,
    /// The UDP source port that leads over it, where it is known.
    pub source_port: Option<u16>,
}

/// The candidate that each transfer of each job takes.
pub type Paths = Vec<Vec<u32>>;

impl Tenant {
    /// A job without traffic whose work is its GPU-seconds.
    pub fn new(name: &str, gpus: u32, compute: SimTime, overlap_from: f64) -> Self {
        let work = f64::from(gpus) * compute.seconds();
        let (name, transfers) = (name.to_owned(), Vec::new());
        Self { name, gpus, compute, overlap_from, work, measured: None, transfers, inside: None }
    }

    /// The same with a transfer over link 0 that alone takes `span` on a link of [`Tenants::on_one_link`].
    pub fn sends(mut self, span: SimTime) -> Self {
        let bytes = (span.seconds() * BYTES_PER_SECOND as f64).round() as u64;
        let candidates = vec![Candidate { links: vec![0], source_port: None }];
        self.transfers.push(Transfer { bytes: Bytes(bytes), candidates });
        self
    }

    /// Links of its longest candidate.
    pub(super) fn distance(&self) -> usize {
        let candidates = self.transfers.iter().flat_map(|transfer| &transfer.candidates);
        candidates.map(|candidate| candidate.links.len()).max().unwrap_or(0)
    }
}

impl Tenants {
    /// Jobs that all share one link.
    pub fn on_one_link(jobs: &[Tenant]) -> Self {
        Self { links: vec![SharedLink::new("link", UNIT_RATE)], jobs: jobs.to_vec() }
    }

    /// The first candidate of every transfer.
    pub fn first_paths(&self) -> Paths {
        self.jobs.iter().map(|job| vec![0; job.transfers.len()]).collect()
    }
}

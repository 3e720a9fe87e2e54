//! How fast jobs communicate at one moment: strict priority between levels, max-min within one.
use super::demand::Demand;

/// Most jobs for which the paces of every set of communicating jobs are kept.
const KEPT_JOBS: usize = 12;

/// Paces of sets of jobs under given levels.
#[derive(Clone, Debug)]
pub(super) struct Paces {
    /// By job: bytes of its largest transfer.
    largest: Vec<f64>,
    /// Jobs of each level that some job has, from the highest, which is the least number.
    levels: Vec<Vec<usize>>,
    /// By job: links, each with what the job takes of it at a rate of one byte a second of its largest transfer.
    shares: Vec<Vec<(u32, f64)>>,
    /// By set of communicating jobs, where there are few jobs.
    kept: Vec<Option<Box<[f64]>>>,
    paces: Vec<f64>,
    /// By link: share that is free, and what the rising jobs take of it.
    free: Vec<f64>,
    growth: Vec<f64>,
    is_full: Vec<bool>,
    rising: Vec<usize>,
    touched: Vec<u32>,
}

impl Paces {
    pub(super) fn new(demand: &Demand, levels: &[u32]) -> Self {
        let jobs = demand.jobs.len();
        let mut used = levels.to_vec();
        used.sort_unstable();
        used.dedup();
        let of_level = |level: &u32| (0..jobs).filter(|&job| levels[job] == *level).collect();
        let shares = demand
            .jobs
            .iter()
            .map(|job| job.loads.iter().map(|&(link, seconds)| (link, seconds / job.largest)).collect());
        let kept = if jobs <= KEPT_JOBS { vec![None; 1 << jobs] } else { Vec::new() };
        Self {
            largest: demand.jobs.iter().map(|job| job.largest).collect(),
            levels: used.iter().map(of_level).collect(),
            shares: shares.collect(),
            kept,
            paces: vec![0.0; jobs],
            free: vec![1.0; demand.links],
            growth: vec![0.0; demand.links],
            is_full: vec![false; demand.links],
            rising: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// The parts of a step's communication that each job moves in a second while those of `talking` communicate.
    pub(super) fn of(&mut self, talking: &[bool]) -> &[f64] {
        if self.kept.is_empty() {
            self.fill(talking);
            return &self.paces;
        }
        let set = talking.iter().enumerate().fold(0, |set, (job, &is)| set | usize::from(is) << job);
        if self.kept[set].is_none() {
            self.fill(talking);
            self.kept[set] = Some(self.paces.clone().into_boxed_slice());
        }
        self.kept[set].as_deref().expect("it was filled")
    }

    /// Progressive filling (Bertsekas and Gallager, 6.5.2) level after level, each over what those above leave.
    fn fill(&mut self, talking: &[bool]) {
        let Self { largest, levels, shares, paces, free, growth, is_full, rising, touched, .. } = self;
        paces.fill(0.0);
        for (shares, _) in shares.iter().zip(talking).filter(|(_, is)| **is) {
            shares.iter().for_each(|&(link, _)| free[link as usize] = 1.0);
        }
        for level in &*levels {
            rising.clear();
            rising.extend(level.iter().copied().filter(|&job| talking[job]));
            while !rising.is_empty() {
                // Every rising job's rate grows alike; on a link each takes M / (B · largest) of it.
                for &(link, share) in rising.iter().flat_map(|&job| &shares[job]) {
                    if growth[link as usize] == 0.0 {
                        touched.push(link);
                    }
                    growth[link as usize] += share;
                }
                let room = |link: u32| free[link as usize].max(0.0) / growth[link as usize];
                let rate = touched.iter().map(|&link| room(link)).fold(f64::INFINITY, f64::min);
                touched.iter().for_each(|&link| is_full[link as usize] = room(link) <= rate * (1.0 + 1e-12));
                rising.iter().for_each(|&job| paces[job] += rate / largest[job]);
                rising.retain(|&job| !shares[job].iter().any(|share| is_full[share.0 as usize]));
                for link in touched.drain(..).map(|link| link as usize) {
                    free[link] = if is_full[link] { 0.0 } else { free[link] - growth[link] * rate };
                    (growth[link], is_full[link]) = (0.0, false);
                }
            }
        }
    }
}

//! How fast jobs communicate at one moment: strict priority between levels, max-min within one.
use super::demand::Demand;

/// Most jobs for which the paces of every set of communicating jobs are kept.
const KEPT_JOBS: usize = 12;

/// Paces of sets of jobs under given levels.
#[derive(Debug)]
pub(super) struct Paces<'a> {
    demand: &'a Demand,
    levels: &'a [u32],
    /// Levels that some job has, from the highest, which is the least number.
    used: Vec<u32>,
    /// By set of communicating jobs, where there are few jobs.
    kept: Vec<Option<Box<[f64]>>>,
    free: Vec<f64>,
    paces: Vec<f64>,
}

impl<'a> Paces<'a> {
    pub(super) fn new(demand: &'a Demand, levels: &'a [u32]) -> Self {
        let jobs = demand.jobs.len();
        let mut used = levels.to_vec();
        used.sort_unstable();
        used.dedup();
        let kept = if jobs <= KEPT_JOBS { vec![None; 1 << jobs] } else { Vec::new() };
        Self { demand, levels, used, kept, free: vec![1.0; demand.links], paces: vec![0.0; jobs] }
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
        let jobs = &self.demand.jobs;
        self.paces.fill(0.0);
        for job in jobs.iter().zip(talking).filter(|(_, is)| **is).map(|(job, _)| job) {
            job.loads.iter().for_each(|&(link, _)| self.free[link as usize] = 1.0);
        }
        let mut rising: Vec<usize> = Vec::new();
        let mut growth: Vec<(u32, f64)> = Vec::new();
        for &level in &self.used {
            rising.extend((0..jobs.len()).filter(|&job| talking[job] && self.levels[job] == level));
            while !rising.is_empty() {
                // Every rising job's rate grows alike; on a link each takes M / (B · largest) of it.
                growth.clear();
                for &job in &rising {
                    for &(link, seconds) in &jobs[job].loads {
                        let share = seconds / jobs[job].largest;
                        match growth.binary_search_by_key(&link, |one| one.0) {
                            Ok(place) => growth[place].1 += share,
                            Err(place) => growth.insert(place, (link, share)),
                        }
                    }
                }
                let free = &mut self.free;
                let room = |&(link, share): &(u32, f64)| free[link as usize].max(0.0) / share;
                let rate = growth.iter().map(room).fold(f64::INFINITY, f64::min);
                let full = |&one: &&(u32, f64)| room(one) <= rate * (1.0 + 1e-12);
                let full: Vec<u32> = growth.iter().filter(full).map(|one| one.0).collect();
                growth.iter().for_each(|&(link, share)| free[link as usize] -= share * rate);
                rising.iter().for_each(|&job| self.paces[job] += rate / jobs[job].largest);
                let is_held =
                    |&job: &usize| jobs[job].loads.iter().any(|load| full.binary_search(&load.0).is_ok());
                full.iter().for_each(|&link| free[link as usize] = 0.0);
                rising.retain(|job| !is_held(job));
            }
        }
    }
}

//! The best paths and levels of small cases, proved.
//!
//! All paths and, for each, all ways to order the jobs of a component into at most K levels are tried in the contention
//! model itself; jobs that contend with nobody change nothing for each other, so components are tried by themselves, and
//! one that was seen before, by whatever links, is known. Where paths are found on which every job does as much as
//! alone, no other can be better and the search ends.
use std::collections::HashMap;

use super::contention::{Contention, Start};
use super::demand::Demand;
use super::tenants::{Paths, Tenants};

/// Part of the best by which another must be better to take its place: rounding.
const BETTER: f64 = 1e-12;

/// Judges decisions over the same jobs, start and window.
#[derive(Debug)]
pub struct Judge<'a> {
    tenants: &'a Tenants,
    start: &'a Start,
    window: f64,
    /// Work of a component under levels; looked up, never walked.
    known: HashMap<Vec<u64>, f64>,
    simulations: u64,
}

/// The best that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Paths.
    pub paths: Paths,
    /// By job; 0 goes first.
    pub levels: Vec<u32>,
    /// Work within the window.
    pub work: f64,
    /// Paths that were tried.
    pub nodes: u64,
    /// Nothing is better: all that could be was tried.
    pub proved: bool,
}

impl<'a> Judge<'a> {
    /// A judge of `tenants` that begin at `start` and are watched for `window` seconds.
    pub fn new(tenants: &'a Tenants, start: &'a Start, window: f64) -> Self {
        Self { tenants, start, window, known: HashMap::new(), simulations: 0 }
    }

    /// Components that were simulated so far.
    pub fn simulations(&self) -> u64 {
        self.simulations
    }

    /// Work of all jobs within the window.
    pub fn work(&mut self, demand: &Demand, levels: &[u32]) -> f64 {
        demand.components().iter().map(|jobs| self.part(demand, jobs, levels)).sum()
    }

    /// Work of the jobs of one component.
    fn part(&mut self, demand: &Demand, jobs: &[usize], levels: &[u32]) -> f64 {
        let levels = dense(&jobs.iter().map(|&job| levels[job]).collect::<Vec<_>>());
        let part = demand.part(jobs);
        let key = key_of(&part, jobs, &levels);
        if let Some(&work) = self.known.get(&key) {
            return work;
        }
        let start = Start(jobs.iter().map(|&job| self.start.0[job]).collect());
        let work = Contention::new(&part, &start, self.window).run(&levels).work(&part);
        self.simulations += 1;
        self.known.insert(key, work);
        work
    }

    /// The best of at most `count` levels over given paths, and its work. Of an `order` of jobs only levels are tried
    /// that never put the later one of two contending jobs above the other.
    pub fn best_levels(&mut self, demand: &Demand, count: u32, order: Option<&[usize]>) -> (Vec<u32>, f64) {
        let mut place = vec![0; demand.jobs.len()];
        order.into_iter().flatten().enumerate().for_each(|(at, &job)| place[job] = at);
        let pairs = if order.is_some() { demand.contending() } else { Vec::new() };
        let (mut levels, mut sum) = (vec![0; demand.jobs.len()], 0.0);
        for jobs in demand.components() {
            let mut trial = levels.clone();
            let mut best: Option<f64> = None;
            for_each_ranking(jobs.len(), count, &mut |ranking| {
                jobs.iter().zip(ranking).for_each(|(&job, &level)| trial[job] = level);
                let is_kept = |&(first, second): &(usize, usize)| {
                    !jobs.contains(&first)
                        || (trial[first] == trial[second])
                        || ((trial[first] < trial[second]) == (place[first] < place[second]))
                };
                if !pairs.iter().all(is_kept) {
                    return;
                }
                let work = self.part(demand, &jobs, &trial);
                if best.is_none_or(|best| work > best * (1.0 + BETTER)) {
                    best = Some(work);
                    jobs.iter().for_each(|&job| levels[job] = trial[job]);
                }
            });
            sum += best.expect("all on one level is always tried");
        }
        (levels, sum)
    }

    /// The best order of priorities, a level for each job, among those that have the jobs of `levels` in that order.
    pub fn best_order(&mut self, demand: &Demand, levels: &[u32]) -> Vec<usize> {
        let mut best = levels.to_vec();
        for jobs in demand.components() {
            let mut trial = levels.to_vec();
            let mut most: Option<f64> = None;
            for_each_ranking(jobs.len(), jobs.len() as u32, &mut |ranking| {
                let mut is_finer = ranking.iter().max().is_some_and(|&top| top as usize + 1 == jobs.len());
                for (&job, &rank) in jobs.iter().zip(ranking) {
                    trial[job] = rank;
                    is_finer &= jobs
                        .iter()
                        .zip(ranking)
                        .all(|(&other, &of)| levels[job] >= levels[other] || rank < of);
                }
                if !is_finer {
                    return;
                }
                let work = self.part(demand, &jobs, &trial);
                if most.is_none_or(|most| work > most * (1.0 + BETTER)) {
                    most = Some(work);
                    jobs.iter().for_each(|&job| best[job] = trial[job]);
                }
            });
        }
        let mut order: Vec<usize> = (0..levels.len()).collect();
        order.sort_by_key(|&job| (levels[job], best[job]));
        order
    }

    /// The best paths and levels, after at most `nodes_most` paths.
    pub fn optimum(&mut self, count: u32, nodes_most: u64) -> Optimum {
        let tenants = self.tenants;
        let mut paths = tenants.first_paths();
        let bound = self.bound();
        let mut best: Option<Optimum> = None;
        let mut nodes = 0;
        let proved = loop {
            nodes += 1;
            let demand = Demand::of(tenants, &paths);
            let (levels, work) = self.best_levels(&demand, count, None);
            if best.as_ref().is_none_or(|best| work > best.work * (1.0 + BETTER)) {
                best = Some(Optimum { paths: paths.clone(), levels, work, nodes, proved: false });
            }
            let is_at_bound = best.as_ref().is_some_and(|best| best.work >= bound * (1.0 - BETTER));
            if is_at_bound || !next_paths(tenants, &mut paths) {
                break true;
            }
            if nodes == nodes_most {
                break false;
            }
        };
        let best = best.expect("the first paths were tried");
        Optimum { nodes, proved, ..best }
    }

    /// More work than this is in no schedule: each job alone, each transfer by the path on which that is most. Delays
    /// of communication never bring a step forward.
    fn bound(&mut self) -> f64 {
        let jobs = self.tenants.jobs.len();
        let mut most = vec![0.0f64; jobs];
        for (job, most) in most.iter_mut().enumerate() {
            let mut paths = self.tenants.first_paths();
            loop {
                let demand = Demand::of(self.tenants, &paths);
                *most = most.max(self.part(&demand, &[job], &vec![0; jobs]));
                if !next_of(self.tenants, job, &mut paths) {
                    break;
                }
            }
        }
        most.iter().sum()
    }
}

/// Levels without gaps from 0 on.
fn dense(levels: &[u32]) -> Vec<u32> {
    let mut used = levels.to_vec();
    used.sort_unstable();
    used.dedup();
    levels.iter().map(|level| used.partition_point(|one| one < level) as u32).collect()
}

/// What a component's work depends on: its jobs, their levels, and the seconds on links, which are numbered anew as they
/// come: spines that are alike need not be told apart.
fn key_of(part: &Demand, jobs: &[usize], levels: &[u32]) -> Vec<u64> {
    let mut numbers: Vec<u32> = Vec::new();
    let mut key = Vec::new();
    for ((job, demand), &level) in jobs.iter().zip(&part.jobs).zip(levels) {
        key.extend([*job as u64, u64::from(level), demand.loads.len() as u64]);
        for &(link, seconds) in &demand.loads {
            let number = numbers.iter().position(|&one| one == link).unwrap_or_else(|| {
                numbers.push(link);
                numbers.len() - 1
            });
            key.extend([number as u64, seconds.to_bits()]);
        }
    }
    key
}

/// All ways to put `jobs` on at most `count` levels, each level from 0 on with a job on it.
fn for_each_ranking(jobs: usize, count: u32, visit: &mut dyn FnMut(&[u32])) {
    // More levels than jobs leave a gap.
    let count = count.min(jobs as u32);
    let mut ranking = vec![0u32; jobs];
    loop {
        let top = ranking.iter().copied().max().unwrap_or(0);
        if (0..top).all(|level| ranking.contains(&level)) {
            visit(&ranking);
        }
        let Some(place) = ranking.iter().rposition(|&level| level + 1 < count) else { return };
        ranking[place] += 1;
        ranking[place + 1..].fill(0);
    }
}

/// The paths after these; none after the last.
fn next_paths(tenants: &Tenants, paths: &mut Paths) -> bool {
    (0..tenants.jobs.len()).rev().any(|job| next_of(tenants, job, paths))
}

/// The paths of one job after these; its first again, and no, after the last.
fn next_of(tenants: &Tenants, job: usize, paths: &mut Paths) -> bool {
    for (transfer, candidate) in tenants.jobs[job].transfers.iter().zip(&mut paths[job]).rev() {
        *candidate += 1;
        if (*candidate as usize) < transfer.candidates.len() {
            return true;
        }
        *candidate = 0;
    }
    false
}

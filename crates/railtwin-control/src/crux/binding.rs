//! The links that can hold jobs back: of those that the same jobs cross, the ones on which no other is heavier for all.
use std::collections::BTreeMap;

use super::demand::{Demand, JobDemand, SLACK};

impl Demand {
    /// The demand of `jobs`, in their order, on links that stand for all: the same jobs get the same rates at every
    /// moment. A job keeps its heaviest link as one of its own; of the links that several cross and that cannot serve
    /// them all at once, those remain that no other with the same jobs outweighs.
    pub fn reduced(&self, jobs: &[usize]) -> Self {
        let mut crossing: Vec<(u32, u32, f64)> = Vec::new();
        for (local, &job) in (0..).zip(jobs) {
            let loads = self.jobs[job].loads.iter().filter(|load| load.1 > 0.0);
            crossing.extend(loads.map(|&(link, seconds)| (link, local, seconds)));
        }
        crossing.sort_unstable_by_key(|one| (one.0, one.1));
        // Links on which levels hold apart from those on which they do not: neither stands for the other.
        let mut rows: BTreeMap<(bool, Vec<u32>), Vec<Vec<f64>>> = BTreeMap::new();
        for link in crossing.chunk_by(|first, second| first.0 == second.0) {
            let share: f64 = link.iter().map(|one| one.2 / self.jobs[jobs[one.1 as usize]].seconds).sum();
            if link.len() < 2 || share <= 1.0 + SLACK {
                continue;
            }
            let is_fair = self.fair.binary_search(&link[0].0).is_ok();
            let kept = rows.entry((is_fair, link.iter().map(|one| one.1).collect())).or_default();
            let row: Vec<f64> = link.iter().map(|one| one.2).collect();
            let outweighs =
                |one: &[f64], other: &[f64]| one.iter().zip(other).all(|(one, other)| one >= other);
            if !kept.iter().any(|one| outweighs(one, &row)) {
                kept.retain(|one| !outweighs(&row, one));
                kept.push(row);
            }
        }
        let own = |(local, &job): (u32, &usize)| {
            let job = &self.jobs[job];
            JobDemand { loads: vec![(local, job.seconds)], ..job.clone() }
        };
        let mut reduced: Vec<JobDemand> = (0..).zip(jobs).map(own).collect();
        let mut link = jobs.len() as u32;
        let mut fair = Vec::new();
        for ((is_fair, jobs), rows) in &rows {
            for row in rows {
                fair.extend(is_fair.then_some(link));
                for (&job, &seconds) in jobs.iter().zip(row) {
                    reduced[job as usize].loads.push((link, seconds));
                }
                link += 1;
            }
        }
        Self { jobs: reduced, links: link as usize, fair }
    }
}

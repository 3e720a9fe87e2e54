//! The links that can hold jobs back: of those that the same jobs cross, the ones on which no other is heavier for all; and
//! of these the ones that no mean of another and of the jobs' own covers.
use std::collections::BTreeMap;

use super::demand::{Demand, JobDemand, SLACK};

/// Of a link's shares.
const ROUNDING: f64 = 1e-12;
/// Share of a link by which another has to be narrower so that parts of the first are found to hold nobody back.
const NARROWER: f64 = 0.1;

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

    /// Whether it can matter that levels do not hold on some links: such a link holds nobody back where all of its jobs
    /// cross another one on which they do, and which is narrower for each of them.
    pub fn is_fairness_at_stake(&self) -> bool {
        let seconds = |link: u32| {
            let of = move |job: &JobDemand| {
                job.loads.iter().find(|load| load.0 == link).map_or(0.0, |load| load.1)
            };
            self.jobs.iter().map(of)
        };
        self.fair.iter().any(|&fair| {
            let narrower = |link: u32| {
                seconds(fair).zip(seconds(link)).all(|(own, there)| there >= own * (1.0 + NARROWER))
            };
            !(0..self.links as u32).any(|link| self.fair.binary_search(&link).is_err() && narrower(link))
        })
    }

    /// The same demand without links that cannot hold anybody back beside the others and the jobs' own, which are all that
    /// one job crosses: the same jobs get the same rates at every moment.
    #[must_use]
    pub fn binding(self) -> Self {
        let mut crossing: Vec<(u32, u32, f64)> = Vec::new();
        for (number, job) in (0..).zip(&self.jobs) {
            let loads = job.loads.iter().filter(|load| load.1 > 0.0);
            crossing.extend(loads.map(|&(link, seconds)| (link, number, seconds / job.seconds)));
        }
        crossing.sort_unstable_by_key(|one| (one.0, one.1));
        let mut rows: Vec<Row> = Vec::new();
        let mut is_kept = vec![true; self.links];
        for parts in crossing.chunk_by(|first, second| first.0 == second.0) {
            let link = parts[0].0;
            // What others may have of a link on which levels do not hold is found without the jobs' own.
            if parts.len() > 1 && self.fair.binary_search(&link).is_err() {
                is_kept[link as usize] = false;
                let asked = parts.iter().map(|one| one.2).sum();
                rows.push(Row { parts: parts.iter().map(|one| (one.1, one.2)).collect(), link, asked });
            }
        }
        for row in binding(rows, self.jobs.len()) {
            is_kept[row.link as usize] = true;
        }
        let mut numbers = Vec::with_capacity(self.links);
        let mut links = 0;
        for &is_kept in &is_kept {
            numbers.push(links);
            links += u32::from(is_kept);
        }
        let number = |link: u32| is_kept[link as usize].then_some(numbers[link as usize]);
        let mut jobs = self.jobs;
        for job in &mut jobs {
            let loads = job.loads.iter().filter_map(|&(link, seconds)| Some((number(link)?, seconds)));
            job.loads = loads.collect();
        }
        let fair = self.fair.iter().filter_map(|&link| number(link)).collect();
        Self { jobs, links: links as usize, fair }
    }
}

/// A link that several jobs cross.
struct Row {
    /// Jobs in order, with the share of the link that each takes as fast as alone.
    parts: Vec<(u32, f64)>,
    link: u32,
    /// Sum of the shares.
    asked: f64,
}

/// Those that can hold jobs back: rates that the others and the jobs' own links allow are allowed by each that is left out,
/// so what is most fair among them is the same.
fn binding(mut rows: Vec<Row>, jobs: usize) -> Vec<Row> {
    // What asks for most stands for most; the sort is stable.
    rows.sort_by(|one, other| other.asked.total_cmp(&one.asked));
    let mut kept: Vec<Row> = Vec::new();
    let mut crossing: Vec<Vec<u32>> = vec![Vec::new(); jobs];
    let mut of_job = vec![0.0; jobs];
    for row in rows {
        row.parts.iter().for_each(|&(job, part)| of_job[job as usize] = part);
        let heaviest = row.parts.iter().max_by(|one, other| one.1.total_cmp(&other.1)).map_or(0, |one| one.0);
        let is_covered = crossing[heaviest as usize]
            .iter()
            .any(|&other| covers(&kept[other as usize].parts, &of_job, row.asked));
        row.parts.iter().for_each(|&(job, _)| of_job[job as usize] = 0.0);
        if !is_covered {
            row.parts.iter().for_each(|&(job, _)| crossing[job as usize].push(kept.len() as u32));
            kept.push(row);
        }
    }
    kept
}

/// Whether a link with `parts` and the jobs' own links allow no rates that one with shares `of_job`, `asked` together, does
/// not: whether some mean of those, `weight` of the first and the rest of own links, outweighs it for all jobs. What the
/// own links have to add is convex in the weight and bends where a job's share is met, so it is least at one of those.
fn covers(parts: &[(u32, f64)], of_job: &[f64], asked: f64) -> bool {
    let is_enough = |weight: f64| {
        let met: f64 = parts.iter().map(|&(job, part)| of_job[job as usize].min(weight * part)).sum();
        asked - met + weight <= 1.0 + ROUNDING
    };
    // All of the first adds nothing unless it takes more from the jobs than it weighs.
    let common: f64 = parts.iter().filter(|one| of_job[one.0 as usize] > 0.0).map(|one| one.1).sum();
    if common <= 1.0 {
        return false;
    }
    is_enough(1.0)
        || parts.iter().any(|&(job, part)| {
            let weight = of_job[job as usize] / part;
            weight > 0.0 && weight < 1.0 && is_enough(weight)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two jobs that each link of `shares` may be crossed by, and the links that are left.
    fn left(shares: &[(f64, f64)]) -> usize {
        let own = [(0, 1.0)];
        let others =
            |of: fn(&(f64, f64)) -> f64| (2..).zip(shares.iter().map(of)).collect::<Vec<(u32, f64)>>();
        let job =
            |loads: Vec<(u32, f64)>| JobDemand { loads, seconds: 1.0, largest: 1.0, ..JobDemand::default() };
        let jobs = vec![
            job(own.iter().copied().chain(others(|share| share.0)).collect()),
            job([(1, 1.0)].iter().copied().chain(others(|share| share.1)).collect()),
        ];
        let demand = Demand { jobs, links: 2 + shares.len(), fair: Vec::new() };
        demand.binding().links - 2
    }

    #[test]
    fn a_link_below_a_mean_of_another_and_of_own_links_goes() {
        // Half of the first and half of the first job's own: 0.9 and 0.4 at the most.
        assert_eq!(left(&[(0.8, 0.8), (0.85, 0.3)]), 1);
        // Nothing outweighs 0.95 beside 0.5: with weight w of the first it is w·0.8 + (1 − w) and w·0.8.
        assert_eq!(left(&[(0.8, 0.8), (0.95, 0.5)]), 2);
        assert_eq!(left(&[(0.8, 0.8), (0.7, 0.8), (0.8, 0.8)]), 1);
    }
}

//! How fast jobs communicate at one moment: strict priority between levels, max-min within one.
//!
//! On links where levels do not hold, such as PCIe that nothing gates, all who cross them share alike. What a job may have
//! at most is then its fair part of those, of which others leave what the network does not let them have: that is found
//! round by round, from parts of those who want all to parts of those who want what the network gave them.
use super::demand::Demand;
use super::islands::Islands;

/// Most jobs for which the paces of every set of communicating jobs are kept.
const KEPT_JOBS: usize = 12;

/// Rounds after which parts of fair links are taken as they are.
const ROUNDS_MOST: u32 = 64;
/// Relative difference below which a rate is what a ceiling allows.
const SAME: f64 = 1e-9;

/// Paces of sets of jobs under given levels.
#[derive(Clone, Debug)]
pub(super) struct Paces {
    /// By job: bytes of its largest transfer.
    largest: Vec<f64>,
    /// Jobs of each level that some job has, from the highest, which is the least number.
    levels: Vec<Vec<usize>>,
    /// By job: links, each with what the job takes of it at a rate of one byte a second of its largest transfer.
    shares: Vec<Vec<(u32, f64)>>,
    /// The same of the links on which levels do not hold.
    fair: Vec<Vec<(u32, f64)>>,
    /// By job: the most that its largest transfer may have, and would take.
    ceilings: Vec<f64>,
    wanted: Vec<f64>,
    level_of: Vec<u32>,
    /// By set of communicating jobs, where there are few jobs.
    kept: Vec<Option<Box<[f64]>>>,
    /// In place of all this where there are many jobs and levels hold on all links.
    islands: Option<Islands>,
    everybody: Vec<u32>,
    paces: Vec<f64>,
    /// By link: share that is free, and what the rising jobs take of it.
    free: Vec<f64>,
    growth: Vec<f64>,
    is_full: Vec<bool>,
    rising: Vec<usize>,
    touched: Vec<u32>,
}

/// What is filled.
#[derive(Clone, Copy, PartialEq)]
enum Filled {
    /// All links, level after level.
    Levels,
    /// Fair links, all levels at once.
    Fair,
    /// All links, level after level, beside what everybody has.
    Rest,
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
        let shares: Vec<Vec<(u32, f64)>> = shares.collect();
        let is_fair = |share: &&(u32, f64)| share.1 > 0.0 && demand.fair.binary_search(&share.0).is_ok();
        let fair = |shares: &Vec<(u32, f64)>| shares.iter().filter(is_fair).copied().collect();
        let kept = if jobs <= KEPT_JOBS { vec![None; 1 << jobs] } else { Vec::new() };
        Self {
            largest: demand.jobs.iter().map(|job| job.largest).collect(),
            levels: used.iter().map(of_level).collect(),
            fair: if demand.fair.is_empty() { Vec::new() } else { shares.iter().map(fair).collect() },
            shares,
            ceilings: vec![f64::INFINITY; jobs],
            wanted: vec![f64::INFINITY; jobs],
            level_of: levels.to_vec(),
            islands: (kept.is_empty() && demand.fair.is_empty()).then(|| Islands::new(demand, levels)),
            everybody: (0..jobs as u32).collect(),
            kept,
            paces: vec![0.0; jobs],
            free: vec![1.0; demand.links],
            growth: vec![0.0; demand.links],
            is_full: vec![false; demand.links],
            rising: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// The parts of a step's communication that each job moves in a second while those of `talking` communicate, and the
    /// jobs for which they may be others than when they were asked for last.
    #[inline]
    pub(super) fn of(&mut self, talking: &[bool]) -> (&[u32], &[f64]) {
        let set = talking.iter().enumerate().take(KEPT_JOBS);
        let set = set.fold(0, |set, (job, &is)| set | usize::from(is) << job);
        let by_islands = self.islands.as_mut().is_some_and(|islands| !islands.rests());
        let is_known = by_islands || self.kept.get(set).is_some_and(Option::is_some);
        if !is_known {
            self.fill(talking);
        }
        if let (false, Some(kept)) = (is_known, self.kept.get_mut(set)) {
            *kept = Some(self.paces.clone().into_boxed_slice());
        }
        match &mut self.islands {
            Some(islands) if by_islands => islands.update(talking),
            _ => (&self.everybody, self.kept.get(set).and_then(Option::as_deref).unwrap_or(&self.paces)),
        }
    }

    /// The same, filled anew for all whenever it is asked for.
    #[cfg(test)]
    pub(super) fn whole(self) -> Self {
        Self { islands: None, ..self }
    }

    fn fill(&mut self, talking: &[bool]) {
        self.ceilings.fill(f64::INFINITY);
        if !self.is_fairness_at_stake(talking) {
            return self.fill_by(talking, Filled::Levels);
        }
        self.wanted.fill(f64::INFINITY);
        for _ in 0..ROUNDS_MOST {
            std::mem::swap(&mut self.ceilings, &mut self.wanted);
            self.fill_by(talking, Filled::Fair);
            std::mem::swap(&mut self.ceilings, &mut self.wanted);
            for (job, ceiling) in self.ceilings.iter_mut().enumerate() {
                let is_bound = talking[job] && !self.fair[job].is_empty();
                *ceiling = if is_bound { self.paces[job] * self.largest[job] } else { f64::INFINITY };
            }
            self.fill_by(talking, Filled::Levels);
            let mut is_settled = true;
            for job in (0..talking.len()).filter(|&job| talking[job] && !self.fair[job].is_empty()) {
                let rate = self.paces[job] * self.largest[job];
                // The network lets it have less than its part: others may have the rest.
                if rate < self.ceilings[job] * (1.0 - SAME) && rate < self.wanted[job] * (1.0 - SAME) {
                    (self.wanted[job], is_settled) = (rate, false);
                }
            }
            if is_settled {
                break;
            }
        }
        // What nobody has by then goes level after level.
        self.ceilings.fill(f64::INFINITY);
        self.fill_by(talking, Filled::Rest);
    }

    /// Whether jobs of several levels communicate over a link on which levels do not hold.
    fn is_fairness_at_stake(&mut self, talking: &[bool]) -> bool {
        let mut crossing: Vec<(u32, u32)> = Vec::new();
        for (job, fair) in self.fair.iter().enumerate().filter(|(job, _)| talking[*job]) {
            crossing.extend(fair.iter().map(|&(link, _)| (link, self.level_of[job])));
        }
        crossing.sort_unstable();
        crossing.windows(2).any(|two| two[0].0 == two[1].0 && two[0].1 != two[1].1)
    }

    /// Progressive filling (Bertsekas and Gallager, 6.5.2) up to the ceilings: level after level, each over what those above
    /// leave, or all alike over fair links alone.
    fn fill_by(&mut self, talking: &[bool], filled: Filled) {
        let everybody = [(0..talking.len()).collect::<Vec<usize>>()];
        let Self {
            largest,
            levels,
            shares,
            fair,
            paces,
            free,
            growth,
            is_full,
            rising,
            touched,
            ceilings,
            ..
        } = self;
        let (levels, shares) = match filled {
            Filled::Levels | Filled::Rest => (levels.as_slice(), &*shares),
            Filled::Fair => (everybody.as_slice(), &*fair),
        };
        for (shares, _) in shares.iter().zip(talking).filter(|(_, is)| **is) {
            shares.iter().for_each(|&(link, _)| free[link as usize] = 1.0);
        }
        if filled == Filled::Rest {
            for (job, shares) in shares.iter().enumerate() {
                shares
                    .iter()
                    .for_each(|&(link, share)| free[link as usize] -= share * paces[job] * largest[job]);
            }
        } else {
            paces.fill(0.0);
        }
        for level in levels {
            rising.clear();
            rising.extend(level.iter().copied().filter(|&job| talking[job] && !shares[job].is_empty()));
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
                let below = |job: &usize| (ceilings[*job] - paces[*job] * largest[*job]).max(0.0);
                let rate = rising.iter().map(below).fold(rate, f64::min);
                touched.iter().for_each(|&link| is_full[link as usize] = room(link) <= rate * (1.0 + 1e-12));
                rising.iter().for_each(|&job| paces[job] += rate / largest[job]);
                rising.retain(|&job| {
                    let is_held = paces[job] * largest[job] >= ceilings[job] * (1.0 - 1e-12);
                    !is_held && !shares[job].iter().any(|share| is_full[share.0 as usize])
                });
                for link in touched.drain(..).map(|link| link as usize) {
                    free[link] = if is_full[link] { 0.0 } else { free[link] - growth[link] * rate };
                    (growth[link], is_full[link]) = (0.0, false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crux::demand::JobDemand;

    fn job(loads: &[(u32, f64)], largest: f64) -> JobDemand {
        let seconds = loads.iter().fold(0.0f64, |most, load| most.max(load.1));
        JobDemand {
            loads: loads.to_vec(),
            largest,
            seconds,
            compute: 1.0,
            ready: 1.0,
            work: 1.0,
            gpus: 1,
            measured: None,
        }
    }

    fn paces(demand: &Demand, levels: &[u32]) -> Vec<f64> {
        Paces::new(demand, levels).of(&vec![true; demand.jobs.len()]).1.to_vec()
    }

    #[test]
    fn a_gate_gives_the_winner_its_own_pace_and_no_gate_half_of_pcie() {
        let jobs = vec![job(&[(0, 2.0)], 8.0), job(&[(0, 2.0)], 8.0)];
        let gated = Demand { jobs: jobs.clone(), links: 1, fair: Vec::new() };
        assert_eq!(paces(&gated, &[0, 1]), [0.5, 0.0]);
        let ungated = Demand { jobs, links: 1, fair: vec![0] };
        assert_eq!(paces(&ungated, &[0, 1]), [0.25, 0.25]);
        assert_eq!(paces(&ungated, &[1, 0]), [0.25, 0.25]);
    }

    #[test]
    fn what_the_network_holds_back_leaves_its_part_of_pcie() {
        // Both cross a PCIe link of which each alone would take 4/5, and a network link that each would fill.
        let both = job(&[(0, 0.8), (1, 1.0)], 1.0);
        let demand = Demand { jobs: vec![both.clone(), both], links: 2, fair: vec![0] };
        let found = paces(&demand, &[0, 1]);
        assert!((found[0] - 1.0).abs() < 1e-6 && found[1].abs() < 1e-6, "{found:?}");
    }

    fn demands() -> impl Strategy<Value = (Demand, Vec<u32>)> {
        let load = (0u32..6, 1u32..20).prop_map(|(link, parts)| (link, f64::from(parts) / 10.0));
        let one = (prop::collection::vec(load, 1..5), 1u32..9, 0u32..3);
        (prop::collection::vec(one, 1..6), prop::collection::vec(any::<bool>(), 6)).prop_map(
            |(drawn, fair)| {
                let levels = drawn.iter().map(|one| one.2).collect();
                let of = |(loads, largest, _): (Vec<(u32, f64)>, u32, u32)| {
                    job(&crate::crux::demand::summed(loads), f64::from(largest))
                };
                let fair = (0..6).filter(|&link| fair[link as usize]).collect();
                (Demand { jobs: drawn.into_iter().map(of).collect(), links: 6, fair }, levels)
            },
        )
    }

    proptest! {
        #[test]
        fn no_link_carries_more_than_it_can_and_nobody_is_faster_than_alone((demand, levels) in demands()) {
            let found = paces(&demand, &levels);
            let mut used = [0.0; 6];
            for (job, pace) in demand.jobs.iter().zip(&found) {
                prop_assert!(*pace <= (1.0 + 1e-9) / job.seconds);
                job.loads.iter().for_each(|load| used[load.0 as usize] += load.1 * pace);
            }
            prop_assert!(used.iter().all(|used| *used <= 1.0 + 1e-9), "{used:?}");
            // Nothing is left lying: whoever could go faster crosses a full link.
            for (job, pace) in demand.jobs.iter().zip(&found) {
                let full = job.loads.iter().any(|load| used[load.0 as usize] >= 1.0 - 1e-3);
                prop_assert!(full || *pace >= (1.0 - 1e-3) / job.seconds, "{used:?} {found:?}");
            }
        }

        #[test]
        fn a_gate_lets_the_highest_level_go_as_if_the_others_were_not_there((demand, levels) in demands()) {
            let gated = Demand { fair: Vec::new(), ..demand.clone() };
            let top = levels.iter().copied().min().unwrap_or_default();
            let is_top: Vec<bool> = levels.iter().map(|&level| level == top).collect();
            let among = Paces::new(&gated, &levels).of(&is_top).1.to_vec();
            for (job, pace) in paces(&gated, &levels).iter().enumerate().filter(|(job, _)| is_top[*job]) {
                prop_assert!((pace - among[job]).abs() <= 1e-12 * pace);
            }
        }

        #[test]
        fn islands_have_the_paces_of_all_filled_anew_as_jobs_begin_and_end_to_communicate(
            (demand, levels) in demands(),
            turns in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        ) {
            let gated = Demand { fair: Vec::new(), ..demand };
            let mut whole = Paces::new(&gated, &levels);
            let mut islands = Islands::new(&gated, &levels);
            let mut talking = vec![false; levels.len()];
            let mut kept = vec![0.0; levels.len()];
            for turn in turns {
                let job = turn.index(levels.len());
                talking[job] = !talking[job];
                let (changed, found) = islands.update(&talking);
                for &job in changed {
                    kept[job as usize] = found[job as usize];
                }
                for (job, &pace) in whole.of(&talking).1.iter().enumerate() {
                    prop_assert!((kept[job] - pace).abs() <= 1e-9 * pace, "{job}: {kept:?}, whole {pace}");
                    prop_assert_eq!(kept[job], found[job]);
                }
            }
        }

        #[test]
        fn links_that_others_cover_hold_nobody_back(
            (demand, levels) in demands(),
            talking in prop::collection::vec(any::<bool>(), 6),
            all_hold in any::<bool>(),
        ) {
            let demand = if all_hold { Demand { fair: Vec::new(), ..demand } } else { demand };
            let all: Vec<usize> = (0..levels.len()).collect();
            let less = demand.reduced(&all).binding();
            prop_assert!(less.links <= demand.reduced(&all).links);
            let talking = &talking[..levels.len()];
            let found = Paces::new(&less, &levels).of(talking).1.to_vec();
            for (one, other) in found.iter().zip(Paces::new(&demand, &levels).of(talking).1) {
                prop_assert!((one - other).abs() <= 1e-9 * other, "{found:?} {other}");
            }
        }

        #[test]
        fn where_all_have_one_level_a_gate_changes_nothing((demand, levels) in demands()) {
            let alike = vec![0; levels.len()];
            let gated = Demand { fair: Vec::new(), ..demand.clone() };
            prop_assert_eq!(paces(&demand, &alike), paces(&gated, &alike));
        }
    }
}

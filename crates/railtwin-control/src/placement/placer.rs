//! Whole hosts for the jobs of a scenario.
use std::collections::BTreeSet;

use railtwin_fabric::{Fabric, HostId};
use railtwin_units::stream;

use super::ground::Ground;
use super::order::ordered;
use super::{Place, PlacementError, PlacementPolicy, substituted};

/// Hands out GPUs of one fabric, host by host.
#[derive(Clone, Debug)]
pub struct Placer<'a> {
    fabric: &'a Fabric,
    ground: Ground,
    free: Vec<bool>,
    /// GPUs of hosts that jobs share, each the one of a job.
    held: BTreeSet<Place>,
    /// Spares that stand in for a lost host.
    standing_in: BTreeSet<HostId>,
    seed: u64,
}

impl<'a> Placer<'a> {
    /// All active hosts free.
    pub fn new(fabric: &'a Fabric, seed: u64) -> Self {
        let free = fabric.hosts().iter().map(|host| !host.spare).collect();
        Self {
            fabric,
            ground: Ground::of(fabric),
            free,
            held: BTreeSet::new(),
            standing_in: BTreeSet::new(),
            seed,
        }
    }

    fn gpus(&self, host: HostId) -> u32 {
        self.fabric.host_model(host).gpus
    }

    /// Takes hosts for `ranks` ranks of a job; ranks fill a host's GPUs in order before the next host.
    ///
    /// # Errors
    /// [`PlacementError`] when the job does not fit; nothing is taken then.
    pub fn place(
        &mut self,
        job: &str,
        ranks: u32,
        policy: &PlacementPolicy,
    ) -> Result<Vec<Place>, PlacementError> {
        self.place_some(job, ranks, u32::MAX, policy)
    }

    /// As [`Placer::place`], with these GPUs of each host, in this order. Other jobs may have the others of it, where they
    /// are placed so, too: hosts count as free where these GPUs are.
    ///
    /// # Errors
    /// [`PlacementError`] when the job does not fit; nothing is taken then.
    pub fn place_on(
        &mut self,
        job: &str,
        ranks: u32,
        gpus: &[u32],
        policy: &PlacementPolicy,
    ) -> Result<Vec<Place>, PlacementError> {
        self.place_at(job, ranks, gpus.len() as u32, Some(gpus), policy)
    }

    /// Whether a job may have these GPUs of a host; none = the host, which it shares with nobody.
    fn is_open(&self, host: HostId, gpus: Option<&[u32]>) -> bool {
        let holds = |gpu: u32| self.held.contains(&Place { host, gpu });
        let size = self.gpus(host);
        self.free[host.index()]
            && match gpus {
                None => !(0..size).any(holds),
                Some(gpus) => gpus.iter().all(|&gpu| gpu < size && !holds(gpu)),
            }
    }

    /// As [`Placer::place`], with at most `per_host` GPUs of each host, from its first on. Hosts are the job's all the
    /// same: what it leaves of them nobody else gets.
    ///
    /// # Errors
    /// [`PlacementError`] when the job does not fit; nothing is taken then.
    pub fn place_some(
        &mut self,
        job: &str,
        ranks: u32,
        per_host: u32,
        policy: &PlacementPolicy,
    ) -> Result<Vec<Place>, PlacementError> {
        self.place_at(job, ranks, per_host, None, policy)
    }

    fn place_at(
        &mut self,
        job: &str,
        ranks: u32,
        per_host: u32,
        named: Option<&[u32]>,
        policy: &PlacementPolicy,
    ) -> Result<Vec<Place>, PlacementError> {
        // Policies count whole hosts: as many GPUs as there are on those that the job takes.
        let gpus = self.ground.gpus.iter().copied().max().unwrap_or(1).max(1);
        let whole = u64::from(ranks.div_ceil(gpus.min(per_host).max(1))) * u64::from(gpus);
        let counted = if per_host < gpus { u32::try_from(whole).unwrap_or(u32::MAX) } else { ranks };
        let order = self.order(job, counted, named, policy)?;
        if let (PlacementPolicy::WholeInPods(unit), true) = (policy, order.is_empty() && self.holds(ranks)) {
            let (units, unit) = (ranks.div_ceil((*unit).max(1)), *unit);
            return Err(PlacementError::Units { job: job.to_owned(), units, unit });
        }
        let mut places = Vec::with_capacity(ranks as usize);
        let mut used = Vec::new();
        for host in order {
            if places.len() as u32 == ranks {
                break;
            }
            used.push(host);
            let take = self.gpus(host).min(per_host).min(ranks - places.len() as u32);
            let gpu = |at: u32| named.map_or(at, |gpus| gpus[at as usize]);
            places.extend((0..take).map(|at| Place { host, gpu: gpu(at) }));
        }
        if (places.len() as u32) < ranks {
            let sum = |keep: &dyn Fn(usize) -> bool| -> u32 {
                let hosts = (0..self.free.len()).filter(|&host| keep(host));
                hosts.map(|host| self.gpus(HostId::from_index(host)).min(per_host)).sum()
            };
            return Err(PlacementError::TooFewGpus {
                job: job.to_owned(),
                wanted: ranks,
                free: sum(&|host| self.is_open(HostId::from_index(host), named)),
                active: sum(&|host| !self.fabric.hosts()[host].spare),
            });
        }
        match named {
            Some(_) => self.held.extend(&places),
            None => used.into_iter().for_each(|host| self.free[host.index()] = false),
        }
        Ok(places)
    }

    /// Whether free hosts have so many GPUs.
    fn holds(&self, ranks: u32) -> bool {
        let free = self.free.iter().zip(&self.ground.gpus).filter(|(free, _)| **free);
        free.map(|(_, gpus)| u64::from(*gpus)).sum::<u64>() >= u64::from(ranks)
    }

    /// Puts a spare of the same segment in the place of a host of a job that is lost (HPN section 5.1; C4 section III-A:
    /// any 128 of 136 hosts): every rank keeps its number.
    ///
    /// # Errors
    /// [`PlacementError::Host`] where the job does not have the host, or its segment no spare.
    pub fn substitute(
        &mut self,
        job: &str,
        places: &[Place],
        lost: u32,
    ) -> Result<Vec<Place>, PlacementError> {
        let wrong = |problem: &str| {
            let problem = problem.to_owned();
            PlacementError::Host { job: job.to_owned(), host: lost, problem }
        };
        let host = HostId(lost);
        if !places.iter().any(|place| place.host == host) {
            return Err(wrong("the job is not placed on it"));
        }
        let fits = |spare: &HostId| {
            self.ground.spare[spare.index()]
                && !self.standing_in.contains(spare)
                && self.ground.segment(*spare) == self.ground.segment(host)
                && self.gpus(*spare) == self.gpus(host)
        };
        let spare = (0..self.free.len()).map(HostId::from_index).find(fits);
        let spare = spare.ok_or_else(|| wrong("its segment has no backup host left to stand in for it"))?;
        self.standing_in.insert(spare);
        Ok(substituted(places, host, spare))
    }

    /// Free hosts in the order in which the policy takes them, at least as many as `ranks` take where there are.
    fn order(
        &self,
        job: &str,
        ranks: u32,
        gpus: Option<&[u32]>,
        policy: &PlacementPolicy,
    ) -> Result<Vec<HostId>, PlacementError> {
        match policy {
            PlacementPolicy::Hosts(hosts) => return self.named(job, hosts, gpus),
            PlacementPolicy::Near(hosts) => self.known(job, hosts)?,
            _ => {}
        }
        let hosts = (0..self.free.len()).map(HostId::from_index);
        let free = hosts.filter(|&host| self.is_open(host, gpus)).collect();
        let lot = || stream::named(self.seed, &format!("placement/{job}"));
        Ok(ordered(&self.ground, free, ranks, policy, lot))
    }

    /// Refuses hosts that the fabric does not have.
    fn known(&self, job: &str, hosts: &[u32]) -> Result<(), PlacementError> {
        let unknown = hosts.iter().find(|host| **host as usize >= self.free.len());
        unknown.map_or(Ok(()), |&host| {
            let problem = format!("the fabric has hosts 0 to {}", self.free.len().saturating_sub(1));
            Err(PlacementError::Host { job: job.to_owned(), host, problem })
        })
    }

    fn named(&self, job: &str, hosts: &[u32], gpus: Option<&[u32]>) -> Result<Vec<HostId>, PlacementError> {
        let mut seen = BTreeSet::new();
        for &host in hosts {
            let problem = match self.free.get(host as usize) {
                None => format!("the fabric has hosts 0 to {}", self.free.len().saturating_sub(1)),
                Some(false) if self.fabric.hosts()[host as usize].spare => "it is a backup host".to_owned(),
                Some(false) => "another job has it".to_owned(),
                Some(true) if !self.is_open(HostId(host), gpus) => match gpus {
                    None => "other jobs have GPUs of it".to_owned(),
                    Some(_) => "another job has one of these GPUs of it".to_owned(),
                },
                Some(true) if !seen.insert(host) => "it is named twice".to_owned(),
                Some(true) => continue,
            };
            return Err(PlacementError::Host { job: job.to_owned(), host, problem });
        }
        Ok(hosts.iter().map(|&host| HostId(host)).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::Hpn;

    use super::*;

    fn fabric() -> Fabric {
        Hpn { segments: Some(3), hosts: Some(4), spare_hosts: Some(1), ..Hpn::default() }.build().unwrap()
    }

    #[test]
    fn spread_takes_a_host_from_every_segment_in_turn() {
        let fabric = fabric();
        let places = Placer::new(&fabric, 1).place("a", 32, &PlacementPolicy::Spread).unwrap();
        let segments: Vec<u32> = places.iter().step_by(8).map(|p| fabric.host(p.host).segment).collect();
        assert_eq!(segments, [0, 1, 2, 0]);
    }

    #[test]
    fn a_job_that_does_not_fit_takes_nothing() {
        let fabric = fabric();
        let mut placer = Placer::new(&fabric, 1);
        let error = placer.place("big", 97, &PlacementPolicy::Packed).unwrap_err();
        assert!(error.to_string().contains("wants 97 GPUs, but 96 of"), "{error}");
        assert!(placer.place("fits", 96, &PlacementPolicy::Packed).is_ok());
        let spare = placer.place("spare", 8, &PlacementPolicy::Hosts(vec![4])).unwrap_err();
        assert!(spare.to_string().contains("backup"), "{spare}");
    }

    #[test]
    fn a_job_may_take_some_gpus_of_each_host() {
        let fabric = fabric();
        let mut placer = Placer::new(&fabric, 1);
        let places = placer.place_some("half", 8, 4, &PlacementPolicy::Spread).unwrap();
        let gpus: Vec<u32> = places.iter().map(|place| place.gpu).collect();
        assert_eq!(gpus, [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_ne!(places[3].host, places[4].host);
        // Two of twelve hosts are gone, with all their GPUs.
        assert!(placer.place("rest", 81, &PlacementPolicy::Packed).is_err());
        let error = placer.place_some("wide", 41, 4, &PlacementPolicy::Packed).unwrap_err();
        assert!(error.to_string().contains("wants 41 GPUs, but 40 of"), "{error}");
        assert!(placer.place_some("fits", 40, 4, &PlacementPolicy::Packed).is_ok());
    }

    #[test]
    fn jobs_share_a_host_by_its_gpus() {
        let fabric = fabric();
        let mut placer = Placer::new(&fabric, 1);
        let hosts = |hosts: &[u32]| PlacementPolicy::Hosts(hosts.to_vec());
        let even = placer.place_on("even", 8, &[0, 2, 4, 6], &hosts(&[1, 5])).unwrap();
        assert_eq!(
            (even[1], even[4]),
            (Place { host: HostId(1), gpu: 2 }, Place { host: HostId(5), gpu: 0 })
        );
        let taken = placer.place_on("low", 4, &[0, 1, 2, 3], &hosts(&[1])).unwrap_err();
        assert!(taken.to_string().contains("another job has one of these GPUs"), "{taken}");
        let whole = placer.place("whole", 8, &hosts(&[1])).unwrap_err();
        assert!(whole.to_string().contains("other jobs have GPUs of it"), "{whole}");
        // Where a policy takes hosts it passes over those on which these GPUs are not free, and takes the others.
        let low = placer.place_on("low", 8, &[0, 1, 2, 3], &PlacementPolicy::Packed).unwrap();
        assert_eq!((low[0].host, low[4].host), (HostId(0), HostId(2)));
        let odd = placer.place_on("odd", 8, &[7, 5, 3, 1], &PlacementPolicy::Packed).unwrap();
        assert_eq!((odd[0], odd[4].host), (Place { host: HostId(1), gpu: 7 }, HostId(3)));
        // Nobody has anything of seven of the twelve hosts.
        assert!(placer.place("rest", 57, &PlacementPolicy::Packed).is_err());
        assert!(placer.place("rest", 56, &PlacementPolicy::Packed).is_ok());
    }

    proptest! {
        #[test]
        fn no_gpu_is_given_twice_and_the_same_seed_repeats(seed: u64, sizes in prop::collection::vec(1u32..40, 1..4)) {
            let fabric = fabric();
            let run = || {
                let mut placer = Placer::new(&fabric, seed);
                let jobs = sizes.iter().enumerate();
                jobs.filter_map(|(i, &n)| placer.place(&i.to_string(), n, &PlacementPolicy::Random).ok())
                    .flatten()
                    .collect::<Vec<Place>>()
            };
            let places = run();
            let mut distinct = places.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), places.len());
            prop_assert!(places.iter().all(|p| !fabric.host(p.host).spare));
            prop_assert_eq!(places, run());
        }
    }
}

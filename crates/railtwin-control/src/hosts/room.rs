//! Free GPUs of a cluster and jobs that wait for them, where somebody else says who starts and where.
use std::collections::BTreeMap;

use railtwin_fabric::{Fabric, HostId};

use crate::controller::Action;
use crate::paths::JobId;

/// GPUs of hosts, counted: how many of each.
type Parts = Vec<(HostId, u32)>;

/// Free GPUs by host, jobs that wait and jobs that run.
#[derive(Clone, Debug)]
pub struct Room {
    free: Vec<u32>,
    waiting: BTreeMap<JobId, u32>,
    /// Of jobs that wait what they were given so far.
    given: BTreeMap<JobId, Parts>,
    running: BTreeMap<JobId, Parts>,
}

impl Room {
    /// All GPUs of hosts that are no spares are free.
    pub fn new(fabric: &Fabric) -> Self {
        let hosts = (0..fabric.hosts().len()).map(HostId::from_index);
        let free = hosts.map(|host| if fabric.host(host).spare { 0 } else { fabric.host_model(host).gpus });
        Self {
            free: free.collect(),
            waiting: BTreeMap::new(),
            given: BTreeMap::new(),
            running: BTreeMap::new(),
        }
    }

    /// Takes GPUs of a host that no job is to have, of those that are free.
    pub fn keep(&mut self, host: HostId, gpus: u32) {
        let free = &mut self.free[host.index()];
        *free = free.saturating_sub(gpus);
    }

    /// A job waits for so many GPUs.
    pub fn submitted(&mut self, job: JobId, gpus: u32) {
        self.waiting.insert(job, gpus);
    }

    /// A job is gone, and gives back what it had.
    pub fn closed(&mut self, job: JobId) {
        for (host, gpus) in self.running.remove(&job).unwrap_or_default() {
            self.free[host.index()] += gpus;
        }
    }

    /// Gives a job GPUs of a host. Where it has all that it wants by it: GPUs of each host, in the order of its ranks.
    ///
    /// # Errors
    /// Why it cannot have them; nothing is changed then. Other actions give no GPUs.
    pub fn take(&mut self, action: &Action) -> Result<Option<Parts>, String> {
        let Action::Place { job, host, gpus } = *action else {
            return Err(format!("{} places no job: write place", action.name()));
        };
        let Some(&wanted) = self.waiting.get(&job) else {
            return Err(format!("job {} does not wait", job.0));
        };
        let hosts = self.free.len();
        let Some(free) = self.free.get_mut(host.index()) else {
            return Err(format!("there is no host {}: the fabric has {hosts}, from 0", host.0));
        };
        let parts = self.given.entry(job).or_default();
        let had: u32 = parts.iter().map(|part| part.1).sum();
        if gpus == 0 || gpus > wanted - had {
            let rest = wanted - had;
            return Err(format!("{gpus} GPUs for job {}, which waits for {rest}: write 1 to {rest}", job.0));
        }
        if gpus > *free {
            return Err(format!("{gpus} GPUs of host-{}, of which {free} are free", host.0));
        }
        *free -= gpus;
        parts.push((host, gpus));
        if had + gpus < wanted {
            return Ok(None);
        }
        self.waiting.remove(&job);
        let parts = self.given.remove(&job).unwrap_or_default();
        self.running.insert(job, parts.clone());
        Ok(Some(parts))
    }

    /// Whether every job has all of its GPUs or none.
    ///
    /// # Errors
    /// The first that has some.
    pub fn is_settled(&self) -> Result<(), String> {
        let half = self.given.iter().find(|(_, parts)| !parts.is_empty());
        half.map_or(Ok(()), |(job, parts)| {
            let had: u32 = parts.iter().map(|part| part.1).sum();
            let wanted = self.waiting.get(job).copied().unwrap_or_default();
            Err(format!("job {} was given {had} of {wanted} GPUs: give it all at one time", job.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::Hpn;

    use super::*;

    fn room() -> Room {
        let hpn = Hpn { segments: Some(1), hosts: Some(2), spare_hosts: Some(1), ..Hpn::default() };
        Room::new(&hpn.build().unwrap())
    }

    fn place(job: u32, host: u32, gpus: u32) -> Action {
        Action::Place { job: JobId(job), host: HostId(host), gpus }
    }

    #[test]
    fn a_job_gets_what_it_wants_and_gives_it_back() {
        let mut room = room();
        room.submitted(JobId(3), 12);
        assert!(room.take(&place(2, 0, 8)).unwrap_err().contains("does not wait"));
        assert!(room.take(&place(3, 2, 1)).unwrap_err().contains("of which 0 are free"));
        assert!(room.take(&place(3, 7, 1)).unwrap_err().contains("no host 7"));
        assert!(room.take(&place(3, 0, 13)).unwrap_err().contains("write 1 to 12"));
        assert_eq!(room.take(&place(3, 0, 8)).unwrap(), None);
        assert!(room.is_settled().unwrap_err().contains("8 of 12"));
        assert_eq!(room.take(&place(3, 1, 4)).unwrap(), Some(vec![(HostId(0), 8), (HostId(1), 4)]));
        assert!(room.is_settled().is_ok());
        room.closed(JobId(3));
        room.submitted(JobId(4), 16);
        room.take(&place(4, 1, 8)).unwrap();
        assert!(room.take(&place(4, 0, 8)).unwrap().is_some());
    }

    proptest! {
        /// Whatever is asked for, no GPU is given twice.
        #[test]
        fn free_and_held_are_all(asked in prop::collection::vec((0_u32..4, 0_u32..4, 0_u32..10), 0..60)) {
            let mut room = room();
            for (kind, one, other) in asked {
                match kind {
                    0 => {
                        if !room.running.contains_key(&JobId(one)) && !room.waiting.contains_key(&JobId(one)) {
                            room.submitted(JobId(one), other + 1);
                        }
                    }
                    1 => room.closed(JobId(one)),
                    _ => { let _ = room.take(&place(one, kind - 2, other)); }
                }
                let held = room.given.values().chain(room.running.values()).flatten();
                let sum = |host: u32| held.clone().filter(|part| part.0 == HostId(host)).map(|part| part.1).sum::<u32>();
                prop_assert!((0..2).all(|host| room.free[host as usize] + sum(host) == 8));
            }
        }
    }
}

//! The hosts in somebody's care: who runs where, who is out, who can take a place.
use std::collections::BTreeSet;
use std::sync::Arc;

use railtwin_fabric::{Fabric, HostId};

use crate::controller::Action;
use crate::paths::JobId;

/// The hosts of one job over its life, the spares of the fabric, and hosts that are out: what may be done with them.
#[derive(Clone, Debug)]
pub struct Wards {
    fabric: Arc<Fabric>,
    job: JobId,
    seats: Vec<HostId>,
    spares: BTreeSet<HostId>,
    out: BTreeSet<HostId>,
}

impl Wards {
    /// Of a job that runs on these hosts, in the order of their ranks; free are the spares that it does not run on.
    pub fn new(fabric: &Arc<Fabric>, job: JobId, hosts: &[HostId]) -> Self {
        let all = (0..fabric.hosts().len()).map(HostId::from_index);
        let spares = all.filter(|&host| fabric.host(host).spare && !hosts.contains(&host)).collect();
        Self { fabric: Arc::clone(fabric), job, seats: hosts.to_vec(), spares, out: BTreeSet::new() }
    }

    /// Hosts of the job in the order of their ranks: with spares that took a place, and with hosts that are out where
    /// none did yet.
    pub fn hosts(&self) -> &[HostId] {
        &self.seats
    }

    /// Whether a host is out.
    pub fn is_out(&self, host: HostId) -> bool {
        self.out.contains(&host)
    }

    /// How many hosts are out.
    pub fn out(&self) -> usize {
        self.out.len()
    }

    /// Whether every place of the job has a host that is not out.
    pub fn is_whole(&self) -> bool {
        !self.seats.iter().any(|host| self.out.contains(host))
    }

    /// A host works again: where nobody took its place it has it still, else it is a spare.
    pub fn repaired(&mut self, host: HostId) {
        if self.out.remove(&host) && !self.seats.contains(&host) {
            self.spares.insert(host);
        }
    }

    /// Takes in what is done with hosts.
    ///
    /// # Errors
    /// Why it cannot be done, and what can; nothing is changed then. Other actions are none of hosts.
    pub fn take(&mut self, action: &Action) -> Result<(), String> {
        match *action {
            Action::Isolate(host) => {
                self.known(host)?;
                if self.out.contains(&host) {
                    return Err(format!("host-{} is out already", host.0));
                }
                if !self.seats.contains(&host) {
                    return Err(format!(
                        "the job does not run on host-{}: hosts of the job are isolated",
                        host.0
                    ));
                }
                self.out.insert(host);
                Ok(())
            }
            Action::Swap { job, out, spare } => {
                self.is_job(job)?;
                self.known(out)?;
                self.known(spare)?;
                let seat = self.seats.iter().position(|&host| host == out);
                let Some(seat) = seat.filter(|_| self.out.contains(&out)) else {
                    return Err(format!(
                        "host-{} has no place of the job that is empty: isolate it first",
                        out.0
                    ));
                };
                if !self.spares.remove(&spare) {
                    let free = self.spares.len();
                    return Err(format!("host-{} is no spare that is free: {free} are", spare.0));
                }
                self.seats[seat] = spare;
                Ok(())
            }
            Action::Restart(job) => {
                self.is_job(job)?;
                let empty = self.seats.iter().find(|host| self.out.contains(host));
                empty.map_or(Ok(()), |host| {
                    Err(format!(
                        "the place of host-{} is empty: swap in a spare, or wait until it is back",
                        host.0
                    ))
                })
            }
            _ => Err(format!("{} is no action on hosts: write isolate, swap or restart", action.name())),
        }
    }

    fn known(&self, host: HostId) -> Result<(), String> {
        let count = self.fabric.hosts().len();
        if host.index() < count {
            return Ok(());
        }
        Err(format!("there is no host {}: the fabric has {count}, from 0", host.0))
    }

    fn is_job(&self, job: JobId) -> Result<(), String> {
        if job == self.job {
            Ok(())
        } else {
            Err(format!("there is no job {}: it is job {}", job.0, self.job.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::Hpn;

    use super::*;

    const JOB: JobId = JobId(0);

    fn wards() -> Wards {
        let fabric = Hpn { segments: Some(2), hosts: Some(2), spare_hosts: Some(1), ..Hpn::default() }
            .build()
            .unwrap();
        let hosts: Vec<HostId> = (0..fabric.hosts().len())
            .map(HostId::from_index)
            .filter(|&host| !fabric.host(host).spare)
            .collect();
        Wards::new(&Arc::new(fabric), JOB, &hosts)
    }

    #[test]
    fn a_spare_takes_the_place_of_who_is_out_and_nobody_elses() {
        let mut wards = wards();
        let (first, spare) = (wards.hosts()[0], HostId(2));
        let swap = Action::Swap { job: JOB, out: first, spare };
        assert!(wards.take(&swap).unwrap_err().contains("isolate it first"));
        wards.take(&Action::Isolate(first)).unwrap();
        assert!(wards.take(&Action::Isolate(first)).unwrap_err().contains("out already"));
        assert!(wards.take(&Action::Restart(JOB)).unwrap_err().contains("place of host-0 is empty"));
        assert!(
            wards
                .take(&Action::Swap { job: JOB, out: first, spare: HostId(1) })
                .unwrap_err()
                .contains("no spare")
        );
        wards.take(&swap).unwrap();
        wards.take(&Action::Restart(JOB)).unwrap();
        wards.repaired(first);
        wards.take(&Action::Isolate(spare)).unwrap();
        wards.take(&Action::Swap { job: JOB, out: spare, spare: first }).unwrap();
        assert_eq!(wards.hosts()[0], first);
        assert!(wards.take(&Action::Restart(JobId(1))).unwrap_err().contains("no job 1"));
        assert!(wards.take(&Action::Isolate(HostId(99))).unwrap_err().contains("no host 99"));
    }

    proptest! {
        /// Whatever is asked for, every host is in one place, a spare, or out, and none of them twice.
        #[test]
        fn no_host_is_twice(asked in prop::collection::vec((0_u32..4, 0_u32..7, 0_u32..7), 0..40)) {
            let mut wards = wards();
            let count = wards.hosts().len();
            for (kind, one, other) in asked {
                let (one, other) = (HostId(one), HostId(other));
                let before = format!("{wards:?}");
                let done = match kind {
                    0 => wards.take(&Action::Isolate(one)),
                    1 => wards.take(&Action::Swap { job: JOB, out: one, spare: other }),
                    2 => wards.take(&Action::Restart(JOB)),
                    _ => { wards.repaired(one); Ok(()) }
                };
                if done.is_err() {
                    prop_assert_eq!(before, format!("{wards:?}"));
                }
                let mut seated = wards.hosts().to_vec();
                seated.sort_unstable();
                seated.dedup();
                prop_assert_eq!(seated.len(), count);
                prop_assert!(wards.spares.iter().all(|host| !seated.contains(host) && !wards.is_out(*host)));
            }
        }
    }
}

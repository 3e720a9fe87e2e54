//! What a job's candidates put on links: summed once, for as long as the job stays where it is.
use std::cmp::Reverse;

use super::demand::{JobDemand, loads_of, summed};
use super::tenants::{Tenant, Tenants};

/// A job as paths are chosen for it. Nothing in it hangs on other jobs, and it does not change: a job that moves, or whose
/// candidates change, has another.
#[derive(Clone, Debug, PartialEq)]
pub struct Burdens {
    /// GPU intensity by the paths by which the job was profiled.
    pub(super) intensity: f64,
    /// Its transfers, the largest first.
    pub(super) transfers: Vec<TransferBurdens>,
    /// By candidate, transfer after transfer: where its links end in `links`.
    ends: Vec<u32>,
    /// Links of the candidates, of each in order.
    links: Vec<u32>,
    /// The share of time for which the job uses them: seconds of a step on it over seconds of a step.
    shares: Vec<f64>,
    /// All links of its candidates, in order.
    pub(super) reach: Vec<u32>,
}

/// A transfer's place in [`Burdens`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransferBurdens {
    /// Its number in the job.
    pub(super) number: u32,
    /// Its first candidate among those of the job, and how many it has.
    first: u32,
    candidates: u32,
}

impl Burdens {
    /// Of a job that was profiled with this demand.
    pub fn of(tenants: &Tenants, job: &Tenant, profiled: &JobDemand) -> Self {
        let step = profiled.step_alone();
        let mut order: Vec<usize> = (0..job.transfers.len()).collect();
        order.sort_by_key(|&transfer| Reverse(job.transfers[transfer].bytes));
        let mut burdens = Self {
            intensity: profiled.intensity(),
            transfers: Vec::with_capacity(order.len()),
            ends: Vec::new(),
            links: Vec::new(),
            shares: Vec::new(),
            reach: Vec::new(),
        };
        let mut is_reached = vec![false; tenants.links.len()];
        let mut loads = Vec::new();
        for number in order {
            let transfer = &job.transfers[number];
            let (first, candidates) = (burdens.ends.len() as u32, transfer.candidates.len() as u32);
            burdens.transfers.push(TransferBurdens { number: number as u32, first, candidates });
            for candidate in 0..candidates {
                loads.clear();
                loads.extend(loads_of(tenants, transfer, candidate));
                loads = summed(loads);
                for &(link, seconds) in &loads {
                    burdens.links.push(link);
                    burdens.shares.push(seconds / step);
                    is_reached[link as usize] = true;
                }
                burdens.ends.push(burdens.links.len() as u32);
            }
        }
        burdens.reach = (0..).zip(is_reached).filter(|(_, is)| *is).map(|(link, _)| link).collect();
        burdens.reach.shrink_to_fit();
        burdens.links.shrink_to_fit();
        burdens.shares.shrink_to_fit();
        burdens
    }

    /// The links of a candidate, with the shares of time for which it uses them.
    pub(super) fn of_candidate(
        &self,
        transfer: TransferBurdens,
        candidate: u32,
    ) -> impl Iterator<Item = (u32, f64)> + '_ {
        let at = (transfer.first + candidate) as usize;
        let from = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        let within = from..self.ends[at] as usize;
        self.links[within.clone()].iter().copied().zip(self.shares[within].iter().copied())
    }

    /// The candidate of a transfer whose most congested link is least congested with it, then by the sum over its links,
    /// then the first, where links are used so far as `used` says.
    pub(super) fn least_congested(&self, transfer: TransferBurdens, used: impl Fn(u32) -> f64) -> u32 {
        let (mut best, mut chosen) = (None, 0);
        for candidate in 0..transfer.candidates {
            let after = self.of_candidate(transfer, candidate).map(|(link, share)| used(link) + share);
            let burden = after.fold((0.0f64, 0.0f64), |(most, sum), after| (most.max(after), sum + after));
            if best.is_none_or(|best| burden < best) {
                (best, chosen) = (Some(burden), candidate);
            }
        }
        chosen
    }
}

//! What a job's candidates put on links: summed once, for as long as the job stays where it is.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::demand::{JobDemand, loads_of, seconds_on, summed};
use super::tenants::{Tenant, Tenants};

/// A job as paths are chosen for it. Nothing in it hangs on other jobs, and it does not change: a job that moves, or whose
/// candidates change, has another. It takes the place of a [`Tenant`] whose transfers need not be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Burdens {
    /// What it asks beside its loads.
    job: JobDemand,
    inside: Option<(u32, f64)>,
    /// GPU intensity by the paths by which it was profiled.
    pub(super) intensity: f64,
    /// Links of its longest candidate.
    distance: usize,
    transfers: Vec<TransferBurdens>,
    /// Numbers of the transfers that send the most, first.
    pub(super) largest_first: Vec<u32>,
    /// By candidate, transfer after transfer: where its links end in `links`.
    ends: Vec<u32>,
    /// Links of the candidates, of each in order and once.
    links: Vec<u32>,
    /// The share of time for which the job uses them: seconds of a step on it over seconds of a step.
    shares: Vec<f64>,
    /// Places in `links` of those that a candidate crosses again, and how many times more.
    again: BTreeMap<usize, usize>,
    /// All links of its candidates, in order.
    reach: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TransferBurdens {
    bytes: f64,
    /// Its first candidate among those of the job, and how many it has.
    first: u32,
    candidates: u32,
}

impl Burdens {
    /// Of a job that was profiled with this demand.
    pub fn of(tenants: &Tenants, job: &Tenant, profiled: &JobDemand) -> Self {
        let step = profiled.step_alone();
        let mut largest_first: Vec<u32> = (0..job.transfers.len() as u32).collect();
        largest_first.sort_by_key(|&transfer| Reverse(job.transfers[transfer as usize].bytes));
        let candidates = job.transfers.iter().flat_map(|transfer| &transfer.candidates);
        let crossings = candidates.clone().map(|candidate| candidate.links.len()).sum();
        let mut burdens = Self {
            job: JobDemand { loads: Vec::new(), seconds: 0.0, ..*profiled },
            inside: job.inside,
            intensity: profiled.intensity(),
            distance: job.distance(),
            transfers: Vec::with_capacity(job.transfers.len()),
            largest_first,
            ends: Vec::with_capacity(candidates.count()),
            links: Vec::with_capacity(crossings),
            shares: Vec::with_capacity(crossings),
            again: BTreeMap::new(),
            reach: Vec::new(),
        };
        let mut is_reached = vec![false; tenants.links.len()];
        let mut loads = Vec::new();
        for transfer in &job.transfers {
            let (first, candidates) = (burdens.ends.len() as u32, transfer.candidates.len() as u32);
            let bytes = transfer.bytes.0 as f64;
            burdens.transfers.push(TransferBurdens { bytes, first, candidates });
            for (number, candidate) in (0..).zip(&transfer.candidates) {
                loads.clear();
                loads.extend(loads_of(tenants, transfer, number));
                let crossings = loads.len();
                loads = summed(loads);
                if loads.len() < crossings {
                    for (place, &(link, _)) in (burdens.links.len()..).zip(&loads) {
                        let times = candidate.links.iter().filter(|&&one| one == link).count();
                        burdens.again.extend((times > 1).then_some((place, times - 1)));
                    }
                }
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
        burdens
    }

    /// What the job asks by the candidates `chosen` for its transfers, as [`JobDemand::of`] has it.
    pub fn demand(&self, tenants: &Tenants, chosen: &[u32]) -> JobDemand {
        let mut loads: Vec<(u32, f64)> = Vec::new();
        for (transfer, &candidate) in self.transfers.iter().zip(chosen) {
            for place in self.places(transfer, candidate) {
                let link = self.links[place];
                let times = 1 + self.again.get(&place).copied().unwrap_or(0);
                let load = (link, seconds_on(tenants, link, transfer.bytes));
                loads.extend(std::iter::repeat_n(load, times));
            }
        }
        loads.extend(self.inside);
        self.job.clone().asking(summed(loads))
    }

    /// Links of its longest candidate.
    pub fn distance(&self) -> usize {
        self.distance
    }

    /// All links of its candidates, in order.
    pub fn reach(&self) -> &[u32] {
        &self.reach
    }

    /// Where the links of a candidate stand.
    fn places(&self, transfer: &TransferBurdens, candidate: u32) -> std::ops::Range<usize> {
        let at = (transfer.first + candidate) as usize;
        let from = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        from..self.ends[at] as usize
    }

    fn uses_of(&self, transfer: &TransferBurdens, candidate: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let places = self.places(transfer, candidate);
        self.links[places.clone()].iter().copied().zip(self.shares[places].iter().copied())
    }

    /// The links of a transfer's candidate, with the shares of time for which the job uses them.
    pub(super) fn uses(&self, transfer: u32, candidate: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.uses_of(&self.transfers[transfer as usize], candidate)
    }

    /// The candidate of a transfer whose most congested link is least congested with it, then by the sum over its links,
    /// then the first, where links are used so far as `used` says.
    pub(super) fn least_congested(&self, transfer: u32, used: impl Fn(u32) -> f64) -> u32 {
        let transfer = &self.transfers[transfer as usize];
        let (mut best, mut chosen) = (None, 0);
        for candidate in 0..transfer.candidates {
            let after = self.uses_of(transfer, candidate).map(|(link, share)| used(link) + share);
            let burden = after.fold((0.0f64, 0.0f64), |(most, sum), after| (most.max(after), sum + after));
            if best.is_none_or(|best| burden < best) {
                (best, chosen) = (Some(burden), candidate);
            }
        }
        chosen
    }
}

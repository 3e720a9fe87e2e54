//! Which path each transfer takes.
use railtwin_units::stream;
use rand::RngExt;

use super::demand::{Demand, loads_of, summed};
use super::tenants::{Paths, Tenants, Transfer};

/// Crux, section 4.1: jobs in falling order of intensity, each on the least congested of its paths at that moment.
/// Intensities are of the paths by which jobs were `profiled`; of equal ones the job that came first goes first.
pub fn by_intensity(tenants: &Tenants, profiled: &Paths) -> Paths {
    let demand = Demand::of(tenants, profiled);
    let intensity = |job: &usize| demand.jobs[*job].intensity();
    let mut order: Vec<usize> = (0..tenants.jobs.len()).collect();
    order.sort_by(|first, second| intensity(second).total_cmp(&intensity(first)));
    in_order(tenants, &demand, &order)
}

/// TACCL* of the Crux paper (section 4.4, note 3): the least congested links, traffic with the longer way first.
pub fn by_distance(tenants: &Tenants, profiled: &Paths) -> Paths {
    let demand = Demand::of(tenants, profiled);
    in_order(tenants, &demand, &distance_order(tenants))
}

/// Jobs by the links of their longest path, most first; of equal ones the job that came first goes first.
pub fn distance_order(tenants: &Tenants) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tenants.jobs.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse(distance(tenants, job)));
    order
}

/// Links of a job's longest candidate.
pub(super) fn distance(tenants: &Tenants, job: usize) -> usize {
    let candidates = tenants.jobs[job].transfers.iter().flat_map(|transfer| &transfer.candidates);
    candidates.map(|candidate| candidate.links.len()).max().unwrap_or(0)
}

/// By lot, as ECMP's hash is to who does not know it.
pub fn by_hash(tenants: &Tenants, seed: u64) -> Paths {
    let mut stream = stream::named(seed, "crux-ecmp");
    let mut pick = |transfer: &Transfer| stream.random_range(0..transfer.candidates.len() as u32);
    tenants.jobs.iter().map(|job| job.transfers.iter().map(&mut pick).collect()).collect()
}

/// Jobs in `order`, each transfer, the largest first, on the candidate whose most congested link is least congested
/// with it, then by the sum over its links, then the first. A link is as congested as the share of time in which the
/// jobs so far use it: seconds of a step on it over seconds of a step.
fn in_order(tenants: &Tenants, profiled: &Demand, order: &[usize]) -> Paths {
    let mut paths = tenants.first_paths();
    let mut used = vec![0.0f64; tenants.links.len()];
    let mut loads: Vec<(u32, f64)> = Vec::new();
    for &job in order {
        let transfers = &tenants.jobs[job].transfers;
        let step = profiled.jobs[job].step_alone();
        let mut largest_first: Vec<usize> = (0..transfers.len()).collect();
        largest_first.sort_by_key(|&transfer| std::cmp::Reverse(transfers[transfer].bytes));
        for transfer in largest_first {
            let mut best: Option<(f64, f64)> = None;
            let mut best_loads = Vec::new();
            for candidate in 0..transfers[transfer].candidates.len() as u32 {
                loads.clear();
                loads.extend(loads_of(tenants, &transfers[transfer], candidate));
                loads = summed(std::mem::take(&mut loads));
                let after = |&(link, seconds): &(u32, f64)| used[link as usize] + seconds / step;
                let burden = loads
                    .iter()
                    .map(after)
                    .fold((0.0f64, 0.0), |(most, sum), after| (most.max(after), sum + after));
                if best.is_none_or(|best| burden < best) {
                    (best, paths[job][transfer]) = (Some(burden), candidate);
                    best_loads.clone_from(&loads);
                }
            }
            best_loads.iter().for_each(|&(link, seconds)| used[link as usize] += seconds / step);
        }
    }
    paths
}

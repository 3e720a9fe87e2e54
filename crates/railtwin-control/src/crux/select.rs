//! Which path each transfer takes.
use std::cmp::Reverse;
use std::sync::Arc;

use railtwin_units::stream;
use rand::RngExt;

use super::burdens::Burdens;
use super::demand::Demand;
use super::selection::Selection;
use super::tenants::{Paths, Tenants, Transfer};

/// Crux, section 4.1: jobs in falling order of intensity, each on the least congested of its paths at that moment.
/// Intensities are of the paths by which jobs were `profiled`; of equal ones the job that came first goes first.
pub fn by_intensity(tenants: &Tenants, profiled: &Paths) -> Paths {
    let burdens = burdens(tenants, profiled);
    Selection::default().choose(&burdens, &order_by_intensity(&burdens), tenants.links.len())
}

/// TACCL* of the Crux paper (section 4.4, note 3): the least congested links, traffic with the longer way first.
pub fn by_distance(tenants: &Tenants, profiled: &Paths) -> Paths {
    let burdens = burdens(tenants, profiled);
    Selection::default().choose(&burdens, &order_by_distance(&burdens), tenants.links.len())
}

fn burdens(tenants: &Tenants, profiled: &Paths) -> Vec<Arc<Burdens>> {
    let demand = Demand::of(tenants, profiled);
    let of = |(job, profiled)| Arc::new(Burdens::of(tenants, job, profiled));
    tenants.jobs.iter().zip(&demand.jobs).map(of).collect()
}

pub(super) fn order_by_intensity(jobs: &[Arc<Burdens>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|&first, &second| jobs[second].intensity.total_cmp(&jobs[first].intensity));
    order
}

/// Jobs by the links of their longest path, most first; of equal ones the job that came first goes first.
pub(super) fn order_by_distance(jobs: &[Arc<Burdens>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&job| Reverse(jobs[job].distance()));
    order
}

/// By lot, as ECMP's hash is to who does not know it.
pub fn by_hash(tenants: &Tenants, seed: u64) -> Paths {
    let mut stream = stream::named(seed, "crux-ecmp");
    let mut pick = |transfer: &Transfer| stream.random_range(0..transfer.candidates.len() as u32);
    tenants.jobs.iter().map(|job| job.transfers.iter().map(&mut pick).collect()).collect()
}

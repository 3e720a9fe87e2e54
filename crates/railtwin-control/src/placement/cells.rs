//! The smallest cell that holds a part of a host: buddies, after HiveD (Zhao et al., OSDI 2020, section 3).
//!
//! A host is halved again and again, down to the GPUs that share a NIC and to single GPUs; each half is a cell, and a GPU
//! count gets a cell of the next power of two. Of the cells that hold it that is taken whose own cell, and the cells around
//! it, are fullest: cells which are still whole stay whole for jobs that need them.
use std::ops::Range;

use railtwin_fabric::HostId;

use super::cluster::ClusterPlacer;

impl ClusterPlacer {
    /// The host and the cell of it in which `gpus` fit best, beside what the job has on `taken` hosts: of the smallest size
    /// that holds them anywhere; of those the nearest to the job, and then the one with the fewest free GPUs in the cell, in
    /// the cell of twice the size around it, and so on up to the host.
    pub(super) fn cell(&self, gpus: u32, taken: &[(HostId, u32)]) -> Option<(HostId, Range<u32>)> {
        let hosts = || {
            let all = (0..self.ground.gpus.len()).map(HostId::from_index);
            all.filter(|&host| self.free_on(host) >= gpus && !taken.iter().any(|(own, _)| *own == host))
        };
        let beside = |host: HostId| taken.iter().map(|(own, _)| self.ground.distance(host, *own)).min();
        let largest = self.ground.gpus.iter().copied().max().unwrap_or(1).next_power_of_two();
        let mut size = gpus.next_power_of_two();
        while size <= largest {
            let cells = hosts().flat_map(|host| {
                let total = self.ground.gpus[host.index()];
                (0..total.div_ceil(size)).map(move |cell| (host, cell * size..((cell + 1) * size).min(total)))
            });
            let fits = cells.filter_map(|(host, cell)| {
                let mut around = vec![self.free_among(host, cell.clone())];
                if around[0] < gpus {
                    return None;
                }
                let total = self.ground.gpus[host.index()];
                let mut wider = 2 * size;
                while wider <= largest {
                    let start = cell.start / wider * wider;
                    around.push(self.free_among(host, start..(start + wider).min(total)));
                    wider *= 2;
                }
                Some(((beside(host).unwrap_or_default(), around, host, cell.start), cell))
            });
            if let Some(((_, _, host, _), cell)) = fits.min_by(|one, other| one.0.cmp(&other.0)) {
                return Some((host, cell));
            }
            size *= 2;
        }
        None
    }

    fn free_among(&self, host: HostId, gpus: Range<u32>) -> u32 {
        gpus.filter(|&gpu| self.is_free(host, gpu)).count() as u32
    }
}

//! Jobs beside those that compute while they communicate, after Muri (Zhao et al., SIGCOMM 2022, section 4).
//!
//! Muri puts jobs on the same GPUs and takes turns between what they need. Here every GPU has one job, and what jobs take
//! turns on is the network of a host or a segment.
use railtwin_fabric::HostId;

use super::cluster::ClusterPlacer;
use super::fewest::fewest;
use super::phases::Phases;

/// Share of its own pace that each of two jobs keeps, on average, when they take turns on a network: 1 where one
/// communicates while the other computes. Steps of the shorter one are repeated as often as fit one of the longer; the
/// round takes as long as the longer of the two, as all that the network serves in it, or as the shorter with what it
/// waits for while the longer one communicates. As Muri's efficiency it is the share of a round for which what is there
/// is in use.
pub fn interleaving_efficiency(one: Phases, other: Phases) -> f64 {
    let step = |phases: Phases| phases.0 + phases.1;
    let (long, short) = if step(one) >= step(other) { (one, other) } else { (other, one) };
    if step(short) <= 0.0 {
        return 1.0;
    }
    let repeats = (step(long) / step(short)).round().max(1.0);
    let waits = if short.1 > 0.0 { (long.1 - short.0).max(0.0) } else { 0.0 };
    let served = long.1 + repeats * short.1;
    let round = step(long).max(served).max(repeats * step(short) + waits);
    (step(long) + repeats * step(short)) / (2.0 * round)
}

impl ClusterPlacer {
    /// Mean efficiency of a job beside those that have GPUs of a host, one for each GPU; none where nobody has.
    fn efficiency_on(&self, host: HostId, phases: Phases) -> Option<(f64, u32)> {
        let (sum, count) = self.phases_on(host).fold((0.0, 0_u32), |(sum, count), other| {
            (sum + interleaving_efficiency(phases, other), count + 1)
        });
        (count > 0).then_some((sum, count))
    }

    /// Free hosts by how well the job takes turns with those of their segments: in the segment that suits it best of those
    /// that hold it; where none does, segment after segment, the best first, of those that hold it together in the fewest.
    pub(super) fn by_efficiency(&self, free: Vec<HostId>, wanted: u32, phases: Phases) -> Vec<HostId> {
        let segments = self.ground.pod_of.len();
        let (mut sums, mut room) = (vec![(0.0, 0_u32); segments], vec![0_u32; segments]);
        for host in (0..self.ground.gpus.len()).map(HostId::from_index) {
            if let Some((sum, count)) = self.efficiency_on(host, phases) {
                let of = &mut sums[self.ground.segment(host) as usize];
                *of = (of.0 + sum, of.1 + count);
            }
        }
        free.iter().for_each(|&host| {
            room[self.ground.segment(host) as usize] += self.ground.gpus[host.index()];
        });
        let efficiency = |segment: u32| match sums[segment as usize] {
            (_, 0) => 1.0,
            (sum, count) => sum / f64::from(count),
        };
        let whole: Vec<(u32, u32)> = (0..).zip(room).filter(|(_, room)| *room > 0).collect();
        let best = |fits: &mut dyn Iterator<Item = (u32, u32)>| {
            fits.min_by(|a, b| {
                efficiency(b.0).total_cmp(&efficiency(a.0)).then(a.1.cmp(&b.1)).then(a.0.cmp(&b.0))
            })
        };
        let chosen = match best(&mut whole.iter().copied().filter(|(_, room)| *room >= wanted)) {
            Some((segment, _)) => vec![segment],
            None => {
                let mut chosen = fewest(&whole, wanted);
                chosen.sort_by(|a, b| efficiency(*b).total_cmp(&efficiency(*a)).then(a.cmp(b)));
                chosen
            }
        };
        let of =
            |segment: u32| free.iter().copied().filter(move |&host| self.ground.segment(host) == segment);
        chosen.into_iter().flat_map(of).collect()
    }

    /// The host on which a part of a job takes turns best with who is there, beside what it has on `taken` hosts: near
    /// those first, and of equal ones that with the fewest free GPUs.
    pub(super) fn most_efficient(
        &self,
        gpus: u32,
        taken: &[(HostId, u32)],
        phases: Phases,
    ) -> Option<HostId> {
        let hosts = (0..self.ground.gpus.len()).map(HostId::from_index);
        let fits = hosts
            .filter(|&host| self.free_on(host) >= gpus && !taken.iter().any(|(own, _)| *own == host))
            .map(|host| {
                let beside = taken.iter().map(|(own, _)| self.ground.distance(host, *own)).min().unwrap_or(0);
                // Who has a host to itself takes turns with nobody, and a host that is whole is worth keeping so.
                let (efficiency, is_whole) = match self.efficiency_on(host, phases) {
                    Some((sum, count)) => (sum / f64::from(count), false),
                    None => (1.0, true),
                };
                (beside, efficiency, is_whole, self.free_on(host), host)
            });
        fits.min_by(|a, b| {
            let by_rest = (a.2, a.3, a.4).cmp(&(b.2, b.3, b.4));
            a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(by_rest)
        })
        .map(|fit| fit.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_while_the_other_communicates_costs_nothing() {
        assert_eq!(interleaving_efficiency((1.0, 2.0), (2.0, 1.0)), 1.0);
        assert_eq!(interleaving_efficiency((1.0, 0.1), (1.0, 0.1)), 1.0);
        assert_eq!(
            interleaving_efficiency((1.0, 0.0), (1.0, 5.0)),
            interleaving_efficiency((1.0, 5.0), (1.0, 0.0))
        );
        // The network has four seconds of work where a step has three.
        assert_eq!(interleaving_efficiency((1.0, 2.0), (1.0, 2.0)), 0.75);
        // Three short steps in a long one, whose communication two of them would need.
        let tight = interleaving_efficiency((3.0, 3.0), (1.0, 1.0));
        assert!(tight < 0.8 && tight > 0.5, "{tight}");
        assert_eq!(interleaving_efficiency((0.0, 0.0), (1.0, 1.0)), 1.0);
    }
}

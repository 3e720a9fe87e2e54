//! Whom messages of a GPU are for.
use railtwin_engine::intranode::{Destinations, HotspotSpec, IntranodeSpec};
use railtwin_units::stream::{self, Stream};
use rand::RngExt;

/// A GPU: its host and its number in it.
pub type Gpu = (u32, u16);

/// Who sends to whom.
#[derive(Clone, Debug)]
pub struct Targets {
    hosts: u32,
    gpus: u16,
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    /// Evenly.
    Even,
    /// One outside and one inside for each GPU, by host and then by GPU.
    Fixed(Vec<(Gpu, u16)>),
    /// The same GPU of any other host.
    SameGpu,
    /// Evenly, but for a share of what leaves other hosts.
    Hotspot(HotspotSpec),
}

impl Targets {
    /// Of so many hosts with so many GPUs each.
    pub fn new(spec: &IntranodeSpec, hosts: u32, gpus: u16, seed: u64) -> Self {
        let shift = |by: u32| {
            let all = (0..hosts).flat_map(|host| (0..gpus).map(move |gpu| (host, gpu)));
            let next = |gpu: u16| (gpu + 1) % gpus.max(1);
            Choice::Fixed(all.map(|(host, gpu)| (((host + by) % hosts, gpu), next(gpu))).collect())
        };
        let choice = match (spec.destinations, spec.hotspot) {
            (Destinations::Permutation, _) => spec.shift.map_or_else(|| by_lot(hosts, gpus, seed), shift),
            (Destinations::Neighbor, _) => shift(1),
            (Destinations::RailAligned, _) => Choice::SameGpu,
            (Destinations::Hotspot, Some(hotspot)) => Choice::Hotspot(hotspot),
            (Destinations::Uniform | Destinations::Hotspot, _) => Choice::Even,
        };
        Self { hosts, gpus, choice }
    }

    /// Of a message that leaves its host; there are others.
    #[inline]
    pub fn outside(&self, from: Gpu, rng: &mut Stream) -> Gpu {
        match &self.choice {
            Choice::Fixed(all) => return all[self.row(from)].0,
            Choice::Hotspot(hot) if hot.host != from.0 && rng.random::<f64>() < hot.share => {
                let gpu = hot.gpu.map(|gpu| gpu as u16);
                return (hot.host, gpu.unwrap_or_else(|| rng.random_range(0..self.gpus)));
            }
            Choice::Even | Choice::SameGpu | Choice::Hotspot(_) => {}
        }
        let other = rng.random_range(0..self.hosts - 1);
        let host = other + u32::from(other >= from.0);
        match self.choice {
            Choice::SameGpu => (host, from.1),
            _ => (host, rng.random_range(0..self.gpus)),
        }
    }

    /// GPU of a message that stays in its host, which has several.
    #[inline]
    pub fn inside(&self, from: Gpu, rng: &mut Stream) -> u16 {
        if let Choice::Fixed(all) = &self.choice {
            return all[self.row(from)].1;
        }
        let other = rng.random_range(0..self.gpus - 1);
        other + u16::from(other >= from.1)
    }

    const fn row(&self, (host, gpu): Gpu) -> usize {
        host as usize * self.gpus as usize + gpu as usize
    }
}

/// One for each GPU by lot, outside its host and inside: for each GPU number one cycle over all hosts, so that none is its
/// own target, with the numbers exchanged among each other; in each host one cycle over its GPUs.
fn by_lot(hosts: u32, gpus: u16, seed: u64) -> Choice {
    let rng = &mut stream::named(seed, "intranode: permutation");
    let numbers = shuffled(gpus, 0, rng);
    let over_hosts: Vec<Vec<u32>> = (0..gpus).map(|_| shuffled(hosts, 1, rng)).collect();
    let inside: Vec<Vec<u16>> = (0..hosts).map(|_| shuffled(gpus, 1, rng)).collect();
    let of = |host: usize, gpu: usize| ((over_hosts[gpu][host], numbers[gpu]), inside[host][gpu]);
    let all = (0..hosts as usize).flat_map(|host| (0..usize::from(gpus)).map(move |gpu| (host, gpu)));
    Choice::Fixed(all.map(|(host, gpu)| of(host, gpu)).collect())
}

/// Numbers below `count` in an order by lot; with `distance` 0 any (Fisher and Yates), with 1 a single cycle (Sattolo).
fn shuffled<T: TryFrom<u32> + Copy>(count: impl Into<u32>, distance: usize, rng: &mut Stream) -> Vec<T> {
    let mut all: Vec<T> = (0..count.into()).filter_map(|one| T::try_from(one).ok()).collect();
    for last in (1..all.len()).rev() {
        let other = rng.random_range(0..=last - distance);
        all.swap(last, other);
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const HOSTS: u32 = 8;
    const GPUS: u16 = 4;

    fn of(destinations: Destinations, shift: Option<u32>, seed: u64) -> Targets {
        let spec = IntranodeSpec { destinations, shift, ..IntranodeSpec::default() };
        Targets::new(&spec, HOSTS, GPUS, seed)
    }

    fn all() -> impl Iterator<Item = Gpu> {
        (0..HOSTS).flat_map(|host| (0..GPUS).map(move |gpu| (host, gpu)))
    }

    #[test]
    fn a_permutation_has_each_gpu_once_and_never_its_own_host() {
        let rng = &mut stream::named(1, "test");
        let mut seen = BTreeSet::new();
        for (shift, seed) in [(None, 1), (None, 2), (Some(3), 1)] {
            let targets = of(Destinations::Permutation, shift, seed);
            let outside: BTreeSet<Gpu> = all().map(|from| targets.outside(from, rng)).collect();
            let inside: BTreeSet<Gpu> = all().map(|from| (from.0, targets.inside(from, rng))).collect();
            assert_eq!((outside.len(), inside.len()), (32, 32));
            assert!(all().all(|from| targets.outside(from, rng).0 != from.0));
            assert!(all().all(|from| targets.inside(from, rng) != from.1));
            seen.insert(all().map(|from| targets.outside(from, rng)).collect::<Vec<_>>());
        }
        assert_eq!(seen.len(), 3, "seeds and shifts tell them apart");
        let shifted = of(Destinations::Permutation, Some(3), 1);
        assert_eq!((shifted.outside((6, 2), rng), shifted.inside((6, 3), rng)), ((1, 2), 0));
    }

    #[test]
    fn rings_have_neighbors_and_rails_the_same_gpu() {
        let rng = &mut stream::named(1, "test");
        let ring = of(Destinations::Neighbor, None, 1);
        assert_eq!((ring.outside((7, 2), rng), ring.inside((7, 2), rng)), ((0, 2), 3));
        let rails = of(Destinations::RailAligned, None, 1);
        let seen: BTreeSet<Gpu> = (0..200).map(|_| rails.outside((3, 1), rng)).collect();
        assert_eq!(seen, (0..HOSTS).filter(|&host| host != 3).map(|host| (host, 1)).collect());
    }

    #[test]
    fn a_hot_spot_has_its_share_and_that_of_all() {
        let rng = &mut stream::named(1, "test");
        let hotspot = Some(HotspotSpec { share: 0.3, host: 5, gpu: Some(2) });
        let spec = IntranodeSpec { destinations: Destinations::Hotspot, hotspot, ..IntranodeSpec::default() };
        let targets = Targets::new(&spec, HOSTS, GPUS, 1);
        let hot = (0..20_000).filter(|_| targets.outside((1, 0), rng) == (5, 2)).count();
        let expected = 20_000.0 * (0.3 + 0.7 / 28.0);
        // Three standard deviations are 200.
        assert!((hot as f64 - expected).abs() < 200.0, "{hot} {expected}");
        // Nobody sends to its own host over the network.
        assert!((0..1000).all(|_| targets.outside((5, 0), rng).0 != 5));
    }
}

//! Paths and bisection of a torus: chips that are joined directly, without switches.
//!
//! Closed form on coordinates that are read off the cables. A torus is the product of its dimensions, so the distance of
//! two chips is the sum of their distances in each.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, DeviceKind, Fabric, HostId};
use railtwin_units::Rate;
use serde::Serialize;

/// A network without switches.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DirectNetwork {
    /// Chips, each with a NIC.
    pub chips: u64,
    /// Cables between chips.
    pub cables: u64,
    /// The torus that the cables make; none where they make no torus: nothing of it is computed then.
    pub torus: Option<TorusPaths>,
}

/// Paths and bisection of a torus.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TorusPaths {
    /// Chips in each dimension.
    pub size: [u32; 3],
    /// Whether the last chip of a dimension has a cable to the first.
    pub wraps: [bool; 3],
    /// Cables on the shortest path of the two chips of different hosts that are farthest apart.
    pub hops_worst: u32,
    /// Mean cables on the shortest path over all pairs of chips of different hosts.
    pub hops_mean: f64,
    /// Bandwidth between two halves of the chips in one direction: halves along the even dimension whose cut is least, of
    /// which every chip sends to the other half. None where no dimension is even.
    pub bisection: Option<Rate>,
}

type Coordinates = [u32; 3];

impl DirectNetwork {
    /// Reads a fabric; none where it has switches.
    pub fn of(fabric: &Fabric) -> Option<Self> {
        if !fabric.switches().is_empty() {
            return None;
        }
        let nics = |host: HostId| (0..fabric.host_model(host).nics).map(move |nic| fabric.nic(host, nic));
        let hosts = || (0..fabric.hosts().len()).map(HostId::from_index);
        let chips: u64 = hosts().map(|host| nics(host).count() as u64).sum();
        let cables: u64 = hosts().flat_map(nics).map(|nic| out(fabric, nic).count() as u64).sum();
        let places = places(fabric).filter(|(places, ..)| places.len() as u64 == chips);
        let torus = places.map(|(places, size, wraps)| {
            let of_hosts = hosts().map(|host| nics(host).map(|nic| places[&nic]).collect::<Vec<_>>());
            paths(fabric, of_hosts, (size, wraps))
        });
        Some(Self { chips, cables, torus })
    }

    /// Prints a line for each figure.
    pub fn text(&self) -> String {
        let mut text = format!("{} chips, {} cables between them\n", self.chips, self.cables);
        let Some(torus) = &self.torus else {
            return text + "no torus: hops and bisection are not computed\n";
        };
        let [x, y, z] = torus.size;
        text.push_str(&format!(
            "torus of {x} x {y} x {z}\ncables on the shortest path: {} at worst, {:.2} on average\n",
            torus.hops_worst, torus.hops_mean
        ));
        text.push_str(&match torus.bisection {
            Some(rate) => format!("bisection {rate} in one direction\n"),
            None => "bisection is not computed: no dimension is even\n".to_owned(),
        });
        text
    }
}

/// Chips after one, by dimension: port `2 d` leads to the next chip of dimension `d`.
fn out(fabric: &Fabric, nic: DeviceId) -> impl Iterator<Item = (usize, DeviceId, Rate)> + '_ {
    (0..3).filter_map(move |dimension| {
        let link = fabric.access_link(nic, 2 * dimension as u32)?;
        let next = fabric.target(link);
        (fabric.kind(next) == DeviceKind::Nic).then(|| (dimension, next, fabric.capacity(link)))
    })
}

fn after(fabric: &Fabric, nic: DeviceId, dimension: usize) -> Option<DeviceId> {
    out(fabric, nic).find(|(of, ..)| *of == dimension).map(|(_, next, _)| next)
}

/// Coordinates of all chips, chips in each dimension, whether it wraps; none where a cable contradicts them.
fn places(fabric: &Fabric) -> Option<(BTreeMap<DeviceId, Coordinates>, Coordinates, [bool; 3])> {
    let first = fabric.hosts().first().map(|_| fabric.nic(HostId(0), 0))?;
    let mut places = BTreeMap::from([(first, [0; 3])]);
    for dimension in 0..3 {
        for (start, place) in places.clone() {
            let (mut chip, mut place) = (start, place);
            while let Some(next) = after(fabric, chip, dimension).filter(|next| *next != start) {
                place[dimension] += 1;
                if places.insert(next, place).is_some() {
                    return None;
                }
                chip = next;
            }
        }
    }
    let size = [0, 1, 2].map(|d| places.values().map(|place| place[d]).max().unwrap_or(0) + 1);
    let wraps =
        [0, 1, 2].map(|d| size[d] > 1 && places.iter().all(|(&chip, _)| after(fabric, chip, d).is_some()));
    let fits = |(&chip, place): (&DeviceId, &Coordinates)| {
        (0..3).all(|d| match after(fabric, chip, d).and_then(|next| places.get(&next)) {
            Some(next) => {
                let mut wanted = *place;
                wanted[d] = (place[d] + 1) % size[d];
                *next == wanted
            }
            None => place[d] + 1 == size[d] && !wraps[d],
        })
    };
    let is_whole = places.len() as u64 == size.iter().map(|&count| u64::from(count)).product::<u64>();
    (is_whole && places.iter().all(fits)).then_some((places, size, wraps))
}

fn distance(size: u32, wraps: bool, a: u32, b: u32) -> u32 {
    let apart = a.abs_diff(b);
    if wraps { apart.min(size - apart) } else { apart }
}

fn paths(
    fabric: &Fabric,
    hosts: impl Iterator<Item = Vec<Coordinates>>,
    (size, wraps): (Coordinates, [bool; 3]),
) -> TorusPaths {
    let between = |a: &Coordinates, b: &Coordinates| -> u64 {
        (0..3).map(|d| u64::from(distance(size[d], wraps[d], a[d], b[d]))).sum()
    };
    let chips: f64 = size.iter().map(|&count| f64::from(count)).product();
    let (mut inside, mut pairs_inside, mut of_hosts) = (0, 0.0, 0);
    for chips in hosts {
        inside += chips.iter().flat_map(|a| chips.iter().map(move |b| between(a, b))).sum::<u64>();
        pairs_inside += (chips.len() * chips.len()) as f64;
        of_hosts += 1;
    }
    let mean = |d: usize| {
        let all = (0..size[d]).flat_map(|a| (0..size[d]).map(move |b| (a, b)));
        let total: f64 = all.map(|(a, b)| f64::from(distance(size[d], wraps[d], a, b))).sum();
        total / f64::from(size[d]).powi(2)
    };
    let total = chips * chips * (0..3).map(mean).sum::<f64>() - inside as f64;
    let pairs = chips * chips - pairs_inside;
    let widest = |d: usize| if wraps[d] { size[d] / 2 } else { size[d] - 1 };
    // A line of a dimension crosses its middle, and where it wraps its ends too.
    let crossing = |d: usize| chips / f64::from(size[d]) * if wraps[d] { 2.0 } else { 1.0 };
    let least = (0..3).filter(|&d| size[d].is_multiple_of(2)).map(crossing).reduce(f64::min);
    let rate = fabric.host_models().first().map_or(Rate::ZERO, |model| model.nic.port_capacity);
    TorusPaths {
        size,
        wraps,
        hops_worst: if of_hosts > 1 { (0..3).map(widest).sum() } else { 0 },
        hops_mean: if pairs > 0.0 { total / pairs } else { 0.0 },
        bisection: least.map(|cables| rate * cables as u64),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use railtwin_fabric::HostSpec;
    use railtwin_fabric::preset::{Hpn, Torus};

    use super::*;

    fn paths_of(torus: &Torus) -> TorusPaths {
        DirectNetwork::of(&torus.build().unwrap()).unwrap().torus.unwrap()
    }

    /// Cables to every chip from one, over all cables of the graph.
    fn distances(fabric: &Fabric, from: DeviceId) -> BTreeMap<DeviceId, u32> {
        let mut found = BTreeMap::from([(from, 0)]);
        let mut queue = VecDeque::from([from]);
        while let Some(chip) = queue.pop_front() {
            let hops = found[&chip] + 1;
            for &(_, next) in
                fabric.neighbors(chip).iter().filter(|(_, to)| fabric.kind(*to) == DeviceKind::Nic)
            {
                found.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    hops
                });
            }
        }
        found
    }

    fn small() -> Vec<Torus> {
        let row = HostSpec { gpus: Some(3), nics: Some(3), ..HostSpec::default() };
        let of = |(x, y, z), wrap| Torus { x, y, z, wrap, ..Torus::default() };
        let sizes = [(4, 4, 4), (2, 2, 1), (6, 4, 3), (4, 2, 5), (2, 6, 1)];
        let mut all: Vec<Torus> =
            sizes.into_iter().flat_map(|size| [of(size, true), of(size, false)]).collect();
        all.push(Torus { host: row, ..of((9, 2, 1), true) });
        all
    }

    #[test]
    fn hops_are_those_of_shortest_paths() {
        for torus in small() {
            let fabric = torus.build().unwrap();
            let paths = paths_of(&torus);
            let nics: Vec<DeviceId> =
                fabric.devices().filter(|device| fabric.kind(*device) == DeviceKind::Nic).collect();
            let mut hops = Vec::new();
            for &from in &nics {
                let others = distances(&fabric, from).into_iter();
                let others = others.filter(|(to, _)| fabric.host_of(*to) != fabric.host_of(from));
                hops.extend(others.map(|(_, hops)| hops));
            }
            assert_eq!(paths.hops_worst, hops.iter().copied().max().unwrap_or(0), "{torus:?}");
            let mean = hops.iter().map(|&hops| f64::from(hops)).sum::<f64>() / hops.len().max(1) as f64;
            assert!((paths.hops_mean - mean).abs() < 1e-9, "{torus:?}: {} {mean}", paths.hops_mean);
        }
    }

    /// All chips of both halves send and take, so the largest flow is what the cables between the halves carry.
    #[test]
    fn bisection_is_what_crosses_the_best_halves() {
        for torus in small() {
            let fabric = torus.build().unwrap();
            let (places, size, _) = places(&fabric).unwrap();
            let crossing = |d: usize| -> u64 {
                let low = |chip: DeviceId| places[&chip][d] < size[d] / 2;
                let crosses = fabric.cables().filter(|&cable| {
                    let [a, b] = fabric.cable_ports(cable).map(|port| fabric.port_device(port));
                    let joins = [a, b].iter().all(|&end| fabric.kind(end) == DeviceKind::Nic);
                    joins && low(a) != low(b)
                });
                crosses.map(|cable| fabric.capacity(cable.forward()).bits_per_s()).sum()
            };
            let least = (0..3).filter(|&d| size[d] % 2 == 0).map(crossing).min();
            assert_eq!(paths_of(&torus).bisection.map(|rate| rate.bits_per_s()), least, "{torus:?}");
        }
    }

    /// A TPU v4 pod: half of each dimension to the farthest chip, 2 x 256 cables between halves.
    #[test]
    fn a_pod_of_4096_chips_has_its_closed_form() {
        let paths = paths_of(&Torus::default());
        assert_eq!((paths.size, paths.hops_worst), ([16; 3], 24));
        // A ring of 16 has a mean of 4 to all of it; each chip has three others in its host, at 1, 1 and 2.
        assert!((paths.hops_mean - (4096.0 * 12.0 - 4.0) / 4092.0).abs() < 1e-9);
        let port = railtwin_fabric::HostModel::tpu_v4().nic.port_capacity;
        assert_eq!(paths.bisection, Some(port * 512));
        assert!(DirectNetwork::of(&Hpn { segments: Some(1), ..Hpn::default() }.build().unwrap()).is_none());
    }
}

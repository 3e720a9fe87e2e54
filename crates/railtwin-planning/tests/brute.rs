//! Measures of a built graph by itself: distances, connections, the largest flow.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;
use railtwin_fabric::clos::{ClosSpec, Peers, SpineGroups};
use railtwin_fabric::{CableId, DeviceId, DeviceKind, Fabric, HostId, HostModel, NicModel};
use railtwin_planning::intent::{Combination, Intent, Style};
use railtwin_units::Rate;

/// A graph with some devices and cables gone.
pub(crate) struct Wounded<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) devices: BTreeSet<DeviceId>,
    pub(crate) cables: BTreeSet<CableId>,
}

impl<'a> Wounded<'a> {
    pub(crate) fn whole(fabric: &'a Fabric) -> Self {
        Self { fabric, devices: BTreeSet::new(), cables: BTreeSet::new() }
    }

    /// Switches and NICs that a device has living cables to, with their capacity.
    fn network(&self, device: DeviceId) -> impl Iterator<Item = (DeviceId, f64)> + '_ {
        let of_network = |kind| kind == DeviceKind::Switch || kind == DeviceKind::Nic;
        self.fabric.neighbors(device).iter().filter_map(move |&(link, other)| {
            let lives = !self.devices.contains(&other) && !self.cables.contains(&link.cable());
            let joins = of_network(self.fabric.kind(other)) && !self.devices.contains(&device);
            (lives && joins).then(|| (other, self.fabric.capacity(link).bits_per_s() as f64))
        })
    }

    /// Switches on shortest paths from a NIC to all NICs that it reaches; hosts do not forward.
    fn switches_to(&self, nic: DeviceId) -> BTreeMap<DeviceId, u32> {
        let mut found = BTreeMap::from([(nic, 0)]);
        let mut queue = VecDeque::from([nic]);
        while let Some(device) = queue.pop_front() {
            if device != nic && self.fabric.kind(device) == DeviceKind::Nic {
                continue;
            }
            let hops = found[&device] + u32::from(device != nic);
            for (other, _) in self.network(device) {
                found.entry(other).or_insert_with(|| {
                    queue.push_back(other);
                    hops
                });
            }
        }
        found
    }

    fn nics_of_gpu(&self, host: HostId, gpu: u32) -> Vec<DeviceId> {
        let model = self.fabric.host_model(host);
        let nics =
            (0..model.nics).filter(|&nic| model.nic_of_gpu(gpu) == nic || model.gpu_of_nic(nic) == gpu);
        nics.map(|nic| self.fabric.nic(host, nic)).collect()
    }

    /// For each unordered pair of GPUs of different hosts the switches between them; none where nothing joins them.
    pub(crate) fn pairs(&self) -> Vec<Option<u32>> {
        let hosts = || (0..self.fabric.hosts().len()).map(HostId::from_index);
        let gpus: Vec<(HostId, Vec<DeviceId>)> = hosts()
            .flat_map(|host| {
                let count = self.fabric.host_model(host).gpus;
                (0..count).map(move |gpu| (host, gpu))
            })
            .map(|(host, gpu)| (host, self.nics_of_gpu(host, gpu)))
            .collect();
        let mut reached: BTreeMap<DeviceId, BTreeMap<DeviceId, u32>> = BTreeMap::new();
        for nic in gpus.iter().flat_map(|(_, nics)| nics) {
            reached.entry(*nic).or_insert_with(|| self.switches_to(*nic));
        }
        let mut pairs = Vec::new();
        for (index, (host, nics)) in gpus.iter().enumerate() {
            for (_, others) in gpus[index + 1..].iter().filter(|(other, _)| other != host) {
                let all = nics.iter().flat_map(|a| others.iter().filter_map(|b| reached[a].get(b)));
                pairs.push(all.min().copied());
            }
        }
        pairs
    }

    /// The largest flow from some devices to others, bit/s, by shortest augmenting paths (Edmonds and Karp). Sources send
    /// and sinks take no more than their cables carry.
    pub(crate) fn flow(&self, from: &[DeviceId], to: &[DeviceId]) -> f64 {
        let (source, sink) = (usize::MAX - 1, usize::MAX);
        let mut left: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
        for device in self.fabric.devices() {
            let forwards = self.fabric.kind(device) == DeviceKind::Switch || from.contains(&device);
            if !forwards || to.contains(&device) {
                continue;
            }
            for (other, capacity) in self.network(device) {
                if self.fabric.kind(other) == DeviceKind::Nic && !to.contains(&other) {
                    continue;
                }
                *left.entry(device.index()).or_default().entry(other.index()).or_insert(0.0) += capacity;
            }
        }
        left.insert(source, from.iter().map(|device| (device.index(), f64::INFINITY)).collect());
        for device in to {
            left.entry(device.index()).or_default().insert(sink, f64::INFINITY);
        }
        let mut total = 0.0;
        loop {
            let mut before = BTreeMap::from([(source, source)]);
            let mut queue = VecDeque::from([source]);
            while let Some(at) = queue.pop_front() {
                for (&next, &capacity) in left.get(&at).into_iter().flatten() {
                    if capacity > 1.0 && !before.contains_key(&next) {
                        before.insert(next, at);
                        queue.push_back(next);
                    }
                }
            }
            if !before.contains_key(&sink) {
                return total;
            }
            let mut path = vec![sink];
            while let Some(&at) = path.last().filter(|&&at| at != source) {
                path.push(before[&at]);
            }
            let arcs = || path.windows(2).map(|pair| (pair[1], pair[0]));
            let least = arcs().map(|(a, b)| left[&a][&b]).fold(f64::INFINITY, f64::min);
            for (a, b) in arcs() {
                *left.entry(a).or_default().entry(b).or_insert(0.0) -= least;
                *left.entry(b).or_default().entry(a).or_insert(0.0) += least;
            }
            total += least;
        }
    }

    /// Shortest paths from the first leaf of a NIC to any leaf of others that are farthest from it, most of all others.
    pub(crate) fn paths_from(&self, nic: DeviceId) -> u64 {
        let is_switch = |device: &DeviceId| self.fabric.kind(*device) == DeviceKind::Switch;
        let leaves = |nic: DeviceId| {
            self.network(nic).map(|(other, _)| other).filter(is_switch).collect::<BTreeSet<_>>()
        };
        let Some(&first) = leaves(nic).first() else { return 1 };
        // Hops and paths by switch.
        let mut found: BTreeMap<DeviceId, (u32, u64)> = BTreeMap::from([(first, (0, 1))]);
        let mut queue = VecDeque::from([first]);
        while let Some(at) = queue.pop_front() {
            let (hops, ways) = found[&at];
            for (next, _) in self.network(at).filter(|(next, _)| is_switch(next)) {
                let entry = found.entry(next).or_insert_with(|| {
                    queue.push_back(next);
                    (hops + 1, 0)
                });
                entry.1 += if entry.0 == hops + 1 { ways } else { 0 };
            }
        }
        let to = |nic: DeviceId| -> Option<(u32, u64)> {
            let near = leaves(nic).iter().filter_map(|leaf| found.get(leaf)).map(|(hops, _)| *hops).min()?;
            let all = leaves(nic).into_iter().filter_map(|leaf| found.get(&leaf).copied());
            Some((near, all.filter(|(hops, _)| *hops == near).map(|(_, ways)| ways).sum()))
        };
        let own = self.fabric.host_of(nic);
        let others = self.nics(|_, _, row| Some(HostId::from_index(row)) != own);
        others.into_iter().filter_map(to).max().map_or(1, |(_, ways)| ways)
    }

    /// NICs of active hosts whose place is accepted: pod, segment, host.
    pub(crate) fn nics(&self, accepts: impl Fn(u32, u32, usize) -> bool) -> Vec<DeviceId> {
        let hosts = self
            .fabric
            .hosts()
            .iter()
            .enumerate()
            .filter(|(row, h)| !h.spare && accepts(h.pod, h.segment, *row));
        let rows: Vec<HostId> = hosts.map(|(row, _)| HostId::from_index(row)).collect();
        let nics = |&host: &HostId| (0..self.fabric.host_model(host).nics).map(move |nic| (host, nic));
        rows.iter().flat_map(nics).map(|(host, nic)| self.fabric.nic(host, nic)).collect()
    }

    /// NICs of two halves of the fabric: of whole pods, in one pod of segments, else of rails, else of hosts; where
    /// switches of one tier are joined, the middle one of an odd number is split. None where no such halves are alike.
    pub(crate) fn halves(&self, spec: &ClosSpec) -> Option<[Vec<DeviceId>; 2]> {
        let units = if spec.pods > 1 { spec.pods } else { spec.segments };
        let (nics, sets) = (spec.host.nics, spec.host.nics / spec.rails_per_leaf);
        let joins_sets =
            spec.peers != Peers::None || (spec.spines > 0 && spec.groups != SpineGroups::PerLeaf);
        let unit = |pod, segment| if spec.pods > 1 { pod } else { segment };
        let of_hosts = |low: bool, accepts: &dyn Fn(u32, u32, u32) -> bool| {
            self.nics(|pod, segment, row| {
                let host = &self.fabric.hosts()[row];
                accepts(unit(pod, segment), row as u32 % (spec.segments * spec.hosts), host.index) == low
            })
        };
        let both = |accepts: &dyn Fn(u32, u32, u32) -> bool| {
            Some([of_hosts(true, accepts), of_hosts(false, accepts)])
        };
        if units > 1 && units.is_multiple_of(2) {
            return both(&|unit, _, _| unit < units / 2);
        }
        if units > 1 && spec.peers != Peers::None {
            let of_unit = if spec.pods > 1 { spec.segments * spec.hosts } else { spec.hosts };
            let is_low = |unit: u32, in_pod: u32, index: u32| {
                let row = if spec.pods > 1 { in_pod } else { index };
                unit < units / 2 || (unit == units / 2 && row < of_unit / 2)
            };
            return of_unit.is_multiple_of(2).then(|| both(&is_low)).flatten();
        }
        if units == 1 && joins_sets && sets > 1 {
            let half = |low: bool| {
                let all = self.nics(|_, _, _| true).into_iter().enumerate();
                all.filter(|(row, _)| ((*row as u32 % nics) < nics / 2) == low).map(|(_, nic)| nic).collect()
            };
            return sets.is_multiple_of(2).then(|| [half(true), half(false)]);
        }
        let by_hosts = units == 1 && spec.hosts.is_multiple_of(2);
        by_hosts.then(|| both(&|_, _, index| index < spec.hosts / 2)).flatten()
    }

    pub(crate) fn switch(&self, tier: u8) -> Option<DeviceId> {
        self.fabric.switches().iter().find(|(_, place)| place.tier == tier).map(|(device, _)| *device)
    }
}

/// Small fabrics that the planner makes, of random hosts and switches.
pub(crate) fn specs() -> impl Strategy<Value = ClosSpec> {
    let hosts = (prop::sample::select(vec![(1, 1), (2, 2), (4, 4), (4, 2), (2, 4)]), 1u32..=2);
    let shape = (1u32..=40, prop::sample::select(vec![8u32, 12, 16, 32]), 2u32..=3, 1u32..=2, 1u32..=2);
    let ratios = (prop::sample::select(vec![1.0, 1.5, 2.0, 3.0]), prop::sample::select(vec![1.0, 2.0, 4.0]));
    (hosts, shape, ratios, any::<bool>()).prop_filter_map(
        "no fabric",
        |(((gpus, nics), ports), (hosts, switch, tiers, planes, tors), (leaf, core), rails)| {
            let nic = NicModel { ports, port_capacity: Rate::from_gbps(400 / u64::from(ports)) };
            let host = HostModel { gpus, nics, nic, ..HostModel::grand_teton() };
            let intent = Intent {
                style: if rails { Style::RailOptimised } else { Style::Clos },
                gpus: hosts * gpus,
                host,
                ..Intent::default()
            };
            let combination = Combination {
                style: intent.style,
                switch: format!("{switch}x400G"),
                tiers,
                planes,
                tors: if planes > 1 { planes } else { tors },
                oversubscription: leaf,
                core_oversubscription: (tiers == 3).then_some(core),
            };
            let candidate = intent.candidate(&combination, &railtwin_catalog::Catalog::builtin()).ok()?;
            (candidate.spec.hosts > 1).then_some(candidate.spec)
        },
    )
}

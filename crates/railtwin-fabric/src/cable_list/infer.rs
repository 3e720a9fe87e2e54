//! Roles, networks, rails, planes, pods and segments of a cable list.
//!
//! Roles and networks follow from what the list states, from names, and from the shape. The rest follows from cables alone,
//! network by network: hosts and leaves that cables join are a segment, with spines a pod; switches that cables join without
//! hosts are a plane, where hosts reach several; leaves of a segment that serve other NICs of the hosts are rails.
use std::collections::{BTreeMap, BTreeSet};

use super::list::{CableList, CableNetwork, DeviceRole, ListedPlace, PortSite};
use super::names::{NaturalName, natural};
use super::sites::sites;
use super::structure::roles;
use crate::error::FabricError;
use crate::graph::NONE;

/// Places of all devices and sites of all ports of a list, by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inference {
    /// By row of devices.
    pub places: Vec<ListedPlace>,
    /// By row of ports.
    pub sites: Vec<PortSite>,
}

impl Inference {
    /// Infers them. Places that the list states are taken.
    ///
    /// # Errors
    /// [`FabricError::OutOfRange`] for the first device whose role nothing tells.
    pub fn of(list: &CableList) -> Result<Self, FabricError> {
        let mut roles = roles(list)?;
        let (networks, sites) = sites(list, &mut roles);
        let places = roles.iter().zip(&networks).map(|(&role, &network)| ListedPlace {
            role,
            network,
            pod: NONE,
            segment: NONE,
            rail: NONE,
            plane: NONE,
            index: NONE,
        });
        let mut found = Self { places: places.collect(), sites };
        let names: Vec<NaturalName> = list.devices().iter().map(|device| natural(&device.name)).collect();
        for network in CableNetwork::ALL {
            Network::of(list, &found, &names, network).place(&mut found);
        }
        for (device, place) in list.devices().iter().zip(&mut found.places) {
            if let Some(stated) = device.place {
                *place = ListedPlace {
                    pod: stated.pod,
                    segment: stated.segment,
                    rail: stated.rail,
                    plane: stated.plane,
                    index: stated.index,
                    ..*place
                };
            }
        }
        Ok(found)
    }

    /// Whether a device is a host.
    #[inline]
    pub fn is_host(&self, device: u32) -> bool {
        self.places[device as usize].role.is_host()
    }
}

/// Sets of devices that grow together.
struct Sets(Vec<u32>);

impl Sets {
    fn root(&mut self, device: u32) -> u32 {
        let mut at = device;
        while self.0[at as usize] != at {
            self.0[at as usize] = self.0[self.0[at as usize] as usize];
            at = self.0[at as usize];
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let [a, b] = [self.root(a), self.root(b)];
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// One network of a list.
struct Network<'a> {
    list: &'a CableList,
    network: CableNetwork,
    /// Hosts of the network, then its switches of each tier, in natural order of their names.
    tiers: [Vec<u32>; 4],
    /// Cables that are wholly in the network: ports with the lower tier first.
    cables: Vec<[u32; 2]>,
}

impl<'a> Network<'a> {
    fn of(list: &'a CableList, found: &Inference, names: &[NaturalName], network: CableNetwork) -> Self {
        let mut tiers: [Vec<u32>; 4] = Default::default();
        for (row, place) in (0..).zip(&found.places) {
            let ports = &list.devices()[row as usize].ports;
            let on_it = |&port: &u32| found.sites[port as usize].network == network;
            if place.network == network || (place.role.is_host() && ports.iter().any(on_it)) {
                tiers[usize::from(place.role.tier())].push(row);
            }
        }
        for tier in &mut tiers {
            tier.sort_by(|a, b| names[*a as usize].cmp(&names[*b as usize]).then(a.cmp(b)));
        }
        let inside = |port: u32| found.sites[port as usize].network == network;
        let tier = |port: u32| found.places[list.device_of(port) as usize].role.tier();
        let cables = list
            .cables()
            .iter()
            .map(|cable| cable.ports)
            .filter(|ports| ports.iter().all(|&port| inside(port)));
        let cables = cables.map(|[a, b]| if tier(a) <= tier(b) { [a, b] } else { [b, a] });
        Self { list, network, tiers, cables: cables.collect() }
    }

    /// Devices that cables join whose tiers are accepted.
    fn sets(&self, found: &Inference, accepts: fn(u8, u8) -> bool) -> Sets {
        let mut sets = Sets((0..self.list.devices().len() as u32).collect());
        for &[low, high] in &self.cables {
            let devices = [low, high].map(|port| self.list.device_of(port));
            let [a, b] = devices.map(|device| found.places[device as usize].role.tier());
            if accepts(a, b) {
                sets.join(devices[0], devices[1]);
            }
        }
        sets
    }

    /// Enters the places of the network's devices.
    fn place(&self, found: &mut Inference) {
        if self.tiers[1].is_empty() {
            return;
        }
        let mut segments = self.sets(found, |a, b| a == 0 && b == 1);
        let mut pods = self.sets(found, |a, b| a <= 1 && b <= 2);
        // Numbers by the first leaf in natural order.
        let (mut pod_of, mut segment_of) = (BTreeMap::new(), BTreeMap::new());
        let mut segments_in: BTreeMap<u32, u32> = BTreeMap::new();
        for &leaf in &self.tiers[1] {
            let count = pod_of.len() as u32;
            let pod = *pod_of.entry(pods.root(leaf)).or_insert(count);
            segment_of.entry(segments.root(leaf)).or_insert_with(|| {
                let next = segments_in.entry(pod).or_default();
                *next += 1;
                *next - 1
            });
        }
        let planes = self.planes(found);
        let mut next: BTreeMap<(u8, u32, u32), u32> = BTreeMap::new();
        for (tier, devices) in (0..).zip(&self.tiers) {
            for &device in devices {
                let pod = pod_of.get(&pods.root(device)).copied().filter(|_| tier < 3).unwrap_or(NONE);
                let segment = segment_of.get(&segments.root(device)).copied();
                let segment = segment.filter(|_| tier < 2).unwrap_or(NONE);
                let place = &mut found.places[device as usize];
                // A host has the place that it has in the first of its networks.
                if tier == 0 && place.network != self.network {
                    continue;
                }
                let plane = planes.get(&device).copied().unwrap_or(NONE);
                let among = next.entry((tier, pod, if tier < 2 { segment } else { plane })).or_default();
                (place.pod, place.segment, place.index) = (pod, segment, *among);
                if tier > 0 {
                    place.plane = plane;
                }
                *among += 1;
            }
        }
        self.place_rails(found, &mut segments);
    }

    /// Planes of switches: sets of switches that cables join without hosts, where the hosts join several; in one set, leaves
    /// that serve other ports of the NICs.
    fn planes(&self, found: &Inference) -> BTreeMap<u32, u32> {
        let mut whole = self.sets(found, |_, _| true);
        let mut switches = self.sets(found, |a, _| a > 0);
        let mut of_whole: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &leaf in &self.tiers[1] {
            let of = of_whole.entry(whole.root(leaf)).or_default();
            let root = switches.root(leaf);
            if !of.contains(&root) {
                of.push(root);
            }
        }
        let mut planes = BTreeMap::new();
        for roots in of_whole.values().filter(|roots| roots.len() > 1 && !self.tiers[2].is_empty()) {
            let number: BTreeMap<u32, u32> = roots.iter().copied().zip(0..).collect();
            for &device in self.tiers[1..].iter().flatten() {
                if let Some(&plane) = number.get(&switches.root(device)) {
                    planes.insert(device, plane);
                }
            }
        }
        if planes.is_empty() {
            let served = self.served(found, false, |site| site.port);
            planes.extend(ranks(&served, self.tiers[1].iter().copied()));
        }
        planes
    }

    /// NICs, or ports of NICs, that each leaf serves, of all hosts or of those with GPUs: the one NIC of a host without stands
    /// in the place of any.
    fn served(
        &self,
        found: &Inference,
        with_gpus: bool,
        number: fn(&PortSite) -> u32,
    ) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut served: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &[low, high] in &self.cables {
            let [host, leaf] = [low, high].map(|port| self.list.device_of(port));
            let role = found.places[host as usize].role;
            let counts = match with_gpus {
                true => matches!(role, DeviceRole::Host | DeviceRole::SpareHost),
                false => role.is_host(),
            };
            if counts && found.places[leaf as usize].role == DeviceRole::Leaf {
                served.entry(leaf).or_default().insert(number(&found.sites[low as usize]));
            }
        }
        served
    }

    /// Enters the rails of leaves, segment by segment.
    fn place_rails(&self, found: &mut Inference, segments: &mut Sets) {
        let served = self.served(found, true, |site| site.nic);
        let mut leaves: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &leaf in &self.tiers[1] {
            leaves.entry(segments.root(leaf)).or_default().push(leaf);
        }
        for of_segment in leaves.into_values() {
            for (leaf, rail) in ranks(&served, of_segment.into_iter()) {
                found.places[leaf as usize].rail = rail;
            }
        }
    }
}

/// Numbers leaves by the set of what they serve, where the sets of all leaves are the same or have nothing in common; none
/// where there is one set only.
fn ranks(served: &BTreeMap<u32, BTreeSet<u32>>, leaves: impl Iterator<Item = u32>) -> BTreeMap<u32, u32> {
    let of: Vec<(u32, &BTreeSet<u32>)> =
        leaves.filter_map(|leaf| served.get(&leaf).map(|set| (leaf, set))).collect();
    // Ordered by their first element.
    let sets: BTreeSet<&BTreeSet<u32>> = of.iter().map(|(_, set)| *set).collect();
    let members: usize = sets.iter().map(|set| set.len()).sum();
    let apart = members == sets.iter().flat_map(|set| set.iter()).collect::<BTreeSet<_>>().len();
    if sets.len() < 2 || !apart {
        return BTreeMap::new();
    }
    let number: BTreeMap<&BTreeSet<u32>, u32> = sets.into_iter().zip(0..).collect();
    of.into_iter().filter_map(|(leaf, set)| Some((leaf, *number.get(set)?))).collect()
}

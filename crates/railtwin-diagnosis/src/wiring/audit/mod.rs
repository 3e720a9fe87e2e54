//! Every cable of a network held against its blueprint, and the least work that repairs it.
//!
//! * [`names`]: names that were seen become ports of the blueprint, or new ones beside them;
//! * [`observe`]: sightings of single ends become cables;
//! * [`difference`]: planned cables against those seen, as paths and cycles;
//! * [`repair`]: the least moves for each of them.
//!
//! A port that nobody saw is not observed: nothing is said of its cable. A cable seen from one end is judged by that end.
//! Ends that contradict each other are reported and not judged. All steps are linear in the cables, but for looking up
//! names.
mod blueprint;
mod difference;
mod names;
mod observe;
mod repair;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::full_name;

pub use blueprint::{Blueprint, FarEnd, Sighting, sightings_of_list};
pub use repair::{CableMove, MoveAction, Repair};

use difference::{Difference, Shape};
use names::Ports;
use observe::Observed;

railtwin_units::choice! {
    /// A way in which a cable is wrong.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum WiringFault {
        /// Its ends are exchanged with those of other cables.
        Swapped = "swapped",
        /// One of its ends is in a port that is planned to be free, or its own port was left free.
        Misplaced = "misplaced",
        /// It is planned and not there.
        Missing = "missing",
        /// It is there and not planned.
        Extra = "extra",
        /// It joins a NIC with a leaf of another rail.
        MisRailed = "mis-railed",
        /// It joins two planes.
        CrossPlane = "cross-plane",
        /// It joins two networks.
        CrossNetwork = "cross-network",
    }
}

/// A wrong cable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CableFault {
    /// In which ways it is wrong.
    pub kinds: Vec<WiringFault>,
    /// Its ends as they were seen; none of a missing cable.
    pub seen: Option<[u32; 2]>,
    /// The far ends that the blueprint has for both ends, in their order; none for a port that is planned to be free. Of a
    /// missing cable both of its ends.
    pub planned: [Option<u32>; 2],
    /// Row of its repair.
    pub repair: u32,
}

impl Blueprint {
    /// Holds sightings against the blueprint. With `complete` the sightings are all that is plugged in: a port that none of
    /// them has is free.
    pub fn audit<'a>(&'a self, sightings: &'a [Sighting], complete: bool) -> Audit<'a> {
        let (mut ports, ends, notes) = names::resolve(self, sightings);
        let observed = Observed::of(self, &mut ports, &ends, complete);
        let difference = Difference::of(self, &observed);
        let mut audit = Audit {
            blueprint: self,
            ports,
            right: difference.right,
            faults: Vec::new(),
            repairs: Vec::new(),
            not_observed: difference.not_observed,
            contradictions: observed.contradictions,
            notes,
        };
        for shape in &difference.shapes {
            audit.enter(shape, &observed.assumed);
        }
        audit
    }
}

/// The cables of a network against its blueprint.
#[derive(Debug)]
pub struct Audit<'a> {
    blueprint: &'a Blueprint,
    ports: Ports<'a>,
    /// Planned cables that are where they should be.
    pub right: usize,
    /// The wrong cables.
    pub faults: Vec<CableFault>,
    /// The repairs: each is the least moves for cables whose ends are mixed up with one another.
    pub repairs: Vec<Repair>,
    /// Planned cables of which neither end was seen, by their ports.
    pub not_observed: Vec<[u32; 2]>,
    /// Ports that say different things of one cable, in words.
    pub contradictions: Vec<(Vec<u32>, &'static str)>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Audit<'_> {
    /// Whether nothing is wrong.
    pub fn is_well(&self) -> bool {
        self.faults.is_empty()
    }

    /// Moves of all repairs, new cables and removals among them.
    pub fn moves(&self) -> usize {
        self.repairs.iter().map(|repair| repair.moves.len()).sum()
    }

    /// Name of a port.
    pub fn port_name(&self, port: u32) -> String {
        let device = self.ports.device_of(port);
        full_name(self.device_name(device), self.ports.name_of(port), self.is_host(device))
    }

    /// Row of the device of a port.
    pub fn device_of(&self, port: u32) -> u32 {
        self.ports.device_of(port)
    }

    /// Name of a device.
    pub fn device_name(&self, device: u32) -> &str {
        self.ports.device_name(device)
    }

    /// Number of devices of the blueprint.
    pub fn devices(&self) -> usize {
        self.blueprint.list.devices().len()
    }

    /// Whether a device is a host of the blueprint.
    pub fn is_host(&self, device: u32) -> bool {
        self.blueprint.found.places.get(device as usize).is_some_and(|place| place.role.is_host())
    }

    /// Rack of a device, where the blueprint has it.
    pub fn rack(&self, device: u32) -> Option<&str> {
        self.blueprint.list.devices().get(device as usize)?.rack.as_deref()
    }

    /// Enters the faults and the repair of a shape.
    fn enter(&mut self, shape: &Shape, assumed: &[bool]) {
        let row = self.repairs.len() as u32;
        let repair = repair::repair_of(shape, self.blueprint, &self.ports, assumed);
        let peer = |port: u32| self.blueprint.planned(port);
        for (number, &seen) in shape.seen.iter().enumerate() {
            let first = match () {
                () if shape.is_exchange() => WiringFault::Swapped,
                () if repair.removed == Some(number) => WiringFault::Extra,
                () => WiringFault::Misplaced,
            };
            let mut kinds = vec![first];
            kinds.extend(self.blueprint.crossings(seen, &self.ports));
            self.faults.push(CableFault { kinds, seen: Some(seen), planned: seen.map(peer), repair: row });
        }
        if let Some(missing) = repair.laid {
            let (kinds, planned) = (vec![WiringFault::Missing], missing.map(Some));
            self.faults.push(CableFault { kinds, seen: None, planned, repair: row });
        }
        self.repairs.push(repair);
    }
}

impl Blueprint {
    /// Rails, planes and networks that a cable joins and should not: the planned far device of its lower end against the
    /// device that it leads to, where both stand in one tier.
    fn crossings(&self, seen: [u32; 2], ports: &Ports<'_>) -> Vec<WiringFault> {
        let place = |port: u32| self.found.places.get(ports.device_of(port) as usize);
        let [Some(a), Some(b)] = seen.map(place) else { return Vec::new() };
        let (low, high) = if a.role.tier() <= b.role.tier() { (seen[0], b) } else { (seen[1], a) };
        let planned =
            self.planned(low).and_then(|far| self.found.places.get(self.list.device_of(far) as usize));
        let Some(planned) = planned.filter(|planned| planned.role.tier() == high.role.tier()) else {
            return Vec::new();
        };
        let differ = |a: u32, b: u32| a != NONE && b != NONE && a != b;
        let same_network = planned.network == high.network;
        let mut kinds = Vec::new();
        kinds.extend((same_network && differ(planned.rail, high.rail)).then_some(WiringFault::MisRailed));
        kinds.extend((same_network && differ(planned.plane, high.plane)).then_some(WiringFault::CrossPlane));
        kinds.extend((!same_network).then_some(WiringFault::CrossNetwork));
        kinds
    }
}

//! The frontend network of a built fabric, as lines of a bill.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_catalog::{Bill, BillScope, Catalog};
use railtwin_fabric::{CableClass, DeviceId, DeviceKind, Fabric, NicModel};
use railtwin_units::{Rate, SimTime};

use super::candidate::{add_access, add_links};
use super::of_design::NO_FRONTEND;
use super::{FabricCandidate, SwitchModel};

/// Number of the tier of the frontend's leaves.
const FIRST_TIER: u8 = 4;

impl FabricCandidate {
    /// Adds the frontend network of a fabric to the bill, NICs of storage hosts among them; nothing where the fabric has
    /// none. Each tier is of the cheapest switches that hold the ports of its fullest one; cables are as long as light
    /// goes in their delay, 5 ns a metre.
    pub fn add_frontend(&mut self, fabric: &Fabric, catalog: &Catalog) {
        let mut bill = Bill::default();
        let places = fabric.switches().iter().filter(|(_, place)| place.tier >= FIRST_TIER);
        let mut tiers: BTreeMap<u8, (u64, u64, Rate)> = BTreeMap::new();
        for &(switch, place) in places {
            let cabled = fabric.neighbors(switch).iter().map(|&(link, _)| fabric.capacity(link));
            let (used, fastest) =
                cabled.fold((0, Rate::ZERO), |(sum, most), rate| (sum + rate.bits_per_s(), most.max(rate)));
            let (count, most, rate) = tiers.entry(place.tier).or_insert((0, 0, Rate::ZERO));
            (*count, *most, *rate) = (*count + 1, used.max(*most), fastest.max(*rate));
        }
        if tiers.is_empty() {
            return;
        }
        self.notes.retain(|note| note != NO_FRONTEND);
        for (tier, (count, used, rate)) in tiers {
            let role = ["leaf", "spine", "core"][usize::from(tier - FIRST_TIER).min(2)];
            let model = SwitchModel::holding(Rate::from_bits_per_s(used), rate, catalog);
            match &model.part {
                Some(part) => bill.add(role, part, count),
                None => self
                    .notes
                    .push(format!("the catalog has no switch {}: its price is left out", model.name)),
            }
        }
        add_cables(&mut bill, fabric, catalog, &mut self.notes);
        self.bill.add_scope(BillScope::Frontend, bill);
    }
}

fn add_cables(bill: &mut Bill, fabric: &Fabric, catalog: &Catalog, notes: &mut Vec<String>) {
    let metres = |delay: SimTime| delay.ps() as f64 / 5_000.0;
    let mut nics: BTreeMap<DeviceId, (u32, Rate, SimTime)> = BTreeMap::new();
    let mut links: BTreeMap<(&str, Rate, SimTime), u64> = BTreeMap::new();
    for cable in fabric.cables() {
        let (link, role) = match fabric.cable_class(cable) {
            CableClass::FrontendAccess => (cable.forward(), "access"),
            CableClass::FrontendLeafSpine => (cable.forward(), "leaf-spine"),
            CableClass::FrontendSpineCore => (cable.forward(), "spine-core"),
            _ => continue,
        };
        let (rate, delay) = (fabric.capacity(link), fabric.delay(link));
        match [fabric.source(link), fabric.target(link)]
            .into_iter()
            .find(|&end| fabric.kind(end) == DeviceKind::Nic)
        {
            Some(nic) => nics.entry(nic).or_insert((0, rate, delay)).0 += 1,
            None => *links.entry((role, rate, delay)).or_default() += 1,
        }
    }
    let kinds: BTreeSet<(u32, Rate, SimTime)> = nics.values().copied().collect();
    for kind in kinds {
        let (ports, port_capacity, delay) = kind;
        let count = nics.values().filter(|of| **of == kind).count() as u64;
        add_access(bill, count, (NicModel { ports, port_capacity }, metres(delay)), catalog, notes);
    }
    for ((role, rate, delay), count) in links {
        add_links(bill, role, (rate, metres(delay), count), catalog, notes);
    }
}

//! Which NICs the switches of a healthy fabric join: all of them, or those of one rail alone.
use std::collections::{BTreeMap, BTreeSet};

use crate::connectivity::SwitchGraph;
use crate::graph::{DeviceId, Fabric};

/// No cable leads from a device to a switch.
const APART: u32 = u32::MAX;

/// Which NICs meet over switches while nothing is broken. Hosts do not forward: two planes that meet in NICs alone are
/// two parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reach {
    /// Row in `parts` by device; [`APART`] for what has no cable to a switch.
    row: Vec<u32>,
    /// The parts of the fabric that NICs have cables into, each set once, sorted.
    parts: Vec<Vec<u32>>,
    whole: bool,
}

impl Reach {
    /// Looks at all cables between switches once.
    pub fn of(fabric: &Fabric) -> Self {
        let component = SwitchGraph::of(fabric).components(&[]);
        let mut rows: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        let mut row = vec![APART; fabric.device_count()];
        let mut apart = false;
        let mut of_backend: BTreeSet<u32> = BTreeSet::new();
        for host in (0..fabric.all_hosts().len()).map(crate::HostId::from_index) {
            let model = fabric.host_model(host);
            for index in 0..model.nics + model.frontend_nics {
                let (nic, backend) = (fabric.nic(host, index), index < model.nics);
                let switches =
                    fabric.neighbors(nic).iter().filter_map(|&(_, other)| fabric.switch_row(other));
                let parts: BTreeSet<u32> = switches.map(|switch| component[switch as usize]).collect();
                if parts.is_empty() {
                    apart |= backend;
                    continue;
                }
                let next = rows.len() as u32;
                let at = *rows.entry(parts.into_iter().collect()).or_insert(next);
                row[nic.index()] = at;
                of_backend.extend(backend.then_some(at));
            }
        }
        let mut parts = vec![Vec::new(); rows.len()];
        rows.into_iter().for_each(|(set, at)| parts[at as usize] = set);
        let backend = || of_backend.iter().map(|&at| &parts[at as usize]);
        let whole = !apart && backend().all(|a| backend().all(|b| meet(a, b)));
        Self { row, parts, whole }
    }

    /// Whether every two backend NICs meet.
    pub const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether two NICs meet.
    pub fn meets(&self, a: DeviceId, b: DeviceId) -> bool {
        let parts = |nic: DeviceId| self.parts.get(self.row[nic.index()] as usize);
        parts(a).zip(parts(b)).is_some_and(|(a, b)| meet(a, b))
    }
}

fn meet(a: &[u32], b: &[u32]) -> bool {
    a.iter().any(|part| b.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;
    use crate::preset::{Hpn, Tier2};

    #[test]
    fn a_rail_only_tier_2_joins_rails_with_themselves() {
        let small = Hpn { segments: Some(2), hosts: Some(2), spare_hosts: Some(0), ..Hpn::default() };
        assert!(Reach::of(&small.build().unwrap()).is_whole());
        for pods in [1, 2] {
            let fabric = Hpn { tier2: Tier2::RailOnly, pods, ..small.clone() }.build().unwrap();
            let reach = Reach::of(&fabric);
            assert!(!reach.is_whole());
            let last = HostId::from_index(fabric.hosts().len() - 1);
            for (a, b) in (0..8).flat_map(|a| (0..8).map(move |b| (a, b))) {
                let met = reach.meets(fabric.nic(HostId(0), a), fabric.nic(last, b));
                assert_eq!(met, a == b, "rails {a} and {b} of {pods} pods");
            }
        }
        // Segments without spines meet nobody.
        let cut = Hpn { segments: Some(2), spines: Some(0), ..small }.build();
        if let Ok(fabric) = cut {
            let reach = Reach::of(&fabric);
            let far = HostId::from_index(fabric.hosts().len() - 1);
            assert!(!reach.meets(fabric.nic(HostId(0), 0), fabric.nic(far, 0)));
        }
    }
}

//! What stays connected when switches are lost: the check behind «no single point of failure» (HPN 9.3).
use std::collections::BTreeSet;

use crate::graph::{DeviceId, DeviceKind, Fabric};

/// The switches of a fabric as a graph of their own; hosts do not forward, so they are not in it.
struct SwitchGraph {
    /// CSR over switch rows: distinct neighboring rows.
    start: Vec<u32>,
    neighbors: Vec<u32>,
    /// The distinct sets of switch rows that NICs have cables into, each sorted.
    attachments: Vec<Vec<u32>>,
}

impl SwitchGraph {
    fn of(fabric: &Fabric) -> Self {
        let mut graph = Self { start: vec![0], neighbors: Vec::new(), attachments: Vec::new() };
        for &(device, _) in fabric.switches() {
            let rows = fabric.neighbors(device).iter().filter_map(|&(_, other)| fabric.switch_row(other));
            let mut rows: Vec<u32> = rows.collect();
            rows.dedup();
            graph.neighbors.extend(rows);
            graph.start.push(graph.neighbors.len() as u32);
        }
        let nics = fabric.devices().filter(|&d| fabric.kind(d) == DeviceKind::Nic);
        let sets: BTreeSet<Vec<u32>> = nics
            .map(|nic| {
                let rows = fabric.neighbors(nic).iter().filter_map(|&(_, other)| fabric.switch_row(other));
                rows.collect::<BTreeSet<u32>>().into_iter().collect()
            })
            .filter(|set: &Vec<u32>| !set.is_empty())
            .collect();
        graph.attachments = sets.into_iter().collect();
        graph
    }

    /// Component of each switch row without the rows in `lost`, which get `u32::MAX`.
    fn components(&self, lost: &[u32]) -> Vec<u32> {
        let rows = self.start.len() - 1;
        let mut component = vec![u32::MAX; rows];
        let mut stack = Vec::new();
        let mut next = 0;
        for row in 0..rows as u32 {
            if component[row as usize] != u32::MAX || lost.contains(&row) {
                continue;
            }
            component[row as usize] = next;
            stack.push(row);
            while let Some(row) = stack.pop() {
                let range = self.start[row as usize] as usize..self.start[row as usize + 1] as usize;
                for &other in &self.neighbors[range] {
                    if component[other as usize] == u32::MAX && !lost.contains(&other) {
                        component[other as usize] = next;
                        stack.push(other);
                    }
                }
            }
            next += 1;
        }
        component
    }

    /// Whether every two NICs joined in `healthy` are still joined without the rows in `lost`.
    fn stays_connected(&self, healthy: &[u32], lost: &[u32]) -> bool {
        let after = self.components(lost);
        let set = |component: &[u32], rows: &[u32]| -> Vec<u32> {
            let of_rows = rows.iter().map(|&row| component[row as usize]).filter(|&c| c != u32::MAX);
            of_rows.collect::<BTreeSet<u32>>().into_iter().collect()
        };
        let pairs: BTreeSet<(Vec<u32>, Vec<u32>)> =
            self.attachments.iter().map(|rows| (set(healthy, rows), set(&after, rows))).collect();
        let meet = |a: &[u32], b: &[u32]| a.iter().any(|c| b.contains(c));
        pairs.iter().all(|(before_a, after_a)| {
            pairs.iter().all(|(before_b, after_b)| !meet(before_a, before_b) || meet(after_a, after_b))
        })
    }
}

/// Whether every two NICs that the healthy fabric joins through its switches are still joined with the
/// switches in `lost` gone.
pub fn stays_connected(fabric: &Fabric, lost: &[DeviceId]) -> bool {
    let graph = SwitchGraph::of(fabric);
    let rows: Vec<u32> = lost.iter().filter_map(|&device| fabric.switch_row(device)).collect();
    graph.stays_connected(&graph.components(&[]), &rows)
}

/// Switches of `tier` whose loss alone cuts a NIC off or splits the fabric.
pub fn single_points_of_failure(fabric: &Fabric, tier: u8) -> Vec<DeviceId> {
    let graph = SwitchGraph::of(fabric);
    let healthy = graph.components(&[]);
    let rows = fabric.switches().iter().enumerate().filter(|(_, (_, place))| place.tier == tier);
    rows.filter(|&(row, _)| !graph.stays_connected(&healthy, &[row as u32])).map(|(_, s)| s.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::{Hpn, LeafSpine};
    use crate::{HostModel, NicModel};
    use railtwin_units::Rate;

    #[test]
    fn a_dual_tor_fabric_has_no_leaf_that_cuts_a_nic_off() {
        let fabric = Hpn { segments: Some(2), hosts: Some(4), ..Hpn::default() }.build().unwrap();
        assert!(single_points_of_failure(&fabric, 1).is_empty());
        assert!(single_points_of_failure(&fabric, 2).is_empty());
        let pair: Vec<DeviceId> = fabric.switches()[..2].iter().map(|s| s.0).collect();
        assert!(!stays_connected(&fabric, &pair), "both leaves of a set are its NICs' last way out");
    }

    #[test]
    fn in_a_single_tor_fabric_every_leaf_is_a_single_point_of_failure() {
        let spec = Hpn { segments: Some(2), hosts: Some(4), dual_tor: false, ..Hpn::default() };
        let fabric = spec.build().unwrap();
        assert_eq!(single_points_of_failure(&fabric, 1).len(), 16);
    }

    #[test]
    fn the_only_spine_is_a_single_point_of_failure() {
        let nic = NicModel { ports: 1, port_capacity: Rate::from_gbps(400) };
        let host = HostModel { nic, ..HostModel::hgx_h800() };
        let fabric = LeafSpine { host, uplinks: 1, ..LeafSpine::default() }.build().unwrap();
        assert_eq!(single_points_of_failure(&fabric, 2).len(), 1);
    }
}

//! What stays connected when switches are lost: the check behind «no single point of failure» (HPN 9.3).
use std::collections::BTreeSet;

use crate::graph::{DeviceId, DeviceKind, Fabric};

/// The switches of a fabric as a graph of their own; hosts do not forward, so they are not in it.
pub(crate) struct SwitchGraph {
    /// CSR over switch rows: distinct neighboring rows.
    start: Vec<u32>,
    neighbors: Vec<u32>,
    /// The distinct sets of switch rows that NICs have cables into, each sorted.
    attachments: Vec<Vec<u32>>,
}

impl SwitchGraph {
    pub(crate) fn of(fabric: &Fabric) -> Self {
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
    pub(crate) fn components(&self, lost: &[u32]) -> Vec<u32> {
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

    /// Rows whose loss splits the component that they are in: articulation points by depth-first search (Hopcroft
    /// and Tarjan 1973, algorithm 447).
    fn cut_rows(&self) -> Vec<bool> {
        let rows = self.start.len() - 1;
        // When a row was found, from 1; the earliest row that its subtree has an edge to.
        let (mut found, mut low, mut clock) = (vec![0_u32; rows], vec![0_u32; rows], 0);
        let mut cut = vec![false; rows];
        // Row, the next of its neighbors to look at, its children.
        let mut path: Vec<(usize, u32, u32)> = Vec::new();
        for root in 0..rows {
            if found[root] != 0 {
                continue;
            }
            path.push((root, self.start[root], 0));
            clock += 1;
            (found[root], low[root]) = (clock, clock);
            while let Some((row, next, children)) = path.last_mut() {
                let row = *row;
                if *next < self.start[row + 1] {
                    let other = self.neighbors[*next as usize] as usize;
                    *next += 1;
                    if found[other] != 0 {
                        low[row] = low[row].min(found[other]);
                        continue;
                    }
                    *children += 1;
                    clock += 1;
                    (found[other], low[other]) = (clock, clock);
                    path.push((other, self.start[other], 0));
                    continue;
                }
                let children = *children;
                path.pop();
                match path.last() {
                    Some(&(parent, ..)) => {
                        low[parent] = low[parent].min(low[row]);
                        cut[parent] |= parent != root && low[row] >= found[parent];
                    }
                    None => cut[row] = children > 1,
                }
            }
        }
        cut
    }

    /// The sets of each row, as rows of `attachments`.
    fn attachments_of(&self) -> Vec<Vec<u32>> {
        let mut of_row = vec![Vec::new(); self.start.len() - 1];
        for (set, rows) in (0..).zip(&self.attachments) {
            rows.iter().for_each(|&row| of_row[row as usize].push(set));
        }
        of_row
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
    let (cut, sets_of) = (graph.cut_rows(), graph.attachments_of());
    let components = |rows: &[u32], lost: usize| -> Vec<u32> {
        let left = rows.iter().filter(|&&row| row as usize != lost).map(|&row| healthy[row as usize]);
        left.collect::<BTreeSet<u32>>().into_iter().collect()
    };
    let classes: BTreeSet<Vec<u32>> =
        graph.attachments.iter().map(|rows| components(rows, usize::MAX)).collect();
    let meet = |a: &[u32], b: &[u32]| a.iter().any(|c| b.contains(c));
    // Where the switches left stay joined, only NICs with cables into the lost one can lose anything; looking at the
    // whole graph for each of thousands of switches would be what a large design spends its time on.
    let harmless = |row: usize| {
        let sets = sets_of[row].iter().map(|&set| &graph.attachments[set as usize]);
        let touched: BTreeSet<(Vec<u32>, Vec<u32>)> =
            sets.map(|rows| (components(rows, usize::MAX), components(rows, row))).collect();
        touched.iter().all(|(before, after)| {
            classes.iter().all(|other| !meet(before, other) || meet(after, other))
                && touched.iter().all(|(b, a)| !meet(before, b) || meet(after, a))
        })
    };
    let survives = |row: usize| {
        if cut[row] { graph.stays_connected(&healthy, &[row as u32]) } else { harmless(row) }
    };
    let rows = fabric.switches().iter().enumerate().filter(|(_, (_, place))| place.tier == tier);
    rows.filter(|&(row, _)| !survives(row)).map(|(_, s)| s.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostSpec;
    use crate::preset::{Hpn, LeafSpine};

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

    /// The short cut says what losing each switch for itself says.
    #[test]
    fn single_points_of_failure_are_those_that_fail_for_themselves() {
        let hpn = |pods, segments, dual_tor| {
            let spec = Hpn { pods, segments: Some(segments), hosts: Some(2), dual_tor, ..Hpn::default() };
            spec.build().unwrap()
        };
        let host = HostSpec { nic_ports: Some(1), ..HostSpec::default() };
        let mut found = 0;
        let leaf_spine = LeafSpine { host, uplinks: 1, ..LeafSpine::default() }.build().unwrap();
        for fabric in [hpn(1, 1, true), hpn(2, 2, true), hpn(1, 2, false), leaf_spine] {
            for tier in 1..=3 {
                let of_tier = fabric.switches().iter().filter(|(_, place)| place.tier == tier);
                let alone = of_tier.map(|s| s.0).filter(|&switch| !stays_connected(&fabric, &[switch]));
                let alone: Vec<DeviceId> = alone.collect();
                found += alone.len();
                assert_eq!(single_points_of_failure(&fabric, tier), alone, "tier {tier}");
            }
        }
        assert!(found > 0);
    }

    /// A path of three, a triangle on its end, and a row by itself.
    #[test]
    fn cut_rows_are_those_between_blocks() {
        let edges: [&[u32]; 6] = [&[1], &[0, 2], &[1, 3, 4], &[2, 4], &[2, 3], &[]];
        let mut graph = SwitchGraph { start: vec![0], neighbors: Vec::new(), attachments: Vec::new() };
        for rows in edges {
            graph.neighbors.extend_from_slice(rows);
            graph.start.push(graph.neighbors.len() as u32);
        }
        assert_eq!(graph.cut_rows(), [false, true, true, false, false, false]);
    }

    #[test]
    fn the_only_spine_is_a_single_point_of_failure() {
        let host = HostSpec { nic_ports: Some(1), ..HostSpec::default() };
        let fabric = LeafSpine { host, uplinks: 1, ..LeafSpine::default() }.build().unwrap();
        assert_eq!(single_points_of_failure(&fabric, 2).len(), 1);
    }
}

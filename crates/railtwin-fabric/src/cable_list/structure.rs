//! Roles of devices: stated, told by their names, or found from the shape of the network.
//!
//! The shape decides where names do not: devices whose names differ in numbers alone are of one kind, a kind that touches
//! known hosts or spines are leaves, a kind above leaves that reaches half of them and is not more numerous are spines, and
//! any other kind at leaves are hosts.
use std::collections::{BTreeMap, BTreeSet};

use super::list::{CableList, DeviceRole};
use super::names::{role_of, stem};
use crate::error::FabricError;

/// Roles of all devices.
///
/// # Errors
/// [`FabricError::OutOfRange`] for the first device whose role nothing tells.
pub(super) fn roles(list: &CableList) -> Result<Vec<DeviceRole>, FabricError> {
    let mut known: Vec<Option<DeviceRole>> = list
        .devices()
        .iter()
        .map(|device| match (device.role, role_of(&device.name)) {
            // A server may be one that stores, which its name alone tells.
            (Some(DeviceRole::Host), Some(named)) if named.is_host() => Some(named),
            (stated, named) => stated.or(named),
        })
        .collect();
    let kinds = Kinds::of(list);
    while let Some((kind, role)) = kinds.next(&known) {
        for &device in &kinds.members[kind] {
            known[device as usize].get_or_insert(role);
        }
    }
    let accepted = "write role_a and role_b: host, leaf, spine, core, or a name with one of these words";
    let found = known.into_iter().zip(list.devices());
    found
        .map(|(role, device)| {
            role.ok_or_else(|| FabricError::range("role of device", &device.name, accepted))
        })
        .collect()
}

/// Devices by kind: those whose names differ in numbers alone.
struct Kinds {
    members: Vec<Vec<u32>>,
    /// Neighbors of all members, by kind.
    neighbors: Vec<BTreeSet<u32>>,
}

impl Kinds {
    fn of(list: &CableList) -> Self {
        let mut rows: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for (row, device) in (0..).zip(list.devices()) {
            rows.entry(stem(&device.name)).or_default().push(row);
        }
        let members: Vec<Vec<u32>> = rows.into_values().collect();
        let neighbors = members.iter().map(|kind| {
            let ports = kind.iter().flat_map(|&device| &list.devices()[device as usize].ports);
            ports.filter_map(|&port| list.peer(port)).map(|peer| list.device_of(peer)).collect()
        });
        Self { neighbors: neighbors.collect(), members }
    }

    /// A kind with members of unknown role, and the role that the roles of its neighbors tell.
    fn next(&self, known: &[Option<DeviceRole>]) -> Option<(usize, DeviceRole)> {
        let is_open =
            |kind: &usize| self.members[*kind].iter().any(|&device| known[device as usize].is_none());
        let open: Vec<usize> = (0..self.members.len()).filter(is_open).collect();
        let touches = |kind: usize, role: fn(DeviceRole) -> bool| {
            self.neighbors[kind].iter().any(|&device| known[device as usize].is_some_and(role))
        };
        // Members of one kind have one role.
        let alike = |&kind: &usize| {
            let role = self.members[kind].iter().find_map(|&device| known[device as usize])?;
            Some((kind, role))
        };
        open.iter()
            .find_map(alike)
            .or_else(|| {
                let leaf = |kind: &&usize| touches(**kind, DeviceRole::is_host);
                open.iter().find(leaf).map(|&kind| (kind, DeviceRole::Leaf))
            })
            .or_else(|| {
                let at_spines = |kind: &&usize| touches(**kind, |role| role == DeviceRole::Spine);
                // Leaves touch hosts, so what touches spines alone stands above them, if there are leaves.
                let has_leaves = known.contains(&Some(DeviceRole::Leaf));
                let role = if has_leaves { DeviceRole::Core } else { DeviceRole::Leaf };
                open.iter().find(at_spines).map(|&kind| (kind, role))
            })
            .or_else(|| {
                let above = |kind: &&usize| touches(**kind, |role| role == DeviceRole::Leaf);
                open.iter().find(above).map(|&kind| (kind, self.beside_leaves(kind, known)))
            })
            .or_else(|| self.first_hosts(&open, known).map(|kind| (kind, DeviceRole::Host)))
    }

    /// Role of a kind at leaves: spines where it is not more numerous than they are and reaches half of them.
    fn beside_leaves(&self, kind: usize, known: &[Option<DeviceRole>]) -> DeviceRole {
        let leaves = known.iter().filter(|role| **role == Some(DeviceRole::Leaf)).count();
        let reached = self.neighbors[kind]
            .iter()
            .filter(|&&device| known[device as usize] == Some(DeviceRole::Leaf))
            .count();
        let is_spine = self.members[kind].len() <= leaves && 2 * reached >= leaves;
        if is_spine { DeviceRole::Spine } else { DeviceRole::Host }
    }

    /// The most numerous kind that meets one other kind alone, where nothing is known yet.
    fn first_hosts(&self, open: &[usize], known: &[Option<DeviceRole>]) -> Option<usize> {
        if known.iter().any(Option::is_some) {
            return None;
        }
        let mut kind_of = BTreeMap::new();
        for (kind, members) in self.members.iter().enumerate() {
            members.iter().for_each(|&device| {
                kind_of.insert(device, kind);
            });
        }
        let ends = open.iter().copied().filter(|&kind| {
            let met: BTreeSet<usize> =
                self.neighbors[kind].iter().filter_map(|device| kind_of.get(device).copied()).collect();
            met.len() == 1 && !met.contains(&kind)
        });
        let most = ends.max_by_key(|&kind| (self.members[kind].len(), std::cmp::Reverse(kind)))?;
        let other = self.neighbors[most].len();
        (self.members[most].len() > other).then_some(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(cables: &[(&str, &str)]) -> CableList {
        let mut list = CableList::default();
        for (row, (a, b)) in cables.iter().enumerate() {
            let ports = [a, b].map(|name| {
                let device = list.device(name);
                list.port(device, &format!("x{row}"), None, 0)
            });
            list.join(ports, None).expect("free");
        }
        list
    }

    fn names(list: &CableList) -> BTreeMap<String, &'static str> {
        let roles = roles(list).expect("roles").into_iter().map(DeviceRole::name);
        list.devices().iter().map(|device| device.name.clone()).zip(roles).collect()
    }

    #[test]
    fn names_tell_roles_and_shape_tells_the_rest() {
        // Foreign leaves between named hosts and a named spine; a second kind of host that no name tells.
        let found = names(&list(&[
            ("host-1", "sw-1"),
            ("host-2", "sw-2"),
            ("sw-1", "spine-1"),
            ("sw-2", "spine-1"),
            ("printer-1", "sw-1"),
            ("printer-2", "sw-1"),
            ("printer-3", "sw-2"),
        ]));
        assert_eq!((found["sw-1"], found["printer-3"], found["spine-1"]), ("leaf", "host", "spine"));
        // Nothing is named: the most numerous end of the chain are hosts, and what all leaves meet are spines.
        let mut cables = Vec::new();
        let names_of = |word: &str, count: usize| -> Vec<String> {
            (0..count).map(|row| format!("{word}{row}")).collect()
        };
        let (a, b, c) = (names_of("a", 8), names_of("b", 2), names_of("c", 2));
        for (row, host) in a.iter().enumerate() {
            cables.push((host.as_str(), b[row % 2].as_str()));
        }
        for below in &b {
            cables.extend(c.iter().map(|above| (below.as_str(), above.as_str())));
        }
        let found = names(&list(&cables));
        assert_eq!((found["a3"], found["b1"], found["c0"]), ("host", "leaf", "spine"));
    }

    #[test]
    fn what_nothing_tells_is_one_error() {
        let error = roles(&list(&[("x", "y")])).expect_err("neither").to_string();
        assert!(error.contains("role of device = x: write role_a"), "{error}");
    }
}

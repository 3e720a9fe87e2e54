//! Places devices in racks and rows, and measures the way between two of them.
//!
//! Hosts fill racks and rows in the order of the list, pod by pod. A leaf stands in the row of the median host that it
//! serves. Spines stand in rows of their own in the middle of the pod's rows. Cores, the frontend and storage stand beside
//! the first pod, or in a shared building.
use std::collections::BTreeMap;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableList, CableNetwork, DeviceRole, Inference, ListedPlace};

use crate::site::{FloorPlan, FrontendPlace, LeafPlace};

/// Height of a rack unit, metres (EIA-310: 1.75 inches).
const UNIT_M: f64 = 0.044_45;

/// Where a device stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RackPosition {
    /// Building: 0 is the shared one where pods have their own, then pods in order; without buildings all are 0.
    pub building: u32,
    /// Row in the building.
    pub row: u32,
    /// Rack in the row.
    pub rack: u32,
    /// Lowest unit of the device, from 1 at the floor.
    pub unit: u32,
}

impl RackPosition {
    /// Name of the rack: `b1-r03-k07`.
    pub fn rack_name(&self) -> String {
        format!("b{}-r{:02}-k{:02}", self.building, self.row, self.rack)
    }

    /// Length of a cable to another position, metres, with slack.
    ///
    /// In one rack the way runs along the rack. To other racks it runs up to the tray, along and across rows at right
    /// angles, and down; to another building it crosses the distance between buildings from row 0, rack 0 of each.
    pub fn metres_to(&self, other: &Self, site: &FloorPlan) -> f64 {
        let up =
            |position: &Self| f64::from(site.rack_units.saturating_sub(position.unit)) * UNIT_M + site.tray_m;
        let along = |a: u32, b: u32, pitch: f64| f64::from(a.abs_diff(b)) * pitch;
        let way = if self.building != other.building {
            let home = |position: &Self| {
                along(position.row, 0, site.row_pitch_m) + along(position.rack, 0, site.rack_width_m)
            };
            up(self) + up(other) + home(self) + home(other) + site.building_m
        } else if (self.row, self.rack) == (other.row, other.rack) {
            along(self.unit, other.unit, UNIT_M)
        } else {
            let across = along(self.row, other.row, site.row_pitch_m);
            up(self) + up(other) + across + along(self.rack, other.rack, site.rack_width_m)
        };
        way + site.slack_m
    }
}

/// Positions of all devices of a list, by row.
pub(crate) fn positions(list: &CableList, found: &Inference, site: &FloorPlan) -> Vec<RackPosition> {
    let shared = |place: &ListedPlace| site.buildings && stands_in_shared(place, site);
    let mut floors: BTreeMap<(bool, u32), Vec<u32>> = BTreeMap::new();
    let pods = Pods::of(list, found);
    for (row, place) in (0..).zip(&found.places) {
        let pod = if site.buildings { pods.of[row as usize] } else { 0 };
        let key = if shared(place) { (false, 0) } else { (true, pod) };
        floors.entry(key).or_default().push(row);
    }
    let nowhere = RackPosition { building: 0, row: 0, rack: 0, unit: 1 };
    let mut positions = vec![nowhere; list.devices().len()];
    for ((is_pod, pod), devices) in floors {
        let building = if is_pod && site.buildings { pod + 1 } else { 0 };
        Floor { list, found, site, building }.place(&devices, &mut positions);
    }
    positions
}

/// Whether a device stands in the shared building.
fn stands_in_shared(place: &ListedPlace, site: &FloorPlan) -> bool {
    let is_frontend = matches!(place.network, CableNetwork::Frontend | CableNetwork::Storage);
    match place.role {
        DeviceRole::StorageHost | DeviceRole::Gateway => is_frontend,
        DeviceRole::Core => true,
        DeviceRole::Spine => is_frontend,
        DeviceRole::Leaf => is_frontend && site.frontend == FrontendPlace::Shared,
        DeviceRole::Host | DeviceRole::SpareHost => false,
    }
}

/// Pod of each device: its own, or that of its first neighbor with one.
struct Pods {
    of: Vec<u32>,
}

impl Pods {
    fn of(list: &CableList, found: &Inference) -> Self {
        let is_host = |row: usize| found.places[row].role.is_host();
        let known = |row: usize| Some(found.places[row].pod).filter(|&pod| pod != NONE);
        let of = (0..list.devices().len()).map(|row| {
            // Pods of the frontend are numbered apart from those of the backend, so its leaves follow their hosts.
            let by_host = !is_host(row) && found.places[row].network != CableNetwork::Backend;
            if let Some(pod) = known(row).filter(|_| !by_host) {
                return pod;
            }
            let ports = list.devices()[row].ports.iter();
            let mut peers =
                ports.filter_map(|&port| list.peer(port)).map(|peer| list.device_of(peer) as usize);
            peers.find(|&peer| is_host(peer) && known(peer).is_some()).and_then(known).unwrap_or(0)
        });
        Self { of: of.collect() }
    }
}

/// One room.
struct Floor<'a> {
    list: &'a CableList,
    found: &'a Inference,
    site: &'a FloorPlan,
    building: u32,
}

impl Floor<'_> {
    fn role(&self, device: u32) -> DeviceRole {
        self.found.places[device as usize].role
    }

    /// Places devices: hosts, then leaves by the row of their hosts, then what stands above them.
    fn place(&self, devices: &[u32], positions: &mut [RackPosition]) {
        let of = |accepts: fn(DeviceRole) -> bool| -> Vec<u32> {
            devices.iter().copied().filter(|&device| accepts(self.role(device))).collect()
        };
        let hosts = of(DeviceRole::is_host);
        let seats: BTreeMap<u32, u32> = (0..).zip(&hosts).map(|(seat, &host)| (host, seat)).collect();
        let others = of(|role| role.tier() > 1);
        let site = self.site;
        let per_row = site.hosts_per_rack * site.racks_per_row;
        let rows = (hosts.len() as u32).div_ceil(per_row).max(1);
        let spine_rows = (others.len() as u32).div_ceil(site.switches_per_rack * site.racks_per_row);
        let mut plan = RowPlan {
            site,
            racks: (hosts.len() as u32).div_ceil(site.hosts_per_rack),
            rows,
            spine_rows,
            leaves: BTreeMap::new(),
        };
        let on_top = self.seat_leaves(&of(|role| role == DeviceRole::Leaf), &seats, &mut plan);
        let building = self.building;
        let mut put = |device: u32, (row, rack): (u32, u32), unit: u32| {
            positions[device as usize] = RackPosition { building, row, rack, unit };
        };
        for (&host, &seat) in &seats {
            put(
                host,
                plan.host_rack(seat / site.hosts_per_rack),
                seat % site.hosts_per_rack * site.host_units + 1,
            );
        }
        for (leaf, rack, unit) in on_top {
            put(leaf, plan.host_rack(rack), unit);
        }
        for (&row, leaves) in &plan.leaves {
            for (seat, &leaf) in (0..).zip(leaves) {
                let rack = plan.first_leaf_rack(row) + seat / site.switches_per_rack;
                put(leaf, (plan.row_at(row), rack), plan.switch_unit(seat));
            }
        }
        let per_spine_row = site.switches_per_rack * site.racks_per_row;
        for (seat, &switch) in (0..).zip(&others) {
            let (row, rest) = (seat / per_spine_row, seat % per_spine_row);
            put(switch, (plan.middle() + row, rest / site.switches_per_rack), plan.switch_unit(rest));
        }
    }

    /// Puts leaves on top of racks of hosts, as (leaf, rack of hosts, unit), or into rows of the plan.
    fn seat_leaves(
        &self,
        leaves: &[u32],
        seats: &BTreeMap<u32, u32>,
        plan: &mut RowPlan<'_>,
    ) -> Vec<(u32, u32, u32)> {
        let site = self.site;
        let room = site.rack_units.saturating_sub(site.hosts_per_rack * site.host_units) / site.switch_units;
        let mut used: BTreeMap<u32, u32> = BTreeMap::new();
        let mut on_top = Vec::new();
        for &leaf in leaves {
            let seat = self.median_seat(leaf, seats);
            let rack = seat / site.hosts_per_rack;
            let used = used.entry(rack).or_insert(0);
            if site.leaves == LeafPlace::InRack && *used < room {
                *used += 1;
                on_top.push((leaf, rack, site.rack_units + 1 - *used * site.switch_units));
            } else {
                plan.leaves.entry(rack / site.racks_per_row).or_default().push(leaf);
            }
        }
        on_top
    }

    /// Seat of the median host that a leaf serves in this room; 0 where it serves none.
    fn median_seat(&self, leaf: u32, seat_of: &BTreeMap<u32, u32>) -> u32 {
        let ports = self.list.devices()[leaf as usize].ports.iter();
        let peers = ports.filter_map(|&port| self.list.peer(port)).map(|peer| self.list.device_of(peer));
        let mut seats: Vec<u32> = peers.filter_map(|peer| seat_of.get(&peer).copied()).collect();
        seats.sort_unstable();
        seats.get(seats.len() / 2).copied().unwrap_or(0)
    }
}

/// Rows of a room: racks of hosts, racks of leaves among them, rows of spines in the middle.
struct RowPlan<'a> {
    site: &'a FloorPlan,
    /// Racks of hosts.
    racks: u32,
    /// Rows of them.
    rows: u32,
    spine_rows: u32,
    /// Leaves in racks of their own, by row of hosts.
    leaves: BTreeMap<u32, Vec<u32>>,
}

impl RowPlan<'_> {
    /// First row of spines.
    fn middle(&self) -> u32 {
        self.rows.div_ceil(2)
    }

    /// Row in the room of a row of hosts.
    fn row_at(&self, row: u32) -> u32 {
        if row < self.middle() { row } else { row + self.spine_rows }
    }

    /// Rack of a row at which its racks of leaves begin.
    fn first_leaf_rack(&self, row: u32) -> u32 {
        let racks = self.racks.saturating_sub(row * self.site.racks_per_row).min(self.site.racks_per_row);
        if self.site.leaves == LeafPlace::EndOfRow { racks } else { racks / 2 }
    }

    /// Row and rack in the room of a rack of hosts: those behind the racks of leaves move on.
    fn host_rack(&self, rack: u32) -> (u32, u32) {
        let (row, place) = (rack / self.site.racks_per_row, rack % self.site.racks_per_row);
        let leaves = self.leaves.get(&row).map_or(0, |leaves| leaves.len() as u32);
        let moved =
            if place >= self.first_leaf_rack(row) { leaves.div_ceil(self.site.switches_per_rack) } else { 0 };
        (self.row_at(row), place + moved)
    }

    /// Lowest unit of a switch in a rack of switches, from the top.
    fn switch_unit(&self, seat: u32) -> u32 {
        self.site.rack_units + 1 - (seat % self.site.switches_per_rack + 1) * self.site.switch_units
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_follow_racks_trays_and_rows() {
        let site = FloorPlan::default();
        let at = |building, row, rack, unit| RackPosition { building, row, rack, unit };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        let top = at(1, 0, 0, 41);
        close(top.metres_to(&at(1, 0, 0, 1), &site), 40.0 * 0.044_45 + 1.0);
        // One unit up to the top of its rack and 41 at the other end, two drops, one row and two racks.
        let other = at(1, 1, 2, 1);
        let down = 42.0 * 0.044_45 + 2.0 * 0.5;
        close(top.metres_to(&other, &site), down + 2.4 + 2.0 * 0.6 + 1.0);
        close(other.metres_to(&top, &site), top.metres_to(&other, &site));
        close(at(0, 1, 2, 1).metres_to(&top, &site), down + 2.4 + 2.0 * 0.6 + 200.0 + 1.0);
    }
}

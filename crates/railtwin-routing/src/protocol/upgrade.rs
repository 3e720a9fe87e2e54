//! Rolling upgrades of a whole fabric: which switches go down together, and whether hosts reach each other meanwhile.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::{DeviceId, DeviceKind, Fabric};

/// Switches that are upgraded together.
#[derive(Clone, PartialEq, Debug)]
pub struct Wave {
    /// The switches, ascending.
    pub switches: Vec<DeviceId>,
    /// NICs that are left with part of their ports.
    pub weaker: usize,
    /// NICs that are left with none.
    pub cut: usize,
    /// Two NICs that have ports and lose their way to each other, such as two that are left in different planes.
    pub apart: Option<[DeviceId; 2]>,
    /// The least share of its cables to switches above that a leaf keeps.
    pub uplinks_left: f64,
}

impl Wave {
    /// Whether all hosts reach each other while it lasts.
    pub fn is_reachable(&self) -> bool {
        self.cut == 0 && self.apart.is_none()
    }
}

/// The waves of an upgrade of all switches of the backend: the leaves of each set one after the other, the last of all sets
/// first, so that what is down at one time is of one plane; then spines, then cores, so many of each pod and plane at once
/// that at most `share` of them are down, and at least one.
pub fn waves(fabric: &Fabric, share: f64) -> Vec<Wave> {
    let members = members(fabric);
    let mut groups: Vec<Vec<DeviceId>> = Vec::new();
    let most = members.values().max().copied().unwrap_or(0);
    for member in (0..=most).rev() {
        groups.push(members.iter().filter(|(_, of)| **of == member).map(|(&leaf, _)| leaf).collect());
    }
    for tier in [2, 3] {
        let mut by_place: BTreeMap<(u32, u32), Vec<DeviceId>> = BTreeMap::new();
        for (device, place) in fabric.switches().iter().filter(|(_, place)| place.tier == tier) {
            by_place.entry((place.pod, place.plane)).or_default().push(*device);
        }
        let mut of_tier: Vec<Vec<DeviceId>> = Vec::new();
        for switches in by_place.into_values() {
            let at_once = ((switches.len() as f64 * share) as usize).max(1);
            for (wave, chunk) in switches.chunks(at_once).enumerate() {
                of_tier.resize_with(of_tier.len().max(wave + 1), Vec::new);
                of_tier[wave].extend(chunk);
            }
        }
        groups.extend(of_tier);
    }
    groups.retain(|switches| !switches.is_empty());
    groups.into_iter().map(|switches| judged(fabric, switches)).collect()
}

/// Each leaf of the backend and which of its set it is, by the NICs that reach it.
fn members(fabric: &Fabric) -> BTreeMap<DeviceId, usize> {
    let mut members: BTreeMap<DeviceId, usize> = BTreeMap::new();
    for nic in nics(fabric) {
        for (member, leaf) in leaves(fabric, nic).into_iter().enumerate() {
            let known = members.entry(leaf).or_insert(member);
            *known = member.max(*known);
        }
    }
    members
}

fn nics(fabric: &Fabric) -> impl Iterator<Item = DeviceId> {
    fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Nic)
}

/// The leaves of the backend that a NIC is cabled to, ascending.
fn leaves(fabric: &Fabric, nic: DeviceId) -> BTreeSet<DeviceId> {
    let switches = fabric.neighbors(nic).iter().map(|(_, far)| *far);
    switches.filter(|&device| fabric.place(device).is_some_and(|place| place.tier == 1)).collect()
}

/// A wave with what it does to hosts: connected parts of the network without its switches, and the parts that each NIC is
/// in.
pub fn judged(fabric: &Fabric, mut switches: Vec<DeviceId>) -> Wave {
    switches.sort_unstable();
    let is_down = |device: DeviceId| switches.binary_search(&device).is_ok();
    let (before, part) = (parts(fabric, &|_| false), parts(fabric, &is_down));
    let mut wave = Wave {
        switches: Vec::new(),
        weaker: 0,
        cut: 0,
        apart: None,
        uplinks_left: uplinks_left(fabric, &is_down),
    };
    // NICs in the same parts, before the wave and in it, are as one.
    let mut kinds: BTreeMap<[Vec<u32>; 2], DeviceId> = BTreeMap::new();
    for nic in nics(fabric) {
        let all = leaves(fabric, nic);
        let up: BTreeSet<u32> =
            all.iter().filter(|&&leaf| !is_down(leaf)).map(|&leaf| part[leaf.index()]).collect();
        let lost = all.iter().filter(|&&leaf| is_down(leaf)).count();
        match (all.is_empty(), up.is_empty(), lost > 0) {
            (true, ..) => continue,
            (_, true, _) => wave.cut += 1,
            (_, _, true) => wave.weaker += 1,
            _ => {}
        }
        if !up.is_empty() {
            let whole: BTreeSet<u32> = all.iter().map(|&leaf| before[leaf.index()]).collect();
            kinds.entry([whole.into_iter().collect(), up.into_iter().collect()]).or_insert(nic);
        }
    }
    let kinds: Vec<([Vec<u32>; 2], DeviceId)> = kinds.into_iter().collect();
    let share = |one: &[u32], other: &[u32]| one.iter().any(|part| other.contains(part));
    wave.apart = kinds.iter().enumerate().find_map(|(row, (one, nic))| {
        // Rails that never meet are not parted by a wave.
        let far = kinds[row + 1..]
            .iter()
            .find(|(other, _)| share(&one[0], &other[0]) && !share(&one[1], &other[1]));
        far.map(|(_, other)| [*nic, *other])
    });
    wave.switches = switches;
    wave
}

/// The connected part that each switch is in, by device; others are in part 0.
fn parts(fabric: &Fabric, is_down: &dyn Fn(DeviceId) -> bool) -> Vec<u32> {
    let mut part = vec![0; fabric.device_count()];
    let mut count = 0;
    let mut open = Vec::new();
    for &(device, _) in fabric.switches() {
        if part[device.index()] != 0 || is_down(device) {
            continue;
        }
        count += 1;
        part[device.index()] = count;
        open.push(device);
        while let Some(device) = open.pop() {
            for &(_, far) in fabric.neighbors(device) {
                if fabric.kind(far) == DeviceKind::Switch && part[far.index()] == 0 && !is_down(far) {
                    part[far.index()] = count;
                    open.push(far);
                }
            }
        }
    }
    part
}

fn uplinks_left(fabric: &Fabric, is_down: &dyn Fn(DeviceId) -> bool) -> f64 {
    let mut least = 1.0_f64;
    for (leaf, _) in fabric.switches().iter().filter(|(leaf, place)| place.tier == 1 && !is_down(*leaf)) {
        let above = fabric.neighbors(*leaf).iter().filter(|(_, far)| fabric.kind(*far) == DeviceKind::Switch);
        let (all, up) = above.fold((0, 0), |(all, up), (_, far)| (all + 1, up + usize::from(!is_down(*far))));
        if all > 0 {
            least = least.min(f64::from(up as u32) / f64::from(all as u32));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::Hpn;

    use super::*;

    fn hpn() -> Hpn {
        Hpn { segments: Some(2), hosts: Some(2), spines: Some(4), ..Hpn::default() }
    }

    #[test]
    fn every_switch_is_upgraded_once_and_hosts_reach_each_other_all_along() {
        let fabric = hpn().build().unwrap();
        let waves = waves(&fabric, 0.25);
        let mut all: Vec<DeviceId> = waves.iter().flat_map(|wave| wave.switches.iter().copied()).collect();
        all.sort_unstable();
        let tiers = fabric.switches().iter().filter(|(_, place)| place.tier <= 3);
        assert_eq!(all, tiers.map(|(device, _)| *device).collect::<Vec<_>>());
        assert!(waves.iter().all(Wave::is_reachable), "{waves:?}");
        // Two waves of leaves; a quarter of four spines is one; cores behind them.
        assert!(waves[0].weaker > 0 && waves[0].uplinks_left == 1.0);
        assert_eq!((waves[2].weaker, waves[2].uplinks_left), (0, 0.75));
    }

    #[test]
    fn hosts_that_are_left_in_different_planes_are_apart() {
        let fabric = hpn().build().unwrap();
        // One leaf of the first set and the other one of the second set: nobody is cut, and two planes do not meet.
        let of = |host: u32| {
            let nic = fabric.nic(railtwin_fabric::HostId(host), 0);
            leaves(&fabric, nic).into_iter().collect::<Vec<_>>()
        };
        let (one, other) = (of(0), of(fabric.hosts().len() as u32 - 1));
        let wave = judged(&fabric, vec![one[0], other[1]]);
        assert!(wave.cut == 0 && wave.apart.is_some(), "{wave:?}");
        assert!(judged(&fabric, vec![one[0], other[0]]).is_reachable());
    }

    #[test]
    fn rails_that_never_meet_are_not_parted() {
        let rails = Hpn { tier2: railtwin_fabric::preset::Tier2::RailOnly, ..hpn() }.build().unwrap();
        assert!(waves(&rails, 0.25).iter().all(Wave::is_reachable));
    }

    #[test]
    fn a_host_with_one_leaf_is_cut() {
        let fabric = Hpn { dual_tor: false, ..hpn() }.build().unwrap();
        let first = &waves(&fabric, 0.25)[0];
        assert!(first.cut > 0 && !first.is_reachable());
    }
}

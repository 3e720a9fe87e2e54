//! Ports of a switch between hosts towards each host, tier by tier.
use railtwin_fabric::{DeviceId, Fabric};

use super::plan::{far_device, network_ports, tier_of};

/// A host below a switch, and a port of the switch that leads down to it.
pub(super) type Down = (u32, u8);

/// Hosts below a switch of `tier` in the order of their numbers, each with all ports that lead down to it in the order of
/// the ports; `below` has those of the lower tiers, by row of the switch.
pub(super) fn downward(fabric: &Fabric, device: DeviceId, tier: u8, below: &[Vec<Down>]) -> Vec<Down> {
    let mut down: Vec<Down> = Vec::new();
    for (index, port) in network_ports(fabric, device).enumerate() {
        let (far, index) = (far_device(fabric, port), index as u8);
        match fabric.host_of(far) {
            Some(host) => down.push((host.0, index)),
            None if tier_of(fabric, far) < tier => {
                let row = fabric.switch_row(far).expect("it is a switch") as usize;
                let one_each = below[row].chunk_by(|one, other| one.0 == other.0);
                down.extend(one_each.map(|same| (same[0].0, index)));
            }
            None => {}
        }
    }
    down.sort_unstable();
    down
}

/// The port of a switch towards each of so many hosts: of those that lead down to it, else of its uplinks, the one that
/// the host's number names once the digits of the tiers below, `used`, are taken off. None where there is no way.
pub(super) fn ports_towards(hosts: usize, down: &[Down], ups: &[u8], used: usize) -> Option<Vec<u8>> {
    let mut rest = down;
    let port = |host: usize| {
        let ways = rest.iter().take_while(|way| way.0 as usize == host).count();
        let (own, later) = rest.split_at(ways);
        rest = later;
        let digit = host / used;
        match own {
            [] => ups.get(digit % ups.len().max(1)).copied(),
            own => Some(own[digit % own.len()].1),
        }
    };
    (0..hosts).map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_below_are_reached_downwards_and_all_others_by_their_digit() {
        let down = [(1, 0), (1, 1), (3, 2)];
        let ports = ports_towards(6, &down, &[7, 8], 1).unwrap();
        assert_eq!(ports, [7, 1, 7, 2, 7, 8]);
        assert_eq!(ports_towards(6, &down, &[7, 8], 2).unwrap(), [7, 0, 8, 2, 7, 7]);
        assert_eq!(ports_towards(4, &down, &[], 1), None, "host 0 is not below, and there is no uplink");
        assert_eq!(ports_towards(0, &[], &[], 1).unwrap(), [0_u8; 0]);
    }
}

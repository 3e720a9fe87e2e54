//! One switch's decision, for who plans paths ahead of packets.

use railtwin_fabric::{DeviceId, LinkId};

use crate::hash::HashSpec;
use crate::route::Routing;

/// What a switch that hashes does with packets for one NIC that came in by one link.
#[derive(Clone, Copy, Debug)]
pub enum NextHop<'a> {
    /// One way, whatever the key.
    Only(LinkId),
    /// The member of the group that the hash names, modulo the group's size.
    ByHash(HashSpec, &'a [LinkId]),
}

impl<'a> Routing<'a> {
    /// What the switch in row `switch_row` does with packets for `target_nic` that came in by `arrival`, the
    /// last hop included; none if it has no route. Where switches choose by hash alone, a path that follows
    /// these is the one that [`Self::route`] takes.
    #[inline]
    pub fn next_hop(&self, switch_row: u32, arrival: LinkId, target_nic: DeviceId) -> Option<NextHop<'a>> {
        let group = self.forwarding.next_links(switch_row, target_nic);
        match group {
            [] => return None,
            [only] => return Some(NextHop::Only(*only)),
            _ => {}
        }
        if self.ecmp.core_per_port {
            let host = self.fabric.host_of(target_nic);
            let pod = host.map(|host| self.fabric.host(host).pod);
            let cores = self.forwarding.cores();
            let fixed = pod.and_then(|pod| cores.link_for(self.fabric, switch_row, arrival, pod));
            if let Some(link) = fixed.filter(|link| group.contains(link)) {
                return Some(NextHop::Only(link));
            }
        }
        let (_, place) = &self.fabric.switches()[switch_row as usize];
        Some(NextHop::ByHash(self.ecmp.spec_at(place, switch_row), group))
    }

    /// Number of the port by which `link` enters its device: [`crate::HashKey::ingress_port`] there.
    #[inline]
    pub fn arrival_port(&self, link: LinkId) -> u32 {
        self.ingress_port(link)
    }
}

//! One switch's decision, for who plans paths ahead of packets.

use railtwin_fabric::{DeviceId, LinkId};

use crate::hash::HashSpec;
use crate::route::{Choice, Routing};

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
    /// last hop included; none if it has no route. A path that follows these is the one that [`Self::route`]
    /// takes, except over dead members of groups under resilient hashing.
    #[inline]
    pub fn next_hop(&self, switch_row: u32, arrival: LinkId, target_nic: DeviceId) -> Option<NextHop<'a>> {
        Some(match self.choose(switch_row, arrival, target_nic)? {
            Choice::Only(link) => NextHop::Only(link),
            Choice::ByHash(hashed) => NextHop::ByHash(hashed.spec, hashed.full),
        })
    }

    /// Number of the port by which `link` enters its device: [`crate::HashKey::ingress_port`] there.
    #[inline]
    pub fn arrival_port(&self, link: LinkId) -> u32 {
        self.ingress_port(link)
    }
}

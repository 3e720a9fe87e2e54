//! How a switch picks a member of an ECMP group when it does not hash: by destination slice, by destination
//! modulo, or by an exact-match entry.

use railtwin_fabric::{DeviceId, Fabric, LinkId};

use crate::entries::EntryTable;
use crate::forwarding::Forwarding;
use crate::hash::{HashSpec, bucket_of};

/// What switches do with a group of several links. Where the wanted link is not in the live group, the hash
/// decides, as routing by BGP and ECMP stands behind all of them.
#[derive(Clone, Copy, Default, Debug)]
pub enum Selection<'a> {
    /// The hash of the packet.
    #[default]
    Hash,
    /// A leaf sends up by the destination's slice: the index of the downlink that leads to it at its own leaf
    /// (path pinning, Meta RoCE section 4.1.2). Other switches hash.
    Slice,
    /// The destination modulo the number of links, at every switch (D-mod-K on fat trees).
    DModK(&'a DestinationOrder),
    /// What an exact-match entry of the leaf says (traffic engineering, Meta RoCE section 4.3.2).
    Entries(&'a EntryTable),
}

/// Destinations counted along the leaves, and the number of links up at each tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DestinationOrder {
    /// By device: place of a NIC among all NICs in order of leaf and downlink; 0 for others.
    place: Vec<u32>,
    /// By tier, from 0: links up per switch, multiplied over all tiers below it.
    divisor: Vec<u64>,
}

impl DestinationOrder {
    /// Counts the NICs of a fabric by the first leaf that each is cabled to.
    pub fn new(fabric: &Fabric, forwarding: &Forwarding) -> Self {
        let mut nics: Vec<(u32, u32, DeviceId)> = Vec::new();
        for device in fabric.devices() {
            if let Some(access) = forwarding.accesses(device).first() {
                nics.push((access.leaf, far_port(fabric, access.link), device));
            }
        }
        nics.sort_unstable();
        let mut place = vec![0; fabric.device_count()];
        for (number, (_, _, nic)) in nics.into_iter().enumerate() {
            place[nic.index()] = number as u32;
        }
        let tiers = fabric.switches().iter().map(|(_, place)| place.tier).max().unwrap_or(0);
        let mut divisor = vec![1_u64; usize::from(tiers) + 1];
        for tier in 1..divisor.len() {
            let rows =
                fabric.switches().iter().zip(0_u32..).filter(|((_, p), _)| usize::from(p.tier) == tier);
            let widest = rows.map(|(_, row)| forwarding.uplinks(row).len()).max().unwrap_or(1);
            divisor[tier] = divisor[tier - 1].saturating_mul(widest.max(1) as u64);
        }
        Self { place, divisor }
    }

    /// Which of `members` links are taken towards `target` whose lower ends are in `tier`: 0 for NICs.
    #[inline]
    pub fn member(&self, tier: u8, target: DeviceId, members: usize) -> usize {
        let below = usize::from(tier).saturating_sub(1);
        let place = u64::from(self.place[target.index()]);
        (place / self.divisor[below] % members as u64) as usize
    }
}

/// Index of the port by which a link enters its far device.
fn far_port(fabric: &Fabric, link: LinkId) -> u32 {
    let side = usize::from(link.0 & 1 == 0);
    fabric.port_index(fabric.cable_ports(link.cable())[side])
}

/// The slice of a destination: the index of the downlink that leads to it at its first leaf.
#[inline]
pub(crate) fn slice_of(fabric: &Fabric, forwarding: &Forwarding, target: DeviceId) -> Option<u32> {
    forwarding.accesses(target).first().map(|access| far_port(fabric, access.link))
}

/// One member of a group by hash.
#[derive(Clone, Copy, Debug)]
pub struct Hashed<'a> {
    /// How the switch hashes.
    pub spec: HashSpec,
    /// Members that hash values stand for.
    pub full: &'a [LinkId],
    /// Those alive; the same as `full` unless hashing is resilient.
    pub live: &'a [LinkId],
}

impl Hashed<'_> {
    /// The link that a hash value stands for. Under resilient hashing the flows of a dead member are spread
    /// over the live ones and all others stay.
    #[inline]
    pub fn link(&self, hash: u32) -> LinkId {
        let link = self.full[bucket_of(hash, self.full.len())];
        if self.full.len() == self.live.len() || self.live.contains(&link) {
            return link;
        }
        self.live[bucket_of(hash / self.full.len() as u32, self.live.len())]
    }
}

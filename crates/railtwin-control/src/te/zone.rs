//! Which flows traffic engineering places and which it leaves to E-ECMP.

use railtwin_fabric::{DeviceId, Fabric};

/// How a flow finds its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// By an entry of its leaf, with E-ECMP behind it when there is none or its next hop is dead.
    TrafficEngineering,
    /// By the hash over five-tuple and destination queue pair, at every switch.
    EnhancedEcmp,
}

/// Where traffic engineering is deployed (Meta RoCE section 4.4.3). A zone is a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum ZonePolicy {
    /// Inside zones, as where ranking models train: the first leaf's choice is the whole path there.
    /// Across zones E-ECMP, as cores multiply the paths that one entry cannot tell apart.
    #[default]
    InsideZones,
    /// Everywhere, also across zones, where an entry chooses the spine and hashes choose the rest.
    Everywhere,
    /// Nowhere: fabrics of data-center scale run E-ECMP alone.
    Nowhere,
}

/// Zones by number, each with E-ECMP alone whatever the policy of the others: Meta runs traffic engineering in some AI
/// zones and E-ECMP in others (section 4.4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ZoneSet(u128);

impl ZoneSet {
    /// The largest number of a zone.
    pub const LAST: u32 = u128::BITS - 1;

    /// The set with a zone; none beyond [`Self::LAST`], or where it is in it already.
    #[must_use]
    pub const fn with(self, zone: u32) -> Option<Self> {
        if zone > Self::LAST || self.contains(zone) { None } else { Some(Self(self.0 | 1 << zone)) }
    }

    /// Whether a zone is in it.
    pub const fn contains(self, zone: u32) -> bool {
        zone <= Self::LAST && self.0 >> zone & 1 == 1
    }

    /// The zones, ascending.
    pub fn zones(self) -> impl DoubleEndedIterator<Item = u32> {
        (0..=Self::LAST).filter(move |&zone| self.contains(zone))
    }
}

/// Where traffic engineering is deployed, zone by zone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ZonePolicies {
    /// Of zones that run it.
    pub usual: ZonePolicy,
    /// Those that do not.
    pub hashed: ZoneSet,
}

impl ZonePolicies {
    /// How a flow between two NICs finds its way: an entry would stand in a leaf of the zone that sends, so that zone's
    /// policy counts.
    pub fn scheme(self, fabric: &Fabric, source: DeviceId, target: DeviceId) -> Scheme {
        let zone = fabric.host_of(source).map(|host| fabric.host(host).pod);
        match zone {
            Some(zone) if self.hashed.contains(zone) => Scheme::EnhancedEcmp,
            _ => self.usual.scheme(fabric, source, target),
        }
    }
}

impl ZonePolicy {
    /// How a flow between two NICs finds its way. Devices of no host are in no zone, so flows with
    /// them cross zones.
    pub fn scheme(self, fabric: &Fabric, source: DeviceId, target: DeviceId) -> Scheme {
        let zone = |nic| fabric.host_of(nic).map(|host| fabric.host(host).pod);
        let engineered = match self {
            Self::Everywhere => true,
            Self::Nowhere => false,
            Self::InsideZones => zone(source).is_some() && zone(source) == zone(target),
        };
        if engineered { Scheme::TrafficEngineering } else { Scheme::EnhancedEcmp }
    }
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::HostId;
    use railtwin_fabric::preset::FatTree;

    use super::*;

    #[test]
    fn zones_are_pods() {
        let fabric = FatTree { k: 4, ..FatTree::default() }.build().expect("valid");
        let nic = |host| fabric.nic(HostId(host), 0);
        // Four hosts in a pod.
        let of = |policy: ZonePolicy, target| policy.scheme(&fabric, nic(0), nic(target));
        assert_eq!(of(ZonePolicy::default(), 3), Scheme::TrafficEngineering);
        assert_eq!(of(ZonePolicy::default(), 4), Scheme::EnhancedEcmp);
        assert_eq!(of(ZonePolicy::Everywhere, 4), Scheme::TrafficEngineering);
        assert_eq!(of(ZonePolicy::Nowhere, 3), Scheme::EnhancedEcmp);
        // Of two zones one hashes: what it sends, and not what it gets.
        let hashed = ZoneSet::default().with(1).expect("a zone");
        let mixed = ZonePolicies { usual: ZonePolicy::Everywhere, hashed };
        let of = |source, target| mixed.scheme(&fabric, nic(source), nic(target));
        assert_eq!((of(0, 3), of(0, 4)), (Scheme::TrafficEngineering, Scheme::TrafficEngineering));
        assert_eq!((of(4, 5), of(4, 0)), (Scheme::EnhancedEcmp, Scheme::EnhancedEcmp));
        assert_eq!((hashed.with(1), hashed.with(128)), (None, None));
        assert_eq!(hashed.zones().collect::<Vec<_>>(), [1]);
        let switch = fabric.switches()[0].0;
        assert_eq!(ZonePolicy::InsideZones.scheme(&fabric, switch, switch), Scheme::EnhancedEcmp);
    }
}

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
        let switch = fabric.switches()[0].0;
        assert_eq!(ZonePolicy::InsideZones.scheme(&fabric, switch, switch), Scheme::EnhancedEcmp);
    }
}

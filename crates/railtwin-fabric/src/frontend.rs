//! The frontend network, for storage and whatever else is not training, and storage hosts and gateways: on it or on the
//! backend.
//!
//! HPN section 8: one NIC of two ports in each host, dual-ToR, three tiers without oversubscription, a storage cluster of
//! 96 to 128 hosts. How many hosts stand under a leaf and leaves under a spine is not printed: that is ours.
use railtwin_units::Rate;
use railtwin_units::keys::whole;

use crate::builder::FabricBuilder;
use crate::clos::{Chip, ClosSpec, Place};
use crate::error::FabricError;
use crate::graph::{CableClass, Fabric, HostId};
use crate::host::{HostModel, NicModel};

railtwin_units::choice! {
    /// One of the two networks of a cluster, which no cable joins.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Network {
        /// That of hosts' frontend NICs: storage, management, inference.
        Frontend = "frontend",
        /// That of GPUs' NICs: training.
        Backend = "backend",
    }
}

impl Network {
    /// Number of the tier of its leaves.
    pub(crate) const fn first_tier(self) -> u8 {
        match self {
            Self::Backend => 1,
            Self::Frontend => 4,
        }
    }

    /// Its cables, from the hosts up.
    pub(crate) const fn cables(self) -> [CableClass; 3] {
        match self {
            Self::Backend => [CableClass::Access, CableClass::LeafSpine, CableClass::SpineCore],
            Self::Frontend => {
                [CableClass::FrontendAccess, CableClass::FrontendLeafSpine, CableClass::FrontendSpineCore]
            }
        }
    }
}

railtwin_units::section! {
    /// The network of the frontend NICs of hosts.
    #[derive(Clone, Copy, PartialEq, Debug)]
    pub struct Frontend "[frontend]" {
        /// Hosts under a set of leaves: one leaf for each of the two ports of a NIC.
        pub hosts_per_leaf: u32 [whole(1..=65_536)] = 64,
        /// Most sets of leaves under the spines of a pod; more make more pods, under cores.
        pub leaf_sets: u32 [whole(1..=65_536)] = 16,
        /// Capacity of leaf-spine and spine-core cables.
        pub uplink: Rate = Rate::from_gbps(400),
        /// Down capacity of a leaf over its uplinks, at most; 1 as HPN has it.
        pub leaf_oversubscription: f64 [railtwin_units::keys::Kind::Share(0.0, 1000.0)] = 1.0,
        /// Down capacity of a spine over its uplinks, at most.
        pub spine_oversubscription: f64 [railtwin_units::keys::Kind::Share(0.0, 1000.0)] = 1.0,
    }
}

railtwin_units::section! {
    /// The storage cluster that jobs read from and write checkpoints to.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Storage "[storage]" {
        /// Storage hosts, each behind one NIC like those of the network that it stands on.
        pub hosts: u32 [whole(1..=65_536)],
        /// The network that they stand on. On the backend they take ports of leaves: as many as a host has NICs stand in the
        /// place of one host.
        pub on: Network = Network::Frontend,
        /// Gateways on the same network, with a NIC as storage hosts have: requests of inference come by them and answers go.
        #[key(sparse)]
        pub gateways: u32 [whole(0..=65_536)] = 0,
    }
}

impl Storage {
    /// So many on the frontend.
    pub const fn of(hosts: u32) -> Self {
        Self { hosts, on: Network::Frontend, gateways: 0 }
    }
}

/// What a fabric has beside GPUs and the network that joins them.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outside {
    /// The frontend network; with storage on it and none written, the default one.
    pub frontend: Option<Frontend>,
    /// The storage cluster.
    pub storage: Option<Storage>,
}

impl Outside {
    /// Storage hosts and gateways on a network.
    pub fn services_on(&self, network: Network) -> u32 {
        let on = self.storage.filter(|storage| storage.on == network);
        on.map_or(0, |storage| storage.hosts + storage.gateways)
    }

    /// Builds a fabric with all of it.
    ///
    /// # Errors
    /// As [`ClosSpec::check`] and [`Outside::beside`].
    pub fn build(&self, spec: &ClosSpec) -> Result<Fabric, FabricError> {
        self.beside(ClosSpec { services: self.services_on(Network::Backend), ..spec.clone() }.build()?)
    }

    /// Adds the frontend network, where there is one, and the storage hosts on it. What the fabric has keeps its ids.
    ///
    /// # Errors
    /// [`FabricError`] naming the field: hosts without frontend NICs, counts that make switches that nobody builds.
    pub fn beside(&self, fabric: Fabric) -> Result<Fabric, FabricError> {
        let services = self.services_on(Network::Frontend);
        let mut fabric = match self.frontend {
            None if services == 0 => fabric,
            frontend => frontend.unwrap_or_default().add(fabric, services)?,
        };
        fabric.gateways = self.storage.map_or(0, |storage| storage.gateways as usize);
        Ok(fabric)
    }
}

impl Frontend {
    fn add(&self, fabric: Fabric, storage: u32) -> Result<Fabric, FabricError> {
        let model = fabric.host_models().first().cloned();
        let model = model.filter(|model| model.frontend_nics > 0).ok_or_else(|| {
            let accepted = "hosts need a frontend NIC: take a host model that has one, such as hgx-h800";
            FabricError::range("host.frontend_nics", 0, accepted)
        })?;
        let hosts = fabric.hosts().len() as u32;
        let spec = self.spec(&model, (hosts, storage))?;
        spec.check()?;
        let mut builder = FabricBuilder::over(fabric);
        let nics = |host: HostId, model: &HostModel| -> Place {
            (0..model.frontend_nics).map(|nic| (host, model.nics + nic)).collect()
        };
        let mut places: Vec<Place> =
            (0..hosts).map(HostId).map(|host| nics(host, builder.fabric().host_model(host))).collect();
        if storage > 0 {
            // Storage stands under leaves of its own.
            places.resize((hosts.div_ceil(spec.hosts) * spec.hosts) as usize, Place::new());
            let of_storage = service_model(&model.frontend, Network::Frontend);
            let row = builder.add_host_model(of_storage.clone());
            for _ in 0..storage {
                let (segment, index) = (places.len() as u32 / spec.hosts, places.len() as u32 % spec.hosts);
                let host =
                    builder.add_host(row, segment / spec.segments, segment % spec.segments, index, false);
                places.push(nics(host, &of_storage));
            }
        }
        spec.add_switches(&mut builder, &places, Network::Frontend);
        builder.finish()
    }

    /// The network for so many hosts and storage hosts, all with NICs of the same model.
    fn spec(&self, model: &HostModel, (hosts, storage): (u32, u32)) -> Result<ClosSpec, FabricError> {
        let host = HostModel { gpus: 1, nics: model.frontend_nics, nic: model.frontend, ..model.clone() };
        let tors = if host.nic.ports.is_multiple_of(2) { 2 } else { 1 };
        let sets = hosts.div_ceil(self.hosts_per_leaf) + storage.div_ceil(self.hosts_per_leaf);
        let pods = sets.div_ceil(self.leaf_sets.max(1)).max(1);
        let segments = sets.div_ceil(pods).max(1);
        let up = |down: f64, ratio: f64, field: &'static str| -> Result<u32, FabricError> {
            let ports = (down / ratio.max(f64::MIN_POSITIVE) / self.uplink.bits_per_s().max(1) as f64).ceil();
            match ports {
                ports if ports <= 65_536.0 => Ok((ports as u32).max(1)),
                _ => Err(FabricError::range(field, ratio, "switches have 65536 uplinks at most: write more")),
            }
        };
        let ports = u64::from(self.hosts_per_leaf) * u64::from(host.nics * (host.nic.ports / tors));
        let down = ports as f64 * host.nic.port_capacity.bits_per_s() as f64;
        let spines = up(down, self.leaf_oversubscription, "frontend.leaf_oversubscription")?;
        let under = f64::from(segments * tors) * self.uplink.bits_per_s() as f64;
        let spine_up = up(under, self.spine_oversubscription, "frontend.spine_oversubscription")?;
        Ok(ClosSpec {
            pods,
            segments,
            hosts: self.hosts_per_leaf,
            tors,
            spines: if sets > 1 { spines } else { 0 },
            uplink: self.uplink,
            spine_up: if pods > 1 { spine_up } else { 0 },
            cores: spines,
            core_link: self.uplink,
            chip: Chip::Largest,
            ..ClosSpec::of("frontend", host)
        })
    }
}

/// A storage host or gateway with one NIC on a network. Disks, and what they hold back, are not in it.
pub(crate) fn service_model(nic: &NicModel, network: Network) -> HostModel {
    let on = |which: Network| u32::from(network == which);
    HostModel {
        name: "storage".to_owned(),
        gpus: 0,
        nics: on(Network::Backend),
        nic: *nic,
        frontend_nics: on(Network::Frontend),
        frontend: *nic,
        ..HostModel::plain(nic.port_capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::DesignReport;
    use crate::graph::DeviceKind;
    use crate::preset::{Hpn, Layout as _};
    use crate::reach::Reach;

    fn hpn(segments: u32) -> ClosSpec {
        Hpn { segments: Some(segments), ..Hpn::default() }.spec().unwrap()
    }

    fn with(storage: Storage, segments: u32) -> Fabric {
        Outside { frontend: None, storage: Some(storage) }.build(&hpn(segments)).unwrap()
    }

    #[test]
    fn a_frontend_is_beside_the_backend_and_changes_none_of_it() {
        let (plain, both) = (hpn(2).build().unwrap(), with(Storage::of(100), 2));
        assert_eq!((both.hosts().len(), both.storage_hosts().len()), (plain.hosts().len(), 100));
        for cable in plain.cables() {
            assert_eq!(plain.cable_name(cable), both.cable_name(cable));
            assert_eq!(plain.cable_ports(cable), both.cable_ports(cable));
        }
        let (a, b) = (DesignReport::of(&plain), DesignReport::of(&both));
        assert_eq!(
            (a.cables_access, a.gpus_active, &a.tiers[..]),
            (b.cables_access, b.gpus_active, &b.tiers[..2])
        );
        // 272 hosts make five sets of leaves of 64, storage two: one pod.
        let tiers: Vec<_> = b.tiers[2..].iter().map(|tier| (tier.tier, tier.switches)).collect();
        assert_eq!(tiers, [("frontend-leaf", 14), ("frontend-spine", 32)]);
        assert_eq!(b.tiers[2].oversubscription, Some(1.0));
    }

    #[test]
    fn the_pod_of_hpn_has_three_tiers_without_oversubscription() {
        let report = DesignReport::of(&with(Storage::of(128), 15));
        let tiers: Vec<_> =
            report.tiers[2..].iter().map(|t| (t.tier, t.switches, t.oversubscription)).collect();
        // 2,040 hosts make 32 sets, storage two: three pods of twelve sets of two leaves.
        let one = Some(1.0);
        assert_eq!(
            tiers,
            [("frontend-leaf", 72, one), ("frontend-spine", 96, one), ("frontend-core", 32, None)]
        );
        assert_eq!(report.gpus_active, 15_360);
    }

    #[test]
    fn storage_on_the_backend_takes_the_places_of_hosts() {
        let fabric = with(Storage { on: Network::Backend, ..Storage::of(100) }, 2);
        let report = DesignReport::of(&fabric);
        // 100 storage hosts of one NIC stand where 13 hosts of eight would.
        assert_eq!((report.hosts_active, report.hosts_spare, report.storage_hosts), (256 - 13, 16, 100));
        assert_eq!(report.cables_access, (256 - 13) * 16 + 100 * 2);
        assert!(Reach::of(&fabric).is_whole());
        for (row, host) in fabric.storage_hosts().enumerate() {
            let nic = fabric.nic(host, 0);
            assert_eq!((fabric.kind(nic), fabric.host_of(nic)), (DeviceKind::Nic, Some(host)));
            assert_eq!(fabric.device_name(nic), format!("storage-{row}/nic-0"));
            assert_eq!(fabric.ports(nic).filter(|&port| fabric.cable_at(port).is_some()).count(), 2);
        }
        let all =
            Outside { frontend: None, storage: Some(Storage { on: Network::Backend, ..Storage::of(2_048) }) };
        assert!(all.build(&hpn(2)).unwrap_err().to_string().contains("storage.hosts = 2048"));
    }

    #[test]
    fn oversubscription_takes_uplinks_away() {
        for (ratio, spines) in [(1.0, 32), (2.0, 16), (3.0, 11)] {
            let frontend = Frontend { leaf_oversubscription: ratio, ..Frontend::default() };
            let outside = Outside { frontend: Some(frontend), storage: None };
            let report = DesignReport::of(&outside.build(&hpn(2)).unwrap());
            assert_eq!(report.tiers[3].switches, spines);
            assert!(report.tiers[2].oversubscription.is_some_and(|real| real <= ratio));
        }
    }
}

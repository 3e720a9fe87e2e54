//! Cables between the buildings of a data center (HPN appendix D).
//!
//! Each pod has a building of its own. The frontend network and the storage cluster share another. Cores join the pods, so
//! every cable from spine to core leaves a building, and so does every frontend cable of a host with GPUs.
use std::collections::BTreeMap;

use railtwin_fabric::{CableClass, CableId, DeviceId, Fabric};
use serde::Serialize;

use super::rows::{percent, table};

/// Share of cables between buildings that HPN prints (appendix D). Which links it counts is not printed.
pub const PRINTED_SHARE: f64 = 0.129;

/// A place of devices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Building {
    /// Hosts, leaves and spines of a pod.
    Pod(u32),
    /// Cores of the backend.
    Core,
    /// The frontend network, storage hosts and gateways on it.
    Frontend,
}

impl Building {
    /// The building of a device.
    pub fn of(fabric: &Fabric, device: DeviceId) -> Self {
        if let Some(place) = fabric.place(device) {
            return match place.tier {
                1 | 2 => Self::Pod(place.pod),
                3 => Self::Core,
                _ => Self::Frontend,
            };
        }
        let host = fabric.host_of(device).expect("a device is a switch or stands in a host");
        match fabric.host_model(host) {
            model if model.gpus == 0 && model.nics == 0 => Self::Frontend,
            _ => Self::Pod(fabric.host(host).pod),
        }
    }
}

/// Returns whether the two ends of a cable stand in different buildings.
pub fn is_crossing(fabric: &Fabric, cable: CableId) -> bool {
    let [from, to] = fabric.cable_ports(cable).map(|port| Building::of(fabric, fabric.port_device(port)));
    from != to
}

/// Cables of one class.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct ClassCables {
    /// Cables.
    pub cables: u64,
    /// Cables between buildings.
    pub crossing: u64,
    /// Capacity of all cables in one direction, in Gbps.
    pub gbps: f64,
    /// Capacity of those between buildings.
    pub crossing_gbps: f64,
}

/// One way to count links.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Count {
    /// Key of the way, such as `all`.
    pub way: &'static str,
    /// The links that the way counts.
    pub counted: &'static str,
    /// Links between buildings.
    pub crossing: f64,
    /// All links.
    pub links: f64,
    /// Links between buildings over all links.
    pub share: f64,
}

/// Cables of a data center by class, and the share between buildings by every way to count.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BuildingCables {
    /// Buildings with devices.
    pub buildings: u32,
    /// Cables by class, in the names of [`CableClass::name`]; cables inside hosts left out.
    pub classes: BTreeMap<&'static str, ClassCables>,
    /// The ways to count.
    pub counts: Vec<Count>,
}

const BACKEND: [CableClass; 3] = [CableClass::Access, CableClass::LeafSpine, CableClass::SpineCore];
const FRONTEND: [CableClass; 3] =
    [CableClass::FrontendAccess, CableClass::FrontendLeafSpine, CableClass::FrontendSpineCore];

impl BuildingCables {
    /// Counts the cables of a built fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let mut classes: BTreeMap<&'static str, ClassCables> = BTreeMap::new();
        let network = |class: &CableClass| !matches!(class, CableClass::NvLink | CableClass::Pcie);
        for cable in fabric.cables().filter(|&cable| network(&fabric.cable_class(cable))) {
            let of_class = classes.entry(fabric.cable_class(cable).name()).or_default();
            let (gbps, crossing) = (fabric.capacity(cable.forward()).gbps(), is_crossing(fabric, cable));
            of_class.cables += 1;
            of_class.gbps += gbps;
            of_class.crossing += u64::from(crossing);
            of_class.crossing_gbps += if crossing { gbps } else { 0.0 };
        }
        let mut buildings: Vec<Building> =
            fabric.devices().map(|device| Building::of(fabric, device)).collect();
        buildings.sort_unstable();
        buildings.dedup();
        let ports = fabric.host_models().first().map_or(1, |model| model.nic.ports.max(1));
        let counts = counts(&classes, f64::from(ports));
        Self { buildings: buildings.len() as u32, classes, counts }
    }

    /// The share between buildings of one way to count.
    pub fn share(&self, way: &str) -> Option<f64> {
        self.counts.iter().find(|count| count.way == way).map(|count| count.share)
    }

    /// Prints cables by class, then the ways to count beside the printed share.
    pub fn text(&self) -> String {
        let classes = self
            .classes
            .iter()
            .map(|(name, of)| vec![(*name).to_owned(), of.cables.to_string(), of.crossing.to_string()]);
        let mut text = table(&["cables", "all", "between buildings"], &classes.collect::<Vec<_>>());
        let ways = self.counts.iter().map(|count| {
            vec![
                count.counted.to_owned(),
                format!("{:.0}", count.links),
                format!("{:.0}", count.crossing),
                percent(count.share),
            ]
        });
        text.push_str(&table(
            &["links counted", "all", "between buildings", "share"],
            &ways.collect::<Vec<_>>(),
        ));
        text.push_str(&format!(
            "HPN appendix D prints {}, without the links that it counts\n",
            percent(PRINTED_SHARE)
        ));
        text
    }
}

fn counts(classes: &BTreeMap<&'static str, ClassCables>, ports: f64) -> Vec<Count> {
    let of = |class: CableClass| classes.get(class.name()).copied().unwrap_or_default();
    let cables = |class: CableClass| (of(class).crossing as f64, of(class).cables as f64);
    let sum = |parts: &mut dyn Iterator<Item = (f64, f64)>| {
        parts.fold((0.0, 0.0), |(crossing, all), part| (crossing + part.0, all + part.1))
    };
    let all = || BACKEND.into_iter().chain(FRONTEND);
    let hosts = || BACKEND.into_iter().chain([CableClass::FrontendAccess]);
    // The ports of a NIC are one link to its host: a transceiver with a fan-out to two leaves.
    let per_nic = |class: CableClass| match class {
        CableClass::Access | CableClass::FrontendAccess => (cables(class).0 / ports, cables(class).1 / ports),
        _ => cables(class),
    };
    let gbps = |class: CableClass| (of(class).crossing_gbps, of(class).gbps);
    let ways = [
        ("all", "all cables of both networks", sum(&mut all().map(cables))),
        ("hosts", "the backend and the frontend cables of hosts", sum(&mut hosts().map(cables))),
        ("frontend-only", "the same, cables to cores left out", {
            let (crossing, links) = sum(&mut hosts().map(cables));
            let core = cables(CableClass::SpineCore);
            (crossing - core.0, links - core.1)
        }),
        ("nics", "all, one link for each NIC", sum(&mut all().map(per_nic))),
        ("capacity", "all, by capacity in Gbps", sum(&mut all().map(gbps))),
        ("backend", "the backend alone", sum(&mut BACKEND.into_iter().map(cables))),
    ];
    let count = |(way, counted, (crossing, links)): (&'static str, &'static str, (f64, f64))| {
        let share = if links > 0.0 { crossing / links } else { 0.0 };
        Count { way, counted, crossing, links, share }
    };
    ways.into_iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::frontend::Outside;
    use railtwin_fabric::preset::{Hpn, Layout as _};
    use railtwin_fabric::{Frontend, Storage};

    use super::*;

    fn data_center(pods: u32) -> Fabric {
        let outside = Outside { frontend: Some(Frontend::default()), storage: Some(Storage::of(16)) };
        let hpn = Hpn { pods, segments: Some(2), hosts: Some(8), spare_hosts: Some(0), ..Hpn::default() };
        outside.build(&hpn.spec().unwrap()).unwrap()
    }

    #[test]
    fn cables_to_cores_and_to_the_frontend_leave_their_building() {
        let cables = BuildingCables::of(&data_center(2));
        assert_eq!(cables.buildings, 4, "two pods, cores, frontend");
        let of = |name: &str| (cables.classes[name].cables, cables.classes[name].crossing);
        // Two pods of 120 spines with 8 ports up; 32 hosts with two frontend ports, 16 storage hosts with two.
        assert_eq!(of("spine-core"), (1_920, 1_920));
        assert_eq!((of("access"), of("leaf-spine")), ((512, 0), (3_840, 0)));
        assert_eq!(of("frontend-access"), (96, 64));
        assert_eq!(of("frontend-leaf-spine").1, 0);
        let hosts = cables.counts.iter().find(|count| count.way == "hosts").unwrap();
        assert_eq!((hosts.crossing, hosts.links), (1_984.0, 6_368.0));
        assert_eq!(cables.share("frontend-only"), Some(64.0 / 4_448.0));
        assert!(cables.text().contains("12.9 %"));
    }

    #[test]
    fn one_pod_has_no_cores() {
        let cables = BuildingCables::of(&data_center(1));
        assert_eq!((cables.buildings, cables.share("backend")), (2, Some(0.0)));
        assert_eq!(cables.share("nothing"), None);
    }
}

//! Warnings for delays of cables that a fabric does not have.
use railtwin_fabric::{CableClass, CableId, Fabric, PortId};

use super::FabricSpec;

/// Keys of delays, and the cables that have them.
const DELAYS: [(&str, &str); 2] =
    [("leaf_spine_delay", "between leaf and spine"), ("spine_core_delay", "between spine and core")];

/// The tier of spines.
const SPINE: u8 = 2;

impl FabricSpec {
    /// Warnings for each delay that the text sets and that no cable of the fabric has.
    pub fn notes_of_delays(&self, fabric: &Fabric) -> Vec<String> {
        let Ok(written) = toml::Table::try_from(self) else { return Vec::new() };
        let given = DELAYS.into_iter().enumerate().filter(|(_, (key, _))| written.contains_key(*key));
        let idle =
            given.filter(|(row, _)| !fabric.cables().any(|cable| delay_of(fabric, cable) == Some(*row)));
        idle.map(|(_, (key, cables))| {
            format!("fabric.{key} changes nothing: the fabric has no cables {cables}")
        })
        .collect()
    }
}

/// The row in `DELAYS` of a cable; none for those of hosts. Cables between leaves are as long as those to spines, and those
/// between spines as those to cores.
fn delay_of(fabric: &Fabric, cable: CableId) -> Option<usize> {
    match fabric.cable_class(cable) {
        CableClass::LeafSpine | CableClass::FrontendLeafSpine => Some(0),
        CableClass::SpineCore | CableClass::FrontendSpineCore => Some(1),
        CableClass::Peer => {
            let tier = |port: &PortId| fabric.place(fabric.port_device(*port)).map(|place| place.tier);
            Some(usize::from(fabric.cable_ports(cable).iter().any(|port| tier(port) == Some(SPINE))))
        }
        CableClass::NvLink | CableClass::Pcie | CableClass::Access | CableClass::FrontendAccess => None,
    }
}

//! Types of devices that SONiC's files name, and what they are in a network.
//!
//! SONiC counts tiers from T0, next to hosts: `ToRRouter` is T0, `LeafRouter` T1, `SpineRouter` T2, and where T2 is split
//! into layers, `LowerSpineRouter`, `FabricSpineRouter` and `UpperSpineRouter` from below; regional hubs stand above them
//! in the same three layers (`sonic-device_metadata.yang` of sonic-net/sonic-buildimage names all types).
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole, role_of};

use crate::about::DeviceClass;
use crate::tiers;
use crate::topology::Topology;

/// What a type says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeviceType {
    /// A host.
    Host,
    /// A switch of a tier, counted from 1.
    Switch(u8),
    /// A switch of management.
    Management,
    /// A cable with a switch in it, which is no device of the network.
    MuxCable,
    /// A chip of a switch with several.
    Chip,
    /// A switch of a type that tells no tier.
    OtherSwitch,
    /// Nothing is known of the type.
    Unknown,
}

impl DeviceType {
    /// Of the text of a type.
    pub(crate) fn of(text: &str) -> Self {
        match text {
            "Server" | "server" | "SonicHost" => Self::Host,
            "SmartCable" => Self::MuxCable,
            "Asic" => Self::Chip,
            _ if text.contains("Mgmt") => Self::Management,
            "ToRRouter" | "BackEndToRRouter" | "EPMS" => Self::Switch(1),
            "LeafRouter" | "BackEndLeafRouter" => Self::Switch(2),
            "SpineRouter" | "LowerSpineRouter" | "BackEndSpineRouter" | "SpineChassisFrontendRouter" => {
                Self::Switch(3)
            }
            "FabricSpineRouter" => Self::Switch(4),
            "UpperSpineRouter" => Self::Switch(5),
            "RegionalHub" | "LowerRegionalHub" | "AZNGHub" | "CoreRouter" => Self::Switch(6),
            "FabricRegionalHub" => Self::Switch(7),
            "UpperRegionalHub" => Self::Switch(8),
            _ if text.ends_with("Router") || text.ends_with("ToR") || text.ends_with("Hub") => {
                Self::OtherSwitch
            }
            _ if text.ends_with("Server") => Self::Host,
            _ => Self::Unknown,
        }
    }
}

/// Enters what a device is; a type that tells nothing leaves it to the name.
pub(crate) fn state(topology: &mut Topology, row: u32, kind: DeviceType) {
    let name = topology.list.devices()[row as usize].name.clone();
    let named = role_of(&name);
    let class = match (kind, named) {
        (DeviceType::Host, _) => DeviceClass::Host,
        (DeviceType::Unknown, Some(role)) if role.is_host() => DeviceClass::Host,
        (DeviceType::Unknown | DeviceType::MuxCable | DeviceType::Chip, None) => return,
        _ => DeviceClass::Switch,
    };
    topology.about_mut(row).class = class;
    if class == DeviceClass::Host {
        let role = named.filter(|role| role.is_host()).unwrap_or(DeviceRole::Host);
        topology.list.device_mut(row).role = Some(role);
        return;
    }
    match kind {
        DeviceType::Switch(tier) => tiers::state(topology, row, tier),
        DeviceType::Management => {
            topology.list.device_mut(row).network = Some(CableNetwork::OutOfBand);
        }
        _ => topology.list.device_mut(row).role = named.filter(|role| role.tier() > 0),
    }
}

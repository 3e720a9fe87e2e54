//! The parts of a `topology-map.yaml` that say what is cabled; other keys are passed over.
use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct PlanFile {
    #[serde(default)]
    pub(super) plan: PlanHead,
    #[serde(default)]
    pub(super) reference_data: ReferenceData,
    pub(super) switch_classes: Vec<PlanSwitches>,
    pub(super) switch_port_zones: Vec<PlanZone>,
    pub(super) server_classes: Vec<PlanServers>,
    #[serde(default)]
    pub(super) server_nics: Vec<PlanNic>,
    #[serde(default)]
    pub(super) server_connections: Vec<PlanConnection>,
}

#[derive(Deserialize, Default)]
pub(super) struct PlanHead {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Deserialize, Default)]
pub(super) struct ReferenceData {
    #[serde(default)]
    pub(super) device_types: Vec<PlanPart>,
    #[serde(default)]
    pub(super) device_type_extensions: Vec<PlanExtension>,
    #[serde(default)]
    pub(super) breakout_options: Vec<PlanBreakout>,
    #[serde(default)]
    pub(super) module_types: Vec<PlanPart>,
}

/// A device or module type.
#[derive(Deserialize)]
pub(super) struct PlanPart {
    pub(super) id: String,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    pub(super) interface_templates: Vec<PlanInterface>,
}

#[derive(Deserialize)]
pub(super) struct PlanInterface {
    pub(super) name: String,
}

#[derive(Deserialize)]
pub(super) struct PlanExtension {
    pub(super) id: String,
    #[serde(default)]
    pub(super) hedgehog_profile_name: String,
}

#[derive(Deserialize)]
pub(super) struct PlanBreakout {
    pub(super) id: String,
    pub(super) logical_ports: u32,
    pub(super) logical_speed: u64,
}

#[derive(Deserialize)]
pub(super) struct PlanSwitches {
    pub(super) switch_class_id: String,
    #[serde(default)]
    pub(super) fabric_name: String,
    #[serde(default)]
    pub(super) fabric_class: String,
    pub(super) hedgehog_role: String,
    #[serde(default)]
    pub(super) device_type_extension: String,
    #[serde(default)]
    pub(super) topology_mode: String,
    pub(super) override_quantity: Option<u32>,
    pub(super) uplink_ports_per_switch: Option<u32>,
    #[serde(default)]
    pub(super) mclag_pair: bool,
    pub(super) redundancy_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct PlanZone {
    pub(super) switch_class: String,
    pub(super) zone_name: String,
    pub(super) zone_type: String,
    pub(super) port_spec: String,
    pub(super) breakout_option: String,
    #[serde(default)]
    pub(super) allocation_strategy: String,
    #[serde(default)]
    pub(super) allocation_order: Vec<u32>,
    #[serde(default)]
    pub(super) priority: i64,
    pub(super) peer_zone: Option<String>,
    pub(super) transceiver_module_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct PlanServers {
    pub(super) server_class_id: String,
    pub(super) quantity: u32,
    #[serde(default)]
    pub(super) server_device_type: String,
}

#[derive(Deserialize)]
pub(super) struct PlanNic {
    pub(super) server_class: String,
    pub(super) nic_id: String,
    pub(super) module_type: String,
}

#[derive(Deserialize)]
pub(super) struct PlanConnection {
    pub(super) server_class: String,
    pub(super) connection_id: String,
    pub(super) nic: String,
    #[serde(default)]
    pub(super) port_index: u32,
    #[serde(default = "one")]
    pub(super) ports_per_connection: u32,
    pub(super) distribution: String,
    pub(super) target_zone: String,
    #[serde(default)]
    pub(super) rail: Option<u32>,
    pub(super) transceiver_module_type: Option<String>,
}

fn one() -> u32 {
    1
}

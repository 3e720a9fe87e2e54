//! The keys of `[fabric]`, per preset.
use railtwin_fabric::HostModel;
use railtwin_fabric::preset::Tier2;

use crate::fabric_spec::PresetSpec;
use crate::host_spec::HostCaps;
use railtwin_units::keys::{Key, Kind, Table, Variant, key};

/// Bound of counts of switches, segments, pods.
const SWITCHES: i64 = 65_536;
/// Bound of hosts in a segment.
const HOSTS: i64 = 65_536;
/// Bound of parallel cables and of ports of one switch.
const PORTS: i64 = 4_096;

pub(crate) static FABRIC: Table = Table {
    title: "[fabric]",
    keys: &[
        key("preset", Kind::Choice(&PresetSpec::NAMES), "A fabric by name."),
        key("lingjun", Kind::Text, "Path of a lingjun topo.csv to import."),
        key("htsim", Kind::Text, "Path of an htsim .topo file to import."),
    ],
    variants: &[&[
        Variant { key: "preset", value: Some("hpn"), keys: HPN },
        Variant { key: "preset", value: Some("dcn-plus"), keys: DCN_PLUS },
        Variant { key: "preset", value: Some("ai-zone"), keys: AI_ZONE },
        Variant { key: "preset", value: Some("leaf-spine"), keys: LEAF_SPINE },
        Variant { key: "preset", value: Some("fat-tree"), keys: FAT_TREE },
        Variant { key: "lingjun", value: None, keys: &[HOST_KEY] },
        Variant { key: "htsim", value: None, keys: &[] },
    ]],
    exactly_one: &["preset", "lingjun", "htsim"],
    ..Table::EMPTY
};

const RATE: Kind = Kind::Rate { zero: false };
const HOST_KEY: Key = key("host", Kind::Section(&HOST), "What a host is.");
const PODS: Key = key("pods", Kind::Whole(1, SWITCHES), "Pods.");
const SEGMENTS: Key = key("segments", Kind::Whole(1, SWITCHES), "Segments in a pod.");
const HOSTS_KEY: Key = key("hosts", Kind::Whole(1, HOSTS), "Active hosts in a segment.");
const CORES: Key = key("cores", Kind::Whole(1, SWITCHES), "Cores (in a plane).");
const SPINES: Key = key("spines", Kind::Whole(0, SWITCHES), "Spines (of a plane) in a pod.");
const PARALLEL: Key =
    key("parallel", Kind::Whole(1, PORTS), "Parallel cables between a leaf and each spine.");
const SPINE_UP: Key = key("spine_up", Kind::Whole(0, PORTS), "Ports of a spine towards the core.");
const UPLINKS: Key = key("uplinks", Kind::Whole(1, PORTS), "Uplinks of a leaf, one to each spine.");
const UPLINK: Key = key("uplink", RATE, "Capacity of leaf-spine and spine-core cables.");
const CHIP: Key = key("chip", RATE, "Capacity of a switch chip.");

const HPN: &[Key] = &[
    PODS,
    SEGMENTS,
    HOSTS_KEY,
    key("spare_hosts", Kind::Whole(0, HOSTS), "Backup hosts in a segment."),
    key("planes", Kind::Bool, "Whether the two leaves of a set stand in separate planes."),
    key("dual_tor", Kind::Bool, "Whether a NIC reaches two leaves."),
    key("tier2", Kind::Choice(&Tier2::NAMES), "What tier 2 connects."),
    SPINES,
    SPINE_UP,
    CORES,
    UPLINK,
    CHIP,
    HOST_KEY,
];

const DCN_PLUS: &[Key] = &[PODS, SEGMENTS, HOSTS_KEY, SPINES, PARALLEL, CORES, UPLINK, CHIP, HOST_KEY];

const AI_ZONE: &[Key] = &[PODS, SEGMENTS, HOSTS_KEY, UPLINKS, SPINE_UP, CORES, UPLINK, CHIP, HOST_KEY];

const LEAF_SPINE: &[Key] = &[
    key("leaves", Kind::Whole(1, SWITCHES), "Leaves."),
    key(
        "hosts_per_leaf",
        Kind::Whole(1, HOSTS),
        "Hosts under a leaf, or under a leaf pair with dual-port NICs.",
    ),
    key("rails_per_leaf", Kind::Whole(1, 1024), "NICs of a host that share leaves; default all."),
    UPLINKS,
    PARALLEL,
    key("uplink_capacity", RATE, "Capacity of an uplink cable."),
    CHIP,
    key("delay", Kind::Time, "Delay of every cable of the network."),
    key("switch_latency", Kind::Time, "Time through an idle switch."),
    HOST_KEY,
];

const FAT_TREE: &[Key] = &[
    key("k", Kind::Whole(2, 256), "Ports of a switch; even."),
    key("capacity", RATE, "Capacity of every cable."),
];

static HOST: Table = Table {
    title: "[fabric.host]",
    keys: &[
        key("model", Kind::Choice(&HostModel::NAMES), "A host model by name."),
        key("gpus", Kind::Whole(1, 1024), "GPUs."),
        key("nics", Kind::Whole(1, 1024), "Backend NICs."),
        key("nic_ports", Kind::Whole(1, 64), "Ports of a backend NIC."),
        key("nic_port_capacity", RATE, "Capacity of a port of a backend NIC."),
        key("nvlink", Kind::Rate { zero: true }, "NVLink capacity of a GPU in one direction; zero = none."),
        key("pcie", RATE, "PCIe capacity between a GPU and its NIC in one direction."),
        key("gpu_memory", Kind::Size { zero: false }, "Memory of a GPU."),
        key(
            "caps",
            Kind::Choice(&HostCaps::NAMES),
            "Whether collectives are held to what hosts of the model achieve; default none.",
        )
        .flow(),
    ],
    ..Table::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_name_are_of_one_kind_in_all_presets() {
        for variant in FABRIC.variants() {
            for one in variant.keys {
                let any = FABRIC.any_key(one.name).expect("it is in a variant");
                assert_eq!(format!("{:?}", one.kind), format!("{:?}", any.kind));
            }
        }
    }
}

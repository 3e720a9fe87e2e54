//! Configuration databases of SONiC: a folder that this project writes is its fabric again, and damage is found.
use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{DeviceRole, nic_and_port};
use railtwin_formats::switch_config::{FabricPlan, PlanOptions, sonic};
use railtwin_topology::Topology;
use railtwin_units::{Rate, SimTime};
use serde_json::{Value, json};

use super::wiring::{Built, cabled_counts, cables, damage, fabrics, kinds, read, roles, survives};

/// A cable between two devices: their names with NICs of hosts, rate and delay.
type Pair = ([(String, String); 2], Option<Rate>, Option<SimTime>);

/// How often two devices are joined, by the NIC of the host where there is one, with rate and delay.
fn joined(topology: &Topology) -> BTreeMap<Pair, u32> {
    let mut all = BTreeMap::new();
    for (ends, delay) in cables(topology) {
        let rate = ends[0].2;
        let mut ends = ends.map(|(device, port, _)| {
            let row = topology.list.device_named(&device).expect("a device");
            let is_host = topology.list.devices()[row as usize].role.is_some_and(|role| role.is_host());
            (device, if is_host { nic_and_port(&port).0.to_owned() } else { String::new() })
        });
        ends.sort();
        *all.entry((ends, rate, delay)).or_default() += 1;
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_folder_of_a_fabric_is_the_fabric(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let plan = FabricPlan::new(&fabric, &PlanOptions::default()).expect("small");
        let files = sonic::files(&plan);
        let sources: Vec<(&str, &[u8])> =
            files.iter().map(|file| (file.path.as_str(), file.text.as_bytes())).collect();
        let read = read("sonic-config-db", &sources);
        prop_assert_eq!(&read.findings, &[]);
        prop_assert_eq!(joined(&read), joined(&topology));
        let (ours, theirs) = (roles(&read), roles(&topology));
        // Devices without a cable have no place in a database of a switch.
        let cabled = |row: usize| {
            let ports = &topology.list.devices()[row].ports;
            ports.iter().any(|&port| topology.list.ports()[port as usize].cable != NONE)
        };
        for (row, device) in topology.list.devices().iter().enumerate().filter(|(row, _)| cabled(*row)) {
            // No database tells that a host is a spare.
            let told = theirs[&device.name].map(|role| if role == DeviceRole::SpareHost { DeviceRole::Host } else { role });
            prop_assert_eq!(ours.get(&device.name), Some(&told), "{} {}", row, &device.name);
        }
        prop_assert_eq!(read.counts().switches, topology.counts().switches);
        prop_assert_eq!(read.counts().adapters, cabled_counts(&topology).adapters);
    }

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        let [a, b] = pair().map(|database| format!("{database:#}"));
        survives("sonic-config-db", &[("a/config_db.json", a.as_bytes()), ("b/config_db.json", b.as_bytes())], &damage);
    }
}

/// A leaf and a spine that contradict each other.
fn pair() -> [Value; 2] {
    let port = |alias: &str, state: &str| json!({ "alias": alias, "speed": "400000", "admin_status": state, "lanes": "1" });
    let leaf = json!({
        "DEVICE_METADATA": { "localhost": { "hostname": "leaf", "type": "ToRRouter", "hwsku": "S", "mac": "aa:bb" } },
        "PORT": {
            "Ethernet0": port("etp1", "up"), "Ethernet8": port("etp2", "up"), "Ethernet16": port("etp3", "down"),
            "Ethernet24": port("etp4", "up"), "Ethernet32": port("etp5", "up"), "Ethernet40": port("etp6", "up"),
            "Ethernet48": port("etp7", "up"), "Ethernet-BP0": port("bp", "up"),
        },
        "DEVICE_NEIGHBOR": {
            "Ethernet0": { "name": "spine", "port": "etp1" },
            "Ethernet8": { "name": "spine", "port": "etp2" },
            "Ethernet16": { "name": "spine", "port": "etp3" },
            "Ethernet24": { "name": "x17", "port": "eth0" },
            "Ethernet32": { "name": "y1", "port": "e1" },
            "x18": { "mgmt_addr": "1.2.3.4", "local_port": "Ethernet40", "port": "eth9", "type": "Server" },
            "x19": { "mgmt_addr": "1.2.3.4" },
        },
        "DEVICE_NEIGHBOR_METADATA": { "spine": { "type": "LeafRouter" }, "x18": { "type": "Server" } },
        "VLAN_MEMBER": { "Vlan1000|Ethernet24": { "tagging_mode": "untagged" } },
        "CABLE_LENGTH": { "AZURE": { "Ethernet0": "40m", "Ethernet8": "0m" } },
        "MUX_CABLE": { "Ethernet24": { "state": "auto" } },
    });
    let spine = json!({
        "DEVICE_METADATA": { "localhost": { "hostname": "spine", "type": "LeafRouter" } },
        "PORT": { "Ethernet0": port("etp1", "up"), "Ethernet8": port("etp2", "up"), "Ethernet16": port("etp3", "up") },
        "DEVICE_NEIGHBOR": {
            "Ethernet0": { "name": "leaf", "port": "Ethernet0" },
            "Ethernet16": { "name": "leaf", "port": "etp3" },
        },
    });
    [leaf, spine]
}

#[test]
fn a_pair_that_contradicts_itself_gives_findings() {
    let [leaf, spine] = pair().map(|database| database.to_string());
    let sources: [(&str, &[u8]); 3] = [
        ("a/config_db.json", leaf.as_bytes()),
        ("a/switch.json", b"[]"),
        ("b/config_db.json", spine.as_bytes()),
    ];
    let read = read("sonic-config-db", &sources);
    let all = cables(&read);
    let end = |device: &str, port: &str| (device.to_owned(), port.to_owned(), Some(Rate::from_gbps(400)));
    assert_eq!(
        all.get(&[end("leaf", "Ethernet0"), end("spine", "Ethernet0")]),
        Some(&Some(SimTime::from_ns(200)))
    );
    // Told by the leaf alone.
    assert!(all.contains_key(&[end("leaf", "Ethernet8"), end("spine", "Ethernet8")]));
    assert!(all.contains_key(&[end("leaf", "Ethernet24"), end("x17", "eth0")]));
    assert!(all.contains_key(&[end("leaf", "Ethernet40"), end("x18", "eth9")]));
    let counts = read.counts();
    // The port that is down, and the neighbor without a port.
    assert_eq!((counts.hosts, counts.cables, counts.links_missing), (2, 5, 2), "{:#?}", read.findings);
    let wanted = BTreeSet::from(["link-down", "one-sided-link", "port-without-neighbor", "unknown-device"]);
    assert_eq!(kinds(&read), wanted, "{:#?}", read.findings);
    let free = read.findings.iter().find(|finding| finding.kind == "port-without-neighbor").expect("one");
    assert_eq!(
        (free.device.as_str(), free.seen.as_str()),
        ("leaf", "1 of 6 ports are up and have no neighbor")
    );
    assert_eq!(read.notes, ["1 other files are passed over", "leaf has 1 mux cables to servers"]);
}

#[test]
fn chips_of_one_switch_are_one_and_a_port_must_be_there() {
    let chip = |name: &str, port: &str, far: &str| {
        json!({
            "DEVICE_METADATA": { "localhost": { "hostname": "t1", "type": "LeafRouter", "asic_name": name } },
            "PORT": { port: { "admin_status": "up" }, "Ethernet-BP0": { "admin_status": "up", "role": "Int" } },
            "DEVICE_NEIGHBOR": {
                port: { "name": far, "port": "Ethernet1" },
                "Ethernet-BP0": { "name": "ASIC9", "port": "Eth0" },
                "Ethernet999": { "name": far, "port": "Ethernet2" },
            },
            "DEVICE_NEIGHBOR_METADATA": { far: { "type": "ToRRouter" } },
        })
        .to_string()
    };
    let [a, b] = [chip("asic0", "Ethernet0", "tor-1"), chip("asic1", "Ethernet4", "tor-2")];
    let read = read(
        "sonic-config-db",
        &[("t1/config_db0.json", a.as_bytes()), ("t1/config_db1.json", b.as_bytes())],
    );
    let counts = read.counts();
    assert_eq!((counts.switches["leaf"], counts.switches["spine"]), (2, 1));
    assert!(kinds(&read).contains("unknown-port"));
    assert!(!kinds(&read).contains("duplicate-name") && !kinds(&read).contains("port-without-neighbor"));
    assert!(read.list.device_named("ASIC9").is_none());
}

#[test]
fn switches_of_one_name_are_told_apart_by_their_folders() {
    let [leaf, _] = pair().map(|database| database.to_string());
    let broken = b"{\"PORT\": {\"Ethernet0\": {\"admin_status\": \"up\", \"alias\"";
    let sources: [(&str, &[u8]); 3] = [
        ("a/config_db.json", leaf.as_bytes()),
        ("b/config_db.json", leaf.as_bytes()),
        ("c/config_db.json", broken),
    ];
    let read = read("sonic-config-db", &sources);
    assert!(read.list.device_named("b").is_some());
    assert!(kinds(&read).is_superset(&BTreeSet::from(["duplicate-name", "unreadable-file"])));
}

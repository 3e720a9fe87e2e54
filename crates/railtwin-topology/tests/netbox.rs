//! NetBox: a plan of others in all shapes of its records is one topology; what is written reads back; damage is found.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::cable_list::{CableList, DeviceRole};
use railtwin_topology::Topology;
use railtwin_units::{Rate, SimTime};
use serde_json::{Value, json};

use super::wiring::{Built, cables, damage, fabrics, kinds, read, read_back, roles, survives, write};

const LIST: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ocp_fabrics/opg-64-collapsed.csv"));

/// The list of a plan as records: those of an inventory, those of the REST API, and those of its versions up to 3.2.
fn records(list: &CableList, shape: &str) -> Value {
    let role = |row: usize| match list.devices()[row].role {
        Some(role) if role.is_host() => "server",
        Some(role) => role.name(),
        None => "switch",
    };
    let nested = |row: u32| json!({ "id": row + 100, "name": list.devices()[row as usize].name, "url": "u", "display": "d" });
    let devices = list.devices().iter().enumerate().map(|(row, device)| match shape {
        "inventory" => json!({ "id": row + 100, "name": device.name, "role": role(row), "device_type": "t", "status": "planned" }),
        _ => {
            let kind = json!({ "id": 1, "slug": role(row), "name": role(row).to_uppercase() });
            json!({ "id": row + 100, "url": "u", "display": device.name, "name": device.name, "device_role": kind,
                    "device_type": { "id": 3, "model": "t", "manufacturer": { "name": "m" } },
                    "status": { "value": "active", "label": "Active" } })
        }
    });
    let interfaces = list.ports().iter().enumerate().map(|(row, port)| {
        let name = &list.devices()[port.device as usize].name;
        match shape {
            "inventory" => json!({ "id": row + 1, "device_id": port.device + 100, "device_name": name, "name": port.name,
                                   "enabled": true, "type": "other" }),
            _ => json!({ "id": row + 1, "device": nested(port.device), "name": port.name, "enabled": true, "speed": null,
                         "type": { "value": "400gbase-x-osfp", "label": "OSFP" } }),
        }
    });
    let cables = list.cables().iter().enumerate().map(|(row, cable)| {
        let [a, b] = cable.ports.map(|row| {
            let port = &list.ports()[row as usize];
            let object = json!({ "id": row + 1, "device": nested(port.device), "name": port.name, "cable": 1 });
            let name = &list.devices()[port.device as usize].name;
            match shape {
                "inventory" => json!({ "device_id": port.device + 100, "device_name": name, "id": row + 1,
                                       "name": port.name, "object_type": "Interface" }),
                "rest" => json!({ "object_type": "dcim.interface", "object_id": row + 1, "object": object }),
                _ => object,
            }
        });
        match shape {
            "old" => json!({ "id": row, "termination_a_type": "dcim.interface", "termination_a": a, "status": { "value": "connected" },
                             "termination_b_type": "dcim.interface", "termination_b": b, "length": null, "length_unit": null }),
            _ => json!({ "id": row, "a_terminations": [a], "b_terminations": [b], "status": "connected", "type": null }),
        }
    });
    let [devices, interfaces, cables] =
        [devices.collect(), interfaces.collect(), cables.collect::<Vec<Value>>()];
    json!({ "devices": devices, "interfaces": interfaces, "cables": cables })
}

#[test]
fn a_plan_of_others_is_one_topology_in_all_shapes() {
    let list = railtwin_formats::parse_cable_list("list.csv", LIST).expect("a cable list");
    let wanted = read("cables", &[("list.csv", LIST)]);
    for shape in ["inventory", "rest", "old"] {
        let document = records(&list, shape);
        let whole = document.to_string();
        let whole = read("netbox", &[("netbox_inventory.json", whole.as_bytes())]);
        let page = |kind: &str| {
            let items = &document[kind];
            json!({ "count": items.as_array().map(Vec::len), "next": null, "previous": null, "results": items }).to_string()
        };
        let pages = ["cables", "devices", "interfaces"].map(|kind| (format!("{kind}.json"), page(kind)));
        let pages: Vec<(&str, &[u8])> =
            pages.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
        let pages = read("netbox", &pages);
        for topology in [whole, pages] {
            let ends = |topology: &Topology| -> BTreeSet<[(String, String); 2]> {
                cables(topology)
                    .into_keys()
                    .map(|ends| ends.map(|(device, port, _)| (device, port)))
                    .collect()
            };
            assert_eq!(ends(&topology), ends(&wanted), "{shape}");
            assert_eq!(topology.counts(), wanted.counts(), "{shape}");
            assert_eq!(topology.findings, [], "{shape}");
            assert_eq!(roles(&topology)["storage_srv-001"], Some(DeviceRole::StorageHost));
            assert_eq!(roles(&topology)["conv_spine-01"], Some(DeviceRole::Spine));
        }
    }
}

/// One of each kind of damage.
fn broken() -> Value {
    let one = |device: &str, name: &str| {
        let object = json!({ "name": name, "device": { "name": device } });
        json!({ "object_type": "dcim.interface", "object": object })
    };
    let end = |device: &str, name: &str| json!([one(device, name)]);
    json!({
        "metadata": { "counts": { "devices": 9, "cables": 9 } },
        "devices": [
            { "id": 1, "name": "leaf-1", "role": { "slug": "leaf" }, "device_type": { "model": "t" }, "rack": { "name": "r1" } },
            { "id": 2, "name": "leaf-1", "role": { "slug": "leaf" }, "device_type": "t" },
            { "id": 3, "name": null, "role": "server", "device_type": "t" },
            { "id": 4, "name": "h1", "role": "server", "device_type": "t" },
        ],
        "interfaces": [
            { "id": 10, "device": { "id": 1, "name": "leaf-1" }, "name": "e1", "type": { "value": "800gbase-x-osfp" } },
            { "id": 11, "device": { "id": 2, "name": "leaf-1" }, "name": "e1", "speed": 400_000_000 },
            { "id": 12, "device": { "id": 4 }, "name": "eth0", "enabled": false },
            { "id": 13, "device": { "id": 4 }, "name": "eth1", "speed": 400_000_000,
              "connected_endpoints": [{ "id": 11, "name": "e1", "device": { "id": 2, "name": "leaf-1" } }] },
            { "device": { "id": 4 } },
        ],
        "cables": [
            { "id": 1, "a_terminations": [{ "object_type": "dcim.interface", "object_id": 12 }],
              "b_terminations": [{ "object_type": "dcim.interface", "object_id": 10 }], "status": { "value": "connected" } },
            { "id": 2, "a_terminations": end("leaf-1", "e7"), "b_terminations": [] },
            { "id": 3, "a_terminations": [{ "object_type": "dcim.interface", "object_id": 13 }],
              "b_terminations": [{ "object_type": "dcim.frontport", "object_id": 1 }] },
            { "id": 4, "a_terminations": end("h1", "eth2"), "b_terminations": end("leaf-7", "e1"),
              "length": 30.5, "length_unit": { "value": "m" } },
            { "id": 5, "a_terminations": end("h1", "eth2"), "b_terminations": end("leaf-1", "e9") },
            { "id": 6, "a_terminations": end("leaf-1", "e8"), "b_terminations": [one("h1", "eth3"), one("h1", "eth4")] },
            { "id": 7, "a_terminations": end("h1", "eth5"), "b_terminations": end("leaf-1", "e10"), "status": "decommissioning" },
        ],
    })
}

#[test]
fn damage_is_found_and_the_rest_is_read() {
    let text = broken().to_string();
    let read = read("netbox", &[("broken.json", text.as_bytes())]);
    let wanted = BTreeSet::from([
        "count-differs",
        "duplicate-name",
        "host-without-switch",
        "link-down",
        "missing-switch",
        "one-sided-link",
        "port-with-two-cables",
        "unnamed-host",
        "unnamed-port",
    ]);
    assert_eq!(kinds(&read), wanted, "{:#?}", read.findings);
    // Cable 4, both branches of 6, and 3 by the end of its path.
    let all = cables(&read);
    assert_eq!((all.len(), read.links_missing), (4, 3), "{all:#?}");
    let end = |device: &str, port: &str, gbps: Option<u64>| {
        (device.to_owned(), port.to_owned(), gbps.map(Rate::from_gbps))
    };
    assert_eq!(
        all.get(&[end("h1", "eth2", None), end("leaf-7", "e1", None)]),
        Some(&Some(SimTime::from_ps(152_500)))
    );
    assert!(all.contains_key(&[end("h1", "eth1", Some(400)), end("leaf-1#2", "e1", Some(400))]));
    assert!(all.contains_key(&[end("h1", "eth4", None), end("leaf-1", "e8/2", None)]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let written = write("netbox", &topology).expect("all have roles");
        let read = read_back("netbox", &written);
        prop_assert_eq!(read.counts(), topology.counts());
        prop_assert_eq!(roles(&read), roles(&topology));
        prop_assert_eq!(cables(&read), cables(&topology));
    }

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        let text = format!("{:#}", broken());
        survives("netbox", &[("broken.json", text.as_bytes())], &damage);
    }

    #[test]
    fn values_do_not_panic(key in 0..40_usize, with in 0..6_usize) {
        // A value of another type in the place of each member.
        let mut document = broken();
        let values = [json!(null), json!(7), json!("x"), json!([]), json!({}), json!([{ "id": {} }])];
        let mut left = key;
        for kind in ["devices", "interfaces", "cables"] {
            for record in document[kind].as_array_mut().expect("a list") {
                for (_, value) in record.as_object_mut().expect("a record").iter_mut() {
                    if left == 0 {
                        *value = values[with].clone();
                    }
                    left = left.wrapping_sub(1);
                }
            }
        }
        survives("netbox", &[("broken.json", document.to_string().as_bytes())], &[]);
    }
}

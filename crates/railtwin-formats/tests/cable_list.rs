//! Cable lists: every fabric of ours comes back from its list; maps of others tell their roles; errors name their place.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]
use std::collections::BTreeMap;

use proptest::prelude::*;
use railtwin_fabric::cable_list::{CableDesign, CableNetwork, DeviceRole, Inference, list_of};
use railtwin_fabric::preset::{AiZone, DcnPlus, FatTree, Hpn, Layout, LeafSpine, Rlft, Tier2};
use railtwin_fabric::{Fabric, Frontend, HostSpec, NONE, Network, Outside, Storage};
use railtwin_formats::{cable_list_csv, is_cable_list, parse_cable_list};
use railtwin_units::Rate;

/// Host models under the presets: as they are, with PCIe switches, with other NICs.
fn hosts() -> impl Strategy<Value = HostSpec> {
    prop_oneof![
        Just(HostSpec::default()),
        Just(HostSpec { pcie_switches: Some(2), nvlink: Some(Rate::ZERO), ..HostSpec::default() }),
        Just(HostSpec { nics: Some(4), gpus: Some(4), ..HostSpec::default() }),
        Just(HostSpec::named("hgx-a100")),
        Just(HostSpec { nic_port_capacity: Some(Rate::from_gbps(400)), ..HostSpec::default() }),
    ]
}

fn outside() -> impl Strategy<Value = Outside> {
    let frontend = prop_oneof![
        Just(Frontend::default()),
        Just(Frontend { hosts_per_leaf: 2, leaf_sets: 2, ..Frontend::default() })
    ];
    let storage = (1..12_u32, 0..3_u32, any::<bool>()).prop_map(|(hosts, gateways, on_backend)| Storage {
        hosts,
        gateways,
        on: if on_backend { Network::Backend } else { Network::Frontend },
    });
    (proptest::option::of(frontend), proptest::option::of(storage))
        .prop_map(|(frontend, storage)| Outside { frontend, storage })
}

/// A fabric that says its name alone where a property fails.
struct Built(Fabric);

impl std::fmt::Debug for Built {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: {} hosts, {} cables", self.0.name(), self.0.all_hosts().len(), self.0.cable_count())
    }
}

/// A fabric of any preset, small, with the changes of its hosts.
fn fabrics() -> impl Strategy<Value = (Built, HostSpec)> {
    let presets = (0..10_u32, 1..4_u32, 1..5_u32, 0..2_u32, hosts()).prop_map(
        |(which, segments, count, spare, host)| {
            let hpn = Hpn {
                segments: Some(segments),
                hosts: Some(count),
                spare_hosts: Some(spare),
                host: host.clone(),
                ..Hpn::default()
            };
            let layout: Box<dyn Layout> = match which {
                0 => Box::new(Hpn { spines: Some(6), ..hpn }),
                1 => Box::new(Hpn { spines: Some(6), pods: 2, ..hpn }),
                2 => Box::new(Hpn { spines: Some(4), planes: false, ..hpn }),
                3 => Box::new(Hpn { spines: Some(4), dual_tor: false, ..hpn }),
                4 => Box::new(Hpn { spines: Some(4), tier2: Tier2::RailOnly, ..hpn }),
                5 => Box::new(DcnPlus { pods: 2, hosts: count, host: host.clone(), ..DcnPlus::default() }),
                6 => Box::new(AiZone { hosts: count, host: host.clone(), ..AiZone::default() }),
                7 => Box::new(LeafSpine {
                    leaves: 8,
                    hosts_per_leaf: count,
                    parallel: 2,
                    host: host.clone(),
                    ..LeafSpine::default()
                }),
                8 => Box::new(FatTree { k: 4, ..FatTree::default() }),
                _ => Box::new(Rlft { ports: 4, stages: 2 + spare, ..Rlft::default() }),
            };
            let own = if which < 8 { host } else { HostSpec::named("plain") };
            (layout.spec(), own, layout.host().cloned())
        },
    );
    (presets, outside()).prop_filter_map("counts that fit", |((spec, own, _), outside)| {
        Some((Built(outside.build(&spec.ok()?).ok()?), own))
    })
}

/// The design whose hosts are those of a fabric: what no list says.
fn design(fabric: &Fabric, own: HostSpec) -> CableDesign {
    let model = &fabric.host_models()[0];
    let named = HostSpec {
        model: Some(model.name.clone()),
        nics: None,
        nic_ports: None,
        nic_port_capacity: None,
        ..own
    };
    CableDesign { host: HostSpec { gpus: Some(model.gpus), pcie: Some(model.pcie), ..named }, rate: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn every_fabric_comes_back_from_its_list((Built(fabric), own) in fabrics()) {
        let (list, found) = list_of(&fabric);
        let text = cable_list_csv(&list);
        prop_assert!(is_cable_list(text.as_bytes()));
        let read = parse_cable_list("list.csv", text.as_bytes()).expect("our own list");
        prop_assert_eq!(read.cables().len(), list.cables().len());
        let inferred = Inference::of(&read).expect("stated roles");
        prop_assert_eq!(&inferred.places.len(), &found.places.len());
        let built = read.fabric(&inferred, &design(&fabric, own)).expect("our own list");
        prop_assert!(built.fabric == fabric, "{}\n{:?}", fabric.name(), built.notes);
        prop_assert_eq!((built.aliases.len(), built.notes.len()), (0, 0));
    }

    #[test]
    fn the_minimal_columns_tell_roles_rails_planes_and_pods((Built(fabric), _) in fabrics()) {
        let (list, found) = list_of(&fabric);
        let full = cable_list_csv(&list);
        // Only the five columns of the neutral form, and no free ports.
        let rows = full.lines().filter(|line| !line.starts_with('#'));
        let rows: Vec<String> = rows
            .map(|line| line.split(',').take(5).collect::<Vec<_>>())
            .filter(|fields| !fields[2].is_empty())
            .map(|fields| fields.join(","))
            .collect();
        let read = parse_cable_list("list.csv", rows.join("\n").as_bytes()).expect("five columns");
        let inferred = Inference::of(&read).expect("names tell roles");
        // Hosts without GPUs on the backend have one NIC, which joins no leaves of a segment.
        let is_service = |role| matches!(role, DeviceRole::StorageHost | DeviceRole::Gateway);
        let services = found.places.iter().any(|p| is_service(p.role) && p.network == CableNetwork::Backend);
        for (row, device) in read.devices().iter().enumerate() {
            let Some(own) = list.device_named(&device.name) else { continue };
            let (own, told) = (found.places[own as usize], inferred.places[row]);
            let spare_or_host = |role| if role == DeviceRole::SpareHost { DeviceRole::Host } else { role };
            prop_assert_eq!((told.role, told.network), (spare_or_host(own.role), own.network), "{}", device.name);
            if own.role.is_host() {
                continue;
            }
            // Leaves without a host show no segment.
            let peers: Vec<u32> = device.ports.iter().filter_map(|&port| read.peer(port)).collect();
            if own.role != DeviceRole::Leaf || peers.iter().any(|&peer| inferred.is_host(read.device_of(peer))) {
                prop_assert_eq!(told.pod, own.pod, "{}", device.name);
                if !services {
                    prop_assert_eq!(told.segment, own.segment, "{}", device.name);
                }
                prop_assert_eq!(told.plane, own.plane, "{}", device.name);
            }
            // Rails are those of hosts with GPUs.
            if peers.iter().any(|&peer| inferred.places[read.device_of(peer) as usize].role == DeviceRole::Host) {
                prop_assert_eq!(told.rail, own.rail, "{}", device.name);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), rows in "([a-z0-9/:., -]{0,30}\n){0,6}") {
        let _ = (is_cable_list(&bytes), parse_cable_list("x", &bytes));
        let heads = [
            "device_a,port_a,device_b,port_b,rate,length,role_a,place_b\n",
            "a_device,a_interface,a_role,b_device,b_interface,b_role\n",
        ];
        for head in heads {
            if let Ok(list) = parse_cable_list("x", format!("{head}{rows}").as_bytes())
                && let Ok(found) = Inference::of(&list)
            {
                let _ = list.fabric(&found, &CableDesign { rate: Some(Rate::from_gbps(400)), ..CableDesign::default() });
                let again = parse_cable_list("y", cable_list_csv(&list).as_bytes());
                prop_assert_eq!(again.map(|read| read.cables().len()), Ok(list.cables().len()));
            }
        }
    }
}

fn shipped(name: &str) -> Vec<u8> {
    let path = format!("{}/../../data/ocp_fabrics/{name}.csv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// By network and role: devices, rails, planes.
type Roles = BTreeMap<(CableNetwork, DeviceRole), (usize, usize, usize)>;

/// Counts of roles of a shipped map.
fn roles(name: &str) -> Roles {
    let list = parse_cable_list(name, &shipped(name)).expect(name);
    let found = Inference::of(&list).expect(name);
    let mut counts = BTreeMap::new();
    for place in &found.places {
        counts.entry((place.network, place.role)).or_insert_with(Vec::new).push(*place);
    }
    let distinct = |numbers: Vec<u32>| {
        numbers.into_iter().filter(|&n| n != NONE).collect::<std::collections::BTreeSet<_>>().len()
    };
    counts
        .into_iter()
        .map(|(key, of)| {
            let (rails, planes) = (of.iter().map(|p| p.rail).collect(), of.iter().map(|p| p.plane).collect());
            (key, (of.len(), distinct(rails), distinct(planes)))
        })
        .collect()
}

#[test]
fn reference_maps_tell_their_networks_rails_and_planes() {
    use CableNetwork::{Backend, Frontend, OutOfBand};
    use DeviceRole::{Gateway, Host, Leaf, Spine, StorageHost};
    let of = |rows: &[<Roles as IntoIterator>::Item]| rows.iter().copied().collect::<Roles>();
    assert_eq!(
        roles("opg-128-clos-ro"),
        of(&[
            ((Backend, Host), (16, 0, 0)),
            ((Backend, Leaf), (2, 2, 0)),
            ((Backend, Spine), (1, 0, 0)),
            ((Frontend, Leaf), (2, 0, 2)),
            ((Frontend, Spine), (1, 0, 0)),
        ])
    );
    assert_eq!(
        roles("opg-256-dual-plane"),
        of(&[
            ((Backend, Host), (32, 0, 0)),
            ((Backend, Leaf), (8, 4, 2)),
            ((Backend, Spine), (4, 0, 2)),
            ((Frontend, Leaf), (2, 0, 2)),
            ((Frontend, Spine), (1, 0, 0)),
        ])
    );
    assert_eq!(
        roles("opg-64-collapsed"),
        of(&[
            ((Backend, Host), (8, 0, 0)),
            ((Backend, StorageHost), (7, 0, 0)),
            ((Backend, Gateway), (2, 0, 0)),
            ((Backend, Leaf), (2, 2, 0)),
            ((Backend, Spine), (2, 0, 0)),
            ((OutOfBand, Leaf), (2, 0, 0)),
        ])
    );
}

#[test]
fn reference_maps_are_fabrics_with_names_of_their_own() {
    for (name, hosts, storage, left) in [
        ("opg-64-clos-ro", 8, 0, 0),
        ("opg-128-clos-ro", 16, 0, 0),
        ("opg-256-dual-plane", 32, 0, 0),
        // Eight hosts have two frontend ports each on leaves of the backend, 17 hosts a BMC, and two leaves of BMCs uplinks.
        ("opg-64-collapsed", 8, 9, 16 + 17 + 4),
    ] {
        let list = parse_cable_list(name, &shipped(name)).expect(name);
        let found = Inference::of(&list).expect(name);
        let without = list.fabric(&found, &CableDesign::default()).expect_err(name).to_string();
        assert!(
            without.contains("rate of port = compute") && without.contains("rate = \"400 Gbps\""),
            "{without}"
        );
        let design = CableDesign { rate: Some(Rate::from_gbps(400)), ..CableDesign::default() };
        let built = list.fabric(&found, &design).expect(name);
        let services = built.fabric.storage_hosts().len() + built.fabric.gateways().len();
        assert_eq!((built.fabric.hosts().len(), services), (hosts, storage), "{name}");
        let network = built.fabric.cables().filter(|cable| built.fabric.is_network(cable.forward())).count();
        assert_eq!(network, list.cables().len() - left, "{name}");
        assert_eq!(built.notes.is_empty(), left == 0, "{:?}", built.notes);
        let first = built.aliases.iter().find(|(_, ours)| ours == "host-0").expect(name);
        assert!(first.0.starts_with("compute"), "{first:?}");
    }
}

#[test]
fn errors_name_line_column_value_and_remedy() {
    let head = "device_a,port_a,device_b,port_b,rate,length,role_a\n";
    for (rows, wanted) in [
        (
            "host-0,nic-0,leaf-0,p,fast,,\n",
            "l.csv:2: column 5 (rate): \"fast\" is not a rate; write a rate such as 400 Gbps",
        ),
        ("host-0,nic-0,leaf-0,p,400G,x m,\n", "l.csv:2: column 6 (length): \"x m\" is not a length"),
        (
            "host-0,nic-0,leaf-0,p,,,boss\n",
            "l.csv:2: column 7 (role_a): \"boss\" is no role; write one of host, spare-host",
        ),
        (
            "host-0,nic-0,leaf-0,p,,,\nhost-1,nic-0,leaf-0,p,,,\n",
            "l.csv:3: column 4 (port_b): \"p\" of leaf-0 has a cable on line 2 already",
        ),
        ("host-0,nic-0,leaf-0,,,,\n", "l.csv:2: column 4 (port_b): \"\" is empty beside a device"),
        ("host-0,nic-0,,p,,,\n", "l.csv:2: column 3 (device_b): \"\" is empty beside a port"),
        ("leaf-0,p,leaf-0,p,,,\n", "is at both ends of one cable"),
        (",,,,400G,,\n", "the row has no end of a cable"),
        ("host-0,nic-0,leaf-0,p,,,,,,\n", "l.csv:2: the row has 10 fields"),
        ("", "has no cable"),
    ] {
        let error =
            parse_cable_list("l.csv", format!("{head}{rows}").as_bytes()).expect_err(rows).to_string();
        assert!(error.contains(wanted) && !error.contains('\n'), "{error}");
    }
    let foreign = parse_cable_list("l.csv", b"section,module\nserver,x\n").expect_err("no ends").to_string();
    assert!(
        foreign.contains("l.csv:1: has no columns of two ends; begin with the line device_a"),
        "{foreign}"
    );
    assert!(parse_cable_list("l.csv", b"\xff\xfe").is_err());
}

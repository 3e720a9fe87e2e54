//! Hedgehog's wiring: the real file equals its cable list; what is written reads back; damage is found.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole, Inference};
use railtwin_topology::Topology;
use railtwin_units::Rate;

use super::wiring::{
    Built, cabled_counts, cables, damage, fabrics, kinds, read, read_back, roles, survives, write,
};

const REAL: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../data/ocp_fabrics/opg-64-clos-ro-wiring-backend.yaml"
));
const LIST: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/ocp_fabrics/opg-64-clos-ro.csv"));

fn ends(topology: &Topology) -> BTreeSet<[(String, String); 2]> {
    cables(topology).into_keys().map(|ends| ends.map(|(device, port, _)| (device, port))).collect()
}

#[test]
fn the_real_file_has_the_backend_cables_of_its_list() {
    let wiring = read("hedgehog", &[("wiring-backend.yaml", REAL)]);
    let list = railtwin_formats::parse_cable_list("list.csv", LIST).expect("a cable list");
    let found = Inference::of(&list).expect("roles");
    let name = |port: u32| {
        let port = &list.ports()[port as usize];
        (list.devices()[port.device as usize].name.clone(), port.name.clone())
    };
    let backend = list.cables().iter().map(|cable| cable.ports);
    let backend = backend.filter(|ports| {
        ports.iter().all(|&port| found.sites[port as usize].network == CableNetwork::Backend)
    });
    let backend: BTreeSet<[(String, String); 2]> = backend
        .map(|ports| {
            let mut ends = ports.map(name);
            ends.sort();
            ends
        })
        .collect();
    assert_eq!(ends(&wiring), backend);
    let counts = wiring.counts();
    assert_eq!((counts.hosts, counts.cables, counts.adapters), (8, 96, 64));
    assert_eq!(counts.switches.get("leaf"), Some(&1));
    assert_eq!(counts.switches.get("spine"), Some(&1));
    assert_eq!(wiring.findings, []);
    let rates: BTreeSet<Option<Rate>> =
        cables(&wiring).into_keys().flat_map(|ends| ends.map(|(.., rate)| rate)).collect();
    assert_eq!(rates, BTreeSet::from([400, 800].map(|gbps| Some(Rate::from_gbps(gbps)))));
    let again = read_back("hedgehog", &write("hedgehog", &wiring).expect("leaves and spines"));
    assert_eq!((cables(&again), roles(&again)), (cables(&wiring), roles(&wiring)));
    assert_eq!(again.counts(), counts);
}

/// All kinds of connections, both versions of names of ports, a list of objects, and every kind of damage.
const MIXED: &str = "
apiVersion: v1
kind: List
items:
- {apiVersion: wiring.githedgehog.com/v1beta1, kind: Switch, metadata: {name: leaf-1}, spec: {role: server-leaf,
   profile: vs, redundancy: {group: g, type: eslag}, portBreakouts: {E1/1: 2x400G}, portSpeeds: {E1/9: SPEED_25GB}}}
- {kind: Switch, apiVersion: wiring.githedgehog.com/v1beta1, metadata: {name: leaf-2}, spec: {role: border-leaf}}
- {kind: Switch, apiVersion: wiring.githedgehog.com/v1beta1, metadata: {name: spine-1}, spec: {role: spine}}
---
kind: Server
metadata: {name: s1}
spec: {}
---
kind: Server
metadata: {name: s2}
---
kind: Server
metadata: {}
---
kind: Connection
metadata: {name: eslag}
spec:
  eslag:
    links:
    - {server: {port: s1/enp1}, switch: {port: leaf-1/E1/1/1}}
    - {server: {port: s1/enp2}, switch: {port: leaf-2/E1/1}}
---
kind: Connection
metadata: {name: bundled}
spec: {bundled: {links: [{server: {port: s3/a}, switch: {port: leaf-1/E1/9}}], mtu: 9000}}
---
kind: Connection
metadata: {name: fabric}
spec: {fabric: {links: [{spine: {port: spine-1/E1/1, ip: 1.2.3.4/31}, leaf: {port: leaf-1/E1/10}}]}}
---
kind: Connection
metadata: {name: mesh}
spec: {mesh: {links: [{leaf1: {port: leaf-1/E1/11}, leaf2: {port: leaf-2/E1/11}}]}}
---
kind: Connection
metadata: {name: mclag-domain}
spec:
  mclagDomain:
    peerLinks: [{switch1: {port: leaf-1/E1/20}, switch2: {port: leaf-2/E1/20}}]
    sessionLinks: [{switch1: {port: leaf-1/E1/21}, switch2: {port: leaf-2/E1/21}}]
---
kind: Connection
metadata: {name: gateway}
spec: {gateway: {links: [{switch: {port: spine-1/E1/30}, gateway: {port: gw/enp2s1}}]}}
---
kind: Connection
metadata: {name: loop}
spec: {vpcLoopback: {links: [{switch1: {port: leaf-1/E1/40}, switch2: {port: leaf-1/E1/41}}]}}
---
kind: Connection
metadata: {name: out}
spec: {external: {link: {switch: {port: leaf-2/E1/42}}}}
---
kind: Connection
metadata: {name: bad}
spec: {unbundled: {link: {server: {port: s1/x}, switch: {port: leaf-9}}}}
---
kind: Connection
metadata: {name: bad-part}
spec: {unbundled: {link: {server: {port: s1/y}, switch: {port: leaf-1/E1/1/3}}}}
---
kind: Connection
metadata: {name: twice}
spec: {unbundled: {link: {server: {port: s1/enp1}, switch: {port: leaf-2/E1/3}}}}
---
kind: Connection
metadata: {name: twice}
spec: {notes: [none]}
";

#[test]
fn every_kind_of_connection_is_read_and_damage_is_found() {
    let read = read("hedgehog", &[("mixed.yaml", MIXED.as_bytes())]);
    // Two of eslag, and one each of the bundle, fabric, mesh, peers, session, gateway and the bad part.
    assert_eq!(read.counts().cables, 9);
    assert_eq!(read.counts().links_missing, 1);
    let wanted = BTreeSet::from([
        "connection-without-links",
        "duplicate-name",
        "host-without-switch",
        "missing-host",
        "one-sided-link",
        "port-with-two-cables",
        "unknown-port",
        "unnamed-host",
    ]);
    assert_eq!(kinds(&read), wanted, "{:#?}", read.findings);
    assert_eq!(roles(&read)["gw"], Some(DeviceRole::Gateway));
    assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
    let port = |device: &str, port: &str| {
        let device = read.list.device_named(device).expect("a device");
        read.list.ports()[read.list.port_named(device, port).expect("a port") as usize].rate
    };
    assert_eq!(port("leaf-1", "E1/1/1"), Some(Rate::from_gbps(400)));
    assert_eq!(port("s3", "a"), Some(Rate::from_gbps(25)));
}

#[test]
fn a_file_that_is_no_yaml_names_its_line() {
    let broken =
        "apiVersion: wiring.githedgehog.com/v1beta1\nkind: Server\n---\nkind: Switch\nspec: {a: [1\n";
    let reader = super::wiring::form_named("hedgehog").read.expect("is read");
    let source = railtwin_topology::SourceFile { name: "w.yaml", bytes: broken.as_bytes() };
    let error = reader(&[source]).expect_err("no YAML").to_string();
    assert!(error.starts_with("w.yaml:") && error.contains("is not YAML"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(Built(fabric) in fabrics()) {
        let topology = Topology::of_fabric(&fabric);
        let has_core = topology.list.devices().iter().any(|device| device.role == Some(DeviceRole::Core));
        match write("hedgehog", &topology) {
            Err(error) => prop_assert!(has_core, "{error}"),
            Ok(written) => {
                prop_assert!(!has_core);
                let read = read_back("hedgehog", &written);
                prop_assert_eq!(read.counts(), cabled_counts(&topology));
                prop_assert_eq!(roles(&read), roles(&topology));
                let bare = |topology: &Topology| cables(topology).into_keys().collect::<BTreeSet<_>>();
                prop_assert_eq!(bare(&read), bare(&topology));
                prop_assert_eq!(&write("hedgehog", &topology).expect("again"), &written);
            }
        }
    }

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        survives("hedgehog", &[("w.yaml", REAL), ("m.yaml", MIXED.as_bytes())], &damage);
    }

    #[test]
    fn bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives("hedgehog", &[("w.yaml", &bytes)], &[]);
    }
}

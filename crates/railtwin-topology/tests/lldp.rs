//! LLDP: hosts of others, a fabric of files of all forms, and damage.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_topology::About;

use super::wiring::{cables, damage, kinds, read, survives};

const ONE: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/lldp/bjg45.json"));
const TWO: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/telemetry/lldp/clnet36.json"));

#[test]
fn hosts_of_others_hear_their_switches() {
    let read = read("lldp", &[("lldp/bjg45.json", ONE), ("lldp/clnet36.json", TWO)]);
    let counts = read.counts();
    assert_eq!((counts.hosts, counts.cables, counts.switches["leaf"]), (2, 3, 3));
    assert_eq!(read.findings, []);
    let end = |device: &str, port: &str| (device.to_owned(), port.to_owned(), None);
    let all = cables(&read);
    assert!(all.contains_key(&[end("bj08-m1-a10-40-swl017", "25GE1/0/39"), end("bjg45", "ens11f0")]));
    assert!(all.contains_key(&[end("CL-RLF233", "FourHundredGigE1/0/98"), end("clnet36", "eth0")]));
    let switch = read.list.device_named("CL-RLF233").expect("a switch") as usize;
    let About { id, model, .. } = &read.about[switch];
    assert_eq!((id.as_deref(), model.as_deref()), (Some("90:74:2e:ed:72:c0"), Some("H3C S9827-128DH")));
}

/// A leaf of SONiC, a spine of Arista, and hosts in each form of lldpd.
fn fabric() -> Vec<(&'static str, &'static str)> {
    let leaf = "admin@leaf1:~$ show lldp table\nCapability codes: (R) Router, (B) Bridge, (O) Other\n\
                LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n\
                -----------  --------------  -----------------  ------------  -----------------\n\
                Ethernet0    h1              eth1               S             up\n\
                Ethernet4    h2              02:00:00:00:00:01  S             eth1\n\
                Ethernet8    h3              eth1               S\n\
                Ethernet64   spine1          Ethernet1          BR\n\
                Ethernet68   spine1          Ethernet2          BR\n\
                Ethernet72   x9              7                  O\n\
                Ethernet76   02:00:00:00:00:99  p                  O\n\
                eth0         oob1            Ethernet5          BR            leaf1\n\
                eth0         spine1          Management0        BR            leaf1\n\
                --------------------------------------------------\nTotal entries displayed:  9\n";
    let spine = "Last table change time   : 0:00:23 ago\n\n\
                 Port          Neighbor Device ID       Neighbor Port ID    TTL\n\
                 ---------- ------------------------ ---------------------- ---\n\
                 Et1           leaf1.dc.example         etp17               120\n\
                 Et3           leaf1.dc.example         Ethernet80          120\n\
                 Ma0           oob1                     9                   120\n";
    let h1 = r#"{"lldp": {"interface": {"eth1": {"chassis": {"leaf1": {"id": {"type": "mac", "value": "0a:00:00:00:00:01"},
        "capability": [{"type": "Bridge", "enabled": true}, {"type": "Router", "enabled": true}]}},
        "port": {"id": {"type": "local", "value": "etp1"}, "descr": "Ethernet0"}}}}}"#;
    // Its file says who it is.
    let h2 = r#"{"local-chassis": {"chassis": {"h2": {"id": {"type": "mac", "value": "02:00:00:00:00:02"}}}},
        "lldp": [{"interface": [{"name": "eth1", "chassis": [{"id": [{"type": "mac", "value": "0a:00:00:00:00:01"}],
        "name": [{"value": "leaf1.dc.example"}]}], "port": [{"id": [{"type": "ifname", "value": "Ethernet4"}]}]}]}]}"#;
    let h3 = "lldp.eth1.via=LLDP\nlldp.eth1.chassis.mac=0a:00:00:00:00:01\nlldp.eth1.chassis.name=leaf1\n\
              lldp.eth1.chassis.Bridge.enabled=on\nlldp.eth1.port.ifname=Ethernet8\n";
    let h4 = "LLDP neighbors:\nInterface:    eth1, via: LLDP, RID: 1, Time: 0 day, 00:01:00\n  Chassis:\n    \
              ChassisID:    mac 0a:00:00:00:00:01\n    SysName:      leaf1\n    Capability:   Bridge, on\n  Port:\n    \
              PortID:       ifname Ethernet12\n";
    vec![
        ("fabric/table.txt", leaf),
        ("fabric/spine1.txt", spine),
        ("fabric/h1_lldp.json", h1),
        ("fabric/machine.json", h2),
        ("fabric/h3/lldp.txt", h3),
        ("fabric/h4.txt", h4),
        ("fabric/h5.json", r#"{"lldp": {"interface": []}}"#),
    ]
}

#[test]
fn files_of_all_forms_are_one_fabric() {
    let files = fabric();
    let sources: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let read = read("lldp", &sources);
    let all: BTreeSet<[String; 2]> = cables(&read)
        .into_keys()
        .map(|ends| ends.map(|(device, port, _)| format!("{device} {port}")))
        .collect();
    let wanted = [
        ["02:00:00:00:00:99 p", "leaf1 Ethernet76"],
        ["h1 eth1", "leaf1 Ethernet0"],
        ["h2 eth1", "leaf1 Ethernet4"],
        ["h3 eth1", "leaf1 Ethernet8"],
        ["h4 eth1", "leaf1 Ethernet12"],
        ["leaf1 Ethernet64", "spine1 Ethernet1"],
        ["leaf1 Ethernet68", "spine1 Ethernet2"],
        ["leaf1 Ethernet72", "x9 7"],
        ["leaf1 Ethernet80", "spine1 Ethernet3"],
    ];
    assert_eq!(all, wanted.iter().map(|ends| ends.map(str::to_owned)).collect());
    let counts = read.counts();
    assert_eq!((counts.hosts, counts.switches["leaf"], counts.switches["spine"]), (6, 1, 1));
    let wanted = BTreeSet::from(["host-without-switch", "one-sided-link", "unknown-device", "unnamed-host"]);
    assert_eq!(kinds(&read), wanted, "{:#?}", read.findings);
    let one_sided = read.findings.iter().filter(|finding| finding.kind == "one-sided-link").count();
    // Of h4, of the second port of the leaf, and of the third of the spine.
    assert_eq!(one_sided, 3, "{:#?}", read.findings);
    assert_eq!(read.notes, ["3 neighbors of management ports of switches are left out"]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_finding_among_others() {
    let read = read("lldp", &[("a.json", ONE), ("b.json", b"{\"lldp\": {\"interface\": [{")]);
    assert_eq!(kinds(&read), BTreeSet::from(["unreadable-file"]));
    assert_eq!(read.counts().cables, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        let files = fabric();
        let sources: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        survives("lldp", &sources, &damage);
        survives("lldp", &[("bjg45.json", ONE), ("clnet36.json", TWO)], &damage);
    }

    #[test]
    fn bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives("lldp", &[("a.txt", &bytes)], &[]);
    }
}

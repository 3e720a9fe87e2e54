//! Minigraphs of SONiC: a dual-ToR pair, layers of T2, and damage.
use std::collections::BTreeSet;

use proptest::prelude::*;
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole};
use railtwin_units::Rate;

use super::wiring::{cables, damage, kinds, read, roles, survives};

const HEAD: &str = "<DeviceMiniGraph xmlns=\"Microsoft.Search.Autopilot.Evolution\" xmlns:i=\"http://www.w3.org/2001/XMLSchema-instance\">";

fn link(kind: &str, start: [&str; 2], end: [&str; 2], more: &str) -> String {
    format!(
        "<DeviceLinkBase>\n<ElementType>{kind}</ElementType><EndDevice>{}</EndDevice><EndPort>{}</EndPort>\n\
         <StartDevice>{}</StartDevice><StartPort>{}</StartPort>{more}</DeviceLinkBase>\n",
        end[0], end[1], start[0], start[1]
    )
}

fn device(attribute: &str, element: &str, name: &str) -> String {
    let element =
        if element.is_empty() { String::new() } else { format!("<ElementType>{element}</ElementType>") };
    format!(
        "<Device i:type=\"{attribute}\">{element}<Hostname>{name}</Hostname><HwSku>Sku</HwSku></Device>\n"
    )
}

/// The minigraph of one switch of a pair with two servers at mux cables.
fn tor(own: &str, other: &str) -> String {
    let mut links = String::new();
    for server in 0..2 {
        let name = format!("Servers{server}");
        let (port, cable) = (format!("Ethernet{server}/1"), format!("{own}-{name}-SC"));
        links += &link("DeviceInterfaceLink", [&name, "eth0"], [own, &port], "");
        links += &link("LogicalLink", [&cable, "U"], [own, &port], "");
    }
    // SONiC compares names without their case.
    links += &link(
        "DeviceInterfaceLink",
        [&own.to_uppercase(), "Ethernet9/1"],
        ["T1-A", "Ethernet1"],
        "<Bandwidth>100000</Bandwidth>",
    );
    links += &link("DeviceSerialLink", ["console", "1"], [own, "1"], "<Bandwidth>9600</Bandwidth>");
    let inner = "<ChassisInternal>true</ChassisInternal>";
    links += &link("DeviceInterfaceLink", ["ASIC0", "Eth0"], [own, "Ethernet9/1"], inner);
    links += &link("DeviceMgmtLink", ["mgmt", "e1"], [own, "Management0"], "");
    let devices = [
        device("ToRRouter", "", own),
        device("Asic", "Asic", "ASIC0"),
        device("a:ToRRouter", "", other),
        device("LeafRouter", "", "T1-A"),
        device("Server", "Server", "Servers0"),
        device("Server", "Server", "Servers1"),
        device("SmartCable", "SmartCable", &format!("{own}-Servers0-SC")),
    ];
    let speed = "<a:EthernetInterface>\n<InterfaceName>Ethernet0/1</InterfaceName><Speed>50000</Speed></a:EthernetInterface>";
    format!(
        "{HEAD}<CpgDec/><PngDec><DeviceInterfaceLinks>\n{links}</DeviceInterfaceLinks>\n<Devices>\n{}</Devices></PngDec>\n\
         <DeviceInfos><DeviceInfo><EthernetInterfaces xmlns:a=\"x\">{speed}</EthernetInterfaces><HwSku>Sku</HwSku>\n\
         </DeviceInfo></DeviceInfos>\n\
         <Hostname>{own}</Hostname><HwSku>Sku</HwSku></DeviceMiniGraph>\n",
        devices.concat()
    )
}

#[test]
fn a_switch_of_a_pair_tells_its_servers_and_its_leaf_router() {
    let text = tor("tor-1", "tor-2");
    let read = read("sonic-minigraph", &[("minigraph.xml", text.as_bytes())]);
    let counts = read.counts();
    assert_eq!((counts.hosts, counts.cables, counts.adapters), (2, 3, 2));
    assert_eq!((counts.switches["leaf"], counts.switches["spine"]), (2, 1));
    assert_eq!(read.findings, []);
    let all = cables(&read);
    let end = |device: &str, port: &str, gbps: Option<u64>| {
        (device.to_owned(), port.to_owned(), gbps.map(Rate::from_gbps))
    };
    assert!(
        all.contains_key(&[end("Servers0", "eth0", Some(50)), end("tor-1", "Ethernet0/1", Some(50))]),
        "{all:?}"
    );
    assert!(
        all.contains_key(&[end("T1-A", "Ethernet1", Some(100)), end("tor-1", "Ethernet9/1", Some(100))]),
        "{all:?}"
    );
    assert!(read.notes.iter().any(|note| note.starts_with("2 mux cables")), "{:?}", read.notes);
    assert!(read.notes.iter().any(|note| note == "1 links of management are left out"), "{:?}", read.notes);
}

#[test]
fn both_switches_of_a_pair_share_their_servers() {
    let [a, b] = [tor("tor-1", "tor-2"), tor("tor-2", "tor-1").replace("Ethernet1<", "Ethernet2<")];
    let read = read("sonic-minigraph", &[("tor-1.xml", a.as_bytes()), ("tor-2.xml", b.as_bytes())]);
    let counts = read.counts();
    assert_eq!((counts.hosts, counts.cables), (2, 6));
    assert_eq!(counts.switches["leaf"], 2);
    assert_eq!(read.findings, []);
}

#[test]
fn layers_of_t2_have_tiers_of_their_own_and_damage_is_found() {
    let links = [
        link("DeviceInterfaceLink", ["ft2", "etp1"], ["LT2-1", "Ethernet1"], "<Bandwidth>800000</Bandwidth>"),
        link("UnderlayInterfaceLink", ["ft2", "etp2"], ["UT2-1", "Ethernet1"], ""),
        link("DeviceInterfaceLink", ["ft2", "etp2"], ["UT2-1", "Ethernet2"], ""),
        link("DeviceInterfaceLink", ["ft2", "etp3"], ["spine-x", "Ethernet2"], ""),
        "<DeviceLinkBase><ElementType>DeviceInterfaceLink</ElementType><EndDevice>ft2</EndDevice></DeviceLinkBase>".to_owned(),
    ];
    let devices = [
        device("FabricSpineRouter", "", "ft2"),
        device("LowerSpineRouter", "", "LT2-1"),
        device("UpperSpineRouter", "", "UT2-1"),
        device("MgmtToRRouter", "", "m1"),
        device("Server", "", "idle"),
    ];
    let text = format!(
        "{HEAD}<PngDec><DeviceInterfaceLinks>{}</DeviceInterfaceLinks><Devices>{}</Devices></PngDec></DeviceMiniGraph>",
        links.concat(),
        devices.concat()
    );
    let read = read("sonic-minigraph", &[("m.xml", text.as_bytes())]);
    let tier = |name: &str| read.tier(read.list.device_named(name).expect("a device"));
    assert_eq!((tier("LT2-1"), tier("ft2"), tier("UT2-1")), (Some(3), Some(4), Some(5)));
    assert_eq!(roles(&read)["LT2-1"], Some(DeviceRole::Core));
    let management = read.list.device_named("m1").expect("a device");
    assert_eq!(read.list.devices()[management as usize].network, Some(CableNetwork::OutOfBand));
    let wanted = BTreeSet::from([
        "host-without-switch",
        "missing-switch",
        "one-sided-link",
        "out-of-band-switch",
        "port-with-two-cables",
    ]);
    assert_eq!(kinds(&read), wanted, "{:?}", read.findings);
    assert_eq!((read.counts().cables, read.links_missing), (3, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn damage_does_not_panic(damage in damage()) {
        let [a, b] = [tor("tor-1", "tor-2"), tor("tor-2", "tor-1")];
        survives("sonic-minigraph", &[("a.xml", a.as_bytes()), ("b.xml", b.as_bytes())], &damage);
    }

    #[test]
    fn bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        survives("sonic-minigraph", &[("a.xml", &bytes)], &[]);
    }
}

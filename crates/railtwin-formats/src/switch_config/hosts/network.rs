//! Bonds, addresses and kernel settings of a host.
use std::fmt::Write as _;

use crate::switch_config::plan::{HostNic, HostPlan};

/// First table of routes: each NIC has one of its own, so that what has its address leaves by it.
const FIRST_TABLE: u32 = 100;

/// Name of the interface with the address of NIC `index` of a host, backend before frontend, and of its ports. Ports are
/// expected under these names, given by systemd.link files or udev.
pub fn nic_interfaces(index: usize, ports: u32) -> (String, Vec<String>) {
    let ports: Vec<String> = (0..ports).map(|port| format!("nic{index}p{port}")).collect();
    match ports.as_slice() {
        [only] => (only.clone(), ports),
        _ => (format!("bond{index}"), ports),
    }
}

/// As [`nic_interfaces`], of a planned host.
pub(super) fn interfaces(host: &HostPlan, index: usize) -> (String, Vec<String>) {
    nic_interfaces(index, host.nics[index].ports)
}

/// Units of systemd-networkd: names and texts.
pub(super) fn units(host: &HostPlan) -> Vec<(String, String)> {
    let mut units = Vec::new();
    for (index, nic) in host.nics.iter().enumerate() {
        let (interface, ports) = interfaces(host, index);
        if ports.len() > 1 {
            units.push((format!("10-{interface}.netdev"), bond(&interface)));
            for port in &ports {
                let text = format!("[Match]\nName={port}\n\n[Network]\nBond={interface}\n");
                units.push((format!("20-{port}.network"), text));
            }
        }
        units.push((format!("20-{interface}.network"), address(&interface, nic, FIRST_TABLE + index as u32)));
    }
    units
}

/// Bonding mode 4. The leaves answer as one partner (HPN section 4.2).
fn bond(name: &str) -> String {
    format!(
        "[NetDev]\nName={name}\nKind=bond\nMTUBytes=9000\n\n[Bond]\nMode=802.3ad\nLACPTransmitRate=fast\n\
         TransmitHashPolicy=layer3+4\nMIIMonitorSec=100ms\nUpDelaySec=200ms\nMinLinks=1\n"
    )
}

fn address(interface: &str, nic: &HostNic, table: u32) -> String {
    let (address, gateway) = (nic.address, nic.subnet.gateway());
    let mut text = format!(
        "# Leaves: {}\n[Match]\nName={interface}\n\n[Link]\nMTUBytes=9000\n\n",
        nic.leaves.join(", ")
    );
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "[Network]\nAddress={address}/{}\nLinkLocalAddressing=no\n\n\
         [Route]\nGateway={gateway}\nTable={table}\n\n\
         [RoutingPolicyRule]\nFrom={address}/32\nTable={table}\n",
        nic.subnet.prefix
    );
    text
}

/// Kernel settings.
pub(super) fn sysctl() -> String {
    "# Policy 1: a socket and a look-up hash alike, which they do not under policy 3.\n\
     net.ipv4.fib_multipath_hash_policy = 1\n\
     # A port without light is no way out, at once.\n\
     net.ipv4.conf.all.ignore_routes_with_linkdown = 1\n\
     # Several NICs: each answers for its own address alone, and asks with it.\n\
     net.ipv4.conf.all.arp_ignore = 1\n\
     net.ipv4.conf.all.arp_announce = 2\n"
        .to_owned()
}

/// Announces each address by every port of its bond, as the leaves know nothing of each other and each has to learn it
/// (HPN section 4.2). A bond sends an ARP message by one port alone.
pub(super) fn arp_both(host: &HostPlan) -> String {
    let mut text = "#!/bin/sh\n\
                    # Hook: run it every second, and when a port of a bond comes up. Each gratuitous ARP goes to the bond's\n\
                    # ports one by one. A driver with an ARP broadcast module does this by itself.\n"
        .to_owned();
    for (index, nic) in host.nics.iter().enumerate() {
        let (interface, ports) = interfaces(host, index);
        if ports.len() > 1 {
            let _ = writeln!(text, "# {interface}: {}", nic.leaves.join(", "));
            for port in ports {
                let _ = writeln!(text, "arping -q -A -c 1 -I {port} -s {} {}", nic.address, nic.address);
            }
        }
    }
    text
}

//! `frr.conf` of a switch.
use std::fmt::Write as _;

use super::{HOST_TAG, MOST_PATHS};
use crate::switch_config::plan::SwitchPlan;

/// The integrated configuration of all daemons.
pub(super) fn frr_conf(switch: &SwitchPlan) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail, so the results carry nothing.
    let _ = write!(
        text,
        "frr version 8.4.4\nfrr defaults datacenter\nhostname {}\nlog syslog informational\n\
         no zebra nexthop kernel enable\nservice integrated-vtysh-config\n!\n",
        switch.name
    );
    interfaces(&mut text, switch);
    static_routes(&mut text, switch);
    if let Some((interval, multiplier)) = switch.timers.bfd {
        let _ = write!(
            text,
            "bfd\n profile fabric\n  detect-multiplier {multiplier}\n  receive-interval {interval}\n  \
             transmit-interval {interval}\n exit\nexit\n!\n"
        );
    }
    let _ = write!(text, "route-map HOSTS permit 10\n match tag {HOST_TAG}\nexit\n!\n");
    router(&mut text, switch);
    text
}

fn interfaces(text: &mut String, switch: &SwitchPlan) {
    let _ = write!(text, "interface lo\n ip address {}/32\n", switch.loopback);
    // The kernel answers ARP for an address of any interface on every interface.
    for subnet in &switch.subnets {
        let _ = writeln!(text, " ip address {}/32", subnet.gateway());
    }
    text.push_str("exit\n!\n");
    for port in &switch.ports {
        let _ = write!(
            text,
            "interface {}\n description {}:{}\n ip address {}/31\nexit\n!\n",
            port.interface, port.peer, port.peer_interface, port.address
        );
    }
    for one in &switch.attachments {
        let _ = write!(text, "interface {}\n description {}\nexit\n!\n", one.interface, one.nic);
    }
}

/// A route by the interface of each NIC, so that the kernel asks for its address there; it goes with the interface. The
/// network of the leaf is announced whether hosts answer or not.
fn static_routes(text: &mut String, switch: &SwitchPlan) {
    for one in &switch.attachments {
        let _ = writeln!(text, "ip route {}/32 {} tag {HOST_TAG}", one.address, one.interface);
    }
    for subnet in &switch.subnets {
        let _ = writeln!(text, "ip route {subnet} blackhole tag {HOST_TAG}");
    }
    // Without the tag, so that BGP announces none of them. A dead uplink takes its routes along, and BGP's hold.
    for route in &switch.pinned {
        let port = &switch.ports[route.port as usize];
        let _ = writeln!(text, "ip route {}/32 {} {}", route.target, port.peer_address, port.interface);
    }
    text.push_str("!\n");
}

fn router(text: &mut String, switch: &SwitchPlan) {
    let timers = &switch.timers;
    let _ = write!(
        text,
        "router bgp {}\n bgp router-id {}\n bgp log-neighbor-changes\n no bgp ebgp-requires-policy\n \
         bgp bestpath as-path multipath-relax\n timers bgp {} {}\n neighbor FABRIC peer-group\n \
         neighbor FABRIC advertisement-interval 0\n neighbor FABRIC timers connect {}\n",
        switch.asn, switch.loopback, timers.keepalive_s, timers.hold_s, timers.connect_s
    );
    if timers.bfd.is_some() {
        text.push_str(" neighbor FABRIC bfd\n neighbor FABRIC bfd profile fabric\n");
    }
    for port in &switch.ports {
        let peer = port.peer_address;
        let _ = write!(
            text,
            " neighbor {peer} remote-as {}\n neighbor {peer} peer-group FABRIC\n neighbor {peer} description {}:{}\n",
            port.peer_asn, port.peer, port.peer_interface
        );
    }
    let paths = switch.ports.len().clamp(1, MOST_PATHS);
    let _ = write!(
        text,
        " !\n address-family ipv4 unicast\n  redistribute static route-map HOSTS\n  maximum-paths {paths}\n \
         exit-address-family\nexit\n!\nend\n"
    );
}

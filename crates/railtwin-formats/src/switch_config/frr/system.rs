//! The system below FRR: daemons, kernel settings, LACP, and the watcher of a dead control plane.
use std::fmt::Write as _;

use crate::switch_config::plan::{Attachment, SwitchPlan};

/// `/etc/frr/daemons`.
pub(super) fn daemons(switch: &SwitchPlan) -> String {
    let bfd = if switch.timers.bfd.is_some() { "yes" } else { "no" };
    format!(
        "bgpd=yes\nbfdd={bfd}\nvtysh_enable=yes\nzebra_options=\"-A 127.0.0.1 -s 90000000\"\n\
         bgpd_options=\"-A 127.0.0.1\"\nstaticd_options=\"-A 127.0.0.1\"\nbfdd_options=\"-A 127.0.0.1\"\n\
         # Never under SCHED_FIFO, where the daemons spin. BFD on a busy processor needs a nice value below zero.\n\
         watchfrr_options=\"--min-restart-interval 10\"\n"
    )
}

/// Settings of the kernel: how it hashes, that the leaf answers for hosts of its own network, and that it learns hosts from
/// what they announce (HPN section 4.2), which Linux else does not.
pub(super) fn sysctl(switch: &SwitchPlan) -> String {
    let mut text = format!(
        "net.ipv4.ip_forward = 1\n\
         # Policy 3: the fields below, read from the packet. Policy 1 takes a hash that the sender drew at random.\n\
         net.ipv4.fib_multipath_hash_policy = 3\n\
         # 0x37: addresses, protocol, ports.\n\
         net.ipv4.fib_multipath_hash_fields = 55\n\
         # Linux 6.11 or newer.\n\
         net.ipv4.fib_multipath_hash_seed = {}\n\
         net.ipv4.conf.all.ignore_routes_with_linkdown = 1\n",
        switch.hash_seed
    );
    for one in &switch.attachments {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "net.ipv4.conf.{0}.proxy_arp = 1\nnet.ipv4.conf.{0}.arp_accept = 1",
            one.interface
        );
    }
    text
}

/// LACP by Open vSwitch, which can be told the system id and each port id, as Linux' own bonds cannot. Each NIC has a
/// bridge of its own, whose internal port is the interface that routes.
pub(super) fn lacp(switch: &SwitchPlan) -> String {
    let mut text = "#!/bin/sh\nset -e\n".to_owned();
    let (system_id, offset) = match &switch.dual_tor {
        Some(tor) => (Some(tor.system_id.as_str()), u32::from(tor.port_offset)),
        None => (None, 0),
    };
    for one in &switch.attachments {
        let Some(key) = one.lacp_key else { continue };
        let bridge = &one.interface;
        // The bridge sets the address of its internal port, so `ip link` cannot.
        let mac = switch.dual_tor.as_ref().map(|tor| format!(" other_config:hwaddr={}", tor.gateway_mac));
        let mac = mac.unwrap_or_default();
        let _ = writeln!(
            text,
            "ovs-vsctl --may-exist add-br {bridge} -- set bridge {bridge} datapath_type=netdev{mac}"
        );
        let names: Vec<&str> = one.members.iter().map(|(_, name)| name.as_str()).collect();
        let port = match names.as_slice() {
            [only] => {
                let _ = writeln!(text, "ovs-vsctl --may-exist add-port {bridge} {only}");
                (*only).to_owned()
            }
            several => {
                let _ = writeln!(
                    text,
                    "ovs-vsctl --may-exist add-bond {bridge} lag-{bridge} {}",
                    several.join(" ")
                );
                format!("lag-{bridge}")
            }
        };
        let id = system_id.map_or_else(String::new, |id| format!(" other_config:lacp-system-id={id}"));
        let _ = writeln!(text, "ovs-vsctl set port {port} lacp=active other_config:lacp-time=fast{id}");
        for (number, name) in &one.members {
            let _ = writeln!(
                text,
                "ovs-vsctl set interface {name} other_config:lacp-port-id={} other_config:lacp-aggregation-key={key}",
                number + 1 + offset
            );
        }
        let _ = writeln!(text, "ip link set {bridge} up");
    }
    text
}

/// Takes the interface of a bond down while none of its ports has light, and up again: the internal port of a bridge does
/// not follow by itself, and a host route goes with its interface alone (HPN section 4.2).
pub(super) fn carrier(switch: &SwitchPlan) -> String {
    let bonds = switch.attachments.iter().filter(|one| one.lacp_key.is_some());
    let pair = |one: &Attachment| {
        let names: Vec<&str> = one.members.iter().map(|member| member.1.as_str()).collect();
        format!("{}:{}", one.interface, names.join(","))
    };
    let bonds = bonds.map(pair).collect::<Vec<_>>().join(" ");
    format!(
        "#!/bin/sh\n\
         BONDS=\"{bonds}\"\n\
         follow() {{\n\
         \x20   for pair in $BONDS; do\n\
         \x20       state=down\n\
         \x20       for port in $(echo \"${{pair#*:}}\" | tr , ' '); do\n\
         \x20           [ \"$(cat \"/sys/class/net/$port/carrier\" 2>/dev/null)\" = 1 ] && state=up\n\
         \x20       done\n\
         \x20       ip link set \"${{pair%%:*}}\" \"$state\"\n\
         \x20   done\n\
         }}\n\
         follow\n\
         ip -o monitor link | while read -r change; do\n\
         \x20   case $change in *down[0-9]*) follow ;; esac\n\
         done\n"
    )
}

/// Takes the ports of hosts down while no BGP session stands: hosts then use their other leaf. Without it a leaf whose
/// daemon died keeps its ports up and drops what hosts send.
pub(super) fn bgp_watch(switch: &SwitchPlan) -> String {
    let members =
        switch.attachments.iter().flat_map(|one| one.members.iter().map(|member| member.1.as_str()));
    let ports = members.collect::<Vec<_>>().join(" ");
    format!(
        "#!/bin/sh\n\
         # Every second: no established session, ports of hosts down; a session again, ports up.\n\
         PORTS=\"{ports}\"\n\
         last=up\n\
         while sleep 1; do\n\
         \x20   if timeout 2 vtysh -d bgpd -c 'show bgp ipv4 unicast summary established json' 2>/dev/null |\n\
         \x20       grep -q '\"state\":\"Established\"'; then\n\
         \x20       now=up\n\
         \x20   else\n\
         \x20       now=down\n\
         \x20   fi\n\
         \x20   [ \"$now\" = \"$last\" ] && continue\n\
         \x20   for port in $PORTS; do ip link set \"$port\" \"$now\"; done\n\
         \x20   last=$now\n\
         done\n"
    )
}

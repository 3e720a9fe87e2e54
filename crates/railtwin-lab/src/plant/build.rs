//! Builds namespaces, cables, addresses and rates, and starts the routers.
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use railtwin_formats::switch_config::{ConfigFile, frr, hosts};

use super::{Frr, Plant, shape};
use crate::host::{LabError, fed};
use crate::netns::{own_namespaces, set_sysctl};

/// Longest segment that a host hands to its link. Longer ones make bursts that queues see and rates do not.
const SEGMENT: u32 = 32_768;

/// Settings of hosts beyond those of the export: the address stands on the loopback interface, in place of a bond, and
/// every port answers for it; a connection that was idle sends at its old rate; ports that controllers choose are not
/// given away to others.
const HOST_SETTINGS: &str = "net.ipv4.conf.all.arp_ignore = 0\nnet.ipv4.tcp_slow_start_after_idle = 0\n\
                             net.ipv4.ip_local_port_range = 10000 32767\n";

/// Builds the plant in the namespaces of this process, `folder` holding the files of the routers, and starts these.
///
/// # Errors
/// A command of the system fails.
pub(crate) fn build(plant: &Plant, frr: &Frr, folder: &Path) -> Result<(), LabError> {
    own_namespaces()?;
    batch("ip", &[], &namespaces(plant))?;
    let config = frr::files(&plant.plan);
    let of_hosts = hosts::files(&plant.plan);
    let nodes: Vec<&str> = plant.nodes().collect();
    std::thread::scope(|scope| {
        let halves = nodes.chunks(nodes.len().div_ceil(2).max(1)).map(|some| {
            let (config, of_hosts) = (&config, &of_hosts);
            scope.spawn(move || some.iter().try_for_each(|node| settle(plant, node, config, of_hosts)))
        });
        let halves: Vec<_> = halves.collect();
        let broken = || LabError("building broke off".into());
        halves.into_iter().try_for_each(|half| half.join().map_err(|_| broken())?)
    })?;
    frr.start(plant, &config, folder)
}

fn batch(program: &str, words: &[&str], text: &str) -> Result<(), LabError> {
    let mut command = Command::new(program);
    command.args(words).args(["-batch", "-"]);
    fed(&format!("{program} {} -batch", words.join(" ")), &mut command, text).map(drop)
}

/// Namespaces and cables, with fixed addresses of interfaces: they are hashed nowhere, but ARP tables stay the same.
fn namespaces(plant: &Plant) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for node in plant.nodes() {
        let _ = writeln!(text, "netns add {node}");
    }
    for (row, cable) in plant.cables.iter().enumerate() {
        let [a, b] = &cable.ends;
        let mac = |end: u8| format!("02:00:{end:02x}:{:02x}:{:02x}:01", row >> 8, row & 0xff);
        let _ = writeln!(
            text,
            "link add {} address {} netns {} type veth peer name {} address {} netns {}",
            a.interface,
            mac(0),
            a.node,
            b.interface,
            mac(1),
            b.node
        );
    }
    text
}

/// Addresses, kernel settings and rates of one namespace.
fn settle(plant: &Plant, node: &str, config: &[ConfigFile], of_hosts: &[ConfigFile]) -> Result<(), LabError> {
    let ends = plant.cables.iter().flat_map(|cable| cable.ends.iter().map(move |end| (end, cable.mbit)));
    let own: Vec<_> = ends.filter(|(end, _)| end.node == node).collect();
    let is_host = plant.plan.hosts.iter().any(|host| host.name == node);
    let (mut links, mut rates) = ("link set lo up\n".to_owned(), String::new());
    for (end, mbit) in &own {
        let interface = &end.interface;
        let segment = if is_host { format!(" gso_max_size {SEGMENT}") } else { String::new() };
        let _ = writeln!(links, "link set {interface}{segment} txqueuelen 4000 up");
        if let Some(port) = &end.port {
            let _ = writeln!(links, "link property add dev {interface} altname {port}");
        }
        rates.push_str(&shape::limit(interface, *mbit));
    }
    if is_host {
        addresses(plant, node, &mut links);
        links.push_str(&routes(plant, node));
    }
    batch("ip", &["-n", node], &links)?;
    batch("tc", &["-n", node], &rates)?;
    let file = format!("{node}/sysctl.conf");
    let settings = config.iter().chain(of_hosts).find(|one| one.path == file);
    let settings = settings.ok_or_else(|| LabError(format!("no settings were written for {node}")))?;
    set_sysctl(node, &settings.text)?;
    if is_host { set_sysctl(node, HOST_SETTINGS) } else { Ok(()) }
}

/// Addresses of a host. All leaves of the set are next hops of each NIC, as ports of a bond would be.
fn addresses(plant: &Plant, node: &str, text: &mut String) {
    for (index, nic) in plant.nics.iter().filter(|nic| nic.node == node).enumerate() {
        let (table, address) = (100 + index, nic.address);
        let _ = writeln!(text, "address add {address}/32 dev lo");
        let _ = writeln!(text, "rule add from {address} table {table}");
    }
}

/// Routes of a host; nothing for a switch. The kernel removes one with its last next hop, and a link that comes up again
/// does not bring it back.
fn routes(plant: &Plant, node: &str) -> String {
    let mut text = String::new();
    for (index, nic) in plant.nics.iter().filter(|nic| nic.node == node).enumerate() {
        let hops: Vec<String> = nic
            .interfaces
            .iter()
            .map(|one| format!("nexthop via {} dev {one} onlink", nic.gateway))
            .collect();
        let hops = hops.join(" ");
        let _ = writeln!(text, "route replace default table {} {hops}", 100 + index);
        if index == 0 {
            let _ = writeln!(text, "route replace default {hops}");
        }
    }
    text
}

/// Gives a host its routes again whose ports are all up.
///
/// # Errors
/// `ip` fails.
pub(crate) fn restore_routes(plant: &Plant, node: &str) -> Result<(), LabError> {
    let text = routes(plant, node);
    if text.is_empty() {
        return Ok(());
    }
    // A next hop without light is refused; its port brings the route back when it is repaired.
    let _ = batch("ip", &["-n", node, "-force"], &text);
    Ok(())
}

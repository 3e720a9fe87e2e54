//! Tables of one switch.
use serde_json::{Map, Value, json};

use super::names::{ethernet, interface, kind, vlan};
use super::qos::{self, megabits};
use crate::switch_config::plan::{LosslessClass, MTU, SwitchPlan};

/// A row of an address.
fn ipv4() -> Value {
    json!({ "scope": "global", "family": "IPv4" })
}

/// `config_db.json`.
pub(super) fn database(switch: &SwitchPlan, class: &LosslessClass) -> Value {
    let mut tables = Map::new();
    let metadata = json!({
        "hostname": switch.name,
        "type": kind(switch.tier),
        "bgp_asn": switch.asn.to_string(),
        "bgp_router_id": switch.loopback.to_string(),
        "buffer_model": "dynamic",
    });
    tables.insert("DEVICE_METADATA".to_owned(), json!({ "localhost": metadata }));
    let loopback = format!("Loopback0|{}/32", switch.loopback);
    tables.insert("LOOPBACK_INTERFACE".to_owned(), json!({ "Loopback0": {}, loopback: ipv4() }));
    tables.insert("PORT".to_owned(), ports(switch));
    sessions(switch, &mut tables);
    leaf(switch, &mut tables);
    tables.insert("SWITCH_HASH".to_owned(), hash());
    for (name, table) in qos::tables(switch, class) {
        tables.insert(name.to_owned(), table);
    }
    let is_empty = |table: &Value| table.as_object().is_some_and(Map::is_empty);
    tables.retain(|_, table| !is_empty(table));
    Value::Object(tables)
}

fn ports(switch: &SwitchPlan) -> Value {
    let row = |port: u32, name: &str, capacity, far: String| {
        let row = json!({
            "alias": name,
            "index": (port + 1).to_string(),
            "speed": megabits(capacity).to_string(),
            "mtu": MTU.to_string(),
            "admin_status": "up",
            "description": far,
        });
        (ethernet(port), row)
    };
    let mut rows = Map::new();
    for one in &switch.attachments {
        rows.extend(one.members.iter().map(|(port, name)| row(*port, name, one.capacity, one.nic.clone())));
    }
    for one in &switch.ports {
        let far = format!("{}:{}", one.peer, one.peer_interface);
        rows.extend([row(one.port, &one.interface, one.capacity, far)]);
    }
    Value::Object(rows)
}

/// Interfaces, neighbors, sessions and pinned routes towards other switches.
fn sessions(switch: &SwitchPlan, tables: &mut Map<String, Value>) {
    let (mut interfaces, mut neighbors) = (Map::new(), Map::new());
    let (mut sessions, mut kinds, mut routes) = (Map::new(), Map::new(), Map::new());
    for one in &switch.ports {
        let name = ethernet(one.port);
        interfaces.insert(name.clone(), json!({}));
        interfaces.insert(format!("{name}|{}/31", one.address), ipv4());
        neighbors.insert(name, json!({ "name": one.peer, "port": one.peer_interface }));
        let tier = if one.is_up() { switch.tier + 1 } else { switch.tier.saturating_sub(1) };
        kinds.insert(one.peer.clone(), json!({ "type": kind(tier) }));
        let session = json!({
            "asn": one.peer_asn.to_string(),
            "name": one.peer,
            "local_addr": one.address.to_string(),
            "holdtime": switch.timers.hold_s.to_string(),
            "keepalive": switch.timers.keepalive_s.to_string(),
            "nhopself": "0",
            "rrclient": "0",
            "admin_status": "up",
        });
        sessions.insert(one.peer_address.to_string(), session);
    }
    for route in &switch.pinned {
        let port = &switch.ports[route.port as usize];
        let row = json!({
            "nexthop": port.peer_address.to_string(),
            "ifname": ethernet(port.port),
            "distance": "1",
            "blackhole": "false",
            "nexthop-vrf": "default",
        });
        routes.insert(format!("default|{}/32", route.target), row);
    }
    for one in &switch.attachments {
        let (host, nic) = one.nic.split_once('/').unwrap_or((&one.nic, ""));
        for (port, _) in &one.members {
            neighbors.insert(ethernet(*port), json!({ "name": host, "port": nic }));
        }
    }
    for (name, table) in [
        ("INTERFACE", interfaces),
        ("DEVICE_NEIGHBOR", neighbors),
        ("DEVICE_NEIGHBOR_METADATA", kinds),
        ("BGP_NEIGHBOR", sessions),
        ("STATIC_ROUTE", routes),
    ] {
        tables.insert(name.to_owned(), Value::Object(table));
    }
}

/// Bonds and the VLAN of hosts. The gateway has the same address and MAC in all leaves of a set, and answers ARP for all
/// (HPN section 4.2).
fn leaf(switch: &SwitchPlan, tables: &mut Map<String, Value>) {
    let (mut bonds, mut members) = (Map::new(), Map::new());
    let (mut vlans, mut vlan_members, mut vlan_interfaces) = (Map::new(), Map::new(), Map::new());
    for one in &switch.attachments {
        let name = interface(one);
        if let Some(key) = one.lacp_key {
            let mut row = json!({
                "admin_status": "up", "min_links": "1", "mtu": MTU.to_string(), "lacp_key": key.to_string(),
                "fast_rate": "true", "mode": "trunk",
            });
            if let Some(tor) = &switch.dual_tor {
                row["system_mac"] = json!(tor.system_id);
            }
            bonds.insert(name.clone(), row);
            members.extend(
                one.members.iter().map(|(port, _)| (format!("{name}|{}", ethernet(*port)), json!({}))),
            );
        }
        if let Some(at) = switch.subnets.iter().position(|subnet| subnet.contains(one.address)) {
            vlan_members.insert(format!("Vlan{}|{name}", vlan(at)), json!({ "tagging_mode": "untagged" }));
        }
    }
    for (at, subnet) in switch.subnets.iter().enumerate() {
        let (id, name) = (vlan(at), format!("Vlan{}", vlan(at)));
        let row = json!({ "vlanid": id.to_string(), "mtu": MTU.to_string(), "admin_status": "up" });
        vlans.insert(name.clone(), row);
        vlan_interfaces
            .insert(name.clone(), json!({ "static_anycast_gateway": "true", "proxy_arp": "enabled" }));
        vlan_interfaces.insert(format!("{name}|{}/{}", subnet.gateway(), subnet.prefix), ipv4());
    }
    for (name, table) in [
        ("PORTCHANNEL", bonds),
        ("PORTCHANNEL_MEMBER", members),
        ("VLAN", vlans),
        ("VLAN_MEMBER", vlan_members),
        ("VLAN_INTERFACE", vlan_interfaces),
    ] {
        tables.insert(name.to_owned(), Value::Object(table));
    }
    if let Some(tor) = &switch.dual_tor {
        tables.insert("SAG".to_owned(), json!({ "GLOBAL": { "gateway_mac": tor.gateway_mac } }));
    }
}

fn hash() -> Value {
    let fields = ["DST_IP", "SRC_IP", "IP_PROTOCOL", "L4_DST_PORT", "L4_SRC_PORT"];
    json!({ "GLOBAL": {
        "ecmp_hash": fields, "lag_hash": fields, "ecmp_hash_algorithm": "CRC", "lag_hash_algorithm": "CRC",
    } })
}

/// `switch.json`, which `swssconfig` reads.
pub(super) fn seed(switch: &SwitchPlan) -> Value {
    let seed = switch.hash_seed.to_string();
    json!([{ "SWITCH_TABLE:switch": { "ecmp_hash_seed": seed, "lag_hash_seed": seed }, "OP": "SET" }])
}

/// `beyond-sonic.json`.
pub(super) fn beyond(switch: &SwitchPlan) -> Value {
    let offset = switch.dual_tor.as_ref().map(|tor| tor.port_offset);
    let (mut ids, mut routes) = (Map::new(), Map::new());
    for one in &switch.attachments {
        if let (Some(offset), Some(_)) = (offset, one.lacp_key) {
            let id = |port: u32| json!(port + 1 + u32::from(offset));
            ids.extend(one.members.iter().map(|(port, _)| (ethernet(*port), id(*port))));
        }
        routes.insert(interface(one), json!(one.address.to_string()));
    }
    json!({
        "lacp_port_offset": offset,
        "lacp_port_ids": ids,
        "host_routes_from_arp": routes,
        "host_ports_down_without_bgp": !switch.attachments.is_empty(),
        "bgp_connect_s": switch.timers.connect_s,
        "bfd": switch.timers.bfd.map(|(interval, multiplier)| json!({
            "interval_ms": interval, "multiplier": multiplier,
        })),
    })
}

//! From the files of one switch back to its plan.
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::str::FromStr;

use railtwin_units::{Bytes, Rate, SimTime};
use serde_json::{Map, Value};

use super::names::{ethernet, port_of, tier};
use super::qos::MAP;
use super::{BEYOND, DATABASE, SEED};
use crate::error::{FormatError, text_of};
use crate::switch_config::address::Subnet;
use crate::switch_config::plan::{
    Attachment, BgpTimers, DualTor, FabricPort, LosslessClass, PinnedRoute, SwitchPlan,
};

/// A switch as its folder says it.
#[derive(Clone, PartialEq, Debug)]
pub struct SonicSwitch {
    /// Control plane and ports.
    pub switch: SwitchPlan,
    /// Quality of service, which may be no single lossless class.
    pub qos: SonicQos,
    /// Whether each network of hosts answers ARP for all.
    pub arp_proxy: bool,
    /// Whether ports of hosts go down when no BGP session stands.
    pub has_watcher: bool,
}

/// Quality of service of a switch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SonicQos {
    /// Traffic class of each DSCP.
    pub class_of_dscp: BTreeMap<u8, u8>,
    /// Classes that any port pauses.
    pub paused: BTreeSet<u8>,
    /// Ports that pause a class and have no watchdog, in order of names.
    pub unwatched: Vec<String>,
    /// Queue in bytes from which packets are marked, and from which all are; none where nothing is marked.
    pub ecn: Option<(u64, u64)>,
    /// Bytes at which a port pauses the lossless class; the least of all profiles.
    pub pfc_threshold: Option<u64>,
    /// Detection and restoration time of the watchdog, milliseconds.
    watchdog_ms: Option<(u64, u64)>,
}

impl SonicQos {
    /// The lossless class, where there is one and all of it is said.
    pub fn class(&self) -> Option<LosslessClass> {
        let &priority = self.paused.first().filter(|_| self.paused.len() == 1)?;
        let of = |class: u8| self.class_of_dscp.iter().find(|(_, one)| **one == class).map(|(dscp, _)| *dscp);
        let cnp_priority =
            *self.class_of_dscp.values().filter(|class| ![0, priority].contains(class)).max()?;
        let (min, max) = self.ecn?;
        let (detection, restoration) = self.watchdog_ms?;
        let time = |ms: u64| SimTime::from_ns(ms.saturating_mul(1_000_000));
        Some(LosslessClass {
            dscp: of(priority)?,
            priority,
            cnp_dscp: of(cnp_priority)?,
            cnp_priority,
            ecn_min: Bytes(min),
            ecn_max: Bytes(max),
            pfc_threshold: Bytes(self.pfc_threshold?),
            watchdog_detection: time(detection),
            watchdog_restoration: time(restoration),
        })
    }
}

const FORMAT: &str = "SONiC configuration";

/// Reads the files of one switch: name and bytes of each.
///
/// # Errors
/// [`FormatError`] where a file is missing or no JSON, and for a value that a table needs and that is not there or wrong.
pub fn read(folder: &str, files: &[(String, Vec<u8>)]) -> Result<SonicSwitch, FormatError> {
    let file = |name: &str| -> Result<Document, FormatError> {
        let source = format!("{folder}/{name}");
        let (_, bytes) = files.iter().find(|(known, _)| known == name).ok_or_else(|| {
            FormatError::new(FORMAT, folder, format!("has no {name}"), "name a folder of one switch")
        })?;
        let value = serde_json::from_str(text_of(FORMAT, &source, bytes)?).map_err(|error| {
            FormatError::new(FORMAT, &source, format!("is no JSON: {error}"), "write the file again")
                .at_line(error.line() as u64)
        })?;
        Ok(Document { source, value })
    };
    let (database, seed, beyond) = (file(DATABASE)?, file(SEED)?, file(BEYOND)?);
    let name = database.text("DEVICE_METADATA", "localhost", "hostname")?.to_owned();
    let kind = database.text("DEVICE_METADATA", "localhost", "type")?;
    let tier = tier(kind, &name).ok_or_else(|| {
        let wrong = database.error("DEVICE_METADATA|localhost type", "is no kind of switch of a fabric");
        wrong.found(kind)
    })?;
    let subnets = subnets(&database)?;
    let ports = fabric_ports(&database)?;
    let seed = seed.value.pointer("/0/SWITCH_TABLE:switch/ecmp_hash_seed").and_then(Value::as_str);
    let seed = seed.and_then(|seed| seed.parse().ok()).ok_or_else(|| {
        FormatError::new(FORMAT, &format!("{folder}/{SEED}"), "has no ecmp_hash_seed", "write it as text")
    })?;
    let arp_proxy = database.rows("VLAN_INTERFACE").filter(|(name, _)| !name.contains('|'));
    let mut arp_proxy =
        arp_proxy.map(|(_, row)| row.get("proxy_arp").and_then(Value::as_str) == Some("enabled"));
    Ok(SonicSwitch {
        arp_proxy: arp_proxy.all(|one| one),
        has_watcher: beyond.value["host_ports_down_without_bgp"] == Value::Bool(true),
        qos: qos(&database)?,
        switch: SwitchPlan {
            name,
            tier,
            asn: database.number("DEVICE_METADATA", "localhost", "bgp_asn")?,
            loopback: database.number("DEVICE_METADATA", "localhost", "bgp_router_id")?,
            hash_seed: seed,
            pinned: pinned(&database, &ports)?,
            attachments: attachments(&database, &beyond)?,
            subnets,
            dual_tor: dual_tor(&database, &beyond)?,
            timers: timers(&database, &beyond)?,
            ports,
        },
    })
}

/// A file and where it stands.
struct Document {
    source: String,
    value: Value,
}

impl Document {
    fn error(&self, field: &str, problem: &str) -> FormatError {
        FormatError::new(FORMAT, &self.source, problem, "write a whole number as text").field(field)
    }

    fn rows<'a>(&'a self, table: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let rows = self.value.get(table).and_then(Value::as_object);
        rows.into_iter().flat_map(Map::iter).map(|(key, row)| (key.as_str(), row))
    }

    fn field<'a>(&'a self, table: &str, key: &str, field: &str) -> Option<&'a str> {
        self.value.get(table)?.get(key)?.get(field)?.as_str()
    }

    fn text<'a>(&'a self, table: &str, key: &str, field: &str) -> Result<&'a str, FormatError> {
        self.field(table, key, field).ok_or_else(|| {
            let place = format!("{table}|{key} {field}");
            FormatError::new(FORMAT, &self.source, "is not there", "write it as text").field(place)
        })
    }

    fn number<T: FromStr>(&self, table: &str, key: &str, field: &str) -> Result<T, FormatError> {
        let text = self.text(table, key, field)?;
        text.parse().map_err(|_| {
            self.error(&format!("{table}|{key} {field}"), "is not a number that fits").found(text)
        })
    }
}

/// Networks of hosts in order of their VLANs.
fn subnets(database: &Document) -> Result<Vec<Subnet>, FormatError> {
    let mut subnets = BTreeMap::new();
    for (key, _) in database.rows("VLAN_INTERFACE") {
        let Some((vlan, gateway)) = key.split_once('|') else { continue };
        let wrong = || database.error("VLAN_INTERFACE", "is no network of IPv4").found(key);
        let (address, prefix) = gateway.split_once('/').ok_or_else(wrong)?;
        let (address, prefix): (Ipv4Addr, u8) =
            (address.parse().map_err(|_| wrong())?, prefix.parse().map_err(|_| wrong())?);
        if prefix > 31 {
            return Err(wrong());
        }
        let network = u32::from(address) & !((1_u32 << (31 - u32::from(prefix)) << 1).wrapping_sub(1));
        subnets.insert(vlan.to_owned(), Subnet { network: network.into(), prefix });
    }
    let mut ordered: Vec<(String, Subnet)> = subnets.into_iter().collect();
    ordered.sort_by_key(|(vlan, _)| (vlan.len(), vlan.clone()));
    Ok(ordered.into_iter().map(|(_, subnet)| subnet).collect())
}

fn metres(database: &Document, port: &str) -> Result<u32, FormatError> {
    let text = database.text("CABLE_LENGTH", MAP, port)?;
    text.strip_suffix('m').and_then(|metres| metres.parse().ok()).ok_or_else(|| {
        FormatError::new(FORMAT, &database.source, "is no length", "write metres such as 60m")
            .field(format!("CABLE_LENGTH|{MAP} {port}"))
            .found(text)
    })
}

fn capacity(database: &Document, port: &str) -> Result<Rate, FormatError> {
    let megabits: u32 = database.number("PORT", port, "speed")?;
    Ok(Rate::from_bits_per_s(u64::from(megabits) * 1_000_000))
}

/// Ports with a /31 of their own, in order of ports.
fn fabric_ports(database: &Document) -> Result<Vec<FabricPort>, FormatError> {
    let mut ports = Vec::new();
    for (key, _) in database.rows("INTERFACE") {
        let Some((name, network)) = key.split_once('|') else { continue };
        let address = network.strip_suffix("/31").and_then(|text| text.parse::<Ipv4Addr>().ok());
        let (Some(port), Some(address)) = (port_of(name), address) else {
            return Err(database.error("INTERFACE", "is no port with a /31 of IPv4").found(key));
        };
        let peer_address = Ipv4Addr::from(u32::from(address) ^ 1);
        ports.push(FabricPort {
            port,
            interface: database.text("PORT", name, "alias")?.to_owned(),
            address,
            peer: database.text("DEVICE_NEIGHBOR", name, "name")?.to_owned(),
            peer_interface: database.text("DEVICE_NEIGHBOR", name, "port")?.to_owned(),
            peer_address,
            peer_asn: database.number("BGP_NEIGHBOR", &peer_address.to_string(), "asn")?,
            capacity: capacity(database, name)?,
            metres: metres(database, name)?,
        });
    }
    ports.sort_by_key(|one| one.port);
    Ok(ports)
}

fn pinned(database: &Document, ports: &[FabricPort]) -> Result<Vec<PinnedRoute>, FormatError> {
    let by_port: BTreeMap<u32, u32> = ports.iter().zip(0..).map(|(one, at)| (one.port, at)).collect();
    let mut routes = Vec::new();
    for (key, _) in database.rows("STATIC_ROUTE") {
        let target = key.strip_prefix("default|").and_then(|text| text.strip_suffix("/32"));
        let target = target.and_then(|text| text.parse().ok());
        let port = database.field("STATIC_ROUTE", key, "ifname").and_then(port_of);
        let port = port.and_then(|port| by_port.get(&port).copied());
        match (target, port) {
            (Some(target), Some(port)) => routes.push(PinnedRoute { target, port }),
            _ => {
                return Err(database
                    .error("STATIC_ROUTE", "is no route to a host by a port of ours")
                    .found(key));
            }
        }
    }
    routes.sort_by_key(|route| route.target);
    Ok(routes)
}

fn attachments(database: &Document, beyond: &Document) -> Result<Vec<Attachment>, FormatError> {
    let mut members: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (key, _) in database.rows("PORTCHANNEL_MEMBER") {
        let member = key.split_once('|').and_then(|(bond, port)| Some((bond, port_of(port)?)));
        let Some((bond, port)) = member else {
            return Err(database.error("PORTCHANNEL_MEMBER", "is no bond and port").found(key));
        };
        members.entry(bond).or_default().push(port);
    }
    let mut attachments = Vec::new();
    for (name, address) in beyond.rows("host_routes_from_arp") {
        let wrong = || beyond.error("host_routes_from_arp", "is no interface with an address").found(name);
        let address = address.as_str().and_then(|text| text.parse().ok()).ok_or_else(wrong)?;
        let mut ports = match members.get(name) {
            Some(ports) => ports.clone(),
            None => vec![port_of(name).ok_or_else(wrong)?],
        };
        ports.sort_unstable();
        let first = ethernet(*ports.first().ok_or_else(wrong)?);
        let named = |&port: &u32| -> Result<(u32, String), FormatError> {
            Ok((port, database.text("PORT", &ethernet(port), "alias")?.to_owned()))
        };
        let lacp_key = match members.contains_key(name) {
            true => Some(database.number("PORTCHANNEL", name, "lacp_key")?),
            false => None,
        };
        let members = ports.iter().map(named).collect::<Result<Vec<_>, FormatError>>()?;
        let bond = members[0].1.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        attachments.push(Attachment {
            interface: if lacp_key.is_some() { format!("bond{bond}") } else { members[0].1.clone() },
            nic: database.text("PORT", &first, "description")?.to_owned(),
            address,
            lacp_key,
            capacity: capacity(database, &first)?,
            metres: metres(database, &first)?,
            members,
        });
    }
    attachments.sort_by_key(|one| one.members.first().map(|member| member.0));
    Ok(attachments)
}

/// The system id is that of the bonds, which are alike, or the first one's.
fn dual_tor(database: &Document, beyond: &Document) -> Result<Option<DualTor>, FormatError> {
    let Some(offset) = beyond.value.get("lacp_port_offset").and_then(Value::as_u64) else { return Ok(None) };
    let port_offset = u16::try_from(offset)
        .map_err(|_| beyond.error("lacp_port_offset", "does not fit 16 bits").found(&offset.to_string()))?;
    let first = database.rows("PORTCHANNEL").next().map_or("PortChannel1", |(name, _)| name);
    Ok(Some(DualTor {
        system_id: database.text("PORTCHANNEL", first, "system_mac")?.to_owned(),
        port_offset,
        gateway_mac: database.text("SAG", "GLOBAL", "gateway_mac")?.to_owned(),
    }))
}

/// Timers are alike in all sessions; the first says them.
fn timers(database: &Document, beyond: &Document) -> Result<BgpTimers, FormatError> {
    let usual = BgpTimers::default();
    let whole = |value: &Value, field: &str| {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| beyond.error(field, "is not a number that fits"))
    };
    let bfd = match beyond.value.get("bfd").filter(|bfd| !bfd.is_null()) {
        Some(bfd) => {
            let multiplier = whole(&bfd["multiplier"], "bfd multiplier")?;
            let multiplier = u8::try_from(multiplier)
                .map_err(|_| beyond.error("bfd multiplier", "does not fit 8 bits"))?;
            Some((whole(&bfd["interval_ms"], "bfd interval_ms")?, multiplier))
        }
        None => None,
    };
    let connect = whole(&beyond.value["bgp_connect_s"], "bgp_connect_s")?;
    let connect_s =
        u16::try_from(connect).map_err(|_| beyond.error("bgp_connect_s", "does not fit 16 bits"))?;
    let (keepalive_s, hold_s) = match database.rows("BGP_NEIGHBOR").next() {
        Some((peer, _)) => (
            database.number("BGP_NEIGHBOR", peer, "keepalive")?,
            database.number("BGP_NEIGHBOR", peer, "holdtime")?,
        ),
        None => (usual.keepalive_s, usual.hold_s),
    };
    Ok(BgpTimers { keepalive_s, hold_s, connect_s, bfd })
}

fn qos(database: &Document) -> Result<SonicQos, FormatError> {
    let mut qos = SonicQos::default();
    for (name, _) in database.rows("DSCP_TO_TC_MAP") {
        for dscp in 0..64_u8 {
            let key = dscp.to_string();
            if database.field("DSCP_TO_TC_MAP", name, &key).is_some() {
                qos.class_of_dscp.insert(dscp, database.number("DSCP_TO_TC_MAP", name, &key)?);
            }
        }
    }
    for (port, row) in database.rows("PORT_QOS_MAP") {
        let classes = row.get("pfc_enable").and_then(Value::as_str).unwrap_or_default();
        for class in classes.split(',').filter(|class| !class.is_empty()) {
            let class = class.trim().parse().map_err(|_| {
                database
                    .error(&format!("PORT_QOS_MAP|{port} pfc_enable"), "is no list of classes")
                    .found(classes)
            })?;
            qos.paused.insert(class);
        }
        let has_watchdog = database.field("PFC_WD", port, "action").is_some();
        if !classes.is_empty() && !has_watchdog {
            qos.unwatched.push(port.to_owned());
        } else if has_watchdog && qos.watchdog_ms.is_none() {
            let time = |field| database.number("PFC_WD", port, field);
            qos.watchdog_ms = Some((time("detection_time")?, time("restoration_time")?));
        }
    }
    for (name, row) in database.rows("WRED_PROFILE") {
        if row.get("ecn").and_then(Value::as_str).is_some_and(|ecn| ecn != "ecn_none") {
            let at = |field| database.number("WRED_PROFILE", name, field);
            qos.ecn = Some((at("green_min_threshold")?, at("green_max_threshold")?));
        }
    }
    for (name, row) in database.rows("BUFFER_PROFILE") {
        if row.get("xoff").is_some() && row.get("static_th").is_some() {
            let threshold = database.number("BUFFER_PROFILE", name, "static_th")?;
            qos.pfc_threshold = Some(qos.pfc_threshold.map_or(threshold, |known: u64| known.min(threshold)));
        }
    }
    Ok(qos)
}

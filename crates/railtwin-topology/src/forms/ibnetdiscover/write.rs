//! Blocks of a topology, as `ibnetdiscover` prints them.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::nic_and_port;
use railtwin_formats::FormatError;

use super::names::{AdapterName, adapter_name, is_adapter};
use super::{NAME, speed};
use crate::about::DeviceClass;
use crate::form::{WriteOptions, Written};
use crate::topology::Topology;

/// LIDs of a subnet go up to this; source: InfiniBand architecture, unicast LIDs.
const LIDS: u32 = 0xbfff;
/// Top byte of GUIDs that are given: a locally administered address.
const LOCAL: u64 = 0x02 << 56;

/// Name of adapters that have none, before their number.
const FIRST_ADAPTER: &str = "HCA-";

/// A node that is written.
struct Block {
    letter: char,
    guid: u64,
    /// Description.
    name: String,
    lid: u32,
    /// Ports by number.
    ports: BTreeMap<u32, u32>,
}

/// Writes the blocks of all switches, then of all adapters, with both ends of every link.
///
/// GUIDs follow from names, so that equal topologies have equal GUIDs. A switch is described by its name, an adapter as
/// `HOST ADAPTER`. A host has as many blocks as the topology counts adapters of it, and one where it has none. Ports are
/// numbers: those of the topology where all ports of a switch are numbers, else in the order of its ports. A rate that no
/// width and speed give is left open; delays, roles, places and what stands in hosts are left out. LIDs are numbers in the
/// order of blocks, 0 beyond the 49,151 of a subnet.
///
/// # Errors
/// [`FormatError`] for the tree of a scheduler, which has no ports.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    if topology.is_tree {
        let accepted = "a topology with ports; write a tree as a form of a scheduler";
        return Err(FormatError::new(
            NAME,
            topology.form,
            "is a tree of a scheduler, without ports",
            accepted,
        ));
    }
    let (blocks, place) = blocks(topology);
    let mut text = String::from("#\n# Topology file: generated on Thu Jan  1 00:00:00 1970\n#\n");
    if let Some(first) = blocks.iter().find(|block| block.letter == 'H').or(blocks.first()) {
        let _ = writeln!(text, "# Initiated from node {:016x} port {:016x}", first.guid, first.guid);
    }
    for block in &blocks {
        write_block(topology, &blocks, &place, block, &mut text);
    }
    Ok(vec![Written { path: "ibnetdiscover.out".to_owned(), text }])
}

/// The blocks, and block and number of each port.
fn blocks(topology: &Topology) -> (Vec<Block>, Vec<(u32, u32)>) {
    let mut guids = BTreeSet::new();
    let mut blocks = Vec::new();
    let mut place = vec![(NONE, 0); topology.list.ports().len()];
    let mut lid = 0;
    let mut next_lid = |ports: u32| {
        lid += ports;
        if lid <= LIDS { lid } else { 0 }
    };
    let rows: Vec<u32> = (0..topology.list.devices().len() as u32).collect();
    let mut hosts = vec![false; rows.len()];
    topology.hosts().for_each(|host| hosts[host as usize] = true);
    for &row in rows.iter().filter(|&&row| !hosts[row as usize]) {
        let device = &topology.list.devices()[row as usize];
        let letter = if topology.about[row as usize].class == DeviceClass::Unknown && device.role.is_none() {
            'R'
        } else {
            'S'
        };
        let ports = numbers(topology, &device.ports);
        ports.iter().for_each(|(&number, &port)| place[port as usize] = (blocks.len() as u32, number));
        let guid = guid_of(&device.name, &mut guids);
        blocks.push(Block { letter, guid, name: device.name.replace('"', "'"), lid: next_lid(1), ports });
    }
    for &row in rows.iter().filter(|&&row| hosts[row as usize]) {
        let device = &topology.list.devices()[row as usize];
        for (number, (adapter, ports)) in (1..).zip(adapters(topology, row)) {
            ports.iter().for_each(|(&number, &port)| place[port as usize] = (blocks.len() as u32, number));
            let guid = guid_of(&format!("{}\n{adapter}", device.name), &mut guids);
            let lid = next_lid(1);
            let name = description(&device.name, &adapter, number);
            blocks.push(Block { letter: 'H', guid, name, lid, ports });
        }
    }
    (blocks, place)
}

/// Ports of a switch by number: their names where all are numbers.
fn numbers(topology: &Topology, ports: &[u32]) -> BTreeMap<u32, u32> {
    let number = |port: &u32| {
        let name = topology.list.ports()[*port as usize].name.as_str();
        name.parse::<u32>()
            .ok()
            .filter(|&number| number > 0 && number < 1 << 16)
            .map(|number| (number, *port))
    };
    let named: Option<BTreeMap<u32, u32>> = ports.iter().map(number).collect();
    match named {
        Some(named) if named.len() == ports.len() => named,
        _ => (1..).zip(ports.iter().copied()).collect(),
    }
}

/// Ports of an adapter by number.
type PortsByNumber = BTreeMap<u32, u32>;

/// Adapters of a host with their ports by number. Where the topology names adapters, ports are of them: by name, else in
/// order, first of adapters without a port. Where it does not, each port with a cable is one; a host without any has one
/// adapter, for a dump has no other place for a host.
fn adapters(topology: &Topology, host: u32) -> BTreeMap<String, PortsByNumber> {
    let known = &topology.about[host as usize].adapters;
    let mut found: BTreeMap<String, PortsByNumber> =
        known.iter().map(|name| (name.clone(), BTreeMap::new())).collect();
    let mut others = Vec::new();
    for &port in &topology.list.devices()[host as usize].ports {
        let listed = &topology.list.ports()[port as usize];
        let name = listed.name.as_str();
        match adapter_of(name, known) {
            Some(adapter) => enter_port(found.entry(adapter.to_owned()).or_default(), name, port),
            None if listed.cable == NONE => {}
            None if known.is_empty() => enter_port(found.entry(name.to_owned()).or_default(), name, port),
            None => others.push((name, port)),
        }
    }
    for (name, port) in others {
        let free = found.values().position(BTreeMap::is_empty).unwrap_or(found.len() - 1);
        found.values_mut().skip(free).take(1).for_each(|ports| enter_port(ports, name, port));
    }
    if found.is_empty() {
        found.insert(format!("{FIRST_ADAPTER}1"), BTreeMap::new());
    }
    found
}

/// The adapter of those known that a port is of by its name: `be0` of `be0-port0`, `mlx5_0` of `mlx5_0/1`.
fn adapter_of<'a>(port: &'a str, known: &BTreeSet<String>) -> Option<&'a str> {
    let behind = |cut: usize| !port[cut..].starts_with(char::is_alphanumeric);
    let cuts = port.char_indices().map(|(cut, _)| cut).filter(|&cut| cut > 0 && behind(cut));
    let stems = cuts.map(|cut| &port[..cut]).rev();
    [port, nic_and_port(port).0].into_iter().chain(stems).find(|name| known.contains(*name))
}

/// Enters a port of an adapter by the number in its name, where it has one that is free: `nic-0:port-0` is the first port,
/// `mlx5_0/1` too.
fn enter_port(ports: &mut PortsByNumber, name: &str, port: u32) {
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let from_one = u32::from(name.contains(":port-"));
    let is_behind = name[..name.len() - digits].ends_with(['/', ':', '-', '.']);
    let told = name[name.len() - digits..].parse::<u32>().ok().filter(|_| is_behind);
    let told = told.map(|number| number.saturating_add(from_one)).filter(|number| (1..255).contains(number));
    let free = told.filter(|number| !ports.contains_key(number));
    let number = free.unwrap_or_else(|| ports.last_key_value().map_or(1, |(last, _)| last + 1));
    ports.insert(number, port);
}

/// Description of an adapter, which names its host: `HOST ADAPTER`. A name of a host with blanks is told apart from the
/// adapter behind it by the adapter's, which then is `HCA-N`, unless it is named as an RDMA device is.
fn description(host: &str, adapter: &str, number: usize) -> String {
    let plain = host.split_whitespace().collect::<Vec<_>>().join(" ").replace('"', "'");
    let adapter = word(adapter);
    if !plain.contains(' ') {
        return format!("{plain} {adapter}");
    }
    let adapter = if is_adapter(&adapter) { adapter } else { format!("{FIRST_ADAPTER}{number}") };
    let described = format!("{plain} {adapter}");
    match adapter_name(&described) {
        AdapterName::Named { host, .. } if host == plain => described,
        _ => format!("{} {adapter}", word(&plain)),
    }
}

/// A name without blanks and quotation marks.
fn word(name: &str) -> String {
    name.replace(|letter: char| letter.is_whitespace() || letter == '"', "_")
}

/// GUID of a name: FNV-1a of it in the upper bytes, ports below.
fn guid_of(name: &str, taken: &mut BTreeSet<u64>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in name.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mut part = (hash >> 48) ^ (hash & 0xffff_ffff_ffff);
    part &= 0xff_ffff_ffff;
    while !taken.insert(part) {
        part = (part + 1) & 0xff_ffff_ffff;
    }
    LOCAL | part << 16
}

fn write_block(
    topology: &Topology,
    blocks: &[Block],
    place: &[(u32, u32)],
    block: &Block,
    text: &mut String,
) {
    let Block { letter, guid, name, lid, ports } = block;
    let (key, word) = match letter {
        'S' => ("switchguid", "Switch"),
        'R' => ("rtguid", "Rt"),
        _ => ("caguid", "Ca"),
    };
    let device_id = if *letter == 'S' { 0xd2f2 } else { 0x1021 };
    let _ = write!(text, "\nvendid=0x2c9\ndevid=0x{device_id:x}\nsysimgguid=0x{guid:x}\n{key}=0x{guid:x}");
    let count = ports.last_key_value().map_or(1, |(last, _)| *last);
    if *letter == 'S' {
        let _ = writeln!(text, "({guid:x})");
        let _ = writeln!(
            text,
            "{word}\t{count} \"S-{guid:016x}\"\t\t# \"{name}\" enhanced port 0 lid {lid} lmc 0"
        );
    } else {
        let _ = writeln!(text, "\n{word}\t{count} \"{letter}-{guid:016x}\"\t\t# \"{name}\"");
    }
    for (&number, &port) in ports {
        let Some(peer) = topology.list.peer(port) else { continue };
        let (far, far_number) = place[peer as usize];
        let Some(far) = blocks.get(far as usize) else { continue };
        let rate = topology.list.ports()[port as usize].rate.and_then(speed::word_of_rate);
        let rate = rate.as_deref().unwrap_or("?????");
        let peer_guid = if far.letter == 'S' {
            String::new()
        } else {
            format!("({:x}) ", far.guid + u64::from(far_number) - 1)
        };
        let (peer, peer_name, peer_lid) = (format!("{}-{:016x}", far.letter, far.guid), &far.name, far.lid);
        if *letter == 'S' {
            let _ = writeln!(
                text,
                "[{number}]\t\"{peer}\"[{far_number}]{peer_guid}\t\t# \"{peer_name}\" lid {peer_lid} {rate}"
            );
        } else {
            let own = guid + u64::from(number) - 1;
            let between = if peer_guid.is_empty() { "" } else { " " };
            let _ = write!(text, "[{number}]({own:x}) \t\"{peer}\"[{far_number}]{between}{peer_guid}\t\t");
            let _ = writeln!(text, "# lid {lid} lmc 0 \"{peer_name}\" lid {peer_lid} {rate}");
        }
    }
}

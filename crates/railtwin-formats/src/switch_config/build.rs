//! From a fabric to the plan of its control plane.
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use railtwin_fabric::{CableId, DeviceId, DeviceKind, Fabric, HostId, NONE, PortId, PortRole};
use railtwin_routing::{EcmpConfig, HashFunction, HashSpec, PrefixId, Prefixes, Seeds};

use super::address::{AddressBlock, Subnet};
use super::plan::{
    Attachment, BgpTimers, DualTor, FabricPlan, FabricPort, HostNic, HostPlan, LosslessClass, NS_PER_METRE,
    PinnedRoute, SwitchPlan,
};
use crate::error::FormatError;

/// System id of LACP in all dual-ToR sets: the address of virtual router 1 (RFC 3768), which no host has (HPN section 4.2).
pub(super) const SYSTEM_ID: &str = "00:00:5e:00:01:01";
/// Address of the gateway in all leaves of a set, so that frames for it may come by any port of a bond: virtual router 2.
pub(super) const GATEWAY_MAC: &str = "00:00:5e:00:01:02";
/// Distance of the port offsets of a set, at least: 300 and 600, say (HPN section 4.2 names 300).
const OFFSET_STEP: u32 = 300;
/// Private AS numbers of 2 and of 4 bytes (RFC 6996).
const PRIVATE_2: (u32, u32) = (64_512, 65_534);
const PRIVATE_4: (u32, u32) = (4_200_000_000, 4_294_967_294);
/// Most static routes of a plan.
const MOST_PINNED: u64 = 2_000_000;

/// Choices of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanOptions {
    /// Seeds of the switches' hashes.
    pub ecmp: EcmpConfig,
    /// Timers of all sessions.
    pub timers: BgpTimers,
    /// The lossless class.
    pub lossless: LosslessClass,
    /// Whether leaves pin paths by the slice of the destination (Meta RoCE section 4.1.2).
    pub pinned: bool,
}

impl Default for PlanOptions {
    /// Another seed in each switch, the fastest timers of BGP without BFD, no pinned paths.
    fn default() -> Self {
        Self {
            ecmp: EcmpConfig::new(HashSpec::new(HashFunction::Crc32), Seeds::PerSwitch),
            timers: BgpTimers::default(),
            lossless: LosslessClass::default(),
            pinned: false,
        }
    }
}

impl FabricPlan {
    /// Plans a fabric. Numbers follow from the dense ids of the fabric alone: AS numbers as RFC 7938 has them (one for each
    /// leaf, one for the spines of a plane of a pod, one for all cores), loopbacks from 172.16.0.0/12, a /31 of
    /// 100.64.0.0/10 for each cable between switches, and for the NICs of each set of leaves a /24 of 10.0.0.0/8, or a
    /// wider one.
    ///
    /// # Errors
    /// [`FormatError`] where addresses, AS numbers or LACP port ids run out, or pinned routes are more than 2,000,000.
    pub fn new(fabric: &Fabric, options: &PlanOptions) -> Result<Self, FormatError> {
        let prefixes = Prefixes::by_leaf_set(fabric);
        let addresses = Addresses::new(fabric, &prefixes)?;
        let asns = as_numbers(fabric)?;
        let offsets = port_offsets(fabric, &prefixes)?;
        let names: Vec<String> =
            fabric.switches().iter().map(|&(device, _)| fabric.device_name(device)).collect();
        let mut builder =
            Builder { fabric, options, prefixes, addresses, asns, offsets, names, loopbacks: LOOPBACKS };
        let rows = 0..fabric.switches().len() as u32;
        let mut switches = rows.map(|row| builder.switch(row)).collect::<Result<Vec<_>, _>>()?;
        if options.pinned {
            builder.pin(&mut switches)?;
        }
        let hosts =
            (0..fabric.all_hosts().len()).map(|host| builder.host(HostId::from_index(host))).collect();
        Ok(Self { fabric: fabric.name().to_owned(), switches, hosts, lossless: options.lossless })
    }
}

fn error(fabric: &Fabric, field: &str, problem: String, accepted: &str) -> FormatError {
    FormatError::new("switch configuration", fabric.name(), problem, accepted).field(field)
}

const LOOPBACKS: AddressBlock = AddressBlock::new([172, 16, 0, 0], 12, "loopbacks").after_first();

/// Addresses of NICs and cables.
struct Addresses {
    /// By prefix: its network.
    subnets: Vec<Subnet>,
    /// By prefix: how many NICs it has.
    sizes: Vec<u32>,
    /// By device: its place among the NICs of its prefix, [`NONE`] for others.
    place: Vec<u32>,
    /// By cable: its /31, where it joins switches.
    links: Vec<Option<Subnet>>,
}

impl Addresses {
    fn new(fabric: &Fabric, prefixes: &Prefixes) -> Result<Self, FormatError> {
        let mut sizes = vec![0; prefixes.len()];
        let mut place = vec![NONE; fabric.device_count()];
        for nic in fabric.devices() {
            if let Some(prefix) = prefixes.prefix_of(nic) {
                place[nic.index()] = sizes[prefix.index()];
                sizes[prefix.index()] += 1;
            }
        }
        let mut hosts = AddressBlock::new([10, 0, 0, 0], 8, "hosts");
        let mut subnets = Vec::new();
        for &size in &sizes {
            // The network's own address, the gateway and the broadcast are no host's.
            let bits = (u64::from(size) + 3).next_power_of_two().trailing_zeros().max(8);
            subnets.push(hosts.take(fabric.name(), 32 - bits.min(24) as u8)?);
        }
        let mut cables = AddressBlock::new([100, 64, 0, 0], 10, "cables between switches");
        let mut links = vec![None; fabric.cable_count()];
        for cable in fabric.cables() {
            let ends = fabric.cable_ports(cable).map(|port| fabric.place(fabric.port_device(port)));
            if ends.iter().all(Option::is_some) {
                links[cable.index()] = Some(cables.take(fabric.name(), 31)?);
            }
        }
        Ok(Self { subnets, sizes, place, links })
    }

    fn nic(&self, nic: DeviceId, prefix: PrefixId) -> Ipv4Addr {
        self.subnets[prefix.index()].address(self.place[nic.index()] + 2)
    }
}

/// AS number of each switch, by row.
fn as_numbers(fabric: &Fabric) -> Result<Vec<u32>, FormatError> {
    let key = |row: usize| {
        let (_, place) = &fabric.switches()[row];
        match place.tier {
            1 | 4 => (place.tier, row as u32, 0),
            2 | 5 => (place.tier, place.pod, place.plane),
            tier => (tier, 0, 0),
        }
    };
    let rows = 0..fabric.switches().len();
    let groups: Vec<_> = rows.clone().map(key).collect::<BTreeSet<_>>().into_iter().collect();
    let needed = groups.len() as u64;
    let (first, _) = [PRIVATE_2, PRIVATE_4]
        .into_iter()
        .find(|&(first, last)| needed <= u64::from(last - first) + 1)
        .ok_or_else(|| {
            let problem = format!("{needed} are needed, more than there are private ones");
            error(fabric, "AS numbers", problem, "export a smaller fabric, such as one pod")
        })?;
    let number = |row| groups.binary_search(&key(row)).map_or(first, |at| first + at as u32);
    Ok(rows.map(number).collect())
}

/// Port offset of each leaf that shares a NIC with another leaf, by row: other than those of all leaves that it shares NICs
/// with.
fn port_offsets(fabric: &Fabric, prefixes: &Prefixes) -> Result<Vec<Option<u16>>, FormatError> {
    let mut partners: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); fabric.switches().len()];
    for prefix in 0..prefixes.len() {
        let leaves = prefixes.leaves(PrefixId::from_index(prefix));
        for &leaf in leaves {
            partners[leaf as usize].extend(leaves.iter().filter(|&&other| other != leaf));
        }
    }
    let ports = |row: usize| fabric.ports(fabric.switches()[row].0).count() as u32;
    let most = (0..partners.len()).filter(|&row| !partners[row].is_empty()).map(ports).max().unwrap_or(0);
    let step = OFFSET_STEP.max(most.next_multiple_of(100));
    let mut offsets: Vec<Option<u16>> = vec![None; partners.len()];
    for row in 0..partners.len() {
        if partners[row].is_empty() {
            continue;
        }
        let taken: Vec<u16> = partners[row].iter().filter_map(|&other| offsets[other as usize]).collect();
        let free = (1..)
            .map(|times| step * times)
            .find(|&offset| !taken.iter().any(|&one| u32::from(one) == offset));
        let offset = free.filter(|offset| offset + most <= u32::from(u16::MAX)).ok_or_else(|| {
            let problem = format!(
                "{most} ports of a leaf and {} leaves of a set need more than 65,535",
                taken.len() + 1
            );
            error(fabric, "LACP port ids", problem, "use leaves with fewer ports")
        })?;
        offsets[row] = Some(offset as u16);
    }
    Ok(offsets)
}

struct Builder<'a> {
    fabric: &'a Fabric,
    options: &'a PlanOptions,
    prefixes: Prefixes,
    addresses: Addresses,
    asns: Vec<u32>,
    offsets: Vec<Option<u16>>,
    names: Vec<String>,
    loopbacks: AddressBlock,
}

impl Builder<'_> {
    fn switch(&mut self, row: u32) -> Result<SwitchPlan, FormatError> {
        let fabric = self.fabric;
        let (device, place) = &fabric.switches()[row as usize];
        let loopback = self.loopbacks.take(fabric.name(), 32)?.network;
        let mut roles = [0_u32; 2];
        let (mut ports, mut attachments) = (Vec::new(), Vec::<Attachment>::new());
        let mut subnets = BTreeSet::new();
        for port in fabric.ports(*device) {
            let interface = linux_name(fabric.port_role(port), &mut roles);
            let Some(cable) = fabric.cable_at(port) else { continue };
            let far = fabric.target(fabric.link_from(cable, port));
            if let Some(planned) = self.fabric_port(port, cable, &interface) {
                ports.push(planned);
            } else if fabric.kind(far) == DeviceKind::Nic {
                self.attach((port, interface), cable, far, &mut attachments, &mut subnets)?;
            }
        }
        let dual_tor = self.offsets[row as usize].map(|port_offset| DualTor {
            system_id: SYSTEM_ID.to_owned(),
            port_offset,
            gateway_mac: GATEWAY_MAC.to_owned(),
        });
        Ok(SwitchPlan {
            name: self.names[row as usize].clone(),
            tier: place.tier,
            asn: self.asns[row as usize],
            loopback,
            hash_seed: self.options.ecmp.spec_at(place, row).seed,
            ports,
            attachments,
            subnets: subnets.into_iter().collect(),
            dual_tor,
            pinned: Vec::new(),
            timers: self.options.timers,
        })
    }

    /// A port towards another switch; none where its cable leads to a NIC.
    fn fabric_port(&self, port: PortId, cable: CableId, interface: &str) -> Option<FabricPort> {
        let fabric = self.fabric;
        let link = self.addresses.links[cable.index()]?;
        let ends = fabric.cable_ports(cable);
        let far = if ends[0] == port { ends[1] } else { ends[0] };
        let row = fabric.switch_row(fabric.port_device(far))?;
        let side = u32::from(ends[1] == port);
        let first = fabric.ports(fabric.port_device(far)).next()?;
        let before = (first.0..far.0)
            .filter(|&other| role_name(fabric.port_role(PortId(other))) == role_name(fabric.port_role(far)))
            .count();
        Some(FabricPort {
            port: fabric.port_index(port),
            interface: interface.to_owned(),
            address: link.address(side),
            peer: self.names[row as usize].clone(),
            peer_interface: format!("{}{before}", role_name(fabric.port_role(far))),
            peer_address: link.address(1 - side),
            peer_asn: self.asns[row as usize],
            capacity: fabric.capacity(cable.forward()),
            metres: metres(fabric, cable),
        })
    }

    fn attach(
        &self,
        (port, interface): (PortId, String),
        cable: CableId,
        nic: DeviceId,
        attachments: &mut Vec<Attachment>,
        subnets: &mut BTreeSet<Subnet>,
    ) -> Result<(), FormatError> {
        let fabric = self.fabric;
        let Some(prefix) = self.prefixes.prefix_of(nic) else { return Ok(()) };
        subnets.insert(self.addresses.subnets[prefix.index()]);
        let address = self.addresses.nic(nic, prefix);
        let member = (fabric.port_index(port), interface.clone());
        // The ports of a NIC on one leaf stand together as a rule, so the search is short.
        if let Some(known) = attachments.iter_mut().rev().find(|known| known.address == address) {
            known.members.push(member);
            return Ok(());
        }
        let lacp_key = match network_ports(fabric, nic).count() {
            0 | 1 => None,
            _ => Some(self.lacp_key(nic, prefix)?),
        };
        let bond = interface.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        attachments.push(Attachment {
            interface: if lacp_key.is_some() { format!("bond{bond}") } else { interface },
            members: vec![member],
            nic: fabric.device_name(nic),
            address,
            lacp_key,
            capacity: fabric.capacity(cable.forward()),
            metres: metres(fabric, cable),
        });
        Ok(())
    }

    /// The place of the NIC among those of its set of leaves, from 1: the same in all of them.
    fn lacp_key(&self, nic: DeviceId, prefix: PrefixId) -> Result<u16, FormatError> {
        let place = self.addresses.place[nic.index()];
        u16::try_from(place + 1).map_err(|_| {
            let problem = format!(
                "a set of leaves has {} NICs, more than 65,535",
                self.addresses.sizes[prefix.index()]
            );
            error(self.fabric, "LACP keys", problem, "use smaller sets of leaves")
        })
    }

    fn host(&self, host: HostId) -> HostPlan {
        let fabric = self.fabric;
        let model = fabric.host_model(host);
        let nic = |index: u32| {
            let nic = fabric.nic(host, index);
            let prefix = self.prefixes.prefix_of(nic)?;
            let name = fabric.device_name(nic);
            let leaf =
                |link| fabric.switch_row(fabric.target(link)).map(|row| self.names[row as usize].clone());
            Some(HostNic {
                name: name.rsplit('/').next().unwrap_or(&name).to_owned(),
                ports: network_ports(fabric, nic).count() as u32,
                leaves: network_ports(fabric, nic).filter_map(leaf).collect(),
                address: self.addresses.nic(nic, prefix),
                subnet: self.addresses.subnets[prefix.index()],
                is_frontend: index >= model.nics,
            })
        };
        HostPlan {
            name: fabric.host_name(host),
            nics: (0..model.nics + model.frontend_nics).filter_map(nic).collect(),
        }
    }

    /// Gives each leaf of the backend a route to each NIC that is not its own, by the uplink of the NIC's slice: the index
    /// of the port that leads to the NIC at its first leaf (Meta RoCE section 4.1.2).
    fn pin(&self, switches: &mut [SwitchPlan]) -> Result<(), FormatError> {
        let fabric = self.fabric;
        let mut targets: Vec<(Ipv4Addr, PrefixId, u32)> = Vec::new();
        for nic in fabric.devices() {
            let backend = network_ports(fabric, nic)
                .next()
                .filter(|&link| fabric.place(fabric.target(link)).is_some_and(|place| place.tier == 1));
            if let (Some(link), Some(prefix)) = (backend, self.prefixes.prefix_of(nic)) {
                let far = fabric.cable_ports(link.cable())[1];
                targets.push((self.addresses.nic(nic, prefix), prefix, fabric.port_index(far)));
            }
        }
        let leaves = switches.iter().filter(|switch| switch.tier == 1).count() as u64;
        let routes = leaves * targets.len() as u64;
        if routes > MOST_PINNED {
            let problem =
                format!("{leaves} leaves and {} NICs make {routes}, more than {MOST_PINNED}", targets.len());
            return Err(error(
                fabric,
                "pinned routes",
                problem,
                "pin paths of a smaller fabric, such as one with fewer segments",
            ));
        }
        for (row, switch) in (0_u32..).zip(switches.iter_mut()).filter(|(_, switch)| switch.tier == 1) {
            let up: Vec<u32> =
                (0..).zip(&switch.ports).filter(|(_, port)| port.is_up()).map(|(at, _)| at).collect();
            if up.is_empty() {
                continue;
            }
            let remote =
                targets.iter().filter(|(_, prefix, _)| !self.prefixes.leaves(*prefix).contains(&row));
            let route = |&(target, _, slice): &(Ipv4Addr, PrefixId, u32)| PinnedRoute {
                target,
                port: up[slice as usize % up.len()],
            };
            switch.pinned = remote.map(route).collect();
            switch.pinned.sort_by_key(|route| route.target);
        }
        Ok(())
    }
}

/// Links of a NIC into its network, in order of ports.
fn network_ports(fabric: &Fabric, nic: DeviceId) -> impl Iterator<Item = railtwin_fabric::LinkId> + '_ {
    let ports = (fabric.kind(nic) == DeviceKind::Nic).then(|| fabric.ports(nic)).into_iter().flatten();
    let network = ports.filter(|&port| fabric.port_role(port).is_network());
    network.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)))
}

/// Length of a cable, rounded up.
fn metres(fabric: &Fabric, cable: CableId) -> u32 {
    let metres = fabric.delay(cable.forward()).ps().div_ceil(NS_PER_METRE * 1_000);
    u32::try_from(metres).unwrap_or(u32::MAX)
}

fn role_name(role: PortRole) -> &'static str {
    if role == PortRole::Up { "up" } else { "down" }
}

/// The name of the next port of a role; `counts` are those of `up` and `down` so far.
fn linux_name(role: PortRole, counts: &mut [u32; 2]) -> String {
    let count = &mut counts[usize::from(role != PortRole::Up)];
    *count += 1;
    format!("{}{}", role_name(role), *count - 1)
}

#[cfg(test)]
mod tests;

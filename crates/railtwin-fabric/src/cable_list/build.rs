//! From a cable list to a fabric: the list says what the network is, a design what it does not say.
use std::collections::BTreeMap;

use railtwin_units::Rate;

use super::infer::Inference;
use super::list::{CableList, CableNetwork, DeviceRole};
use super::names::{NaturalName, natural};
use crate::builder::{FabricBuilder, PortRun};
use crate::clos::{ACCESS_DELAY, LEAF_SPINE_DELAY, SPINE_CORE_DELAY, SWITCH_LATENCY};
use crate::error::FabricError;
use crate::frontend::{Network, service_model};
use crate::graph::{CableClass, DeviceId, Fabric, HostId, NONE, PortId, PortRole, SwitchPlace};
use crate::host::{HostModel, NicModel};
use crate::host_spec::HostSpec;

/// What a list does not say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CableDesign {
    /// What a host is; default hgx-h800 with the NICs of the list.
    pub host: HostSpec,
    /// Rate of cables without one; none refuses them.
    pub rate: Option<Rate>,
}

/// The fabric of a list.
#[derive(Clone, Debug)]
pub struct ListedFabric {
    /// The fabric: backend and frontend.
    pub fabric: Fabric,
    /// Names of the list that are other ones in the fabric: theirs and the fabric's.
    pub aliases: Vec<(String, String)>,
    /// What of the list is not in the fabric.
    pub notes: Vec<String>,
}

impl CableList {
    /// Builds the fabric. Hosts stand in natural order of their names, those without GPUs after the others; cables keep the
    /// order of the list.
    ///
    /// # Errors
    /// [`FabricError`] for a list without hosts with GPUs, a cable without a rate, and hosts that `design` has otherwise.
    pub fn fabric(&self, found: &Inference, design: &CableDesign) -> Result<ListedFabric, FabricError> {
        Layout::of(self, found, design)?.build()
    }
}

/// A list on its way to a fabric.
struct Layout<'a> {
    list: &'a CableList,
    found: &'a Inference,
    design: &'a CableDesign,
    /// Natural order of devices.
    order: Vec<NaturalName>,
    /// Port of the fabric by row of the list; none of what is not in it.
    ports: Vec<Option<PortId>>,
    hosts: Vec<Option<HostId>>,
    switches: Vec<Option<DeviceId>>,
    /// Rows of host models.
    models: BTreeMap<String, u32>,
    notes: Vec<String>,
}

impl<'a> Layout<'a> {
    fn of(list: &'a CableList, found: &'a Inference, design: &'a CableDesign) -> Result<Self, FabricError> {
        let devices = list.devices().len();
        Ok(Self {
            list,
            found,
            design,
            order: list.devices().iter().map(|device| natural(&device.name)).collect(),
            ports: vec![None; list.ports().len()],
            hosts: vec![None; devices],
            switches: vec![None; devices],
            models: BTreeMap::new(),
            notes: Vec::new(),
        })
    }

    /// Devices that are accepted, in natural order.
    fn sorted(&self, accepts: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.list.devices().len() as u32).filter(|&row| accepts(row)).collect();
        rows.sort_by(|a, b| self.order[*a as usize].cmp(&self.order[*b as usize]).then(a.cmp(b)));
        rows
    }

    fn role(&self, device: u32) -> DeviceRole {
        self.found.places[device as usize].role
    }

    fn network(&self, device: u32) -> CableNetwork {
        self.found.places[device as usize].network
    }

    fn build(mut self) -> Result<ListedFabric, FabricError> {
        let mut builder = FabricBuilder::new(self.list.title.as_deref().unwrap_or("cables"));
        builder.set_switch_latency(self.list.switch_latency.unwrap_or(SWITCH_LATENCY));
        let with_gpus = self.sorted(|row| matches!(self.role(row), DeviceRole::Host | DeviceRole::SpareHost));
        if with_gpus.is_empty() {
            let accepted = "a fabric needs hosts with ports into the backend, such as gpu0 or nic-0:port-0";
            return Err(FabricError::range("hosts with GPUs of the list", 0, accepted));
        }
        for &host in &with_gpus {
            let model = self.model_of(host)?;
            self.add_host(&mut builder, host, model);
        }
        let services = |layout: &Self, network| {
            let of = |role| layout.sorted(|row| layout.role(row) == role && layout.network(row) == network);
            [of(DeviceRole::StorageHost), of(DeviceRole::Gateway)].concat()
        };
        for network in [CableNetwork::Backend, CableNetwork::Frontend] {
            for host in services(&self, network) {
                let model = self.service_model_of(host)?;
                self.add_host(&mut builder, host, model);
            }
            for tier in 1..=3 {
                let of_tier =
                    self.sorted(|row| self.network(row) == network && self.role(row).tier() == tier);
                for switch in of_tier {
                    self.add_switch(&mut builder, switch)?;
                }
            }
        }
        self.add_cables(&mut builder)?;
        self.note_others();
        let gateways = self.sorted(|row| self.role(row) == DeviceRole::Gateway);
        let gateways = gateways.into_iter().filter(|&row| self.hosts[row as usize].is_some()).count();
        let mut fabric = builder.finish()?;
        fabric.gateways = gateways;
        let aliases = self.aliases(&fabric);
        Ok(ListedFabric { fabric, aliases, notes: self.notes })
    }

    /// Capacity of a port: what the list says, or the design.
    fn rate(&self, port: u32) -> Result<Rate, FabricError> {
        let one = &self.list.ports()[port as usize];
        let accepted = "the list has no rate for it: write rate = \"400 Gbps\" in [fabric], or a column rate";
        one.rate.or(self.design.rate).ok_or_else(|| {
            let device = &self.list.devices()[one.device as usize].name;
            FabricError::range("rate of port", format!("{device} {}", one.name), accepted)
        })
    }

    /// NICs of a host in a network: NICs, ports of each, capacity.
    fn nics(&self, host: u32, network: CableNetwork) -> Result<(u32, NicModel), FabricError> {
        let (mut nics, mut ports, mut rate): (u32, u32, Option<Rate>) = (0, 0, None);
        for &port in &self.list.devices()[host as usize].ports {
            let site = self.found.sites[port as usize];
            if site.network != network {
                continue;
            }
            (nics, ports) = (nics.max(site.nic + 1), ports.max(site.port + 1));
            let own = self.rate(port)?;
            // A port that came up slower than its kin is a port of the same NIC; its cable has the rate of the slower end.
            rate = rate.max(Some(own));
        }
        let nic = NicModel { ports: ports.max(1), port_capacity: rate.unwrap_or(Rate::ZERO) };
        Ok((nics, nic))
    }

    /// The model of a host with GPUs.
    fn model_of(&mut self, host: u32) -> Result<HostModel, FabricError> {
        let base = self.design.host.over(HostModel::hgx_h800())?;
        let (nics, nic) = self.nics(host, CableNetwork::Backend)?;
        let (frontend_nics, frontend) = self.nics(host, CableNetwork::Frontend)?;
        let name = &self.list.devices()[host as usize].name;
        for (field, stated, found) in [
            ("host.nics", self.design.host.nics, nics),
            ("host.nic_ports", self.design.host.nic_ports, nic.ports),
        ] {
            if let Some(stated) = stated.filter(|stated| *stated != found) {
                let accepted = format!("{name} has {found} in the list: write {found}, or leave it away");
                return Err(FabricError::range(field, stated, accepted));
            }
        }
        let frontend = if frontend_nics > 0 { frontend } else { base.frontend };
        let model = HostModel { nics, nic, frontend_nics, frontend, ..base };
        model.check()?;
        Ok(model)
    }

    /// The model of a host without GPUs.
    fn service_model_of(&mut self, host: u32) -> Result<HostModel, FabricError> {
        let network = self.network(host);
        let (nics, nic) = self.nics(host, network)?;
        let on = if network == CableNetwork::Backend { Network::Backend } else { Network::Frontend };
        let model = service_model(&nic, on);
        Ok(match on {
            Network::Backend => HostModel { nics, ..model },
            Network::Frontend => HostModel { frontend_nics: nics, ..model },
        })
    }

    fn add_host(&mut self, builder: &mut FabricBuilder, row: u32, model: HostModel) {
        let key = format!("{model:?}");
        let model_row = *self.models.entry(key).or_insert_with(|| builder.add_host_model(model.clone()));
        let place = self.found.places[row as usize];
        let known = |value: u32| if value == NONE { 0 } else { value };
        let (pod, segment, index) = (known(place.pod), known(place.segment), known(place.index));
        let spare = place.role == DeviceRole::SpareHost;
        let host = builder.add_host(model_row, pod, segment, index, spare);
        self.hosts[row as usize] = Some(host);
        for &port in &self.list.devices()[row as usize].ports {
            let site = self.found.sites[port as usize];
            let (first, nics) = match site.network {
                CableNetwork::Backend => (0, model.nics),
                CableNetwork::Frontend => (model.nics, model.frontend_nics),
                _ => continue,
            };
            if site.nic < nics {
                self.ports[port as usize] = Some(builder.nic_port(host, first + site.nic, site.port));
            }
        }
    }

    /// Adds a switch: its ports towards hosts, those away from them, those to its like, each in natural order.
    fn add_switch(&mut self, builder: &mut FabricBuilder, row: u32) -> Result<(), FabricError> {
        let place = self.found.places[row as usize];
        let mut ports: Vec<(PortRole, NaturalName, u32)> = Vec::new();
        for &port in &self.list.devices()[row as usize].ports {
            if let Some(role) = self.port_role(row, port) {
                ports.push((role, natural(&self.list.ports()[port as usize].name), port));
            }
        }
        ports.sort();
        let mut runs: Vec<PortRun> = Vec::with_capacity(ports.len());
        for (role, _, port) in &ports {
            runs.push((1, self.rate(*port)?, *role));
        }
        let first = if place.network == CableNetwork::Frontend { 3 } else { 0 };
        let tier = first + place.role.tier();
        let (pod, segment, rail, plane, index) =
            (place.pod, place.segment, place.rail, place.plane, place.index);
        let device = builder.add_switch(SwitchPlace { tier, pod, segment, rail, plane, index }, &runs);
        self.switches[row as usize] = Some(device);
        for (number, (.., port)) in (0..).zip(ports) {
            self.ports[port as usize] = Some(builder.port(device, number));
        }
        Ok(())
    }

    /// Which way a port of a switch looks; none of what is not in the fabric: cables into other networks and between switches
    /// of one tier. Of the latter those stay whose ports are both called as ours are, `peer-0`.
    fn port_role(&self, row: u32, port: u32) -> Option<PortRole> {
        let own = &self.list.ports()[port as usize];
        let Some(peer) = self.list.peer(port) else {
            let is_up = own.name.to_ascii_lowercase().starts_with("up");
            let free = if is_up { PortRole::Up } else { PortRole::Down };
            return Some(if is_peer(&own.name) { PortRole::Peer } else { free });
        };
        let other = self.list.device_of(peer);
        let (own_tier, tier) = (self.role(row).tier(), self.role(other).tier());
        let network = if tier == 0 { self.found.sites[peer as usize].network } else { self.network(other) };
        if own_tier == tier && network == self.network(row) {
            let far = &self.list.ports()[peer as usize];
            return (is_peer(&own.name) && is_peer(&far.name)).then_some(PortRole::Peer);
        }
        let joins = own_tier.abs_diff(tier) == 1 && network == self.network(row);
        joins.then_some(if tier > own_tier { PortRole::Up } else { PortRole::Down })
    }

    fn add_cables(&mut self, builder: &mut FabricBuilder) -> Result<(), FabricError> {
        let mut left = 0;
        for cable in self.list.cables() {
            let [a, b] = cable.ports;
            let ends = [a, b].map(|port| self.ports[port as usize]);
            let ([Some(first), Some(second)], tiers) =
                (ends, [a, b].map(|port| self.role(self.list.device_of(port)).tier()))
            else {
                left += 1;
                continue;
            };
            let lower = tiers[0].min(tiers[1]);
            let ports = if tiers[0] <= tiers[1] { [first, second] } else { [second, first] };
            let high = self.list.device_of(if tiers[0] <= tiers[1] { b } else { a });
            let on = if self.network(high) == CableNetwork::Frontend {
                Network::Frontend
            } else {
                Network::Backend
            };
            let delay = cable.delay.unwrap_or(match lower {
                0 => ACCESS_DELAY,
                1 => LEAF_SPINE_DELAY,
                _ => SPINE_CORE_DELAY,
            });
            let class = on.cables()[usize::from(lower.min(2))];
            builder.add_cable(ports, if tiers[0] == tiers[1] { CableClass::Peer } else { class }, delay);
        }
        if left > 0 {
            self.notes.push(format!(
                "{left} cables of {} are not in the fabric: those of other networks, of frontend ports on leaves of the \
                 backend, and between switches of one tier",
                self.list.cables().len()
            ));
        }
        Ok(())
    }

    /// Notes devices of networks that a fabric does not have.
    fn note_others(&mut self) {
        for network in [CableNetwork::Storage, CableNetwork::OutOfBand] {
            let count = self.found.places.iter().filter(|place| place.network == network).count();
            if count > 0 {
                self.notes.push(format!("{count} devices of network {network} are not in the fabric"));
            }
        }
    }

    /// Names of devices that are others in the fabric.
    fn aliases(&self, fabric: &Fabric) -> Vec<(String, String)> {
        let named = |row: usize| {
            let of_host = self.hosts[row].map(|host| fabric.host_name(host));
            of_host.or_else(|| self.switches[row].map(|switch| fabric.device_name(switch)))
        };
        let all = self.list.devices().iter().enumerate();
        all.filter_map(|(row, device)| Some((device.name.clone(), named(row)?)))
            .filter(|(theirs, ours)| theirs != ours)
            .collect()
    }
}

/// Whether a port is called as those of ours that lead to switches of the same tier.
fn is_peer(name: &str) -> bool {
    name.strip_prefix("peer-").is_some_and(|number| number.parse::<u32>().is_ok())
}

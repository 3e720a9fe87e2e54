//! The backend of a topology as simulators see it: GPUs of hosts, their NICs, switches by tier, cables among them.
use railtwin_fabric::cable_list::{CableNetwork, DeviceRole, Inference};
use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime};

use crate::topology::Topology;

/// Delay of cables of which nothing is known: that of SimAI's templates (`0.0005ms`).
pub(crate) const UNKNOWN_DELAY: SimTime = SimTime::from_ns(500);

/// An end of a cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    /// NIC of a host, and port of the NIC; the host by its row in [`Backend::hosts`].
    Nic {
        /// The host.
        host: u32,
        /// NIC among those of the host.
        nic: u32,
        /// Port of the NIC.
        port: u32,
    },
    /// A switch, by its row in [`Backend::switches`].
    Switch(u32),
}

/// A cable of the backend.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BackendCable {
    /// Its ends; a host stands first.
    pub ends: [End; 2],
    /// Rate, where the topology has one.
    pub rate: Option<Rate>,
    /// Delay, where the topology has one.
    pub delay: Option<SimTime>,
}

/// A host with GPUs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BackendHost {
    /// Row of the device in the list.
    pub device: u32,
    /// NICs in the backend.
    pub nics: u32,
    /// GPUs; where nothing tells them, one for each NIC.
    pub gpus: u32,
}

/// The backend of a topology. Storage hosts, gateways, and cables of other networks are not in it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Backend {
    /// Hosts with GPUs, backup hosts behind the others.
    pub hosts: Vec<BackendHost>,
    /// Switches by tier, in the order of the list: tier, row of the device in the list.
    pub switches: Vec<(u8, u32)>,
    /// Cables in the order of the list.
    pub cables: Vec<BackendCable>,
}

impl Backend {
    /// The backend of a topology, for a form whose name is in errors.
    ///
    /// # Errors
    /// [`FormatError`] for a tree, for devices whose role nothing tells, and for a topology without hosts with GPUs.
    pub fn of(form: &'static str, topology: &Topology) -> Result<Self, FormatError> {
        if topology.is_tree {
            let accepted = "give a topology with ports and cables";
            return Err(refused(form, topology, "a tree of a scheduler has no cables", accepted));
        }
        let found = Inference::of(&topology.list).map_err(|error| {
            refused(form, topology, error.to_string(), "name roles of devices, or give names with roles")
        })?;
        let mut backend = Self { hosts: Vec::new(), switches: Vec::new(), cables: Vec::new() };
        let devices = found.places.len();
        let (mut host_of, mut switch_of) = (vec![None; devices], vec![None; devices]);
        for role in [DeviceRole::Host, DeviceRole::SpareHost] {
            for (device, place) in (0_u32..).zip(&found.places).filter(|(_, place)| place.role == role) {
                if place.network != CableNetwork::Backend {
                    continue;
                }
                host_of[device as usize] = Some(backend.hosts.len() as u32);
                backend.hosts.push(host(topology, &found, device));
            }
        }
        if backend.hosts.is_empty() {
            let accepted = "give a topology of hosts with NICs in the backend";
            return Err(refused(form, topology, "no host has GPUs", accepted));
        }
        let of_tier = (0_u32..).zip(&found.places).filter_map(|(device, place)| {
            let tier = topology.tier(device).unwrap_or(place.role.tier());
            (place.role.tier() > 0 && place.network == CableNetwork::Backend).then_some((tier, device))
        });
        backend.switches = of_tier.collect();
        backend.switches.sort_by_key(|&(tier, _)| tier);
        for (row, &(_, device)) in (0..).zip(&backend.switches) {
            switch_of[device as usize] = Some(row);
        }
        let end = |port: u32| -> Option<End> {
            let device = topology.list.device_of(port) as usize;
            let site = found.sites[port as usize];
            if site.network != CableNetwork::Backend {
                return None;
            }
            let nic = host_of[device].map(|host| End::Nic { host, nic: site.nic, port: site.port });
            nic.or_else(|| switch_of[device].map(End::Switch))
        };
        for cable in topology.list.cables() {
            let [Some(a), Some(b)] = cable.ports.map(end) else { continue };
            let rate = cable.ports.iter().find_map(|&port| topology.list.ports()[port as usize].rate);
            let ends = if a <= b { [a, b] } else { [b, a] };
            backend.cables.push(BackendCable { ends, rate, delay: cable.delay });
        }
        Ok(backend)
    }

    /// GPUs of every host.
    ///
    /// # Errors
    /// [`FormatError`] where hosts differ.
    pub fn gpus_of_each(&self, form: &'static str, topology: &Topology) -> Result<u32, FormatError> {
        let gpus = self.hosts[0].gpus;
        match self.hosts.iter().find(|host| host.gpus != gpus) {
            None => Ok(gpus),
            Some(other) => {
                let name = &topology.list.devices()[other.device as usize].name;
                let problem = format!("host {name} has {} GPUs, others have {gpus}", other.gpus);
                Err(refused(form, topology, problem, "the form has one count of GPUs for all hosts"))
            }
        }
    }

    /// Name of an end for messages.
    pub fn name(&self, topology: &Topology, end: End) -> String {
        let device = |row: u32| topology.list.devices()[row as usize].name.clone();
        match end {
            End::Nic { host, nic, port } => {
                format!("{}/nic-{nic}:port-{port}", device(self.hosts[host as usize].device))
            }
            End::Switch(row) => device(self.switches[row as usize].1),
        }
    }

    /// Rate of a cable.
    ///
    /// # Errors
    /// [`FormatError`] where the topology has none.
    pub fn rate(
        &self,
        form: &'static str,
        topology: &Topology,
        cable: &BackendCable,
    ) -> Result<Rate, FormatError> {
        cable.rate.ok_or_else(|| {
            let [a, b] = cable.ends.map(|end| self.name(topology, end));
            let problem = format!("the cable from {a} to {b} has no rate");
            refused(form, topology, problem, "the form needs rates: give a topology that has them")
        })
    }
}

fn host(topology: &Topology, found: &Inference, device: u32) -> BackendHost {
    let ports = &topology.list.devices()[device as usize].ports;
    let sites = ports.iter().map(|&port| found.sites[port as usize]);
    let nics = sites.filter(|site| site.network == CableNetwork::Backend).map(|site| site.nic + 1).max();
    let nics = nics.unwrap_or(0);
    BackendHost { device, nics, gpus: topology.about[device as usize].gpus.unwrap_or(nics.max(1)) }
}

/// An error of a writer: what the form cannot express of a topology.
pub(crate) fn refused(
    form: &'static str,
    topology: &Topology,
    problem: impl Into<String>,
    accepted: impl Into<String>,
) -> FormatError {
    FormatError::new(form, topology.list.title.as_deref().unwrap_or("topology"), problem, accepted)
}

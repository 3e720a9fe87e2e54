//! Settings of hosts, each with the reason for it.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use railtwin_fabric::cable_list::{CableNetwork, Inference, natural};
use railtwin_formats::FormatError;
use railtwin_formats::switch_config::LosslessClass;
use railtwin_formats::switch_config::hosts::nic_interfaces;

use crate::form::{WriteOptions, Written};
use crate::forms::backend::{Backend, End};
use crate::topology::Topology;

/// Beginnings of names of RDMA devices under Linux (rdma-core's drivers and its persistent names).
const RDMA_NAMES: [&str; 11] =
    ["mlx5", "mlx4", "bnxt_re", "irdma", "hns", "erdma", "efa", "rdmap", "roce", "ibp", "ibs"];

/// Writes `HOST/nccl.conf` for each host with GPUs.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let backend = Backend::of("nccl-env", topology)?;
    let found = Inference::of(&topology.list).map_err(|error| {
        FormatError::new("nccl-env", "topology", error.to_string(), "name roles of devices")
    })?;
    let rails = Rails::of(&backend);
    let mut domains: BTreeMap<&str, u32> = BTreeMap::new();
    for host in &backend.hosts {
        if let Some(domain) = topology.about[host.device as usize].domain.as_deref() {
            *domains.entry(domain).or_default() += 1;
        }
    }
    let hosts = (0_u32..).zip(&backend.hosts).map(|(row, host)| {
        let name = &topology.list.devices()[host.device as usize].name;
        let nics = nics(topology, &found, host.device, CableNetwork::Backend);
        let frontend = nics_of_frontend(topology, &found, host.device, nics.len());
        let mut text = format!("# NCCL of {name}: what follows from its network.\n");
        adapters(&mut text, &nics);
        if let Some((interface, why)) = frontend {
            setting(&mut text, &format!("NCCL_SOCKET_IFNAME={interface}"), &why);
        }
        let (cross, why) = rails.cross_nic(row);
        setting(&mut text, &format!("NCCL_CROSS_NIC={cross}"), why);
        transport(&mut text, topology, &nics);
        let domain = topology.about[host.device as usize].domain.as_deref();
        if let Some(&hosts) = domain.and_then(|domain| domains.get(domain)).filter(|hosts| **hosts > 1) {
            let why = format!("Its scale-up domain has {hosts} hosts: NVLink reaches GPUs of other hosts.");
            setting(&mut text, "NCCL_MNNVL_ENABLE=1", &why);
        }
        text.push_str(
            "# A virtual machine may hide PCIe: then give NCCL the topology of the host. Bare metal needs none.\n\
             #NCCL_TOPO_FILE=/etc/nccl/topo.xml\n",
        );
        Written { path: format!("{}/nccl.conf", file_name(name)), text }
    });
    Ok(hosts.collect())
}

/// A name that is safe as that of a folder.
fn file_name(name: &str) -> String {
    let safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let safe: String = name.chars().map(|letter| if safe(letter) { letter } else { '_' }).collect();
    if safe.trim_matches('.').is_empty() { format!("_{safe}") } else { safe }
}

fn setting(text: &mut String, line: &str, why: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "# {why}\n{line}");
}

/// NICs of a host in a network, in the order of NICs: name, ports.
fn nics(topology: &Topology, found: &Inference, host: u32, network: CableNetwork) -> Vec<(String, u32)> {
    let mut nics: BTreeMap<u32, (BTreeSet<&str>, u32)> = BTreeMap::new();
    for &port in &topology.list.devices()[host as usize].ports {
        let site = found.sites[port as usize];
        if site.network == network {
            let nic = nics.entry(site.nic).or_default();
            nic.0.insert(nic_of(&topology.list.ports()[port as usize].name));
            nic.1 += 1;
        }
    }
    let name = |names: BTreeSet<&str>| {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_by_key(|name| natural(name));
        names.into_iter().next().unwrap_or("").to_owned()
    };
    nics.into_values().map(|(names, ports)| (name(names), ports)).collect()
}

/// Name of the NIC in that of its port: `mlx5_3` of `mlx5_3/1`, `nic-1` of `nic-1:port-0`.
fn nic_of(port: &str) -> &str {
    match port.rsplit_once([':', '/']) {
        Some((nic, number))
            if !nic.is_empty() && number.ends_with(|letter: char| letter.is_ascii_digit()) =>
        {
            nic
        }
        _ => port,
    }
}

/// The interface for NCCL's sockets, and why: that of the frontend.
fn nics_of_frontend(
    topology: &Topology,
    found: &Inference,
    host: u32,
    backend: usize,
) -> Option<(String, String)> {
    let frontend = nics(topology, found, host, CableNetwork::Frontend);
    let (name, ports) = frontend.first()?;
    let interface = match name.starts_with("frontend-nic") {
        true => nic_interfaces(backend, *ports).0,
        false => name.clone(),
    };
    Some((interface, format!("Sockets of bootstrap go over {name}, not over NICs of rails.")))
}

fn adapters(text: &mut String, nics: &[(String, u32)]) {
    let names: Vec<&str> =
        nics.iter().map(|(name, _)| name.as_str()).filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return;
    }
    let is_rdma = names.iter().all(|name| RDMA_NAMES.iter().any(|begin| name.starts_with(begin)));
    let mut why =
        "RDMA devices of the backend, in the order of rails; others, such as the frontend's, are left out."
            .to_owned();
    if !is_rdma {
        why.push_str("\n# The names are those of the topology: write what `rdma link` shows in their place.");
    }
    setting(text, &format!("NCCL_IB_HCA=={}", names.join(",")), &why);
}

/// Settings of RoCE, and of NICs with several ports.
fn transport(text: &mut String, topology: &Topology, nics: &[(String, u32)]) {
    let is_infiniband = topology.form.starts_with("ib");
    if !is_infiniband {
        setting(
            text,
            "NCCL_IB_GID_INDEX=3",
            "RoCE v2 with the IPv4 address, as drivers number GIDs of a port with one address.",
        );
        let class = LosslessClass::default();
        let why = format!(
            "Traffic class: DSCP {} and ECN-capable, the lossless class of the switches.",
            class.dscp
        );
        setting(text, &format!("NCCL_IB_TC={}", class.traffic_class()), &why);
    }
    let ports = nics.iter().map(|(_, ports)| *ports).max().unwrap_or(1);
    if ports > 1 && !is_infiniband {
        let why = format!(
            "A NIC is a bond of {ports} ports: one queue pair for each port at least, as each stays on one."
        );
        setting(text, &format!("NCCL_IB_QPS_PER_CONNECTION={ports}"), &why);
    }
}

/// How NICs of hosts meet in the network.
struct Rails {
    /// Leaves of each host, by NIC.
    leaves: BTreeMap<u32, BTreeMap<u32, BTreeSet<u32>>>,
    /// Set of switches that cables join, by switch.
    set_of: Vec<u32>,
}

impl Rails {
    fn of(backend: &Backend) -> Self {
        let mut leaves: BTreeMap<u32, BTreeMap<u32, BTreeSet<u32>>> = BTreeMap::new();
        let mut next_to: Vec<Vec<u32>> = vec![Vec::new(); backend.switches.len()];
        for cable in &backend.cables {
            match cable.ends {
                [End::Nic { host, nic, .. }, End::Switch(leaf)] => {
                    leaves.entry(host).or_default().entry(nic).or_default().insert(leaf);
                }
                [End::Switch(a), End::Switch(b)] => {
                    next_to[a as usize].push(b);
                    next_to[b as usize].push(a);
                }
                _ => {}
            }
        }
        let mut set_of = vec![u32::MAX; next_to.len()];
        for first in 0..next_to.len() {
            let mut front = vec![first as u32];
            while let Some(switch) = front.pop() {
                if set_of[switch as usize] == u32::MAX {
                    set_of[switch as usize] = first as u32;
                    front.extend(&next_to[switch as usize]);
                }
            }
        }
        Self { leaves, set_of }
    }

    /// Value of `NCCL_CROSS_NIC` for a host, and why.
    fn cross_nic(&self, host: u32) -> (u8, &'static str) {
        let Some(nics) = self.leaves.get(&host) else {
            return (2, "Nothing tells rails: NCCL's default.");
        };
        let under: BTreeSet<&BTreeSet<u32>> = nics.values().collect();
        let sets =
            nics.values().map(|leaves| leaves.iter().map(|&leaf| self.set_of[leaf as usize]).collect());
        let sets: BTreeSet<BTreeSet<u32>> = sets.collect();
        if under.len() < 2 {
            return (1, "All NICs are under the same leaves: rings and trees may use any of them.");
        }
        if sets.len() > 1 {
            return (0, "Rails are not joined: a ring has to stay on the NIC of its rail.");
        }
        (2, "Rails are joined above the leaves: stay on the rail where that costs nothing.")
    }
}

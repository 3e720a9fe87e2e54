//! Findings of a host.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_units::Rate;

use super::host::{NcclDeviceKind, NcclHost, NcclNic};
use super::pcie::NcclPcieLink;
use crate::topology::TopologyFinding;

impl NcclHost {
    /// Notes a finding.
    pub(super) fn find(&mut self, kind: &'static str, device: impl Into<String>, seen: impl Into<String>) {
        self.findings.push(TopologyFinding { kind, device: device.into(), seen: seen.into() });
    }

    /// Name of a NIC for people: of its first port, else its bus id.
    pub(super) fn nic_name(&self, nic: &NcclNic) -> String {
        let named = nic.nets.iter().find_map(|(_, net)| net.name());
        let bus = nic.devices.first().map(|&device| self.devices[device as usize].bus.as_str());
        named.or(bus).unwrap_or("NIC").to_owned()
    }
}

/// Enters what is found.
pub(super) fn enter(host: &mut NcclHost) {
    hosts(host);
    names(host);
    nearness(host);
    rates(host);
    generations(host);
    guids(host);
    nvlinks(host);
}

/// NCCL joins the files of all hosts of a scale-up domain, which then differ in their hashes.
fn hosts(host: &mut NcclHost) {
    let hashes =
        host.cpus.iter().flat_map(|cpu| cpu.attributes.iter().filter(|(name, _)| name == "host_hash"));
    let hashes: BTreeSet<&str> = hashes.map(|(_, hash)| hash.as_str()).collect();
    if hashes.len() > 1 {
        let (name, seen) =
            (host.name.clone(), format!("the file joins {} hosts, taken as one here", hashes.len()));
        host.find("several-hosts", name, seen);
    }
}

fn names(host: &mut NcclHost) {
    let (mut seen, mut twice, mut unknown) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for device in &host.devices {
        if !device.bus.is_empty() && !seen.insert(device.bus.as_str()) {
            twice.insert(device.bus.clone());
        }
        if device.kind == NcclDeviceKind::Other && device.attribute("class").is_none() {
            unknown.push(device.bus.clone());
        }
    }
    for bus in twice {
        host.find("duplicate-name", bus, "two PCI devices have this busid");
    }
    for bus in unknown {
        host.find("unknown-device", bus, "the file does not tell the class of the PCI device");
    }
    if host.gpus.is_empty() {
        let name = host.name.clone();
        host.find("missing-gpu", name, "no PCI device is told to be a GPU");
    }
}

/// GPUs whose NUMA node has no NIC, where others have one.
fn nearness(host: &mut NcclHost) {
    let with_nic: BTreeSet<Option<u32>> = host.nics.iter().map(|nic| nic.cpu).collect();
    let far = host.gpus.iter().map(|gpu| &host.devices[gpu.device as usize]);
    let far = far.filter(|device| !with_nic.is_empty() && !with_nic.contains(&device.cpu));
    let far: Vec<String> = far.map(|device| device.bus.clone()).collect();
    for bus in far {
        host.find("gpu-without-near-nic", bus, "no NIC is on the NUMA node of this GPU");
    }
}

/// Told rate of all ports of a NIC, and of the PCIe link of its first function.
fn nic_rates(host: &NcclHost, nic: &NcclNic) -> Option<(Rate, Rate)> {
    let mbps = nic.nets.iter().map(|(_, net)| net.speed_mbps()).sum::<Option<u64>>()?;
    let link = host.devices[*nic.devices.first()? as usize].link;
    // Lanes that nothing tells say nothing of a rate.
    link.width?;
    Some((Rate::from_bits_per_s(mbps.checked_mul(1_000_000)?), link.rate()?)).filter(|_| mbps > 0)
}

fn rates(host: &mut NcclHost) {
    let found: Vec<(&'static str, String, String)> = host
        .nics
        .iter()
        .filter_map(|nic| {
            let (ports, link) = nic_rates(host, nic)?;
            let name = host.nic_name(nic);
            if ports > link {
                return Some((
                    "pcie-below-nic",
                    name,
                    format!("its ports have {ports}, and its PCIe link {link}"),
                ));
            }
            let slow = ports.bits_per_s().saturating_mul(2) <= link.bits_per_s();
            slow.then(|| {
                (
                    "nic-below-pcie",
                    name,
                    format!("its ports have {ports}, half of its PCIe link of {link} or less"),
                )
            })
        })
        .collect();
    for (kind, device, seen) in found {
        host.find(kind, device, seen);
    }
}

/// GPUs, or NICs of one device and rate, whose PCIe links differ.
fn generations(host: &mut NcclHost) {
    let mut speeds: BTreeMap<u32, u64> = BTreeMap::new();
    for (device, net) in host.nics.iter().flat_map(|nic| &nic.nets) {
        if let Some(device) = device {
            *speeds.entry(*device).or_default() += net.speed_mbps().unwrap_or(0).min(1 << 32);
        }
    }
    let mut links: BTreeMap<(NcclDeviceKind, Option<&str>, u64), BTreeMap<NcclPcieLink, u32>> =
        BTreeMap::new();
    for (row, device) in (0_u32..).zip(&host.devices).filter(|(_, device)| device.link.speed.is_some()) {
        let (model, speed) = match device.kind {
            NcclDeviceKind::Gpu => (None, 0),
            NcclDeviceKind::Nic => (device.attribute("device"), speeds.get(&row).copied().unwrap_or(0)),
            _ => continue,
        };
        *links.entry((device.kind, model, speed)).or_default().entry(device.link).or_default() += 1;
    }
    let mut found = Vec::new();
    for ((kind, ..), links) in links.into_iter().filter(|(_, links)| links.len() > 1) {
        let what = if kind == NcclDeviceKind::Gpu { "GPUs" } else { "NICs" };
        let each = links.into_iter().map(|(link, count)| {
            let width = link.width.map_or(String::new(), |width| format!(" x{width}"));
            format!("{count} at {}{width}", link.speed_text())
        });
        let each: Vec<String> = each.collect();
        found.push(format!("{what} have links of different generation or width: {}", each.join(", ")));
    }
    for seen in found {
        let name = host.name.clone();
        host.find("mixed-generations", name, seen);
    }
}

/// Ports with one GUID: NCCL takes them as one adapter (NVIDIA/nccl issue 2097).
fn guids(host: &mut NcclHost) {
    let mut of_guid: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for net in host.nics.iter().flat_map(|nic| &nic.nets) {
        if let Some(guid) = net.1.guid() {
            of_guid.entry(guid).or_default().push(net.1.name().unwrap_or("a port").to_owned());
        }
    }
    for (guid, names) in of_guid.into_iter().filter(|(_, names)| names.len() > 1) {
        let seen = format!("{} have GUID {guid:#x}, and NCCL takes them as one adapter", names.join(" and "));
        host.find("equal-guids", names[0].clone(), seen);
    }
}

fn nvlinks(host: &mut NcclHost) {
    let bus = |row: u32| host.devices[row as usize].bus.as_str();
    let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut totals: BTreeSet<u32> = BTreeSet::new();
    for gpu in &host.gpus {
        let mut total = 0;
        for link in &gpu.nvlinks {
            *counts.entry((bus(gpu.device), &link.target)).or_default() += link.count;
            total += link.count;
        }
        totals.insert(total);
    }
    let gpus: BTreeSet<&str> = host.gpus.iter().map(|gpu| bus(gpu.device)).collect();
    let mut found = Vec::new();
    for (&(from, to), &count) in &counts {
        if from == to {
            found.push(("loop", from.to_owned(), "NVLink leads from the GPU to itself".to_owned()));
        } else if gpus.contains(to) {
            let back = counts.get(&(to, from)).copied().unwrap_or(0);
            if back != count {
                found.push((
                    "one-sided-link",
                    from.to_owned(),
                    format!("{count} links lead to {to}, and {back} back"),
                ));
            }
        }
    }
    if totals.len() > 1 {
        let each: Vec<String> = totals.iter().map(u32::to_string).collect();
        found.push((
            "link-down",
            host.name.clone(),
            format!("GPUs have different counts of NVLinks: {}", each.join(", ")),
        ));
    }
    for (kind, device, seen) in found {
        host.find(kind, device, seen);
    }
}

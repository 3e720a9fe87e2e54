//! From a host of NCCL to a host model: what the file tells, and what is assumed.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::host::NicModel;
use railtwin_fabric::{FabricError, HostModel};
use railtwin_units::Rate;

use super::host::{NcclDeviceKind, NcclGpu, NcclHost, NcclNic};
use super::pcie::NcclPcieLink;

/// A host model, and what of it the file does not tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclHostModel {
    /// The model.
    pub model: HostModel,
    /// Fields of the model that are assumed, with the reason: field, reason.
    pub assumed: Vec<(&'static str, String)>,
}

/// NVLinks of GPUs by their PCI device (the PCI ID database names the devices, NVIDIA's data sheets tell the links): vendor
/// 0x10de, device, compute capability, links.
const NVLINKS: [(&str, u32, u32); 11] = [
    ("0x1db1", 70, 6),
    ("0x1db5", 70, 6),
    ("0x20b0", 80, 12),
    ("0x20b2", 80, 12),
    ("0x20bd", 80, 8),
    ("0x2324", 90, 8),
    ("0x2329", 90, 18),
    ("0x2330", 90, 18),
    ("0x2335", 90, 18),
    ("0x2342", 90, 18),
    ("0x2901", 100, 18),
];

/// Rate of one NVLink in one direction by compute capability, in GB/s: 20 of Pascal, 25 of Volta, Ampere and Hopper, 50 of
/// Blackwell, and 14.0625 of the bridges of Ampere without HBM (NVIDIA's data sheets).
pub(super) fn nvlink_rate(sm: u32) -> Option<Rate> {
    match sm {
        60..70 => Some(Rate::from_gbps(160)),
        70..86 | 90..100 => Some(Rate::from_gbps(200)),
        86..90 => Some(Rate::from_bits_per_s(112_500_000_000)),
        100..110 => Some(Rate::from_gbps(400)),
        _ => None,
    }
}

/// Rate of one XGMI link in one direction by GCN architecture, in GB/s, as RCCL has them (`topo.h`): 24 of MI50 and MI100, 36
/// of MI200, 48 of MI300.
fn xgmi_rate(gcn: &str) -> Option<Rate> {
    let digits = gcn.trim_start_matches("gfx").trim();
    let gbps = match digits {
        "906" | "908" => 24 * 8,
        "910" | "90a" => 36 * 8,
        text if text.starts_with("94") || text.starts_with("95") => 48 * 8,
        _ => return None,
    };
    Some(Rate::from_gbps(gbps))
}

impl NcclHost {
    /// The host model. A host whose name is that of a known model has its delays and what a GPU is from there.
    ///
    /// # Errors
    /// [`FabricError`] for a host without GPUs or without NICs.
    pub fn host_model(&self) -> Result<NcclHostModel, FabricError> {
        if let Some((host, why)) = self.with_assumed_kinds() {
            let mut made = host.host_model()?;
            made.assumed.insert(0, ("gpus", why.clone()));
            made.assumed.insert(1, ("nics", why));
            return Ok(made);
        }
        let mut made = Making { host: self, assumed: Vec::new() };
        let known = HostModel::named(&self.name);
        let base =
            known.clone().unwrap_or(HostModel { gpu_flops: None, gpu_memory: None, ..HostModel::hgx_h800() });
        if known.is_none() {
            made.assume("nvlink_delay", "NCCL has no delays");
            made.assume("pcie_delay", "NCCL has no delays");
        }
        let pcie = made.pcie();
        let (backend, frontend) = made.networks();
        if backend.is_empty() {
            return Err(FabricError::range(
                "NICs of the host",
                0,
                "give a file with NICs: PCI devices of class 0x02",
            ));
        }
        let nic = made.nic(&backend, "nic");
        let gpus = self.gpus.len() as u32;
        let nvlink = made.nvlink();
        let mut model = HostModel {
            name: self.name.clone(),
            gpus,
            nics: backend.len() as u32,
            nic,
            nvlink,
            pcie,
            pcie_switches: made.switches(&backend),
            frontend_nics: frontend.len() as u32,
            frontend: if frontend.is_empty() { nic } else { made.nic(&frontend, "frontend") },
            ..base
        };
        if gpus > 1 && !model.joins_gpus() && model.nics < gpus {
            model.pcie_switches = 1;
            made.assume(
                "pcie_switches",
                "GPUs share NICs, so the root complexes of the CPUs stand as one switch",
            );
        }
        model.check()?;
        Ok(NcclHostModel { model, assumed: made.assumed })
    }
}

impl NcclHost {
    /// The host with kinds of its PCI devices where the file tells none of any: a list of bus ids alone, which NCCL fills
    /// in on the machine. GPUs come in powers of two, and NICs are fewer: the largest power of two below the number of
    /// devices stands for GPUs, the first of the file, the others for NICs. None where something is told.
    fn with_assumed_kinds(&self) -> Option<(Self, String)> {
        let devices = self.devices.len() as u32;
        let is_bare = self.devices.iter().all(|device| device.kind == NcclDeviceKind::Other);
        if devices < 2 || !is_bare || !self.gpus.is_empty() || !self.nics.is_empty() {
            return None;
        }
        let gpus = 1_u32 << (devices - 1).ilog2();
        let mut host = self.clone();
        for device in 0..devices {
            let one = &mut host.devices[device as usize];
            if device < gpus {
                one.kind = NcclDeviceKind::Gpu;
                let (attributes, nvlinks) = (Vec::new(), Vec::new());
                host.gpus.push(NcclGpu { device, attributes, nvlinks, c2c: None });
            } else {
                one.kind = NcclDeviceKind::Nic;
                let cpu = one.cpu;
                host.nics.push(NcclNic { devices: vec![device], cpu, nets: Vec::new() });
            }
        }
        let why = format!(
            "no device has a class: of {devices} the largest power of two below, {gpus}, stand for GPUs, the others for NICs"
        );
        Some((host, why))
    }
}

/// A model while it is made.
struct Making<'a> {
    host: &'a NcclHost,
    assumed: Vec<(&'static str, String)>,
}

impl<'a> Making<'a> {
    fn assume(&mut self, field: &'static str, why: impl Into<String>) {
        self.assumed.push((field, why.into()));
    }

    fn sm(&self, gpu: &NcclGpu) -> Option<u32> {
        gpu.number("sm").or_else(|| {
            let device = self.host.devices[gpu.device as usize].attribute("device")?;
            NVLINKS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(device)).map(|(_, sm, _)| *sm)
        })
    }

    /// The chip-to-chip links of the GPU with the least, where all have them: what is beside them of PCIe is for management.
    fn c2c(&self) -> Option<Rate> {
        let rates = self.host.gpus.iter().map(|gpu| {
            let (mbytes, links) = gpu.c2c?;
            let bits = mbytes.saturating_mul(8_000_000).saturating_mul(u64::from(links));
            Some(Rate::from_bits_per_s(bits.min(1_000_000_000_000_000)))
        });
        rates.collect::<Option<Vec<Rate>>>()?.into_iter().min().filter(|rate| *rate > Rate::ZERO)
    }

    /// Capacity of the PCIe link of a GPU: the least that is told, else that of its generation.
    fn pcie(&mut self) -> Rate {
        if let Some(rate) = self.c2c() {
            self.assume("pcie", "GPUs hang on their CPU by chip-to-chip links, which stand for PCIe");
            return rate;
        }
        let links = self.host.gpus.iter().map(|gpu| self.host.devices[gpu.device as usize].link);
        let told: BTreeSet<NcclPcieLink> = links.filter(|link| link.speed.is_some()).collect();
        if let Some(least) = told.iter().filter_map(|link| link.rate()).min() {
            if told.iter().any(|link| link.width.is_none()) {
                self.assume("pcie", "the file does not tell the width of links: 16 lanes, as NCCL takes it");
            }
            return least;
        }
        // V100 has PCIe 3, A100 PCIe 4, H100 and later PCIe 5 (NVIDIA's data sheets).
        let sm = self.host.gpus.iter().find_map(|gpu| self.sm(gpu));
        let speed = match sm {
            Some(..80) => 80,
            Some(80..90) => 160,
            _ => 320,
        };
        let why = match sm {
            Some(sm) => format!(
                "the file does not tell the speed of links: 16 lanes as GPUs of capability {sm} have them"
            ),
            None => "the file does not tell the speed of links: 16 lanes of PCIe 5".to_owned(),
        };
        self.assume("pcie", why);
        NcclPcieLink { speed: Some(speed), width: Some(16) }.rate().unwrap_or(HostModel::hgx_h800().pcie)
    }

    /// NICs of the backend, and the others. Where GPUs reach some directly (`gdr`) and others not, those are the frontend's;
    /// else the backend are the NICs of the rate that most of the capacity has.
    fn networks(&mut self) -> (Vec<&'a NcclNic>, Vec<&'a NcclNic>) {
        let gdr =
            |nic: &&NcclNic| nic.nets.is_empty() || nic.nets.iter().any(|(_, net)| net.gdr() != Some(false));
        let (mut near, mut others): (Vec<&NcclNic>, Vec<&NcclNic>) = self.host.nics.iter().partition(gdr);
        if near.is_empty() {
            (near, others) = (others, near);
        }
        let mut by_kind: BTreeMap<(u64, usize), Vec<&NcclNic>> = BTreeMap::new();
        for nic in near {
            let speed = nic.nets.iter().filter_map(|(_, net)| net.speed_mbps()).max().unwrap_or(0);
            by_kind.entry((speed, nic.nets.len())).or_default().push(nic);
        }
        let capacity = |((speed, ports), nics): &(&(u64, usize), &Vec<&NcclNic>)| {
            u128::from(*speed) * (*ports as u128).max(1) * nics.len() as u128
        };
        let most = by_kind.iter().max_by_key(|entry| (capacity(entry), entry.1.len())).map(|(kind, _)| *kind);
        let Some(most) = most else { return (Vec::new(), others) };
        let backend = by_kind.remove(&most).unwrap_or_default();
        if !by_kind.is_empty() {
            let count: usize = by_kind.values().map(Vec::len).sum();
            self.assume(
                "frontend_nics",
                format!("{count} NICs of other rates or ports are not of the backend"),
            );
            others.extend(by_kind.into_values().flatten());
        }
        (backend, others)
    }

    /// The NIC that stands for several: the ports of the first, the least rate.
    fn nic(&mut self, nics: &[&NcclNic], field: &'static str) -> NicModel {
        let ports: BTreeSet<usize> = nics.iter().map(|nic| nic.nets.len().max(1)).collect();
        let most = ports.last().copied().unwrap_or(1);
        if ports.len() > 1 {
            self.assume(field, format!("NICs differ in their ports: {most} of each"));
        }
        let told: BTreeSet<u64> =
            nics.iter().flat_map(|nic| nic.nets.iter().filter_map(|(_, net)| net.speed_mbps())).collect();
        if let Some(&least) = told.first() {
            if told.len() > 1 {
                self.assume(field, "ports differ in their rate: the least of them");
            }
            let port_capacity = Rate::from_bits_per_s(least.saturating_mul(1_000_000));
            return NicModel { ports: most as u32, port_capacity };
        }
        let links =
            nics.iter().filter_map(|nic| self.host.devices[*nic.devices.first()? as usize].link.rate());
        let link = links.min();
        // Rates of ports in the order of Ethernet and InfiniBand.
        let port = [800, 400, 200, 100, 50, 25, 10].map(Rate::from_gbps).into_iter();
        let port_capacity =
            port.filter(|port| link.is_some_and(|link| *port <= link)).max().unwrap_or(Rate::from_gbps(100));
        self.assume(field, format!("the file does not tell the rate of ports: {port_capacity}, the most that its PCIe link carries"));
        NicModel { ports: most as u32, port_capacity }
    }

    /// NVLink of a GPU in one direction.
    fn nvlink(&mut self) -> Option<Rate> {
        let rates: BTreeSet<u64> = self.host.gpus.iter().filter_map(|gpu| self.told_nvlink(gpu)).collect();
        if let Some(&least) = rates.first() {
            if rates.len() > 1 || self.host.gpus.iter().any(|gpu| gpu.nvlinks.is_empty()) {
                self.assume("nvlink", "GPUs differ in their NVLinks: the least of them");
            }
            return Some(Rate::from_bits_per_s(least));
        }
        if self.host.gpus.iter().any(|gpu| !gpu.nvlinks.is_empty()) {
            self.assume("nvlink", "the generation of NVLinks is not known, so none counts");
            return None;
        }
        let is_dump = self.host.gpus.iter().any(|gpu| !gpu.attributes.is_empty());
        if is_dump {
            return None;
        }
        let of_device = self.host.gpus.iter().find_map(|gpu| {
            let device = self.host.devices[gpu.device as usize].attribute("device")?;
            NVLINKS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(device))
        });
        match of_device {
            Some((device, sm, links)) => {
                self.assume(
                    "nvlink",
                    format!("the file has no NVLink: {links} links, as GPUs of PCI device {device} have"),
                );
                nvlink_rate(*sm).map(|rate| rate * u64::from(*links))
            }
            None => {
                self.assume("nvlink", "the file has no NVLink, which NCCL would find on the machine: none");
                None
            }
        }
    }

    /// NVLink or XGMI that the file tells of a GPU, links to itself left out.
    fn told_nvlink(&self, gpu: &NcclGpu) -> Option<u64> {
        let links = gpu.nvlinks.iter().map(|link| {
            let rate = if link.is_xgmi {
                gpu.attributes.iter().find(|(name, _)| name == "gcn").and_then(|(_, gcn)| xgmi_rate(gcn))
            } else {
                self.sm(gpu).and_then(nvlink_rate)
            };
            rate.map(|rate| rate.bits_per_s().saturating_mul(u64::from(link.count)))
        });
        let all = links.flatten().fold(0_u64, u64::saturating_add);
        Some(all).filter(|&all| all > 0)
    }

    /// PCIe switches below the CPUs over which GPUs and NICs are spread evenly; 0 for none, and where each has one GPU.
    fn switches(&mut self, backend: &[&NcclNic]) -> u32 {
        let mut of_switch: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut outside = 0;
        for gpu in &self.host.gpus {
            match self.host.top_bridge(gpu.device) {
                Some(bridge) => of_switch.entry(bridge).or_default().0 += 1,
                None => outside += 1,
            }
        }
        for nic in backend {
            match nic.devices.first().and_then(|&device| self.host.top_bridge(device)) {
                Some(bridge) => of_switch.entry(bridge).or_default().1 += 1,
                None => outside += 1,
            }
        }
        let counts: BTreeSet<(u32, u32)> = of_switch.values().copied().collect();
        match (counts.len(), counts.first(), outside) {
            (0, ..) => 0,
            (_, _, 0) if counts.iter().all(|(gpus, _)| *gpus == 1) => 0,
            (1, Some((1.., 1..)), 0) => of_switch.len() as u32,
            _ => {
                self.assume(
                    "pcie_switches",
                    "GPUs and NICs are not spread evenly over PCIe switches: none is modelled",
                );
                0
            }
        }
    }
}

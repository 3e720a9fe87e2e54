//! A host as NCCL's XML has it.
use std::collections::BTreeMap;

use super::pcie::NcclPcieLink;
use crate::topology::TopologyFinding;

/// A NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NcclCpu {
    /// Number of the NUMA node; -1 where the kernel does not know.
    pub numa: i64,
    /// All attributes but that, in the order of the file: `affinity`, `arch`, `vendor`, `familyid`, `modelid`, `host_hash`.
    pub attributes: Vec<(String, String)>,
}

/// Kind of a PCI device, by its class and by what stands in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NcclDeviceKind {
    /// A bridge or switch: class 0x0604, and any other that has devices below it.
    Bridge,
    /// A GPU: class 0x03.
    Gpu,
    /// A NIC: class 0x02.
    Nic,
    /// An NVSwitch: class 0x0680.
    NvSwitch,
    /// Any other, or one without a class.
    Other,
}

/// A PCI device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclDevice {
    /// Bus id, such as `0000:18:00.0`.
    pub bus: String,
    /// What it is.
    pub kind: NcclDeviceKind,
    /// Row of its NUMA node in [`NcclHost::cpus`]; none for a device outside of any.
    pub cpu: Option<u32>,
    /// Row of the bridge above it in [`NcclHost::devices`]; none below the root complex.
    pub parent: Option<u32>,
    /// Its link upwards.
    pub link: NcclPcieLink,
    /// All attributes but `busid`, in the order of the file.
    pub attributes: Vec<(String, String)>,
}

impl NcclDevice {
    /// Value of an attribute; none where it is missing or empty.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        attribute(&self.attributes, name)
    }
}

/// Links between a GPU and another GPU, an NVSwitch or a CPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclNvlink {
    /// Bus id of the other end.
    pub target: String,
    /// Links.
    pub count: u32,
    /// Class of the other end, where the file tells it.
    pub class: Option<String>,
    /// Whether it is XGMI of AMD.
    pub is_xgmi: bool,
}

/// A GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclGpu {
    /// Row of its PCI device.
    pub device: u32,
    /// All attributes, in the order of the file: `dev`, `sm`, `rank`, `gdr`, of AMD `gcn` and `arch`; empty where the file has
    /// the PCI device alone.
    pub attributes: Vec<(String, String)>,
    /// NVLink or XGMI.
    pub nvlinks: Vec<NcclNvlink>,
    /// Chip-to-chip link to the CPU: MB/s of a link, links.
    pub c2c: Option<(u64, u32)>,
}

impl NcclGpu {
    /// An attribute as a number; none where it is missing.
    pub fn number(&self, name: &str) -> Option<u32> {
        attribute(&self.attributes, name)?.parse().ok()
    }
}

/// A network device of a NIC, that is a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclNet {
    /// All attributes, in the order of the file: `name`, `dev`, `speed`, `port`, `latency`, `guid`, `maxconn`, `gdr`.
    pub attributes: Vec<(String, String)>,
}

impl NcclNet {
    /// Name, such as `mlx5_0`.
    pub fn name(&self) -> Option<&str> {
        attribute(&self.attributes, "name")
    }

    /// Rate in Mbps; none where it is missing or not above 0.
    pub fn speed_mbps(&self) -> Option<u64> {
        attribute(&self.attributes, "speed")?.parse().ok().filter(|&speed| speed > 0)
    }

    /// GUID of the adapter; none where it is missing or 0.
    pub fn guid(&self) -> Option<u64> {
        let text = attribute(&self.attributes, "guid")?;
        let digits = text.trim_start_matches("0x").trim_start_matches("0X");
        u64::from_str_radix(digits, 16).ok().filter(|&guid| guid > 0)
    }

    /// Whether GPUs reach it directly; none where the file does not tell.
    pub fn gdr(&self) -> Option<bool> {
        Some(attribute(&self.attributes, "gdr")? != "0")
    }
}

/// A NIC: a PCI device, or functions of one, or one below a CPU of which no PCI device is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NcclNic {
    /// Rows of its PCI functions, the first first; empty where none is known.
    pub devices: Vec<u32>,
    /// Row of its NUMA node.
    pub cpu: Option<u32>,
    /// Its ports; empty where the file has the PCI device alone. Of several functions each port with the row of its device.
    pub nets: Vec<(Option<u32>, NcclNet)>,
}

/// A host.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NcclHost {
    /// Name: that in the file, else the file's.
    pub name: String,
    /// Version of the XML: 1 of NCCL, 2 of RCCL.
    pub version: u32,
    /// NUMA nodes.
    pub cpus: Vec<NcclCpu>,
    /// PCI devices, each behind that above it.
    pub devices: Vec<NcclDevice>,
    /// GPUs, by their number where the file tells it, else in the order of the file.
    pub gpus: Vec<NcclGpu>,
    /// NICs in the order of the file.
    pub nics: Vec<NcclNic>,
    /// Where the file contradicts itself, or what of the host is suspect.
    pub findings: Vec<TopologyFinding>,
    /// Remarks on what was not read, or could not be written exactly.
    pub notes: Vec<String>,
}

impl NcclHost {
    /// The bridge next to the CPU that a device stands under; none where it stands under none.
    pub fn top_bridge(&self, device: u32) -> Option<u32> {
        let mut at = self.devices[device as usize].parent?;
        while let Some(above) = self.devices[at as usize].parent {
            at = above;
        }
        Some(at)
    }

    /// NVSwitches: those among PCI devices, else targets of NVLink that are no GPU of the file.
    pub fn nvswitches(&self) -> u32 {
        let listed = self.devices.iter().filter(|device| device.kind == NcclDeviceKind::NvSwitch).count();
        if listed > 0 {
            return listed as u32;
        }
        let links = self.gpus.iter().flat_map(|gpu| &gpu.nvlinks);
        let of_switches =
            links.filter(|link| link.class.as_deref().is_some_and(|class| class.starts_with("0x0680")));
        let targets: BTreeMap<&str, ()> = of_switches.map(|link| (link.target.as_str(), ())).collect();
        targets.len() as u32
    }
}

/// Value of an attribute; none where it is missing or empty.
pub(super) fn attribute<'a>(attributes: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = attributes.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

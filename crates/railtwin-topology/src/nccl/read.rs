//! From elements to a host.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;

use super::element::{Element, FORMAT, elements};
use super::findings;
use super::host::{
    NcclCpu, NcclDevice, NcclDeviceKind, NcclGpu, NcclHost, NcclNet, NcclNic, NcclNvlink, attribute,
};
use super::pcie::NcclPcieLink;
use crate::form::SourceFile;

/// Attributes that NCCL adds while it runs, which say nothing of the host.
const OF_RUN: [&str; 1] = ["keep"];

impl NcclHost {
    /// Whether a file looks like a topology of NCCL: `<system` before any other element.
    pub fn is_one(source: &SourceFile<'_>) -> bool {
        let head = source.head();
        let mut rest = head.trim_start_matches('\u{feff}');
        while let Some(start) = rest.find('<') {
            rest = &rest[start..];
            let end = match rest {
                comment if comment.starts_with("<!--") => comment.find("-->"),
                other if other.starts_with("<?") || other.starts_with("<!") => other.find('>'),
                element => {
                    let name = element[1..].split(|letter: char| !letter.is_ascii_alphanumeric()).next();
                    // `<system` alone is any program's; NCCL's has versions and NUMA nodes.
                    return name == Some("system") && (element.contains("<cpu") || element.contains("<pci"));
                }
            };
            let Some(end) = end else { return false };
            rest = &rest[end..];
        }
        false
    }

    /// Reads a topology of NCCL or RCCL.
    ///
    /// # Errors
    /// [`FormatError`] for what is no XML, a graph of NCCL (`is an NCCL graph, not a topology`), and other XML.
    pub fn parse(source: &SourceFile<'_>) -> Result<Self, FormatError> {
        let elements = elements(source)?;
        let system = elements.first().ok_or_else(|| {
            FormatError::new(FORMAT, source.name, "has no element", "give a file of NCCL_TOPO_DUMP_FILE")
        })?;
        let stem = source.stem();
        let stem = stem.strip_suffix("-topo").or(stem.strip_suffix("_topo")).unwrap_or(stem);
        let mut reading = Reading::default();
        reading.host.name = attribute(&system.attributes, "name").unwrap_or(stem).to_owned();
        reading.host.version =
            attribute(&system.attributes, "version").and_then(|version| version.parse().ok()).unwrap_or(1);
        for element in &elements {
            reading.enter(element);
        }
        reading.finish()
    }
}

/// Row that an element became.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Row {
    Cpu(u32),
    Device(u32),
    Gpu(u32),
    /// A NIC while it is read, by its row.
    Nic(u32),
    Other,
}

/// A host while its elements are entered.
#[derive(Default)]
struct Reading {
    host: NcclHost,
    /// By row of elements.
    rows: Vec<Row>,
    ignored: BTreeMap<String, u32>,
}

impl Reading {
    fn enter(&mut self, element: &Element) {
        let parent = element.parent.map_or(Row::Other, |parent| self.rows[parent as usize]);
        let row = match (element.tag.as_str(), parent) {
            ("system", _) => Row::Other,
            ("cpu", _) => self.enter_cpu(element),
            ("pci", parent) => self.enter_device(element, parent),
            ("gpu", Row::Device(device)) => self.enter_gpu(element, device),
            ("nvlink" | "xgmi", Row::Gpu(gpu)) => self.enter_nvlink(element, gpu),
            ("c2c", Row::Gpu(gpu)) => {
                let number =
                    |name| attribute(&element.attributes, name).and_then(|text| text.parse::<u64>().ok());
                self.host.gpus[gpu as usize].c2c =
                    number("bw").map(|bw| (bw, number("count").unwrap_or(1).min(u64::from(u32::MAX)) as u32));
                Row::Other
            }
            ("nic", parent) => self.enter_nic(parent),
            ("net", Row::Nic(nic)) => {
                let nic = &mut self.host.nics[nic as usize];
                let device = nic.devices.first().copied();
                nic.nets.push((device, NcclNet { attributes: kept(element, &[]) }));
                Row::Other
            }
            (tag, _) => {
                *self.ignored.entry(tag.to_owned()).or_default() += 1;
                Row::Other
            }
        };
        self.rows.push(row);
    }

    fn enter_cpu(&mut self, element: &Element) -> Row {
        let text = attribute(&element.attributes, "numaid").unwrap_or("-1");
        let numa = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        self.host.cpus.push(NcclCpu { numa: numa.unwrap_or(-1), attributes: kept(element, &["numaid"]) });
        Row::Cpu(self.host.cpus.len() as u32 - 1)
    }

    fn enter_device(&mut self, element: &Element, parent: Row) -> Row {
        let (parent, cpu) = match parent {
            Row::Device(parent) => (Some(parent), self.host.devices[parent as usize].cpu),
            Row::Cpu(cpu) => (None, Some(cpu)),
            _ => (None, None),
        };
        if let Some(above) = parent {
            let above = &mut self.host.devices[above as usize];
            if above.kind == NcclDeviceKind::Other {
                above.kind = NcclDeviceKind::Bridge;
            }
        }
        let find = |name| attribute(&element.attributes, name);
        let bus = find("busid").unwrap_or("").to_ascii_lowercase();
        if bus.is_empty() {
            self.host.find("unknown-device", format!("line {}", element.line), "the PCI device has no busid");
        }
        let kind = kind_of_class(find("class").unwrap_or(""));
        let link = NcclPcieLink::of_text(find("link_speed"), find("link_width"));
        self.host.devices.push(NcclDevice {
            bus,
            kind,
            cpu,
            parent,
            link,
            attributes: kept(element, &["busid"]),
        });
        Row::Device(self.host.devices.len() as u32 - 1)
    }

    fn enter_gpu(&mut self, element: &Element, device: u32) -> Row {
        self.host.devices[device as usize].kind = NcclDeviceKind::Gpu;
        let attributes = kept(element, &OF_RUN);
        self.host.gpus.push(NcclGpu { device, attributes, nvlinks: Vec::new(), c2c: None });
        Row::Gpu(self.host.gpus.len() as u32 - 1)
    }

    fn enter_nvlink(&mut self, element: &Element, gpu: u32) -> Row {
        let find = |name| attribute(&element.attributes, name);
        let count = find("count").and_then(|text| text.parse().ok()).unwrap_or(1).min(1_024);
        self.host.gpus[gpu as usize].nvlinks.push(NcclNvlink {
            target: find("target").unwrap_or("").to_ascii_lowercase(),
            count,
            class: find("tclass").map(str::to_owned),
            is_xgmi: element.tag == "xgmi",
        });
        Row::Other
    }

    fn enter_nic(&mut self, parent: Row) -> Row {
        let (devices, cpu) = match parent {
            Row::Device(device) => {
                self.host.devices[device as usize].kind = NcclDeviceKind::Nic;
                (vec![device], self.host.devices[device as usize].cpu)
            }
            Row::Cpu(cpu) => (Vec::new(), Some(cpu)),
            _ => (Vec::new(), None),
        };
        self.host.nics.push(NcclNic { devices, cpu, nets: Vec::new() });
        Row::Nic(self.host.nics.len() as u32 - 1)
    }

    fn finish(mut self) -> Result<NcclHost, FormatError> {
        self.enter_bare();
        self.host.nics = merged(&self.host);
        let numbered = self.host.gpus.iter().all(|gpu| gpu.number("dev").is_some());
        if numbered {
            self.host.gpus.sort_by_key(|gpu| gpu.number("dev"));
        }
        for (tag, count) in self.ignored {
            self.host.notes.push(format!("{count} elements <{tag}> are not read"));
        }
        if !matches!(self.host.version, 1 | 2) {
            let seen = format!(
                "version {} is neither 1 of NCCL nor 2 of RCCL, which refuse others",
                self.host.version
            );
            self.host.find("count-differs", "system", seen);
        }
        findings::enter(&mut self.host);
        Ok(self.host)
    }

    /// Enters GPUs and NICs that are PCI devices alone.
    fn enter_bare(&mut self) {
        let known: Vec<u32> = self.host.gpus.iter().map(|gpu| gpu.device).collect();
        let known_nics: Vec<u32> = self.host.nics.iter().flat_map(|nic| nic.devices.clone()).collect();
        let known: std::collections::BTreeSet<u32> = known.into_iter().chain(known_nics).collect();
        for (row, device) in (0_u32..).zip(&self.host.devices).filter(|(row, _)| !known.contains(row)) {
            match device.kind {
                NcclDeviceKind::Gpu => {
                    let (attributes, nvlinks) = (Vec::new(), Vec::new());
                    self.host.gpus.push(NcclGpu { device: row, attributes, nvlinks, c2c: None });
                }
                NcclDeviceKind::Nic => {
                    self.host.nics.push(NcclNic { devices: vec![row], cpu: device.cpu, nets: Vec::new() });
                }
                _ => {}
            }
        }
        self.host.gpus.sort_by_key(|gpu| gpu.device);
        self.host.nics.sort_by_key(|nic| nic.devices.first().copied().unwrap_or(u32::MAX));
    }
}

/// Attributes of an element but those named.
fn kept(element: &Element, but: &[&str]) -> Vec<(String, String)> {
    let kept = element
        .attributes
        .iter()
        .filter(|(name, _)| !but.contains(&name.as_str()) && !OF_RUN.contains(&name.as_str()));
    kept.cloned().collect()
}

/// Kinds by the beginning of the class, as NCCL tells them apart.
fn kind_of_class(class: &str) -> NcclDeviceKind {
    let class = class.to_ascii_lowercase();
    let digits = class.trim_start_matches("0x");
    // A class of 16 bits is that of the kernel without the interface.
    [
        ("0604", NcclDeviceKind::Bridge),
        ("0801", NcclDeviceKind::Bridge),
        ("0680", NcclDeviceKind::NvSwitch),
        ("03", NcclDeviceKind::Gpu),
        ("1200", NcclDeviceKind::Gpu),
        ("02", NcclDeviceKind::Nic),
    ]
    .into_iter()
    .find(|(begin, _)| digits.starts_with(begin))
    .map_or(NcclDeviceKind::Other, |(_, kind)| kind)
}

/// NICs with functions of one PCI device joined, as NCCL joins them.
fn merged(host: &NcclHost) -> Vec<NcclNic> {
    let mut nics: Vec<NcclNic> = Vec::new();
    let mut row_of: BTreeMap<&str, usize> = BTreeMap::new();
    for nic in &host.nics {
        let bus = nic.devices.first().map(|&device| host.devices[device as usize].bus.as_str());
        let card = bus.and_then(|bus| bus.rsplit_once('.')).map(|(card, _)| card);
        match card.and_then(|card| row_of.get(card).copied()) {
            Some(row) => {
                nics[row].devices.extend(&nic.devices);
                nics[row].nets.extend(nic.nets.iter().cloned());
            }
            None => {
                if let Some(card) = card {
                    row_of.insert(card, nics.len());
                }
                nics.push(nic.clone());
            }
        }
    }
    nics
}

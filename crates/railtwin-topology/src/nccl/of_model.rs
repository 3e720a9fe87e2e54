//! From a host model to a host of NCCL.
use railtwin_fabric::HostModel;
use railtwin_fabric::host::NicModel;
use railtwin_units::Rate;

use super::host::{NcclCpu, NcclDevice, NcclDeviceKind, NcclGpu, NcclHost, NcclNet, NcclNic, NcclNvlink};
use super::host_model::nvlink_rate;
use super::pcie::NcclPcieLink;

/// Compute capabilities whose NVLinks differ in rate, the commonest first.
const CAPABILITIES: [u32; 4] = [90, 100, 60, 86];

fn attributes(all: &[(&str, String)]) -> Vec<(String, String)> {
    all.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

impl NcclHost {
    /// The host of a model: a bridge for each PCIe switch, or for each GPU where the model has none, spread over two NUMA
    /// nodes; frontend NICs at the first without direct access of GPUs (`gdr="0"`).
    ///
    /// Bus ids and the kind of CPU are assumed: NCCL takes a file whose bus ids are those of the machine. A rate of PCIe that
    /// no link has becomes the next larger one, and NVLink becomes whole links; a note says so.
    pub fn of_model(model: &HostModel) -> Self {
        let mut host = Self { name: model.name.clone(), version: 1, ..Self::default() };
        let link = NcclPcieLink::carrying(model.pcie)
            .unwrap_or(NcclPcieLink { speed: Some(1_280), width: Some(16) });
        if link.rate() != Some(model.pcie) {
            host.notes.push(format!("no PCIe link has {}: the next one is written", model.pcie));
        }
        let (sm, links) = nvlinks(model.nvlink, &mut host.notes);
        let switches = if model.pcie_switches > 0 { model.pcie_switches } else { model.gpus };
        let numa = if switches > 1 { 2 } else { 1 };
        for node in 0..numa {
            let of_cpu =
                [("arch", "x86_64"), ("vendor", "GenuineIntel"), ("familyid", "6"), ("modelid", "143")];
            let attributes = of_cpu.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            host.cpus.push(NcclCpu { numa: node, attributes });
        }
        let mut dev = 0;
        for switch in 0..switches {
            let cpu = (u64::from(switch) * numa as u64 / u64::from(switches)) as u32;
            let bridge = host.add(cpu, None, (0, switch), "0x060400", link);
            let on_it =
                |gpu: &u32| if model.pcie_switches > 0 { model.switch_of_gpu(*gpu) } else { *gpu } == switch;
            for gpu in (0..model.gpus).filter(on_it) {
                let device = host.add(cpu, Some(bridge), (1, gpu), "0x030200", link);
                let of_gpu = [
                    ("dev", gpu.to_string()),
                    ("sm", sm.to_string()),
                    ("rank", gpu.to_string()),
                    ("gdr", "1".to_owned()),
                ];
                let mut one =
                    NcclGpu { device, attributes: attributes(&of_gpu), nvlinks: Vec::new(), c2c: None };
                if links > 0 {
                    let (target, class) = ("ffff:fe:00.0".to_owned(), Some("0x068000".to_owned()));
                    one.nvlinks.push(NcclNvlink { target, count: links, class, is_xgmi: false });
                }
                host.gpus.push(one);
            }
            let of_switch = |nic: &u32| match model.pcie_switches {
                0 => model.gpu_of_nic(*nic) == switch,
                _ => model.switch_of_nic(*nic) == switch,
            };
            for nic in (0..model.nics).filter(of_switch) {
                host.add_nic((cpu, Some(bridge), 2, nic), &model.nic, link, &mut dev, true);
            }
        }
        for nic in 0..model.frontend_nics {
            host.add_nic((0, None, 3, nic), &model.frontend, link, &mut dev, false);
        }
        host.gpus.sort_by_key(|gpu| gpu.number("dev"));
        host
    }

    /// Adds a PCI device; its bus id is of a kind and a number.
    fn add(&mut self, cpu: u32, parent: Option<u32>, id: (u32, u32), class: &str, link: NcclPcieLink) -> u32 {
        let (kind, number) = id;
        let bus =
            format!("{:04x}:{:02x}:{:02x}.0", kind << 8 | number >> 13, number >> 5 & 0xff, number & 0x1f);
        let width = link.width.unwrap_or(16).to_string();
        let attributes = attributes(&[
            ("class", class.to_owned()),
            ("link_speed", link.speed_text()),
            ("link_width", width),
        ]);
        let kind = match kind {
            0 => NcclDeviceKind::Bridge,
            1 => NcclDeviceKind::Gpu,
            _ => NcclDeviceKind::Nic,
        };
        self.devices.push(NcclDevice { bus, kind, cpu: Some(cpu), parent, link, attributes });
        self.devices.len() as u32 - 1
    }

    /// Adds a NIC with its ports: NUMA node, bridge, kind and number of its bus id.
    fn add_nic(
        &mut self,
        (cpu, parent, kind, number): (u32, Option<u32>, u32, u32),
        model: &NicModel,
        link: NcclPcieLink,
        dev: &mut u32,
        gdr: bool,
    ) {
        // A frontend NIC has a link that carries it, whatever GPUs have.
        let own = NcclPcieLink::carrying(model.port_capacity * u64::from(model.ports));
        let link = if gdr { link } else { own.filter(|own| *own > link).unwrap_or(link) };
        let device = self.add(cpu, parent, (kind, number), "0x020700", link);
        let nets = (0..model.ports).map(|port| {
            let name = format!("mlx5_{dev}");
            // GUIDs differ, as NCCL takes ports with one GUID as one adapter.
            let guid = format!("{:#x}", u64::from(*dev) + 1);
            let of_net = [
                ("name", name),
                ("dev", dev.to_string()),
                ("speed", (model.port_capacity.bits_per_s() / 1_000_000).to_string()),
                ("port", (port + 1).to_string()),
                ("latency", "0.000000".to_owned()),
                ("guid", guid),
                ("maxconn", "131072".to_owned()),
                ("gdr", u32::from(gdr).to_string()),
            ];
            *dev += 1;
            (Some(device), NcclNet { attributes: attributes(&of_net) })
        });
        let nets = nets.collect();
        self.nics.push(NcclNic { devices: vec![device], cpu: Some(cpu), nets });
    }
}

/// Compute capability and NVLinks that have a rate; 0 links for none.
fn nvlinks(rate: Option<Rate>, notes: &mut Vec<String>) -> (u32, u32) {
    let Some(rate) = rate else { return (CAPABILITIES[0], 0) };
    let links = |sm: u32| -> Option<(u64, bool)> {
        let one = nvlink_rate(sm)?.bits_per_s();
        Some((rate.bits_per_s().div_ceil(one), rate.bits_per_s().is_multiple_of(one)))
    };
    // A GPU has at most 18 links; beyond that the capability is of a later one.
    let exact = CAPABILITIES
        .iter()
        .find_map(|&sm| links(sm).filter(|(count, exact)| *exact && *count <= 18).map(|of| (sm, of.0)));
    let exact = exact.or_else(|| {
        CAPABILITIES.iter().find_map(|&sm| links(sm).filter(|(_, exact)| *exact).map(|of| (sm, of.0)))
    });
    let (sm, count) = exact.unwrap_or_else(|| {
        notes.push(format!("no count of NVLinks has {rate}: the next larger one is written"));
        (CAPABILITIES[0], links(CAPABILITIES[0]).map_or(0, |(count, _)| count))
    });
    (sm, u32::try_from(count).unwrap_or(u32::MAX))
}

//! NCCL's XML of a host, as `NCCL_TOPO_DUMP_FILE` has it.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::host::{NcclGpu, NcclHost, NcclNet};

/// A step of the walk: a PCI device that begins or ends, at a depth.
enum Step {
    Begin(u32, usize),
    End(usize),
}

/// Tag, attributes, and whether it has nothing inside.
fn tag(text: &mut String, depth: usize, name: &str, attributes: &[(&str, &str)], is_empty: bool) {
    let _ = write!(text, "{:1$}<{name}", "", 2 * depth);
    for (name, value) in attributes {
        let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        let _ = write!(text, " {name}=\"{value}\"");
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}>", if is_empty { "/" } else { "" });
}

fn borrowed(attributes: &[(String, String)]) -> Vec<(&str, &str)> {
    attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// What stands in each PCI device, and in each NUMA node.
struct Inside<'a> {
    gpus: BTreeMap<u32, Vec<&'a NcclGpu>>,
    /// Ports by device; NICs without ports are devices alone.
    nets: BTreeMap<u32, Vec<&'a NcclNet>>,
    below: BTreeMap<u32, Vec<u32>>,
}

impl<'a> Inside<'a> {
    fn of(host: &'a NcclHost) -> Self {
        let mut inside = Self { gpus: BTreeMap::new(), nets: BTreeMap::new(), below: BTreeMap::new() };
        for gpu in host.gpus.iter().filter(|gpu| !gpu.attributes.is_empty() || !gpu.nvlinks.is_empty()) {
            inside.gpus.entry(gpu.device).or_default().push(gpu);
        }
        for (device, net) in host.nics.iter().flat_map(|nic| &nic.nets) {
            if let Some(device) = device {
                inside.nets.entry(*device).or_default().push(net);
            }
        }
        for (row, device) in (0..).zip(&host.devices) {
            if let Some(parent) = device.parent {
                inside.below.entry(parent).or_default().push(row);
            }
        }
        inside
    }

    /// Writes what stands in a device, but for devices below it.
    fn write(&self, text: &mut String, device: u32, depth: usize) {
        for gpu in self.gpus.get(&device).into_iter().flatten() {
            let is_empty = gpu.nvlinks.is_empty() && gpu.c2c.is_none();
            tag(text, depth, "gpu", &borrowed(&gpu.attributes), is_empty);
            for link in &gpu.nvlinks {
                let count = link.count.to_string();
                let mut of_link = vec![("target", link.target.as_str()), ("count", count.as_str())];
                of_link.extend(link.class.as_deref().map(|class| ("tclass", class)));
                tag(text, depth + 1, if link.is_xgmi { "xgmi" } else { "nvlink" }, &of_link, true);
            }
            if let Some((bw, count)) = gpu.c2c {
                tag(text, depth + 1, "c2c", &[("bw", &bw.to_string()), ("count", &count.to_string())], true);
            }
            if !is_empty {
                let _ = writeln!(text, "{:1$}</gpu>", "", 2 * depth);
            }
        }
        if let Some(nets) = self.nets.get(&device) {
            nic(text, depth, nets);
        }
    }

    fn is_empty(&self, device: u32) -> bool {
        !self.gpus.contains_key(&device)
            && !self.nets.contains_key(&device)
            && !self.below.contains_key(&device)
    }
}

fn nic(text: &mut String, depth: usize, nets: &[&NcclNet]) {
    tag(text, depth, "nic", &[], false);
    for net in nets {
        tag(text, depth + 1, "net", &borrowed(&net.attributes), true);
    }
    let _ = writeln!(text, "{:1$}</nic>", "", 2 * depth);
}

impl NcclHost {
    /// The XML of the host: attributes as they were read, or as a model has them.
    ///
    /// NCCL reads it by `NCCL_TOPO_FILE`. It needs `version`, `numaid`, `busid`, `class`, `link_speed` and `link_width`, of an
    /// x86 CPU `arch`, `vendor`, `familyid` and `modelid`, and finds the rest on the machine.
    pub fn to_xml(&self) -> String {
        let inside = Inside::of(self);
        let mut text = String::new();
        tag(&mut text, 0, "system", &[("version", &self.version.to_string()), ("name", &self.name)], false);
        for (row, cpu) in (0_u32..).zip(&self.cpus) {
            let numa = cpu.numa.to_string();
            let mut of_cpu = vec![("numaid", numa.as_str())];
            of_cpu.extend(borrowed(&cpu.attributes));
            tag(&mut text, 1, "cpu", &of_cpu, false);
            self.write_devices(&mut text, &inside, Some(row), 2);
            for bare in self.nics.iter().filter(|bare| bare.devices.is_empty() && bare.cpu == Some(row)) {
                let nets: Vec<&NcclNet> = bare.nets.iter().map(|(_, net)| net).collect();
                nic(&mut text, 2, &nets);
            }
            let _ = writeln!(text, "  </cpu>");
        }
        self.write_devices(&mut text, &inside, None, 1);
        text.push_str("</system>\n");
        text
    }

    /// Writes the devices of a NUMA node, or those outside of any, with what is below them.
    fn write_devices(&self, text: &mut String, inside: &Inside<'_>, cpu: Option<u32>, depth: usize) {
        let top =
            (0_u32..).zip(&self.devices).filter(|(_, device)| device.parent.is_none() && device.cpu == cpu);
        let mut steps: Vec<Step> = top.map(|(row, _)| Step::Begin(row, depth)).collect();
        steps.reverse();
        while let Some(step) = steps.pop() {
            match step {
                Step::End(depth) => {
                    let _ = writeln!(text, "{:1$}</pci>", "", 2 * depth);
                }
                Step::Begin(row, depth) => {
                    let device = &self.devices[row as usize];
                    let mut of_device = vec![("busid", device.bus.as_str())];
                    of_device.extend(borrowed(&device.attributes));
                    let is_empty = inside.is_empty(row);
                    tag(text, depth, "pci", &of_device, is_empty);
                    if is_empty {
                        continue;
                    }
                    inside.write(text, row, depth + 1);
                    steps.push(Step::End(depth));
                    let below = inside.below.get(&row).into_iter().flatten().rev();
                    steps.extend(below.map(|&row| Step::Begin(row, depth + 1)));
                }
            }
        }
    }
}

//! `nvidia-smi -q` and `nvidia-smi nvlink -s` or `-e`: what GPUs report of themselves.

/// One thing that a GPU reports and that is a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuTrouble {
    /// A field whose text is a fault: `HW Thermal Slowdown` that is `Active`.
    Reports {
        /// The field.
        field: String,
        /// Its text.
        text: String,
    },
    /// An NVLink that is inactive.
    NvlinkInactive(u32),
    /// Errors of an NVLink since the start of the driver.
    NvlinkErrors {
        /// The link.
        link: u32,
        /// Kind of errors: `Replay`, `Recovery`, `CRC`.
        what: String,
        /// How many.
        count: u64,
    },
}

/// A GPU with what it reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuStatus {
    /// Its number, or its address on the PCI bus.
    pub gpu: String,
    /// Active NVLinks.
    pub active_links: u32,
    /// What is a fault, with the line of the text, from 1 on.
    pub troubles: Vec<(GpuTrouble, u64)>,
}

pub(super) fn is_gpus(text: &str) -> bool {
    text.lines().take(64).any(|line| line.contains("NVSMI LOG"))
        || text.lines().any(|line| gpu_head(line).is_some())
            && text.lines().any(|line| line.trim_start().starts_with("Link ") && line.contains(':'))
}

/// `GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-…)`: the number.
fn gpu_head(line: &str) -> Option<&str> {
    let (number, rest) = line.strip_prefix("GPU ")?.split_once(':')?;
    (rest.contains("(UUID: ") && number.bytes().all(|digit| digit.is_ascii_digit())).then_some(number)
}

pub(super) fn read(text: &str) -> Option<Vec<GpuStatus>> {
    let is_query = text.lines().take(64).any(|line| line.contains("NVSMI LOG"));
    let gpus = if is_query { query(text) } else { nvlink(text) };
    (!gpus.is_empty()).then_some(gpus)
}

/// Whether a field's text is a fault, by its section and name.
fn is_fault(section: &str, field: &str, text: &str) -> bool {
    let counts = |text: &str| text.parse::<u64>().is_ok_and(|count| count > 0);
    match field {
        "HW Thermal Slowdown" | "SW Thermal Slowdown" | "HW Power Brake Slowdown" => text == "Active",
        // Rows that wait for a reset, and rows of which none was left.
        "Pending" | "Remapping Failure Occurred" => section == "Remapped Rows" && text == "Yes",
        "GPU Recovery Action" => !matches!(text, "None" | "N/A" | ""),
        "DRAM Uncorrectable"
        | "SRAM Uncorrectable"
        | "SRAM Uncorrectable Parity"
        | "SRAM Uncorrectable SEC-DED" => section == "Volatile" && counts(text),
        _ => false,
    }
}

fn query(text: &str) -> Vec<GpuStatus> {
    let mut gpus: Vec<GpuStatus> = Vec::new();
    let mut section = String::new();
    for (line, number) in text.lines().zip(1_u64..) {
        let address =
            line.strip_prefix("GPU ").map(str::trim).and_then(super::super::kernel_event::pci_address);
        if let Some(gpu) = address {
            gpus.push(GpuStatus { gpu, ..GpuStatus::default() });
            section.clear();
            continue;
        }
        let Some(gpu) = gpus.last_mut() else { continue };
        let Some((field, text)) = line.split_once(" : ") else {
            line.trim().clone_into(&mut section);
            continue;
        };
        let (field, text) = (field.trim(), text.trim());
        if is_fault(&section, field, text) {
            let trouble = GpuTrouble::Reports { field: field.to_owned(), text: text.to_owned() };
            gpu.troubles.push((trouble, number));
        }
    }
    gpus
}

fn nvlink(text: &str) -> Vec<GpuStatus> {
    let mut gpus: Vec<GpuStatus> = Vec::new();
    for (line, number) in text.lines().zip(1_u64..) {
        if let Some(gpu) = gpu_head(line) {
            gpus.push(GpuStatus { gpu: gpu.to_owned(), ..GpuStatus::default() });
            continue;
        }
        let Some(gpu) = gpus.last_mut() else { continue };
        let Some((link, rest)) = line.trim().strip_prefix("Link ").and_then(|rest| rest.split_once(':'))
        else {
            continue;
        };
        let (Ok(link), rest) = (link.trim().parse::<u32>(), rest.trim()) else { continue };
        if rest == "<inactive>" {
            gpu.troubles.push((GpuTrouble::NvlinkInactive(link), number));
        } else if let Some((what, count)) = rest.split_once(" Errors:") {
            if let Some(count) = count.trim().parse().ok().filter(|count| *count > 0) {
                let trouble = GpuTrouble::NvlinkErrors { link, what: what.to_owned(), count };
                gpu.troubles.push((trouble, number));
            }
        } else if rest.ends_with("GB/s") {
            gpu.active_links += 1;
        }
    }
    gpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn troubles_are_read() {
        let text = "==============NVSMI LOG==============\n\nGPU 00000000:1B:00.0\n    Clocks Event Reasons\n        Idle                  \
                    : Not Active\n        HW Thermal Slowdown   : Active\n    Remapped Rows\n        Pending               : Yes\n";
        let gpus = read(text).expect("GPUs");
        assert_eq!((gpus[0].gpu.as_str(), gpus[0].troubles.len()), ("0000:1b:00", 2));
        let text =
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n";
        assert!(is_gpus(text));
        let gpus = read(text).expect("GPUs");
        assert_eq!((gpus[0].active_links, &gpus[0].troubles[0].0), (1, &GpuTrouble::NvlinkInactive(1)));
    }
}

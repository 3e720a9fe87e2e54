//! Lines of Linux about the start of devices: bandwidth of PCIe links, drivers that give up, memory that cannot be registered.
//!
//! Formats of lines are those of `drivers/pci/pci.c` (`__pcie_print_link_status`), `drivers/base/dd.c`,
//! `drivers/gpu/drm/amd/amdgpu/amdgpu_device.c`, NVIDIA's driver, `drivers/net/ethernet/mellanox/mlx5/core` and
//! `drivers/infiniband/hw/efa`.

use super::kernel_event::{KernelEvent, pci_address};

/// Drivers of GPUs.
const GPU_DRIVERS: [&str; 5] = ["nvidia", "amdgpu", "xe", "i915", "habanalabs"];
/// Drivers of NICs.
const NIC_DRIVERS: [&str; 16] = [
    "mlx5_core",
    "mlx4_core",
    "bnxt_en",
    "ice",
    "i40e",
    "ixgbe",
    "ena",
    "efa",
    "cxgb4",
    "qede",
    "hns3",
    "sfc",
    "ionic",
    "irdma",
    "hinic",
    "nfp",
];

/// Whether a driver is one of GPUs.
pub fn is_gpu_driver(driver: &str) -> bool {
    GPU_DRIVERS.contains(&driver)
}

/// What stands before a line's driver or subsystem, and what the line says of a device; none where it says nothing of
/// the kind.
pub(super) fn read(line: &str) -> Option<(&str, KernelEvent)> {
    registration(line).or_else(|| nvidia(line)).or_else(|| probe(line)).or_else(|| of_device(line))
}

/// A line of a driver about a device: what stands before, driver, address, and what it says.
fn parts(line: &str) -> Option<(&str, &str, String, &str)> {
    let mut before: Option<(usize, &str)> = None;
    for word in line.split_whitespace() {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let address = word.trim_end_matches(':');
        let is_address = address.matches(':').count() >= 2 && address.contains('.');
        if let Some(bus) = Some(address).filter(|_| is_address).and_then(pci_address) {
            let (driver_at, driver) = before?;
            let said = line.get(at + word.len()..)?.trim_start();
            return Some((line.get(..driver_at)?, driver.trim_end_matches(':'), bus, said));
        }
        before = Some((at, word));
    }
    None
}

fn is_known(driver: &str) -> bool {
    is_gpu_driver(driver) || NIC_DRIVERS.contains(&driver)
}

/// `NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x62:0x40:2393)`.
fn nvidia(line: &str) -> Option<(&str, KernelEvent)> {
    let at = line.find("NVRM: GPU ")?;
    let rest = line.get(at + "NVRM: GPU ".len()..)?;
    let (address, said) = rest.split_once(": ")?;
    let bus = pci_address(address).filter(|_| said.starts_with("RmInitAdapter failed"))?;
    Some((line.get(..at)?, KernelEvent::NotStarted { bus, driver: "nvidia".to_owned() }))
}

/// `nvidia: probe of 0000:1b:00.0 failed with error -1`.
fn probe(line: &str) -> Option<(&str, KernelEvent)> {
    let at = line.find(": probe of ")?;
    let driver_at = line.get(..at)?.rfind(' ').map_or(0, |space| space + 1);
    let driver = line.get(driver_at..at)?;
    let (address, said) = line.get(at + ": probe of ".len()..)?.split_once(' ')?;
    let bus = pci_address(address).filter(|_| said.starts_with("failed with error") && is_known(driver))?;
    Some((line.get(..driver_at)?, KernelEvent::NotStarted { bus, driver: driver.to_owned() }))
}

fn of_device(line: &str) -> Option<(&str, KernelEvent)> {
    let (head, driver, bus, said) = parts(line)?;
    // `[drm] Initialized amdgpu 3.54.0 20150101 for 0000:1b:00.0 on minor 1`.
    if driver == "for" && line.contains("] Initialized ") {
        return Some((head.split("[drm]").next().unwrap_or(head), KernelEvent::DriverStarted { bus }));
    }
    is_known(driver).then_some(())?;
    let driver = driver.to_owned();
    if said.contains("available PCIe bandwidth") {
        return Some((head, pcie_link(said, bus, driver)?));
    }
    let gives_up = said.contains("Fatal error during GPU init")
        || said.contains("failed with error") && said.contains("probe with driver")
        || said.contains("mlx5_init_one failed")
        || said.contains("failed with error code") && said.contains("probe_one");
    gives_up.then_some((head, KernelEvent::NotStarted { bus, driver }))
}

/// `63.008 Gb/s available PCIe bandwidth, limited by 8 GT/s x8 link at 0000:b2:00.0 (capable of 252.048 Gb/s with 16 GT/s x16
/// link)`, or `252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)`.
fn pcie_link(said: &str, bus: String, driver: String) -> Option<KernelEvent> {
    let (first, rest) = said.split_once(" Gb/s available PCIe bandwidth")?;
    let available = mbit(first.rsplit(' ').next()?)?;
    let Some(rest) = rest.strip_prefix(", limited by ") else {
        let speed = rest.trim_start_matches([' ', '(']).trim_end_matches([')', ' ']);
        let (speed, possible, at) = (speed.trim_end_matches(" link").to_owned(), String::new(), None);
        return Some(KernelEvent::PcieLink {
            bus,
            driver,
            available,
            capable: available,
            speed,
            possible,
            at,
        });
    };
    let (speed, rest) = rest.split_once(" link at ")?;
    let (at, rest) = rest.split_once(" (capable of ")?;
    let (capable, rest) = rest.split_once(" Gb/s with ")?;
    let possible = rest.split(" link").next()?.trim_end_matches(')').to_owned();
    let at = pci_address(at.trim()).filter(|at| *at != bus);
    Some(KernelEvent::PcieLink {
        capable: mbit(capable)?,
        speed: short(speed),
        possible: short(&possible),
        bus,
        driver,
        available,
        at,
    })
}

/// At most as much of a text as a speed and a width have.
fn short(text: &str) -> String {
    text.chars().take(32).collect()
}

/// Mbit/s of a number of Gb/s with three digits behind its point.
fn mbit(text: &str) -> Option<u64> {
    let value: f64 = text.parse().ok()?;
    (0.0..1e7).contains(&value).then(|| (value * 1e3).round() as u64)
}

/// `infiniband efa_0: Failed to register mr [-12]`, `… REG_MR (opcode 7) comp_status 1 err -12`, `mlx5_core 0000:b3:00.0:
/// mlx5_cmd_out_err:808:(pid 1): CREATE_MKEY(0x200) op_mod(0x0) failed, …, err(-12)`.
fn registration(line: &str) -> Option<(&str, KernelEvent)> {
    ["register mr", "REG_MR", "CREATE_MKEY"].iter().any(|words| line.contains(words)).then_some(())?;
    line.to_ascii_lowercase().contains("fail").then_some(())?;
    let error = error_of(line)?;
    if let Some(at) = line.find("infiniband ") {
        let (name, _) = line.get(at + "infiniband ".len()..)?.split_once(':')?;
        let is_name = !name.is_empty() && name.len() <= 32 && !name.contains(' ');
        let name = Some(name.to_owned()).filter(|_| is_name)?;
        return Some((
            line.get(..at)?,
            KernelEvent::RegistrationFailed { bus: None, name: Some(name), error },
        ));
    }
    let (head, driver, bus, said) = parts(line)?;
    NIC_DRIVERS.contains(&driver).then_some(())?;
    // The name of the device stands behind its address where it has one.
    let name = said.split_once(':').map(|(name, _)| name.trim());
    let name = name.filter(|name| name.starts_with("rdma") || name.starts_with("efa_")).map(str::to_owned);
    Some((head, KernelEvent::RegistrationFailed { bus: Some(bus), name, error }))
}

/// The last error number of a line: `[-12]`, `err -12`, `err(-12)`.
fn error_of(line: &str) -> Option<i32> {
    let mut numbers = line.match_indices('-').filter_map(|(at, _)| {
        let before = line.get(..at)?.chars().last()?;
        let digits: String = line.get(at + 1..)?.chars().take_while(char::is_ascii_digit).collect();
        let value: i32 = digits.parse().ok()?;
        ("[( ".contains(before) && (1..4096).contains(&value)).then_some(-value)
    });
    numbers.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event(line: &str) -> Option<KernelEvent> {
        read(line).map(|(_, event)| event)
    }

    #[test]
    fn starts_of_devices_are_read() {
        let link = |available, capable, speed: &str, possible: &str, at: Option<&str>| {
            Some(KernelEvent::PcieLink {
                bus: "0000:b3:00.1".into(),
                driver: "mlx5_core".into(),
                available,
                capable,
                speed: speed.into(),
                possible: possible.into(),
                at: at.map(str::to_owned),
            })
        };
        let limited = "63.008 Gb/s available PCIe bandwidth, limited by 8 GT/s x8 link at 0000:b2:00.0 (capable of 252.048 Gb/s \
                       with 16 GT/s x16 link)";
        let newer = "63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link at 0000:b3:00.1 (capable of 252.048 \
                     Gb/s with 16.0 GT/s PCIe x16 link)";
        for (line, wanted) in [
            (format!("[ 10.3] mlx5_core 0000:b3:00.1: {limited}"), link(63_008, 252_048, "8 GT/s x8", "16 GT/s x16", Some("0000:b2:00"))),
            (
                format!("Nov 24 12:00:00 gpu-1 kernel: mlx5_core 0000:b3:00.1: {newer}"),
                link(63_008, 252_048, "8.0 GT/s PCIe x8", "16.0 GT/s PCIe x16", None),
            ),
            (
                "[1.0] mlx5_core 0000:b3:00.1: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)".into(),
                link(252_048, 252_048, "16.0 GT/s PCIe x16", "", None),
            ),
            (format!("[1.0] nvme 0000:b3:00.1: {limited}"), None),
        ] {
            assert_eq!(event(&line), wanted, "{line}");
        }
        let gone = |bus: &str, driver: &str| {
            Some(KernelEvent::NotStarted { bus: bus.into(), driver: driver.into() })
        };
        for (line, wanted) in [
            (
                "[   15.147280] amdgpu 0000:1b:00.0: amdgpu: Fatal error during GPU init",
                gone("0000:1b:00", "amdgpu"),
            ),
            ("[   15.1] amdgpu: probe of 0000:1b:00.0 failed with error -22", gone("0000:1b:00", "amdgpu")),
            (
                "[   15.1] nvidia 0000:1b:00.0: probe with driver nvidia failed with error -1",
                gone("0000:1b:00", "nvidia"),
            ),
            (
                "[   15.1] NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x62:0x40:2393)",
                gone("0000:1b:00", "nvidia"),
            ),
            (
                "[   15.1] mlx5_core 0000:5e:00.0: probe_one:1722:(pid 88): mlx5_init_one failed with error code -110",
                gone("0000:5e:00", "mlx5_core"),
            ),
            ("[   15.1] ipmi_si: probe of 0000:1b:00.0 failed with error -22", None),
        ] {
            assert_eq!(event(line), wanted, "{line}");
        }
    }

    #[test]
    fn registrations_that_fail_are_read() {
        for (line, bus, name, error) in [
            ("[7.1] infiniband efa_0: Failed to register mr [-12]", None, Some("efa_0"), -12),
            (
                "[7.1] infiniband rdmap16s27: Failed to process command REG_MR (opcode 7) comp_status 1 err -12",
                None,
                Some("rdmap16s27"),
                -12,
            ),
            (
                "[7.1] mlx5_core 0000:b3:00.0: mlx5_cmd_out_err:808:(pid 1): CREATE_MKEY(0x200) op_mod(0x0) failed, status no \
                 resources(0xf), syndrome (0xb0ebba), err(-12)",
                Some("0000:b3:00"),
                None,
                -12,
            ),
        ] {
            let wanted = KernelEvent::RegistrationFailed {
                bus: bus.map(str::to_owned),
                name: name.map(str::to_owned),
                error,
            };
            assert_eq!(event(line), Some(wanted), "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_not(line in concat!(
            "(mlx5_core |0000:b3:00.1|: |probe of |failed |with error -|[0-9]{1,3}|infiniband |",
            "efa_0|REG_MR|register mr|Gb/s available PCIe bandwidth|, limited by | link at | \\(capable of |",
            ".{0,4}){0,9}",
        )) {
            let _ = read(&line);
        }
    }
}

//! Events that lines of Linux tell, and addresses on the PCI bus.

/// The event in a line of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum KernelEvent {
    /// The kernel began: what stood before it is of an earlier start.
    Boot,
    /// A driver took a network device: its link comes up anew.
    DriverStarted {
        /// Its address on the PCI bus.
        bus: String,
    },
    /// The name of a network device, or of its RDMA device.
    Named {
        /// Its address on the PCI bus.
        bus: String,
        /// The name.
        name: String,
    },
    /// An error of a GPU that NVIDIA's driver numbers.
    Xid {
        /// The GPU's address on the PCI bus.
        bus: String,
        /// Its number.
        number: u32,
        /// Whether the line says that there is nothing to do: an event of NVLink 5 that is not fatal, or that no recovery is
        /// asked for any more.
        harmless: bool,
        /// The NVLink of which the line says that it failed for good: an event of NVLink 5 that is fatal.
        fatal_link: Option<u32>,
        /// The Xid that the line says is the cause of this one.
        after: Option<u32>,
    },
    /// The bandwidth of a device's PCIe link, as the kernel prints it when the driver starts.
    PcieLink {
        /// Address of the device.
        bus: String,
        /// Its driver.
        driver: String,
        /// Bandwidth in Mbit/s.
        available: u64,
        /// Bandwidth in Mbit/s that the device is capable of.
        capable: u64,
        /// Speed and width of the slowest link, such as `8 GT/s x8`.
        speed: String,
        /// Speed and width that the device is capable of; empty where nothing limits it.
        possible: String,
        /// Address of the port at the slowest link, where it is not the device's own.
        at: Option<String>,
    },
    /// A driver gave a device up when it started it.
    NotStarted {
        /// Address of the device.
        bus: String,
        /// Its driver.
        driver: String,
    },
    /// An RDMA device could not register memory.
    RegistrationFailed {
        /// Its address on the PCI bus, where it is told.
        bus: Option<String>,
        /// Its name, where it is told.
        name: Option<String>,
        /// Error number of Linux, below zero.
        error: i32,
    },
    /// An error of an NVSwitch that NVIDIA's driver numbers.
    SwitchXid {
        /// The switch's address on the PCI bus.
        bus: String,
        /// Its number.
        number: u32,
        /// Whether the driver holds it for fatal: programs on its GPUs end, and the switch must be reset.
        fatal: bool,
    },
    /// The link of a network device went up or down.
    Link {
        /// Its address on the PCI bus, where it is told.
        bus: Option<String>,
        /// Its name, where it is told.
        name: Option<String>,
        /// Whether it is up.
        up: bool,
    },
    /// A network device that does not work any more: a queue that does not move, firmware that stopped.
    Nic {
        /// Its address on the PCI bus, where it is told.
        bus: Option<String>,
        /// Its name, where it is told.
        name: Option<String>,
        /// Whether its firmware says so; else only a queue that does not move.
        firmware: bool,
    },
    /// An error of PCIe that was not corrected.
    Pcie {
        /// Address of the device.
        bus: String,
        /// Its driver, where that is told.
        driver: Option<String>,
        /// Whether the link cannot be relied on any more.
        fatal: bool,
    },
    /// A process was killed for want of memory.
    OutOfMemory {
        /// Its name.
        process: String,
    },
    /// The processor or memory reports an error that it could not correct.
    MachineCheck,
}

/// An address on the PCI bus as `0000:bb:00`, from `0000:bb:00.0`, `bb:00.0` or `PCI:0000:bb:00`; none where it is none. The
/// second port of a NIC is function 1 of its device and keeps it: `0000:bb:00.1`.
pub fn pci_address(text: &str) -> Option<String> {
    let text = text.trim_start_matches("PCI:").trim_start_matches("0x").to_ascii_lowercase();
    let (text, function) = text.split_once('.').unwrap_or((text.as_str(), "0"));
    let function = function.parse::<u8>().ok().filter(|function| *function < 8)?;
    let parts: Vec<&str> = text.split(':').collect();
    let (domain, bus, device) = match parts[..] {
        [domain, bus, device] => (domain, bus, device),
        [bus, device] => ("0", bus, device),
        _ => return None,
    };
    let hex = |text: &str| u32::from_str_radix(text, 16).ok().filter(|_| text.len() <= 8);
    let (domain, bus, device) = (hex(domain)?, hex(bus)?, hex(device)?);
    let function = if function > 0 { format!(".{function}") } else { String::new() };
    (bus < 256 && device < 32).then(|| format!("{domain:04x}:{bus:02x}:{device:02x}{function}"))
}

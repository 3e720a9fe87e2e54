//! Lines of Linux that tell of trouble: NVIDIA's drivers, links of NICs, PCIe, memory, machine checks.
//!
//! Formats of lines are those of NVIDIA's drivers (`NVRM: Xid (PCI:0000:bb:00): 79, …`, `nvidia-nvswitch3: SXid
//! (PCI:0000:c4:00.0): 24007, Fatal, …`), `drivers/net/ethernet/mellanox/mlx5` and what other drivers of NICs have in common,
//! `drivers/pci/pcie/aer.c`, `mm/oom_kill.c`, `net/sched/sch_generic.c`, `arch/x86/kernel/cpu/mce` and `drivers/edac`.

use super::kernel_devices;
use super::kernel_event::{KernelEvent, pci_address};
use super::log_time::{Before, before};

/// Words that make a line worth a look.
const SIGNS: [&str; 22] = [
    "NVRM: ",
    "mlx5_",
    "NETDEV WATCHDOG",
    "PCIe Bus Error",
    "AER: ",
    "pcieport ",
    "ut of memory",
    "[Hardware Error]",
    "Machine Check Exception",
    "EDAC ",
    "Linux version ",
    "fallen off the bus",
    "nvidia-nvswitch",
    "ink is ",
    "link down",
    "available PCIe bandwidth",
    "during GPU init",
    ": probe ",
    "Initialized ",
    "register mr",
    "REG_MR",
    "CREATE_MKEY",
];

/// Whether a line may be one of a kernel that tells something.
pub(crate) fn has_sign(line: &str) -> bool {
    SIGNS.iter().any(|sign| line.contains(sign))
}

/// What a line says, and what stands before it; none where it says nothing of the kind.
pub(crate) fn read(line: &str) -> Option<(Before<'_>, KernelEvent)> {
    if !has_sign(line) {
        return None;
    }
    if let Some((head, event)) = kernel_devices::read(line) {
        return Some((before(head), event));
    }
    let at = SIGNS.iter().filter_map(|sign| line.find(sign)).min()?;
    let (head, text) = line.split_at(at);
    let event = nvidia(text)
        .or_else(|| memory(text))
        .or_else(|| machine(head, text))
        .or_else(|| watchdog(line))
        .or_else(|| pcie(line))
        .or_else(|| network(text));
    let Some(event) = event else {
        let (head, event) = other_network(line)?;
        return Some((before(head), event));
    };
    let head = match &event {
        // Its head may be the name of the device.
        KernelEvent::Pcie { .. } => line.split("PCIe Bus Error").next().unwrap_or(head),
        _ => head,
    };
    Some((before(head), event))
}

fn nvidia(text: &str) -> Option<KernelEvent> {
    if let Some(rest) = text.strip_prefix("nvidia-nvswitch") {
        let (_, rest) = rest.split_once(": SXid (")?;
        let (address, rest) = rest.split_once(')')?;
        let (number, rest) = rest.trim_start_matches([':', ' ']).split_once(',')?;
        // What else a switch says of the same error has neither word.
        let fatal = match rest.split(',').next()?.trim() {
            "Fatal" => true,
            "Non-fatal" => false,
            _ => return None,
        };
        return Some(KernelEvent::SwitchXid {
            bus: pci_address(address)?,
            number: number.parse().ok()?,
            fatal,
        });
    }
    if let Some(rest) = text.strip_prefix("NVRM: Xid (") {
        let (address, rest) = rest.split_once(')')?;
        let bus = pci_address(address)?;
        let digits: String =
            rest.trim_start_matches([':', ' ']).chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse().ok()?;
        return Some(KernelEvent::Xid {
            bus,
            number,
            harmless: is_harmless(number, rest),
            fatal_link: fatal_link(number, rest),
            after: cause_of(number, rest),
        });
    }
    // Without a number: the same as Xid 79. The other words stand on lines of their own.
    let rest = text.strip_prefix("NVRM: GPU at ")?;
    rest.contains("has fallen off the bus").then_some(())?;
    let bus = pci_address(rest.split(' ').next()?)?;
    Some(KernelEvent::Xid { bus, number: 79, harmless: false, fatal_link: None, after: None })
}

/// Whether what an Xid says behind its number is that nothing is to be done: `149, NETIR_LINK_EVT Nonfatal XC0 …`, `154, GPU
/// recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)`.
fn is_harmless(number: u32, said: &str) -> bool {
    match number {
        144..=150 => ["Nonfatal", "Non-fatal"].iter().any(|word| said.contains(word)),
        154 => said.split(" to ").last().is_some_and(|action| action.contains("(None)")),
        _ => false,
    }
}

/// The NVLink of a fatal event: `149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x…`.
fn fatal_link(number: u32, said: &str) -> Option<u32> {
    let mut words = said.split_whitespace();
    (matches!(number, 144..=150) && words.any(|word| word == "Fatal")).then_some(())?;
    words.find(|word| *word == "Link")?;
    words.next()?.parse().ok()
}

/// The Xid that a line names as the cause: `45, pid=7, name=python3, Ch 00000001 caused by previous Xid 149`.
fn cause_of(number: u32, said: &str) -> Option<u32> {
    let (_, rest) = said.split_once("caused by previous Xid ").filter(|_| number == 45)?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn memory(text: &str) -> Option<KernelEvent> {
    let at = text.find("ut of memory")?;
    let rest = text.get(at..)?;
    let killed = rest.find("Killed process ").or_else(|| rest.find("Kill process "))?;
    let rest = rest.get(killed..)?;
    let name = rest.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(name, _)| name);
    Some(KernelEvent::OutOfMemory { process: name.chars().take(64).collect() })
}

fn machine(head: &str, text: &str) -> Option<KernelEvent> {
    if text.starts_with("Linux version ") {
        return (head.trim_end().is_empty()
            || head.contains("kernel:")
            || head.trim_end().ends_with(']')
            || head.contains("kern"))
        .then_some(KernelEvent::Boot);
    }
    let uncorrected = text.contains("Machine Check Exception")
        || text.contains("[Hardware Error]: event severity: fatal")
        || text.contains("[Hardware Error]: event severity: recoverable")
        || (text.starts_with("EDAC ") && text.split_whitespace().any(|word| word == "UE"))
        || text.contains("[Hardware Error]: Uncorrected error")
        || text.contains("[Hardware Error]: System Fatal error");
    uncorrected.then_some(KernelEvent::MachineCheck)
}

fn watchdog(line: &str) -> Option<KernelEvent> {
    let at = line.find("NETDEV WATCHDOG: ")?;
    let (head, rest) = (line.get(..at)?, line.get(at + "NETDEV WATCHDOG: ".len()..)?);
    rest.contains("timed out").then_some(())?;
    // Before Linux 6.8 the name of the device stands behind, and then before, with its address.
    let (bus, name) = if rest.starts_with("CPU: ") {
        let mut words = head.trim_end().rsplit(' ');
        let name = words.next()?.trim_end_matches(':');
        (words.next().and_then(pci_address), name)
    } else {
        (None, rest.split([' ', ':']).next()?)
    };
    (!name.is_empty()).then(|| KernelEvent::Nic { bus, name: Some(name.to_owned()), firmware: false })
}

fn pcie(line: &str) -> Option<KernelEvent> {
    let at = line.find("PCIe Bus Error: severity=")?;
    let (head, rest) = (line.get(..at)?, line.get(at + "PCIe Bus Error: severity=".len()..)?);
    let severity = rest.split(',').next()?;
    severity.starts_with("Uncorrect").then_some(())?;
    let words: Vec<&str> = head.split_whitespace().collect();
    let place = words.iter().rposition(|word| pci_address(word.trim_end_matches(':')).is_some())?;
    let bus = pci_address(words[place].trim_end_matches(':'))?;
    let driver = place.checked_sub(1).and_then(|at| words.get(at)).map(|word| (*word).to_owned());
    let driver =
        driver.filter(|name| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_'));
    Some(KernelEvent::Pcie { bus, driver, fatal: severity.contains("(Fatal)") })
}

/// Lines of mlx5: `mlx5_core 0000:29:00.0 ens1f0np0: Link down`, `mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE`,
/// `mlx5_core 0000:29:00.0: Port module event: module 0, Cable unplugged`.
fn network(text: &str) -> Option<KernelEvent> {
    let Some(rest) = text.strip_prefix("mlx5_core ") else { return rdma(text) };
    let (address, rest) = rest.split_once(' ')?;
    let (bus, name, said) = match address.strip_suffix(':') {
        Some(address) => (pci_address(address)?, None, rest),
        None => {
            let bus = pci_address(address)?;
            match rest.split_once(':') {
                Some((name, said)) if is_device(name) => (bus, Some(name), said.trim_start()),
                _ => (bus, None, rest),
            }
        }
    };
    let name = name.map(str::to_owned);
    if said.starts_with("firmware version") {
        return Some(KernelEvent::DriverStarted { bus });
    }
    if let Some(old) = said.strip_prefix("renamed from ") {
        // What RDMA devices are called first is what logs of NCCL may not know any more, and what counters of others do.
        let old = old.trim().trim_end_matches('.');
        return Some(KernelEvent::Named { bus, name: name.unwrap_or_else(|| old.to_owned()) });
    }
    let port =
        said.strip_prefix("Port: ").and_then(|rest| rest.split_once(" Link ")).map(|(_, state)| state.trim());
    let up = match port.unwrap_or(said.trim()) {
        "Link up" | "ACTIVE" => Some(true),
        "Link down" | "DOWN" => Some(false),
        _ if said.contains("Port module event") && said.contains("Cable unplugged") => Some(false),
        _ => None,
    };
    if let Some(up) = up {
        return Some(KernelEvent::Link { bus: Some(bus), name, up });
    }
    let firmware =
        ["health compromised", "Fatal error", "fatal error", "device is in error state", "firmware fatal"]
            .iter()
            .any(|words| said.contains(words));
    if firmware {
        return Some(KernelEvent::Nic { bus: Some(bus), name, firmware: true });
    }
    if said.contains("TX timeout detected") {
        return Some(KernelEvent::Nic { bus: Some(bus), name, firmware: false });
    }
    name.map(|name| KernelEvent::Named { bus, name })
}

/// What other drivers of NICs say of links: `bnxt_en 0000:06:00.0 enp6s0: NIC Link is Down`, `igb 0000:04:00.0 eth0: igb: eth0 NIC
/// Link is Up 1000 Mbps Full Duplex`, `hns3 0000:bd:00.0 eth0: link down`, with what stands before the driver's name.
fn other_network(line: &str) -> Option<(&str, KernelEvent)> {
    let word = |text: &'static str| line.find(text);
    let at = ["NIC Link is ", "Link is ", "link is ", ": link "]
        .into_iter()
        .find_map(|text| Some((word(text)?, text)))?;
    let state: String = line
        .get(at.0 + at.1.len()..)?
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect::<String>()
        .to_ascii_lowercase();
    let up = match state.as_str() {
        "up" => true,
        "down" => false,
        _ => return None,
    };
    // The address on the bus stands behind the driver, and before the name of the device where it has one yet.
    let head = line.get(..at.0)?;
    let words: Vec<(usize, &str)> =
        head.split_whitespace().map(|word| (word.as_ptr() as usize - head.as_ptr() as usize, word)).collect();
    let place = words.iter().position(|(_, word)| {
        word.matches(':').count() >= 2
            && word.contains('.')
            && pci_address(word.trim_end_matches(':')).is_some()
    })?;
    let (_, address) = words[place];
    let (driver_at, driver) = *words.get(place.checked_sub(1)?)?;
    let is_driver = driver.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let name =
        words.get(place + 1).filter(|_| !address.ends_with(':')).map(|(_, name)| name.trim_end_matches(':'));
    let name = name.filter(|name| is_device(name)).map(str::to_owned);
    is_driver.then_some(())?;
    Some((
        line.get(..driver_at)?,
        KernelEvent::Link { bus: pci_address(address.trim_end_matches(':')), name, up },
    ))
}

/// Lines of the RDMA device: `mlx5_2: port 1 …`, `infiniband mlx5_2: …`, `mlx5_ib…`.
fn rdma(text: &str) -> Option<KernelEvent> {
    let (name, said) = text.split_once(": ")?;
    let name =
        Some(name).filter(|name| is_device(name) && name.starts_with("mlx5_") && *name != "mlx5_ib")?;
    let small = said.to_ascii_lowercase();
    small.starts_with("port ").then_some(())?;
    let has = |word: &str| small.split([' ', ',', '.']).any(|one| one == word);
    let up = if has("active") || has("up") {
        true
    } else if has("down") || has("error") {
        false
    } else {
        return None;
    };
    Some(KernelEvent::Link { bus: None, name: Some(name.to_owned()), up })
}

fn is_device(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.@".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> Option<KernelEvent> {
        read(line).map(|(_, event)| event)
    }

    #[test]
    fn lines_as_kernels_print_them() {
        let bus = |text: &str| text.to_owned();
        let link = |bus: &str, name: &str, up| {
            Some(KernelEvent::Link {
                bus: Some(bus.to_owned()),
                name: (!name.is_empty()).then(|| name.to_owned()),
                up,
            })
        };
        for (line, wanted) in [
            (
                "[ 1843.3] NVRM: Xid (PCI:0000:bb:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
                Some(KernelEvent::Xid {
                    bus: bus("0000:bb:00"),
                    number: 79,
                    harmless: false,
                    fatal_link: None,
                    after: None,
                }),
            ),
            (
                "Nov 24 12:00:00 h kernel: NVRM: Xid (PCI:0009:01:00): 31, pid=77, name=python, Ch 00000008, MMU Fault",
                Some(KernelEvent::Xid {
                    bus: bus("0009:01:00"),
                    number: 31,
                    harmless: false,
                    fatal_link: None,
                    after: None,
                }),
            ),
            (
                "[   49.261458] NVRM: GPU at 0000:01:00.0 has fallen off the bus.",
                Some(KernelEvent::Xid {
                    bus: bus("0000:01:00"),
                    number: 79,
                    harmless: false,
                    fatal_link: None,
                    after: None,
                }),
            ),
            ("[32710.060490] mlx5_core 0000:01:00.0 enp1s0f0: Link up", link("0000:01:00", "enp1s0f0", true)),
            ("h: mlx5_core 0000:29:00.0 ens1np0: Link down", link("0000:29:00", "ens1np0", false)),
            (
                "Feb 14 05:03:41 gpu-1 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE",
                link("0000:ab:00", "mlx5_5", true),
            ),
            (
                "[1.0] mlx5_core 0000:ab:00.0: Port module event: module 0, Cable unplugged",
                link("0000:ab:00", "", false),
            ),
            (
                "[5.1] mlx5_core 0000:ab:00.0: poll_health:841:(pid 0): device's health compromised - reached miss count",
                Some(KernelEvent::Nic { bus: Some(bus("0000:ab:00")), name: None, firmware: true }),
            ),
            (
                "[2.1] mlx5_core 0000:29:00.0: firmware version: 28.39.1002",
                Some(KernelEvent::DriverStarted { bus: bus("0000:29:00") }),
            ),
            (
                "[227377.149005] NETDEV WATCHDOG: ib0 (mlx5_core): transmit queue 0 timed out",
                Some(KernelEvent::Nic { bus: None, name: Some("ib0".into()), firmware: false }),
            ),
            (
                "[ 3.2] mlx5_core 0000:22:01.0 eth1: NETDEV WATCHDOG: CPU: 0: transmit queue 0 timed out 5010 ms",
                Some(KernelEvent::Nic {
                    bus: Some(bus("0000:22:01")),
                    name: Some("eth1".into()),
                    firmware: false,
                }),
            ),
            (
                "[9.1] nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)",
                Some(KernelEvent::Pcie {
                    bus: bus("0000:1b:00"),
                    driver: Some("nvidia".into()),
                    fatal: true,
                }),
            ),
            (
                "[9.1] NVRM: Xid (PCI:0008:06:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 01 (0x004505c6 0x00000000)",
                Some(KernelEvent::Xid {
                    bus: bus("0008:06:00"),
                    number: 149,
                    harmless: false,
                    fatal_link: Some(1),
                    after: None,
                }),
            ),
            (
                "[9.1] NVRM: Xid (PCI:0008:06:00): 149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 01 (0x004505c6 0x00000000)",
                Some(KernelEvent::Xid {
                    bus: bus("0008:06:00"),
                    number: 149,
                    harmless: true,
                    fatal_link: None,
                    after: None,
                }),
            ),
            (
                "[9.1] NVRM: Xid (PCI:0008:06:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
                Some(KernelEvent::Xid {
                    bus: bus("0008:06:00"),
                    number: 154,
                    harmless: false,
                    fatal_link: None,
                    after: None,
                }),
            ),
            (
                "[9.1] NVRM: Xid (PCI:0008:06:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
                Some(KernelEvent::Xid {
                    bus: bus("0008:06:00"),
                    number: 154,
                    harmless: true,
                    fatal_link: None,
                    after: None,
                }),
            ),
            (
                "2025-10-20T12:30:01+0000 node031 kernel: nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 24007, Fatal, Link 36 sourcetrack \
                 timeout error (First)",
                Some(KernelEvent::SwitchXid { bus: bus("0000:c4:00"), number: 24007, fatal: true }),
            ),
            (
                "[1.0] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 36 egress non-posted PRIV error (First)",
                Some(KernelEvent::SwitchXid { bus: bus("0000:c4:00"), number: 12028, fatal: false }),
            ),
            (
                "[1.0] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 12028, Severity 0 Engine instance 36 Sub-engine instance 00",
                None,
            ),
            ("[1.0] nvidia-nvswitch0: using MSI", None),
            ("[7.1] bnxt_en 0000:06:00.0 enp6s0: NIC Link is Down", link("0000:06:00", "enp6s0", false)),
            (
                "[7.2] bnxt_en 0000:06:00.1 enp6s0f1: NIC Link is Up, 100000 Mbps full duplex, Flow control: none",
                link("0000:06:00.1", "enp6s0f1", true),
            ),
            (
                "[7.2] ice 0000:81:00.0 ens1f0: NIC Link is up 100 Gbps Full Duplex",
                link("0000:81:00", "ens1f0", true),
            ),
            ("[7.2] ixgbe 0000:01:00.0 eth0: NIC Link is Down", link("0000:01:00", "eth0", false)),
            ("[7.2] igb 0000:04:00.0 eth0: igb: eth0 NIC Link is Down", link("0000:04:00", "eth0", false)),
            (
                "Oct 20 12:30:01 node017 kernel: ena 0000:00:05.0 ens5: NIC Link is Down",
                link("0000:00:05", "ens5", false),
            ),
            ("[7.2] hns3 0000:bd:00.0 eth0: link down", link("0000:bd:00", "eth0", false)),
            ("[7.2] tg3 0000:02:00.0 eth1: Link is down", link("0000:02:00", "eth1", false)),
            ("[7.2] the weakest link is down the road at 10:11:12.5", None),
            ("[9.1] pcieport 0000:16:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer", None),
            (
                "[7.7] Out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:2kB",
                Some(KernelEvent::OutOfMemory { process: "python3".into() }),
            ),
            (
                "[7.7] Memory cgroup out of memory: Killed process 4242 (pt_data_worker) total-vm:1kB",
                Some(KernelEvent::OutOfMemory { process: "pt_data_worker".into() }),
            ),
            ("[1.1] mce: [Hardware Error]: Machine check events logged", None),
            (
                "[1.1] mce: [Hardware Error]: CPU 2: Machine Check Exception: 5 Bank 1: be",
                Some(KernelEvent::MachineCheck),
            ),
            ("[1.1] EDAC MC0: 1 CE memory read error on CPU_SrcID#0", None),
            ("[1.1] EDAC MC0: 1 UE memory read error on CPU_SrcID#0", Some(KernelEvent::MachineCheck)),
            ("[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02) (gcc)", Some(KernelEvent::Boot)),
            ("I run Linux version 6 at home", None),
            ("[    1.0] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.158.01", None),
        ] {
            assert_eq!(event(line), wanted, "{line}");
        }
    }

    #[test]
    fn what_stands_before_a_switch_or_a_driver_tells_the_host() {
        for line in [
            "2025-10-20T12:30:01+0000 node031 kernel: nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 24007, Fatal, Link 36",
            "2025-10-20T12:30:01+0000 node031 kernel: bnxt_en 0000:06:00.0 enp6s0: NIC Link is Down",
            "node031: [Mon Oct 20 12:30:01 2025] ice 0000:81:00.0 ens1f0: NIC Link is Down",
        ] {
            let (before, _) = read(line).expect(line);
            assert_eq!(before.host, Some("node031"), "{line}");
            assert!(before.time.is_some(), "{line}");
        }
    }

    #[test]
    fn addresses_have_one_spelling() {
        for (text, wanted) in [
            ("PCI:0000:bb:00", Some("0000:bb:00")),
            ("0000:BB:00.0", Some("0000:bb:00")),
            ("bb:00.0", Some("0000:bb:00")),
            ("00000000:1B:00.0", Some("0000:1b:00")),
            ("0000:bb:00.1", Some("0000:bb:00.1")),
            ("bb", None),
            ("0000:bbb:00", None),
            ("10:11:52", None),
        ] {
            assert_eq!(pci_address(text).as_deref(), wanted, "{text}");
        }
    }
}

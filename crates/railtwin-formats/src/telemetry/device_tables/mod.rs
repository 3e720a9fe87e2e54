//! Tables that tools print about devices: paths between GPUs and NICs, links, ports, queues, GPUs.
//!
//! * `topology`: `nvidia-smi topo -m`.
//! * `ib_links`: `iblinkinfo`, `ibnetdiscover`.
//! * `ports`: `ibstat`, `mlxlink`.
//! * `gpus`: `nvidia-smi -q`, `nvidia-smi nvlink`.
//! * `dcgmi`: `dcgmi diag`, `dcgmi health --check`.
//! * `gids`: `show_gids`.
//! * `pfc`: SONiC's `show pfcwd stats` and `show pfc counters`.

mod dcgmi;
mod gids;
mod gpus;
mod ib_links;
mod pfc;
mod ports;
mod topology;

pub use gids::GidPort;
pub use gpus::{GpuStatus, GpuTrouble};
pub use ib_links::{IbLink, IbPort};
pub use pfc::{PfcPauses, PfcQueue, PfcTables};
pub use ports::PortStatus;
pub use topology::{GpuTopology, PciePath};

use super::names::host_and_nic_of_name;
use super::{Hints, input};
use crate::error::FormatError;

/// Name of these formats in errors.
const FORMAT: &str = "table of devices";

/// The content of a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DeviceTable {
    /// Paths between GPUs and NICs of a host.
    Topology(GpuTopology),
    /// Links of an InfiniBand subnet.
    Links(Vec<IbLink>),
    /// Queues and pauses of a switch.
    Pfc(PfcTables),
    /// Ports of a host.
    Ports(String, Vec<PortStatus>),
    /// GPUs of a host. One without a name stands for the host as a whole.
    Gpus(String, Vec<GpuStatus>),
    /// GIDs of the ports of a host.
    Gids(String, Vec<GidPort>),
}

impl DeviceTable {
    /// What it holds, in a few words.
    pub fn held(&self) -> String {
        match self {
            Self::Topology(found) => {
                format!("paths between {} GPUs and {} NICs", found.gpus.len(), found.nics.len())
            }
            Self::Ports(_, ports) => format!("{} ports", ports.len()),
            Self::Gpus(_, gpus) => format!("{} GPUs", gpus.len()),
            Self::Gids(_, ports) => {
                let gids: u32 = ports.iter().map(|port| port.gids).sum();
                format!("{gids} GIDs of {} ports", ports.len())
            }
            Self::Links(links) => format!("{} links", links.len()),
            Self::Pfc(found) => {
                format!("{} queues, {} counters of pauses", found.queues.len(), found.pauses.len())
            }
        }
    }
}

/// Whether a text is such a table.
pub(crate) fn is_table(text: &str) -> bool {
    topology::is_topology(text)
        || ib_links::is_links(text)
        || pfc::is_pfc(text)
        || ports::is_ports(text)
        || gpus::is_gpus(text)
        || dcgmi::is_dcgmi(text)
        || gids::is_gids(text)
}

/// Reads a table of any of these tools. The host comes from the hints or from the file name (`topo_HOST.txt`).
///
/// # Errors
/// A text in which no row is whole.
pub fn parse_device_table(
    source_name: &str,
    bytes: &[u8],
    hints: &Hints,
) -> Result<DeviceTable, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let text = without_escapes(&text);
    let named = hints.host.clone().or_else(|| host_and_nic_of_name(source_name).0);
    let host = || named.clone().unwrap_or_else(|| "unknown-host".to_owned());
    let table = if topology::is_topology(&text) {
        topology::read(&text, host()).map(DeviceTable::Topology)
    } else if pfc::is_pfc(&text) {
        pfc::read(&text, host()).map(DeviceTable::Pfc)
    } else if ports::is_ports(&text) {
        let nic = hints.nic.clone().or_else(|| host_and_nic_of_name(source_name).1);
        ports::read(&text, nic.as_deref().unwrap_or("nic")).map(|ports| DeviceTable::Ports(host(), ports))
    } else if gpus::is_gpus(&text) {
        gpus::read(&text).map(|gpus| DeviceTable::Gpus(host(), gpus))
    } else if dcgmi::is_dcgmi(&text) {
        dcgmi::read(&text).map(|gpus| DeviceTable::Gpus(host(), gpus))
    } else if gids::is_gids(&text) {
        gids::read(&text).map(|ports| DeviceTable::Gids(host(), ports))
    } else {
        ib_links::read(&text).map(DeviceTable::Links)
    };
    table.ok_or_else(|| {
        let accepted =
            "give what nvidia-smi topo -m, iblinkinfo, ibnetdiscover or SONiC's show pfcwd stats prints";
        FormatError::new(FORMAT, source_name, "has no whole row", accepted)
    })
}

/// A text without the escapes by which terminals underline and color.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.strip_prefix('[').map(|rest| {
            let end = rest.find(|letter: char| letter.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
            &rest[end..]
        });
        plain.push_str(rest.unwrap_or(part));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_left_out() {
        assert_eq!(without_escapes("\u{1b}[4mGPU0\tNIC0\u{1b}[0m x"), "GPU0\tNIC0 x");
        assert_eq!(without_escapes("\u{1b}[4"), "");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in concat!(
                "(GPU[0-9]|NIC[0-9]|\t| |X|SYS|PXB|NV12|\n|CA: |Switch: |==\\(|\\)==>|4X|1X|Active/|LinkUp|\\[|",
                "\\]|\"|Could be |vendid=|S-00|# |lid |4xEDR|QUEUE|STORM DETECTED/RESTORED|Ethernet4:3|stormed|",
                "[0-9]/[0-9]|Port Tx|PFC0|CA 'mlx5_0'|Port 1:|State: |Rate: |Operational Info|Physical state|",
                "Status Opcode : 2|NVSMI LOG|GPU 0: x \\(UUID: |GPU 00000000:1B:00.0|Pending : Yes|Link 0: |",
                "<inactive>|----|\\|Diagnostic\\|Result\\||Fail - GPU: 3|\\|Health Monitor Report\\||-> 0|DEV PORT INDEX GID|",
                "mlx5_0 1 3 0:0:ffff 10.0.0.1 v2|[0-9]{1,4}){0,60}",
            ),
        ) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let _ = is_table(&String::from_utf8_lossy(bytes));
                let _ = parse_device_table("x", bytes, &Hints::default());
            }
        }
    }
}

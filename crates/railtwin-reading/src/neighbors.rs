//! What ports hear of their neighbors (LLDP): wrong cables.
use railtwin_fabric::Fabric;
use railtwin_records::Directory;

use super::names::{Names, number_nic};

/// Gives ports of hosts, and switches that they hear, the names of the fabric: those of `names`, and `mlx5_N` of its hosts
/// by number. A NIC without a port is its first.
pub(super) fn place(directory: &mut Directory, fabric: &Fabric, mut names: Option<&mut Names>) {
    for info in &mut directory.neighbors {
        let mut port = 0;
        if let Some(names) = names.as_deref_mut() {
            if let Some((ours, of_nic)) = names.of(&info.port) {
                (info.port, port) = (ours, of_nic.unwrap_or(0));
            }
            if let Some((ours, _)) = names.of(&info.neighbor) {
                info.neighbor = ours;
            }
        }
        number_nic(fabric, &mut info.port);
        let named = info.port.split_once("/nic-").filter(|(_, number)| number.parse::<u32>().is_ok());
        if named.is_some_and(|(host, _)| fabric.host_named(host).is_some()) {
            info.port = format!("{}:port-{port}", info.port);
        }
    }
}

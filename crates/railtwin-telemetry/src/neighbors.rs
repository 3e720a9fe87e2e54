//! What ports hear at the far ends of their cables, as hosts and switches would tell by LLDP.
use railtwin_fabric::Fabric;
use railtwin_records::{Directory, NeighborInfo};

/// Enters all cables of a fabric as they are plugged in, each by its port nearer to the hosts, if none is there yet.
pub(crate) fn enter(fabric: &Fabric, directory: &mut Directory) {
    if !directory.neighbors.is_empty() {
        return;
    }
    directory.neighbors.extend(fabric.cables().map(|cable| {
        let [near, far] = fabric.cable_ports(cable);
        NeighborInfo {
            port: fabric.port_name(near),
            neighbor: fabric.device_name(fabric.port_device(far)),
            neighbor_port: fabric.port_name(far),
        }
    }));
}

//! What links carried, of the network only: from NIC to NIC.
use railtwin_engine::{Case, RunLog};
use railtwin_fabric::{CableClass, CableId, Fabric, LinkId};

/// The cables between NICs, in order.
pub fn network_cables(fabric: &Fabric) -> impl Iterator<Item = CableId> + '_ {
    fabric.cables().filter(|&cable| fabric.cable_class(cable) >= CableClass::Access)
}

/// Bytes of a link over what it could have carried in the run, 0..1.
pub fn utilization(fabric: &Fabric, log: &RunLog, link: LinkId) -> f64 {
    let most = fabric.capacity(link).bytes_per_s() * log.end.seconds();
    if most > 0.0 { log.link_bytes[link.index()] / most } else { 0.0 }
}

/// Utilization of the most used network link.
pub fn worst_utilization(case: &Case, log: &RunLog) -> f64 {
    let fabric = &case.fabric;
    let links = network_cables(fabric).flat_map(|cable| [cable.forward(), cable.backward()]);
    links.map(|link| utilization(fabric, log, link)).fold(0.0, f64::max)
}

//! Ways between GPUs and hosts that have none: storage hosts and gateways.
use railtwin_control::Place;
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::stream::Stream;

use crate::plant::Plant;

/// A storage host or gateway, and whether it stands on the frontend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub host: HostId,
    pub on_frontend: bool,
}

impl Service {
    pub(crate) fn of(fabric: &Fabric, host: HostId) -> Self {
        Self { host, on_frontend: fabric.host_model(host).frontend_nics > 0 }
    }

    /// Ports of the NIC by which a GPU of `place` reaches it.
    pub(crate) fn ports_towards(self, fabric: &Fabric, place: Place) -> u32 {
        let model = fabric.host_model(place.host);
        if self.on_frontend { model.frontend.ports.max(1) } else { model.nic.ports.max(1) }
    }

    /// Ports of its own NIC.
    pub(crate) fn ports(self, fabric: &Fabric) -> u32 {
        let model = fabric.host_model(self.host);
        if self.on_frontend { model.frontend.ports.max(1) } else { model.nic.ports.max(1) }
    }

    /// NICs of a host by which a GPU may reach it, by number: the GPU's own, and on the backend, where no switch may join
    /// rails, the others behind it.
    fn nics(self, fabric: &Fabric, place: Place) -> impl Iterator<Item = u32> + use<> {
        let model = fabric.host_model(place.host);
        let own = match self.on_frontend {
            true => model.nics + place.gpu % model.frontend_nics.max(1),
            false => model.nic_of_gpu(place.gpu),
        };
        let others = if self.on_frontend { 0 } else { model.nics };
        std::iter::once(own).chain((0..others).filter(move |&nic| nic != own))
    }

    /// Links inside a host between a GPU and one of its NICs. How bytes come to a NIC of the frontend is not modelled, as in
    /// runs.
    fn inside(self, plant: &Plant<'_>, place: Place, index: u32) -> Vec<LinkId> {
        if self.on_frontend {
            return Vec::new();
        }
        let nic = plant.fabric.nic(place.host, index);
        plant.fabric.into_nic(place.host, plant.relay_of(nic, place.gpu), index)
    }

    /// A way from a GPU to it by a port of the GPU's NIC; empty where there is none.
    pub(crate) fn way_to(self, plant: &Plant<'_>, place: Place, port: u32, lot: &mut Stream) -> Vec<LinkId> {
        let target = plant.fabric.nic(self.host, 0);
        for index in self.nics(plant.fabric, place) {
            let (nic, mut path) = (plant.fabric.nic(place.host, index), Vec::new());
            if plant.draw(NicPort { nic, port }, target, lot, &mut path).is_some() {
                let mut links = self.inside(plant, place, index);
                links.append(&mut path);
                return links;
            }
        }
        Vec::new()
    }

    /// A way from it to a GPU by a port of its own NIC; empty where there is none.
    pub(crate) fn way_from(
        self,
        plant: &Plant<'_>,
        place: Place,
        port: u32,
        lot: &mut Stream,
    ) -> Vec<LinkId> {
        let nic = plant.fabric.nic(self.host, 0);
        for index in self.nics(plant.fabric, place) {
            let (target, mut path) = (plant.fabric.nic(place.host, index), Vec::new());
            if plant.draw(NicPort { nic, port }, target, lot, &mut path).is_some() {
                let inside = self.inside(plant, place, index);
                path.extend(inside.into_iter().rev().map(LinkId::reverse));
                return path;
            }
        }
        Vec::new()
    }
}

//! The topology of a fabric: what every writer starts from.
use railtwin_fabric::Fabric;
use railtwin_fabric::cable_list::list_of;

use crate::about::{About, DeviceClass};
use crate::topology::Topology;

impl Topology {
    /// The network of a fabric, with what stands in its hosts.
    pub fn of_fabric(fabric: &Fabric) -> Self {
        let (mut list, found) = list_of(fabric);
        for (row, place) in (0..).zip(&found.places) {
            list.state_place(row, place);
        }
        let mut about: Vec<About> = vec![About::default(); list.devices().len()];
        for (row, place) in found.places.iter().enumerate() {
            about[row].class = if place.role.is_host() { DeviceClass::Host } else { DeviceClass::Switch };
            about[row].tier = Some(place.role.tier()).filter(|&tier| tier > 0);
        }
        for (row, host) in fabric.all_hosts().iter().enumerate() {
            let id = railtwin_fabric::HostId::from_index(row);
            let Some(device) = list.device_named(&fabric.host_name(id)) else { continue };
            let model = &fabric.host_models()[host.model as usize];
            let about = &mut about[device as usize];
            about.gpus = Some(model.gpus);
            about.nvlink = model.nvlink.map(|rate| (rate, model.nvlink_delay));
            about.model = Some(model.name.clone());
            about.adapters = (0..model.nics).map(|nic| format!("nic-{nic}")).collect();
            about.adapters.extend((0..model.frontend_nics).map(|nic| format!("frontend-nic-{nic}")));
        }
        Self { list, about, ..Self::default() }
    }
}

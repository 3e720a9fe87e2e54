//! Designs whose every port is named: classes of switches with zones of ports, classes of servers with links into the zones.
//!
//! A design is TOML of few lines; [`Blueprint::parse`] reads it. A plan of the topology planner of Hedgehog's NetBox plugin
//! (`topology-map.yaml` of the OCP training fabrics) is another way to write the same: [`Blueprint::parse_plan`].
//! Ports are handed out by the rules of that planner, learned from its public source (afewell-hh/hh-netbox-plugin) and from
//! pairs of plans and maps:
//!
//! * servers take ports in order of classes, servers, links; a zone of a switch hands out its ports in the order of its list,
//!   all lanes of a port before the next port;
//! * [`Homing`] says which switch of a class a link goes to;
//! * the uplinks of a leaf are cut into runs, one for each spine of its fabric; the first spines take one more where the
//!   division has a remainder.
mod allocate;
mod model;
mod plan;
mod plan_file;
mod read;

use railtwin_fabric::cable_list::CableList;

use crate::error::{CablingError, Refused};

pub use model::{Blueprint, Homing, Link, PortSpread, PortZone, ServerClass, SwitchClass, ZoneUse};
pub(crate) use model::{Wire, WireEnd};
pub use plan::{MeshLinks, PlanRules};

impl Blueprint {
    /// Reads a design. `name` is the name of its source in errors.
    ///
    /// # Errors
    /// [`CablingError`] at the line: text that is no TOML, keys that are none, zones, links and classes that are not there.
    pub fn parse(name: &str, text: &str) -> Result<Self, CablingError> {
        read::blueprint(name, text)
    }

    /// Reads a plan (`topology-map.yaml`). `name` is the name of its source in errors.
    ///
    /// # Errors
    /// [`CablingError`]: text that is no plan, references without a target, classes whose count nothing tells.
    pub fn parse_plan(name: &str, text: &str, rules: &PlanRules) -> Result<Self, CablingError> {
        plan::blueprint(name, text, rules)
    }

    /// The cables: those of servers first, then uplinks by fabric, peers, meshes. Roles are host, leaf, spine or core.
    ///
    /// # Errors
    /// [`CablingError`] for a zone that has too few ports, with the server or switch that finds none left, and for a port
    /// of which two zones hand out lanes.
    pub fn cables(&self) -> Result<CableList, CablingError> {
        let wires = self.wires()?;
        let mut list = CableList::default();
        list.title = Some(self.name.clone());
        for wire in &wires {
            let rate = self.rate(wire);
            let ends = wire.ends.map(|end| {
                let row = list.device(&self.device_name(end));
                list.device_mut(row).role = Some(self.role(end));
                list.port(row, &self.port_name(end), Some(rate), 0)
            });
            list.join(ends, None).map_err(|taken| {
                let port = &list.ports()[taken as usize];
                let device = &list.devices()[port.device as usize].name;
                let problem = format!("{} has two cables", port.name);
                self.error(device.clone(), 0, Refused::new(problem, "give each port to one zone"))
            })?;
        }
        Ok(list)
    }

    /// All cables by rows of classes.
    pub(crate) fn wires(&self) -> Result<Vec<Wire>, CablingError> {
        allocate::wires(self)
    }
}

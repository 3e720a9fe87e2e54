//! A plan of the topology planner of Hedgehog's NetBox plugin, which the OCP training fabrics ship as `topology-map.yaml`.
//!
//! Learned from the planner's public source and from pairs of plans and maps: classes and connections take ports in order
//! of their ids, names are `class-001` for servers and `class-01` for switches, and a class without a count gets as many
//! switches as the ports of its links need, two at least where the class is a redundant pair.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::cable_list::{DeviceRole, natural};
use railtwin_units::Rate;

use super::model::{Blueprint, Homing, Link, PortSpread, PortZone, ServerClass, SwitchClass, ZoneUse};
use super::plan_file::{PlanConnection, PlanFile, PlanServers, PlanSwitches, PlanZone};
use crate::error::{CablingError, Refused};
use crate::text::port_list;

/// Most switches or servers of a class, and most interfaces of a connection.
const COUNT_MAX: u32 = 1 << 20;

/// Rules in which releases of the planner differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanRules {
    /// Switches of servers whose connections are `same-switch`: [`Homing::Block`] in later releases, [`Homing::Server`] in
    /// earlier ones.
    pub same_switch: Homing,
    /// Cables of a pair of switches of a mesh.
    pub mesh_links: MeshLinks,
}

railtwin_units::choice! {
    /// Cables between two switches of a mesh.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum MeshLinks {
        /// All ports of the mesh zones, shared over the other switches; later releases of the planner.
        All = "all",
        /// One; earlier releases.
        One = "one",
    }
}

impl Default for PlanRules {
    fn default() -> Self {
        Self { same_switch: Homing::Block, mesh_links: MeshLinks::All }
    }
}

pub(super) fn blueprint(source_name: &str, text: &str, rules: &PlanRules) -> Result<Blueprint, CablingError> {
    let whole = |line, refused: Refused| CablingError {
        source_name: source_name.to_owned(),
        line,
        field: String::new(),
        problem: refused.problem,
        accepted: refused.accepted,
    };
    let mut file: PlanFile = serde_yaml_ng::from_str(text).map_err(|error| {
        let line = error.location().map_or(0, |place| place.line() as u64);
        whole(
            line,
            Refused::new(
                format!("is no plan: {error}"),
                "write a topology-map.yaml with its classes and zones",
            ),
        )
    })?;
    file.switch_classes.sort_by(|a, b| a.switch_class_id.cmp(&b.switch_class_id));
    file.switch_port_zones.sort_by(|a, b| (a.priority, &a.zone_name).cmp(&(b.priority, &b.zone_name)));
    file.server_classes.sort_by(|a, b| a.server_class_id.cmp(&b.server_class_id));
    file.server_connections.sort_by(|a, b| a.connection_id.cmp(&b.connection_id));
    let mut blueprint = Blueprint {
        name: file.plan.name.clone(),
        parts: None,
        switches: Vec::new(),
        servers: Vec::new(),
        port_name: "E1/{}".to_owned(),
        digits: [3, 2],
        source_name: source_name.to_owned(),
    };
    let translation = Translation { file: &file, rules };
    let refuse = |blueprint: &Blueprint, field: &str, refused| blueprint.error(field.to_owned(), 0, refused);
    for class in &file.switch_classes {
        let made = translation.switches(class);
        let made = made.map_err(|refused| refuse(&blueprint, &class.switch_class_id, refused))?;
        blueprint.switches.push(made);
    }
    for class in &file.server_classes {
        let made = translation.servers(&blueprint, class);
        let made = made.map_err(|refused| refuse(&blueprint, &class.server_class_id, refused))?;
        blueprint.servers.push(made);
    }
    translation.resolve_peers(&mut blueprint).map_err(|refused| whole(0, refused))?;
    translation.count(&mut blueprint).map_err(|refused| whole(0, refused))?;
    Ok(blueprint)
}

struct Translation<'a> {
    file: &'a PlanFile,
    rules: &'a PlanRules,
}

impl Translation<'_> {
    fn switches(&self, class: &PlanSwitches) -> Result<SwitchClass, Refused> {
        let role = match class.hedgehog_role.as_str() {
            "server-leaf" | "border-leaf" | "virtual" => DeviceRole::Leaf,
            "spine" => DeviceRole::Spine,
            other => {
                let accepted = "write server-leaf, border-leaf, spine or virtual";
                return Err(Refused::new(format!("hedgehog_role `{other}` is none"), accepted));
            }
        };
        let own =
            self.file.switch_port_zones.iter().filter(|zone| zone.switch_class == class.switch_class_id);
        let zones: Vec<PortZone> = own.map(|zone| self.zone(class, zone)).collect::<Result<_, _>>()?;
        let extensions = &self.file.reference_data.device_type_extensions;
        let extension = extensions.iter().find(|one| one.id == class.device_type_extension);
        Ok(SwitchClass {
            name: class.switch_class_id.clone(),
            role,
            fabric: class.fabric_name.clone(),
            count: class.override_quantity.unwrap_or(0).min(COUNT_MAX),
            part: extension.map(|one| one.hedgehog_profile_name.clone()),
            zones,
            line: 0,
        })
    }

    fn zone(&self, class: &PlanSwitches, zone: &PlanZone) -> Result<PortZone, Refused> {
        let name = &zone.zone_name;
        let within =
            |refused: Refused| Refused::new(format!("zone `{name}` {}", refused.problem), refused.accepted);
        let breakouts = &self.file.reference_data.breakout_options;
        let breakout = breakouts.iter().find(|one| one.id == zone.breakout_option).ok_or_else(|| {
            let problem = format!("zone `{name}` has an unknown breakout `{}`", zone.breakout_option);
            Refused::new(problem, "name one of reference_data.breakout_options")
        })?;
        let mut ports = port_list(&zone.port_spec).map_err(within)?;
        ports.sort_unstable();
        let ports = match zone.allocation_strategy.as_str() {
            "" | "sequential" => ports,
            "custom" => zone.allocation_order.clone(),
            "interleaved" => {
                ports.iter().step_by(2).chain(ports.iter().skip(1).step_by(2)).copied().collect()
            }
            "spaced" => spaced(&ports),
            other => {
                let accepted = "write sequential, custom, interleaved or spaced";
                return Err(Refused::new(format!("zone `{name}` is handed out `{other}`"), accepted));
            }
        };
        let is_leaf = class.hedgehog_role != "spine";
        let use_ = match (zone.zone_type.as_str(), &zone.peer_zone) {
            ("uplink", Some(_)) => ZoneUse::Peer { class: u32::MAX, zone: 0, spread: PortSpread::Block },
            (_, Some(_)) => ZoneUse::Peer { class: u32::MAX, zone: 0, spread: PortSpread::Alternate },
            ("uplink", None)
                if is_leaf && class.uplink_ports_per_switch != Some(0) && self.has_spines(class) =>
            {
                ZoneUse::Up
            }
            ("fabric", None) => ZoneUse::Down,
            ("mesh", None) if class.topology_mode == "mesh" => ZoneUse::Mesh(match self.rules.mesh_links {
                MeshLinks::All => None,
                MeshLinks::One => Some(1),
            }),
            _ => ZoneUse::Attach,
        };
        let lanes = breakout.logical_ports.clamp(1, 64);
        let rate = Rate::from_gbps(breakout.logical_speed.min(100_000));
        let optic = self.module(zone.transceiver_module_type.as_deref());
        Ok(PortZone { name: name.clone(), use_, ports, lanes, rate, optic })
    }

    fn has_spines(&self, class: &PlanSwitches) -> bool {
        let spines = self.file.switch_classes.iter().filter(|one| one.hedgehog_role == "spine");
        class.fabric_class != "unmanaged"
            && spines.into_iter().any(|one| one.fabric_name == class.fabric_name)
    }

    /// Model of a module type.
    fn module(&self, id: Option<&str>) -> Option<String> {
        let modules = &self.file.reference_data.module_types;
        id.and_then(|id| modules.iter().find(|one| one.id == id)).map(|one| one.model.clone())
    }

    fn servers(&self, blueprint: &Blueprint, class: &PlanServers) -> Result<ServerClass, Refused> {
        let id = &class.server_class_id;
        if class.quantity > COUNT_MAX {
            return Err(Refused::new(
                format!("has {} servers", class.quantity),
                format!("write at most {COUNT_MAX}"),
            ));
        }
        let own = self.file.server_connections.iter().filter(|one| one.server_class == *id);
        let links: Vec<Link> = own.map(|one| self.link(blueprint, one)).collect::<Result<_, _>>()?;
        let nics = self.file.server_nics.iter().filter(|nic| nic.server_class == *id);
        let nics =
            nics.map(|nic| (nic.nic_id.clone(), self.module(Some(&nic.module_type)).unwrap_or_default()));
        let types = &self.file.reference_data.device_types;
        let part = types.iter().find(|one| one.id == class.server_device_type).map(|one| one.model.clone());
        let (name, count) = (id.clone(), class.quantity);
        Ok(ServerClass {
            device: name.clone(),
            name,
            first: 1,
            count,
            part,
            nics: nics.collect(),
            links,
            line: 0,
        })
    }

    fn link(&self, blueprint: &Blueprint, connection: &PlanConnection) -> Result<Link, Refused> {
        let PlanConnection { connection_id, nic, port_index, ports_per_connection, .. } = connection;
        let of_nic = |one: &&super::plan_file::PlanNic| {
            one.server_class == connection.server_class && one.nic_id == *nic
        };
        let module = self.file.server_nics.iter().find(of_nic).and_then(|nic| {
            self.file.reference_data.module_types.iter().find(|one| one.id == nic.module_type)
        });
        let module = module.ok_or_else(|| {
            let problem = format!("connection `{connection_id}` has an unknown NIC `{nic}`");
            Refused::new(problem, "name a NIC of server_nics with a module type")
        })?;
        let mut names: Vec<&str> = module.interface_templates.iter().map(|one| one.name.as_str()).collect();
        names.sort_by_key(|name| natural(name));
        let rail = connection.rail.unwrap_or(0);
        let ports = (0..(*ports_per_connection).min(COUNT_MAX)).map(|port| {
            let at = *port_index as usize + port as usize;
            let name = names.get(at).ok_or_else(|| {
                let problem = format!("connection `{connection_id}` needs port {at} of NIC `{nic}`");
                Refused::new(problem, format!("its module type has {} ports", names.len()))
            })?;
            Ok((format!("{nic}-{name}"), rail))
        });
        let interfaces = ports.collect::<Result<_, Refused>>()?;
        let homing = match connection.distribution.as_str() {
            "alternating" => Homing::Port,
            "same-switch" => self.rules.same_switch,
            "rail-optimized" if connection.rail.is_some() => Homing::Rail,
            other => {
                let problem = format!("connection `{connection_id}` has distribution `{other}`");
                return Err(Refused::new(
                    problem,
                    "write alternating, same-switch, or rail-optimized with a rail",
                ));
            }
        };
        let (class, zone) = zone_rows(blueprint, &connection.target_zone)?;
        let optic = self.module(connection.transceiver_module_type.as_deref());
        Ok(Link { interfaces, class, zone, homing, optic })
    }

    fn resolve_peers(&self, blueprint: &mut Blueprint) -> Result<(), Refused> {
        for from in &self.file.switch_port_zones {
            let Some(target) = &from.peer_zone else { continue };
            let found = zone_rows(blueprint, target)?;
            let (class, zone) = zone_rows(blueprint, &format!("{}/{}", from.switch_class, from.zone_name))?;
            let use_ = &mut blueprint.switches[class as usize].zones[zone as usize].use_;
            if let ZoneUse::Peer { class, zone, .. } = use_ {
                (*class, *zone) = found;
            }
        }
        Ok(())
    }

    /// Counts of classes that have none: leaves by the ports of their links, then spines by uplinks.
    fn count(&self, blueprint: &mut Blueprint) -> Result<(), Refused> {
        for row in 0..blueprint.switches.len() {
            let (plan, class) = (&self.file.switch_classes[row], &blueprint.switches[row]);
            if class.count > 0 || class.role == DeviceRole::Spine {
                continue;
            }
            let mut needs: BTreeMap<u32, u64> = BTreeMap::new();
            for server in &blueprint.servers {
                for link in server.links.iter().filter(|link| link.class as usize == row) {
                    *needs.entry(link.zone).or_insert(0) +=
                        u64::from(server.count) * link.interfaces.len() as u64;
                }
            }
            let by_zone = needs
                .iter()
                .map(|(zone, ports)| ports.div_ceil(u64::from(class.zones[*zone as usize].slots()).max(1)));
            let count = by_zone.max().unwrap_or(0).max(1).min(u64::from(COUNT_MAX)) as u32;
            let is_pair = plan.mclag_pair || plan.redundancy_type.is_some();
            blueprint.switches[row].count = if is_pair { count.max(2).next_multiple_of(2) } else { count };
        }
        let fabrics: BTreeSet<String> = blueprint.switches.iter().map(|class| class.fabric.clone()).collect();
        for fabric in fabrics {
            let up = |class: &SwitchClass| -> u64 {
                let zones = class.zones.iter().filter(|zone| zone.use_ == ZoneUse::Up);
                u64::from(class.count) * zones.map(|zone| u64::from(zone.slots())).sum::<u64>()
            };
            let uplinks: u64 = blueprint.switches.iter().filter(|class| class.fabric == fabric).map(up).sum();
            for class in
                blueprint.switches.iter_mut().filter(|class| class.fabric == fabric && class.count == 0)
            {
                let down = class.zones.iter().filter(|zone| zone.use_ == ZoneUse::Down);
                let ports: u64 = down.map(|zone| u64::from(zone.slots())).sum();
                class.count = uplinks.div_ceil(ports.max(1)).clamp(1, u64::from(COUNT_MAX)) as u32;
            }
        }
        Ok(())
    }
}

/// Rows of `class/zone`.
fn zone_rows(blueprint: &Blueprint, path: &str) -> Result<(u32, u32), Refused> {
    let found = path.split_once('/').and_then(|(class, zone)| {
        let row = blueprint.switches.iter().position(|one| one.name == class)?;
        let zone = blueprint.switches[row].zones.iter().position(|one| one.name == zone)?;
        Some((row as u32, zone as u32))
    });
    found.ok_or_else(|| {
        Refused::new(format!("`{path}` is no zone"), "name a zone of switch_port_zones as class/zone")
    })
}

/// Halves of a list in turn.
fn spaced(ports: &[u32]) -> Vec<u32> {
    let (first, second) = ports.split_at(ports.len().div_ceil(2));
    let pairs = first.iter().enumerate().flat_map(|(at, port)| [Some(port), second.get(at)]);
    pairs.flatten().copied().collect()
}

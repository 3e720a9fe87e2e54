//! From faults of the planes of switches to the life of their cables: a data plane that stands still, a control plane that
//! is dead, an upgrade, alone and in a stacked pair of leaves.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::fault::LostControl;
use railtwin_engine::{Outage, Ways};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric};
use railtwin_records::FaultKind;
use railtwin_routing::protocol::set::{DualTor, Remedy, SetKind};
use railtwin_routing::protocol::stack::{Member, Reason, Service, StackedPair};
use railtwin_units::SimTime;

/// What faults of planes do to cables.
#[derive(Default)]
pub(crate) struct Planes {
    pub(crate) outages: Vec<Outage>,
    pub(crate) control: Vec<LostControl>,
}

/// A fault of a plane of a switch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(crate) device: DeviceId,
    pub(crate) kind: FaultKind,
    pub(crate) from: SimTime,
    pub(crate) until: SimTime,
}

/// What faults of planes do to cables.
pub(crate) fn losses(fabric: &Fabric, set: &DualTor, planes: &[Plane]) -> Planes {
    let mut all = Planes::default();
    let mut pairs: BTreeMap<[DeviceId; 2], Vec<Plane>> = BTreeMap::new();
    for &plane in planes {
        let device = plane.device;
        match (set.kind, partner(fabric, device)) {
            (SetKind::Stacked, Some(other)) => {
                pairs.entry([device.min(other), device.max(other)]).or_default().push(plane);
            }
            _ => alone(fabric, set, plane, &mut all),
        }
    }
    for (leaves, planes) in pairs {
        stacked(fabric, set, leaves, &planes, &mut all);
    }
    all
}

/// The other leaf of a set of two; none of switches that are no leaf, and of leaves that stand alone or with several.
fn partner(fabric: &Fabric, leaf: DeviceId) -> Option<DeviceId> {
    let nics = fabric.neighbors(leaf).iter().filter(|(_, far)| fabric.kind(*far) == DeviceKind::Nic);
    let leaves: BTreeSet<DeviceId> = nics
        .flat_map(|&(_, nic)| fabric.neighbors(nic).iter())
        .filter(|&&(_, far)| fabric.kind(far) == DeviceKind::Switch && far != leaf)
        .map(|&(_, far)| far)
        .collect();
    if leaves.len() == 1 { leaves.into_iter().next() } else { None }
}

/// The cables of a switch, those of hosts first.
fn cables_of(fabric: &Fabric, device: DeviceId) -> [Vec<CableId>; 2] {
    let all = fabric.ports(device).filter_map(|port| fabric.cable_at(port));
    all.partition::<Vec<CableId>, _>(|&cable| {
        matches!(fabric.cable_class(cable), CableClass::Access | CableClass::FrontendAccess)
    })
    .into()
}

/// The way out of a device by a cable.
fn out_of(fabric: &Fabric, device: DeviceId, cable: CableId) -> Ways {
    if fabric.source(cable.forward()) == device { Ways::Forward } else { Ways::Backward }
}

/// A switch that depends on no other.
fn alone(fabric: &Fabric, set: &DualTor, plane: Plane, all: &mut Planes) {
    let Plane { device, kind, from, until } = plane;
    let [hosts, others] = cables_of(fabric, device);
    let outage = |silent| move |cable| Outage { cable, from, until, silent };
    let both = || hosts.iter().chain(&others).copied();
    match kind {
        FaultKind::DataPlane => all.outages.extend(both().map(outage(Some(Ways::Both)))),
        FaultKind::Upgrade => all.outages.extend(both().map(outage(None))),
        _ => headless(fabric, set, plane, all),
    }
}

/// A switch whose software died: it has no routes. What its hosts learn of it is what the remedy says.
fn headless(fabric: &Fabric, set: &DualTor, plane: Plane, all: &mut Planes) {
    let Plane { device, from, until, .. } = plane;
    let [hosts, others] = cables_of(fabric, device);
    let until = match set.remedy {
        Remedy::Restart => until.min(from.saturating_add(set.remedy_after)),
        _ => until,
    };
    let lost = |is_headless| {
        move |cable| LostControl { cable, from, until, ways: out_of(fabric, device, cable), is_headless }
    };
    all.control.extend(others.into_iter().map(lost(true)));
    match set.remedy {
        Remedy::Lacp => all.control.extend(hosts.into_iter().map(lost(false))),
        Remedy::Watcher => {
            let from = from.saturating_add(set.remedy_after);
            all.outages.extend(hosts.into_iter().map(|cable| Outage { cable, from, until, silent: None }));
        }
        Remedy::Nothing | Remedy::Restart => {}
    }
}

/// A stacked pair of leaves through all its faults.
fn stacked(fabric: &Fabric, set: &DualTor, leaves: [DeviceId; 2], planes: &[Plane], all: &mut Planes) {
    let row = |device: DeviceId| usize::from(device == leaves[1]);
    let in_service = set.version.in_service(set.next_version);
    for &plane in planes {
        match plane.kind {
            FaultKind::ControlPlane => headless(fabric, set, plane, all),
            FaultKind::Upgrade if in_service => {}
            _ => alone(fabric, set, plane, all),
        }
    }
    let mut times: Vec<SimTime> = planes.iter().flat_map(|plane| [plane.from, plane.until]).collect();
    times.sort_unstable();
    times.dedup();
    let mut pair = StackedPair::well(set.version);
    // Since when each leaf has had its host ports down, and why.
    let mut shut: [Option<(SimTime, Reason)>; 2] = [None; 2];
    for at in times {
        for (leaf, member) in pair.members.iter_mut().enumerate() {
            *member = Member { control: true, data: true, version: member.version };
            for plane in planes.iter().filter(|plane| row(plane.device) == leaf) {
                if plane.kind == FaultKind::Upgrade && plane.until <= at {
                    member.version = set.next_version;
                }
                if !(plane.from..plane.until).contains(&at) {
                    continue;
                }
                member.data &=
                    plane.kind == FaultKind::ControlPlane || (plane.kind == FaultKind::Upgrade && in_service);
                member.control &= plane.kind == FaultKind::DataPlane;
            }
        }
        let services = pair.settle();
        for (leaf, service) in services.into_iter().enumerate() {
            let reason = match service {
                Service::ShutDown(reason) => Some(reason),
                Service::Forwards | Service::Dead => None,
            };
            if shut[leaf].map(|(_, reason)| reason) == reason {
                continue;
            }
            if let Some((from, _)) = shut[leaf].take() {
                shut_down(fabric, leaves[leaf], (from, at), all);
            }
            shut[leaf] = reason.map(|reason| match reason {
                Reason::PeerLink => (at.saturating_add(set.peer_timeout), reason),
                Reason::Versions => (at, reason),
            });
        }
    }
    for (leaf, shut) in leaves.into_iter().zip(shut) {
        if let Some((from, _)) = shut {
            shut_down(fabric, leaf, (from, SimTime::NEVER), all);
        }
    }
}

/// A leaf takes its host ports down for a while.
fn shut_down(fabric: &Fabric, leaf: DeviceId, (from, until): (SimTime, SimTime), all: &mut Planes) {
    let [hosts, _] = cables_of(fabric, leaf);
    all.outages.extend(hosts.into_iter().map(|cable| Outage { cable, from, until, silent: None }));
}

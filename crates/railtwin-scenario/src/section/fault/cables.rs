//! From the faults of a scenario to the life of every cable.
use railtwin_engine::fault::events_of;
use railtwin_engine::{Fault, Outage, Ways};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId};
use railtwin_records::Component;
use railtwin_records::fault::Truth;
use railtwin_units::SimTime;

use crate::section::fault::planes;
use crate::section::fault::resolve::{Ground, Injected};
use crate::{Direction, FaultKind, FaultSpec, FaultSubject, ScenarioError};

/// The events of all cables that break, in order of time, and what was injected.
pub(crate) fn faults(
    ground: &Ground<'_>,
    injected: &[Injected],
) -> Result<(Vec<Fault>, Vec<Truth>), ScenarioError> {
    let (fabric, source) = (ground.fabric, ground.source);
    let breaks = |kind| matches!(kind, FaultKind::Down | FaultKind::Up | FaultKind::Flap);
    let mut named = Vec::new();
    for injected in injected.iter().filter(|injected| breaks(injected.fault.kind)) {
        let fault = &injected.fault;
        let found = cables(fabric, &fault.subject).filter(|found| !found.is_empty()).ok_or_else(|| {
            let (key, name) = fault.subject.parts();
            let hint = example(fabric, key).map(|name| format!("write one that it has, such as {name:?}"));
            let message = format!("the fabric has no {key} {name:?}");
            source.error(&injected.key(key), message, hint.as_deref())
        })?;
        named.push((injected, found));
    }
    let (mut outages, mut truths) = (Vec::new(), Vec::new());
    for (injected, cables) in &named {
        let fault = &injected.fault;
        let first = outages.len();
        for (from, until) in spans(fault) {
            // A repair of the same thing ends what began before it.
            let repairs =
                named.iter().filter(|(other, same)| other.fault.kind == FaultKind::Up && same == cables);
            let repair = repairs.map(|(other, _)| other.fault.at).filter(|&at| at > from).min();
            let until = until.min(repair.unwrap_or(SimTime::NEVER));
            let silent = |cable| (fault.measure.carrier == Some(true)).then(|| ways(fabric, fault, cable));
            outages.extend(cables.iter().map(|&cable| Outage { cable, from, until, silent: silent(cable) }));
        }
        // A repair is no fault: it has no outage of its own.
        let Some(last) = outages[first..].last() else { continue };
        let component = match &fault.subject {
            FaultSubject::Cable(_) | FaultSubject::Port(_) => match ways(fabric, fault, cables[0]) {
                Ways::Both => Component::Cable(fabric.cable_name(cables[0])),
                Ways::Forward => Component::Link(fabric.link_name(cables[0].forward())),
                Ways::Backward => Component::Link(fabric.link_name(cables[0].backward())),
            },
            subject => device_component(fabric, subject.parts().1),
        };
        let (from_ns, until_ns) = (ns(fault.at), ns(last.until));
        truths.push(Truth {
            from_ns,
            until_ns,
            kind: fault.kind,
            component,
            severity: 0.0,
            cause: None,
            source: injected.source.clone(),
        });
    }
    let found = planes_of(ground, injected, &mut truths)?;
    let planes = planes::losses(fabric, ground.set, &found);
    outages.extend(planes.outages);
    Ok((events_of(&outages, &planes.control), truths))
}

/// The faults of planes of switches, and what was injected.
fn planes_of(
    ground: &Ground<'_>,
    injected: &[Injected],
    truths: &mut Vec<Truth>,
) -> Result<Vec<planes::Plane>, ScenarioError> {
    use FaultKind::{ControlPlane, DataPlane, Upgrade};
    let (fabric, source) = (ground.fabric, ground.source);
    let of_planes = |told: &&Injected| matches!(told.fault.kind, DataPlane | ControlPlane | Upgrade);
    let mut planes = Vec::new();
    for told in injected.iter().filter(of_planes) {
        let fault = &told.fault;
        let (key, name) = fault.subject.parts();
        let switch = devices(fabric, &fault.subject).and_then(|devices| {
            devices.into_iter().find(|&device| fabric.kind(device) == DeviceKind::Switch)
        });
        let device = switch.ok_or_else(|| {
            let hint = example(fabric, key).map(|name| format!("write one that it has, such as {name:?}"));
            source.error(&told.key(key), format!("the fabric has no switch {name:?}"), hint.as_deref())
        })?;
        let (from, until) = (fault.at, fault.until.unwrap_or(SimTime::NEVER));
        planes.push(planes::Plane { device, kind: fault.kind, from, until });
        truths.push(Truth {
            from_ns: ns(from),
            until_ns: ns(until),
            kind: fault.kind,
            component: Component::Switch(fabric.device_name(device)),
            severity: 0.0,
            cause: None,
            source: told.source.clone(),
        });
    }
    Ok(planes)
}

/// Which links of a cable a fault takes, seen from what it names.
fn ways(fabric: &Fabric, fault: &FaultSpec, cable: CableId) -> Ways {
    let out = match fault.measure.direction {
        None | Some(Direction::Both) => return Ways::Both,
        Some(direction) => direction == Direction::Out,
    };
    let near = fabric.cable_ports(cable)[0];
    let leaves_near = match &fault.subject {
        FaultSubject::Cable(name) | FaultSubject::Port(name) => fabric.port_name(near) == *name,
        subject => devices(fabric, subject).is_some_and(|all| all.contains(&fabric.port_device(near))),
    };
    if leaves_near == out { Ways::Forward } else { Ways::Backward }
}

/// A time in whole nanoseconds; [`u64::MAX`] for never.
pub(crate) fn ns(time: SimTime) -> u64 {
    if time == SimTime::NEVER { u64::MAX } else { time.ps() / 1000 }
}

/// The component that is a NIC, host or switch of a name.
pub(crate) fn device_component(fabric: &Fabric, name: &str) -> Component {
    if nic(fabric, name).is_some() {
        Component::Nic(name.to_owned())
    } else if fabric.host_named(name).is_some() {
        Component::Host(name.to_owned())
    } else {
        Component::Switch(name.to_owned())
    }
}

/// When the thing is down.
fn spans(fault: &FaultSpec) -> Vec<(SimTime, SimTime)> {
    match fault.kind {
        FaultKind::Down => vec![(fault.at, fault.until.unwrap_or(SimTime::NEVER))],
        FaultKind::Flap => {
            let period = fault.measure.period.unwrap_or(SimTime::ZERO).ps();
            let span = |flap: u32| {
                let from = fault.at.saturating_add(SimTime::from_ps(period.saturating_mul(flap.into())));
                (from, from.saturating_add(fault.measure.length.unwrap_or(SimTime::ZERO)))
            };
            (0..fault.measure.flaps.unwrap_or(1)).map(span).collect()
        }
        _ => Vec::new(),
    }
}

/// The cables of the network that go with a thing, ascending; none when the fabric does not have it.
fn cables(fabric: &Fabric, subject: &FaultSubject) -> Option<Vec<CableId>> {
    if let FaultSubject::Cable(name) | FaultSubject::Port(name) = subject {
        return fabric.cable_named(name).map(|cable| vec![cable]);
    }
    let ports = devices(fabric, subject)?.into_iter().flat_map(|device| fabric.ports(device));
    let mut cables: Vec<CableId> = ports
        .filter_map(|port| fabric.cable_at(port))
        .filter(|&cable| fabric.cable_class(cable) >= CableClass::Access)
        .collect();
    cables.sort_unstable();
    cables.dedup();
    Some(cables)
}

/// The switch or NICs that a name stands for; none when the fabric does not have it.
pub(crate) fn devices(fabric: &Fabric, subject: &FaultSubject) -> Option<Vec<DeviceId>> {
    let switch = |name: &str, tier| {
        fabric.switch_named(name).filter(|&device| fabric.place(device).is_some_and(|p| p.tier == tier))
    };
    match subject {
        FaultSubject::Nic(name) => nic(fabric, name).map(|nic| vec![nic]),
        FaultSubject::Leaf(name) => switch(name, 1).map(|leaf| vec![leaf]),
        FaultSubject::Spine(name) => switch(name, 2).map(|spine| vec![spine]),
        FaultSubject::Device(name) => {
            let whole = |host: HostId| {
                (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic)).collect::<Vec<_>>()
            };
            let one = fabric.switch_named(name).or_else(|| nic(fabric, name)).map(|device| vec![device]);
            one.or_else(|| fabric.host_named(name).map(whole))
        }
        _ => None,
    }
}

/// The backend NIC called `host-3/nic-1`.
pub(crate) fn nic(fabric: &Fabric, name: &str) -> Option<DeviceId> {
    let (host, nic) = name.split_once('/')?;
    let host = fabric.host_named(host)?;
    let nic: u32 = nic.strip_prefix("nic-")?.parse().ok()?;
    (nic < fabric.host_model(host).nics).then(|| fabric.nic(host, nic))
}

/// A name that the fabric has, of the kind that a key wants.
pub(crate) fn example(fabric: &Fabric, key: &str) -> Option<String> {
    let switch = |tier| {
        let found = fabric.switches().iter().rfind(|(_, place)| tier == 0 || place.tier == tier);
        found.map(|(device, _)| fabric.device_name(*device))
    };
    match key {
        "cable" | "port" => fabric.cables().last().map(|cable| fabric.cable_name(cable)),
        "nic" => {
            let nics = fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Nic);
            nics.map(|device| fabric.device_name(device)).find(|name| nic(fabric, name).is_some())
        }
        "leaf" => switch(1),
        "spine" => switch(2),
        _ => switch(0),
    }
}

//! From the faults of a scenario to the life of every cable.
use railtwin_engine::fault::events;
use railtwin_engine::{Fault, Outage, Reaction, Transport};
use railtwin_fabric::{CableClass, CableId, DeviceId, DeviceKind, Fabric, HostId};
use railtwin_units::SimTime;

use crate::resolve::Source;
use crate::{FaultKind, FaultSpec, FaultSubject, ReactionSpec, Resume, ScenarioError, TransportSpec};

/// The events of all cables, in order of time.
pub(crate) fn faults(
    fabric: &Fabric,
    specs: &[FaultSpec],
    source: Source<'_>,
) -> Result<Vec<Fault>, ScenarioError> {
    let mut named = Vec::new();
    for (row, fault) in specs.iter().enumerate() {
        let found = cables(fabric, &fault.subject).filter(|found| !found.is_empty()).ok_or_else(|| {
            let (key, name) = fault.subject.parts();
            let hint = example(fabric, key).map(|name| format!("write one that it has, such as {name:?}"));
            let message = format!("the fabric has no {key} {name:?}");
            source.error(&format!("fault.{row}.{key}"), message, hint.as_deref())
        })?;
        named.push((fault, found));
    }
    let mut outages = Vec::new();
    for (fault, cables) in &named {
        for (from, until) in spans(fault) {
            // A repair of the same thing ends what began before it.
            let repairs = named.iter().filter(|(other, same)| other.kind == FaultKind::Up && same == cables);
            let repair = repairs.map(|(other, _)| other.at).filter(|&at| at > from).min();
            let until = until.min(repair.unwrap_or(SimTime::NEVER));
            outages.extend(cables.iter().map(|&cable| Outage { cable, from, until }));
        }
    }
    Ok(events(&outages))
}

/// When the thing is down.
fn spans(fault: &FaultSpec) -> Vec<(SimTime, SimTime)> {
    match fault.kind {
        FaultKind::Up => Vec::new(),
        FaultKind::Down => vec![(fault.at, fault.until.unwrap_or(SimTime::NEVER))],
        FaultKind::Flap => {
            let period = fault.period.unwrap_or(SimTime::ZERO).ps();
            let span = |flap: u32| {
                let from = fault.at.saturating_add(SimTime::from_ps(period.saturating_mul(flap.into())));
                (from, from.saturating_add(fault.length.unwrap_or(SimTime::ZERO)))
            };
            (0..fault.flaps.unwrap_or(1)).map(span).collect()
        }
    }
}

/// The cables of the network that go with a thing, ascending; none when the fabric does not have it.
fn cables(fabric: &Fabric, subject: &FaultSubject) -> Option<Vec<CableId>> {
    let switch = |name: &str, tier| {
        fabric.switch_named(name).filter(|&device| fabric.place(device).is_some_and(|p| p.tier == tier))
    };
    let of = |devices: Vec<DeviceId>| {
        let ports = devices.into_iter().flat_map(|device| fabric.ports(device).collect::<Vec<_>>());
        let mut cables: Vec<CableId> = ports
            .filter_map(|port| fabric.cable_at(port))
            .filter(|&cable| fabric.cable_class(cable) >= CableClass::Access)
            .collect();
        cables.sort_unstable();
        cables.dedup();
        cables
    };
    match subject {
        FaultSubject::Cable(name) | FaultSubject::Port(name) => {
            fabric.cable_named(name).map(|cable| vec![cable])
        }
        FaultSubject::Nic(name) => nic(fabric, name).map(|nic| of(vec![nic])),
        FaultSubject::Leaf(name) => switch(name, 1).map(|leaf| of(vec![leaf])),
        FaultSubject::Spine(name) => switch(name, 2).map(|spine| of(vec![spine])),
        FaultSubject::Device(name) => {
            let whole = |host: HostId| {
                (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic)).collect::<Vec<_>>()
            };
            let one = fabric.switch_named(name).or_else(|| nic(fabric, name)).map(|device| vec![device]);
            one.or_else(|| fabric.host_named(name).map(whole)).map(of)
        }
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

pub(crate) fn reaction(spec: &ReactionSpec) -> Reaction {
    Reaction {
        detection: spec.detection,
        lag_failover: spec.lag_failover,
        ecmp_regroup: spec.ecmp_regroup,
        withdrawal: spec.withdrawal,
        convergence: spec.convergence,
        arp_proxy: spec.arp_proxy,
        mac_aging: spec.mac_aging,
        lacp: spec.lacp,
        arp: spec.arp,
    }
}

pub(crate) fn transport(spec: &TransportSpec) -> Transport {
    let resume = match spec.resume {
        Resume::Nak => railtwin_engine::Resume::Nak,
        Resume::Timeout => railtwin_engine::Resume::Timeout,
    };
    Transport { timeout: spec.timeout, retry_count: spec.retry_count, resume }
}

//! Which component explains what went wrong: every bad path crosses it and no good one does.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId, PortRole};
use railtwin_records::{Component, FlowInfo, Suspect};

use crate::context::Context;
use crate::rules::place::{device_component, link_component, link_in, suspects};

/// Something that a path crosses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Crossing<'a> {
    /// One direction of a cable.
    Link(u32),
    /// A cable in either direction.
    Cable(u32),
    /// A switch.
    Switch(u32),
    /// A switch as far as it sends towards the hosts: its ports below share buffers that those above may not fill.
    SwitchDown(u32),
    /// A switch as far as it sends away from the hosts.
    SwitchUp(u32),
    /// The sending half of a NIC.
    NicOut(&'a str),
    /// The receiving half of a NIC.
    NicIn(&'a str),
    /// A NIC in either direction.
    Nic(&'a str),
    /// A host in either direction, by name.
    Host(&'a str),
    /// The path itself, where its links are not known.
    Connection(&'a str, &'a str),
}

/// What a flow crosses, in order of [`Crossing`]. Links that the fabric does not have are left out.
pub fn crossings<'a>(context: &Context<'a>, flow: &'a FlowInfo) -> Vec<Crossing<'a>> {
    let mut found = vec![
        Crossing::NicOut(&flow.source_nic),
        Crossing::Nic(&flow.source_nic),
        Crossing::NicIn(&flow.target_nic),
        Crossing::Nic(&flow.target_nic),
    ];
    for rank in [flow.source, flow.target] {
        let info = context.directory.ranks.get(rank as usize);
        let host = info.and_then(|info| context.directory.hosts.get(info.host as usize));
        found.extend(host.map(|host| Crossing::Host(&host.name)));
    }
    let mut known = false;
    for &link in &flow.links {
        if let Some((fabric, id)) = link_in(context, link) {
            known = true;
            found.push(Crossing::Link(link));
            found.push(Crossing::Cable(id.cable().0));
            for device in [fabric.source(id), fabric.target(id)] {
                if fabric.place(device).is_some() {
                    found.push(Crossing::Switch(device.0));
                }
            }
            let port = fabric.cable_ports(id.cable())[(link & 1) as usize];
            let source = fabric.source(id).0;
            match fabric.port_role(port) {
                PortRole::Down => found.push(Crossing::SwitchDown(source)),
                PortRole::Up => found.push(Crossing::SwitchUp(source)),
                _ => {}
            }
        }
    }
    if !known {
        found.push(Crossing::Connection(&flow.source_nic, &flow.target_nic));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// One cause of some of what went wrong.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// Components that cannot be told apart.
    pub suspects: Vec<Suspect>,
    /// Rows of the bad that it explains.
    pub covered: Vec<usize>,
    /// Whether no good path crosses the suspects.
    pub clean: bool,
}

/// Causes looked for at most: more at once is no fault of a component but of something that all share.
const CAUSES: usize = 8;

/// The fewest causes, found greedily: the crossing that most of the bad share and none of the good has, with all those
/// that share the very same; then the next for what is left.
pub fn explain(
    context: &Context<'_>,
    bad: &[Vec<Crossing<'_>>],
    good: &[Vec<Crossing<'_>>],
) -> Vec<Explanation> {
    // Only what the bad cross can be a cause: of it, how many of the good cross it.
    let mut shared: BTreeMap<&Crossing<'_>, usize> =
        bad.iter().flatten().map(|crossing| (crossing, 0)).collect();
    for crossing in good.iter().flatten() {
        if let Some(count) = shared.get_mut(crossing) {
            *count += 1;
        }
    }
    let good_of = |crossing: &Crossing<'_>| shared.get(crossing).copied().unwrap_or_default();
    let mut left: Vec<usize> = (0..bad.len()).collect();
    let mut causes = Vec::new();
    while !left.is_empty() && causes.len() < CAUSES {
        let mut crossed: BTreeMap<&Crossing<'_>, Vec<usize>> = BTreeMap::new();
        for &row in &left {
            for crossing in &bad[row] {
                crossed.entry(crossing).or_default().push(row);
            }
        }
        let clean = crossed.iter().filter(|(crossing, _)| good_of(crossing) == 0);
        let most = clean.max_by(|a, b| a.1.len().cmp(&b.1.len()).then_with(|| b.0.cmp(a.0)));
        let (covered, clean) = match most {
            Some((_, rows)) => (rows.clone(), true),
            None => {
                // Nothing is crossed by the bad alone: take what is crossed by them more than by the good, if any.
                let odds = |crossing: &Crossing<'_>, rows: &[usize]| {
                    rows.len() as f64 / (rows.len() + good_of(crossing)) as f64
                };
                let best = crossed
                    .iter()
                    .max_by(|a, b| odds(a.0, a.1).total_cmp(&odds(b.0, b.1)).then_with(|| b.0.cmp(a.0)));
                match best {
                    Some((crossing, rows)) if odds(crossing, rows) > 0.5 => (rows.clone(), false),
                    _ => break,
                }
            }
        };
        let alike: Vec<&Crossing<'_>> = crossed
            .iter()
            .filter(|(crossing, rows)| **rows == covered && (!clean || good_of(crossing) == 0))
            .map(|(crossing, _)| *crossing)
            .collect();
        causes.push(Explanation { suspects: named(context, &alike), covered: covered.clone(), clean });
        left.retain(|row| !covered.contains(row));
    }
    causes
}

/// How likely each kind of component is to be it before anything is known: cables and their optics fail most often
/// (C4 table III, HPN figure 5), switches and whole hosts least.
const fn weight(crossing: &Crossing<'_>) -> f64 {
    match crossing {
        Crossing::Cable(_) | Crossing::Link(_) => 3.0,
        Crossing::NicOut(_) | Crossing::NicIn(_) | Crossing::Nic(_) => 2.0,
        Crossing::Switch(_) | Crossing::SwitchDown(_) | Crossing::SwitchUp(_) => 1.0,
        Crossing::Host(_) | Crossing::Connection(..) => 1.0,
    }
}

/// The suspects of crossings that share their bad paths. Of a part and a whole that only the part stands for, the part
/// is named: a host with one bad NIC, a NIC with one bad half.
fn named(context: &Context<'_>, alike: &[&Crossing<'_>]) -> Vec<Suspect> {
    let nic_of = |host: &str| {
        alike.iter().any(|crossing| match crossing {
            Crossing::Nic(nic) | Crossing::NicOut(nic) | Crossing::NicIn(nic) => {
                nic.strip_prefix(host).is_some_and(|rest| rest.starts_with('/'))
            }
            _ => false,
        })
    };
    let mut weights: BTreeMap<Component, f64> = BTreeMap::new();
    for crossing in alike {
        let component = match crossing {
            Crossing::Link(link) => link_in(context, *link).map(|(fabric, id)| link_component(fabric, id)),
            Crossing::Cable(cable) => {
                let link = LinkId(cable * 2);
                link_in(context, link.0).map(|(fabric, id)| Component::Cable(fabric.cable_name(id.cable())))
            }
            Crossing::Switch(device) | Crossing::SwitchDown(device) | Crossing::SwitchUp(device) => {
                context.fabric.map(|fabric| device_component(fabric, DeviceId(*device)))
            }
            Crossing::NicOut(nic) | Crossing::NicIn(nic) | Crossing::Nic(nic) => Some(nic_or_host(nic)),
            Crossing::Host(host) => (!nic_of(host)).then(|| Component::Host((*host).to_owned())),
            Crossing::Connection(source, target) => {
                Some(Component::Connection(format!("{source} > {target}")))
            }
        };
        if let Some(component) = component {
            let held = weights.entry(component).or_default();
            *held = held.max(weight(crossing));
        }
    }
    suspects(weights.into_iter().collect())
}

/// The component that an end of a flow names: its NIC, or its host where no NIC is told.
pub fn nic_or_host(name: &str) -> Component {
    if name.contains('/') { Component::Nic(name.to_owned()) } else { Component::Host(name.to_owned()) }
}

/// Confidence in an explanation, 0..1: high where good paths cross none of the suspects and several bad ones agree.
pub fn confidence(cause: &Explanation) -> f64 {
    match (cause.clean, cause.covered.len()) {
        (false, _) => 0.4,
        (true, 1) => 0.75,
        (true, 2) => 0.85,
        (true, _) => 0.9,
    }
}

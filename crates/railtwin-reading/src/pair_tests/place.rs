//! Shapes of causes in words, and as components.
use std::collections::BTreeSet;

use railtwin_pairs::{Alternative, FaultShape, Port, TrialSet};
use railtwin_records::Component;

/// Names of hosts, sorted and joined.
pub(super) fn names(set: &TrialSet, hosts: impl Iterator<Item = usize>) -> String {
    list(set, hosts).join(", ")
}

/// Names of hosts, sorted.
pub(super) fn list(set: &TrialSet, hosts: impl Iterator<Item = usize>) -> Vec<String> {
    let mut names: Vec<String> = hosts.filter_map(|host| set.hosts.get(host).cloned()).collect();
    names.sort();
    names
}

fn host(set: &TrialSet, at: usize) -> &str {
    set.hosts.get(at).map_or("", String::as_str)
}

fn place(set: &TrialSet, at: usize) -> &str {
    set.places.get(at).map_or("", String::as_str)
}

/// Whether a place is that of a GPU: tests of GPUs tell its PCI address, those of NICs the NIC's name.
fn is_gpu(name: &str) -> bool {
    let is_hex =
        |part: &str| part.split(['.', 'x']).all(|part| part.bytes().all(|digit| digit.is_ascii_hexdigit()));
    (name.contains(':') || name.starts_with("0x")) && name.split(':').all(is_hex)
}

/// A place in words: `the GPU at 0000:9d:00 and its NIC`.
pub(super) fn of_place(set: &TrialSet, at: usize) -> String {
    let name = place(set, at);
    if is_gpu(name) { format!("the NIC beside the GPU at {name}") } else { format!("NIC {name}") }
}

/// Flows of a shape in words: `between host-1 and any other host`.
pub(super) fn of_shape(set: &TrialSet, shape: &FaultShape) -> String {
    match shape {
        FaultShape::Host(at) => format!("of host {}", host(set, *at)),
        FaultShape::Port(at, rail) => format!("over {} of host {}", of_place(set, *rail), host(set, *at)),
        FaultShape::Rail(rail) => format!("over {} of any host", of_place(set, *rail)),
        FaultShape::RailCut(rail) => {
            format!("between {} of any host and any other NIC", of_place(set, *rail))
        }
        FaultShape::Pair([a, b]) => {
            format!("between {}", names(set, [*a, *b].into_iter()).replace(", ", " and "))
        }
        FaultShape::Star(hub, others) => {
            format!("between {} and any of {}", host(set, *hub), names(set, others.iter().copied()))
        }
        FaultShape::Group { cut, rail, hosts } => {
            let own = names(set, hosts.iter().copied());
            let ports = match rail {
                Some(rail) => format!("{} of {own}", of_place(set, *rail)),
                None => own,
            };
            if *cut { format!("that cross from {ports} to any other NIC") } else { format!("over {ports}") }
        }
        FaultShape::Sends(at) => format!("that host {} sends", host(set, *at)),
        FaultShape::Receives(at) => format!("that host {} receives", host(set, *at)),
        FaultShape::OneWay([from, to]) => format!("from {} to {}", host(set, *from), host(set, *to)),
    }
}

/// The verb for a cause: the fault is at ports that flows touch, or on the way out of a group that flows cross.
pub(super) fn is_cut(shape: &FaultShape) -> bool {
    matches!(shape, FaultShape::RailCut(_) | FaultShape::Group { cut: true, .. })
}

/// Components of a shape.
pub(super) fn components(set: &TrialSet, shape: &FaultShape) -> Vec<Component> {
    let whole = |at: usize| Component::Host(host(set, at).to_owned());
    let way = |a: usize, b: usize| Component::Connection(format!("{} > {}", host(set, a), host(set, b)));
    let pair = |a: usize, b: usize| if host(set, a) <= host(set, b) { way(a, b) } else { way(b, a) };
    match shape {
        FaultShape::Host(at) | FaultShape::Sends(at) | FaultShape::Receives(at) => vec![whole(*at)],
        FaultShape::Port(at, rail) => {
            vec![Component::Nic(format!("{}/{}", host(set, *at), place(set, *rail)))]
        }
        FaultShape::Rail(rail) | FaultShape::RailCut(rail) => {
            vec![Component::Rail(place(set, *rail).to_owned())]
        }
        FaultShape::Pair([a, b]) => vec![pair(*a, *b)],
        FaultShape::OneWay([a, b]) => vec![way(*a, *b)],
        FaultShape::Star(hub, others) => {
            let mut legs: Vec<Component> = others.iter().map(|other| pair(*hub, *other)).collect();
            legs.sort();
            legs
        }
        FaultShape::Group { cut: false, rail: None, hosts } => {
            list(set, hosts.iter().copied()).into_iter().map(Component::Host).collect()
        }
        FaultShape::Group { rail, hosts, .. } => {
            let own = names(set, hosts.iter().copied());
            let rail = rail.map_or("all rails", |rail| place(set, rail));
            vec![Component::Leaf(format!("{rail} of {own}"))]
        }
    }
}

/// The leaf of some rail of a group of hosts, where nothing tells which rail.
pub(super) fn of_some_rail(set: &TrialSet, hosts: &BTreeSet<usize>) -> Component {
    Component::Leaf(format!("some rail of {}", names(set, hosts.iter().copied())))
}

/// One end of a test in words.
pub(super) fn of_port(set: &TrialSet, port: Port) -> String {
    match port.place {
        Some(rail) if is_gpu(place(set, rail)) => {
            format!("the GPU at {} of {}", place(set, rail), host(set, port.host))
        }
        Some(rail) => format!("NIC {} of {}", place(set, rail), host(set, port.host)),
        None => host(set, port.host).to_owned(),
    }
}

/// Alternatives without those that another one holds: NICs of a host that is told, rails of a group of which all are.
pub(super) fn without_parts(alternatives: &[Alternative]) -> Vec<&Alternative> {
    let has = |shape: &FaultShape| alternatives.iter().any(|one| one.shape == *shape);
    let is_part = |shape: &FaultShape| match shape {
        FaultShape::Port(at, _) | FaultShape::Sends(at) | FaultShape::Receives(at) => {
            has(&FaultShape::Host(*at))
        }
        FaultShape::OneWay([a, b]) => has(&FaultShape::Pair([*a.min(b), *a.max(b)])),
        FaultShape::Group { cut, rail: Some(_), hosts } => {
            has(&FaultShape::Group { cut: *cut, rail: None, hosts: hosts.clone() })
        }
        _ => false,
    };
    alternatives.iter().filter(|one| !is_part(&one.shape)).collect()
}

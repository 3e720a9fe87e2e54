//! The next test: one that some alternatives slow and the others do not.
use std::collections::BTreeSet;

use crate::answer::{Alternative, Membership, NextTest};
use crate::flows::Edge;
use crate::input::Port;
use crate::layout::{Layout, touches};
use crate::shape::FaultShape;

/// Most hosts and places of which tests are tried.
const HOSTS_MAX: usize = 24;
const PLACES_MAX: usize = 8;
/// Weight of a host whose membership is not tested, beside that of an alternative.
const UNTESTED_WEIGHT: f64 = 0.25;

/// The test between two ports that parts the alternatives most evenly; none where none parts them.
pub(crate) fn next_test(
    layout: &Layout,
    alternatives: &[Alternative],
    members: &[Membership],
) -> Option<NextTest> {
    let shapes = hypotheses(alternatives, members);
    if shapes.len() < 2 {
        return None;
    }
    let all: f64 = shapes.iter().map(|(_, weight)| weight).sum();
    let named: BTreeSet<usize> = shapes.iter().flat_map(|(shape, _)| shape.hosts()).collect();
    let others =
        (0..layout.of_host.len()).filter(|host| !layout.of_host[*host].is_empty() && !named.contains(host));
    let hosts: Vec<usize> = named.iter().copied().take(HOSTS_MAX / 2).chain(others).take(HOSTS_MAX).collect();
    let ports = ports(layout, &hosts, &shapes);
    let mut best: Option<(f64, NextTest)> = None;
    for (at, first) in ports.iter().enumerate() {
        for second in ports[at + 1..].iter().filter(|second| second.host != first.host) {
            let (low, high) = if first.host < second.host { (first, second) } else { (second, first) };
            let edge = Edge {
                hosts: [low.host, high.host],
                places: vec![[low.place, high.place]],
                ways: [true, true],
            };
            let slow: Vec<f64> =
                shapes.iter().filter(|(shape, _)| touches(shape, &edge)).map(|(_, weight)| *weight).collect();
            let evenness = slow.iter().sum::<f64>().min(all - slow.iter().sum::<f64>());
            if evenness > 1e-9 && best.as_ref().is_none_or(|(most, _)| evenness > most + 1e-9) {
                best = Some((
                    evenness,
                    NextTest { ports: [*first, *second], parts: [slow.len(), shapes.len()] },
                ));
            }
        }
    }
    best.map(|(_, next)| next)
}

/// The alternatives, and the first of them with each host moved whose place is not tested.
fn hypotheses(alternatives: &[Alternative], members: &[Membership]) -> Vec<(FaultShape, f64)> {
    let mut shapes: Vec<(FaultShape, f64)> =
        alternatives.iter().map(|one| (one.shape.clone(), 1.0)).collect();
    if let Some((FaultShape::Group { cut, rail, hosts }, _)) = shapes.first().cloned() {
        for member in members.iter().filter(|member| !member.is_tested()) {
            let mut hosts = hosts.clone();
            if !hosts.remove(&member.host) {
                hosts.insert(member.host);
            }
            shapes.push((FaultShape::Group { cut, rail, hosts }, UNTESTED_WEIGHT));
        }
    }
    shapes
}

/// Ports of some hosts at the places that the shapes name and a few others.
fn ports(layout: &Layout, hosts: &[usize], shapes: &[(FaultShape, f64)]) -> Vec<Port> {
    let named = shapes.iter().filter_map(|(shape, _)| match shape {
        FaultShape::Port(_, place) | FaultShape::Rail(place) | FaultShape::RailCut(place) => Some(*place),
        FaultShape::Group { rail, .. } => *rail,
        _ => None,
    });
    let named: BTreeSet<usize> = named.collect();
    let all: BTreeSet<usize> =
        layout.edges.iter().flat_map(|edge| edge.places.iter().flatten().flatten()).copied().collect();
    let others = all.iter().copied().filter(|place| !named.contains(place));
    let places: Vec<Option<usize>> =
        named.iter().copied().take(PLACES_MAX - 1).chain(others.take(2)).map(Some).collect();
    let places = if places.is_empty() { vec![None] } else { places };
    hosts.iter().flat_map(|&host| places.iter().map(move |&place| Port { host, place })).collect()
}

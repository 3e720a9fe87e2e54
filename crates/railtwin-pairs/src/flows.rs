//! Flows of a test between ports, and the sets of flows that a cause touches.
use std::collections::{BTreeMap, BTreeSet};

use crate::input::{Port, Trial, TrialTraffic};

/// Way of a flow from the GPU that sends to the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Exit {
    /// Each GPU sends over the NIC beside it.
    OwnNic,
    /// A flow leaves on the rail of the GPU that receives, where the test uses that rail of the sending host (PXN of NCCL).
    ReceiverRail,
}

/// Most hosts of one test: a test of more hosts says little about each of them.
pub(crate) const HOSTS_OF_TEST_MAX: usize = 64;

/// All flows of a test between two hosts, `hosts[0] < hosts[1]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub hosts: [usize; 2],
    /// Places at either end, of each flow, in the order of `hosts`.
    pub places: Vec<[Option<usize>; 2]>,
    /// Whether a flow goes from the first host to the second, and back.
    pub ways: [bool; 2],
}

/// Places at both ends of flows between two hosts, and whether flows go each way.
type Between = (BTreeSet<[Option<usize>; 2]>, [bool; 2]);

/// Flows of a test by pair of hosts, sorted; empty where no flow leaves a host.
pub(crate) fn edges(trial: &Trial, exit: Exit) -> Vec<Edge> {
    let used: BTreeSet<Port> = trial.ports.iter().copied().collect();
    let mut by_pair: BTreeMap<[usize; 2], Between> = BTreeMap::new();
    for [from, to] in flows(trial) {
        if from.host == to.host {
            continue;
        }
        let switched = Port { host: from.host, place: to.place };
        let from = if exit == Exit::ReceiverRail && used.contains(&switched) { switched } else { from };
        let backwards = from.host > to.host;
        let (first, second) = if backwards { (to, from) } else { (from, to) };
        let (places, ways) = by_pair.entry([first.host, second.host]).or_default();
        places.insert([first.place, second.place]);
        ways[usize::from(backwards)] = true;
    }
    let edge = |(hosts, (places, ways)): ([usize; 2], (BTreeSet<_>, _))| Edge {
        hosts,
        places: places.into_iter().collect(),
        ways,
    };
    by_pair.into_iter().map(edge).collect()
}

/// Flows as pairs of sending and receiving port.
fn flows(trial: &Trial) -> Vec<[Port; 2]> {
    let ports = &trial.ports;
    let count = ports.len();
    match trial.traffic {
        TrialTraffic::OneWay => ports.windows(2).take(1).map(|two| [two[0], two[1]]).collect(),
        TrialTraffic::SendReceive => {
            (0..count).map(|rank| [ports[rank], ports[(rank + 1) % count]]).collect()
        }
        TrialTraffic::AllToAll => {
            let of = |from: Port| ports.iter().map(move |to| [from, *to]);
            ports.iter().flat_map(|from| of(*from)).collect()
        }
        TrialTraffic::Rings => rings(ports),
    }
}

/// Rings over hosts in the order of their first ranks: the first GPUs of all hosts form one, and so on. NCCL uses them both
/// ways.
fn rings(ports: &[Port]) -> Vec<[Port; 2]> {
    let mut order: Vec<usize> = Vec::new();
    let mut of_host: BTreeMap<usize, Vec<Port>> = BTreeMap::new();
    for port in ports {
        let own = of_host.entry(port.host).or_default();
        if own.is_empty() {
            order.push(port.host);
        }
        own.push(*port);
    }
    let lanes = of_host.values().map(Vec::len).max().unwrap_or(0);
    let mut flows = Vec::new();
    for (at, host) in order.iter().enumerate() {
        let [from, to] = [&of_host[host], &of_host[&order[(at + 1) % order.len()]]];
        for lane in 0..lanes {
            let ends = [from[lane % from.len()], to[lane % to.len()]];
            flows.extend([ends, [ends[1], ends[0]]]);
        }
    }
    flows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::TrialOutcome;

    fn trial(traffic: TrialTraffic, ports: &[(usize, usize)]) -> Trial {
        let ports = ports.iter().map(|&(host, place)| Port { host, place: Some(place) }).collect();
        Trial { class: String::new(), traffic, ports, outcome: TrialOutcome::Died(String::new()) }
    }

    fn places(trial: &Trial, exit: Exit) -> Vec<[usize; 2]> {
        let edges = edges(trial, exit);
        assert_eq!(edges.len(), 1);
        edges[0].places.iter().map(|ends| ends.map(|place| place.expect("a place"))).collect()
    }

    #[test]
    fn a_flow_leaves_on_the_rail_of_its_receiver_where_its_host_uses_that() {
        let send = trial(TrialTraffic::SendReceive, &[(0, 1), (0, 2), (1, 2), (1, 3)]);
        assert_eq!(places(&send, Exit::OwnNic), [[1, 3], [2, 2]]);
        assert_eq!(places(&send, Exit::ReceiverRail), [[1, 3], [2, 2]]);
        let all = trial(TrialTraffic::AllToAll, &[(0, 1), (0, 2), (1, 1), (1, 2)]);
        assert_eq!(places(&all, Exit::OwnNic).len(), 4);
        assert_eq!(places(&all, Exit::ReceiverRail), [[1, 1], [2, 2]]);
    }

    #[test]
    fn one_way_is_one_flow_and_rings_join_equal_lanes() {
        let one = edges(&trial(TrialTraffic::OneWay, &[(5, 0), (2, 1)]), Exit::OwnNic);
        assert_eq!((one[0].hosts, one[0].ways), ([2, 5], [false, true]));
        let ring = edges(
            &trial(TrialTraffic::Rings, &[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]),
            Exit::OwnNic,
        );
        let pairs: Vec<[usize; 2]> = ring.iter().map(|edge| edge.hosts).collect();
        assert_eq!(pairs, [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(ring[0].places, [[Some(0), Some(0)], [Some(1), Some(1)]]);
    }
}

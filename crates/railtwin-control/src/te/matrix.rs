//! The traffic matrix: which NIC port wants to send how much to which NIC.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, Fabric, HostId};
use railtwin_routing::NicPort;
use railtwin_units::Rate;
use railtwin_workload::{Edge, Shape};
use thiserror::Error;

/// What one NIC port wants to send to one NIC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Demand {
    /// Where it leaves.
    pub source: NicPort,
    /// The NIC that it goes to.
    pub target: DeviceId,
    /// How fast, over all queue pairs.
    pub rate: Rate,
}

/// A collective that names a host or NIC which the fabric does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// No such host.
    #[error("host {host} is not in the fabric; its hosts are 0 to {}", hosts.saturating_sub(1))]
    NoSuchHost {
        /// The host that was named.
        host: u32,
        /// Hosts of the fabric.
        hosts: u32,
    },
    /// No such NIC.
    #[error("NIC {nic} is not in host {host}; its backend NICs are 0 to {}", nics.saturating_sub(1))]
    NoSuchNic {
        /// The host.
        host: u32,
        /// The NIC that was named.
        nic: u32,
        /// Backend NICs of the host.
        nics: u32,
    },
    /// A NIC without a cable, which cannot send.
    #[error("NIC {nic} of host {host} has no cabled port to send by")]
    NoCable {
        /// The host.
        host: u32,
        /// The NIC.
        nic: u32,
    },
}

/// Demands, one for each pair of NIC port and NIC, in order of pairs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrafficMatrix {
    demands: Vec<Demand>,
}

impl TrafficMatrix {
    /// The demands, ordered by source and target; each pair once.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// All demands together in bits per second.
    pub fn total_bits_per_s(&self) -> u128 {
        self.demands.iter().map(|demand| u128::from(demand.rate.bits_per_s())).sum()
    }

    /// What a job's placement says it will send: for each collective its shape over placed ranks
    /// and the bytes of the operation that it moves per second. An edge between NICs carries
    /// `amount · volume` bytes for each byte of the operation ([`Edge`], [`railtwin_workload::Bundle`]),
    /// in equal parts by each cabled port of its NIC, as queue pairs are spread over ports.
    /// Edges inside hosts load no NIC.
    ///
    /// # Errors
    /// [`MatrixError`] if a shape names a host or NIC that the fabric does not have.
    pub fn of_placement(fabric: &Fabric, work: &[(&Shape, f64)]) -> Result<Self, MatrixError> {
        let mut sums: BTreeMap<(DeviceId, DeviceId), f64> = BTreeMap::new();
        let mut names = BTreeMap::new();
        for &(shape, bytes_per_s) in work {
            for bundle in &shape.bundles {
                for edge in shape.edges_of(bundle) {
                    let Edge::Network { source_host, source_nic, target_host, target_nic, amount } = *edge
                    else {
                        continue;
                    };
                    let source = nic_of(fabric, source_host, source_nic)?;
                    let target = nic_of(fabric, target_host, target_nic)?;
                    names.insert(source, (source_host, source_nic));
                    *sums.entry((source, target)).or_default() += bytes_per_s * 8.0 * bundle.volume * amount;
                }
            }
        }
        let ports: BTreeMap<DeviceId, Vec<u32>> =
            names.keys().map(|&nic| (nic, cabled_ports(fabric, nic))).collect();
        let mut demands = Vec::new();
        for ((source, target), bits_per_s) in sums {
            let ports = &ports[&source];
            if ports.is_empty() {
                let (host, nic) = names[&source];
                return Err(MatrixError::NoCable { host, nic });
            }
            let rate = Rate::from_bits_per_s((bits_per_s / ports.len() as f64).round() as u64);
            let source = |&port| NicPort { nic: source, port };
            demands.extend(ports.iter().map(|port| Demand { source: source(port), target, rate }));
        }
        Ok(demands.into_iter().collect())
    }
}

/// Demands of the same pair add up; those of rate zero are dropped.
impl FromIterator<Demand> for TrafficMatrix {
    fn from_iter<I: IntoIterator<Item = Demand>>(demands: I) -> Self {
        let mut demands: Vec<Demand> =
            demands.into_iter().filter(|demand| demand.rate > Rate::ZERO).collect();
        demands.sort_unstable();
        demands.dedup_by(|next, kept| {
            let same = (next.source, next.target) == (kept.source, kept.target);
            if same {
                let sum = kept.rate.bits_per_s().saturating_add(next.rate.bits_per_s());
                kept.rate = Rate::from_bits_per_s(sum);
            }
            same
        });
        Self { demands }
    }
}

fn nic_of(fabric: &Fabric, host: u32, nic: u32) -> Result<DeviceId, MatrixError> {
    let hosts = fabric.hosts().len() as u32;
    if host >= hosts {
        return Err(MatrixError::NoSuchHost { host, hosts });
    }
    let nics = fabric.host_model(HostId(host)).nics;
    if nic >= nics {
        return Err(MatrixError::NoSuchNic { host, nic, nics });
    }
    Ok(fabric.nic(HostId(host), nic))
}

fn cabled_ports(fabric: &Fabric, nic: DeviceId) -> Vec<u32> {
    let host = fabric.host_of(nic).expect("a NIC is of a host");
    let ports = fabric.host_model(host).nic.ports;
    (0..ports).filter(|&port| fabric.access_link(nic, port).is_some()).collect()
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::LeafSpine;

    use super::*;

    fn edge(target_host: u32, target_nic: u32) -> Edge {
        Edge::Network { source_host: 0, source_nic: 1, target_host, target_nic, amount: 1.5 }
    }

    #[test]
    fn demands_of_a_pair_add_up() {
        let source = |port| NicPort { nic: DeviceId(4), port };
        let demand = |port, target, gbps| Demand {
            source: source(port),
            target: DeviceId(target),
            rate: Rate::from_gbps(gbps),
        };
        let list = [demand(1, 9, 3), demand(0, 9, 1), demand(1, 9, 4), demand(0, 8, 0)];
        let matrix: TrafficMatrix = list.into_iter().collect();
        assert_eq!(matrix.demands(), [demand(0, 9, 1), demand(1, 9, 7)]);
        assert_eq!(matrix.total_bits_per_s(), 8_000_000_000);
    }

    #[test]
    fn a_shape_becomes_demands_split_over_ports() {
        let fabric = LeafSpine::default().build().expect("default preset");
        let mut shape = Shape::default();
        let inside = Edge::Inside { host: 0, source_gpu: 0, target_gpu: 1, amount: 1.0 };
        shape.push([edge(7, 2), inside], 2.0, 1, 1.0);
        shape.push([edge(7, 2)], 2.0, 1, 1.0);
        let matrix = TrafficMatrix::of_placement(&fabric, &[(&shape, 1e9)]).expect("valid");
        // Two bundles of 1 GB/s · 8 · 2 · 1.5 = 24 Gbps each, over two ports.
        let rates: Vec<_> = matrix.demands().iter().map(|d| (d.source.port, d.rate.gbps())).collect();
        assert_eq!(rates, [(0, 24.0), (1, 24.0)]);
        assert_eq!(matrix.demands()[0].target, fabric.nic(HostId(7), 2));
    }

    #[test]
    fn shapes_of_another_fabric_are_refused() {
        let fabric = LeafSpine::default().build().expect("default preset");
        let matrix = |edge| {
            let mut shape = Shape::default();
            shape.push([edge], 1.0, 1, 1.0);
            TrafficMatrix::of_placement(&fabric, &[(&shape, 1.0)]).expect_err("out of range").to_string()
        };
        assert_eq!(matrix(edge(99, 0)), "host 99 is not in the fabric; its hosts are 0 to 15");
        assert_eq!(matrix(edge(1, 8)), "NIC 8 is not in host 1; its backend NICs are 0 to 7");
    }
}

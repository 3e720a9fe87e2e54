//! Source ports that reach disjoint paths, for every connection of a case (HPN appendix B).
use railtwin_fabric::DeviceId;
use railtwin_routing::{Avoid, FiveTuple, HashKey, NicPort, Routing, nic_ip};

/// The source port of every queue pair, by queue-pair index; none where the NIC has no live path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DisjointPorts {
    ports: Vec<Option<u16>>,
}

impl DisjointPorts {
    /// Chooses for each `(source, target, first queue pair, count)` in turn: the queue pairs of one NIC port
    /// get pairwise disjoint paths, least used links first. Queue pair `q` leaves by port `q mod ports`.
    pub fn choose(routing: &Routing<'_>, connections: Vec<(DeviceId, DeviceId, u32, u32)>) -> Self {
        let total = connections.iter().map(|&(_, _, first, count)| first + count).max().unwrap_or(0);
        let mut ports = vec![None; total as usize];
        let mut busy = vec![0_u32; routing.fabric.link_count()];
        for (source, target, first, count) in connections {
            let nic_ports = routing.forwarding.accesses(source).len().max(1) as u32;
            for port in 0..nic_ports {
                let wanted = (port..count).step_by(nic_ports as usize);
                let tuple = FiveTuple::roce(nic_ip(source), nic_ip(target), 0);
                let avoid = Avoid { dead: None, busy: &busy };
                let from = NicPort { nic: source, port };
                let paths =
                    routing.disjoint_source_ports(from, target, &HashKey::of(tuple), wanted.len(), &avoid);
                let Ok(paths) = paths else { continue };
                for (turn, queue_pair) in wanted.enumerate() {
                    let Some(path) = paths.get(turn % paths.len().max(1)) else {
                        continue;
                    };
                    ports[(first + queue_pair) as usize] = Some(path.source_port);
                    for link in path.beyond_access() {
                        busy[link.index()] += 1;
                    }
                }
            }
        }
        Self { ports }
    }

    /// The source port of a queue pair.
    pub fn port(&self, queue_pair: u32) -> Option<u16> {
        self.ports.get(queue_pair as usize).copied().flatten()
    }
}

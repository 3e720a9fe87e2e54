//! The connections of a replicate as they are opened: its hash seed, its draw, the numbers of its queue pairs.
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::{EcmpConfig, QueuePairNumbers};
use railtwin_units::stream;

use crate::connection::Connection;

/// What a replicate draws before anything is opened.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The draw that all else of the replicate derives from.
    pub draw: u64,
    /// How switches choose, with the replicate's hash seed.
    pub ecmp: EcmpConfig,
}

impl Draw {
    /// The draw of replicate `replicate` of a run with this seed and these switches.
    pub fn of(seed: u64, mut ecmp: EcmpConfig, replicate: u32) -> Self {
        let draw = stream::mix(seed ^ (u64::from(replicate) << 32));
        // The first draw of a scenario keeps the seed that it names.
        ecmp.spec.seed = ecmp.spec.seed.wrapping_add(if replicate == 0 { 0 } else { draw as u32 });
        Self { draw, ecmp }
    }
}

/// Connections in the order in which they are opened; each NIC hands out the numbers of its queue pairs one after the
/// other, from a first one that the draw gives it.
#[derive(Debug)]
pub struct Opened<'a> {
    fabric: &'a Fabric,
    draw: u64,
    numbers: Vec<Option<QueuePairNumbers>>,
    /// The connections.
    pub connections: Vec<Connection>,
    /// Numbers of all queue pairs at their source and at their target.
    pub queue_pairs: Vec<(u32, u32)>,
}

impl<'a> Opened<'a> {
    /// Nothing opened yet.
    pub fn new(fabric: &'a Fabric, draw: &Draw) -> Self {
        let numbers = vec![None; fabric.device_count()];
        Self { fabric, draw: draw.draw, numbers, connections: Vec::new(), queue_pairs: Vec::new() }
    }

    /// Opens a connection between two NICs with so many queue pairs on each port of the source, and returns its row.
    pub fn open(&mut self, job: u32, source: DeviceId, target: DeviceId, queue_pairs: u32) -> u32 {
        let row = self.connections.len() as u32;
        let ports = ports_of(self.fabric, source);
        let count = queue_pairs * ports;
        let first = self.queue_pairs.len() as u32;
        self.connections.push(Connection { job, source, target, first, count, ports, bytes: 0.0 });
        let mut number = |nic: DeviceId| {
            let fresh = || QueuePairNumbers::from_stream(stream::mix(self.draw ^ u64::from(nic.0)));
            self.numbers[nic.index()].get_or_insert_with(fresh).allocate()
        };
        self.queue_pairs.extend((0..count).map(|_| (number(source), number(target))));
        row
    }
}

/// Ports of a NIC into its network.
pub(crate) fn ports_of(fabric: &Fabric, nic: DeviceId) -> u32 {
    fabric.ports(nic).filter(|&port| fabric.port_role(port).is_network()).count().max(1) as u32
}

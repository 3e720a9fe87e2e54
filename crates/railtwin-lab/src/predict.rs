//! Paths of flows, asked of the kernels that will forward them.
use std::collections::BTreeMap;

use railtwin_fabric::{DeviceKind, LinkId};

use crate::host::LabError;
use crate::netlink::{LabFlow, RouteSocket, interfaces};
use crate::plant::{Plant, PlantNic};

/// Most hops of a path.
const HOPS_MAX: usize = 8;

/// A node that is asked for its choice.
#[derive(Debug)]
struct Node {
    socket: RouteSocket,
    /// Link that leaves by an interface, by its index.
    out: BTreeMap<u32, LinkId>,
    /// Index of the interface by which a link arrives.
    arrivals: BTreeMap<LinkId, u32>,
}

/// Predicts which links a flow takes.
#[derive(Debug)]
pub struct Predictor<'p> {
    plant: &'p Plant,
    nodes: BTreeMap<String, Node>,
}

impl<'p> Predictor<'p> {
    /// A predictor of a plant that is up, within its namespaces.
    ///
    /// # Errors
    /// A namespace cannot be entered.
    pub fn new(plant: &'p Plant) -> Result<Self, LabError> {
        let mut nodes = BTreeMap::new();
        for node in plant.nodes() {
            let (mut out, mut arrivals) = (BTreeMap::new(), BTreeMap::new());
            for (name, index) in interfaces(node)? {
                if let Some(link) = plant.link(node, &name) {
                    out.insert(index, link);
                    arrivals.insert(link.reverse(), index);
                }
            }
            nodes.insert(node.to_owned(), Node { socket: RouteSocket::new(node)?, out, arrivals });
        }
        Ok(Self { plant, nodes })
    }

    /// Appends the links that a flow from a NIC takes, as the kernels on its way choose now; whether it arrives.
    ///
    /// # Errors
    /// A kernel does not answer.
    pub(crate) fn path(
        &mut self,
        source: &PlantNic,
        flow: &LabFlow,
        links: &mut Vec<LinkId>,
    ) -> Result<bool, LabError> {
        let (mut at, mut arrival) = (source.node.clone(), None);
        for _ in 0..HOPS_MAX {
            let Some(node) = self.nodes.get_mut(&at) else { return Ok(false) };
            let from = arrival.and_then(|link| node.arrivals.get(&link).copied());
            let Some(index) = node.socket.interface(flow, from)? else { return Ok(false) };
            let Some(&link) = node.out.get(&index) else { return Ok(false) };
            links.push(link);
            let next = self.plant.fabric.target(link);
            if self.plant.fabric.kind(next) == DeviceKind::Nic {
                return Ok(self.plant.nic_of(next).is_some_and(|nic| nic.address == *flow.to.ip()));
            }
            let Some([_, end]) = self.plant.ends(link) else { return Ok(false) };
            (at, arrival) = (end.node.clone(), Some(link));
        }
        Ok(false)
    }
}

//! Per-port hashing of the core: which of its links lead to which pod, whatever has died.

use railtwin_fabric::{DeviceId, Fabric, LinkId, NONE};

use crate::adjacency::Lists;

/// Links of each core switch by pod, in order of ports. Faults do not move them, so the mapping
/// of healthy ports stays when others die (HPN, SIGCOMM 2024, section 7).
#[derive(Clone, Debug)]
pub(crate) struct CorePorts {
    pods: usize,
    /// By switch row: number among the cores, [`NONE`] for others.
    number: Vec<u32>,
    /// By core number and pod.
    links: Lists<LinkId>,
}

impl CorePorts {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let pods = fabric.pods() as usize;
        let mut number = vec![NONE; fabric.switches().len()];
        let mut by_pod: Vec<Vec<LinkId>> = Vec::new();
        for (row, &(device, place)) in fabric.switches().iter().enumerate() {
            if place.tier != 3 {
                continue;
            }
            let first = by_pod.len();
            number[row] = (first / pods.max(1)) as u32;
            by_pod.resize(first + pods, Vec::new());
            for &(link, child) in fabric.neighbors(device) {
                if let Some(pod) = pod_of(fabric, child) {
                    by_pod[first + pod].push(link);
                }
            }
        }
        Self { pods, number, links: Lists::collect(by_pod.into_iter()) }
    }

    /// The link out of core `row` into `target_pod` that belongs to the port of `arrival`, a link
    /// into the core: the k-th port of a pod goes to the k-th port of another pod, modulo their
    /// number. One to one where pods have equally many. None at switches of other tiers.
    pub(crate) fn link_for(
        &self,
        fabric: &Fabric,
        row: u32,
        arrival: LinkId,
        target_pod: u32,
    ) -> Option<LinkId> {
        let number = self.number[row as usize];
        if number == NONE {
            return None;
        }
        let of_pod = |pod: usize| self.links.get(number as usize * self.pods + pod);
        let back = arrival.reverse();
        let source = of_pod(pod_of(fabric, fabric.source(arrival))?);
        let rank = source.iter().position(|&link| link == back)?;
        let links = of_pod(target_pod as usize);
        (!links.is_empty()).then(|| links[rank % links.len()])
    }
}

fn pod_of(fabric: &Fabric, switch: DeviceId) -> Option<usize> {
    let pod = fabric.place(switch)?.pod;
    (pod != NONE).then_some(pod as usize)
}

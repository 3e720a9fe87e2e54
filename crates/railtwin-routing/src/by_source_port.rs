//! Which path each source port takes: what a host knows that can replay the exact hash of each switch
//! (RePaC, USENIX ATC 2021). All 16,384 source ports are sorted by path, switch by switch.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::five_tuple::HashKey;
use crate::hash::bucket_of;
use crate::route::{Choice, Landed, NicPort, NoRoute, Routing};
use crate::selection::Hashed;
use crate::solve::PortSolver;
use crate::source_port::{FIRST_PORT, LAST_PORT, PORT_COUNT};

/// Below this many ports at a switch, hashing each is cheaper than learning the switch's answer.
const SOLVER_PAYS: usize = 32;

/// A source port and the path that its packets take.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SteeredPath {
    /// UDP source port, the lowest of those that take the path.
    pub source_port: u16,
    /// All links, both access links included.
    pub links: Vec<LinkId>,
}

impl SteeredPath {
    /// The links between switches: those that paths must not share.
    pub fn beyond_access(&self) -> &[LinkId] {
        &self.links[1..self.links.len() - 1]
    }
}

/// The source ports to be sorted and the packets they are for.
struct Replay<'r, 'a> {
    routing: &'r Routing<'a>,
    target: DeviceId,
    key: HashKey,
}

impl<'a> Routing<'a> {
    /// Every path that some source port in 0xC000..=0xFFFF takes from `source` to `target_nic`,
    /// in order of source ports. The key gives all but the source port: addresses as in
    /// [`crate::nic_ip`], queue pair where the hash reads it.
    ///
    /// # Errors
    /// [`NoRoute`] if the source port or the target is down or out of reach.
    pub fn paths_by_source_port(
        &self,
        source: NicPort,
        target_nic: DeviceId,
        key: &HashKey,
    ) -> Result<Vec<SteeredPath>, NoRoute> {
        let (leaf, link) = self.enter(source, target_nic)?;
        let replay = Replay { routing: self, target: target_nic, key: *key };
        let ports: Vec<u16> = (FIRST_PORT..=LAST_PORT).collect();
        let mut found = Vec::new();
        replay.sort(leaf, ports, &mut vec![link], &mut found)?;
        found.sort();
        Ok(found)
    }

    /// Where a path lands.
    pub fn landing(&self, target_nic: DeviceId, path: &SteeredPath) -> Landed {
        self.landed(target_nic, path.links[path.links.len() - 1])
    }
}

impl Replay<'_, '_> {
    /// Sends `ports` on from the switch in row `switch`, reached over `path`.
    fn sort(
        &self,
        switch: u32,
        ports: Vec<u16>,
        path: &mut Vec<LinkId>,
        found: &mut Vec<SteeredPath>,
    ) -> Result<(), NoRoute> {
        let arrival = path[path.len() - 1];
        let choice = self.routing.choose(switch, arrival, self.target);
        let by_link: BTreeMap<LinkId, Vec<u16>> = match choice {
            None => return Err(self.routing.unreachable(switch, self.target)),
            Some(Choice::Only(link)) => BTreeMap::from([(link, ports)]),
            Some(Choice::ByHash(hashed)) => self.split(&hashed, arrival, ports),
        };
        for (link, ports) in by_link {
            path.push(link);
            let fabric = self.routing.fabric;
            match fabric.switch_row(fabric.target(link)) {
                Some(next) => self.sort(next, ports, path, found)?,
                None => found.push(SteeredPath { source_port: ports[0], links: path.clone() }),
            }
            path.pop();
        }
        Ok(())
    }

    /// Sorts ports by the member of the group that they take, each list ascending.
    fn split(&self, hashed: &Hashed<'_>, arrival: LinkId, ports: Vec<u16>) -> BTreeMap<LinkId, Vec<u16>> {
        let key = self.key.with_ingress_port(self.routing.ingress_port(arrival));
        let solver = (ports.len() >= SOLVER_PAYS).then(|| PortSolver::new(&hashed.spec, &key));
        let hash = |port: u16| match &solver {
            Some(solver) => solver.hash(port),
            None => hashed.spec.hash(&key.with_source_port(port)),
        };
        let mut lists: BTreeMap<LinkId, Vec<u16>> = BTreeMap::new();
        if hashed.full.len() != hashed.live.len() {
            for port in ports {
                lists.entry(hashed.link(hash(port))).or_default().push(port);
            }
            return lists;
        }
        // The usual case, and where planning spends its time: no look-up of the link for each port.
        let mut buckets: Vec<Vec<u16>> = vec![Vec::new(); hashed.full.len()];
        if let Some(solver) = solver.as_ref().filter(|_| ports.len() == PORT_COUNT) {
            for (&port, hash) in ports.iter().zip(solver.hashes()) {
                buckets[bucket_of(hash, hashed.full.len())].push(port);
            }
        } else {
            for port in ports {
                buckets[bucket_of(hash(port), hashed.full.len())].push(port);
            }
        }
        hashed.full.iter().copied().zip(buckets).filter(|(_, ports)| !ports.is_empty()).collect()
    }
}

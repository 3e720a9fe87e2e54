//! Source ports whose paths share no link: HPN's EstablishConns and FINDPATHS.
//!
//! HPN (SIGCOMM 2024, section 6.1 and appendix B, algorithm 1) opens one connection for each of
//! several source ports that the host knows to take disjoint paths, because it can replay the
//! exact hash of each switch (RePaC, USENIX ATC 2021). Here the replay sorts all 16,384 source
//! ports by path, switch by switch; then links are shared out among the paths.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, LinkId};

use crate::five_tuple::HashKey;
use crate::hash::bucket_of;
use crate::mask::LinkMask;
use crate::matching::disjoint_subset;
use crate::route::{Choice, Landed, NicPort, NoRoute, Routing};
use crate::selection::Hashed;
use crate::solve::PortSolver;
use crate::source_port::{FIRST_PORT, LAST_PORT, PORT_COUNT};

/// Below this many ports at a switch, hashing each is cheaper than learning the switch's answer.
const SOLVER_PAYS: usize = 32;

/// What a host would rather not use.
#[derive(Clone, Copy, Default, Debug)]
pub struct Avoid<'a> {
    /// Links never to use, such as those that died since the tables converged.
    pub dead: Option<&'a LinkMask>,
    /// Use of each link so far, by [`LinkId`]; links beyond the end count as unused.
    /// Of the paths at hand those with the least used links are taken first.
    pub busy: &'a [u32],
}

impl Avoid<'_> {
    fn allows(&self, links: &[LinkId]) -> bool {
        self.dead.is_none_or(|mask| links.iter().all(|&link| !mask.is_down(link)))
    }

    /// Most used link of a path, then the sum of uses.
    fn burden(&self, links: &[LinkId]) -> (u32, u64) {
        let uses = || links.iter().map(|link| self.busy.get(link.index()).copied().unwrap_or(0));
        (uses().max().unwrap_or(0), uses().map(u64::from).sum())
    }
}

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

    /// Up to `count` source ports whose paths pairwise share no link but access links: FINDPATHS.
    /// On fabrics of one or two tiers as many as exist among the hashed paths; with three tiers
    /// a larger set may exist. Empty only if `avoid` forbids all paths or `count` is 0.
    ///
    /// # Errors
    /// [`NoRoute`] if the source port or the target is down or out of reach.
    pub fn disjoint_source_ports(
        &self,
        source: NicPort,
        target_nic: DeviceId,
        key: &HashKey,
        count: usize,
        avoid: &Avoid<'_>,
    ) -> Result<Vec<SteeredPath>, NoRoute> {
        let mut paths = self.paths_by_source_port(source, target_nic, key)?;
        paths.retain(|path| avoid.allows(&path.links));
        paths.sort_by_cached_key(|path| (avoid.burden(path.beyond_access()), path.source_port));
        let between: Vec<&[LinkId]> = paths.iter().map(SteeredPath::beyond_access).collect();
        let chosen = disjoint_subset(&between, count);
        Ok(chosen.into_iter().map(|path| paths[path].clone()).collect())
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

//! The allocator: paths of all jobs' queue pairs, and how much each link is used.
use std::collections::BTreeMap;

use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::source_port::FIRST_PORT;
use railtwin_routing::{
    EcmpConfig, Fields, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, nic_ip,
};

use super::assignment::{Assignment, Demand, JobId, Path, Reason};
use super::catalogue::Catalogue;
use super::flow::{FAULTY, Flow, Found, Landing};
use super::search::Scratch;

/// An assignment and the pair of leaves it runs between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) given: Assignment,
    /// Number in the catalogue; [`railtwin_fabric::NONE`] without a path.
    pub(super) pair: u32,
}

/// Hands out paths on one fabric across jobs (C4P master, C4 section III-B; HPN section 6.1 for the hashes).
///
/// Each queue pair gets, of all paths of the switches' tables, one whose most used link is least used, then one with
/// the least sum of uses, counting the links between switches, down as well as up; among equals the one that the
/// lowest UDP source port takes. A port of the source goes to the same port of the target where any path does, and
/// links known as faulty are taken only where nothing else is left.
///
/// An answer depends on the fabric, the hashes, the dead and faulty links and the uses of links, on nothing else:
/// jobs that have gone leave no trace. Demands are served one after another, so their order matters.
#[derive(Clone, Debug)]
pub struct PathAllocator<'a> {
    pub(super) fabric: &'a Fabric,
    pub(super) ecmp: EcmpConfig,
    pub(super) forwarding: Forwarding,
    pub(super) faulty: LinkMask,
    /// By link: sum of the weights that cross it, and [`FAULTY`].
    pub(super) cost: Vec<u64>,
    /// By link: assignments that cross it.
    pub(super) crossings: Vec<u32>,
    pub(super) catalogue: Catalogue,
    pub(super) jobs: BTreeMap<JobId, Vec<Held>>,
    pub(super) scratch: Scratch,
}

impl<'a> PathAllocator<'a> {
    /// An allocator with no job yet. `down` are the links that the switches know to be dead.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, down: &LinkMask) -> Self {
        Self {
            fabric,
            ecmp,
            forwarding: Forwarding::new(fabric, down),
            faulty: LinkMask::none(fabric),
            cost: vec![0; fabric.link_count()],
            crossings: vec![0; fabric.link_count()],
            catalogue: Catalogue::new(fabric),
            jobs: BTreeMap::new(),
            scratch: Scratch::default(),
        }
    }

    /// The tables, as of the links that are down now.
    pub fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// Links that are up, but to be avoided.
    pub fn faulty(&self) -> &LinkMask {
        &self.faulty
    }

    /// Sum of the weights of all assignments that cross a link.
    pub fn load(&self, link: LinkId) -> u64 {
        self.cost[link.index()] % FAULTY
    }

    /// Number of assignments that cross a link.
    pub fn crossings(&self, link: LinkId) -> u32 {
        self.crossings[link.index()]
    }

    /// The assignments of a job in the order of their demands.
    pub fn assignments(&self, job: JobId) -> impl ExactSizeIterator<Item = &Assignment> {
        self.jobs.get(&job).map_or(&[][..], Vec::as_slice).iter().map(|held| &held.given)
    }

    /// The jobs with assignments, ascending.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> + '_ {
        self.jobs.keys().copied()
    }

    /// Assigns a path and a source port to every queue pair of `demands`, in that order, and adds them to those of
    /// the job. A queue pair without any path is [`Reason::Stranded`]; it gets one when links come back.
    pub fn allocate(&mut self, job: JobId, demands: &[Demand<'_>]) -> Vec<Assignment> {
        let count = demands.iter().map(|demand| demand.queue_pairs.len()).sum();
        let mut held = self.jobs.remove(&job).unwrap_or_default();
        let before = held.len();
        held.reserve(count);
        for demand in demands {
            self.scratch.new_key();
            for &queue_pair in demand.queue_pairs {
                let mut one = Held { given: stranded(demand, queue_pair), pair: railtwin_fabric::NONE };
                self.place(&mut one);
                held.push(one);
            }
        }
        let given = held[before..].iter().map(|held| held.given).collect();
        if !held.is_empty() {
            self.jobs.insert(job, held);
        }
        given
    }

    /// Forgets a job and returns how many queue pairs it had.
    pub fn release(&mut self, job: JobId) -> usize {
        let held = self.jobs.remove(&job).unwrap_or_default();
        held.iter().for_each(|held| self.count(&held.given, false));
        held.len()
    }

    /// Marks a link as faulty or sound, moving nothing.
    pub(super) fn mark_faulty(&mut self, link: LinkId, faulty: bool) {
        if self.faulty.is_down(link) != faulty {
            self.scratch.forget_bounds();
            self.faulty.set_link(link, faulty);
            let cost = &mut self.cost[link.index()];
            *cost = if faulty { *cost + FAULTY } else { *cost - FAULTY };
        }
    }

    /// Adds an assignment to the uses of its links, or takes it away.
    pub(super) fn count(&mut self, given: &Assignment, add: bool) {
        if !add {
            self.scratch.forget_bounds();
        }
        for link in given.path.links() {
            let (cost, crossings) = (&mut self.cost[link.index()], &mut self.crossings[link.index()]);
            if add {
                *cost += u64::from(given.weight);
                *crossings += 1;
            } else {
                *cost -= u64::from(given.weight);
                *crossings -= 1;
            }
        }
    }

    /// Runs `search` on the ways of an assignment under the tables of now; none where its source port is down or
    /// its target out of reach. The scratch's hashes must be of this key or forgotten.
    pub(super) fn with_flow<T>(
        &mut self,
        held: &mut Held,
        search: impl FnOnce(&mut Scratch, &Flow<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let (given, fabric) = (held.given, self.fabric);
        // The routing borrows fields that the search does not change.
        let Self { forwarding, ecmp, catalogue, scratch, cost, .. } = self;
        let routing = Routing::new(fabric, forwarding, ecmp);
        let NicPort { nic, port } = given.source;
        held.pair = railtwin_fabric::NONE;
        let access = forwarding.access(nic, port).filter(|access| !forwarding.mask().is_down(access.link))?;
        held.pair = catalogue.pair(&routing, access.leaf, given.target)?;
        let key = HashKey::of(FiveTuple::roce(nic_ip(nic), nic_ip(given.target), FIRST_PORT));
        let dag = catalogue.dag(held.pair);
        let flow = Flow {
            routing: &routing,
            tables: &catalogue.tables,
            pair: held.pair,
            dag,
            twist: Flow::first_twist(&routing, &catalogue.tables, dag, access.link),
            cost,
            key: key.with_target_qp(given.queue_pair),
            access: access.link,
            target: given.target,
        };
        if ecmp.spec.fields.contains(Fields::TARGET_QP) {
            scratch.new_key();
        }
        search(scratch, &flow)
    }

    /// Finds the best path for an assignment that has none and counts it. False if there is none.
    pub(super) fn place(&mut self, held: &mut Held) -> bool {
        let own_port = held.given.source.port;
        let chosen = self.with_flow(held, |scratch, flow| choose(scratch, flow, own_port));
        let Some((found, reason)) = chosen else {
            held.given =
                Assignment { path: Path::NONE, landed: None, reason: Reason::Stranded, ..held.given };
            held.given.source_port = FIRST_PORT;
            return false;
        };
        let Found { source_port, path, landed, .. } = found;
        held.given = Assignment { source_port, path, landed: Some(landed), reason, ..held.given };
        self.count(&held.given, true);
        true
    }
}

/// The best way to the own port; to another if there is none over sound links; over faulty links if need be.
fn choose(scratch: &mut Scratch, flow: &Flow<'_, '_>, own_port: u32) -> Option<(Found, Reason)> {
    let is_sound = |found: &Found| found.burden.0 < FAULTY;
    let chosen = scratch
        .best(flow, Landing::OnPort(own_port))
        .filter(is_sound)
        .or_else(|| scratch.best(flow, Landing::OnSound).filter(is_sound))
        .or_else(|| scratch.best(flow, Landing::Anywhere))?;
    let over_faulty = chosen.path.links().iter().any(|link| flow.cost[link.index()] >= FAULTY);
    let reason = match chosen.is_best {
        _ if over_faulty => Reason::OverFaulty,
        _ if chosen.landed != own_port => Reason::OtherPort,
        true => Reason::LeastUsed,
        false => Reason::NoPortReaches,
    };
    Some((chosen, reason))
}

fn stranded(demand: &Demand<'_>, queue_pair: u32) -> Assignment {
    Assignment {
        source: demand.source,
        target: demand.target,
        queue_pair,
        weight: demand.weight,
        source_port: FIRST_PORT,
        landed: None,
        path: Path::NONE,
        reason: Reason::Stranded,
    }
}

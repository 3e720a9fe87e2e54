//! The work of a case by host: legs of collectives with what each waits for, and the operations of each job.
use std::collections::BTreeMap;

use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, nvlink};
use railtwin_fabric::{HostId, LinkId};
use railtwin_units::Rate;
use railtwin_workload::{Collective, Cut, Edge, Half, OperationId, Wait, Work, course};

use crate::inside::LinksInside;
use crate::network::Speed;

/// How a leg gets from one GPU to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Through the queue pairs of a connection.
    Network(u32),
    /// Over NVLink inside a host: the first link, and the second where there is one.
    Inside(LinkId, Option<LinkId>),
    /// Over PCIe switches inside a host: row of the way in [`HostLinks::ways`](crate::inside::HostLinks::ways).
    Pcie(u32),
}

/// One crossing of an edge, in stages.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// Pattern, over the whole case.
    pub pattern: u32,
    /// Bundle, counted within its pattern, and its edge, counted within the bundle.
    pub bundle: u32,
    /// See `bundle`.
    pub edge: u32,
    /// Host where it begins, by its number in the fabric.
    pub source: u32,
    /// Host where it ends.
    pub target: u32,
    /// The way.
    pub way: Way,
    /// Stages of a round.
    pub stages: u32,
    /// What bounds its pieces.
    pub cut: Cut,
    /// Pace that an intra-host cap allows it.
    pub cap: Option<Speed>,
    /// Bytes for each byte of the operation.
    pub share: f64,
    /// Whether its messages wait for clearance: one that counts what its receiver has handed on has no need of it.
    pub clears: bool,
    /// First of its waits.
    wait_start: u32,
}

/// What of a job a group of hosts does: the operations that have ranks there.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Role {
    /// Job.
    pub job: u32,
    /// Operations of a step, ascending.
    pub operations: Vec<u32>,
    /// How many operations each waits for, of this role and of others.
    pub waits: Vec<u32>,
    /// CSR: rows that wait for each row.
    pub successor_start: Vec<u32>,
    /// Rows of successors.
    pub successors: Vec<u32>,
}

/// An operation that other hosts wait for: who ends it, and who has to be told.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Elsewhere {
    /// Hosts that take part in it.
    pub takes: u32,
    /// Hosts that wait for it without taking part.
    pub told: Vec<u32>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Program {
    /// Legs of all patterns.
    pub legs: Vec<Leg>,
    waits: Vec<Wait>,
    /// CSR: legs of pattern `p` are `start[p]..start[p + 1]`; those of a bundle follow each other.
    pub leg_start: Vec<u32>,
    /// Legs that begin at each host, ascending.
    pub legs_from: Vec<Vec<u32>>,
    /// Those that end there.
    pub legs_to: Vec<Vec<u32>>,
    /// Roles.
    pub roles: Vec<Role>,
    /// Roles of each host, at most one for each job.
    pub roles_of: Vec<Vec<u32>>,
    /// Operations of a step, by job and row in its plan, that end elsewhere for somebody.
    pub elsewhere: BTreeMap<(u32, u32), Elsewhere>,
    /// PCIe of hosts with PCIe switches.
    pub inside: LinksInside,
}

impl Program {
    /// The work of a case as lowered for one replicate.
    pub fn new(case: &Case, lowering: &Lowering<'_>) -> Self {
        let inside = LinksInside::new(case, lowering);
        let mut program = Self { leg_start: vec![0], inside, ..Self::default() };
        let used = case.work.jobs.iter().flat_map(|job| {
            let asks = |row| move |operation: &railtwin_workload::Operation| {
                matches!(operation.work, Work::Communicate { pattern, .. } if pattern.index() == row)
            };
            (0..job.plan.patterns.len()).map(move |row| job.plan.operations.iter().any(asks(row)))
        });
        for (pattern, used) in used.enumerate() {
            // Nobody has a seat in what no operation asks for.
            if used {
                program.pattern(case, lowering, pattern);
            }
            program.leg_start.push(program.legs.len() as u32);
        }
        let hosts = case.fabric.hosts().len();
        (program.legs_from, program.legs_to) = (vec![Vec::new(); hosts], vec![Vec::new(); hosts]);
        for (number, leg) in (0..).zip(&program.legs) {
            program.legs_from[leg.source as usize].push(number);
            program.legs_to[leg.target as usize].push(number);
        }
        program.assign(case);
        program
    }

    /// Those of `legs`, ascending, that are of a pattern.
    pub fn of_pattern<'a>(&self, legs: &'a [u32], pattern: u32) -> &'a [u32] {
        let [first, end] = [pattern, pattern + 1].map(|row| self.leg_start[row as usize]);
        &legs[legs.partition_point(|&leg| leg < first)..legs.partition_point(|&leg| leg < end)]
    }

    /// What a leg waits for: legs of the case with their lags.
    pub fn waits_of(&self, leg: u32) -> &[Wait] {
        let end = self.legs.get(leg as usize + 1).map_or(self.waits.len() as u32, |next| next.wait_start);
        &self.waits[self.legs[leg as usize].wait_start as usize..end as usize]
    }

    fn pattern(&mut self, case: &Case, lowering: &Lowering<'_>, pattern: usize) {
        let fabric = &*case.fabric;
        let (shape, connections) = lowering.shape_of(pattern);
        let connections: Vec<Option<u32>> = connections.collect();
        let keys = &case.packets.keys;
        let job = case.work.jobs.partition_point(|job| job.first_pattern as usize <= pattern) - 1;
        let has_library = case.packets.has_library(job as u32);
        let waits = keys.clear_to_send && has_library;
        for (number, bundle) in (0..).zip(&shape.bundles) {
            let mut course = course(shape, bundle);
            if !has_library && course.cut == Cut::Peers {
                course.cut = Cut::Messages;
            }
            let cap = lowering.cap_of(pattern) * bundle.bus_share;
            // A cap is of what GPUs and NVSwitch of a host do; a bundle without them is held where it leaves.
            let outside = |edge: &Edge| matches!(edge, Edge::Network { .. });
            let all_outside = shape.edges_of(bundle).iter().all(outside);
            let first = self.legs.len() as u32;
            for (row, leg) in course.legs.iter().enumerate() {
                let edge = bundle.first_edge + leg.edge;
                let up = |host: u32, gpu: u32| nvlink(fabric, HostId(host), gpu);
                let (source, target, way, amount) = match shape.edges[edge as usize] {
                    Edge::Inside { host, source_gpu, target_gpu, amount }
                        if !fabric.host_model(HostId(host)).has_nvswitch() =>
                    {
                        let row = self.inside.between(fabric, HostId(host), source_gpu, target_gpu);
                        (host, host, Way::Pcie(row), amount)
                    }
                    Edge::Inside { host, source_gpu, target_gpu, amount } => {
                        let way = Way::Inside(up(host, source_gpu), Some(up(host, target_gpu).reverse()));
                        (host, host, way, amount)
                    }
                    Edge::InSwitch { host, gpu, amount } => {
                        let link = up(host, gpu);
                        let way = match leg.half {
                            Half::Whole => Way::Inside(link, Some(link.reverse())),
                            Half::Up => Way::Inside(link, None),
                            Half::Down => Way::Inside(link.reverse(), None),
                        };
                        (host, host, way, amount)
                    }
                    Edge::Network { source_host, target_host, amount, .. } => {
                        let row = connections[edge as usize].expect("an edge between NICs has a connection");
                        (source_host, target_host, Way::Network(row), amount)
                    }
                };
                let is_capped = cap.is_finite() && (all_outside || !matches!(way, Way::Network(_)));
                let pace = || Speed::of(Rate::from_bits_per_s((cap * amount * 8.0).round() as u64));
                self.legs.push(Leg {
                    pattern: pattern as u32,
                    bundle: number,
                    edge: leg.edge,
                    source,
                    target,
                    way,
                    stages: leg.stages.max(1),
                    cut: course.cut,
                    cap: is_capped.then(pace),
                    share: amount * bundle.volume,
                    clears: matches!(way, Way::Network(_))
                        && (keys.admission.is_some() || waits && course.cut.slots(0, 1).is_none()),
                    wait_start: self.waits.len() as u32,
                });
                let waits = course.waits_of(row).iter();
                self.waits.extend(waits.map(|wait| Wait { leg: wait.leg + first, lag: wait.lag }));
            }
        }
    }

    /// Which host does what of each job.
    fn assign(&mut self, case: &Case) {
        self.roles_of = vec![Vec::new(); case.fabric.hosts().len()];
        for (row, job) in case.work.jobs.iter().enumerate() {
            let plan = &job.plan;
            let hosts_of_pattern: Vec<Vec<u32>> = (plan.patterns.iter().zip(job.first_pattern..))
                .map(|(pattern, number)| {
                    let ranks = pattern.communicators.iter().flatten();
                    let mut hosts: Vec<u32> =
                        ranks.map(|&rank| case.placements[row][rank as usize].host.0).collect();
                    let legs = self.leg_start[number as usize] as usize
                        ..self.leg_start[number as usize + 1] as usize;
                    hosts.extend(self.legs[legs].iter().flat_map(|leg| [leg.source, leg.target]));
                    hosts.sort_unstable();
                    hosts.dedup();
                    hosts
                })
                .collect();
            let mut all: Vec<u32> = case.placements[row].iter().map(|place| place.host.0).collect();
            all.sort_unstable();
            all.dedup();
            let takes = takes(case, row, &hosts_of_pattern, &all);
            // Hosts with the same operations share a role.
            let mut by_host: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for (operation, hosts) in (0..).zip(&takes) {
                for &host in *hosts {
                    by_host.entry(host).or_default().push(operation);
                }
            }
            let mut role_of: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
            for (host, operations) in by_host {
                let next = self.roles.len() as u32;
                let role = *role_of.entry(operations.clone()).or_insert(next);
                if role == next {
                    self.roles.push(role_with(row as u32, operations, plan));
                }
                self.roles_of[host as usize].push(role);
            }
            for operation in 0..plan.operations.len() {
                for &before in plan.dependencies_of(OperationId::from_index(operation)) {
                    let (here, there) = (takes[operation], takes[before.index()]);
                    let told = here.iter().copied().filter(|host| there.binary_search(host).is_err());
                    let told: Vec<u32> = told.collect();
                    if !told.is_empty() {
                        let entry = self.elsewhere.entry((row as u32, before.0)).or_default();
                        entry.takes = there.len() as u32;
                        entry.told.extend(told);
                        entry.told.sort_unstable();
                        entry.told.dedup();
                    }
                }
            }
        }
    }
}

/// Hosts that take part in each operation of a job.
fn takes<'a>(case: &Case, job: usize, hosts_of_pattern: &'a [Vec<u32>], all: &'a [u32]) -> Vec<&'a [u32]> {
    let plan = &case.work.jobs[job].plan;
    let lanes = plan.operations.iter().map(|operation| operation.lane + 1).max().unwrap_or(0) as usize;
    // A lane computes where the ranks of its collectives are; sends and receives have ranks of two lanes.
    let mut pattern_of_lane: Vec<Option<(bool, usize)>> = vec![None; lanes];
    for operation in &plan.operations {
        if let Work::Communicate { pattern, .. } = operation.work {
            let whole = plan.patterns[pattern.index()].collective != Collective::SendReceive;
            let size = |pattern: usize| hosts_of_pattern[pattern].len();
            let known = &mut pattern_of_lane[operation.lane as usize];
            if known.is_none_or(|(was, other)| (whole, size(pattern.index())) > (was, size(other))) {
                *known = Some((whole, pattern.index()));
            }
        }
    }
    let largest = (0..hosts_of_pattern.len()).max_by_key(|&pattern| hosts_of_pattern[pattern].len());
    let by_lane = |lane: u32| {
        let pattern = pattern_of_lane[lane as usize].map(|(_, pattern)| pattern).or(largest);
        pattern.map_or(all, |pattern| hosts_of_pattern[pattern].as_slice())
    };
    let of = |operation: &railtwin_workload::Operation| match operation.work {
        Work::Compute(_) => by_lane(operation.lane),
        Work::Communicate { pattern, .. } => hosts_of_pattern[pattern.index()].as_slice(),
    };
    plan.operations.iter().map(of).collect()
}

/// The role of hosts that take part in `operations`.
fn role_with(job: u32, operations: Vec<u32>, plan: &railtwin_workload::Plan) -> Role {
    let mut edges = Vec::new();
    let mut waits = Vec::with_capacity(operations.len());
    for (row, &operation) in (0..).zip(&operations) {
        let before = plan.dependencies_of(OperationId(operation));
        waits.push(before.len() as u32);
        let here = before.iter().filter_map(|one| operations.binary_search(&one.0).ok());
        edges.extend(here.map(|one| (one as u32, row)));
    }
    edges.sort_unstable();
    let mut successor_start = vec![0; operations.len() + 1];
    for &(before, _) in &edges {
        successor_start[before as usize + 1] += 1;
    }
    for row in 0..operations.len() {
        successor_start[row + 1] += successor_start[row];
    }
    let successors = edges.into_iter().map(|(_, row)| row).collect();
    Role { job, operations, waits, successor_start, successors }
}

/// Bytes of a leg of an operation, whole.
pub fn leg_bytes(leg: &Leg, bytes: u64) -> u64 {
    (bytes as f64 * leg.share).round() as u64
}

/// What a leg of an operation is cut into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// How often its stages are gone through.
    pub rounds: u64,
    /// Pieces of a stage of a round.
    pub of_stage: u64,
}

/// The pieces of a leg.
pub fn pieces(leg: &Leg, bytes: u64, message: u64) -> Pieces {
    let rounds = leg.cut.rounds(bytes, message);
    let stage = leg_bytes(leg, bytes).div_ceil(u64::from(leg.stages) * rounds);
    Pieces { rounds, of_stage: stage.div_ceil(leg.cut.piece(bytes, message).max(1)).max(1) }
}

/// Bytes of item `item` of a leg: stages of all rounds are even, and so are the pieces of a stage, up to a byte.
pub fn item_bytes(leg: &Leg, bytes: u64, pieces: Pieces, item: u64) -> u64 {
    let stages = u128::from(leg.stages) * u128::from(pieces.rounds);
    let total = u128::from(leg_bytes(leg, bytes));
    let (stage, piece) = (u128::from(item / pieces.of_stage), u128::from(item % pieces.of_stage));
    let of_stage = total * (stage + 1) / stages - total * stage / stages;
    let pieces = u128::from(pieces.of_stage);
    (of_stage * (piece + 1) / pieces - of_stage * piece / pieces) as u64
}

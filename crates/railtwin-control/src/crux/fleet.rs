//! The jobs of a run as [`Tenants`]: every queue pair is a transfer, and its candidates are the ways that source ports
//! lead.
use std::collections::BTreeMap;
use std::sync::Arc;

use railtwin_fabric::{DeviceId, Fabric, LinkId, NONE};
use railtwin_routing::{EcmpConfig, Fields, LinkMask, NicPort};
use railtwin_units::{Bytes, SimTime};

use super::tenants::{Candidate, Paths, SharedLink, Tenant, Tenants, Transfer};
use crate::controller::{Exchange, Opening, StepDemand};
use crate::paths::{JobId, PortWays, Way};

/// A queue pair and what it was told.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Row among all that were ever opened.
    pub(super) row: u32,
    source: NicPort,
    ports: u32,
    target: DeviceId,
    number: u32,
    /// Bytes of a step.
    pub(super) bytes: u64,
    /// Links between GPUs and NICs at both ends, where hosts have PCIe switches.
    inside: Option<Arc<[Vec<LinkId>; 2]>>,
    /// The source port that it was told; none where it has no path, or was told nothing yet.
    pub(super) held: Option<u16>,
    /// Whether it was told anything.
    pub(super) is_told: bool,
}

/// A job that is there.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) job: JobId,
    pub(super) step: StepDemand,
    pub(super) pairs: Vec<Pair>,
    /// What it sends inside hosts.
    pub(super) exchanges: Vec<Exchange>,
    /// Intensity as it was measured.
    pub(super) measured: Option<f64>,
    /// The priority that it was told; none before.
    pub(super) priority: Option<u8>,
    /// Whether it came since the last plan.
    pub(super) is_new: bool,
}

impl Member {
    pub(super) fn new(job: JobId, step: StepDemand) -> Self {
        let (pairs, exchanges) = (Vec::new(), Vec::new());
        Self { job, step, pairs, exchanges, measured: None, priority: None, is_new: true }
    }

    /// Whether it sends over links that others may cross.
    pub(super) fn sends(&self) -> bool {
        !self.pairs.is_empty() || !self.exchanges.is_empty()
    }

    /// Seconds of a step that what it sends inside hosts takes alone.
    pub(super) fn seconds_inside(&self, fabric: &Fabric) -> f64 {
        let mut loads: BTreeMap<LinkId, f64> = BTreeMap::new();
        for one in &self.exchanges {
            for &link in &one.links {
                *loads.entry(link).or_default() += one.bytes / fabric.capacity(link).bytes_per_s();
            }
        }
        loads.into_values().fold(0.0, f64::max)
    }

    /// Adds the queue pairs of a connection.
    pub(super) fn open(&mut self, opening: &Opening<'_>) {
        let each = (opening.bytes / opening.numbers.len().max(1) as f64).ceil() as u64;
        let ports = opening.ports.max(1);
        let inside = opening.inside.map(|inside| Arc::new(inside.clone()));
        self.pairs.extend((0..).zip(opening.numbers).map(|(index, &number)| Pair {
            row: opening.first + index,
            source: NicPort { nic: opening.source, port: index % ports },
            ports,
            target: opening.target,
            number,
            bytes: each,
            inside: inside.clone(),
            held: None,
            is_told: false,
        }));
    }
}

/// What there is to choose from for a queue pair, the way that it holds first.
#[derive(Clone, Debug)]
struct Choice {
    ways: Arc<Vec<Way>>,
    /// The way that it holds, with the port that it was told.
    held: Option<Way>,
    /// Whether it may take no other.
    is_fixed: bool,
}

impl Choice {
    fn all(&self) -> impl Iterator<Item = Way> + '_ {
        let held = self.held.map(|held| held.path);
        let others = self.ways.iter().copied().filter(move |way| Some(way.path) != held);
        self.held.into_iter().chain(others.filter(|_| !self.is_fixed))
    }
}

/// Source NIC port, target, and the number of the queue pair where switches hash it.
type Ends = (NicPort, DeviceId, Option<u32>);

/// The ways of the fabric, those that were asked for kept until links change.
#[derive(Clone, Debug)]
pub(super) struct WaysKept<'a> {
    fabric: &'a Fabric,
    ways: PortWays<'a>,
    kept: BTreeMap<Ends, Arc<Vec<Way>>>,
    hashes_number: bool,
    most: usize,
}

impl<'a> WaysKept<'a> {
    pub(super) fn new(
        fabric: &'a Fabric,
        ecmp: EcmpConfig,
        down: &LinkMask,
        resilient: bool,
        most: usize,
    ) -> Self {
        let ways = PortWays::new(fabric, ecmp, down, resilient);
        let hashes_number = ecmp.spec.fields.contains(Fields::TARGET_QP);
        Self { fabric, ways, kept: BTreeMap::new(), hashes_number, most }
    }

    pub(super) fn down(&self) -> &LinkMask {
        self.ways.down()
    }

    /// The ways between `ends`; `any` stands for the number where switches do not hash it.
    fn of(&mut self, ends: Ends, any: u32) -> Arc<Vec<Way>> {
        let (source, target, number) = ends;
        let found = || Arc::new(self.ways.of(source, target, number.unwrap_or(any), self.most));
        Arc::clone(self.kept.entry(ends).or_insert_with(found))
    }

    /// What a queue pair may take, by its own port of the NIC or, where that leads nowhere, by the next, as its bond has
    /// it.
    fn choice(&mut self, pair: &Pair, is_fixed: bool) -> Choice {
        let number = self.hashes_number.then_some(pair.number);
        let turn = |turn: u32| NicPort { port: (pair.source.port + turn) % pair.ports, ..pair.source };
        let by = (0..pair.ports)
            .map(turn)
            .find(|&source| !self.of((source, pair.target, number), pair.number).is_empty());
        let Some(source) = by else { return Choice { ways: Arc::default(), held: None, is_fixed } };
        let ways = self.of((source, pair.target, number), pair.number);
        let held = pair.held.and_then(|source_port| {
            let path = self.ways.path(source, pair.target, pair.number, source_port)?;
            Some(Way { source_port, path })
        });
        Choice { ways, held, is_fixed: is_fixed && held.is_some() }
    }
}

/// Jobs as tenants, and which source port each candidate stands for. What a job sends inside hosts stands behind its queue
/// pairs, and has one way.
#[derive(Debug)]
pub(super) struct Fleet {
    /// Those with a queue pair that leads anywhere, in the order in which they came.
    pub(super) tenants: Tenants,
    /// By job and transfer: its queue pair, by place.
    pub(super) pairs: Vec<Vec<u32>>,
}

impl Fleet {
    /// Of `members`, of whom those keep their paths that `is_fixed` says.
    pub(super) fn of(
        members: &[Member],
        ways: &mut WaysKept<'_>,
        is_fixed: impl Fn(&Member) -> bool,
    ) -> Self {
        let fabric = ways.fabric;
        let mut links = Links::new(fabric);
        let (mut jobs, mut pairs) = (Vec::new(), Vec::new());
        for member in members {
            let (mut transfers, mut rows) = (Vec::new(), Vec::new());
            for (row, pair) in (0..).zip(&member.pairs) {
                let choice = ways.choice(pair, is_fixed(member));
                let candidates: Vec<Candidate> =
                    choice.all().map(|way| links.candidate(pair, &way)).collect();
                if !candidates.is_empty() {
                    transfers.push(Transfer { bytes: Bytes(pair.bytes), candidates });
                    rows.push(row);
                }
            }
            transfers.extend(member.exchanges.iter().map(|one| links.exchange(one)));
            let StepDemand { gpus, compute, in_line, work } = member.step;
            // A step that computes nothing and sends nothing would have no length.
            let compute = compute.max(SimTime::from_ps(1));
            let overlap_from = (in_line.ps() as f64 / compute.ps() as f64).min(1.0);
            let alone = Tenant::new("", gpus, compute, overlap_from);
            jobs.push(Tenant { work, measured: member.measured, transfers, ..alone });
            pairs.push(rows);
        }
        Self { tenants: Tenants { links: links.shared, jobs }, pairs }
    }

    /// The paths that jobs hold, which stand first among their candidates; what holds none has that of `drawn`.
    pub(super) fn held(&self, members: &[Member], mut drawn: Paths) -> Paths {
        for (job, rows) in self.pairs.iter().enumerate() {
            for (place, &row) in rows.iter().enumerate() {
                let held = members[job].pairs[row as usize].held;
                if held.is_some() && held == self.source_port(job, place, 0) {
                    drawn[job][place] = 0;
                }
            }
        }
        drawn
    }

    /// The source port of a candidate of a job's transfer.
    pub(super) fn source_port(&self, job: usize, place: usize, candidate: u32) -> Option<u16> {
        self.tenants.jobs[job].transfers[place].candidates[candidate as usize].source_port
    }
}

/// Links that jobs may share, numbered as they are met.
struct Links<'a> {
    fabric: &'a Fabric,
    number: Vec<u32>,
    shared: Vec<SharedLink>,
}

impl<'a> Links<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        Self { fabric, number: vec![NONE; fabric.link_count()], shared: Vec::new() }
    }

    fn number(&mut self, link: LinkId) -> u32 {
        let number = &mut self.number[link.index()];
        if *number == NONE {
            *number = self.shared.len() as u32;
            self.shared.push(SharedLink::new("", self.fabric.capacity(link)));
        }
        *number
    }

    /// The links of a way, and those inside the hosts at its ends.
    fn candidate(&mut self, pair: &Pair, way: &Way) -> Candidate {
        let fabric = self.fabric;
        let plain = [fabric.pcie_into(pair.source.nic), fabric.pcie_into(pair.target).map(LinkId::reverse)];
        let [entry, exit] = match &pair.inside {
            Some(inside) => [inside[0].as_slice(), inside[1].as_slice()],
            None => [plain[0].as_slice(), plain[1].as_slice()],
        };
        let links = entry.iter().chain(way.path.links()).chain(exit).copied();
        let links: Vec<LinkId> = links.collect();
        Candidate {
            links: links.into_iter().map(|link| self.number(link)).collect(),
            source_port: Some(way.source_port),
        }
    }

    /// What goes from a GPU to another.
    fn exchange(&mut self, one: &Exchange) -> Transfer {
        let links = one.links.iter().map(|&link| self.number(link)).collect();
        let candidates = vec![Candidate { links, source_port: None }];
        Transfer { bytes: Bytes(one.bytes.ceil() as u64), candidates }
    }
}

//! Queue pairs that lost packets to a fault and wait: they go on, or die and take their job with them.
//!
//! A queue pair that is sending when its path dies, or starts to send over a dead one, has used up its window at
//! once and waits for acknowledgements. It sends again at each retransmission timeout; if its path carries then,
//! it goes on. If its path carries again before its window is used up, or its routes change to links that it lost
//! nothing on, it goes on as [`Resume`] says.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::fault::{TimedOut, Tries};
use railtwin_engine::{Case, Incident, IncidentKind, Resume, RunLog, Transport, WorkGraph};
use railtwin_fabric::{CableClass, CableId, DeviceKind, Fabric, LinkId};
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

use crate::flight::Flight;
use crate::order::WorkOrder;
use crate::queue_pair::QueuePair;

/// What a queue pair may have in flight, as data.
#[derive(Clone, Debug)]
pub struct Window {
    /// Bytes; infinite without a bound.
    bytes: f64,
    /// Bytes of data per second of healthy links, by link id.
    rates: Vec<f64>,
}

impl Window {
    /// As `[packet]` has it: as many full packets as fit in on the wire, and one at least.
    pub fn of(case: &Case) -> Self {
        let packets = &case.packets.keys;
        let whole = |window: u64| (window / packets.full()).max(1) * packets.payload.0;
        Self {
            bytes: packets.window.map_or(f64::INFINITY, |window| whole(window.0) as f64),
            rates: (0..case.fabric.link_count() as u32).map(|link| case.data_rate(LinkId(link))).collect(),
        }
    }

    /// Nothing may follow what was lost.
    pub fn none() -> Self {
        Self { bytes: 0.0, rates: Vec::new() }
    }
}

/// One that waits.
#[derive(Debug)]
struct Wait {
    job: u32,
    /// For how long it sends, after the first packet that was lost or after a retransmission, until its window is used
    /// up: whatever finds its path again until then tells of all that was lost.
    sends_for: SimTime,
    /// Retransmissions since packets were first lost.
    tries: Tries,
    /// Dead links that packets were lost on.
    lost: Vec<LinkId>,
    /// There was no route when it began to send: only a retransmission helps.
    nowhere: bool,
    /// Nothing was lost: a link on its path stands still, and it goes on with that.
    paused: bool,
    /// Since when it waits, since when its path carries again, and the cable that kept it from that.
    from: SimTime,
    carries: SimTime,
    cable: Option<CableId>,
}

impl Wait {
    /// The same for the log, with its end.
    const fn logged(&self, until: SimTime) -> railtwin_engine::Wait {
        let Self { job, from, carries, cable, paused, .. } = *self;
        railtwin_engine::Wait { job, from, carries, until, cable, paused }
    }
}

/// All that wait.
#[derive(Debug)]
pub struct Waiting {
    transport: Transport,
    waits: BTreeMap<QueuePair, Wait>,
    timers: BTreeSet<(SimTime, QueuePair)>,
    /// Dead links of the network, by link id.
    dead: Vec<bool>,
    /// Links that are up and carry nothing, by link id: routes keep to them.
    silent: Vec<bool>,
    window: Window,
    /// The NIC that sends into each link, by link id.
    nics: Vec<Option<u32>>,
    /// Links between devices of the network or into it, by link id.
    network: Vec<bool>,
    /// Patterns with a rank whose process is gone.
    gone: BTreeSet<PatternId>,
    /// Bundles with a dead link on their path, or without one.
    broken: Vec<bool>,
    any_broken: bool,
    /// Whether links or paths changed since the last look.
    changed: bool,
    /// Queue pairs that wait, by job.
    by_job: Vec<u32>,
    /// Waits that are over.
    over: Vec<railtwin_engine::Wait>,
}

impl Waiting {
    /// Nobody waits.
    pub fn new(fabric: &Fabric, jobs: usize, transport: Transport, window: Window) -> Self {
        let links = || (0..fabric.link_count()).map(LinkId::from_index);
        let nic = |link| Some(fabric.source(link)).filter(|&device| fabric.kind(device) == DeviceKind::Nic);
        Self {
            transport,
            waits: BTreeMap::new(),
            timers: BTreeSet::new(),
            dead: vec![false; fabric.link_count()],
            silent: vec![false; fabric.link_count()],
            window,
            nics: links().map(|link| nic(link).map(|nic| nic.0)).collect(),
            network: links().map(|link| fabric.cable_class(link.cable()) >= CableClass::Access).collect(),
            gone: BTreeSet::new(),
            broken: Vec::new(),
            any_broken: false,
            changed: false,
            by_job: vec![0; jobs],
            over: Vec::new(),
        }
    }

    /// All waits of the run, by job and time.
    pub fn finish(mut self) -> Vec<railtwin_engine::Wait> {
        self.over.extend(self.waits.values().map(|wait| wait.logged(SimTime::NEVER)));
        self.over.sort_unstable();
        self.over
    }

    /// Links of the network die or carry again. Those inside a host know no queue pairs: what crosses them stands
    /// still and goes on with them.
    pub fn set_links(&mut self, links: &[LinkId], dead: bool) {
        links.iter().for_each(|link| self.dead[link.index()] = dead);
        self.changed = true;
    }

    /// A link that is up carries nothing from now on, or something again.
    pub fn set_silent(&mut self, link: LinkId, silent: bool) {
        if self.network[link.index()] && self.silent[link.index()] != silent {
            self.silent[link.index()] = silent;
            self.changed = true;
        }
    }

    /// A rank of these patterns is gone: nobody acknowledges what is sent to it, and nothing brings it back.
    pub fn lose_ranks(&mut self, patterns: &[PatternId]) {
        self.gone.extend(patterns);
        self.changed |= !patterns.is_empty();
    }

    /// Patterns in flight with a queue pair that waits, some more than once.
    pub fn patterns(&self, flight: &Flight) -> Vec<PatternId> {
        self.waits.keys().map(|pair| flight.pattern_of(pair.bundle)).collect()
    }

    fn is_dead(&self, link: LinkId) -> bool {
        self.is_cut(link) || self.silent[link.index()]
    }

    /// Whether what a link carries is lost, or the answers to it, which go back the same way.
    fn is_cut(&self, link: LinkId) -> bool {
        self.dead[link.index()] || self.dead[link.reverse().index()]
    }

    fn is_gone(&self, flight: &Flight, pair: QueuePair) -> bool {
        self.gone.contains(&flight.pattern_of(pair.bundle))
    }

    /// Paths are other ones now.
    pub fn paths_changed(&mut self) {
        self.changed = true;
    }

    /// When the next one sends again or dies.
    pub fn next_time(&self) -> Option<SimTime> {
        self.timers.first().map(|(time, _)| *time)
    }

    /// Looks who starts to wait, goes on or dies at `now`; writes what jobs notice into the log.
    pub fn act(
        &mut self,
        now: SimTime,
        flight: &mut Flight,
        order: &mut WorkOrder<'_>,
        work: &WorkGraph,
        log: &mut RunLog,
    ) {
        let before = self.by_job.clone();
        for job in 0..self.by_job.len() as u32 {
            // Under a dynamic split the others may have carried all that was left.
            if self.by_job[job as usize] > 0 && order.is_over(job) {
                self.resume_all(now, job, flight);
            }
        }
        let started = flight.take_started();
        if self.changed {
            self.find_broken(flight);
            self.look_for_paths(now, flight);
            self.resume_unpaused(now, flight);
            match self.transport.resume {
                Resume::Nak => {
                    self.resume_in_time(now, flight);
                    self.resume_elsewhere(now, flight);
                }
                Resume::Window => self.resume_in_time(now, flight),
                Resume::Timeout => {}
            }
        }
        let dying = self.send_again(now, flight);
        if self.any_broken {
            let patterns = if self.changed { flight.in_flight() } else { started };
            for pattern in patterns {
                self.lose(now, pattern, flight, work);
            }
        }
        self.changed = false;
        for (job, (&was, &is)) in (0..).zip(before.iter().zip(&self.by_job)) {
            let kind = match (was > 0, is > 0) {
                _ if dying.contains(&job) => IncidentKind::Halted(job),
                (false, true) => IncidentKind::Stalled(job),
                (true, false) => IncidentKind::Resumed(job),
                _ => continue,
            };
            log.incidents.push(Incident { at: now, kind });
        }
        for job in dying {
            self.halt(now, job, flight, order, work);
        }
    }

    fn find_broken(&mut self, flight: &Flight) {
        let table = flight.table();
        let broken = |bundle: usize| {
            let mut links = table.links_of(bundle).peekable();
            links.peek().is_none() || links.any(|(link, _)| self.is_dead(link))
        };
        self.broken = (0..table.bundles()).map(broken).collect();
        for &pattern in &self.gone {
            self.broken[table.bundles_of(pattern)].fill(true);
        }
        self.any_broken = self.broken.contains(&true);
    }

    /// The dead links on the path of a queue pair; none where it has no path.
    fn dead_links(&self, flight: &Flight, pair: QueuePair) -> Option<Vec<LinkId>> {
        let path = flight.path(pair);
        (!path.is_empty()).then(|| path.into_iter().filter(|&link| self.is_dead(link)).collect())
    }

    fn carries(&self, flight: &Flight, pair: QueuePair) -> bool {
        self.dead_links(flight, pair).is_some_and(|dead| dead.is_empty()) && !self.is_gone(flight, pair)
    }

    /// Notes of those that wait whether their path carries again, and what keeps it from that.
    fn look_for_paths(&mut self, now: SimTime, flight: &Flight) {
        let look = |&pair: &QueuePair| (self.carries(flight, pair), self.dead_links(flight, pair));
        let found: Vec<_> = self.waits.keys().map(look).collect();
        for (wait, (carries, dead)) in self.waits.values_mut().zip(found) {
            wait.carries = if carries { wait.carries.min(now) } else { SimTime::NEVER };
            let cable = dead.and_then(|dead| dead.first().map(|link| link.cable()));
            wait.cable = cable.or(wait.cable);
        }
    }

    /// Those that only stood still, once their path carries again.
    fn resume_unpaused(&mut self, now: SimTime, flight: &mut Flight) {
        let paused = self.waits.iter().filter(|(_, wait)| wait.paused);
        let resumed: Vec<QueuePair> =
            paused.map(|(pair, _)| *pair).filter(|&pair| self.carries(flight, pair)).collect();
        for pair in resumed {
            self.resume(now, pair, flight);
        }
    }

    /// Those whose path carries while their window is not used up: the next packet shows the gap before it.
    fn resume_in_time(&mut self, now: SimTime, flight: &mut Flight) {
        let sends = |wait: &Wait| now < wait.tries.since().saturating_add(wait.sends_for);
        let sending = self.waits.iter().filter(|(_, wait)| !wait.nowhere && sends(wait));
        let resumed: Vec<QueuePair> =
            sending.map(|(pair, _)| *pair).filter(|&pair| self.carries(flight, pair)).collect();
        for pair in resumed {
            self.resume(now, pair, flight);
        }
    }

    /// How long a queue pair with so many bytes left in its bundle sends after its path died, as if it had its NIC for
    /// itself: the window, or all that is left, at what the links of its path carry.
    fn sends_for(&self, flight: &Flight, pair: QueuePair, left: f64) -> SimTime {
        let table = flight.table();
        let bundle = pair.bundle as usize;
        let capacity = |link: LinkId| self.window.rates.get(link.index()).copied().unwrap_or(0.0);
        let (pace, part, left) = if pair.strand == QueuePair::ALL {
            let mut by_nic: BTreeMap<u32, f64> = BTreeMap::new();
            let mut pace = table.cap[bundle];
            for (link, share) in table.links_of(bundle).filter(|(_, share)| *share > 0.0) {
                pace = pace.min(capacity(link) / share);
                if let Some(nic) = self.nics[link.index()].filter(|_| self.network[link.index()]) {
                    *by_nic.entry(nic).or_default() += share;
                }
            }
            // What a NIC sends of the bundle is that of one edge, which its queue pairs have alike.
            let amount = by_nic.into_values().fold(0.0, f64::max);
            (pace, amount / table.weight[bundle].max(1.0), left)
        } else {
            // It may come to carry all of its edge.
            let strand = (table.strands.bundle_start[bundle] + pair.strand) as usize;
            let of_edge = left * table.strands.amount.get(strand).copied().unwrap_or(1.0);
            (flight.path(pair).into_iter().map(capacity).fold(f64::INFINITY, f64::min), 1.0, of_edge)
        };
        let bytes = if part > 0.0 { left.min(self.window.bytes / part) } else { left };
        if pace > 0.0 && pace.is_finite() { SimTime::from_seconds(bytes / pace) } else { SimTime::ZERO }
    }

    /// Those whose new path avoids all links that they lost packets on.
    fn resume_elsewhere(&mut self, now: SimTime, flight: &mut Flight) {
        let elsewhere = |(pair, wait): (&QueuePair, &Wait)| {
            let path = flight.path(*pair);
            let lost = path.iter().any(|&link| self.is_dead(link) || wait.lost.contains(&link));
            let lost = lost || self.is_gone(flight, *pair);
            (!wait.nowhere && !path.is_empty() && !lost).then_some(*pair)
        };
        let resumed: Vec<QueuePair> = self.waits.iter().filter_map(elsewhere).collect();
        for pair in resumed {
            self.resume(now, pair, flight);
        }
    }

    fn resume(&mut self, now: SimTime, pair: QueuePair, flight: &mut Flight) {
        let wait = self.waits.remove(&pair).expect("only those that wait go on");
        self.timers.remove(&(wait.tries.due(&self.transport), pair));
        self.over.push(wait.logged(now));
        self.by_job[wait.job as usize] -= 1;
        flight.hold(now, pair, false);
    }

    /// Retransmissions due; returns jobs one of whose queue pairs dies, ascending.
    fn send_again(&mut self, now: SimTime, flight: &mut Flight) -> BTreeSet<u32> {
        let mut dying = BTreeSet::new();
        while let Some(&(time, pair)) = self.timers.first()
            && time <= now
        {
            self.timers.remove(&(time, pair));
            let wait = self.waits.get_mut(&pair).expect("who has a timer waits");
            if wait.tries.time_out(time, &self.transport) == TimedOut::Dies {
                dying.insert(wait.job);
                continue;
            }
            if self.carries(flight, pair) {
                self.resume(now, pair, flight);
                continue;
            }
            let lost = self.dead_links(flight, pair).unwrap_or_default();
            let stands = lost.iter().all(|&link| !self.is_cut(link));
            let wait = self.waits.get_mut(&pair).expect("who has a timer waits");
            wait.paused &= stands;
            wait.lost.extend(lost);
            wait.lost.sort_unstable();
            wait.lost.dedup();
            self.timers.insert((wait.tries.due(&self.transport), pair));
        }
        dying
    }

    /// Queue pairs of a pattern in flight that send into nothing begin to wait.
    fn lose(&mut self, now: SimTime, pattern: PatternId, flight: &mut Flight, work: &WorkGraph) {
        let job = work.jobs.partition_point(|job| job.first_pattern <= pattern.0) as u32 - 1;
        let moving = flight.moving(now, pattern);
        for (bundle, moving) in flight.table().bundles_of(pattern).zip(moving) {
            let Some(left) = moving.filter(|_| self.broken[bundle]) else { continue };
            for pair in flight.queue_pairs(bundle) {
                let whole = QueuePair { strand: QueuePair::ALL, ..pair };
                let dead = self.dead_links(flight, pair);
                let gone = self.gone.contains(&pattern);
                let fine = dead.as_ref().is_some_and(Vec::is_empty) && !gone;
                if fine || self.waits.contains_key(&pair) || self.waits.contains_key(&whole) {
                    continue;
                }
                if gone && !flight.path(pair).iter().any(|link| self.network[link.index()]) {
                    // Inside a host nobody counts retransmissions: GPUs wait for the dead one.
                    flight.hold(now, pair, true);
                    continue;
                }
                let nowhere = dead.is_none() || gone;
                let lost = dead.unwrap_or_default();
                let paused = !nowhere && lost.iter().all(|&link| !self.is_cut(link));
                let sends_for = if nowhere { SimTime::ZERO } else { self.sends_for(flight, pair, left) };
                let cable = lost.first().map(|link| link.cable());
                let (tries, carries) = (Tries::from(now), SimTime::NEVER);
                let wait = Wait { job, sends_for, tries, lost, nowhere, paused, from: now, carries, cable };
                self.timers.insert((wait.tries.due(&self.transport), pair));
                self.waits.insert(pair, wait);
                self.by_job[job as usize] += 1;
                flight.hold(now, pair, true);
            }
        }
    }

    /// A job whose queue pair died, or whose processes were ended, moves and starts nothing any more.
    pub fn halt(
        &mut self,
        now: SimTime,
        job: u32,
        flight: &mut Flight,
        order: &mut WorkOrder<'_>,
        work: &WorkGraph,
    ) {
        let graph = &work.jobs[job as usize];
        order.halt(job);
        flight.kill(now, graph.first_pattern..graph.first_pattern + graph.plan.patterns.len() as u32);
        self.resume_all(now, job, flight);
    }

    /// Lets go all queue pairs of a job.
    fn resume_all(&mut self, now: SimTime, job: u32, flight: &mut Flight) {
        let gone: Vec<QueuePair> =
            self.waits.iter().filter(|(_, wait)| wait.job == job).map(|(&pair, _)| pair).collect();
        for pair in gone {
            self.resume(now, pair, flight);
        }
    }
}

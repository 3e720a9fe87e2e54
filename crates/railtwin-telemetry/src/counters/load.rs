//! What steps and other jobs put through ports of switches: bytes, marks where queues build, pauses of slow switches.
//!
//! A queue builds where packets come faster than they leave: at the first of a queue pair's links that has the least
//! for it. A link that is fed by an equal one never queues, so a healthy ring marks nothing.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::fault::impairment::goodput;
use railtwin_engine::packet::SwitchModel;
use railtwin_engine::{Case, EdgeRates, Impairment};
use railtwin_fabric::{DeviceId, DeviceKind, Fabric, LinkId};
use railtwin_records::telemetry::Counter;
use railtwin_records::{Component, FaultKind};

use super::Counters;
use super::builder::Builder;
use super::marks::Marking;
use crate::network::Collision;
use crate::replay::Replay;

/// Links are as good as each other up to rounding.
const EQUAL: f64 = 1.0 + 1e-9;
/// Round trip that the packets of go-back-N fill, in seconds: 10 µs as in docs/models/telemetry.md.
const ROUND_TRIP: f64 = 10e-6;
/// Pause frames of one pause: one that stops and one that lets go on.
const FRAMES: f64 = 2.0;

/// Who counts something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    /// The port that a link leaves.
    Port(u32),
    /// Host and NIC.
    Nic(u32, u32),
}

/// By place and counter, how much.
type Amounts = BTreeMap<(Place, Counter), f64>;
/// The same by row of [`Counters`].
type Shares = Vec<((u32, Counter), f64)>;

/// What another job's visit adds in one state of the network.
#[derive(Debug, Default)]
struct Visit {
    per_step: Shares,
    per_s: Shares,
}

/// What ports carry, by state of the network.
#[derive(Debug)]
pub(super) struct Loads {
    /// Patterns of the job that carry something: row in the case, bytes of a step.
    pub(super) patterns: Vec<(usize, f64)>,
    marking: Marking,
    /// Bytes on the wire for each of payload.
    wire: f64,
    /// Share of a network link's capacity that data may take in flows.
    wire_share: f64,
    /// Where packets of a queue pair are spread, rates do not say how much goes over which link: nothing is told.
    spread: bool,
    impairments: Vec<Impairment>,
    /// Switches that take in too little, from when until when in nanoseconds.
    slow: Vec<(DeviceId, u64, u64)>,
    /// Of each state, what a step adds.
    per_step: Vec<Shares>,
    /// By collision and state.
    visits: BTreeMap<(usize, usize), Visit>,
    read_ns: u64,
    read_steps: u64,
}

/// The network in one state.
struct View<'a> {
    fabric: &'a Fabric,
    rates: &'a EdgeRates,
    /// Share of a network link's capacity that data may take.
    wire_share: f64,
    /// Share of their capacity that impaired links pass on, lost packets with them.
    passed: BTreeMap<u32, f64>,
    /// Times that each byte over a lossy link is sent, since losses have it sent again.
    sent: BTreeMap<u32, f64>,
}

impl<'a> View<'a> {
    fn new(
        fabric: &'a Fabric,
        rates: &'a EdgeRates,
        wire_share: f64,
        held: impl Iterator<Item = &'a Impairment>,
    ) -> Self {
        let mut view = Self { fabric, rates, wire_share, passed: BTreeMap::new(), sent: BTreeMap::new() };
        for ill in held {
            *view.passed.entry(ill.link.0).or_insert(1.0) *= ill.capacity;
            if ill.loss > 0.0 {
                let in_flight = fabric.capacity(ill.link).bytes_per_s() * ROUND_TRIP / super::faults::PACKET;
                let times = 1.0 / goodput(ill.loss, in_flight).max(f64::MIN_POSITIVE);
                *view.sent.entry(ill.link.0).or_insert(1.0) *= times;
            }
        }
        view
    }

    /// Bytes of data a second of a sound link.
    fn whole(&self, link: u32) -> f64 {
        let link = LinkId(link);
        let share = if self.fabric.is_network(link) { self.wire_share } else { 1.0 };
        self.fabric.capacity(link).bytes_per_s() * share
    }

    /// Bytes a second that a link passes on.
    fn capacity(&self, link: u32) -> f64 {
        self.whole(link) * self.passed.get(&link).copied().unwrap_or(1.0)
    }

    /// Times that each byte of a queue pair over these links is sent.
    fn sent_times(&self, links: &[u32]) -> f64 {
        if self.sent.is_empty() {
            return 1.0;
        }
        links.iter().filter_map(|link| self.sent.get(link)).product()
    }

    fn is_switch(&self, device: DeviceId) -> bool {
        self.fabric.kind(device) == DeviceKind::Switch
    }

    fn leaves_switch(&self, link: u32) -> bool {
        self.is_switch(self.fabric.source(LinkId(link)))
    }

    fn joins_switches(&self, link: u32) -> bool {
        self.leaves_switch(link) && self.is_switch(self.fabric.target(LinkId(link)))
    }
}

impl Loads {
    pub(super) fn new(case: &Case, replay: &Replay) -> Self {
        let graph = &case.work.jobs[replay.job];
        let first = graph.first_pattern as usize;
        let bytes = graph.plan.bytes_by_pattern().into_iter().enumerate();
        let slow = case.truths.iter().filter_map(|truth| match &truth.component {
            Component::Switch(name) if truth.kind == FaultKind::Slow => {
                Some((case.fabric.switch_named(name)?, truth.from_ns, truth.until_ns))
            }
            _ => None,
        });
        let wire = case.packets.keys.wire();
        Self {
            patterns: bytes
                .filter(|(_, bytes)| *bytes > 0.0)
                .map(|(at, bytes)| (first + at, bytes))
                .collect(),
            marking: Marking::new(&case.packets.keys),
            wire: 1.0 + f64::from(wire.header) / f64::from(wire.payload.max(1)),
            wire_share: case.wire_share,
            spread: case.routing.balancer.is_spread(),
            impairments: case.impairments.clone(),
            slow: slow.collect(),
            per_step: Vec::new(),
            visits: BTreeMap::new(),
            read_ns: replay.now_ns(),
            read_steps: replay.steps(),
        }
    }

    fn view<'a>(&'a self, fabric: &'a Fabric, rates: &'a EdgeRates, is_first: bool) -> View<'a> {
        // The first state is that without faults, whatever its time.
        let holds = |ill: &&Impairment| !is_first && ill.acts_at(rates.at);
        View::new(fabric, rates, self.wire_share, self.impairments.iter().filter(holds))
    }

    /// What one step of the job makes ports and NICs count in one state.
    fn of_step(&self, view: &View<'_>) -> Amounts {
        let rates = view.rates;
        let at_ns = rates.at.ps() / 1_000;
        let slow: BTreeSet<DeviceId> = self
            .slow
            .iter()
            .filter(|(_, from, until)| (*from..*until).contains(&at_ns))
            .map(|(device, ..)| *device)
            .collect();
        let mut amounts = Amounts::new();
        let mut add = |place: Place, counter: Counter, amount: f64| {
            *amounts.entry((place, counter)).or_default() += amount;
        };
        let mut load = vec![0.0; view.fabric.link_count()];
        for &(pattern, bytes) in &self.patterns {
            let rows = || rates.bundles_of(pattern).flat_map(|bundle| rates.rows_of(bundle));
            for row in rows() {
                rates.links_of(row).iter().for_each(|&link| load[link as usize] += rates.pace[row]);
            }
            for row in rows() {
                let (links, carried) = (rates.links_of(row), bytes * rates.share[row]);
                let times = view.sent_times(links);
                for &link in links.iter().filter(|&&link| view.joins_switches(link)) {
                    add(Place::Port(link), Counter::BytesSent, carried * self.wire * times);
                }
                // What a lossy link sends again keeps the queue pair below what any other link has for it.
                if times > 1.0 || carried <= 0.0 {
                    continue;
                }
                let Some((link, rate)) = narrowest(view, &load, row) else { continue };
                if view.leaves_switch(link) {
                    let marked = self.marking.packets(carried) * self.marking.share(rate);
                    add(Place::Port(link), Counter::EcnMarks, marked);
                    let (host, nic) = rates.source[row];
                    let notified = self.marking.notifications(marked, carried / rate);
                    add(Place::Nic(host, nic), Counter::Cnps, notified);
                } else if slow.contains(&view.fabric.target(LinkId(link))) {
                    // The sender has its own rate to give, and the switch takes what is left of it: the rest of the
                    // time it pauses the sender.
                    let (taken, whole) = (view.capacity(link), view.whole(link));
                    let paused_s = carried / taken * (1.0 - taken / whole).max(0.0);
                    add(Place::Port(link), Counter::PausedNs, paused_s * 1e9);
                    // A pause lasts until the switch has worked off what it holds above its lower threshold.
                    let offset = SwitchModel::LEAF.pfc.map_or(1, |pfc| pfc.resume_offset.max(1)) as f64;
                    let pauses = paused_s * taken / offset;
                    add(Place::Port(LinkId(link).reverse().0), Counter::PauseFramesSent, FRAMES * pauses);
                }
            }
            for row in rows() {
                rates.links_of(row).iter().for_each(|&link| load[link as usize] = 0.0);
            }
        }
        amounts
    }

    /// What a visit adds: the other job's bytes, a second, and the marks of all, a step. Our queue pairs get their rate
    /// over the collision's factor, as fair shares are; the other job's have the rest of the link.
    fn of_visit(&self, view: &View<'_>, visit: &Collision) -> (Amounts, Amounts) {
        let (mut per_step, mut per_s) = (Amounts::new(), Amounts::new());
        let (rates, link, capacity) = (view.rates, visit.link, view.capacity(visit.link));
        let place = Place::Port(link);
        if !view.leaves_switch(link) || capacity <= 0.0 {
            return (per_step, per_s);
        }
        let (mut most, mut sending_s, mut alone, mut rows) = (0.0_f64, 0.0, 0.0, Vec::new());
        for &(pattern, bytes) in &self.patterns {
            let (mut ours, mut carried) = (0.0, 0.0);
            for row in rates.bundles_of(pattern).flat_map(|bundle| rates.rows_of(bundle)) {
                if rates.links_of(row).contains(&link) && rates.rate[row] > 0.0 {
                    ours += rates.rate[row];
                    carried += bytes * rates.share[row];
                    alone += rates.rate[row];
                    rows.push((rates.source[row], bytes * rates.share[row]));
                }
            }
            let ours = ours.min(capacity) / visit.factor;
            most = most.max(ours);
            sending_s += if ours > 0.0 { carried / ours } else { 0.0 };
        }
        per_s.insert((place, Counter::BytesSent), (capacity - most).max(0.0));
        if sending_s > 0.0 {
            let share = self.marking.share(alone / rows.len() as f64 / visit.factor);
            let marked = self.marking.packets(capacity * sending_s) * share;
            per_step.insert((place, Counter::EcnMarks), marked);
            for ((host, nic), carried) in rows {
                let notified = self.marking.notifications(self.marking.packets(carried) * share, sending_s);
                *per_step.entry((Place::Nic(host, nic), Counter::Cnps)).or_default() += notified;
            }
        }
        (per_step, per_s)
    }
}

/// The first link of a queue pair that has the least for it, with the bytes a second that it has; none without a route.
fn narrowest(view: &View<'_>, load: &[f64], row: usize) -> Option<(u32, f64)> {
    let has = |link: u32| view.rates.pace[row] + (view.capacity(link) - load[link as usize]).max(0.0);
    let links = view.rates.links_of(row);
    let least = links.iter().map(|&link| has(link)).fold(f64::INFINITY, f64::min);
    let first = links.iter().copied().find(|&link| has(link) <= least * EQUAL)?;
    (least > 0.0).then_some((first, least))
}

impl Builder<'_> {
    /// Ports of switches that the job crosses, and what steps put through them in each state of the network.
    pub(super) fn loads(&mut self) {
        if self.out.loads.spread {
            return;
        }
        let (replay, mut all) = (self.replay, Vec::new());
        for (state, (_, rates)) in replay.network.states().enumerate() {
            let view = self.out.loads.view(&replay.fabric, rates, state == 0);
            let crossed: BTreeSet<u32> = rates.links.iter().copied().collect();
            let marking: Vec<u32> = crossed.into_iter().filter(|&link| view.leaves_switch(link)).collect();
            let amounts = self.out.loads.of_step(&view);
            for link in marking {
                // A port that never marks says so: marking ports are those that are unlike it.
                let entity = self.port(LinkId(link), false);
                self.row(entity, Counter::EcnMarks);
            }
            for (place, _) in amounts.keys() {
                if let Place::Port(link) = *place {
                    self.port(LinkId(link), false);
                }
            }
            let shares = self.out.shares(&amounts);
            shares.iter().for_each(|&((entity, counter), _)| _ = self.row(entity, counter));
            all.push(shares);
        }
        self.out.loads.per_step = all;
    }
}

impl Counters {
    /// Rows of amounts whose place is known.
    fn shares(&self, amounts: &Amounts) -> Shares {
        let entity = |place: &Place| match place {
            Place::Port(link) => self.ports.get(link),
            Place::Nic(host, nic) => self.nics.get(&(*host, *nic)),
        };
        let known = amounts.iter().filter(|(_, amount)| **amount > 0.0);
        known.filter_map(|((place, counter), amount)| Some(((*entity(place)?, *counter), *amount))).collect()
    }

    /// Adds what went through ports since the last reading. Steps since then count evenly for its time, so that each
    /// state of the network and each visit has its share of them.
    pub(super) fn put_through(&mut self, replay: &Replay, now_ns: u64) {
        let steps = (replay.steps() - self.loads.read_steps) as f64;
        let (from_ns, until_ns) = (self.loads.read_ns.min(now_ns), now_ns);
        (self.loads.read_ns, self.loads.read_steps) = (now_ns, replay.steps());
        if self.loads.spread {
            return;
        }
        let span = until_ns.saturating_sub(from_ns).max(1) as f64;
        let states: Vec<(u64, &EdgeRates)> = replay.network.states().collect();
        for (state, &(begins, rates)) in states.iter().enumerate() {
            let ends = states.get(state + 1).map_or(u64::MAX, |next| next.0);
            let within = |from: u64, until: u64| {
                let (from, until) = (from.max(from_ns).max(begins), until.min(until_ns).min(ends));
                until.saturating_sub(from) as f64
            };
            let share = if until_ns > from_ns {
                within(0, u64::MAX) / span
            } else {
                f64::from(u8::from((begins..ends).contains(&now_ns)))
            };
            self.add(state, None, steps * share, 0.0);
            for (row, visit) in replay.collisions().iter().enumerate() {
                let met_ns = within(visit.from_ns, visit.until_ns);
                if met_ns > 0.0 {
                    self.learn(replay, row, (state, rates), visit);
                    self.add(state, Some(row), steps * met_ns / span, met_ns * 1e-9);
                }
            }
        }
    }

    /// Works out what a visit adds in a state, where that is not known yet.
    fn learn(&mut self, replay: &Replay, row: usize, (state, rates): (usize, &EdgeRates), visit: &Collision) {
        if self.loads.visits.contains_key(&(row, state)) {
            return;
        }
        let view = self.loads.view(&replay.fabric, rates, state == 0);
        let (per_step, per_s) = self.loads.of_visit(&view, visit);
        let visit = Visit { per_step: self.shares(&per_step), per_s: self.shares(&per_s) };
        self.loads.visits.insert((row, state), visit);
    }

    /// Adds so many steps and seconds of a state, or of a visit in it.
    fn add(&mut self, state: usize, visit: Option<usize>, steps: f64, seconds: f64) {
        let Self { loads, rows, .. } = self;
        let none = Visit::default();
        let (per_step, per_s) = match visit {
            None => (&loads.per_step[state], &none.per_s),
            Some(visit) => {
                let visit = &loads.visits[&(visit, state)];
                (&visit.per_step, &visit.per_s)
            }
        };
        for (shares, times) in [(per_step, steps), (per_s, seconds)] {
            for &(row, amount) in shares.iter().filter(|_| times > 0.0) {
                rows.entry(row).or_default().rest += amount * times;
            }
        }
    }
}

//! C4P's master: one controller for the queue pairs of all jobs (C4 section III-B).
use std::collections::BTreeMap;
use std::ops::Range;

use railtwin_fabric::{Fabric, LinkId};
use railtwin_routing::source_port::{FIRST_PORT, LAST_PORT};
use railtwin_routing::{EcmpConfig, FiveTuple, Forwarding, HashKey, LinkMask, NicPort, Routing, nic_ip};
use railtwin_units::SimTime;
use rayon::prelude::*;

use super::allocator::PathAllocator;
use super::assignment::{Assignment, Demand, JobId, Reason};
use super::probe::{ProbedPath, Prober, blame};
use super::replan::{LinkState, Move};
use crate::controller::{Action, Answer, Controller, Decision, Event, Opening, Replan};
use crate::te::{Applied, Collector};

/// How C4P's master probes (C4 section III-B).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probing {
    /// From one survey to the next.
    pub period: SimTime,
    /// Packets along each path.
    pub packets: u32,
    /// Paths of a pair of leaves at most.
    pub paths: u32,
    /// Surveys without a loss after which a link counts as sound again.
    pub clean: u32,
    /// Which servers of the leaves probe.
    pub seed: u64,
}

/// What probing found so far.
#[derive(Clone, Debug)]
struct Surveys {
    probing: Probing,
    next: SimTime,
    /// The paths that are probed, on the links that are planned for.
    paths: Option<Vec<ProbedPath>>,
    /// The paths of the survey whose answers are on their way.
    asked: Option<Vec<ProbedPath>>,
    /// Faulty links, and how many surveys found nothing wrong with each since.
    faulty: BTreeMap<LinkId, u32>,
}

impl Surveys {
    /// When the next one is asked for; [`SimTime::NEVER`] while the answers of the last are on their way.
    fn next_time(&self) -> SimTime {
        if self.asked.is_some() { SimTime::NEVER } else { self.next }
    }
}

/// Plans the queue pairs of a connection when it is opened, over the least used paths of the whole fabric, and moves
/// as little as the links that it hears to be dead ask for.
#[derive(Clone, Debug)]
pub struct C4p<'a> {
    allocator: PathAllocator<'a>,
    collector: Collector,
    replan: Replan,
    fabric: &'a Fabric,
    ecmp: EcmpConfig,
    /// The tables without faults, where groups keep the numbers of their members.
    whole: Option<Forwarding>,
    /// Rows of the queue pairs of each job, in the order of its assignments.
    rows: BTreeMap<JobId, Vec<u32>>,
    /// Queue pairs that were opened and not told a path yet: job and places in its assignments.
    fresh: Vec<(JobId, Range<usize>)>,
    due: Option<SimTime>,
    has_decided: bool,
    surveys: Option<Surveys>,
    /// Queue pairs moved at most when a link is back.
    rebalance: u32,
    /// What probes found of links since the last decision.
    found: Vec<(LinkId, LinkState)>,
}

impl<'a> C4p<'a> {
    /// A master without jobs. `resilient` says whether groups keep the numbers of their members when one is dead.
    pub fn new(fabric: &'a Fabric, ecmp: EcmpConfig, replan: Replan, resilient: bool) -> Self {
        let none = LinkMask::none(fabric);
        Self {
            allocator: PathAllocator::new(fabric, ecmp, &none),
            collector: Collector::new(fabric),
            replan,
            fabric,
            ecmp,
            whole: resilient.then(|| Forwarding::new(fabric, &none)),
            rows: BTreeMap::new(),
            fresh: Vec::new(),
            due: None,
            has_decided: false,
            surveys: None,
            rebalance: u32::MAX,
            found: Vec::new(),
        }
    }

    /// A master that moves at most so many queue pairs to even out what links carry when one is back.
    #[must_use]
    pub const fn with_rebalance(mut self, most: u32) -> Self {
        self.rebalance = most;
        self
    }

    /// A master that probes, the first time after a period.
    #[must_use]
    pub fn with_probing(mut self, probing: Probing) -> Self {
        let next = probing.period;
        self.surveys = Some(Surveys { probing, next, paths: None, asked: None, faulty: BTreeMap::new() });
        self
    }

    fn open(&mut self, opening: &Opening<'_>) {
        let rows = self.rows.entry(opening.job).or_default();
        let (before, mut numbers) = (rows.len(), Vec::new());
        for port in 0..opening.ports {
            numbers.clear();
            for index in (port as usize..opening.numbers.len()).step_by(opening.ports as usize) {
                rows.push(opening.first + index as u32);
                numbers.push(opening.numbers[index]);
            }
            let source = NicPort { nic: opening.source, port };
            let demand = Demand { source, target: opening.target, queue_pairs: &numbers, weight: 1 };
            self.allocator.allocate(opening.job, &[demand]);
        }
        match self.fresh.last_mut() {
            Some((job, places)) if *job == opening.job && places.end == before => places.end = rows.len(),
            _ => self.fresh.push((opening.job, before..rows.len())),
        }
    }

    /// What links became since the last plan.
    fn news(&self) -> Vec<(LinkId, LinkState)> {
        let (known, planned) = (self.collector.mask(), self.allocator.forwarding().mask());
        let died = known.down_links().filter(|&link| !planned.is_down(link));
        let back = planned.down_links().filter(|&link| !known.is_down(link));
        died.map(|link| (link, LinkState::Down)).chain(back.map(|link| (link, LinkState::Up))).collect()
    }

    /// Asks for a survey where one is due and the last one's answers are back: else surveys would pile up where answers
    /// take longer than a period.
    fn survey(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        let Some(surveys) = self.surveys.as_mut().filter(|surveys| surveys.next_time() <= now) else {
            return;
        };
        let Probing { period, packets, paths, seed, .. } = surveys.probing;
        surveys.next = Replan::Every(period).time_for(now).unwrap_or(SimTime::NEVER);
        let routing = Routing::new(self.fabric, self.allocator.forwarding(), &self.ecmp);
        let plan = || Prober::new(routing, seed, paths as usize).plan();
        let all = surveys.paths.get_or_insert_with(plan);
        surveys.asked = Some(all.clone());
        decisions.extend(all.iter().map(|one| {
            let ProbedPath { source, target, source_port, .. } = *one;
            Decision { action: Action::Probe { source, target, source_port, packets }, reason: "survey" }
        }));
    }

    /// Takes in a survey; which links are found faulty now, and which sound again.
    fn judge(&mut self, now: SimTime, answers: &[Answer]) -> Vec<(LinkId, LinkState)> {
        let Some(Surveys { probing, asked, faulty, next, .. }) = &mut self.surveys else { return Vec::new() };
        let Some(mut paths) = asked.take() else { return Vec::new() };
        // The first whole multiple of the period that is not before its answers.
        *next = Replan::Every(probing.period)
            .time_for(now.since(SimTime::from_ps(1)))
            .unwrap_or(*next)
            .max(*next);
        for (path, answer) in paths.iter_mut().zip(answers) {
            (path.sent, path.lost) = (answer.sent, answer.lost);
        }
        let found = blame(&paths);
        let mut news = Vec::new();
        for &link in &found {
            if faulty.insert(link, 0).is_none() {
                news.push((link, LinkState::Faulty));
            }
        }
        faulty.retain(|&link, clean| {
            *clean += u32::from(found.binary_search(&link).is_err());
            let stays = *clean < probing.clean;
            if !stays {
                news.push((link, LinkState::Up));
            }
            stays
        });
        // What is dead is no matter of probes.
        news.retain(|&(link, _)| !self.allocator.forwarding().mask().is_down(link));
        news
    }

    fn move_as_links_ask(&mut self, news: &[(LinkId, LinkState)], decisions: &mut Vec<Decision>) {
        if news.is_empty() {
            return;
        }
        let mut replan = self.allocator.replan(news);
        // What left a link stays away when it is back, until the load is evened out.
        if news.iter().any(|&(_, state)| state == LinkState::Up) {
            replan.moved.extend(self.allocator.rebalance(self.rebalance as usize));
        }
        let rows = &self.rows;
        let decision = |one: &Move, source_port, reason| {
            let queue_pair = rows[&one.job][one.index];
            Decision { action: Action::Path { queue_pair, source_port }, reason }
        };
        let port = |given: &Assignment| (given.reason != Reason::Stranded).then_some(given.source_port);
        let Some(whole) = &self.whole else {
            decisions
                .extend(replan.ported.iter().map(|one| decision(one, port(&one.after), "group-changed")));
            let moved = replan.moved.iter().chain(&replan.stranded);
            decisions.extend(moved.map(|one| decision(one, port(&one.after), one.after.reason.name())));
            return;
        };
        // The allocator gave new ports to all whose groups shrank. These groups do not: who keeps its path keeps its
        // port, and who moves needs the port that leads there through groups of the old size.
        let routing =
            Routing::new(self.fabric, self.allocator.forwarding(), &self.ecmp).with_resilience(whole);
        let moved: Vec<&Move> = replan.moved.iter().chain(&replan.stranded).collect();
        let ports: Vec<Option<u16>> = moved.par_iter().map(|one| port_to(&routing, &one.after)).collect();
        decisions
            .extend(moved.iter().zip(ports).map(|(one, port)| decision(one, port, one.after.reason.name())));
    }

    /// Tells the paths of what was opened since the last plan.
    fn tell_fresh(&mut self, decisions: &mut Vec<Decision>) {
        decisions.reserve(self.fresh.iter().map(|(_, places)| places.len()).sum());
        for (job, places) in self.fresh.drain(..) {
            let given = self.allocator.assignments(job).skip(places.start);
            decisions.extend(given.zip(&self.rows[&job][places]).map(|(one, &queue_pair)| {
                let source_port = (one.reason != Reason::Stranded).then_some(one.source_port);
                Decision { action: Action::Path { queue_pair, source_port }, reason: one.reason.name() }
            }));
        }
    }
}

/// A source port that takes the path of an assignment; its own where none does, none without a path.
fn port_to(routing: &Routing<'_>, given: &Assignment) -> Option<u16> {
    if given.reason == Reason::Stranded {
        return None;
    }
    let tuple = FiveTuple::roce(nic_ip(given.source.nic), nic_ip(given.target), FIRST_PORT);
    let key = HashKey::of(tuple).with_target_qp(given.queue_pair);
    let mut path = Vec::new();
    let found = (FIRST_PORT..=LAST_PORT).find(|&port| {
        path.clear();
        let way = routing.route(given.source, given.target, &key.with_source_port(port), &mut path);
        way.is_ok() && path == given.path.links()
    });
    found.or(Some(given.source_port))
}

impl Controller for C4p<'_> {
    fn name(&self) -> &'static str {
        "c4p"
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Link(report) => {
                if self.collector.apply(&report) == Applied::Changed && self.has_decided {
                    self.due = self.due.or(self.replan.time_for(now));
                }
            }
            Event::Opened(openings) => openings.iter().for_each(|opening| self.open(opening)),
            Event::Closed(job) => {
                self.allocator.release(job);
                self.rows.remove(&job);
                self.fresh.retain(|&(of, _)| of != job);
            }
            Event::Probed(answers) => {
                let news = self.judge(now, answers);
                self.found.extend(news);
            }
            Event::Arrived(_)
            | Event::Written { .. }
            | Event::Completed(_)
            | Event::Counters(_)
            | Event::Found(_)
            | Event::Confirmed(_)
            | Event::Cleared(_)
            | Event::Submitted(_)
            | Event::Placed { .. }
            | Event::Repaired(_) => {}
        }
    }

    fn decide(&mut self, now: SimTime, decisions: &mut Vec<Decision>) {
        // What is opened gets its paths on the fabric as it was last planned for; what is dead by then moves them.
        self.tell_fresh(decisions);
        if !self.has_decided || self.due.is_some_and(|due| due <= now) {
            (self.has_decided, self.due) = (true, None);
            let news = self.news();
            if let Some(surveys) = self.surveys.as_mut().filter(|_| !news.is_empty()) {
                surveys.paths = None;
                // Who is back counts as sound until probes say otherwise again.
                let is_back = |link| news.contains(&(link, LinkState::Up));
                surveys.faulty.retain(|&link, _| !is_back(link));
            }
            self.move_as_links_ask(&news, decisions);
        }
        let found = std::mem::take(&mut self.found);
        self.move_as_links_ask(&found, decisions);
        self.survey(now, decisions);
    }

    fn next_time(&self) -> SimTime {
        let survey = self.surveys.as_ref().map_or(SimTime::NEVER, Surveys::next_time);
        self.due.unwrap_or(SimTime::NEVER).min(survey)
    }
}

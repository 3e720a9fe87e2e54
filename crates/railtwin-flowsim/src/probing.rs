//! Surveys of controllers beside flows: what they take of links, and what they find.
//!
//! No packet is followed. A survey takes as long as its busiest link needs if data waits at every turn, and its bytes
//! are spread evenly over that time; one survey goes on at a time.
use std::collections::{BTreeMap, VecDeque};

use railtwin_engine::{Case, Mediator, Survey};
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use crate::ailing::Ailing;
use crate::flight::Flight;

/// Share of its capacity from which a link counts as full: what is less is rounding and the probes themselves.
const FULL: f64 = 0.95;

/// The survey that goes on.
#[derive(Debug)]
struct Active {
    survey: Survey,
    began: SimTime,
    ends: SimTime,
    /// Share of each link that it takes, ascending.
    shares: Vec<(LinkId, f64)>,
    /// Bytes of data that these links had carried when it began.
    before: Vec<f64>,
}

/// Surveys of a run.
#[derive(Debug, Default)]
pub struct Probing {
    active: Option<Active>,
    waiting: VecDeque<Survey>,
    /// Those that are over, and by link what probes put on it, bytes on the wire.
    done: Vec<Survey>,
    bytes: BTreeMap<LinkId, f64>,
}

/// What a survey meets.
#[derive(Debug)]
pub struct Ground<'a> {
    /// Its case; none without faults and controllers.
    pub case: Option<&'a Case>,
    /// Bytes of data per second of each link while nothing ails it.
    pub healthy: &'a [f64],
    /// What ails links.
    pub ailing: &'a Ailing,
}

impl Probing {
    /// When the survey that goes on ends.
    pub fn next_time(&self) -> Option<SimTime> {
        self.active.as_ref().map(|active| active.ends)
    }

    /// What is left of a link for data.
    fn left(&self, link: LinkId) -> f64 {
        let shares = self.active.as_ref().map_or(&[][..], |active| &active.shares);
        let row = shares.binary_search_by_key(&link, |&(of, _)| of);
        row.map_or(1.0, |row| 1.0 - shares[row].1)
    }

    /// Takes off what probes take of links that carry another share of their capacity from now on.
    pub fn reduce(&self, capacities: &mut [(LinkId, f64)]) {
        capacities.iter_mut().for_each(|(link, capacity)| *capacity *= self.left(*link));
    }

    /// Ends and begins surveys at `now`.
    pub fn act(
        &mut self,
        now: SimTime,
        ground: &Ground<'_>,
        mediator: &mut Mediator<'_>,
        flight: &mut Flight,
    ) {
        let Some(case) = ground.case else { return };
        self.waiting.extend(mediator.take_surveys());
        if self.active.as_ref().is_some_and(|active| active.ends <= now)
            && let Some(active) = self.active.take()
        {
            self.end(now, active, (case, ground), mediator, flight);
        }
        while self.active.is_none()
            && let Some(survey) = self.waiting.pop_front()
        {
            self.begin(now, survey, (case, ground), mediator, flight);
        }
    }

    fn begin(
        &mut self,
        now: SimTime,
        survey: Survey,
        (case, ground): (&Case, &Ground<'_>),
        mediator: &mut Mediator<'_>,
        flight: &mut Flight,
    ) {
        let (size, full) = (f64::from(survey.size), case.packets.keys.full() as f64);
        let mut bytes: BTreeMap<LinkId, f64> = BTreeMap::new();
        for (row, probe) in survey.probes.iter().enumerate() {
            let there = survey.links_of(row).iter().copied();
            let back = survey.links_of(row).iter().rev().map(|link| link.reverse());
            let back = back.take(if probe.lands { usize::MAX } else { 0 });
            // What a dead link gets is gone.
            for link in there.chain(back).take_while(|&link| !flight.is_down(link)) {
                *bytes.entry(link).or_default() += f64::from(probe.packets) * size;
            }
        }
        let seconds = |(&link, &bytes): (&LinkId, &f64)| {
            bytes * (size + full) / size / case.fabric.capacity(link).bytes_per_s()
        };
        let longest = bytes.iter().map(seconds).fold(0.0, f64::max);
        let lasts = SimTime::from_seconds(longest).max(SimTime::from_ps(1));
        let share = |(&link, &bytes): (&LinkId, &f64)| {
            (link, bytes / lasts.seconds() / case.fabric.capacity(link).bytes_per_s())
        };
        let shares: Vec<(LinkId, f64)> = bytes.iter().map(share).collect();
        for (link, bytes) in bytes {
            *self.bytes.entry(link).or_default() += bytes;
        }
        let links: Vec<LinkId> = shares.iter().map(|&(link, _)| link).collect();
        let active =
            Active { survey, began: now, ends: now.saturating_add(lasts), shares, before: Vec::new() };
        self.active = Some(active);
        self.set(now, &links, ground, flight);
        let before = flight.carried(now, &links);
        if let Some(active) = &mut self.active {
            active.before = before;
        }
        if links.is_empty()
            && let Some(active) = self.active.take()
        {
            self.end(now, active, (case, ground), mediator, flight);
        }
    }

    fn end(
        &mut self,
        now: SimTime,
        active: Active,
        (case, ground): (&Case, &Ground<'_>),
        mediator: &mut Mediator<'_>,
        flight: &mut Flight,
    ) {
        let Active { mut survey, began, shares, before, .. } = active;
        let shares_of_links: Vec<f64> = shares.iter().map(|&(_, share)| share).collect();
        let links: Vec<LinkId> = shares.iter().map(|&(link, _)| link).collect();
        self.set(now, &links, ground, flight);
        let carried = flight.carried(now, &links);
        let seconds = now.since(began).seconds();
        let load = |link: LinkId| {
            let Ok(row) = links.binary_search(&link) else { return (0.0, SimTime::ZERO) };
            let capacity = case.fabric.capacity(link).bytes_per_s();
            let share = case.on_the_wire(link, carried[row] - before[row]) / seconds / capacity;
            // What ails the link leaves it less, and probes leave less of that to data.
            let most = ground.ailing.share(link, now);
            let is_full = share >= FULL * (most - shares_of_links[row]) && share > 0.0;
            let queue = if is_full { standing_queue(case, link) } else { 0.0 };
            (share / most.max(f64::MIN_POSITIVE), SimTime::from_seconds(queue / capacity))
        };
        survey.answers = mediator.answers_to(&survey, load);
        let back = now.saturating_add(survey.lasts(case.routing.control.probe_timeout));
        mediator.answered(&mut survey, back, back);
        self.done.push(survey);
    }

    /// Tells links what is left of them.
    fn set(&self, now: SimTime, links: &[LinkId], ground: &Ground<'_>, flight: &mut Flight) {
        let capacity = |&link: &LinkId| (link, ground.healthy[link.index()] * ground.ailing.share(link, now));
        let mut capacities: Vec<(LinkId, f64)> = links.iter().map(capacity).collect();
        self.reduce(&mut capacities);
        if !capacities.is_empty() {
            flight.set_capacities(now, &capacities);
        }
    }

    /// Surveys that were sent until `end`, and by link the bytes on the wire that they put on it by then.
    pub fn finish(mut self, end: SimTime, case: Option<&Case>) -> (Vec<Survey>, BTreeMap<LinkId, f64>) {
        if let Some(Active { survey, began, ends, shares, .. }) = self.active.take() {
            // It was sent, and nobody was told of it any more.
            self.done.push(survey);
            // What had not left by then is not counted.
            let late = ends.since(end.max(began).min(ends)).seconds();
            for (link, share) in shares {
                let capacity = case.map_or(0.0, |case| case.fabric.capacity(link).bytes_per_s());
                *self.bytes.entry(link).or_default() -= share * capacity * late;
            }
        }
        self.done.retain(|survey| survey.at <= end);
        (self.done, self.bytes)
    }
}

/// Bytes that stand before a full link. A switch that marks holds its queue near the length from which it marks; what
/// stands where nothing is marked depends on windows and pauses, which flows do not know: none then, and none in NICs,
/// where a probe waits for one packet and not for a queue.
fn standing_queue(case: &Case, link: LinkId) -> f64 {
    case.ecn(link).map_or(0.0, |ecn| ecn.min.0 as f64)
}

//! Traffic engineering in time: reports come in at any moment, runs are periodic, entries are old.
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::{EntryTable, Forwarding, LinkMask, NicPort};
use railtwin_units::{Rate, SimTime};

use crate::controller::{Action, Controller, Decision, Event, Opening, Replan};
use crate::paths::JobId;
use crate::te::changes::{Change, changes};
use crate::te::collector::{Applied, Collector};
use crate::te::engine::Engine;
use crate::te::matrix::{Demand, TrafficMatrix};
use crate::te::outcome::FlowPlacement;

/// How often traffic engineering runs (Meta RoCE section 4.3.1).
pub const PERIOD: SimTime = SimTime::from_ns(30_000_000_000);

/// How long at least a write is waited with that did not succeed. As long as nothing at all is written the wait doubles
/// from plan to plan: a leaf that never answers, or has no room, is not asked without end. An assumption; the paper
/// gives no time, and its period is longer.
pub const RETRY: SimTime = SimTime::from_ns(1_000);

/// Why a write is made once more.
const FAILED: &str = "write-failed";

/// What a connection sends in a step.
#[derive(Clone, Copy, Debug)]
struct Sent {
    job: JobId,
    source: DeviceId,
    target: DeviceId,
    ports: u32,
    bytes: f64,
}

/// Collector, engine and programmer of one fabric (Meta RoCE section 4.3).
///
/// It runs in its period wherever something changed: a link, a connection, a write that did not succeed. What leaves
/// hold is what the latest run that took effect intended, so it lags what happens by up to a period and the delays of
/// reports and writes. An entry whose next hop has died since is for the switch to ignore: BGP withdraws the way, and
/// ECMP over what is left carries the flow until the next run.
#[derive(Clone, Debug)]
pub struct TrafficEngineering<'a> {
    fabric: &'a Fabric,
    engine: Engine,
    replan: Replan,
    collector: Collector,
    sent: Vec<Sent>,
    /// What leaves hold as far as writes have succeeded.
    programmed: EntryTable,
    /// Writes that were decided and of which nothing is known yet, in the order in which they were.
    in_flight: VecDeque<Change>,
    /// When it runs next; none while nothing changed.
    due: Option<SimTime>,
    has_run: bool,
    /// Whether a link, and whether a connection changed since the last run.
    links_changed: bool,
    jobs_changed: bool,
    /// Writes that did not succeed since the last run, and whether any did.
    failed: BTreeSet<Change>,
    has_written: bool,
    /// How long a write is waited with that did not succeed.
    retry: SimTime,
    placement: Option<FlowPlacement>,
    forwarding: Option<(LinkMask, Forwarding)>,
}

impl<'a> TrafficEngineering<'a> {
    /// Before the first run, with leaves without entries.
    pub fn new(fabric: &'a Fabric, engine: Engine, replan: Replan) -> Self {
        Self {
            fabric,
            replan,
            collector: Collector::new(fabric),
            sent: Vec::new(),
            programmed: EntryTable::new(engine.prefixes().clone()),
            in_flight: VecDeque::new(),
            engine,
            due: None,
            has_run: false,
            links_changed: false,
            jobs_changed: false,
            failed: BTreeSet::new(),
            has_written: false,
            retry: RETRY,
            placement: None,
            forwarding: None,
        }
    }

    /// What the last run decided; none before the first.
    pub const fn placement(&self) -> Option<&FlowPlacement> {
        self.placement.as_ref()
    }

    fn changed(&mut self, now: SimTime) {
        if self.has_run {
            self.plan_at(self.replan.time_for(now));
        }
    }

    /// What leaves hold once all that is on its way has arrived.
    fn expected(&self) -> Cow<'_, EntryTable> {
        let mut expected = Cow::Borrowed(&self.programmed);
        if !self.in_flight.is_empty() {
            let table = expected.to_mut();
            self.in_flight.iter().for_each(|change| change.apply(table));
        }
        expected
    }

    /// Something is known of a write: it is on its way no more.
    fn landed(&mut self, change: &Change) {
        // They land in the order in which they were decided, so it is the first.
        if let Some(row) = self.in_flight.iter().position(|one| one == change) {
            self.in_flight.remove(row);
        }
    }

    /// A write did not succeed: what is intended is still different, and so due again in the next period; without one
    /// after a wait, as at once would be at the same time for ever.
    fn write_again(&mut self, now: SimTime) {
        let waited = now.saturating_add(self.retry);
        let at = match self.replan {
            Replan::Every(_) => self.replan.time_for(now),
            Replan::Never | Replan::AtOnce | Replan::After(_) => {
                self.replan.time_for(now).map(|at| at.max(waited))
            }
        };
        self.plan_at(at);
    }

    fn plan_at(&mut self, at: Option<SimTime>) {
        self.due = self.due.into_iter().chain(at).min();
    }

    /// Why the run that is due is made.
    fn cause(&self) -> &'static str {
        match (self.has_run, self.links_changed, self.jobs_changed) {
            (false, ..) => "placed",
            (true, true, _) => "links-changed",
            (true, false, true) => "jobs-changed",
            (true, false, false) => FAILED,
        }
    }

    /// What NIC ports send to NICs. A step's bytes say how demands relate; their scale is that at which the busiest
    /// port sends at line rate.
    fn matrix(&self, forwarding: &Forwarding) -> TrafficMatrix {
        let mut of_port: BTreeMap<(DeviceId, u32), f64> = BTreeMap::new();
        for sent in &self.sent {
            for port in 0..sent.ports {
                *of_port.entry((sent.source, port)).or_insert(0.0) += sent.bytes / f64::from(sent.ports);
            }
        }
        let busiest = of_port.values().copied().fold(0.0, f64::max);
        let demands = self.sent.iter().flat_map(|sent| {
            (0..sent.ports).filter_map(move |port| {
                let access = forwarding.access(sent.source, port)?;
                let line = self.fabric.capacity(access.link).bits_per_s() as f64;
                let share = sent.bytes / f64::from(sent.ports) / busiest;
                let source = NicPort { nic: sent.source, port };
                let rate = Rate::from_bits_per_s((line * share).round() as u64);
                Some(Demand { source, target: sent.target, rate })
            })
        });
        demands.collect()
    }

    fn run(&mut self) -> EntryTable {
        let mask = self.collector.mask();
        // Tables outlive runs as long as no link changes.
        let stale = self.forwarding.as_ref().is_none_or(|(known, _)| known != mask);
        if stale {
            self.forwarding = Some((mask.clone(), Forwarding::new(self.fabric, mask)));
        }
        let (_, forwarding) = self.forwarding.as_ref().expect("made above");
        let matrix = self.matrix(forwarding);
        let placement = self.engine.place(self.fabric, forwarding, &matrix, self.placement.as_ref());
        let intended = placement.intended(self.engine.prefixes());
        self.placement = Some(placement);
        intended
    }
}

impl Controller for TrafficEngineering<'_> {
    fn name(&self) -> &'static str {
        "te"
    }

    fn on_event(&mut self, now: SimTime, event: &Event<'_>) {
        match *event {
            Event::Link(report) => {
                if self.collector.apply(&report) == Applied::Changed {
                    self.links_changed = true;
                    self.changed(now);
                }
            }
            Event::Opened(openings) => {
                let sent = openings.iter().map(|&Opening { job, source, target, ports, bytes, .. }| Sent {
                    job,
                    source,
                    target,
                    ports,
                    bytes,
                });
                self.sent.extend(sent);
                self.jobs_changed = true;
                self.changed(now);
            }
            Event::Closed(job) => {
                self.sent.retain(|sent| sent.job != job);
                self.jobs_changed = true;
                self.changed(now);
            }
            Event::Written { change, error: None } => {
                self.landed(&change);
                change.apply(&mut self.programmed);
                (self.has_written, self.retry) = (true, RETRY);
            }
            Event::Written { change, error: Some(_) } => {
                self.landed(&change);
                self.failed.insert(change);
                if self.has_run {
                    self.write_again(now);
                }
            }
            Event::Arrived(_)
            | Event::Probed(_)
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
        if self.has_run && self.due.is_none_or(|due| due > now) {
            return;
        }
        let cause = self.cause();
        let failed = std::mem::take(&mut self.failed);
        if !failed.is_empty() && !std::mem::take(&mut self.has_written) {
            self.retry = self.retry + self.retry;
        }
        (self.links_changed, self.jobs_changed, self.has_written) = (false, false, false);
        (self.has_run, self.due) = (true, None);
        let intended = self.run();
        let all = changes(&self.expected(), &intended);
        self.in_flight.extend(&all);
        decisions.extend(all.into_iter().map(|change| {
            // The same write as before is not made because of what else changed.
            let reason = if failed.contains(&change) { FAILED } else { cause };
            Decision { action: Action::Entry(change), reason }
        }));
    }

    fn next_time(&self) -> SimTime {
        self.due.unwrap_or(SimTime::NEVER)
    }
}

//! Traffic engineering in time: reports come in at any moment, runs are periodic, entries are old.

use std::collections::VecDeque;

use railtwin_fabric::Fabric;
use railtwin_routing::{EntryTable, Forwarding, LinkMask};
use railtwin_units::SimTime;

use crate::te::collector::{Applied, Collector, LinkReport};
use crate::te::engine::Engine;
use crate::te::matrix::TrafficMatrix;
use crate::te::outcome::FlowPlacement;
use crate::te::programmer::{Driver, Programmed, Programmer};

/// When runs happen and when their entries hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Time of the first run.
    pub first: SimTime,
    /// From one run to the next.
    pub period: SimTime,
    /// From a run to its entries in the leaves: computing and writing.
    pub delay: SimTime,
}

impl Default for Timing {
    /// A run every 30 s (Meta RoCE section 4.3.1) from the start on; 1 s until its entries hold,
    /// an assumption.
    fn default() -> Self {
        let second = SimTime::from_ns(1_000_000_000);
        Self { first: SimTime::ZERO, period: second * 30, delay: second }
    }
}

impl Timing {
    /// The first run later than `time`; [`SimTime::NEVER`] after the only one if the period is zero.
    pub fn next_run_after(&self, time: SimTime) -> SimTime {
        if time < self.first {
            return self.first;
        }
        match time.since(self.first).ps().checked_div(self.period.ps()) {
            None => SimTime::NEVER,
            Some(runs) => {
                let span = self.period.ps().saturating_mul(runs + 1);
                self.first.saturating_add(SimTime::from_ps(span))
            }
        }
    }
}

/// What one call of [`TrafficEngineering::tick`] did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tick {
    /// Whether the engine ran.
    pub ran: bool,
    /// What was written, for each run whose entries became due, earliest first.
    pub written: Vec<Programmed>,
}

/// Collector, engine and programmer of one fabric, driven by calls with the time.
///
/// Entries are those of the last run whose delay is over, so they lag what happens by up to a
/// period and the delay. An entry whose next hop has died since is for the switch to ignore: BGP
/// withdraws the way, and ECMP over what is left carries the flow until the next run.
#[derive(Clone, Debug)]
pub struct TrafficEngineering<'a> {
    fabric: &'a Fabric,
    timing: Timing,
    engine: Engine,
    collector: Collector,
    programmer: Programmer,
    next_run: SimTime,
    /// Tables that runs decided on and when they are written, earliest first.
    due: VecDeque<(SimTime, EntryTable)>,
    placement: Option<FlowPlacement>,
    forwarding: Option<(LinkMask, Forwarding)>,
}

impl<'a> TrafficEngineering<'a> {
    /// Before the first run, with leaves without entries.
    pub fn new(fabric: &'a Fabric, engine: Engine, timing: Timing) -> Self {
        Self {
            fabric,
            timing,
            collector: Collector::new(fabric),
            programmer: Programmer::new(engine.prefixes().clone()),
            engine,
            next_run: timing.first,
            due: VecDeque::new(),
            placement: None,
            forwarding: None,
        }
    }

    /// Takes in a link state. Nothing happens before the next run.
    pub fn report(&mut self, report: &LinkReport) -> Applied {
        self.collector.apply(report)
    }

    /// Does what is due at `now`: runs the engine on the links known to be alive and on `matrix`,
    /// and writes the entries of runs whose delay is over. Runs that were missed since the last
    /// call are made up for by one. A call before [`Self::next_tick`] does nothing.
    pub fn tick(&mut self, now: SimTime, matrix: &TrafficMatrix, driver: &mut dyn Driver) -> Tick {
        let mut tick = Tick::default();
        if now >= self.next_run {
            tick.ran = true;
            // A late call stands for the latest run that is due: that is when its inputs count from.
            let run = self.latest_run(now);
            self.run(matrix);
            let placement = self.placement.as_ref().expect("the engine has just run");
            let intended = placement.intended(self.engine.prefixes());
            self.due.push_back((run.saturating_add(self.timing.delay), intended));
            self.next_run = self.timing.next_run_after(now);
        }
        while self.due.front().is_some_and(|(time, _)| *time <= now) {
            let (_, intended) = self.due.pop_front().expect("looked at just now");
            tick.written.push(self.programmer.program(self.fabric, &intended, driver));
        }
        tick
    }

    /// The latest time of a run up to `now`, which is not before the next run that is due.
    fn latest_run(&self, now: SimTime) -> SimTime {
        match now.since(self.timing.first).ps().checked_div(self.timing.period.ps()) {
            None => self.timing.first,
            Some(runs) => self.timing.first + self.timing.period * runs,
        }
    }

    fn run(&mut self, matrix: &TrafficMatrix) {
        let mask = self.collector.mask();
        // Tables outlive runs as long as no link changes.
        let stale = self.forwarding.as_ref().is_none_or(|(known, _)| known != mask);
        if stale {
            self.forwarding = Some((mask.clone(), Forwarding::new(self.fabric, mask)));
        }
        let (_, forwarding) = self.forwarding.as_ref().expect("made above");
        let placement = self.engine.place(self.fabric, forwarding, matrix, self.placement.as_ref());
        self.placement = Some(placement);
    }

    /// The next time at which [`Self::tick`] has something to do.
    pub fn next_tick(&self) -> SimTime {
        let due = self.due.front().map_or(SimTime::NEVER, |(time, _)| *time);
        self.next_run.min(due)
    }

    /// The first run later than `time`: when what happens at `time` is seen.
    pub fn next_run_after(&self, time: SimTime) -> SimTime {
        self.timing.next_run_after(time)
    }

    /// The links known to be dead.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }

    /// What the last run decided; none before the first.
    pub fn placement(&self) -> Option<&FlowPlacement> {
        self.placement.as_ref()
    }

    /// What the leaves hold: for [`railtwin_routing::Routing`] to look up.
    pub fn entries(&self) -> &EntryTable {
        self.programmer.programmed()
    }

    /// The programmer, to tell it of a leaf that lost its entries.
    pub fn programmer(&mut self) -> &mut Programmer {
        &mut self.programmer
    }
}

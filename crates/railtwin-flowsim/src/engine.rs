//! The event loop: operations start and end, patterns that share links move together, cables fail and return.
use std::collections::BTreeMap;

use railtwin_engine::choose::ChosenPaths;
use railtwin_engine::fault::{Change, Known, Moment, black_hole};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{
    BundleTable, CableState, Case, Engine, Incident, IncidentKind, Mediator, Programmed, RankFault, RunLog,
    Transport, WorkGraph,
};
use railtwin_fabric::{CableClass, Fabric, LinkId};
use railtwin_units::SimTime;

use crate::ailing::{Ailing, Turn};
use crate::flight::Flight;
use crate::gauge::{Gauge, QueuePaths};
use crate::marks::Marks;
use crate::meter::Meter;
use crate::order::WorkOrder;
use crate::probing::{Ground, Probing};
use crate::waiting::{Waiting, Window};

/// Ways to save work. Every one leaves the result unchanged; a test compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortcuts {
    /// A pattern that shares no link with another in flight runs its known course in one event.
    pub alone: bool,
    /// Rates of the same bundles are remembered, where they are solved whole.
    pub remember: bool,
    /// Only what an event touches is solved again. Under a dynamic split all that share links always is.
    pub touched: bool,
    /// Bundles that are alike are one variable, where only what an event touches is solved.
    pub alike: bool,
    /// Courses of lone patterns that start together are found by several threads.
    pub parallel: bool,
}

impl Shortcuts {
    /// None at all: everything is solved whole, every time.
    pub const NONE: Self =
        Self { alone: false, remember: false, touched: false, alike: false, parallel: false };
    /// All of them.
    pub const ALL: Self = Self { alone: true, remember: true, touched: true, alike: true, parallel: true };

    /// These without those that skip what controllers are told: with feedback all is solved whole, span by span.
    pub const fn measured(self) -> Self {
        Self { alone: false, touched: false, ..self }
    }
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self::ALL
    }
}

/// The flow-level engine.
#[derive(Clone, Copy, Default, Debug)]
pub struct FlowEngine {
    /// Ways to save work.
    pub shortcuts: Shortcuts,
}

impl Engine for FlowEngine {
    fn name(&self) -> &'static str {
        "flow"
    }

    fn run(&self, case: &Case, replicate: u32) -> RunLog {
        self.run_on(&mut Lowering::new(case, replicate), case, replicate)
    }

    fn run_lowered<'a>(&self, case: &'a Case, replicate: u32) -> (RunLog, Option<Lowering<'a>>) {
        let mut lowering = Lowering::new(case, replicate);
        let log = self.run_on(&mut lowering, case, replicate);
        (log, Some(lowering.as_new()))
    }
}

impl FlowEngine {
    fn run_on<'a>(&self, lowering: &mut Lowering<'a>, case: &'a Case, replicate: u32) -> RunLog {
        let moments = case.timeline(replicate);
        let outside = Outside {
            mediator: lowering.mediator(&moments),
            transport: case.transport,
            window: Window::of(case),
            throughput: case.throughput,
            ailing: Ailing::new(case, lowering),
            rank_faults: case.rank_faults.clone(),
            draw: lowering.draw().draw,
            case: Some(case),
        };
        lowering.delay_links(SimTime::ZERO);
        let told = outside.mediator.next_feedback(SimTime::ZERO).is_some();
        // The paths that follow from what is known, their bundles, and the queue pairs where they are measured.
        let paths = |mediator: &Mediator<'_>, lowering: &Lowering<'_>| {
            let chosen = lowering.paths_by(&mediator.known().routed, mediator.programmed());
            let table = table_of(mediator.known(), mediator.programmed(), lowering, &chosen);
            let measured = told.then(|| QueuePaths::of(case, lowering, &chosen, &table));
            (table, measured, chosen)
        };
        let (table, first, chosen) = paths(&outside.mediator, lowering);
        lowering.keep_healthy(&moments, chosen);
        let gauge = first.map(|paths| Gauge::new(case, lowering.queue_pair_numbers().len(), paths));
        let network = Network { fabric: &case.fabric, healthy: lowering.data_rates() };
        let (mut log, probed) =
            self.work_off(&network, (table, gauge), &case.work, outside, |mediator, delayed| {
                if let Some(now) = delayed {
                    lowering.delay_links(now);
                }
                let (table, measured, _) = paths(mediator, lowering);
                (table, measured)
            });
        for (link, bytes) in (0..).map(LinkId).zip(&mut log.link_bytes) {
            *bytes = case.on_the_wire(link, *bytes);
        }
        for (link, bytes) in probed {
            log.link_bytes[link.index()] += bytes;
        }
        log
    }
}

/// What carries the work.
#[derive(Debug)]
struct Network<'a> {
    fabric: &'a Fabric,
    /// Bytes of data per second of each link while nothing ails it.
    healthy: Vec<f64>,
}

/// What comes from outside while work goes on.
#[derive(Debug)]
struct Outside<'a> {
    mediator: Mediator<'a>,
    transport: Transport,
    window: Window,
    throughput: Option<SimTime>,
    ailing: Ailing,
    rank_faults: Vec<RankFault>,
    draw: u64,
    /// None without faults and controllers.
    case: Option<&'a Case>,
}

/// The bundles on the paths that follow from what is known; `chosen` are those that switches route by.
fn table_of(
    known: &Known,
    programmed: &Programmed,
    lowering: &Lowering<'_>,
    chosen: &ChosenPaths,
) -> BundleTable {
    let routed = lowering.table_on(chosen, false).0;
    if known.routed == known.bridged {
        return routed;
    }
    let (bridged, flows) = lowering.table_on(&lowering.paths_by(&known.bridged, programmed), true);
    let lost = |link| known.routed.is_down(link) && !known.bridged.is_down(link);
    let sizes = (0..bridged.patterns()).map(|pattern| lowering.shape_of(pattern).0.bundles.len() as u32);
    let first_bundles: Vec<u32> = sizes
        .scan(0, |sum, size| {
            *sum += size;
            Some(*sum - size)
        })
        .collect();
    let caught = black_hole::bridged(&bridged, &flows, &first_bundles, &lost);
    black_hole::join(&routed, &bridged, &caught)
}

impl FlowEngine {
    /// Runs a work graph whose patterns are given as bundles on the links of `fabric`, without routing and
    /// without faults: for transfers that no algorithm makes, and for tests against other simulators.
    ///
    /// # Panics
    /// When the table has fewer patterns than the work graph, or names links that the fabric has not.
    pub fn run_table(&self, fabric: &Fabric, table: BundleTable, work: &WorkGraph) -> RunLog {
        assert!(table.patterns() >= work.patterns, "every pattern of the work needs its bundles");
        let quiet = Outside {
            mediator: Mediator::quiet(fabric),
            transport: Transport::default(),
            window: Window::none(),
            throughput: None,
            ailing: Ailing::default(),
            rank_faults: Vec::new(),
            draw: 0,
            case: None,
        };
        let capacity = |link: u32| fabric.capacity(LinkId(link)).bytes_per_s();
        let network = Network { fabric, healthy: (0..fabric.link_count() as u32).map(capacity).collect() };
        let never = |_: &Mediator<'_>, _: Option<SimTime>| unreachable!("without faults no path changes");
        self.work_off(&network, (table, None), work, quiet, never).0
    }

    /// The loop. `routes` is asked where paths change, with what is known and told and the time itself where delays of links
    /// changed; it returns the table of paths, and its queue pairs where they are measured. `table` is that of time zero.
    /// Gives the bytes on the wire that probes put on links, too, which the log does not have yet.
    fn work_off(
        &self,
        Network { fabric, healthy }: &Network<'_>,
        (table, gauge): (BundleTable, Option<Gauge>),
        work: &WorkGraph,
        mut outside: Outside<'_>,
        mut routes: impl FnMut(&Mediator<'_>, Option<SimTime>) -> (BundleTable, Option<QueuePaths>),
    ) -> (RunLog, BTreeMap<LinkId, f64>) {
        let meter = outside.throughput.map(|width| Meter::new(fabric, &table, work, width));
        let mut order = WorkOrder::new(work, &outside.rank_faults, outside.draw);
        let priorities = outside.mediator.programmed().priorities_of_patterns(work);
        let shortcuts = if gauge.is_some() { self.shortcuts.measured() } else { self.shortcuts };
        let mut flight = Flight::new(healthy.clone(), table, &priorities, shortcuts, meter);
        flight.measure(gauge);
        let mut waiting = Waiting::new(fabric, work.jobs.len(), outside.transport, outside.window);
        let mut log = RunLog::default();
        let (mut probing, mut marks) = (Probing::default(), Marks::default());
        let mut now = SimTime::ZERO;
        if let Some(turn) = outside.ailing.turn(now, healthy) {
            turn_links(now, &turn, &mut flight, &mut waiting);
        }
        // What was asked for at time zero.
        let ground = Ground { case: outside.case, healthy, ailing: &outside.ailing };
        probing.act(now, &ground, &mut outside.mediator, &mut flight);
        order.release(&mut flight);
        if outside.ailing.acts() {
            waiting.act(now, &mut flight, &mut order, work, &mut log);
        }
        flight.solve(now);
        loop {
            let moves = flight.next_time();
            let next = [order.next_time(moves.is_some()), moves].into_iter().flatten().min();
            let working = next.is_some() || waiting.next_time().is_some();
            let mediator = outside.mediator.next_time_while(working).map(|at| at.max(now));
            let all = [next, mediator, outside.ailing.next_time(), waiting.next_time(), probing.next_time()];
            let Some(soonest) = all.into_iter().flatten().min() else {
                break;
            };
            // Once no work is left to hope for, faults to come change nothing.
            if next.is_none() && flight.is_empty() {
                break;
            }
            // What would happen at the end of simulated time happens no more.
            if soonest == SimTime::NEVER {
                log.time_up = next.is_some() || waiting.next_time().is_some();
                break;
            }
            // While nothing is told nothing is measured, so the end of the last period may lie long ago.
            let measured_from = if flight.has_news() { now } else { soonest };
            let feedback = outside.mediator.next_feedback(measured_from).filter(|&at| at <= soonest);
            now = feedback.unwrap_or(soonest);
            if feedback.is_some()
                && let Some(told) = flight.feedback(now)
            {
                outside.mediator.feed(now, told);
            }
            let news = outside.mediator.pass(now);
            for moment in news.moments {
                strike(moment, fabric, &mut flight, &mut waiting, &mut log);
            }
            let mut turn = outside.ailing.turn(now, healthy);
            if let Some(turn) = &mut turn {
                probing.reduce(&mut turn.capacities);
                turn_links(now, turn, &mut flight, &mut waiting);
            }
            let acted = turn.is_some() || !news.moments.is_empty() || news.reroutes || news.reweighs;
            let delayed = turn.filter(|turn| turn.delays).map(|_| now);
            if news.reprioritizes {
                flight.set_priorities(now, &outside.mediator.programmed().priorities_of_patterns(work));
            }
            if news.reroutes || news.reweighs || delayed.is_some() {
                let (table, paths) = routes(&outside.mediator, delayed);
                flight.reroute(now, table, paths);
                waiting.paths_changed();
            }
            let ground = Ground { case: outside.case, healthy, ailing: &outside.ailing };
            probing.act(now, &ground, &mut outside.mediator, &mut flight);
            flight.advance(now, &mut order);
            order.advance(now, &mut flight);
            marks.look(now, acted, &flight, &waiting);
            for job in order.quits_due(now) {
                waiting.halt(now, job, &mut flight, &mut order, work);
            }
            waiting.act(now, &mut flight, &mut order, work, &mut log);
            flight.solve(now);
            order.take_over().into_iter().for_each(|job| outside.mediator.close(now, job));
            log.events += 1;
        }
        order.finish(&mut log);
        (log.progress, log.waits) = (marks.finish(), waiting.finish());
        log.counted_until = if log.unfinished > 0 { now.max(log.end) } else { log.end };
        flight.finish(now, work, &mut log);
        log.actions = outside.mediator.into_actions();
        let probed;
        (log.surveys, probed) = probing.finish(log.counted(), outside.case);
        (log, probed)
    }
}

/// What a turn does to links and to who sends to ranks that are gone.
fn turn_links(now: SimTime, turn: &Turn, flight: &mut Flight, waiting: &mut Waiting) {
    if !turn.capacities.is_empty() {
        flight.set_capacities(now, &turn.capacities);
    }
    for &(link, capacity) in &turn.capacities {
        waiting.set_silent(link, capacity <= 0.0);
    }
    waiting.lose_ranks(&turn.gone);
}

/// What a moment does to cables.
fn strike(moment: &Moment, fabric: &Fabric, flight: &mut Flight, waiting: &mut Waiting, log: &mut RunLog) {
    let (cable, ways, dead) = match moment.change {
        Change::Struck(cable, kind) => {
            let kind = match kind {
                CableState::Mute(_) => return,
                CableState::Up => IncidentKind::Up(cable),
                _ => IncidentKind::Down(cable),
            };
            log.incidents.push(Incident { at: moment.at, kind });
            return;
        }
        Change::Dies(cable, ways) => (cable, ways, true),
        Change::Carries(cable, ways) => (cable, ways, false),
        Change::Avoided(..) | Change::Used(..) => return,
    };
    let links: Vec<LinkId> = ways.links(cable).collect();
    flight.set_links(moment.at, &links, dead);
    if fabric.cable_class(cable) >= CableClass::Access {
        waiting.set_links(&links, dead);
    }
}

//! The event loop: operations start and end, patterns that share links move together, cables fail and return.
use std::collections::VecDeque;

use railtwin_engine::lower::Lowering;
use railtwin_engine::{BundleTable, Case, Engine, Fault, FaultKind, RunLog, WorkGraph};
use railtwin_fabric::Fabric;
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

use crate::flight::Flight;
use crate::order::WorkOrder;

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
        let lowering = Lowering::new(case, replicate);
        let mut mask = LinkMask::none(&case.fabric);
        let course = Events { faults: &case.faults, convergence: case.routing.convergence };
        let table = lowering.table(&mask, false).0;
        self.work_off(&case.fabric, table, &case.work, course, |fault| {
            if let Some(fault) = fault {
                mask.set_cable(fault.cable, fault.kind == FaultKind::Down);
                return None;
            }
            Some(lowering.table(&mask, false).0)
        })
    }
}

/// What comes from outside while work goes on.
#[derive(Clone, Copy, Debug)]
struct Events<'a> {
    /// In order of time.
    faults: &'a [Fault],
    /// Time from a fault until routes avoid it.
    convergence: SimTime,
}

impl FlowEngine {
    /// Runs a work graph whose patterns are given as bundles on the links of `fabric`, without routing and
    /// without faults: for transfers that no algorithm makes, and for tests against other simulators.
    ///
    /// # Panics
    /// When the table has fewer patterns than the work graph, or names links that the fabric has not.
    pub fn run_table(&self, fabric: &Fabric, table: BundleTable, work: &WorkGraph) -> RunLog {
        assert!(table.patterns() >= work.patterns, "every pattern of the work needs its bundles");
        let quiet = Events { faults: &[], convergence: SimTime::ZERO };
        self.work_off(fabric, table, work, quiet, |_| None)
    }

    /// The loop. `routes` is told of every fault, and asked with none for the table of paths that avoid all
    /// dead links once routes have converged.
    fn work_off(
        &self,
        fabric: &Fabric,
        table: BundleTable,
        work: &WorkGraph,
        events: Events<'_>,
        mut routes: impl FnMut(Option<&Fault>) -> Option<BundleTable>,
    ) -> RunLog {
        let mut order = WorkOrder::new(work);
        let mut flight = Flight::new(fabric, table, self.shortcuts);
        let mut faults = events.faults.iter().peekable();
        let mut reroutes = VecDeque::new();
        let mut log = RunLog::default();
        order.release(&mut flight);
        flight.solve(SimTime::ZERO);
        loop {
            let next = [order.next_time(), flight.next_time()].into_iter().flatten().min();
            let fault = faults.peek().map(|fault| fault.at);
            let reroute = reroutes.front().copied();
            let Some(now) = [next, fault, reroute].into_iter().flatten().min() else { break };
            // Once no work is left to hope for, faults to come change nothing.
            if next.is_none() && flight.is_empty() {
                break;
            }
            let mut rerouted = false;
            while let Some(fault) = faults.next_if(|fault| fault.at == now) {
                flight.set_cable(now, fault.cable, fault.kind == FaultKind::Down);
                routes(Some(fault));
                log.incidents.push(*fault);
                reroutes.push_back(now.saturating_add(events.convergence));
            }
            while reroutes.front() == Some(&now) {
                reroutes.pop_front();
                rerouted = true;
            }
            if rerouted && let Some(table) = routes(None) {
                flight.reroute(now, table);
            }
            flight.advance(now, &mut order);
            order.advance(now, &mut flight);
            flight.solve(now);
            log.events += 1;
        }
        order.finish(&mut log);
        flight.finish(&mut log);
        log
    }
}

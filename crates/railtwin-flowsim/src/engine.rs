//! The event loop: operations start and end, patterns that share links move together, cables fail and return.
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, Engine, RunLog};
use railtwin_routing::LinkMask;

use crate::flight::Flight;
use crate::order::WorkOrder;

/// Ways to save work. Every one leaves the result unchanged; a test compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortcuts {
    /// A pattern that shares no link with another in flight runs its known course in one event.
    pub alone: bool,
    /// Rates of the same bundles are remembered.
    pub remember: bool,
}

impl Default for Shortcuts {
    fn default() -> Self {
        Self { alone: true, remember: true }
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
        let table = lowering.table(&mask, false).0;
        let mut order = WorkOrder::new(&case.work);
        let mut flight = Flight::new(&case.fabric, table, self.shortcuts);
        let mut faults = case.faults.iter().peekable();
        let mut reroutes = std::collections::VecDeque::new();
        let mut log = RunLog::default();
        order.release(&mut flight);
        flight.solve(railtwin_units::SimTime::ZERO);
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
                let down = fault.kind == railtwin_engine::FaultKind::Down;
                mask.set_cable(fault.cable, down);
                flight.set_cable(now, fault.cable, down);
                log.incidents.push(*fault);
                reroutes.push_back(now.saturating_add(case.routing.convergence));
            }
            while reroutes.front() == Some(&now) {
                reroutes.pop_front();
                rerouted = true;
            }
            if rerouted {
                flight.reroute(now, lowering.table(&mask, false).0);
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

//! The states of the network that faults bring about, as rates of queue pairs.
use std::collections::BTreeSet;

use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, EdgeRates};
use railtwin_flowsim::FlowEngine;
use railtwin_units::SimTime;

/// States that are worked out: each asks for the rates of all queue pairs.
pub(crate) const MOST: usize = 64;

/// The rates of `base`, the case without faults, and then those of `case` from each moment on at which they may
/// change: when a cable dies or carries, when somebody has noticed, when controllers decide and when that holds, when an impairment
/// begins or ends.
pub fn rates(base: &Case, case: &Case, replicate: u32, warnings: &mut Vec<String>) -> Vec<EdgeRates> {
    let engine = FlowEngine::default();
    let mut all = vec![engine.edge_rates(base, replicate, SimTime::ZERO)];
    let mut moments = moments(case, replicate);
    if moments.len() > MOST {
        warnings.push(format!(
            "telemetry goes through the first {MOST} of {} states of the network",
            moments.len()
        ));
        moments.truncate(MOST);
    }
    for at in moments {
        let mut rates = engine.edge_rates(case, replicate, at);
        rates.at = at;
        all.push(rates);
    }
    all
}

/// Moments at which rates may change, in order.
pub(crate) fn moments(case: &Case, replicate: u32) -> Vec<SimTime> {
    let mut moments = BTreeSet::new();
    let (timeline, lowering) = (case.timeline(replicate), Lowering::new(case, replicate));
    let mut mediator = lowering.mediator(&timeline);
    while let Some(at) = mediator.next_time() {
        mediator.pass(at);
        mediator.answer_idle();
        moments.insert(at);
    }
    for impairment in &case.impairments {
        moments.extend([impairment.from, impairment.until]);
    }
    moments.into_iter().filter(|&at| at < SimTime::NEVER).collect()
}

/// The case without anything wrong; none where nothing is.
pub fn without_faults(case: &Case) -> Option<Case> {
    let troubles = &case.packets.troubles;
    if case.faults.is_empty()
        && case.impairments.is_empty()
        && case.rank_faults.is_empty()
        && troubles.is_empty()
    {
        return None;
    }
    let mut base = case.clone();
    base.faults.clear();
    base.impairments.clear();
    base.rank_faults.clear();
    base.truths.clear();
    base.packets.troubles.clear();
    Some(base)
}

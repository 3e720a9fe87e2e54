//! Step times that telemetry saw, by the state of faults: before the first, under them, after repair.
use railtwin_records::Truth;
use railtwin_store::Figure;
use railtwin_units::SimTime;

use crate::fault_states::{FaultStates, Span, StepTimes};
use crate::figures::declared::Declared;
use crate::figures::declared::network as declared;

/// The figures of steps by their begins and ends in nanoseconds; nothing where no fault begins or ends up to `until_ns`.
pub fn figures(until_ns: u64, steps: &[(u64, u64)], truths: &[Truth]) -> Vec<Figure> {
    let states = FaultStates::of_truths(truths);
    if states.first_change().is_none_or(|change| change >= SimTime::from_ns(until_ns)) {
        return Vec::new();
    }
    let times = StepTimes::of(steps.iter().map(|&(from_ns, until_ns)| {
        let [from, until] = [from_ns, until_ns].map(SimTime::from_ns);
        (states.span(0, from, until), until.since(from).seconds())
    }));
    let all = [
        (declared::TELEMETRY_STEP_TIME_BEFORE_FAULT, times.mean(Span::Before)),
        (declared::TELEMETRY_STEP_TIME_UNDER_FAULT, times.slowest_under()),
        (declared::TELEMETRY_STEP_TIME_HIT, times.longest_hit()),
        (declared::TELEMETRY_STEP_TIME_AFTER_REPAIR, times.mean(Span::After)),
    ];
    let figure = |(of, value): (Declared, Option<(f64, usize)>)| {
        let (seconds, count) = value?;
        let noun = if count == 1 { "step" } else { "steps" };
        Some(of.figure(seconds, &format!("of {count} {noun} that telemetry saw")))
    };
    all.into_iter().filter_map(figure).collect()
}

//! What no single key of `[telemetry]` shows.
use railtwin_units::SimTime;

use crate::violation::Violation;
use crate::{JobSpec, Scenario};

/// What is wrong, and the key under `telemetry`.
pub(crate) fn trouble_of_telemetry(scenario: &Scenario) -> Option<(&'static str, Violation)> {
    let telemetry = scenario.telemetry.as_ref()?;
    if scenario.jobs.is_empty() {
        let message = "telemetry of a scenario without jobs".to_owned();
        return Some(("job", (message, "write a [[job]], or leave [telemetry] away")));
    }
    if let Some(wanted) = &telemetry.job {
        let named = |job: &JobSpec| match job.count {
            1 => job.name == *wanted,
            copies => (0..copies).any(|copy| format!("{}-{copy}", job.name) == *wanted),
        };
        if !scenario.jobs.iter().any(named) && !is_later(scenario, wanted) {
            let message = format!("no job is called `{wanted}`");
            let accepted = "write the name of a [[job]], of several copies such as name-0, or with [steering] over \
                            [[fault]] name-again-1 for the first time that the first job starts again";
            return Some(("job", (message, accepted)));
        }
    }
    for (key, interval) in [("counters", telemetry.counters), ("probes", telemetry.probes)] {
        if interval.is_some_and(|interval| interval < SimTime::from_ps(1_000_000_000)) {
            let message = format!("`{key}` more often than each millisecond");
            return Some((key, (message, "write an interval from 1 ms up, such as \"1 s\"")));
        }
    }
    let mut axes = telemetry.axes.iter();
    while let Some(axis) = axes.next() {
        if axes.clone().any(|other| other == axis) {
            let message = "an axis stands twice".to_owned();
            return Some(("axes", (message, "write each axis once")));
        }
    }
    None
}

/// Whether the name is that of a later time that processes of the first job run, in a run that `[steering]` follows.
fn is_later(scenario: &Scenario, wanted: &str) -> bool {
    let number =
        scenario.jobs.first().and_then(|job| wanted.strip_prefix(&job.name)?.strip_prefix("-again-"));
    let is_number = number.and_then(|number| number.parse::<u32>().ok()).is_some_and(|number| number > 0);
    is_number && scenario.steering.is_some() && scenario.failures.is_none()
}

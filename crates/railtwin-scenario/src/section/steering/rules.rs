//! What no single key of `[steering]` shows.
use railtwin_units::SimTime;

use crate::listed::listed;
use crate::violation::Violation;
use crate::{Scenario, SteeredBy, SteeringSpec};

/// Warnings that name the keys of detectors and of the policy's answer to them where nothing detects, and those of the
/// policy that controllers of one's own do not go by; and those of months where a run is followed.
pub(crate) fn idle_steering(scenario: &Scenario, steering: &SteeringSpec) -> Vec<String> {
    let usual = SteeringSpec::default();
    let own = steering.controller == SteeredBy::Own;
    let differs = |is: f64, usual: f64| is.total_cmp(&usual).is_ne();
    let of_policy = [
        ("steering.automatic", steering.automatic != usual.automatic),
        ("steering.confidence", differs(steering.confidence, usual.confidence)),
        ("steering.hosts_out", steering.hosts_out != usual.hosts_out),
        ("steering.hosts_per_hour", steering.hosts_per_hour != usual.hosts_per_hour),
        ("steering.spares", steering.spares != usual.spares),
    ];
    let of_detectors = [
        ("steering.detection", steering.detection != usual.detection),
        ("steering.recall", differs(steering.recall, usual.recall)),
        ("steering.false_alarms", steering.false_alarms != usual.false_alarms),
        // Controllers of one's own leave things to people without detectors, too, and may accuse wrongly.
        ("steering.answer", !own && steering.answer != usual.answer),
        ("steering.tests", !own && steering.tests != usual.tests),
        ("steering.automatic", !own && steering.automatic != usual.automatic),
        ("steering.confidence", !own && differs(steering.confidence, usual.confidence)),
    ];
    let writes = scenario.jobs.first().is_some_and(|job| job.checkpoint.is_some());
    let of_months = [
        ("steering.lives", steering.lives != usual.lives),
        ("steering.checkpoint_cost", steering.checkpoint_cost != usual.checkpoint_cost),
        ("steering.false_alarms", steering.false_alarms != usual.false_alarms),
    ];
    // Nobody is accused wrongly in a run, or without false alarms, but by controllers of one's own.
    let of_accused = [("steering.tests", !own && steering.c4d && steering.tests != usual.tests)];
    let of_controller = [("steering.isolation", !own && steering.isolation != usual.isolation)];
    let of_time = [("steering.checkpoint", writes && steering.checkpoint != usual.checkpoint)];
    let told = |applies: bool, keys: &[(&str, bool)], why: &str| {
        let idle: Vec<String> =
            keys.iter().filter(|(_, idle)| *idle).map(|(key, _)| (*key).to_owned()).collect();
        let verb = if idle.len() == 1 { "changes" } else { "change" };
        (applies && !idle.is_empty()).then(|| format!("{} {verb} nothing: with {why}", listed(&idle)))
    };
    let by_own = told(own, &of_policy, "`controller = \"own\"` hosts are not steered by the policy");
    let undetected = told(!steering.c4d, &of_detectors, "`c4d = false` nothing is detected");
    let by_people = told(
        !steering.c4d,
        &of_controller,
        "`c4d = false` people take hosts out within the time of `by_hand`",
    );
    let is_run = scenario.failures.is_none();
    let accused = match steering.false_alarms {
        _ if is_run => told(true, &of_accused, "`[[fault]]` nobody is accused wrongly"),
        None => told(true, &of_accused, "no `false_alarms` nobody is accused wrongly"),
        Some(_) => None,
    };
    let months = told(is_run, &of_months, "`[[fault]]` a run is followed, and no months");
    let steps =
        told(is_run, &of_time, "`checkpoint` of the job it says itself after how many steps it writes one");
    [by_own, undetected, by_people, months, accused, steps].into_iter().flatten().collect()
}

/// What is wrong, and the key under `steering`.
pub(crate) fn trouble_of_steering(scenario: &Scenario) -> Option<(&'static str, Violation)> {
    let steering = scenario.steering.as_ref()?;
    let twice = twice(steering);
    let Some(failures) = &scenario.failures else {
        return of_a_run(scenario).or(twice);
    };
    if failures.replay().is_some() {
        let message = "[steering] takes failures by rates, not a recorded history".to_owned();
        return Some(("c4d", (message, "write process or [[failures.rate]] in place of replay")));
    }
    // Times are counted in picoseconds.
    let hours = failures.hours() + failures.from.seconds() * failures.acceleration() / 3600.0;
    let most = SimTime::NEVER.seconds() / 3600.0;
    if hours >= most {
        let message = format!("a life of {hours:.3e} h is longer than simulated time, {most:.0} h");
        return Some(("c4d", (message, "write fewer `days` or a lower `acceleration` in [failures]")));
    }
    let jobs: u32 = scenario.jobs.iter().map(|job| job.count).sum();
    if jobs != 1 {
        let message = format!("[steering] follows one job, and there are {jobs}");
        return Some(("c4d", (message, "write one [[job]] without copies")));
    }
    twice
}

/// What keeps the steps of a run from being followed.
fn of_a_run(scenario: &Scenario) -> Option<(&'static str, Violation)> {
    if scenario.faults.is_empty() {
        let message = "[steering] of a scenario in which nothing fails".to_owned();
        return Some((
            "c4d",
            (message, "write [[fault]], or [failures] with a process or rates, or leave [steering] away"),
        ));
    }
    let Some(first) = scenario.jobs.first() else {
        let message = "[steering] of a scenario without a job".to_owned();
        return Some(("c4d", (message, "write a [[job]], or leave [steering] away")));
    };
    if first.count > 1 {
        let message = format!("[steering] follows the first job, of which there are {}", first.count);
        return Some(("c4d", (message, "write count = 1 and one [[job]] for each")));
    }
    if scenario.run.replicates > 1 {
        let message =
            format!("[steering] follows one run, and there are {} replicates", scenario.run.replicates);
        return Some(("c4d", (message, "write replicates = 1 in [run], and sweep over seeds")));
    }
    None
}

/// A cause that is named twice.
fn twice(steering: &SteeringSpec) -> Option<(&'static str, Violation)> {
    let causes = steering.automatic.iter().flatten();
    let twice = causes
        .enumerate()
        .find(|(row, cause)| steering.automatic.iter().flatten().take(*row).any(|earlier| earlier == *cause));
    twice.map(|(_, cause)| {
        let message = format!("`{}` stands twice", cause.name());
        ("automatic", (message, "write each cause once"))
    })
}

//! What no single key of `[steering]` shows.
use railtwin_units::SimTime;

use crate::Scenario;
use crate::consistency::Trouble;

/// What is wrong, and the key under `steering`.
pub(crate) fn trouble_of_steering(scenario: &Scenario) -> Option<(&'static str, Trouble)> {
    let steering = scenario.steering.as_ref()?;
    let Some(failures) = &scenario.failures else {
        let message = "[steering] of a scenario in which nothing fails by chance".to_owned();
        return Some((
            "c4d",
            (message, "write [failures] with a process or rates, or leave [steering] away"),
        ));
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
    let causes = steering.automatic.iter().flatten();
    let twice = causes
        .enumerate()
        .find(|(row, cause)| steering.automatic.iter().flatten().take(*row).any(|earlier| earlier == *cause));
    twice.map(|(_, cause)| {
        let message = format!("`{}` stands twice", cause.name());
        ("automatic", (message, "write each cause once"))
    })
}

//! What stands beside a section that is a question of its own: what engines of steps read says nothing there.
use crate::Scenario;
use crate::violation::Violation;

/// What `section` leaves unread, and the key; `section` names it and says why.
pub(crate) fn troubles_beside(scenario: &Scenario, section: &str) -> Vec<(String, Violation)> {
    let plain = Scenario::new("", scenario.fabric.clone());
    let unread = [
        ("engine", scenario.engine != plain.engine),
        ("job", !scenario.jobs.is_empty()),
        ("run", scenario.run != plain.run),
        ("routing", scenario.routing != plain.routing),
        ("control", scenario.control != plain.control),
        ("cap", !scenario.caps.is_empty()),
        ("fault", !scenario.faults.is_empty()),
        ("failures", scenario.failures.is_some()),
        ("steering", scenario.steering.is_some()),
        ("packet", scenario.packet != plain.packet),
        ("switch", scenario.switch != plain.switch),
        ("telemetry", scenario.telemetry.is_some()),
        ("transport", scenario.transport != plain.transport),
        ("reaction", scenario.reaction != plain.reaction),
        ("dual_tor", scenario.dual_tor != plain.dual_tor),
    ];
    let there = unread.into_iter().filter(|(_, is_there)| *is_there);
    let trouble = |(key, _): (&str, bool)| {
        let message = format!("`{key}` beside {section}");
        (key.to_owned(), (message, "leave one of both away"))
    };
    there.map(trouble).collect()
}

/// What is wrong with `[intranode]`, and the key.
pub(crate) fn troubles_of_intranode(scenario: &Scenario) -> Vec<(String, Violation)> {
    let Some(spec) = &scenario.intranode else { return Vec::new() };
    let mut troubles = troubles_beside(scenario, "[intranode], whose traffic it says nothing of");
    for (key, is_there) in [
        ("frontend", scenario.frontend.is_some()),
        ("storage", scenario.storage.is_some()),
        ("gain", scenario.gain.is_some()),
    ] {
        if is_there {
            let message = format!("`{key}` beside [intranode], whose traffic it says nothing of");
            troubles.push((key.to_owned(), (message, "leave one of both away")));
        }
    }
    for (key, message, hint) in spec.contradictions() {
        troubles.push((format!("intranode.{key}"), (message, hint)));
    }
    troubles
}

//! Messages of hosts to their leaves: they change nothing, so those of one moment are one row.
use std::collections::BTreeMap;

use railtwin_control::controller::{Action, Decision};
use railtwin_units::SimTime;

use super::{ActionRow, Mediator};

impl Mediator<'_> {
    /// Takes the messages to leaves out of decisions and writes them down, one row for each reason.
    pub(super) fn note_reads(&mut self, now: SimTime, controller: usize, decisions: &mut Vec<Decision>) {
        let mut by_reason: BTreeMap<&'static str, (Action, u32)> = BTreeMap::new();
        decisions.retain(|one| {
            let is_read = matches!(one.action, Action::Read { .. });
            if is_read {
                by_reason.entry(one.reason).or_insert((one.action, 0)).1 += 1;
            }
            !is_read
        });
        self.rows.extend(by_reason.into_iter().map(|(reason, (action, moved))| ActionRow {
            decided: now,
            effective: now,
            controller: self.controllers[controller].name(),
            action,
            reason,
            job: None,
            before: None,
            moved,
        }));
    }
}

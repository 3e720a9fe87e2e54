//! Decisions of controllers about hosts, and the time at which each takes effect.
use railtwin_control::controller::Finding;
use railtwin_control::halt::halt;
use railtwin_control::{Action, Decision};
use railtwin_fabric::HostId;
use railtwin_units::SimTime;

use super::Driver;
use super::due::Due;
use crate::lifetime::outcome::Done;

impl Driver<'_> {
    /// Asks controllers, carries out what they decide and notes when it takes effect.
    pub(super) fn decide(&mut self, now: SimTime) {
        for number in 0..self.controllers.len() {
            let mut decisions: Vec<Decision> = Vec::new();
            self.controllers[number].decide(now, &mut decisions);
            let controller = self.controllers[number].name();
            for Decision { action, reason } in decisions {
                if let Err(why) = self.wards.take(&action) {
                    halt(controller, format!("at {now}: {why}"));
                }
                let effective = match action {
                    Action::Isolate(host) => self.isolate(now, host),
                    Action::Swap { out, spare, .. } => {
                        let at = self.out_at.get(&out).copied().unwrap_or(now).max(now);
                        self.begin = self.begin.max(at);
                        self.post(at, Due::Seated(out, spare));
                        at
                    }
                    // Wards take nothing else.
                    _ => self.restart(now),
                };
                self.lifetime.done.push(Done { decided: now, effective, controller, action, reason });
            }
            let next = self.controllers[number].next_time();
            if next != SimTime::NEVER && self.asked.insert(next) {
                self.post(next, Due::Ask);
            }
            let proposed = self.controllers[number].proposed().to_vec();
            proposed.into_iter().for_each(|finding| self.propose(now, finding));
        }
        self.asked.retain(|&at| at > now);
    }

    /// A person is to say something about a finding, once.
    pub(super) fn propose(&mut self, now: SimTime, finding: Finding) {
        if self.answers.insert(finding.host) {
            self.post(now.saturating_add(self.recovery.answer), Due::Answer(finding));
        }
    }

    fn isolate(&mut self, now: SimTime, host: HostId) -> SimTime {
        let takes = if self.by_hand.remove(&host) { SimTime::ZERO } else { self.recovery.isolation };
        let at = now.saturating_add(takes);
        self.out_at.insert(host, at);
        self.post(at, Due::Isolated(host));
        let of_host = |&index: &usize| self.host_of[index] == Some(host);
        let away = match (0..self.hits.len()).rev().find(of_host) {
            Some(index) => self.hits[index].repair,
            None => Some(self.recovery.tests),
        };
        if let Some(away) = away {
            self.post(at.saturating_add(away), Due::Repaired(host));
        }
        if let Some(outage) = self.outage.as_mut().filter(|outage| outage.host == Some(host)) {
            outage.resolved = true;
        }
        self.lifetime.out_most = self.lifetime.out_most.max(self.wards.out() as u32);
        at
    }

    /// When steps run again; never where what stopped the job is still there, as another restart comes with its end.
    fn restart(&mut self, now: SimTime) -> SimTime {
        if self.outage.is_some_and(|outage| !outage.resolved) {
            return SimTime::NEVER;
        }
        self.generation += 1;
        self.begin = self.begin.max(now);
        self.post(self.begin, Due::Begin(self.generation));
        self.begin.saturating_add(self.recovery.restart)
    }
}

//! Decisions as rows of the table `actions`.
use railtwin_control::controller::Action;
use railtwin_control::paths::load_balance::WHOLE;
use railtwin_control::te::Change;
use railtwin_fabric::HostId;
use railtwin_units::SimTime;

use crate::case::Case;

/// One decision, or those that were made for what a job opened at the start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ActionRow {
    /// When it was decided.
    pub decided: SimTime,
    /// When it holds; [`SimTime::NEVER`] where a switch did not take it.
    pub effective: SimTime,
    /// Who decided.
    pub controller: &'static str,
    /// What: of several the first.
    pub action: Action,
    /// Why.
    pub reason: &'static str,
    /// Row of the job that it concerns; none where it is nobody's.
    pub job: Option<u32>,
    /// The source port, or the share, that the queue pair had when it was decided, or the priority that the job was given
    /// last.
    pub before: Option<u32>,
    /// Queue pairs, entries or ranks that it moved; none where it came to nothing.
    pub moved: u32,
}

impl ActionRow {
    /// What it acts on, what that was, and what it is then, for people.
    pub fn told(&self, case: &Case) -> [String; 3] {
        let fabric = &*case.fabric;
        let port = |port: Option<u32>| port.map_or_else(String::new, |port| format!("source port {port}"));
        let part = |share: u32| format!("{:.2} % of a whole", 100.0 * f64::from(share) / f64::from(WHOLE));
        let leaves = |link| fabric.link_name(link);
        let of = |host: HostId| format!("host-{}", host.0);
        if self.moved > 1 && !self.is_of_hosts() {
            let what = match self.action {
                Action::Path { .. } | Action::Weight { .. } => "queue pairs",
                Action::Entry(_) => "entries",
                Action::Probe { .. } => "paths",
                Action::Read { .. } => "leaves",
                _ => "jobs",
            };
            return [format!("{} {what}", self.moved), String::new(), String::new()];
        }
        match self.action {
            Action::Path { queue_pair, source_port } => {
                [format!("queue pair {queue_pair}"), port(self.before), port(source_port.map(u32::from))]
            }
            Action::Weight { queue_pair, share } => {
                [format!("queue pair {queue_pair}"), self.before.map_or_else(String::new, part), part(share)]
            }
            Action::Priority { priority, .. } => {
                let of = |priority: u32| format!("priority {priority}");
                [String::new(), self.before.map_or_else(String::new, of), of(u32::from(priority))]
            }
            Action::Entry(change) => {
                let entry = change.entry();
                let subject = format!("{} to prefix {}", leaves(entry.ingress), entry.prefix.0);
                match change {
                    Change::Add(_) => [subject, String::new(), leaves(entry.next)],
                    Change::Replace { was, .. } => [subject, leaves(was), leaves(entry.next)],
                    Change::Remove(_) => [subject, leaves(entry.next), String::new()],
                }
            }
            Action::Probe { source, target, source_port, .. } => [
                format!(
                    "{} to {} by source port {source_port}",
                    fabric.device_name(source.nic),
                    fabric.device_name(target)
                ),
                String::new(),
                String::new(),
            ],
            Action::Read { host, leaf } => {
                let subject = format!("{} by {}", fabric.device_name(leaf), of(host));
                [subject, String::new(), String::new()]
            }
            Action::Place { host, gpus, .. } => {
                [format!("{gpus} GPUs of {}", of(host)), String::new(), String::new()]
            }
            Action::Isolate(host) => [of(host), String::new(), String::new()],
            Action::Swap { out, spare, .. } => [of(out), of(out), of(spare)],
            Action::Restart(job) => {
                [case.work.jobs[job.0 as usize].name.clone(), String::new(), String::new()]
            }
        }
    }

    /// Whether it is about hosts, and not about paths.
    pub const fn is_of_hosts(&self) -> bool {
        matches!(
            self.action,
            Action::Isolate(_) | Action::Swap { .. } | Action::Restart(_) | Action::Place { .. }
        )
    }
}

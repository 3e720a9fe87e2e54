//! What is allowed and likely not meant: said beside the results, with the values that decide.
use railtwin_engine::Case;

use crate::section::job::remarks::of_job;
use crate::section::packet::of_packets;
use crate::section::steering::rules::idle_steering;
use crate::{EngineName, JobSpec, Scenario};

impl Scenario {
    /// All remarks on a resolved scenario; `specs` are those of its jobs.
    pub(crate) fn remarks(&self, case: &Case, specs: &[&JobSpec]) -> Vec<String> {
        let mut all = Vec::from_iter(self.unread());
        all.extend(self.idle_control(false));
        all.extend(self.idle_replan());
        all.extend(self.telemetry.iter().flat_map(|telemetry| telemetry.idle_thresholds()));
        all.extend(self.steering.iter().flat_map(|steering| idle_steering(self, steering)));
        for (job, spec) in case.work.jobs.iter().zip(specs) {
            all.extend(of_job(&job.name, &job.plan, spec));
        }
        if self.engine == EngineName::Packet {
            all.extend(of_packets(case));
        }
        all
    }
}

/// `a`, `b` and `c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

//! What is allowed and likely not meant: said beside the results, with the values that decide.
use railtwin_engine::Case;
use railtwin_units::SimTime;

use crate::section::job::remarks::of_job;
use crate::section::packet::of_packets;
use crate::section::steering::rules::idle_steering;
use crate::{EngineName, JobSpec, RunSpec, Scenario};

impl Scenario {
    /// All remarks on a resolved scenario; `specs` are those of its jobs.
    pub(crate) fn remarks(&self, case: &Case, specs: &[&JobSpec]) -> Vec<String> {
        let mut all = self.idle_keys(false);
        all.extend(self.dual_tor.mistakes().iter().map(|mistake| format!("dual_tor: {mistake}")));
        all.extend(self.idle_replan());
        all.extend(self.idle_steps());
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

    /// A warning that names `[run] steps` where jobs end by time and none is left that goes by it.
    fn idle_steps(&self) -> Option<String> {
        let by_time = |job: &&JobSpec| job.steps.is_none() && job.ended_at() < SimTime::NEVER;
        let goes_by_it = |job: &JobSpec| job.steps.is_none() && job.ended_at() == SimTime::NEVER;
        let ends = self.jobs.iter().find(by_time)?;
        let idle = self.run.steps != RunSpec::default().steps && !self.jobs.iter().any(goes_by_it);
        idle.then(|| {
            let key = if ends.until.is_some() { "until" } else { "duration" };
            format!(
                "no job goes by run.steps: by `{key}` job {} runs as many steps as there is time for: it changes nothing",
                ends.name
            )
        })
    }
}

//! Assumptions of weeks of jobs, and keys of `[cluster]` that change nothing under a policy.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_scenario::ClusterSpec;

use super::{ClusterQuestion, Told};

impl ClusterQuestion {
    /// The assumptions that decide the answer, each with the key that would say otherwise.
    pub fn assumed(&self) -> Vec<String> {
        let Some(list) = &self.list else {
            return vec![
                "sizes, models and durations of jobs are drawn at random: models by the size of the job \
                 (cluster.stream, or a list: cluster.jobs)"
                    .to_owned(),
            ];
        };
        let random = list.iter().filter(|job| job.class.is_none()).count();
        match random {
            0 => Vec::new(),
            _ => vec![format!(
                "models of {random} of {} jobs are drawn at random by the size of the job: the list has no class of them \
                 (column `class` of cluster.jobs)",
                list.len()
            )],
        }
    }

    /// A sentence for each reason for which keys that the scenario writes change nothing under all of these policies.
    pub fn idle_keys(&self, policies: &[SharingPolicy]) -> Vec<String> {
        let (spec, usual) = (&self.spec, ClusterSpec::default());
        let all = |is_idle: fn(SharingPolicy) -> bool| {
            !policies.is_empty() && policies.iter().all(|&policy| is_idle(policy))
        };
        let names: Vec<&str> = policies.iter().map(|policy| policy.name()).collect();
        let (names, verb) = (names.join(", "), if policies.len() == 1 { "plans" } else { "plan" });
        let mut said = Vec::new();
        let written = [
            ("cluster.levels", spec.levels != usual.levels),
            ("cluster.replan", spec.replan != usual.replan),
        ];
        let written: Vec<&str> =
            written.into_iter().filter(|(_, is_written)| *is_written).map(|(key, _)| key).collect();
        if all(|policy| !policy.replans()) && !written.is_empty() {
            let changes = if written.len() == 1 { "changes" } else { "change" };
            said.push(format!(
                "{} {changes} nothing under {names}, which {verb} no priorities",
                written.join(" and ")
            ));
        } else if spec.levels != usual.levels && all(|policy| !policy.keeps_levels()) {
            said.push(format!(
                "cluster.levels changes no figure under {names}: jobs are alike or each has a level of its own"
            ));
        }
        said
    }

    /// The same run with what is to be said of all runs under its policy.
    pub(super) fn remarked(&self, told: Told, sharing: SharingPolicy) -> Told {
        let notes = self.notes.iter().cloned().chain(self.idle_keys(&[sharing]));
        Told { notes: notes.collect(), assumed: self.assumed(), ..told }
    }
}

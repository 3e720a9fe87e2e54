//! Keys that weeks of jobs do not read, and the gate where no jobs meet inside hosts.
use railtwin_clustersim::Effort;
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_fabric::HostSpec;
use railtwin_fabric::preset::{LeafSpine, Rlft};
use railtwin_scenario::{FabricSpec, Preset};

use super::ClusterQuestion;

/// The key of the gate.
const GATE: &str = "cluster.gate";

/// A sentence for each reason for which keys of `[fabric]` that are written change nothing over weeks of jobs.
pub(super) fn keys_of_fabric(fabric: &FabricSpec) -> Vec<String> {
    let (delay, latency) = match fabric {
        FabricSpec::Preset(Preset::LeafSpine(spec)) => {
            let usual = LeafSpine::default();
            (spec.delay != usual.delay, spec.switch_latency != usual.switch_latency)
        }
        FabricSpec::Preset(Preset::Rlft(spec)) => {
            let usual = Rlft::default();
            (spec.delay != usual.delay, spec.switch_latency != usual.switch_latency)
        }
        _ => (false, false),
    };
    let writes = |is_written: fn(&HostSpec) -> bool| fabric.host().is_some_and(is_written);
    let delays = [
        ("fabric.delay", delay),
        ("fabric.switch_latency", latency),
        ("fabric.host.nvlink_delay", writes(|host| host.nvlink_delay.is_some())),
        ("fabric.host.pcie_delay", writes(|host| host.pcie_delay.is_some())),
    ];
    let memory = [("fabric.host.gpu_memory", writes(|host| host.gpu_memory.is_some()))];
    let caps = [("fabric.host.caps", writes(|host| host.caps.is_some()))];
    let costs = [("fabric.host.costs", writes(|host| !host.costs.is_off()))];
    [
        (&delays[..], "contention over weeks is a fluid without delays"),
        (&memory[..], "jobs of [cluster] are not held against the memory of GPUs"),
        (&caps[..], "steps of [cluster] are those of classes of models, which links alone slow"),
        (&costs[..], "steps of [cluster] are those of classes of models, which links alone slow"),
    ]
    .into_iter()
    .filter_map(|(keys, why)| {
        let idle: Vec<&str> =
            keys.iter().filter(|(_, is_written)| *is_written).map(|(key, _)| *key).collect();
        let verb = if idle.len() == 1 { "changes" } else { "change" };
        (!idle.is_empty()).then(|| format!("{} {verb} nothing: {why}", idle.join(", ")))
    })
    .collect()
}

impl ClusterQuestion {
    /// Why `gate = false` changed nothing in a run under a policy; none where it did, or is not written.
    pub(super) fn idle_gate(&self, sharing: SharingPolicy, effort: Effort) -> Option<String> {
        if self.spec.gate {
            return None;
        }
        let idle = |why: &str| Some(format!("{GATE} changes nothing: {why}"));
        match sharing.is_crux() {
            false => idle(&format!("{} has no gate", sharing.name())),
            // Reads beside a job's own steps cross the same links, and belong to no other job.
            true if effort.ungated == 0 && self.spec.read.is_none() => {
                idle("no two jobs met on a link inside a host that is too narrow for both")
            }
            true => None,
        }
    }
}

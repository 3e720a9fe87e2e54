//! `[routing]`: its keys are declared beside the `RoutingCase` that they become, in `railtwin-engine`; here is what no
//! single key of it shows.
use railtwin_engine::case::Replan as RoutingReplan;
use railtwin_engine::routing_spec::{Replan, RoutingSpec};
use railtwin_engine::{Balancer, ControlSpec, RoutingCase};
use railtwin_routing::Fields;
use railtwin_units::SimTime;

use crate::Scenario;
use crate::consistency::Trouble;
use crate::error::Problem;
use crate::remarks::listed;
use crate::tree::{Node, steps};

/// `routing.fields` names each field once.
pub(crate) fn check_fields(text: &str, tree: &Node, problems: &mut Vec<Problem>) {
    let Some(list) = tree.at(&steps("routing.fields")) else {
        return;
    };
    let names = list.items().iter().filter_map(Node::text);
    if let Err(error) = Fields::from_names(names) {
        problems.push(Problem::new(text, list.span.clone(), error.to_string(), None));
    }
}

/// What is wrong with `routing.replan_time`.
pub(crate) fn trouble_of_replan(routing: &RoutingSpec) -> Option<Trouble> {
    match (routing.replan, routing.replan_time) {
        (Some(Replan::Never), Some(time)) => {
            let message = format!("a plan {time} after convergence, but replan = \"never\"");
            Some((message, "leave `replan_time` away, or write replan = \"once\""))
        }
        (Some(Replan::Every), Some(SimTime::ZERO)) => {
            Some(("plans at every multiple of 0 s".to_owned(), "write a period such as \"30 s\""))
        }
        _ => None,
    }
}

impl Scenario {
    /// A warning that names every key about controllers that is not its default and that no controller of the balancer
    /// goes by, nor where there are controllers of one's `own` one of those; none where there is no such key.
    pub fn idle_control(&self, own: bool) -> Option<String> {
        let (balancer, control, usual) = (self.routing.balancer, &self.control, ControlSpec::default());
        let routing = RoutingCase { control: self.control, ..(&self.routing).into() };
        let (decides, weighs, repaths) = (routing.has_controller(), routing.weighs(), routing.repaths());
        // Whether one of one's own writes entries nobody knows before it does.
        let (told, writes) = (decides || own, own || balancer == Balancer::Te);
        let surveys = control.probes.is_some();
        let crux = balancer.sharing().is_some();
        let profiles = control.crux(balancer, 0).is_some_and(|crux| crux.profile.is_some())
            && routing.replan != RoutingReplan::Never;
        let keys = [
            ("control.report", !told && control.report != usual.report),
            ("control.programming", !told && control.programming != usual.programming),
            ("control.entries", !writes && control.entries != usual.entries),
            ("control.zones", balancer != Balancer::Te && control.zones != usual.zones),
            ("control.hosts", balancer != Balancer::Disjoint && control.hosts != usual.hosts),
            ("control.rebalance", balancer != Balancer::C4p && control.rebalance != usual.rebalance),
            ("control.probes", balancer != Balancer::C4p && surveys),
            ("control.probe_size", !surveys && !own && control.probe_size != usual.probe_size),
            ("control.probe_timeout", !surveys && !own && control.probe_timeout != usual.probe_timeout),
            ("control.probe_packets", !surveys && control.probe_packets != usual.probe_packets),
            ("control.probe_paths", !surveys && control.probe_paths != usual.probe_paths),
            ("control.clean_surveys", !surveys && control.clean_surveys != usual.clean_surveys),
            ("control.levels", !crux && control.levels != usual.levels),
            ("control.candidates", !crux && control.candidates != usual.candidates),
            ("job.priority", crux && self.jobs.iter().any(|job| job.priority != 0)),
            ("control.profile", !profiles && control.profile.is_some()),
            ("control.feedback", !(weighs || repaths || profiles || own) && control.feedback.is_some()),
            ("control.smoothing", !weighs && control.smoothing != usual.smoothing),
            ("control.floor", !weighs && control.floor != usual.floor),
            ("control.least_change", !weighs && control.least_change != usual.least_change),
            ("control.marked", !repaths && control.marked != usual.marked),
            ("control.rounds", !repaths && control.rounds != usual.rounds),
            ("control.lost_writes", !writes && control.lost_writes != usual.lost_writes),
        ];
        let idle: Vec<String> =
            keys.into_iter().filter(|(_, idle)| *idle).map(|(key, _)| key.to_owned()).collect();
        let verb = if idle.len() == 1 { "changes" } else { "change" };
        (!idle.is_empty()).then(|| format!("{} {verb} nothing under balancer {balancer}", listed(&idle)))
    }
}

//! `[routing]`: its keys are declared beside the `RoutingCase` that they become, in `railtwin-engine`; here is what no
//! single key of it shows.
use railtwin_control::crux::plan::SharingPolicy;
use railtwin_engine::Replan as RoutingReplan;
use railtwin_engine::routing_spec::{Replan, RoutingSpec};
use railtwin_engine::{Balancer, ControlSpec, RoutingCase};
use railtwin_routing::Fields;
use railtwin_units::SimTime;

use crate::Scenario;
use crate::error::Problem;
use crate::listed::listed;
use crate::tree::{Node, steps};
use crate::violation::Violation;

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

/// The shortest period of what is done again and again: about what a packet of 9,000 bytes takes over a hop at 100
/// Gbit/s, so hardly anything has changed since. With periods that are far shorter a run takes without end.
const PERIOD_MIN: SimTime = SimTime::from_ns(1_000);

/// What is wrong with the period of `key`.
fn trouble_of_period(key: &'static str, period: SimTime) -> Option<(&'static str, Violation)> {
    (period < PERIOD_MIN).then(|| {
        (
            key,
            (format!("{key} is {period}: the shortest is {PERIOD_MIN}"), "write a period such as \"100 us\""),
        )
    })
}

/// What is wrong with periods, and their keys.
pub(crate) fn troubles_of_periods(scenario: &Scenario) -> Vec<(&'static str, Violation)> {
    let (routing, control) = (&scenario.routing, &scenario.control);
    let plans = match routing.replan() {
        RoutingReplan::Every(period) if period > SimTime::ZERO => Some(period),
        _ => None,
    };
    let all = [
        ("routing.replan_time", plans),
        ("control.probes", control.probes),
        ("control.feedback", control.feedback),
    ];
    all.into_iter().filter_map(|(key, period)| trouble_of_period(key, period?)).collect()
}

/// What is wrong with `routing.replan_time`.
pub(crate) fn trouble_of_replan(routing: &RoutingSpec) -> Option<Violation> {
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
    /// Warnings that name every key about controllers that is not its default and that no controller of the balancer
    /// goes by, nor where there are controllers of one's `own` one of those: why is said once for all that share it.
    pub(crate) fn idle_control(&self, own: bool) -> Vec<String> {
        let (balancer, control, usual) = (self.routing.balancer, &self.control, ControlSpec::default());
        let routing = RoutingCase { control: self.control, ..(&self.routing).into() };
        let (decides, weighs, repaths) = (routing.has_controller(), routing.weighs(), routing.repaths());
        // Whether one of one's own writes entries nobody knows before it does.
        let (told, writes) = (decides || own, own || balancer == Balancer::Te);
        let (surveys, feeds) = (control.probes.is_some(), control.feedback.is_some());
        let ranks = balancer.sharing().is_some();
        let crux = balancer.sharing().is_some_and(SharingPolicy::is_crux);
        let profiles = control.crux(balancer, 0).is_some_and(|crux| crux.profile.is_some())
            && routing.replan != RoutingReplan::Never;
        let other = format!("under balancer {balancer}");
        // What else would have to be written for keys that do fit the balancer.
        let unless = |fits: bool, why: &str| if fits { why.to_owned() } else { other.clone() };
        let probed = unless(balancer == Balancer::C4p && !surveys, "without `control.probes`");
        let fed = |fits: bool| unless(fits && !feeds, "without `control.feedback`");
        let weighed = match balancer == Balancer::C4p && routing.is_dynamic() {
            true => "with `split = \"dynamic\"`, where each message finds its own queue pair".to_owned(),
            false => fed(balancer == Balancer::C4p),
        };
        let profiled = match crux && routing.replan == RoutingReplan::Never {
            true => "with `replan = \"never\"`".to_owned(),
            false => fed(crux),
        };
        // Hosts hear of marks alone.
        let marks = self.switch.over(&self.fabric).iter().any(|tier| tier.ecn.is_some());
        let unmarked = "without `ecn` in any [switch]".to_owned();
        let repaths = repaths && marks;
        let fed_back = match balancer {
            Balancer::C4p => &weighed,
            Balancer::MultipathEcn if !marks => &unmarked,
            _ => &other,
        };
        let marked = if marks { fed(balancer == Balancer::MultipathEcn) } else { fed_back.clone() };
        let hashes = control.hashed_zones != usual.hashed_zones;
        let keys: [(&str, bool, &String); 24] = [
            ("control.report", !told && control.report != usual.report, &other),
            ("control.programming", !told && control.programming != usual.programming, &other),
            ("control.entries", !writes && control.entries != usual.entries, &other),
            ("control.zones", balancer != Balancer::Te && control.zones != usual.zones, &other),
            ("control.hashed_zones", balancer != Balancer::Te && hashes, &other),
            ("control.hosts", balancer != Balancer::Disjoint && control.hosts != usual.hosts, &other),
            ("control.rebalance", balancer != Balancer::C4p && control.rebalance != usual.rebalance, &other),
            ("control.probes", balancer != Balancer::C4p && surveys, &other),
            ("control.probe_size", !surveys && !own && control.probe_size != usual.probe_size, &probed),
            (
                "control.probe_timeout",
                !surveys && !own && control.probe_timeout != usual.probe_timeout,
                &probed,
            ),
            ("control.probe_packets", !surveys && control.probe_packets != usual.probe_packets, &probed),
            ("control.probe_paths", !surveys && control.probe_paths != usual.probe_paths, &probed),
            ("control.clean_surveys", !surveys && control.clean_surveys != usual.clean_surveys, &probed),
            ("control.levels", !ranks && control.levels != usual.levels, &other),
            ("control.candidates", !ranks && control.candidates != usual.candidates, &other),
            ("job.priority", ranks && self.jobs.iter().any(|job| job.priority != 0), &other),
            ("control.profile", !profiles && control.profile.is_some(), &profiled),
            ("control.feedback", !(weighs || repaths || profiles || own) && feeds, fed_back),
            ("control.smoothing", !weighs && control.smoothing != usual.smoothing, &weighed),
            ("control.floor", !weighs && control.floor != usual.floor, &weighed),
            ("control.least_change", !weighs && control.least_change != usual.least_change, &weighed),
            ("control.marked", !repaths && control.marked != usual.marked, &marked),
            ("control.rounds", !repaths && control.rounds != usual.rounds, &marked),
            ("control.lost_writes", !writes && control.lost_writes != usual.lost_writes, &other),
        ];
        told_by_reason(keys.into_iter().filter(|(_, idle, _)| *idle).map(|(key, _, why)| (key, why.as_str())))
    }

    /// A warning where it is written when paths are planned again, and nobody plans any.
    pub(crate) fn idle_replan(&self) -> Vec<String> {
        let routing = &self.routing;
        if routing.balancer.has_controller() {
            return Vec::new();
        }
        let why = format!("under balancer {}, which plans no paths", routing.balancer);
        let keys = [
            ("routing.replan", routing.replan.is_some()),
            ("routing.replan_time", routing.replan_time.is_some()),
        ];
        told_by_reason(keys.into_iter().filter(|(_, idle)| *idle).map(|(key, _)| (key, why.as_str())))
    }
}

/// One warning for each reason, in the order of their first keys.
fn told_by_reason<'a>(idle: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (key, why) in idle {
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, keys)) => keys.push(key.to_owned()),
            None => groups.push((why, vec![key.to_owned()])),
        }
    }
    let verb = |keys: &[String]| if keys.len() == 1 { "changes" } else { "change" };
    groups.iter().map(|(why, keys)| format!("{} {} nothing {why}", listed(keys), verb(keys))).collect()
}

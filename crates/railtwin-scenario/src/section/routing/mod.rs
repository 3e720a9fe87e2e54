//! `[routing]`: its keys are declared beside the `RoutingCase` that they become, in `railtwin-engine`; here is what no
//! single key of it shows.
use railtwin_engine::routing_spec::{Replan, RoutingSpec};
use railtwin_routing::Fields;
use railtwin_units::SimTime;

use crate::consistency::Trouble;
use crate::error::Problem;
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

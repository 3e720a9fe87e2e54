//! What no single key of `[cluster]` shows.
use railtwin_clustersim::QueuePolicy;
use railtwin_control::RankOrder;
use railtwin_fabric::Network;

use super::{ClusterPlacement, ClusterSpec};
use crate::Scenario;
use crate::section::apart::troubles_beside;
use crate::violation::Violation;

/// What is wrong, and the key.
pub(crate) fn troubles_of_cluster(scenario: &Scenario) -> Vec<(String, Violation)> {
    let Some(cluster) = &scenario.cluster else { return Vec::new() };
    let mut troubles = troubles_beside(scenario, "[cluster], of whose jobs it says nothing");
    troubles.extend(troubles_of_services(scenario, cluster));
    if scenario.intranode.is_some() {
        let message = "[intranode] beside [cluster]".to_owned();
        troubles.push(("intranode".to_owned(), (message, "leave one of both away")));
    }
    if cluster.jobs.is_some() && cluster.stream != super::ClusterStream::default() {
        let message = "[cluster.stream] beside a list of jobs, which is taken as it is".to_owned();
        troubles.push(("cluster.stream".to_owned(), (message, "leave one of both away")));
    }
    if cluster.stream.arrivals.is_some() && cluster.stream.tide > 0.0 {
        let message = "a tide beside a list of arrivals, which has its own".to_owned();
        troubles.push(("cluster.stream.tide".to_owned(), (message, "leave one of both away")));
    }
    if cluster.steady.is_some() && cluster.jitter > 0.0 {
        let message = "no pace is steady where steps jitter: phases wander over thousands of them".to_owned();
        troubles.push(("cluster.steady".to_owned(), (message, "write jitter = 0, or leave steady away")));
    }
    if cluster.defragment.is_some() && cluster.placement != ClusterPlacement::SegmentFirst {
        let message = "jobs make room in a segment for one that need not take it".to_owned();
        let hint = "write placement = \"segment-first\", or leave defragment away";
        troubles.push(("cluster.defragment".to_owned(), (message, hint)));
    }
    if cluster.placement == ClusterPlacement::PpAcrossPods && cluster.rank_order != RankOrder::Given {
        let message =
            format!("rank_order = \"{}\" would take pipeline stages apart", cluster.rank_order.name());
        let hint = "leave it away: placement = \"pp-across-pods\" says the order";
        troubles.push(("cluster.rank_order".to_owned(), (message, hint)));
    }
    if cluster.placement == ClusterPlacement::Own && cluster.queue != QueuePolicy::Fifo {
        let message = "a queue beside placement = \"own\", where controllers say who starts".to_owned();
        troubles.push(("cluster.queue".to_owned(), (message, "leave one of both away")));
    }
    troubles
}

/// What is wrong between weeks of jobs and hosts without GPUs: storage, gateways, the network that they stand on.
fn troubles_of_services(scenario: &Scenario, cluster: &ClusterSpec) -> Vec<(String, Violation)> {
    let mut troubles = Vec::new();
    let mut push = |key: &str, message: &str, hint| {
        troubles.push((key.to_owned(), (message.to_owned(), hint)));
    };
    let gateways = scenario.storage.map_or(0, |storage| storage.gateways);
    let is_used = cluster.checkpoint.is_some() || cluster.read.is_some() || cluster.inference.is_some();
    if scenario.storage.is_some() && !is_used {
        let hint = "write [cluster] checkpoint, read or inference, or leave [storage] away";
        push("storage", "`storage` beside [cluster], of whose jobs it says nothing", hint);
    } else if gateways > 0 && cluster.inference.is_none() {
        let hint = "write [cluster.inference], or leave gateways away";
        push("storage.gateways", "gateways beside [cluster], to whose GPUs no requests come", hint);
    }
    let is_on_frontend = scenario.storage.is_some_and(|storage| storage.on == Network::Frontend);
    if scenario.frontend.is_some() && !(is_on_frontend && is_used) {
        let hint = "write [storage] on = \"frontend\", or leave [frontend] away";
        push("frontend", "`frontend` beside [cluster], of which nothing goes over it", hint);
    }
    if cluster.checkpoint.is_some() && scenario.storage.is_none() {
        let hint = "write [storage] with hosts = 96 or the like";
        push("cluster.checkpoint", "there is no storage for the checkpoints of jobs", hint);
    }
    if cluster.read.is_some() && scenario.storage.is_none() {
        let hint = "write [storage] with hosts = 96 or the like";
        push("cluster.read", "there is no storage for what jobs read", hint);
    }
    let Some(inference) = &cluster.inference else { return troubles };
    if gateways == 0 {
        let hint = "write gateways = 8 or the like in [storage]";
        push("cluster.inference", "there is no gateway by which requests come", hint);
    }
    match (inference.gpus, inference.hosts.is_empty()) {
        (None, true) => {
            push("cluster.inference", "nobody serves", "write gpus = 64 or hosts = [0, 1] or the like");
        }
        (Some(_), false) => {
            push("cluster.inference.gpus", "gpus beside hosts, all of whose GPUs serve", "leave one away");
        }
        (Some(_), true) if cluster.placement == ClusterPlacement::Own => {
            let hint = "write hosts = [0, 1] or the like";
            let message =
                "placement = \"own\" puts no GPUs that serve: controllers are to know which they are";
            push("cluster.inference.gpus", message, hint);
        }
        _ => (),
    }
    troubles
}

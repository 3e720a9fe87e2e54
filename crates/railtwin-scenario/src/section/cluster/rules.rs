//! What no single key of `[cluster]` shows.
use railtwin_clustersim::QueuePolicy;
use railtwin_control::RankOrder;

use crate::Scenario;
use crate::consistency::Trouble;
use crate::section::apart::troubles_beside;

/// What is wrong, and the key.
pub(crate) fn troubles_of_cluster(scenario: &Scenario) -> Vec<(String, Trouble)> {
    let Some(cluster) = &scenario.cluster else { return Vec::new() };
    let mut troubles = troubles_beside(scenario, "[cluster], of whose jobs it says nothing");
    if scenario.frontend.is_some() {
        let message = "`frontend` beside [cluster], of whose jobs it says nothing".to_owned();
        troubles.push(("frontend".to_owned(), (message, "leave one of both away")));
    }
    if scenario.storage.is_some() && cluster.checkpoint.is_none() {
        let message = "`storage` beside [cluster], of whose jobs it says nothing".to_owned();
        troubles
            .push(("storage".to_owned(), (message, "write [cluster] checkpoint, or leave [storage] away")));
    }
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
    if cluster.checkpoint.is_some() && scenario.storage.is_none() {
        let message = "there is no storage for the checkpoints of jobs".to_owned();
        troubles.push((
            "cluster.checkpoint".to_owned(),
            (message, "write [storage] with hosts = 96 or the like"),
        ));
    }
    if cluster.steady.is_some() && cluster.jitter > 0.0 {
        let message = "no pace is steady where steps jitter: phases wander over thousands of them".to_owned();
        troubles.push(("cluster.steady".to_owned(), (message, "write jitter = 0, or leave steady away")));
    }
    if cluster.defragment.is_some() && cluster.placement != super::ClusterPlacement::SegmentFirst {
        let message = "jobs make room in a segment for one that need not take it".to_owned();
        let hint = "write placement = \"segment-first\", or leave defragment away";
        troubles.push(("cluster.defragment".to_owned(), (message, hint)));
    }
    if cluster.placement == super::ClusterPlacement::PpAcrossPods && cluster.rank_order != RankOrder::Given {
        let message =
            format!("rank_order = \"{}\" would take pipeline stages apart", cluster.rank_order.name());
        let hint = "leave it away: placement = \"pp-across-pods\" says the order";
        troubles.push(("cluster.rank_order".to_owned(), (message, hint)));
    }
    if cluster.placement == super::ClusterPlacement::Own && cluster.queue != QueuePolicy::Fifo {
        let message = "a queue beside placement = \"own\", where controllers say who starts".to_owned();
        troubles.push(("cluster.queue".to_owned(), (message, "leave one of both away")));
    }
    troubles
}

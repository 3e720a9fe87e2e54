//! What no single key of `[cluster]` shows.
use crate::Scenario;
use crate::consistency::Trouble;

/// What is wrong, and the key.
pub(crate) fn troubles_of_cluster(scenario: &Scenario) -> Vec<(String, Trouble)> {
    let Some(cluster) = &scenario.cluster else { return Vec::new() };
    let plain = Scenario::new("", scenario.fabric.clone());
    let unread = [
        ("engine", scenario.engine != plain.engine),
        ("job", !scenario.jobs.is_empty()),
        ("run", scenario.run != plain.run),
        ("routing", scenario.routing != plain.routing),
        ("control", scenario.control != plain.control),
        ("cap", !scenario.caps.is_empty()),
        ("fault", !scenario.faults.is_empty()),
        ("failures", scenario.failures.is_some()),
        ("steering", scenario.steering.is_some()),
        ("packet", scenario.packet != plain.packet),
        ("switch", scenario.switch != plain.switch),
        ("telemetry", scenario.telemetry.is_some()),
        ("transport", scenario.transport != plain.transport),
        ("reaction", scenario.reaction != plain.reaction),
        ("frontend", scenario.frontend.is_some()),
        ("storage", scenario.storage.is_some() && cluster.checkpoint.is_none()),
        ("expect", !scenario.expect.is_empty()),
        ("gain", scenario.gain.is_some()),
    ];
    let mut troubles: Vec<(String, Trouble)> = unread
        .into_iter()
        .filter(|(_, is_there)| *is_there)
        .map(|(key, _)| {
            let message = format!("`{key}` beside [cluster], of whose jobs it says nothing");
            (key.to_owned(), (message, "leave it away, or leave [cluster] away"))
        })
        .collect();
    if cluster.jobs.is_some() && cluster.stream != super::ClusterStream::default() {
        let message = "[cluster.stream] beside a list of jobs, which is taken as it is".to_owned();
        troubles.push(("cluster.stream".to_owned(), (message, "leave one of both away")));
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
    troubles
}

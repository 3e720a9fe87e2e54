//! The one place that makes the engine that a scenario names.
use railtwin_engine::Engine;
use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_fabric::LinkId;
use railtwin_flowsim::FlowEngine;
use railtwin_packetsim::PacketEngine;
use railtwin_routing::LinkMask;
use railtwin_scenario::EngineName;

use crate::question::Resolved;

/// The engine of a resolved point.
pub fn engine_of(resolved: &Resolved) -> Box<dyn Engine> {
    engine(resolved.scenario.engine, resolved.threads)
}

/// An engine by name. `threads` is what one run of the packet engine uses, and no more than there are [`cores`]; no
/// result depends on it.
pub fn engine(name: EngineName, threads: u32) -> Box<dyn Engine> {
    match name {
        EngineName::Flow => Box::new(FlowEngine::default()),
        EngineName::Packet => Box::new(PacketEngine { threads: threads.clamp(1, cores()) }),
    }
}

/// Cores that this process may use: threads beyond them wait for each other at every meeting.
pub fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// How many packets will cross links in one replicate of a point that runs packet by packet, acknowledgements
/// included and nothing sent again: what a person wants to know before waiting. None for another engine, or where
/// paths alone would take long to count.
pub fn packet_hops(resolved: &Resolved) -> Option<f64> {
    let case = &resolved.case;
    if resolved.scenario.engine != EngineName::Packet || case.work.jobs.is_empty() {
        return None;
    }
    let lowering = Lowering::new(case, 0).without_own();
    let none = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &none, planned: &none });
    let packets = &case.packets.keys;
    let each = 1.0 + 1.0 / f64::from(packets.acknowledge_every.max(1));
    let spread = case.routing.balancer.is_spread();
    let hops = lowering.connections().iter().map(|connection| {
        let path = paths.path(connection.first);
        // Where packets are spread the parts of all links add up to the links that one packet crosses.
        let links = if spread { path.parts.iter().sum() } else { path.links.len() as f64 };
        let steps = f64::from(case.work.jobs[connection.job as usize].steps);
        connection.bytes * steps / packets.payload.0 as f64 * links * each
    });
    Some(hops.sum())
}

/// Seconds for which links of one replicate carry, were they never idle: the mean over those in use that are as fast as the
/// busiest. A controller that hears of it evens them out, and a run takes about as long.
pub(crate) fn busy_seconds(resolved: &Resolved) -> f64 {
    let case = &resolved.case;
    let lowering = Lowering::new(case, 0).without_own();
    let none = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &none, planned: &none });
    let mut bytes = vec![0.0; case.fabric.link_count()];
    for connection in lowering.connections() {
        let steps = f64::from(case.work.jobs[connection.job as usize].steps);
        let each = connection.bytes * steps / f64::from(connection.count.max(1));
        for queue_pair in connection.first..connection.first + connection.count {
            for &link in paths.path(queue_pair).links {
                bytes[link.index()] += each;
            }
        }
    }
    let rate = |link: usize| case.fabric.capacity(LinkId::from_index(link)).bytes_per_s();
    let in_use = || (0..bytes.len()).filter(|&link| bytes[link] > 0.0);
    let busiest =
        in_use().max_by(|&one, &other| (bytes[one] / rate(one)).total_cmp(&(bytes[other] / rate(other))));
    let Some(busiest) = busiest.map(rate) else { return 0.0 };
    let (links, all) = in_use()
        .filter(|&link| rate(link) == busiest)
        .fold((0.0, 0.0), |(links, all), link| (links + 1.0, all + bytes[link]));
    all / links / busiest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_foretold() {
        let text = "schema = 1\nname = \"a\"\nengine = \"packet\"\nfabric = { preset = \"fat-tree\", k = 4 }\n\
                    job = [{ gpus = 16, workload = { traffic = \"shift\", shift = 5, bytes = \"1 MB\" } }]\n";
        let question = crate::Question::of_text("a.toml", text, std::path::Path::new("."));
        let point = question.points().unwrap().remove(0);
        let resolved = question.resolve(&point.scenario).unwrap();
        let told = packet_hops(&resolved).unwrap();
        let log = engine_of(&resolved).run(&resolved.case, 0);
        let counted = log.packets.unwrap().counts.packet_hops as f64;
        assert!((counted / told - 1.0).abs() < 0.01, "{told} foretold, {counted} counted");
    }

    #[test]
    fn engines_call_themselves_as_scenarios_do() {
        for name in EngineName::ALL {
            assert_eq!(engine(name, 1).name(), name.name());
        }
    }
}

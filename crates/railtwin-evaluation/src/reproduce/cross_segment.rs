//! HPN, figure 15b: what a job of 2,300 GPUs sends from one segment to another, on HPN against DCN+.
use railtwin_fabric::{Fabric, HostId, PortRole};
use railtwin_scenario::Placement;
use railtwin_store::Figure;

use super::paper;
use super::sweep::Set;
use railtwin::Run;
use railtwin::question::Resolved;

/// Hosts that the paper counts at least.
const HOSTS: usize = 288;

/// The job on DCN+ and on HPN.
const JOBS: [&str; 2] = ["llm-2300-gpus", "llm-2300-gpus-hpn"];

/// What crosses segments on HPN over what does on DCN+, less one: of hosts with partners by lot, in a ring in order, and of
/// the job that stands for the paper's, as bytes that leaves send upward.
pub(super) fn traffic(set: &Set) -> Vec<Figure> {
    let packed = JOBS.map(|name| resolved(name, Placement::Packed, set));
    let random = JOBS.map(|name| resolved(name, Placement::Random, set));
    let all = |resolved: &Resolved| segments(resolved);
    let least = |resolved: &Resolved| segments(resolved)[..HOSTS].to_vec();
    let share = |of: &dyn Fn(&Resolved) -> f64, jobs: &[Resolved; 2]| of(&jobs[1]) / of(&jobs[0]) - 1.0;
    let by_lot = share(&|job| partners_by_lot(&all(job)), &packed);
    let by_lot_least = share(&|job| partners_by_lot(&least(job)), &packed);
    let ring = share(&|job| ring(&all(job)), &packed);
    let mut figures = vec![
        Figure::new("partners_by_lot", by_lot, ""),
        Figure::new("partners_by_lot_288_hosts", by_lot_least, ""),
        Figure::new("ring", ring, ""),
    ];
    for (name, jobs) in [("gpt3", packed), ("gpt3_hosts_by_lot", random)] {
        let [dcn, hpn] = jobs.map(bytes_up);
        figures.push(Figure::new(name, hpn / dcn - 1.0, ""));
    }
    figures
}

/// The first point of a scenario, one draw, with its hosts so.
fn resolved(name: &str, placement: Placement, set: &Set) -> Resolved {
    let question = paper(name, set);
    let mut scenario = question.points().expect("a test reads it").remove(0).scenario;
    scenario.run.replicates = 1;
    scenario.jobs[0].placement = placement;
    question.resolve(&scenario).expect("a test resolves it")
}

/// Pod and segment of each host of the job, in the order of its ranks.
fn segments(resolved: &Resolved) -> Vec<(u32, u32)> {
    let mut hosts: Vec<HostId> = resolved.case.placements[0].iter().map(|place| place.host).collect();
    hosts.dedup();
    let segment = |host| {
        let place = resolved.case.fabric.host(host);
        (place.pod, place.segment)
    };
    hosts.into_iter().map(segment).collect()
}

/// Share of all pairs of hosts that stand in different segments.
fn partners_by_lot(segments: &[(u32, u32)]) -> f64 {
    let apart = |a: &(u32, u32)| segments.iter().filter(|b| *b != a).count();
    let count = segments.len();
    segments.iter().map(apart).sum::<usize>() as f64 / (count * (count - 1)) as f64
}

/// Share of the hops of a ring in order that lead into another segment.
fn ring(segments: &[(u32, u32)]) -> f64 {
    let next = segments.iter().cycle().skip(1);
    let apart = segments.iter().zip(next).filter(|(a, b)| a != b).count();
    apart as f64 / segments.len() as f64
}

/// Bytes that all leaves send upward in a step.
fn bytes_up(resolved: Resolved) -> f64 {
    let run = Run::of(resolved, &|| ());
    let fabric: &Fabric = &run.resolved.case.fabric;
    let log = &run.simulation.as_ref().expect("the scenario has a job").log;
    let leaves = fabric.switches().iter().filter(|(_, place)| place.tier == 1);
    let ports = leaves.flat_map(|&(leaf, _)| fabric.ports(leaf));
    let up = ports.filter(|&port| fabric.port_role(port) == PortRole::Up);
    let links = up.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)));
    links.map(|link| log.link_bytes[link.index()]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partners_and_rings_cross_as_counted_by_hand() {
        let segments = [(0, 0), (0, 0), (0, 1), (1, 1)];
        // Of twelve ordered pairs two stay, of four hops one.
        assert_eq!(partners_by_lot(&segments), 10.0 / 12.0);
        assert_eq!(ring(&segments), 0.75);
    }
}

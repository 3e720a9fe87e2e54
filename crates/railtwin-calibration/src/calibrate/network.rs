//! What the network has of the latency that was measured: it is not counted twice.
use std::sync::Arc;

use railtwin_control::Place;
use railtwin_engine::{Case, Engine, WorkGraph};
use railtwin_fabric::preset::{Layout, LeafSpine};
use railtwin_fabric::{HostId, HostModel};
use railtwin_flowsim::FlowEngine;
use railtwin_units::SimTime;
use railtwin_workload::{Algorithm, Axis, Collective, Group, Operation, Pattern, PlanBuilder, Work};

/// Most ranks that are laid out: beyond, each host's share of the steps is that of so many.
const RANKS: u32 = 1024;

/// Latency that a simulated network adds to a collective, seconds: hosts under one set of leaves, as the nearest that they
/// can be. What more a cluster's network has stays with its hosts.
pub fn latency(model: &HostModel, collective: Collective, algorithm: Algorithm, group: Group) -> f64 {
    let hosts = group.hosts.min((RANKS / group.local.max(1)).max(2));
    // One set of leaves for the preset's own hosts, then for these, which may have other ports.
    let ports = LeafSpine::default().spec().map_or(1, |spec| spec.tors);
    let preset = LeafSpine { leaves: ports, hosts_per_leaf: hosts, uplinks: 1, ..LeafSpine::default() };
    let Some(fabric) = preset.spec().ok().and_then(|spec| {
        let (tors, rails_per_leaf) = (model.nic.ports.max(1), model.nics);
        let spec = railtwin_fabric::clos::ClosSpec { host: model.clone(), tors, rails_per_leaf, ..spec };
        spec.build().ok()
    }) else {
        return 0.0;
    };
    let local = group.local.min(model.gpus);
    let ranks = hosts.min(group.hosts) * local;
    let communicator: Vec<u32> = match collective {
        Collective::SendReceive => (0..ranks).flat_map(|rank| [rank, (rank + 1) % ranks]).collect(),
        _ => (0..ranks).collect(),
    };
    let mut builder = PlanBuilder::new(ranks, vec!["all ranks".to_owned()]);
    let pattern = builder.pattern(Pattern::new(Axis::Other, collective, Some(algorithm), vec![communicator]));
    let name = builder.name(collective.name());
    // A byte: nothing but latency.
    let work = Work::Communicate { pattern, bytes: 1 };
    builder.push(Operation { lane: 0, name, axis: Axis::Other, work }, &[]);
    let mut work = WorkGraph::default();
    work.push("latency".to_owned(), SimTime::ZERO, builder.finish(), 1);
    let places = (0..ranks).map(|rank| Place { host: HostId(rank / local), gpu: rank % local }).collect();
    let case = Case::new(Arc::new(fabric), work, vec![places]);
    let share = f64::from(group.hosts) / f64::from(hosts.min(group.hosts));
    FlowEngine::default().run(&case, 0).end.seconds() * share
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hop of NVLink is 200 ns up and down; seven of them in a ring of eight.
    #[test]
    fn a_ring_inside_a_host_pays_its_hops() {
        let group = Group::of(1, 8);
        let seconds = latency(&HostModel::hgx_h100(), Collective::AllGather, Algorithm::Ring, group);
        assert!((seconds - 7.0 * 400e-9).abs() < 1e-9, "{seconds}");
        // NICs of one port too.
        for model in [HostModel::grand_teton(), HostModel::hgx_a100(), HostModel::hgx_h100()] {
            let pair = latency(&model, Collective::SendReceive, Algorithm::Direct, Group::of(2, 1));
            assert!(pair > 1e-6 && pair < 5e-6, "{}: {pair}", model.name);
        }
        let several = Group::of(10, 8);
        let over = latency(&HostModel::hgx_h100(), Collective::AllGather, Algorithm::Ring, several);
        assert!(over > 79.0 * 400e-9 && over < 200e-6, "{over}");
    }
}

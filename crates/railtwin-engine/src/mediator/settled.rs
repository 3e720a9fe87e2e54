//! Which controllers a case has, and what they have told everybody once nothing is on its way any more.
use railtwin_control::controller::{Controller, Standing};
use railtwin_control::crux::CruxController;
use railtwin_control::paths::{Balancing, C4p, HostAgents, Hosts, Repathing};
use railtwin_control::te::{Engine, TrafficEngineering};
use railtwin_fabric::Fabric;
use railtwin_routing::{EcmpConfig, Fields, LinkMask, Prefixes};
use railtwin_units::SimTime;

use super::{Life, Mediator, Programmed};
use crate::balancer::Balancer;
use crate::connection::Connection;
use crate::control_spec::HostsBy;
use crate::fault::{Change, Moment, View};
use crate::inside::InsideHosts;
use crate::routing_case::RoutingCase;

/// Connections as they were opened, and the numbers of their queue pairs at both ends.
#[derive(Clone, Copy, Debug)]
pub struct Connected<'c> {
    /// In the order in which they were opened.
    pub connections: &'c [Connection],
    /// By row of the queue pair.
    pub numbers: &'c [(u32, u32)],
    /// By job; of those beyond the end [`Life::WHOLE`].
    pub lives: &'c [Life],
    /// What jobs send over PCIe.
    pub inside: &'c InsideHosts,
}

/// How switches of a case hash under its balancer.
pub(crate) fn ecmp_of(balancer: Balancer, mut ecmp: EcmpConfig) -> EcmpConfig {
    if balancer.properties().hashes_target {
        ecmp.spec = ecmp.spec.with_fields(ecmp.spec.fields | Fields::TARGET_QP);
    }
    ecmp
}

/// The controllers of a case; none where switches and hosts choose by themselves.
pub(super) fn controllers<'a>(
    fabric: &'a Fabric,
    routing: &RoutingCase,
    connected: Connected<'_>,
    draw: u64,
) -> Vec<Box<dyn Controller + 'a>> {
    let ecmp = ecmp_of(routing.balancer, routing.ecmp);
    // Jobs that contend inside hosts alone are ranked, too.
    let exchanges = routing.balancer.sharing().is_some() && connected.inside.exchanging().next().is_some();
    if connected.connections.is_empty() && !exchanges {
        return Vec::new();
    }
    match routing.balancer {
        Balancer::C4p => {
            let master = C4p::new(fabric, ecmp, routing.replan, routing.resilient)
                .with_rebalance(routing.control.rebalance.unwrap_or(u32::MAX));
            let master: Box<dyn Controller + 'a> = Box::new(match routing.control.probing(draw) {
                Some(probing) => master.with_probing(probing),
                None => master,
            });
            let hosts =
                routing.weighs().then(|| Box::new(Balancing::new(routing.control.balancing())) as Box<_>);
            std::iter::once(master).chain(hosts).collect()
        }
        Balancer::Crux
        | Balancer::CruxPsPa
        | Balancer::CruxPa
        | Balancer::Sincronia
        | Balancer::Varys
        | Balancer::Taccl => {
            let options = routing.control.crux(routing.balancer, draw);
            let made = |options| {
                let (replan, resilient) = (routing.replan, routing.resilient);
                Box::new(CruxController::new(fabric, ecmp, replan, resilient, options)) as Box<_>
            };
            options.into_iter().map(made).collect()
        }
        Balancer::Te => {
            let engine = Engine::new(Prefixes::by_leaf_set(fabric), routing.control.engine_options());
            vec![Box::new(TrafficEngineering::new(fabric, engine, routing.replan))]
        }
        Balancer::Disjoint => {
            let (replan, resilient) = (routing.replan, routing.resilient);
            match routing.control.hosts {
                HostsBy::Paths => vec![Box::new(Hosts::new(fabric, ecmp, replan, resilient, draw))],
                HostsBy::Leaf => vec![Box::new(HostAgents::new(fabric, ecmp, replan, resilient, draw))],
            }
        }
        Balancer::MultipathEcn if routing.repaths() => {
            vec![Box::new(Repathing::new(routing.control.repathing(draw)))]
        }
        _ => Vec::new(),
    }
}

/// What hosts and leaves hold after everybody heard that the links of `planned` are dead, from the start: as of plans
/// that are made once and take effect. Jobs come and go in their order; one whose end is not known stays. `own` are
/// controllers of one's own. Beside it stands how controllers rank the jobs then.
pub fn settled<'a>(
    own: Vec<Box<dyn Controller + 'a>>,
    fabric: &'a Fabric,
    routing: &RoutingCase,
    connected: Connected<'_>,
    draw: u64,
    planned: &LinkMask,
) -> (Programmed, Vec<Standing>) {
    let at = SimTime::ZERO;
    let told = planned.down_links().map(|link| Moment { at, change: Change::Avoided(link, View::All) });
    let moments: Vec<Moment> = told.collect();
    let mut mediator = Mediator::with(own, fabric, routing, connected, draw, (&moments, &[]));
    if connected.lives.iter().any(|life| life.start > SimTime::ZERO) {
        // Who never rests is left alone once all jobs have come, and who writes what never arrives does not move that.
        let rest = mediator.rest;
        while let Some(at) = mediator.next_time().filter(|&at| at <= rest) {
            mediator.pass(at);
        }
    }
    let standings = mediator.standings();
    (mediator.into_state().1, standings)
}

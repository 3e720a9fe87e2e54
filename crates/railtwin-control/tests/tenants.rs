//! Jobs that come and go: what they used is given back, and who comes moves nobody.

use std::collections::BTreeMap;

use crate::fabrics;
use fabrics::*;
use proptest::prelude::*;
use railtwin_control::controller::{Action, Controller, Decision, Event, Opening, Replan};
use railtwin_control::paths::{C4p, HostAgents, Hosts, JobId};
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_routing::{EcmpConfig, Seeds};
use railtwin_testkit::fabrics::nics;
use railtwin_units::SimTime;

/// Connections of a job: its NICs in a ring, two queue pairs for each port.
struct Tenant {
    job: JobId,
    first: u32,
    ends: Vec<(DeviceId, DeviceId)>,
}

const PAIRS: u32 = 4;

impl Tenant {
    fn rows(&self) -> std::ops::Range<u32> {
        self.first..self.first + PAIRS * self.ends.len() as u32
    }

    fn tell(&self, fabric: &Fabric, controller: &mut dyn Controller, now: SimTime) -> Vec<Decision> {
        let numbers: Vec<u32> = (100..100 + PAIRS).collect();
        let opening = |(row, &(source, target)): (u32, &(DeviceId, DeviceId))| {
            let ports = (0..).take_while(|&port| fabric.access_link(source, port).is_some()).count();
            let first = self.first + PAIRS * row;
            let ports = ports.max(1) as u32;
            let (job, inside) = (self.job, None);
            Opening { job, source, target, ports, first, numbers: &numbers, bytes: 1.0, inside }
        };
        let openings: Vec<Opening<'_>> = (0..).zip(&self.ends).map(opening).collect();
        controller.on_event(now, &Event::Opened(&openings));
        let mut decisions = Vec::new();
        controller.decide(now, &mut decisions);
        decisions
    }
}

/// Source ports by the place of the queue pair in its job.
fn ports(tenant: &Tenant, decisions: &[Decision]) -> BTreeMap<u32, Option<u16>> {
    let port = |one: &Decision| match one.action {
        Action::Path { queue_pair, source_port } => Some((queue_pair - tenant.first, source_port)),
        _ => None,
    };
    decisions.iter().filter_map(port).collect()
}

fn controllers<'a>(fabric: &'a Fabric, ecmp: EcmpConfig) -> [Box<dyn Controller + 'a>; 3] {
    [
        Box::new(C4p::new(fabric, ecmp, Replan::AtOnce, false)),
        Box::new(Hosts::new(fabric, ecmp, Replan::AtOnce, false, 3)),
        Box::new(HostAgents::new(fabric, ecmp, Replan::AtOnce, false, 3)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn who_comes_moves_nobody_and_who_goes_leaves_nothing(
        fabric in any_fabric(),
        tenants in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 2..5), 1..5),
        leave in prop::collection::vec(any::<bool>(), 5),
    ) {
        let ecmp = crc32(Seeds::PerSwitch);
        let everywhere = nics(&fabric);
        let mut first = 0;
        let mut all: Vec<Tenant> = Vec::new();
        for (job, picks) in (0..).zip(&tenants) {
            let ring: Vec<DeviceId> = picks.iter().map(|pick| *pick.get(&everywhere)).collect();
            let pairs = ring.iter().zip(ring.iter().cycle().skip(1));
            let ends: Vec<_> = pairs.map(|(&a, &b)| (a, b)).filter(|(a, b)| a != b).collect();
            let tenant = Tenant { job: JobId(job), first, ends };
            first = tenant.rows().end;
            all.push(tenant);
        }
        for (mut used, mut fresh) in controllers(&fabric, ecmp).into_iter().zip(controllers(&fabric, ecmp)) {
            let mut now = SimTime::ZERO;
            for (tenant, leaves) in all.iter().zip(&leave) {
                let decisions = tenant.tell(&fabric, &mut *used, now);
                for one in &decisions {
                    if let Action::Path { queue_pair, .. } = one.action {
                        prop_assert!(tenant.rows().contains(&queue_pair), "{one:?}");
                    }
                }
                now += SimTime::from_ns(1);
                if *leaves {
                    let mut decisions = Vec::new();
                    used.on_event(now, &Event::Closed(tenant.job));
                    used.decide(now, &mut decisions);
                    prop_assert!(decisions.is_empty(), "{decisions:?}");
                }
            }
            for tenant in &all {
                used.on_event(now, &Event::Closed(tenant.job));
            }
            // As if nobody had ever been there: every count is zero again. Hosts draw by the row of a queue pair.
            let last = Tenant { job: JobId(99), first, ends: all[0].ends.clone() };
            let after = last.tell(&fabric, &mut *used, now);
            let new = last.tell(&fabric, &mut *fresh, now);
            prop_assert_eq!(ports(&last, &after), ports(&last, &new), "{}", used.name());
        }
    }
}

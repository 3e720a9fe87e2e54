//! The master of the lab beside `railtwin paths`.
use std::collections::BTreeMap;

use railtwin::queue_pairs::plan_jobs;
use railtwin_lab::master::{LabBalancer, PathChoices};
use railtwin_lab::simulated::four_jobs;
use railtwin_routing::LinkMask;
use railtwin_units::SimTime;

/// Connections that register in the order of the scenario get the paths that `railtwin paths` prints.
#[test]
fn the_master_allocates_as_railtwin_paths_does() {
    {
        let (balancer, name) = (LabBalancer::C4p(None), "c4p");
        let case = four_jobs(name).expect("it is ours").case;
        let (demands, planned) = plan_jobs(&case, 0, &LinkMask::none(&case.fabric));
        let mut choices = PathChoices::new(&case.fabric, balancer, case.routing.ecmp, 0);
        let mut compared = 0;
        for (row, demand) in (0_u32..).zip(&demands) {
            let ports = 2;
            let ends = (demand.source, ports, demand.target);
            let rows = choices.open(SimTime::ZERO, demand.job, ends, demand.queue_pairs * ports);
            for one in planned.iter().filter(|one| one.demand == row) {
                let own = choices.path(rows.start + one.index as usize);
                assert_eq!(own.as_ref(), Some(&one.links), "{name}: demand {row}, queue pair {}", one.index);
                compared += 1;
            }
        }
        assert_eq!(compared, 32, "{name}: four jobs, two ways, four queue pairs");
    }
}

/// A link without light is left, and the load is evened out over the others.
#[test]
fn connections_leave_a_link_that_lost_its_light_and_come_back() {
    let case = four_jobs("c4p").expect("it is ours").case;
    let fabric = &case.fabric;
    let mut choices = PathChoices::new(fabric, LabBalancer::C4p(None), case.routing.ecmp, 0);
    let (demands, _) = plan_jobs(&case, 0, &LinkMask::none(fabric));
    for demand in &demands {
        choices.open(SimTime::ZERO, demand.job, (demand.source, 2, demand.target), 4);
    }
    let uses = |choices: &PathChoices<'_>| {
        let mut uses = BTreeMap::new();
        for link in (0..32).filter_map(|row| choices.path(row)).flatten() {
            *uses.entry(link).or_insert(0) += 1;
        }
        uses
    };
    let link = choices.path(0).expect("it has a path")[1];
    let most = |choices: &PathChoices<'_>| {
        let is_uplink = |link| fabric.place(fabric.source(link)).is_some_and(|place| place.tier == 1);
        let uplinks = uses(choices).into_iter().filter(|(link, _)| is_uplink(*link));
        uplinks.filter(|(link, _)| fabric.place(fabric.target(*link)).is_some()).map(|(_, count)| count).max()
    };
    assert_eq!(most(&choices), Some(2));
    for (at, up) in [(1, false), (2, true)] {
        let now = SimTime::from_ns(at * 1_000_000_000);
        choices.hear(now, link, up);
        choices.hear(now, link.reverse(), up);
        choices.decide(now);
        match up {
            false => {
                assert_eq!(uses(&choices).get(&link), None);
                assert_eq!(most(&choices), Some(3), "three links of the leaf carry eight connections");
            }
            true => assert_eq!(most(&choices), Some(2), "the load is even again"),
        }
    }
}

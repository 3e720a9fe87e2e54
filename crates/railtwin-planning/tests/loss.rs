//! Losses from formulas are those of graphs with the part taken out.
use proptest::prelude::*;
use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::connectivity::single_points_of_failure;
use railtwin_fabric::preset::{Hpn, Layout as _};
use railtwin_fabric::{CableClass, CableId, Fabric};
use railtwin_planning::loss::{Loss, LossReport, LostPart};

use crate::brute::{Wounded, specs};

/// The graph without the first part of a class.
fn without<'a>(fabric: &'a Fabric, part: LostPart) -> Wounded<'a> {
    let mut graph = Wounded::whole(fabric);
    let cable = |class| fabric.cables().find(|&cable| fabric.cable_class(cable) == class);
    let lost_cable: Option<CableId> = match part {
        LostPart::NicPort => cable(CableClass::Access),
        LostPart::LeafSpineCable => cable(CableClass::LeafSpine),
        LostPart::SpineCoreCable => cable(CableClass::SpineCore),
        _ => None,
    };
    graph.cables.extend(lost_cable);
    match part {
        LostPart::Leaf => graph.devices.extend(graph.switch(1)),
        LostPart::Spine => graph.devices.extend(graph.switch(2)),
        LostPart::Core => graph.devices.extend(graph.switch(3)),
        LostPart::Plane => {
            let spine = fabric.switches().iter().find(|(_, place)| place.tier == 2);
            let plane = spine.expect("fabrics of two tiers have spines").1.plane;
            let all = fabric.switches().iter().filter(|(_, place)| place.tier > 1 && place.plane == plane);
            graph.devices.extend(all.map(|(device, _)| *device));
            let leaves = fabric.switches().iter().filter(|(_, place)| place.tier == 1);
            let single = plane == railtwin_fabric::NONE;
            graph
                .devices
                .extend(leaves.filter(|(_, p)| single || p.plane == plane).map(|(device, _)| *device));
        }
        _ => {}
    }
    graph
}

pub(crate) fn cut_pairs(fabric: &Fabric, part: LostPart) -> u64 {
    without(fabric, part).pairs().iter().filter(|hops| hops.is_none()).count() as u64
}

fn each(spec: &ClosSpec, mut judge: impl FnMut(&Loss)) {
    let report = LossReport::of(spec);
    assert!(report.losses.len() >= 5);
    report.losses.iter().for_each(&mut judge);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn pairs_that_are_cut_are_those_of_the_graph(spec in specs()) {
        prop_assume!(spec.pods * spec.segments * spec.hosts * spec.host.gpus <= 48);
        let fabric = spec.build().unwrap();
        each(&spec, |loss| assert_eq!(cut_pairs(&fabric, loss.part), loss.pairs_cut, "{}", loss.part));
    }

    #[test]
    fn points_of_failure_are_those_of_the_graph(spec in specs()) {
        // A GPU of two NICs outlives one of them; the graph judges NICs.
        prop_assume!(spec.host.gpus >= spec.host.nics);
        let fabric = spec.build().unwrap();
        each(&spec, |loss| {
            let tier = match loss.part {
                LostPart::Leaf => 1,
                LostPart::Spine => 2,
                LostPart::Core => 3,
                _ => return,
            };
            let alone = single_points_of_failure(&fabric, tier).len() as u64;
            assert_eq!(alone, if loss.is_single_point_of_failure() { loss.count } else { 0 }, "{}", loss.part);
        });
    }

    /// Towards other segments: the flow out of the NICs of the hosts under the lost part.
    #[test]
    fn bandwidth_between_segments_is_that_of_the_graph(spec in specs()) {
        prop_assume!(spec.segments > 1 && spec.pods * spec.segments * spec.hosts <= 24);
        prop_assume!(spec.host.gpus == spec.host.nics);
        let fabric = spec.build().unwrap();
        let flow = |graph: &Wounded<'_>| {
            let from = graph.nics(|pod, segment, _| (pod, segment) == (0, 0));
            let rails = from.iter().step_by(spec.host.nics as usize).copied().collect::<Vec<_>>();
            let to = graph.nics(|pod, segment, _| pod == 0 && segment > 0);
            // Of a rail's leaf set its own NICs; of a leaf for all rails every NIC.
            graph.flow(if spec.rails_per_leaf == 1 { &rails } else { &from }, &to)
        };
        let whole = flow(&Wounded::whole(&fabric));
        each(&spec, |loss| {
            let of_set = match loss.part {
                LostPart::Leaf | LostPart::Spine | LostPart::LeafSpineCable | LostPart::Plane => loss.to_segments.unwrap().worst,
                _ => return,
            };
            let share = flow(&without(&fabric, loss.part)) / whole;
            assert!((share - of_set).abs() < 1e-6, "{}: graph {share}, formula {of_set}", loss.part);
        });
    }

    /// Towards other pods: the flow out of all NICs of the pod of the lost part.
    #[test]
    fn bandwidth_between_pods_is_that_of_the_graph(spec in specs()) {
        prop_assume!(spec.pods > 1 && spec.pods * spec.segments * spec.hosts <= 24);
        let fabric = spec.build().unwrap();
        let flow = |graph: &Wounded<'_>| {
            graph.flow(&graph.nics(|pod, _, _| pod == 0), &graph.nics(|pod, _, _| pod > 0))
        };
        let whole = flow(&Wounded::whole(&fabric));
        each(&spec, |loss| {
            let formula = match loss.part {
                LostPart::Spine | LostPart::Core | LostPart::SpineCoreCable | LostPart::Plane => loss.to_pods.unwrap().worst,
                _ => return,
            };
            let share = flow(&without(&fabric, loss.part)) / whole;
            assert!((share - formula).abs() < 1e-6, "{}: graph {share}, formula {formula}", loss.part);
        });
    }

    /// Bisection: the flow between halves, the lost part in one of them.
    #[test]
    fn bisection_that_is_left_is_that_of_the_graph(spec in specs()) {
        prop_assume!(spec.pods * spec.segments * spec.hosts <= 24);
        let fabric = spec.build().unwrap();
        let Some([a, b]) = Wounded::whole(&fabric).halves(&spec) else { return Ok(()) };
        let flow = |graph: &Wounded<'_>| graph.flow(&a, &b);
        let whole = flow(&Wounded::whole(&fabric));
        each(&spec, |loss| {
            let share = flow(&without(&fabric, loss.part)) / whole;
            assert!((share - loss.bisection).abs() < 1e-6, "{}: graph {share}, formula {}", loss.part, loss.bisection);
        });
    }
}

#[test]
fn a_lost_leaf_of_hpn_takes_half_of_1_024_nics_and_no_pair() {
    let report = LossReport::of(&Hpn::default().spec().unwrap());
    let leaf = report.of_part(LostPart::Leaf).unwrap();
    assert_eq!((leaf.count, leaf.gpus_cut, leaf.pairs_cut, leaf.gpus_slowed), (240, 0, 0, 128));
    assert!((leaf.worst() - 0.5).abs() < 1e-12 && !leaf.stops_ring);
    let single = LossReport::of(&Hpn { dual_tor: false, planes: false, ..Hpn::default() }.spec().unwrap());
    let leaf = single.of_part(LostPart::Leaf).unwrap();
    assert_eq!((leaf.gpus_cut, leaf.stops_ring), (64, true));
    assert_eq!(single.single_points_of_failure()[0], (LostPart::Leaf, leaf.count));
}

//! Counts from formulas are those of the graph.
use proptest::prelude::*;
use railtwin_fabric::clos::ClosSpec;
use railtwin_fabric::design::DesignReport;
use railtwin_fabric::preset::{DcnPlus, Hpn, Layout as _, LeafSpine, Rlft};
use railtwin_planning::intent::Counts;

use crate::brute::{Wounded, specs};

pub(crate) fn check(spec: &ClosSpec) {
    let counts = Counts::of(spec);
    let graph = DesignReport::of(&spec.build().expect("the planner makes fabrics that build"));
    assert_eq!(counts.gpus, u64::from(graph.gpus_active));
    assert_eq!(counts.hosts, u64::from(graph.hosts_active));
    assert_eq!((counts.pods, counts.segments), (graph.pods, u64::from(graph.segments)));
    assert_eq!(counts.planes, graph.planes);
    assert_eq!(counts.gpus_per_segment, u64::from(graph.gpus_per_segment));
    assert_eq!(counts.gpus_per_pod, u64::from(graph.gpus_per_pod));
    assert_eq!(counts.cables_access, u64::from(graph.cables_access));
    assert_eq!(counts.cables_leaf_spine, u64::from(graph.cables_leaf_spine));
    assert_eq!(counts.cables_spine_core, u64::from(graph.cables_spine_core));
    assert_eq!(counts.cables_peer, u64::from(graph.cables_peer));
    assert_eq!(counts.tiers.len(), graph.tiers.len());
    for (formula, graph) in counts.tiers.iter().zip(&graph.tiers) {
        assert_eq!((formula.tier, formula.switches), (graph.tier, u64::from(graph.switches)));
        assert_eq!((formula.down_ports, formula.up_ports), (graph.down_ports, graph.up_ports));
        assert_eq!((formula.down_rate, formula.up_rate), (graph.down_capacity, graph.up_capacity));
        assert_eq!(formula.oversubscription, graph.oversubscription);
    }
}

#[test]
fn counts_of_known_designs_are_those_of_their_graphs() {
    check(&Hpn { segments: Some(2), hosts: Some(8), ..Hpn::default() }.spec().unwrap());
    check(&Hpn { segments: Some(2), hosts: Some(8), pods: 2, ..Hpn::default() }.spec().unwrap());
    check(&DcnPlus { pods: 2, ..DcnPlus::default() }.spec().unwrap());
    check(&LeafSpine::default().spec().unwrap());
    check(&Rlft { stages: 3, ..Rlft::default() }.spec().unwrap());
}

/// HPN sections 4 to 7 and table 1.
#[test]
fn hpn_and_dcn_plus_have_the_figures_of_the_paper() {
    let hpn = Counts::of(&Hpn::default().spec().unwrap());
    assert_eq!((hpn.gpus, hpn.gpus_per_segment, hpn.planes), (15_360, 1_024, 2));
    assert_eq!((hpn.leaves, hpn.spines, hpn.hops_worst), (240, 120, 3));
    let dcn = Counts::of(&DcnPlus::default().spec().unwrap());
    assert_eq!((dcn.gpus, dcn.gpus_per_pod, dcn.hops_worst), (16_384, 512, 5));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn counts_are_those_of_the_graph(spec in specs()) {
        check(&spec);
    }

    #[test]
    fn path_choices_are_shortest_paths(spec in specs()) {
        prop_assume!(spec.pods * spec.segments * spec.hosts <= 64);
        let fabric = spec.build().unwrap();
        let paths = Wounded::whole(&fabric).paths_from(fabric.nic(railtwin_fabric::HostId(0), 0));
        prop_assert_eq!(Counts::of(&spec).path_choices, paths);
    }

    #[test]
    fn hops_are_those_of_shortest_paths(spec in specs()) {
        prop_assume!(spec.pods * spec.segments * spec.hosts * spec.host.gpus <= 64);
        let counts = Counts::of(&spec);
        let fabric = spec.build().unwrap();
        let pairs = Wounded::whole(&fabric).pairs();
        let hops: Vec<f64> = pairs.iter().map(|hops| f64::from(hops.unwrap())).collect();
        prop_assert_eq!(f64::from(counts.hops_worst), hops.iter().copied().fold(0.0, f64::max));
        prop_assert!((counts.hops_mean - hops.iter().sum::<f64>() / hops.len() as f64).abs() < 1e-9);
    }

    #[test]
    fn bisection_is_the_largest_flow_between_halves(spec in specs()) {
        prop_assume!(spec.pods * spec.segments * spec.hosts <= 40);
        let fabric = spec.build().unwrap();
        let graph = Wounded::whole(&fabric);
        let Some([a, b]) = graph.halves(&spec) else { return Ok(()) };
        let flow = graph.flow(&a, &b);
        let formula = Counts::of(&spec).bisection.bits_per_s() as f64;
        prop_assert!((flow - formula).abs() <= 1.0 + 1e-9 * flow, "{} {}", flow, formula);
    }
}

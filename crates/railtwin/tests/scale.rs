//! What the reference scenarios of a large step claim: stages fill pods, so that only PP crosses the core.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::collections::BTreeSet;
use std::path::Path;

use railtwin::Question;
use railtwin_engine::Case;
use railtwin_engine::lower::Lowering;
use railtwin_fabric::CableClass;
use railtwin_routing::LinkMask;
use railtwin_workload::Axis;

fn reference() -> Question {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/reference");
    Question::read(&folder.join("gpt3-122880-hpn.toml")).unwrap()
}

fn first_point(question: &Question) -> Case {
    let point = question.points().unwrap().remove(0);
    question.resolve(&point.scenario).unwrap().case
}

/// Axes of the patterns that have a communicator in more than one pod.
fn across_pods(case: &Case) -> BTreeSet<Axis> {
    let places = &case.placements[0];
    let pod = |rank: &u32| case.fabric.host(places[*rank as usize].host).pod;
    let patterns = case.work.jobs[0].plan.patterns.iter();
    let across = patterns.filter(|pattern| {
        pattern.communicators.iter().any(|ranks| ranks.iter().any(|rank| pod(rank) != pod(&ranks[0])))
    });
    across.map(|pattern| pattern.axis).collect()
}

#[test]
fn a_stage_of_the_reference_fills_a_pod() {
    let case = first_point(&reference());
    assert_eq!(case.placements[0].len(), 122_880);
    assert_eq!(across_pods(&case), BTreeSet::from([Axis::Pp]));
    // Every stage is one pod, and every pod one stage.
    for (stage, ranks) in case.placements[0].chunks(15_360).enumerate() {
        assert!(ranks.iter().all(|place| case.fabric.host(place.host).pod as usize == stage));
    }
}

/// The same shape with one segment of 16 hosts for a pod, so that every path is cheap to look at: with stages of 16
/// hosts only PP has bytes on the core, and with stages of 12, which reach over the edges of pods, DP has some too.
#[test]
fn only_pp_crosses_the_core_where_stages_fill_pods() {
    let axes = |dp: u32| {
        let text =
            reference().text.replace("pods = 8", "pods = 8\nsegments = 1\nhosts = 16\nspare_hosts = 0");
        let text = text.replace("dp = 1920", &format!("dp = {dp}"));
        let question = Question::of_text("small.toml", &text, Path::new("."));
        let case = first_point(&question);
        let (_, flows) = Lowering::new(&case, 0).table(&LinkMask::none(&case.fabric), true);
        let patterns = &case.work.jobs[0].plan.patterns;
        let bytes = case.work.jobs[0].plan.bytes_by_pattern();
        let mut axes = BTreeSet::new();
        for flow in &flows {
            let class = |link: &railtwin_fabric::LinkId| case.fabric.cable_class(link.cable());
            let pattern = flow.pattern as usize;
            if bytes[pattern] * flow.share > 0.0
                && flow.links.iter().any(|l| class(l) == CableClass::SpineCore)
            {
                axes.insert(patterns[pattern].axis);
            }
        }
        assert_eq!(axes, across_pods(&case));
        axes
    };
    assert_eq!(axes(16), BTreeSet::from([Axis::Pp]));
    assert_eq!(axes(12), BTreeSet::from([Axis::Dp, Axis::Pp]));
}

//! Sweeps: which lists are axes, in which order the points come, what their labels and bounds are.
#![allow(clippy::unwrap_used, reason = "a test")]

use railtwin_scenario::{
    Amount, FabricSpec, Placement, Preset, Scenario, SweepPoint, Work, Workload, expand,
};

fn points(text: &str) -> Vec<SweepPoint> {
    expand("sweep.toml", &format!("schema = 1\nname = \"a\"\n{text}")).unwrap()
}

fn labels(points: &[SweepPoint]) -> Vec<String> {
    let label = |point: &SweepPoint| {
        let pairs = point.label.iter().map(|(path, value)| format!("{path}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    points.iter().map(label).collect()
}

#[test]
fn points_are_the_product_in_the_order_of_the_text() {
    let points = points(
        "[routing]\nqueue_pairs = [1, 4]\n[fabric]\npreset = [\"hpn\", \"dcn-plus\"]\n[[job]]\n\
         workload.simai = \"a\"\nhosts = [8, 2]\n",
    );
    assert_eq!(
        labels(&points)[..3],
        [
            "routing.queue_pairs=1 fabric.preset=hpn job.hosts=8",
            "routing.queue_pairs=1 fabric.preset=hpn job.hosts=2",
            "routing.queue_pairs=1 fabric.preset=dcn-plus job.hosts=8",
        ]
    );
    assert_eq!(points.len(), 8);
    assert_eq!(points[7].scenario.routing.queue_pairs, 4);
    assert!(matches!(points[7].scenario.fabric, FabricSpec::Preset(Preset::DcnPlus(_))));
    for point in points {
        let text = point.scenario.to_toml();
        assert_eq!(Scenario::parse("point", &text).unwrap(), point.scenario, "{text}");
    }
}

#[test]
fn lists_that_are_values_are_no_axes_and_lists_of_them_are() {
    let one = points(
        "[fabric]\npreset = \"hpn\"\n[routing]\nfields = [\"source_ip\", \"target_ip\"]\n[[job]]\n\
         placement = { hosts = [0, 1] }\nworkload = { simai = \"a\" }\n",
    );
    assert_eq!(labels(&one), [""]);
    let several = points(
        "[fabric]\npreset = \"hpn\"\n[routing]\nfields = [[\"source_ip\"], [\"target_ip\"]]\n[[job]]\n\
         placement = [\"packed\", { hosts = [[0, 1], [1, 0]] }]\nworkload = { simai = \"a\" }\n",
    );
    assert_eq!(several.len(), 2 * (1 + 2));
    assert_eq!(several[2].scenario.jobs[0].placement, Placement::Hosts(vec![1, 0]));
    assert_eq!(
        labels(&several)[2],
        "routing.fields=[\"source_ip\"] job.placement={ hosts = [[0, 1], [1, 0]] } job.placement.hosts=[1, 0]"
    );
}

#[test]
fn a_whole_workload_may_be_an_axis_with_axes_inside() {
    let points = points(
        "[fabric]\npreset = \"hpn\"\n[[job]]\nworkload = { simai = \"a\" }\n[[job]]\n\
         workload = [{ recipe = \"x\", tp = [1, 2, 4] }, { chakra = \"t\" }]\n",
    );
    assert_eq!(points.len(), 4);
    let Work::Workload(Workload::Recipe(recipe)) = &points[2].scenario.jobs[1].work else {
        panic!("{:?}", points[2])
    };
    assert_eq!(recipe.tp, 4);
    assert_eq!(points[2].label[1], ("job.1.workload.tp".to_owned(), "4".to_owned()));
}

#[test]
fn bounds_hold_where_their_condition_does() {
    let points = points(
        "[fabric]\npreset = \"hpn\"\nsegments = 2\n[routing]\nbalancer = [\"ecmp\", \"disjoint\"]\n\
         queue_pairs = [1, 2]\n[expect]\nalways = { at_least = 1 }\nnever = { at_most = 1, when = { segments = 3 } }\n\
         busbw = [{ at_least = \"290 Gbps\", when = { balancer = \"disjoint\", \"routing.queue_pairs\" = 2 } },\n\
         { at_most = \"200 Gbps\", when = { balancer = \"ecmp\" } }]\n",
    );
    let figures = |index: usize| points[index].scenario.expect.keys().cloned().collect::<Vec<_>>();
    assert_eq!(figures(0), ["always", "busbw"]);
    assert_eq!(figures(2), ["always"]);
    let bounds = points[3].scenario.expect["busbw"];
    assert_eq!((bounds.at_least, bounds.at_most), (Some(Amount::Rate("290 Gbps".parse().unwrap())), None));
    assert_eq!(points[0].scenario.expect["busbw"].at_least, None);
}

#[test]
fn a_sweep_is_not_one_scenario() {
    let text = "schema = 1\nname = \"a\"\nseed = [1, 2]\n[fabric]\npreset = \"hpn\"\n";
    let error = Scenario::parse("a.toml", text).unwrap_err().to_string();
    assert_eq!(
        error,
        "a.toml:3:8: `seed` is an axis of a sweep, but one scenario is wanted; write one value"
    );
}

#[test]
fn the_largest_sweep_is_a_hundred_thousand_points() {
    let list = |count: usize| format!("{:?}", (1..=count).collect::<Vec<_>>());
    let text = |last: usize| {
        format!(
            "schema = 1\nname = \"a\"\nseed = {}\n[fabric]\npreset = \"hpn\"\npods = {}\n",
            list(1000),
            list(last)
        )
    };
    assert_eq!(expand("a", &text(100)).unwrap().len(), 100_000);
    let error = expand("a", &text(101)).unwrap_err();
    assert_eq!(error.problems[0].message, "the sweep has 101000 points");
}

#[test]
fn expectations_are_of_the_engines_that_the_text_names() {
    use railtwin_scenario::{EngineName, expand_on};
    let text = "schema = 1\nname = \"a\"\nfabric = { preset = \"fat-tree\", k = 4 }\n[expect]\npods = { equals = 4 }\n\
                hosts_active = { equals = 16, when = { engine = \"packet\" } }\n";
    let point = |engine, text: &str| expand_on(engine, "a.toml", text).unwrap().remove(0);
    let judged = |engine, text: &str| point(engine, text).scenario.expect.into_keys().collect::<Vec<_>>();
    assert_eq!(judged(None, text), ["pods"]);
    assert_eq!(judged(Some(EngineName::Flow), text), ["pods"]);
    assert_eq!(judged(Some(EngineName::Packet), text), ["hosts_active"]);
    assert_eq!(point(Some(EngineName::Packet), text).expectations_of.as_deref(), Some("flow"));
    assert_eq!(point(None, text).expectations_of, None);
    let both = text.replace("name =", "engine = [\"flow\", \"packet\"]\nname =");
    assert_eq!(judged(Some(EngineName::Packet), &both), ["hosts_active", "pods"]);
    assert_eq!(point(Some(EngineName::Packet), &both).expectations_of, None);
}

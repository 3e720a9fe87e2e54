//! What is counted before a run against what lowering makes, and the memory that is foretold against what is there.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::path::Path;

use railtwin::{Question, Resolved};
use railtwin_engine::Extent;
use railtwin_engine::lower::Lowering;
use railtwin_routing::LinkMask;
use railtwin_workload::Edge;

fn resolved(fabric: &str, routing: &str, job: &str) -> Resolved {
    let text = format!(
        "schema = 1\nname = \"a\"\nfabric = {{ {fabric} }}\nrouting = {{ {routing} }}\njob = [{{ {job} }}]\n"
    );
    let question = Question::of_text("a.toml", &text, Path::new("."));
    let point = question.points().unwrap().remove(0);
    question.resolve(&point.scenario).unwrap()
}

const HPN: &str = "preset = \"hpn\", segments = 2, hosts = 8";
const PLAIN: &str = "preset = \"leaf-spine\", leaves = 4, hosts_per_leaf = 8, host = { model = \"plain\" }";

/// Fabrics, routings and jobs of every shape.
fn cases() -> Vec<Resolved> {
    let collective = |kind: &str, algorithm: &str, more: &str| {
        format!("{more}collective = {{ kind = \"{kind}\", bytes = \"64 MB\", algorithm = \"{algorithm}\" }}")
    };
    let mut all = vec![
        resolved(HPN, "", "workload = { recipe = \"mixtral-8x7b\", pp = 2, dp = 64, ep = 8 }"),
        resolved(HPN, "pxn = false", &collective("all-to-all", "direct", "gpus = 128, ")),
        resolved(HPN, "balancer = \"spray\"", &collective("all-to-all", "direct", "gpus = 64, ")),
        resolved(
            PLAIN,
            "queue_pairs = 3",
            "gpus = 32, workload = { traffic = \"all-to-all\", bytes = \"1 MB\" }",
        ),
        resolved(
            PLAIN,
            "balancer = \"multipath-ecn\", queue_pairs = 4",
            &collective("all-to-all", "direct", "gpus = 16, "),
        ),
    ];
    let ways = [
        ("all-reduce", "ring"),
        ("all-reduce", "tree"),
        ("all-reduce", "nvls-ring"),
        ("all-reduce", "nvls-tree"),
        ("all-gather", "direct"),
        ("send-receive", "direct"),
    ];
    for (kind, algorithm) in ways {
        for fabric in [HPN, PLAIN] {
            all.push(resolved(fabric, "queue_pairs = 2", &collective(kind, algorithm, "gpus = 24, ")));
        }
    }
    all
}

#[test]
fn rows_are_those_that_lowering_makes() {
    for resolved in cases() {
        let case = &resolved.case;
        let (told, name) = (Extent::of(case), resolved.scenario.to_toml());
        let lowering = Lowering::new(case, 0);
        let shapes = (0..case.work.patterns).map(|pattern| lowering.shape_of(pattern).0);
        let (mut bundles, mut edges, mut crossings, mut in_switch) = (0, 0, 0, 0);
        for shape in shapes {
            bundles += shape.bundles.len() as u64;
            edges += shape.edges.len() as u64;
            crossings +=
                shape.edges.iter().filter(|edge| matches!(edge, Edge::Network { .. })).count() as u64;
            in_switch +=
                shape.edges.iter().filter(|edge| matches!(edge, Edge::InSwitch { .. })).count() as u64;
        }
        let found = [bundles, edges, crossings, in_switch];
        assert_eq!([told.bundles, told.edges, told.crossings, told.in_switch], found, "{name}");
        assert_eq!(told.operations, case.work.operations as u64);
        assert!(told.counted, "{name}");
        assert_eq!(told.connections, lowering.connections().len() as u64, "{name}");
        assert_eq!(told.queue_pairs, lowering.queue_pair_numbers().len() as u64, "{name}");
        let (table, flows) = lowering.table(&LinkMask::none(&case.fabric), true);
        assert_eq!(told.flows, flows.len() as u64, "{name}");
        // Paths are of a sample: by hash they differ.
        let links = flows.iter().map(|flow| flow.links.len()).sum::<usize>() as f64;
        let foretold = told.flows as f64 * told.links_each;
        assert!((0.7..1.4).contains(&(foretold / links)), "{name}: {foretold} links foretold, {links} there");
        if case.pace == railtwin_engine::Pace::Bundle {
            // Edges of a bundle that share a link have one row on it: more is foretold, never twice as much.
            let there = table.links.len() as f64;
            assert!(
                (0.7..2.0).contains(&(told.bundle_links() / there)),
                "{name}: {} for {there} links of bundles",
                told.bundle_links()
            );
        }
    }
}

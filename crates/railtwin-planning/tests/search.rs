//! Search, curves, comparison and growth.
use railtwin_catalog::Catalog;
use railtwin_fabric::preset::{Hpn, Layout as _, RailOptimised};
use railtwin_planning::intent::{FabricCandidate, Intent, Style};
use railtwin_planning::loss::LostPart;
use railtwin_planning::search::{FabricGrowth, compare, core_curve_at, search, survives_leaf};

#[test]
fn the_cheapest_that_survives_a_leaf_is_cheaper_than_all_that_do() {
    let (catalog, intent) = (Catalog::builtin(), Intent::default());
    let found = search(&intent, &catalog);
    let best = found.best.clone().unwrap();
    let leaf = best.loss.of_part(LostPart::Leaf).unwrap();
    assert_eq!(leaf.pairs_cut, 0);
    assert!(leaf.worst() >= 0.5 - 1e-9);
    assert!(found.surviving < found.feasible && found.feasible <= found.tried);
    for one in intent.plan(&catalog).candidates.iter().filter(|one| survives_leaf(one)) {
        assert!(best.price().usd <= one.price().usd);
    }
    for pair in found.pareto.windows(2) {
        assert!(pair[0].usd < pair[1].usd && pair[0].bisection_share < pair[1].bisection_share);
    }
    assert!(found.to_text().contains("cheapest that survives the loss of any leaf"));
    // Both styles are tried, and each label names its own.
    for style in [Style::RailOptimised, Style::Clos] {
        let one = search(&Intent { style, ..intent.clone() }, &catalog);
        assert_eq!((one.tried, one.best.as_ref().unwrap().price()), (found.tried, best.price()));
        assert!(
            found
                .pareto
                .iter()
                .chain(&found.pareto_surviving)
                .any(|point| point.label.starts_with(style.name()))
        );
        let of_style = Intent { style, planes: vec![1, 2], tors: vec![1, 2], ..intent.clone() };
        for one in of_style.plan(&catalog).candidates.iter().filter(|one| survives_leaf(one)) {
            assert!(best.price().usd <= one.price().usd, "{}", one.combination.label());
        }
    }
    // The pod of a small fabric can grow, and more oversubscription makes it no smaller.
    assert!(found.core_curve.len() > 3);
    assert!(found.core_curve.windows(2).all(|pair| pair[0].gpus_per_pod <= pair[1].gpus_per_pod));
    assert!(found.core_curve.iter().all(|point| point.gpus_per_pod >= u64::from(intent.gpus)));
}

/// HPN section 7 and table 2: 15:1 makes the pod 1.875 times that of 1:1.
#[test]
fn oversubscription_of_the_core_buys_the_pod_of_hpn() {
    let curve = core_curve_at(&Hpn::default().spec().unwrap(), &[1.0, 3.0, 7.0, 15.0, 127.0]);
    let pods: Vec<u64> = curve.iter().map(|point| point.gpus_per_pod).collect();
    assert_eq!((pods[0], pods[3]), (8_192, 15_360));
    assert!((pods[3] as f64 / pods[0] as f64 - 1.875).abs() < 1e-12);
    assert!(pods.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(curve.windows(2).all(|pair| pair[0].to_pods >= pair[1].to_pods));
}

#[test]
fn comparison_and_growth_count_what_changes() {
    let (catalog, intent) = (Catalog::builtin(), Intent { gpus: 1_024, ..Intent::default() });
    let plan = intent.plan(&catalog);
    let table = compare(&plan.candidates[0], &plan.candidates[1]);
    assert!(table.rows.iter().any(|row| row.figure == "price" && row.ratio.is_some_and(|ratio| ratio > 0.0)));
    assert_eq!(compare(&plan.candidates[0], &plan.candidates[0]).rows[0].ratio, Some(1.0));
    // 4 segments with 16 spines and pairs of cables become 8 segments with 32 spines: half of the cables move.
    let growth = FabricGrowth::doubled(&intent, &plan.candidates[0].combination, &catalog).unwrap();
    assert_eq!((growth.access.kept, growth.access.moved, growth.access.added), (1_024, 0, 1_024));
    assert_eq!((growth.leaf_spine.kept, growth.leaf_spine.moved, growth.leaf_spine.added), (512, 512, 1_024));
    assert!(growth.which().contains("Leaves keep 1 of 2 cables to a spine"));
    // Beyond two tiers a third comes.
    let full = Intent::default();
    let combination = full.plan(&catalog).candidates[0].combination.clone();
    let growth = FabricGrowth::doubled(&full, &combination, &catalog).unwrap();
    assert_eq!((growth.to.combination.tiers, growth.to.counts.gpus), (3, 4_096));
    assert_eq!(growth.spine_core.added, growth.to.counts.cables_spine_core);
    assert!(growth.to_text().contains("leaf-spine"));
}

/// Segments of 32 hosts that are cut to 24 keep 24 each.
#[test]
fn hosts_keep_their_leaf_where_segments_are_cut_anew() {
    let catalog = Catalog::builtin();
    let spec = |segments, hosts| {
        let preset = RailOptimised {
            segments,
            hosts: Some(hosts),
            spines: Some(32),
            oversubscription: f64::from(hosts) / 32.0,
            ..RailOptimised::default()
        };
        FabricCandidate::of_design(preset.spec().unwrap(), &catalog)
    };
    let growth = FabricGrowth::between(spec(4, 32), spec(8, 24));
    assert_eq!((growth.access.kept, growth.access.moved, growth.access.added), (4 * 24 * 8, 4 * 8 * 8, 512));
    assert!(growth.which().contains("8 hosts of each"));
    let growth = FabricGrowth::between(spec(4, 16), spec(4, 32));
    assert_eq!((growth.access.kept, growth.access.moved), (4 * 16 * 8, 0));
}

/// One pod of 8 segments and 32 spines that becomes pods of 4 and 16 keeps half of its pairs of leaf and spine.
#[test]
fn leaves_and_spines_that_go_to_one_pod_keep_their_cables() {
    let catalog = Catalog::builtin();
    let of = |pods, segments, spines| {
        let preset = RailOptimised {
            pods,
            segments,
            hosts: Some(32),
            spines: Some(spines),
            cores: (pods > 1).then_some(64),
            ..RailOptimised::default()
        };
        FabricCandidate::of_design(preset.spec().unwrap(), &catalog)
    };
    let growth = FabricGrowth::between(of(1, 8, 32), of(4, 4, 16));
    assert_eq!(growth.leaf_spine.kept, 2 * 4 * 8 * 16);
    // Pods that keep their size keep all cables.
    let growth = FabricGrowth::between(of(2, 4, 32), of(4, 4, 32));
    assert_eq!((growth.leaf_spine.moved, growth.access.moved), (0, 0));
}

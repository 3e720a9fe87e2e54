//! The smallest fabric of an intent.
use std::time::Instant;

use railtwin_catalog::Catalog;
use railtwin_fabric::HostModel;
use railtwin_planning::intent::{Intent, Style};

fn plan(intent: &Intent) -> railtwin_planning::intent::Plan {
    intent.plan(&Catalog::builtin())
}

/// 2,048 H100 with 400 Gbps each, switches of 64 ports of 400 Gbps.
#[test]
fn the_newcomer_gets_eight_fabrics() {
    let plan = plan(&Intent::default());
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let counts: Vec<(u64, u64, u64)> =
        plan.candidates.iter().map(|one| (one.counts.leaves, one.counts.spines, one.counts.cores)).collect();
    assert_eq!(plan.candidates.len(), 8);
    // Two tiers without oversubscription are the fat tree of 64 ports that ends here: 64 leaves, 32 spines.
    assert_eq!(counts[0], (64, 32, 0));
    for one in &plan.candidates {
        // Segments are alike: seven of 37 hosts carry three hosts more than asked for.
        assert_eq!(one.counts.gpus, if one.counts.segments == 7 { 2_072 } else { 2_048 });
        assert!(one.notes.is_empty() && one.price().usd > 1e6 && one.price().assumed_share() > 0.0);
        assert_eq!(one.spec.build().unwrap().switches().len() as u64, one.counts.switches());
        let ratio = one.combination.oversubscription;
        assert!(one.counts.tiers[0].oversubscription.is_some_and(|real| real <= ratio + 1e-9));
        // Planes have a leaf each: a lost one takes half. Without them it cuts its GPUs off.
        let leaf = &one.loss.losses[0];
        assert_eq!(leaf.gpus_cut > 0, one.combination.planes == 1);
        assert!(one.combination.planes == 1 || (leaf.worst() - 0.5).abs() < 1e-9);
    }
    assert!(plan.to_text().lines().count() == 9);
}

#[test]
fn one_gpu_more_than_two_tiers_carry_is_refused_with_the_limit() {
    let intent = Intent {
        gpus: 2_049,
        tiers: vec![2],
        planes: vec![1],
        oversubscription: vec![1.0],
        ..Intent::default()
    };
    let plan = plan(&intent);
    assert_eq!(
        plan.refused[0].reason,
        "2 tiers of 64x400G end at 2,048 GPUs with whole ports, 2,049 are wanted"
    );
    // Three tiers of 64 ports end at 64³/4.
    let three = Intent { gpus: 65_536, tiers: vec![3], ..intent.clone() };
    let counts = self::plan(&three).candidates[0].counts.clone();
    assert_eq!((counts.leaves, counts.spines, counts.cores), (2_048, 2_048, 1_024));
    let beyond = self::plan(&Intent { gpus: 65_544, ..three });
    assert!(beyond.refused[0].reason.starts_with("3 tiers of 64x400G end at 65,536 GPUs with whole ports"));
}

/// Switches of 64 ports of 400 Gbps split in two for two planes: 128 ports of 200 Gbps, so two tiers reach four times as far.
#[test]
fn planes_whose_uplinks_are_split_too_reach_four_times_as_far() {
    let base = Intent { tiers: vec![2], planes: vec![2], oversubscription: vec![1.0], ..Intent::default() };
    for (gpus, gbps) in [(4_096, 400), (8_192, 200)] {
        let plan = plan(&Intent { gpus, ..base.clone() });
        let found = &plan.candidates[0];
        assert_eq!(
            (found.counts.gpus, found.spec.uplink),
            (gpus.into(), railtwin_units::Rate::from_gbps(gbps))
        );
    }
    let refused = plan(&Intent { gpus: 8_200, ..base }).refused;
    assert!(
        refused[0].reason.contains("end at 8,192 GPUs with uplinks of 200 Gbps"),
        "{}",
        refused[0].reason
    );
}

/// A scenario can be written of what a preset spells.
#[test]
fn presets_spell_the_same_fabric() {
    for style in [Style::RailOptimised, Style::Clos] {
        let plan = plan(&Intent { style, planes: vec![1], ..Intent::default() });
        assert!(!plan.candidates.is_empty());
        for one in &plan.candidates {
            let preset = one.preset().unwrap_or_else(|| panic!("{}", one.combination.label()));
            let fabric = preset.build().unwrap();
            assert_eq!(fabric.switches().len() as u64, one.counts.switches());
            assert_eq!(fabric.hosts().len() as u64, one.counts.hosts);
        }
    }
}

#[test]
fn all_is_json() {
    let plan = plan(&Intent::default());
    let json = serde_json::to_string_pretty(&plan).expect("JSON");
    for key in
        ["\"candidates\"", "\"spine_up\"", "\"assumed_usd\"", "\"to_pods\"", "\"uplink_bps\": 400000000000"]
    {
        assert!(json.contains(key), "{key}");
    }
}

#[test]
fn hosts_beyond_the_ports_are_refused_in_words() {
    let fast = HostModel {
        nic: railtwin_fabric::NicModel { ports: 1, port_capacity: railtwin_units::Rate::from_gbps(800) },
        ..HostModel::grand_teton()
    };
    let refused = plan(&Intent { host: fast, ..Intent::default() }).refused;
    assert!(refused.iter().any(|one| one.reason.contains("does not divide a switch port of")));
    let named = plan(&Intent { switches: vec!["big".to_owned()], ..Intent::default() }).refused;
    assert!(named[0].reason.contains("is no part of the catalog"));
    let one = plan(&Intent { tiers: vec![1], gpus: 8, ..Intent::default() }).refused;
    assert!(one[0].reason.contains("each rail with itself"));
    let rack = plan(&Intent { tiers: vec![1], gpus: 64, style: Style::Clos, ..Intent::default() });
    assert_eq!(rack.candidates[0].counts.switches(), 1);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about time")]
fn a_hundred_thousand_gpus_take_less_than_five_seconds() {
    let start = Instant::now();
    let switches = ["64x400G", "64x800G", "128x400G"].map(str::to_owned).to_vec();
    let plan = plan(&Intent { gpus: 100_000, switches, planes: vec![1, 2, 4], ..Intent::default() });
    assert!(plan.candidates.len() >= 4);
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    println!("{} candidates of 100,000 GPUs in {:?}", plan.candidates.len(), start.elapsed());
}

/// A fabric of the limit exists and none of one host more, for cables of the rate that the refusal names.
#[test]
fn tiers_end_where_the_refusal_says() {
    let mut judged = 0;
    for (style, switch) in
        [(Style::RailOptimised, "64x400G"), (Style::Clos, "32x800G"), (Style::RailOptimised, "16x800G")]
    {
        for (tiers, gbps) in [(1, 400), (2, 400), (2, 200), (2, 100), (3, 400)] {
            for (planes, tors, ratio) in [(1, 1, 1.0), (2, 1, 1.0), (1, 2, 2.0), (4, 1, 1.5)] {
                let intent = Intent {
                    style,
                    gpus: 4_000_000,
                    switches: vec![switch.to_owned()],
                    tiers: vec![tiers],
                    planes: vec![planes],
                    tors: vec![tors],
                    oversubscription: vec![ratio],
                    uplink: Some(railtwin_units::Rate::from_gbps(gbps)),
                    ..Intent::default()
                };
                let reason = plan(&intent).refused[0].reason.clone();
                let Some((_, rest)) = reason.split_once("at ").filter(|_| reason.contains(" end")) else {
                    continue;
                };
                let limit: u32 = rest.split(' ').next().unwrap().replace(',', "").parse().unwrap();
                let carries = |gpus: u32| plan(&Intent { gpus, ..intent.clone() }).candidates.len() == 1;
                assert!(carries(limit) && !carries(limit + 1), "{style} {switch}: {reason}");
                judged += 1;
            }
        }
    }
    assert!(judged >= 40, "{judged}");
}

/// Where switches split their ports, two tiers of whole ports are not the end, and the refusal does not say so.
#[test]
fn a_limit_of_whole_ports_is_named_as_one() {
    let whole = Intent {
        tiers: vec![2],
        planes: vec![1],
        oversubscription: vec![1.0],
        gpus: 4_096,
        ..Intent::default()
    };
    let refused = &plan(&whole).refused[0].reason;
    assert!(refused.contains("2,048 GPUs with whole ports"), "{refused}");
    let split = Intent { uplink: Some(railtwin_units::Rate::from_gbps(200)), ..whole };
    assert_eq!(plan(&split).candidates[0].counts.gpus, 4_096);
}

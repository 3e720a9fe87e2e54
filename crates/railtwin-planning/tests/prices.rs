//! Prices of designs: each part is in the bill, and of the scope that it is bought for.
use railtwin_catalog::{BillScope, Catalog};
use railtwin_fabric::Frontend;
use railtwin_fabric::frontend::Outside;
use railtwin_fabric::preset::{Hpn, Jupiter, Layout, Mesh};
use railtwin_planning::intent::FabricCandidate;
use railtwin_units::Rate;

fn priced(preset: &dyn Layout) -> FabricCandidate {
    FabricCandidate::of_design(
        preset.spec().expect("a preset of this test can be built"),
        &Catalog::builtin(),
    )
}

fn count(candidate: &FabricCandidate, role: &str) -> u64 {
    candidate.bill.lines.iter().filter(|line| line.role == role).map(|line| line.count).sum()
}

/// A bundle of 3 cables for each of 8 x 7 / 2 pairs of leaves.
#[test]
fn cables_between_peers_are_in_the_price() {
    let mesh = |parallel| priced(&Mesh { parallel, ..Mesh::default() });
    let (one, three) = (mesh(1), mesh(3));
    assert_eq!((count(&one, "peer cable"), count(&three, "peer cable")), (28, 3 * 28));
    let media = Catalog::builtin().media(Rate::from_gbps(400), three.lengths.leaf_spine_m).unwrap();
    let more = 2.0 * 28.0 * media.price().usd;
    assert!((three.price().usd - one.price().usd - more).abs() < 1e-3);
    let direct = priced(&Jupiter { blocks: 5, uplinks: 8, direct: true, ..Jupiter::default() });
    assert_eq!(count(&direct, "peer cable"), 10 * 8 * 2);
}

#[test]
fn backup_hosts_are_lines_beside_the_network() {
    let spares = |spare| priced(&Hpn { segments: Some(2), spare_hosts: Some(spare), ..Hpn::default() });
    let (none, eight) = (spares(0), spares(8));
    assert_eq!(none.price(), eight.price());
    assert_eq!((count(&eight, "spare NIC"), count(&eight, "spare access cable")), (2 * 8 * 8, 2 * 8 * 16));
    let share = eight.bill.of_scope(BillScope::Spare).map(|line| line.price.usd).sum::<f64>();
    assert!(share > 0.0 && (eight.bill.price().usd - eight.price().usd - share).abs() < 1e-3);
}

/// The frontend of two segments of HPN: five sets of two leaves under 32 spines, a NIC of two ports in each host.
#[test]
fn the_frontend_of_a_fabric_is_lines_of_its_own() {
    let catalog = Catalog::builtin();
    let spec = Hpn { segments: Some(2), ..Hpn::default() }.spec().unwrap();
    let mut candidate = FabricCandidate::of_design(spec.clone(), &catalog);
    let before = candidate.price();
    assert!(candidate.notes.iter().any(|note| note.contains("frontend")), "{:?}", candidate.notes);
    let fabric = Outside { frontend: Some(Frontend::default()), storage: None }.build(&spec).unwrap();
    candidate.add_frontend(&fabric, &catalog);
    assert!(candidate.notes.iter().all(|note| !note.contains("frontend")), "{:?}", candidate.notes);
    assert_eq!((count(&candidate, "frontend leaf"), count(&candidate, "frontend spine")), (10, 32));
    assert_eq!((count(&candidate, "frontend NIC"), count(&candidate, "frontend access cable")), (272, 544));
    assert_eq!(count(&candidate, "frontend leaf-spine cable"), 10 * 32);
    assert!(candidate.price() == before && candidate.bill.price().usd > before.usd);
    assert!(candidate.bill_text().contains("frontend leaf"));
}

/// Leaves of 6.4 Tbps are not priced as the chassis that a spine block of 208 Tbps needs.
#[test]
fn each_tier_has_the_cheapest_switch_that_holds_it() {
    let jupiter = priced(&Jupiter::default());
    let part = |role: &str| jupiter.bill.lines.iter().find(|line| line.role == role).unwrap().part.clone();
    assert_ne!(part("leaf"), part("core"));
    let catalog = Catalog::builtin();
    let capacity =
        |role: &str| catalog.part(railtwin_catalog::PartKind::Switch, &part(role)).unwrap().capacity();
    for (role, tbps) in [("leaf", 6_400), ("spine", 122_400), ("core", 208_000)] {
        assert!(capacity(role) >= Rate::from_gbps(tbps), "{role}");
    }
}

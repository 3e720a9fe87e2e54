//! Positions, lengths and parts of whole fabrics.
use std::collections::BTreeMap;

use railtwin_cabling::schedule::length_class_m;
use railtwin_cabling::{CableSchedule, FloorPlan, FrontendPlace, LeafPlace, ScheduleSummary};
use railtwin_catalog::{Catalog, Medium};
use railtwin_fabric::preset::{Hpn, Layout};
use railtwin_fabric::{CableClass, Fabric, Frontend, Outside, Storage};

use crate::maps::design;

/// A small pod of HPN: as default, with fewer segments.
fn small() -> Hpn {
    Hpn { segments: Some(2), ..Hpn::default() }
}

fn fabric(hpn: &Hpn, outside: &Outside) -> Fabric {
    outside.build(&hpn.spec().expect("a spec")).expect("a fabric")
}

fn schedule(fabric: &Fabric, site: &FloorPlan) -> CableSchedule {
    CableSchedule::of(fabric, site, &Catalog::builtin())
}

fn with_storage() -> Outside {
    Outside { frontend: Some(Frontend::default()), storage: Some(Storage::of(128)) }
}

#[test]
fn lengths_are_rounded_up_to_classes() {
    for (metres, class) in
        [(0.2, 0.5), (0.5, 0.5), (3.01, 5.0), (99.0, 100.0), (501.0, 1_000.0), (2_400.0, 3_000.0)]
    {
        assert_eq!(length_class_m(metres), class);
    }
}

#[test]
fn no_two_devices_share_a_rack_unit() {
    let outside = with_storage();
    for leaves in LeafPlace::ALL {
        for buildings in [true, false] {
            let site = FloorPlan { leaves, buildings, ..FloorPlan::default() };
            let schedule = schedule(&fabric(&Hpn { pods: 2, ..small() }, &outside), &site);
            let mut units: BTreeMap<(String, u32), &str> = BTreeMap::new();
            for (device, at) in schedule.list.devices().iter().zip(&schedule.positions) {
                let is_host = device.role.is_some_and(|role| role.is_host());
                let height = if is_host { site.host_units } else { site.switch_units };
                assert!(at.unit >= 1 && at.unit + height - 1 <= site.rack_units, "{} at {at:?}", device.name);
                for unit in at.unit..at.unit + height {
                    let other = units.insert((at.rack_name(), unit), &device.name);
                    assert_eq!(other, None, "{} in unit {unit} of {}", device.name, at.rack_name());
                }
            }
        }
    }
}

#[test]
fn leaves_stand_where_the_site_says() {
    let fabric = fabric(&small(), &Outside::default());
    let mean = |leaves| {
        let schedule = schedule(&fabric, &FloorPlan { leaves, ..FloorPlan::default() });
        let access = schedule.cables.iter().filter(|cable| cable.class == CableClass::Access);
        let metres: Vec<f64> = access.map(|cable| cable.routed_m).collect();
        metres.iter().sum::<f64>() / metres.len() as f64
    };
    let (middle, end) = (mean(LeafPlace::MiddleOfRow), mean(LeafPlace::EndOfRow));
    println!("mean access cable: {middle:.1} m from the middle of rows, {end:.1} m from their ends");
    assert!(middle < end);
}

/// HPN section 10: all fibres of a pod are under 100 m, so they are multimode.
#[test]
fn a_pod_is_multimode() {
    let schedule = schedule(
        &fabric(&Hpn::default(), &Outside::default()),
        &FloorPlan { buildings: false, ..FloorPlan::default() },
    );
    let summary = schedule.summary();
    let by_medium = media(&summary);
    println!("{} cables, longest {:.1} m: {by_medium:?}", schedule.cables.len(), summary.longest_inside_m);
    assert_eq!(schedule.cables.len(), 47_040);
    assert!(summary.longest_inside_m < 100.0);
    assert!(summary.without_part.is_empty() && !by_medium.contains_key("single-mode"), "{by_medium:?}");
    // 70 % less than single-mode.
    let [chosen, single_mode] = schedule.transceiver_prices(&Catalog::builtin());
    println!(
        "transceivers: {:.2} M$ multimode, {:.2} M$ single-mode",
        chosen.usd / 1e6,
        single_mode.usd / 1e6
    );
    assert!((chosen.usd / single_mode.usd - 0.3).abs() < 0.01);
}

fn media(summary: &ScheduleSummary) -> BTreeMap<String, u32> {
    let mut by_medium = BTreeMap::new();
    for ((medium, _), count) in &summary.lengths {
        *by_medium.entry(medium.map_or("none", Medium::name).to_owned()).or_insert(0) += count;
    }
    by_medium
}

/// HPN appendix D: cores, frontend and storage share a building; the paper has 12.9 % of all links cross buildings, without
/// saying which links it counts.
#[test]
fn cables_cross_buildings() {
    let backend = |class| matches!(class, CableClass::Access | CableClass::LeafSpine | CableClass::SpineCore);
    let access = |class| matches!(class, CableClass::Access | CableClass::FrontendAccess);
    for pods in [1, 2] {
        for frontend in FrontendPlace::ALL {
            let site = FloorPlan { frontend, ..FloorPlan::default() };
            let summary =
                schedule(&fabric(&Hpn { pods, ..Hpn::default() }, &with_storage()), &site).summary();
            let all = summary.crossing_share(|_| true);
            let of_backend = summary.crossing_share(backend);
            let between_switches = summary.crossing_share(|class| !access(class));
            let without_frontend_tiers = summary.crossing_share(|class| backend(class) || access(class));
            println!(
                "{pods} pods, frontend {frontend}: of all cables {:.2} % cross, without those between switches of the frontend \
                 {:.2} %, of the backend's {:.2} %, of those between switches {:.2} %; {:?}",
                100.0 * all,
                100.0 * without_frontend_tiers,
                100.0 * of_backend,
                100.0 * between_switches,
                summary.tiers
            );
            // Of 48,000 backend cables of a pod 960 go from its spines to cores; one pod has none.
            let expected = if pods == 1 { 0.0 } else { 0.02 };
            assert!((of_backend - expected).abs() < 1e-9);
            // As the paper lays it out: two ports of 2,040 hosts a pod, and the uplinks of spines.
            if (pods, frontend) == (2, FrontendPlace::Shared) {
                let crossing = f64::from(2 * 2 * 2_040 + 1_920);
                let accesses = f64::from(2 * 2 * 2_040 + 2 * 128);
                assert!((without_frontend_tiers - crossing / (96_000.0 + accesses)).abs() < 1e-9);
                assert!((all - crossing / (96_000.0 + accesses + 2.0 * 4_480.0)).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn schedules_are_cable_lists_with_parts() {
    let list = design("opg-64-collapsed").cables().unwrap_or_else(|error| panic!("{error}"));
    let schedule = CableSchedule::of_list(list, &FloorPlan::default(), &Catalog::builtin())
        .unwrap_or_else(|error| panic!("{error}"));
    let text = schedule.to_csv();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 183);
    assert_eq!(
        (&rows[0][0], &rows[0][1], &rows[0][5], &rows[0][6]),
        ("compute_xpu-001", "be-be0", "conv_leaf-01", "E1/1/1")
    );
    for row in &rows {
        let length: f64 = row[11].strip_suffix(" m").and_then(|metres| metres.parse().ok()).expect("metres");
        let routed: f64 = row[12].parse().expect("metres");
        assert!(length >= routed && routed > 0.0, "{row:?}");
        assert_eq!(
            row[4].is_empty(),
            matches!(&row[13], "copper" | "active-copper" | "active-optical" | ""),
            "{row:?}"
        );
    }
    // BMCs of 1 Gbps and uplinks of 10 Gbps are not in the catalog.
    let summary = schedule.summary();
    assert_eq!(summary.without_part, BTreeMap::from([(1_000_000_000, 17), (10_000_000_000, 4)]));
    let cables: u32 = summary.lengths.values().sum();
    assert_eq!(cables, 183);
}

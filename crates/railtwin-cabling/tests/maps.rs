//! A design of at most 20 lines makes a map cable for cable.
use std::collections::BTreeSet;

use railtwin_cabling::blueprint::{Homing, MeshLinks};
use railtwin_cabling::{Blueprint, PlanRules};
use railtwin_fabric::cable_list::CableList;

use crate::text;

/// The maps with a design.
const MAPS: [&str; 4] = ["opg-64-clos-ro", "opg-128-clos-ro", "opg-64-collapsed", "opg-256-dual-plane"];
/// Lines that a design may have, without blank lines and comments.
const LINES_MAX: usize = 20;

/// Ends of a cable, smaller first: device, interface, role.
type Ends = [(String, String, &'static str); 2];

fn ends(list: &CableList) -> BTreeSet<Ends> {
    let end = |port: u32| {
        let device = &list.devices()[list.device_of(port) as usize];
        let role = device.role.map_or("", |role| role.name());
        (device.name.clone(), list.ports()[port as usize].name.clone(), role)
    };
    let cables = list.cables().iter().map(|cable| {
        let mut ends = cable.ports.map(end);
        ends.sort();
        ends
    });
    cables.collect()
}

/// Cables of a map; columns that number plans and cables are passed over.
fn map(name: &str) -> BTreeSet<Ends> {
    let text = text(&format!("{name}.csv"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|one| one == name).expect(name);
    let sides =
        ["a", "b"].map(|side| ["device", "interface", "role"].map(|of| column(&format!("{side}_{of}"))));
    let end = |row: &csv::StringRecord, [device, interface, role]: [usize; 3]| {
        let role = match &row[role] {
            "server" => "host",
            "leaf" => "leaf",
            "spine" => "spine",
            other => panic!("{name} has a role {other}"),
        };
        (row[device].to_owned(), row[interface].to_owned(), role)
    };
    let cables = reader.records().map(|row| {
        let row = row.expect("a row");
        let mut ends = sides.map(|side| end(&row, side));
        ends.sort();
        ends
    });
    cables.collect()
}

pub(crate) fn design(name: &str) -> Blueprint {
    let file = format!("designs/{name}.toml");
    Blueprint::parse(&file, &text(&file)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn designs_make_their_maps() {
    for name in MAPS {
        let lines = lines(name);
        assert!(lines <= LINES_MAX, "{name} has {lines} lines");
        let made = design(name).cables().unwrap_or_else(|error| panic!("{error}"));
        let (made_ends, map_ends) = (ends(&made), map(name));
        assert_eq!(made_ends.len(), made.cables().len());
        let missing: Vec<&Ends> = map_ends.difference(&made_ends).collect();
        let surplus: Vec<&Ends> = made_ends.difference(&map_ends).collect();
        println!("{name}: {lines} lines, {} cables, difference {missing:?} {surplus:?}", made_ends.len());
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{name}: not made {missing:?}, made beside {surplus:?}"
        );
    }
}

/// A design of at most 20 lines, counted without blank lines and comments.
fn lines(name: &str) -> usize {
    let text = text(&format!("designs/{name}.toml"));
    text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')).count()
}

/// Rows of maps of which the project holds no whole copy: their count and some rows of each.
#[test]
fn designs_make_rows_of_other_maps() {
    let text = text("spot-rows.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut made: BTreeSet<[(String, String); 2]> = BTreeSet::new();
    let mut read = 0;
    for row in reader.records() {
        let row = row.expect("a row");
        let name = &row[0];
        if known.insert(name.to_owned()) {
            let list = design(name).cables().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(list.cables().len(), row[1].parse::<usize>().expect("a count"), "{name}");
            assert!(lines(name) <= LINES_MAX, "{name} has {} lines", lines(name));
            made = ends(&list).into_iter().map(|ends| ends.map(|(device, port, _)| (device, port))).collect();
        }
        let mut ends = [(row[2].to_owned(), row[3].to_owned()), (row[4].to_owned(), row[5].to_owned())];
        ends.sort();
        assert!(made.contains(&ends), "{name} has no cable {ends:?}");
        read += 1;
    }
    assert!(known.len() >= 11 && read >= 60, "{} maps, {read} rows", known.len());
}

#[test]
fn plans_make_what_designs_make() {
    let earlier = PlanRules { same_switch: Homing::Server, mesh_links: MeshLinks::One };
    for (name, rules) in [("opg-64-collapsed", earlier), ("xoc-64-mesh-conv-sh", PlanRules::default())] {
        let file = format!("plans/{name}.yaml");
        let plan =
            Blueprint::parse_plan(&file, &text(&file), &rules).unwrap_or_else(|error| panic!("{error}"));
        let made = ends(&plan.cables().unwrap_or_else(|error| panic!("{error}")));
        let designed = ends(&design(name).cables().unwrap_or_else(|error| panic!("{error}")));
        let difference: Vec<&Ends> = made.symmetric_difference(&designed).collect();
        assert!(difference.is_empty(), "{name}: {difference:?}");
    }
}

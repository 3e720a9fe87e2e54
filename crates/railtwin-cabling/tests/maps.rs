//! A design of at most 20 lines makes a map cable for cable.
use std::collections::BTreeSet;

use railtwin_cabling::Blueprint;
use railtwin_fabric::cable_list::CableList;
use railtwin_formats::parse_cable_list;

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

fn design(name: &str) -> Blueprint {
    let file = format!("designs/{name}.toml");
    Blueprint::parse(&file, &text(&file)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn designs_make_their_maps() {
    for name in MAPS {
        let lines = text(&format!("designs/{name}.toml"));
        let lines = lines.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')).count();
        assert!(lines <= LINES_MAX, "{name} has {lines} lines");
        let made = design(name).cables().unwrap_or_else(|error| panic!("{error}"));
        let file = format!("{name}.csv");
        let map = parse_cable_list(&file, text(&file).as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let (made_ends, map_ends) = (ends(&made), ends(&map));
        assert_eq!(made_ends.len(), made.cables().len());
        let missing: Vec<&Ends> = map_ends.difference(&made_ends).collect();
        let surplus: Vec<&Ends> = made_ends.difference(&map_ends).collect();
        println!("{name}: {lines} lines, {} cables, difference {missing:?} {surplus:?}", made_ends.len());
        assert!(missing.is_empty() && surplus.is_empty(), "{name}: not made {missing:?}, made beside {surplus:?}");
    }
}

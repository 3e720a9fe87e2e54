//! Bills of materials against those that the source of the maps ships.
use railtwin_cabling::{Bom, BomParts};

use crate::maps::design;
use crate::text;

#[test]
fn bills_are_those_of_the_source() {
    let parts =
        BomParts::parse("parts.toml", &text("designs/parts.toml")).unwrap_or_else(|error| panic!("{error}"));
    for name in ["opg-256-dual-plane", "opg-64-clos-ro", "xoc-64-mesh-conv-sh"] {
        let bom = Bom::of(&design(name), &parts).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(bom.to_csv(), text(&format!("{name}-bom.csv")), "{name}");
    }
}

#[test]
fn bills_count_what_other_bills_of_the_source_count() {
    // (design, NICs for GPUs, transceivers at servers, transceivers at switches): bom.csv of opg-128 clos-sh and of
    // xoc-1024 clos-ro.
    let parts =
        BomParts::parse("parts.toml", &text("designs/parts.toml")).unwrap_or_else(|error| panic!("{error}"));
    for (name, counts) in [("opg-128-clos-sh", [128, 160, 328]), ("xoc-1024-clos-ro", [1024, 1280, 1728])] {
        let bom = Bom::of(&design(name), &parts).unwrap_or_else(|error| panic!("{error}"));
        let last: Vec<u32> = bom.rows.iter().rev().take(3).rev().map(|row| row.quantity).collect();
        assert_eq!(last, counts, "{name}");
    }
}

#[test]
fn cables_with_ends_are_counted_at_servers() {
    let design = text("designs/opg-64-clos-ro.toml").replace("200gbase-sr2", "dac");
    let design =
        railtwin_cabling::Blueprint::parse("dac.toml", &design).unwrap_or_else(|error| panic!("{error}"));
    let table = format!(
        "{}\n[part.dac]\nmodel = \"2 m\"\nmanufacturer = \"Generic\"\nmedium = \"DAC\"\n",
        text("designs/parts.toml")
    );
    let parts = BomParts::parse("parts.toml", &table).unwrap_or_else(|error| panic!("{error}"));
    let bom = Bom::of(&design, &parts).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(bom.suppressed_cable_ends, 228);
    assert_eq!(bom.rows.last().map(|row| (row.quantity, row.part.is_cable())), Some((80, true)));
}

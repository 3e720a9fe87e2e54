//! The table, what may be written over it, and the cheapest media.
use proptest::prelude::*;
use railtwin_catalog::{Bill, Catalog, Medium, Part, PartKind};
use railtwin_units::Rate;

fn all(catalog: &Catalog) -> Vec<&Part> {
    PartKind::ALL.into_iter().flat_map(|kind| catalog.parts(kind)).collect()
}

#[test]
fn every_line_of_the_table_has_a_source_or_is_assumed() {
    let catalog = Catalog::builtin();
    let parts = all(&catalog);
    assert!(parts.len() > 50);
    for part in parts {
        assert!(part.source.is_some() || (part.is_usd_assumed && part.is_watts_assumed), "{}", part.name);
    }
}

/// HPN section 10: multimode transceivers cost 70 % less.
#[test]
fn multimode_costs_three_tenths_of_single_mode_whatever_that_costs() {
    for text in ["", "[[optic]]\nname = \"400g-dr4\"\nusd = 777\nsource = \"a quotation\"\n"] {
        let catalog = Catalog::builtin().with(text).unwrap();
        let price = |name| catalog.part(PartKind::Optic, name).unwrap().usd;
        for (multi, single) in [("400g-sr4", "400g-dr4"), ("800g-sr8", "800g-dr8"), ("200g-sr2", "200g-dr4")]
        {
            assert!((price(multi) - 0.3 * price(single)).abs() < 1e-9);
        }
        let sr4 = catalog.part(PartKind::Optic, "400g-sr4").unwrap();
        let quoted = !text.is_empty();
        assert_eq!(sr4.is_usd_assumed, !quoted, "a share of an assumed price is assumed");
    }
}

#[test]
fn the_cheapest_that_reaches_goes_from_copper_to_single_mode() {
    let catalog = Catalog::builtin();
    let medium = |metres| catalog.media(Rate::from_gbps(400), metres).unwrap();
    let found =
        [1.0, 3.0, 5.0, 7.0, 50.0, 100.0, 500.0, 2_000.0, 10_000.0].map(|metres| medium(metres).medium);
    use Medium::{ActiveCopper, Copper, Multimode, SingleMode};
    let expected = [
        Copper,
        Copper,
        ActiveCopper,
        ActiveCopper,
        Multimode,
        Multimode,
        SingleMode,
        SingleMode,
        SingleMode,
    ];
    assert_eq!(found, expected);
    let fibre = medium(50.0);
    assert_eq!(fibre.name(), "400g-sr4, multimode-fibre");
    assert!((fibre.price().usd - (2.0 * 600.0 + 40.0 + 75.0)).abs() < 1e-9);
    assert!((fibre.power().watts - 16.0).abs() < 1e-9);
    assert_eq!(medium(100.0).name(), "400g-sr8, multimode-fibre");
    let error = catalog.media(Rate::from_gbps(400), 20_000.0).unwrap_err();
    assert_eq!(error.longest_m, Some(10_000.0));
    assert_eq!(catalog.media(Rate::from_gbps(7), 1.0).unwrap_err().longest_m, None);
}

#[test]
fn a_line_written_over_another_changes_its_keys_alone() {
    let text = "[[switch]]\nname = \"ethernet-64x400g\"\nusd = 21_000\nassumed = [\"watts\"]\nsource = \"a quotation\"\n";
    let catalog = Catalog::builtin().with(text).unwrap();
    let switch = catalog.switch_of(64, Rate::from_gbps(400)).unwrap();
    assert_eq!((switch.name.as_str(), switch.usd, switch.watts), ("ethernet-64x400g", 21_000.0, 800.0));
    let builtin = Catalog::builtin();
    let sourced = builtin.switch_of(64, Rate::from_gbps(400)).unwrap();
    assert_eq!(sourced.name, "ndr-64x400g", "a price with a source comes before a lower one that is assumed");
    assert!(!switch.is_usd_assumed && switch.is_watts_assumed);
    let mut bill = Bill::default();
    bill.add("leaf", switch, 4);
    bill.add_links("access", &catalog.media(Rate::from_gbps(400), 2.0).unwrap(), 10);
    assert_eq!(bill.price().usd, 84_000.0 + 10.0 * 170.0);
    assert_eq!(bill.price().assumed_usd, 1_700.0);
    assert_eq!(bill.power().assumed_share(), 1.0);
}

#[test]
fn what_a_line_may_not_say_is_an_error_with_its_place() {
    let cases = [
        ("[[switch]]\nname = \"a\"\nsource = \"b\"\nrate = \"1 Gbps\"\n", (1, "ports", "")),
        ("\n[[switch]]\nname = \"a\"\nports = 64\n", (2, "source", "")),
        ("[[switch]]\nname = \"a\"\nassumed = false\nports = 1\nrate = \"1 Gbps\"", (1, "source", "")),
        ("[[switch]]\nname = \"a\"\nassumed = true\nports = 1.5", (4, "ports", "1.5")),
        ("[[switch]]\nname = \"a\"\nassumed = true\nusd = \"x\"", (4, "usd", "\"x\"")),
        ("[[switch]]\nname = \"a\"\nassumed = true\nusd = -1", (4, "usd", "-1")),
        ("[[switch]]\nname = \"a\"\nassumed = true\nusd = nan", (4, "usd", "nan")),
        ("[[switch]]\nname = \"a\"\nassumed = true\nreach_m = 1", (4, "reach_m", "1")),
        ("[[optic]]\nname = \"a\"\nassumed = true\nmedium = \"copper\"", (4, "medium", "\"copper\"")),
        ("[[optic]]\nname = \"400g-sr4\"\nassumed = true\nshare_of = \"q\"", (1, "share_of", "\"q\"")),
        ("[[host]]\nname = \"ethernet-64x400g\"\nassumed = true", (1, "name", "\"ethernet-64x400g\"")),
        ("[[swich]]\nname = \"a\"", (1, "swich", "")),
        ("[switch]\nname = \"a\"", (1, "switch", "")),
        ("[[switch]\n", (1, "", "")),
    ];
    for (text, expected) in cases {
        let error = Catalog::builtin().with(text).unwrap_err();
        assert_eq!((error.line, error.key.as_str(), error.value.as_str()), expected, "{error}");
        assert!(!error.accepted.is_empty());
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(cut in 0usize..9_000, junk in "\\PC{0,12}") {
        let table = Catalog::builtin_text();
        let cut = (0..=cut.min(table.len())).rev().find(|&at| table.is_char_boundary(at)).unwrap_or(0);
        let _ = Catalog::default().with(&format!("{}{junk}", &table[..cut]));
        let _ = Catalog::builtin().with(&junk);
    }

    #[test]
    fn longer_links_never_cost_less(
        rate in prop::sample::select(vec![100u64, 200, 400, 800]),
        a in 0.5f64..10_000.0,
        b in 0.5f64..10_000.0,
    ) {
        let catalog = Catalog::builtin();
        let price = |metres| catalog.media(Rate::from_gbps(rate), metres).map(|media| media.price().usd);
        if let (Ok(short), Ok(long)) = (price(a.min(b)), price(a.max(b))) {
            prop_assert!(short <= long + 1e-9);
        }
    }
}

//! Designs, plans, parts and sites that are wrong: refused with place, never a panic.
use proptest::prelude::*;
use railtwin_cabling::{Blueprint, BomParts, FloorPlan, PlanRules};

use crate::text;

/// A design that is right.
const RIGHT: &str = "[blueprint]\nname = \"two\"\n[leaf]\nleaf = { fabric = \"be\", count = 2, ports = \"1-32 as 2x400\", \
                     uplink = \"33-64 as 1x800\" }\n[spine]\nspine = { fabric = \"be\", downlink = \"1-64 as 1x800\" }\n\
                     [server]\ncompute = { count = 16, links = [\"be{0-7} to leaf by rail\"] }\n";

fn refusal(text: &str) -> String {
    match Blueprint::parse("two.toml", text).and_then(|design| design.cables()) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn refusals_name_line_key_and_remedy() {
    assert!(Blueprint::parse("two.toml", RIGHT).is_ok_and(|design| design.cables().is_ok()));
    for (from, to, said) in [
        ("name", "nam", "two.toml:1: blueprint.name: is missing"),
        (
            "count = 2,",
            "cout = 2,",
            "two.toml:4: leaf.leaf.cout: is no key of this table; the keys are fabric, count",
        ),
        (
            "count = 2,",
            "count = 0,",
            "two.toml:4: leaf.leaf.count: is out of range; write a whole number from 1",
        ),
        ("2x400", "2by400", "two.toml:4: leaf.leaf.ports: `2by400` is no breakout"),
        ("1-32 as", "32-1 as", "`32-1` is no range of ports"),
        (
            "to leaf",
            "to lea",
            "two.toml:8: server.compute.links: `lea` is no class of switches; the classes are leaf, spine",
        ),
        ("to leaf", "to leaf.x", "`x` is no zone of `leaf`; name one of its zones: ports"),
        ("by rail", "by luck", "`by luck` is no rule; write one of port, rail, server, block"),
        ("{0-7}", "{7-0}", "`{7-0}` is no group"),
        (
            "count = 16",
            "count = 17",
            "leaf-01: zone `ports` has 64 ports, and compute-017 finds none left; add ports",
        ),
        ("33-64", "1-32", "leaf-01: port 1 is in use in zones `ports` and `uplink`"),
        ("1-64 as", "1-63 as", "spine-01: zone `downlink` has 63 ports, and leaf-02 finds none left"),
        ("[spine]", "[spin]", "two.toml:5: spin: is no key of this table"),
        ("[server]", "[server", "two.toml:7: is not TOML"),
    ] {
        let error = refusal(&RIGHT.replace(from, to));
        assert!(error.contains(said), "{from} -> {to}: {error}");
    }
}

#[test]
fn sites_refuse_what_no_rack_holds() {
    let site = |text: &str| FloorPlan::parse("site.toml", text);
    let found = site("[site]\nleaves = \"in-rack\"\nrow_pitch_m = 3\n").expect("a site");
    assert_eq!((found.row_pitch_m, found.hosts_per_rack), (3.0, FloorPlan::default().hosts_per_rack));
    for (text, said) in [
        ("[site]\nhosts_per_rack = 6\n", "site.hosts_per_rack: 6 of 8 units do not fit; a rack has 42 units"),
        ("[site]\nleaves = \"roof\"\n", "`roof` is none; write one of in-rack, middle-of-row, end-of-row"),
        ("[site]\nslack_m = -1\n", "site.toml:2: site.slack_m: is out of range"),
        ("[sites]\n", "site.toml:1: sites: is no key"),
    ] {
        let error = site(text).expect_err(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Text with a few bytes changed.
fn damaged(text: &str, edits: &[(usize, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, byte) in edits {
        let at = at % bytes.len();
        bytes[at] = byte;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_text_never_panics(edits in prop::collection::vec((any::<usize>(), 32_u8..127), 1..6)) {
        let design = damaged(RIGHT, &edits);
        let _ = Blueprint::parse("x", &design).and_then(|design| design.cables());
        let plan = damaged(&text("plans/xoc-64-mesh-conv-sh.yaml"), &edits);
        let _ = Blueprint::parse_plan("x", &plan, &PlanRules::default()).and_then(|design| design.cables());
        let _ = BomParts::parse("x", &damaged("[part.a]\nmodel = \"m\"\nmanufacturer = \"f\"\n", &edits));
        let _ = FloorPlan::parse("x", &damaged("[site]\nhosts_per_rack = 4\nleaves = \"in-rack\"\n", &edits));
    }
}

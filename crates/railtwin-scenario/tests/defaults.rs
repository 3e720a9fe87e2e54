//! What a scenario says nothing of is what a case made by hand has.
#![allow(clippy::unwrap_used, reason = "a test")]
use std::sync::Arc;

use railtwin_engine::Case;
use railtwin_scenario::{Scenario, Source};

#[test]
fn a_scenario_without_sections_is_a_new_case() {
    let text = "schema = 1\nname = \"case\"\nfabric = { preset = \"leaf-spine\", leaves = 2, host = { caps = \"none\" } }\n\
                job = [{ hosts = 2, collective = { kind = \"all-reduce\", bytes = \"1 MB\" } }]\n";
    let source = Source { file: "s.toml", text };
    let scenario = Scenario::parse(source.file, text).unwrap();
    let case = scenario.resolve(source, &|path| Err(format!("{path} is not read"))).unwrap();
    let wire_share = case.packets.keys.wire_share();
    let new = Case::new(Arc::clone(&case.fabric), case.work.clone(), case.placements.clone());
    let mut new = Case { wire_share, ..new };
    // Which jobs a collective library runs only a scenario says.
    new.packets.libraries.clone_from(&case.packets.libraries);
    assert_eq!(format!("{case:?}"), format!("{new:?}"));
}

//! Laws: no text panics, what is written reads back, a fabric within the bounds of its keys never overflows.
#![allow(clippy::unwrap_used, clippy::result_large_err, reason = "a test")]
use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use railtwin_scenario::{FabricSpec, Scenario, SettingsText, expand, keys};
use railtwin_units::keys::{Kind, Table};
use toml::Value;

use crate::lots::{scenario, section};

/// A change of one place: delete, double, or replace by a piece that means something in a scenario.
fn mutate(text: &str, at: usize, length: usize, piece: &str) -> String {
    let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
    let (start, end) = (floor(at), floor(at.saturating_add(length)));
    format!("{}{piece}{}", &text[..start], &text[end..])
}

const PIECES: [&str; 16] = [
    "",
    "[",
    "]",
    "[]",
    "{}",
    "\"",
    "\n",
    "= [1, 2]",
    "[[job]]\n",
    "[expect]\n",
    "-1",
    "9e99",
    "nan",
    "[[1], [2]]",
    "\"1 s\"",
    "é",
];

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = expand("x", &text);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = expand("x", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn what_is_written_reads_back(scenario in scenario()) {
        let text = scenario.to_toml();
        let again = Scenario::parse("x", &text);
        prop_assert_eq!(again.as_ref(), Ok(&scenario), "{}", text);
        prop_assert_eq!(again.unwrap().to_toml(), text);
    }

    #[test]
    fn no_change_of_a_good_scenario_panics(
        scenario in scenario(),
        changes in prop::collection::vec((0usize..2000, 0usize..40, prop::sample::select(PIECES.to_vec())), 1..4),
    ) {
        let mut text = scenario.to_toml();
        for (at, length, piece) in changes {
            text = mutate(&text, at, length, piece);
        }
        if let Err(error) = expand("x", &text) {
            prop_assert!(!error.problems.is_empty());
            for problem in &error.problems {
                prop_assert!(text.get(problem.span.clone()).is_some());
                prop_assert!(problem.line >= 1 && problem.column >= 1);
            }
        }
    }

    /// Spelling out and checking overflows nowhere; building may be refused but is not tried: it is large.
    #[test]
    fn no_fabric_within_the_bounds_of_its_keys_overflows(scenario in scenario()) {
        if let FabricSpec::Preset(preset) = scenario.fabric {
            let _ = preset.layout().spec().and_then(|spec| spec.check());
        }
    }

    #[test]
    fn no_setting_panics(key in "\\PC{0,12}", value in "\\PC{0,12}") {
        let mut settings = SettingsText::new("hpn");
        settings.set(&key, &value);
        let _ = settings.fabric("x");
    }
}

/// The places of all keys below a table, as `title key`.
fn all_keys(table: &'static Table, found: &mut BTreeSet<String>) {
    let keys = table.keys.iter().chain(table.variants().flat_map(|variant| variant.keys));
    for key in keys {
        if found.insert(format!("{} {}", table.title, key.name)) {
            key.kind.table().into_iter().for_each(|inner| all_keys(inner, found));
        }
    }
}

/// The places of the keys that a value has.
fn written(table: &'static Table, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| written(table, item, found)),
        Value::Table(entries) => {
            for (name, value) in entries {
                let Some(key) = table.any_key(name) else { continue };
                found.insert(format!("{} {name}", table.title));
                match (&key.kind, value) {
                    (Kind::Named(inner), Value::Table(figures)) => {
                        figures.values().for_each(|figure| written(inner, figure, found));
                    }
                    _ => key.kind.table().into_iter().for_each(|inner| written(inner, value, found)),
                }
            }
        }
        _ => {}
    }
}

/// A declaration that no text can say is none.
#[test]
fn every_key_can_be_written() {
    let mut lot = TestRunner::deterministic();
    let mut missing = BTreeSet::new();
    for key in keys().keys {
        let mut wanted = BTreeSet::from([format!("{} {}", keys().title, key.name)]);
        key.kind.table().into_iter().for_each(|table| all_keys(table, &mut wanted));
        let one = section(key);
        for _ in 0..20_000 {
            let value = one.new_tree(&mut lot).unwrap().current();
            let body = toml::Table::from_iter([(key.name.to_owned(), value)]);
            let mut found = BTreeSet::new();
            written(keys(), &Value::Table(body), &mut found);
            wanted.retain(|key| !found.contains(key));
            if wanted.is_empty() {
                break;
            }
        }
        missing.append(&mut wanted);
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

//! Keys in which the scenarios of two runs differ: what a comparison compares.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_scenario::Scenario;

/// Keys that are named in a line; others are counted.
const NAMED: usize = 3;
/// Keys that no result depends on, and the seed, which is told apart.
const ASIDE: [&str; 5] = ["schema", "name", "description", "expect", "seed"];

/// Two scenarios against each other.
pub(super) struct Scenarios {
    /// Keys with their values in both; none where a scenario lacks the key.
    keys: Vec<(String, [Option<String>; 2])>,
    /// Seeds of both.
    pub(super) seeds: [u64; 2],
}

impl Scenarios {
    pub(super) fn of(scenarios: [&Scenario; 2]) -> Self {
        let [a, b] = scenarios.map(flat);
        let all: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        // A section that one of them lacks is one difference.
        let has =
            |of: &BTreeMap<String, String>, key: &str| of.keys().any(|own| section(own) == section(key));
        let whole = |key: &str| has(&a, key) && has(&b, key);
        let named: BTreeSet<&str> =
            all.iter().map(|key| if whole(key) { *key } else { section(key) }).collect();
        let value = |of: &BTreeMap<String, String>, key: &str| match whole(key) {
            true => of.get(key).cloned(),
            false => has(of, key).then(String::new),
        };
        let values = named.into_iter().map(|key| (key.to_owned(), [value(&a, key), value(&b, key)]));
        let keys = values.filter(|(_, [a, b])| a != b).collect();
        Self { keys, seeds: scenarios.map(|scenario| scenario.seed) }
    }

    /// Whether nothing but the seed differs.
    pub(super) fn differ_by_seed_alone(&self) -> bool {
        self.keys.is_empty() && self.seeds[0] != self.seeds[1]
    }

    /// The keys that differ, as a clause, by the names of the runs; none where none does.
    pub(super) fn clause(&self, names: [&str; 2]) -> Option<String> {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "its default".to_owned());
        let text = |(key, values): &(String, [Option<String>; 2])| match values {
            [None, Some(only)] if only.is_empty() => format!("{key} (only in {})", names[1]),
            [Some(only), None] if only.is_empty() => format!("{key} (only in {})", names[0]),
            [a, b] => format!("{key} ({} instead of {})", word(b), word(a)),
        };
        let mut keys: Vec<String> = self.keys.iter().map(text).collect();
        let [a, b] = self.seeds;
        if a != b {
            keys.insert(0, format!("seed ({b} instead of {a})"));
        }
        if keys.is_empty() {
            return None;
        }
        let more = keys.len().saturating_sub(NAMED);
        keys.truncate(NAMED);
        let more = match more {
            0 => String::new(),
            1 => " and 1 more key".to_owned(),
            more => format!(" and {more} more keys"),
        };
        Some(format!("scenarios differ in {}{more}", keys.join(", ")))
    }
}

/// All keys of a scenario with their values as they are written, without those of [`ASIDE`].
fn flat(scenario: &Scenario) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let table: toml::Table = scenario.to_toml().parse().unwrap_or_default();
    for (key, value) in table.iter().filter(|(key, _)| !ASIDE.contains(&key.as_str())) {
        walk(key.clone(), value, &mut all);
    }
    all
}

/// The section of a key.
fn section(key: &str) -> &str {
    key.split(['.', '[']).next().unwrap_or(key)
}

fn walk(key: String, value: &toml::Value, all: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                walk(format!("{key}.{name}"), value, all);
            }
        }
        toml::Value::Array(rows) if rows.iter().any(toml::Value::is_table) => {
            for (row, value) in rows.iter().enumerate() {
                walk(format!("{key}[{row}]"), value, all);
            }
        }
        toml::Value::String(text) => {
            all.insert(key, text.clone());
        }
        other => {
            all.insert(key, other.to_string());
        }
    }
}

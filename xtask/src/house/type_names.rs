//! Public type names that several crates declare: a reader meets one word for different things.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{Source, words_of};

/// Crates that may declare the same public type name.
const CRATES: usize = 2;
/// A name that every crate may have.
const SPARED: &str = "Error";

/// Returns each public type name that more than [`CRATES`] crates declare, with these crates.
pub fn repeated(sources: &[Source]) -> Vec<(String, Vec<String>)> {
    let mut crates: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_of_house()) {
        for name in source.code.lines().filter_map(public_type) {
            crates.entry(name).or_default().insert(&source.crate_name);
        }
    }
    let repeated = crates.into_iter().filter(|(name, crates)| *name != SPARED && crates.len() > CRATES);
    repeated
        .map(|(name, crates)| (name.to_owned(), crates.into_iter().map(str::to_owned).collect()))
        .collect()
}

fn public_type(line: &str) -> Option<&str> {
    let mut words = words_of(line.trim_start().strip_prefix("pub ")?);
    let is_type = matches!(words.next()?, "struct" | "enum" | "trait" | "type" | "union");
    // A macro names its type by a parameter.
    words.next().filter(|name| is_type && name.starts_with(|first: char| first.is_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::public_type;

    #[test]
    fn only_types_for_other_crates_count() {
        assert_eq!(public_type("    pub struct Held<'a> {"), Some("Held"));
        assert_eq!(public_type("pub trait Engine: Send {"), Some("Engine"));
        assert_eq!(public_type("pub(crate) struct Held;"), None);
        assert_eq!(public_type("pub fn held() {}"), None);
    }
}

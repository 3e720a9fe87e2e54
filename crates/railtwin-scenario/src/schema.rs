//! How the keys of a scenario are described: one description serves the checks, the sweeps and the JSON Schema.

/// What a key's value may be.
#[derive(Debug)]
pub(crate) enum Kind {
    /// The version of the schema.
    Version,
    /// Any text but the empty one.
    Text,
    /// Lower-case letters, digits and `-`.
    Name,
    Choice(&'static [&'static str]),
    Bool,
    /// A whole number in a closed range.
    Whole(i64, i64),
    /// A number above the first and up to the second.
    Share(f64, f64),
    Time,
    /// A size above zero, or from zero.
    Size {
        zero: bool,
    },
    /// A rate above zero, or from zero.
    Rate {
        zero: bool,
    },
    /// A number, or a time, size or rate as text.
    Amount,
    /// A list of at least one.
    List(&'static Kind),
    /// A table that stands for one value.
    Value(&'static Table),
    /// One of these texts, or a table, with an example of it for messages.
    ChoiceOrValue(&'static [&'static str], &'static Table, &'static str),
    /// `[name]`
    Section(&'static Table),
    /// `[[name]]`
    Sections(&'static Table),
    /// A table whose keys are names, each with one such table or a list of them.
    Named(&'static Table),
    /// A table whose keys are keys of the scenario, each with one value.
    Conditions,
}

/// A key of a table.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// Whether a list in its place is an axis of a sweep.
    pub(crate) axis: bool,
    pub(crate) about: &'static str,
}

/// A table: its keys, and more keys that depend on one of them.
#[derive(Debug)]
pub(crate) struct Table {
    /// How messages call it.
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [Key],
    pub(crate) variants: &'static [Variant],
    /// Keys of which there is one.
    pub(crate) exactly_one: &'static [&'static str],
    /// Keys of which there is one at most.
    pub(crate) at_most_one: &'static [&'static str],
}

/// Keys that a table has while `key` is there (with `value`, if it says one).
#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) key: &'static str,
    pub(crate) value: Option<&'static str>,
    pub(crate) keys: &'static [Key],
}

impl Variant {
    /// How messages call it.
    pub(crate) fn title(&self) -> String {
        match self.value {
            Some(value) => format!("{} `{value}`", self.key),
            None => format!("`{}`", self.key),
        }
    }
}

impl Table {
    pub(crate) const EMPTY: Self =
        Self { title: "", keys: &[], variants: &[], exactly_one: &[], at_most_one: &[] };

    /// The key, in any variant: keys of one name are of one kind in all of them, or single values in all of them.
    pub(crate) fn any_key(&self, name: &str) -> Option<&'static Key> {
        let mut keys = self.keys.iter().chain(self.variants.iter().flat_map(|v| v.keys));
        keys.find(|key| key.name == name)
    }
}

pub(crate) const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, required: false, axis: true, about }
}

impl Key {
    pub(crate) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// A key that a sweep cannot vary.
    pub(crate) const fn fixed(self) -> Self {
        Self { axis: false, ..self }
    }
}

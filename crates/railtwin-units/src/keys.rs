//! How keys are declared: one declaration of a section serves its type, its default, the checks, the sweeps, the JSON
//! Schema and the reference.
//!
//! A struct that [`section!`](crate::section) declares *is* a section of a scenario, wherever it stands; an enum that
//! [`variants!`](crate::variants) declares is a table whose keys depend on one of them.
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};

pub use crate::group::{Group, Names};
#[doc(hidden)]
pub use crate::group::{group, next_value, read_group, write_group};
use crate::quantity::{Bytes, Rate, SimTime};

/// What a key's value may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// The version of the schema.
    Version,
    /// Any text but the empty one.
    Text,
    /// Lower-case letters, digits and `-`.
    Name,
    /// A text like this one: as long and longer numbers, in digits or in pairs of hexadecimal digits, and what joins them.
    Like(TextForm),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// True or false.
    Bool,
    /// A whole number in a closed range.
    Whole(i64, i64),
    /// A number above the first and up to the second.
    Share(f64, f64),
    /// A number from zero to this.
    UpTo(f64),
    /// A time with its unit.
    Time,
    /// A time above zero.
    Span,
    /// A time with its unit, or a range of times.
    TimeRange,
    /// A size above zero, or from zero.
    Size {
        /// Whether zero is one.
        zero: bool,
    },
    /// A size in a closed range, bytes.
    SizeIn(u64, u64),
    /// A rate above zero, or from zero.
    Rate {
        /// Whether zero is one.
        zero: bool,
    },
    /// A number, or a time, size or rate as text.
    Amount,
    /// A list of at least one.
    List(&'static Kind),
    /// A list that may be empty, where that says something.
    AnyList(&'static Kind),
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

impl Kind {
    /// The table that a value holds.
    pub const fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Section(table)
            | Self::Sections(table)
            | Self::Value(table)
            | Self::Named(table)
            | Self::ChoiceOrValue(_, table, _) => Some(table),
            Self::List(item) | Self::AnyList(item) => item.table(),
            _ => None,
        }
    }
}

/// Which engine reads a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// Every one, or what is before and after them.
    All,
    /// The flow-level engine alone.
    Flow,
    /// The packet-level engine alone.
    Packet,
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// How texts call it.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether it has to be there.
    pub required: bool,
    /// Whether a list in its place is an axis of a sweep.
    pub axis: bool,
    /// Whether the canonical text leaves it out where it is the default.
    pub sparse: bool,
    /// Which engine reads it, and what is in it.
    pub reader: Reader,
    /// What it is, in sentences.
    pub about: &'static str,
    /// What holds without it, as text, where its declaration says that.
    pub default: Option<fn() -> Option<String>>,
}

/// A table: its keys, and more keys that depend on one of them.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// How messages call it.
    pub title: &'static str,
    /// Keys that are always there.
    pub keys: &'static [Key],
    /// Keys that depend on others, in groups that may stand in several tables.
    pub variants: &'static [&'static [Variant]],
    /// Keys of which there is one.
    pub exactly_one: &'static [&'static str],
    /// Keys of which there is one at most.
    pub at_most_one: &'static [&'static str],
}

/// Keys that a table has while `key` is there (with `value`, if it says one).
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The key that they depend on.
    pub key: &'static str,
    /// Its value; any when none.
    pub value: Option<&'static str>,
    /// The keys.
    pub keys: &'static [Key],
}

impl Variant {
    /// The keys of a table beside its first, which are there with that one.
    ///
    /// # Panics
    /// When there is no key; in a constant, as all tables are, that is an error of the compiler.
    pub const fn beside_first(table: &'static Table) -> Self {
        match table.keys {
            [first, keys @ ..] => Self { key: first.name, value: None, keys },
            [] => panic!("a table has keys"),
        }
    }

    /// How messages call it.
    pub fn title(&self) -> String {
        match self.value {
            Some(value) => format!("{} `{value}`", self.key),
            None => format!("`{}`", self.key),
        }
    }
}

impl Table {
    /// Without a key.
    pub const EMPTY: Self = Self { title: "", keys: &[], variants: &[], exactly_one: &[], at_most_one: &[] };

    /// The key, in any variant: keys of one name are of one kind in all of them, or single values in all of them.
    pub fn any_key(&self, name: &str) -> Option<&'static Key> {
        let mut keys = self.keys.iter().chain(self.variants().flat_map(|variant| variant.keys));
        keys.find(|key| key.name == name)
    }

    /// All variants of all groups.
    pub fn variants(&self) -> impl Iterator<Item = &'static Variant> {
        self.variants.iter().copied().flatten()
    }
}

/// A key that may be missing and that a sweep can vary.
pub const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, required: false, axis: true, sparse: false, reader: Reader::All, about, default: None }
}

impl Key {
    /// The same, and it has to be there.
    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// A key that a sweep cannot vary.
    pub const fn fixed(self) -> Self {
        Self { axis: false, ..self }
    }

    /// A key that the canonical text leaves out where it is the default.
    pub const fn sparse(self) -> Self {
        Self { sparse: true, ..self }
    }

    /// A key that only the flow-level engine reads.
    pub const fn flow(self) -> Self {
        Self { reader: Reader::Flow, ..self }
    }

    /// A key that only the packet-level engine reads.
    pub const fn packet(self) -> Self {
        Self { reader: Reader::Packet, ..self }
    }

    /// What it is and what holds without it, in one sentence or more.
    pub fn help(&self) -> String {
        // Documentation has a blank at the head of each line.
        let about = self.about.trim();
        let long = about.contains("; ") || about.contains(". ");
        let told = match self.default.and_then(|default| default()) {
            Some(default) if long => format!("{about} Default {default}."),
            Some(default) => format!("{}; default {default}.", about.strip_suffix('.').unwrap_or(about)),
            None => about.to_owned(),
        };
        match self.reader {
            Reader::All => told,
            Reader::Flow => format!("{told} Only the flow engine reads it."),
            Reader::Packet => format!("{told} Only the packet engine reads it."),
        }
    }
}

/// Texts of one form.
#[derive(Clone, Copy, Debug)]
pub struct TextForm {
    /// What it is, for messages: `a MAC address`.
    pub what: &'static str,
    /// One of them.
    pub example: &'static str,
    /// All of them, as a regular expression that JSON Schema and Rust understand alike.
    pub pattern: &'static str,
    /// Whether a text is one.
    pub is_one: fn(&str) -> bool,
}

/// A type that is the value of a key.
pub trait Keyed: Serialize + DeserializeOwned {
    /// What its text may be.
    const KIND: Kind;

    /// The text of a value; none where there is nothing to write.
    fn shown(&self) -> Option<String>;

    /// Whether a text leaves the key out.
    fn is_absent(&self) -> bool {
        false
    }

    /// The value of a text where the key stands.
    ///
    /// # Errors
    /// Those of the text.
    fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Self::deserialize(input)
    }
}

/// Several lists of keys as one, of `N` in all.
///
/// # Panics
/// When they are not `N`; in a constant, as all tables are, that is an error of the compiler.
pub const fn joined<const N: usize>(lists: &[&[Key]]) -> [Key; N] {
    let mut all = [key("", Kind::Bool, ""); N];
    let (mut list, mut at) = (0, 0);
    while list < lists.len() {
        let mut row = 0;
        while row < lists[list].len() {
            all[at] = lists[list][row];
            (row, at) = (row + 1, at + 1);
        }
        list += 1;
    }
    assert!(at == N, "as many keys as the lists have");
    all
}

/// How many keys several lists have.
#[doc(hidden)]
pub const fn length(lists: &[&[Key]]) -> usize {
    let (mut list, mut keys) = (0, 0);
    while list < lists.len() {
        keys += lists[list].len();
        list += 1;
    }
    keys
}

/// Whole numbers in a range.
pub const fn whole(range: RangeInclusive<i64>) -> Kind {
    Kind::Whole(*range.start(), *range.end())
}

/// Sizes in a range, bytes.
pub const fn sizes(range: RangeInclusive<u64>) -> Kind {
    Kind::SizeIn(*range.start(), *range.end())
}

/// A table, or the word that says that there is none; with an example of the table for messages.
pub const fn or_none(table: &'static Table, example: &'static str) -> Kind {
    Kind::ChoiceOrValue(&[NONE], table, example)
}

/// What says that a table is not there.
const NONE: &str = "none";

/// A table, or the value of its first key alone, for [`variants!`](crate::variants).
///
/// # Errors
/// Those of the text.
#[doc(hidden)]
pub fn alone_or_table<'de, D, T>(input: D, key: &'static str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Alone<T>(&'static str, PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Alone<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a `{}` or a table", self.0)
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<T, E> {
            T::deserialize(MapDeserializer::new(std::iter::once((self.0, name))))
        }

        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(table))
        }
    }

    input.deserialize_any(Alone(key, PhantomData))
}

macro_rules! keyed {
    ($($type:ty = $kind:expr, $shown:expr;)+) => {
        $(impl Keyed for $type {
            const KIND: Kind = $kind;

            fn shown(&self) -> Option<String> {
                let shown: fn(&$type) -> String = $shown;
                Some(shown(self))
            }
        })+
    };
}

keyed! {
    bool = Kind::Bool, ToString::to_string;
    u32 = Kind::Whole(0, u32::MAX as i64), ToString::to_string;
    u64 = Kind::Whole(0, i64::MAX), ToString::to_string;
    f64 = Kind::Share(0.0, 1.0), ToString::to_string;
    SimTime = Kind::Time, |time| if *time == SimTime::ZERO { "0 s".to_owned() } else { time.exact() };
    Bytes = Kind::Size { zero: false }, |size| size.shortest();
    Rate = Kind::Rate { zero: false }, |rate| rate.exact();
}

/// An empty text is none.
impl Keyed for String {
    const KIND: Kind = Kind::Text;

    fn shown(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.clone())
    }
}

impl<T: Keyed> Keyed for Option<T> {
    const KIND: Kind = T::KIND;

    fn shown(&self) -> Option<String> {
        self.as_ref().and_then(Keyed::shown)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    /// A table that may be absent may also be `"none"`, where its kind says so: see [`or_none`].
    fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct OrNone<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for OrNone<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a table or {NONE:?}")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
                match text {
                    NONE => Ok(None),
                    _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Option<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(table)).map(Some)
            }
        }

        match T::KIND {
            Kind::Section(_) | Kind::Value(_) => input.deserialize_any(OrNone(PhantomData)),
            _ => Self::deserialize(input),
        }
    }
}

/// A list that is not written is empty, and an empty one is not written.
impl<T: Keyed> Keyed for Vec<T> {
    const KIND: Kind = match &T::KIND {
        Kind::Section(table) => Kind::Sections(table),
        _ => Kind::List(&T::KIND),
    };

    fn shown(&self) -> Option<String> {
        let items: Option<Vec<String>> = self.iter().map(Keyed::shown).collect();
        items.filter(|items| !items.is_empty()).map(|items| items.join(", "))
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// Tables under names.
impl<T: Keyed> Keyed for BTreeMap<String, T> {
    const KIND: Kind = match &T::KIND {
        Kind::Section(table) | Kind::Value(table) => Kind::Named(table),
        _ => panic!("what has names are tables"),
    };

    fn shown(&self) -> Option<String> {
        None
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// The kind of a key that holds a table: a section by the bracket of its title, else a value.
pub const fn table(table: &'static Table) -> Kind {
    match table.title.as_bytes() {
        [b'[', ..] => Kind::Section(table),
        _ => Kind::Value(table),
    }
}

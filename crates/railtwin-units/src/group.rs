//! Keys that stand in one table: how the tables of [`section!`](crate::section) are read and written.
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};

use crate::keys::{Key, Keyed};

/// Names of keys.
pub type Names = &'static [&'static str];

/// Keys that stand in one table, whether it is theirs or they share it.
pub trait Group: Sized {
    /// What was read of it so far.
    type Partial: Default;
    /// The keys.
    const KEYS: &'static [Key];
    /// Those of which there is one.
    const EXACTLY_ONE: Names;
    /// Those of which there is one at most.
    const AT_MOST_ONE: Names;

    /// Reads the value of `key`, if it is one of these; whether it was.
    ///
    /// # Errors
    /// Those of the text.
    fn take<'de, A: MapAccess<'de>>(
        partial: &mut Self::Partial,
        key: &str,
        table: &mut A,
    ) -> Result<bool, A::Error>;

    /// What was read, with the defaults of what was not.
    ///
    /// # Errors
    /// A required key is missing.
    fn finish<E: Error>(partial: Self::Partial) -> Result<Self, E>;

    /// Writes the keys that are not left out.
    ///
    /// # Errors
    /// Those of the output.
    fn write<M: SerializeMap>(&self, table: &mut M) -> Result<(), M::Error>;

    /// Whether all are left out.
    fn is_unwritten(&self) -> bool;
}

/// One of several keys, or none of them.
impl<T: Group<Partial = Option<T>>> Group for Option<T> {
    type Partial = Option<T>;
    const KEYS: &'static [Key] = T::KEYS;
    const EXACTLY_ONE: Names = &[];
    const AT_MOST_ONE: Names = T::EXACTLY_ONE;

    fn take<'de, A: MapAccess<'de>>(
        partial: &mut Self::Partial,
        key: &str,
        table: &mut A,
    ) -> Result<bool, A::Error> {
        T::take(partial, key, table)
    }

    fn finish<E: Error>(partial: Self::Partial) -> Result<Self, E> {
        Ok(partial)
    }

    fn write<M: SerializeMap>(&self, table: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |one| one.write(table))
    }

    fn is_unwritten(&self) -> bool {
        self.is_none()
    }
}

/// The keys of which a table has one, and of which one at most, where one of its parts has such.
#[doc(hidden)]
pub const fn group(groups: &[(Names, Names)]) -> (Names, Names) {
    let mut all: (Names, Names) = (&[], &[]);
    let mut row = 0;
    while row < groups.len() {
        let (exactly, at_most) = groups[row];
        if !exactly.is_empty() {
            assert!(all.0.is_empty(), "a table has one choice between keys");
            all.0 = exactly;
        }
        if !at_most.is_empty() {
            assert!(all.1.is_empty(), "a table has one choice of a key or none");
            all.1 = at_most;
        }
        row += 1;
    }
    all
}

/// A table that is a group.
///
/// # Errors
/// Those of the text.
#[doc(hidden)]
pub fn read_group<'de, D: Deserializer<'de>, T: Group>(input: D) -> Result<T, D::Error> {
    struct Table<T>(PhantomData<T>);

    impl<'de, T: Group> Visitor<'de> for Table<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<T, A::Error> {
            let mut partial = T::Partial::default();
            while let Some(key) = table.next_key::<String>()? {
                if !T::take(&mut partial, &key, &mut table)? {
                    table.next_value::<IgnoredAny>()?;
                }
            }
            T::finish(partial)
        }
    }

    input.deserialize_map(Table(PhantomData))
}

/// A group as a table.
///
/// # Errors
/// Those of the output.
#[doc(hidden)]
pub fn write_group<S: Serializer, T: Group>(group: &T, output: S) -> Result<S::Ok, S::Error> {
    let mut table = output.serialize_map(None)?;
    group.write(&mut table)?;
    table.end()
}

/// The value that stands where `table` is.
///
/// # Errors
/// Those of the text.
#[doc(hidden)]
pub fn next_value<'de, T: Keyed, A: MapAccess<'de>>(table: &mut A) -> Result<T, A::Error> {
    struct Value<T>(T);

    impl<'de, T: Keyed> Deserialize<'de> for Value<T> {
        fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
            T::read(input).map(Self)
        }
    }

    table.next_value::<Value<T>>().map(|value| value.0)
}

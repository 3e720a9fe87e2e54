//! Trees of plain data as JSON and pickles hold them, with texts borrowed from the file; and long lists of such trees, read
//! one item at a time.
//!
//! Why not `serde_json::Value`: it copies each key and each text and hashes each object, which takes ten times the bytes of a
//! trace. A list of a million events never stands in memory as a whole: [`skim`] checks a document and keeps all but that list,
//! [`each_item`] then hands its items out.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree<'a> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'a, str>),
    List(Vec<Tree<'a>>),
    /// Keys and values in the order of the file; a key may stand there twice.
    Dict(Vec<(Cow<'a, str>, Tree<'a>)>),
}

impl<'a> Tree<'a> {
    /// The value of a key; of several the last, as all readers of JSON take it.
    pub(crate) fn get(&self, key: &str) -> Option<&Tree<'a>> {
        self.member(key).map(|(_, value)| value)
    }

    /// A key as it stands there and its value.
    pub(crate) fn member(&self, key: &str) -> Option<(&str, &Tree<'a>)> {
        let pairs = self.as_dict()?;
        pairs.iter().rfind(|(known, _)| known == key).map(|(known, value)| (&**known, value))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_list(&self) -> Option<&[Tree<'a>]> {
        if let Self::List(items) = self { Some(items) } else { None }
    }

    pub(crate) fn as_dict(&self) -> Option<&[(Cow<'a, str>, Tree<'a>)]> {
        if let Self::Dict(pairs) = self { Some(pairs) } else { None }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_list(&self) -> bool {
        matches!(self, Self::List(_))
    }

    pub(crate) fn is_dict(&self) -> bool {
        matches!(self, Self::Dict(_))
    }

    /// A number, a truth value or nothing as JSON writes it.
    pub(crate) fn scalar(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => number.to_string(),
            _ => "null".to_owned(),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Whole)
    }
}

/// Builds a tree of anything.
struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Tree<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Tree::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
        let mut dict = Vec::new();
        while let Some(key) = pairs.next_key_seed(Key)? {
            dict.push((key, pairs.next_value()?));
        }
        Ok(Tree::Dict(dict))
    }
}

/// A key, borrowed where it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// Reads a value as [`Whole`] does, so that it is refused for the same reasons, and keeps nothing.
struct Checked;

impl<'de> DeserializeSeed<'de> for Checked {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Checked)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<(), A::Error> {
        while pairs.next_key_seed(Checked)?.is_some() {
            pairs.next_value_seed(Checked)?;
        }
        Ok(())
    }
}

/// Checks a document and gives all of it but the items of the list of that key: the list is there and empty. A document that
/// is a list itself comes as an empty one.
///
/// # Errors
/// Those of reading it whole.
pub(crate) fn skim<'de>(text: &'de str, key: &str) -> Result<Tree<'de>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let tree = Skim { key }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(tree)
}

/// Reads a document without the items of one of its lists.
struct Skim<'k> {
    key: &'k str,
}

impl<'de> DeserializeSeed<'de> for Skim<'_> {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Methods of a tree visitor for values that are neither lists nor objects: each is read whole.
macro_rules! scalars_as_whole {
    () => {
        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            Whole.expecting(formatter)
        }

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Whole.visit_unit()
        }

        fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Self::Value, E> {
            Whole.visit_bool(value)
        }

        fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
            Whole.visit_u64(value)
        }

        fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Self::Value, E> {
            Whole.visit_i64(value)
        }

        fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Self::Value, E> {
            Whole.visit_f64(value)
        }

        fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
            Whole.visit_borrowed_str(text)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Whole.visit_str(text)
        }
    };
}

impl<'de> Visitor<'de> for Skim<'_> {
    type Value = Tree<'de>;

    scalars_as_whole!();

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Checked.visit_seq(items)?;
        Ok(Tree::List(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
        let mut dict = Vec::new();
        while let Some(key) = pairs.next_key_seed(Key)? {
            let value = match key == self.key {
                true => pairs.next_value_seed(Unlisted)?,
                false => pairs.next_value()?,
            };
            dict.push((key, value));
        }
        Ok(Tree::Dict(dict))
    }
}

/// A value that, where it is a list, comes without its items.
struct Unlisted;

impl<'de> DeserializeSeed<'de> for Unlisted {
    type Value = Tree<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unlisted {
    type Value = Tree<'de>;

    scalars_as_whole!();

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Checked.visit_seq(items)?;
        Ok(Tree::List(Vec::new()))
    }

    fn visit_map<A: MapAccess<'de>>(self, pairs: A) -> Result<Self::Value, A::Error> {
        Whole.visit_map(pairs)
    }
}

/// Hands out the items of the list that [`skim`] left out, one at a time with its number. `head` is what it gave.
///
/// # Errors
/// None where [`skim`] gave none.
pub(crate) fn each_item<'de>(
    text: &'de str,
    key: &str,
    head: &Tree<'de>,
    take: &mut dyn FnMut(usize, &Tree<'de>),
) -> Result<(), serde_json::Error> {
    // Of a key that stands there more than once the last value holds.
    let before = head.as_dict().map_or(0, |pairs| pairs.iter().filter(|(known, _)| known == key).count());
    let mut reader = serde_json::Deserializer::from_str(text);
    Each { key, before, take }.deserialize(&mut reader)
}

struct Each<'k, F: ?Sized> {
    key: &'k str,
    /// How many values of the key are left, the wanted one included.
    before: usize,
    take: &'k mut F,
}

impl<'de, F: FnMut(usize, &Tree<'de>) + ?Sized> DeserializeSeed<'de> for Each<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(usize, &Tree<'de>) + ?Sized> Visitor<'de> for Each<'_, F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list, or an object with one")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut at = 0;
        while let Some(item) = items.next_element()? {
            (self.take)(at, &item);
            at += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut pairs: A) -> Result<(), A::Error> {
        while let Some(key) = pairs.next_key_seed(Key)? {
            if key != self.key {
                pairs.next_value::<IgnoredAny>()?;
                continue;
            }
            self.before = self.before.saturating_sub(1);
            if self.before > 0 {
                pairs.next_value::<IgnoredAny>()?;
                continue;
            }
            let items = Each { key: "", before: 0, take: &mut *self.take };
            pairs.next_value_seed(items)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The items that a whole reading gives.
    fn whole(text: &str) -> Result<Vec<String>, String> {
        let tree: Tree = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let list = if tree.is_list() { Some(&tree) } else { tree.get("e") };
        let items = list.and_then(Tree::as_list).unwrap_or_default();
        Ok(items.iter().map(|item| format!("{item:?}")).collect())
    }

    /// The items that are handed out one at a time.
    fn streamed(text: &str) -> Result<Vec<String>, String> {
        let head = skim(text, "e").map_err(|error| error.to_string())?;
        let mut items = Vec::new();
        let is_list = head.is_list() || head.get("e").is_some_and(Tree::is_list);
        if is_list {
            each_item(text, "e", &head, &mut |at, item| {
                assert_eq!(at, items.len());
                items.push(format!("{item:?}"));
            })
            .map_err(|error| error.to_string())?;
        }
        Ok(items)
    }

    #[test]
    fn items_come_as_a_whole_reading_gives_them() {
        let deep = format!(r#"{{"e":[{}{}]}}"#, "[".repeat(200), "]".repeat(200));
        for text in [
            r#"{"a":1,"e":[1,{"x":[2.5,"\u00e9"]},null],"b":{"e":[9]}}"#,
            r#"[{"e":[3]},4]"#,
            r#"{"e":[1],"e":[2,3]}"#,
            r#"{"e":[1],"e":7}"#,
            r#"{"e":[1,2"#,
            r#"{"e":[1,1e999]}"#,
            r#"{"e":["\ud800"]}"#,
            r#"{"e":[1]} x"#,
            "7",
            "",
            &deep,
        ] {
            assert_eq!(streamed(text), whole(text), "{text}");
            let value = serde_json::from_str::<serde_json::Value>(text);
            assert_eq!(
                value.map(|_| ()).map_err(|error| error.to_string()),
                whole(text).map(|_| ()),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn pieces_of_documents_are_read_alike(parts in proptest::collection::vec(proptest::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"e\"", "\"a\"", "1", "-2.5e3", "1e999", "null", "true", "\"\\ud800\"", "\"\u{fffd}\"", " ",
            "{\"e\":[", "\"e\":[1,2]",
        ]), 0..24)) {
            let text = parts.concat();
            prop_assert_eq!(streamed(&text), whole(&text));
        }
    }
}

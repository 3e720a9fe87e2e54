//! YAML as it is found in the field: scalars as they are written, keys that stand twice, lists of one.
use std::fmt;
use std::marker::PhantomData;

use railtwin_formats::FormatError;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::form::SourceFile;

/// Text of a source.
///
/// # Errors
/// [`FormatError`] where it is not UTF-8.
pub(crate) fn text_of<'a>(form: &'static str, source: &SourceFile<'a>) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(source.bytes).map_err(|error| {
        FormatError::new(form, source.name, "is not UTF-8 text", "write the file as UTF-8")
            .at_byte(error.valid_up_to() as u64)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The documents of a text, each of one type.
///
/// # Errors
/// [`FormatError`] with the line, where one cannot be read.
pub(crate) fn documents<'a, T: Deserialize<'a>>(
    form: &'static str,
    source: &SourceFile<'a>,
    accepted: &'static str,
) -> Result<Vec<T>, FormatError> {
    let text = text_of(form, source)?;
    if is_too_deep(text) {
        let problem = format!("nests more than {DEPTH_MAX} lists or mappings in each other");
        return Err(FormatError::new(form, source.name, problem, accepted));
    }
    let parts = serde_yaml_ng::Deserializer::from_str(text);
    parts.map(|part| T::deserialize(part).map_err(|error| error_of(form, source, &error, accepted))).collect()
}

/// Deepest nesting within brackets or on one line (assumed): no file of these forms has ten. The scanner of YAML takes time
/// that is quadratic in it.
const DEPTH_MAX: usize = 500;

fn is_too_deep(text: &str) -> bool {
    let mut open = 0_usize;
    text.lines().any(|line| {
        let on_line = line.split_ascii_whitespace().take_while(|word| ["-", "?"].contains(word)).count();
        let brackets = line.bytes().filter(|byte| b"[]{}".contains(byte));
        let mut deepest = 0;
        for byte in brackets {
            open = if b"[{".contains(&byte) { open + 1 } else { open.saturating_sub(1) };
            deepest = deepest.max(open);
        }
        on_line.max(deepest) > DEPTH_MAX
    })
}

fn error_of(
    form: &'static str,
    source: &SourceFile<'_>,
    error: &serde_yaml_ng::Error,
    accepted: &'static str,
) -> FormatError {
    let whole = error.to_string();
    let problem = whole.split(" at line ").next().unwrap_or("is no YAML").to_owned();
    let made = FormatError::new(form, source.name, format!("cannot be read: {problem}"), accepted);
    match error.location() {
        Some(place) => made.at_line(place.line() as u64),
        None => made,
    }
}

/// Keys and values of a mapping, in the order of the file; keys may stand twice. Null is none.
#[derive(Clone, Debug)]
pub(crate) struct Pairs<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct PairsOf<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsOf<T> {
    type Value = Pairs<T>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("keys with values")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Pairs::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsOf(PhantomData))
    }
}

/// Host lists: none, one, or a sequence of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(pub(crate) Vec<String>);

struct NamesOf;

impl<'de> Visitor<'de> for NamesOf {
    type Value = Names;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a name or a sequence of names")
    }

    fn visit_unit<E>(self) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_str<E>(self, one: &str) -> Result<Names, E> {
        Ok(Names(vec![one.to_owned()]))
    }

    fn visit_u64<E>(self, one: u64) -> Result<Names, E> {
        Ok(Names(vec![one.to_string()]))
    }

    fn visit_i64<E>(self, one: i64) -> Result<Names, E> {
        Ok(Names(vec![one.to_string()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = sequence.next_element::<Option<String>>()? {
            names.extend(name);
        }
        Ok(Names(names))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesOf)
    }
}

/// A scalar for writing: as it is where YAML reads it as text, else in double quotes.
pub(crate) fn scalar(text: &str) -> String {
    const WORDS: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];
    let first = text.chars().next().is_some_and(|letter| letter.is_ascii_alphabetic());
    let rest = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./[],".contains(letter));
    if first && rest && !WORDS.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    quoted(text)
}

/// A text in double quotes; what JSON escapes, YAML reads.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

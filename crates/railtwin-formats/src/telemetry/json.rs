//! JSON with a path: errors name the line or the field, the value and what would be accepted.

use std::collections::BTreeMap;

use super::input;
use super::tree::Tree;
use crate::error::FormatError;

/// A value, and where it stands.
#[derive(Clone)]
pub(crate) struct Node<'a> {
    place: Place<'a>,
    path: Path<'a>,
    value: &'a Tree<'a>,
}

/// One step from a value to one within it.
#[derive(Clone, Copy)]
pub(crate) enum Step<'a> {
    /// The member of an object.
    Key(&'a str),
    /// A member of all those of an object.
    Member(&'a str),
    /// An item of a list.
    Item(usize),
}

/// Steps that a path has without taking memory: the ways of most values are no longer.
const NEAR: usize = 4;

/// The way from the root of a document to a value. It becomes text in errors alone.
#[derive(Clone)]
struct Path<'a> {
    near: [Step<'a>; NEAR],
    count: usize,
    far: Vec<Step<'a>>,
}

impl<'a> Path<'a> {
    fn of(steps: &[Step<'a>]) -> Self {
        let mut path = Self { near: [Step::Item(0); NEAR], count: 0, far: Vec::new() };
        steps.iter().for_each(|step| path.push(*step));
        path
    }

    fn push(&mut self, step: Step<'a>) {
        match self.near.get_mut(self.count) {
            Some(place) => *place = step,
            None => self.far.push(step),
        }
        self.count += 1;
    }

    fn and(&self, step: Step<'a>) -> Self {
        let mut path = self.clone();
        path.push(step);
        path
    }

    /// It as people write it, `ranks[0].host`; empty for the root.
    fn shown(&self) -> String {
        let mut text = String::new();
        for step in self.near.iter().take(self.count).chain(&self.far) {
            match step {
                Step::Key(key) if text.is_empty() => text.push_str(key),
                Step::Key(key) | Step::Member(key) => text.extend([".", key]),
                Step::Item(at) => text.push_str(&format!("[{at}]")),
            }
        }
        text
    }
}

/// Which file, and which line where lines are documents.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) format: &'static str,
    pub(crate) source: &'a str,
    pub(crate) line: Option<u64>,
}

impl Place<'_> {
    /// An error of the document as a whole.
    pub(crate) fn error(&self, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        let made = FormatError::new(self.format, self.source, problem, accepted);
        match self.line {
            Some(line) => made.at_line(line),
            None => made,
        }
    }
}

/// Reads one document; errors name the line.
pub(crate) fn parse<'a>(format: &'static str, source: &str, text: &'a str) -> Result<Tree<'a>, FormatError> {
    serde_json::from_str(text).map_err(|error| syntax(format, source, error.line() as u64, &error))
}

/// A syntax error as one of ours.
pub(crate) fn syntax(
    format: &'static str,
    source: &str,
    line: u64,
    error: &serde_json::Error,
) -> FormatError {
    let column = error.column();
    // The place that it tells is that in the document, which need not begin at the first line of the file.
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or(&text);
    FormatError::new(
        format,
        source,
        format!("is not JSON at column {column} ({text})"),
        "write the file anew: it may be cut short",
    )
    .at_line(line.max(1))
}

impl<'a> Node<'a> {
    pub(crate) fn root(place: Place<'a>, value: &'a Tree<'a>) -> Self {
        Self { place, path: Path::of(&[]), value }
    }

    /// A value within a document, and the way to it.
    pub(crate) fn at(place: Place<'a>, steps: &[Step<'a>], value: &'a Tree<'a>) -> Self {
        Self { place, path: Path::of(steps), value }
    }

    pub(crate) fn value(&self) -> &'a Tree<'a> {
        self.value
    }

    /// The member of that name; null counts as absent.
    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        let (key, value) = self.value.member(key).filter(|(_, value)| !value.is_null())?;
        Some(Node { place: self.place, path: self.path.and(Step::Key(key)), value })
    }

    /// The member of that name.
    pub(crate) fn need(&self, key: &str) -> Result<Node<'a>, FormatError> {
        self.get(key).ok_or_else(|| {
            let error = self.place.error(format!("has no `{key}`"), format!("`{key}` must stand here"));
            if self.path.count == 0 { error } else { error.field(self.path.shown()) }
        })
    }

    pub(crate) fn items(&self) -> Result<Vec<Node<'a>>, FormatError> {
        let list = self.value.as_list().ok_or_else(|| self.error("is not a list", "write [ ... ]"))?;
        let item = |(at, value)| Node { place: self.place, path: self.path.and(Step::Item(at)), value };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// Members of an object in their order; of a key that stands there twice the last value, in the place of the first.
    pub(crate) fn members(&self) -> Result<Vec<(&'a str, Node<'a>)>, FormatError> {
        let pairs = self.value.as_dict().ok_or_else(|| self.error("is not an object", "write { ... }"))?;
        let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
        let mut members: Vec<(&str, Node<'a>)> = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            let row = *rows.entry(key).or_insert(members.len());
            match members.get_mut(row) {
                Some((_, node)) => node.value = value,
                None => members
                    .push((key, Node { place: self.place, path: self.path.and(Step::Member(key)), value })),
            }
        }
        Ok(members)
    }

    /// A whole number from 0 up, perhaps written as a float or as text.
    pub(crate) fn u64(&self) -> Result<u64, FormatError> {
        let float = |value: f64| {
            (value >= 0.0 && value < u64::MAX as f64 && value.fract() == 0.0).then_some(value as u64)
        };
        let found = match self.value {
            Tree::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(float)),
            Tree::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        found.ok_or_else(|| self.error("is not a whole number", "write a number from 0 to 2^64-1"))
    }

    /// A whole number of 32 bits.
    pub(crate) fn u32(&self) -> Result<u32, FormatError> {
        let value = self.u64()?;
        u32::try_from(value).map_err(|_| self.error("is too large", "write a number below 2^32"))
    }

    /// A finite number.
    pub(crate) fn f64(&self) -> Result<f64, FormatError> {
        let found = match self.value {
            Tree::Number(number) => number.as_f64(),
            Tree::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        let found = found.filter(|value: &f64| value.is_finite());
        found.ok_or_else(|| self.error("is not a number", "write a finite number"))
    }

    pub(crate) fn bool(&self) -> Result<bool, FormatError> {
        match self.value {
            Tree::Bool(value) => Ok(*value),
            Tree::Number(number) if number.as_u64() == Some(0) => Ok(false),
            Tree::Number(number) if number.as_u64() == Some(1) => Ok(true),
            _ => Err(self.error("is neither true nor false", "write true or false")),
        }
    }

    pub(crate) fn text(&self) -> Result<&'a str, FormatError> {
        let text = self.value.as_str().ok_or_else(|| self.error("is not text", "write \"...\""))?;
        self.whole(text)?;
        Ok(text)
    }

    /// A name with a letter lost is another name.
    fn whole(&self, text: &str) -> Result<(), FormatError> {
        if input::is_whole(text) {
            Ok(())
        } else {
            Err(self.error("is not UTF-8 text", "write the file as UTF-8"))
        }
    }

    /// Text, or a number as text: ids are written both ways.
    pub(crate) fn text_or_number(&self) -> Result<String, FormatError> {
        match self.value {
            Tree::Text(text) => {
                self.whole(text)?;
                Ok(text.clone().into_owned())
            }
            Tree::Number(number) => Ok(number.to_string()),
            _ => Err(self.error("is neither text nor a number", "write \"...\" or a number")),
        }
    }

    /// Ranks as a list, or as a list within text (`"[0, 1]"`).
    pub(crate) fn ranks(&self) -> Result<Vec<u32>, FormatError> {
        let wrong = || self.error("is not a list of ranks", "write [0, 1]");
        match self.value {
            Tree::Text(text) => {
                let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
                let parts = inner.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(|part| part.parse().map_err(|_| wrong())).collect()
            }
            Tree::List(_) => self.items()?.iter().map(Node::u32).collect(),
            _ => Err(wrong()),
        }
    }

    /// An error about this value.
    pub(crate) fn error(&self, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        let found = match self.value {
            Tree::Text(text) => text.clone().into_owned(),
            Tree::List(_) => "a list".to_owned(),
            Tree::Dict(_) => "an object".to_owned(),
            other => other.scalar(),
        };
        let made = self.place.error(problem, accepted).found(&found);
        if self.path.count == 0 { made } else { made.field(self.path.shown()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_path_and_the_value() {
        let value = parse("t", "a.json", r#"{"ranks": [{"rank": -3}]}"#).expect("JSON");
        let root = Node::root(Place { format: "t", source: "a.json", line: Some(4) }, &value);
        let ranks = root.need("ranks").and_then(|list| list.items()).expect("a list");
        let error = ranks[0].need("rank").and_then(|rank| rank.u32()).expect_err("negative");
        assert_eq!(
            error.to_string(),
            "a.json:4: ranks[0].rank: \"-3\" is not a whole number; write a number from 0 to 2^64-1"
        );
        assert!(ranks[0].need("host").err().expect("absent").to_string().contains("ranks[0]: has no `host`"));
    }

    #[test]
    fn ranks_come_as_list_or_as_text() {
        for text in [r#"[0, 5]"#, r#""[0, 5]""#] {
            let value = parse("t", "a", text).expect("JSON");
            let node = Node::root(Place { format: "t", source: "a", line: None }, &value);
            assert_eq!(node.ranks().expect("ranks"), [0, 5]);
        }
    }
}

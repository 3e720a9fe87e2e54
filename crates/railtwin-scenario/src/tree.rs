//! The TOML tree of a scenario, owned, in the order of the text, each value with its place.
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::error::{Problem, ScenarioError};

/// A value and the bytes that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// A date: TOML has them, scenarios have not.
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    /// Reads TOML.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let refuse = |problem| ScenarioError::new(file, vec![problem]);
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            let message = format!("not TOML: {}", error.message().replace('\n', ", "));
            refuse(Problem::new(text, span, message, None))
        })?;
        let value = table_of(table.get_ref()).map_err(|span| {
            let hint = Some("write a number from -2^63 to 2^63 - 1".to_owned());
            refuse(Problem::new(text, span, "a number that is too large", hint))
        })?;
        Ok(Self { span: 0..0, value })
    }

    /// What kind of value this is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    fn step(&self, step: &Step) -> Option<&Node> {
        match step {
            Step::Key(key) => self.get(key),
            Step::Index(index) => self.items().get(*index),
        }
    }

    /// The value at `path`.
    pub(crate) fn at(&self, path: &[Step]) -> Option<&Node> {
        path.iter().try_fold(self, |node, step| node.step(step))
    }

    /// The place of `path`, or of the nearest value around it that is written.
    pub(crate) fn span_near(&self, path: &[Step]) -> Range<usize> {
        let mut node = self;
        for step in path {
            match node.step(step) {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node.span.clone()
    }

    /// The value at `path`, to be replaced.
    pub(crate) fn at_mut(&mut self, path: &[Step]) -> Option<&mut Node> {
        path.iter().try_fold(self, |node, step| match (&mut node.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
            }
            (Value::List(items), Step::Index(index)) => items.get_mut(*index),
            _ => None,
        })
    }

    /// Gives a key of a table a text, at the place of its value where it has one.
    pub(crate) fn set_text(&mut self, key: &str, text: &str) {
        let value = Value::Text(text.to_owned());
        if let Some(node) = self.at_mut(&[Step::Key(key.to_owned())]) {
            node.value = value;
        } else if let Value::Table(entries) = &mut self.value {
            let node = Self { span: 0..0, value };
            entries.push(Entry { key: key.to_owned(), key_span: 0..0, node });
        }
    }

    /// The value without places, for serde.
    pub(crate) fn to_toml(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) | Value::Date(text) => toml::Value::String(text.clone()),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Bool(value) => toml::Value::Boolean(*value),
            Value::List(items) => toml::Value::Array(items.iter().map(Node::to_toml).collect()),
            Value::Table(entries) => toml::Value::Table(
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_toml())).collect(),
            ),
        }
    }

    /// The value as a label says it: text without quotes, all else as TOML.
    pub(crate) fn label(&self) -> String {
        match &self.value {
            Value::Text(text) => text.clone(),
            _ => self.to_toml().to_string(),
        }
    }
}

/// Converts a table; the error is the place of a number beyond 64 bits.
fn table_of(table: &DeTable<'_>) -> Result<Value, Range<usize>> {
    let entries = table.iter().map(|(key, value)| {
        Ok(Entry {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            node: node_of(value.get_ref(), value.span())?,
        })
    });
    entries.collect::<Result<_, _>>().map(Value::Table)
}

fn node_of(value: &DeValue<'_>, span: Range<usize>) -> Result<Node, Range<usize>> {
    let value = match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| span.clone())?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().map_err(|_| span.clone())?),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items.iter().map(|item| node_of(item.get_ref(), item.span())).collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => table_of(table)?,
    };
    Ok(Node { span, value })
}

/// Steps of a path written with dots, such as `job.0.hosts`.
pub(crate) fn steps(path: &str) -> Vec<Step> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .map(|part| match part.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(part.to_owned()),
        })
        .collect()
}

/// A path as people write it: keys joined by dots, the number of a list's item only where there are several.
pub(crate) fn path_text(root: &Node, path: &[Step]) -> String {
    let mut node = Some(root);
    let mut parts = Vec::new();
    for step in path {
        match step {
            Step::Key(key) => parts.push(key.clone()),
            Step::Index(index) if node.is_some_and(|node| node.items().len() > 1) => {
                parts.push(index.to_string());
            }
            Step::Index(_) => {}
        }
        node = node.and_then(|node| node.step(step));
    }
    parts.join(".")
}

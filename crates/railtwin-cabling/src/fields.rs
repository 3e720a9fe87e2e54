//! TOML tables with places: keys are taken one by one, and keys that nobody takes are errors.
use toml::de::{DeTable, DeValue};

use crate::error::{CablingError, Refused};

/// Most copies that a key with braces may stand for.
const COPIES_MAX: usize = 4_096;

/// A TOML value, owned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Text(String),
    Whole(i64),
    Number(f64),
    Truth(bool),
    List(Vec<Entry>),
    Table(Vec<Entry>),
    Date,
}

/// A key and its value; the key of an item of a list is its index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: u64,
    pub(crate) item: Item,
}

/// A table while its keys are taken.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    source_name: &'a str,
    /// Path of the table: `leaf.fe-leaf`.
    pub(crate) path: String,
    pub(crate) line: u64,
    entries: Vec<Entry>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads TOML.
    ///
    /// # Errors
    /// Text that is no TOML, numbers beyond 64 bits: with the line.
    pub(crate) fn parse(source_name: &'a str, text: &str) -> Result<Self, CablingError> {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let line = |at: usize| starts.partition_point(|&start| start <= at) as u64;
        let refuse = |at: usize, problem: String| CablingError {
            source_name: source_name.to_owned(),
            line: line(at),
            field: String::new(),
            problem,
            accepted: "write TOML".to_owned(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            let message = error.message().replace('\n', ", ");
            refuse(error.span().map_or(0, |span| span.start), format!("is not TOML: {message}"))
        })?;
        let entries = entries_of(table.get_ref(), &line)
            .map_err(|at| refuse(at, "has a number beyond 64 bits".to_owned()))?;
        Ok(Self { source_name, path: String::new(), line: 0, entries, taken: Vec::new() })
    }

    /// An error at a key of this table.
    pub(crate) fn error(&self, key: &str, line: u64, refused: Refused) -> CablingError {
        let dot = if self.path.is_empty() || key.is_empty() { "" } else { "." };
        CablingError {
            source_name: self.source_name.to_owned(),
            line,
            field: format!("{}{dot}{key}", self.path),
            problem: refused.problem,
            accepted: refused.accepted,
        }
    }

    /// Takes a key.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Entry> {
        self.taken.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at))
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, key: &'static str) -> Result<Option<String>, CablingError> {
        match self.take(key) {
            None => Ok(None),
            Some(Entry { item: Item::Text(text), .. }) if !text.trim().is_empty() => Ok(Some(text)),
            Some(entry) => Err(self.error(key, entry.line, Refused::new("is no text", "write a text"))),
        }
    }

    /// Takes a text that has to be there.
    pub(crate) fn needed(&mut self, key: &'static str) -> Result<String, CablingError> {
        self.text(key)?.ok_or_else(|| self.error(key, self.line, Refused::new("is missing", "write a text")))
    }

    /// Takes a whole number of a range.
    pub(crate) fn whole(
        &mut self,
        key: &'static str,
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, CablingError> {
        let Some(entry) = self.take(key) else { return Ok(None) };
        let found = match entry.item {
            Item::Whole(number) => {
                u32::try_from(number).ok().filter(|number| (least..=most).contains(number))
            }
            _ => None,
        };
        let accepted = format!("write a whole number from {least} to {most}");
        found.map(Some).ok_or_else(|| self.error(key, entry.line, Refused::new("is out of range", accepted)))
    }

    /// Takes a number of a range.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        least: f64,
        most: f64,
    ) -> Result<Option<f64>, CablingError> {
        let Some(entry) = self.take(key) else { return Ok(None) };
        let found = match entry.item {
            Item::Whole(number) => Some(number as f64),
            Item::Number(number) => Some(number),
            _ => None,
        };
        let accepted = format!("write a number from {least} to {most}");
        found
            .filter(|number| (least..=most).contains(number))
            .map(Some)
            .ok_or_else(|| self.error(key, entry.line, Refused::new("is out of range", accepted)))
    }

    /// Takes true or false.
    pub(crate) fn truth(&mut self, key: &'static str) -> Result<Option<bool>, CablingError> {
        match self.take(key) {
            None => Ok(None),
            Some(Entry { item: Item::Truth(truth), .. }) => Ok(Some(truth)),
            Some(entry) => {
                Err(self.error(key, entry.line, Refused::new("is neither", "write true or false")))
            }
        }
    }

    /// Takes a list of texts; a single text is a list of one.
    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Vec<(u64, String)>, CablingError> {
        let Some(entry) = self.take(key) else { return Ok(Vec::new()) };
        let items = match entry.item {
            Item::List(items) => items,
            item => vec![Entry { item, ..entry }],
        };
        items
            .into_iter()
            .map(|one| match one.item {
                Item::Text(text) => Ok((one.line, text)),
                _ => Err(self.error(key, one.line, Refused::new("is no text", "write a list of texts"))),
            })
            .collect()
    }

    /// Takes a table; an empty one where the key is absent.
    pub(crate) fn table(&mut self, key: &'static str) -> Result<Fields<'a>, CablingError> {
        match self.take(key) {
            None => Ok(self.inner(Entry {
                key: key.to_owned(),
                line: self.line,
                item: Item::Table(Vec::new()),
            })?),
            Some(entry) => self.inner(entry),
        }
    }

    /// The table that an entry of this table is.
    pub(crate) fn inner(&self, entry: Entry) -> Result<Fields<'a>, CablingError> {
        let Entry { key, line, item } = entry;
        let Item::Table(entries) = item else {
            return Err(self.error(
                &key,
                line,
                Refused::new("is no table", "write a table: { key = value }"),
            ));
        };
        let dot = if self.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{key}", self.path);
        Ok(Fields { source_name: self.source_name, path, line, entries, taken: Vec::new() })
    }

    /// Takes all that is left, in the order of the text.
    pub(crate) fn rest(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    /// Refuses keys that nobody took.
    ///
    /// # Errors
    /// The first such key, with its line and the keys of the table.
    pub(crate) fn finish(self) -> Result<(), CablingError> {
        let Some(left) = self.entries.first() else { return Ok(()) };
        let accepted = format!("the keys are {}", self.taken.join(", "));
        Err(self.error(&left.key, left.line, Refused::new("is no key of this table", accepted)))
    }
}

impl Entry {
    /// Copies of an entry whose key has braces: `"plane-{a,b}-leaf"` is two entries, and `{}` in their values stands for `a`
    /// or `b`. An entry without braces is one copy.
    pub(crate) fn copies(self) -> Result<Vec<Entry>, Refused> {
        if !self.key.contains('{') {
            return Ok(vec![self]);
        }
        let names = crate::text::expand(&self.key, COPIES_MAX)?;
        let copy = |name: crate::text::Expanded| {
            let item = filled(&self.item, &name.first);
            Entry { key: name.text, line: self.line, item }
        };
        Ok(names.into_iter().map(copy).collect())
    }
}

/// A value with `{}` replaced in its texts and keys.
fn filled(item: &Item, with: &str) -> Item {
    let all = |entries: &[Entry]| {
        let one = |entry: &Entry| Entry {
            key: entry.key.replace("{}", with),
            line: entry.line,
            item: filled(&entry.item, with),
        };
        entries.iter().map(one).collect()
    };
    match item {
        Item::Text(text) => Item::Text(text.replace("{}", with)),
        Item::List(entries) => Item::List(all(entries)),
        Item::Table(entries) => Item::Table(all(entries)),
        other => other.clone(),
    }
}

/// Entries of a table in the order of the text; the error is the byte of a number that does not fit.
fn entries_of(table: &DeTable<'_>, line: &impl Fn(usize) -> u64) -> Result<Vec<Entry>, usize> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let span = key.span();
        let item = item_of(value.get_ref(), value.span().start, line)?;
        entries.push((span.start, Entry { key: key.get_ref().to_string(), line: line(span.start), item }));
    }
    entries.sort_by_key(|(start, _)| *start);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

fn item_of(value: &DeValue<'_>, at: usize, line: &impl Fn(usize) -> u64) -> Result<Item, usize> {
    Ok(match value {
        DeValue::String(text) => Item::Text(text.to_string()),
        DeValue::Integer(number) => {
            Item::Whole(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| at)?)
        }
        DeValue::Float(number) => Item::Number(number.as_str().parse().map_err(|_| at)?),
        DeValue::Boolean(truth) => Item::Truth(*truth),
        DeValue::Datetime(_) => Item::Date,
        DeValue::Array(items) => {
            let mut entries = Vec::with_capacity(items.len());
            for (index, one) in items.iter().enumerate() {
                let start = one.span().start;
                let item = item_of(one.get_ref(), start, line)?;
                entries.push(Entry { key: index.to_string(), line: line(start), item });
            }
            Item::List(entries)
        }
        DeValue::Table(table) => Item::Table(entries_of(table, line)?),
    })
}

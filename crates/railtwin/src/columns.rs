//! Columns as the page reads them: little-endian bytes in base64 (docs/reference/report-payload.md).
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A table being made.
#[derive(Debug)]
pub struct PageTable {
    rows: usize,
    columns: Map<String, Value>,
}

fn encode<const N: usize>(kind: &str, values: impl Iterator<Item = [u8; N]>) -> Value {
    let bytes: Vec<u8> = values.flatten().collect();
    json!({ "type": kind, "data": STANDARD.encode(bytes) })
}

/// A column of whole numbers below 2^32.
pub fn u32_column(values: &[u32]) -> Value {
    encode("u32", values.iter().map(|value| value.to_le_bytes()))
}

/// A column of floats with six digits.
pub fn f32_column(values: &[f32]) -> Value {
    encode("f32", values.iter().map(|value| value.to_le_bytes()))
}

/// A column of bytes.
pub fn u8_column(values: &[u8]) -> Value {
    json!({ "type": "u8", "data": STANDARD.encode(values) })
}

/// Lists of different lengths, of rows of links: `start` has one entry more than there are lists.
pub fn lists<'a>(all: impl Iterator<Item = &'a [u32]>) -> Value {
    let (mut start, mut links) = (vec![0], Vec::new());
    for list in all {
        links.extend_from_slice(list);
        start.push(links.len() as u32);
    }
    json!({ "start": u32_column(&start), "links": u32_column(&links) })
}

impl PageTable {
    /// An empty table of `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self { rows, columns: Map::new() }
    }

    fn with(mut self, name: &str, length: usize, column: Value) -> Self {
        assert_eq!(length, self.rows, "column {name}");
        self.columns.insert(name.to_owned(), column);
        self
    }

    /// Adds a column of whole numbers.
    pub fn u32(self, name: &str, values: &[u32]) -> Self {
        self.with(name, values.len(), u32_column(values))
    }

    /// Adds a column of floats.
    pub fn f64(self, name: &str, values: &[f64]) -> Self {
        let column = encode("f64", values.iter().map(|value| value.to_le_bytes()));
        self.with(name, values.len(), column)
    }

    /// Adds a column of floats with six digits.
    pub fn f32(self, name: &str, values: &[f32]) -> Self {
        self.with(name, values.len(), f32_column(values))
    }

    /// Adds a column of text.
    pub fn text<'a>(self, name: &str, values: impl Iterator<Item = &'a str>) -> Self {
        let mut known = BTreeMap::new();
        let mut dictionary = Vec::new();
        let codes: Vec<u32> = values
            .map(|value| {
                *known.entry(value.to_owned()).or_insert_with(|| {
                    dictionary.push(value.to_owned());
                    dictionary.len() as u32 - 1
                })
            })
            .collect();
        let data = STANDARD.encode(codes.iter().flat_map(|code| code.to_le_bytes()).collect::<Vec<u8>>());
        self.with(name, codes.len(), json!({ "type": "str", "dict": dictionary, "data": data }))
    }

    /// The finished table.
    pub fn finish(self) -> Value {
        json!({ "rows": self.rows, "columns": self.columns })
    }
}

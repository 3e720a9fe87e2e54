//! The four kinds of column as the store sees them, and how columns are built up again.
use std::collections::HashMap;

use railtwin_records::{Column, ColumnData, Table};

/// The kind of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    U64,
    U32,
    F64,
    Text,
}

impl Kind {
    /// Its name in `railtwin_records::run::TABLES`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U64 => "u64",
            Self::U32 => "u32",
            Self::F64 => "f64",
            Self::Text => "text",
        }
    }

    /// The kind of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        [Self::U64, Self::U32, Self::F64, Self::Text].into_iter().find(|kind| kind.name() == name)
    }
}

/// The values of a column, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    U64(&'a [u64]),
    U32(&'a [u32]),
    F64(&'a [f64]),
    Text { dictionary: &'a [String], codes: &'a [u32] },
}

impl<'a> View<'a> {
    /// Looks at a column.
    pub(crate) fn of(data: &'a ColumnData) -> Self {
        match data {
            ColumnData::U64(values) => Self::U64(values),
            ColumnData::U32(values) => Self::U32(values),
            ColumnData::F64(values) => Self::F64(values),
            ColumnData::Text { dictionary, codes } => Self::Text { dictionary, codes },
            other => unreachable!("records and store know the same kinds of column, but not {other:?}"),
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::U64(_) => Kind::U64,
            Self::U32(_) => Kind::U32,
            Self::F64(_) => Kind::F64,
            Self::Text { .. } => Kind::Text,
        }
    }
}

/// Bits of a float by which the store tells values apart: every NaN is the same, -0 is not 0.
pub(crate) fn float_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// Names and kinds of the columns of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape(pub(crate) Vec<(String, Kind)>);

impl Shape {
    /// The shape of a table.
    pub(crate) fn of(table: &Table) -> Self {
        let kind = |column: &Column| (column.name.clone(), View::of(&column.data).kind());
        Self(table.columns.iter().map(kind).collect())
    }

    /// The shape that the records document for a table, if they know it.
    pub(crate) fn documented(table: &str) -> Option<Self> {
        let doc = railtwin_records::run::table_doc(table)?;
        let kinds =
            doc.columns.iter().map(|(name, kind, _)| Some(((*name).to_owned(), Kind::from_name(kind)?)));
        kinds.collect::<Option<Vec<_>>>().map(Self)
    }

    /// As text: `step u32, duration_ps u64`.
    pub(crate) fn text(&self) -> String {
        let columns: Vec<_> = self.0.iter().map(|(name, kind)| format!("{name} {}", kind.name())).collect();
        columns.join(", ")
    }
}

/// Codes text in order of first use.
#[derive(Default, Debug)]
pub(crate) struct Coder {
    codes_of: HashMap<Box<[u8]>, u32>,
    dictionary: Vec<String>,
}

impl Coder {
    /// The code of a value.
    pub(crate) fn code(&mut self, value: &[u8]) -> Result<u32, std::str::Utf8Error> {
        if let Some(&code) = self.codes_of.get(value) {
            return Ok(code);
        }
        let code = self.dictionary.len() as u32;
        self.dictionary.push(std::str::from_utf8(value)?.to_owned());
        self.codes_of.insert(value.into(), code);
        Ok(code)
    }

    /// The distinct values so far.
    pub(crate) fn dictionary(&self) -> &[String] {
        &self.dictionary
    }

    /// Codes of another dictionary's codes, one lookup per distinct value.
    ///
    /// # Panics
    /// When a code has no value: a broken table.
    pub(crate) fn recode(&mut self, dictionary: &[String], codes: &[u32], out: &mut Vec<u32>) {
        let mut known: Vec<Option<u32>> = vec![None; dictionary.len()];
        out.reserve(codes.len());
        for &code in codes {
            let Some(text) = dictionary.get(code as usize) else {
                panic!("text code {code} lies outside its dictionary of {} values", dictionary.len());
            };
            let slot = &mut known[code as usize];
            let new = *slot.get_or_insert_with(|| self.code(text.as_bytes()).expect("a String is UTF-8"));
            out.push(new);
        }
    }
}

/// A column that grows.
#[derive(Debug)]
pub(crate) enum Growing {
    U64(Vec<u64>),
    U32(Vec<u32>),
    F64(Vec<f64>),
    Text { coder: Coder, codes: Vec<u32> },
}

impl Growing {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::U64 => Self::U64(Vec::new()),
            Kind::U32 => Self::U32(Vec::new()),
            Kind::F64 => Self::F64(Vec::new()),
            Kind::Text => Self::Text { coder: Coder::default(), codes: Vec::new() },
        }
    }

    /// Adds rows of the same kind.
    ///
    /// # Panics
    /// When the kinds differ: shapes are compared before.
    fn extend(&mut self, rows: View<'_>) {
        match (self, rows) {
            (Self::U64(values), View::U64(rows)) => values.extend_from_slice(rows),
            (Self::U32(values), View::U32(rows)) => values.extend_from_slice(rows),
            (Self::F64(values), View::F64(rows)) => values.extend_from_slice(rows),
            (Self::Text { coder, codes }, View::Text { dictionary, codes: rows }) => {
                coder.recode(dictionary, rows, codes);
            }
            (growing, rows) => panic!("{growing:?} cannot take {:?}", rows.kind()),
        }
    }

    pub(crate) fn finish(self) -> ColumnData {
        match self {
            Self::U64(values) => ColumnData::U64(values),
            Self::U32(values) => ColumnData::U32(values),
            Self::F64(values) => ColumnData::F64(values),
            Self::Text { coder, codes } => ColumnData::Text { dictionary: coder.dictionary, codes },
        }
    }
}

/// A table that grows by tables of the same shape.
#[derive(Debug)]
pub(crate) struct GrowingTable {
    pub(crate) shape: Shape,
    columns: Vec<Growing>,
    rows: usize,
}

impl GrowingTable {
    pub(crate) fn new(shape: Shape) -> Self {
        let columns = shape.0.iter().map(|(_, kind)| Growing::new(*kind)).collect();
        Self { shape, columns, rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the rows of a table of the same shape.
    pub(crate) fn extend(&mut self, table: &Table) {
        debug_assert_eq!(self.shape, Shape::of(table));
        for (growing, column) in self.columns.iter_mut().zip(&table.columns) {
            growing.extend(View::of(&column.data));
        }
        self.rows += table.rows();
    }

    /// The table, and an empty one of the same shape left behind.
    pub(crate) fn take(&mut self, name: &str) -> Table {
        let emptied = std::mem::replace(self, Self::new(self.shape.clone()));
        let names = emptied.shape.0.into_iter().map(|(name, _)| name);
        let column = |(name, growing): (String, Growing)| Column { name, data: growing.finish() };
        Table::new(name, names.zip(emptied.columns).map(column).collect())
    }
}

//! Tables as columns: the one shape that engines write, the store keeps and the page reads.

/// The values of one column.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ColumnData {
    /// Whole numbers, times in picoseconds, bytes.
    U64(Vec<u64>),
    /// Ids and counts.
    U32(Vec<u32>),
    /// Rates, ratios.
    F64(Vec<f64>),
    /// Text by code: `dictionary[code]`.
    Text {
        /// The distinct values in order of first use.
        dictionary: Vec<String>,
        /// A code for each row.
        codes: Vec<u32>,
    },
}

impl ColumnData {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Text { codes, .. } => codes.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Name, unit last.
    pub name: String,
    /// Values, one for each row.
    pub data: ColumnData,
}

impl Column {
    /// A column of whole numbers.
    pub fn u64(name: &str, values: Vec<u64>) -> Self {
        Self { name: name.to_owned(), data: ColumnData::U64(values) }
    }

    /// A column of ids or counts.
    pub fn u32(name: &str, values: Vec<u32>) -> Self {
        Self { name: name.to_owned(), data: ColumnData::U32(values) }
    }

    /// A column of floats.
    pub fn f64(name: &str, values: Vec<f64>) -> Self {
        Self { name: name.to_owned(), data: ColumnData::F64(values) }
    }

    /// A column of text by code; every code must have its value in `dictionary`.
    pub fn text(name: &str, dictionary: Vec<String>, codes: Vec<u32>) -> Self {
        debug_assert!(codes.iter().all(|&code| (code as usize) < dictionary.len()));
        Self { name: name.to_owned(), data: ColumnData::Text { dictionary, codes } }
    }

    /// A column of text, coded here in order of first use.
    pub fn coded<'a>(name: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut codes_of = std::collections::BTreeMap::new();
        let mut dictionary = Vec::new();
        let codes = values.into_iter().map(|value| {
            *codes_of.entry(value).or_insert_with(|| {
                dictionary.push(value.to_owned());
                dictionary.len() as u32 - 1
            })
        });
        let codes = codes.collect();
        Self { name: name.to_owned(), data: ColumnData::Text { dictionary, codes } }
    }
}

/// A named table of columns of equal length.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Name, which is also its file's stem.
    pub name: String,
    /// Columns in their order.
    pub columns: Vec<Column>,
}

impl Table {
    /// A table of columns.
    ///
    /// # Panics
    /// When columns differ in length: a table is made in one place.
    pub fn new(name: &str, columns: Vec<Column>) -> Self {
        if let Some(first) = columns.first() {
            for column in &columns {
                assert_eq!(column.data.len(), first.data.len(), "column {} of table {name}", column.name);
            }
        }
        Self { name: name.to_owned(), columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&ColumnData> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_coded_in_order_of_first_use() {
        let column = Column::coded("axis", ["tp", "ep", "tp"]);
        let expected = ColumnData::Text { dictionary: vec!["tp".into(), "ep".into()], codes: vec![0, 1, 0] };
        assert_eq!(column.data, expected);
    }

    #[test]
    #[should_panic(expected = "column b of table t")]
    fn columns_of_unequal_length_are_a_bug() {
        Table::new("t", vec![Column::u32("a", vec![1]), Column::u32("b", vec![])]);
    }
}

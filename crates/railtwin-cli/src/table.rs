//! Tables of text: columns as wide as their widest cell, names left, numbers right.
use std::fmt::Write;

use railtwin_store::one_line;

/// Rows of cells; the first cell of a row is its name.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell).into_owned()).collect());
    }

    /// The table, each line ended.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                // Writing to a string does not fail.
                let _ = match column {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A whole number with commas between groups of three digits.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::default();
        table.row(["a".to_owned(), "1".to_owned()]);
        table.row(["long".to_owned(), "1,000".to_owned(), "x".to_owned()]);
        assert_eq!(table.text(), "a         1\nlong  1,000  x\n");
        let mut table = TextTable::default();
        table.row(["a\u{1b}[2J\nb".to_owned(), "1".to_owned()]);
        assert_eq!(table.text(), "a\\u001b[2J\\nb  1\n", "a cell is one printable line");
    }

    #[test]
    fn digits_are_grouped() {
        let texts = [0, 999, 1_000, 15_360, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "15,360", "1,234,567"]);
    }
}

//! Tables of text: columns as wide as their widest cell, names left, numbers right.
use std::fmt::Write;

use railtwin_store::one_line;

/// Rows of cells; the first cell of a row is its name.
#[derive(Debug, Default)]
pub(crate) struct TextTable {
    rows: Vec<(Vec<String>, String)>,
}

impl TextTable {
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.noted_row(cells, "");
    }

    /// A row with words behind its last cell, which do not widen its column.
    pub(crate) fn noted_row(&mut self, cells: impl IntoIterator<Item = String>, note: &str) {
        let cells = cells.into_iter().map(|cell| one_line(&cell).into_owned()).collect();
        self.rows.push((cells, one_line(note).into_owned()));
    }

    /// The table, each line ended.
    pub(crate) fn text(&self) -> String {
        let columns = self.rows.iter().map(|(cells, _)| cells.len()).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|(cells, _)| cells.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for (cells, note) in &self.rows {
            let mut line = String::new();
            for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
                // Writing to a string does not fail.
                let _ = match column {
                    0 => write!(line, "{cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let line = format!("{} {note}", line.trim_end());
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
        let mut noted = TextTable::default();
        noted.row(["a".to_owned(), "12 s".to_owned()]);
        noted.noted_row(["b".to_owned(), "–".to_owned()], "halted at 12.5 s");
        assert_eq!(noted.text(), "a  12 s\nb     – halted at 12.5 s\n");
    }

    #[test]
    fn digits_are_grouped() {
        let texts = [0, 999, 1_000, 15_360, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "15,360", "1,234,567"]);
    }
}

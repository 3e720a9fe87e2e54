//! Short text tables: columns padded to their widest cell.

/// Returns a table with a header line. Every row has as many cells as the header; the first column is left-aligned,
/// all others are right-aligned.
pub(super) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, name)| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([name.chars().count()]).max().unwrap_or(0)
        })
        .collect();
    let mut text = line(header, &widths);
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        text.push_str(&line(&cells, &widths));
    }
    text
}

fn line(cells: &[&str], widths: &[usize]) -> String {
    let mut text = String::new();
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        match column {
            0 => text.push_str(&format!("{cell:<width$}")),
            _ => text.push_str(&format!("  {cell:>width$}")),
        }
    }
    format!("{}\n", text.trim_end())
}

/// Returns a ratio with three decimals, or `-` where there is none.
pub(super) fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// Returns a share as percent with one decimal.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let text = table(&["a", "count"], &[vec!["long".into(), "7".into()]]);
        assert_eq!(text, "a     count\nlong      7\n");
    }
}

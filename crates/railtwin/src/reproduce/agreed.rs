//! What the figures of the table were when last agreed on: a line for each in `golden/reproduction.tsv`.
//!
//! Runs are deterministic, so a figure is held to the last digit that is printed.
use std::collections::BTreeMap;

use super::page::number;
use super::{Reproduced, frames};

/// Begins the file.
const HEAD: &str = "# id\tscenario\tfigure\tours\toutcome\tstays met; `make reproduce` writes this file\n";

/// What tells such a file from others.
const BEGINS: &str = "# id\t";

/// A figure as it was agreed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// What came out, as it is printed.
    pub ours: String,
    /// `met`, `MISSED`, `put in` or `skipped`.
    pub outcome: String,
    /// In how many choices of what is fitted it stays met, as it is printed; empty where none was swept.
    pub robust: String,
}

/// Id, scenario and figure.
type Key = [String; 3];

fn key(row: &Reproduced) -> Key {
    [row.id.clone(), row.scenario.clone(), row.figure.clone()]
}

/// All figures that were agreed on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table(BTreeMap<Key, Agreed>);

impl Table {
    /// Reads what [`Table::text`] writes.
    ///
    /// Of an empty text there are no figures yet. Empty lines, and what an editor puts before the first, count for nothing.
    ///
    /// # Errors
    /// A sentence with the number of the line that is none, and of a text that is something else.
    pub fn read(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_other = !text.trim().is_empty() && !text.starts_with(BEGINS);
        if is_other {
            return Err("line 1: no agreed figures; a file of those begins with `# id` and a tab".to_owned());
        }
        let mut table = BTreeMap::new();
        let is_row = |line: &str| !line.starts_with('#') && !line.trim().is_empty();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_row(line)) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [id, scenario, figure, ours, outcome, robust] = cells[..] else {
                let count = cells.len();
                return Err(format!("line {}: {count} cells; write six between tabs", number + 1));
            };
            let [ours, outcome, robust] = [ours, outcome, robust].map(str::to_owned);
            let key = [id, scenario, figure].map(str::to_owned);
            if table.insert(key, Agreed { ours, outcome, robust }).is_some() {
                return Err(format!("line {}: {id} {figure} stands twice; write it once", number + 1));
            }
        }
        Ok(Self(table))
    }

    /// What was agreed on of a figure.
    pub fn of(&self, row: &Reproduced) -> Option<&Agreed> {
        self.0.get(&key(row))
    }

    /// What of these figures is not as agreed, a line each. Robustness is held where it was looked at.
    pub fn changes(&self, rows: &[Reproduced]) -> Vec<String> {
        let line = |row: &Reproduced| {
            let now = agreed(row);
            let name = format!("{} {}", row.id, row.figure);
            let Some(old) = self.of(row) else {
                return Some(format!("{name}: new, {} {}", now.ours, now.outcome));
            };
            let same = old.ours == now.ours
                && old.outcome == now.outcome
                && (row.robust.is_none() || old.robust == now.robust);
            let told =
                |one: &Agreed| format!("{} {} {}", one.ours, one.outcome, one.robust).trim_end().to_owned();
            (!same).then(|| format!("{name}: {} -> {}", told(old), told(&now)))
        };
        rows.iter().filter_map(line).collect()
    }

    /// Takes what these figures are now. What was swept before stays where nothing was swept now.
    pub fn take(&mut self, rows: &[Reproduced]) {
        for row in rows {
            let mut now = agreed(row);
            if row.robust.is_none() && row.swept {
                now.robust = self.of(row).map_or(String::new(), |old| old.robust.clone());
            }
            self.0.insert(key(row), now);
        }
    }

    /// The file: the figures that the table has, in its order.
    pub fn text(&self) -> String {
        let line = |row: &Reproduced| {
            let Agreed { ours, outcome, robust } = self.of(row)?;
            Some(format!("{}\t{ours}\t{outcome}\t{robust}\n", key(row).join("\t")))
        };
        std::iter::once(HEAD.to_owned()).chain(frames().iter().filter_map(line)).collect()
    }

    /// Figures of these ids (all when empty) that were agreed on and are none of the table.
    pub fn gone(&self, ids: &[String]) -> Vec<String> {
        let known: Vec<Key> = frames().iter().map(key).collect();
        let is_wanted = |key: &&Key| ids.is_empty() || ids.contains(&key[0]);
        self.0.keys().filter(is_wanted).filter(|key| !known.contains(key)).map(|key| key.join(" ")).collect()
    }
}

fn agreed(row: &Reproduced) -> Agreed {
    let number = |value: f64| number(value, row.paper);
    let robust = row.robust.map_or(String::new(), |robust| {
        let range = match (robust.least, robust.most) {
            (Some(least), Some(most)) => format!(" ({} to {})", number(least), number(most)),
            _ => String::new(),
        };
        format!("{} of {}{range}", robust.met, robust.of)
    });
    let ours = row.ours.map_or("–".to_owned(), number);
    Agreed { ours, outcome: row.outcome().to_owned(), robust }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::Robust;

    fn row() -> Reproduced {
        let mut row = frames().into_iter().find(|row| row.id == "QC06").unwrap();
        (row.ours, row.met) = (Some(224.9e9), Some(true));
        row
    }

    #[test]
    fn what_is_written_is_read_and_a_change_is_told() {
        let mut table = Table::default();
        let mut now = row();
        assert_eq!(table.changes(&[now.clone()]).len(), 1);
        now.swept = true;
        now.robust = Some(Robust { met: 1, of: 8, least: Some(127.9e9), most: Some(224.9e9) });
        table.take(&[now.clone()]);
        assert_eq!(Table::read(&table.text()), Ok(table.clone()));
        assert!(
            table.text().ends_with("\t2.2490e11\tmet\t1 of 8 (1.2790e11 to 2.2490e11)\n"),
            "{}",
            table.text()
        );
        assert!(table.changes(&[now.clone()]).is_empty());
        // Another digit is a change; one that was not swept now keeps what it had.
        now.robust = None;
        assert!(table.changes(&[now.clone()]).is_empty());
        now.ours = Some(225.0e9);
        assert_eq!(table.changes(&[now.clone()]).len(), 1);
        table.take(&[now.clone()]);
        assert!(table.of(&now).unwrap().robust.starts_with("1 of 8"));
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (text, says) in [
            ("# id\ta\nb\tc\n", "line 2: 2 cells"),
            ("# id\t\na\tb\tc\td\te\tf\na\tb\tc\td\te\tf\n", "line 3"),
            ("# a page\n", "line 1: no agreed figures"),
            ("a\tb\tc\td\te\tf\n", "line 1: no agreed figures"),
        ] {
            let problem = Table::read(text).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }

    #[test]
    fn empty_lines_and_a_mark_of_byte_order_count_for_nothing() {
        let text = format!("\u{feff}{HEAD}QX99\tno scenario\ta figure\t1\tmet\t\n\n");
        let table = Table::read(&text).unwrap();
        let gone = ["QX99 no scenario a figure".to_owned()];
        assert_eq!((table.gone(&[]), table.gone(&["QX99".to_owned()])), (gone.to_vec(), gone.to_vec()));
        assert_eq!(table.gone(&["QH10".to_owned()]), Vec::<String>::new());
        assert_eq!(Table::read("\n"), Ok(Table::default()));
    }
}

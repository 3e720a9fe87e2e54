//! What the figures of the table were when last agreed on: a line for each in `golden/reproduction.tsv`. Below them the file
//! has one line for each case that takes long, with its key.
//!
//! Runs are deterministic, so a figure is held to the last digit that is printed.
use std::collections::{BTreeMap, BTreeSet};

use super::keys::KEYED_FROM_S;
use super::page::number;
use super::{Reproduced, frames};

/// Begins the file.
const HEAD: &str = "# id\tscenario\tfigure\tours\toutcome\tstays met; `make reproduce` writes this file\n";

/// Begins the lines of keys.
const KEYS_HEAD: &str = "# key\tcase that tests do not run\tCPU seconds\thash of the case and of the sources that it depends on\n";

/// What tells such a file from others.
const BEGINS: &str = "# id\t";

/// First cell of the line of a key; no row has this id.
const KEY: &str = "key";

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

/// A case that tests do not run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyed {
    /// CPU seconds of its last run, rounded.
    pub seconds: u32,
    /// Its key at that run ([`super::keys`]).
    pub key: String,
}

/// Id, scenario and figure.
pub(super) type Name = [String; 3];

pub(super) fn name(row: &Reproduced) -> Name {
    [row.id.clone(), row.scenario.clone(), row.figure.clone()]
}

/// All figures that were agreed on, and the keyed cases by [`Reproduced::scenario`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgreedTable {
    figures: BTreeMap<Name, Agreed>,
    keyed: BTreeMap<String, Keyed>,
}

impl AgreedTable {
    /// Reads what [`AgreedTable::text`] writes.
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
        let mut table = Self::default();
        let is_row = |line: &str| !line.starts_with('#') && !line.trim().is_empty();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| is_row(line)) {
            let cells: Vec<&str> = line.split('\t').collect();
            if let [KEY, case, seconds, key] = cells[..] {
                let seconds = seconds.parse();
                let seconds =
                    seconds.map_err(|_| format!("line {}: no whole number of seconds", number + 1))?;
                table.keyed.insert(case.to_owned(), Keyed { seconds, key: key.to_owned() });
                continue;
            }
            let [id, scenario, figure, ours, outcome, robust] = cells[..] else {
                let count = cells.len();
                return Err(format!(
                    "line {}: {count} cells; write six between tabs, four for a key",
                    number + 1
                ));
            };
            let [ours, outcome, robust] = [ours, outcome, robust].map(str::to_owned);
            let name = [id, scenario, figure].map(str::to_owned);
            if table.figures.insert(name, Agreed { ours, outcome, robust }).is_some() {
                return Err(format!("line {}: {id} {figure} stands twice; write it once", number + 1));
            }
        }
        Ok(table)
    }

    /// What was agreed on of a figure.
    pub fn of(&self, row: &Reproduced) -> Option<&Agreed> {
        self.figures.get(&name(row))
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

    /// Returns whether the case of a figure has a key. Tests compare the key and do not run the case.
    pub fn is_keyed(&self, row: &Reproduced) -> bool {
        self.keyed.contains_key(&row.scenario)
    }

    /// Returns the cases with another key in `now`: their figures need a new run.
    pub fn stale(&self, now: &BTreeMap<String, String>) -> BTreeSet<String> {
        let is_stale =
            |(case, keyed): &(&String, &Keyed)| now.get(*case).is_some_and(|now| *now != keyed.key);
        self.keyed.iter().filter(is_stale).map(|(case, _)| case.clone()).collect()
    }

    /// Stores the keys of the cases of these figures, if their [`Reproduced::seconds`] reach the limit. A case with figures
    /// missing from `rows` keeps its old key.
    pub fn take_keys(&mut self, rows: &[Reproduced], now: &BTreeMap<String, String>) {
        let mut all = BTreeMap::<String, usize>::new();
        frames().into_iter().for_each(|row| *all.entry(row.scenario).or_default() += 1);
        for (case, key) in now {
            let of_case = || rows.iter().filter(|row| row.scenario == *case);
            if of_case().next().is_none() || Some(&of_case().count()) != all.get(case) {
                continue;
            }
            let seconds = of_case().map(|row| row.seconds).fold(0.0, f64::max);
            if seconds < KEYED_FROM_S {
                self.keyed.remove(case);
            } else {
                let keyed = Keyed { seconds: seconds.round() as u32, key: key.clone() };
                self.keyed.insert(case.clone(), keyed);
            }
        }
    }

    /// Stores the present key of each keyed case, without a run.
    pub fn rekey(&mut self, now: &BTreeMap<String, String>) {
        self.keyed.retain(|case, _| now.contains_key(case));
        for (case, keyed) in &mut self.keyed {
            keyed.key.clone_from(&now[case]);
        }
    }

    /// Takes what these figures are now. What was swept before stays where nothing was swept now.
    pub fn take(&mut self, rows: &[Reproduced]) {
        for row in rows {
            let mut now = agreed(row);
            if row.robust.is_none() && row.swept {
                now.robust = self.of(row).map_or(String::new(), |old| old.robust.clone());
            }
            self.figures.insert(name(row), now);
        }
    }

    /// Returns the file: the figures of the table in its order, then the keys of its cases by name.
    pub fn text(&self) -> String {
        let line = |row: &Reproduced| {
            let Agreed { ours, outcome, robust } = self.of(row)?;
            Some(format!("{}\t{ours}\t{outcome}\t{robust}\n", name(row).join("\t")))
        };
        let frames = frames();
        let figures = frames.iter().filter_map(line);
        let cases: BTreeSet<&str> = frames.iter().map(|row| row.scenario.as_str()).collect();
        let known = || self.keyed.iter().filter(|(case, _)| cases.contains(case.as_str()));
        let keys = known().map(|(case, Keyed { seconds, key })| format!("{KEY}\t{case}\t{seconds}\t{key}\n"));
        let head = known().next().map(|_| KEYS_HEAD.to_owned());
        std::iter::once(HEAD.to_owned()).chain(figures).chain(head).chain(keys).collect()
    }

    /// Figures of these ids (all when empty) that were agreed on and are none of the table.
    pub fn gone(&self, ids: &[String]) -> Vec<String> {
        let known: BTreeSet<Name> = frames().iter().map(name).collect();
        let is_wanted = |name: &&Name| ids.is_empty() || ids.contains(&name[0]);
        let names = self.figures.keys().filter(is_wanted);
        names.filter(|name| !known.contains(*name)).map(|name| name.join(" ")).collect()
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
        let mut table = AgreedTable::default();
        let mut now = row();
        assert_eq!(table.changes(&[now.clone()]).len(), 1);
        now.swept = true;
        now.robust = Some(Robust { met: 1, of: 8, least: Some(127.9e9), most: Some(224.9e9) });
        table.take(&[now.clone()]);
        assert_eq!(AgreedTable::read(&table.text()), Ok(table.clone()));
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
    fn a_slow_case_has_a_key() {
        let mut table = AgreedTable::default();
        let slow = Reproduced { seconds: 4.4, ..row() };
        let of_case: Vec<_> = frames().into_iter().filter(|row| row.scenario == slow.scenario).collect();
        let all = |seconds: f64| {
            of_case.iter().cloned().map(|row| Reproduced { seconds, ..row }).collect::<Vec<_>>()
        };
        let keys = |key: &str| BTreeMap::from([(slow.scenario.clone(), key.to_owned())]);
        table.take(std::slice::from_ref(&slow));
        table.take_keys(&all(4.4), &keys("one"));
        assert!(table.text().ends_with(&format!("\nkey\t{}\t4\tone\n", slow.scenario)), "{}", table.text());
        assert_eq!(AgreedTable::read(&table.text()), Ok(table.clone()));
        assert!(table.is_keyed(&slow) && table.stale(&keys("one")).is_empty());
        assert_eq!(table.stale(&keys("other")).into_iter().collect::<Vec<_>>(), [slow.scenario.as_str()]);
        table.rekey(&keys("other"));
        assert!(table.stale(&keys("other")).is_empty());
        // A case that became quick returns to the tests.
        table.take_keys(&all(0.9), &keys("other"));
        assert!(!table.is_keyed(&slow));
    }

    #[test]
    fn lines_that_are_none_are_named() {
        for (text, says) in [
            ("# id\ta\nb\tc\n", "line 2: 2 cells"),
            ("# id\t\na\tb\tc\td\te\tf\na\tb\tc\td\te\tf\n", "line 3"),
            ("# id\t\nkey\ta\tsome\tb\n", "line 2: no whole number"),
            ("# a page\n", "line 1: no agreed figures"),
            ("a\tb\tc\td\te\tf\n", "line 1: no agreed figures"),
        ] {
            let problem = AgreedTable::read(text).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }

    #[test]
    fn empty_lines_and_a_mark_of_byte_order_count_for_nothing() {
        let text = format!("\u{feff}{HEAD}QX99\tno scenario\ta figure\t1\tmet\t\n\n");
        let table = AgreedTable::read(&text).unwrap();
        let gone = ["QX99 no scenario a figure".to_owned()];
        assert_eq!((table.gone(&[]), table.gone(&["QX99".to_owned()])), (gone.to_vec(), gone.to_vec()));
        assert_eq!(table.gone(&["QH10".to_owned()]), Vec::<String>::new());
        assert_eq!(AgreedTable::read("\n"), Ok(AgreedTable::default()));
    }
}

//! The tables of all figures for people, made of the declarations.
use std::fmt::Write as _;

use super::declared::{Declared, GROUPS, Unit, words};

/// What stands before and behind the tables in a page whose rest is written by hand.
const MARKS: [&str; 2] = ["<!-- figures:begin -->\n", "<!-- figures:end -->"];

/// All figures in Markdown: a table for each group, and the words of families.
pub fn reference() -> String {
    let mut page = String::new();
    for group in GROUPS {
        let _ = write!(page, "### {}\n\n{}\n\n", group.title, group.when);
        page.push_str("| figure | unit | better | engine | meaning |\n| --- | --- | --- | --- | --- |\n");
        for figure in group.figures {
            let Declared { name, unit, better, by, .. } = figure;
            let meaning = figure.meaning().replace('|', "\\|");
            let share = if *unit == Unit::Ratio { ", no share" } else { "" };
            let _ = writeln!(
                page,
                "| `{name}` | `{}`{share} | {better} | {} | {meaning} |",
                unit.name(),
                by.name()
            );
        }
        page.push('\n');
    }
    page.push_str("### Words in names\n\n| in a name | stands for |\n| --- | --- |\n");
    let mut told = Vec::new();
    for (_, place, _) in GROUPS.iter().flat_map(|group| group.figures).filter_map(Declared::family) {
        if told.contains(&place) {
            continue;
        }
        told.push(place);
        let all = words(place).map(|all| all.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>());
        let all = all.map_or("values of the axes, as `KEY=VALUE`".to_owned(), |all| all.join(", "));
        let _ = writeln!(page, "| `<{place}>` | {all} |");
    }
    page
}

/// A page with the tables as they are now between its marks; none of a page without them.
pub fn with_tables(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS[0])?;
    let (_, behind) = rest.split_once(MARKS[1])?;
    Some(format!("{before}{}{}{}{behind}", MARKS[0], reference(), MARKS[1]))
}

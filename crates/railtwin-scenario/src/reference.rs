//! The reference of a scenario's keys as a page, made of the same description that the checks use.
use std::fmt::Write as _;

use railtwin_units::Bytes;
use railtwin_units::keys::{Key, Kind, Table};

use crate::scenario::SCENARIO;
use crate::section::fault::rules::FaultRule;
use crate::section::fault::{FaultKind, FaultSpec};

/// All keys in Markdown: a table for each section, with what a value may be and what holds without it.
pub fn reference() -> String {
    let mut page = String::from(
        "# Keys of a scenario\n\n\
         A scenario is strict TOML: a key that is not here is an error, with its place and the nearest that is.\n\
         A list where one value is wanted is an axis of a sweep, but for keys that say *one value*.\n\
         `railtwin schema` prints the same as JSON Schema, for editors.\n",
    );
    section(&mut page, &SCENARIO);
    page
}

/// A heading, the table's keys, then the tables within it.
fn section(page: &mut String, table: &'static Table) {
    let heading = if std::ptr::eq(table, &SCENARIO) { "The whole" } else { table.title };
    let _ = write!(page, "\n## {heading}\n\n");
    for (words, group) in [("One of", table.exactly_one), ("At most one of", table.at_most_one)] {
        if !group.is_empty() {
            let _ = write!(page, "{words} {}.\n\n", quoted(group));
        }
    }
    let mut inner = rows(page, table.keys);
    if table.title == FaultSpec::TABLE.title {
        kinds_of_faults(page);
    }
    for variant in table.variants().filter(|variant| !variant.keys.is_empty()) {
        let _ = match variant.value {
            Some(value) => write!(page, "\nWith `{} = \"{value}\"`:\n\n", variant.key),
            None => write!(page, "\nWith `{}`:\n\n", variant.key),
        };
        inner.extend(rows(page, variant.keys));
    }
    // A table of several keys or variants is told once.
    let mut told = std::collections::BTreeSet::new();
    for table in inner.into_iter().filter(|table| told.insert(table.title)) {
        section(page, table);
    }
}

/// A line for each kind of fault: what it happens to, and with which keys.
fn kinds_of_faults(page: &mut String) {
    page.push_str("\n| kind | happens to | needs | may have |\n| --- | --- | --- | --- |\n");
    for kind in FaultKind::ALL {
        let FaultRule { subjects, needs, may, .. } = FaultRule::of(kind);
        let needs = needs.map(|(key, _)| format!("`{key}`")).unwrap_or_default();
        let _ = writeln!(page, "| `{kind}` | {} | {needs} | {} |", quoted(subjects), quoted(may));
    }
}

/// A line for each key; the tables that they hold.
fn rows(page: &mut String, keys: &'static [Key]) -> Vec<&'static Table> {
    if keys.is_empty() {
        return Vec::new();
    }
    page.push_str("| key | value | meaning |\n| --- | --- | --- |\n");
    for key in keys {
        let mut value = of(&key.kind);
        if key.required {
            value.push_str(", required");
        }
        let holds_one = matches!(key.kind, Kind::Section(_) | Kind::Sections(_) | Kind::Named(_));
        if !key.axis && !holds_one {
            value.push_str(", one value");
        }
        let _ = writeln!(page, "| `{}` | {value} | {} |", key.name, key.help().replace('|', "\\|"));
    }
    keys.iter().filter_map(|key| key.kind.table()).collect()
}

/// What a value may be, in words.
fn of(kind: &Kind) -> String {
    match kind {
        Kind::Version => "the version".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Like(pattern) => format!("{}, such as `\"{}\"`", pattern.what, pattern.example),
        Kind::Name => "lower-case letters, digits and `-`".to_owned(),
        Kind::Choice(names) => quoted(names),
        Kind::Bool => "`true`, `false`".to_owned(),
        Kind::Whole(least, i64::MAX) => format!("whole number from {least}"),
        Kind::Whole(least, most) => format!("whole number, {least} to {most}"),
        Kind::UpTo(most) => format!("number from 0 to {most}"),
        Kind::Share(above, most) => format!("number above {above}, up to {most}"),
        Kind::Time => "time, such as `\"1.5 us\"`".to_owned(),
        Kind::TimeRange => {
            "time, or a range of which all are as likely, such as `\"5 ms to 20 ms\"`".to_owned()
        }
        Kind::Span => "time above zero, such as `\"1.5 us\"`".to_owned(),
        Kind::SizeIn(least, most) => {
            format!("size, {} to {}", Bytes(*least).shortest(), Bytes(*most).shortest())
        }
        Kind::Size { zero: true } => "size or 0, such as `\"64 MiB\"`".to_owned(),
        Kind::Size { zero: false } => "size, such as `\"64 MiB\"`".to_owned(),
        Kind::Rate { zero: true } => "rate or 0, such as `\"400 Gbps\"`".to_owned(),
        Kind::Rate { zero: false } => "rate, such as `\"400 Gbps\"`".to_owned(),
        Kind::Amount => "number, or a quantity as text".to_owned(),
        Kind::List(item) => format!("list of: {}", of(item)),
        Kind::AnyList(item) => format!("list, also empty, of: {}", of(item)),
        Kind::Value(table) => format!("table {}", titled(table)),
        Kind::ChoiceOrValue(names, _, example) => format!("{}, `{example}`", quoted(names)),
        Kind::Section(table) => format!("section {}", titled(table)),
        Kind::Sections(table) => format!("sections {}", titled(table)),
        Kind::Named(_) => "a table, or a list of them, for each name".to_owned(),
        Kind::Conditions => "table of keys of the scenario with one value each".to_owned(),
    }
}

fn titled(table: &Table) -> String {
    if table.title.starts_with('`') { table.title.to_owned() } else { format!("`{}`", table.title) }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

//! Topology of the Lingjun 2023 data set: a CSV of host (hashed), DSW, PSW, ASW.
//!
//! In our words: DSW = core group, PSW = spine group, ASW = leaf.
//! ASW labels repeat between PSWs, so a leaf is named by the pair (PSW, ASW).

use std::collections::BTreeMap;

use crate::error::{FormatError, text_of};

/// Name of this format in errors.
const FORMAT: &str = "Lingjun topology";

/// Columns by the names in the header line; their order is free and others are ignored.
const COLUMNS: [&str; 4] = ["ip", "DSW", "PSW", "ASW"];

/// Where every host hangs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LingjunTopology {
    /// DSW labels in natural order (`G2` before `G10`).
    pub core_groups: Vec<String>,
    /// PSW labels in natural order.
    pub spine_groups: Vec<LingjunSpineGroup>,
    /// Leaves, by spine group and then in natural order of the ASW label.
    pub leaves: Vec<LingjunLeaf>,
    /// Hosts in file order.
    pub hosts: Vec<LingjunHost>,
}

/// A group of spines (PSW label).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LingjunSpineGroup {
    /// PSW label.
    pub name: String,
    /// Index into [`LingjunTopology::core_groups`].
    pub core_group: usize,
}

/// A leaf (ASW), or the pair of leaves that the publisher counts as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LingjunLeaf {
    /// ASW label; unique only within the spine group.
    pub name: String,
    /// Index into [`LingjunTopology::spine_groups`].
    pub spine_group: usize,
}

/// A host and the switches above it, as indices into the lists of the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LingjunHost {
    /// The hashed address.
    pub name: String,
    /// Line in the file, counted from 1.
    pub line: u64,
    /// Index into [`LingjunTopology::core_groups`].
    pub core_group: usize,
    /// Index into [`LingjunTopology::spine_groups`].
    pub spine_group: usize,
    /// Index into [`LingjunTopology::leaves`].
    pub leaf: usize,
}

impl LingjunTopology {
    /// Reads `topo.csv`; `source_name` appears in errors.
    ///
    /// # Errors
    /// A missing column, an empty field, a row of the wrong length, a host listed twice, or a PSW
    /// under two DSWs; the last two name both lines.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let text = text_of(FORMAT, source_name, bytes)?;
        let rows = read_rows(source_name, text)?;
        check_hosts(source_name, &rows)?;
        check_spine_groups(source_name, &rows)?;
        Ok(index_rows(&rows))
    }
}

struct Row {
    line: u64,
    host: String,
    core_group: Label,
    spine_group: Label,
    leaf: Label,
}

fn read_rows(source_name: &str, text: &str) -> Result<Vec<Row>, FormatError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| csv_error(source_name, &error))?.clone();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = header.iter().position(|name| name == column).ok_or_else(|| {
            let error = FormatError::new(
                FORMAT,
                source_name,
                format!("has no column {column}"),
                format!("begin the file with the line {}", COLUMNS.join(",")),
            );
            let error = error.at_line(1).found(&header.iter().collect::<Vec<_>>().join(","));
            // A file with none of them may be anybody's.
            let is_known = header.iter().any(|name| COLUMNS.contains(&name));
            if is_known { error } else { error.without_found() }
        })?;
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| csv_error(source_name, &error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |index: usize| {
            // The csv reader refuses rows that are shorter than the header.
            let value = record.get(places[index]).unwrap_or_default();
            if value.is_empty() {
                return Err(FormatError::new(
                    FORMAT,
                    source_name,
                    "is empty",
                    "every host has an address, a DSW, a PSW and an ASW",
                )
                .at_line(line)
                .field(format!("column {}", COLUMNS[index])));
            }
            Ok(value)
        };
        rows.push(Row {
            line,
            host: field(0)?.to_owned(),
            core_group: Label::new(field(1)?),
            spine_group: Label::new(field(2)?),
            leaf: Label::new(field(3)?),
        });
    }
    Ok(rows)
}

fn csv_error(source_name: &str, error: &csv::Error) -> FormatError {
    let line = error.position().map(csv::Position::line);
    let made = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => FormatError::new(
            FORMAT,
            source_name,
            format!("the row has {len} fields"),
            format!("the header has {expected_len}"),
        ),
        _ => FormatError::new(
            FORMAT,
            source_name,
            "is not a row of comma-separated values",
            format!("write {}", COLUMNS.join(",")),
        ),
    };
    match line {
        Some(line) => made.at_line(line),
        None => made,
    }
}

fn check_hosts(source_name: &str, rows: &[Row]) -> Result<(), FormatError> {
    let mut first: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        if let Some(earlier) = first.insert(&row.host, row.line) {
            return Err(FormatError::new(
                FORMAT,
                source_name,
                format!("is listed on line {earlier} already"),
                "list each host once",
            )
            .at_line(row.line)
            .field("column ip")
            .found(&row.host));
        }
    }
    Ok(())
}

fn check_spine_groups(source_name: &str, rows: &[Row]) -> Result<(), FormatError> {
    let mut above: BTreeMap<&Label, &Row> = BTreeMap::new();
    for row in rows {
        let first = *above.entry(&row.spine_group).or_insert(row);
        if first.core_group != row.core_group {
            return Err(FormatError::new(
                FORMAT,
                source_name,
                format!(
                    "stands under DSW \"{}\" here and under DSW \"{}\" on line {}",
                    row.core_group.text.escape_debug(),
                    first.core_group.text.escape_debug(),
                    first.line
                ),
                "put each PSW under one DSW",
            )
            .at_line(row.line)
            .field("column PSW")
            .found(&row.spine_group.text));
        }
    }
    Ok(())
}

/// Gives dense indices in natural order; `rows` have passed the checks.
fn index_rows(rows: &[Row]) -> LingjunTopology {
    let cores = numbered(rows.iter().map(|row| &row.core_group));
    let spines = numbered(rows.iter().map(|row| &row.spine_group));
    let leaves = numbered(rows.iter().map(|row| (spines[&row.spine_group], &row.leaf)));
    let core_above: BTreeMap<&Label, usize> =
        rows.iter().map(|row| (&row.spine_group, cores[&row.core_group])).collect();
    LingjunTopology {
        core_groups: cores.keys().map(|label| label.text.clone()).collect(),
        spine_groups: spines
            .keys()
            .map(|label| LingjunSpineGroup { name: label.text.clone(), core_group: core_above[label] })
            .collect(),
        leaves: leaves
            .keys()
            .map(|(spine_group, label)| LingjunLeaf { name: label.text.clone(), spine_group: *spine_group })
            .collect(),
        hosts: rows
            .iter()
            .map(|row| LingjunHost {
                name: row.host.clone(),
                line: row.line,
                core_group: cores[&row.core_group],
                spine_group: spines[&row.spine_group],
                leaf: leaves[&(spines[&row.spine_group], &row.leaf)],
            })
            .collect(),
    }
}

/// Every distinct key with its position in sorted order.
fn numbered<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut map: BTreeMap<K, usize> = keys.map(|key| (key, 0)).collect();
    for (index, value) in map.values_mut().enumerate() {
        *value = index;
    }
    map
}

/// A switch label that sorts naturally: text before the trailing number, then the number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    stem: String,
    number: Option<u64>,
    /// Last, so that `S01` and `S1` stay apart.
    text: String,
}

impl Label {
    fn new(text: &str) -> Self {
        let stem = text.trim_end_matches(|character: char| character.is_ascii_digit());
        Self { stem: stem.to_owned(), number: text[stem.len()..].parse().ok(), text: text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::Label;

    #[test]
    fn labels_sort_naturally() {
        let mut labels = ["S10", "S2", "A", "S01", "S1"].map(Label::new);
        labels.sort();
        assert_eq!(labels.each_ref().map(|label| label.text.as_str()), ["A", "S01", "S1", "S2", "S10"]);
    }
}

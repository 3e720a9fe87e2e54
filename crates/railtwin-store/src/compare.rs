//! Two runs side by side: figures by name, tables by logical content.
use std::collections::BTreeMap;

use railtwin_records::{Column, Table};
use serde::{Deserialize, Serialize};

use crate::columns::{View, float_bits};
use crate::error::StoreError;
use crate::run_folder::RunFolder;
use crate::run_info::{Figure, RunInfo, Status};

/// What two runs have in common and where they part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// Version of this structure ([`railtwin_records::SCHEMA`]).
    pub schema: u32,
    /// The run that is compared with.
    pub left: Side,
    /// The run that is compared.
    pub right: Side,
    /// All figures of both: in the left run's order, then those that only the right run has.
    pub figures: Vec<FigureComparison>,
    /// All tables of both, in alphabetical order.
    pub tables: Vec<TableComparison>,
}

impl Comparison {
    /// Whether figures and tables are the same; the runs may still be of different cases or engines.
    pub fn same_results(&self) -> bool {
        self.figures.iter().all(|figure| figure.same) && self.tables.iter().all(|table| table.equal)
    }
}

/// Which run stands on one side.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Side {
    /// Id of the run.
    pub run_id: String,
    /// Name of the scenario.
    pub name: String,
    /// Hash of the case.
    pub case_hash: String,
    /// Engine.
    pub engine: String,
    /// Version of railtwin.
    pub version: String,
    /// How far the run has come: an unfinished one is compared by what there is.
    pub status: Status,
}

impl Side {
    fn of(info: &RunInfo) -> Self {
        Self {
            run_id: info.run_id.clone(),
            name: info.name.clone(),
            case_hash: info.case_hash.clone(),
            engine: info.engine.clone(),
            version: info.version.clone(),
            status: info.status,
        }
    }
}

/// One figure in both runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FigureComparison {
    /// Name of the figure.
    pub name: String,
    /// Unit in the left run, or in the right one where only it has the figure.
    pub unit: String,
    /// Unit in the right run where it is another; then difference and ratio are null.
    pub right_unit: Option<String>,
    /// Value in the left run; null where it has none.
    pub left: Option<f64>,
    /// Value in the right run; null where it has none.
    pub right: Option<f64>,
    /// Why the left run has no value, such as `halted at 12.5 s` or `not in this run`; absent where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub left_reason: String,
    /// Why the right run has no value; absent where it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub right_reason: String,
    /// Right minus left.
    pub difference: Option<f64>,
    /// Right over left; null where left is 0.
    pub ratio: Option<f64>,
    /// Whether both runs have the figure, with equal value and unit, or without a value for the same reason.
    pub same: bool,
}

/// One table in both runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TableComparison {
    /// Name of the table.
    pub name: String,
    /// Whether both runs have it with the same columns and values.
    pub equal: bool,
    /// Rows in the left run; null where it lacks the table.
    pub rows_left: Option<usize>,
    /// Rows in the right run; null where it lacks the table.
    pub rows_right: Option<usize>,
    /// The first place where they differ, when both have the table.
    pub difference: Option<FirstDifference>,
}

/// The first place where two tables differ: by columns, then by row, then by column within the row.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FirstDifference {
    /// Row from 0; null where the columns themselves differ.
    pub row: Option<usize>,
    /// Name of the column.
    pub column: String,
    /// Value in the left run, or the column's kind, or `absent`.
    pub left: String,
    /// Value in the right run, or the column's kind, or `absent`.
    pub right: String,
}

/// What stands for a value, a column or a row that one side lacks.
const ABSENT: &str = "absent";

/// Why one side has no value of a figure that only the other run has.
pub const NOT_IN_RUN: &str = "not in this run";

/// Compares two runs by their figures and tables.
///
/// # Errors
/// Those of reading either run.
pub fn compare(left: &RunFolder, right: &RunFolder) -> Result<Comparison, StoreError> {
    let (info_left, info_right) = (left.info()?, right.info()?);
    let mut names: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for name in left.table_names()? {
        names.entry(name).or_default().0 = true;
    }
    for name in right.table_names()? {
        names.entry(name).or_default().1 = true;
    }
    let mut tables = Vec::new();
    for (name, (in_left, in_right)) in names {
        let table_left = if in_left { Some(left.table(&name)?) } else { None };
        let table_right = if in_right { Some(right.table(&name)?) } else { None };
        let difference = table_left.as_ref().zip(table_right.as_ref());
        let difference = difference.and_then(|(left, right)| first_difference(left, right));
        tables.push(TableComparison {
            name,
            equal: in_left && in_right && difference.is_none(),
            rows_left: table_left.as_ref().map(Table::rows),
            rows_right: table_right.as_ref().map(Table::rows),
            difference,
        });
    }
    Ok(Comparison {
        schema: railtwin_records::SCHEMA,
        left: Side::of(&info_left),
        right: Side::of(&info_right),
        figures: compare_figures(&info_left.figures, &info_right.figures),
        tables,
    })
}

/// Joins figures by name.
pub fn compare_figures(left: &[Figure], right: &[Figure]) -> Vec<FigureComparison> {
    let find = |figures: &[Figure], name: &str| figures.iter().find(|figure| figure.name == name).cloned();
    let only_right = right.iter().filter(|figure| find(left, &figure.name).is_none());
    let joined = left.iter().map(|figure| (Some(figure.clone()), find(right, &figure.name)));
    let pairs = joined.chain(only_right.map(|figure| (None, Some(figure.clone()))));
    pairs.filter_map(|(left, right)| compare_figure(left, right)).collect()
}

fn compare_figure(left: Option<Figure>, right: Option<Figure>) -> Option<FigureComparison> {
    let shown = left.as_ref().or(right.as_ref())?;
    let (name, unit) = (shown.name.clone(), shown.unit.clone());
    let right_unit = right.as_ref().map(|figure| figure.unit.clone()).filter(|other| *other != unit);
    let both = left.is_some() && right.is_some() && right_unit.is_none();
    let reason = |figure: &Option<Figure>| match figure {
        Some(figure) if figure.value.is_some() => String::new(),
        Some(figure) => figure.reason.clone(),
        None => NOT_IN_RUN.to_owned(),
    };
    let (left_reason, right_reason) = (reason(&left), reason(&right));
    let (left, right) = (left.and_then(|figure| figure.value), right.and_then(|figure| figure.value));
    let values = left.zip(right).filter(|_| both);
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Some(FigureComparison {
        name,
        unit,
        right_unit,
        left,
        right,
        difference: values.and_then(|(left, right)| finite(right - left)),
        ratio: values.and_then(|(left, right)| finite(right / left)),
        same: both && left.map(float_bits) == right.map(float_bits) && left_reason == right_reason,
        left_reason,
        right_reason,
    })
}

/// The first place where two tables differ; none when their logical content is equal.
///
/// # Panics
/// When a text code lies outside its dictionary: a broken table.
pub fn first_difference(left: &Table, right: &Table) -> Option<FirstDifference> {
    if let Some(difference) = first_column_difference(left, right) {
        return Some(difference);
    }
    let pairs = || left.columns.iter().zip(&right.columns);
    let rows = pairs().map(|(left, right)| first_row(left, right)).enumerate();
    let (row, index) = rows.filter_map(|(index, row)| Some((row?, index))).min()?;
    let (left, right) = pairs().nth(index)?;
    Some(FirstDifference {
        row: Some(row),
        column: left.name.clone(),
        left: value_text(left, row),
        right: value_text(right, row),
    })
}

fn first_column_difference(left: &Table, right: &Table) -> Option<FirstDifference> {
    let count = left.columns.len().max(right.columns.len());
    (0..count).find_map(|index| {
        let (left, right) = (left.columns.get(index), right.columns.get(index));
        let kind = |column: &Column| View::of(&column.data).kind();
        if left.map(|column| (&column.name, kind(column))) == right.map(|column| (&column.name, kind(column)))
        {
            return None;
        }
        let shown = left.or(right)?;
        let text = |column: Option<&Column>| {
            let of = |column: &Column| format!("{} {}", column.name, kind(column).name());
            column.map_or_else(|| ABSENT.to_owned(), of)
        };
        let column = shown.name.clone();
        Some(FirstDifference { row: None, column, left: text(left), right: text(right) })
    })
}

/// The first row in which two columns of one kind differ.
fn first_row(left: &Column, right: &Column) -> Option<usize> {
    let differ = match (View::of(&left.data), View::of(&right.data)) {
        (View::U64(left), View::U64(right)) => left.iter().zip(right).position(|(left, right)| left != right),
        (View::U32(left), View::U32(right)) => left.iter().zip(right).position(|(left, right)| left != right),
        (View::F64(left), View::F64(right)) => {
            left.iter().zip(right).position(|(left, right)| float_bits(*left) != float_bits(*right))
        }
        (View::Text { dictionary: texts, codes }, View::Text { dictionary: others, codes: other_codes }) => {
            codes
                .iter()
                .zip(other_codes)
                .position(|(&code, &other)| texts[code as usize] != others[other as usize])
        }
        (left, right) => unreachable!("kinds {:?} and {:?} were compared before", left.kind(), right.kind()),
    };
    let (left, right) = (left.data.len(), right.data.len());
    differ.or((left != right).then_some(left.min(right)))
}

fn value_text(column: &Column, row: usize) -> String {
    if row >= column.data.len() {
        return ABSENT.to_owned();
    }
    match View::of(&column.data) {
        View::U64(values) => values[row].to_string(),
        View::U32(values) => values[row].to_string(),
        View::F64(values) => values[row].to_string(),
        View::Text { dictionary, codes } => dictionary[codes[row] as usize].clone(),
    }
}

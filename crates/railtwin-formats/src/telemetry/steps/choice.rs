//! Which column of a table tells times of steps.
use std::collections::BTreeMap;

use super::column::{Of, Told, run_and_column, told};
use super::rows::Rows;

/// Rows that are looked at.
const SAMPLE: usize = 4096;
/// Times that fall no more often than this from row to row may be a clock, where there are so many or more.
const CLOCK: f64 = 0.98;
const CLOCK_MIN: usize = 9;
/// Share of rows from which on a clock moves on: one of whole seconds stands still for ten steps of 0.1 s.
const MOVES: f64 = 0.1;
/// A clock that began with the job has risen by this factor by then: steps that take so much longer, and no one of them less
/// than the one before, are none.
const RISES: f64 = 3.0;
/// Seconds since 1970 that are of a time when GPUs trained: nobody waits 30 years for a step.
const SINCE_1970_S: f64 = 1e9;
/// Seconds by which a clock of whole seconds must rise from row to row to tell steps within 3 %.
const FINE_S: f64 = 32.0;
/// Columns whose values are alike but for a factor, within this share in so many rows of all, tell the same.
const ALIKE: f64 = 0.01;
const MOST: f64 = 0.9;

/// What values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Values {
    /// Each is a time of its own.
    Times,
    /// They rise from row to row as time does.
    Clock,
    /// They rise, and by how much does not tell which.
    Either,
}

/// Columns that tell times of steps: one, or one of each run where heads name runs; none where no column may.
///
/// `but` is left out.
///
/// # Errors
/// In words, why none of those that may be is taken: several that tell unlike times, a clock without numbers of steps, times
/// that rise and may be a clock; with what would be accepted.
pub(super) fn choose(
    rows: &Rows,
    numbers: Option<usize>,
    runs: &[usize],
    but: Option<usize>,
) -> Result<Vec<(usize, Told)>, [String; 2]> {
    let all = rows.names.iter().enumerate().filter(|(at, _)| Some(*at) != but);
    let of_runs = all.clone().filter_map(|(at, name)| {
        let (run, column) = run_and_column(name)?;
        Some((run.to_owned(), (at, told(column)?)))
    });
    let mut groups: BTreeMap<String, Vec<(usize, Told)>> = BTreeMap::new();
    of_runs.for_each(|(run, of)| groups.entry(run).or_default().push(of));
    if groups.is_empty() {
        groups.insert(String::new(), all.filter_map(|(at, name)| Some((at, told(name)?))).collect());
    }
    let sampled = sample(rows, groups.values().flatten(), runs);
    let mut taken = Vec::new();
    for columns in groups.into_values() {
        taken.extend(one_of(rows, columns, &sampled, numbers.is_some())?);
    }
    Ok(taken)
}

/// By column, the values of each run in the first rows; what is no number is none.
type Sampled = BTreeMap<usize, BTreeMap<String, Vec<Option<f64>>>>;

fn sample<'t>(
    rows: &Rows,
    columns: impl Iterator<Item = &'t (usize, Told)> + Clone,
    runs: &[usize],
) -> Sampled {
    let mut sampled = Sampled::new();
    for row in rows.iter().take(SAMPLE).filter_map(|(_, row)| row) {
        let run = runs.iter().filter_map(|&column| row.get(column)).collect::<Vec<&str>>().join(" ");
        for &(column, told) in columns.clone() {
            let value = row.get(column).and_then(|text| rows.seconds(text, told.unit));
            let of_column = sampled.entry(column).or_default();
            of_column.entry(run.clone()).or_default().push(value.filter(|value| value.is_finite()));
        }
    }
    sampled
}

/// The one of `columns` that tells best.
fn one_of(
    rows: &Rows,
    mut columns: Vec<(usize, Told)>,
    sampled: &Sampled,
    has_numbers: bool,
) -> Result<Option<(usize, Told)>, [String; 2]> {
    let (mut clock, mut either) = (None, None);
    columns.retain_mut(|(column, told)| {
        let values = sampled.get(column).map_or(Values::Times, |runs| values_of(runs, *told));
        match (told.of, values) {
            (Of::Clock, Values::Times) => return false,
            (Of::Step | Of::Batch | Of::Row, Values::Clock) if !told.inverse => told.of = Of::Clock,
            (Of::Row, Values::Either) => {
                either = either.or(Some(*column));
                return false;
            }
            _ => {}
        }
        if told.of == Of::Clock && !has_numbers {
            clock = clock.or(Some(*column));
        }
        has_numbers || !told.needs_steps()
    });
    let has_rate = columns.iter().any(|(_, told)| told.of == Of::Amount);
    columns.retain(|(column, told)| {
        !(has_rate && told.of == Of::Clock && sampled.get(column).is_some_and(is_coarse))
    });
    columns.sort_by_key(|(column, told)| (told.rank(), *column));
    let name = |column: usize| format!("{:?}", rows.names[column]);
    let Some(&(best, told)) = columns.first() else {
        return match (clock, either) {
            (Some(column), _) => Err([
                format!("has a column {} that is a clock, and none that numbers steps", name(column)),
                "a column step beside it, or times of steps such as step_s".into(),
            ]),
            (None, Some(column)) => Err([
                format!(
                    "has a column {} that rises from row to row: a clock, or steps that take longer",
                    name(column)
                ),
                "a name that says which: step_time_s, or seconds_since_start".into(),
            ]),
            (None, None) => Ok(None),
        };
    };
    let others = columns.iter().filter(|(_, other)| other.rank() == told.rank()).map(|(column, _)| *column);
    let unlike: Vec<usize> = others.filter(|&other| !are_alike(sampled, best, other)).collect();
    if !unlike.is_empty() && told.of != Of::Clock {
        let all: Vec<String> = [best].into_iter().chain(unlike).map(name).collect();
        return Err([
            format!("has several columns that could be the time of a step: {}", all.join(", ")),
            "one of them, or step_time_s as the name of the one that is".into(),
        ]);
    }
    Ok(Some((best, told)))
}

/// Whether two columns tell the same but for a factor.
fn are_alike(sampled: &Sampled, one: usize, other: usize) -> bool {
    let (Some(one), Some(other)) = (sampled.get(&one), sampled.get(&other)) else { return true };
    let pairs = one.values().flatten().zip(other.values().flatten());
    let mut ratios: Vec<f64> = pairs
        .filter_map(|(one, other)| Some((*one)? / (*other)?))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let Some(middle) = ratios.get(ratios.len() / 2) else { return true };
    let alike = ratios.iter().filter(|ratio| (*ratio / middle - 1.0).abs() <= ALIKE).count();
    alike as f64 >= MOST * ratios.len() as f64
}

/// Whether a clock tells whole seconds, and steps are too short for that.
fn is_coarse(runs: &BTreeMap<String, Vec<Option<f64>>>) -> bool {
    let known = |values: &Vec<Option<f64>>| values.iter().copied().flatten().collect::<Vec<f64>>();
    let values: Vec<Vec<f64>> = runs.values().map(known).collect();
    let mut rises: Vec<f64> = values.iter().flat_map(|of| of.windows(2)).map(|two| two[1] - two[0]).collect();
    rises.sort_by(f64::total_cmp);
    let rise = rises.get(rises.len() / 2).copied().unwrap_or(0.0);
    rise < FINE_S && values.iter().flatten().all(|value| value.fract() == 0.0)
}

fn values_of(runs: &BTreeMap<String, Vec<Option<f64>>>, told: Told) -> Values {
    let (mut count, mut stays, mut moves, mut of_job, mut of_year) = (0, 0, 0, 0, 0);
    let mut known = 0;
    for values in runs.values() {
        let values: Vec<f64> = values.iter().copied().flatten().collect();
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        known += 1;
        count += values.len() - 1;
        stays += values.windows(2).filter(|two| two[1] >= two[0]).count();
        moves += values.windows(2).filter(|two| two[1] > two[0]).count();
        // A column that is named as of a step must begin where its first steps end.
        let mut rises: Vec<f64> = values.windows(2).map(|two| two[1] - two[0]).collect();
        rises.sort_by(f64::total_cmp);
        let rise = rises.get(rises.len() / 2).copied().unwrap_or(0.0);
        let begins = told.needs_steps() || *first <= 2.0 * rise;
        of_job += usize::from(*last > RISES * first && begins);
        of_year += usize::from(*first >= SINCE_1970_S);
    }
    let never_falls = count > 0 && stays as f64 >= CLOCK * count as f64;
    // Times to the second that change once rise no more often than that.
    match (never_falls && moves as f64 >= MOVES * count as f64, told.of) {
        (false, _) => Values::Times,
        (true, Of::Clock) => Values::Clock,
        (true, _) if of_year == known || 2 * of_job > known && count + 1 >= CLOCK_MIN => Values::Clock,
        (true, Of::Row) if count + 1 >= CLOCK_MIN => Values::Either,
        (true, _) => Values::Times,
    }
}

//! Headlines of lives of a job, and of the main comparison: every number of them comes out of tables as Parquet has them.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads files")]
use railtwin::Run;
use railtwin::headline::lines::{MOST_WORDS, words};
use railtwin::headline::numbers::shown;
use railtwin_records::{ColumnData, Table};
use railtwin_store::{parquet_read, parquet_write};

use crate::comparison::{compared, points};

/// A table of a run, written as Parquet and read again.
fn table(run: &Run, name: &str) -> Table {
    let table = run.tables().into_iter().find(|table| table.name == name).unwrap();
    let bytes = parquet_write::encode(&table).unwrap();
    parquet_read::decode(format!("{name}.parquet").as_ref(), bytes).unwrap()
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match table.column(name).unwrap() {
        ColumnData::U64(values) => values.iter().map(|value| *value as f64).collect(),
        ColumnData::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
        ColumnData::F64(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

const PARTS: [(&str, &str); 5] = [
    ("post_checkpoint", "repeated work"),
    ("detection", "detection"),
    ("diagnosis", "diagnosis and isolation"),
    ("waiting", "missing spares"),
    ("reinitialisation", "restarts"),
];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[values.len() / 2], values[(values.len() - 1) / 2])
}

/// The sentence on a job's life, by the table of its lives.
fn sentence(run: &Run) -> String {
    let lives = table(run, "lives");
    let parts = PARTS.map(|(name, _)| numbers(&lives, name));
    let rest = ["checkpointing", "slow_steps", "productive"].map(|name| numbers(&lives, name));
    let downtime: Vec<f64> =
        (0..lives.rows()).map(|life| parts.iter().map(|part| part[life]).sum()).collect();
    for (life, downtime) in downtime.iter().enumerate() {
        let all = downtime + rest.iter().map(|part| part[life]).sum::<f64>();
        assert!((all - 1.0).abs() < 1e-9, "life {life}: {all}");
    }
    let ratio = |value: f64| shown(value, "ratio");
    let (least, most) =
        downtime.iter().fold((f64::MAX, 0.0_f64), |(least, most), &of| (least.min(of), most.max(of)));
    let shares = parts.map(median);
    let largest = (0..5).max_by(|&a, &b| shares[a].total_cmp(&shares[b])).unwrap();
    let spread = match lives.rows() {
        1 => String::new(),
        count => format!(" ({} to {} over {count} sampled lives)", ratio(least), ratio(most)),
    };
    let [share, of] = [ratio(shares[largest]), PARTS[largest].1.to_owned()];
    format!("{} of the time is downtime{spread}, {share} of the time {of}.", ratio(median(downtime)))
}

#[test]
fn a_life_is_told_by_the_table_of_lives() {
    for (scenario, edits) in [
        (
            "papers/c4d-month.toml",
            &[
                ("c4d = [false, true]", "c4d = false"),
                ("checkpoint = [\"3 h\", \"10 min\"]", "checkpoint = \"3 h\""),
                ("factor = [1, 0.3]", "factor = 1"),
            ][..],
        ),
        ("control/c4d-run.toml", &[][..]),
    ] {
        for run in points(scenario, edits) {
            let headline = &run.info.headline;
            assert!(words(headline) <= MOST_WORDS, "{headline}");
            let sentence = sentence(&run);
            assert!(
                headline.starts_with(&format!("{}: {sentence}", run.info.name)),
                "{headline}\n{sentence}"
            );
        }
    }
}

/// The comparison that `make demo` makes, with one draw of the hashes in place of 20.
#[test]
fn the_main_comparison_is_of_steps() {
    let [a, b] = ["dcn-plus", "hpn"].map(|fabric| {
        let name = format!("reference/moe-9216-{fabric}.toml");
        points(&name, &[("replicates = 20", "replicates = 1")]).remove(0)
    });
    let step = |run: &Run| {
        let steps = numbers(&table(run, "steps"), "duration_ps");
        steps.iter().sum::<f64>() / steps.len() as f64 / 1e12
    };
    let headline = compared(&a, &b).text;
    let [slow, fast] = [step(&a), step(&b)];
    let less = shown(1.0 - fast / slow, "ratio");
    assert!(headline.contains(&less), "{less}: {headline}");
}

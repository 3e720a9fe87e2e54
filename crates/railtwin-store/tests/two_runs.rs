//! Two runs side by side.
use proptest::collection::vec;
use proptest::prelude::*;
use railtwin_records::{Column, Table};
use railtwin_store::compare::{FirstDifference, compare_figures, first_difference};
use railtwin_store::{Comparison, Figure, RunFolder, RunInfo, compare, content_hash};
use tempfile::tempdir;

fn links(bytes: Vec<u64>, classes: &[&str]) -> Table {
    Table::new("links", vec![Column::u64("bytes", bytes), Column::coded("class", classes.iter().copied())])
}

fn difference(row: Option<usize>, column: &str, left: &str, right: &str) -> Option<FirstDifference> {
    Some(FirstDifference { row, column: column.into(), left: left.into(), right: right.into() })
}

#[test]
fn figures_are_joined_by_name() {
    let figure = Figure::new;
    let left = [
        figure("time", 2.0, "s"),
        figure("old", 1.0, ""),
        figure("rate", 5.0, "Gbit/s"),
        figure("zero", 0.0, ""),
    ];
    let right = [
        figure("new", 1.0, ""),
        figure("rate", 5.0, "GB/s"),
        figure("time", 3.0, "s"),
        figure("zero", 0.0, ""),
    ];
    let joined = compare_figures(&left, &right);
    let names: Vec<_> = joined.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names, ["time", "old", "rate", "zero", "new"]);
    assert_eq!((joined[0].difference, joined[0].ratio, joined[0].same), (Some(1.0), Some(1.5), false));
    assert_eq!((joined[1].left, joined[1].right, joined[1].same), (Some(1.0), None, false));
    assert_eq!(
        (joined[2].right_unit.as_deref(), joined[2].ratio, joined[2].same),
        (Some("GB/s"), None, false)
    );
    assert_eq!((joined[3].difference, joined[3].ratio, joined[3].same), (Some(0.0), None, true));
    assert_eq!((joined[4].left, joined[4].right), (None, Some(1.0)));
}

#[test]
fn the_first_difference_is_by_row_then_column() {
    let one = links(vec![1, 2, 3], &["access", "access", "core"]);
    assert_eq!(first_difference(&one, &one), None);
    let text = links(vec![1, 2, 4], &["access", "core", "core"]);
    assert_eq!(first_difference(&one, &text), difference(Some(1), "class", "access", "core"));
    let number = links(vec![1, 5, 4], &["access", "core", "core"]);
    assert_eq!(first_difference(&one, &number), difference(Some(1), "bytes", "2", "5"));
    let short = links(vec![1, 2], &["access", "access"]);
    assert_eq!(first_difference(&one, &short), difference(Some(2), "bytes", "3", "absent"));
    assert_eq!(first_difference(&short, &one), difference(Some(2), "bytes", "absent", "3"));
}

#[test]
fn other_columns_are_told_before_values() {
    let one = Table::new("t", vec![Column::u32("a", vec![1])]);
    let kind = Table::new("t", vec![Column::u64("a", vec![1])]);
    assert_eq!(first_difference(&one, &kind), difference(None, "a", "a u32", "a u64"));
    let more = Table::new("t", vec![Column::u32("a", vec![2]), Column::f64("b", vec![0.5])]);
    assert_eq!(first_difference(&one, &more), difference(None, "b", "absent", "b f64"));
}

#[test]
fn floats_differ_by_bits_and_dictionaries_do_not_count() {
    let float = |value| Table::new("t", vec![Column::f64("a", vec![value])]);
    assert_eq!(first_difference(&float(f64::NAN), &float(-f64::NAN)), None);
    assert_eq!(first_difference(&float(0.0), &float(-0.0)), difference(Some(0), "a", "0", "-0"));
    let text = |dictionary: [&str; 2], codes| Column::text("a", dictionary.map(String::from).to_vec(), codes);
    let left = Table::new("t", vec![text(["x", "y"], vec![0, 1])]);
    let right = Table::new("t", vec![text(["y", "x"], vec![1, 0])]);
    assert_eq!(first_difference(&left, &right), None);
}

#[test]
fn two_folders_are_compared_whole() {
    let place = tempdir().expect("a place for tests");
    let run = |name: &str, time: f64, tables: &[Table]| {
        let mut info = RunInfo::starting(name, "beef", "scenario", "flow", 7);
        info.figures.push(Figure::new("time", time, "s"));
        let folder = RunFolder::create(&place.path().join(name), &info, "", "").expect("a fresh place");
        tables.iter().for_each(|table| folder.write_table(table).expect("writable"));
        folder
    };
    let steps = Table::new("steps", vec![Column::u32("step", vec![0])]);
    let left = run("left", 2.0, &[links(vec![1], &["core"]), steps.clone()]);
    let same = run("same", 2.0, &[links(vec![1], &["core"]), steps]);
    let other = run("other", 3.0, &[links(vec![2], &["core"])]);
    assert!(compare(&left, &same).expect("readable").same_results());
    let comparison = compare(&left, &other).expect("readable");
    assert!(!comparison.same_results());
    assert_eq!((comparison.left.run_id.as_str(), comparison.right.run_id.as_str()), ("left", "other"));
    let [links, steps] = comparison.tables.as_slice() else {
        panic!("{:?}", comparison.tables);
    };
    assert_eq!(links.difference, difference(Some(0), "bytes", "1", "2"));
    assert_eq!((steps.equal, steps.rows_left, steps.rows_right), (false, Some(1), None));
    let json = serde_json::to_string(&comparison).expect("plain data");
    assert_eq!(serde_json::from_str::<Comparison>(&json).expect("our own text"), comparison);
}

proptest! {
    /// The two ways to say «equal» agree.
    #[test]
    fn equal_content_is_equal_hash(left in vec((0..2_u64, "[ab]"), 0..4), right in vec((0..2_u64, "[ab]"), 0..4)) {
        let table = |rows: &[(u64, String)]| {
            let classes: Vec<_> = rows.iter().map(|(_, class)| class.as_str()).collect();
            links(rows.iter().map(|(bytes, _)| *bytes).collect(), &classes)
        };
        let (left, right) = (table(&left), table(&right));
        prop_assert_eq!(first_difference(&left, &right).is_none(), content_hash(&left) == content_hash(&right));
    }
}

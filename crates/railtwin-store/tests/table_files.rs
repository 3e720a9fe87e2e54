//! Tables as files: what goes in comes out, and damaged bytes are refused.
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use railtwin_records::{Column, ColumnData, Table};
use railtwin_store::{StoreError, content_hash, parquet_read, parquet_write};

/// Any kind of column with `rows` rows; text is coded in order of first use, as records want it.
fn column(name: String, rows: usize) -> impl Strategy<Value = Column> {
    let floats = prop_oneof![any::<f64>(), Just(0.0), Just(-0.0), Just(f64::INFINITY)];
    let (a, b, c, d) = (name.clone(), name.clone(), name.clone(), name);
    prop_oneof![
        vec(prop_oneof![any::<u64>(), Just(u64::MAX), 0..3_u64], rows).prop_map(move |v| Column::u64(&a, v)),
        vec(prop_oneof![any::<u32>(), Just(u32::MAX), 0..3_u32], rows).prop_map(move |v| Column::u32(&b, v)),
        vec(floats, rows).prop_map(move |v| Column::f64(&c, v)),
        vec(prop_oneof![any::<String>(), "[ab]{0,1}"], rows)
            .prop_map(move |v| Column::coded(&d, v.iter().map(String::as_str))),
    ]
}

fn table() -> impl Strategy<Value = Table> {
    let columns = |rows, count| (0..count).map(|at| column(format!("c.{at} é"), rows)).collect::<Vec<_>>();
    let columns = (0..200_usize, 1..5_usize).prop_flat_map(move |(rows, count)| columns(rows, count));
    ("[a-z]{1,8}", columns).prop_map(|(name, columns)| Table::new(&name, columns))
}

fn decode(bytes: Vec<u8>) -> Result<Table, StoreError> {
    parquet_read::decode(Path::new("runs/one/links.parquet"), bytes)
}

/// The error that damaged bytes must give: of the right kind, and naming the file.
fn refused(bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let error = decode(bytes).expect_err("damaged bytes are refused");
    let corrupt = matches!(error, StoreError::CorruptTable { .. });
    prop_assert!(corrupt && error.to_string().starts_with("runs/one/links.parquet: "), "{error}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_table_comes_back_as_it_was(table in table()) {
        let bytes = parquet_write::encode(&table).expect("a good table");
        prop_assert_eq!(&bytes, &parquet_write::encode(&table).expect("a good table"));
        let again = decode(bytes).expect("our own bytes");
        prop_assert_eq!(content_hash(&again), content_hash(&table));
        for (left, right) in again.columns.iter().zip(&table.columns) {
            match (&left.data, &right.data) {
                (ColumnData::F64(left), ColumnData::F64(right)) => {
                    let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    prop_assert_eq!(bits(left), bits(right));
                }
                (left, right) => prop_assert_eq!(left, right),
            }
        }
    }

    #[test]
    fn a_changed_byte_is_refused(table in table(), at: Index, change in 1..=255_u8) {
        let mut bytes = parquet_write::encode(&table).expect("a good table");
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        refused(bytes)?;
    }

    #[test]
    fn a_cut_file_is_refused(table in table(), at: Index) {
        let mut bytes = parquet_write::encode(&table).expect("a good table");
        bytes.truncate(at.index(bytes.len()));
        refused(bytes)?;
    }

    #[test]
    fn any_bytes_are_refused(mut bytes in vec(any::<u8>(), 0..300), framed: bool) {
        if framed {
            bytes.splice(0..0, *b"PAR1");
            bytes.extend(b"railtwin.sha256\x18\x40");
            bytes.extend([b'0'; 64]);
            let footer = u32::try_from(bytes.len() - 4).expect("small");
            bytes.extend(footer.to_le_bytes());
            bytes.extend(b"PAR1");
        }
        refused(bytes)?;
    }
}

#[test]
fn many_row_groups_make_one_table() {
    let rows = (1 << 20) + 3;
    let names: Vec<_> = (0..rows).map(|row| format!("nic-{}", row % 1000)).collect();
    let table = Table::new(
        "flows",
        vec![
            Column::u64("bytes", (0..rows as u64).collect()),
            Column::coded("source", names.iter().map(String::as_str)),
        ],
    );
    let bytes = parquet_write::encode(&table).expect("a good table");
    assert_eq!(decode(bytes).expect("our own bytes"), table);
}

#[test]
fn a_table_without_rows_keeps_its_columns() {
    let table = Table::new("steps", vec![Column::u32("step", vec![]), Column::coded("job", [])]);
    let bytes = parquet_write::encode(&table).expect("a good table");
    assert_eq!(decode(bytes).expect("our own bytes"), table);
}

#[test]
fn a_dictionary_out_of_order_comes_back_in_order_of_first_use() {
    let table = Table::new("t", vec![Column::text("a", vec!["x".into(), "y".into()], vec![1, 0, 1])]);
    let again = decode(parquet_write::encode(&table).expect("a good table")).expect("our own bytes");
    assert_eq!(again.columns[0], Column::coded("a", ["y", "x", "y"]));
    assert_eq!(content_hash(&again), content_hash(&table));
}

/// The bytes must not move with the version of the library that writes them, as far as that is ours to say.
#[test]
fn the_file_names_railtwin_as_its_writer() {
    let table = Table::new("t", vec![Column::u32("a", vec![1])]);
    let text = String::from_utf8_lossy(&parquet_write::encode(&table).expect("a good table")).into_owned();
    assert!(!text.contains("parquet-rs"));
    for word in ["railtwin.schema", "railtwin.table", "railtwin.sha256", "railtwin"] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn tables_that_parquet_cannot_hold_are_refused_with_the_remedy() {
    let column = |name: &str, values: Vec<u32>| Column { name: name.into(), data: ColumnData::U32(values) };
    let text = ColumnData::Text { dictionary: vec!["a".into()], codes: vec![1] };
    let bad = [
        (vec![], "no column"),
        (vec![column("a", vec![]), column("a", vec![])], "used twice"),
        (vec![column("", vec![])], "empty"),
        (vec![column("a", vec![1]), column("b", vec![])], "has 0 rows"),
        (vec![Column { name: "a".into(), data: text }], "code 1"),
    ];
    for (columns, word) in bad {
        let error = parquet_write::encode(&Table { name: "t".into(), columns }).expect_err(word);
        assert!(error.to_string().starts_with("t.parquet: ") && error.to_string().contains(word), "{error}");
    }
}

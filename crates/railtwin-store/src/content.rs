//! The identity of a table's rows, whatever file, row groups or dictionary hold them.
use railtwin_records::Table;
use sha2::{Digest, Sha256};

use crate::columns::{Coder, View, float_bits};

/// SHA-256 of the logical content of a table, as 64 hexadecimal digits.
///
/// Equal for tables of the same name, columns and values. It does not depend on the file, on row groups or
/// on the order of a text column's dictionary. Floats count by their bits; every NaN is the same value.
///
/// # Panics
/// When a text code lies outside its dictionary: a broken table.
pub fn content_hash(table: &Table) -> String {
    let mut hash = Sha256::new();
    hash.update(b"railtwin table 1");
    put_text(&mut hash, &table.name);
    put_count(&mut hash, table.columns.len());
    for column in &table.columns {
        put_text(&mut hash, &column.name);
        let view = View::of(&column.data);
        put_text(&mut hash, view.kind().name());
        put_count(&mut hash, column.data.len());
        match view {
            View::U64(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
            View::U32(values) => values.iter().for_each(|value| hash.update(value.to_le_bytes())),
            View::F64(values) => {
                values.iter().for_each(|value| hash.update(float_bits(*value).to_le_bytes()))
            }
            View::Text { dictionary, codes } => {
                let (mut coder, mut recoded) = (Coder::default(), Vec::new());
                coder.recode(dictionary, codes, &mut recoded);
                put_count(&mut hash, coder.dictionary().len());
                coder.dictionary().iter().for_each(|text| put_text(&mut hash, text));
                recoded.iter().for_each(|code| hash.update(code.to_le_bytes()));
            }
        }
    }
    hex(&hash.finalize())
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[digit as usize])).collect()
}

/// Text with its length before it, so that neighbours cannot trade letters.
pub(crate) fn put_text(hash: &mut Sha256, text: &str) {
    put_count(hash, text.len());
    hash.update(text.as_bytes());
}

fn put_count(hash: &mut Sha256, count: usize) {
    hash.update((count as u64).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use railtwin_records::{Column, Table};

    use super::*;

    fn table(column: Column) -> Table {
        Table::new("t", vec![column])
    }

    #[test]
    fn the_dictionary_order_does_not_count_but_each_value_does() {
        let one = table(Column::text("axis", vec!["tp".into(), "ep".into()], vec![0, 1, 0]));
        let other = table(Column::text("axis", vec!["no".into(), "ep".into(), "tp".into()], vec![2, 1, 2]));
        let third = table(Column::text("axis", vec!["tp".into(), "ep".into()], vec![0, 1, 1]));
        assert_eq!(content_hash(&one), content_hash(&other));
        assert_ne!(content_hash(&one), content_hash(&third));
    }

    #[test]
    fn names_kinds_and_signs_of_zero_count() {
        let hashes = [
            content_hash(&table(Column::u64("a", vec![0]))),
            content_hash(&table(Column::u64("b", vec![0]))),
            content_hash(&table(Column::u32("a", vec![0]))),
            content_hash(&table(Column::f64("a", vec![0.0]))),
            content_hash(&table(Column::f64("a", vec![-0.0]))),
            content_hash(&Table::new("u", vec![Column::u64("a", vec![0])])),
        ];
        let distinct: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(distinct.len(), hashes.len());
    }

    #[test]
    fn every_nan_is_the_same() {
        let odd = f64::from_bits(f64::NAN.to_bits() ^ 1);
        let one = table(Column::f64("a", vec![f64::NAN]));
        assert_eq!(content_hash(&one), content_hash(&table(Column::f64("a", vec![odd]))));
    }

    /// The hash is kept in golden files, so it must not move by accident.
    #[test]
    fn the_hash_stands_still() {
        let table = Table::new("t", vec![Column::u32("a", vec![1]), Column::coded("b", ["x"])]);
        assert_eq!(content_hash(&table), "1f9d394c1283595674a62e90371539e3e100d16c4f77ecb2d1ad967fb2c00440");
    }
}

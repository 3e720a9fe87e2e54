//! Times of operations from the records of a rank.
use std::path::Path;

use serde_json::Value;

use crate::host::LabError;

fn operations(path: &Path) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(operation).collect()
}

/// Begin and end of an operation, ns; none for lines of other kinds, and for one that is cut off.
fn operation(line: &str) -> Option<(u64, u64)> {
    let value: Value = serde_json::from_str(line).ok().filter(|value: &Value| value["k"] == "op")?;
    Some((value["en"].as_u64()?, value["t"].as_u64()?))
}

/// Whether an operation has ended.
pub(super) fn has_operations(path: &Path) -> bool {
    !operations(path).is_empty()
}

/// Mean duration of the operations that ran within a time, s.
///
/// # Errors
/// No operation ran entirely within the time.
pub(super) fn mean_seconds(path: &Path, from_ns: u64, to_ns: u64) -> Result<f64, LabError> {
    let within: Vec<u64> = operations(path)
        .into_iter()
        .filter(|&(begin, end)| begin >= from_ns && end <= to_ns)
        .map(|(begin, end)| end - begin)
        .collect();
    match within.len() {
        0 => Err(LabError(format!("{}: no operation ran within the time that counts", path.display()))),
        count => Ok(within.iter().sum::<u64>() as f64 / count as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::operation;

    #[test]
    fn operations_are_read() {
        assert_eq!(operation(r#"{"k":"op","t":9,"seq":1,"en":4}"#), Some((4, 9)));
        assert_eq!(operation(r#"{"k":"en","t":9,"seq":1}"#), None);
        assert_eq!(operation(r#"{"k":"op","t":9,"seq"#), None);
    }
}

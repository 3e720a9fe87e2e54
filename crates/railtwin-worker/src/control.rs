//! Control files: a rank reads `rN` in the control folder before each step, so that it can be slowed down while it runs.
use std::path::{Path, PathBuf};

/// Settings of a control file: one `key value` a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Control {
    /// `compute_factor`: computation takes so many times as long.
    pub(crate) compute_factor: f64,
    /// `data_ms`: loading takes so much longer, ms.
    pub(crate) data_ms: f64,
}

impl Default for Control {
    fn default() -> Self {
        Self { compute_factor: 1.0, data_ms: 0.0 }
    }
}

/// The file of a rank.
pub(crate) fn path(folder: &Path, rank: usize) -> PathBuf {
    folder.join(format!("r{rank}"))
}

/// Reads the file; without one, nothing is asked for. Lines that are not understood are passed over, as the file may be
/// read while it is written.
pub(crate) fn read(path: Option<&Path>) -> Control {
    path.and_then(|path| std::fs::read_to_string(path).ok())
        .map_or_else(Control::default, |text| parse(&text))
}

fn parse(text: &str) -> Control {
    let mut control = Control::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(' ') else { continue };
        let Some(value) = value.trim().parse::<f64>().ok().filter(|value| (0.0..=600_000.0).contains(value))
        else {
            continue;
        };
        match key {
            "compute_factor" => control.compute_factor = value,
            "data_ms" => control.data_ms = value,
            _ => {}
        }
    }
    control
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_asks_for_nothing() {
        assert_eq!(parse("compute_factor 2\ndata_ms 100\n"), Control { compute_factor: 2.0, data_ms: 100.0 });
        assert_eq!(parse("compute_factor two\ndata_ms\nnan 3\ndata_ms -4"), Control::default());
    }
}

//! Records of a file that could not be read: passed over, counted, and the first of them named.

use crate::error::FormatError;

/// Most records of a file that are named; all are counted.
const NAMED_MAX: usize = 3;

/// What was passed over in a file of which the rest was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    count: u64,
    first: Vec<FormatError>,
}

impl Skipped {
    /// Lines that another reader passed over: how many, and of the first of them number and what is wrong.
    pub fn of_lines(
        format: &'static str,
        source: &str,
        count: u64,
        first: impl Iterator<Item = (u64, &'static str)>,
    ) -> Self {
        let error = |(line, problem): (u64, &'static str)| {
            FormatError::new(format, source, problem, "").at_line(line)
        };
        Self { count, first: first.take(NAMED_MAX).map(error).collect() }
    }

    /// Records that were passed over.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them: place, value and what is wrong, without the name of the file.
    pub fn first(&self) -> impl Iterator<Item = String> {
        self.first.iter().map(FormatError::without_source)
    }

    /// Counts a record that is wrong.
    pub(crate) fn take(&mut self, error: FormatError) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(error);
        }
    }

    /// What was read; counts what was not.
    pub(crate) fn keep<T>(&mut self, read: Result<T, FormatError>) -> Option<T> {
        read.map_err(|error| self.take(error)).ok()
    }

    /// The error of a file in which nothing could be read: its first one.
    pub(crate) fn all(&self) -> Option<FormatError> {
        self.first.first().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_and_the_first_are_named() {
        let mut skipped = Skipped::default();
        assert_eq!(skipped.keep(Ok(7)), Some(7));
        for line in 1..=5 {
            let error = FormatError::new("t", "a.log", "is no number", "write 1").at_line(line).found("x");
            assert_eq!(skipped.keep::<u8>(Err(error)), None);
        }
        let first: Vec<String> = skipped.first().collect();
        assert_eq!((skipped.count(), first.len()), (5, NAMED_MAX));
        assert_eq!(first[0], "line 1: \"x\" is no number");
    }
}

//! The one error of every decoder: which file, where in it, what stood there, what would be accepted.

use std::fmt::Write as _;

/// Longest piece of foreign text that an error repeats, in characters.
const FOUND_CHARS_MAX: usize = 80;

/// Where in the foreign file the problem stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line, counted from 1.
    Line(u64),
    /// A byte, counted from 0 in the decompressed bytes.
    Byte(u64),
}

/// Reading of a refused file: damaged, or of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Refusal {
    /// It is of the format, and damaged.
    #[default]
    Damaged,
    /// It is of another kind, such as a table without the columns of the format.
    Foreign,
}

/// Foreign bytes that could not be read, or a value that a foreign format cannot express.
///
/// `Display` gives one line:
///
/// ```text
/// simai.txt:12: column 5 (forward bytes): "12x" is not a whole number of bytes; write an integer such as 50331648
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.one_line())]
#[non_exhaustive]
pub struct FormatError {
    /// Name of the format, such as `SimAI workload`.
    pub format: &'static str,
    /// Name of the source as the caller gave it, usually the file name.
    pub source_name: Box<str>,
    /// Where in the source.
    pub place: Place,
    /// Field or column, where one is known.
    pub field: Option<Box<str>>,
    /// What stood there, control characters escaped, at most 80 characters.
    pub found: Option<Box<str>>,
    /// What is wrong.
    pub problem: Box<str>,
    /// What would be accepted.
    pub accepted: Box<str>,
    /// Whether the file is of the format at all.
    pub refusal: Refusal,
}

impl FormatError {
    /// An error about a whole source; the `at_`, `field` and `found` calls narrow it down.
    pub fn new(
        format: &'static str,
        source_name: &str,
        problem: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self {
            format,
            source_name: source_name.into(),
            place: Place::Whole,
            field: None,
            found: None,
            problem: problem.into().into(),
            accepted: accepted.into().into(),
            refusal: Refusal::Damaged,
        }
    }

    /// Says that the file is of another kind.
    pub fn foreign(self) -> Self {
        Self { refusal: Refusal::Foreign, ..self }
    }

    /// Sets the line, counted from 1.
    pub fn at_line(mut self, line: u64) -> Self {
        self.place = Place::Line(line);
        self
    }

    /// Sets the byte, counted from 0.
    pub fn at_byte(mut self, byte: u64) -> Self {
        self.place = Place::Byte(byte);
        self
    }

    /// Sets the field or column.
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into().into());
        self
    }

    /// Sets the value found, escaped and shortened.
    pub fn found(mut self, value: &str) -> Self {
        self.found = Some(shortened(value).into());
        self
    }

    /// Without the value found: for a file that has shown in nothing yet that it is of the format, and may be anybody's.
    pub fn without_found(self) -> Self {
        Self { found: None, ..self }
    }

    /// Place, field, value and problem, for a list that names the file and what would be accepted elsewhere.
    pub fn without_source(&self) -> String {
        let mut line = match self.place {
            Place::Whole => String::new(),
            Place::Line(number) => format!("line {number}: "),
            Place::Byte(offset) => format!("byte {offset}: "),
        };
        if let Some(field) = &self.field {
            let _ = write!(line, "{field}: ");
        }
        if let Some(found) = &self.found {
            let _ = write!(line, "\"{found}\" ");
        }
        line.push_str(&self.problem);
        line
    }

    fn one_line(&self) -> String {
        let mut line = self.source_name.to_string();
        // Writing to a String cannot fail, so the results carry nothing.
        let _ = match self.place {
            Place::Whole => Ok(()),
            Place::Line(number) => write!(line, ":{number}"),
            Place::Byte(offset) => write!(line, " at byte {offset}"),
        };
        line.push_str(": ");
        if let Some(field) = &self.field {
            let _ = write!(line, "{field}: ");
        }
        if let Some(found) = &self.found {
            let _ = write!(line, "\"{found}\" ");
        }
        let _ = write!(line, "{}; {}", self.problem, self.accepted);
        line
    }
}

/// Decodes UTF-8 and drops a byte-order mark, which spreadsheet programs like to add.
pub(crate) fn text_of<'a>(
    format: &'static str,
    source_name: &str,
    bytes: &'a [u8],
) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let bad = bytes.get(offset).copied().unwrap_or_default();
        FormatError::new(
            format,
            source_name,
            "is not UTF-8 text",
            "write the file as UTF-8, and decompress it first if it is compressed",
        )
        .at_byte(offset as u64)
        .found(&format!("0x{bad:02x}"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Escapes control characters, so that the message stays on one line, and cuts long values.
fn shortened(value: &str) -> String {
    let mut shown = String::new();
    for (count, character) in value.chars().flat_map(char::escape_debug).enumerate() {
        if count == FOUND_CHARS_MAX {
            shown.push('…');
            break;
        }
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line_with_place_field_value_and_remedy() {
        let error = FormatError::new("t", "simai.txt", "is not a whole number of bytes", "write 8")
            .at_line(12)
            .field("column 5 (forward bytes)")
            .found("1\n2x");
        assert_eq!(
            error.to_string(),
            "simai.txt:12: column 5 (forward bytes): \"1\\n2x\" is not a whole number of bytes; write 8"
        );
    }

    #[test]
    fn long_values_are_cut_at_80_characters() {
        let error = FormatError::new("t", "a", "p", "q").found(&"é".repeat(500));
        let found = error.found.expect("a value was given");
        assert_eq!(found.chars().count(), FOUND_CHARS_MAX + 1);
        assert!(found.ends_with('…'));
    }

    #[test]
    fn bad_utf8_names_its_byte_and_a_byte_order_mark_is_dropped() {
        let error = text_of("t", "a.txt", b"ab\xffc").expect_err("0xff is never UTF-8");
        assert_eq!(error.place, Place::Byte(2));
        assert!(error.to_string().starts_with("a.txt at byte 2: \"0xff\" is not UTF-8"));
        assert_eq!(text_of("t", "a", "\u{feff}x".as_bytes()), Ok("x"));
    }
}

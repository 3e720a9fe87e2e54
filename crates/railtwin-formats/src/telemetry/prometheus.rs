//! The text form of Prometheus metrics: what exporters of all kinds share.

use std::collections::BTreeMap;

use super::input;
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
pub(crate) const FORMAT: &str = "Prometheus text";

/// One value of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct PrometheusSample {
    /// Line of the file, counted from 1.
    pub line: u64,
    /// Name of the metric.
    pub name: String,
    /// Labels by name.
    pub labels: BTreeMap<String, String>,
    /// Value; NaN and the infinities are allowed.
    pub value: f64,
    /// Time in milliseconds since 1970, where the line tells one.
    pub time_ms: Option<i64>,
}

impl PrometheusSample {
    /// A label's text, none where it is absent or empty.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// The first of several labels that is there.
    pub fn first_label(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.label(name))
    }

    /// Nanoseconds of its own time, or `otherwise`.
    pub(crate) fn time_ns(&self, otherwise: u64) -> u64 {
        let own = self.time_ms.and_then(|ms| u64::try_from(ms).ok());
        own.map_or(otherwise, |ms| ms.saturating_mul(1_000_000))
    }

    /// An error about this line.
    pub(crate) fn error(&self, source_name: &str, field: &str, found: &str, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, source_name, "is wrong", accepted)
            .at_line(self.line)
            .field(format!("{}, {field}", self.name))
            .found(found)
    }
}

/// The samples of a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrometheusText {
    /// In the order of the file.
    pub samples: Vec<PrometheusSample>,
    /// Lines that are no samples.
    pub skipped: Skipped,
    /// Those lines as they stand there.
    pub(crate) wrong: Vec<String>,
}

/// All samples of a text, perhaps in gzip; comments, types and help are passed over, exemplars are cut off. A line that is
/// no sample is skipped and counted.
///
/// # Errors
/// A broken gzip stream, and a text without any sample in which a line is wrong: the error names the first.
pub fn parse_prometheus(source_name: &str, bytes: &[u8]) -> Result<PrometheusText, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let mut read = PrometheusText::default();
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match sample(line, number) {
            Ok(sample) => read.samples.push(sample),
            Err((problem, accepted)) => {
                let error = FormatError::new(FORMAT, source_name, problem, accepted);
                read.skipped.take(error.at_line(number).found(line));
                read.wrong.push(line.to_owned());
            }
        }
    }
    match read.skipped.all().filter(|_| read.samples.is_empty()) {
        Some(error) => Err(error),
        None => Ok(read),
    }
}

/// A problem and what would be accepted.
type Wrong = (&'static str, &'static str);

fn sample(line: &str, number: u64) -> Result<PrometheusSample, Wrong> {
    if !input::is_whole(line) {
        return Err(("is not UTF-8 text", "write the file as UTF-8"));
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let end = line.find(|letter| !is_name(letter)).unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Err(("does not begin with the name of a metric", "write name{label=\"text\"} value"));
    }
    let mut labels = BTreeMap::new();
    rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = read_labels(inner, &mut labels)?;
    }
    let mut words = rest.split_whitespace();
    let value = words.next().ok_or(("has no value", "write a number after the name and its labels"))?;
    let value =
        number_of(value).ok_or(("has a value that is no number", "write a number, NaN, +Inf or -Inf"))?;
    let time_ms = match words.next() {
        None => None,
        Some(word) if word.starts_with('#') => None,
        Some(word) => Some(time_of(word).ok_or(("has a time that is no number", "write milliseconds"))?),
    };
    Ok(PrometheusSample { line: number, name: name.to_owned(), labels, value, time_ms })
}

fn number_of(word: &str) -> Option<f64> {
    match word {
        "+Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ => word.parse().ok(),
    }
}

/// Milliseconds; OpenMetrics writes seconds with a fraction.
fn time_of(word: &str) -> Option<i64> {
    word.parse().ok().or_else(|| {
        let seconds: f64 = word.parse().ok()?;
        seconds.is_finite().then_some((seconds * 1000.0) as i64)
    })
}

/// Reads labels up to the closing brace and gives what follows it.
fn read_labels<'a>(mut rest: &'a str, labels: &mut BTreeMap<String, String>) -> Result<&'a str, Wrong> {
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let wrong = ("has a label without ending", "write {label=\"text\",other=\"text\"}");
        let (name, after) = rest.split_once('=').ok_or(wrong)?;
        let mut letters = after.trim_start().strip_prefix('"').ok_or(wrong)?.char_indices();
        let text = &after.trim_start()[1..];
        let mut value = String::new();
        let end = loop {
            match letters.next().ok_or(wrong)? {
                (at, '"') => break at,
                (_, '\\') => match letters.next().ok_or(wrong)?.1 {
                    'n' => value.push('\n'),
                    letter => value.push(letter),
                },
                (_, letter) => value.push(letter),
            }
        };
        labels.insert(name.trim().trim_matches('"').to_owned(), value);
        rest = &text[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_with_labels_escapes_times_and_exemplars() {
        let text = "# HELP a b\n# TYPE a gauge\na{x=\"1\", y=\"a\\\"b\\\\c\\nd,}\",} 2.5 1700000000000\nb NaN\n\
                    c_total 3 # {trace=\"x\"} 1\n# EOF\n";
        let samples = parse_prometheus("m.prom", text.as_bytes()).expect("metrics").samples;
        assert_eq!(samples.len(), 3);
        assert_eq!(
            (samples[0].value, samples[0].time_ms, samples[0].line),
            (2.5, Some(1_700_000_000_000), 3)
        );
        assert_eq!(samples[0].label("y"), Some("a\"b\\c\nd,}"));
        assert!(samples[1].value.is_nan() && samples[2].value == 3.0);
    }

    #[test]
    fn a_wrong_line_is_skipped_and_named() {
        let read =
            parse_prometheus("m.prom", b"ok 1\n{x=\"1\"} 2\nname{a=\"\xff\"} 3\nlast 4\n").expect("samples");
        assert_eq!(read.samples.iter().map(|sample| sample.line).collect::<Vec<_>>(), [1, 4]);
        let named: Vec<String> = read.skipped.first().collect();
        assert_eq!(read.skipped.count(), 2);
        assert!(named[0].starts_with("line 2: \"{x=\\\"1\\\"} 2\" does not begin"), "{named:?}");
        assert!(named[1].ends_with("is not UTF-8 text"), "{named:?}");
    }

    #[test]
    fn errors_name_the_line() {
        for (text, part) in [
            ("a{x=\"1 2", "has a label without ending"),
            ("a{x=\"1\"} two", "no number"),
            ("a", "has no value"),
            ("a 1 later", "a time that is no number"),
        ] {
            let error = parse_prometheus("m.prom", text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}

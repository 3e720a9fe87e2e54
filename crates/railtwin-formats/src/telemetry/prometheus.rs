//! The text form of Prometheus metrics: what exporters of all kinds share.

use std::borrow::Cow;

use super::input;
use super::skipped::Skipped;
use crate::error::FormatError;

/// Name of this format in errors.
pub(crate) const FORMAT: &str = "Prometheus text";

/// One value of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct PrometheusSample<'a> {
    /// Line of the file, counted from 1.
    pub line: u64,
    /// Name of the metric.
    pub name: &'a str,
    /// Labels in their order; of a name that stands there twice the last holds.
    pub labels: Vec<(&'a str, Cow<'a, str>)>,
    /// Value; NaN and the infinities are allowed.
    pub value: f64,
    /// Time in milliseconds since 1970, where the line tells one.
    pub time_ms: Option<i64>,
}

impl PrometheusSample<'_> {
    /// A label's text, none where it is absent or empty.
    pub fn label(&self, name: &str) -> Option<&str> {
        let found = self.labels.iter().rfind(|(known, _)| *known == name);
        found.map(|(_, text)| &**text).filter(|text| !text.is_empty())
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

/// A text that has samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrometheusText<'a> {
    text: Cow<'a, str>,
    /// Lines that are no samples.
    pub skipped: Skipped,
    /// Those lines as they stand there.
    pub(crate) wrong: Vec<String>,
}

impl PrometheusText<'_> {
    /// Samples in the order of the file, each made when it is asked for: a text may have millions.
    pub fn samples(&self) -> impl Iterator<Item = PrometheusSample<'_>> {
        lines(&self.text).filter_map(|(line, number)| sample(line, number).ok())
    }
}

/// Lines that may be samples, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (&str, u64)> {
    let trimmed = text.lines().zip(1_u64..).map(|(line, number)| (line.trim(), number));
    trimmed.filter(|(line, _)| !line.is_empty() && !line.starts_with('#'))
}

/// A text of samples, perhaps in gzip; comments, types and help are passed over, exemplars are cut off. A line that is no
/// sample is skipped and counted.
///
/// # Errors
/// A broken gzip stream, and a text without any sample in which a line is wrong: the error names the first.
pub fn parse_prometheus<'a>(source_name: &str, bytes: &'a [u8]) -> Result<PrometheusText<'a>, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let (mut skipped, mut wrong, mut has_samples) = (Skipped::default(), Vec::new(), false);
    for (line, number) in lines(&text) {
        match sample(line, number) {
            Ok(_) => has_samples = true,
            Err((problem, accepted)) => {
                let error = FormatError::new(FORMAT, source_name, problem, accepted);
                skipped.take(error.at_line(number).found(line));
                wrong.push(line.to_owned());
            }
        }
    }
    match skipped.all().filter(|_| !has_samples) {
        Some(error) => Err(error),
        None => Ok(PrometheusText { text, skipped, wrong }),
    }
}

/// A problem and what would be accepted.
type Wrong = (&'static str, &'static str);

fn sample(line: &str, number: u64) -> Result<PrometheusSample<'_>, Wrong> {
    if !input::is_whole(line) {
        return Err(("is not UTF-8 text", "write the file as UTF-8"));
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    let end = line.find(|letter| !is_name(letter)).unwrap_or(line.len());
    let (name, mut rest) = line.split_at(end);
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        return Err(("does not begin with the name of a metric", "write name{label=\"text\"} value"));
    }
    let mut labels = Vec::new();
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
    Ok(PrometheusSample { line: number, name, labels, value, time_ms })
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
fn read_labels<'a>(mut rest: &'a str, labels: &mut Vec<(&'a str, Cow<'a, str>)>) -> Result<&'a str, Wrong> {
    loop {
        rest = rest.trim_start_matches([',', ' ', '\t']);
        if let Some(after) = rest.strip_prefix('}') {
            return Ok(after);
        }
        let wrong = ("has a label without ending", "write {label=\"text\",other=\"text\"}");
        let (name, after) = rest.split_once('=').ok_or(wrong)?;
        let mut letters = after.trim_start().strip_prefix('"').ok_or(wrong)?.char_indices();
        let text = &after.trim_start()[1..];
        let mut value = Cow::Borrowed("");
        let end = loop {
            let (at, letter) = letters.next().ok_or(wrong)?;
            match letter {
                '"' => break at,
                // From the first escape on the text is another one than stands there.
                '\\' => {
                    if let Cow::Borrowed(_) = value {
                        value = Cow::Owned(text[..at].to_owned());
                    }
                    let letter = letters.next().ok_or(wrong)?.1;
                    value.to_mut().push(if letter == 'n' { '\n' } else { letter });
                }
                letter => {
                    if let Cow::Owned(value) = &mut value {
                        value.push(letter);
                    }
                }
            }
        };
        if let Cow::Borrowed(_) = value {
            value = Cow::Borrowed(&text[..end]);
        }
        labels.push((name.trim().trim_matches('"'), value));
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
        let read = parse_prometheus("m.prom", text.as_bytes()).expect("metrics");
        let samples: Vec<PrometheusSample> = read.samples().collect();
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
        assert_eq!(read.samples().map(|sample| sample.line).collect::<Vec<_>>(), [1, 4]);
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

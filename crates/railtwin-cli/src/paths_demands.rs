//! The demands of `railtwin paths`: a CSV of who sends to whom.
use crate::CliError;

/// Columns that must be there, and those that may.
const NEEDED: [&str; 2] = ["source", "target"];
const OPTIONAL: [&str; 3] = ["queue_pairs", "job", "bytes"];
/// Most queue pairs of a connection that a row may ask for.
pub(crate) const MOST_QUEUE_PAIRS: u32 = 4096;
/// The job of rows that name none.
const DEFAULT_JOB: &str = "job-0";

/// One row: names as written, checked against no fabric yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Demanded {
    /// Line in the file, from 1.
    pub(crate) line: u64,
    pub(crate) source: String,
    pub(crate) target: String,
    /// Queue pairs of each port; none where the row does not say.
    pub(crate) queue_pairs: Option<u32>,
    pub(crate) job: String,
    /// Bytes of a step over each connection; none where the file does not say.
    pub(crate) bytes: Option<u64>,
}

/// Reads the rows. `file` appears in errors, which name line, column, value and what is accepted.
pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Vec<Demanded>, CliError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        CliError::input(format!("{file}:{line}: is no UTF-8 text"), "demands are a CSV file")
    })?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| malformed(file, &error))?.clone();
    let places = Places::of(file, &header)?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| malformed(file, &error))?;
        rows.push(places.row(file, &record)?);
    }
    match rows.is_empty() {
        true => Err(CliError::input(
            format!("{file}: has no demand"),
            "write a row for each pair that talks, such as host-0,host-1",
        )),
        false => Ok(rows),
    }
}

/// Where in a record each column stands.
struct Places {
    source: usize,
    target: usize,
    queue_pairs: Option<usize>,
    job: Option<usize>,
    bytes: Option<usize>,
}

impl Places {
    fn of(file: &str, header: &csv::StringRecord) -> Result<Self, CliError> {
        let known = || NEEDED.into_iter().chain(OPTIONAL);
        let help = "the first line is source,target and, if you like, queue_pairs, job and bytes";
        let place = |wanted: &str| header.iter().position(|name| name == wanted);
        let needed = |wanted: &str| {
            let missing = || CliError::input(format!("{file}:1: has no column {wanted}"), help);
            place(wanted).ok_or_else(missing)
        };
        // First, as a file without them may be anybody's, and what is wrong with others quotes them.
        let [source, target] = [needed(NEEDED[0])?, needed(NEEDED[1])?];
        for (place, name) in header.iter().enumerate() {
            if !known().any(|one| one == name) {
                return Err(CliError::input(format!("{file}:1: unknown column {name:?}"), help));
            }
            if header.iter().take(place).any(|other| other == name) {
                return Err(CliError::input(format!("{file}:1: column {name} is there twice"), help));
            }
        }
        Ok(Self {
            source,
            target,
            queue_pairs: place("queue_pairs"),
            job: place("job"),
            bytes: place("bytes"),
        })
    }

    fn row(&self, file: &str, record: &csv::StringRecord) -> Result<Demanded, CliError> {
        let line = record.position().map_or(0, csv::Position::line);
        let field = |place: usize| record.get(place).unwrap_or_default();
        let name = |place: usize, column: &str| match field(place) {
            "" => Err(CliError::input(
                format!("{file}:{line}: column {column} is empty"),
                "write a NIC such as host-1/nic-0, or a host such as host-1 for all its NICs",
            )),
            name => Ok(name.to_owned()),
        };
        let queue_pairs = match self.queue_pairs.map(field) {
            None | Some("") => None,
            Some(text) => Some(count(text).ok_or_else(|| {
                let message = format!("{file}:{line}: column queue_pairs cannot be {text:?}");
                CliError::input(message, format!("write a whole number from 1 to {MOST_QUEUE_PAIRS}"))
            })?),
        };
        let bytes = match self.bytes.map(field) {
            None => None,
            Some(text) => Some(text.parse().ok().filter(|&bytes| bytes > 0).ok_or_else(|| {
                let message = format!("{file}:{line}: column bytes cannot be {text:?}");
                CliError::input(
                    message,
                    "write a whole number from 1 on in every row, or leave the column away",
                )
            })?),
        };
        let job = match self.job.map(field) {
            None | Some("") => DEFAULT_JOB,
            Some(job) => job,
        };
        Ok(Demanded {
            line,
            source: name(self.source, "source")?,
            target: name(self.target, "target")?,
            queue_pairs,
            job: job.to_owned(),
            bytes,
        })
    }
}

/// A number of queue pairs.
pub(crate) fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| (1..=MOST_QUEUE_PAIRS).contains(count))
}

fn malformed(file: &str, error: &csv::Error) -> CliError {
    let line = error.position().map_or(1, csv::Position::line);
    let (message, help) = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let message = format!("{file}:{line}: has {len} fields, the first line has {expected_len}");
            (message, "write as many fields in every row; leave a field empty for its default")
        }
        _ => (format!("{file}:{line}: {error}"), "demands are a CSV file with a first line of names"),
    };
    CliError::input(message, help)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_come_in_any_order_and_blanks_are_defaults() {
        let text = "job, target,source,queue_pairs\n a ,host-1,host-0,4\n,host-2/nic-0,host-0/nic-0,\n";
        let rows = parse("d.csv", text.as_bytes()).unwrap();
        assert_eq!((rows[0].job.as_str(), rows[0].queue_pairs, rows[0].line), ("a", Some(4), 2));
        assert_eq!((rows[1].job.as_str(), rows[1].queue_pairs), (DEFAULT_JOB, None));
        assert_eq!((rows[1].source.as_str(), rows[1].target.as_str()), ("host-0/nic-0", "host-2/nic-0"));
    }

    #[test]
    fn wrong_files_are_named_by_line_and_value() {
        let message = |text: &[u8]| parse("d.csv", text).unwrap_err().to_string();
        for (text, expected) in [
            ("source\nhost-0\n", "d.csv:1: has no column target"),
            ("root:x:0:0:secret\n", "d.csv:1: has no column source"),
            ("source,target,bytes\na,b,-1\n", "d.csv:2: column bytes cannot be \"-1\""),
            ("source,target,size\n", "d.csv:1: unknown column \"size\""),
            ("source,target,source\n", "d.csv:1: column source is there twice"),
            ("source,target\n", "d.csv: has no demand"),
            ("source,target\nhost-0\n", "d.csv:2: has 1 fields, the first line has 2"),
            ("source,target\nhost-0,\n", "d.csv:2: column target is empty"),
            ("source,target,queue_pairs\na,b,0\n", "d.csv:2: column queue_pairs cannot be \"0\""),
            ("source,target,queue_pairs\na,b,5000\n", "d.csv:2: column queue_pairs cannot be \"5000\""),
        ] {
            assert_eq!(message(text.as_bytes()), expected);
        }
        assert_eq!(message(b"source,target\n\xFF"), "d.csv:2: is no UTF-8 text");
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_err(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(rows) = parse("d.csv", &bytes) {
                prop_assert!(!rows.is_empty());
            }
        }

        #[test]
        fn any_rows_parse_or_name_their_line(text in "[a-z0-9,\"\n/-]{0,120}") {
            match parse("d.csv", format!("source,target,queue_pairs,job\n{text}").as_bytes()) {
                Ok(rows) => prop_assert!(rows.iter().all(|row| row.line > 1 && !row.source.is_empty())),
                Err(error) => prop_assert!(error.to_string().starts_with("d.csv:"), "{error}"),
            }
        }
    }
}

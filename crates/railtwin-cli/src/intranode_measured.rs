//! `railtwin intranode --validate`: a pair of hosts of the model beside what perftest measured, and fitted to it.
use railtwin::Question;
use railtwin::intranode::fit::{FitKey, Fitted, fit};
use railtwin::intranode::measured::{Compared, Errors, Test, tests};
use railtwin::intranode::words_of_idle;
use railtwin_formats::telemetry::Note;
use serde_json::{Value, json};

use crate::evidence::evidence;
use crate::intranode::IntranodeArgs;
use crate::table::TextTable;
use crate::{CliError, Streams};

/// A test beside the model.
struct Row {
    test: Test,
    before: Compared,
    fitted: Option<Fitted>,
}

pub(crate) fn run(
    args: &IntranodeArgs,
    question: &Question,
    streams: &mut Streams<'_>,
) -> Result<(), CliError> {
    let keys = args.fit.as_deref().map(keys_of).transpose()?;
    let inputs = evidence(&args.validate, "job")?;
    let (tests, notes) = tests(&inputs.merged.perftest);
    let read = inputs.merged.telemetry.notes.iter().filter(|note| !matches!(note, Note::NamelessRuns(_)));
    let read = read.map(Note::to_string);
    for note in inputs.notes.iter().cloned().chain(read).chain(notes) {
        writeln!(streams.notes, "{note}")?;
    }
    for file in inputs.merged.files.iter().filter(|file| file.skipped.count() > 0) {
        let first: Vec<String> = file.skipped.first().collect();
        let (source, count) = (&file.source, file.skipped.count());
        writeln!(streams.notes, "{source}: {count} lines are left out: {}", first.join(", "))?;
    }
    if tests.is_empty() {
        let what = args.validate.first().map_or(String::new(), |path| path.display().to_string());
        let help = "give what ib_write_bw, ib_read_lat and their kin print, with their titles";
        return Err(CliError::input(format!("{what} holds no test of perftest one way"), help));
    }
    let wrong = |error| CliError::of(error, &question.text);
    let pair = question.intranode_pair().map_err(wrong)?;
    // Samples are of both measures, whichever the scenario asks for.
    for idle in pair.spec.idle().into_iter().filter(|(key, _)| !key.starts_with("intranode.pair.")) {
        writeln!(streams.notes, "warning: {}", words_of_idle(idle))?;
    }
    let mut rows = Vec::with_capacity(tests.len());
    for test in tests {
        let (before, fitted) = match &keys {
            None => (pair.compared(&pair.spec, &test).map_err(wrong)?, None),
            Some(keys) => {
                let keys = (!keys.is_empty()).then_some(keys.as_slice());
                let fitted = fit(&pair, &test, keys).map_err(wrong)?;
                (fitted.before.clone(), Some(fitted))
            }
        };
        rows.push(Row { test, before, fitted });
    }
    if args.json {
        let tests: Vec<Value> = rows.iter().map(Row::data).collect();
        return Ok(writeln!(streams.out, "{:#}", json!({ "tests": tests }))?);
    }
    for (number, row) in rows.iter().enumerate() {
        write!(streams.out, "{}{}", if number > 0 { "\n" } else { "" }, row.text())?;
    }
    Ok(())
}

/// Keys that `--fit` names; none where it names none.
fn keys_of(text: &str) -> Result<Vec<FitKey>, CliError> {
    let known = FitKey::ALL.map(FitKey::word).join(", ");
    let key = |word: &str| {
        let word = word.trim();
        let found = FitKey::ALL.into_iter().find(|key| key.word() == word || key.name() == word);
        found.ok_or_else(|| {
            CliError::input(
                format!("--fit: {word:?} is no key that is fitted"),
                format!("write some of {known}"),
            )
        })
    };
    if text.is_empty() { Ok(Vec::new()) } else { text.split(',').map(key).collect() }
}

impl Row {
    fn data(&self) -> Value {
        let after = self.fitted.as_ref().map(|fitted| &fitted.after);
        let sample = |(row, sample): (usize, &railtwin::intranode::measured::Sample)| {
            let mut data = json!(sample);
            data["modelled"] = json!(self.before.modelled[row]);
            if let Some(after) = after {
                data["fitted"] = json!(after.modelled[row]);
            }
            data
        };
        let samples: Vec<Value> = self.test.samples.iter().enumerate().map(sample).collect();
        let errors =
            |compared: &Compared| json!({ "bandwidth": compared.bandwidth, "latency": compared.latency });
        let mut data =
            json!({ "operation": self.test.verb.name(), "samples": samples, "errors": errors(&self.before) });
        if let Some(fitted) = &self.fitted {
            data["fit"] = json!({
                "keys": fitted.keys, "not_told": fitted.untold, "errors": errors(&fitted.after), "toml": fitted.toml(),
            });
        }
        data
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.test.verb.name());
        let after = self.fitted.as_ref().map(|fitted| &fitted.after);
        let mut table = TextTable::default();
        let mut heads = vec!["size", "", "measured", "model", "error"];
        if after.is_some() {
            heads.extend(["fitted", "error"]);
        }
        table.row(heads.iter().map(|head| (*head).to_owned()));
        let mut inline = false;
        for (row, sample) in self.test.samples.iter().enumerate() {
            let (name, scale) = if sample.is_latency() { ("us", 1e6) } else { ("GB/s", 1e-9) };
            let mut cells = vec![format!("{}", railtwin_units::Bytes(sample.bytes)), name.to_owned()];
            cells.push(format!("{:.2}", sample.measured * scale));
            for compared in std::iter::once(&self.before).chain(after) {
                let ours = compared.modelled[row];
                cells.push(format!("{:.2}", ours * scale));
                cells.push(format!("{:+.1} %", 100.0 * (ours / sample.measured - 1.0)));
            }
            table.noted_row(cells, if sample.is_inline { "inline" } else { "" });
            inline |= sample.is_inline;
        }
        text.push_str(&table.text());
        if inline {
            text.push_str("inline: it went to the adapter with its work request, which the model has not; in no error\n");
        }
        text.push_str(&format!("errors: {}\n", shown(&self.before)));
        let Some(fitted) = &self.fitted else { return text };
        text.push_str(&format!("errors after the fit: {}\n", shown(&fitted.after)));
        for key in &fitted.keys {
            text.push_str(&format!("  {} = {}, within {}\n", key.name, key.text, key.within_text));
        }
        text.push_str("not told by these measurements, as in the scenario:\n");
        for key in &fitted.untold {
            text.push_str(&format!("  {}: {}\n", key.name, key.why));
        }
        text.push_str(&format!("\n# {}: railtwin intranode --fit\n{}", self.test.verb.name(), fitted.toml()));
        text
    }
}

fn shown(compared: &Compared) -> String {
    let of = |name: &str, errors: Option<Errors>| {
        errors.map(|errors| {
            format!("{name} {:.1} % mean, {:.1} % at most", 100.0 * errors.mean, 100.0 * errors.most)
        })
    };
    let both = [of("bandwidth", compared.bandwidth), of("latency", compared.latency)];
    let both: Vec<String> = both.into_iter().flatten().collect();
    if both.is_empty() { "none, all sizes were inline".to_owned() } else { both.join("; ") }
}

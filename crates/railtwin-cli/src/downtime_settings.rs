//! The settings of a downtime plan, read from `[downtime]` of a TOML file and from flags.
use railtwin_reliability::failure_rates::{Cause, FailureRate, FailureRates};
use toml::{Table, Value};

use crate::CliError;
use crate::downtime_text::{TIME, hours_of, time};

/// Keys of `[downtime]`.
const KEYS: [&str; 18] = [
    "rates",
    "rate_factor",
    "failure",
    "gpus",
    "gpus_per_host",
    "hours",
    "interval",
    "checkpoint_cost",
    "detection",
    "diagnosis",
    "isolation",
    "restart",
    "spares",
    "repair",
    "price",
    "windows",
    "seed",
    "note",
];
/// Keys of `[[downtime.failure]]`.
const FAILURE_KEYS: [&str; 6] = ["component", "cause", "count", "gpus", "days", "local"];

/// What is set; the rest is as [`railtwin_reliability::downtime::Plan::new`] has it.
pub(crate) struct Settings {
    pub(crate) rates: Option<FailureRates>,
    pub(crate) own_rates: Vec<FailureRate>,
    pub(crate) rate_factor: f64,
    pub(crate) gpus: u32,
    pub(crate) gpus_per_host: u32,
    pub(crate) hours: Option<f64>,
    pub(crate) interval: Option<f64>,
    pub(crate) checkpoint_cost: Option<f64>,
    pub(crate) detection: [Option<f64>; 5],
    pub(crate) diagnosis: [Option<f64>; 5],
    pub(crate) isolation: Option<f64>,
    pub(crate) restart: Option<f64>,
    /// Some(None) = any number.
    pub(crate) spares: Option<Option<u32>>,
    pub(crate) repair: Option<f64>,
    pub(crate) price: Option<f64>,
    pub(crate) windows: u32,
    pub(crate) seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rates: None,
            own_rates: Vec::new(),
            rate_factor: 1.0,
            gpus: 2400,
            gpus_per_host: 8,
            hours: None,
            interval: None,
            checkpoint_cost: None,
            detection: [None; 5],
            diagnosis: [None; 5],
            isolation: None,
            restart: None,
            spares: None,
            repair: None,
            price: None,
            windows: 1000,
            seed: 1,
        }
    }
}

/// A value that is refused: what would be accepted.
type Refused = String;

impl Settings {
    /// Reads a file.
    pub(crate) fn read(&mut self, file: &str, text: &str) -> Result<(), CliError> {
        let help = "a plan is a TOML file with the keys of a [downtime]";
        // Errors quote the file: one that does not show itself as a plan may be anybody's.
        let begins = |line: &str| line.trim_start_matches(['[', ' ', '\t']).starts_with("downtime");
        if !text.lines().any(begins) {
            return Err(CliError::input(format!("{file}: has no [downtime]"), help));
        }
        let file_table: Table = toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            CliError::input(format!("{file}:{line}: {}", error.message()), help)
        })?;
        if let Some(name) = file_table.keys().find(|name| *name != "downtime") {
            let place = line_of(text, name, 0);
            return Err(CliError::input(format!("{file}:{place}: unknown table {name:?}"), help));
        }
        let Some(Value::Table(table)) = file_table.get("downtime") else {
            return Err(CliError::input(format!("{file}: has no [downtime]"), help));
        };
        for (key, value) in table {
            if key == "failure" {
                self.failures(file, text, value)?;
                continue;
            }
            self.set(key, value).map_err(|accepted| {
                let line = line_of(text, key, 0);
                CliError::input(format!("{file}:{line}: {key} cannot be {value}"), accepted)
            })?;
        }
        Ok(())
    }

    /// Sets a key from a flag.
    pub(crate) fn set_flag(&mut self, key: &str, text: &str) -> Result<(), CliError> {
        let number = text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float));
        let value = number.unwrap_or_else(|_| Value::String(text.to_owned()));
        self.set(key, &value).map_err(|accepted| {
            let flag = key.replace('_', "-");
            CliError::input(format!("--{flag} cannot be {text:?}"), accepted)
        })?;
        if key == "rates" {
            self.own_rates.clear();
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), Refused> {
        match key {
            "rates" => {
                let preset = value.as_str().and_then(FailureRates::preset);
                let names = FailureRates::PRESETS.join(", ");
                self.rates = Some(
                    preset.ok_or(format!("write one of {names}, or [[downtime.failure]] for own ones"))?,
                );
            }
            "rate_factor" => self.rate_factor = number(value, 0.0, 1e6)?,
            "gpus" => self.gpus = whole(value, 1, 10_000_000)? as u32,
            "gpus_per_host" => self.gpus_per_host = whole(value, 1, 1024)? as u32,
            "hours" => self.hours = Some(hours(value)?),
            "interval" => {
                let interval = hours_text(value)?;
                self.interval = Some(if interval > 0.0 { interval } else { return Err(above_zero()) });
            }
            "checkpoint_cost" => self.checkpoint_cost = Some(hours_text(value)?),
            "detection" => self.detection = by_cause(self.detection, value)?,
            "diagnosis" => self.diagnosis = by_cause(self.diagnosis, value)?,
            "isolation" => self.isolation = Some(hours_text(value)?),
            "restart" => self.restart = Some(hours_text(value)?),
            "repair" => self.repair = Some(hours_text(value)?),
            "spares" => {
                self.spares = Some(match value.as_str() {
                    Some("any") => None,
                    _ => {
                        let count = whole(value, 0, 1_000_000);
                        Some(count.map_err(|accepted| format!("{accepted}, or any"))? as u32)
                    }
                });
            }
            "price" => self.price = Some(number(value, 0.0, 1e6)?),
            "windows" => self.windows = whole(value, 2, 100_000)? as u32,
            "seed" => self.seed = whole(value, 0, i64::MAX)? as u64,
            "note" => {}
            _ => return Err(format!("there is no such key; keys are {}", KEYS.join(", "))),
        }
        Ok(())
    }

    /// Own failure rates: so many crashes, seen on so many GPUs in so many days.
    fn failures(&mut self, file: &str, text: &str, value: &Value) -> Result<(), CliError> {
        let help =
            "write [[downtime.failure]] with component, cause, count, gpus, days and, if you like, local";
        let list =
            value.as_array().ok_or_else(|| CliError::input(format!("{file}: failure is no list"), help))?;
        for (index, one) in list.iter().enumerate() {
            let from = failure_line(text, index);
            let table = one.as_table().ok_or_else(|| {
                CliError::input(format!("{file}:{from}: failure {} is no table", index + 1), help)
            })?;
            let refuse = |key: &str, accepted: Refused| {
                let (place, message) = match table.get(key) {
                    Some(value) => (line_of(text, key, from), format!("{key} cannot be {value}")),
                    None => (from, format!("failure {} has no {key}", index + 1)),
                };
                CliError::input(format!("{file}:{place}: {message}"), accepted)
            };
            if let Some(key) = table.keys().find(|key| !FAILURE_KEYS.contains(&key.as_str())) {
                return Err(refuse(
                    key,
                    format!("there is no such key; keys are {}", FAILURE_KEYS.join(", ")),
                ));
            }
            let get = |key: &str, low: f64, high: f64| {
                let missing = || format!("write a number from {low} to {high}");
                let value = table.get(key).ok_or_else(missing);
                value.and_then(|value| number(value, low, high)).map_err(|accepted| refuse(key, accepted))
            };
            let component = table.get("component").and_then(Value::as_str).unwrap_or("own").to_owned();
            let cause = table.get("cause").and_then(Value::as_str).and_then(Cause::parse);
            let cause = cause.ok_or_else(|| refuse("cause", format!("write one of {}", Cause::names())))?;
            let (count, gpus) = (get("count", 0.0, 1e9)?, get("gpus", 1.0, 1e9)?);
            let days = get("days", 1e-3, 1e6)?;
            let local = if table.contains_key("local") { get("local", 0.0, 1.0)? } else { 1.0 };
            let per_gpu_month = count / gpus / (days / 30.0);
            self.own_rates.push(FailureRate { component, cause, per_gpu_month, local });
        }
        Ok(())
    }
}

fn above_zero() -> Refused {
    format!("write {TIME}, above 0")
}

fn number(value: &Value, low: f64, high: f64) -> Result<f64, Refused> {
    let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    number
        .filter(|number| (low..=high).contains(number))
        .ok_or(format!("write a number from {low} to {high}"))
}

fn whole(value: &Value, low: i64, high: i64) -> Result<i64, Refused> {
    let fits = value.as_integer().filter(|whole| (low..=high).contains(whole));
    fits.ok_or(format!("write a whole number from {low} to {high}"))
}

fn hours_text(value: &Value) -> Result<f64, Refused> {
    value.as_str().and_then(time).ok_or(format!("write {TIME}"))
}

fn hours(value: &Value) -> Result<f64, Refused> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    hours_of(&text).map_err(|_| "write hours above 0, such as 720, or \"30 d\"".to_owned())
}

/// One time for all causes, or a table with a time for each of some.
fn by_cause(mut times: [Option<f64>; 5], value: &Value) -> Result<[Option<f64>; 5], Refused> {
    let Value::Table(table) = value else {
        return Ok([Some(hours_text(value)?); 5]);
    };
    for (name, value) in table {
        let cause = Cause::parse(name);
        let cause = cause.ok_or_else(|| format!("write a time for some of {}", Cause::names()))?;
        times[cause.index()] = Some(hours_text(value)?);
    }
    Ok(times)
}

/// The first line at or after line `from` that sets a key or opens a table of that name.
fn line_of(text: &str, key: &str, from: usize) -> usize {
    let sets = |line: &str| {
        let line = line.trim_start().trim_start_matches('[').trim_start_matches("downtime.");
        let rest = line.strip_prefix(key).or_else(|| line.strip_prefix(&format!("\"{key}\"")));
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '.']))
    };
    let mut lines = text.lines().enumerate().skip(from.saturating_sub(1));
    lines.find(|(_, line)| sets(line)).map_or(from.max(1), |(index, _)| index + 1)
}

/// The line that opens a failure.
fn failure_line(text: &str, index: usize) -> usize {
    let opens = |line: &str| line.replace(' ', "").starts_with("[[downtime.failure]]");
    text.lines().enumerate().filter(|(_, line)| opens(line)).nth(index).map_or(1, |(line, _)| line + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        settings.read("p.toml", text).map_err(|error| error.to_string())?;
        Ok(settings)
    }

    #[test]
    fn a_file_sets_what_it_names() {
        let text = "[downtime]\ngpus = 512\nspares = \"any\"\ninterval = \"10 min\"\nhours = 100\n\
                    detection = { cuda = \"1 h\" }\n[[downtime.failure]]\ncause = \"cuda\"\ncount = 3\ngpus = 100\n\
                    days = 60\n";
        let settings = read(text).unwrap();
        assert_eq!((settings.gpus, settings.spares, settings.hours), (512, Some(None), Some(100.0)));
        assert_eq!(settings.detection, [None, Some(1.0), None, None, None]);
        assert!((settings.own_rates[0].per_gpu_month - 0.015).abs() < 1e-12);
    }

    #[test]
    fn wrong_values_are_named_by_line() {
        let message = |text: &str| read(text).map(|_| ()).unwrap_err();
        for (text, expected) in [
            ("[downtime]\n\ngpus = 0\n", "p.toml:3: gpus cannot be 0"),
            ("[downtime]\ninterval = \"3\"\n", "p.toml:2: interval cannot be \"3\""),
            ("[downtime]\ninterval = \"0 s\"\n", "p.toml:2: interval cannot be \"0 s\""),
            ("[downtime]\nrates = \"meta\"\n", "p.toml:2: rates cannot be \"meta\""),
            ("[downtime]\ngpu = 1\n", "p.toml:2: gpu cannot be 1"),
            ("[job]\n", "p.toml: has no [downtime]"),
            ("[downtime]\n[job]\n", "p.toml:2: unknown table \"job\""),
            ("", "p.toml: has no [downtime]"),
            ("[downtime]\nspares = -1\n", "p.toml:2: spares cannot be -1"),
            ("[downtime]\n[[downtime.failure]]\ncause = \"x\"\n", "p.toml:3: cause cannot be \"x\""),
            ("[downtime]\n[[downtime.failure]]\ncause = \"cuda\"\n", "p.toml:2: failure 1 has no count"),
        ] {
            assert_eq!(message(text), expected);
        }
        assert!(message("[downtime\n").starts_with("p.toml:1: "));
    }

    proptest! {
        #[test]
        fn any_text_is_a_plan_or_an_error(text in ".{0,60}", value in "[a-z0-9 .\"\\[\\]{}=-]{0,20}") {
            let _ = read(&text);
            for key in KEYS {
                if let Err(error) = read(&format!("[downtime]\n{key} = {value}\n")) {
                    prop_assert!(error.starts_with("p.toml"), "{error}");
                }
            }
        }
    }
}

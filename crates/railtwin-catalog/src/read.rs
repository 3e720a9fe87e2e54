//! Lines of a table, read strictly: an unknown key, a wrong type or a value out of range is an error with its place.
use std::ops::Range;

use railtwin_units::Rate;
use toml::de::{DeTable, DeValue};

use crate::error::CatalogError;
use crate::part::{Medium, Part, PartKind};

/// A change of a part.
type Apply = Box<dyn FnOnce(Part) -> Result<Part, CatalogError>>;

/// A line of the table.
pub(crate) struct Line {
    /// Line of the text, from 1.
    pub(crate) line: usize,
    pub(crate) kind: PartKind,
    pub(crate) name: String,
    /// Writes the keys of the line over a part.
    pub(crate) apply: Apply,
}

/// A scalar of TOML, or a list of words.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Number(f64),
    Bool(bool),
    Words(Vec<String>),
    Other,
}

#[derive(Clone, Debug)]
struct Entry {
    line: usize,
    key: String,
    written: String,
    value: Value,
}

impl Entry {
    fn error(&self, problem: &str, accepted: impl Into<String>) -> CatalogError {
        CatalogError {
            line: self.line,
            key: self.key.clone(),
            value: self.written.clone(),
            problem: problem.to_owned(),
            accepted: accepted.into(),
        }
    }

    fn number(&self, range: Range<f64>) -> Result<f64, CatalogError> {
        let accepted = format!("write a number from {} to {}", range.start, range.end);
        match self.value {
            Value::Number(number) if number >= range.start && number <= range.end => Ok(number),
            Value::Number(_) => Err(self.error("is out of range", accepted)),
            _ => Err(self.error("is not a number", accepted)),
        }
    }

    fn text(&self) -> Result<&str, CatalogError> {
        match &self.value {
            Value::Text(text) if !text.trim().is_empty() => Ok(text),
            Value::Text(_) => Err(self.error("is empty", "write a text")),
            _ => Err(self.error("is not a text", "write a text in quotation marks")),
        }
    }
}

/// Longest part of a value that an error repeats, characters.
const WRITTEN_CHARS_MAX: usize = 60;
/// Most of anything that a line may say: dollars, watts, metres.
const MOST: f64 = 1e9;

/// Lines of a text.
pub(crate) fn lines(text: &str) -> Result<Vec<Line>, CatalogError> {
    let place = |at: usize| 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
    let table = DeTable::parse(text).map_err(|error| CatalogError {
        line: place(error.span().map_or(0, |span| span.start)),
        key: String::new(),
        value: String::new(),
        problem: format!("is not TOML: {}", error.message().replace('\n', ", ")),
        accepted: "write lines such as [[switch]] with keys below".to_owned(),
    })?;
    let mut all = Vec::new();
    for (key, value) in table.get_ref().iter() {
        let at = Entry {
            line: place(key.span().start),
            key: key.get_ref().to_string(),
            written: String::new(),
            value: Value::Other,
        };
        let accepted = format!("write one of {} in double brackets", PartKind::NAMES.join(", "));
        let Some(kind) = PartKind::named(&at.key) else {
            return Err(at.error("is no kind of part", accepted));
        };
        let DeValue::Array(items) = value.get_ref() else {
            return Err(at.error("is not a list of parts", format!("write [[{kind}]]")));
        };
        for item in items.iter() {
            let DeValue::Table(keys) = item.get_ref() else {
                return Err(at.error("is not a list of parts", format!("write [[{kind}]]")));
            };
            let line = place(item.span().start);
            all.push(line_of(kind, line, entries(text, keys, &place))?);
        }
    }
    all.sort_by_key(|line| line.line);
    Ok(all)
}

fn entries(text: &str, table: &DeTable<'_>, place: &dyn Fn(usize) -> usize) -> Vec<Entry> {
    let of = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let key: &toml::Spanned<std::borrow::Cow<'_, str>> = key;
        let written = text.get(value.span()).unwrap_or_default().lines().next().unwrap_or_default();
        let mut short: String = written.chars().take(WRITTEN_CHARS_MAX).collect();
        if short.len() < written.len() {
            short.push('…');
        }
        Entry {
            line: place(key.span().start),
            key: key.get_ref().to_string(),
            written: short,
            value: value_of(value.get_ref()),
        }
    };
    table.iter().map(of).collect()
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other, |number| Value::Number(number as f64)),
        DeValue::Float(number) => number.as_str().parse().map_or(Value::Other, Value::Number),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Array(items) => {
            let words = items.iter().map(|item| match item.get_ref() {
                DeValue::String(word) => Some(word.to_string()),
                _ => None,
            });
            words.collect::<Option<Vec<String>>>().map_or(Value::Other, Value::Words)
        }
        _ => Value::Other,
    }
}

fn line_of(kind: PartKind, line: usize, entries: Vec<Entry>) -> Result<Line, CatalogError> {
    let missing = move |key: &str, accepted: &str| CatalogError {
        line,
        key: key.to_owned(),
        value: String::new(),
        problem: "is missing".to_owned(),
        accepted: accepted.to_owned(),
    };
    let name = entries.iter().find(|entry| entry.key == "name");
    let name = name.ok_or_else(|| missing("name", "write name = \"...\""))?.text()?.to_owned();
    if !entries.iter().any(|entry| entry.key == "source" || entry.key == "assumed") {
        let accepted = "write source = \"an address or a document\", or assumed = true";
        return Err(missing("source", accepted));
    }
    let apply: Apply = Box::new(move |mut part| {
        part.source = None;
        (part.is_usd_assumed, part.is_watts_assumed) = (false, false);
        if entries.iter().any(|entry| entry.key == "usd") {
            part.share_of = None;
        }
        entries.iter().try_for_each(|entry| set(&mut part, entry))?;
        let is_usd_assumed = part.is_usd_assumed;
        part.share_of.iter_mut().for_each(|share| share.is_assumed = is_usd_assumed);
        if part.source.is_none() && !(part.is_usd_assumed && part.is_watts_assumed) {
            return Err(missing("source", "write source = \"...\", or assumed = true where there is none"));
        }
        let needs =
            |has: bool, key| if has { Ok(()) } else { Err(missing(key, "write it, this kind needs it")) };
        let (has_ports, has_rate, has_medium) = needed(kind);
        needs(!has_ports || part.ports > 0, "ports")?;
        needs(!has_rate || part.rate > Rate::ZERO, "rate")?;
        needs(!has_medium || part.medium.is_some(), "medium")?;
        needs(kind != PartKind::Optic && kind != PartKind::Cable || part.reach_m > 0.0, "reach_m")?;
        Ok(part)
    });
    Ok(Line { line, kind, name, apply })
}

/// Whether a kind has ports, a rate, a medium.
const fn needed(kind: PartKind) -> (bool, bool, bool) {
    match kind {
        PartKind::Switch | PartKind::Nic => (true, true, false),
        PartKind::Optic | PartKind::Cable => (false, true, true),
        PartKind::Fibre => (false, false, true),
        PartKind::Host => (false, false, false),
    }
}

/// Keys that lines of a kind have.
fn keys(kind: PartKind) -> Vec<&'static str> {
    let (has_ports, has_rate, has_medium) = needed(kind);
    let mut keys = vec!["name", "usd", "watts", "source", "assumed"];
    keys.extend(has_ports.then_some("ports"));
    keys.extend(has_rate.then_some("rate"));
    keys.extend(has_medium.then_some("medium"));
    match kind {
        PartKind::Optic => keys.extend(["reach_m", "share_of", "share"]),
        PartKind::Cable => keys.extend(["reach_m", "usd_per_m"]),
        PartKind::Fibre => keys.push("usd_per_m"),
        _ => {}
    }
    keys
}

fn set(part: &mut Part, entry: &Entry) -> Result<(), CatalogError> {
    let keys = keys(part.kind);
    if !keys.contains(&entry.key.as_str()) {
        return Err(
            entry.error("is no key of this kind of part", format!("write one of {}", keys.join(", ")))
        );
    }
    match entry.key.as_str() {
        "ports" => {
            let ports = entry.number(1.0..65_536.0)?;
            if ports.fract() != 0.0 {
                return Err(entry.error("is not a whole number", "write a whole number from 1 to 65536"));
            }
            part.ports = ports as u32;
        }
        "rate" => {
            let rate: Result<Rate, _> = entry.text()?.parse();
            let rate = rate.ok().filter(|&rate| rate > Rate::ZERO);
            part.rate =
                rate.ok_or_else(|| entry.error("is not a rate", "write a rate such as \"400 Gbps\""))?;
        }
        "medium" => part.medium = Some(medium(part.kind, entry)?),
        "reach_m" => part.reach_m = entry.number(0.1..MOST)?,
        "usd" => part.usd = entry.number(0.0..MOST)?,
        "usd_per_m" => part.usd_per_m = entry.number(0.0..MOST)?,
        "watts" => part.watts = entry.number(0.0..MOST)?,
        "share_of" => part.share_of.get_or_insert_default().of = entry.text()?.to_owned(),
        "share" => part.share_of.get_or_insert_default().share = entry.number(0.0..1.0)?,
        "source" => part.source = Some(entry.text()?.to_owned()),
        "assumed" => (part.is_usd_assumed, part.is_watts_assumed) = assumed(entry)?,
        _ => {}
    }
    Ok(())
}

/// The medium, one that the kind has.
fn medium(kind: PartKind, entry: &Entry) -> Result<Medium, CatalogError> {
    let fits: &[Medium] = match kind {
        PartKind::Cable => &[Medium::Copper, Medium::ActiveCopper, Medium::ActiveOptical],
        _ => &[Medium::Multimode, Medium::SingleMode],
    };
    let names: Vec<&str> = fits.iter().map(|medium| medium.name()).collect();
    let found = Medium::named(entry.text()?).filter(|medium| fits.contains(medium));
    found
        .ok_or_else(|| entry.error("is no medium of this kind", format!("write one of {}", names.join(", "))))
}

/// Whether price and power are assumed.
fn assumed(entry: &Entry) -> Result<(bool, bool), CatalogError> {
    let accepted = "write true, or those of [\"usd\", \"watts\"] that are assumed";
    match &entry.value {
        Value::Bool(all) => Ok((*all, *all)),
        Value::Words(words) if words.iter().all(|word| word == "usd" || word == "watts") => {
            let has = |key: &str| words.iter().any(|word| word == key);
            Ok((has("usd"), has("watts")))
        }
        _ => Err(entry.error("does not say which figures are assumed", accepted)),
    }
}

//! The check of a tree against the description of its keys: every problem at its place.
use std::ops::Range;

use railtwin_units::{Bytes, QuantityError, Rate, SimTime, TimeRange};

use crate::error::Problem;
use crate::expect::Amount;
use crate::scenario::SCHEMA;
use crate::suggest::{accepted_or_nearest, nearest, quoted};
use crate::tree::{Entry, Node, Value};
use railtwin_units::keys::{Key, Kind, Table, Variant};

/// The fastest that anything may be: 1,000 Tbps. Switches add their ports up in 64 bits.
const FASTEST: Rate = Rate::from_gbps(1_000_000);

/// Checks `node` as `table`; the problems go to `problems`.
pub(crate) fn check(text: &str, node: &Node, table: &'static Table, problems: &mut Vec<Problem>) {
    Checker { text, problems }.table(node, table);
}

/// Keys of the whole that had another place once, with what to write now.
const MOVED: [(&str, &str); 1] =
    [("trouble", "write [[fault]] with kind lossy, lose-acknowledgement, slow, pause-storm or small-buffer")];

struct Checker<'a> {
    text: &'a str,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn report(&mut self, span: &Range<usize>, message: String, hint: impl Into<Option<String>>) {
        let problem = Problem::new(self.text, span.clone(), message, hint.into());
        self.problems.push(problem);
    }

    fn table(&mut self, node: &Node, table: &'static Table) {
        let Value::Table(entries) = &node.value else {
            let message = format!("{} is a table, not {}", table.title, node.kind());
            return self.report(&node.span, message, None);
        };
        let variant = variant_of(node, table);
        let more = variant.map_or(&[][..], |variant| variant.keys);
        let keys = || table.keys.iter().chain(more);
        for entry in entries {
            match keys().find(|key| key.name == entry.key) {
                Some(key) => self.value(&entry.node, &key.kind, key.name, key.axis),
                None => self.unknown(entry, table, variant, &keys().collect::<Vec<_>>()),
            }
        }
        for key in keys().filter(|key| key.required && node.get(key.name).is_none()) {
            let message = format!("{} has no `{}`", table.title, key.name);
            self.report(&node.span, message, wanted(&key.kind, key.name));
        }
        self.exclusive(node, table);
    }

    /// Groups of keys that exclude each other.
    fn exclusive(&mut self, node: &Node, table: &'static Table) {
        for (group, required) in [(table.exactly_one, true), (table.at_most_one, false)] {
            let mut given = group.iter().filter_map(|key| node.entry(key));
            match (given.next(), given.next()) {
                (None, _) if required && !group.is_empty() => {
                    let message = format!("{} has none of {}", table.title, quoted(group));
                    self.report(&node.span, message, "write one of them".to_owned());
                }
                (Some(first), Some(second)) => {
                    let message = format!("{} has both `{}` and `{}`", table.title, first.key, second.key);
                    self.report(&second.key_span, message, "write one of them".to_owned());
                }
                _ => {}
            }
        }
    }

    fn unknown(&mut self, entry: &Entry, table: &'static Table, variant: Option<&Variant>, keys: &[&Key]) {
        // Which keys there are depends on a key that is missing or wrong, and that is reported.
        if variant.is_none() && table.any_key(&entry.key).is_some() {
            return;
        }
        let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
        let near = nearest(&entry.key, &names);
        let message = match variant {
            Some(variant) if near.is_none() => format!("{} has no key `{}`", variant.title(), entry.key),
            _ => format!("unknown key `{}` in {}", entry.key, table.title),
        };
        let moved = MOVED.iter().find(|(key, _)| variant.is_none() && *key == entry.key);
        let hint = match variant {
            _ if moved.is_some() => moved.map(|(_, hint)| (*hint).to_owned()),
            Some(variant) => {
                let own: Vec<&str> = variant.keys.iter().map(|key| key.name).collect();
                let keys = match own.is_empty() {
                    true => "it has no further keys".to_owned(),
                    false => format!("keys of {} are {}", variant.title(), own.join(", ")),
                };
                Some(near.map_or(keys.clone(), |near| format!("did you mean `{near}`? {keys}")))
            }
            None => Some(accepted_or_nearest("keys here are", &entry.key, &names)),
        };
        self.report(&entry.key_span, message, hint);
    }

    fn value(&mut self, node: &Node, kind: &'static Kind, name: &str, axis: bool) {
        match (kind, &node.value) {
            (Kind::Section(table) | Kind::Value(table), Value::Table(_)) => self.table(node, table),
            (Kind::ChoiceOrValue(_, table, _), Value::Table(_)) => self.table(node, table),
            (Kind::Sections(table), Value::List(items)) => {
                for item in items {
                    self.table(item, table);
                }
            }
            (Kind::Named(table), Value::Table(entries)) => self.named(entries, table),
            (Kind::Conditions, Value::Table(entries)) => self.conditions(entries),
            (Kind::List(_), Value::List(items)) if items.is_empty() => {
                let message = format!("`{name}` is an empty list");
                self.report(&node.span, message, wanted(kind, name));
            }
            (Kind::List(item_kind) | Kind::AnyList(item_kind), Value::List(items)) => {
                for item in items {
                    self.value(item, item_kind, name, false);
                }
            }
            (Kind::Choice(names) | Kind::ChoiceOrValue(names, ..), Value::Text(text)) => {
                if !names.contains(&text.as_str()) {
                    let message = format!("`{name}` cannot be {text:?}");
                    let hint = accepted_or_nearest("accepted are", text, names);
                    self.report(&node.span, message, hint);
                }
            }
            _ => {
                if let Err(message) = scalar(node, kind, name, axis) {
                    let hint = match &message {
                        Refused::Quantity(_, hint) => Some(hint.clone()),
                        Refused::Plain(_) => wanted(kind, name),
                    };
                    let (Refused::Plain(message) | Refused::Quantity(message, _)) = message;
                    self.report(&node.span, message, hint);
                }
            }
        }
    }

    fn named(&mut self, entries: &[Entry], table: &'static Table) {
        for entry in entries {
            let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            let all =
                |text: &str, more: char| !text.is_empty() && text.chars().all(|c| letter(c) || c == more);
            // Of several jobs a figure has the job's name before it.
            let (job, figure) = entry.key.split_once('.').unwrap_or(("job", &entry.key));
            if !all(job, '-') || !all(figure, '_') {
                let message = format!("`{}` is not a name of a figure", entry.key);
                let hint = "write lower-case letters, digits and _, such as step_time; of one of several jobs \
                            \"train.step_time\"";
                self.report(&entry.key_span, message, hint.to_owned());
            }
            match &entry.node.value {
                Value::List(items) if !items.is_empty() => {
                    for item in items {
                        self.table(item, table);
                    }
                }
                Value::Table(_) => self.table(&entry.node, table),
                _ => {
                    let message = format!("`{}` is {}", entry.key, entry.node.kind());
                    let hint = "write bounds, such as { at_most = \"2 s\" }, or a list of them";
                    self.report(&entry.node.span, message, hint.to_owned());
                }
            }
        }
    }

    fn conditions(&mut self, entries: &[Entry]) {
        for entry in entries {
            if matches!(entry.node.value, Value::List(_) | Value::Table(_)) {
                let message = format!("`{}` is {}, not one value", entry.key, entry.node.kind());
                let hint = "write one value; one more bound with its own `when` for another";
                self.report(&entry.node.span, message, hint.to_owned());
            }
        }
    }
}

/// The variant of `table` that `node` has chosen.
fn variant_of(node: &Node, table: &'static Table) -> Option<&'static Variant> {
    table.variants().find(|variant| {
        node.get(variant.key).is_some_and(|chosen| match variant.value {
            Some(value) => chosen.text() == Some(value),
            None => true,
        })
    })
}

enum Refused {
    Plain(String),
    Quantity(String, String),
}

/// Whether a value that is no table and no list is of its kind.
fn scalar(node: &Node, kind: &Kind, name: &str, axis: bool) -> Result<(), Refused> {
    let plain = |ok: bool, why: &str| match ok {
        true => Ok(()),
        false => Err(Refused::Plain(format!("`{name}` {why}"))),
    };
    match (kind, &node.value) {
        (Kind::Version, Value::Integer(version)) => {
            plain(*version == i64::from(SCHEMA), &format!("{version} is not known to this program"))
        }
        (Kind::Text, Value::Text(text)) => plain(!text.is_empty(), "is empty"),
        (Kind::Like(form), Value::Text(text)) => plain((form.is_one)(text), &format!("cannot be {text:?}")),
        (Kind::Name, Value::Text(text)) => {
            let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            plain(!text.is_empty() && text.chars().all(letters), &format!("cannot be {text:?}"))
        }
        (Kind::Bool, Value::Bool(_)) => Ok(()),
        (Kind::Whole(least, most), Value::Integer(number)) => {
            plain((least..=most).contains(&number), &format!("cannot be {number}"))
        }
        (Kind::UpTo(most), Value::Integer(_) | Value::Float(_)) => {
            let number = number(node);
            plain((0.0..=*most).contains(&number), &format!("cannot be {number}"))
        }
        (Kind::Share(above, most), Value::Integer(_) | Value::Float(_)) => {
            let number = number(node);
            let ok = number > *above && number <= *most;
            plain(ok, &format!("cannot be {number}"))
        }
        (Kind::Amount, Value::Integer(_) | Value::Float(_)) => {
            plain(number(node).is_finite(), "is not finite")
        }
        (Kind::Amount, Value::Text(text)) => match Amount::of_text(text) {
            Err(error) if !error.is_malformed() => Err(refused(error)),
            amount => plain(amount.is_ok(), &format!("cannot be {text:?}")),
        },
        (Kind::Time, Value::Text(text)) => text.parse::<SimTime>().map(|_| ()).map_err(refused),
        (Kind::TimeRange, Value::Text(text)) => text.parse::<TimeRange>().map(|_| ()).map_err(refused),
        (Kind::Span, Value::Text(text)) => {
            let time: SimTime = text.parse().map_err(refused)?;
            plain(time > SimTime::ZERO, "cannot be 0 s")
        }
        (Kind::Size { zero }, Value::Text(text)) => {
            let size: Bytes = text.parse().map_err(refused)?;
            plain(*zero || size.0 > 0, "cannot be zero")
        }
        (Kind::SizeIn(least, most), Value::Text(text)) => {
            let size: Bytes = text.parse().map_err(refused)?;
            plain((least..=most).contains(&&size.0), &format!("cannot be {}", size.shortest()))
        }
        (Kind::Rate { zero }, Value::Text(text)) => {
            let rate: Rate = text.parse().map_err(refused)?;
            if rate > FASTEST {
                let message = format!("`{name}` is above {FASTEST}");
                return Err(Refused::Quantity(message, "write a rate that a port can have".to_owned()));
            }
            plain(*zero || rate > Rate::ZERO, "cannot be zero")
        }
        (
            Kind::Time
            | Kind::TimeRange
            | Kind::Span
            | Kind::Size { .. }
            | Kind::SizeIn(..)
            | Kind::Rate { .. },
            Value::Integer(_) | Value::Float(_),
        ) => plain(false, "is a number without a unit"),
        (_, Value::List(_)) if !axis => plain(false, "is a list, not one value"),
        _ => plain(false, &format!("is {}", node.kind())),
    }
}

fn number(node: &Node) -> f64 {
    match node.value {
        Value::Integer(number) => number as f64,
        Value::Float(number) => number,
        _ => f64::NAN,
    }
}

/// The quantity's own message, cut into what is wrong and what to write.
fn refused(error: QuantityError) -> Refused {
    let message = error.to_string();
    match message.rsplit_once("; write ") {
        Some((what, hint)) => Refused::Quantity(what.to_owned(), format!("write {hint}")),
        None => Refused::Plain(message),
    }
}

/// What would be accepted.
fn wanted(kind: &Kind, name: &str) -> Option<String> {
    let text = match kind {
        Kind::Version => format!("write {name} = {SCHEMA}"),
        Kind::Text => format!("write {name} = \"…\""),
        Kind::Like(pattern) => format!("write {}, such as {name} = \"{}\"", pattern.what, pattern.example),
        Kind::Name => format!("write {name} = \"…\" in lower-case letters, digits and -"),
        Kind::Choice(names) => format!("accepted are {}", names.join(", ")),
        Kind::ChoiceOrValue(names, _, example) => {
            format!("accepted are {} or {example}", names.join(", "))
        }
        Kind::Bool => "write true or false".to_owned(),
        Kind::Whole(least, i64::MAX) => format!("write a whole number from {least} up"),
        Kind::Whole(least, most) => format!("write a whole number from {least} to {most}"),
        Kind::UpTo(most) => format!("write a number from 0 to {most}"),
        Kind::Share(above, most) => format!("write a number above {above} and up to {most}"),
        Kind::Time => format!("write a time as text, such as {name} = \"1.5 us\""),
        Kind::TimeRange => {
            format!("write a time or a range as text, such as {name} = \"10 ms\" or \"5 ms to 20 ms\"")
        }
        Kind::Span => format!("write a time above zero as text, such as {name} = \"100 us\""),
        Kind::SizeIn(least, most) => {
            format!("write a size from {} to {} as text", Bytes(*least).shortest(), Bytes(*most).shortest())
        }
        Kind::Size { .. } => format!("write a size as text, such as {name} = \"64 MiB\""),
        Kind::Rate { .. } => format!("write a rate as text, such as {name} = \"400 Gbps\""),
        Kind::Amount => "write a number, or a time, size or rate as text, such as \"1.5 us\"".to_owned(),
        Kind::List(item) => match item {
            Kind::Choice(names) => format!("write a list of {}", names.join(", ")),
            _ => format!("write a list, such as {name} = [0, 1]"),
        },
        Kind::AnyList(item) => match item {
            Kind::Choice(names) => format!("write a list of {}, or [] for none", names.join(", ")),
            _ => format!("write a list, such as {name} = [0, 1], or [] for none"),
        },
        Kind::Value(_) | Kind::Conditions => format!("write a table, such as {name} = {{ … }}"),
        Kind::Section(_) | Kind::Named(_) => format!("write a section [{name}]"),
        Kind::Sections(_) => format!("write a section [[{name}]] for each"),
    };
    Some(text)
}

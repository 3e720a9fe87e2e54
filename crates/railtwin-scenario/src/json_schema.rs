//! The JSON Schema of a scenario, made of the same description of its keys that the checks use.
use serde_json::{Map, Value, json};

use crate::scenario::SCENARIO;
use crate::scenario::SCHEMA;
use railtwin_units::keys::{Key, Kind, Table, Variant};

/// The JSON Schema (draft 2020-12) of a scenario's TOML, for editors and other languages.
pub fn json_schema() -> Value {
    let mut schema = table(&SCENARIO);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "railtwin scenario",
    });
    if let (Value::Object(head), Value::Object(body)) = (head, &mut schema) {
        let mut whole = head;
        whole.append(body);
        return Value::Object(whole);
    }
    schema
}

fn table(table: &'static Table) -> Value {
    if table.variants.is_empty() {
        return object(table, table.keys.iter().collect(), None);
    }
    let alternatives = table.variants().map(|variant| {
        let selectors: Vec<&str> = table.variants().map(|v| v.key).collect();
        let common =
            table.keys.iter().filter(|key| key.name == variant.key || !selectors.contains(&key.name));
        object(table, common.chain(variant.keys).collect(), Some(variant))
    });
    json!({ "anyOf": alternatives.collect::<Vec<_>>() })
}

fn object(table: &Table, keys: Vec<&'static Key>, variant: Option<&Variant>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for key in keys {
        let chosen = variant.filter(|variant| variant.key == key.name);
        if key.required || chosen.is_some() {
            required.push(key.name);
        }
        properties.insert(key.name.to_owned(), property(key, chosen));
    }
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let Value::Object(schema) = &mut schema {
        if variant.is_none() && !table.exactly_one.is_empty() {
            let one = |name: &&str| json!({ "required": [name] });
            let choices: Vec<Value> = table.exactly_one.iter().map(one).collect();
            schema.insert("oneOf".to_owned(), Value::Array(choices));
        }
        if !table.at_most_one.is_empty() {
            schema.insert("not".to_owned(), json!({ "required": table.at_most_one }));
        }
    }
    schema
}

fn property(key: &'static Key, chosen: Option<&Variant>) -> Value {
    let one = match chosen.and_then(|variant| variant.value) {
        Some(value) => json!({ "const": value }),
        None => kind(&key.kind),
    };
    let swept = key.axis && !matches!(key.kind, Kind::Section(_) | Kind::Sections(_));
    let mut schema = match swept {
        true => {
            let items = kind(&key.kind);
            json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": items }] })
        }
        false => one,
    };
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(key.help()));
    }
    schema
}

fn kind(of: &'static Kind) -> Value {
    let quantity = |example: &str| json!({ "type": "string", "examples": [example] });
    match of {
        Kind::Version => json!({ "const": SCHEMA }),
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Like(like) => json!({ "type": "string", "pattern": like.pattern }),
        Kind::Name => json!({ "type": "string", "pattern": "^[a-z0-9-]+$" }),
        Kind::Choice(names) => json!({ "enum": names }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::UpTo(most) => json!({ "type": "number", "minimum": 0, "maximum": most }),
        Kind::Share(above, most) => {
            json!({ "type": "number", "exclusiveMinimum": above, "maximum": most })
        }
        Kind::Time | Kind::Span => quantity("1.5 us"),
        Kind::TimeRange => json!({ "type": "string", "examples": ["10 ms", "5 ms to 20 ms"] }),
        Kind::Size { .. } | Kind::SizeIn(..) => quantity("64 MiB"),
        Kind::Rate { .. } => quantity("400 Gbps"),
        Kind::Amount => json!({ "type": ["number", "string"] }),
        Kind::AnyList(item) => json!({ "type": "array", "items": kind(item) }),
        Kind::List(item) => json!({ "type": "array", "minItems": 1, "items": kind(item) }),
        Kind::Value(inner) | Kind::Section(inner) => table(inner),
        Kind::ChoiceOrValue(names, inner, _) => json!({ "anyOf": [{ "enum": names }, table(inner)] }),
        Kind::Sections(inner) => json!({ "type": "array", "items": table(inner) }),
        Kind::Named(inner) => {
            let one = table(inner);
            let some = json!({ "anyOf": [one, { "type": "array", "minItems": 1, "items": one }] });
            json!({
                "type": "object",
                "propertyNames": { "pattern": "^([a-z0-9-]+\\.)?[a-z0-9_]+$" },
                "additionalProperties": some,
            })
        }
        Kind::Conditions => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "number", "boolean"] },
        }),
    }
}

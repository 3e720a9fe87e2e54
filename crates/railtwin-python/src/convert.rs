//! Values between Python, TOML and JSON.
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde_json::Value as Json;
use toml::Value as Toml;

use crate::errors;

/// Nesting of a dictionary beyond which it is refused: a scenario nests five deep, a dictionary may hold itself.
const DEPTH_MAX: usize = 32;

/// A Python dictionary as a TOML table; `at` is the path of its keys, for errors.
///
/// # Errors
/// `ArgumentError` naming the key whose value TOML cannot say.
pub(crate) fn toml_table(mapping: &Bound<'_, PyMapping>, at: &str) -> PyResult<toml::Table> {
    table_at(mapping, at, 0)
}

fn table_at(mapping: &Bound<'_, PyMapping>, at: &str, depth: usize) -> PyResult<toml::Table> {
    let py = mapping.py();
    let mut table = toml::Table::new();
    for pair in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(key) = key.cast::<PyString>() else {
            let message = format!("{}: a key is {}, not text", shown_path(at), key.repr()?);
            return Err(errors::argument(py, &message, "keys of a scenario are text"));
        };
        let key = key.to_cow()?.into_owned();
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        table.insert(key, toml_value(&value, &path, depth + 1)?);
    }
    Ok(table)
}

fn toml_value(value: &Bound<'_, PyAny>, at: &str, depth: usize) -> PyResult<Toml> {
    let refuse = |message: String, hint: &str| Err(errors::argument(value.py(), &message, hint));
    if depth > DEPTH_MAX {
        return refuse(format!("{at}: nested more than {DEPTH_MAX} deep"), "a scenario nests five deep");
    }
    // Before int: a bool is one too.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Toml::Boolean(flag.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole = value.extract::<i64>();
        return whole.map(Toml::Integer).or_else(|_| {
            refuse(format!("{at}: {value} is no 64-bit integer"), "write a number within ±2^63")
        });
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Toml::Float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Toml::String(text.to_cow()?.into_owned()));
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return Ok(Toml::Table(table_at(mapping, at, depth)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.enumerate();
        let items = items.map(|(index, item)| toml_value(&item?, &format!("{at}.{index}"), depth + 1));
        return Ok(Toml::Array(items.collect::<PyResult<_>>()?));
    }
    let message = format!("{at}: a scenario cannot hold {} ({})", value.repr()?, value.get_type().name()?);
    refuse(message, "use text, numbers, true and false, lists and dictionaries; leave out what is None")
}

fn shown_path(at: &str) -> &str {
    if at.is_empty() { "the scenario" } else { at }
}

/// JSON as Python objects.
///
/// # Errors
/// When Python has no memory left.
pub(crate) fn python_of(py: Python<'_>, value: &Json) -> PyResult<Py<PyAny>> {
    match value {
        Json::Null => Ok(py.None()),
        Json::Bool(flag) => flag.into_py_any(py),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_py_any(py),
            (None, Some(whole)) => whole.into_py_any(py),
            (None, None) => number.as_f64().into_py_any(py),
        },
        Json::String(text) => text.into_py_any(py),
        Json::Array(items) => {
            let items = items.iter().map(|item| python_of(py, item)).collect::<PyResult<Vec<_>>>()?;
            items.into_py_any(py)
        }
        Json::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, python_of(py, value)?)?;
            }
            dict.into_py_any(py)
        }
    }
}

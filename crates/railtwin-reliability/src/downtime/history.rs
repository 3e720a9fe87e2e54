//! Recorded histories of faults: the format of `data/failures`, and the one that is shipped.
use serde_json::Value;

use crate::downtime::replay::{FaultEvent, Replay};

/// The history that is shipped: faults on the hosts of a cluster over 240 days.
const SHIPPED: &[u8] = include_bytes!("../../../../data/failures/llm_cluster_faults_240_days.json");
/// Hosts of its cluster; those without a fault are not in it.
pub const SHIPPED_HOSTS: u32 = 400;
/// Days that it covers.
pub const SHIPPED_DAYS: f64 = 240.0;

/// What a history has to be, for messages.
pub const HISTORY_FORM: &str = "a history is a list of objects with node_id, event_time (days), event_type (fault_start or fault_end) and \
     fault_type with Class and Desc";

/// Text that is no history.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HistoryError {
    /// It cannot be read as JSON.
    #[error("line {line} is no JSON: {problem}")]
    Json {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// It is another value.
    #[error("is no list")]
    NoList,
    /// It is an empty list.
    #[error("has no event")]
    Empty,
    /// A field of an event is missing.
    #[error("event {event}: {field} is missing")]
    Missing {
        /// The event, from 1.
        event: usize,
        /// The field.
        field: &'static str,
    },
    /// A field of an event has a value that it cannot have.
    #[error("event {event}: {field} cannot be {value}")]
    Wrong {
        /// The event, from 1.
        event: usize,
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
    },
}

/// Reads the events of a history. That they come in order of time and begin before they end is left to [`Replay::of`].
///
/// # Errors
/// [`HistoryError`] that names event, field and value.
pub fn read_history(bytes: &[u8]) -> Result<Vec<FaultEvent>, HistoryError> {
    let list: Value = serde_json::from_slice(bytes)
        .map_err(|error| HistoryError::Json { line: error.line(), problem: error.to_string() })?;
    let Value::Array(list) = list else { return Err(HistoryError::NoList) };
    if list.is_empty() {
        return Err(HistoryError::Empty);
    }
    list.iter().enumerate().map(|(index, value)| event(index + 1, value)).collect()
}

fn event(event: usize, value: &Value) -> Result<FaultEvent, HistoryError> {
    let refuse = |field, value: &Value| match value {
        Value::Null => HistoryError::Missing { event, field },
        value => HistoryError::Wrong { event, field, value: value.to_string() },
    };
    let text = |value: &Value, field| value.as_str().map(str::to_owned).ok_or_else(|| refuse(field, value));
    let day = &value["event_time"];
    let (kind, fault) = (&value["event_type"], &value["fault_type"]);
    Ok(FaultEvent {
        host: text(&value["node_id"], "node_id")?,
        day: day.as_f64().filter(|day| *day >= 0.0).ok_or_else(|| refuse("event_time", day))?,
        begins: match kind.as_str() {
            Some("fault_start") => true,
            Some("fault_end") => false,
            _ => return Err(refuse("event_type", kind)),
        },
        class: text(&fault["Class"], "fault_type.Class")?,
        description: text(&fault["Desc"], "fault_type.Desc")?,
    })
}

/// The events of the history that is shipped, and what they come to.
pub fn shipped() -> (Vec<FaultEvent>, Replay) {
    let events = read_history(SHIPPED).expect("a test reads the shipped history");
    let replay = Replay::of(&events, SHIPPED_HOSTS).expect("a test replays the shipped history");
    (events, replay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_histories_are_named_by_event_and_field() {
        let message = |text: &str| read_history(text.as_bytes()).unwrap_err().to_string();
        let start = r#"{ "node_id": "a", "event_time": 1, "event_type": "begin" }"#;
        assert_eq!(message("{}"), "is no list");
        assert_eq!(message("[]"), "has no event");
        assert_eq!(message("[{}]"), "event 1: node_id is missing");
        assert_eq!(message(&format!("[{start}]")), "event 1: event_type cannot be \"begin\"");
        assert!(message("[\n").starts_with("line 2 is no JSON"));
    }

    #[test]
    fn the_shipped_history_is_one() {
        let (events, replay) = shipped();
        assert_eq!((events.len(), replay.faults, replay.open, replay.hosts_with_faults), (752, 381, 10, 184));
        assert!(replay.days < SHIPPED_DAYS && replay.days > SHIPPED_DAYS - 1.0);
    }
}

//! Events: what changed of an incident, numbered, as one JSON object.
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::trail::Picture;

/// A change of an incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventKind {
    /// It is new.
    Opened,
    /// Its kind, suspects or evidence changed.
    Updated,
    /// It is no passing one.
    Confirmed,
    /// It is gone, or later evidence explains it otherwise.
    Closed,
    /// It came back.
    Reopened,
}

impl EventKind {
    /// Its name in events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "opened",
            Self::Updated => "updated",
            Self::Confirmed => "confirmed",
            Self::Closed => "closed",
            Self::Reopened => "reopened",
        }
    }
}

/// A change before it has its number.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// Number of the incident.
    pub(crate) id: u64,
    pub(crate) what: EventKind,
    /// The incident as JSON, without its number.
    pub(crate) body: Value,
    /// Heartbeats of the ranks around it, where there are live records.
    pub(crate) picture: Option<Picture>,
}

/// An event.
#[derive(Clone, PartialEq, Debug)]
pub struct IncidentEvent {
    /// Number, from 1 on without a gap: the same event has the same number, whoever hears of it twice.
    pub number: u64,
    /// Kind of the change.
    pub what: EventKind,
    /// The incident.
    pub incident: Value,
    /// All of it as one line of JSON, without the end of the line.
    pub line: String,
}

impl IncidentEvent {
    /// The event of a change at a moment, ns since 1970.
    pub(crate) fn of(number: u64, change: &Change, source: &str, wall_ns: u64) -> Self {
        let mut incident = json!({ "id": change.id, "source": source });
        if let (Some(into), Some(from)) = (incident.as_object_mut(), change.body.as_object()) {
            into.extend(
                from.iter().filter(|(key, _)| *key != "id").map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        let wall = wall_time(wall_ns);
        let value = json!({ "event": number, "what": change.what.name(), "wall": wall, "incident": incident.clone() });
        Self { number, what: change.what, incident, line: value.to_string() }
    }

    /// The event of a line of the journal; none for one that is none.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(line).ok()?;
        let what = serde_json::from_value(value.get("what")?.clone()).ok()?;
        let number = value.get("event")?.as_u64()?;
        Some(Self { number, what, incident: value.get_mut("incident")?.take(), line: line.to_owned() })
    }

    /// Number of the incident.
    pub fn id(&self) -> u64 {
        self.incident["id"].as_u64().unwrap_or(0)
    }
}

/// A moment in words: `2026-11-29T05:00:00.123Z`.
pub(crate) fn wall_time(wall_ns: u64) -> String {
    let at: DateTime<Utc> = DateTime::from_timestamp_nanos(i64::try_from(wall_ns).unwrap_or(i64::MAX));
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

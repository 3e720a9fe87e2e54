//! The board: incidents as they stand, and counts of the watch itself, for pages and Prometheus.
use std::collections::BTreeMap;

use prometheus::{Encoder as _, Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry, TextEncoder};
use serde_json::{Value, json};

use crate::event::{EventKind, IncidentEvent};

/// Incidents that are closed and stay on the board.
const CLOSED: usize = 500;

/// Incidents as they stand, and counts of the watch.
#[derive(Clone, Default, Debug)]
pub struct Board {
    incidents: BTreeMap<u64, IncidentState>,
    told: BTreeMap<EventKind, u64>,
    pub(crate) files: u64,
    pub(crate) bytes_read: u64,
    pub(crate) spool_bytes: u64,
    pub(crate) unread_files: u64,
    pub(crate) unread_formats: u64,
    pub(crate) jobs: u64,
    pub(crate) ranks: u64,
    pub(crate) records: u64,
    pub(crate) damaged: u64,
    pub(crate) judged_s: f64,
    pub(crate) looked_ns: u64,
    /// Why the files cannot be judged.
    pub(crate) problem: Option<String>,
    /// Events that a webhook has not taken yet, and calls of it that failed.
    pub(crate) webhook: (u64, u64),
}

/// An incident as it stands.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct IncidentState {
    /// The incident of its newest event.
    pub incident: Value,
    /// Its events: what, and when.
    pub history: Vec<(EventKind, String)>,
}

impl IncidentState {
    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.history.last().is_some_and(|(what, _)| *what != EventKind::Closed)
    }
}

impl Board {
    /// The board after these events.
    pub(crate) fn of(events: &[IncidentEvent]) -> Self {
        let mut board = Self::default();
        events.iter().for_each(|event| board.take(event));
        board
    }

    pub(crate) fn take(&mut self, event: &IncidentEvent) {
        *self.told.entry(event.what).or_default() += 1;
        let standing = self.incidents.entry(event.id()).or_default();
        standing.incident = event.incident.clone();
        let wall = serde_json::from_str::<Value>(&event.line).ok();
        let wall = wall.and_then(|line| Some(line.get("wall")?.as_str()?.to_owned()));
        standing.history.push((event.what, wall.unwrap_or_default()));
        let closed: Vec<u64> =
            self.incidents.iter().filter(|(_, one)| !one.is_open()).map(|(id, _)| *id).collect();
        for id in closed.iter().take(closed.len().saturating_sub(CLOSED)) {
            self.incidents.remove(id);
        }
    }

    /// Sets how many events a webhook has not taken yet, and how many of its calls failed.
    pub fn set_webhook(&mut self, pending_and_failures: (u64, u64)) {
        self.webhook = pending_and_failures;
    }

    pub(crate) fn of_incident(&self, id: u64) -> IncidentState {
        self.incidents.get(&id).cloned().unwrap_or_default()
    }

    /// Incidents by their numbers.
    pub fn incidents(&self) -> impl DoubleEndedIterator<Item = (u64, &IncidentState)> {
        self.incidents.iter().map(|(id, standing)| (*id, standing))
    }

    /// All incidents as JSON, the newest first.
    pub fn json(&self) -> Value {
        let one = |(_, standing): (u64, &IncidentState)| {
            let mut incident = standing.incident.clone();
            incident["open"] = json!(standing.is_open());
            incident
        };
        json!({ "incidents": self.incidents().rev().map(one).collect::<Vec<_>>(), "problem": self.problem })
    }

    /// All counts as Prometheus reads them.
    pub fn metrics(&self) -> String {
        self.registry().map_or_else(
            |error| format!("# {error}\n"),
            |registry| {
                let mut text = Vec::new();
                // Writing to memory does not fail.
                let _ = TextEncoder::new().encode(&registry.gather(), &mut text);
                String::from_utf8_lossy(&text).into_owned()
            },
        )
    }

    fn registry(&self) -> prometheus::Result<Registry> {
        let registry = Registry::new();
        self.incident_metrics(&registry)?;
        let gauges = [
            ("files", "Files that are followed.", self.files as f64),
            ("spool_bytes", "Bytes of files that are kept to be judged.", self.spool_bytes as f64),
            (
                "unreadable_files",
                "Files that could not be read at the newest look.",
                self.unread_files as f64,
            ),
            (
                "undecoded_files",
                "Files of a known format that could not be decoded.",
                self.unread_formats as f64,
            ),
            ("jobs", "Jobs with live records.", self.jobs as f64),
            ("ranks", "Ranks with live records.", self.ranks as f64),
            ("judgement_seconds", "Time of the newest judgement of all files.", self.judged_s),
            (
                "last_look_timestamp_seconds",
                "When the folder was last looked at.",
                self.looked_ns as f64 / 1e9,
            ),
            ("webhook_pending_events", "Events that the webhook has not taken yet.", self.webhook.0 as f64),
        ];
        for (name, help, value) in gauges {
            let gauge = Gauge::new(format!("railtwin_watch_{name}"), help)?;
            gauge.set(value);
            registry.register(Box::new(gauge))?;
        }
        let counters = [
            ("read_bytes_total", "Bytes that were read of files.", self.bytes_read),
            ("records_total", "Live records that were judged, of jobs that are followed.", self.records),
            ("damaged_records_total", "Lines of live records that are damaged.", self.damaged),
            ("webhook_failures_total", "Calls of the webhook that failed.", self.webhook.1),
        ];
        for (name, help, value) in counters {
            let counter = IntCounter::new(format!("railtwin_watch_{name}"), help)?;
            counter.inc_by(value);
            registry.register(Box::new(counter))?;
        }
        Ok(registry)
    }

    fn incident_metrics(&self, registry: &Registry) -> prometheus::Result<()> {
        let open = Opts::new("railtwin_watch_open_incidents", "Incidents that are open, by kind.");
        let open = GaugeVec::new(open, &["kind", "accuses"])?;
        let suspects = Opts::new(
            "railtwin_watch_suspect_share",
            "Probability that a suspect of an open incident is its cause.",
        );
        let suspects = GaugeVec::new(suspects, &["training_job", "kind", "component_kind", "component"])?;
        let told = Opts::new("railtwin_watch_events_total", "Events of incidents, by what happened.");
        let told = IntCounterVec::new(told, &["what"])?;
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        for (_, standing) in self.incidents().filter(|(_, standing)| standing.is_open()) {
            let one = &standing.incident;
            let (job, kind) = (text(&one["job"]), text(&one["kind"]));
            let accuses = if one["accuses"] == json!(true) { "true" } else { "false" };
            open.with_label_values(&[kind.as_str(), accuses]).inc();
            for suspect in one["suspects"].as_array().into_iter().flatten() {
                let component = &suspect["component"];
                let (of, name) = (text(&component["kind"]), text(&component["name"]));
                let share = suspect["share"].as_f64().unwrap_or(0.0);
                suspects.with_label_values(&[&job, &kind, &of, &name]).set(share);
            }
        }
        for what in [
            EventKind::Opened,
            EventKind::Updated,
            EventKind::Confirmed,
            EventKind::Closed,
            EventKind::Reopened,
        ] {
            told.with_label_values(&[what.name()]).inc_by(self.told.get(&what).copied().unwrap_or(0));
        }
        registry.register(Box::new(open))?;
        registry.register(Box::new(suspects))?;
        registry.register(Box::new(told))
    }
}

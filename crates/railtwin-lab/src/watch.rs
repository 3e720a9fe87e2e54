//! The watcher as a child process, and its events. The one place that knows their form.
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::host::{LabError, now_ns};

/// The hang limit that the watcher is given, s.
pub const HANG_S: f64 = 5.0;

/// A suspect of an incident.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSuspect {
    /// Kind of the component, `rank` or `nic` among others.
    pub kind: String,
    /// Its rank.
    pub rank: usize,
    /// Its share of the confidence.
    pub share: f64,
}

/// An event of a watcher: an incident was opened, updated, confirmed or closed.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// When this process read it, ns.
    pub read_ns: u64,
    /// `opened`, `updated`, `confirmed` or `closed`.
    pub what: String,
    /// Job and number of the incident.
    pub incident: (String, u64),
    /// Kind of the incident.
    pub kind: String,
    /// Whether it accuses somebody.
    pub accuses: bool,
    /// When it was opened, updated and confirmed, ns on the clock of the records.
    pub opened_ns: u64,
    /// When kind, suspects or state last changed, ns.
    pub updated_ns: u64,
    /// When it was confirmed, ns.
    pub confirmed_ns: Option<u64>,
    /// Suspects, the likeliest first.
    pub suspects: Vec<NamedSuspect>,
    /// The ranks of the connection that shows it.
    pub edge: Option<(usize, usize)>,
}

/// Reads a line of a watcher; none where it is no event of live records.
pub fn parse(line: &str, read_ns: u64) -> Option<WatchEvent> {
    let value: Value = serde_json::from_str(line).ok()?;
    let incident = &value["incident"];
    let number = |value: &Value| value.as_u64().map(|number| number as usize);
    let suspect = |value: &Value| {
        Some(NamedSuspect {
            kind: value["component"]["kind"].as_str()?.to_owned(),
            rank: number(&value["rank"])?,
            share: value["share"].as_f64()?,
        })
    };
    Some(WatchEvent {
        read_ns,
        what: value["what"].as_str()?.to_owned(),
        incident: (incident["job"].as_str().unwrap_or_default().to_owned(), incident["id"].as_u64()?),
        kind: incident["kind"].as_str()?.to_owned(),
        accuses: incident["accuses"].as_bool()?,
        opened_ns: incident["opened_at"].as_u64()?,
        updated_ns: incident["updated_at"].as_u64()?,
        confirmed_ns: incident["confirmed_at"].as_u64(),
        suspects: incident["suspects"].as_array()?.iter().filter_map(suspect).collect(),
        edge: number(&incident["edge"]["from"]).zip(number(&incident["edge"]["to"])),
    })
}

/// A watcher at work.
#[derive(Debug)]
pub struct WatchProcess {
    child: Child,
    lines: Receiver<(u64, String)>,
    /// All events so far.
    pub events: Vec<WatchEvent>,
}

impl WatchProcess {
    /// Starts `railtwin watch` of `program` on a folder of records; `state` is a folder that it may write.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(program: &Path, records: &Path, state: &Path) -> Result<Self, LabError> {
        let (send, lines) = channel();
        let mut command = Command::new(program);
        command.arg("watch").arg(records).args([
            "--every",
            "1s",
            "--hang-limit",
            &format!("{HANG_S}s"),
            "--json",
        ]);
        command.arg("--state").arg(state).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| LabError(format!("{}: {error}", program.display())))?;
        let out = child.stdout.take().ok_or_else(|| LabError("the watcher has no standard output".into()))?;
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if send.send((now_ns(), line)).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, lines, events: Vec::new() })
    }

    /// Takes all events that have come.
    ///
    /// # Errors
    /// The watcher has ended.
    pub fn take(&mut self) -> Result<(), LabError> {
        while let Ok((read_ns, line)) = self.lines.try_recv() {
            self.events.extend(parse(&line, read_ns));
        }
        match self.child.try_wait() {
            Ok(Some(status)) => Err(LabError(format!("the watcher has ended: {status}"))),
            _ => Ok(()),
        }
    }
}

impl Drop for WatchProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read() {
        let line = r#"{"event":4,"what":"opened","wall":"","incident":{"id":2,"source":"records","job":"attempt-1",
            "kind":"lossy-link","accuses":true,"opened_at":5,"updated_at":6,"confirmed_at":null,"closed_at":null,
            "suspects":[{"component":{"kind":"nic","name":"rank-3/nic"},"rank":3,"share":0.45}],
            "edge":{"from":3,"to":4},"evidence":[],"next_step":""}}"#;
        let event = parse(line, 9).expect("it is one");
        assert_eq!(
            (event.incident, event.edge, event.confirmed_ns),
            (("attempt-1".into(), 2), Some((3, 4)), None)
        );
        assert_eq!(event.suspects, [NamedSuspect { kind: "nic".into(), rank: 3, share: 0.45 }]);
        assert_eq!(parse("{\"what\":\"started\"}", 9), None);
        assert_eq!(parse("rubbish", 9), None);
    }
}

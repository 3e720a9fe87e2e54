//! The trail: what each rank did in the last half minute, heartbeat by heartbeat, for the picture of an incident.
use std::collections::{BTreeMap, VecDeque};

use railtwin_live::LiveIncident;
use railtwin_live::record::{Body, Heartbeat, Record};
use serde::{Deserialize, Serialize};

/// Time that is kept, ns.
const KEPT_NS: u64 = 30_000_000_000;
/// Time before the opening that a picture shows, ns.
const BEFORE_NS: u64 = 8_000_000_000;
/// Ranks that a picture shows: the suspects, then the others in their order.
const ROWS: usize = 32;

/// Activity of a rank at a heartbeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    /// It is outside of operations: it loads data, computes or writes a checkpoint.
    Alone,
    /// It is within an operation that moves.
    Moves,
    /// It is within an operation, and nothing moved since the heartbeat before.
    Stands,
}

/// A heartbeat, as far as a picture shows it.
type Beat = (u64, Doing);

/// Newest heartbeats of each rank; not stored.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Trail {
    #[serde(skip)]
    ranks: BTreeMap<u32, Row>,
}

#[derive(Clone, Default, Debug)]
struct Row {
    beats: VecDeque<Beat>,
    /// Operation, stages received and sent at the newest heartbeat.
    at: (u64, u64, u64),
}

impl Trail {
    pub(crate) fn take(&mut self, record: &Record) {
        let Body::Heartbeat(heartbeat) = &record.body else { return };
        let row = self.ranks.entry(record.rank).or_default();
        let doing = row.doing(heartbeat);
        row.beats.push_back((record.time_ns, doing));
        let from_ns = record.time_ns.saturating_sub(KEPT_NS);
        while row.beats.front().is_some_and(|beat| beat.0 < from_ns) {
            row.beats.pop_front();
        }
    }

    /// The picture of an incident; none where there are no heartbeats.
    pub(crate) fn picture(&self, incident: &LiveIncident) -> Option<Picture> {
        let from_ns = incident.opened_ns.saturating_sub(BEFORE_NS);
        let suspects: Vec<u32> = incident.suspects.iter().map(|suspect| suspect.place.rank()).collect();
        let mut shown: Vec<u32> = self.ranks.keys().copied().collect();
        shown.sort_by_key(|rank| (!suspects.contains(rank), *rank));
        shown.truncate(ROWS);
        shown.sort_unstable();
        let beats = |rank: &u32| {
            let all = self.ranks[rank].beats.iter();
            all.filter(|beat| beat.0 >= from_ns).copied().collect()
        };
        let rows: Vec<(u32, Vec<Beat>)> = shown.iter().map(|rank| (*rank, beats(rank))).collect();
        let until_ns = rows.iter().flat_map(|row| &row.1).map(|beat| beat.0).max()?;
        let marks = [
            ("opened", Some(incident.opened_ns)),
            ("confirmed", incident.confirmed_ns),
            ("closed", incident.closed_ns),
        ];
        let marks = marks.into_iter().filter_map(|(what, at)| Some((what, at?))).collect();
        Some(Picture { from_ns, until_ns, rows, suspects, marks })
    }
}

impl Row {
    fn doing(&mut self, heartbeat: &Heartbeat) -> Doing {
        let now = (heartbeat.seq, heartbeat.rs, heartbeat.ss);
        let before = std::mem::replace(&mut self.at, now);
        match heartbeat.inside > 0 {
            false => Doing::Alone,
            true if before == now => Doing::Stands,
            true => Doing::Moves,
        }
    }
}

/// Heartbeats of ranks around an incident, for a drawing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picture {
    /// Time that it shows, ns on the clock of the records.
    pub(crate) from_ns: u64,
    pub(crate) until_ns: u64,
    /// Ranks with their heartbeats.
    pub(crate) rows: Vec<(u32, Vec<Beat>)>,
    pub(crate) suspects: Vec<u32>,
    /// Moments of the incident.
    pub(crate) marks: Vec<(&'static str, u64)>,
}

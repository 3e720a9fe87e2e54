//! Jobs with live records: a judge each, fed with what is new.
use std::collections::BTreeMap;

use railtwin_live::reader::{LineReader, rank_of_name};
use railtwin_live::record::{Body, Record};
use railtwin_live::replay::LookPace;
use railtwin_live::{JudgeSettings, LiveIncident, LiveJudge, SuspectPlace};
use railtwin_reading::answer::json_of;
use railtwin_reading::live::severity;
use railtwin_records::Component;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event::{Change, EventKind};
use crate::follow::Piece;
use crate::trail::Trail;

/// A job of which nothing came for so long is over, ns on the watch's own clock.
const OVER_NS: u64 = 60_000_000_000;
/// Time passes for a judge for so long after the newest record: five of the common heartbeats. Beyond, nobody knows
/// whether the job or what brings its records stands still.
const HOLD_NS: u64 = 1_000_000_000;
/// Half of the window in which the clock of the records is found: hosts' clocks drift apart from the watch's own.
const CLOCK_NS: u64 = 30_000_000_000;

/// All jobs, by the folder that their records lie in.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Jobs {
    readers: BTreeMap<String, LineReader>,
    jobs: BTreeMap<String, Job>,
}

#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Job {
    judge: LiveJudge,
    pace: LookPace,
    /// NICs that headers name, by rank.
    nics: BTreeMap<u32, String>,
    /// Incidents as they were told: number in the job, and there.
    told: BTreeMap<u32, Told>,
    records: u64,
    newest_ns: u64,
    trail: Trail,
    #[serde(skip)]
    clock: RecordClock,
}

/// State of an incident at its newest event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Told {
    id: u64,
    updated_ns: u64,
    confirmed_ns: Option<u64>,
    closed_ns: Option<u64>,
}

/// The clock of a job's records beside the watch's own.
#[derive(Clone, Copy, Default, Debug)]
struct RecordClock {
    /// Own time of the newest arrival, ns.
    arrived_ns: Option<u64>,
    /// Largest lead of record times over the own clock, ns, in this half of the window and in the one before. Records
    /// arrive late and never early, so the largest lead has the least delay.
    ahead: Option<i128>,
    ahead_before: Option<i128>,
    since_ns: u64,
}

impl RecordClock {
    fn arrive(&mut self, own_ns: u64, newest_ns: u64) {
        self.arrived_ns = Some(own_ns);
        if own_ns.saturating_sub(self.since_ns) >= CLOCK_NS {
            self.ahead_before = self.ahead.take();
            self.since_ns = own_ns;
        }
        let ahead = i128::from(newest_ns) - i128::from(own_ns);
        self.ahead = Some(self.ahead.map_or(ahead, |known| known.max(ahead)));
    }

    /// The moment on the clock of the records; none before one came.
    fn now_ns(&self, own_ns: u64) -> Option<u64> {
        let held_ns = own_ns.min(self.arrived_ns?.saturating_add(HOLD_NS));
        let ahead = self.ahead.max(self.ahead_before)?;
        u64::try_from((i128::from(held_ns) + ahead).max(0)).ok()
    }
}

/// The folder of a stream, which is a job.
fn job_of(stream: &str) -> &str {
    stream.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl Jobs {
    /// Jobs, ranks that write records, records that were taken, damaged lines.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let records = self.jobs.values().map(|job| job.records).sum();
        let damaged = self.readers.values().map(LineReader::damaged).sum();
        [self.jobs.len() as u64, self.readers.len() as u64, records, damaged]
    }

    /// Forgets where a stream was read: it has another name.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(reader) = self.readers.remove(from) {
            self.readers.insert(to.to_owned(), reader);
        }
    }

    /// Takes what is new and looks; `own_ns` is a time of the watch that never goes back. What changed, in the order of jobs.
    pub(crate) fn take(
        &mut self,
        pieces: &[&Piece],
        own_ns: u64,
        hang_ns: u64,
        next_id: &mut u64,
    ) -> Vec<Change> {
        let mut new: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for piece in pieces {
            let reader = self.readers.entry(piece.stream.clone());
            let reader = reader.or_insert_with(|| LineReader::new(rank_of_name(&piece.stream)));
            let lines = piece.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let records = lines.filter_map(|line| reader.take(None, line));
            new.entry(job_of(&piece.stream).to_owned()).or_default().extend(records);
        }
        let mut changes = Vec::new();
        for (name, mut records) in new {
            records.sort_by_key(|record| record.time_ns);
            let settings = JudgeSettings { hang_ns };
            let job = self
                .jobs
                .entry(name.clone())
                .or_insert_with(|| Job { judge: LiveJudge::new(settings), ..Job::default() });
            if job.begins_again(&records, own_ns) {
                changes.extend(job.over(&name, "the job was started again"));
                *job = Job { judge: LiveJudge::new(settings), ..Job::default() };
            }
            job.take(&records, own_ns);
        }
        let mut over = Vec::new();
        for (name, job) in &mut self.jobs {
            if job.is_over(own_ns) {
                changes.extend(job.over(name, "no records came any more"));
                over.push(name.clone());
                continue;
            }
            if let Some(now_ns) = job.clock.now_ns(own_ns) {
                job.pace.look(&mut job.judge, now_ns);
            }
            changes.extend(job.changes(name, next_id));
        }
        for name in over {
            self.jobs.remove(&name);
            self.readers.retain(|stream, _| job_of(stream) != name);
        }
        changes
    }
}

impl Job {
    fn take(&mut self, records: &[Record], own_ns: u64) {
        let Some(last) = records.last() else { return };
        for record in records {
            self.trail.take(record);
            if let Body::Header(header) = &record.body
                && let (Some(host), Some(nic)) = (&header.host, &header.nic)
            {
                self.nics.insert(record.rank, format!("{host}/{nic}"));
            }
        }
        self.records += records.len() as u64;
        self.newest_ns = self.newest_ns.max(last.time_ns);
        self.clock.arrive(own_ns, self.newest_ns);
        self.pace.take(&mut self.judge, records);
    }

    /// Whether a rank writes a header anew after its job came to an end.
    fn begins_again(&self, records: &[Record], own_ns: u64) -> bool {
        let is_header = |record: &Record| matches!(record.body, Body::Header(_));
        let stopped = || self.judge.incidents().iter().any(|one| one.kind.stops() && one.closed_ns.is_none());
        let silent = self.clock.arrived_ns.is_some_and(|ns| own_ns.saturating_sub(ns) >= 10 * HOLD_NS);
        self.records > 0 && records.iter().any(is_header) && (silent || stopped())
    }

    fn is_over(&mut self, own_ns: u64) -> bool {
        // After a start nothing has arrived yet, and time begins anew.
        let arrived_ns = *self.clock.arrived_ns.get_or_insert(own_ns);
        own_ns.saturating_sub(arrived_ns) >= OVER_NS
    }

    fn component(&self, place: SuspectPlace, job: &str) -> Component {
        let named = self.nics.get(&place.rank()).filter(|_| matches!(place, SuspectPlace::Nic(_)));
        // A name that several ranks give, such as `eth0` of containers on one host, says nothing.
        let named = named.filter(|name| self.nics.values().filter(|other| other == name).count() == 1);
        named.map_or_else(|| place.component(name_of(job)), |name| Component::Nic(name.clone()))
    }

    fn body(&self, one: &LiveIncident, job: &str) -> Value {
        let mut body = json_of::incident(one, |place| self.component(place, job));
        let share = severity(one);
        let until_ns = one.closed_ns.unwrap_or(one.seen_ns.max(one.opened_ns));
        let lost_s = share * until_ns.saturating_sub(one.opened_ns) as f64 / 1e9;
        if one.kind.is_of_job() {
            body["cost"] = json!({ "time_lost_share": share, "time_lost_s": lost_s });
        }
        body["job"] = json!(name_of(job));
        body
    }

    fn changes(&mut self, name: &str, next_id: &mut u64) -> Vec<Change> {
        let mut changes = Vec::new();
        for one in self.judge.incidents() {
            let before = self.told.get(&one.id).copied();
            let id = before.map_or(*next_id, |told| told.id);
            let now = Told {
                id,
                updated_ns: one.updated_ns,
                confirmed_ns: one.confirmed_ns,
                closed_ns: one.closed_ns,
            };
            let what = match before {
                None => EventKind::Opened,
                Some(before) if before == now => continue,
                Some(before) if before.closed_ns.is_some() && now.closed_ns.is_none() => EventKind::Reopened,
                Some(before) if before.closed_ns.is_none() && now.closed_ns.is_some() => EventKind::Closed,
                Some(before) if before.confirmed_ns.is_none() && now.confirmed_ns.is_some() => {
                    EventKind::Confirmed
                }
                Some(_) => EventKind::Updated,
            };
            *next_id += u64::from(before.is_none());
            self.told.insert(one.id, now);
            let body = self.body(one, name);
            changes.push(Change { id, what, body, picture: self.trail.picture(one) });
        }
        changes
    }

    /// Closes what is open: the job is over.
    fn over(&mut self, name: &str, why: &str) -> Vec<Change> {
        let open = self.judge.incidents().iter().filter(|one| one.closed_ns.is_none());
        open.filter_map(|one| {
            let told = self.told.get(&one.id)?;
            let mut body = self.body(one, name);
            body["closed_at"] = json!(self.newest_ns);
            body["closed_why"] = json!(why);
            Some(Change { id: told.id, what: EventKind::Closed, body, picture: None })
        })
        .collect()
    }
}

/// The name of a job: its folder, or `job` for the folder that is watched itself.
fn name_of(folder: &str) -> &str {
    if folder.is_empty() { "job" } else { folder }
}

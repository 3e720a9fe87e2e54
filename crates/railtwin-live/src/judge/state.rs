//! State of each rank: the newest of every kind of record, and windows of heartbeats.
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::operations::Operations;
use crate::record::{Body, Broken, Heartbeat, Record, TcpReading};

/// Heartbeats, steps and losses are kept for this long: the longest window that a judge looks at, in which lost pings
/// tell the two NICs of a lossy connection apart.
pub(crate) const KEPT_NS: u64 = 30_000_000_000;
/// Round trips are kept for this long: judges of pings look at the newest ones alone.
const PINGS_KEPT_NS: u64 = 3_000_000_000;
/// Steps that are kept of a rank.
const STEPS: usize = 8;
/// Length of a bucket in which the past of a connection is learned.
const BUCKET_NS: u64 = 1_000_000_000;
/// Buckets of the past that are kept: a minute.
const BUCKETS: usize = 60;
/// The newest buckets are no past yet: a fault may have begun in them.
const FRESH: usize = 2;
/// Least share of a bucket in which something waited to be sent for its rate to be one: the kernel counts in ticks of
/// 4 ms, so that less is a guess.
const BUSY_SHARE: f64 = 0.05;

/// Where a rank stands at a heartbeat.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Beat {
    pub(crate) time_ns: u64,
    pub(crate) inside: bool,
    pub(crate) operation: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) send: Option<TcpReading>,
}

/// Round trips of one heartbeat.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pings {
    pub(crate) time_ns: u64,
    /// Other ranks with their round trip, us; none where no answer came.
    pub(crate) trips: Vec<(u32, Option<u32>)>,
}

/// A step of a rank.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct StepSeen {
    pub(crate) time_ns: u64,
    pub(crate) data_us: u64,
    pub(crate) compute_us: u64,
}

/// One rank.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct Rank {
    pub(crate) first_ns: u64,
    /// Newest record of any kind.
    pub(crate) last_ns: u64,
    pub(crate) beats: VecDeque<Beat>,
    /// Times of the newest heartbeats, also of those that windows forgot.
    pub(crate) times: VecDeque<u64>,
    pub(crate) pings: VecDeque<Pings>,
    /// Pings that got no answer: when, and to whom.
    pub(crate) lost: VecDeque<(u64, u32)>,
    pub(crate) steps: VecDeque<StepSeen>,
    /// Heartbeats in which packets were resent for good, with their number.
    pub(crate) resent: VecDeque<(u64, u64)>,
    pub(crate) successor: Option<u32>,
    pub(crate) predecessor: Option<u32>,
    /// Operations entered and ended: one more than the newest number.
    pub(crate) entered: u64,
    pub(crate) ended: u64,
    /// Errors at connections: when, and what.
    pub(crate) broken: Vec<(u64, Broken)>,
    /// Newest state of the process that an observer outside of it told.
    pub(crate) process: Option<(u64, String)>,
    /// Whether it left in order: nothing is expected of it any more.
    pub(crate) has_left: bool,
    /// Newest record of its observer about itself: the time; the share of time in which something waited for a processor, percent; by
    /// how much its timer was late, us.
    pub(crate) stall: Option<(u64, f64, u64)>,
    /// Rates of the past, bytes per us of time in which something waited to be sent.
    past: VecDeque<f64>,
    bucket: Option<(u64, TcpReading)>,
    /// Retransmissions at the heartbeat before, and the most of them that were not undone.
    resent_before: Option<(u64, u64)>,
}

/// Errors of a rank that are kept; a rank has few connections, so that more are a flood.
const BROKEN: usize = 64;

impl Rank {
    /// Whether it reported an error at a connection: its process is at its end.
    pub(crate) fn is_ending(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Whether it sends heartbeats, and neither ended nor is at its end.
    pub(crate) fn lives(&self) -> bool {
        !self.beats.is_empty() && !self.is_ending() && !self.has_left && !self.is_dead()
    }

    /// Whether its process is gone, as its observer says, without having left in order.
    pub(crate) fn is_dead(&self) -> bool {
        !self.has_left
            && self
                .process
                .as_ref()
                .is_some_and(|(_, state)| matches!(state.as_bytes().first(), Some(b'Z' | b'X')))
    }

    /// Whether it is within an operation.
    pub(crate) const fn is_inside(&self) -> bool {
        self.entered > self.ended
    }

    /// Heartbeats from a time on.
    pub(crate) fn beats_since(&self, from_ns: u64) -> impl DoubleEndedIterator<Item = &Beat> {
        self.beats.iter().filter(move |beat| beat.time_ns >= from_ns)
    }

    /// Bytes per us of time in which something waited to be sent, over heartbeats from a time on, and that time, us.
    pub(crate) fn rate_since(&self, from_ns: u64) -> Option<(f64, u64)> {
        let mut beats = self.beats_since(from_ns);
        let first = beats.next()?.send?;
        let last = beats.next_back()?.send?;
        let busy = busy_us(&last).saturating_sub(busy_us(&first));
        let bytes = last.ba.saturating_sub(first.ba);
        (bytes > 0).then(|| (bytes as f64 / busy.max(1) as f64, busy))
    }

    /// Whether something was acknowledged between the newest two heartbeats: what carries nothing is not slow.
    pub(crate) fn carries(&self) -> bool {
        let mut newest = self.beats.iter().rev().filter_map(|beat| beat.send);
        let (Some(last), Some(before)) = (newest.next(), newest.next()) else { return false };
        last.ba > before.ba
    }

    /// The usual rate of its past, bytes per us; none before there is one.
    pub(crate) fn past_rate(&self) -> Option<f64> {
        let mut known: Vec<f64> =
            self.past.iter().take(self.past.len().saturating_sub(FRESH)).copied().collect();
        railtwin_units::robust::median(&mut known)
    }

    /// Forgets what windows hold: heartbeats that came late say nothing.
    pub(crate) fn forget_windows(&mut self) {
        if let Some(last) = self.beats.pop_back() {
            self.beats.clear();
            self.beats.push_back(last);
        }
        self.pings.clear();
        self.lost.clear();
        self.steps.clear();
        self.resent.clear();
        self.bucket = None;
        self.resent_before = None;
    }

    /// Forgets the counters of its connection: those of a connection to another rank are no continuation.
    fn forget_connection(&mut self) {
        self.beats.iter_mut().for_each(|beat| beat.send = None);
        self.past.clear();
        self.resent.clear();
        self.bucket = None;
        self.resent_before = None;
    }

    fn take_heartbeat(&mut self, rank: u32, time_ns: u64, heartbeat: &Heartbeat, learns: bool) -> bool {
        let before = self.beats.back().copied();
        if let Some(connection) = heartbeat.s {
            if connection.peer.is_some_and(|peer| self.successor.is_some_and(|known| known != peer)) {
                self.forget_connection();
            }
            self.successor = connection.peer.or(self.successor);
            self.count_resent(time_ns, &connection);
            if learns {
                self.learn(time_ns, &connection);
            } else {
                self.bucket = None;
            }
        }
        self.predecessor = heartbeat.r.and_then(|connection| connection.peer).or(self.predecessor);
        self.take_pings(rank, time_ns, heartbeat);
        let beat = Beat {
            time_ns,
            inside: heartbeat.inside > 0,
            operation: heartbeat.seq,
            received: heartbeat.rs,
            sent: heartbeat.ss,
            send: heartbeat.s,
        };
        self.beats.push_back(beat);
        self.times.push_back(time_ns);
        if self.times.len() > DISTANCE_BEATS {
            self.times.pop_front();
        }
        trim(&mut self.beats, time_ns, KEPT_NS, |beat| beat.time_ns);
        trim(&mut self.lost, time_ns, KEPT_NS, |lost| lost.0);
        trim(&mut self.resent, time_ns, KEPT_NS, |resent| resent.0);
        before.is_none_or(|before| {
            (before.operation, before.received, before.sent, before.inside)
                != (beat.operation, beat.received, beat.sent, beat.inside)
        })
    }

    fn take_pings(&mut self, rank: u32, time_ns: u64, heartbeat: &Heartbeat) {
        let numbered = |at: usize| match heartbeat.to.is_empty() {
            true => u32::try_from(at).ok(),
            false => heartbeat.to.get(at).copied(),
        };
        let trips = heartbeat.ping.iter().enumerate().filter_map(|(at, trip)| {
            let to = numbered(at).filter(|to| *to != rank)?;
            Some((to, u32::try_from(*trip).ok()))
        });
        let trips: Vec<(u32, Option<u32>)> = trips.collect();
        self.lost.extend(trips.iter().filter(|trip| trip.1.is_none()).map(|trip| (time_ns, trip.0)));
        if !trips.is_empty() {
            self.pings.push_back(Pings { time_ns, trips });
        }
        trim(&mut self.pings, time_ns, PINGS_KEPT_NS, |pings| pings.time_ns);
    }

    /// Counts what was resent up to the heartbeat before and not undone by a DSACK up to now: veth pairs and switches
    /// reorder packets, which TCP resends and the receiver tells a round trip later that it had them.
    fn count_resent(&mut self, time_ns: u64, connection: &TcpReading) {
        let Some((resent, most)) = self.resent_before else {
            self.resent_before = Some((connection.rtx, connection.rtx.saturating_sub(connection.dsk)));
            return;
        };
        let stays = resent.saturating_sub(connection.dsk);
        if stays > most {
            self.resent.push_back((time_ns, stays - most));
        }
        self.resent_before = Some((connection.rtx, stays.max(most)));
    }

    fn learn(&mut self, time_ns: u64, connection: &TcpReading) {
        let Some((from_ns, first)) = self.bucket else {
            self.bucket = Some((time_ns, *connection));
            return;
        };
        let span_ns = time_ns.saturating_sub(from_ns);
        if span_ns < BUCKET_NS {
            return;
        }
        let busy = busy_us(connection).saturating_sub(busy_us(&first)) as f64;
        let bytes = connection.ba.saturating_sub(first.ba) as f64;
        if busy * 1e3 >= BUSY_SHARE * span_ns as f64 {
            self.past.push_back(bytes / busy);
            if self.past.len() > BUCKETS {
                self.past.pop_front();
            }
        }
        self.bucket = Some((time_ns, *connection));
    }
}

/// Time in which something waited to be sent or acknowledged, and not for the receiver's window, us. A receiver that does
/// not read is no slow link.
fn busy_us(connection: &TcpReading) -> u64 {
    connection.busy.saturating_sub(connection.rwl)
}

fn trim<T>(queue: &mut VecDeque<T>, now_ns: u64, kept_ns: u64, time_ns: impl Fn(&T) -> u64) {
    let from_ns = now_ns.saturating_sub(kept_ns);
    while queue.front().is_some_and(|first| time_ns(first) < from_ns) {
        queue.pop_front();
    }
}

/// All ranks, and when the job last moved.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) ranks: BTreeMap<u32, Rank>,
    /// When a rank last entered or ended anything, or sent or received a stage, ns.
    pub(crate) moved_ns: u64,
    /// Newest time between heartbeats that headers tell, ns.
    pub(crate) told_interval_ns: Option<u64>,
    operations: Operations,
}

/// Heartbeats of a rank over which their distance is taken, and from which on it is known.
const DISTANCE_BEATS: usize = 64;
const KNOWN_BEATS: usize = 5;
/// Distances of heartbeats that mean something: others are torn times.
const LEAST_INTERVAL_NS: u64 = 1_000_000;
const MOST_INTERVAL_NS: u64 = 60_000_000_000;

impl State {
    /// Takes a record in; `learns` says that what a connection carries now is usual.
    pub(crate) fn take(&mut self, record: &Record, learns: bool) {
        let rank = self.ranks.entry(record.rank).or_default();
        let time_ns = record.time_ns;
        if rank.last_ns == 0 {
            rank.first_ns = time_ns;
        }
        let mut moved_ns = Some(time_ns);
        match &record.body {
            Body::Step(step) => {
                let seen = StepSeen { time_ns, data_us: step.data, compute_us: step.comp };
                rank.steps.push_back(seen);
                if rank.steps.len() > STEPS {
                    rank.steps.pop_front();
                }
            }
            Body::Entered(entered) => {
                rank.entered = rank.entered.max(entered.seq.saturating_add(1));
                self.operations.enter(entered.seq, time_ns);
            }
            Body::Ended(ended) => {
                self.operations.end(ended.seq, time_ns, learns);
                let count = ended.seq.saturating_add(1);
                (rank.entered, rank.ended) = (rank.entered.max(count), rank.ended.max(count));
                rank.successor = ended.succ.or(rank.successor);
                rank.predecessor = ended.pred.or(rank.predecessor);
            }
            Body::Heartbeat(heartbeat) => {
                let has_moved = rank.take_heartbeat(record.rank, time_ns, heartbeat, learns);
                // Stages were sent and received some time before the heartbeat that tells it.
                let since =
                    [heartbeat.s.map(|s| s.lds), heartbeat.r.map(|r| r.ldr)].into_iter().flatten().min();
                let before_ns = since.unwrap_or(0).saturating_mul(1_000_000);
                moved_ns = has_moved.then(|| time_ns.saturating_sub(before_ns));
            }
            Body::Broken(broken) => {
                if rank.broken.len() < BROKEN {
                    rank.broken.push((time_ns, broken.clone()));
                }
            }
            Body::Header(header) => {
                let told = header.every_ms.map(|ms| ms.saturating_mul(1_000_000));
                self.told_interval_ns = told.filter(|ns| *ns > 0).or(self.told_interval_ns);
                moved_ns = None;
            }
            Body::Process(process) => {
                rank.process = Some((time_ns, process.state.clone()));
                moved_ns = None;
            }
            Body::Left(left) => {
                rank.has_left = left.status == 0;
                if !rank.has_left {
                    rank.process = Some((time_ns, "X".to_owned()));
                }
                moved_ns = None;
            }
            Body::Observer(observer) => {
                rank.stall = Some((time_ns, observer.stall, observer.late_us));
                moved_ns = None;
            }
            Body::Clock(_) => moved_ns = None,
        }
        // An observer outside of the rank tells nothing of its life.
        if !matches!(record.body, Body::Process(_) | Body::Observer(_) | Body::Header(_) | Body::Left(_)) {
            rank.last_ns = rank.last_ns.max(time_ns);
        }
        self.moved_ns = self.moved_ns.max(moved_ns.unwrap_or(0));
    }

    /// Usual distance of heartbeats, ns: that of headers, else the mean one of the median rank; none before some came. The
    /// mean, as a timer that fires late catches up: most of its heartbeats then come at once.
    pub(crate) fn interval_ns(&self) -> Option<u64> {
        let mean = |rank: &Rank| {
            let (first, last) = (rank.times.front()?, rank.times.back()?);
            let count = rank.times.len();
            (count >= KNOWN_BEATS).then(|| last.saturating_sub(*first) as f64 / (count - 1) as f64)
        };
        let mut means: Vec<f64> = self.ranks.values().filter_map(mean).collect();
        let usual = railtwin_units::robust::median(&mut means).map(|mean| mean as u64);
        self.told_interval_ns.or(usual).map(|ns| ns.clamp(LEAST_INTERVAL_NS, MOST_INTERVAL_NS))
    }

    /// Ranks that live as far as is known: with a heartbeat, without an error at a connection, neither left nor dead.
    pub(crate) fn living(&self) -> impl Iterator<Item = (u32, &Rank)> {
        self.ranks.iter().filter(|(_, rank)| rank.lives()).map(|(at, rank)| (*at, rank))
    }

    /// Whether a rank has ended, in whatever way. One without records has not, as far as is known.
    pub(crate) fn has_ended(&self, rank: u32) -> bool {
        self.ranks.get(&rank).is_some_and(|rank| rank.has_left || rank.is_dead() || rank.is_ending())
    }

    /// How long operations take.
    pub(crate) const fn operations(&self) -> &Operations {
        &self.operations
    }

    /// The newest operation that any rank has ended: one more than its number.
    pub(crate) fn most_ended(&self) -> u64 {
        self.ranks.values().map(|rank| rank.ended).max().unwrap_or(0)
    }
}

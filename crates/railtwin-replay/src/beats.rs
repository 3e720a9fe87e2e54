//! Heartbeats: the place of a rank in its operation, counters of its connections, round trips of pings.
use crate::chance::{Chance, Draw};
use crate::faults::RankFaults;
use crate::network::Network;
use crate::trace::{EdgeTrace, Piece, RankTrace, Trace};

/// A reading of a connection, of the side that sends.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Sending {
    /// Packets without an acknowledgement.
    pub(crate) unacknowledged: u64,
    /// Retransmission timers that ran out on end.
    pub(crate) timeouts: u64,
    /// Packets sent again in all.
    pub(crate) resent: u64,
    /// Since data was last sent, ms.
    pub(crate) idle_ms: u64,
    /// Time with something unacknowledged, us.
    pub(crate) busy_us: u64,
    /// Bytes that arrived.
    pub(crate) bytes: u64,
}

/// A heartbeat.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Beat {
    pub(crate) at: f64,
    pub(crate) step: u64,
    /// Newest operation entered, whether the rank is within it, stages received and handed over.
    pub(crate) operation: u64,
    pub(crate) is_inside: bool,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) sending: Sending,
    /// Since data was last received, ms, and bytes received.
    pub(crate) receiving: (u64, u64),
    /// Round trips, us, by rank; negative where none came. None where paths of pings are not known.
    pub(crate) pings: Vec<i64>,
}

/// Counters of an edge, read in the order of time.
#[derive(Clone, Copy, Default, Debug)]
struct EdgeCount {
    piece: usize,
    bytes: f64,
    resent: f64,
    stage: usize,
    handed: (usize, f64),
    busy: f64,
    busy_until: f64,
    last: f64,
}

impl EdgeCount {
    fn pass(&mut self, edge: &EdgeTrace, now: f64) {
        while let Some(piece) = edge.pieces.get(self.piece).filter(|piece| piece.until <= now) {
            self.bytes += piece.bytes;
            self.resent += piece.resent;
            self.last = piece.until;
            self.piece += 1;
        }
        while let Some(stage) = edge.stages.get(self.handed.0).filter(|stage| stage.start <= now) {
            self.handed = (self.handed.0 + 1, self.handed.1 + stage.bytes);
        }
        while let Some(stage) = edge.stages.get(self.stage).filter(|stage| stage.acknowledged <= now) {
            self.busy += (stage.acknowledged - stage.start.max(self.busy_until)).max(0.0);
            self.busy_until = self.busy_until.max(stage.acknowledged);
            self.stage += 1;
        }
    }

    fn moving<'a>(&self, edge: &'a EdgeTrace, now: f64) -> Option<&'a Piece> {
        edge.pieces.get(self.piece).filter(|piece| piece.from < now && piece.until.is_finite())
    }

    /// Bytes that arrived, and packets sent again.
    fn carried(&self, edge: &EdgeTrace, now: f64) -> (f64, f64) {
        let part = self.moving(edge, now).map_or((0.0, 0.0), |piece| {
            let share = (now - piece.from) / (piece.until - piece.from).max(1.0);
            (piece.bytes * share, piece.resent * share)
        });
        (self.bytes + part.0, self.resent + part.1)
    }

    fn sending(&self, network: &Network, edge: &EdgeTrace, now: f64) -> Sending {
        let (bytes, resent) = self.carried(edge, now);
        let oldest = edge.stages.get(self.stage).filter(|stage| stage.start < now);
        let busy = oldest.map_or(0.0, |stage| now - stage.start.max(self.busy_until));
        let left = ((self.handed.1 - bytes) / network.payload).ceil().max(1.0);
        let unacknowledged = oldest.map_or(0.0, |_| left);
        let is_moving = self.moving(edge, now).is_some();
        let since = oldest.map_or(self.last, |stage| stage.start.max(self.last));
        let waited = if is_moving { 0.0 } else { now - since };
        let timeouts =
            oldest.map_or(0.0, |_| (waited / network.timeout_ns).floor().min(network.tries as f64));
        let idle = if timeouts > 0.0 { waited - timeouts * network.timeout_ns } else { waited };
        Sending {
            unacknowledged: unacknowledged as u64,
            timeouts: timeouts as u64,
            // Each timer sends again what is on its way.
            resent: (resent + timeouts * unacknowledged) as u64,
            idle_ms: (idle / 1e6) as u64,
            busy_us: ((self.busy + busy) / 1e3) as u64,
            bytes: bytes as u64,
        }
    }

    fn receiving(&self, edge: &EdgeTrace, now: f64) -> (u64, u64) {
        let idle = if self.moving(edge, now).is_some() { 0.0 } else { now - self.last };
        ((idle / 1e6) as u64, self.carried(edge, now).0 as u64)
    }
}

/// Heartbeats of all ranks up to `until`, each `every` ns; those of a rank begin at a moment of its own within it.
pub(crate) fn beats(
    (network, faults, chance): (&Network, &RankFaults, &Chance),
    trace: &Trace,
    (start, until, every): (f64, f64, f64),
) -> Vec<Vec<Beat>> {
    let one = |rank: usize| {
        let first = start + every * chance.unit(Draw::Phase, rank as u64, 0);
        let count = ((until - first) / every).floor().max(0.0) as u64;
        let (mut own, mut before) = (EdgeCount::default(), EdgeCount::default());
        let into = network.predecessor[rank];
        let mut out = Vec::with_capacity(count as usize);
        for number in 0..=count {
            let at = first + number as f64 * every;
            if at > until || !faults.runs(rank, at) {
                continue;
            }
            own.pass(&trace.edges[rank], at);
            before.pass(&trace.edges[into], at);
            let mut beat = stand(network, &trace.ranks[rank], &trace.edges[rank], at);
            beat.sending = own.sending(network, &trace.edges[rank], at);
            beat.receiving = before.receiving(&trace.edges[into], at);
            beat.pings = pings((network, chance), trace, (rank, number, at));
            out.push(beat);
        }
        out
    };
    (0..network.ranks()).map(one).collect()
}

/// The place of a rank in its operation; counters and pings are filled in later.
fn stand(network: &Network, rank: &RankTrace, edge: &EdgeTrace, at: f64) -> Beat {
    let entered = rank.operations.partition_point(|one| one.entered <= at);
    let last = entered.checked_sub(1);
    let stages = |last: usize| last * network.stages..(last + 1) * network.stages;
    let received = last.map_or(0, |last| rank.got[stages(last)].partition_point(|got| *got <= at));
    let sent = last.map_or(0, |last| edge.stages[stages(last)].partition_point(|one| one.start <= at));
    Beat {
        at,
        step: rank.alone.partition_point(|one| one.end <= at).saturating_sub(1) as u64,
        operation: last.unwrap_or(0) as u64,
        is_inside: last.is_some_and(|last| rank.operations[last].ended > at),
        received: received as u64,
        sent: sent as u64,
        sending: Sending::default(),
        receiving: (0, 0),
        pings: Vec::new(),
    }
}

fn pings(
    (network, chance): (&Network, &Chance),
    trace: &Trace,
    (rank, number, at): (usize, u64, f64),
) -> Vec<i64> {
    if !network.pings {
        return Vec::new();
    }
    let trip = |to: usize| {
        if to == rank {
            return -1;
        }
        let pair = (rank * network.ranks() + to) as u64;
        let unit = |link: u64| chance.unit(Draw::Ping, number, pair << 8 | link);
        let trip = network.ping((rank, to), at, unit, &trace.edges);
        trip.map_or(-1, |ns| (ns / 1e3).round().max(1.0) as i64)
    };
    (0..network.ranks()).map(trip).collect()
}

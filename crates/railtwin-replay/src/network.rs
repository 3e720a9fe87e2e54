//! The edges of the ring in time: the rate of each in every state of the network, the losses and delays of its links.
use std::collections::BTreeMap;

use railtwin::Error;
use railtwin_engine::fault::Change;
use railtwin_engine::{Case, EdgeRates, Impairment};
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_units::SimTime;

use crate::chance::Chance;
use crate::trace::{EdgeTrace, Piece};

/// Bytes on the wire of a ping, Ethernet's included.
const PING_BYTES: f64 = 102.0;

/// An edge in one state of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
struct EdgeState {
    /// Nanoseconds for each byte that the edge carries; infinite where nothing moves.
    ns_per_byte: f64,
}

/// A link at a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkNow {
    pub(crate) is_dead: bool,
    /// Share of packets that it loses.
    pub(crate) loss: f64,
    /// Delay that a fault adds to every packet, ns.
    delay_ns: f64,
    /// Nanoseconds for each byte of data, losses left out.
    ns_per_byte: f64,
}

/// A side of a rank's NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Out,
    In,
}

/// The ring and its links. Edges go by the number of the rank that sends.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) successor: Vec<usize>,
    pub(crate) predecessor: Vec<usize>,
    /// Host of each rank, and the name of its NIC.
    pub(crate) hosts: Vec<u32>,
    pub(crate) nics: Vec<String>,
    /// Serial stages of the collective.
    pub(crate) stages: usize,
    /// Bytes of an edge for each byte of the operation.
    pub(crate) share: f64,
    /// From a stage's last byte until the receiver has it where no fault adds to it, ns.
    pub(crate) hop_ns: f64,
    /// Payload of a packet, bytes.
    pub(crate) payload: f64,
    /// Most bytes of a connection without an acknowledgement.
    pub(crate) window: f64,
    /// Bytes that a link lets through at once after it stood idle; 0 where it keeps its rate always.
    pub(crate) burst: f64,
    /// Time from one retransmission to the next, ns, and how many there are.
    pub(crate) timeout_ns: f64,
    pub(crate) tries: u64,
    /// Whether pings have a path that is known: all ranks are behind one switch.
    pub(crate) pings: bool,
    /// Round trip of a ping that waits for nothing, ns.
    ping_ns: f64,
    is_selective: bool,
    /// Links of each edge, in the order in which packets cross them.
    paths: Vec<Vec<LinkId>>,
    healthy: BTreeMap<LinkId, f64>,
    states: Vec<(f64, Vec<EdgeState>)>,
    /// When links die and carry again, ns, in order.
    deaths: Vec<(f64, LinkId, bool)>,
    impairments: Vec<Impairment>,
}

fn ns(at: SimTime) -> f64 {
    if at == SimTime::NEVER { f64::INFINITY } else { at.ps() as f64 / 1e3 }
}

fn refused<T>(what: &str) -> Result<T, Error> {
    Err(Error::Argument(format!("live records of a simulated job: {what}")))
}

/// Edges of a pattern in one state: rows of rates by sending and receiving NIC.
type Rows = BTreeMap<((u32, u32), (u32, u32)), Vec<usize>>;

impl Network {
    /// The ring of a pattern of a job, in the states of the network in order of time, the first healthy.
    pub(crate) fn of(
        case: &Case,
        (job, replicate): (usize, u32),
        pattern: usize,
        states: &[EdgeRates],
    ) -> Result<Self, Error> {
        let pattern = case.work.jobs[job].first_pattern as usize + pattern;
        let places = case.placements[job].iter();
        let at = places.map(|place| (place.host.0, case.fabric.host_model(place.host).nic_of_gpu(place.gpu)));
        let at: Vec<(u32, u32)> = at.collect();
        let rank_of: BTreeMap<(u32, u32), usize> = (0..).zip(&at).map(|(rank, nic)| (*nic, rank)).collect();
        let Some(healthy) = states.first().filter(|_| rank_of.len() == at.len()) else {
            return refused("each rank must have a NIC of its own");
        };
        let rows = ring(healthy, pattern, at.len())?;
        let Order { successor, predecessor, paths } = order(healthy, &rows, &rank_of)?;
        let fabric = &*case.fabric;
        let links: Vec<LinkId> = paths.iter().flatten().copied().collect();
        let bundle = healthy.bundles_of(pattern).start;
        let stages = healthy.stages[bundle].max(1) as usize;
        let share: f64 =
            rows.values().next().map_or(0.0, |rows| rows.iter().map(|row| healthy.share[*row]).sum());
        let by_rank = |state: &EdgeRates| -> Result<Vec<EdgeState>, Error> {
            let rows = ring(state, pattern, at.len())?;
            let of = |rank: usize| {
                let rows = rows.get(&(at[rank], at[successor[rank]])).map(Vec::as_slice).unwrap_or_default();
                EdgeState { ns_per_byte: pace(state, rows, share) }
            };
            Ok((0..at.len()).map(of).collect())
        };
        let mut timed = Vec::with_capacity(states.len());
        for (row, state) in states.iter().enumerate() {
            timed.push((if row == 0 { 0.0 } else { ns(state.at) }, by_rank(state)?));
        }
        let keys = &case.packets.keys;
        Ok(Self {
            hosts: at.iter().map(|nic| nic.0).collect(),
            nics: at.iter().map(|nic| fabric.device_name(fabric.nic(HostId(nic.0), nic.1))).collect(),
            stages,
            share,
            hop_ns: ns(healthy.latency[pattern]) / stages as f64,
            payload: keys.payload.0 as f64,
            window: keys.most_in_flight(true).map_or(f64::INFINITY, |bytes| bytes as f64),
            burst: 0.0,
            timeout_ns: ns(case.transport.ack_timeout()),
            tries: u64::from(case.transport.retry_count) + 1,
            pings: paths.iter().all(|path| path.len() == 2)
                && paths.iter().all(|path| fabric.target(path[0]) == fabric.target(paths[0][0])),
            ping_ns: 2.0 * one_way_ns(fabric, &paths[0]),
            is_selective: keys.is_selective(case.routing.balancer),
            healthy: links.iter().map(|link| (*link, 1e9 / case.data_rate(*link))).collect(),
            deaths: deaths(case, replicate, &links),
            impairments: case.impairments.clone(),
            successor,
            predecessor,
            paths,
            states: timed,
        })
    }

    pub(crate) fn ranks(&self) -> usize {
        self.successor.len()
    }

    /// The link of a side of a rank's NIC.
    fn link_of(&self, rank: usize, side: Side) -> LinkId {
        match side {
            Side::Out => self.paths[rank][0],
            Side::In => {
                let path = &self.paths[self.predecessor[rank]];
                path[path.len() - 1]
            }
        }
    }

    /// A side of a rank's NIC at a moment.
    pub(crate) fn side(&self, rank: usize, side: Side, now: f64) -> LinkNow {
        self.link(self.link_of(rank, side), now)
    }

    fn link(&self, link: LinkId, now: f64) -> LinkNow {
        let mut is_dead = false;
        for (_, _, dies) in self.deaths.iter().filter(|(at, one, _)| *one == link && *at <= now) {
            is_dead = *dies;
        }
        let healthy = self.healthy.get(&link).copied().unwrap_or(f64::INFINITY);
        let mut found = LinkNow { is_dead, loss: 0.0, delay_ns: 0.0, ns_per_byte: healthy };
        let holds = |one: &&Impairment| one.link == link && ns(one.from) <= now && now < ns(one.until);
        for one in self.impairments.iter().filter(holds) {
            found.loss = 1.0 - (1.0 - found.loss) * (1.0 - one.loss);
            found.delay_ns += ns(one.delay);
            found.ns_per_byte /= one.capacity.max(f64::MIN_POSITIVE);
        }
        found
    }

    /// From a stage's last byte, which leaves at `now`, until the receiver has it, ns.
    pub(crate) fn hop(&self, edge: usize, now: f64) -> f64 {
        self.hop_ns + self.paths[edge].iter().map(|link| self.link(*link, now).delay_ns).sum::<f64>()
    }

    /// When an edge has carried so many bytes that begin at `start`; infinite where it never has. `times` is how many
    /// times as long it takes by chance, `stage` the number of its draws.
    pub(crate) fn carry(
        &self,
        edge: usize,
        (start, bytes, times): (f64, f64, f64),
        (chance, stage): (&Chance, u64),
        out: &mut EdgeTrace,
    ) -> f64 {
        let mut row = self.states.partition_point(|state| state.0 <= start).max(1) - 1;
        let at_once = self.at_once(self.states[row].1[edge].ns_per_byte, (start, bytes), out);
        if at_once > 0.0 {
            out.pieces.push(self.piece(edge, (start, start, at_once), (chance, stage)));
        }
        let (mut at, mut left) = (start, bytes - at_once);
        while at < f64::INFINITY {
            let next = self.states.get(row + 1).map_or(f64::INFINITY, |state| state.0);
            let pace = self.states[row].1[edge].ns_per_byte * times;
            let end = at + left * pace;
            if end <= next {
                out.tokens.1 = end;
                out.pieces.push(self.piece(edge, (at, end, left), (chance, stage)));
                return end;
            }
            if pace < f64::INFINITY {
                let moved = (next - at) / pace;
                out.pieces.push(self.piece(edge, (at, next, moved), (chance, stage)));
                left -= moved;
            }
            (at, row) = (next, row + 1);
        }
        f64::INFINITY
    }

    /// Bytes that a bucket of tokens lets through at once: what it gained while nothing was sent, up to its size.
    fn at_once(&self, pace: f64, (start, bytes): (f64, f64), out: &mut EdgeTrace) -> f64 {
        if self.burst <= 0.0 || !start.is_finite() || !pace.is_finite() {
            return 0.0;
        }
        let (tokens, since) = out.tokens;
        let gained = if out.pieces.is_empty() { self.burst } else { (start - since).max(0.0) / pace };
        let tokens = (tokens + gained).min(self.burst);
        let at_once = tokens.min(bytes);
        out.tokens = (tokens - at_once, start);
        at_once
    }

    fn piece(
        &self,
        edge: usize,
        (from, until, bytes): (f64, f64, f64),
        (chance, stage): (&Chance, u64),
    ) -> Piece {
        let path = self.paths[edge].iter().map(|link| self.link(*link, from));
        let (kept, clean) = path.fold((1.0, 0.0_f64), |(kept, clean), link| {
            (kept * (1.0 - link.loss), clean.max(link.ns_per_byte))
        });
        let (share, packets) = (1.0 - kept, (bytes / self.payload).ceil());
        let lost = chance.lost(packets as u64, share, stage, edge as u64) as f64;
        // Going back sends a window again; the rate says how long that is.
        let state = self.states.partition_point(|state| state.0 <= from).max(1) - 1;
        let more = (self.states[state].1[edge].ns_per_byte / clean - 1.0).max(0.0);
        let window = if share > 0.0 && !self.is_selective { (more * kept / share).max(1.0) } else { 1.0 };
        Piece { from, until, bytes, resent: (lost * window).round() }
    }

    /// When the acknowledgement is there of what a rank received at `at`: it waits in the queues on its way back, the host's
    /// own included, behind data that came first.
    pub(crate) fn acknowledged(&self, edge: usize, at: f64, edges: &[EdgeTrace]) -> f64 {
        let back = [(self.successor[edge], Side::Out), (edge, Side::In)];
        let mut now = at;
        for (rank, side) in back {
            if now == f64::INFINITY {
                return now;
            }
            let link = self.side(rank, side, now);
            if link.is_dead {
                now = self.carries_from(self.link_of(rank, side), now);
            }
            now += self.queue(rank, side, now, edges) + link.delay_ns;
        }
        now + self.hop_ns
    }

    fn carries_from(&self, link: LinkId, now: f64) -> f64 {
        let back = self.deaths.iter().find(|(at, one, dies)| *one == link && *at > now && !dies);
        back.map_or(f64::INFINITY, |back| back.0)
    }

    /// How long a packet waits before a side of a rank's NIC, ns: first in, first out behind the data of the ring. At the
    /// host waits all that was handed over; before the switch's port what of it came faster than it leaves.
    pub(crate) fn queue(&self, rank: usize, side: Side, now: f64, edges: &[EdgeTrace]) -> f64 {
        let edge = if side == Side::Out { rank } else { self.predecessor[rank] };
        let path: Vec<f64> = self.paths[edge].iter().map(|link| self.link(*link, now).ns_per_byte).collect();
        let narrowest = path.iter().copied().fold(0.0, f64::max);
        let stages = &edges[edge].stages;
        let handed = stages[..stages.partition_point(|stage| stage.ready <= now)].last();
        let Some(stage) = handed.filter(|stage| stage.end < f64::INFINITY && stage.end > now) else {
            return 0.0;
        };
        let last = path.len() - 1;
        let waits = match side {
            Side::Out if path[0] >= narrowest => stage.end - now,
            Side::In if path[0] < narrowest && path[last] >= narrowest => {
                let came = ((now - stage.ready) / path[0]).min(stage.bytes);
                stage.end - now - (stage.bytes - came) * narrowest
            }
            _ => 0.0,
        };
        waits.clamp(0.0, self.window * narrowest)
    }

    /// The round trip of a ping that leaves at `now`, ns; none where it is lost. `unit` draws for each of its four links.
    pub(crate) fn ping(
        &self,
        (from, to): (usize, usize),
        now: f64,
        unit: impl Fn(u64) -> f64,
        edges: &[EdgeTrace],
    ) -> Option<f64> {
        let way = [(from, Side::Out), (to, Side::In), (to, Side::Out), (from, Side::In)];
        let mut at = now;
        for (number, (rank, side)) in (0..).zip(way) {
            let link = self.side(rank, side, at);
            if link.is_dead || unit(number) < link.loss {
                return None;
            }
            at += self.queue(rank, side, at, edges) + link.delay_ns;
        }
        Some(at - now + self.ping_ns)
    }
}

/// Successor and predecessor of each rank, and the links of each edge.
struct Order {
    successor: Vec<usize>,
    predecessor: Vec<usize>,
    paths: Vec<Vec<LinkId>>,
}

fn order(healthy: &EdgeRates, rows: &Rows, rank_of: &BTreeMap<(u32, u32), usize>) -> Result<Order, Error> {
    let count = rank_of.len();
    let (mut successor, mut predecessor) = (vec![0; count], vec![0; count]);
    let mut paths = vec![Vec::new(); count];
    for ((source, target), rows) in rows {
        let (Some(&from), Some(&to)) = (rank_of.get(source), rank_of.get(target)) else {
            return refused("messages go over NICs of other ranks");
        };
        (successor[from], predecessor[to]) = (to, from);
        paths[from] = healthy.links_of(rows[0]).iter().map(|link| LinkId(*link)).collect();
    }
    if paths.iter().any(Vec::is_empty) {
        return refused("the healthy network must have a way for every edge of the ring");
    }
    Ok(Order { successor, predecessor, paths })
}

/// Time of a ping one way where nothing is before it: propagation, switches, its own bytes.
fn one_way_ns(fabric: &Fabric, path: &[LinkId]) -> f64 {
    let of = path.iter().map(|&link| {
        let is_switch = fabric.place(fabric.target(link)).is_some();
        let wire = PING_BYTES / fabric.capacity(link).bytes_per_s() * 1e9;
        ns(fabric.delay(link)) + wire + if is_switch { ns(fabric.switch_latency()) } else { 0.0 }
    });
    of.sum()
}

/// Rows of the edges of a ring over all ranks.
fn ring(rates: &EdgeRates, pattern: usize, ranks: usize) -> Result<Rows, Error> {
    let bundles = rates.bundles_of(pattern);
    if bundles.len() != 1 || rates.ring_hops[bundles.start] as usize != ranks {
        return refused("the collective must be one ring over all ranks, each on a host of its own");
    }
    let mut rows = Rows::new();
    for row in rates.rows_of(bundles.start) {
        rows.entry((rates.source[row], rates.target[row])).or_default().push(row);
    }
    if rows.len() != ranks {
        return refused("each rank must be on a host of its own: edges inside hosts are not told");
    }
    Ok(rows)
}

/// Nanoseconds for each byte of an edge: that of its slowest queue pair.
fn pace(rates: &EdgeRates, rows: &[usize], share: f64) -> f64 {
    let seconds = |row: &usize| {
        if rates.rate[*row] > 0.0 { rates.share[*row] / rates.rate[*row] } else { f64::INFINITY }
    };
    let slowest = rows.iter().map(seconds).fold(0.0, f64::max);
    if rows.is_empty() { f64::INFINITY } else { slowest / share.max(f64::MIN_POSITIVE) * 1e9 }
}

fn deaths(case: &Case, replicate: u32, links: &[LinkId]) -> Vec<(f64, LinkId, bool)> {
    let mut all = Vec::new();
    for moment in case.timeline(replicate) {
        let (cable, ways, dies) = match moment.change {
            Change::Dies(cable, ways) => (cable, ways, true),
            Change::Carries(cable, ways) => (cable, ways, false),
            _ => continue,
        };
        let of = ways.links(cable).filter(|link| links.contains(link));
        all.extend(of.map(|link| (ns(moment.at), link, dies)));
    }
    all
}

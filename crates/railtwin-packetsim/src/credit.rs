//! Virtual output queues with credits: packets cross a switch once the egress has granted them bytes.
//!
//! Each egress has one scheduler. A queue that fills asks it; half a credit latency later it stands in the scheduler's
//! line. The scheduler gives one credit of a full packet at a time, to all queues of a class in turn, a little faster
//! than the line sends, and the credit is at the ingress after the other half. It stops while what it has granted and
//! what waits at the egress is more than it needs to keep the line busy for a credit latency.
use std::collections::VecDeque;

use railtwin_engine::packet::Credit;

use crate::network::Speed;
use crate::ports::Chain;

/// Credits over what the line sends, in percent: the egress may not run dry between two of them.
const SPEEDUP: u64 = 102;

/// Windows never grow beyond this: more than a port of 800 Gbps sends in 160 us.
const WINDOW_MAX: u64 = 1 << 24;

/// Packets of one ingress and class for one egress.
#[derive(Clone, Copy, Debug)]
pub struct Voq {
    /// What waits for credits.
    pub waiting: Chain,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes that may cross; the last packet may overdraw it.
    balance: i64,
    /// Bytes granted that are on their way.
    in_flight: u64,
    /// Most of them, and how many arrived since it last grew.
    window: u64,
    arrived: u64,
    /// Asked for credits, or in line for them.
    listed: bool,
    /// Since when nothing waits.
    idle_since: u64,
}

impl Voq {
    /// Whether it has bytes that no credit covers.
    fn wants(&self) -> bool {
        self.bytes as i64 > self.balance + self.in_flight as i64
    }
}

/// The scheduler of an egress.
#[derive(Clone, Debug, Default)]
struct Scheduler {
    /// Queues in line: those that go first, others.
    lines: [VecDeque<u32>; 2],
    /// When it may give the next credit.
    next_at: u64,
    /// Whether its next turn stands in the agenda.
    waking: bool,
    /// Bytes granted that have not crossed to the egress.
    outstanding: u64,
    /// Gives no credits to data until the egress has sent something.
    stopped: bool,
    /// Data that waits for credits, bytes.
    waiting: u64,
}

/// All queues of a switch.
#[derive(Debug)]
pub struct Credits {
    credit: Credit,
    ports: usize,
    /// Bytes of a credit: a full packet.
    quantum: u64,
    /// By ingress, made when it is first used: egress, then class.
    rows: Vec<Vec<Voq>>,
    schedulers: Vec<Scheduler>,
}

/// A turn of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Queue that gets a credit, and when it has it.
    pub given: Option<(usize, u64)>,
    /// When the next turn is.
    pub next: Option<u64>,
}

impl Credits {
    /// Queues of a switch of so many ports; credits of `quantum` bytes.
    pub fn new(credit: Credit, ports: usize, quantum: u64) -> Self {
        let schedulers = vec![Scheduler::default(); ports];
        Self { credit, ports, quantum, rows: vec![Vec::new(); ports], schedulers }
    }

    /// Number of a queue.
    pub fn index(&self, ingress: usize, egress: usize, high: bool) -> usize {
        (ingress * self.ports + egress) * 2 + usize::from(high)
    }

    /// Egress and class of a queue.
    pub fn ends(&self, index: usize) -> (usize, bool) {
        (index / 2 % self.ports, index % 2 == 1)
    }

    /// A queue.
    pub fn queue(&mut self, index: usize) -> &mut Voq {
        let (row, column) = (index / (2 * self.ports), index % (2 * self.ports));
        let initial = self.credit.initial.0;
        let fresh = Voq {
            waiting: Chain::EMPTY,
            bytes: 0,
            balance: initial as i64,
            in_flight: 0,
            window: initial.max(self.quantum),
            arrived: 0,
            listed: false,
            idle_since: 0,
        };
        let row = &mut self.rows[row];
        if row.is_empty() {
            row.resize(2 * self.ports, fresh);
        }
        &mut row[column]
    }

    /// Whether a packet may cross at once.
    pub fn pass(&mut self, now: u64, index: usize, bytes: u64) -> bool {
        let (latency, initial, quantum) = (self.credit.latency.ps(), self.credit.initial.0, self.quantum);
        let queue = self.queue(index);
        if queue.waiting.is_empty() && queue.in_flight == 0 && now - queue.idle_since > latency {
            (queue.balance, queue.window, queue.arrived) = (initial as i64, initial.max(quantum), 0);
        }
        queue.idle_since = now;
        let passes = queue.waiting.is_empty() && queue.balance > 0;
        if passes {
            queue.balance -= bytes as i64;
        }
        passes
    }

    /// A packet of `bytes` waits: when the scheduler hears of it, where it did not know.
    pub fn ask(&mut self, now: u64, index: usize, bytes: u64) -> Option<u64> {
        let half = self.credit.latency.ps() / 2;
        let (out, high) = self.ends(index);
        self.schedulers[out].waiting += if high { 0 } else { bytes };
        let queue = self.queue(index);
        queue.bytes += bytes;
        if queue.listed || !queue.wants() {
            return None;
        }
        queue.listed = true;
        Some(now.saturating_add(half))
    }

    /// The scheduler has heard of a queue: when its next turn is, where none stands in the agenda.
    pub fn list(&mut self, now: u64, index: usize) -> Option<u64> {
        let (out, high) = self.ends(index);
        let scheduler = &mut self.schedulers[out];
        scheduler.lines[usize::from(!high)].push_back(index as u32);
        // What goes first goes also where data has to wait, for a paused line too.
        scheduler.stopped &= !high;
        if scheduler.waking || scheduler.stopped {
            return None;
        }
        scheduler.waking = true;
        Some(scheduler.next_at.max(now))
    }

    /// A turn of the scheduler of an egress at which `queued` bytes wait for a line of this speed.
    pub fn turn(&mut self, now: u64, out: usize, queued: u64, speed: Speed) -> Turn {
        let latency = self.credit.latency.ps();
        let quantum = self.quantum;
        // What the line sends in a credit latency, and one packet that it sends meanwhile.
        let most = (speed.bytes_per_s() * latency as f64 * 1e-12) as u64 * SPEEDUP / 100 + 2 * quantum;
        self.schedulers[out].waking = false;
        let full = self.schedulers[out].outstanding + queued >= most;
        for class in 0..if full { 1 } else { 2 } {
            while let Some(index) = self.schedulers[out].lines[class].pop_front() {
                let index = index as usize;
                let queue = self.queue(index);
                if !queue.wants() || queue.in_flight >= queue.window {
                    // It comes back with the next packet or the next credit.
                    queue.listed = false;
                    continue;
                }
                queue.in_flight += quantum;
                let scheduler = &mut self.schedulers[out];
                scheduler.lines[class].push_back(index as u32);
                scheduler.outstanding += quantum;
                scheduler.next_at = now.saturating_add(speed.time(quantum) * 100 / SPEEDUP);
                scheduler.waking = true;
                let there = now.saturating_add(latency - latency / 2);
                return Turn { given: Some((index, there)), next: Some(scheduler.next_at) };
            }
        }
        self.schedulers[out].stopped = full;
        Turn { given: None, next: None }
    }

    /// A credit is at its queue: when the scheduler has to be told that it wants more, where it does not know.
    pub fn arrive(&mut self, now: u64, index: usize) -> Option<u64> {
        let (quantum, ramp) = (self.quantum, u64::from(self.credit.ramp.max(1)));
        let (out, _) = self.ends(index);
        self.schedulers[out].outstanding -= quantum;
        let queue = self.queue(index);
        queue.in_flight -= quantum;
        queue.balance += quantum as i64;
        queue.arrived += quantum;
        if queue.arrived >= queue.window {
            (queue.window, queue.arrived) = ((queue.window * ramp).min(WINDOW_MAX), 0);
        }
        queue.idle_since = now;
        if queue.listed || !queue.wants() {
            return None;
        }
        // Its line has been known all along: only its window held it back.
        queue.listed = true;
        self.list(now, index)
    }

    /// Whether the first packet of a queue may cross; takes `bytes` off if so.
    pub fn spend(&mut self, index: usize, bytes: u64) -> bool {
        let (out, high) = self.ends(index);
        let queue = self.queue(index);
        let may = queue.balance > 0;
        if may {
            queue.balance -= bytes as i64;
            queue.bytes -= bytes;
            self.schedulers[out].waiting -= if high { 0 } else { bytes };
        }
        may
    }

    /// Data of all ingress ports that waits for credits of an egress, bytes.
    pub fn waiting(&self, out: usize) -> u64 {
        self.schedulers[out].waiting
    }

    /// The egress has sent something: when a scheduler that had stopped has its next turn.
    pub fn go_on(&mut self, now: u64, out: usize) -> Option<u64> {
        let scheduler = &mut self.schedulers[out];
        if !std::mem::take(&mut scheduler.stopped) || scheduler.lines.iter().all(VecDeque::is_empty) {
            return None;
        }
        scheduler.waking = true;
        Some(scheduler.next_at.max(now))
    }
}

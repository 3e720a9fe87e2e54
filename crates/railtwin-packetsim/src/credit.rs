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
    /// Queues in line: those that go first, then those of each level of priority, the highest first.
    lines: Vec<VecDeque<u32>>,
    /// When it may give the next credit.
    next_at: u64,
    /// Whether its next turn stands in the agenda.
    waking: bool,
    /// Bytes granted that have not crossed to the egress, of what goes first and of all levels as `lines`.
    outstanding: Vec<u64>,
    /// Gives no credits to data, or not to all of it, until the egress has sent something.
    stopped: bool,
    /// Data that waits for credits, bytes, as `lines`.
    waiting: Vec<u64>,
}

/// All queues of a switch.
#[derive(Debug)]
pub struct Credits {
    credit: Credit,
    ports: usize,
    /// Classes of packets: what goes first, and each level of priority.
    classes: usize,
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
    /// Queues of a switch of so many ports for so many levels of priority; credits of `quantum` bytes.
    pub fn new(credit: Credit, ports: usize, levels: usize, quantum: u64) -> Self {
        let classes = levels + 1;
        let scheduler = Scheduler {
            lines: vec![VecDeque::new(); classes],
            outstanding: vec![0; classes],
            waiting: vec![0; classes],
            ..Scheduler::default()
        };
        let schedulers = vec![scheduler; ports];
        Self { credit, ports, classes, quantum, rows: vec![Vec::new(); ports], schedulers }
    }

    /// Number of a queue: of a level of priority, or of what goes before all of them.
    pub fn index(&self, ingress: usize, egress: usize, level: Option<usize>) -> usize {
        (ingress * self.ports + egress) * self.classes + level.map_or(0, |level| self.classes - 1 - level)
    }

    /// Egress and level of a queue.
    pub fn ends(&self, index: usize) -> (usize, Option<usize>) {
        let (out, class) = self.class(index);
        (out, (class > 0).then(|| self.classes - 1 - class))
    }

    /// Egress and class of a queue: 0 goes first.
    fn class(&self, index: usize) -> (usize, usize) {
        (index / self.classes % self.ports, index % self.classes)
    }

    /// A queue.
    pub fn queue(&mut self, index: usize) -> &mut Voq {
        let (row, column) = (index / (self.classes * self.ports), index % (self.classes * self.ports));
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
            row.resize(self.classes * self.ports, fresh);
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
        let (out, class) = self.class(index);
        self.schedulers[out].waiting[class] += bytes;
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
        let (out, class) = self.class(index);
        let scheduler = &mut self.schedulers[out];
        scheduler.lines[class].push_back(index as u32);
        // What goes first goes also where data has to wait, for a paused line too; and so does a higher level.
        scheduler.stopped &= class + 1 == self.classes && class > 0;
        if scheduler.waking || scheduler.stopped {
            return None;
        }
        scheduler.waking = true;
        Some(scheduler.next_at.max(now))
    }

    /// A turn of the scheduler of an egress at which `queued` bytes of each level wait for a line of this speed.
    ///
    /// A level waits for what goes before it, and for itself; not for what may not go, as its line is paused.
    pub fn turn(
        &mut self,
        now: u64,
        out: usize,
        (queued, is_paused): (impl Fn(usize) -> u64, impl Fn(usize) -> bool),
        speed: Speed,
    ) -> Turn {
        let latency = self.credit.latency.ps();
        let quantum = self.quantum;
        // What the line sends in a credit latency, and one packet that it sends meanwhile.
        let most = (speed.bytes_per_s() * latency as f64 * 1e-12) as u64 * SPEEDUP / 100 + 2 * quantum;
        self.schedulers[out].waking = false;
        let (mut full, mut before) = (false, self.schedulers[out].outstanding[0]);
        for class in 0..self.classes {
            if class > 0 {
                let level = self.classes - 1 - class;
                let own = self.schedulers[out].outstanding[class] + queued(level);
                let is_full = before + own >= most;
                full |= is_full;
                if is_paused(level) {
                    if is_full {
                        continue;
                    }
                } else {
                    before += own;
                    if is_full {
                        break;
                    }
                }
            }
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
                scheduler.outstanding[class] += quantum;
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
        let (out, class) = self.class(index);
        self.schedulers[out].outstanding[class] -= quantum;
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
        let (out, class) = self.class(index);
        let queue = self.queue(index);
        let may = queue.balance > 0;
        if may {
            queue.balance -= bytes as i64;
            queue.bytes -= bytes;
            self.schedulers[out].waiting[class] -= bytes;
        }
        may
    }

    /// Data of a level and of all ingress ports that waits for credits of an egress, bytes.
    pub fn waiting(&self, out: usize, level: usize) -> u64 {
        self.schedulers[out].waiting[self.classes - 1 - level]
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

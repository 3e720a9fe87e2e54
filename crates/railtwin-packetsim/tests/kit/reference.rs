//! A star of senders into one port, packet by packet in slots of its time for a packet: rate laws written down once more
//! from their papers, to hold the engine's against. It shares no code with the engine.
//!
//! Packets have one size. A slot is what the port takes for one; in each the port sends one, and each sender one at most.
use std::collections::VecDeque;

use railtwin_testkit::closed_forms::{CONTROL, FULL};

/// Bytes of a packet.
const SIZE: f64 = FULL as f64;

/// What the port tells in each packet that leaves it.
#[derive(Clone, Copy, Default)]
pub struct Told {
    /// Utilization, as PINT's switches average it (Ben Basat et al. 2020, section 4.3).
    utilization: f64,
    /// Marked.
    marked: bool,
}

/// What a sender does.
pub trait Law {
    /// Bytes a second at a time, and most bytes in flight.
    fn allowed(&mut self, now: f64) -> (f64, f64);
    /// A packet leaves.
    fn sent(&mut self, _now: f64) {}
    /// The answer to packet `number` is back when `next` is the next to send.
    fn answered(&mut self, _number: u64, _next: u64, _told: Told) {}
    /// A notification is here.
    fn notified(&mut self, _now: f64) {}
}

/// Li et al. 2019, algorithm 1; times in seconds, windows in bytes.
pub struct Hpcc {
    line: f64,
    pub eta: f64,
    pub max_stage: u32,
    pub additive: f64,
    pub round_trip: f64,
    window: f64,
    reference: f64,
    stage: u32,
    last: u64,
}

impl Hpcc {
    pub fn new(line: f64, eta: f64, max_stage: u32, additive: f64, round_trip: f64) -> Self {
        let window = line * round_trip;
        Self { line, eta, max_stage, additive, round_trip, window, reference: window, stage: 0, last: 0 }
    }
}

impl Law for Hpcc {
    fn allowed(&mut self, _now: f64) -> (f64, f64) {
        (self.window / self.round_trip, self.window)
    }

    fn answered(&mut self, number: u64, next: u64, told: Told) {
        let (renews, step) = (number > self.last, self.additive * self.round_trip);
        let multiplies = told.utilization >= self.eta || self.stage >= self.max_stage;
        let factor = if multiplies { self.eta / told.utilization } else { 1.0 };
        // A packet at least, and no more than the line carries.
        self.window = (self.reference * factor + step).clamp(SIZE, self.line * self.round_trip);
        if renews {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            (self.reference, self.last) = (self.window, next);
        }
    }
}

/// Zhu et al. 2015, figure 7 with the NICs' alpha timer; rates in bytes a second, times in seconds.
#[derive(Clone)]
pub struct Dcqcn {
    line: f64,
    pub gain: f64,
    pub alpha_timer: f64,
    pub timer: f64,
    pub counter: f64,
    pub recovery: u32,
    pub additive: f64,
    pub hyper: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    alpha_at: f64,
    timer_at: f64,
    bytes: f64,
    rounds: [u32; 2],
}

impl Dcqcn {
    /// With Zhu et al.'s constants of section 5: 1/256, 55 us, 55 us, 10 MB, 5, 40 and ten times 40 Mbps.
    pub fn published(line: f64) -> Self {
        Self {
            line,
            gain: 1.0 / 256.0,
            alpha_timer: 55e-6,
            timer: 55e-6,
            counter: 10e6,
            recovery: 5,
            additive: 5e6,
            hyper: 50e6,
            rate: line,
            target: line,
            alpha: 1.0,
            alpha_at: f64::INFINITY,
            timer_at: f64::INFINITY,
            bytes: 0.0,
            rounds: [0, 0],
        }
    }

    fn raise(&mut self, clock: usize) {
        self.rounds[clock] += 1;
        let [low, high] = [self.rounds[0].min(self.rounds[1]), self.rounds[0].max(self.rounds[1])];
        if low > self.recovery {
            self.target += f64::from(low - self.recovery) * self.hyper;
        } else if high >= self.recovery {
            self.target += self.additive;
        }
        self.target = self.target.min(self.line);
        self.rate = 0.5 * (self.rate + self.target);
    }
}

impl Law for Dcqcn {
    fn allowed(&mut self, now: f64) -> (f64, f64) {
        while now >= self.alpha_at {
            self.alpha *= 1.0 - self.gain;
            self.alpha_at += self.alpha_timer;
        }
        while now >= self.timer_at {
            self.raise(0);
            self.timer_at += self.timer;
        }
        (self.rate, f64::INFINITY)
    }

    fn sent(&mut self, _now: f64) {
        if self.timer_at.is_finite() {
            self.bytes += SIZE;
            if self.bytes >= self.counter {
                self.bytes -= self.counter;
                self.raise(1);
            }
        }
    }

    fn notified(&mut self, now: f64) {
        self.allowed(now);
        self.target = self.rate;
        // One step of additive increase is the least rate.
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(5e6);
        self.alpha = (1.0 - self.gain) * self.alpha + self.gain;
        (self.alpha_at, self.timer_at) = (now + self.alpha_timer, now + self.timer);
        (self.bytes, self.rounds) = (0.0, [0, 0]);
    }
}

/// Where the port marks, as packets leave: bytes from which it does, bytes from which it marks all, share just below.
#[derive(Clone, Copy)]
pub struct Marks(pub f64, pub f64, pub f64);

struct Sender<L> {
    law: L,
    start: f64,
    packets: u64,
    sent: u64,
    answered: u64,
    free: f64,
    noticed: f64,
}

/// Senders behind cables of so many seconds into one port of a switch, and what came of them.
pub struct Star<L> {
    /// Bytes a second of every link, and seconds of a slot.
    line: f64,
    slot: f64,
    delay: f64,
    marks: Option<Marks>,
    draw: u64,
    senders: Vec<Sender<L>>,
    /// When the last packet of each sender arrived.
    pub ends: Vec<f64>,
    /// Integral of what waits behind the packet that leaves, byte-seconds, and the peak with that packet, bytes.
    pub queued: (f64, f64),
}

impl<L: Law> Star<L> {
    pub fn new(line: f64, delay: f64, marks: Option<Marks>, draw: u64) -> Self {
        Self {
            line,
            slot: SIZE / line,
            delay,
            marks,
            draw,
            senders: Vec::new(),
            ends: Vec::new(),
            queued: (0.0, 0.0),
        }
    }

    /// Time of a packet there and of its acknowledgement back where nobody waits.
    pub fn round_trip(&self) -> f64 {
        4.0 * self.delay + 2.0 * self.slot + 2.0 * CONTROL as f64 / self.line
    }

    /// When all has arrived, seconds.
    pub fn last(&self) -> f64 {
        self.ends.iter().copied().fold(0.0, f64::max)
    }

    /// One more sender: seconds until it begins, and packets.
    pub fn send(&mut self, law: L, start: f64, packets: u64) {
        self.senders.push(Sender {
            law,
            start,
            packets,
            sent: 0,
            answered: 0,
            free: start,
            noticed: f64::NEG_INFINITY,
        });
        self.ends.push(0.0);
    }

    /// Until all has arrived; `interval` is the least time between two notifications of a sender.
    pub fn run(mut self, interval: f64) -> Self {
        let (line, length, round_trip) = (self.line, self.slot, self.round_trip());
        let back = 2.0 * (self.delay + CONTROL as f64 / line);
        // On the way to the port: when there, from whom, which. Waiting: from whom, which. Answers: when back, when the
        // packet was there, from whom, which, and what it told.
        let mut coming: VecDeque<(f64, usize, u64)> = VecDeque::new();
        let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
        let mut answers: VecDeque<(f64, f64, usize, u64, Told)> = VecDeque::new();
        let (mut utilization, mut left_at) = (0.0_f64, 0.0_f64);
        let mut open: u64 = self.senders.iter().map(|sender| sender.packets).sum();
        let mut slot = 0_u64;
        while open > 0 {
            let now = slot as f64 * length;
            slot += 1;
            assert!(now < 1.0, "{open} packets are under way for a second");
            while coming.front().is_some_and(|&(at, ..)| at <= now) {
                let (_, from, number) = coming.pop_front().expect("it is there");
                queue.push_back((from, number));
            }
            let waits = queue.len() as f64 * SIZE;
            self.queued.1 = self.queued.1.max(waits);
            if let Some((from, number)) = queue.pop_front() {
                let behind = queue.len() as f64 * SIZE;
                self.queued.0 += behind * length;
                let passed = (now - left_at).min(round_trip);
                left_at = now;
                utilization = utilization * (1.0 - passed / round_trip)
                    + SIZE / (line * round_trip)
                    + behind * passed / (line * round_trip * round_trip);
                let marked = self.marks.is_some_and(|Marks(min, max, most)| {
                    self.draw = self
                        .draw
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let share =
                        if behind >= max { 1.0 } else { (behind - min).max(0.0) / (max - min) * most };
                    ((self.draw >> 11) as f64 / (1_u64 << 53) as f64) < share
                });
                let there = now + length + self.delay;
                answers.push_back((there + back, there, from, number, Told { utilization, marked }));
            }
            while answers.front().is_some_and(|&(at, ..)| at <= now) {
                let (at, there, from, number, told) = answers.pop_front().expect("it is there");
                let sender = &mut self.senders[from];
                sender.answered += 1;
                sender.law.answered(number + 1, sender.sent + 1, told);
                if told.marked && there - sender.noticed >= interval {
                    sender.noticed = there;
                    sender.law.notified(at);
                }
                if sender.answered == sender.packets {
                    self.ends[from] = there;
                }
                open -= 1;
            }
            for (from, sender) in self.senders.iter_mut().enumerate() {
                if now < sender.start || sender.sent == sender.packets {
                    continue;
                }
                let (rate, window) = sender.law.allowed(now);
                let flight = (sender.sent - sender.answered) as f64 * SIZE;
                if sender.free <= now && flight + SIZE <= window.max(SIZE) {
                    // What was to leave within the slot loses nothing by it.
                    let begins = sender.free.max(now - length);
                    sender.free = begins + SIZE / rate.min(line);
                    sender.law.sent(now);
                    coming.push_back((now + length + self.delay, from, sender.sent));
                    sender.sent += 1;
                }
            }
        }
        self
    }
}

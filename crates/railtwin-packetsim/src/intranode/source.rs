//! What a GPU or a functional unit wants to send, and when.
use std::collections::VecDeque;

use railtwin_engine::intranode::{Arrivals, Measure};
use railtwin_units::stream::{self, Stream};
use rand::RngExt;

use super::cargo::{CLASSES, FROM_UNITS, INTER, INTRA, TO_UNITS};
use super::plan::Plan;
use crate::agenda::NEVER;

/// A message of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// When it was made, ps.
    pub made: u64,
    /// Host that it is for.
    pub host: u32,
    /// Port of a GPU there, or of a unit of the own host.
    pub port: u16,
}

/// Work requests that perftest has under way (`--tx-depth`, 128 by default).
pub const PAIR_DEPTH: usize = 128;

/// When messages come.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Pace {
    /// At equal or exponential distances of so many ps; whoever finds the queue full is refused.
    Open(Arrivals, f64),
    /// So many more, at least so far apart; none is made while the queue is full.
    Pair { left: u32, gap: u64 },
}

/// Messages of a GPU or a unit.
#[derive(Debug)]
pub struct Source {
    rng: Stream,
    host: u32,
    port: u16,
    pace: Pace,
    /// When the next one is made, exact and in ps; [`NEVER`] when there is none.
    exact: f64,
    next: u64,
    /// Those that wait, the first being sent.
    queue: VecDeque<Message>,
    /// Most of them.
    depth: usize,
    /// Bytes of the first that were sent.
    sent: u64,
    /// Bytes of a message on a link of the host.
    wire: u64,
    /// Bytes offered, by class, and refused while they are counted.
    pub offered: [u64; CLASSES],
    /// See `offered`.
    pub refused: [u64; CLASSES],
    /// Messages that were taken into the queue.
    pub accepted: u64,
}

impl Source {
    /// Of what is at a port of a host, before time zero.
    pub fn new(plan: &Plan, host: u32, port: u16) -> Self {
        let spec = &plan.spec;
        let unit = usize::from(port).checked_sub(plan.inside.gpus as usize);
        let name = unit.map_or_else(|| format!("gpu {port}"), |unit| format!("unit {unit}"));
        let mut rng = stream::named(plan.seed, &format!("intranode: host {host} {name}"));
        let wire = plan.inside.wire(spec.message.0);
        let (pace, exact, depth) = match spec.pair {
            Some(pair) => {
                let left = if (host, port) == (0, 0) { pair.messages } else { 0 };
                let (gap, depth) = match pair.measure {
                    Measure::Bandwidth => (pair.gap.ps(), PAIR_DEPTH),
                    Measure::Latency => (plan.alone().max(pair.gap.ps()), 1),
                };
                (Pace::Pair { left, gap }, 0.0, depth)
            }
            None => {
                let (link, share) = match (unit, spec.units) {
                    (Some(_), Some(units)) => (units.link.unwrap_or(plan.link), units.from),
                    _ => (plan.link, 1.0),
                };
                let bytes_per_ps = link.bytes_per_s() * 1e-12 * spec.load * share;
                let gap = wire as f64 / bytes_per_ps;
                let phase: f64 = rng.random();
                let depth = (spec.queue.0 / wire).max(1) as usize;
                (Pace::Open(spec.arrivals, gap), phase * gap, depth)
            }
        };
        let is_silent = match pace {
            Pace::Pair { left, .. } => left == 0,
            Pace::Open(_, gap) => !gap.is_finite(),
        };
        let next = if is_silent { NEVER } else { exact.round() as u64 };
        Self {
            rng,
            host,
            port,
            pace,
            exact,
            next,
            queue: VecDeque::new(),
            depth,
            sent: 0,
            wire,
            offered: [0; CLASSES],
            refused: [0; CLASSES],
            accepted: 0,
        }
    }

    /// Makes what was to be made by `now`.
    fn catch_up(&mut self, now: u64, plan: &Plan) {
        while self.next <= now {
            let made = self.next;
            if made >= plan.counted.1 {
                self.next = NEVER;
                return;
            }
            let full = self.queue.len() >= self.depth;
            match &mut self.pace {
                Pace::Pair { .. } if full => return,
                Pace::Pair { left, gap } => {
                    *left -= 1;
                    self.next = if *left == 0 { NEVER } else { made + *gap };
                }
                Pace::Open(arrivals, gap) => {
                    self.exact += match arrivals {
                        Arrivals::Even => *gap,
                        Arrivals::Poisson => -(1.0 - self.rng.random::<f64>()).ln() * *gap,
                    };
                    self.next = self.exact.round() as u64;
                }
            }
            let Some((host, port)) = self.target(plan) else { continue };
            let class = match host == self.host {
                true if plan.inside.is_unit(usize::from(self.port)) => FROM_UNITS,
                true if plan.inside.is_unit(usize::from(port)) => TO_UNITS,
                true => INTRA,
                false => INTER,
            };
            let counts = plan.counts(made);
            self.offered[class] += if counts { self.wire } else { 0 };
            if full {
                self.refused[class] += if counts { self.wire } else { 0 };
                continue;
            }
            self.accepted += 1;
            self.queue.push_back(Message { made, host, port });
        }
    }

    /// Who the next message is for. None where it would stay in a host of one GPU: it is not sent.
    fn target(&mut self, plan: &Plan) -> Option<(u32, u16)> {
        if plan.spec.pair.is_some() {
            return Some((1, 0));
        }
        let (from, gpus) = ((self.host, self.port), plan.inside.gpus as u16);
        if self.port >= gpus {
            return Some((self.host, self.rng.random_range(0..gpus)));
        }
        let (lot, inter) = (self.rng.random::<f64>(), plan.spec.inter_share());
        if lot < inter {
            return Some(plan.targets.outside(from, &mut self.rng));
        }
        if plan.spec.units.is_some_and(|units| lot < inter + units.to) {
            return Some((self.host, gpus + self.rng.random_range(0..plan.inside.units as u16)));
        }
        (gpus > 1).then(|| (self.host, plan.targets.inside(from, &mut self.rng)))
    }

    /// The message that is to be sent at `now`, and how much of it has been; else when there may be one.
    ///
    /// # Errors
    /// The time, [`NEVER`] where no more comes.
    #[inline]
    pub fn first(&mut self, now: u64, plan: &Plan) -> Result<(Message, u64), u64> {
        if self.queue.is_empty() {
            self.catch_up(now, plan);
        }
        let overhead = plan.spec.pair.map_or(0, |pair| pair.overhead.ps());
        match self.queue.front() {
            Some(message) if message.made + overhead > now => Err(message.made + overhead),
            Some(message) => Ok((*message, self.sent)),
            None => Err(self.next),
        }
    }

    /// So many bytes more of the first message were sent at `now`; whether it is done.
    #[inline]
    pub fn advance(&mut self, now: u64, bytes: u64, plan: &Plan) -> bool {
        self.sent += bytes;
        let done = self.sent == plan.spec.message.0;
        if done {
            // Who came before it was gone found the queue as it was.
            self.catch_up(now, plan);
            self.queue.pop_front();
            self.sent = 0;
            if matches!(self.pace, Pace::Pair { .. }) && self.next != NEVER {
                self.next = self.next.max(now);
            }
        }
        done
    }

    /// Counts those that come before the end of a window, which nobody asks for in it any more. A run that goes on finds
    /// its queue as it would have been.
    pub fn close(&mut self, end: u64, plan: &Plan) {
        if matches!(self.pace, Pace::Open(..)) {
            self.catch_up(end.saturating_sub(1), plan);
        }
    }

    /// Forgets what was offered and refused in a window.
    pub fn forget(&mut self) {
        (self.offered, self.refused) = ([0; CLASSES], [0; CLASSES]);
    }
}

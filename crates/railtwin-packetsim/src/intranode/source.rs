//! What a GPU wants to send, and when.
use std::collections::VecDeque;

use railtwin_engine::intranode::{Arrivals, Measure};
use railtwin_units::stream::{self, Stream};
use rand::RngExt;

use super::plan::Plan;
use crate::agenda::NEVER;

/// A message of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Message {
    /// When it was made, ps.
    pub made: u64,
    /// Host that it is for.
    pub host: u32,
    /// GPU there.
    pub gpu: u16,
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

/// A GPU's messages.
#[derive(Debug)]
pub struct Source {
    rng: Stream,
    host: u32,
    gpu: u16,
    pace: Pace,
    /// When the next one is made, exact and in ps; [`NEVER`] when there is none.
    exact: f64,
    next: u64,
    /// No message is made from then on, ps.
    stop: u64,
    /// Those that wait, the first being sent.
    queue: VecDeque<Message>,
    /// Most of them.
    depth: usize,
    /// Bytes of the first that were sent.
    sent: u64,
    /// Bytes of a message on a link of the host.
    wire: u64,
    /// Bytes offered, inside the host and to others, and refused while they are counted.
    pub offered: [u64; 2],
    /// See `offered`.
    pub refused: u64,
    /// Messages that were taken into the queue.
    pub accepted: u64,
}

impl Source {
    /// Of a GPU of a host, before time zero.
    pub fn new(plan: &Plan, host: u32, gpu: u16) -> Self {
        let spec = &plan.spec;
        let mut rng = stream::named(plan.seed, &format!("intranode: host {host} gpu {gpu}"));
        let wire = plan.inside.wire(spec.message.0);
        let (pace, exact, depth) = match spec.pair {
            Some(pair) => {
                let left = if (host, gpu) == (0, 0) { pair.messages } else { 0 };
                let (gap, depth) = match pair.measure {
                    Measure::Bandwidth => (pair.gap.ps(), PAIR_DEPTH),
                    Measure::Latency => (plan.alone().max(pair.gap.ps()), 1),
                };
                (Pace::Pair { left, gap }, 0.0, depth)
            }
            None => {
                let bytes_per_ps = plan.link.bytes_per_s() * 1e-12 * spec.load;
                let gap = wire as f64 / bytes_per_ps;
                let phase: f64 = rng.random();
                let depth = (spec.queue.0 / wire).max(1) as usize;
                (Pace::Open(spec.arrivals, gap), phase * gap, depth)
            }
        };
        let next = if matches!(pace, Pace::Pair { left: 0, .. }) { NEVER } else { exact.round() as u64 };
        Self {
            rng,
            host,
            gpu,
            pace,
            exact,
            next,
            stop: if spec.pair.is_some() { NEVER } else { plan.counted.1 },
            queue: VecDeque::new(),
            depth,
            sent: 0,
            wire,
            offered: [0; 2],
            refused: 0,
            accepted: 0,
        }
    }

    /// Makes what was to be made by `now`.
    fn catch_up(&mut self, now: u64, plan: &Plan) {
        while self.next <= now {
            let made = self.next;
            if made >= self.stop {
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
            let Some((host, gpu)) = self.target(plan) else { continue };
            let counts = plan.counts(made);
            self.offered[usize::from(host != self.host)] += if counts { self.wire } else { 0 };
            if full {
                self.refused += if counts { self.wire } else { 0 };
                continue;
            }
            self.accepted += 1;
            self.queue.push_back(Message { made, host, gpu });
        }
    }

    /// Who the next message is for. None where it would stay in a host of one GPU: it is not sent.
    fn target(&mut self, plan: &Plan) -> Option<(u32, u16)> {
        if plan.spec.pair.is_some() {
            return Some((1, 0));
        }
        let from = (self.host, self.gpu);
        if self.rng.random::<f64>() < plan.spec.inter_share() {
            return Some(plan.targets.outside(from, &mut self.rng));
        }
        (plan.inside.gpus > 1).then(|| (self.host, plan.targets.inside(from, &mut self.rng)))
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

    /// Counts those that come by the end of the run, which nobody asks for any more.
    pub fn close(&mut self, end: u64, plan: &Plan) {
        if matches!(self.pace, Pace::Open(..)) {
            self.catch_up(end, plan);
        }
    }
}

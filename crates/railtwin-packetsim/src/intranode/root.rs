//! A root complex in the place of a host's PCIe switch: what endpoints send each other goes up to the CPU and comes back
//! (SAURON section 3.2).
//!
//! A packet stays in the buffer of its input until it has left for good, so whoever waits here holds up nobody behind it
//! but what came over the same port, and nothing can stand still for ever.
use std::collections::VecDeque;

use railtwin_engine::intranode::Arbiter;

use super::cell::Cell;
use super::crossbar::Waiting;

/// A packet on its way from a port to another.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// Port at which it came.
    pub input: u8,
    /// Port to which it goes.
    pub output: u8,
    /// What it is.
    pub waiting: Waiting<Cell>,
}

/// The way through the root complex: up to the CPU one packet at a time.
#[derive(Debug)]
pub struct Root {
    policy: Arbiter,
    /// What waits for the CPU, by input.
    queues: Vec<VecDeque<Passing>>,
    /// The input whose turn is next.
    turn: usize,
    /// What is on its way to the CPU.
    under_way: Option<Passing>,
    /// What has passed the root complex once, or twice, and comes to the output's queue next, in this order.
    out: [VecDeque<Passing>; 2],
}

impl Root {
    /// Nothing in it.
    pub fn new(policy: Arbiter, ports: usize) -> Self {
        let queues = (0..ports).map(|_| VecDeque::new()).collect();
        Self { policy, queues, turn: 0, under_way: None, out: Default::default() }
    }

    /// Something comes that has to go to the CPU and back.
    pub fn up(&mut self, passing: Passing) {
        self.queues[usize::from(passing.input)].push_back(passing);
    }

    /// What goes up now, if the way is free and somebody waits.
    pub fn goes(&mut self) -> Option<Passing> {
        if self.under_way.is_some() {
            return None;
        }
        let ports = self.queues.len();
        let asks = |port: &usize| !self.queues[*port].is_empty();
        let mut in_turn = (0..ports).map(|step| (self.turn + step) % ports).filter(asks);
        let port = match self.policy {
            Arbiter::RoundRobin => in_turn.next(),
            Arbiter::Age => {
                in_turn.min_by_key(|&port| self.queues[port].front().map(|one| one.waiting.since))
            }
        }?;
        self.turn = (port + 1) % ports;
        self.under_way = self.queues[port].pop_front();
        self.under_way
    }

    /// What went up is there whole.
    pub fn there(&mut self) -> Passing {
        self.under_way.take().expect("something is under way")
    }

    /// Something has only the time of the root complex before it: of one pass, or of two.
    pub fn leaves(&mut self, passing: Passing, twice: bool) {
        self.out[usize::from(twice)].push_back(passing);
    }

    /// The next that comes out, of those with one pass or with two.
    pub fn out(&mut self, twice: bool) -> Passing {
        self.out[usize::from(twice)].pop_front().expect("something has passed")
    }
}

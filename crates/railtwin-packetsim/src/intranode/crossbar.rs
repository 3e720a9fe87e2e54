//! An input-queued switch: what waits at each input for each output, and who crosses now.
//!
//! Inputs keep a queue for each output in the buffer that these share. One queue for all would hold 58 % of a full load
//! (Karol, Hluchyj and Morgan 1987), where SAURON's figure 4b loses nothing.
use std::collections::VecDeque;

use railtwin_engine::intranode::{Arbiter as Policy, Crossings};

use super::arbiter::Arbiter;

/// Something that waits, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting<T> {
    /// When its first byte came, ps.
    pub since: u64,
    /// What it is.
    pub item: T,
}

/// The switch of a host, or one between hosts.
#[derive(Debug)]
pub struct Crossbar<T> {
    /// Who asks for what.
    pub arbiter: Arbiter,
    ports: usize,
    /// By input, then by output.
    queues: Vec<VecDeque<Waiting<T>>>,
    /// Whether somebody may cross who could not before.
    stale: bool,
    pairs: Vec<(u8, u8)>,
}

impl<T: Copy> Crossbar<T> {
    /// Empty.
    pub fn new(policy: Policy, crossings: Crossings, ports: usize) -> Self {
        Self {
            arbiter: Arbiter::new(policy, crossings, ports),
            ports,
            queues: (0..ports * ports).map(|_| VecDeque::new()).collect(),
            stale: false,
            pairs: Vec::new(),
        }
    }

    /// Something arrives at an input for an output.
    #[inline]
    pub fn push(&mut self, since: u64, input: u8, output: u8, item: T) {
        let queue = &mut self.queues[usize::from(input) * self.ports + usize::from(output)];
        if queue.is_empty() {
            self.arbiter.ask(input, output);
            self.stale = true;
        }
        queue.push_back(Waiting { since, item });
    }

    /// There is room beyond an output, or there is none.
    #[inline]
    pub fn set_open(&mut self, output: u8, open: bool) {
        self.stale |= open;
        self.arbiter.set_open(output, open);
    }

    /// A crossing has ended.
    #[inline]
    pub fn free(&mut self, input: u8, output: u8) {
        self.arbiter.free(input, output);
        self.stale = true;
    }

    /// Whether somebody may cross who could not before.
    #[inline]
    pub const fn is_stale(&self) -> bool {
        self.stale
    }

    /// Finds who crosses now; [`Self::take`] gives each.
    #[inline]
    pub fn arbitrate(&mut self) -> usize {
        self.stale = false;
        self.pairs.clear();
        let (queues, ports) = (&self.queues, self.ports);
        let since = |input: u8, output: u8| {
            let queue = &queues[usize::from(input) * ports + usize::from(output)];
            queue.front().map_or(u64::MAX, |first| first.since)
        };
        self.arbiter.matched(since, &mut self.pairs);
        self.pairs.len()
    }

    /// Takes the first of what crosses from its queue: input, output, what it is.
    #[inline]
    pub fn take(&mut self, row: usize) -> (u8, u8, Waiting<T>) {
        let (input, output) = self.pairs[row];
        let queue = &mut self.queues[usize::from(input) * self.ports + usize::from(output)];
        let first = queue.pop_front().expect("who is matched has asked");
        if queue.is_empty() {
            self.arbiter.no_longer(input, output);
        }
        (input, output, first)
    }
}

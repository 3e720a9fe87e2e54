//! iSLIP for packets that come when they come: which inputs cross to which outputs now.
//!
//! McKeown 1999: each free output grants one of the inputs that ask for it, each input accepts one of its grants, and
//! this again until nothing more fits. Pointers move past a pair only where it was accepted in the first round. Where an
//! input may send to several outputs at once it accepts all.
use railtwin_engine::intranode::{Arbiter as Policy, Crossings};

/// Most ports of a switch: sets of them are 64 bits.
pub const PORTS_MAX: usize = 64;

/// Who asks for what in one switch, and who is free.
#[derive(Debug)]
pub struct Arbiter {
    policy: Policy,
    crossings: Crossings,
    /// By output: inputs at which something waits for it.
    asked: Vec<u64>,
    /// By output and by input: where turns begin.
    grant: Vec<u8>,
    accept: Vec<u8>,
    /// Inputs and outputs that nothing crosses.
    free_inputs: u64,
    free_outputs: u64,
    /// Outputs beyond which there is room.
    open: u64,
    /// Outputs that somebody asks for.
    wanted: u64,
    /// Grants by input; used again.
    granted: Vec<u64>,
}

/// The first of a set from `start` on, in turn.
#[inline]
fn next_of(set: u64, start: u8) -> u8 {
    let after = set & (u64::MAX << start);
    (if after == 0 { set } else { after }).trailing_zeros() as u8
}

/// The members of a set in their order.
fn members(mut set: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as u8)?;
        set &= set - 1;
        Some(first)
    })
}

impl Arbiter {
    /// Nobody asks for anything, and there is room everywhere.
    pub fn new(policy: Policy, crossings: Crossings, ports: usize) -> Self {
        let all = if ports == PORTS_MAX { u64::MAX } else { (1 << ports) - 1 };
        Self {
            policy,
            crossings,
            asked: vec![0; ports],
            grant: vec![0; ports],
            accept: vec![0; ports],
            free_inputs: all,
            free_outputs: all,
            open: all,
            wanted: 0,
            granted: vec![0; ports],
        }
    }

    /// Something waits at an input for an output.
    #[inline]
    pub fn ask(&mut self, input: u8, output: u8) {
        self.asked[usize::from(output)] |= 1 << input;
        self.wanted |= 1 << output;
    }

    /// Nothing waits there for it any more.
    #[inline]
    pub fn no_longer(&mut self, input: u8, output: u8) {
        let asked = &mut self.asked[usize::from(output)];
        *asked &= !(1 << input);
        if *asked == 0 {
            self.wanted &= !(1 << output);
        }
    }

    /// Whether there is room beyond an output.
    #[inline]
    pub fn set_open(&mut self, output: u8, open: bool) {
        if open {
            self.open |= 1 << output;
        } else {
            self.open &= !(1 << output);
        }
    }

    /// A crossing has ended.
    #[inline]
    pub fn free(&mut self, input: u8, output: u8) {
        self.free_inputs |= 1 << input;
        self.free_outputs |= 1 << output;
    }

    /// What each free output picks.
    fn granted_all(&mut self, since: impl Fn(u8, u8) -> u64, pairs: &mut Vec<(u8, u8)>) {
        let ports = self.asked.len() as u8;
        for output in members(self.free_outputs & self.open & self.wanted) {
            let asking = self.asked[usize::from(output)];
            let input = self.pick(asking, output, &since);
            self.grant[usize::from(output)] = (input + 1) % ports;
            self.free_outputs &= !(1 << output);
            pairs.push((input, output));
        }
    }

    /// The input that an output picks of those that ask for it.
    #[inline]
    fn pick(&self, asking: u64, output: u8, since: impl Fn(u8, u8) -> u64) -> u8 {
        match self.policy {
            Policy::RoundRobin => next_of(asking, self.grant[usize::from(output)]),
            Policy::Age => oldest(asking, |input| since(input, output)),
        }
    }

    /// Appends the pairs that cross now; `since` says since when the first packet of an input for an output has waited.
    pub fn matched(&mut self, since: impl Fn(u8, u8) -> u64, pairs: &mut Vec<(u8, u8)>) {
        if self.crossings == Crossings::Several {
            return self.granted_all(since, pairs);
        }
        let mut first = true;
        loop {
            let mut inputs: u64 = 0;
            for output in members(self.free_outputs & self.open & self.wanted) {
                let asking = self.asked[usize::from(output)] & self.free_inputs;
                if asking == 0 {
                    continue;
                }
                let input = self.pick(asking, output, &since);
                inputs |= 1 << input;
                self.granted[usize::from(input)] |= 1 << output;
            }
            if inputs == 0 {
                return;
            }
            for input in members(inputs) {
                let grants = std::mem::take(&mut self.granted[usize::from(input)]);
                let output = match self.policy {
                    Policy::RoundRobin => next_of(grants, self.accept[usize::from(input)]),
                    Policy::Age => oldest(grants, |output| since(input, output)),
                };
                if first {
                    let ports = self.asked.len() as u8;
                    self.grant[usize::from(output)] = (input + 1) % ports;
                    self.accept[usize::from(input)] = (output + 1) % ports;
                }
                self.free_inputs &= !(1 << input);
                self.free_outputs &= !(1 << output);
                pairs.push((input, output));
            }
            first = false;
        }
    }
}

/// The member that has waited longest; of several the least.
fn oldest(set: u64, since: impl Fn(u8) -> u64) -> u8 {
    members(set).min_by_key(|&member| since(member)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs_of(arbiter: &mut Arbiter) -> Vec<(u8, u8)> {
        let mut pairs = Vec::new();
        arbiter.matched(|input, output| u64::from(input) * 100 + u64::from(output), &mut pairs);
        pairs
    }

    #[test]
    fn turns_are_taken_once_they_are_accepted() {
        let mut arbiter = Arbiter::new(Policy::RoundRobin, Crossings::One, 2);
        for (input, output) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            arbiter.ask(input, output);
        }
        // Both outputs grant input 0, which takes output 0; input 1 is left to output 1 in the second round.
        assert_eq!(pairs_of(&mut arbiter), [(0, 0), (1, 1)]);
        arbiter.free(0, 0);
        arbiter.free(1, 1);
        // Only output 0 has moved on: the pointers have slipped, and both outputs grant different inputs.
        assert_eq!(pairs_of(&mut arbiter), [(0, 1), (1, 0)]);
    }

    #[test]
    fn age_lets_the_oldest_go_first() {
        let mut arbiter = Arbiter::new(Policy::Age, Crossings::One, 3);
        arbiter.ask(2, 1);
        arbiter.ask(1, 1);
        assert_eq!(pairs_of(&mut arbiter), [(1, 1)]);
    }

    #[test]
    fn each_output_picks_by_itself_where_inputs_may_feed_several() {
        let mut arbiter = Arbiter::new(Policy::RoundRobin, Crossings::Several, 2);
        for (input, output) in [(0, 0), (0, 1), (1, 1)] {
            arbiter.ask(input, output);
        }
        assert_eq!(pairs_of(&mut arbiter), [(0, 0), (0, 1)]);
        // Only the outputs are taken, and turns have moved on.
        arbiter.free(0, 1);
        assert_eq!(pairs_of(&mut arbiter), [(1, 1)]);
    }

    proptest! {
        #[test]
        fn a_matching_is_one_and_nothing_can_be_added(
            ports in 1_usize..20,
            asks in prop::collection::vec((0_u8..20, 0_u8..20), 0..60),
            closed: u32,
            age: bool,
        ) {
            let policy = if age { Policy::Age } else { Policy::RoundRobin };
            let mut arbiter = Arbiter::new(policy, Crossings::One, ports);
            let asks: Vec<(u8, u8)> = asks.into_iter().filter(|&(i, o)| usize::from(i.max(o)) < ports).collect();
            asks.iter().for_each(|&(input, output)| arbiter.ask(input, output));
            (0..ports as u8).for_each(|output| arbiter.set_open(output, closed & 1 << output == 0));
            let pairs = pairs_of(&mut arbiter);
            let (mut inputs, mut outputs) = (0_u32, 0_u32);
            for (input, output) in pairs {
                prop_assert!(asks.contains(&(input, output)));
                prop_assert_eq!(inputs & 1 << input | outputs & 1 << output | closed & 1 << output, 0);
                inputs |= 1 << input;
                outputs |= 1 << output;
            }
            for (input, output) in asks {
                let taken = inputs & 1 << input | outputs & 1 << output | closed & 1 << output;
                prop_assert_ne!(taken, 0);
            }
        }
    }
}

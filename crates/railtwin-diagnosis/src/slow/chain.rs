//! The wait chain of a ring: who waits least, and whose successor waits first (C4 section III-A).
use std::ops::Range;

use railtwin_records::{Directory, MessageColumns};

use crate::robust::median;
use crate::slow::members::Members;

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Wait {
    waited: f64,
    first: f64,
    sent: f64,
}

/// Waits of all members since they were last forgotten.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WaitChain {
    waits: Vec<Wait>,
}

/// What the chain says of one member.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    /// Whether it waits least of all, and its successors wait first.
    pub root: bool,
    /// Its total wait in nanoseconds.
    pub waited_ns: f64,
    /// The median of its peers'.
    pub peers_ns: f64,
}

impl WaitChain {
    /// Room for so many slots.
    pub fn grow(&mut self, slots: usize) {
        self.waits.resize(slots, Wait::default());
    }

    /// Takes messages in: senders wait for data and credit, receivers for what does not come.
    pub fn observe(&mut self, directory: &Directory, members: &Members, messages: &MessageColumns) {
        for row in 0..messages.len() {
            let Some(flow) = directory.flows.get(messages.flow[row] as usize) else { continue };
            let communicator = messages.communicator[row];
            let (Some(source), Some(target)) =
                (members.slot(communicator, flow.source), members.slot(communicator, flow.target))
            else {
                continue;
            };
            let sender = &mut self.waits[source];
            sender.waited += (messages.data_wait_ns[row] + messages.credit_wait_ns[row]) as f64;
            sender.first += f64::from(messages.first_wait_stage[row]);
            sender.sent += 1.0;
            self.waits[target].waited += messages.receive_wait_ns[row] as f64;
        }
    }

    /// What it says of the member in `slot` of the communicator in `slots`; none without messages.
    pub fn link(&self, slots: Range<usize>, slot: usize) -> Option<Link> {
        let mine = self.waits.get(slot)?;
        if mine.sent == 0.0 {
            return None;
        }
        let first = |wait: &Wait| wait.first / wait.sent;
        let all = self.waits.get(slots)?;
        let mut waited: Vec<f64> =
            all.iter().filter(|wait| wait.sent > 0.0).map(|wait| wait.waited).collect();
        let least = all.iter().filter(|wait| wait.sent > 0.0).all(|wait| wait.waited >= mine.waited);
        let before = all.iter().filter(|wait| wait.sent > 0.0).all(|wait| first(wait) >= first(mine));
        Some(Link { root: least && before, waited_ns: mine.waited, peers_ns: median(&mut waited)? })
    }

    /// Forgets the waits of a communicator.
    pub fn forget(&mut self, slots: Range<usize>) {
        if let Some(waits) = self.waits.get_mut(slots) {
            waits.fill(Wait::default());
        }
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.waits.capacity() * size_of::<Wait>()
    }
}

//! A connection between two NICs: which queue pair takes a message, and when the receiver has cleared it.
use std::collections::VecDeque;

use railtwin_engine::{Case, Posting};

use crate::agenda::Agenda;
use crate::clearing::Clearing;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::post::Post;
use crate::slots::SendSlots;
use crate::weights::Weights;

/// A message that waits for clearance.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Leg.
    pub leg: u32,
    /// Item of the leg.
    pub item: u32,
    /// Payload.
    pub bytes: u64,
    /// When it could have gone but for clearance: when it was ready and first in line.
    pub since: u64,
}

/// One end of a connection: at its source the messages, at its target the clearances.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// First of its senders at the source, and how many there are.
    pub first: u32,
    /// Number of queue pairs.
    pub count: u32,
    /// Parts of a message, each on a queue pair of its own.
    pub parts: u32,
    /// The queue pair of the next message, or under a dynamic split the first of those with as little outstanding.
    pub turn: u32,
    /// Under a dynamic split, what binds messages to queue pairs as late as it can.
    pub slots: Option<Box<SendSlots>>,
    /// Shares of its queue pairs under a static split, where somebody told other ones than even ones.
    pub weights: Option<Box<Weights>>,
    /// Buffers that the receiver has cleared.
    pub cleared: u32,
    /// Messages without a buffer.
    pub waiting: VecDeque<Waiting>,
    /// When the last buffer is copied out, at the target.
    pub copied: u64,
    /// Queue pair whose way clearances take back, and whose way their answers take.
    pub queue_pair: u32,
    /// Packets in flight of all its queue pairs, where they share a window.
    pub flight: u32,
    /// Senders that wait for room in it.
    pub wait_for_room: VecDeque<u32>,
    /// How clearances get over.
    pub clearing: Clearing,
}

/// Parts of a message by connection, each on a queue pair of its own: one for each queue pair where messages are split,
/// else one for each port of the NIC, which NCCL joins to one device and sends over at once (`NCCL_IB_MERGE_NICS`). Under
/// a dynamic split, and where no library runs the job, a message is on one queue pair.
pub fn parts_of_messages(case: &Case, connections: &[railtwin_engine::Connection]) -> Vec<u32> {
    let routing = &case.routing;
    let parts = |one: &railtwin_engine::Connection| {
        if routing.is_dynamic() {
            return 1;
        }
        if routing.posting == Posting::Split {
            return one.count;
        }
        let ports = one.ports.max(1);
        if case.packets.has_library(one.job) && one.count.is_multiple_of(ports) { ports } else { 1 }
    };
    connections.iter().map(parts).collect()
}

impl<C: Control> Host<C> {
    /// Hands a message to its connection; without clearance it waits there.
    #[allow(
        clippy::too_many_arguments,
        reason = "a message is what its parts are, and the rest is the device's surroundings"
    )]
    pub(crate) fn hand_over(
        &mut self,
        now: u64,
        connection: u32,
        leg: u32,
        item: u32,
        bytes: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let row = shared.connection_slots[connection as usize][0] as usize;
        let message = Waiting { leg, item, bytes, since: now };
        if shared.program.legs[leg as usize].clears {
            let one = &mut self.from[row];
            if one.cleared == 0 {
                one.waiting.push_back(message);
                return;
            }
            one.cleared -= 1;
            self.counts.clearance_wait.add(0);
        }
        self.post_message(now, row, message, shared, agenda, post);
    }

    /// Gives the parts of a message to the queue pairs whose turn it is, or a part to each; under a dynamic split it waits for a slot.
    pub(crate) fn post_message(
        &mut self,
        now: u64,
        row: usize,
        message: Waiting,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        if let Some(slots) = &mut self.from[row].slots {
            slots.line_up(message);
            self.bind(now, row, shared, agenda, post);
            return;
        }
        let Connection { first, count, parts, turn, .. } = self.from[row];
        if shared.splits() {
            for part in 0..u64::from(count) {
                let all = u64::from(count);
                let end = |part: u64| match (&self.from[row].weights, part.checked_sub(1)) {
                    (Some(weights), Some(last)) => weights.end(last as u32, message.bytes),
                    _ => message.bytes * part / all,
                };
                let bytes = end(part + 1) - end(part);
                self.post_to(now, first + part as u32, Waiting { bytes, ..message }, 0, shared, agenda, post);
            }
            return;
        }
        self.from[row].turn = (turn + parts) % count;
        for part in 0..parts {
            let end = |part: u32| message.bytes * u64::from(part) / u64::from(parts);
            let bytes = end(part + 1) - end(part);
            let one = match &mut self.from[row].weights {
                Some(weights) => weights.next(bytes),
                None => (turn + part) % count,
            };
            self.post_to(now, first + one, Waiting { bytes, ..message }, 0, shared, agenda, post);
        }
    }

    /// The queue pairs of a connection carry these shares from now on, or even ones: of what is posted then.
    pub(crate) fn weigh(&mut self, row: usize, shares: Option<&[f64]>) {
        let weights = &mut self.from[row].weights;
        if weights.as_ref().map(|weights| weights.shares()) != shares {
            *weights = shares.map(|shares| Box::new(Weights::new(shares)));
        }
    }

    /// Binds messages to queue pairs while slots are free, each to the one with the least outstanding bytes; of several
    /// to the next in turn, or the first ones would carry all that comes bit by bit.
    fn bind(&mut self, now: u64, row: usize, shared: &Shared<'_>, agenda: &mut Agenda, post: &mut Post<'_>) {
        loop {
            let Connection { first, count, turn, .. } = self.from[row];
            let Some((message, slot)) = self.from[row].slots.as_mut().and_then(|slots| slots.take()) else {
                return;
            };
            let in_turn = (0..count).map(|step| (turn + step) % count);
            let least = in_turn.min_by_key(|&one| self.senders[(first + one) as usize].outstanding);
            let one = least.unwrap_or(0);
            self.from[row].turn = (one + 1) % count;
            self.post_to(now, first + one, message, slot, shared, agenda, post);
        }
    }

    /// Messages of a queue pair were acknowledged: under a dynamic split others may have their slots.
    pub(crate) fn free_slots(
        &mut self,
        now: u64,
        queue_pair: u32,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let connection = shared.connection_of[queue_pair as usize] as usize;
        let row = shared.connection_slots[connection][0] as usize;
        let Some(slots) = &mut self.from[row].slots else { return };
        self.worker.done.iter().for_each(|&(_, slot)| slots.complete(slot));
        self.bind(now, row, shared, agenda, post);
    }

    #[allow(clippy::too_many_arguments, reason = "as above, and the slot that the message holds")]
    fn post_to(
        &mut self,
        now: u64,
        row: u32,
        message: Waiting,
        slot: u32,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let sender = &mut self.senders[row as usize];
        if sender.outstanding == 0 {
            sender.busy.begin(now);
        }
        // The first packet has to come over PCIe; what follows is fetched meanwhile.
        if sender.outstanding == 0
            && let Some(start) = sender.start
        {
            let delay = match &self.pcie {
                None => self.nics[self.ports[usize::from(start.port)].nic as usize].delay,
                Some(pcie) => {
                    let connection = shared.connection_of[sender.queue_pair as usize];
                    pcie.ways[shared.program.inside.entry(connection) as usize].delay
                }
            };
            sender.not_before = sender.not_before.max(now.saturating_add(delay));
        }
        sender.post(message.bytes, message.leg, message.item, slot, u64::from(shared.wire.payload));
        self.line_up(now, row as usize, shared, agenda, post);
    }
}

//! Slots of the buffers between hosts: who sends in a tree stays no further ahead than its receiver has room for.
//!
//! NCCL's receiver frees a slot when it has put the sum, or the copy, into the slots of those that it sends to. So a
//! tree moves at the pace of its slowest edge; without that, sums run ahead of results and crowd the network.
use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::host_task::PACED;
use crate::packet::{Kind, Packet};
use crate::post::Post;
use crate::worker::{Out, Worker};

impl Out {
    /// Whether the receiver has no room for another item.
    #[inline]
    pub(super) const fn is_far_ahead(&self) -> bool {
        self.base + self.posted >= self.handed_on.saturating_add(self.slots)
    }
}

impl Worker {
    /// The receiver of a leg has handed on all before `item`.
    pub(crate) fn on_handed_on(&mut self, now: u64, row: u32, item: u32, agenda: &mut Agenda) {
        let out = &mut self.outs[row as usize];
        out.handed_on += u64::from(item.wrapping_sub(out.handed_on as u32));
        // Words of one time come in any order: legs go on in the order of their rows.
        agenda.push(now.saturating_add(1), PACED | u64::from(row));
    }

    /// Items of a leg that came in and were handed on, of all operations.
    fn handed_on(&self, row: usize) -> u64 {
        let one = &self.ins[row];
        if one.dependents.is_empty() {
            return one.arrived;
        }
        let handed_on = one.dependents.iter().map(|&out| {
            let out = &self.outs[out as usize];
            let items = out.posted * one.pieces.of_stage / out.pieces.of_stage;
            one.base + if out.posted == out.total { one.total } else { items }
        });
        handed_on.min().map_or(one.arrived, |least| least.min(one.arrived))
    }
}

impl<C: Control> Host<C> {
    /// Tells the sender of a leg how many items were handed on, if it asks and there are more of them.
    #[inline]
    pub(super) fn tell_sender(&mut self, now: u64, row: usize, shared: &Shared<'_>, post: &mut Post<'_>) {
        let Some(told) = self.worker.ins[row].told else { return };
        let count = self.worker.handed_on(row);
        if count > told {
            let one = &mut self.worker.ins[row];
            one.told = Some(count);
            let (leg, item, network) = (one.leg, count as u32, &shared.network);
            let source = network.host_at[shared.program.legs[leg as usize].source as usize];
            // Behind all packets of that time, as it came in by no port.
            let word = Packet { leg, item, port: u16::MAX, ..Packet::new(Kind::HandedOn) };
            post.tell(source, now.saturating_add(network.lookahead), word);
        }
    }

    /// An item of a leg was posted: what it waited for may be handed on.
    #[inline]
    pub(super) fn handed_on_by(&mut self, now: u64, row: usize, shared: &Shared<'_>, post: &mut Post<'_>) {
        for wait in 0..self.worker.outs[row].waits.len() {
            let (before, ..) = self.worker.outs[row].waits[wait];
            self.tell_sender(now, before as usize, shared, post);
        }
    }
}

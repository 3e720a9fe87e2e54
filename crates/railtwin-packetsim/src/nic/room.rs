//! What a sender may have in flight: its own window, and that which it shares with its connection's other queue pairs.
//!
//! A channel of NCCL has one buffer, whatever the number of queue pairs that its chunks are sent over.
use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::post::Post;
use crate::sender::ALONE;

impl<C: Control> Host<C> {
    /// Most bytes in flight of a sender.
    #[inline]
    pub(super) fn window(&self, sender: usize, shared: &Shared<'_>) -> u64 {
        // An answer has to come of what is in flight.
        let own = self.control.window(&self.senders[sender].state).max(shared.least_window);
        own.min(self.senders[sender].most)
    }

    /// Whether a sender may send a packet. One that only lacks room in a shared window stands in line for it.
    #[inline]
    pub(super) fn may_send(&mut self, row: usize, shared: &Shared<'_>) -> bool {
        let window = self.window(row, shared);
        let sender = &mut self.senders[row];
        if !sender.may_send(window) {
            return false;
        }
        if sender.shares == ALONE {
            return true;
        }
        let one = &mut self.from[sender.shares as usize];
        if one.flight == 0 || (u64::from(one.flight) + 1).saturating_mul(sender.path.full) <= sender.most {
            return true;
        }
        if !std::mem::replace(&mut sender.waits_for_room, true) {
            one.wait_for_room.push_back(row as u32);
        }
        false
    }

    /// A sender that shares a window has so many packets in flight now, after `before`: room is for those that wait for
    /// it first.
    pub(super) fn flight_was(
        &mut self,
        now: u64,
        (row, before): (usize, u32),
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let sender = &self.senders[row];
        if sender.shares == ALONE {
            return;
        }
        let (connection, after) = (sender.shares as usize, sender.in_flight());
        let most = (sender.most / sender.path.full).max(1);
        let one = &mut self.from[connection];
        one.flight = one.flight + after - before;
        // Each once: one that may not send after all stands at the end again.
        for _ in 0..one.wait_for_room.len() {
            let one = &mut self.from[connection];
            if u64::from(one.flight) >= most {
                return;
            }
            let Some(next) = one.wait_for_room.pop_front() else { return };
            self.senders[next as usize].waits_for_room = false;
            self.line_up(now, next as usize, shared, agenda, post);
        }
    }
}

//! The slots of a connection under a dynamic split: a message is bound to a queue pair when one of them is free.
//!
//! NCCL's proxy has `NCCL_STEPS` of them. Its counters of steps only go up, so a slot is free again when its message
//! and all before it are acknowledged; without that order it is free as soon as its own message is.
use std::collections::VecDeque;

use railtwin_engine::SlotOrder;

use crate::connection::Waiting;

/// The slots of one connection.
#[derive(Clone, Debug)]
pub struct SendSlots {
    /// SendSlots that no message holds.
    free: u32,
    in_order: bool,
    /// Number of the oldest message that holds a slot, and of those from it on whether they are done.
    oldest: u32,
    done: VecDeque<bool>,
    /// Messages that wait for a slot, in the order in which they were handed over.
    waiting: VecDeque<Waiting>,
}

impl SendSlots {
    /// `count` free slots; at least one, or nothing would ever leave.
    pub fn new(count: u32, order: SlotOrder) -> Self {
        Self {
            free: count.max(1),
            in_order: order == SlotOrder::InOrder,
            oldest: 0,
            done: VecDeque::new(),
            waiting: VecDeque::new(),
        }
    }

    /// A message stands in line.
    pub fn line_up(&mut self, message: Waiting) {
        self.waiting.push_back(message);
    }

    /// The first message in line and the number of its slot, if one is free.
    pub fn take(&mut self) -> Option<(Waiting, u32)> {
        if self.free == 0 {
            return None;
        }
        let message = self.waiting.pop_front()?;
        self.free -= 1;
        if !self.in_order {
            return Some((message, 0));
        }
        let number = self.oldest.wrapping_add(self.done.len() as u32);
        self.done.push_back(false);
        Some((message, number))
    }

    /// The message in a slot is acknowledged.
    pub fn complete(&mut self, number: u32) {
        if !self.in_order {
            self.free += 1;
            return;
        }
        if let Some(done) = self.done.get_mut(number.wrapping_sub(self.oldest) as usize) {
            *done = true;
        }
        while self.done.front() == Some(&true) {
            self.done.pop_front();
            self.oldest = self.oldest.wrapping_add(1);
            self.free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(item: u32) -> Waiting {
        Waiting { leg: 0, item, bytes: 1, since: 0 }
    }

    fn filled(count: u32, order: SlotOrder) -> SendSlots {
        let mut slots = SendSlots::new(count, order);
        (0..20).for_each(|item| slots.line_up(message(item)));
        slots
    }

    fn items(slots: &mut SendSlots) -> Vec<u32> {
        std::iter::from_fn(|| slots.take()).map(|(message, _)| message.item).collect()
    }

    #[test]
    fn no_more_messages_are_bound_than_slots() {
        for order in SlotOrder::ALL {
            assert_eq!(items(&mut filled(8, order)), [0, 1, 2, 3, 4, 5, 6, 7]);
            assert_eq!(items(&mut filled(0, order)), [0]);
        }
    }

    #[test]
    fn a_slot_in_order_waits_for_those_before_it() {
        let mut slots = filled(3, SlotOrder::InOrder);
        items(&mut slots);
        slots.complete(1);
        slots.complete(2);
        assert!(slots.take().is_none());
        slots.complete(0);
        assert_eq!(items(&mut slots), [3, 4, 5]);
        slots.complete(4);
        slots.complete(3);
        assert_eq!(items(&mut slots), [6, 7]);
    }

    #[test]
    fn a_slot_by_itself_is_free_at_once() {
        let mut slots = filled(3, SlotOrder::Any);
        items(&mut slots);
        slots.complete(0);
        assert_eq!(items(&mut slots), [3]);
        slots.complete(0);
        slots.complete(0);
        assert_eq!(items(&mut slots), [4, 5]);
    }

    #[test]
    fn numbers_go_round() {
        let mut slots = filled(2, SlotOrder::InOrder);
        slots.oldest = u32::MAX;
        let numbers: Vec<u32> = std::iter::from_fn(|| slots.take()).map(|(_, number)| number).collect();
        assert_eq!(numbers, [u32::MAX, 0]);
        slots.complete(0);
        assert!(slots.take().is_none());
        slots.complete(u32::MAX);
        assert_eq!(items(&mut slots), [2, 3]);
    }
}

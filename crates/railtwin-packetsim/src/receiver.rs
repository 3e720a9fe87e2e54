//! The receiving end of a queue pair.
use std::collections::VecDeque;

use crate::packet::{LAST, Packet};

/// Leg and item of the message that a last packet ends.
pub type Delivered = (u32, u32);

/// What a receiver does about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The next one in order.
    InOrder,
    /// Taken, with a gap before it.
    Early,
    /// Seen before.
    Again,
    /// Refused: a gap is before it. `true` where the sender has to be told.
    Refused(bool),
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Queue pair.
    pub queue_pair: u32,
    /// Number of the next packet in order.
    pub expected: u32,
    /// Marked packets since somebody last asked, and what was expected then.
    pub marked: u32,
    asked: u32,
    /// Packets since the last acknowledgement.
    pub unanswered: u32,
    /// Told the sender about the gap.
    told: bool,
    /// When the last congestion notification left; `u64::MAX` = never.
    pub notified: u64,
    /// Port of the host and the next hop of answers; none without a cable.
    pub start: Option<crate::network::Start>,
    /// Takes packets after a gap.
    selective: bool,
    /// Packets from `expected` on: whether they are here, and what they end.
    early: VecDeque<(bool, Option<Delivered>)>,
}

impl Receiver {
    /// A receiver that has seen nothing.
    pub fn new(queue_pair: u32, selective: bool) -> Self {
        Self {
            queue_pair,
            expected: 0,
            marked: 0,
            asked: 0,
            unanswered: 0,
            told: false,
            notified: u64::MAX,
            start: None,
            selective,
            early: VecDeque::new(),
        }
    }

    /// Packets taken in order since this was last asked, and how many came marked.
    pub fn take_counts(&mut self) -> (u32, u32) {
        let packets = self.expected.wrapping_sub(std::mem::replace(&mut self.asked, self.expected));
        // Marks of packets after a gap count with those that close it.
        let marked = if packets > 0 { std::mem::take(&mut self.marked) } else { 0 };
        (packets, marked)
    }

    /// Packets from the first one that is missing to the last one that is here.
    pub fn span(&self) -> u32 {
        self.early.len() as u32
    }

    /// Which of the 32 packets before `number` are here beyond the first one missing, the nearest in the lowest bit.
    pub fn held_before(&self, number: u32) -> u32 {
        let row = (number.saturating_sub(self.expected) as usize).min(self.early.len());
        let nearest = self.early.range(row.saturating_sub(32)..row).rev();
        nearest.zip(0..).fold(0, |bits, (one, bit)| bits | u32::from(one.0) << bit)
    }

    /// A data packet is here; `deliver` gets the messages that are whole now.
    #[inline]
    pub fn take(&mut self, packet: &Packet, mut deliver: impl FnMut(Delivered)) -> Verdict {
        if packet.number < self.expected {
            return Verdict::Again;
        }
        let ends = packet.has(LAST).then_some((packet.leg, packet.item));
        if packet.number > self.expected {
            if !self.selective {
                return Verdict::Refused(!std::mem::replace(&mut self.told, true));
            }
            let row = (packet.number - self.expected) as usize;
            if row >= self.early.len() {
                self.early.resize(row + 1, (false, None));
            }
            let again = self.early[row].0;
            self.early[row] = (true, ends);
            return if again { Verdict::Again } else { Verdict::Early };
        }
        self.expected += 1;
        self.told = false;
        self.early.pop_front();
        if let Some(message) = ends {
            deliver(message);
        }
        while let Some(&(true, ends)) = self.early.front() {
            self.early.pop_front();
            self.expected += 1;
            if let Some(message) = ends {
                deliver(message);
            }
        }
        Verdict::InOrder
    }
}

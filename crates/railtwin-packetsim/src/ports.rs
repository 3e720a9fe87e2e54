//! An egress port: what waits, what is being sent, how often it was told to stop.
use railtwin_units::stream;

use crate::network::{CUT, Line};
use crate::packet::{Kind, Packet};
use crate::post::Post;

/// Packets of a block: neighbors in a queue share cache lines.
const BLOCK: usize = 8;
/// No block.
const NIL: u32 = u32::MAX;

/// Packets in order, in blocks of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    head: u32,
    tail: u32,
    /// Places in the first and after the last packet of their blocks.
    first: u16,
    end: u16,
}

impl Chain {
    /// Nothing.
    pub const EMPTY: Self = Self { head: NIL, tail: NIL, first: 0, end: 0 };

    /// Whether nothing is in it.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.head == NIL
    }
}

/// Packets that wait in one device: blocks are used again, so that nothing is allocated once it has seen its fullest.
#[derive(Debug, Default)]
pub struct Pool {
    blocks: Vec<[Packet; BLOCK]>,
    next: Vec<u32>,
    free: Vec<u32>,
}

impl Pool {
    /// Appends a packet to a chain.
    #[inline]
    pub fn push(&mut self, chain: &mut Chain, packet: Packet) {
        if chain.is_empty() || usize::from(chain.end) == BLOCK {
            let block = self.block();
            if chain.is_empty() {
                (chain.head, chain.first) = (block, 0);
            } else {
                self.next[chain.tail as usize] = block;
            }
            (chain.tail, chain.end) = (block, 0);
        }
        self.blocks[chain.tail as usize][usize::from(chain.end)] = packet;
        chain.end += 1;
    }

    fn block(&mut self) -> u32 {
        if let Some(block) = self.free.pop() {
            self.next[block as usize] = NIL;
            return block;
        }
        self.blocks.push([const { Packet::new(Kind::Data) }; BLOCK]);
        self.next.push(NIL);
        self.blocks.len() as u32 - 1
    }

    /// Takes the first packet of a chain.
    #[inline]
    pub fn pop(&mut self, chain: &mut Chain) -> Option<Packet> {
        if chain.is_empty() {
            return None;
        }
        let packet = self.blocks[chain.head as usize][usize::from(chain.first)];
        chain.first += 1;
        let last = chain.head == chain.tail;
        if last && chain.first == chain.end {
            self.free.push(chain.head);
            *chain = Chain::EMPTY;
        } else if usize::from(chain.first) == BLOCK {
            self.free.push(chain.head);
            (chain.head, chain.first) = (self.next[chain.head as usize], 0);
        }
        Some(packet)
    }

    /// The first packet of a chain.
    #[inline]
    pub fn first(&self, chain: Chain) -> Option<&Packet> {
        (!chain.is_empty()).then(|| &self.blocks[chain.head as usize][usize::from(chain.first)])
    }
}

/// What is counted of a port; read at the end, or when a sample is due.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PortCounts {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Of them those of probes and their answers.
    pub probes: u64,
    /// Most bytes that waited.
    pub queue_max: u64,
    /// Most bytes that waited since the last sample.
    pub sample_max: u64,
    /// Integral of waiting bytes over time, byte-ps.
    pub queue_time: f64,
    /// When `queue_time` was last brought up to date.
    pub queue_since: u64,
    /// Time paused, ps, without the pause that lasts.
    pub paused: u64,
    /// The same since the last sample.
    pub sample_paused: u64,
    /// Pause frames received, renewals included, how many of them were renewals, and frames that let it go on.
    pub pause_frames: u32,
    /// See `pause_frames`.
    pub pause_renewals: u32,
    /// See `pause_frames`.
    pub resume_frames: u32,
    /// Packets dropped that came in here.
    pub dropped: u32,
    /// Packets lost on the line.
    pub lost: u32,
    /// Of them those that a line which carries spoiled: they come in damaged.
    pub spoiled: u32,
    /// Packets that its queue marked.
    pub marked: u32,
    /// Congestion notifications for queue pairs that send here.
    pub notified: u32,
    /// Packets that came in here with a gap before them, at a NIC.
    pub out_of_sequence: u32,
    /// Local ACK timeouts of queue pairs that send here.
    pub ack_timeouts: u32,
    /// Data packets sent again.
    pub sent_again: u32,
    /// When a pause first lasted longer than the watchdog allows.
    pub watched: Option<u64>,
    /// When the last packet arrives, where the delay has changed.
    pub there: u64,
}

/// State of an egress port, what every packet reads in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Port {
    /// The line.
    pub line: Line,
    /// When the packet being sent has left.
    pub busy_until: u64,
    /// Packets that the line loses, in 1/2^32; 0 = none, `u32::MAX` = the next acknowledgement, once.
    pub lossy: u32,
    /// Whether a task waits for `busy_until`.
    pub waking: bool,
    /// Levels of priority on which it was told to send nothing, bit by bit.
    pub paused: u8,
    /// Whether the cable carries nothing.
    pub dead: bool,
    /// Whether its delay has changed, so that packets might overtake others.
    pub late: bool,
    /// Counters: what every packet counts fills the second line.
    pub counts: PortCounts,
    /// When the pause began.
    pub pause_began: u64,
    /// Up to when it is booked.
    pub paused_since: u64,
}

const _: () = assert!(std::mem::offset_of!(Port, counts) == 64);
const _: () = assert!(std::mem::offset_of!(PortCounts, paused) <= 64);

/// Loss of one acknowledgement instead of a share.
pub const LOSE_ONE: u32 = u32::MAX;
/// Life of a pause frame is 65,535 quanta of 512 bits; it is renewed at half of that.
const RENEWAL_BITS: u64 = 65_535 * 512 / 2;

impl Port {
    /// An idle port.
    pub fn new(line: Line) -> Self {
        Self {
            line,
            busy_until: 0,
            waking: false,
            paused: 0,
            dead: false,
            late: false,
            lossy: 0,
            pause_began: 0,
            paused_since: 0,
            counts: PortCounts::default(),
        }
    }

    /// Packets take longer from now on by so many ps, or no longer.
    pub fn take_longer(&mut self, added: u64, begins: bool) {
        self.late = true;
        let delay = &mut self.line.delay;
        *delay = if begins { delay.saturating_add(added) } else { delay.saturating_sub(added) };
    }

    /// Whether it may send nothing of a level.
    #[inline]
    pub const fn is_paused(&self, level: usize) -> bool {
        self.paused >> level & 1 != 0
    }

    /// Told to stop on some levels at `now`; what comes over a dead cable is not heard.
    pub fn pause(&mut self, now: u64, levels: u8) {
        if self.dead {
            return;
        }
        self.counts.pause_frames += 1;
        if self.paused == 0 {
            (self.pause_began, self.paused_since) = (now, now);
        }
        self.paused |= levels;
    }

    /// Notes a pause that lasted until `now` if that is longer than `watchdog`.
    pub fn watch(&mut self, now: u64, watchdog: u64) {
        if now - self.pause_began > watchdog {
            self.counts.watched.get_or_insert(self.pause_began + watchdog);
        }
    }

    /// Goes on, on some levels; `told` where a frame said so. It counts as paused until it may send on all.
    pub fn resume(&mut self, now: u64, watchdog: u64, told: bool, levels: u8) {
        if self.paused & levels == 0 {
            return;
        }
        self.counts.resume_frames += u32::from(told);
        if self.paused & !levels != 0 {
            self.paused &= !levels;
            return;
        }
        self.watch(now, watchdog);
        self.book_pause(now);
        self.book_renewals(now);
        self.paused = 0;
    }

    /// Books the pause up to `now`.
    pub fn book_pause(&mut self, now: u64) {
        if self.paused != 0 {
            let lasted = now - self.paused_since;
            self.counts.paused += lasted;
            self.counts.sample_paused += lasted;
            self.paused_since = now;
        }
    }

    /// Frames that have renewed the pause that lasts until `now`.
    pub fn renewals(&self, now: u64) -> u32 {
        let renewal = u128::from(RENEWAL_BITS) * 1_000_000_000_000 / u128::from(self.line.speed.bits_per_s());
        (u128::from(now - self.pause_began) / renewal.max(1)) as u32
    }

    /// Books the frames that renewed the pause that lasts until `now`.
    pub fn book_renewals(&mut self, now: u64) {
        let renewals = self.renewals(now);
        self.counts.pause_frames += renewals;
        self.counts.pause_renewals += renewals;
    }

    /// Brings the integral of the queue up to date before it changes from `bytes`.
    #[inline]
    pub fn settle_queue(&mut self, now: u64, bytes: u64) {
        self.counts.queue_time += bytes as f64 * (now - self.counts.queue_since) as f64;
        self.counts.queue_since = now;
    }

    /// Sends a packet: it is on the line from `now` on, and arrives unless the line loses it.
    #[inline]
    pub fn send(&mut self, now: u64, mut packet: Packet, post: &mut Post<'_>) {
        let bytes = u64::from(packet.bytes);
        let time = self.line.speed.time(bytes);
        self.busy_until = now.saturating_add(time);
        self.counts.packets += 1;
        self.counts.bytes += bytes;
        let is_probe = matches!(packet.kind, Kind::Probe | Kind::Echo);
        if is_probe {
            self.counts.probes += bytes;
        }
        if (self.dead || self.lossy != 0) && self.loses(&packet) {
            self.counts.lost += 1;
            self.counts.spoiled += u32::from(!self.dead);
            // A bad line is busy with what it spoils; a dead one carries nothing.
            if self.dead {
                post.mail.tally.lose(now, packet.lost_by());
                self.counts.bytes -= bytes;
                self.counts.probes -= if is_probe { bytes } else { 0 };
            }
            return;
        }
        let ahead = if self.line.cuts_through && bytes > CUT { self.line.speed.time(CUT) } else { time };
        packet.port = self.line.target_port;
        let mut there = now.saturating_add(ahead).saturating_add(self.line.delay);
        if self.late {
            // What took longer is not overtaken: a pipeline keeps its order.
            there = there.max(self.counts.there);
            self.counts.there = there;
        }
        post.arrive(self.line.target, there, packet);
    }

    /// Whether a bad line loses a packet. Drawn by the number of packets sent, so that nothing else decides it.
    #[cold]
    fn loses(&mut self, packet: &Packet) -> bool {
        if self.dead {
            return true;
        }
        if self.lossy == LOSE_ONE {
            let hit = packet.kind == Kind::Acknowledge;
            if hit {
                self.lossy = 0;
            }
            return hit;
        }
        (stream::mix(stream::mix(u64::from(self.line.link)) ^ self.counts.packets) as u32) < self.lossy
    }

    /// Notes that `bytes` wait.
    #[inline]
    pub fn filled(&mut self, bytes: u64) {
        self.counts.queue_max = self.counts.queue_max.max(bytes);
        self.counts.sample_max = self.counts.sample_max.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn chains_are_queues(steps in proptest::collection::vec((0_usize..3, any::<bool>()), 1..400)) {
            let mut pool = Pool::default();
            let mut chains = [Chain::EMPTY; 3];
            let mut queues: [VecDeque<u32>; 3] = Default::default();
            for (number, (which, push)) in (0..).zip(steps) {
                if push {
                    pool.push(&mut chains[which], Packet { number, ..Packet::new(Kind::Data) });
                    queues[which].push_back(number);
                } else {
                    let first = pool.first(chains[which]).map(|packet| packet.number);
                    let popped = pool.pop(&mut chains[which]).map(|packet| packet.number);
                    prop_assert_eq!((first, popped), (popped, queues[which].pop_front()));
                }
                prop_assert_eq!(chains[which].is_empty(), queues[which].is_empty());
            }
            let held: usize = queues.iter().map(|queue| queue.len().div_ceil(BLOCK) + 1).sum();
            prop_assert!(pool.blocks.len() - pool.free.len() <= held);
        }
    }
}

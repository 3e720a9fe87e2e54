//! How a sender finds what was lost where receivers take packets in any order: RACK-TLP (RFC 8985), for paths by packet.
//!
//! A packet is lost when one that was sent later has been acknowledged and more time has passed since it was sent than
//! that one took there and back, and a reorder window on top. What is not told by packets that follow is told by probes:
//! the oldest packet without an answer, sent again. Acknowledgements name the transmission that they answer by its stamp,
//! so nothing is guessed of packets that were sent twice.
//!
//! Of the RFC are the comparison by time, the probe after two smoothed round trips, its doubling, and a window that grows
//! with each round trip in which a packet was sent again too early, for 16 recoveries. The window itself is ours: a
//! smoothed round trip, which is the most that the RFC allows, and no less than twice what packets were overtaken by
//! lately. There it begins at a quarter of the least round trip, because packets of one path seldom overtake each other;
//! on many paths they do all the time, by as much as the queues of the paths differ. While the queue of a path grows by
//! no more than a second in a second, twice the lateness that is known covers the one that is to come.
use std::collections::VecDeque;

use crate::agenda::NEVER;
use crate::packet::{Packet, STAMP};

/// Bits behind the point of a smoothed time.
const FRACTION: u32 = 8;
/// Most reorder windows that a packet is waited for, and recoveries after which it is one again (RFC 8985 section 6.2,
/// step 4, has 16 recoveries; that the multiple ends there too is ours).
const PATIENCE: u32 = 16;

/// What is known of a packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    InFlight,
    Lost,
    Arrived,
}

/// A packet without a cumulative acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// When it was sent last, in stamps, wrapping.
    stamp: u32,
    /// How often it was sent again.
    again: u8,
    fate: Fate,
}

/// What is measured of round trips, in stamps with a few bits of fraction.
#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    /// Smoothed (RFC 6298).
    smooth: i64,
    /// Most that a packet arrived later than one that was sent after it; it fades as fast as the mean follows.
    lateness: i64,
    measured: bool,
}

impl RoundTrip {
    /// One that nobody has measured.
    fn expected(ps: u64) -> Self {
        // A quarter of the range of a stamp is more than any network has.
        Self { smooth: ((ps / STAMP).min(1 << 30) as i64) << FRACTION, lateness: 0, measured: false }
    }

    /// A sample, of a packet that was overtaken by one sent `late` stamps after it. Where many packets are in flight each
    /// weighs less, as RFC 7323, appendix G, has it, so that the mean is over all paths of a flight.
    #[inline]
    fn add(&mut self, stamps: u32, late: u32, in_flight: u32) {
        let (sample, late) = (i64::from(stamps) << FRACTION, i64::from(late) << FRACTION);
        if !self.measured {
            *self = Self { smooth: sample, lateness: 0, measured: true };
            return;
        }
        let weight = 3 + (in_flight | 1).ilog2();
        self.smooth += (sample - self.smooth) >> weight;
        self.lateness = late.max(self.lateness - (self.lateness >> weight));
    }

    /// In stamps.
    fn smooth(&self) -> u32 {
        (self.smooth >> FRACTION) as u32
    }

    /// How long a packet may be overtaken, in stamps: a smoothed round trip, or twice as long as one was lately.
    fn reorder(&self) -> u32 {
        (self.smooth.max(2 * self.lateness) >> FRACTION).max(1) as u32
    }
}

/// What a sender must know of packets in flight where receivers take them out of order.
#[derive(Clone, Debug)]
pub struct Selective {
    /// Numbers to send again: the lost ones.
    again: VecDeque<u32>,
    /// Packets from the oldest one without a cumulative acknowledgement on.
    sent: VecDeque<Sent>,
    /// Packets in flight.
    in_flight: u32,
    /// All first transmissions before this number have arrived or are lost.
    looked: u32,
    /// All first transmissions in flight were sent at this stamp or later.
    oldest: u32,
    /// What was sent again, in that order: number and stamp.
    resent: VecDeque<(u32, u32)>,
    /// Stamp of the latest transmission that has arrived, and what it took there and back.
    newest: u32,
    newest_trip: u32,
    trip: RoundTrip,
    /// Reorder windows to wait, recoveries until it is one again, and when it was last changed, in stamps.
    patience: u32,
    calm: u32,
    changed: u32,
    /// Last answer or transmission, ps.
    spoke: u64,
    /// Probes since the last answer.
    probes: u32,
    /// When the timer stands in the agenda.
    pub timer_at: u64,
    /// Most packets from the oldest one without a cumulative acknowledgement on: what the receiver can keep.
    bound: u32,
    /// Since when nothing but `bound` keeps the next packet back.
    held_since: u64,
}

impl Selective {
    /// Nothing sent; round trips are held for `expected` ps until one is measured, and a receiver keeps `bound` packets.
    pub fn new(expected: u64, bound: u32) -> Self {
        Self {
            again: VecDeque::new(),
            sent: VecDeque::new(),
            in_flight: 0,
            looked: 0,
            oldest: 0,
            resent: VecDeque::new(),
            newest: 0,
            newest_trip: 0,
            trip: RoundTrip::expected(expected),
            patience: 1,
            calm: PATIENCE,
            changed: 0,
            spoke: 0,
            probes: 0,
            timer_at: NEVER,
            bound: bound.max(1),
            held_since: NEVER,
        }
    }

    /// Packets in flight.
    #[inline]
    pub const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Whether something waits to be sent again.
    #[inline]
    pub fn is_owing(&self) -> bool {
        !self.again.is_empty()
    }

    /// Whether the receiver has room for the packet after `open` packets without a cumulative acknowledgement.
    #[inline]
    pub const fn has_room(&self, open: u32) -> bool {
        open < self.bound
    }

    /// Whether an answer came after the last probe, or there was none.
    pub const fn is_heard(&self) -> bool {
        self.probes == 0
    }

    /// The next lost packet, and how often it was sent before, if any; it is sent now.
    #[inline]
    pub fn send_again(&mut self, now: u64, acked: u32) -> Option<(u32, u8)> {
        let number = self.again.pop_front()?;
        let one = &mut self.sent[(number - acked) as usize];
        let stamp = (now / STAMP) as u32;
        *one = Sent { stamp, again: one.again.checked_add(1).unwrap_or(1), fate: Fate::InFlight };
        self.in_flight += 1;
        self.spoke = now;
        self.resent.push_back((number, stamp));
        Some((number, one.again))
    }

    /// A packet is sent for the first time.
    #[inline]
    pub fn send(&mut self, now: u64) {
        let stamp = (now / STAMP) as u32;
        if self.sent.is_empty() {
            self.oldest = stamp;
        }
        self.sent.push_back(Sent { stamp, again: 0, fate: Fate::InFlight });
        self.in_flight += 1;
        self.spoke = now;
    }

    /// Something was answered: whether the timer may be due sooner than it was.
    #[inline]
    pub fn answered(&mut self, now: u64) -> bool {
        self.spoke = now;
        std::mem::take(&mut self.probes) > 0
    }

    /// A positive acknowledgement, before what it tells of all packets before it: whether it brought the first round
    /// trip.
    #[inline]
    pub fn hear(&mut self, now: u64, acked: u32, packet: &Packet) -> bool {
        let now = (now / STAMP) as u32;
        let (first, trip) = (!self.trip.measured, now.wrapping_sub(packet.stamp));
        let mut late = 0;
        if first || later(packet.stamp, self.newest) {
            (self.newest, self.newest_trip) = (packet.stamp, trip);
        } else {
            late = self.newest.wrapping_sub(packet.stamp);
        }
        self.trip.add(trip, late, self.in_flight);
        if let Some(row) = packet.leg.checked_sub(acked) {
            if let Some(one) = self.sent.get(row as usize)
                && (one.fate == Fate::Lost || one.again > 0 && one.stamp != packet.stamp)
            {
                // It was not lost but late.
                self.wait_longer(now);
            }
            self.arrive(row, acked);
            // Where acknowledgements are lost, later ones tell the same.
            let mut others = packet.item;
            while others != 0 {
                let back = others.trailing_zeros() + 1;
                others &= others - 1;
                if let Some(row) = row.checked_sub(back) {
                    self.arrive(row, acked);
                }
            }
        }
        first
    }

    #[inline]
    fn arrive(&mut self, row: u32, acked: u32) {
        let Some(one) = self.sent.get_mut(row as usize) else { return };
        match std::mem::replace(&mut one.fate, Fate::Arrived) {
            Fate::InFlight => self.in_flight -= 1,
            Fate::Lost => self.again.retain(|&again| again != acked + row),
            Fate::Arrived => {}
        }
    }

    /// The next `fresh` packets, up to `number`, have all arrived.
    #[inline]
    pub fn pass(&mut self, fresh: u32, number: u32) {
        for _ in 0..fresh {
            let one = self.sent.pop_front();
            self.in_flight -= u32::from(one.is_some_and(|one| one.fate == Fate::InFlight));
        }
        self.looked = self.looked.max(number);
        if !self.again.is_empty() {
            self.again.retain(|&again| again >= number);
        }
    }

    /// Finds what is lost by what has arrived: how many packets.
    #[inline]
    pub fn expire(&mut self, now: u64, acked: u32) -> u32 {
        let now = (now / STAMP) as u32;
        let wait = self.newest_trip.saturating_add(self.patience.saturating_mul(self.trip.reorder()));
        // As a rule the oldest packet has not been out that long.
        if self.resent.is_empty() && now.wrapping_sub(self.oldest) < wait {
            return 0;
        }
        self.find_lost(now, acked, wait)
    }

    /// Finds what is lost of packets that are out for `wait` stamps.
    fn find_lost(&mut self, now: u32, acked: u32, wait: u32) -> u32 {
        let newest = self.newest;
        let is_lost = |stamp: u32| later(newest, stamp) && now.wrapping_sub(stamp) >= wait;
        self.oldest = now;
        let mut lost = 0;
        while let Some(one) = self.sent.get_mut((self.looked - acked) as usize) {
            if one.fate == Fate::InFlight && one.again == 0 {
                if !is_lost(one.stamp) {
                    self.oldest = one.stamp;
                    break;
                }
                one.fate = Fate::Lost;
                self.again.push_back(self.looked);
                lost += 1;
            }
            self.looked += 1;
        }
        while let Some(&(number, stamp)) = self.resent.front() {
            if let Some(row) = number.checked_sub(acked)
                && let Some(one) = self.sent.get_mut(row as usize)
                && one.fate == Fate::InFlight
                && one.stamp == stamp
            {
                if !is_lost(stamp) {
                    break;
                }
                one.fate = Fate::Lost;
                self.again.push_back(number);
                lost += 1;
            }
            self.resent.pop_front();
        }
        if lost > 0 {
            self.in_flight -= lost;
            self.recover(now);
        }
        lost
    }

    /// A packet was sent again that had only been late.
    fn wait_longer(&mut self, now: u32) {
        self.calm = PATIENCE;
        if now.wrapping_sub(self.changed) >= self.trip.smooth() {
            (self.patience, self.changed) = ((self.patience + 1).min(PATIENCE), now);
        }
    }

    /// Packets were lost: one recovery for each round trip.
    fn recover(&mut self, now: u32) {
        if self.patience > 1 && now.wrapping_sub(self.changed) >= self.trip.smooth() {
            (self.calm, self.changed) = (self.calm - 1, now);
            if self.calm == 0 {
                (self.patience, self.calm) = (1, PATIENCE);
            }
        }
    }

    /// One packet was lost for certain: a switch has trimmed it.
    pub fn lose(&mut self, row: u32, acked: u32) {
        if let Some(one) = self.sent.get_mut(row as usize)
            && one.fate == Fate::InFlight
        {
            one.fate = Fate::Lost;
            self.in_flight -= 1;
            self.again.push_back(acked + row);
        }
    }

    /// All that has not arrived is lost.
    pub fn lose_all(&mut self, acked: u32) {
        self.again.clear();
        for (number, one) in (acked..).zip(&mut self.sent) {
            if one.fate != Fate::Arrived {
                one.fate = Fate::Lost;
                self.again.push_back(number);
            }
        }
        self.in_flight = 0;
    }

    /// When the next probe is due, ps: two smoothed round trips after the last answer or transmission, twice as long after
    /// each probe (RFC 8985 section 7.2); where queues grow faster than the mean, two of the newest ones. Never after
    /// `most` probes.
    pub fn probe_due(&self, most: u32) -> u64 {
        if self.probes >= most {
            return NEVER;
        }
        let trip = u64::from(self.trip.smooth().max(self.newest_trip)).max(1) * STAMP;
        self.spoke.saturating_add((2 * trip) << self.probes)
    }

    /// The next probe is waited for from `now` on: time itself told that packets are lost, which are sent again.
    pub fn wait_from(&mut self, now: u64) {
        self.spoke = now;
    }

    /// Takes the oldest packet in flight for lost, to be sent again first; false where nothing is in flight.
    pub fn probe(&mut self, now: u64, acked: u32) -> bool {
        self.spoke = now;
        self.probes += 1;
        let Some(row) = self.sent.iter().position(|one| one.fate == Fate::InFlight) else { return false };
        self.sent[row].fate = Fate::Lost;
        self.in_flight -= 1;
        self.again.push_front(acked + row as u32);
        true
    }

    /// Nothing but the receiver's room keeps the next packet back.
    pub fn hold(&mut self, now: u64) {
        if self.held_since == NEVER {
            self.held_since = now;
        }
    }

    /// Time that the receiver's room kept the next packet back, once it no longer does.
    #[inline]
    pub fn release(&mut self, now: u64) -> u64 {
        match std::mem::replace(&mut self.held_since, NEVER) {
            NEVER => 0,
            since => now - since,
        }
    }
}

/// Whether one stamp is later than the other; within half of their range, 2.2 s.
#[inline]
fn later(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;

    /// A stamp, in ps.
    const TICK: u64 = STAMP;

    /// Sends so many packets, one a stamp from `from` on.
    fn sender(packets: u64, bound: u32) -> Selective {
        let mut sender = Selective::new(50 * TICK, bound);
        (0..packets).for_each(|number| sender.send(number * TICK));
        sender
    }

    /// The acknowledgement of the packet that was sent at `sent`, with what else is there.
    fn ack(sender: &mut Selective, now: u64, number: u32, sent: u32, others: u32) -> u32 {
        let packet = Packet { leg: number, stamp: sent, item: others, ..Packet::new(Kind::Acknowledge) };
        sender.answered(now * TICK);
        sender.hear(now * TICK, 0, &packet);
        sender.expire(now * TICK, 0)
    }

    #[test]
    fn a_packet_is_lost_a_smoothed_round_trip_after_later_ones_have_arrived() {
        let mut sender = sender(30, 100);
        // Packet 0 is missing; all others take 10 stamps, so it is lost 20 stamps after it was sent.
        for number in 1..10 {
            assert_eq!(ack(&mut sender, u64::from(number) + 10, number, number, 0), 0);
        }
        assert_eq!((sender.in_flight(), sender.is_owing()), (21, false));
        assert_eq!(ack(&mut sender, 20, 10, 10, 0), 1);
        assert_eq!((sender.in_flight(), sender.is_owing()), (19, true));
        assert_eq!(sender.send_again(21 * TICK, 0), Some((0, 1)));
        // The second transmission is lost too: once one that was sent later has arrived, 20 stamps after 21.
        for number in 11..30 {
            assert_eq!(ack(&mut sender, u64::from(number) + 10, number, number, 0), 0);
        }
        sender.send(31 * TICK);
        assert_eq!(ack(&mut sender, 41, 30, 31, 0), 1);
        assert_eq!(sender.send_again(42 * TICK, 0), Some((0, 2)));
    }

    #[test]
    fn acknowledgements_tell_of_those_before_them() {
        let mut sender = sender(30, 100);
        ack(&mut sender, 15, 5, 5, 0b1011);
        // 5 itself, then 4, 3 and 1.
        assert_eq!(sender.in_flight(), 26);
        assert_eq!(ack(&mut sender, 36, 26, 26, 0), 2 + 11);
        let again: Vec<u32> =
            std::iter::from_fn(|| sender.send_again(37 * TICK, 0)).map(|one| one.0).collect();
        assert_eq!((again[0], again[1], again[2], again.len()), (0, 2, 6, 13));
    }

    #[test]
    fn what_was_late_and_not_lost_widens_the_window() {
        let mut sender = sender(60, 100);
        for number in 1..=10 {
            ack(&mut sender, u64::from(number) + 10, number, number, 0);
        }
        assert_eq!(sender.send_again(21 * TICK, 0), Some((0, 1)));
        assert_eq!(sender.patience, 1);
        // Its first transmission arrives, 10 stamps later than packet 10 that was sent 10 stamps after it.
        ack(&mut sender, 22, 0, 0, 0);
        assert_eq!((sender.patience, sender.trip.lateness >> FRACTION), (2, 10));
        assert!(sender.trip.reorder() >= 20);
    }

    #[test]
    fn probes_double_and_end() {
        let mut sender = sender(3, 100);
        // 50 stamps are what is expected; the last packet left at 2.
        let mut due = Vec::new();
        for _ in 0..3 {
            let at = sender.probe_due(3);
            due.push(at / TICK);
            assert!(sender.probe(at, 0));
            assert_eq!(sender.send_again(at, 0).map(|one| one.0), Some(0));
        }
        assert_eq!((due, sender.probe_due(3), sender.is_heard()), (vec![102, 302, 702], NEVER, false));
        assert!(sender.answered(710 * TICK) && sender.is_heard());
    }

    #[test]
    fn the_receiver_has_room_for_its_bound() {
        let sender = sender(0, 3);
        assert_eq!([0, 2, 3].map(|open| sender.has_room(open)), [true, true, false]);
        assert!(Selective::new(0, 0).has_room(0));
    }
}

//! The sending end of a queue pair: messages as numbered packets, kept until they are acknowledged.
use std::collections::VecDeque;

use railtwin_engine::Transport;
use railtwin_engine::fault::Tries;
use railtwin_units::SimTime;

use crate::congestion::Path;
use crate::network::Start;
use crate::packet::{BY_SWITCH, Kind, LAST, Packet, STAMP};
use crate::recovery::Selective;

/// A message that was posted.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Number of its first packet.
    pub first: u32,
    /// Packets, at least one.
    pub packets: u32,
    /// Payload.
    pub bytes: u64,
    /// Leg that it belongs to.
    pub leg: u32,
    /// Item of the leg.
    pub item: u32,
    /// Slot of its connection that it holds, under a dynamic split.
    pub slot: u32,
}

/// What a queue pair completed since it was last asked, and how long it had something to do meanwhile.
#[derive(Clone, Copy, Default, Debug)]
pub struct Busy {
    /// Since when the oldest message not acknowledged is the one at work: since it was posted, or the one before it was
    /// done.
    since: u64,
    bytes: u64,
    time: u64,
}

impl Busy {
    /// A message is posted while none is outstanding.
    pub const fn begin(&mut self, now: u64) {
        self.since = now;
    }

    /// Messages of so many bytes are done: gives how long they were the ones at work.
    pub const fn done(&mut self, now: u64, bytes: u64) -> u64 {
        let time = now - self.since;
        self.bytes += bytes;
        self.time += time;
        self.since = now;
        time
    }

    /// Bytes done and time, ps.
    pub const fn take(&mut self) -> (u64, u64) {
        let told = (self.bytes, self.time);
        (self.bytes, self.time) = (0, 0);
        told
    }
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Sender<S> {
    /// Queue pair.
    pub queue_pair: u32,
    /// Port of the host by which it sends, and the next hop; none without a cable.
    pub start: Option<Start>,
    /// Messages not acknowledged, in order.
    messages: VecDeque<Message>,
    /// The message of the next packet.
    cursor: usize,
    /// Number of the next packet.
    pub next: u32,
    /// Number after the last packet posted.
    pub end: u32,
    /// Everything before has been acknowledged.
    pub acked: u32,
    /// Number after the highest ever sent.
    pub top: u32,
    /// Stands in a line of its port.
    pub queued: bool,
    /// When congestion control lets the next packet go.
    pub not_before: u64,
    /// Whether a timer runs.
    pub armed: bool,
    /// Timeouts without an answer, since the oldest packet in flight was sent or the last acknowledgement came.
    pub tries: Tries,
    /// What congestion control may use.
    pub path: Path,
    /// Of congestion control.
    pub state: S,
    /// Where single packets are sent again.
    pub selective: Option<Selective>,
    /// Bytes posted and not acknowledged.
    pub outstanding: u64,
    /// What was completed, for who is told.
    pub busy: Busy,
    /// Most bytes in flight, of its own and of the window that it shares; `u64::MAX` without a bound.
    pub most: u64,
    /// Row of its connection, where queue pairs of one share a window; [`ALONE`] otherwise.
    pub shares: u32,
    /// Waits for room in that window.
    pub waits_for_room: bool,
    /// Bytes that it may still send in its turn.
    pub burst: u64,
}

/// A sender that shares its window with no other.
pub const ALONE: u32 = u32::MAX;

impl<S> Sender<S> {
    /// A sender that has nothing to send.
    pub fn new(queue_pair: u32, path: Path, state: S, selective: Option<Selective>) -> Self {
        Self {
            queue_pair,
            start: None,
            messages: VecDeque::new(),
            cursor: 0,
            next: 0,
            end: 0,
            acked: 0,
            top: 0,
            queued: false,
            not_before: 0,
            armed: false,
            tries: Tries::default(),
            path,
            state,
            selective,
            outstanding: 0,
            busy: Busy::default(),
            most: u64::MAX,
            shares: ALONE,
            waits_for_room: false,
            burst: 0,
        }
    }

    /// The level of its priority.
    #[inline]
    pub fn level(&self) -> usize {
        self.start.map_or(0, Start::level)
    }

    /// Posts a message.
    pub fn post(&mut self, bytes: u64, leg: u32, item: u32, slot: u32, payload: u64) {
        let packets = bytes.div_ceil(payload).max(1) as u32;
        self.messages.push_back(Message { first: self.end, packets, bytes, leg, item, slot });
        self.end += packets;
        self.outstanding += bytes;
    }

    /// Packets in flight.
    pub fn in_flight(&self) -> u32 {
        self.selective.as_ref().map_or(self.next - self.acked, Selective::in_flight)
    }

    /// Since when it waits for an answer; none where nothing does.
    pub fn silent_since(&self) -> Option<SimTime> {
        (self.acked != self.top && !self.tries.is_dead()).then(|| self.tries.since())
    }

    /// Whether nothing waits for an answer, so that the local ACK timer starts with the next packet.
    pub fn is_silent(&self) -> bool {
        match &self.selective {
            None => self.next == self.acked,
            Some(selective) => selective.in_flight() == 0 && selective.is_heard(),
        }
    }

    /// Whether a packet may leave, given `window` bytes.
    #[inline]
    pub fn may_send(&self, window: u64) -> bool {
        let waits = match &self.selective {
            None => self.next < self.end,
            Some(selective) => {
                self.next < self.end && selective.has_room(self.next - self.acked) || selective.is_owing()
            }
        };
        waits && !self.tries.is_dead() && self.start.is_some() && self.fits(window)
    }

    /// Whether `window` has room for one more packet.
    #[inline]
    fn fits(&self, window: u64) -> bool {
        let flight = u64::from(self.in_flight());
        flight == 0 || (flight + 1) * self.path.full <= window
    }

    /// Whether nothing but the receiver's room keeps the next packet back.
    pub fn is_held(&self, window: u64) -> bool {
        let full = self.selective.as_ref().is_some_and(|one| !one.has_room(self.next - self.acked));
        full && self.next < self.end && self.fits(window)
    }

    /// The next packet, and whether it was sent before.
    #[inline]
    pub fn emit(&mut self, now: u64, payload: u64, header: u64) -> (Packet, bool) {
        let owed = match &mut self.selective {
            Some(selective) => selective.send_again(now, self.acked),
            None => None,
        };
        let (number, message, times) = match owed {
            Some((number, times)) => (number, self.messages[self.message_of(number)], times),
            None => {
                let number = self.next;
                while number >= self.messages[self.cursor].first + self.messages[self.cursor].packets {
                    self.cursor += 1;
                }
                self.next += 1;
                if let Some(selective) = &mut self.selective {
                    selective.send(now);
                }
                (number, self.messages[self.cursor], 0)
            }
        };
        let index = u64::from(number - message.first);
        let last = index + 1 == u64::from(message.packets);
        let bytes = if last { message.bytes - index * payload } else { payload };
        let again = number < self.top;
        self.top = self.top.max(number + 1);
        let packet = Packet {
            queue_pair: self.queue_pair,
            number,
            route: self.start.map_or(BY_SWITCH, |start| start.route),
            leg: message.leg,
            item: message.item,
            stamp: (now / STAMP) as u32,
            bytes: (bytes + header) as u16,
            flags: if last { LAST } else { 0 },
            ..Packet::new(Kind::Data)
        };
        (packet.sent_again(times), again)
    }

    fn message_of(&self, number: u32) -> usize {
        self.messages.partition_point(|message| message.first + message.packets <= number)
    }

    /// Everything before `number` has arrived: hands back the messages that are done.
    pub fn acknowledge(&mut self, number: u32, mut done: impl FnMut(Message)) -> u32 {
        if number <= self.acked {
            return 0;
        }
        let fresh = number - self.acked;
        self.acked = number;
        self.next = self.next.max(number);
        while let Some(&message) = self.messages.front()
            && message.first + message.packets <= number
        {
            self.messages.pop_front();
            self.cursor = self.cursor.saturating_sub(1);
            self.outstanding -= message.bytes;
            done(message);
        }
        if let Some(selective) = &mut self.selective {
            selective.pass(fresh, number);
        }
        fresh
    }

    /// One packet was lost for certain.
    pub fn lost(&mut self, number: u32) {
        if let Some(selective) = &mut self.selective
            && let Some(row) = number.checked_sub(self.acked)
        {
            selective.lose(row, self.acked);
        }
    }

    /// Goes back to the oldest packet without an answer; where single packets are sent again, to those.
    pub fn go_back(&mut self) {
        match &mut self.selective {
            None => {
                self.next = self.acked;
                self.cursor = 0;
            }
            Some(selective) => selective.lose_all(self.acked),
        }
    }

    /// When its timer is due, at `now` or later: the local ACK timer, or before that the next probe.
    pub fn timer_due(&mut self, now: u64, transport: &Transport) -> u64 {
        let due = self.tries.due(transport).ps();
        let Some(selective) = &mut self.selective else { return due };
        selective.timer_at = due.min(selective.probe_due(transport.retry_count)).max(now);
        selective.timer_at
    }
}

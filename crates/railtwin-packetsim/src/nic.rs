//! NICs: who sends next, what is answered, what waits for PCIe.
mod drain;
mod over_switches;
mod room;
mod timer;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use railtwin_engine::IncidentKind;
use railtwin_fabric::{DeviceId, Fabric};
use railtwin_units::{Rate, SimTime};

use crate::agenda::{Agenda, NEVER};
use crate::congestion::{Control, Feedback};
use crate::host::{Host, Shared, Word};
use crate::host_task::{DELIVER, TIMER, WAKE};
use crate::network::Speed;
use crate::packet::{BACK, HIGH, Kind, LAST, MARKED, Packet, STAMP};
use crate::ports::Port;
use crate::post::Post;
use crate::prober::Line;
use crate::receiver::Verdict;
use crate::sender::Sender;

/// What stands in line at a port with one priority.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// Packets without payload that do not go before data.
    low: VecDeque<Packet>,
    /// Senders that may send, in turn.
    ready: VecDeque<u32>,
}

/// A port of a NIC.
#[derive(Debug)]
pub struct NicPort {
    /// The line and its state.
    pub port: Port,
    /// NIC, among those of the host.
    pub nic: u32,
    /// When its next task is due; later tasks that still stand in the agenda do nothing.
    pub wake_at: u64,
    /// Packets without payload that go before data.
    high: VecDeque<Packet>,
    /// What stands in line, by level of priority.
    levels: Vec<Waiting>,
    /// Senders that have to wait for their rate.
    paced: BinaryHeap<Reverse<(u64, u32)>>,
    /// Told the leaf to stop.
    pausing: bool,
    /// Probes that wait, survey by survey, and whether it is their turn and not that of data.
    pub(crate) probes: (VecDeque<Line>, bool),
}

impl NicPort {
    /// An idle port for so many levels of priority.
    pub fn new(line: crate::network::Line, nic: u32, levels: usize) -> Self {
        Self {
            port: Port::new(line),
            nic,
            wake_at: NEVER,
            high: VecDeque::new(),
            levels: vec![Waiting::default(); levels],
            paced: BinaryHeap::new(),
            pausing: false,
            probes: (VecDeque::new(), false),
        }
    }

    /// Reads what is needed whatever it does.
    #[inline]
    pub(crate) fn touch(&self) -> u64 {
        let first = self.levels.first().map_or(0, |waiting| waiting.ready.front().copied().unwrap_or(0));
        u64::from(first) ^ self.port.busy_until ^ self.port.counts.bytes ^ self.wake_at
    }

    /// Whether something stands in line on a level that is not paused.
    fn any(&self, is: impl Fn(&Waiting) -> bool) -> bool {
        self.levels.iter().enumerate().any(|(level, waiting)| is(waiting) && !self.port.is_paused(level))
    }

    /// Whether nothing may be sent but what goes before data.
    fn is_shut(&self) -> bool {
        (0..self.levels.len()).all(|level| self.port.is_paused(level))
    }

    /// Whether senders stand in line, now or once their rate allows it.
    pub(crate) fn is_sending(&self) -> bool {
        !self.paced.is_empty() || self.levels.iter().any(|waiting| !waiting.ready.is_empty())
    }

    /// Senders stand in the line of the level that they have now, each line in the order of before.
    pub(crate) fn sort_by_level<S>(&mut self, senders: &[Sender<S>]) {
        let all: Vec<u32> =
            self.levels.iter_mut().rev().flat_map(|waiting| waiting.ready.drain(..)).collect();
        for row in all {
            self.levels[senders[row as usize].level()].ready.push_back(row);
        }
    }

    /// Senders whose time has come stand in line.
    fn take_due<S>(&mut self, now: u64, senders: &[Sender<S>]) {
        while let Some(&Reverse((time, row))) = self.paced.peek()
            && time <= now
        {
            self.paced.pop();
            let sender = &senders[row as usize];
            // A notification may have come since.
            match sender.not_before {
                later if later > now => self.paced.push(Reverse((later, row))),
                _ => self.levels[sender.level()].ready.push_back(row),
            }
        }
    }

    /// Makes sure that the port is looked at by `time`. What is due beyond all times stands in the agenda too: it tells
    /// that something was left.
    fn arm(&mut self, row: usize, time: u64, agenda: &mut Agenda) {
        if time < self.wake_at || time == NEVER {
            self.wake_at = self.wake_at.min(time);
            agenda.push(time, WAKE | row as u64);
        }
    }
}

/// What the ports of a NIC share: the way over PCIe.
#[derive(Clone, Copy, Debug)]
pub struct Nic {
    /// Delay of PCIe.
    pub delay: u64,
    /// Speed from GPU memory, and whether it is less than that of the ports together.
    fetch: Speed,
    fetch_binds: bool,
    /// When everything asked for has been fetched.
    fetched: u64,
    /// Speed into GPU memory and whether it binds.
    pub drain: Speed,
    /// Whether it binds.
    pub drain_binds: bool,
    /// When everything that arrived has been handed on.
    drained: u64,
}

impl Nic {
    /// A NIC with these ports; contexts that it fetches leave it a share of their line.
    pub fn new(fabric: &Fabric, device: DeviceId, ports: &[NicPort], line_share: f64) -> Self {
        let link = fabric.pcie_into(device).expect("packets go between NICs that GPUs hang on");
        let line: u64 = ports.iter().map(|port| port.port.line.speed.bits_per_s()).sum();
        let kept = Rate::from_bits_per_s((line as f64 * line_share) as u64);
        let speed = fabric.capacity(link);
        let speed = Speed::of(if line_share < 1.0 { speed.min(kept) } else { speed });
        let binds = speed.bits_per_s() < line;
        Self {
            delay: fabric.delay(link).ps(),
            fetch: speed,
            fetch_binds: binds,
            fetched: 0,
            drain: speed,
            drain_binds: binds,
            drained: 0,
        }
    }

    /// Whether it still fetches from GPU memory what it sends next.
    #[inline]
    const fn fetches_at(&self, now: u64) -> bool {
        self.fetch_binds && self.fetched > now
    }

    /// Takes what arrives at another speed from now on; at that of PCIe without one.
    pub fn slow_down(&mut self, speed: Option<Speed>) {
        self.drain = speed.unwrap_or(self.fetch);
        self.drain_binds = speed.is_some() || self.fetch_binds;
    }
}

impl<C: Control> Host<C> {
    /// Lets a sender stand in line if it has something to send.
    pub(crate) fn line_up(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        if self.senders[row].queued || !self.may_send(row, shared) {
            return;
        }
        let sender = &mut self.senders[row];
        let Some(start) = sender.start else { return };
        sender.queued = true;
        let port = usize::from(start.port);
        if sender.not_before <= now {
            self.ports[port].levels[start.level()].ready.push_back(row as u32);
        } else {
            self.ports[port].paced.push(Reverse((sender.not_before, row as u32)));
        }
        self.kick(now, port, shared, agenda, post);
    }

    /// Something may have become possible at a port.
    #[inline]
    pub(crate) fn kick(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let port = &mut self.ports[row];
        if port.port.busy_until > now {
            let free = port.port.busy_until;
            port.arm(row, free, agenda);
        } else {
            self.next(now, row, shared, agenda, post);
        }
    }

    /// The port is free: sends what goes first.
    pub(crate) fn next(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let port = &mut self.ports[row];
        if port.port.busy_until > now {
            let free = port.port.busy_until;
            port.arm(row, free, agenda);
            return;
        }
        if let Some(packet) = port.high.pop_front() {
            port.port.send(now, packet, post);
        } else if port.is_shut() {
            return;
        } else {
            self.send_something(now, row, shared, agenda, post);
        }
        let nic = self.nics[self.ports[row].nic as usize];
        let port = &mut self.ports[row];
        let (free, shut) = (port.port.busy_until.max(now), port.is_shut());
        let data_at = if nic.fetch_binds { free.max(nic.fetched) } else { free };
        let probes = !port.probes.0.is_empty() && !port.port.is_paused(0);
        if !port.high.is_empty() || probes || port.any(|waiting| !waiting.low.is_empty()) {
            port.arm(row, free, agenda);
        } else if port.any(|waiting| !waiting.ready.is_empty()) {
            port.arm(row, data_at, agenda);
        } else if !shut && let Some(&Reverse((time, _))) = port.paced.peek() {
            port.arm(row, time.max(data_at), agenda);
        }
    }

    /// Sends what is next on the highest level that is not paused and has something: what has no payload goes before
    /// data; probes are of the lowest level and take turns with its data.
    fn send_something(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let fetches = self.nics[self.ports[row].nic as usize].fetches_at(now);
        for level in (0..self.ports[row].levels.len()).rev() {
            let port = &mut self.ports[row];
            if port.port.is_paused(level) {
                continue;
            }
            if let Some(packet) = port.levels[level].low.pop_front() {
                return port.port.send(now, packet, post);
            }
            let probes = level == 0 && !port.probes.0.is_empty();
            if probes && std::mem::take(&mut port.probes.1) {
                return self.send_probe(now, row, shared, post);
            }
            if !fetches {
                port.take_due(now, &self.senders);
                if self.send_data(now, (row, level), shared, agenda, post) {
                    self.ports[row].probes.1 = probes;
                    return;
                }
            }
            if probes {
                return self.send_probe(now, row, shared, post);
            }
        }
    }

    /// Sends one data packet of the sender on a level whose turn it is; false where none may.
    fn send_data(
        &mut self,
        now: u64,
        (row, level): (usize, usize),
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) -> bool {
        let nic = self.ports[row].nic as usize;
        while let Some(who) = self.ports[row].levels[level].ready.pop_front() {
            if self.pcie.is_some() && self.is_held(who, (row, level), shared) {
                continue;
            }
            let sender = &mut self.senders[who as usize];
            if sender.not_before > now && sender.burst == 0 {
                // A notification came while it stood in line.
                self.ports[row].paced.push(Reverse((sender.not_before, who)));
                self.let_next(who, row, shared);
                continue;
            }
            sender.queued = false;
            if !self.may_send(who as usize, shared) {
                self.let_next(who, row, shared);
                continue;
            }
            let sender = &mut self.senders[who as usize];
            if sender.start.is_some_and(|start| usize::from(start.port) != row) {
                // Its route leads over another port since it stood in line here.
                self.line_up(now, who as usize, shared, agenda, post);
                self.let_next(who, row, shared);
                continue;
            }
            let wire = shared.wire;
            let before = sender.in_flight();
            if sender.is_silent() {
                sender.tries.restart(SimTime::from_ps(now));
            }
            let (packet, again) = sender.emit(now, u64::from(wire.payload), u64::from(wire.header));
            self.counts.data += 1;
            self.counts.sent_again += u64::from(again);
            self.ports[row].port.counts.sent_again += u32::from(again);
            if !sender.armed {
                sender.armed = true;
                agenda.push(sender.timer_due(now, &shared.transport), TIMER | u64::from(who));
            }
            let gap = self.control.on_sent(&mut sender.state, &sender.path, now, u64::from(packet.bytes));
            let bytes = u64::from(packet.bytes);
            // A burst goes out as fast as the line takes it; then its rate holds for all of it.
            let left =
                if sender.not_before <= now && sender.burst == 0 { shared.burst } else { sender.burst };
            sender.burst = left.saturating_sub(bytes);
            sender.not_before = sender.not_before.max(now).saturating_add(gap);
            let port = &mut self.ports[row];
            port.port.send(now, packet, post);
            let nic = &mut self.nics[nic];
            if nic.fetch_binds {
                nic.fetched = nic.fetched.max(now).saturating_add(nic.fetch.time(bytes));
            }
            if self.pcie.is_some() {
                self.fetch(now, who, (row, level), bytes, shared, agenda);
            }
            self.flight_was(now, (who as usize, before), shared, agenda, post);
            if self.may_send(who as usize, shared) {
                let sender = &mut self.senders[who as usize];
                sender.queued = true;
                let port = &mut self.ports[row];
                let in_line = sender.burst > 0 || sender.not_before <= port.port.busy_until;
                if self.pcie.is_some() && in_line {
                    self.is_held(who, (row, level), shared);
                } else if sender.burst > 0 {
                    port.levels[level].ready.push_front(who);
                } else if sender.not_before <= port.port.busy_until {
                    port.levels[level].ready.push_back(who);
                } else {
                    port.paced.push(Reverse((sender.not_before, who)));
                }
            } else {
                let window = self.window(who as usize, shared);
                let sender = &mut self.senders[who as usize];
                sender.burst = 0;
                if shared.selective
                    && sender.is_held(window)
                    && let Some(selective) = &mut sender.selective
                {
                    selective.hold(now);
                }
            }
            return true;
        }
        false
    }

    /// Sends a packet without payload back to the source of a queue pair.
    pub(crate) fn answer(
        &mut self,
        now: u64,
        receiver: usize,
        mut packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let Some(start) = self.receivers[receiver].start else { return };
        packet.route = start.route;
        packet.bytes = shared.wire.control as u16;
        packet.flags |= BACK;
        self.stand_in_line(now, usize::from(start.port), packet, shared, agenda, post);
    }

    /// Lets a packet without payload stand in line at a port.
    pub(crate) fn stand_in_line(
        &mut self,
        now: u64,
        row: usize,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let port = &mut self.ports[row];
        if packet.has(HIGH) {
            port.high.push_back(packet)
        } else {
            port.levels[packet.level()].low.push_back(packet)
        }
        self.kick(now, row, shared, agenda, post);
    }

    /// A data packet, or what a switch left of it.
    pub(crate) fn on_data(
        &mut self,
        now: u64,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let row = shared.slots[packet.queue_pair as usize][1] as usize;
        let acknowledgement_flags = if shared.acknowledgements_first { HIGH } else { 0 };
        let mut reply = Packet {
            queue_pair: packet.queue_pair,
            leg: packet.number,
            stamp: packet.stamp,
            telemetry: packet.telemetry,
            flags: acknowledgement_flags | packet.answer_flags(),
            ..Packet::new(Kind::Acknowledge)
        };
        if packet.kind == Kind::Trimmed {
            reply.kind = Kind::Negative;
            reply.number = self.receivers[row].expected;
            reply.flags |= HIGH;
            self.counts.negative += 1;
            self.counts.acknowledgements += 1;
            return self.answer(now, row, reply, shared, agenda, post);
        }
        self.receivers[row].marked += u32::from(packet.has(MARKED));
        if packet.has(MARKED) && shared.notifies {
            self.notify(now, row, packet, shared, agenda, post);
        }
        let there = match self.pcie {
            None => self.drain(now, &packet, shared, agenda, post),
            Some(_) => self.take_in(now, &packet, shared, agenda, post),
        };
        let mut hand_on = self.pcie.as_mut().map(|pcie| {
            let connection = shared.connection_of[packet.queue_pair as usize];
            &mut pcie.handing_on[shared.program.inside.exit(connection) as usize]
        });
        let receiver = &mut self.receivers[row];
        let deliveries = &mut self.worker.deliveries;
        let mut whole = false;
        let verdict = receiver.take(&packet, |message| {
            whole = true;
            let slot = deliveries.add(message);
            match &mut hand_on {
                None => agenda.push(there, DELIVER | u64::from(slot)),
                Some(hand_on) => hand_on.ends(slot),
            }
        });
        reply.number = receiver.expected;
        match verdict {
            Verdict::InOrder => {
                receiver.unanswered += 1;
                let due = receiver.unanswered >= shared.packets.acknowledge_every || shared.selective;
                if !due && !whole && !packet.has(LAST) {
                    return;
                }
            }
            Verdict::Early => {
                self.counts.out_of_sequence += 1;
                self.ports[usize::from(packet.port)].port.counts.out_of_sequence += 1;
                self.counts.reorder_span = self.counts.reorder_span.max(receiver.span());
                reply.item = receiver.held_before(packet.number);
            }
            Verdict::Again => {}
            Verdict::Refused(tell) => {
                self.counts.out_of_sequence += 1;
                self.ports[usize::from(packet.port)].port.counts.out_of_sequence += 1;
                if !tell {
                    return;
                }
                reply.kind = Kind::Negative;
                self.counts.negative += 1;
            }
        }
        self.receivers[row].unanswered = 0;
        self.counts.acknowledgements += 1;
        self.answer(now, row, reply, shared, agenda, post);
    }

    /// Tells the sender of a marked packet, at most once in a while.
    fn notify(
        &mut self,
        now: u64,
        row: usize,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let receiver = &mut self.receivers[row];
        let interval = shared.cnp_interval;
        if receiver.notified != NEVER && now - receiver.notified < interval {
            return;
        }
        receiver.notified = now;
        self.counts.cnps += 1;
        let reply = Packet { queue_pair: packet.queue_pair, flags: HIGH, ..Packet::new(Kind::Notification) };
        self.answer(now, row, reply, shared, agenda, post);
    }

    /// An acknowledgement, positive or not.
    pub(crate) fn on_answer(
        &mut self,
        now: u64,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let row = shared.slots[packet.queue_pair as usize][0] as usize;
        let stamp = (now / STAMP) as u32;
        let sender = &mut self.senders[row];
        let negative = packet.kind == Kind::Negative;
        if !negative {
            post.mail.tally.round_trip.add(u64::from(stamp.wrapping_sub(packet.stamp)) * STAMP);
        }
        let before = sender.in_flight();
        let since = sender.tries.since().ps();
        if sender.tries.answered(SimTime::from_ps(now)) {
            let job = shared.job_of(sender.queue_pair);
            self.words.push((now, Word::Incident(IncidentKind::Resumed(job))));
        } else if negative && !shared.selective && shared.broken_between(since, now) {
            // The answer to a packet behind those that were lost, before any timer told of them.
            self.words.push((now, Word::Waited(shared.job_of(sender.queue_pair), since)));
        }
        let mut sooner = false;
        if let Some(selective) = &mut sender.selective {
            sooner = selective.answered(now);
            sooner |= !negative && selective.hear(now, sender.acked, &packet);
        }
        let done = &mut self.worker.done;
        let outstanding = sender.outstanding;
        let told = self.told.as_deref_mut();
        let mut finished = told.map(|told| &mut told.finished);
        let mut fresh = sender.acknowledge(packet.number, |message| {
            done.push((message.leg, message.slot));
            if let Some(finished) = &mut finished {
                finished.push((message.leg, message.item, message.bytes));
            }
        });
        let mut busy = 0;
        if sender.outstanding < outstanding {
            busy = sender.busy.done(now, outstanding - sender.outstanding);
        }
        let mut lost = 0;
        if let Some(selective) = &mut sender.selective {
            if fresh > 0 {
                self.counts.reorder_held += selective.release(now);
            }
            if !negative {
                fresh = 1;
                lost = selective.expire(now, sender.acked);
            }
        }
        if sooner && sender.armed {
            agenda.push(sender.timer_due(now, &shared.transport), TIMER | row as u64);
        }
        let feedback = Feedback {
            number: if shared.selective { packet.leg + 1 } else { sender.acked },
            next: sender.next,
            bytes: u64::from(fresh) * sender.path.full,
            marked: packet.has(MARKED),
            telemetry: packet.telemetry,
        };
        if negative {
            if shared.selective {
                sender.lost(packet.leg);
                self.control.on_trimmed(&mut sender.state, &sender.path, sender.path.full);
            } else {
                sender.go_back();
            }
        } else if fresh > 0 {
            self.control.on_ack(&mut sender.state, &sender.path, feedback);
        }
        // A lost packet says of its path what a trimmed one says.
        for _ in 0..lost {
            self.control.on_trimmed(&mut sender.state, &sender.path, sender.path.full);
        }
        self.flight_was(now, (row, before), shared, agenda, post);
        self.line_up(now, row, shared, agenda, post);
        if !self.worker.done.is_empty() {
            self.tell_sent(now, packet.queue_pair, busy, shared);
            self.free_slots(now, packet.queue_pair, shared, agenda, post);
            self.acknowledged(now, shared);
            self.work_off(now, shared, agenda, post);
        }
    }

    /// A congestion notification packet.
    pub(crate) fn on_notification(&mut self, now: u64, packet: Packet, shared: &Shared<'_>) {
        let row = shared.slots[packet.queue_pair as usize][0] as usize;
        let sender = &mut self.senders[row];
        sender.not_before = self.control.on_cnp(&mut sender.state, now, sender.not_before);
        if let Some(start) = sender.start {
            self.ports[usize::from(start.port)].port.counts.notified += 1;
        }
    }
}

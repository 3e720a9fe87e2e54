//! Clear-to-send: the receiver of a connection tells its sender which buffers are free (Meta RoCE section 5.2.2).
//!
//! NCCL's receiver writes each clearance into memory of the sender over its own queue pair (`ncclIbPostFifo` in
//! `transport/net_ib.cc`): a reliable write, which is acknowledged and sent again by the timer. A clearance says how
//! many there were so far, so whichever arrives stands for those before it.
use railtwin_engine::IncidentKind;
use railtwin_engine::fault::{TimedOut, Tries};
use railtwin_units::SimTime;

use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared, Word};
use crate::host_task::{CLEARED, UNHEARD};
use crate::network::Speed;
use crate::packet::{HIGH, Kind, Packet};
use crate::post::Post;

/// What an end of a connection knows of its clearances.
#[derive(Clone, Debug, Default)]
pub struct Clearing {
    /// Clearances so far: given at the target, arrived at the source.
    count: u32,
    /// Those that the source is known to have heard of, at the target.
    heard: u32,
    /// Whether a timer runs.
    armed: bool,
    /// Timeouts without an answer.
    tries: Tries,
}

impl Clearing {
    /// Since when the target waits to be heard; none where it was.
    pub(crate) fn silent_since(&self) -> Option<SimTime> {
        (self.heard != self.count && !self.tries.is_dead()).then(|| self.tries.since())
    }
}

impl<C: Control> Host<C> {
    /// A message of a leg is in a buffer of the receiver: copies it out. Without a rate of copying that takes no time: what
    /// GPUs need for it is in the costs of the collective.
    pub(crate) fn copy_out(
        &mut self,
        now: u64,
        (connection, leg): (u32, u32),
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        if !shared.program.legs[leg as usize].clears {
            return;
        }
        let row = shared.connection_slots[connection as usize][1] as usize;
        let Some(admission) = shared.packets.admission else {
            return self.clear(now, row, shared, agenda, post);
        };
        let one = &mut self.to[row];
        let time = Speed::of(admission.copy).time(shared.message);
        one.copied = one.copied.max(now).saturating_add(time);
        agenda.push(one.copied, CLEARED | row as u64);
    }

    /// A buffer is free: tells the sender.
    pub(crate) fn clear(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let clearing = &mut self.to[row].clearing;
        if clearing.heard == clearing.count {
            clearing.tries.restart(SimTime::from_ps(now));
        }
        clearing.count = clearing.count.wrapping_add(1);
        if !clearing.armed {
            clearing.armed = true;
            agenda.push(clearing.tries.due(&shared.transport).ps(), UNHEARD | row as u64);
        }
        self.tell_cleared(now, row, shared, agenda, post);
    }

    /// Sends a clearance.
    fn tell_cleared(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let (queue_pair, number) = (self.to[row].queue_pair, self.to[row].clearing.count);
        let receiver = shared.slots[queue_pair as usize][1] as usize;
        let flags = if shared.clearances_first { HIGH } else { 0 };
        self.counts.clear_to_send += 1;
        let packet = Packet { queue_pair, number, flags, ..Packet::new(Kind::Clear) };
        self.answer(now, receiver, packet, shared, agenda, post);
    }

    /// A clearance is here: messages that waited for it leave, and the receiver hears of it.
    pub(crate) fn on_clear(
        &mut self,
        now: u64,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let connection = shared.connection_of[packet.queue_pair as usize] as usize;
        let row = shared.connection_slots[connection][0] as usize;
        let clearing = &mut self.from[row].clearing;
        let fresh = packet.number.wrapping_sub(clearing.count);
        // One that was overtaken tells nothing new.
        let fresh = if fresh <= u32::MAX / 2 { fresh } else { 0 };
        clearing.count = clearing.count.wrapping_add(fresh);
        for _ in 0..fresh {
            self.cleared(now, row, shared, agenda, post);
        }
        self.tell_heard(now, row, shared, agenda, post);
    }

    /// One more buffer of a connection from here is free.
    fn cleared(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let one = &mut self.from[row];
        let Some(message) = one.waiting.pop_front() else {
            one.cleared += 1;
            return;
        };
        if let Some(next) = one.waiting.front_mut() {
            next.since = next.since.max(now);
        }
        self.counts.clearance_wait.add(now - message.since);
        self.tell_credit((message.leg, message.item), now - message.since, shared);
        self.post_message(now, row, message, shared, agenda, post);
    }

    /// Acknowledges the clearances of a connection.
    fn tell_heard(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let one = &self.from[row];
        let sender = &self.senders[one.first as usize];
        let Some(start) = sender.start else { return };
        self.counts.acknowledgements += 1;
        let packet = Packet {
            queue_pair: sender.queue_pair,
            number: one.clearing.count,
            route: start.route,
            bytes: shared.wire.control as u16,
            flags: if shared.acknowledgements_first { HIGH } else { 0 },
            ..Packet::new(Kind::Heard)
        };
        self.stand_in_line(now, usize::from(start.port), packet, shared, agenda, post);
    }

    /// The sender has heard of clearances.
    pub(crate) fn on_heard(&mut self, now: u64, packet: Packet, shared: &Shared<'_>) {
        let connection = shared.connection_of[packet.queue_pair as usize] as usize;
        let row = shared.connection_slots[connection][1] as usize;
        let clearing = &mut self.to[row].clearing;
        let fresh = packet.number.wrapping_sub(clearing.heard);
        if fresh == 0 || fresh > u32::MAX / 2 {
            return;
        }
        clearing.heard = packet.number;
        if clearing.tries.answered(SimTime::from_ps(now)) {
            self.words.push((now, Word::Incident(IncidentKind::Resumed(shared.jobs[connection]))));
        }
    }

    /// The timer of the clearances of a connection to here: as that of any queue pair.
    pub(crate) fn on_unheard(
        &mut self,
        now: u64,
        row: usize,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let one = &mut self.to[row];
        let (clearing, transport) = (&mut one.clearing, &shared.transport);
        if clearing.heard == clearing.count || clearing.tries.is_dead() {
            clearing.armed = false;
            return;
        }
        let due = clearing.tries.due(transport).ps();
        if now < due {
            agenda.push(due, UNHEARD | row as u64);
            return;
        }
        let job = shared.job_of(one.queue_pair);
        let since = clearing.tries.since().ps();
        let outcome = clearing.tries.time_out(SimTime::from_ps(now), transport);
        clearing.armed = outcome != TimedOut::Dies;
        if clearing.armed {
            agenda.push(clearing.tries.due(transport).ps(), UNHEARD | row as u64);
        }
        let receiver = shared.slots[self.to[row].queue_pair as usize][1] as usize;
        let port = self.receivers[receiver].start.map(|start| start.port);
        if self.ran_out(now, (job, since), port, (outcome, transport.retry_count == 0)) {
            return;
        }
        self.tell_cleared(now, row, shared, agenda, post);
    }

    /// Clearances of a job are sent no more.
    pub(crate) fn give_up_clearing(&mut self, job: u32, shared: &Shared<'_>) {
        for one in self.to.iter_mut().filter(|one| shared.job_of(one.queue_pair) == job) {
            one.clearing.tries.give_up();
        }
    }
}

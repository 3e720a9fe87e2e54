//! From a virtual output queue to its egress: what asks, what is granted, what crosses.
use railtwin_engine::packet::MarkAt;

use super::{ASKED, CREDIT, Switch, TURN};
use crate::agenda::Agenda;
use crate::packet::{HIGH, Packet};
use crate::post::Post;

impl Switch {
    /// Lets a packet cross to its egress if it has credits; else it fills its ingress until they come.
    pub(super) fn ask(
        &mut self,
        now: u64,
        packet: Packet,
        out: usize,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let (into, bytes) = (usize::from(packet.port), u64::from(packet.bytes));
        let Some(credits) = &mut self.credits else { return };
        let level = packet.level();
        let index = credits.index(into, out, (!packet.has(HIGH)).then_some(level));
        if credits.pass(now, index, bytes) {
            return self.enqueue(now, packet, out, false, agenda, post);
        }
        let queued = credits.waiting(out, level) + self.queues[out * self.levels + level].bytes;
        if !packet.has(HIGH) && !self.admit(now, (into, level), queued, bytes, post) {
            return;
        }
        let Some(credits) = &mut self.credits else { return };
        self.pool.push(&mut credits.queue(index).waiting, packet);
        if let Some(time) = credits.ask(now, index, bytes) {
            agenda.push(time, ASKED | index as u64);
        }
    }

    /// The scheduler of an egress hears of a queue.
    pub(super) fn on_asked(&mut self, now: u64, index: usize, agenda: &mut Agenda) {
        let Some(credits) = &mut self.credits else { return };
        let (out, _) = credits.ends(index);
        if let Some(time) = credits.list(now, index) {
            agenda.push(time, TURN | out as u64);
        }
    }

    /// A turn of the scheduler of an egress.
    pub(super) fn on_turn(&mut self, now: u64, out: usize, agenda: &mut Agenda) {
        let Some(credits) = &mut self.credits else { return };
        let queues = &self.queues[out * self.levels..(out + 1) * self.levels];
        let (port, alone) = (&self.ports[out], self.levels == 1);
        let paused = |level| !alone && port.is_paused(level);
        let turn = credits.turn(now, out, (|level: usize| queues[level].bytes, paused), port.line.speed);
        if let Some((index, time)) = turn.given {
            agenda.push(time, CREDIT | index as u64);
        }
        if let Some(time) = turn.next {
            agenda.push(time, TURN | out as u64);
        }
    }

    /// A credit is there: what it covers crosses.
    pub(super) fn on_credit(&mut self, now: u64, index: usize, agenda: &mut Agenda, post: &mut Post<'_>) {
        let Some(credits) = &mut self.credits else { return };
        let (out, level) = credits.ends(index);
        if let Some(time) = credits.arrive(now, index) {
            agenda.push(time, TURN | out as u64);
        }
        loop {
            let Some(credits) = &mut self.credits else { return };
            let waiting = credits.queue(index).waiting;
            let Some(bytes) = self.pool.first(waiting).map(|packet| u64::from(packet.bytes)) else { break };
            if !credits.spend(index, bytes) {
                break;
            }
            let queue = credits.queue(index);
            let Some(mut packet) = self.pool.pop(&mut queue.waiting) else { break };
            let left = queue.bytes;
            if level.is_some() {
                let marked = self.marker.mark(MarkAt::Voq, left, &mut packet);
                self.ports[out].counts.marked += u32::from(marked);
            }
            self.enqueue(now, packet, out, level.is_some(), agenda, post);
        }
        // What was granted and is not needed any more may have held others back.
        let Some(credits) = &mut self.credits else { return };
        if let Some(time) = credits.go_on(now, out) {
            agenda.push(time, TURN | out as u64);
        }
    }
}

//! The way from a port of a NIC into GPU memory: what waits for PCIe, and when that pauses the leaf.
use crate::agenda::Agenda;
use crate::buffer::PAUSE_BYTES;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::host_task::DRAINED;
use crate::network::Speed;
use crate::packet::{ALL_LEVELS, Kind, Packet};
use crate::post::Post;

impl<C: Control> Host<C> {
    /// A NIC takes packets in at another speed from now on; at its own again without one.
    pub fn slow_down(&mut self, now: u64, nic: usize, speed: Option<Speed>, agenda: &mut Agenda) {
        match &mut self.pcie {
            Some(pcie) => pcie.slow_down(now, nic, speed, agenda),
            None => self.nics[nic].slow_down(speed),
        }
    }

    /// Hands a packet over PCIe; gives the time at which it is in GPU memory. Pauses the leaf when too much waits.
    pub(super) fn drain(
        &mut self,
        now: u64,
        packet: &Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) -> u64 {
        let row = usize::from(packet.port);
        let number = self.ports[row].nic as usize;
        let nic = &mut self.nics[number];
        if !nic.drain_binds {
            return now.saturating_add(nic.delay);
        }
        nic.drained = nic.drained.max(now).saturating_add(nic.drain.time(u64::from(packet.bytes)));
        let limit = nic.drain.time(shared.packets.nic.receive_buffer.0);
        let there = nic.drained.saturating_add(nic.delay);
        if nic.drained - now > limit && self.pause(now, row, post) {
            agenda.push(self.nics[number].drained - limit / 2, DRAINED | row as u64);
        }
        there
    }

    /// What waits for PCIe may have fallen to half.
    pub(crate) fn on_drained(&mut self, now: u64, row: usize, agenda: &mut Agenda, post: &mut Post<'_>) {
        let nic = self.nics[self.ports[row].nic as usize];
        let half = nic.drain.time(self.nics_buffer()) / 2;
        if nic.drained.saturating_sub(now) > half {
            agenda.push(nic.drained - half, DRAINED | row as u64);
            return;
        }
        self.ports[row].pausing = false;
        self.signal(now, row, Kind::Resume, post);
    }

    fn nics_buffer(&self) -> u64 {
        self.worker.receive_buffer
    }

    /// Has the leaf at a port stop; whether that was not asked of it before.
    pub(super) fn pause(&mut self, now: u64, row: usize, post: &mut Post<'_>) -> bool {
        let is_new = !std::mem::replace(&mut self.ports[row].pausing, true);
        if is_new {
            self.signal(now, row, Kind::Pause, post);
        }
        is_new
    }

    /// Tells the leaf at a port to stop or to go on.
    pub(super) fn signal(&mut self, now: u64, row: usize, kind: Kind, post: &mut Post<'_>) {
        let port = &self.ports[row].port;
        if port.dead {
            return;
        }
        let line = &port.line;
        let sent = port.busy_until.max(now).saturating_add(line.speed.time(PAUSE_BYTES));
        let time = sent.saturating_add(line.propagation);
        post.tell(line.target, time, Packet::pausing(kind, line.target_port, ALL_LEVELS));
    }
}

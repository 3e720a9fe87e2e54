//! NICs behind PCIe switches, whose links others cross too: what waits to be fetched, and what waits to be handed on.
use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::host_task::DELIVER;
use crate::nic::{Nic, NicPort};
use crate::packet::{Kind, Packet};
use crate::pcie::{Moved, Pcie};
use crate::post::Post;

impl Pcie {
    /// That of a host, where it has PCIe switches that something crosses; its NICs leave their pace to the links.
    pub(crate) fn of_host(
        shared: &Shared<'_>,
        host: u32,
        ports: &[NicPort],
        nics: &mut [Nic],
        legs: usize,
    ) -> Option<Box<Self>> {
        let links = shared.program.inside.of_host(host)?;
        for nic in &mut *nics {
            (nic.fetch_binds, nic.drain_binds) = (false, false);
        }
        let nic_of_port = ports.iter().map(|port| port.nic);
        Some(Box::new(Self::new(links, nic_of_port, (nics.len(), shared.network.levels), legs)))
    }
}

impl<C: Control> Host<C> {
    /// Row of the way by which data of a sender is fetched.
    #[inline]
    fn way_of(&self, sender: u32, shared: &Shared<'_>) -> u32 {
        let queue_pair = self.senders[sender as usize].queue_pair;
        shared.program.inside.entry(shared.connection_of[queue_pair as usize])
    }

    /// Whether another packet is being fetched by the way of a sender, which waits for that.
    #[inline]
    pub(super) fn is_held(&mut self, sender: u32, (row, level): (usize, usize), shared: &Shared<'_>) -> bool {
        let way = self.way_of(sender, shared);
        let nic = self.ports[row].nic as usize;
        let in_turn = self.senders[sender as usize].burst > 0;
        let Some(pcie) = &mut self.pcie else { return false };
        let is_held = pcie.is_fetching(way);
        if is_held {
            pcie.hold(way, (row - pcie.first_port[nic], level), sender, in_turn);
        }
        is_held
    }

    /// A sender whose turn it was does not send: the next of those that waited for the same way may, of each level, as its
    /// own may have been another when it began to wait.
    pub(super) fn let_next(&mut self, sender: u32, row: usize, shared: &Shared<'_>) {
        let Some(pcie) = &self.pcie else { return };
        let levels = pcie.levels;
        let way = self.way_of(sender, shared);
        for level in 0..levels {
            self.let_go(way, row, level);
        }
    }

    /// The first of those that wait for a way at a port stands in line again; whether there is one.
    fn let_go(&mut self, way: u32, row: usize, level: usize) -> bool {
        let nic = self.ports[row].nic as usize;
        let Some(pcie) = &mut self.pcie else { return false };
        let Some(sender) = pcie.let_go(way, (row - pcie.first_port[nic], level)) else { return false };
        // Its priority may be another since it waits.
        let level = self.senders[sender as usize].level();
        self.ports[row].levels[level].ready.push_back(sender);
        true
    }

    /// A packet of a sender, with so many bytes on the wire, is fetched while it is sent.
    pub(super) fn fetch(
        &mut self,
        now: u64,
        sender: u32,
        (row, level): (usize, usize),
        bytes: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
    ) {
        let way = self.way_of(sender, shared);
        let nic = self.ports[row].nic;
        let Some(pcie) = &mut self.pcie else { return };
        let line = row - pcie.first_port[nic as usize];
        pcie.has_sent(way, (line, level));
        // Headers are the NIC's own.
        let payload = bytes.saturating_sub(u64::from(shared.wire.header));
        pcie.fetch(now, way, (nic, line as u32), payload, agenda);
    }

    /// A packet waits to be handed on. Pauses the leaf when too much waits.
    pub(super) fn take_in(
        &mut self,
        now: u64,
        packet: &Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) -> u64 {
        let row = usize::from(packet.port);
        let nic = self.ports[row].nic as usize;
        let way = shared.program.inside.exit(shared.connection_of[packet.queue_pair as usize]);
        let Some(pcie) = &mut self.pcie else { return now };
        let payload = u32::from(packet.bytes).saturating_sub(shared.wire.header);
        pcie.hand_on(now, nic, way, payload, agenda);
        if pcie.waiting[nic] > shared.packets.nic.receive_buffer.0 {
            self.pause(now, row, post);
        }
        now
    }

    /// What crosses PCIe may be over: what waited for it goes on.
    pub(crate) fn on_moved(
        &mut self,
        now: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        if let Some(pcie) = &mut self.pcie {
            pcie.comes(now);
        }
        let mut pieces = false;
        while let Some(moved) = self.pcie.as_mut().and_then(|pcie| pcie.take_moved(now)) {
            match moved {
                Moved::Fetched(way) => self.fetched(now, way, shared, agenda, post),
                Moved::HandedOn(nic, way) => self.handed_on(now, nic, way, shared, agenda, post),
                Moved::Piece(piece) => {
                    self.crossed(now, piece, shared, agenda);
                    pieces = true;
                }
            }
        }
        if pieces {
            self.work_off(now, shared, agenda, post);
        }
        if let Some(pcie) = &mut self.pcie {
            pcie.all_moved(now, agenda);
        }
    }

    /// A way is free: who waits for it may send, ports of the NIC in turn.
    fn fetched(&mut self, now: u64, way: u32, shared: &Shared<'_>, agenda: &mut Agenda, post: &mut Post<'_>) {
        let Some(pcie) = &self.pcie else { return };
        let (nic, last) = pcie.of_way[way as usize];
        let (first, lines, levels) = (pcie.first_port[nic as usize], pcie.lines, pcie.levels);
        for turn in 1..=lines {
            let row = first + (last as usize + turn) % lines;
            if self.ports.get(row).is_none_or(|port| port.nic != nic) {
                continue;
            }
            let mut any = false;
            for level in 0..levels {
                any |= self.let_go(way, row, level);
            }
            if any {
                self.kick(now, row, shared, agenda, post);
            }
        }
    }

    /// A packet is over PCIe: so are the messages that it ends, and the leaf may go on when half of the buffer is free.
    fn handed_on(
        &mut self,
        now: u64,
        nic: usize,
        way: u32,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let Some(pcie) = &mut self.pcie else { return };
        let there = now.saturating_add(pcie.ways[way as usize].delay);
        while let Some(slot) = pcie.handing_on[way as usize].take_whole() {
            agenda.push(there, DELIVER | u64::from(slot));
        }
        if pcie.waiting[nic] > shared.packets.nic.receive_buffer.0 / 2 {
            return;
        }
        for row in 0..self.ports.len() {
            if self.ports[row].nic as usize == nic && std::mem::take(&mut self.ports[row].pausing) {
                self.signal(now, row, Kind::Resume, post);
            }
        }
    }
}

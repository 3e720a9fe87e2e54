//! PCIe of a host with PCIe switches: what its NICs fetch and hand on, and pieces between its GPUs.
mod shares;

use std::collections::VecDeque;

use crate::agenda::{Agenda, NEVER};
use crate::host_task::MOVED;
use crate::inside::{HostLinks, WayInside};
use crate::network::Speed;
use crate::worker::Crossing;

use shares::{Crosser, LINKS, Shares, rate};

/// What a NIC took in and hands on by one way, in order.
#[derive(Debug, Default)]
pub(crate) struct HandOn {
    /// Bytes of each packet that waits, the first of them under way.
    packets: VecDeque<u32>,
    /// Packets that came in, and that were handed on.
    came: u64,
    gone: u64,
    /// Messages that are whole when so many packets were handed on: slots of deliveries.
    messages: VecDeque<(u64, u32)>,
}

impl HandOn {
    /// The message in a slot of deliveries is in GPU memory when all that came so far is.
    #[inline]
    pub(crate) fn ends(&mut self, slot: u32) {
        self.messages.push_back((self.came, slot));
    }

    /// The next message of which all is in GPU memory.
    #[inline]
    pub(crate) fn take_whole(&mut self) -> Option<u32> {
        let &(came, slot) = self.messages.front()?;
        (came <= self.gone).then(|| {
            self.messages.pop_front();
            slot
        })
    }
}

/// What is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moved {
    /// A packet was fetched by a way.
    Fetched(u32),
    /// A NIC handed a packet on by a way.
    HandedOn(usize, u32),
    /// A piece crossed.
    Piece(Crossing),
}

/// Senders that wait until their way is free: those of one port and level.
#[derive(Debug, Default)]
struct Held {
    senders: VecDeque<u32>,
    /// The one that was let go last: if it comes back without having sent, it is the first again.
    let_go: Option<u32>,
}

/// PCIe of a host.
///
/// Crossers are, in this order: what is fetched or handed on by each way, the pieces of each leg that begins here. Packets
/// of different ways pass each other; those of one follow each other, as in hosts without switches.
#[derive(Debug)]
pub(crate) struct Pcie {
    pub(crate) ways: Vec<WayInside>,
    shares: Shares,
    /// Bytes that each NIC has yet to hand on.
    pub(crate) waiting: Vec<u64>,
    /// By way out of a NIC.
    pub(crate) handing_on: Vec<HandOn>,
    legs: Vec<VecDeque<Crossing>>,
    /// By way, port of its NIC and level.
    held: Vec<Held>,
    pub(crate) lines: usize,
    pub(crate) levels: usize,
    /// First port of each NIC, among those of the host.
    pub(crate) first_port: Vec<usize>,
    /// By way: NIC that fetches or hands on by it, and its port that sent last.
    pub(crate) of_way: Vec<(u32, u32)>,
    /// When a task comes back, the soonest last. One that comes for nothing asks for the next.
    armed: Vec<u64>,
    /// Whether what is over is being worked off: rates are found anew after that.
    moving: bool,
}

impl Pcie {
    /// Of a host with so many NICs, levels of priority and legs that begin here; `ports` has the NIC of each port.
    pub(crate) fn new(
        links: &HostLinks,
        ports: impl Iterator<Item = u32> + Clone,
        (nics, levels): (usize, usize),
        legs: usize,
    ) -> Self {
        let of = |nic: u32| ports.clone().filter(move |&one| one == nic).count();
        let lines = (0..nics as u32).map(of).max().unwrap_or(0);
        let first = |nic: u32| ports.clone().position(|one| one == nic).unwrap_or(0);
        let mut rates: Vec<f64> = links.speeds.iter().map(|&speed| rate(speed)).collect();
        // What NICs themselves take in.
        rates.resize(rates.len() + nics, f64::INFINITY);
        let ways = links.ways.len();
        let mut crossers: Vec<Crosser> = links.ways.iter().map(|way| Crosser::over(way.links())).collect();
        crossers.resize(ways + legs, Crosser::over(&[]));
        Self {
            ways: links.ways.clone(),
            shares: Shares::new(rates, crossers),
            waiting: vec![0; nics],
            handing_on: (0..ways).map(|_| HandOn::default()).collect(),
            legs: vec![VecDeque::new(); legs],
            held: (0..ways * lines * levels).map(|_| Held::default()).collect(),
            lines,
            levels,
            first_port: (0..nics as u32).map(first).collect(),
            of_way: vec![(u32::MAX, 0); ways],
            armed: Vec::new(),
            moving: false,
        }
    }

    /// Whether a packet is being fetched by a way.
    #[inline]
    pub(crate) fn is_fetching(&self, way: u32) -> bool {
        self.shares.is_busy(way as usize)
    }

    /// A NIC fetches a packet by a way, for one of its ports.
    #[inline]
    pub(crate) fn fetch(
        &mut self,
        now: u64,
        way: u32,
        (nic, line): (u32, u32),
        bytes: u64,
        agenda: &mut Agenda,
    ) {
        self.of_way[way as usize] = (nic, line);
        self.begin(now, way as usize, bytes, agenda);
    }

    /// A NIC hands a packet on by a way after those before it.
    #[inline]
    pub(crate) fn hand_on(&mut self, now: u64, nic: usize, way: u32, bytes: u32, agenda: &mut Agenda) {
        self.waiting[nic] += u64::from(bytes);
        self.of_way[way as usize].0 = nic as u32;
        let of = &mut self.handing_on[way as usize];
        of.came += 1;
        of.packets.push_back(bytes);
        if of.packets.len() == 1 {
            let mut links = [0; LINKS];
            let over = self.ways[way as usize].links();
            links[..over.len()].copy_from_slice(over);
            // What the NIC itself takes in.
            links[over.len()] = (self.shares.rates.len() - self.waiting.len() + nic) as u16;
            self.shares.lead(way as usize, &links[..=over.len()]);
            self.begin(now, way as usize, u64::from(bytes), agenda);
        }
    }

    /// A NIC takes in no more than this from now on.
    pub(crate) fn slow_down(&mut self, now: u64, nic: usize, speed: Option<Speed>, agenda: &mut Agenda) {
        let row = self.shares.rates.len() - self.waiting.len() + nic;
        self.shares.rates[row] = speed.map_or(f64::INFINITY, rate);
        self.shares.stale = true;
        self.settle(now, agenda);
    }

    /// A piece of a leg crosses by a way after those before it.
    pub(crate) fn cross(&mut self, now: u64, (leg, way): (usize, u32), piece: Crossing, agenda: &mut Agenda) {
        self.legs[leg].push_back(piece);
        if self.legs[leg].len() == 1 {
            let row = self.ways.len() + leg;
            self.shares.lead(row, self.ways[way as usize].links());
            self.begin(now, row, piece.bytes, agenda);
        }
    }

    #[inline]
    fn begin(&mut self, now: u64, crosser: usize, bytes: u64, agenda: &mut Agenda) {
        self.shares.begin(now, crosser, bytes);
        if !self.moving {
            self.settle(now, agenda);
        }
    }

    fn settle(&mut self, now: u64, agenda: &mut Agenda) {
        self.shares.settle(now);
        let next = self.shares.next();
        if next != NEVER && self.armed.last().is_none_or(|&soonest| next < soonest) {
            self.armed.push(next);
            agenda.push(next, MOVED);
        }
    }

    /// A task came: what is over is taken by [`Self::take_moved`] from now on, until [`Self::all_moved`].
    pub(crate) fn comes(&mut self, now: u64) {
        debug_assert_eq!(self.armed.last(), Some(&now), "tasks come in their order");
        self.armed.pop();
        self.moving = true;
    }

    /// The next that is over.
    pub(crate) fn take_moved(&mut self, now: u64) -> Option<Moved> {
        let row = self.shares.over(now)?;
        let ways = self.ways.len();
        if row < ways {
            let of = &mut self.handing_on[row];
            let Some(bytes) = of.packets.pop_front() else { return Some(Moved::Fetched(row as u32)) };
            of.gone += 1;
            if let Some(&next) = of.packets.front() {
                self.shares.begin(now, row, u64::from(next));
            }
            let nic = self.of_way[row].0 as usize;
            self.waiting[nic] -= u64::from(bytes);
            return Some(Moved::HandedOn(nic, row as u32));
        }
        let leg = row - ways;
        let piece = self.legs[leg].pop_front().expect("what was under way stands first");
        if let Some(next) = self.legs[leg].front() {
            self.shares.begin(now, row, next.bytes);
        }
        Some(Moved::Piece(piece))
    }

    /// All that is over was taken.
    pub(crate) fn all_moved(&mut self, now: u64, agenda: &mut Agenda) {
        self.moving = false;
        self.settle(now, agenda);
    }

    fn held(&mut self, way: u32, line: usize, level: usize) -> &mut Held {
        &mut self.held[(way as usize * self.lines + line) * self.levels + level]
    }

    /// A sender waits until its way is free; before all others where its turn is not over.
    #[inline]
    pub(crate) fn hold(&mut self, way: u32, (line, level): (usize, usize), sender: u32, first: bool) {
        let held = self.held(way, line, level);
        if first || held.let_go == Some(sender) {
            held.senders.push_front(sender);
        } else {
            held.senders.push_back(sender);
        }
    }

    /// The first sender of a port and level that waits for a way waits no more.
    #[inline]
    pub(crate) fn let_go(&mut self, way: u32, (line, level): (usize, usize)) -> Option<u32> {
        let held = self.held(way, line, level);
        held.let_go = held.senders.pop_front();
        held.let_go
    }

    /// A sender has sent: it stands behind the others when it waits again.
    #[inline]
    pub(crate) fn has_sent(&mut self, way: u32, (line, level): (usize, usize)) {
        self.held(way, line, level).let_go = None;
    }
}

#[cfg(test)]
mod tests;

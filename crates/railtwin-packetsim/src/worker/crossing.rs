//! Pieces of chunked or capped legs on their way over links inside a host.
//!
//! A link of NVLink takes one piece after the other, and a piece enters the next link when its first byte comes out of the one
//! before: the NVSwitch keeps what its egress cannot take yet, so nobody waits behind what goes elsewhere.
//! Over PCIe switches pieces of a leg follow each other, and the leg has its share of each link ([`crate::pcie`]).
use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::host_task::{CROSS, DELIVER, PACED};
use crate::network::Speed;
use crate::program::Way;
use crate::worker::piece::Crossing;
use crate::worker::{Out, Worker};

/// Pieces of a leg under way at a time: a channel's thread block copies one after the other, the next is taken up while
/// the last bytes of one are on the wire. Those of a leg that could run ahead for long stand in nobody's way.
const UNDER_WAY: u32 = 2;

impl Out {
    /// Whether as many pieces are under way as may be.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.metered && self.under_way >= UNDER_WAY
    }

    /// Books `bytes` with the cap: when it begins and ends to let them through.
    #[inline]
    pub(super) fn spend(&mut self, now: u64, bytes: u64) -> (u64, u64) {
        let Some(cap) = self.cap else { return (now, now) };
        let begin = self.free.max(now);
        self.free = begin.saturating_add(cap.time(bytes));
        (begin, self.free)
    }
}

impl Worker {
    /// Whether the cap of a leg over the network lets its next piece go now; else a task comes back to it.
    #[inline]
    pub(super) fn paced(&mut self, now: u64, row: usize, agenda: &mut Agenda) -> bool {
        let out = &mut self.outs[row];
        if out.free <= now || out.cap.is_none() {
            return true;
        }
        if !out.waits_for_cap {
            out.waits_for_cap = true;
            agenda.push(out.free, PACED | row as u64);
        }
        false
    }

    /// The cap of a leg over the network lets its next piece go.
    pub(crate) fn go_on(&mut self, row: u32) {
        self.outs[row as usize].waits_for_cap = false;
        self.stirred.push_back(row);
    }

    /// A piece of a leg inside the host has arrived: another may set out.
    #[inline]
    pub(super) fn across(&mut self, row: u32) {
        let out = &mut self.outs[row as usize];
        if out.metered {
            out.under_way -= 1;
            if out.posted < out.total {
                self.stirred.push_back(row);
            }
        }
    }
}

impl<C: Control> Host<C> {
    /// A piece sets out over links inside the host.
    pub(super) fn set_out(
        &mut self,
        now: u64,
        row: usize,
        item: u32,
        bytes: u64,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
    ) {
        let out = &mut self.worker.outs[row];
        out.under_way += 1;
        let (begin, end) = out.spend(now, bytes);
        // A cap says how much goes through, not how long each leg takes: only where the result ends up is it waited
        // for to the last byte.
        let into = shared.leg_slots[out.leg as usize][1] as usize;
        let end = if self.worker.ins[into].dependents.is_empty() { end } else { begin };
        let crossing = Crossing { leg: out.leg, item, bytes, second: false, end };
        if begin > now {
            let slot = self.worker.crossings.add(crossing);
            agenda.push(begin, CROSS | u64::from(slot));
        } else {
            self.cross(now, crossing, shared, agenda);
        }
    }

    /// A piece enters a link, and the one after it where it need not wait in between.
    pub(crate) fn cross(
        &mut self,
        now: u64,
        mut crossing: Crossing,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
    ) {
        let (first, second) = match shared.program.legs[crossing.leg as usize].way {
            Way::Network(_) => return,
            Way::Inside(first, second) => (first, second),
            Way::Pcie(way) => {
                let leg = shared.leg_slots[crossing.leg as usize][0] as usize;
                if let Some(pcie) = &mut self.pcie {
                    pcie.cross(now, (leg, way), crossing, agenda);
                }
                return;
            }
        };
        let fabric = &shared.network.case.fabric;
        let worker = &mut self.worker;
        let mut link = if crossing.second { second.unwrap_or(first) } else { first };
        loop {
            let slot = worker.inside.iter_mut().find(|(known, _)| *known == link.0);
            let Some((_, free)) = slot else { return };
            let begin = now.max(*free);
            *free = begin.saturating_add(Speed::of(fabric.capacity(link)).time(crossing.bytes));
            crossing.end = crossing.end.max(*free);
            let Some(next) = second.filter(|_| !crossing.second) else { break };
            (crossing.second, link) = (true, next);
            if begin > now {
                let slot = worker.crossings.add(crossing);
                agenda.push(begin, CROSS | u64::from(slot));
                return;
            }
        }
        let delay = |link| fabric.delay(link).ps();
        let delay = delay(first).saturating_add(second.map_or(0, delay));
        let slot = worker.deliveries.add((crossing.leg, crossing.item));
        agenda.push(crossing.end.saturating_add(delay), DELIVER | u64::from(slot));
    }

    /// A piece is over PCIe switches: the next of its leg may set out, and it arrives after the delay of its way.
    pub(crate) fn crossed(&mut self, now: u64, piece: Crossing, shared: &Shared<'_>, agenda: &mut Agenda) {
        let Way::Pcie(way) = shared.program.legs[piece.leg as usize].way else { return };
        let delay = self.pcie.as_ref().map_or(0, |pcie| pcie.ways[way as usize].delay);
        let slot = self.worker.deliveries.add((piece.leg, piece.item));
        agenda.push(piece.end.max(now).saturating_add(delay), DELIVER | u64::from(slot));
        self.worker.across(shared.leg_slots[piece.leg as usize][0]);
    }
}

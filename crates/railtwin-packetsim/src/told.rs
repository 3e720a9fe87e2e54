//! What a host tells of its operations and queue pairs, where the case asks for it.
use std::collections::BTreeMap;

use railtwin_engine::packet_records::{EdgeReceipt, HostOperation, PacketRecords, QueuePairSend};
use railtwin_units::SimTime;

use crate::congestion::Control;
use crate::host::{Host, Shared};
use crate::program::Way;

/// What one queue pair sent of one leg in one operation.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    messages: u32,
    bytes: u64,
    busy: u64,
    last: u64,
}

/// A message that was acknowledged: leg, item, bytes.
pub(crate) type Finished = (u32, u32, u64);

/// What a host has to tell.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// By leg that begins here, the number of the first item of each operation, and the operation.
    numbers: Vec<Vec<(u32, u32)>>,
    /// By operation, leg and queue pair.
    sends: BTreeMap<(u32, u32, u32), Sent>,
    /// Time for which messages waited for clearance, by operation and leg.
    credit: BTreeMap<(u32, u32), u64>,
    /// By leg that ends here, when each stage of the operation at work arrived.
    stages: Vec<Vec<u64>>,
    /// The same of operations that are over: operation, leg, stages.
    receipts: Vec<(u32, u32, Vec<u64>)>,
    /// Messages that were acknowledged a moment ago, all of one queue pair.
    pub(crate) finished: Vec<Finished>,
}

impl Told {
    /// An operation begins to use a leg that begins here, whose items count from `base` on.
    pub(crate) fn begins(&mut self, row: usize, base: u64, number: u32) {
        if self.numbers.len() <= row {
            self.numbers.resize(row + 1, Vec::new());
        }
        self.numbers[row].push((base as u32, number));
    }

    /// The operation that an item of a leg is of: numbers of items start again after 2^32.
    fn number_of(&self, row: usize, item: u32) -> Option<u32> {
        let all = self.numbers.get(row)?.iter().rev();
        let is_of = |base: u32| item.wrapping_sub(base) <= u32::MAX / 2;
        all.copied().find(|&(base, _)| is_of(base)).map(|(_, number)| number)
    }

    /// Items of a leg that ends here have arrived: `stages` of its operation are whole.
    pub(crate) fn arrived(&mut self, row: usize, stages: u64, now: u64) {
        if self.stages.len() <= row {
            self.stages.resize(row + 1, Vec::new());
        }
        let of_leg = &mut self.stages[row];
        of_leg.resize((stages as usize).max(of_leg.len()), now);
    }

    /// A leg that ends here is over.
    pub(crate) fn received(&mut self, row: usize, number: u32, leg: u32) {
        let stages = self.stages.get_mut(row).map(std::mem::take).unwrap_or_default();
        self.receipts.push((number, leg, stages));
    }
}

impl<C: Control> Host<C> {
    /// Notes for how long a message waited for clearance.
    pub(crate) fn tell_credit(&mut self, (leg, item): (u32, u32), waited: u64, shared: &Shared<'_>) {
        let Some(told) = self.told.as_deref_mut().filter(|_| waited > 0) else { return };
        let row = shared.leg_slots[leg as usize][0] as usize;
        if let Some(number) = told.number_of(row, item) {
            *told.credit.entry((number, leg)).or_default() += waited;
        }
    }

    /// Notes what a queue pair has done since its last message was done: `busy` is shared by bytes.
    pub(crate) fn tell_sent(&mut self, now: u64, queue_pair: u32, busy: u64, shared: &Shared<'_>) {
        let Some(told) = self.told.as_deref_mut() else { return };
        let finished = std::mem::take(&mut told.finished);
        let all: u128 = finished.iter().map(|&(.., bytes)| u128::from(bytes)).sum();
        let first = shared.first_of[shared.connection_of[queue_pair as usize] as usize];
        let (mut before, mut given) = (0_u128, 0_u64);
        for &(leg, item, bytes) in &finished {
            before += u128::from(bytes);
            let until = (u128::from(busy) * before).checked_div(all).unwrap_or(u128::from(busy)) as u64;
            let row = shared.leg_slots[leg as usize][0] as usize;
            if let Some(number) = told.number_of(row, item) {
                let sent = told.sends.entry((number, leg, queue_pair - first)).or_default();
                sent.messages += 1;
                sent.bytes += bytes;
                sent.busy += until - given;
                sent.last = sent.last.max(now);
            }
            given = until;
        }
        told.finished = finished;
        told.finished.clear();
    }

    /// Writes down all that it has to tell.
    pub(crate) fn tell(&mut self, shared: &Shared<'_>, out: &mut PacketRecords, legs: &mut Receipts) {
        for (&operation, &(start, end)) in self.times() {
            out.hosts.push(HostOperation {
                operation,
                host: self.host,
                start: SimTime::from_ps(start),
                end: if end == u64::MAX { SimTime::NEVER } else { SimTime::from_ps(end) },
                only_sends: self.only_sends(operation),
            });
        }
        self.tell_unfinished(shared);
        let Some(told) = self.told.take() else { return };
        for ((operation, leg, queue_pair), sent) in told.sends {
            let spec = &shared.program.legs[leg as usize];
            out.sends.push(QueuePairSend {
                operation,
                pattern: spec.pattern,
                bundle: spec.bundle,
                edge: spec.edge,
                queue_pair,
                messages: sent.messages,
                bytes: sent.bytes,
                busy_ps: sent.busy,
                last: SimTime::from_ps(sent.last),
            });
        }
        legs.credit.extend(told.credit);
        legs.stages.extend(told.receipts);
    }

    /// Legs whose operation never ended here tell what has arrived.
    fn tell_unfinished(&mut self, shared: &Shared<'_>) {
        let open = self.worker.open_legs();
        let Some(told) = self.told.as_deref_mut() else { return };
        for (number, row, leg) in open {
            if matches!(shared.program.legs[leg as usize].way, Way::Network(_)) {
                told.received(row, number, leg);
            }
        }
    }
}

/// What hosts tell of legs: its two ends are of two hosts.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    credit: BTreeMap<(u32, u32), u64>,
    stages: Vec<(u32, u32, Vec<u64>)>,
}

impl Receipts {
    /// Writes them down in order.
    pub(crate) fn write(mut self, shared: &Shared<'_>, out: &mut PacketRecords) {
        self.stages.sort_unstable();
        for (operation, leg, stages) in self.stages {
            let spec = &shared.program.legs[leg as usize];
            out.receipts.push(EdgeReceipt {
                operation,
                pattern: spec.pattern,
                bundle: spec.bundle,
                edge: spec.edge,
                credit_ps: self.credit.get(&(operation, leg)).copied().unwrap_or_default(),
                first: out.stages.len() as u32,
                count: stages.len() as u32,
            });
            out.stages.extend(stages.into_iter().map(SimTime::from_ps));
        }
        out.hosts.sort_unstable_by_key(|one| (one.operation, one.host));
        let place = |one: &QueuePairSend| (one.operation, one.pattern, one.bundle, one.edge, one.queue_pair);
        out.sends.sort_unstable_by_key(place);
        out.receipts.sort_by_key(|one| (one.operation, one.pattern, one.bundle, one.edge));
    }
}

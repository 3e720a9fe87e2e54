//! How far every rank of every communicator has come.
use railtwin_records::{Directory, MessageColumns, NOT_YET, OperationColumns};

/// One rank's place in one communicator.
#[derive(Clone, Copy, Debug)]
struct Slot {
    communicator: u32,
    rank: u32,
    /// Operations entered: one more than the last sequence.
    entered: u32,
    /// Operations ended.
    ended: u32,
    /// Shape of the last operation entered.
    shape: u32,
}

/// One communicator as a whole.
#[derive(Clone, Copy, Default, Debug)]
struct Whole {
    /// When a rank last entered or ended an operation, on the controller's clock.
    moved_ns: u64,
    /// Longest time that a rank was within an operation that ended.
    longest_ns: u64,
}

/// Messages of one flow in the newest operation of its communicator.
#[derive(Clone, Copy, Default, Debug)]
struct Sent {
    communicator: u32,
    sequence: u32,
    messages: u32,
}

/// What all ranks have entered and ended. A rank has a slot in each communicator that it is in.
#[derive(Clone, Default, Debug)]
pub struct Progress {
    /// CSR: slots of rank `r` are `rank_start[r]..rank_start[r + 1]`, by communicator.
    rank_start: Vec<u32>,
    slots: Vec<Slot>,
    /// CSR: rows in `slots` of communicator `c`'s ranks, in its order.
    member_start: Vec<u32>,
    members: Vec<u32>,
    wholes: Vec<Whole>,
    sent: Vec<Sent>,
}

impl Progress {
    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        4 * (self.rank_start.capacity() + self.member_start.capacity() + self.members.capacity())
            + self.slots.capacity() * size_of::<Slot>()
            + self.wholes.capacity() * size_of::<Whole>()
            + self.sent.capacity() * size_of::<Sent>()
    }

    /// Makes room for communicators and ranks that are new in the directory; what is known stays.
    pub fn learn(&mut self, directory: &Directory) {
        if self.sent.len() < directory.flows.len() {
            self.sent.resize(directory.flows.len(), Sent { communicator: u32::MAX, ..Sent::default() });
        }
        if self.wholes.len() == directory.communicators.len()
            && self.rank_start.len() == directory.ranks.len() + 1
        {
            return;
        }
        let old = std::mem::take(&mut self.slots);
        let mut slots: Vec<Slot> = Vec::new();
        for (communicator, info) in directory.communicators.iter().enumerate() {
            let communicator = communicator as u32;
            slots.extend(info.ranks.iter().map(|&rank| Slot {
                communicator,
                rank,
                entered: 0,
                ended: 0,
                shape: 0,
            }));
        }
        slots.sort_by_key(|slot| (slot.rank, slot.communicator));
        for slot in &mut slots {
            let key = (slot.rank, slot.communicator);
            if let Ok(row) = old.binary_search_by_key(&key, |slot| (slot.rank, slot.communicator)) {
                *slot = old[row];
            }
        }
        let count = directory.ranks.len();
        self.rank_start =
            (0..=count).map(|rank| slots.partition_point(|s| (s.rank as usize) < rank) as u32).collect();
        self.slots = slots;
        self.wholes.resize(directory.communicators.len(), Whole::default());
        self.member_start = vec![0];
        self.members.clear();
        for (communicator, info) in directory.communicators.iter().enumerate() {
            self.members.extend(
                info.ranks
                    .iter()
                    .filter_map(|&rank| slot_of(&self.rank_start, &self.slots, communicator as u32, rank)),
            );
            self.member_start.push(self.members.len() as u32);
        }
    }

    /// Takes operations in. Rows of ranks or communicators that the directory does not join are passed over.
    pub fn take(&mut self, operations: &OperationColumns, until_ns: u64) {
        for row in 0..operations.len() {
            let communicator = operations.communicator[row];
            let rank = operations.rank[row];
            let Some(slot) = slot_of(&self.rank_start, &self.slots, communicator, rank) else { continue };
            let slot = &mut self.slots[slot as usize];
            let whole = &mut self.wholes[communicator as usize];
            let count = operations.sequence[row].saturating_add(1);
            if count > slot.entered {
                slot.entered = count;
                slot.shape = operations.shape[row];
                whole.moved_ns = until_ns;
            }
            let end = operations.end_ns[row];
            if end != NOT_YET && count > slot.ended {
                slot.ended = count;
                whole.moved_ns = until_ns;
                whole.longest_ns = whole.longest_ns.max(end.saturating_sub(operations.enter_ns[row]));
            }
        }
    }

    /// Takes messages in.
    pub fn take_messages(&mut self, messages: &MessageColumns) {
        for row in 0..messages.len() {
            let Some(sent) = self.sent.get_mut(messages.flow[row] as usize) else { continue };
            let (communicator, sequence) = (messages.communicator[row], messages.sequence[row]);
            if (sent.communicator, sent.sequence) == (communicator, sequence) {
                sent.messages += messages.messages[row];
            } else {
                *sent = Sent { communicator, sequence, messages: messages.messages[row] };
            }
        }
    }

    /// Number of communicators.
    pub fn communicators(&self) -> u32 {
        self.wholes.len() as u32
    }

    /// The operation that a communicator is in: one that a rank has entered and not all have ended.
    pub fn stands_at(&self, communicator: u32) -> Option<u32> {
        let newest = self.members_of(communicator).map(|slot| slot.entered).max()?;
        let open = newest > 0 && self.members_of(communicator).any(|slot| slot.ended < newest);
        open.then(|| newest - 1)
    }

    /// How long nothing moved in a communicator.
    pub fn quiet_ns(&self, communicator: u32, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.wholes[communicator as usize].moved_ns)
    }

    /// The longest that a rank was within one of its operations.
    pub fn longest_ns(&self, communicator: u32) -> u64 {
        self.wholes[communicator as usize].longest_ns
    }

    /// Ranks of a communicator with the number of operations that each has entered and ended, and the last shape.
    pub fn ranks_of(&self, communicator: u32) -> impl Iterator<Item = (u32, u32, u32, u32)> + '_ {
        self.members_of(communicator).map(|slot| (slot.rank, slot.entered, slot.ended, slot.shape))
    }

    /// Communicators in which a rank is within an operation.
    pub fn within(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        let range = match self.rank_start.get(rank as usize..rank as usize + 2) {
            Some(bounds) => bounds[0] as usize..bounds[1] as usize,
            None => 0..0,
        };
        self.slots[range].iter().filter(|slot| slot.entered > slot.ended).map(|slot| slot.communicator)
    }

    /// Flows of a communicator over which the fewest messages went in the operation that it is in, that number and
    /// the most that went over one; none where no message was told or all sent alike. A flow that had messages in the
    /// operation before and has none in this one sent none.
    pub fn stuck_flows(&self, communicator: u32) -> Option<(Vec<u32>, u32, u32)> {
        let now = self.stands_at(communicator)?;
        let of_now = |sent: &Sent| match sent.sequence.cmp(&now) {
            std::cmp::Ordering::Equal => Some(sent.messages),
            std::cmp::Ordering::Less if sent.sequence + 1 == now => Some(0),
            _ => None,
        };
        let mine = self.sent.iter().enumerate().filter(|(_, sent)| sent.communicator == communicator);
        let all: Vec<(u32, u32)> =
            mine.filter_map(|(flow, sent)| Some((flow as u32, of_now(sent)?))).collect();
        let fewest = all.iter().map(|(_, count)| *count).min()?;
        let most = all.iter().map(|(_, count)| *count).max()?;
        let flows: Vec<u32> =
            all.iter().filter(|(_, count)| *count == fewest).map(|(flow, _)| *flow).collect();
        (fewest < most).then_some((flows, fewest, most))
    }

    fn members_of(&self, communicator: u32) -> impl Iterator<Item = &Slot> {
        let c = communicator as usize;
        let range = self.member_start[c] as usize..self.member_start[c + 1] as usize;
        self.members[range].iter().map(|&row| &self.slots[row as usize])
    }
}

/// The slot of a rank in a communicator.
fn slot_of(rank_start: &[u32], slots: &[Slot], communicator: u32, rank: u32) -> Option<u32> {
    let bounds = rank_start.get(rank as usize..rank as usize + 2)?;
    let found =
        slots[bounds[0] as usize..bounds[1] as usize].iter().position(|s| s.communicator == communicator)?;
    Some(bounds[0] + found as u32)
}

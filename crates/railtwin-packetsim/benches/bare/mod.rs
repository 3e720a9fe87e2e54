//! The limit of this machine: packets of the same flows over the same links, two events for each hop that waits, FIFO
//! queues, one queue of events for all, and nothing else: no buffer, no pauses, no acknowledgements, no transport.
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, WorkGraph};
use railtwin_routing::LinkMask;
use railtwin_workload::Work;

/// Picoseconds of a slot of the wheel, as a shift, and slots.
const SHIFT: u32 = 13;
const SLOTS: usize = 1 << 12;

/// No packet: a link becomes free. No link: a packet is there.
const FREE: u32 = u32::MAX;

/// All events in order of time.
pub trait Queue: Default {
    /// Adds one: time in ps, packet, link.
    fn push(&mut self, time: u64, packet: u32, link: u32);

    /// Takes some that come first, in order; none when it is empty.
    fn take(&mut self, due: &mut Vec<(u64, u32, u32)>) -> bool;
}

/// A timing wheel: slots of 8 ns, sorted when their time has come.
pub struct Wheel {
    slots: Vec<Vec<(u64, u32, u32)>>,
    now: usize,
    count: usize,
}

impl Default for Wheel {
    fn default() -> Self {
        Self { slots: vec![Vec::new(); SLOTS], now: 0, count: 0 }
    }
}

impl Queue for Wheel {
    fn push(&mut self, time: u64, packet: u32, link: u32) {
        self.slots[(time >> SHIFT) as usize & (SLOTS - 1)].push((time, packet, link));
        self.count += 1;
    }

    fn take(&mut self, due: &mut Vec<(u64, u32, u32)>) -> bool {
        while self.count > 0 && self.slots[self.now].is_empty() {
            self.now = (self.now + 1) & (SLOTS - 1);
        }
        std::mem::swap(due, &mut self.slots[self.now]);
        self.count -= due.len();
        due.sort_unstable_by_key(|event| event.0);
        !due.is_empty()
    }
}

/// A binary heap.
#[derive(Default)]
pub struct Heap(BinaryHeap<Reverse<(u64, u32, u32)>>);

impl Queue for Heap {
    fn push(&mut self, time: u64, packet: u32, link: u32) {
        self.0.push(Reverse((time, packet, link)));
    }

    fn take(&mut self, due: &mut Vec<(u64, u32, u32)>) -> bool {
        due.extend(self.0.pop().map(|Reverse(event)| event));
        !due.is_empty()
    }
}

struct Link {
    busy_until: u64,
    waking: bool,
    picoseconds: u64,
    delay: u64,
    queue: VecDeque<u32>,
}

/// Packet-hops of all flows of a case whose only operation sends between pairs.
pub fn run<Q: Queue>(case: &Case) -> u64 {
    let lowering = Lowering::new(case, 0);
    let none = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &none, planned: &none });
    let wire = case.packets.keys.wire();
    let bytes = u64::from(wire.payload + wire.header);
    let mut links: Vec<Link> = (0..case.fabric.link_count() as u32)
        .map(|link| {
            let link = railtwin_fabric::LinkId(link);
            Link {
                busy_until: 0,
                waking: false,
                picoseconds: bytes * 8_000_000_000_000 / case.fabric.capacity(link).bits_per_s(),
                delay: case.fabric.delay(link).ps(),
                queue: VecDeque::new(),
            }
        })
        .collect();
    let packets = packets_of(&case.work) / u64::from(wire.payload);
    // A packet is the row of its next hop.
    let (mut hops, mut state): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut queue = Q::default();
    for connection in lowering.connections() {
        let first = hops.len() as u32;
        hops.extend(paths.path(connection.first).links.iter().map(|link| link.0));
        hops.push(FREE);
        let head = state.len() as u32;
        state.resize(state.len() + packets as usize, first);
        let access = &mut links[hops[first as usize] as usize];
        access.queue.extend(head..state.len() as u32);
        access.waking = true;
        queue.push(0, FREE, hops[first as usize]);
    }
    let mut crossed = 0;
    let mut due = Vec::new();
    while queue.take(&mut due) {
        for (time, packet, row) in due.drain(..) {
            let link = &mut links[row as usize];
            if packet != FREE {
                link.queue.push_back(packet);
                if link.waking {
                    continue;
                }
                if link.busy_until > time {
                    link.waking = true;
                    queue.push(link.busy_until, FREE, row);
                    continue;
                }
            }
            link.waking = false;
            let Some(packet) = link.queue.pop_front() else { continue };
            link.busy_until = time + link.picoseconds;
            if !link.queue.is_empty() {
                link.waking = true;
                queue.push(link.busy_until, FREE, row);
            }
            crossed += 1;
            let hop = &mut state[packet as usize];
            *hop += 1;
            let next = hops[*hop as usize];
            if next != FREE {
                queue.push(link.busy_until + link.delay, packet, next);
            }
        }
    }
    crossed
}

fn packets_of(work: &WorkGraph) -> u64 {
    work.jobs[0]
        .plan
        .operations
        .iter()
        .map(|operation| match operation.work {
            Work::Communicate { bytes, .. } => bytes,
            Work::Compute(_) => 0,
        })
        .sum()
}

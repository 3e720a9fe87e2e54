//! The limit of this machine: packets of the same flows over the same links, two events for each hop, FIFO queues, a
//! timing wheel, and nothing else: no buffer, no pauses, no acknowledgements, no transport, no statistics.
use std::collections::VecDeque;

use railtwin_engine::choose::View;
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, WorkGraph};
use railtwin_routing::LinkMask;
use railtwin_workload::Work;

/// Picoseconds of a slot of the wheel, as a shift, and slots.
const SHIFT: u32 = 13;
const SLOTS: usize = 1 << 12;

/// What is due.
#[derive(Clone, Copy)]
struct Event {
    time: u64,
    /// Packet that arrives, or none where a link becomes free.
    packet: u32,
    /// The link that it is sent on next, or that becomes free.
    link: u32,
}

const FREE: u32 = u32::MAX;

struct Wheel {
    slots: Vec<Vec<Event>>,
    now: usize,
    count: usize,
}

impl Wheel {
    fn push(&mut self, event: Event) {
        self.slots[(event.time >> SHIFT) as usize & (SLOTS - 1)].push(event);
        self.count += 1;
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
pub fn run(case: &Case) -> u64 {
    let lowering = Lowering::new(case, 0);
    let none = LinkMask::none(&case.fabric);
    let paths = lowering.paths(View { mask: &none, planned: &none });
    let wire = case.packets.wire;
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
    // A packet is the row of its next hop and how many packets of its flow follow it.
    let (mut hops, mut state): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let mut wheel = Wheel { slots: (0..SLOTS).map(|_| Vec::new()).collect(), now: 0, count: 0 };
    for connection in lowering.connections() {
        let first = hops.len() as u32;
        hops.extend(paths.path(connection.first).links.iter().map(|link| link.0));
        hops.push(FREE);
        for number in 0..packets as u32 {
            state.push((first, number));
        }
        let head = state.len() as u32 - packets as u32;
        let access = &mut links[hops[first as usize] as usize];
        access.queue.extend(head..state.len() as u32);
        access.waking = true;
        wheel.push(Event { time: 0, packet: FREE, link: hops[first as usize] });
    }
    let mut crossed = 0;
    let mut due = Vec::new();
    while wheel.count > 0 {
        std::mem::swap(&mut due, &mut wheel.slots[wheel.now]);
        wheel.count -= due.len();
        due.sort_unstable_by_key(|event| event.time);
        for event in due.drain(..) {
            let link = &mut links[event.link as usize];
            if event.packet != FREE {
                link.queue.push_back(event.packet);
                if link.waking {
                    continue;
                }
                if link.busy_until > event.time {
                    link.waking = true;
                    wheel.push(Event { time: link.busy_until, packet: FREE, link: event.link });
                    continue;
                }
            }
            link.waking = false;
            let Some(packet) = link.queue.pop_front() else { continue };
            link.busy_until = event.time + link.picoseconds;
            if !link.queue.is_empty() {
                link.waking = true;
                wheel.push(Event { time: link.busy_until, packet: FREE, link: event.link });
            }
            crossed += 1;
            let row = &mut state[packet as usize].0;
            *row += 1;
            let next = hops[*row as usize];
            if next != FREE {
                let time = link.busy_until + link.delay;
                wheel.push(Event { time, packet, link: next });
            }
        }
        wheel.now = (wheel.now + 1) & (SLOTS - 1);
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

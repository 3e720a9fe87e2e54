//! A host: GPUs and functional units around a switch, and the NIC behind one of its ports.
//!
//! A packet of the host is two events: its first byte comes to an input of the switch, and its crossing ends. All times
//! are those at the switch: what a GPU sends at `t` is there at `t + delay`.
use super::cargo::{Cargo, FROM_UNITS, INTER, INTRA, Kind, TO_UNITS};
use super::cell::Cell;
use super::crossbar::{Crossbar, Waiting};
use super::nic::{Landing, Nic};
use super::plan::Plan;
use super::root::{Passing, Root};
use super::source::{Message, Source};
use crate::agenda::Agenda;
use crate::post::Post;

/// An input of the host's switch.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// Bytes free in its buffer.
    room: u64,
    /// When its link is free again, ps.
    free: u64,
    /// Whether its sender waits for room.
    blocked: bool,
    /// Whether its sender has nothing to send, or waits: nothing is on the agenda for it.
    idle: bool,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    host: u32,
    device: u32,
    bar: Crossbar<Cell>,
    /// What packets pass before they come to the crossbar's queues; nobody asks it where there is no root complex.
    root: Root,
    inputs: Vec<Input>,
    /// GPUs, by number, and after them units.
    pub sources: Vec<Source>,
    messages: Slab<Message>,
    /// Row of the message that each of them sends.
    sending: Vec<u32>,
    /// What crosses to each output.
    crossing: Vec<Waiting<Cell>>,
    nic: Nic,
    landings: Slab<Landing>,
}

/// Rows that are used again.
#[derive(Debug)]
struct Slab<T> {
    rows: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    const fn new() -> Self {
        Self { rows: Vec::new(), free: Vec::new() }
    }

    fn put(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(row) => {
                self.rows[row as usize] = item;
                row
            }
            None => {
                self.rows.push(item);
                self.rows.len() as u32 - 1
            }
        }
    }
}

/// Tasks: a packet comes to an input; a crossing ends; the NIC looks whether it can send; a packet is at the CPU; one has
/// passed the root complex once, and twice.
const COMES: u64 = 0;
const CROSSED: u64 = 1 << 16;
const NIC: u64 = 2 << 16;
/// The NIC has sent a packet, whose bytes inside the host are above.
const SENT: u64 = 3 << 16;
const BYTES: u32 = 24;
const THERE: u64 = 4 << 16;
const PASSED: [u64; 2] = [5 << 16, 6 << 16];

impl Host {
    /// Before time zero.
    pub fn new(plan: &Plan, host: u32, device: u32, agenda: &mut Agenda) -> Self {
        let nic = plan.inside.nic();
        let input = Input { room: plan.buffer, free: 0, blocked: false, idle: false };
        let mut inputs = vec![input; nic + 1];
        inputs[nic].idle = true;
        // What a GPU sends at time zero is at the switch a link's delay later.
        (0..nic as u64).for_each(|port| agenda.push(plan.inside.delay, COMES | port));
        Self {
            host,
            device,
            bar: Crossbar::new(plan.spec.arbiter, plan.spec.crossings, nic + 1),
            root: Root::new(plan.spec.arbiter, nic + 1),
            inputs,
            sources: (0..nic as u16).map(|port| Source::new(plan, host, port)).collect(),
            messages: Slab::new(),
            sending: vec![0; nic],
            crossing: vec![Waiting { since: 0, item: Cell::default() }; nic + 1],
            nic: Nic::new(plan, plan.inside.gpus as usize),
            landings: Slab::new(),
        }
    }

    /// Does what was due.
    pub fn act(&mut self, now: u64, task: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        match task & 0xFF_0000 {
            COMES => self.comes(now, (task & 0xFF) as usize, plan, agenda, post),
            CROSSED => self.crossed(now, (task >> 8) as u8, task as u8, plan, agenda, post),
            THERE => {
                let passing = self.root.there();
                self.leave(now, passing, true, plan, agenda);
            }
            kind if PASSED.contains(&kind) => {
                let Passing { input, output, waiting } = self.root.out(kind == PASSED[1]);
                self.bar.push(waiting.since, input, output, waiting.item);
            }
            kind => {
                if kind == SENT {
                    self.nic.room += task >> BYTES;
                    self.open_nic(plan);
                }
                self.send(now, plan, agenda, post);
            }
        }
        if plan.inside.has_root() && agenda.next() > now {
            self.go_up(now, plan, agenda, post);
        }
        self.cross(now, plan, agenda, post);
    }

    /// A packet comes to an input: to the crossbar's queues, or first through the root complex.
    #[inline]
    fn enter(&mut self, now: u64, (input, output): (u8, u8), item: Cell, plan: &Plan, agenda: &mut Agenda) {
        if !plan.inside.has_root() {
            return self.bar.push(now, input, output, item);
        }
        let passing = Passing { input, output, waiting: Waiting { since: now, item } };
        match plan.inside.goes_up(usize::from(input), usize::from(output)) {
            true => self.root.up(passing),
            false => self.leave(now, passing, false, plan, agenda),
        }
    }

    /// What waits goes to the CPU, one packet at a time; that is there once its last byte is.
    fn go_up(&mut self, now: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        let Some(passing) = self.root.goes() else { return };
        let payload = u64::from(passing.waiting.item.payload);
        let came = passing.waiting.since + plan.inside.time(usize::from(passing.input), payload);
        post.mail.packet_hops += 2;
        agenda.push((now + plan.inside.up_time(payload)).max(came), THERE);
    }

    /// A packet has passed the root complex but for the time that it takes.
    fn leave(&mut self, now: u64, passing: Passing, twice: bool, plan: &Plan, agenda: &mut Agenda) {
        let time = plan.inside.pass_time() * if twice { 2 } else { 1 };
        if time == 0 {
            let Passing { input, output, waiting } = passing;
            return self.bar.push(waiting.since, input, output, waiting.item);
        }
        self.root.leaves(passing, twice);
        agenda.push(now + time, PASSED[usize::from(twice)]);
    }

    /// A packet or a credit arrives from the leaf.
    pub fn arrive(
        &mut self,
        now: u64,
        cargo: Cargo,
        plan: &Plan,
        agenda: &mut Agenda,
        post: &mut Post<'_, Cargo>,
    ) {
        match cargo.kind {
            Kind::Packet => {
                self.nic.landed.push_back((cargo, 0));
                let port = plan.inside.nic();
                let input = &mut self.inputs[port];
                if input.idle {
                    input.idle = false;
                    let at = (cargo.tail + plan.inside.unpack + plan.inside.delay).max(input.free);
                    agenda.push(at, COMES | port as u64);
                }
            }
            Kind::Credit => {
                self.nic.credit += u64::from(cargo.payload);
                self.send(now, plan, agenda, post);
                self.cross(now, plan, agenda, post);
            }
        }
    }

    /// The NIC sends what it can, and has it written down when it looks again.
    fn send(&mut self, now: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        self.nic.send(now, &plan.lines_of(self.device)[0], plan, post, |at, wire| {
            agenda.push(at, if wire == 0 { NIC } else { SENT | wire << BYTES });
        });
    }

    fn open_nic(&mut self, plan: &Plan) {
        let output = plan.inside.nic() as u8;
        self.bar.set_open(output, self.nic.room >= plan.inside.wire(plan.inside.payload));
    }

    /// The next packet comes to an input, if there is one and room for it.
    #[inline]
    fn comes(&mut self, now: u64, port: usize, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        let inside = &plan.inside;
        let (nic, left_at) = (inside.nic(), now - inside.delay);
        let (payload, last) = if port < nic {
            match self.sources[port].first(left_at, plan) {
                Err(crate::agenda::NEVER) => return self.inputs[port].idle = true,
                Err(at) => return agenda.push((at + inside.delay).max(now + 1), COMES | port as u64),
                Ok((message, sent)) => {
                    let left = plan.spec.message.0 - sent;
                    let payload = left.min(inside.payload);
                    if self.inputs[port].room >= inside.wire(payload) && sent == 0 {
                        self.sending[port] = self.messages.put(message);
                    }
                    (payload, payload == left)
                }
            }
        } else {
            let Some((cargo, done)) = self.nic.landed.front() else {
                return self.inputs[port].idle = true;
            };
            // The NIC converts what has come whole.
            let ready = cargo.tail + inside.delay + inside.unpack;
            if *done == 0 && now < ready {
                return agenda.push(ready, COMES | port as u64);
            }
            let left = u64::from(cargo.payload) - done;
            let payload = left.min(inside.payload);
            (payload, payload == left)
        };
        let wire = inside.wire(payload);
        if self.inputs[port].room < wire {
            return self.inputs[port].blocked = true;
        }
        self.inputs[port].room -= wire;
        let free = now + inside.time(port, payload);
        self.inputs[port].free = free;
        let (cell, output, next) = if port < nic {
            let row = self.sending[port];
            let message = self.messages.rows[row as usize];
            let output = if message.host == self.host { message.port as u8 } else { nic as u8 };
            self.sources[port].advance(left_at, payload, plan);
            (Cell { row, payload: payload as u16, is_last: last, is_foreign: false }, output, free)
        } else {
            let (cell, output) = self.split(now, payload, last, plan, post);
            // It begins the next when this one has gone.
            let ready = if self.nic.landed.is_empty() { 0 } else { now + inside.unpack };
            (cell, output, free.max(ready))
        };
        self.enter(now, (port as u8, output), cell, plan, agenda);
        agenda.push(next, COMES | port as u64);
    }

    /// A packet of the host out of the first one that has landed; its room is free once all of it is out.
    fn split(
        &mut self,
        now: u64,
        payload: u64,
        last: bool,
        plan: &Plan,
        post: &mut Post<'_, Cargo>,
    ) -> (Cell, u8) {
        let first = self.nic.landed.front_mut().expect("something has landed");
        first.1 += payload;
        let cargo = first.0;
        let mut row = u32::MAX;
        if last {
            self.nic.landed.pop_front();
            let line = &plan.lines_of(self.device)[0];
            let bytes = plan.network_bytes(u64::from(cargo.payload)) as u32;
            let gone = now + plan.inside.time(plan.inside.nic(), payload);
            post.tell(line.target, gone + line.flight, Cargo::credit(line.port, bytes));
            if cargo.is_last {
                row = self.landings.put(Landing { cargo, split: now - plan.inside.delay });
            }
        }
        let is_last = last && cargo.is_last;
        (Cell { row, payload: payload as u16, is_last, is_foreign: true }, cargo.gpu as u8)
    }

    /// A crossing has ended: its input has room again.
    #[inline]
    fn crossed(
        &mut self,
        now: u64,
        input: u8,
        output: u8,
        plan: &Plan,
        agenda: &mut Agenda,
        post: &mut Post<'_, Cargo>,
    ) {
        self.bar.free(input, output);
        let waiting = self.crossing[usize::from(output)];
        let from = &mut self.inputs[usize::from(input)];
        from.room += plan.inside.wire(u64::from(waiting.item.payload));
        if from.blocked {
            from.blocked = false;
            agenda.push(from.free.max(now + 2 * plan.inside.delay), COMES | u64::from(input));
        }
        if usize::from(output) == plan.inside.nic() {
            let row = waiting.item.row;
            let message = self.messages.rows[row as usize];
            self.nic.take(now + plan.inside.delay, input, waiting, &message, plan);
            if waiting.item.is_last {
                self.messages.free.push(row);
            }
            self.send(now, plan, agenda, post);
        }
    }

    /// Lets cross who can, once all is known that ends at this time.
    #[inline]
    fn cross(&mut self, now: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        if !self.bar.is_stale() || agenda.next() <= now {
            return;
        }
        let inside = &plan.inside;
        for row in 0..self.bar.arbitrate() {
            let (input, output, waiting) = self.bar.take(row);
            let payload = u64::from(waiting.item.payload);
            let (from, to) = (usize::from(input), usize::from(output));
            // The last byte cannot leave before it has come.
            let end = (now + inside.time(to, payload)).max(waiting.since + inside.time(from, payload));
            self.crossing[usize::from(output)] = waiting;
            post.mail.packet_hops += 2;
            if to == inside.nic() {
                self.nic.room -= plan.inside.wire(payload);
                self.open_nic(plan);
            } else {
                let class = match waiting.item.is_foreign {
                    true => INTER,
                    false if inside.is_unit(from) => FROM_UNITS,
                    false if inside.is_unit(to) => TO_UNITS,
                    false => INTRA,
                };
                self.deliver((now, end), class, waiting, plan, post);
            }
            agenda.push(end, CROSSED | u64::from(input) << 8 | u64::from(output));
        }
    }

    /// A GPU or unit receives a packet from `now` to `end`, a link's delay later.
    #[inline]
    fn deliver(
        &mut self,
        (now, end): (u64, u64),
        class: usize,
        waiting: Waiting<Cell>,
        plan: &Plan,
        post: &mut Post<'_, Cargo>,
    ) {
        let (cell, delay) = (waiting.item, plan.inside.delay);
        let (head, tail) = (now + delay, end + delay);
        let tally = &mut post.mail.tally;
        let counts = plan.counts(tail);
        if counts {
            tally.bytes[class] += plan.inside.wire(u64::from(cell.payload));
            tally.payload += if class <= INTER { u64::from(cell.payload) } else { 0 };
        }
        tally.arrived += u64::from(cell.payload);
        if !cell.is_last {
            return;
        }
        let parts = if cell.is_foreign {
            self.landings.free.push(cell.row);
            let Landing { cargo, split } = self.landings.rows[cell.row as usize];
            [
                cargo.left - cargo.made,
                cargo.packed - cargo.left,
                cargo.sent - cargo.packed,
                cargo.tail - cargo.sent,
                split - cargo.tail,
                head - split,
                tail - head,
            ]
        } else {
            self.messages.free.push(cell.row);
            let made = self.messages.rows[cell.row as usize].made;
            let left = waiting.since - delay;
            [left - made, head - left, 0, 0, 0, 0, tail - head]
        };
        tally.message(class, &parts, tail, (counts, plan.is_late(tail)));
    }
}

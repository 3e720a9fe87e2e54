//! The NIC of a host: packs packets of the host into packets between hosts, and takes in what arrives.
use std::collections::VecDeque;

use super::cargo::{Cargo, Kind};
use super::cell::Cell;
use super::crossbar::Waiting;
use super::plan::{Line, Plan};
use super::source::Message;
use crate::post::Post;

/// A packet between hosts that a GPU has begun. Packets of one message alone share one.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    /// Payload so far.
    payload: u64,
    /// Payload of the message so far, packets before it too.
    of_message: u64,
    /// When its first packet left the GPU, and came, ps.
    left: u64,
    came: u64,
}

/// The end of a message that has landed, and when its last packet left the NIC, ps.
#[derive(Clone, Copy, Debug)]
pub struct Landing {
    /// Its last packet between hosts.
    pub cargo: Cargo,
    /// See above.
    pub split: u64,
}

/// A NIC.
#[derive(Debug)]
pub struct Nic {
    /// By GPU.
    begun: Vec<Begun>,
    /// When it has packed what came, ps.
    packs_until: u64,
    /// Packets between hosts, and from when on they can be sent, ps.
    queue: VecDeque<(u64, Cargo)>,
    /// When its port is free again, ps.
    free: u64,
    /// When it was said that it looks again, ps.
    looks: u64,
    /// Bytes free for packets of the host.
    pub room: u64,
    /// Bytes free at the leaf.
    pub credit: u64,
    /// What has arrived, and how much of it went on.
    pub landed: VecDeque<(Cargo, u64)>,
}

impl Nic {
    /// Empty, and the leaf too.
    pub fn new(plan: &Plan, gpus: usize) -> Self {
        Self {
            begun: vec![Begun::default(); gpus],
            packs_until: 0,
            queue: VecDeque::new(),
            free: 0,
            looks: 0,
            room: plan.buffer,
            credit: plan.buffer,
            landed: VecDeque::new(),
        }
    }

    /// A packet of the host has come whole at `at`. It closes its packet between hosts where the next would not fit, or
    /// the message ends.
    pub fn take(&mut self, at: u64, gpu: u8, waiting: Waiting<Cell>, message: &Message, plan: &Plan) {
        let payload = u64::from(waiting.item.payload);
        let begun = &mut self.begun[usize::from(gpu)];
        if begun.payload == 0 {
            (begun.left, begun.came) = (waiting.since - plan.inside.delay, at);
        }
        begun.payload += payload;
        begun.of_message += payload;
        self.packs_until = self.packs_until.max(at) + plan.inside.pack;
        let next = plan.inside.payload.min(plan.spec.message.0 - begun.of_message);
        let is_last = waiting.item.is_last;
        if !is_last && begun.payload + next <= plan.spec.inter_payload.0 {
            return;
        }
        let cargo = Cargo {
            port: 0,
            gpu: message.port,
            kind: Kind::Packet,
            is_last,
            host: message.host,
            payload: begun.payload as u32,
            tail: 0,
            made: message.made,
            left: begun.left,
            packed: begun.came,
            sent: 0,
        };
        begun.payload = 0;
        if is_last {
            begun.of_message = 0;
        }
        self.queue.push_back((self.packs_until, cargo));
    }

    /// Sends the next packet, if it is packed, the port is free and the leaf has room; `remind` hears when to look again,
    /// and how many bytes of the host are free then.
    pub fn send(
        &mut self,
        now: u64,
        line: &Line,
        plan: &Plan,
        post: &mut Post<'_, Cargo>,
        mut remind: impl FnMut(u64, u64),
    ) {
        let Some(&(ready, mut cargo)) = self.queue.front() else { return };
        let bytes = plan.network_bytes(u64::from(cargo.payload));
        if now < self.free || self.credit < bytes {
            return;
        }
        if now < ready {
            if self.looks != ready {
                self.looks = ready;
                remind(ready, 0);
            }
            return;
        }
        self.queue.pop_front();
        self.credit -= bytes;
        let end = now + line.speed.time(bytes);
        self.free = end;
        (cargo.sent, cargo.port, cargo.tail) = (now, line.port, end + line.delay);
        if plan.counts(end) {
            post.mail.tally.network += bytes;
        }
        post.arrive(line.target, now + line.delay, cargo);
        remind(end, plan.inside.wire(u64::from(cargo.payload)));
    }
}

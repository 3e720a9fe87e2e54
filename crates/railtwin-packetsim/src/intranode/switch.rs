//! A switch between hosts: input buffers with credits, virtual cut-through.
use super::cargo::{Cargo, Kind};
use super::crossbar::Crossbar;
use super::plan::Plan;
use crate::agenda::Agenda;
use crate::post::Post;

/// A switch between hosts.
#[derive(Debug)]
pub struct Switch {
    row: u32,
    device: u32,
    bar: Crossbar<Cargo>,
    /// By output: bytes free in the buffer beyond it.
    credits: Vec<u64>,
    /// Most bytes of a packet: an output is open while one fits beyond it.
    full: u64,
}

/// The task of a crossing that ends.
const fn crossed(input: u8, output: u8) -> u64 {
    (input as u64) << 8 | output as u64
}

impl Switch {
    /// Empty, all buffers around it too.
    pub fn new(plan: &Plan, row: u32, device: u32) -> Self {
        let ports = plan.lines_of(device).len();
        Self {
            row,
            device,
            bar: Crossbar::new(plan.spec.arbiter, plan.spec.crossings, ports),
            credits: vec![plan.buffer; ports],
            full: plan.network_bytes(plan.spec.inter_payload.0),
        }
    }

    /// A packet or a credit arrives.
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
                let output = plan.port_towards(self.row, cargo.host);
                self.bar.push(now, cargo.port as u8, output, cargo);
            }
            Kind::Credit => {
                let output = usize::from(cargo.port);
                self.credits[output] += u64::from(cargo.payload);
                self.bar.set_open(cargo.port as u8, self.credits[output] >= self.full);
            }
        }
        self.cross(now, plan, agenda, post);
    }

    /// A crossing has ended.
    pub fn act(&mut self, now: u64, task: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        self.bar.free((task >> 8) as u8, task as u8);
        self.cross(now, plan, agenda, post);
    }

    /// Lets cross who can, once all is known that ends at this time.
    fn cross(&mut self, now: u64, plan: &Plan, agenda: &mut Agenda, post: &mut Post<'_, Cargo>) {
        if !self.bar.is_stale() || agenda.next() <= now {
            return;
        }
        let lines = plan.lines_of(self.device);
        for row in 0..self.bar.arbitrate() {
            let (input, output, waiting) = self.bar.take(row);
            let mut cargo = waiting.item;
            let (back, line) = (&lines[usize::from(input)], &lines[usize::from(output)]);
            let bytes = plan.network_bytes(u64::from(cargo.payload));
            // The last byte cannot leave before it has come.
            let end = (now + line.speed.time(bytes)).max(cargo.tail);
            (cargo.port, cargo.tail) = (line.port, end + line.delay);
            post.arrive(line.target, now + line.delay, cargo);
            post.tell(back.target, end + back.flight, Cargo::credit(back.port, bytes as u32));
            let credits = &mut self.credits[usize::from(output)];
            *credits -= bytes;
            self.bar.set_open(output, *credits >= self.full);
            agenda.push(end, crossed(input, output));
        }
    }
}

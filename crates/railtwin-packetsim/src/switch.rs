//! A switch: what arrives is routed, waits at its egress, and fills the buffer of its ingress.
//!
//! Every waiting packet is counted twice: at the ingress port that it came in by, which pauses its neighbor, and at
//! the egress port that it waits for, which marks and trims. A packet that leaves at once fills nothing.
mod crossing;
mod queue;

use std::collections::HashMap;

use railtwin_engine::balancer::BySwitch;
use railtwin_engine::packet::{MarkAt, SwitchModel};
use railtwin_units::stream;

use crate::agenda::Agenda;
use crate::buffer::{PAUSE_BYTES, Room, SharedBuffer};
use crate::credit::Credits;
use crate::network::{CUT, Network};
use crate::packet::{BACK, HIGH, Kind, Packet};
use crate::ports::{Pool, Port};
use crate::post::Post;
use queue::{Marker, Queue};

/// Tasks of a switch's agenda: kind in the top byte.
const WAKE: u64 = 0;
const WHOLE: u64 = 1 << 56;
const ASKED: u64 = 2 << 56;
const TURN: u64 = 3 << 56;
const CREDIT: u64 = 4 << 56;
const KIND: u64 = 0xFF << 56;

/// No port leads on.
const NOWHERE: usize = crate::network::NOWHERE as usize;

/// Packets that are not whole yet, in slots that are used again.
#[derive(Debug, Default)]
struct Late {
    slots: Vec<(Packet, u16)>,
    free: Vec<u32>,
}

impl Late {
    fn add(&mut self, packet: Packet, out: u16) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = (packet, out);
            return slot;
        }
        self.slots.push((packet, out));
        self.slots.len() as u32 - 1
    }

    fn take(&mut self, slot: u32) -> (Packet, u16) {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    /// Row in the fabric.
    pub row: u32,
    /// Ports; a port is both an egress and an ingress.
    pub ports: Vec<Port>,
    /// By port, and within it by level of priority.
    queues: Vec<Queue>,
    levels: usize,
    pool: Pool,
    /// The buffer.
    pub buffer: SharedBuffer,
    model: SwitchModel,
    /// Draws of this switch alone.
    draw: u64,
    /// Which epoch of routes it follows.
    pub epoch: usize,
    /// Last packet and uplink of queue pairs, for flowlets. Looked up only.
    flowlets: HashMap<u32, (u64, u16)>,
    credits: Option<Credits>,
    /// Packets that still arrive while their head is here already, with their egress.
    late: Late,
    tier: u8,
    /// Whether packets carry telemetry, and the round trip over which it is averaged, ps.
    telemetry: bool,
    round_trip: f64,
    /// Bytes of a packet without payload.
    control: u16,
    /// Marks data packets.
    pub marker: Marker,
    /// Data packets trimmed here.
    pub trimmed: u64,
    /// Bytes of the buffer beyond which an alarm goes, and when it first went.
    alarm: u64,
    /// When the alarm about its buffer went.
    pub alarmed: Option<u64>,
}

impl Switch {
    /// An empty switch.
    pub fn new(network: &Network<'_>, row: u32, draw: u64) -> Self {
        let node = network.switch_at[row as usize];
        let model = crate::network::model_of(network.case, row);
        let lines = network.lines(node);
        let ports: Vec<Port> = lines.iter().map(|&line| Port::new(line)).collect();
        let packets = &network.case.packets.keys;
        let mut this = Self {
            row,
            queues: vec![Queue::EMPTY; ports.len() * network.levels],
            levels: network.levels,
            buffer: SharedBuffer::new(
                &model,
                lines,
                network.levels,
                packets.full(),
                network.case.fabric.switch_latency().ps(),
            ),
            credits: model
                .credit
                .map(|credit| Credits::new(credit, ports.len(), network.levels, packets.full())),
            ports,
            pool: Pool::default(),
            model,
            draw: stream::mix(draw ^ stream::mix(u64::from(row))),
            epoch: 0,
            flowlets: HashMap::new(),
            late: Late::default(),
            tier: network.case.fabric.switches()[row as usize].1.tier,
            telemetry: packets.congestion_control.needs().telemetry,
            round_trip: network.base_round_trip.max(1) as f64,
            control: packets.wire().control as u16,
            marker: Marker::new(model.ecn, stream::mix(draw ^ stream::mix(u64::from(row)))),
            trimmed: 0,
            alarm: 0,
            alarmed: None,
        };
        this.alarm = (this.buffer.bytes as f64 * packets.buffer_alarm) as u64;
        this
    }

    /// Bytes that wait for a port.
    #[inline]
    pub fn waiting(&self, port: usize) -> u64 {
        if self.levels == 1 {
            return self.queues[port].bytes;
        }
        self.queues[port * self.levels..(port + 1) * self.levels].iter().map(|queue| queue.bytes).sum()
    }

    /// Reads what is needed whatever it does.
    #[inline]
    pub(crate) const fn touch(&self) -> u64 {
        self.buffer.used ^ self.alarm
    }

    /// A packet or pause frame has arrived.
    #[inline]
    pub fn arrive(
        &mut self,
        now: u64,
        packet: Packet,
        net: &Network<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        match packet.kind {
            Kind::Pause => {
                let port = usize::from(packet.port);
                self.ports[port].pause(now, packet.item as u8);
                // What is paused no longer stands before lower levels.
                if self.levels > 1
                    && let Some(credits) = &mut self.credits
                    && let Some(time) = credits.go_on(now, port)
                {
                    agenda.push(time, TURN | port as u64);
                }
            }
            Kind::Resume | Kind::Freed => {
                let port = usize::from(packet.port);
                let told = packet.kind == Kind::Resume;
                let watchdog = net.case.packets.keys.watchdog.ps();
                self.ports[port].resume(now, watchdog, told, packet.item as u8);
                self.go_on(now, port, agenda, post);
            }
            _ if self.model.cut_through => self.cut_through(now, packet, net, agenda, post),
            _ => {
                let mut packet = packet;
                let out = self.next_port(now, &mut packet, net);
                self.forward(now, packet, out, agenda, post);
            }
        }
    }

    /// The egress of a packet, as its route or this switch says; [`NOWHERE`] where none leads on.
    #[inline]
    fn next_port(&mut self, now: u64, packet: &mut Packet, net: &Network<'_>) -> usize {
        if packet.is_by_switch() {
            return self.choose(now, packet, net);
        }
        let hop = net.hop(packet.route);
        packet.route += 1;
        usize::from(hop)
    }

    /// Only the head of the packet is here: where the egress is faster than the ingress it has to wait for the rest.
    fn cut_through(
        &mut self,
        now: u64,
        mut packet: Packet,
        net: &Network<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let out = self.next_port(now, &mut packet, net);
        let into = self.ports[usize::from(packet.port)].line.speed;
        let rest = u64::from(packet.bytes).saturating_sub(CUT);
        if out != NOWHERE && rest > 0 && self.ports[out].line.speed.bits_per_s() > into.bits_per_s() {
            let slot = self.late.add(packet, out as u16);
            agenda.push(now.saturating_add(into.time(rest)), WHOLE | u64::from(slot));
            return;
        }
        self.forward(now, packet, out, agenda, post);
    }

    /// Does a task of the agenda.
    #[inline]
    pub fn act(&mut self, now: u64, task: u64, agenda: &mut Agenda, post: &mut Post<'_>) {
        match task & KIND {
            WAKE => {
                let port = task as usize;
                self.ports[port].waking = false;
                self.next(now, port, agenda, post);
            }
            WHOLE => {
                let (packet, out) = self.late.take((task & !KIND) as u32);
                self.forward(now, packet, usize::from(out), agenda, post);
            }
            ASKED => self.on_asked(now, (task & !KIND) as usize, agenda),
            TURN => self.on_turn(now, (task & !KIND) as usize, agenda),
            _ => self.on_credit(now, (task & !KIND) as usize, agenda, post),
        }
    }

    /// Towards the egress, through credits where the switch has them.
    #[inline]
    fn forward(&mut self, now: u64, packet: Packet, out: usize, agenda: &mut Agenda, post: &mut Post<'_>) {
        if out == NOWHERE {
            post.mail.tally.lose(now, packet.lost_by());
            self.ports[usize::from(packet.port)].counts.lost += 1;
        } else if self.credits.is_some() {
            self.ask(now, packet, out, agenda, post);
        } else {
            self.enqueue(now, packet, out, false, agenda, post);
        }
    }

    /// Sends a packet if its egress is free, else lets it wait; `counted` where it fills the buffer already.
    #[inline]
    fn enqueue(
        &mut self,
        now: u64,
        mut packet: Packet,
        out: usize,
        counted: bool,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let into = usize::from(packet.port);
        let (first, level) = (out * self.levels, packet.level());
        let high = packet.has(HIGH);
        let waits = self.waiting(out);
        let port = &mut self.ports[out];
        let queue = &mut self.queues[first + level];
        // What waits on another level while the line is free is paused.
        let open = high || queue.data.is_empty() && !port.is_paused(level);
        if port.busy_until <= now && self.queues[first].high.is_empty() && open {
            if self.telemetry {
                self.queues[first].observe(now, port, waits, &mut packet, self.round_trip);
            }
            let bytes = u64::from(packet.bytes);
            port.send(now, packet, post);
            if counted {
                self.release(now, (into, level), bytes, post);
            }
            return;
        }
        let full = u64::from(packet.bytes);
        let queued = self.queues[first + level].bytes;
        if !high && packet.kind == Kind::Data {
            if self.model.trim.is_some_and(|limit| queued + full > limit) {
                self.trimmed += 1;
                packet.kind = Kind::Trimmed;
                packet.bytes = self.control;
                packet.flags |= HIGH;
            } else {
                port.counts.marked += u32::from(self.marker.mark(MarkAt::Enqueue, queued, &mut packet));
            }
        }
        let bytes = u64::from(packet.bytes);
        if packet.has(HIGH) {
            if counted {
                self.release(now, (into, level), full, post);
            }
        } else if !counted && !self.admit(now, (into, level), queued, bytes, post) {
            return;
        }
        let port = &mut self.ports[out];
        port.settle_queue(now, waits);
        self.queues[first + level].bytes += bytes;
        port.filled(waits + bytes);
        let high = packet.has(HIGH);
        let chain = if high { &mut self.queues[first].high } else { &mut self.queues[first + level].data };
        self.pool.push(chain, packet);
        if !port.waking && (port.busy_until > now || high) {
            port.waking = true;
            agenda.push(port.busy_until.max(now), WAKE | out as u64);
        }
    }

    /// Counts a packet at its ingress; false where it is dropped.
    #[inline]
    fn admit(
        &mut self,
        now: u64,
        (into, level): (usize, usize),
        queued: u64,
        bytes: u64,
        post: &mut Post<'_>,
    ) -> bool {
        let room = self.buffer.take((into, level), bytes, queued);
        if self.buffer.used > self.alarm && self.alarmed.is_none() {
            self.alarmed = Some(now);
        }
        match room {
            Room::Taken => true,
            Room::TakenPause => {
                self.signal(now, into, (Kind::Pause, 1 << level), post);
                true
            }
            Room::None => {
                self.ports[into].counts.dropped += 1;
                false
            }
        }
    }

    /// A packet has left: its ingress has room again.
    #[inline]
    fn release(&mut self, now: u64, (into, level): (usize, usize), bytes: u64, post: &mut Post<'_>) {
        if self.buffer.give((into, level), bytes) {
            self.signal(now, into, (Kind::Resume, 1 << level), post);
        }
    }

    /// A cable carries again: who was to stand still has to be told anew.
    pub fn remind(&mut self, now: u64, port: usize, post: &mut Post<'_>) {
        let levels = self.buffer.pauses(port);
        if levels != 0 {
            self.signal(now, port, (Kind::Pause, levels), post);
        }
    }

    /// Tells the neighbor at a port to stop or to go on, on some levels: after the packet that is being sent there.
    fn signal(&mut self, now: u64, into: usize, (kind, levels): (Kind, u8), post: &mut Post<'_>) {
        let port = &self.ports[into];
        if port.dead {
            return;
        }
        let line = &port.line;
        let sent = port.busy_until.max(now).saturating_add(line.speed.time(PAUSE_BYTES));
        let time = sent.saturating_add(line.propagation).saturating_add(self.buffer.response());
        post.tell(line.target, time, Packet::pausing(kind, line.target_port, levels));
    }

    /// The port is free: sends what goes first.
    #[inline]
    fn next(&mut self, now: u64, out: usize, agenda: &mut Agenda, post: &mut Post<'_>) {
        let (waits, first) = (self.waiting(out), out * self.levels);
        let Some(mut packet) = self.pop(out) else { return };
        let level = packet.level();
        let bytes = u64::from(packet.bytes);
        let (port, queues) = (&mut self.ports[out], &mut self.queues[first..first + self.levels]);
        port.settle_queue(now, waits);
        queues[level].bytes -= bytes;
        if self.telemetry {
            queues[0].observe(now, port, waits - bytes, &mut packet, self.round_trip);
        }
        if !packet.has(HIGH) {
            port.counts.marked +=
                u32::from(self.marker.mark(MarkAt::Dequeue, queues[level].bytes, &mut packet));
        }
        port.send(now, packet, post);
        let sends = |(level, queue): (usize, &Queue)| !queue.data.is_empty() && !port.is_paused(level);
        if !queues[0].high.is_empty() || queues.iter().enumerate().any(sends) {
            port.waking = true;
            agenda.push(port.busy_until, WAKE | out as u64);
        }
        if !packet.has(HIGH) {
            self.release(now, (usize::from(packet.port), level), bytes, post);
        }
        if let Some(credits) = &mut self.credits
            && let Some(time) = credits.go_on(now, out)
        {
            agenda.push(time, TURN | out as u64);
        }
    }

    /// Takes what goes first at a port: what goes before all data, then the highest level that is not paused.
    #[inline]
    fn pop(&mut self, out: usize) -> Option<Packet> {
        let (port, first) = (&self.ports[out], out * self.levels);
        if let Some(packet) = self.pool.pop(&mut self.queues[first].high) {
            return Some(packet);
        }
        for level in (0..self.levels).rev().filter(|&level| !port.is_paused(level)) {
            if let Some(packet) = self.pool.pop(&mut self.queues[first + level].data) {
                return Some(packet);
            }
        }
        None
    }

    /// A paused port may go on.
    fn go_on(&mut self, now: u64, out: usize, agenda: &mut Agenda, post: &mut Post<'_>) {
        let port = &self.ports[out];
        if port.waking || self.waiting(out) == 0 {
            return;
        }
        let port = &mut self.ports[out];
        if port.busy_until > now {
            port.waking = true;
            agenda.push(port.busy_until, WAKE | out as u64);
        } else {
            self.next(now, out, agenda, post);
        }
    }

    /// The egress of a packet whose path switches choose.
    fn choose(&mut self, now: u64, packet: &Packet, net: &Network<'_>) -> usize {
        let Some(forwarding) = &net.epochs[self.epoch].forwarding else { return NOWHERE };
        let nic = net.ends[packet.queue_pair as usize][usize::from(!packet.has(BACK))];
        let group = forwarding.next_links(self.row, nic);
        let count = group.len() as u64;
        let port = |index: u64| usize::from(net.port_of(group[index as usize]));
        if count < 2 {
            return if count == 0 { NOWHERE } else { port(0) };
        }
        // Acknowledgements of packets that a missing one holds up are spread as they are in order.
        let number = u64::from(match packet.kind {
            Kind::Acknowledge | Kind::Negative => packet.leg.wrapping_add(1),
            _ => packet.number,
        });
        let own = self.draw ^ stream::mix(u64::from(packet.queue_pair) << 1 | u64::from(packet.has(BACK)));
        match net.by_switch {
            // In turn, every round from another place: queue pairs do not march in step.
            Some(BySwitch::InTurn) => {
                let turn = number + stream::mix(own ^ (number / count));
                match packet.entropy() {
                    0 => port(turn % count),
                    // Sent again: any of the others.
                    again => port((turn + 1 + stream::mix(own ^ number ^ again << 32) % (count - 1)) % count),
                }
            }
            Some(BySwitch::LeastLoaded) => {
                let first = stream::mix(own ^ number ^ packet.entropy() << 32) % count;
                let mut best = port(first);
                for step in 1..count {
                    let other = port((first + step) % count);
                    if self.load(now, other) < self.load(now, best) {
                        best = other;
                    }
                }
                best
            }
            Some(BySwitch::Flowlets) if self.tier == 1 => self.flowlet(now, packet, group, net),
            Some(BySwitch::Flowlets) | None => port(stream::mix(own) % count),
        }
    }

    /// Bytes that stand before a packet at a port.
    fn load(&self, now: u64, port: usize) -> u64 {
        self.waiting(port) + u64::from(self.ports[port].busy_until > now)
    }

    /// The uplink of a queue pair's flowlet: the least loaded one when it begins (Meta RoCE section 4.5).
    fn flowlet(
        &mut self,
        now: u64,
        packet: &Packet,
        group: &[railtwin_fabric::LinkId],
        net: &Network<'_>,
    ) -> usize {
        let key = packet.queue_pair << 1 | u32::from(packet.has(BACK));
        let gap = net.case.packets.keys.flowlet.ps();
        let known = self.flowlets.get(&key).copied();
        let kept = known
            .filter(|&(last, port)| now - last <= gap && group.iter().any(|&link| net.port_of(link) == port));
        let port = match kept {
            Some((_, port)) => usize::from(port),
            None => {
                let ports = group.iter().map(|&link| usize::from(net.port_of(link)));
                let load = |port: usize| self.queues[port * self.levels].recent(now, gap);
                let least = ports.min_by(|&a, &b| load(a).total_cmp(&load(b)));
                least.expect("a group with one link was no choice")
            }
        };
        self.queues[port * self.levels].add_recent(now, gap, f64::from(packet.bytes));
        self.flowlets.insert(key, (now, port as u16));
        port
    }
}

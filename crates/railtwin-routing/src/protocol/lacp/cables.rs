//! A bond and the leaves at its cables, in time: LACPDUs go to and fro, without delay on the way, as long as the cables
//! carry them.
//!
//! While both ends of a cable have settled, LACPDUs change nothing and are not sent one by one: when the cable changes,
//! the caller says how long ago each end heard the last one.
use railtwin_units::SimTime;

use super::bond::{Bond, SelectionRule};
use super::pdu::Lacpdu;
use super::port::Machine;

/// Rounds of LACPDUs at one moment: ends that agree need fewer, and ends that never do must not hold time up.
const ROUNDS: usize = 16;

/// An end of a cable of the bond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The host's port.
    Host,
    /// The leaf's port.
    Leaf,
}

/// How a cable carries LACPDUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Whether its ports see a carrier.
    pub carrier: bool,
    /// Whether LACPDUs reach the leaf.
    pub up: bool,
    /// Whether LACPDUs reach the host.
    pub down: bool,
}

impl Wire {
    /// All is well.
    pub const WELL: Self = Self { carrier: true, up: true, down: true };

    fn passes(self) -> bool {
        self.carrier && self.up && self.down
    }
}

/// A port began to carry frames, or stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PortTurn {
    /// When.
    pub at: SimTime,
    /// Row of the port in the bond.
    pub port: usize,
    /// Which end of its cable.
    pub end: End,
    /// Whether it collects and distributes from now on.
    pub distributes: bool,
}

/// The cables of one bond. See [the module](self).
#[derive(Clone, Debug)]
pub struct Cables {
    host: Bond,
    leaves: Vec<Bond>,
    wires: Vec<Wire>,
    /// Whether nothing happens on a cable until it changes.
    still: Vec<bool>,
    distributes: Vec<[bool; 2]>,
    now: SimTime,
    turns: Vec<PortTurn>,
}

impl Cables {
    /// Ports of a host, and the port of a leaf at the other end of each; without carrier.
    pub fn new(rule: SelectionRule, ports: impl IntoIterator<Item = (Machine, Machine)>) -> Self {
        let (host, leaves): (Vec<Machine>, Vec<Machine>) = ports.into_iter().unzip();
        let count = host.len();
        Self {
            host: Bond { rule, ports: host },
            leaves: leaves
                .into_iter()
                .map(|port| Bond { rule: SelectionRule::LagId, ports: vec![port] })
                .collect(),
            wires: vec![Wire { carrier: false, up: false, down: false }; count],
            still: vec![true; count],
            distributes: vec![[false; 2]; count],
            now: SimTime::ZERO,
            turns: Vec::new(),
        }
    }

    /// The bond.
    pub const fn host(&self) -> &Bond {
        &self.host
    }

    /// The leaf's end of a cable.
    pub fn leaf(&self, port: usize) -> &Machine {
        &self.leaves[port].ports[0]
    }

    /// What happened so far, in order of time.
    pub fn turns(&self) -> &[PortTurn] {
        &self.turns
    }

    /// A cable changes at `now`, to which all has passed. `ages` says how long ago the host and the leaf heard the last
    /// LACPDU, each less than a period of its rate, where both ends had settled.
    pub fn set(&mut self, port: usize, wire: Wire, ages: impl FnOnce() -> [SimTime; 2]) {
        let now = self.now;
        let (host, leaf) = (&mut self.host.ports[port], &mut self.leaves[port].ports[0]);
        if self.still[port] && host.is_settled() && leaf.is_settled() {
            let [host_heard, leaf_heard] = ages().map(|age| now.since(age));
            host.wind(host_heard, leaf_heard);
            leaf.wind(leaf_heard, host_heard);
        }
        self.still[port] = false;
        let was = std::mem::replace(&mut self.wires[port], wire);
        if was.carrier != wire.carrier {
            host.carrier(now, wire.carrier);
            leaf.carrier(now, wire.carrier);
        }
        self.exchange();
    }

    /// Lets time pass up to and with `until`.
    pub fn pass(&mut self, until: SimTime) {
        loop {
            let next =
                (0..self.wires.len()).filter(|&port| !self.still[port]).map(|port| self.next_of(port)).min();
            let Some(next) = next.filter(|&next| next <= until && next < SimTime::NEVER) else { break };
            self.now = self.now.max(next);
            for port in 0..self.wires.len() {
                if !self.still[port] {
                    self.host.ports[port].pass(self.now);
                    self.leaves[port].ports[0].pass(self.now);
                }
            }
            self.exchange();
        }
        self.now = self.now.max(until);
    }

    fn next_of(&self, port: usize) -> SimTime {
        self.host.ports[port].next_time().min(self.leaf(port).next_time())
    }

    /// LACPDUs of this moment, until nobody has more to say; then who distributes.
    fn exchange(&mut self) {
        let now = self.now;
        for _ in 0..ROUNDS {
            let mut spoke = false;
            for port in 0..self.wires.len() {
                let wire = self.wires[port];
                spoke |= carry(
                    self.host.ports[port].transmit(now),
                    wire.carrier && wire.up,
                    &mut self.leaves[port].ports[0],
                    now,
                );
                self.leaves[port].choose(now);
                spoke |= carry(
                    self.leaves[port].ports[0].transmit(now),
                    wire.carrier && wire.down,
                    &mut self.host.ports[port],
                    now,
                );
            }
            self.host.choose(now);
            if !spoke {
                break;
            }
        }
        for port in 0..self.wires.len() {
            let ends = [&self.host.ports[port], &self.leaves[port].ports[0]];
            for (end, machine) in [End::Host, End::Leaf].into_iter().zip(ends) {
                let distributes = machine.is_distributing();
                if std::mem::replace(&mut self.distributes[port][end as usize], distributes) != distributes {
                    self.turns.push(PortTurn { at: now, port, end, distributes });
                }
            }
            let settled = ends.iter().all(|machine| machine.is_settled());
            self.still[port] = match self.wires[port].carrier {
                true => settled && self.wires[port].passes(),
                false => true,
            };
        }
    }
}

/// Takes an LACPDU over; whether there was one to take.
fn carry(pdu: Option<Lacpdu>, passes: bool, to: &mut Machine, now: SimTime) -> bool {
    let Some(pdu) = pdu else { return false };
    if passes {
        to.receive(now, &pdu);
    }
    passes
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

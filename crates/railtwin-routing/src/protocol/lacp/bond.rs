//! The bond of a host: which of its ports serve as one.
use railtwin_units::SimTime;

use super::pdu::PortInfo;
use super::port::Machine;

railtwin_units::choice! {
    /// Which ports a host takes into one bond.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum SelectionRule {
        /// Those whose partners are one system with one key and are different ports of it: two partners with the same
        /// number are one port that is plugged in twice, which cannot be (the hosts of HPN section 4.2).
        Strict = "strict",
        /// Those whose partners are one system with one key, whatever the numbers of their ports (Open vSwitch).
        LagId = "lag-id",
    }
}

/// The ports of a host that may be one, by number.
#[derive(Clone, Debug)]
pub struct Bond {
    /// The rule.
    pub rule: SelectionRule,
    /// The ports.
    pub ports: Vec<Machine>,
}

impl Bond {
    /// Chooses the ports of the bond anew: of the sets of partners that may be one, the one with the most ports, of several
    /// the one with the port of the lowest number; of two partners with one number, under [`SelectionRule::Strict`], the
    /// port that is in the bond already, else the one with the lower number. A set that is in use stays while another is
    /// no larger.
    pub fn choose(&mut self, now: SimTime) {
        let lag = |port: &Machine| {
            let PortInfo { system_priority, system, key, .. } = *port.partner();
            port.has_partner().then_some((system_priority, system, key))
        };
        let mut best: Option<(usize, bool, Vec<usize>)> = None;
        for (first, port) in self.ports.iter().enumerate() {
            let Some(id) = lag(port) else { continue };
            if self.ports[..first].iter().any(|earlier| lag(earlier) == Some(id)) {
                continue;
            }
            let members = self.members(|port| lag(port) == Some(id));
            let in_use = members.iter().any(|&row| self.ports[row].is_distributing());
            let better = best
                .as_ref()
                .is_none_or(|(most, was_in_use, _)| (members.len(), in_use) > (*most, *was_in_use));
            if better {
                best = Some((members.len(), in_use, members));
            }
        }
        let chosen = best.map_or(Vec::new(), |(_, _, members)| members);
        for (row, port) in self.ports.iter_mut().enumerate() {
            port.select(now, chosen.contains(&row));
        }
    }

    /// The ports for which `is_of` holds, less those whose partner another has under the rule.
    fn members(&self, is_of: impl Fn(&Machine) -> bool) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.ports.len()).filter(|&row| is_of(&self.ports[row])).collect();
        if self.rule == SelectionRule::LagId {
            return rows;
        }
        rows.sort_by_key(|&row| (!self.ports[row].is_distributing(), row));
        let mut taken = Vec::new();
        rows.retain(|&row| {
            let PortInfo { port, port_priority, .. } = *self.ports[row].partner();
            let is_free = !taken.contains(&(port_priority, port));
            taken.push((port_priority, port));
            is_free
        });
        rows.sort_unstable();
        rows
    }
}

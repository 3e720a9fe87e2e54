//! Addresses of hosts at their leaves: whom a host tells them to, and what becomes of what a leaf has learned.
//!
//! A leaf turns each entry of its ARP table into a /32 host route (HPN section 4.2), so remote switches know from which
//! leaves a host can be reached. A host on two leaves has to tell both: a bond sends a frame by one of its ports.
use railtwin_units::SimTime;

use super::lacp::{End, PortTurn};

railtwin_units::choice! {
    /// By which ports of its bond a host announces its address.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Announce {
        /// By each port that distributes: all leaves learn it (HPN section 4.2).
        Both = "both",
        /// As any other frame, by one of them: the first that distributes.
        One = "one",
    }
}

/// A leaf's route to a host comes or goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostRoute {
    /// When.
    pub at: SimTime,
    /// Row of the host's port that leads to the leaf.
    pub port: usize,
    /// Whether the leaf has the address from now on.
    pub is_known: bool,
}

/// What leaves know of a host, from the turns of its bond's ports. A leaf forgets the address when its port stops to
/// distribute; it learns it `delay` after the host announces by that port, which the host does whenever the ports that
/// distribute change.
pub fn host_routes(turns: &[PortTurn], ports: usize, announce: Announce, delay: SimTime) -> Vec<HostRoute> {
    let mut distributes = vec![[false; 2]; ports];
    let mut known = vec![false; ports];
    // When each leaf will have learned.
    let mut due = vec![SimTime::NEVER; ports];
    let mut routes = Vec::new();
    let mut learn = |until: SimTime, known: &mut Vec<bool>, due: &mut Vec<SimTime>| {
        let mut now: Vec<(SimTime, usize)> =
            due.iter().enumerate().filter(|(_, at)| **at < until).map(|(port, at)| (*at, port)).collect();
        now.sort_unstable();
        for (at, port) in now {
            due[port] = SimTime::NEVER;
            if !std::mem::replace(&mut known[port], true) {
                routes.push(HostRoute { at, port, is_known: true });
            }
        }
        routes.len()
    };
    let mut lost = Vec::new();
    for moment in turns.chunk_by(|a, b| a.at == b.at) {
        let at = moment[0].at;
        learn(at, &mut known, &mut due);
        for turn in moment {
            distributes[turn.port][turn.end as usize] = turn.distributes;
            if turn.end == End::Leaf && !turn.distributes {
                due[turn.port] = SimTime::NEVER;
                if std::mem::replace(&mut known[turn.port], false) {
                    lost.push(HostRoute { at, port: turn.port, is_known: false });
                }
            }
        }
        for port in announced(&distributes, announce) {
            if !known[port] && due[port] == SimTime::NEVER {
                due[port] = at.saturating_add(delay);
            }
        }
    }
    learn(SimTime::NEVER, &mut known, &mut due);
    routes.extend(lost);
    routes.sort_unstable();
    routes
}

/// Ports whose leaf hears the host's announcement now.
fn announced(distributes: &[[bool; 2]], announce: Announce) -> Vec<usize> {
    let sends = |port: &usize| distributes[*port][End::Host as usize];
    let hears = |port: &usize| distributes[*port][End::Leaf as usize];
    let ports = 0..distributes.len();
    match announce {
        Announce::Both => ports.filter(sends).filter(hears).collect(),
        Announce::One => ports.clone().find(sends).into_iter().filter(hears).collect(),
    }
}

/// A leaf's table of MAC addresses, for what it bridges: it goes on forwarding to the port of an address until that is
/// heard elsewhere or `aging` has passed since it was heard last. With an ARP proxy, hosts of a segment send to the
/// leaf's own address instead, and what they send is routed (HPN section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bridged {
    /// Whether leaves answer ARP with their own address.
    pub proxy: bool,
    /// Life of an entry.
    pub aging: SimTime,
}

impl Bridged {
    /// When the traffic of a segment leaves a port that was lost at `at`, where its routes leave it at `routed`.
    pub fn leaves(self, at: SimTime, routed: SimTime) -> SimTime {
        if self.proxy { routed } else { at.saturating_add(self.aging) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> SimTime {
        SimTime::from_ns(seconds * 1_000_000_000)
    }

    fn turn(at: u64, port: usize, distributes: bool) -> [PortTurn; 2] {
        [End::Host, End::Leaf].map(|end| PortTurn { at: s(at), port, end, distributes })
    }

    /// Both ports join at 2 s, port 0 leaves at 10 s and is back at 20 s.
    fn life() -> Vec<PortTurn> {
        [turn(2, 0, true), turn(2, 1, true), turn(10, 0, false), turn(20, 0, true)].concat()
    }

    fn told(announce: Announce) -> Vec<(u64, usize, bool)> {
        let routes = host_routes(&life(), 2, announce, s(1));
        routes.iter().map(|route| (route.at.ps() / 1_000_000_000_000, route.port, route.is_known)).collect()
    }

    #[test]
    fn both_leaves_learn_what_is_told_to_both() {
        assert_eq!(told(Announce::Both), [(3, 0, true), (3, 1, true), (10, 0, false), (21, 0, true)]);
    }

    #[test]
    fn one_leaf_alone_learns_what_goes_by_one_port() {
        // The other leaf learns when its port is the first of those that are left, and never forgets while it is up.
        assert_eq!(told(Announce::One), [(3, 0, true), (10, 0, false), (11, 1, true), (21, 0, true)]);
    }

    #[test]
    fn without_a_proxy_a_dead_port_is_used_until_its_address_ages() {
        let bridged = |proxy| Bridged { proxy, aging: s(300) }.leaves(s(10), s(11));
        assert_eq!((bridged(true), bridged(false)), (s(11), s(310)));
    }
}

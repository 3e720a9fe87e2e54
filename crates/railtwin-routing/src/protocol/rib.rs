//! Routes by longest prefix, as a speaker of BGP holds them: several next hops of one length are all used.
use std::collections::BTreeMap;
use std::fmt;

/// A range of IPv4 addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Route {
    /// Its first address.
    address: u32,
    /// How many bits are fixed, 0 to 32.
    length: u8,
}

impl Route {
    /// The addresses that share the first `length` bits with `address`; more than 32 are 32.
    pub fn new(address: u32, length: u8) -> Self {
        let length = length.min(32);
        Self { address: address & mask(length), length }
    }

    /// One address alone.
    pub fn host(address: u32) -> Self {
        Self::new(address, 32)
    }

    /// How many bits are fixed.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in it.
    pub fn has(self, address: u32) -> bool {
        address & mask(self.length) == self.address
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.address.to_be_bytes();
        write!(f, "{a}.{b}.{c}.{d}/{}", self.length)
    }
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
}

/// What a speaker has heard from its neighbors, who are numbered by the caller.
#[derive(Clone, Default, Debug)]
pub struct Rib {
    /// By route and neighbor, how many speakers away its origin is.
    routes: BTreeMap<Route, BTreeMap<u32, u8>>,
}

impl Rib {
    /// A neighbor announces a route whose origin is `hops` speakers behind it; false where that was known.
    pub fn announce(&mut self, route: Route, neighbor: u32, hops: u8) -> bool {
        self.routes.entry(route).or_default().insert(neighbor, hops) != Some(hops)
    }

    /// A neighbor withdraws a route; false where it had not announced it.
    pub fn withdraw(&mut self, route: Route, neighbor: u32) -> bool {
        let Some(by_neighbor) = self.routes.get_mut(&route) else { return false };
        let had = by_neighbor.remove(&neighbor).is_some();
        if by_neighbor.is_empty() {
            self.routes.remove(&route);
        }
        had
    }

    /// Whether a neighbor announces a route.
    pub fn has(&self, route: Route, neighbor: u32) -> bool {
        self.routes.get(&route).is_some_and(|by_neighbor| by_neighbor.contains_key(&neighbor))
    }

    /// The session with a neighbor ended: all that it announced is gone.
    pub fn forget(&mut self, neighbor: u32) {
        self.routes.retain(|_, by_neighbor| {
            by_neighbor.remove(&neighbor);
            !by_neighbor.is_empty()
        });
    }

    /// Neighbors that an address is sent to, ascending: those with the fewest hops for its longest route. Empty where it
    /// has none.
    pub fn next_hops(&self, address: u32) -> Vec<u32> {
        let mut lengths: Vec<u8> = self.routes.keys().map(|route| route.length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let found = lengths.iter().rev().find_map(|&length| self.routes.get(&Route::new(address, length)));
        let Some(by_neighbor) = found else { return Vec::new() };
        let least = by_neighbor.values().min();
        by_neighbor.iter().filter(|(_, hops)| Some(*hops) == least).map(|(&neighbor, _)| neighbor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: u32 = 0x0a01_0203;

    #[test]
    fn the_longest_route_wins_and_the_subnet_catches_what_it_loses() {
        let mut rib = Rib::default();
        let (subnet, host) = (Route::new(HOST, 24), Route::host(HOST));
        for leaf in [0, 1] {
            assert!(rib.announce(subnet, leaf, 1) && rib.announce(host, leaf, 1));
        }
        assert_eq!(rib.next_hops(HOST), [0, 1]);
        assert!(rib.withdraw(host, 0) && !rib.withdraw(host, 0));
        // The subnet of leaf 0 is still announced, and shorter.
        assert_eq!(rib.next_hops(HOST), [1]);
        assert_eq!(rib.next_hops(HOST + 1), [0, 1], "another host of the subnet");
        assert!(rib.has(host, 1) && rib.withdraw(host, 1) && !rib.has(host, 1));
        assert_eq!(rib.next_hops(HOST), [0, 1]);
        rib.forget(0);
        assert_eq!(rib.next_hops(HOST), [1]);
        rib.forget(1);
        assert_eq!(rib.next_hops(HOST), [] as [u32; 0]);
        assert_eq!((subnet.to_string(), host.to_string()), ("10.1.2.0/24".into(), "10.1.2.3/32".into()));
    }

    #[test]
    fn of_one_route_the_nearest_origin_is_taken() {
        let mut rib = Rib::default();
        let all = Route::new(0, 0);
        assert!(rib.announce(all, 7, 3) && rib.announce(all, 9, 2) && !rib.announce(all, 9, 2));
        assert_eq!(rib.next_hops(HOST), [9]);
    }
}

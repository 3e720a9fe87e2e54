//! Two leaves that are stacked (vPC, M-LAG): one control plane for two switches, by a peer link that carries addresses and
//! an out-of-band link that tells whether the other lives (HPN section 4.1).
//!
//! One leaf is the primary. The pair must never answer twice with one address, so where the two no longer agree, the
//! secondary takes its own host ports down, if it can tell that the primary lives. The peer link ends in the primary's
//! data plane: where that dies and its control plane lives on, the secondary hears nothing by the peer link, hears by the
//! out-of-band link that the primary is alive, and takes its ports down: all NICs of the set lose both leaves.
use std::fmt;

/// A version of a leaf's software.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version {
    /// Changes with what the control planes of a pair say to each other.
    pub major: u32,
    /// Changes with the rest.
    pub minor: u32,
}

impl Version {
    /// Whether two leaves of a pair with these versions understand each other: what one says, the other knows.
    pub const fn agrees(self, other: Self) -> bool {
        self.major == other.major
    }

    /// Whether a leaf may go from this version to another in service, its data plane forwarding on: a small difference
    /// alone allows it (HPN section 4.1: 70 % of three years' upgrades did not).
    pub const fn in_service(self, next: Self) -> bool {
        self.major == next.major && self.minor.abs_diff(next.minor) <= 1
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl std::str::FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) =
            parts.ok_or_else(|| format!("{text:?} is no version: write two numbers, such as 4.2"))?;
        Ok(Self { major, minor })
    }
}

/// How one leaf of a pair is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its software decides and talks.
    pub control: bool,
    /// Its chip forwards.
    pub data: bool,
    /// Its software.
    pub version: Version,
}

/// What a leaf does for its hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// It forwards.
    Forwards,
    /// It does not forward; its ports are up.
    Dead,
    /// It took its host ports down, for this reason.
    ShutDown(Reason),
}

/// Why a leaf takes its host ports down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The peer link is silent and the primary lives: two leaves with one address would forward apart.
    PeerLink,
    /// The two leaves' software does not understand each other.
    Versions,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PeerLink => "the peer link is silent",
            Self::Versions => "the two versions do not understand each other",
        })
    }
}

/// A stacked pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackedPair {
    /// The leaves.
    pub members: [Member; 2],
    /// Row of the primary.
    pub primary: usize,
    /// Whether the cables of the peer link are well.
    pub peer_link: bool,
    /// Whether the out-of-band link is.
    pub out_of_band: bool,
}

impl StackedPair {
    /// A pair that is well, with one version; the first leaf is the primary.
    pub const fn well(version: Version) -> Self {
        let member = Member { control: true, data: true, version };
        Self { members: [member; 2], primary: 0, peer_link: true, out_of_band: true }
    }

    /// The leaves settle: who is the primary from now on, and what each does for its hosts.
    pub fn settle(&mut self) -> [Service; 2] {
        let secondary = 1 - self.primary;
        let hears_peer = self.peer_link && self.members.iter().all(|member| member.data);
        let alive = |row: usize| self.members[row].control;
        if !alive(self.primary) && alive(secondary) {
            // Neither link tells of the primary: the secondary takes over. Where the peer link still carries, it does, too:
            // hellos are the control plane's.
            self.primary = secondary;
            return self.services(None);
        }
        let told_alive = self.out_of_band && alive(self.primary);
        let reason = match (alive(secondary), hears_peer) {
            (true, true) if !self.members[0].version.agrees(self.members[1].version) => {
                Some(Reason::Versions)
            }
            (true, false) if told_alive => Some(Reason::PeerLink),
            _ => None,
        };
        self.services(reason)
    }

    fn services(&self, reason: Option<Reason>) -> [Service; 2] {
        [0, 1].map(|row| match (self.members[row].data, reason) {
            (true, Some(reason)) if row != self.primary => Service::ShutDown(reason),
            (true, _) => Service::Forwards,
            (false, Some(reason)) if row != self.primary => Service::ShutDown(reason),
            (false, _) => Service::Dead,
        })
    }
}

/// Two leaves that know nothing of each other (HPN section 4.2): each does what its own data plane can.
pub fn non_stacked(members: [Member; 2]) -> [Service; 2] {
    members.map(|member| if member.data { Service::Forwards } else { Service::Dead })
}

/// A stretch of an upgrade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpgradeStep {
    /// The leaf that is upgraded; none while both run.
    pub leaf: Option<usize>,
    /// What each leaf does for its hosts.
    pub services: [Service; 2],
}

impl UpgradeStep {
    /// Whether hosts reach the network.
    pub fn is_reachable(&self) -> bool {
        self.services.contains(&Service::Forwards)
    }
}

/// A rolling upgrade of two leaves from one version to another, the secondary first, as the ports of a host see it.
/// Stacked leaves run with two versions between the two steps, and while one reboots out of service.
pub fn upgrade(stacked: bool, from: Version, to: Version) -> Vec<UpgradeStep> {
    let mut pair = StackedPair::well(from);
    let in_service = stacked && from.in_service(to);
    let mut steps = Vec::new();
    for leaf in [1, 0] {
        let member = &mut pair.members[leaf];
        (member.control, member.data) = (false, in_service);
        steps.push(UpgradeStep { leaf: Some(leaf), services: services(&mut pair, stacked) });
        pair.members[leaf] = Member { control: true, data: true, version: to };
        steps.push(UpgradeStep { leaf: None, services: services(&mut pair, stacked) });
    }
    steps
}

fn services(pair: &mut StackedPair, stacked: bool) -> [Service; 2] {
    if stacked { pair.settle() } else { non_stacked(pair.members) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Service::{Dead, Forwards, ShutDown};

    const OLD: Version = Version { major: 4, minor: 1 };
    const NEXT: Version = Version { major: 4, minor: 2 };
    const NEW: Version = Version { major: 5, minor: 0 };

    fn pair(change: impl FnOnce(&mut StackedPair)) -> [Service; 2] {
        let mut pair = StackedPair::well(OLD);
        change(&mut pair);
        pair.settle()
    }

    #[test]
    fn a_dead_data_plane_of_the_primary_takes_both_leaves() {
        assert_eq!(pair(|pair| pair.members[0].data = false), [Dead, ShutDown(Reason::PeerLink)]);
        assert_eq!(non_stacked(StackedPair { ..dead_data(0) }.members), [Dead, Forwards]);
        // That of the secondary takes the secondary alone, which is out either way.
        assert_eq!(pair(|pair| pair.members[1].data = false), [Forwards, ShutDown(Reason::PeerLink)]);
    }

    fn dead_data(row: usize) -> StackedPair {
        let mut pair = StackedPair::well(OLD);
        pair.members[row].data = false;
        pair
    }

    #[test]
    fn a_dead_primary_is_replaced() {
        let mut dead = StackedPair::well(OLD);
        (dead.members[0].control, dead.members[0].data) = (false, false);
        assert_eq!((dead.settle(), dead.primary), ([Dead, Forwards], 1));
    }

    #[test]
    fn a_peer_link_alone_takes_the_secondary_unless_nobody_tells_that_the_primary_lives() {
        assert_eq!(pair(|pair| pair.peer_link = false), [Forwards, ShutDown(Reason::PeerLink)]);
        let apart = pair(|pair| (pair.peer_link, pair.out_of_band) = (false, false));
        assert_eq!(apart, [Forwards, Forwards], "two leaves with one address, each for itself");
    }

    #[test]
    fn versions_that_differ_too_much_take_the_secondary() {
        assert_eq!(pair(|pair| pair.members[1].version = NEW), [Forwards, ShutDown(Reason::Versions)]);
        assert_eq!(pair(|pair| pair.members[1].version = NEXT), [Forwards, Forwards]);
    }

    #[test]
    fn an_upgrade_keeps_hosts_reachable_where_leaves_do_not_depend_on_each_other() {
        for to in [NEXT, NEW] {
            assert!(upgrade(false, OLD, to).iter().all(UpgradeStep::is_reachable), "{to}");
        }
        // A small difference is upgraded in service, and both forward all along.
        let small = upgrade(true, OLD, NEXT);
        assert!(small.iter().all(|step| step.services == [Forwards; 2]), "{small:?}");
        // A large one: while the primary reboots, the upgraded secondary has taken its own ports down.
        let large = upgrade(true, OLD, NEW);
        assert_eq!(large[1].services, [Forwards, ShutDown(Reason::Versions)]);
        assert_eq!(large.iter().filter(|step| !step.is_reachable()).count(), 0, "{large:?}");
    }
}

//! What is asked of the allocator and what it answers.
use std::fmt;

use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::dense_id;

dense_id!(
    /// One job, of whichever tenant.
    JobId
);

/// Links of the longest path through three tiers: access, two up, two down, access.
pub const MAX_PATH_LINKS: usize = 6;

/// Queue pairs that a job wants between a port of a NIC and another NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand<'a> {
    /// Where they send.
    pub source: NicPort,
    /// Where to.
    pub target: DeviceId,
    /// Their numbers at the target, which switches may hash; one assignment each.
    pub queue_pairs: &'a [u32],
    /// How much of a link's use each counts for; 1 where all are alike.
    pub weight: u16,
}

/// The links of a path in order, both access links included; empty for none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    links: [LinkId; MAX_PATH_LINKS],
    len: u8,
}

impl Path {
    /// No path.
    pub const NONE: Self = Self { links: [LinkId(0); MAX_PATH_LINKS], len: 0 };

    /// A path of these links.
    ///
    /// # Panics
    /// Beyond [`MAX_PATH_LINKS`] links.
    pub fn of(links: &[LinkId]) -> Self {
        let mut path = Self::NONE;
        links.iter().for_each(|&link| path.push(link));
        path
    }

    #[inline]
    pub(super) fn push(&mut self, link: LinkId) {
        self.links[usize::from(self.len)] = link;
        self.len += 1;
    }

    /// All links.
    #[inline]
    pub fn links(&self) -> &[LinkId] {
        &self.links[..usize::from(self.len)]
    }

    /// The links between switches: those that paths should not share.
    pub fn beyond_access(&self) -> &[LinkId] {
        let links = self.links();
        &links[links.len().min(1)..links.len().saturating_sub(1)]
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.links()).finish()
    }
}

/// Why an assignment is as it is. Of several reasons the last of this list is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// Of all paths this one's most used link is the least used, and the sum of uses decides among equals.
    LeastUsed,
    /// No source port reaches the least used path, as the hashes of several switches hang together; this is the
    /// best that one reaches.
    NoPortReaches,
    /// No live path lands on the port of the target that bears the number of the source port.
    OtherPort,
    /// The path crosses a link that is known to be faulty, as does every other that a port reaches.
    OverFaulty,
    /// There is no path: a port of the source or all of the target's is down, or no switch knows a way.
    Stranded,
}

impl Reason {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeastUsed => "least-used",
            Self::NoPortReaches => "no-port-reaches",
            Self::OtherPort => "other-port",
            Self::OverFaulty => "over-faulty",
            Self::Stranded => "stranded",
        }
    }
}

/// One queue pair's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// Where it sends.
    pub source: NicPort,
    /// Where to.
    pub target: DeviceId,
    /// Its number at the target.
    pub queue_pair: u32,
    /// What it adds to the use of each of its links.
    pub weight: u16,
    /// The UDP source port by which the switches' hashes take the path; 0xC000 where there is none.
    pub source_port: u16,
    /// The port of the target on which it lands; none without a path.
    pub landed: Option<u32>,
    /// Its links.
    pub path: Path,
    /// Why this one.
    pub reason: Reason,
}

//! From a wanted member of an ECMP group back to the source port that lands on it.
//!
//! Every hash here is affine in the key, so the 14 free bits of a RoCE source port add up: the
//! hash at any port is the hash at port 0xC000 XOR the differences of its set bits (RePaC, USENIX
//! ATC 2021). For power-of-two groups "lands on member b" is a set of linear equations over GF(2)
//! in those 14 bits, at one tier or several; other sizes are searched, one XOR a port.

use crate::five_tuple::HashKey;
use crate::hash::{HashSpec, bucket_of};
use crate::port_space::{Equation, PortEquations};
use crate::source_port::{FIRST_PORT, LAST_PORT, PORT_BITS, PORT_COUNT};

/// What one switch makes of a packet at each source port in 0xC000..=0xFFFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortSolver {
    /// Hash at port 0xC000.
    base: u32,
    /// What setting bit `i` of the port adds to the hash.
    differences: [u32; PORT_BITS as usize],
}

impl PortSolver {
    /// Learns a switch's answer with 15 hashes; the source port in `key` does not matter.
    /// `key.ingress_port` is the port of arrival at that very switch, if it reads it.
    pub fn new(spec: &HashSpec, key: &HashKey) -> Self {
        let base = spec.hash(&key.with_source_port(FIRST_PORT));
        let differences =
            std::array::from_fn(|bit| spec.hash(&key.with_source_port(FIRST_PORT | 1 << bit)) ^ base);
        Self { base, differences }
    }

    /// The hash at `port`, of which the low 14 bits count.
    pub fn hash(&self, port: u16) -> u32 {
        let set = |bit: usize| 0u32.wrapping_sub(u32::from(port) >> bit & 1);
        self.differences
            .iter()
            .enumerate()
            .fold(self.base, |hash, (bit, difference)| hash ^ (difference & set(bit)))
    }

    /// The lowest port whose hash takes member `bucket` of `members`; `None` if no port does.
    ///
    /// # Panics
    /// If `members` is 0.
    pub fn solve(&self, members: usize, bucket: usize) -> Option<u16> {
        solve_joint(&[Wanted { solver: self, members, bucket }])
    }

    /// All hashes, in the order of ports from 0xC000, each by one XOR from an earlier one.
    pub(crate) fn hashes(&self) -> Vec<u32> {
        let mut hashes = Vec::with_capacity(PORT_COUNT);
        hashes.push(self.base);
        for difference in self.differences {
            for lower in 0..hashes.len() {
                hashes.push(hashes[lower] ^ difference);
            }
        }
        hashes
    }
}

/// One demand on a source port: at this switch, take this member of this many.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The switch's answers.
    pub solver: &'a PortSolver,
    /// Size of its ECMP group.
    pub members: usize,
    /// The member to take.
    pub bucket: usize,
}

/// The lowest port in 0xC000..=0xFFFF that meets every demand; `None` if no port does.
///
/// Demands on power-of-two groups are solved by elimination; the others are then searched for
/// among those that are left.
///
/// ```
/// use railtwin_routing::*;
///
/// let key = HashKey::of(FiveTuple::roce(0x0a00_0001, 0x0a00_0102, roce_source_port(0x11, 0x22)));
/// let leaf = HashSpec::new(HashFunction::Crc32).with_seed(1);
/// let spine = HashSpec::new(HashFunction::Crc32).with_seed(2);
///
/// // Member 5 of 16 at the leaf and member 3 of 8 at the spine, by one port.
/// let (at_leaf, at_spine) = (PortSolver::new(&leaf, &key), PortSolver::new(&spine, &key));
/// let port = solve_joint(&[
///     Wanted { solver: &at_leaf, members: 16, bucket: 5 },
///     Wanted { solver: &at_spine, members: 8, bucket: 3 },
/// ]);
/// let steered = key.with_source_port(port.expect("7 equations, 14 free bits"));
/// assert_eq!((leaf.bucket(&steered, 16), spine.bucket(&steered, 8)), (5, 3));
/// ```
///
/// # Panics
/// If a group has no member.
pub fn solve_joint(wanted: &[Wanted<'_>]) -> Option<u16> {
    let empty = wanted.iter().position(|demand| demand.members == 0);
    assert!(empty.is_none(), "an ECMP group needs a member; demand {empty:?} has none");
    if wanted.iter().any(|demand| demand.bucket >= demand.members) {
        return None;
    }
    let (linear, others): (Vec<&Wanted<'_>>, Vec<_>) =
        wanted.iter().partition(|demand| demand.members.is_power_of_two());
    let mut equations = PortEquations::default();
    let are_met = linear.iter().all(|demand| demand.insert_into(&mut equations));
    let mut ports = are_met.then(|| equations.space().ports())?;
    ports.find(|&port| others.iter().all(|one| bucket_of(one.solver.hash(port), one.members) == one.bucket))
}

impl Wanted<'_> {
    /// Adds the equations of a power-of-two group; false if they contradict those before.
    fn insert_into(&self, equations: &mut PortEquations) -> bool {
        (0..self.members.trailing_zeros()).all(|bit| {
            let mask = self
                .solver
                .differences
                .iter()
                .enumerate()
                .fold(0, |mask, (port_bit, &d)| mask | (bit_of(u64::from(d), bit) as u16) << port_bit);
            let right = bit_of(u64::from(self.solver.base), bit) ^ bit_of(self.bucket as u64, bit) == 1;
            equations.insert(Equation { mask, right })
        })
    }
}

/// The ports 0xC000..=0xFFFF sorted by the group member they take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortsByBucket {
    /// Ports, by member and then ascending.
    ports: Vec<u16>,
    /// Member `b` owns `ports[starts[b]..starts[b + 1]]`.
    starts: Vec<usize>,
}

impl PortsByBucket {
    /// Size of the group.
    pub fn members(&self) -> usize {
        self.starts.len() - 1
    }

    /// The ports that take member `bucket`, ascending; none for a member the group lacks.
    pub fn ports(&self, bucket: usize) -> &[u16] {
        match self.starts.get(bucket..bucket.saturating_add(2)) {
            Some(&[start, end]) => &self.ports[start..end],
            _ => &[],
        }
    }
}

/// Sorts all RoCE source ports by the member of `members` that `spec` sends `key` to.
///
/// # Panics
/// If `members` is 0.
pub fn ports_by_bucket(spec: &HashSpec, key: &HashKey, members: usize) -> PortsByBucket {
    let hashes = PortSolver::new(spec, key).hashes();
    let buckets: Vec<usize> = hashes.into_iter().map(|hash| bucket_of(hash, members)).collect();
    let mut starts = vec![0; members + 1];
    for &bucket in &buckets {
        starts[bucket + 1] += 1;
    }
    for bucket in 0..members {
        starts[bucket + 1] += starts[bucket];
    }
    let mut free = starts.clone();
    let mut ports = vec![0; PORT_COUNT];
    for (port, bucket) in (FIRST_PORT..=LAST_PORT).zip(buckets) {
        ports[free[bucket]] = port;
        free[bucket] += 1;
    }
    PortsByBucket { ports, starts }
}

/// Bit `bit` of `value`, 0 beyond its width.
fn bit_of(value: u64, bit: u32) -> u64 {
    value.checked_shr(bit).unwrap_or(0) & 1
}

#[cfg(test)]
#[path = "solve_tests.rs"]
mod tests;

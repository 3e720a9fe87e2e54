//! One hash of a fabric's switches, looked up, and the group that it chooses in.
use railtwin_fabric::LinkId;
use railtwin_routing::source_port::FIRST_PORT;
use railtwin_routing::{Fields, HashKey, HashSpec, PortTable, Routing, SeedTable};

/// Ports tried for the least sum before any way with the least most-used link is good enough.
pub(super) const STRICT_PORTS: u16 = 256;
/// Words of 64 ports that hold these and the next one.
pub(super) const STRICT_WORDS: usize = STRICT_PORTS as usize / 64 + 1;

/// One hash of a fabric's switches, looked up.
#[derive(Clone, Debug)]
pub(super) struct HashTable {
    pub(super) spec: HashSpec,
    /// From the plain hash of a packet at the first source port, which all switches share.
    pub(super) seed: SeedTable,
    /// What source ports add.
    pub(super) ports: PortTable,
    /// By number of low bits, where a first leaf chooses by them: for each value of the low bits which of the first
    /// ports add it.
    pub(super) first_ports: Vec<Vec<[u64; STRICT_WORDS]>>,
}

impl HashTable {
    /// For each value of the low bits that choose in a group the first ports that add it; none where the group is no
    /// power of two.
    #[inline]
    pub(super) fn first_ports(&self, members: Members) -> Option<&[[u64; STRICT_WORDS]]> {
        self.first_ports
            .get(members.low_bits()? as usize)
            .map(Vec::as_slice)
            .filter(|columns| !columns.is_empty())
    }

    pub(super) fn learn_first_ports(&mut self, members: Members) {
        let Some(bits) = members.low_bits().map(|bits| bits as usize) else { return };
        if self.first_ports.len() <= bits {
            self.first_ports.resize(bits + 1, Vec::new());
        }
        if !self.first_ports[bits].is_empty() {
            return;
        }
        let mut columns = vec![[0; STRICT_WORDS]; 1 << bits];
        for port in 0..64 * STRICT_WORDS {
            let added = self.ports.difference(FIRST_PORT + port as u16) as usize % (1 << bits);
            columns[added][port / 64] |= 1 << (port % 64);
        }
        self.first_ports[bits] = columns;
    }

    /// What the port by which a link enters the switch adds; 0 where the hash does not read it.
    pub(super) fn twist(&self, routing: &Routing<'_>, arrival: LinkId) -> u32 {
        if !self.spec.fields.contains(Fields::INGRESS_PORT) {
            return 0;
        }
        let key = HashKey::default();
        self.spec.hash(&key) ^ self.spec.hash(&key.with_ingress_port(routing.arrival_port(arrival)))
    }
}

/// `hash mod members` by two multiplications (Lemire, Kaser, Kurz: faster remainder by direct computation, 2019).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Members {
    magic: u64,
    pub(super) count: u32,
}

impl Members {
    /// No group.
    pub(super) const NONE: Self = Self { magic: 0, count: 0 };

    /// A group of so many members.
    pub(super) fn new(count: u32) -> Self {
        Self { magic: (u64::MAX / u64::from(count.max(1))).wrapping_add(1), count }
    }

    /// Exact for every 32-bit hash.
    #[inline]
    pub(super) fn bucket(self, hash: u32) -> usize {
        let fraction = self.magic.wrapping_mul(u64::from(hash));
        ((u128::from(fraction) * u128::from(self.count)) >> 64) as usize
    }

    /// How many there are.
    #[inline]
    pub(super) fn count(self) -> u32 {
        self.count
    }

    /// Whether the group is empty.
    #[inline]
    pub(super) fn is_none(self) -> bool {
        self.count == 0
    }

    /// The number of low bits that decide, where the count is a power of two.
    pub(super) fn low_bits(self) -> Option<u32> {
        self.count.is_power_of_two().then(|| self.count.trailing_zeros())
    }
}

//! Up-down forwarding of a tiered fabric: which links a switch may take towards a NIC.
//!
//! Every leaf announces a /32 host route for each NIC that it has a live link to. NICs with the
//! same set of announcing leaves share their routes, so a *target* here is such a set. After
//! convergence of BGP a switch holds, for each target, the ECMP group of its shortest ways: down
//! where a child leads down to a leaf of the set, else up through those parents that are nearest
//! to it. Links to a spine that lost the leaf are in no group, as its route is withdrawn.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use railtwin_fabric::{DeviceId, Fabric, LinkId, NONE};
use railtwin_units::dense_id;

pub use crate::adjacency::Access;
use crate::adjacency::{NicLinks, SwitchLinks};
use crate::core_ports::CorePorts;
use crate::mask::LinkMask;

dense_id!(
    /// A set of leaves that announce the same NICs.
    TargetId
);

/// The converged tables of all switches under one mask. Tables of a target are computed when it
/// is first asked for and kept; this is `Sync`, so routing may go on in many threads.
#[derive(Clone, Debug)]
pub struct Forwarding {
    mask: LinkMask,
    switches: SwitchLinks,
    nics: NicLinks,
    cores: CorePorts,
    /// By NIC number: its target, [`NONE`] if no leaf reaches the NIC.
    target_of: Vec<u32>,
    /// By target: rows of its leaves, ascending.
    leaves: Vec<Box<[u32]>>,
    tables: Vec<OnceLock<Table>>,
}

impl Forwarding {
    /// Tables for `fabric` with the links in `mask` dead. Each direction of a cable counts by
    /// itself. Takes time in proportion to the links; the tables follow on demand.
    pub fn new(fabric: &Fabric, mask: &LinkMask) -> Self {
        let nics = NicLinks::new(fabric, mask);
        let mut known: BTreeMap<Box<[u32]>, u32> = BTreeMap::new();
        let mut leaves = Vec::new();
        let mut target_of = Vec::with_capacity(nics.count());
        for number in 0..nics.count() {
            let mut set = nics.arrival_leaves(number).to_vec();
            set.dedup();
            let target = match known.get(set.as_slice()) {
                _ if set.is_empty() => NONE,
                Some(&target) => target,
                None => {
                    let target = leaves.len() as u32;
                    known.insert(set.clone().into(), target);
                    leaves.push(set.into());
                    target
                }
            };
            target_of.push(target);
        }
        Self {
            mask: mask.clone(),
            switches: SwitchLinks::new(fabric, mask),
            nics,
            cores: CorePorts::new(fabric),
            target_of,
            tables: vec![OnceLock::new(); leaves.len()],
            leaves,
        }
    }

    /// The mask that the tables were made under.
    pub fn mask(&self) -> &LinkMask {
        &self.mask
    }

    /// Number of targets.
    pub fn target_count(&self) -> usize {
        self.leaves.len()
    }

    /// The target of a NIC; none if no live link leads from a leaf to it, or it is no backend NIC.
    #[inline]
    pub fn target_of(&self, nic: DeviceId) -> Option<TargetId> {
        let target = self.target_of[self.nics.number(nic)?];
        (target != NONE).then_some(TargetId(target))
    }

    /// Rows in [`Fabric::switches`] of the leaves of a target, ascending.
    pub fn leaves(&self, target: TargetId) -> &[u32] {
        &self.leaves[target.index()]
    }

    /// The cabled backend ports of a NIC, dead or alive; none for other devices.
    #[inline]
    pub fn accesses(&self, nic: DeviceId) -> &[Access] {
        self.nics.number(nic).map_or(&[], |number| self.nics.access(number))
    }

    /// What sits in backend port `port` of a NIC, dead or alive.
    #[inline]
    pub fn access(&self, nic: DeviceId, port: u32) -> Option<&Access> {
        self.accesses(nic).iter().find(|access| access.port == port)
    }

    /// The ECMP group of a switch towards a target: live links in order of ports. Empty where the
    /// switch has no way, and at the leaves of the target, which deliver ([`Self::next_links`]).
    #[inline]
    pub fn group(&self, switch_row: u32, target: TargetId) -> &[LinkId] {
        match self.table(target).entries[switch_row as usize] {
            Entry::Nothing | Entry::Deliver => &[],
            Entry::AllUp => self.switches.up.get(switch_row as usize),
            Entry::Some { start, len } => &self.table(target).links[start as usize..(start + len) as usize],
        }
    }

    /// The live links up out of a switch, in order of ports.
    #[inline]
    pub fn uplinks(&self, switch_row: u32) -> &[LinkId] {
        self.switches.up.get(switch_row as usize)
    }

    /// Whether a switch has the target's NICs on links of its own.
    #[inline]
    pub fn delivers(&self, switch_row: u32, target: TargetId) -> bool {
        matches!(self.table(target).entries[switch_row as usize], Entry::Deliver)
    }

    /// The links among which a switch chooses for a packet to a NIC, the last hop included. A leaf
    /// with a live link to the NIC takes no other. Empty where there is no way.
    #[inline]
    pub fn next_links(&self, switch_row: u32, nic: DeviceId) -> &[LinkId] {
        let Some(number) = self.nics.number(nic) else {
            return &[];
        };
        let target = self.target_of[number];
        if target == NONE {
            return &[];
        }
        match self.delivers(switch_row, TargetId(target)) {
            true => self.nics.arrivals_from(number, switch_row),
            false => self.group(switch_row, TargetId(target)),
        }
    }

    /// Computes the tables of all targets now instead of on demand.
    pub fn prepare_all(&self) {
        for target in 0..self.target_count() {
            self.table(TargetId::from_index(target));
        }
    }

    /// Bytes that the tables computed so far take, without the links' own lists.
    pub fn table_bytes(&self) -> usize {
        let tables = self.tables.iter().filter_map(OnceLock::get);
        tables.map(|table| size_of_val(&*table.entries) + size_of_val(&*table.links)).sum()
    }

    /// The link by which the core in row `core_row` sends into `target_pod` what came in by `arrival`, under per-port
    /// hashing (HPN section 7): one to one where pods have equally many ports, whatever is dead. None at other switches.
    pub fn core_link(
        &self,
        fabric: &Fabric,
        core_row: u32,
        arrival: LinkId,
        target_pod: u32,
    ) -> Option<LinkId> {
        self.cores.link_for(fabric, core_row, arrival, target_pod)
    }

    #[inline]
    fn table(&self, target: TargetId) -> &Table {
        self.tables[target.index()].get_or_init(|| Table::build(&self.switches, &self.leaves[target.index()]))
    }
}

/// A switch's group, by reference.
#[derive(Clone, Copy, Debug)]
enum Entry {
    Nothing,
    Deliver,
    /// All live links up: shared by all targets.
    AllUp,
    /// A run of [`Table::links`].
    Some {
        start: u32,
        len: u32,
    },
}

/// The groups of all switches towards one target.
#[derive(Clone, Debug)]
struct Table {
    /// By switch row.
    entries: Box<[Entry]>,
    links: Box<[LinkId]>,
}

/// Distance of a switch that cannot reach the target.
const FAR: u8 = u8::MAX;

impl Table {
    fn build(switches: &SwitchLinks, leaves: &[u32]) -> Self {
        let count = switches.descending.len();
        let mut builder = TableBuilder {
            entries: vec![Entry::Nothing; count],
            links: Vec::new(),
            distance: vec![FAR; count],
        };
        for &leaf in leaves {
            builder.entries[leaf as usize] = Entry::Deliver;
            builder.distance[leaf as usize] = 0;
        }
        builder.descend(switches, leaves);
        builder.ascend(switches);
        Self { entries: builder.entries.into(), links: builder.links.into() }
    }
}

struct TableBuilder {
    entries: Vec<Entry>,
    links: Vec<LinkId>,
    distance: Vec<u8>,
}

impl TableBuilder {
    /// Groups of the switches above the leaves, tier by tier: links down to the set.
    fn descend(&mut self, switches: &SwitchLinks, leaves: &[u32]) {
        let mut children = leaves.to_vec();
        let mut distance = 0;
        while !children.is_empty() {
            distance += 1;
            let mut down: Vec<_> =
                children.iter().flat_map(|&child| switches.down_into.get(child as usize)).collect();
            down.sort_unstable_by_key(|hop| (hop.far, hop.rank));
            children.clear();
            for group in down.chunk_by(|a, b| a.far == b.far) {
                let parent = group[0].far;
                self.set(parent, distance, group.iter().map(|hop| hop.link));
                children.push(parent);
            }
        }
    }

    /// Groups of all others, from the top: links up to the nearest parents.
    fn ascend(&mut self, switches: &SwitchLinks) {
        // By list of parents: the least distance among them, and whether all are as near. Switches of a segment share
        // theirs, and parents are done before any of their children.
        let mut known: Vec<Option<(u8, bool)>> = vec![None; switches.parent_lists];
        for &row in &switches.descending {
            if self.distance[row as usize] != FAR {
                continue;
            }
            let parents = switches.up_far.get(row as usize);
            let distances = || parents.iter().map(|&far| self.distance[far as usize]);
            let (nearest, alike) = *known[switches.parents[row as usize] as usize].get_or_insert_with(|| {
                let nearest = distances().min().unwrap_or(FAR);
                (nearest, distances().all(|distance| distance == nearest))
            });
            if nearest == FAR {
                continue;
            }
            if alike {
                self.distance[row as usize] = nearest + 1;
                self.entries[row as usize] = Entry::AllUp;
                continue;
            }
            let near: Vec<LinkId> = switches
                .up
                .get(row as usize)
                .iter()
                .zip(distances())
                .filter(|&(_, distance)| distance == nearest)
                .map(|(&link, _)| link)
                .collect();
            self.set(row, nearest + 1, near.into_iter());
        }
    }

    fn set(&mut self, row: u32, distance: u8, links: impl Iterator<Item = LinkId>) {
        let start = self.links.len() as u32;
        self.links.extend(links);
        let len = self.links.len() as u32 - start;
        self.entries[row as usize] = Entry::Some { start, len };
        self.distance[row as usize] = distance;
    }
}

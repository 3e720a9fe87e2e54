//! Exact-match entries of leaves, which override the choice among equal next links.
//!
//! Meta's data plane (Meta RoCE section 4.3.2) looks a packet up by the port it came in by and
//! the prefix of its destination before it looks at the routes. A hit names the next hop; a miss
//! leaves the packet to BGP and ECMP. All queue pairs of a NIC port towards a prefix move together.

use std::collections::BTreeMap;

use railtwin_fabric::{DeviceId, DeviceKind, Fabric, LinkId, NONE};
use railtwin_units::dense_id;

dense_id!(
    /// NICs that one entry speaks of.
    PrefixId
);

/// Which prefix each backend NIC is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prefixes {
    /// By device: its prefix, [`NONE`] for devices that are no cabled backend NIC.
    of: Vec<u32>,
    /// By prefix: rows of the leaves that its NICs are cabled to, ascending.
    leaves: Vec<Box<[u32]>>,
}

impl Prefixes {
    /// One prefix for all NICs cabled to the same set of leaves: a rack of Meta's, whose leaf
    /// announces one subnet. Prefixes are numbered in the order of their first NICs. Cables count
    /// whether dead or alive, so prefixes outlive faults.
    pub fn by_leaf_set(fabric: &Fabric) -> Self {
        let mut known: BTreeMap<Box<[u32]>, u32> = BTreeMap::new();
        Self::collect(fabric, |leaves, next| *known.entry(leaves.into()).or_insert(next))
    }

    /// One prefix for each NIC: host routes.
    pub fn per_nic(fabric: &Fabric) -> Self {
        Self::collect(fabric, |_, next| next)
    }

    fn collect(fabric: &Fabric, mut choose: impl FnMut(&[u32], u32) -> u32) -> Self {
        let mut prefixes = Self { of: vec![NONE; fabric.device_count()], leaves: Vec::new() };
        for nic in fabric.devices().filter(|&device| fabric.kind(device) == DeviceKind::Nic) {
            let leaves = cabled_leaves(fabric, nic);
            if leaves.is_empty() {
                continue;
            }
            let next = prefixes.leaves.len() as u32;
            let prefix = choose(&leaves, next);
            if prefix == next {
                prefixes.leaves.push(leaves.into());
            }
            prefixes.of[nic.index()] = prefix;
        }
        prefixes
    }

    /// The prefix of a NIC; none for a device without cabled backend ports.
    #[inline]
    pub fn prefix_of(&self, nic: DeviceId) -> Option<PrefixId> {
        let prefix = self.of.get(nic.index()).copied().unwrap_or(NONE);
        (prefix != NONE).then_some(PrefixId(prefix))
    }

    /// Rows in [`Fabric::switches`] of the leaves that the NICs of a prefix are cabled to, ascending.
    ///
    /// # Panics
    /// If the prefix is not one of these.
    pub fn leaves(&self, prefix: PrefixId) -> &[u32] {
        &self.leaves[prefix.index()]
    }

    /// Number of prefixes.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether no NIC has a prefix.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }
}

fn cabled_leaves(fabric: &Fabric, nic: DeviceId) -> Vec<u32> {
    let backend = fabric.ports(nic).filter(|&port| fabric.port_role(port).is_network());
    let cables = backend.filter_map(|port| fabric.cable_at(port).map(|cable| fabric.link_from(cable, port)));
    let mut leaves: Vec<u32> = cables.filter_map(|link| fabric.switch_row(fabric.target(link))).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

/// One entry of a leaf, spelled out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TableEntry {
    /// The link from a NIC into the leaf.
    pub ingress: LinkId,
    /// The destinations that the entry speaks of.
    pub prefix: PrefixId,
    /// The link that packets leave the leaf by.
    pub next: LinkId,
}

/// Exact-match entries of all leaves of a fabric: (link from a NIC into its leaf, prefix of the
/// destination) to the link that packets leave the leaf by (Meta RoCE section 4.3.2). An access
/// link ends on one leaf, so it also says whose entry it is.
#[derive(Clone, Debug)]
pub struct EntryTable {
    prefixes: Prefixes,
    /// By ingress link: entries in order of prefixes. As long as the last ingress ever inserted.
    rows: Vec<Vec<(PrefixId, LinkId)>>,
    len: usize,
}

impl EntryTable {
    /// A table without entries.
    pub fn new(prefixes: Prefixes) -> Self {
        Self { prefixes, rows: Vec::new(), len: 0 }
    }

    /// Which NIC is in which prefix.
    pub fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// The prefix of a NIC; none for a device without cabled backend ports.
    #[inline]
    pub fn prefix_of(&self, nic: DeviceId) -> Option<PrefixId> {
        self.prefixes.prefix_of(nic)
    }

    /// Sets the entry of `ingress` towards `prefix` and gives back the next hop it had before.
    /// Nothing checks that `next` leaves the same leaf: a switch ignores an entry whose next hop
    /// is none of its live ways.
    pub fn insert(&mut self, ingress: LinkId, prefix: PrefixId, next: LinkId) -> Option<LinkId> {
        if ingress.index() >= self.rows.len() {
            self.rows.resize_with(ingress.index() + 1, Vec::new);
        }
        let row = &mut self.rows[ingress.index()];
        match row.binary_search_by_key(&prefix, |&(prefix, _)| prefix) {
            Ok(at) => Some(std::mem::replace(&mut row[at].1, next)),
            Err(at) => {
                row.insert(at, (prefix, next));
                self.len += 1;
                None
            }
        }
    }

    /// Takes out the entry of `ingress` towards `prefix` and gives back its next hop, if it was there.
    pub fn remove(&mut self, ingress: LinkId, prefix: PrefixId) -> Option<LinkId> {
        let row = self.rows.get_mut(ingress.index())?;
        let at = row.binary_search_by_key(&prefix, |&(prefix, _)| prefix).ok()?;
        self.len -= 1;
        Some(row.remove(at).1)
    }

    /// The next hop of `ingress` towards `prefix`.
    #[inline]
    pub fn get(&self, ingress: LinkId, prefix: PrefixId) -> Option<LinkId> {
        let row = self.rows.get(ingress.index())?;
        let at = row.binary_search_by_key(&prefix, |&(prefix, _)| prefix).ok()?;
        Some(row[at].1)
    }

    /// The link by which a packet to NIC `target` that came in by `ingress` leaves the leaf; none
    /// where no entry speaks of it. Allocates nothing.
    #[inline]
    pub fn lookup(&self, ingress: LinkId, target: DeviceId) -> Option<LinkId> {
        // Most links of a fabric have no entries; do not look up the target for those.
        let row = self.rows.get(ingress.index()).filter(|row| !row.is_empty())?;
        let prefix = self.prefix_of(target)?;
        let at = row.binary_search_by_key(&prefix, |&(prefix, _)| prefix).ok()?;
        Some(row[at].1)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries in order of ingress links, then prefixes.
    pub fn iter(&self) -> impl Iterator<Item = TableEntry> + '_ {
        self.rows.iter().zip(0..).flat_map(|(row, ingress)| {
            row.iter().map(move |&(prefix, next)| TableEntry { ingress: LinkId(ingress), prefix, next })
        })
    }
}

/// Equal when they hold the same entries over the same prefixes, whatever the history.
impl PartialEq for EntryTable {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.prefixes == other.prefixes && self.iter().eq(other.iter())
    }
}

impl Eq for EntryTable {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use railtwin_fabric::HostId;
    use railtwin_fabric::preset::{Hpn, LeafSpine};

    use super::*;

    fn fabric() -> Fabric {
        LeafSpine { leaves: 4, hosts_per_leaf: 2, ..LeafSpine::default() }.build().expect("valid")
    }

    #[test]
    fn nics_of_a_leaf_set_share_a_prefix() {
        let fabric = fabric();
        let sets = Prefixes::by_leaf_set(&fabric);
        // Four leaves in pairs of dual-port NICs: two sets of two hosts.
        assert_eq!((sets.len(), sets.leaves(PrefixId(0)).len()), (2, 2));
        let of = |host, nic| sets.prefix_of(fabric.nic(HostId(host), nic));
        assert_eq!(of(0, 0), of(1, 7));
        assert_ne!(of(0, 0), of(2, 0));
        assert_eq!(sets.prefix_of(fabric.gpu(HostId(0), 0)), None);
        assert_eq!(sets.prefix_of(fabric.switches()[0].0), None);

        let single = Prefixes::per_nic(&fabric);
        assert_eq!(single.len(), 4 * 8);
        assert!(!single.is_empty() && single.leaves(PrefixId(3)).len() == 2);
    }

    #[test]
    fn rails_have_prefixes_of_their_own() {
        let fabric = Hpn { segments: Some(2), ..Hpn::default() }.build().expect("default preset");
        let sets = Prefixes::by_leaf_set(&fabric);
        assert_eq!(sets.len(), 2 * 8);
        let of = |host, nic| sets.prefix_of(fabric.nic(HostId(host), nic));
        assert_eq!(of(0, 3), of(5, 3));
        assert_ne!(of(0, 3), of(0, 4));
    }

    #[test]
    fn an_entry_speaks_of_all_nics_of_its_prefix_and_of_one_ingress() {
        let fabric = fabric();
        let mut table = EntryTable::new(Prefixes::by_leaf_set(&fabric));
        let ingress = fabric.access_link(fabric.nic(HostId(0), 0), 0).expect("cabled");
        let leaf = fabric.target(ingress);
        let uplink = fabric.neighbors(leaf).iter().find(|(_, peer)| fabric.place(*peer).is_some());
        let uplink = uplink.expect("a leaf has uplinks").0;
        let prefix = table.prefix_of(fabric.nic(HostId(2), 5)).expect("a NIC");
        assert!(table.is_empty());
        assert_eq!(table.insert(ingress, prefix, uplink), None);
        assert_eq!(table.lookup(ingress, fabric.nic(HostId(3), 0)), Some(uplink));
        assert_eq!(table.lookup(ingress, fabric.nic(HostId(1), 0)), None, "another prefix");
        assert_eq!(table.lookup(ingress, fabric.gpu(HostId(3), 0)), None, "no NIC");
        assert_eq!(table.lookup(LinkId(ingress.0 + 2), fabric.nic(HostId(3), 0)), None);
        assert_eq!(table.lookup(LinkId(NONE), fabric.nic(HostId(3), 0)), None);

        let before = table.clone();
        assert_eq!(table.remove(ingress, prefix), Some(uplink));
        assert_ne!(table, before);
        assert_eq!(table, EntryTable::new(Prefixes::by_leaf_set(&fabric)), "history does not count");
    }

    proptest! {
        #[test]
        fn the_table_is_a_map(steps in prop::collection::vec((0u32..40, 0u32..4, 0u32..9, any::<bool>()), 0..200)) {
            let mut table = EntryTable::new(Prefixes::by_leaf_set(&fabric()));
            let mut map = BTreeMap::new();
            for (ingress, prefix, next, insert) in steps {
                let key = (LinkId(ingress), PrefixId(prefix));
                if insert {
                    prop_assert_eq!(table.insert(key.0, key.1, LinkId(next)), map.insert(key, LinkId(next)));
                } else {
                    prop_assert_eq!(table.remove(key.0, key.1), map.remove(&key));
                }
                prop_assert_eq!(table.get(key.0, key.1), map.get(&key).copied());
                prop_assert_eq!(table.len(), map.len());
            }
            let entries: Vec<_> = table.iter().map(|entry| ((entry.ingress, entry.prefix), entry.next)).collect();
            prop_assert_eq!(entries, map.into_iter().collect::<Vec<_>>());
        }
    }
}

//! Counts that a spelled-out fabric implies.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_fabric::clos::{ClosSpec, Peers, SpineGroups};

/// A [`ClosSpec`] with what follows from it.
pub(crate) struct Shape<'a> {
    pub(crate) spec: &'a ClosSpec,
    /// Leaf sets of a segment; each serves `rails_per_leaf` NICs of every host.
    pub(crate) leaf_sets: u32,
    pub(crate) leaves_per_segment: u32,
    /// Ports of a host on one leaf.
    pub(crate) ports_per_host: u32,
    /// Groups of spines in a pod, which are the planes.
    pub(crate) groups: u32,
    /// Leaves of a segment in one group.
    pub(crate) leaves_in_group: u32,
    /// Whether cores join the pods.
    pub(crate) has_cores: bool,
}

impl<'a> Shape<'a> {
    pub(crate) fn of(spec: &'a ClosSpec) -> Self {
        let leaf_sets = spec.host.nics / spec.rails_per_leaf;
        let leaves_per_segment = leaf_sets * spec.tors;
        let groups = match spec.groups {
            SpineGroups::Single => 1,
            SpineGroups::PerTor => spec.tors,
            SpineGroups::PerLeaf => leaves_per_segment,
        };
        Self {
            spec,
            leaf_sets,
            leaves_per_segment,
            ports_per_host: spec.rails_per_leaf * (spec.host.nic.ports / spec.tors),
            groups,
            leaves_in_group: leaves_per_segment / groups,
            has_cores: spec.pods > 1 && spec.cores > 0,
        }
    }

    /// Whether leaf sets of a pod reach each other over spines: those of other segments, or of other rails.
    pub(crate) fn crosses_spines(&self) -> bool {
        let joins_rails = self.leaf_sets > 1 && self.spec.groups != SpineGroups::PerLeaf;
        self.spec.spines > 0 && (self.spec.segments > 1 || joins_rails)
    }

    /// Whether nothing joins one leaf set with another.
    pub(crate) fn is_one_tier(&self) -> bool {
        self.spec.spines == 0 && self.spec.peers == Peers::None
    }

    /// Cables between switches of one tier: `n (n - 1) / 2` bundles for `n` switches that are all joined.
    pub(crate) fn peer_cables(&self) -> u64 {
        let pairs = |count: u64| count * count.saturating_sub(1) / 2;
        match self.spec.peers {
            Peers::None => 0,
            Peers::Leaves(cables) => pairs(self.leaves()) * u64::from(cables),
            Peers::Spines(cables) => {
                let of_pod = u64::from(self.groups) * u64::from(self.spec.spines);
                pairs(self.spec.pods.into()) * of_pod * u64::from(cables)
            }
        }
    }

    /// Ports of a leaf, and of a spine, to others of their tier.
    pub(crate) fn peer_ports(&self) -> [u32; 2] {
        match self.spec.peers {
            Peers::None => [0, 0],
            Peers::Leaves(cables) => [(self.leaves() as u32 - 1) * cables, 0],
            Peers::Spines(cables) => [0, (self.spec.pods - 1) * cables],
        }
    }

    /// Active hosts of a pod.
    pub(crate) fn hosts_per_pod(&self) -> u64 {
        u64::from(self.spec.segments) * u64::from(self.spec.hosts)
    }

    /// Active hosts.
    pub(crate) fn hosts(&self) -> u64 {
        u64::from(self.spec.pods) * self.hosts_per_pod()
    }

    /// Active GPUs.
    pub(crate) fn gpus(&self) -> u64 {
        self.hosts() * u64::from(self.spec.host.gpus)
    }

    pub(crate) fn leaves(&self) -> u64 {
        u64::from(self.spec.pods) * u64::from(self.spec.segments) * u64::from(self.leaves_per_segment)
    }

    pub(crate) fn spines(&self) -> u64 {
        u64::from(self.spec.pods) * u64::from(self.groups) * u64::from(self.spec.spines)
    }

    pub(crate) fn cores(&self) -> u64 {
        if self.has_cores { u64::from(self.groups) * u64::from(self.spec.cores) } else { 0 }
    }

    /// Ports of a leaf towards active hosts.
    pub(crate) fn leaf_down(&self) -> u32 {
        self.spec.hosts * self.ports_per_host
    }

    /// Ports of a leaf towards spines.
    pub(crate) fn leaf_up(&self) -> u32 {
        self.spec.spines * self.spec.parallel
    }

    /// Leaves of a pod in one group.
    pub(crate) fn leaves_under_spine(&self) -> u32 {
        self.spec.segments * self.leaves_in_group
    }

    /// Cables between a core and each pod.
    pub(crate) fn core_to_pod(&self) -> u32 {
        if self.has_cores {
            (self.spec.spines * self.spec.spine_up).checked_div(self.spec.cores).unwrap_or(0)
        } else {
            0
        }
    }

    /// Capacity of a leaf towards its active hosts, and towards the spines, bit/s.
    pub(crate) fn leaf_capacity(&self) -> (f64, f64) {
        let access = self.spec.host.nic.port_capacity.bits_per_s() as f64;
        let uplink = self.spec.uplink.bits_per_s() as f64;
        (f64::from(self.leaf_down()) * access, f64::from(self.leaf_up()) * uplink)
    }

    /// NICs of each GPU of a host.
    pub(crate) fn gpu_nics(&self) -> Vec<Vec<u32>> {
        let host = &self.spec.host;
        let mut nics: Vec<Vec<u32>> = (0..host.gpus).map(|gpu| vec![host.nic_of_gpu(gpu)]).collect();
        for nic in 0..host.nics {
            let of_gpu = &mut nics[host.gpu_of_nic(nic) as usize];
            if !of_gpu.contains(&nic) {
                of_gpu.push(nic);
            }
        }
        nics
    }

    /// Leaf sets that serve some NICs.
    pub(crate) fn leaf_sets_of(&self, nics: &[u32]) -> BTreeSet<u32> {
        nics.iter().map(|nic| nic / self.spec.rails_per_leaf).collect()
    }

    /// For each GPU of a host the share of its NICs that each leaf set serves.
    pub(crate) fn gpu_shares(&self) -> Vec<BTreeMap<u32, f64>> {
        let share = |nics: &Vec<u32>| {
            let mut sets = BTreeMap::new();
            for nic in nics {
                *sets.entry(nic / self.spec.rails_per_leaf).or_insert(0.0) += 1.0 / nics.len() as f64;
            }
            sets
        };
        self.gpu_nics().iter().map(share).collect()
    }

    /// Ordered pairs of GPU indices of two hosts of a segment that share a leaf set.
    pub(crate) fn pairs_of_a_leaf_set(&self) -> u64 {
        self.pairs_sharing(BTreeSet::clone)
    }

    /// Ordered pairs of GPU indices of two hosts of a segment that share a leaf set after `kept` took some of the sets of
    /// every GPU away.
    pub(crate) fn pairs_sharing(&self, kept: impl Fn(&BTreeSet<u32>) -> BTreeSet<u32>) -> u64 {
        let mut classes: BTreeMap<BTreeSet<u32>, u64> = BTreeMap::new();
        for nics in self.gpu_nics() {
            *classes.entry(kept(&self.leaf_sets_of(&nics))).or_default() += 1;
        }
        let pairs = |a: &BTreeSet<u32>, count: u64| -> u64 {
            classes.iter().filter(|(b, _)| !a.is_disjoint(b)).map(|(_, other)| count * other).sum()
        };
        classes.iter().map(|(sets, &count)| pairs(sets, count)).sum()
    }
}

//! What the hosts of a job send each other in a step, wherever they stand.
use std::collections::BTreeMap;

use railtwin_fabric::HostModel;
use railtwin_workload::{Axis, Edge, HostLayout, Member, Plan};

/// Bytes of a step between blocks of ranks that sit on one host each: block `b` has the ranks from `b × n` on, where
/// the job has `n` GPUs of each host.
/// Both directions of a pair are one number.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HostTraffic {
    blocks: u32,
    bytes: BTreeMap<(u32, u32), f64>,
}

impl HostTraffic {
    /// Without traffic.
    pub fn new(blocks: u32) -> Self {
        Self { blocks, bytes: BTreeMap::new() }
    }

    /// What a plan sends over hosts of a model, of each of which the job has these GPUs in this order, algorithm by
    /// algorithm as it is laid out; `counts` says which axes count.
    pub fn of(plan: &Plan, model: &HostModel, gpus: &[u32], counts: impl Fn(Axis) -> bool) -> Self {
        let each = (gpus.len() as u32).max(1);
        let gpu_of_nic = (0..model.nics).map(|nic| model.gpu_of_nic(nic)).collect();
        let mut layout = HostLayout::new(gpu_of_nic, model.has_nvswitch(), true);
        layout.over_pcie = !model.has_nvswitch() && model.joins_gpus();
        let member = |&rank: &u32| {
            let gpu = gpus.get((rank % each) as usize).copied().unwrap_or_default();
            Member { rank, host: rank / each, gpu, nic: model.nic_of_gpu(gpu) }
        };
        let mut all = Self::new(plan.ranks.div_ceil(each));
        for (pattern, bytes) in plan.patterns.iter().zip(plan.bytes_by_pattern()) {
            if bytes <= 0.0 || !counts(pattern.axis) || pattern.storage.is_some() {
                continue;
            }
            for communicator in &pattern.communicators {
                let members: Vec<Member> = communicator.iter().map(member).collect();
                if members.iter().all(|other| other.host == members[0].host) {
                    continue;
                }
                let shape = pattern.shape(&members, &layout);
                for bundle in &shape.bundles {
                    for edge in shape.edges_of(bundle) {
                        if let Edge::Network { source_host, target_host, amount, .. } = *edge {
                            all.add(source_host, target_host, amount * bundle.volume * bytes);
                        }
                    }
                }
            }
        }
        all
    }

    /// Adds bytes between two blocks; within one they count for nothing.
    ///
    /// # Panics
    /// Where a block is not there.
    pub fn add(&mut self, a: u32, b: u32, bytes: f64) {
        assert!(a < self.blocks && b < self.blocks, "blocks {a} and {b} of {}", self.blocks);
        if a != b {
            *self.bytes.entry((a.min(b), a.max(b))).or_default() += bytes;
        }
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Pairs of blocks, the lower first, with their bytes.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32, f64)> + '_ {
        self.bytes.iter().map(|(&(a, b), &bytes)| (a, b, bytes))
    }

    /// Bytes between blocks of different zones; `zones` gives the zone of each block.
    pub fn across(&self, zones: &[u32]) -> f64 {
        self.pairs()
            .filter(|&(a, b, _)| zones[a as usize] != zones[b as usize])
            .map(|(.., bytes)| bytes)
            .sum()
    }

    /// That of some blocks alone, which become blocks 0, 1, … in their order.
    pub fn among(&self, blocks: &[u32]) -> Self {
        let row: BTreeMap<u32, u32> = blocks.iter().copied().zip(0..).collect();
        let mut part = Self::new(blocks.len() as u32);
        for (a, b, bytes) in self.pairs() {
            if let (Some(&a), Some(&b)) = (row.get(&a), row.get(&b)) {
                part.add(a, b, bytes);
            }
        }
        part
    }
}

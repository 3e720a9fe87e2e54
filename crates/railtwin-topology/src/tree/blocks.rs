//! Blocks of hosts for schedulers: scale-up domains and the sizes in which they are given out.
use std::collections::BTreeMap;

use super::Tree;
use crate::topology::Topology;

/// A block: the hosts of one scale-up domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Name of the domain.
    pub name: String,
    /// Rows of its hosts, in the order of the tree.
    pub hosts: Vec<u32>,
}

/// Blocks of the hosts that have a domain, in the order in which the tree comes to them.
pub fn blocks(topology: &Topology, tree: &Tree) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    for (host, _) in tree.hosts() {
        let Some(domain) = topology.about[host as usize].domain.as_deref() else { continue };
        let row = *rows.entry(domain).or_insert_with(|| {
            found.push(Block { name: domain.to_owned(), hosts: Vec::new() });
            found.len() - 1
        });
        found[row].hosts.push(host);
    }
    found
}

/// Sizes of blocks: those asked for; else hosts of the smallest block, and its doubles up to the power of two that the
/// blocks fill, as topograph has them.
pub fn block_sizes(blocks: &[Block], asked: &[u32]) -> Vec<u32> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let Some(base) = blocks.iter().map(|block| block.hosts.len() as u32).min() else { return Vec::new() };
    (0..=blocks.len().ilog2()).map(|power| base.saturating_mul(1 << power.min(31))).collect()
}

/// Enters the hosts of a block that a file names, and says which are in two, and whether it has none.
pub(crate) fn enter_block(topology: &mut Topology, name: &str, hosts: &[u32]) {
    if hosts.is_empty() {
        topology.find("block-without-hosts", name, "no host is in it");
    }
    for &host in hosts {
        match topology.about[host as usize].domain.as_deref() {
            Some(known) if known != name => {
                let seen = format!("in blocks {known} and {name}");
                let host = topology.list.devices()[host as usize].name.clone();
                topology.find("host-in-two-blocks", host, seen);
            }
            Some(_) => {}
            None => topology.about_mut(host).domain = Some(name.to_owned()),
        }
    }
}

/// Says which blocks are smaller than the smallest size, and which sizes are no powers of two of it, as Slurm asks.
pub(crate) fn check_block_sizes(topology: &mut Topology, sizes: &[u64], blocks: &[(String, usize)]) {
    let Some(&base) = sizes.first() else { return };
    for &size in sizes {
        let fits = base > 0 && size.is_multiple_of(base) && (size / base).is_power_of_two();
        if !fits {
            topology.find(
                "block-size-no-power-of-two",
                format!("{size}"),
                format!("of the base size {base}"),
            );
        }
    }
    for (name, hosts) in blocks {
        if (*hosts as u64) < base {
            topology.find(
                "block-below-base-size",
                name.clone(),
                format!("{hosts} hosts, and the base size is {base}"),
            );
        }
    }
}

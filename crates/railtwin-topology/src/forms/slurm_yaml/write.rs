//! Writes `topology.yaml`.
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::forms::slurm::{Naming, host_names, names};
use crate::hostlist::compress;
use crate::topology::Topology;
use crate::tree::{Block, Tree, block_sizes, blocks};
use crate::yaml::scalar;

/// Writes a topology `tree`, the default, and one `block` where hosts have domains; `flat` where there is neither. Switches
/// are named as in [`topology.conf`](super::super::slurm), and hosts without a switch are under one of their own as there.
///
/// # Errors
/// [`FormatError`] for names of hosts that a host list cannot hold, and for a topology without hosts.
pub(super) fn write(topology: &Topology, options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let mut tree = Tree::of(topology);
    if !tree.switches.is_empty() || tree.loose.is_empty() {
        tree = Tree::of_scheduler("slurm-yaml", topology)?;
    }
    let blocks = blocks(topology, &tree);
    let mut text = String::from("---\n");
    if !tree.switches.is_empty() {
        text.push_str("- topology: tree\n  cluster_default: true\n  tree:\n    switches:\n");
        switches(&mut text, topology, &tree, &names(topology, &tree))?;
    }
    if !blocks.is_empty() {
        let _ =
            writeln!(text, "- topology: block\n  cluster_default: {}\n  block:", tree.switches.is_empty());
        block_unit(&mut text, topology, &blocks, options)?;
    }
    if tree.switches.is_empty() && blocks.is_empty() {
        let _ = writeln!(text, "# under no switch: {}", compress(host_names(topology, &tree.loose)?));
        text.push_str("- topology: flat\n  cluster_default: true\n  flat: true\n");
    }
    Ok(vec![Written { path: "topology.yaml".to_owned(), text }])
}

fn switches(text: &mut String, topology: &Topology, tree: &Tree, naming: &Naming) -> Result<(), FormatError> {
    for place in tree.breadth_first() {
        let (row, switch) = (place as usize, &tree.switches[place as usize]);
        if let Some(comment) = &naming.comments[row] {
            let _ = writeln!(text, "      # {comment}");
        }
        let _ = writeln!(text, "      - switch: {}", scalar(&naming.names[row]));
        let mut children: Vec<&str> =
            switch.switches.iter().map(|&child| naming.names[child as usize].as_str()).collect();
        let own = naming.beside.get(&place);
        children.extend(own.map(String::as_str));
        if !children.is_empty() {
            let _ = writeln!(text, "        children: {}", scalar(&compress(children)));
        }
        if let Some(own) = own {
            let _ = writeln!(text, "      - switch: {}", scalar(own));
        }
        if !switch.hosts.is_empty() {
            let _ =
                writeln!(text, "        nodes: {}", scalar(&compress(host_names(topology, &switch.hosts)?)));
        }
    }
    Ok(())
}

fn block_unit(
    text: &mut String,
    topology: &Topology,
    blocks: &[Block],
    options: &WriteOptions,
) -> Result<(), FormatError> {
    text.push_str("    block_sizes:\n");
    for size in block_sizes(blocks, &options.block_sizes) {
        let _ = writeln!(text, "      - {size}");
    }
    text.push_str("    blocks:\n");
    for block in blocks {
        let _ = writeln!(text, "      - block: {}", scalar(&block.name));
        let _ = writeln!(text, "        nodes: {}", scalar(&compress(host_names(topology, &block.hosts)?)));
    }
    Ok(())
}

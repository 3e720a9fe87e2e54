//! Writes models of topograph, in the syntax of its third version.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use super::{DOMAIN, SUBDOMAIN};
use crate::form::{WriteOptions, Written};
use crate::forms::slurm::host_names;
use crate::hostlist::compress;
use crate::topology::Topology;
use crate::tree::{Tree, TreeSwitch};
use crate::yaml::{quoted, scalar};

/// Writes the tree of a topology: a network becomes one as [`Tree`] says. A block holds the hosts of a switch that have the
/// same domain and labels; one of hosts without a switch names none.
///
/// # Errors
/// [`FormatError`] for names of hosts that a host list cannot hold, and for a topology without hosts.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let tree = Tree::of(topology);
    if tree.switches.is_empty() && tree.loose.is_empty() {
        let title = topology.list.title.as_deref().unwrap_or("topology");
        let accepted = "the form holds hosts: give a topology with some";
        return Err(FormatError::new("topograph", title, "has no hosts", accepted));
    }
    let mut text = String::from("switches:\n");
    for place in tree.breadth_first() {
        write_switch(&mut text, topology, &tree, &tree.switches[place as usize]);
    }
    text.push_str("blocks:\n");
    for place in tree.breadth_first() {
        let switch = &tree.switches[place as usize];
        write_blocks(&mut text, topology, Some(&switch.name), &switch.hosts)?;
    }
    write_blocks(&mut text, topology, None, &tree.loose)?;
    Ok(vec![Written { path: "model.yaml".to_owned(), text }])
}

/// A switch. Leaves without labels may be left out, but for roots, which nothing else names.
fn write_switch(text: &mut String, topology: &Topology, tree: &Tree, switch: &TreeSwitch) {
    let labels = &topology.about[switch.members[0] as usize].labels;
    if switch.switches.is_empty() && labels.is_empty() && switch.members.len() == 1 && switch.parent.is_some()
    {
        return;
    }
    if switch.members.len() > 1 {
        let names = switch.members.iter().map(|&row| topology.list.devices()[row as usize].name.as_str());
        let _ = writeln!(text, "  # stands for {}", compress(names).escape_debug());
    }
    let _ = writeln!(text, "  {}:", scalar(&switch.name));
    write_map(text, 4, "labels", labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
    let _ = match switch.switches.is_empty() {
        true => writeln!(text, "    switches: []"),
        false => writeln!(text, "    switches:"),
    };
    for &child in &switch.switches {
        let _ = writeln!(text, "    - {}", scalar(&tree.switches[child as usize].name));
    }
}

fn write_blocks(
    text: &mut String,
    topology: &Topology,
    switch: Option<&str>,
    hosts: &[u32],
) -> Result<(), FormatError> {
    let mut order = Vec::new();
    let mut blocks: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for &host in hosts {
        let about = &topology.about[host as usize];
        let key = (&about.domain, &about.subdomain, &about.labels);
        let block = blocks.entry(key).or_default();
        if block.is_empty() {
            order.push(key);
        }
        block.push(host);
    }
    for key in order {
        match switch {
            Some(switch) => {
                let _ = writeln!(text, "- switch: {}\n  nodes:", scalar(switch));
            }
            None => text.push_str("- nodes:\n"),
        }
        let names = host_names(topology, &blocks[&key])?;
        let _ = writeln!(text, "  - {}", quoted(&compress(names)));
        let (domain, subdomain, labels) = key;
        let pairs = [(DOMAIN, domain), (SUBDOMAIN, subdomain)];
        let pairs = pairs.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
        write_map(text, 2, "labels", labels.iter().map(|(key, value)| (key.as_str(), value.as_str())));
        write_map(text, 2, "annotations", pairs);
    }
    Ok(())
}

fn write_map<'a>(
    text: &mut String,
    indent: usize,
    name: &str,
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) {
    for (row, (key, value)) in pairs.enumerate() {
        if row == 0 {
            let _ = writeln!(text, "{:indent$}{name}:", "");
        }
        let _ = writeln!(text, "{:indent$}  {}: {}", "", scalar(key), scalar(value));
    }
}

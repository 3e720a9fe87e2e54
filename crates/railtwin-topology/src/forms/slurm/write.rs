//! Writes `topology.conf`.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;

use crate::form::{WriteOptions, Written};
use crate::hostlist::{compress, is_name};
use crate::topology::Topology;
use crate::tree::{Block, Tree, block_sizes, blocks};

/// Longest name of a switch that Slurm takes (`topology.conf(5)`).
const NAME_MAX: usize = 64;

/// Writes the tree of switches. With sizes of blocks in the options, and for hosts that have domains and no switches,
/// writes blocks instead, as Slurm reads one of both.
///
/// A network becomes a tree as [`Tree`] says; a comment says which switches one stands for. Switches of topograph's models,
/// and of files whose names Slurm does not take, get the short names of topograph, with their own in a comment. A host
/// without a switch gets one of its own that is joined to no other, for Slurm wants every node under a switch and gives jobs
/// nodes of one fabric alone (`topology.conf(5)`).
///
/// # Errors
/// [`FormatError`] for names of hosts that a host list cannot hold, and where no host is under a switch or in a block.
pub(super) fn write(topology: &Topology, options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let tree = Tree::of(topology);
    let blocks = blocks(topology, &tree);
    let in_blocks = !blocks.is_empty() && (!options.block_sizes.is_empty() || tree.switches.is_empty());
    let text = match in_blocks {
        true => block_lines(topology, &blocks, options)?,
        false => tree_lines(topology, &Tree::of_scheduler("slurm", topology)?)?,
    };
    Ok(vec![Written { path: "topology.conf".to_owned(), text }])
}

fn tree_lines(topology: &Topology, tree: &Tree) -> Result<String, FormatError> {
    let mut text = String::new();
    let naming = names(topology, tree);
    for place in tree.breadth_first() {
        let (row, switch) = (place as usize, &tree.switches[place as usize]);
        let name = &naming.names[row];
        if let Some(comment) = &naming.comments[row] {
            let _ = writeln!(text, "# {comment}");
        }
        let mut children: Vec<&str> =
            switch.switches.iter().map(|&child| naming.names[child as usize].as_str()).collect();
        let hosts = compress(host_names(topology, &switch.hosts)?);
        // Slurm takes a switch over switches or over hosts: hosts beside switches get one of their own.
        let own = naming.beside.get(&place);
        children.extend(own.map(String::as_str));
        if !children.is_empty() {
            let _ = writeln!(text, "SwitchName={name} Switches={}", compress(children));
        }
        match own {
            Some(own) => {
                let _ = writeln!(text, "# {own} stands for the hosts beside the switches of {name}");
                let _ = writeln!(text, "SwitchName={own} Nodes={hosts}");
            }
            None if !hosts.is_empty() => {
                let _ = writeln!(text, "SwitchName={name} Nodes={hosts}");
            }
            None => {}
        }
    }
    Ok(text)
}

fn block_lines(topology: &Topology, blocks: &[Block], options: &WriteOptions) -> Result<String, FormatError> {
    let mut text = String::new();
    for (number, block) in (1..).zip(blocks) {
        let hosts = compress(host_names(topology, &block.hosts)?);
        let name = if is_name(&block.name) {
            block.name.clone()
        } else {
            let _ = writeln!(text, "# block{number}={}", one_line(&block.name));
            format!("block{number}")
        };
        let _ = writeln!(text, "BlockName={name} Nodes={hosts}");
    }
    let without: Vec<u32> =
        topology.hosts().filter(|&host| topology.about[host as usize].domain.is_none()).collect();
    if !without.is_empty() {
        let _ = writeln!(text, "# in no block: {}", compress(host_names(topology, &without)?));
    }
    let sizes: Vec<String> = block_sizes(blocks, &options.block_sizes).iter().map(u32::to_string).collect();
    let _ = writeln!(text, "BlockSizes={}", sizes.join(","));
    Ok(text)
}

/// Names of the switches of a tree as Slurm gets them.
pub(crate) struct Naming {
    /// By place in the tree.
    pub(crate) names: Vec<String>,
    /// Comment before a switch, without its mark.
    pub(crate) comments: Vec<Option<String>>,
    /// Names of the switches for hosts that are beside switches, by place.
    pub(crate) beside: BTreeMap<u32, String>,
}

/// Names of a tree's switches: their own, or `switch.TIER.NUMBER` as topograph has them.
pub(crate) fn names(topology: &Topology, tree: &Tree) -> Naming {
    let fits = |name: &str| is_name(name) && name.len() <= NAME_MAX;
    let short = topology.form == "topograph" || !tree.switches.iter().all(|switch| fits(&switch.name));
    let mut count: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut names, mut comments) = (Vec::new(), Vec::new());
    for switch in &tree.switches {
        let number = count.entry(switch.tier).or_default();
        *number += 1;
        let own = switch.name.clone();
        let name = if short { format!("switch.{}.{number}", switch.tier) } else { own };
        comments.push(comment(topology, switch.members.as_slice(), &name, short));
        names.push(name);
    }
    let beside = (0..)
        .zip(&tree.switches)
        .filter(|(_, switch)| !switch.hosts.is_empty() && !switch.switches.is_empty());
    let beside =
        beside.map(|(place, _): (u32, _)| (place, format!("{}.hosts", names[place as usize]))).collect();
    Naming { names, comments, beside }
}

/// What a switch is by its own name, or which switches it stands for.
fn comment(topology: &Topology, members: &[u32], name: &str, short: bool) -> Option<String> {
    if members.is_empty() {
        return Some(format!("{name} stands for no switch: no link of its host leads to one"));
    }
    let device = |row: u32| topology.list.devices()[row as usize].name.as_str();
    let all = one_line(&compress(members.iter().map(|&row| device(row))));
    let id = topology.about[members[0] as usize].id.as_deref().filter(|_| topology.form == "slurm");
    match (members, id) {
        (_, Some(id)) => Some(format!("{name}={}", one_line(id))),
        ([only], None) if short => Some(format!("{name}={}", one_line(device(*only)))),
        ([_], None) => None,
        _ => Some(format!("{name} stands for {all}")),
    }
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Names of hosts.
///
/// # Errors
/// [`FormatError`] for one that a host list cannot hold.
pub(crate) fn host_names<'a>(topology: &'a Topology, hosts: &[u32]) -> Result<Vec<&'a str>, FormatError> {
    let names = hosts.iter().map(|&host| topology.list.devices()[host as usize].name.as_str());
    names
        .map(|name| match is_name(name) {
            true => Ok(name),
            false => {
                let problem = "is a name of a host that a host list cannot hold";
                let accepted = "names without blanks, commas, brackets, quotes, `#`, `=` and `\\`";
                Err(FormatError::new("slurm", "", problem, accepted).found(name))
            }
        })
        .collect()
}

//! Reads `topology.yaml`.
use railtwin_formats::FormatError;
use serde::Deserialize;

use crate::form::SourceFile;
use crate::hostlist::{HostlistError, NAMES_MAX, expand};
use crate::topology::Topology;
use crate::tree::{TreeReader, Undefined, check_block_sizes, enter_block};
use crate::yaml::{Names, documents};

const NAME: &str = "slurm-yaml";
const ACCEPTED: &str = "a list of topologies, each with `topology` and `tree`, `block` or `flat`";

#[derive(Deserialize)]
struct Unit {
    topology: Option<String>,
    #[serde(alias = "clusterDefault")]
    cluster_default: Option<String>,
    tree: Option<TreeUnit>,
    block: Option<BlockUnit>,
    ring: Option<serde_yaml_ng::Value>,
    torus3d: Option<serde_yaml_ng::Value>,
}

#[derive(Deserialize)]
struct TreeUnit {
    switches: Option<Vec<Option<SwitchEntry>>>,
}

#[derive(Deserialize)]
struct SwitchEntry {
    switch: Option<String>,
    #[serde(default)]
    children: Names,
    #[serde(default)]
    nodes: Names,
}

#[derive(Deserialize)]
struct BlockUnit {
    #[serde(default, alias = "blockSizes")]
    block_sizes: Names,
    blocks: Option<Vec<Option<BlockEntry>>>,
}

#[derive(Deserialize)]
struct BlockEntry {
    block: Option<String>,
    #[serde(default)]
    nodes: Names,
}

/// Sizes of a block topology, and its blocks with their hosts.
type Sizes = (Vec<u64>, Vec<(String, usize)>);

struct Reading<'a> {
    source: &'a SourceFile<'a>,
    tree: TreeReader,
    left: usize,
    sizes: Vec<Sizes>,
}

/// Reads all topologies of the files as one, the default first: where a later tree places a host or a switch elsewhere, the
/// first place counts. Blocks of a file with several block topologies carry the name of theirs.
///
/// # Errors
/// [`FormatError`] for what is no YAML of the form, and a host list that cannot be read.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut tree = TreeReader::new(NAME);
    let (mut left, mut sizes, mut known) = (NAMES_MAX, Vec::new(), 0);
    for source in sources {
        let units: Vec<Option<Vec<Option<Unit>>>> = documents(NAME, source, ACCEPTED)?;
        let mut units: Vec<Unit> = units.into_iter().flatten().flatten().flatten().collect();
        known += units.len();
        units.sort_by_key(|unit| !unit.is_default());
        let block_units = units.iter().filter(|unit| unit.block.is_some()).count();
        let mut reading = Reading { source, tree, left, sizes };
        for unit in &units {
            reading.unit(unit, block_units > 1)?;
        }
        Reading { tree, left, sizes, .. } = reading;
    }
    if known == 0 {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no topology", ACCEPTED).foreign());
    }
    let mut topology = tree.finish();
    for (sizes, blocks) in &sizes {
        check_block_sizes(&mut topology, sizes, blocks);
    }
    Ok(topology)
}

impl Unit {
    fn is_default(&self) -> bool {
        self.cluster_default
            .as_deref()
            .is_some_and(|word| ["true", "yes", "on"].contains(&word.to_lowercase().as_str()))
    }
}

impl Reading<'_> {
    fn unit(&mut self, unit: &Unit, many_blocks: bool) -> Result<(), FormatError> {
        if let Some(tree) = &unit.tree {
            for entry in tree.switches.iter().flatten().flatten() {
                self.switch(entry)?;
            }
            self.tree.end_unit(Undefined::Missing);
        }
        if let Some(block) = &unit.block {
            let prefix = if many_blocks {
                format!("{}/", unit.topology.as_deref().unwrap_or(""))
            } else {
                String::new()
            };
            self.blocks(block, &prefix)?;
        }
        for (kind, value) in [("ring", &unit.ring), ("torus3d", &unit.torus3d)] {
            let Some(value) = value else { continue };
            let mut lists = Vec::new();
            nodes_within(value, &mut lists);
            let hosts: Vec<u32> =
                lists.into_iter().map(|list| self.hosts(list)).collect::<Result<Vec<_>, _>>()?.concat();
            let note = format!(
                "topology of kind {kind}: its {} hosts are read, and not who is beside whom",
                hosts.len()
            );
            self.tree.topology.notes.push(note);
        }
        Ok(())
    }

    fn switch(&mut self, entry: &SwitchEntry) -> Result<(), FormatError> {
        let children = self.names(&entry.children.0)?;
        let hosts = self.names(&entry.nodes.0)?;
        let Some(name) = &entry.switch else {
            self.tree.topology.find(
                "unnamed-switch",
                "",
                format!("over {} switches, {} hosts", children.len(), hosts.len()),
            );
            return Ok(());
        };
        if !children.is_empty() && !hosts.is_empty() {
            let seen = "Slurm takes one of children and nodes";
            self.tree.topology.find("switch-over-switches-and-hosts", name.as_str(), seen);
        }
        let Some(switch) = self.tree.define(name) else { return Ok(()) };
        for child in &children {
            self.tree.place_switch(child, switch, 0);
        }
        for host in &hosts {
            self.tree.place_host(host, switch, 0);
        }
        Ok(())
    }

    fn blocks(&mut self, unit: &BlockUnit, prefix: &str) -> Result<(), FormatError> {
        let sizes = unit.block_sizes.0.iter().flat_map(|sizes| sizes.split(',')).map(str::trim);
        let sizes: Result<Vec<u64>, FormatError> = sizes
            .map(|size| {
                size.parse().map_err(|_| self.error("is no number of hosts", "numbers such as 4").found(size))
            })
            .collect();
        let mut blocks = Vec::new();
        for entry in unit.blocks.iter().flatten().flatten() {
            let name = format!("{prefix}{}", entry.block.as_deref().unwrap_or(""));
            let mut hosts = Vec::new();
            for list in &entry.nodes.0 {
                hosts.extend(self.hosts(list)?);
            }
            enter_block(&mut self.tree.topology, &name, &hosts);
            blocks.push((name, hosts.len()));
        }
        self.sizes.push((sizes?, blocks));
        Ok(())
    }

    fn hosts(&mut self, list: &str) -> Result<Vec<u32>, FormatError> {
        let names = self.names(&[list.to_owned()])?;
        Ok(names.iter().filter_map(|name| self.tree.host(name)).collect())
    }

    fn names(&mut self, lists: &[String]) -> Result<Vec<String>, FormatError> {
        let mut names = Vec::new();
        for list in lists {
            let found = expand(list, self.left).map_err(|HostlistError { found, problem }| {
                self.error(problem, "a host list such as node[01-16]").found(&found)
            })?;
            self.left -= found.len();
            names.extend(found);
        }
        Ok(names)
    }

    fn error(&self, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(NAME, self.source.name, problem, accepted)
    }
}

/// Host lists under the key `nodes` anywhere within a value. YAML that is read at all is no deeper than its reader goes.
fn nodes_within<'a>(value: &'a serde_yaml_ng::Value, lists: &mut Vec<&'a str>) {
    match value {
        serde_yaml_ng::Value::Sequence(items) => items.iter().for_each(|item| nodes_within(item, lists)),
        serde_yaml_ng::Value::Mapping(map) => {
            for (key, item) in map {
                match (key.as_str(), item.as_str()) {
                    (Some("nodes"), Some(list)) => lists.push(list),
                    _ => nodes_within(item, lists),
                }
            }
        }
        _ => {}
    }
}

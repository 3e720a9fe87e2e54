//! Reads models of topograph.
use std::collections::BTreeMap;
use std::fmt;

use railtwin_formats::FormatError;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::form::SourceFile;
use crate::hostlist::{HostlistError, NAMES_MAX, expand};
use crate::labels;
use crate::topology::Topology;
use crate::tree::{TreeReader, Undefined};
use crate::yaml::{Names, Pairs, documents};

const NAME: &str = "topograph";
const ACCEPTED: &str = "a model with `switches`, and `blocks` or `capacity_blocks`";

#[derive(serde::Deserialize)]
struct Model {
    #[serde(default)]
    switches: Entries,
    #[serde(default)]
    nodes: Entries,
    #[serde(default)]
    capacity_blocks: Entries,
    #[serde(default)]
    blocks: Entries,
}

/// A switch, a node or a block; keys that it has not are empty.
#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Entry {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    nvlink: Option<String>,
    switch: Option<String>,
    capacity_block_id: Option<String>,
    switches: Names,
    nodes: Names,
    capacity_blocks: Names,
    labels: Pairs<Option<String>>,
    metadata: Pairs<Option<String>>,
    annotations: Pairs<Option<String>>,
    attributes: Option<Attributes>,
}

#[derive(serde::Deserialize, Default)]
#[serde(default)]
struct Attributes {
    nvlink: Option<String>,
    gpus: Option<Vec<serde::de::IgnoredAny>>,
}

/// A list of entries with names in them, or a mapping of names to entries.
#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
    is_map: bool,
}

struct EntriesOf;

impl<'de> Visitor<'de> for EntriesOf {
    type Value = Entries;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list or a mapping")
    }

    fn visit_unit<E>(self) -> Result<Entries, E> {
        Ok(Entries::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Entries, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = sequence.next_element::<Option<Entry>>()? {
            list.extend(entry);
        }
        Ok(Entries { list, is_map: false })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
        let mut list = Vec::new();
        while let Some((name, entry)) = map.next_entry::<String, Option<Entry>>()? {
            list.push(Entry { name: Some(name), ..entry.unwrap_or_default() });
        }
        Ok(Entries { list, is_map: true })
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntriesOf)
    }
}

struct Reading<'a> {
    source: &'a SourceFile<'a>,
    tree: TreeReader,
    left: usize,
}

/// Reads a model of any version. Labels of switches stay with them; a host has the domain of the nearest switch above it
/// that states one, where it states none itself.
///
/// # Errors
/// [`FormatError`] for what is no model, and a host list that cannot be read.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut tree = TreeReader::new(NAME);
    let (mut left, mut known) = (NAMES_MAX, false);
    for source in sources {
        let models: Vec<Option<Model>> = documents(NAME, source, ACCEPTED)?;
        let mut reading = Reading { source, tree, left };
        for model in models.into_iter().flatten() {
            known |= !model.switches.list.is_empty() || !model.blocks.list.is_empty();
            known |= !model.capacity_blocks.list.is_empty();
            reading.model(model)?;
        }
        Reading { tree, left, .. } = reading;
    }
    if !known {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no switches and no blocks", ACCEPTED).foreign());
    }
    inherit_domains(&mut tree);
    Ok(tree.finish())
}

impl Reading<'_> {
    fn model(&mut self, model: Model) -> Result<(), FormatError> {
        // The list is the first version, in which every switch is defined.
        let undefined = if model.switches.is_map { Undefined::Entered } else { Undefined::Missing };
        let old = self.capacity_blocks(&model.capacity_blocks.list)?;
        for entry in model.nodes.list {
            self.node(entry);
        }
        let mut used = BTreeMap::new();
        for entry in &model.switches.list {
            self.switch(entry, &old, &mut used)?;
        }
        self.tree.end_unit(undefined);
        for entry in model.blocks.list {
            self.block(entry)?;
        }
        Ok(())
    }

    fn switch<'a>(
        &mut self,
        entry: &'a Entry,
        old: &BTreeMap<String, Vec<u32>>,
        used: &mut BTreeMap<&'a str, &'a str>,
    ) -> Result<(), FormatError> {
        let Some(name) = &entry.name else {
            self.tree.topology.find("unnamed-switch", "", "a switch of the list has no name");
            return Ok(());
        };
        let Some(switch) = self.tree.define(name) else { return Ok(()) };
        labels::take(self.tree.topology.about_mut(switch), labels_of(entry));
        for child in &entry.switches.0 {
            self.tree.place_switch(child, switch, 0);
        }
        for host in self.names(&entry.nodes.0)? {
            self.tree.place_host(&host, switch, 0);
        }
        for block in &entry.capacity_blocks.0 {
            if let Some(other) = used.insert(block.as_str(), name.as_str()) {
                self.tree.topology.find(
                    "block-under-two-switches",
                    block.as_str(),
                    format!("under {other} and {name}"),
                );
            }
            match old.get(block) {
                Some(hosts) => {
                    for &host in hosts {
                        let host = self.tree.topology.list.devices()[host as usize].name.clone();
                        self.tree.place_host(&host, switch, 0);
                    }
                }
                None => {
                    self.tree.topology.links_missing += 1;
                    let seen = format!("{name} names it, and nothing defines it");
                    self.tree.topology.find("missing-block", block.as_str(), seen);
                }
            }
        }
        Ok(())
    }

    /// Hosts of the blocks of the first two versions, by block.
    fn capacity_blocks(&mut self, entries: &[Entry]) -> Result<BTreeMap<String, Vec<u32>>, FormatError> {
        let mut blocks = BTreeMap::new();
        for entry in entries {
            let block = entry.name.clone().unwrap_or_default();
            let mut hosts = Vec::new();
            for name in self.names(&entry.nodes.0)? {
                let Some(host) = self.tree.host(&name) else { continue };
                hosts.push(host);
                self.enter_block(host, &block);
                let about = self.tree.topology.about_mut(host);
                about.model = about.model.take().or_else(|| entry.kind.clone());
                let nvlink = entry.attributes.as_ref().and_then(|known| known.nvlink.clone());
                about.domain = about.domain.take().or_else(|| entry.nvlink.clone()).or(nvlink);
            }
            if hosts.is_empty() {
                self.tree.topology.find("block-without-hosts", block.as_str(), "no host is in it");
            }
            if blocks.insert(block.clone(), hosts).is_some() {
                self.tree.topology.find("duplicate-name", block, "is defined as a block more than once");
            }
        }
        Ok(blocks)
    }

    fn enter_block(&mut self, host: u32, block: &str) {
        let labels = &mut self.tree.topology.about_mut(host).labels;
        if let Some(before) = labels.insert("capacity_block".to_owned(), block.to_owned())
            && before != block
        {
            let name = self.tree.topology.list.devices()[host as usize].name.clone();
            self.tree.topology.find("host-in-two-blocks", name, format!("in blocks {before} and {block}"));
        }
    }

    fn node(&mut self, entry: Entry) {
        let Some(host) = entry.name.as_deref().and_then(|name| self.tree.host(name)) else { return };
        if let Some(block) = &entry.capacity_block_id {
            self.enter_block(host, block);
        }
        let about = self.tree.topology.about_mut(host);
        if let Some(attributes) = entry.attributes {
            about.domain = attributes.nvlink.or(about.domain.take());
            about.gpus = attributes.gpus.map(|gpus| gpus.len() as u32).filter(|&count| count > 0);
        }
    }

    /// A block of the third version.
    fn block(&mut self, entry: Entry) -> Result<(), FormatError> {
        let names = self.names(&entry.nodes.0)?;
        let title = entry.switch.as_deref().unwrap_or("");
        let switch = match &entry.switch {
            Some(name) => {
                let known = self.tree.topology.list.device_named(name);
                if known.is_none() {
                    self.tree.topology.find(
                        "missing-switch",
                        name.as_str(),
                        "a block names it, and no switch leads to it",
                    );
                }
                known.filter(|&row| self.tree.is_defined(row)).or_else(|| self.tree.define(name))
            }
            None => None,
        };
        if names.is_empty() {
            self.tree.topology.find("block-without-hosts", title, "no host is in it");
        }
        for name in names {
            let Some(host) = self.tree.host(&name) else { continue };
            let before = self.tree.parents(host).first().copied();
            if let Some(switch) = switch {
                self.tree.place_host(&name, switch, 0);
            }
            if before.is_some() && before == switch {
                let seen = format!("in two blocks of {title}");
                self.tree.topology.find("host-in-two-blocks", name.as_str(), seen);
            }
            labels::take(self.tree.topology.about_mut(host), labels_of(&entry));
        }
        Ok(())
    }

    fn names(&mut self, lists: &[String]) -> Result<Vec<String>, FormatError> {
        let mut names = Vec::new();
        for list in lists {
            let found = expand(list, self.left).map_err(|HostlistError { found, problem }| {
                FormatError::new(NAME, self.source.name, problem, "a host list such as node[01-16]")
                    .field("nodes")
                    .found(&found)
            })?;
            self.left -= found.len();
            names.extend(found);
        }
        Ok(names)
    }
}

/// Labels, metadata and annotations of an entry.
fn labels_of(entry: &Entry) -> impl Iterator<Item = (String, String)> + '_ {
    let all = entry.labels.0.iter().chain(&entry.metadata.0).chain(&entry.annotations.0);
    all.filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
}

/// Gives hosts the domain of the nearest switch above them, where they state none.
fn inherit_domains(tree: &mut TreeReader) {
    /// Most switches above a host that are asked, so that a loop ends.
    const ABOVE_MAX: usize = 64;
    let hosts: Vec<u32> = tree.topology.hosts().collect();
    for host in hosts {
        let path = std::iter::successors(tree.parents(host).first().copied(), |&at| {
            tree.parents(at).first().copied()
        });
        let own = tree.topology.about[host as usize].domain.is_none();
        let found = path.take(ABOVE_MAX).find_map(|at| {
            let about = &tree.topology.about[at as usize];
            about.domain.clone().map(|domain| (domain, about.subdomain.clone()))
        });
        if let Some((domain, subdomain)) = found.filter(|_| own) {
            let about = tree.topology.about_mut(host);
            about.domain = Some(domain);
            about.subdomain = about.subdomain.take().or(subdomain);
        }
    }
}

//! Reads `topology.conf`.
use railtwin_formats::FormatError;

use crate::form::SourceFile;
use crate::hostlist::{HostlistError, NAMES_MAX, expand};
use crate::topology::Topology;
use crate::tree::{TreeReader, Undefined, check_block_sizes, enter_block};
use crate::yaml::text_of;

const NAME: &str = "slurm";
const ACCEPTED: &str = "lines such as SwitchName=s1 Nodes=node[01-16]";

/// Content of the lines read so far.
struct Reading<'a> {
    source: &'a SourceFile<'a>,
    tree: TreeReader,
    sizes: Vec<u64>,
    blocks: Vec<(String, usize)>,
    /// The comment right before: `# name=id`, as topograph writes it.
    comment: Option<(&'a str, &'a str)>,
    /// Names that lists may still stand for.
    left: usize,
    line: u64,
}

/// Reads the files as one; comments `# name=id` before a switch give its id.
///
/// # Errors
/// [`FormatError`] for a line that is no key with a value, a host list that cannot be read, and files without any line of
/// the form.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut tree = TreeReader::new(NAME);
    let (mut sizes, mut blocks, mut known) = (Vec::new(), Vec::new(), 0);
    let mut left = NAMES_MAX;
    for source in sources {
        let mut reading = Reading { source, tree, sizes, blocks, comment: None, left, line: 0 };
        known += reading.file()?;
        Reading { tree, sizes, blocks, left, .. } = reading;
    }
    if known == 0 {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no line of the form", ACCEPTED).foreign());
    }
    tree.end_unit(Undefined::Missing);
    let mut topology = tree.finish();
    check_block_sizes(&mut topology, &sizes, &blocks);
    Ok(topology)
}

/// Keys of a line, in lower case, with their values.
type Keys = Vec<(String, String)>;

impl<'a> Reading<'a> {
    /// Reads a file; gives how many of its lines are of the form.
    fn file(&mut self) -> Result<usize, FormatError> {
        let text = text_of(NAME, self.source)?;
        let (mut known, mut whole) = (0, String::new());
        for (number, line) in (1..).zip(text.lines()) {
            if whole.is_empty() {
                self.line = number;
            }
            let (before, comment) = line.split_once('#').unwrap_or((line, ""));
            if let Some(part) = before.trim_end().strip_suffix('\\') {
                whole.push_str(part);
                continue;
            }
            whole.push_str(before);
            if whole.trim().is_empty() {
                whole.clear();
                self.comment = comment.trim().split_once('=');
                continue;
            }
            known += usize::from(self.statement(&whole)?);
            whole.clear();
            self.comment = None;
        }
        if !whole.trim().is_empty() {
            known += usize::from(self.statement(&whole)?);
        }
        Ok(known)
    }

    /// Reads a line; gives whether it is of the form.
    fn statement(&mut self, line: &str) -> Result<bool, FormatError> {
        let keys = self.keys(line)?;
        let get = |key: &str| keys.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        if let Some(name) = get("switchname") {
            self.switches(name, get("switches"), get("nodes"))?;
        } else if let Some(name) = get("blockname") {
            let hosts = self.hosts(get("nodes").unwrap_or(""))?;
            enter_block(&mut self.tree.topology, name, &hosts);
            self.blocks.push((name.to_owned(), hosts.len()));
        } else if let Some(name) = get("ringname") {
            for host in self.hosts(get("nodes").unwrap_or(""))? {
                let about = self.tree.topology.about_mut(host);
                about.labels.insert("slurm.schedmd.com/ring".to_owned(), name.to_owned());
            }
        } else if let Some(sizes) = get("blocksizes") {
            self.block_sizes(sizes)?;
        } else {
            let shown: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
            self.tree.topology.notes.push(format!("line {}: {} is not read", self.line, shown.join(", ")));
            return Ok(false);
        }
        Ok(true)
    }

    fn switches(
        &mut self,
        name: &str,
        switches: Option<&str>,
        nodes: Option<&str>,
    ) -> Result<(), FormatError> {
        let children = self.list("Switches", switches.unwrap_or(""))?;
        let hosts = self.list("Nodes", nodes.unwrap_or(""))?;
        if !children.is_empty() && !hosts.is_empty() {
            self.tree.topology.find(
                "switch-over-switches-and-hosts",
                name,
                "Slurm takes one of Switches and Nodes",
            );
        }
        for name in self.list("SwitchName", name)? {
            let Some(switch) = self.tree.define(&name) else { continue };
            if let Some((_, id)) = self.comment.filter(|&(short, _)| short == name) {
                self.tree.topology.about_mut(switch).id = Some(id.to_owned());
            }
            for child in &children {
                self.tree.place_switch(child, switch, self.line);
            }
            for host in &hosts {
                self.tree.place_host(host, switch, self.line);
            }
        }
        Ok(())
    }

    fn hosts(&mut self, nodes: &str) -> Result<Vec<u32>, FormatError> {
        let names = self.list("Nodes", nodes)?;
        Ok(names.iter().filter_map(|name| self.tree.host(name)).collect())
    }

    fn block_sizes(&mut self, sizes: &str) -> Result<(), FormatError> {
        for size in sizes.split(',').map(str::trim).filter(|size| !size.is_empty()) {
            let size = size.parse().map_err(|_| {
                self.error("is no number of hosts", "numbers such as 8,16,32").field("BlockSizes").found(size)
            })?;
            self.sizes.push(size);
        }
        Ok(())
    }

    fn list(&mut self, field: &str, list: &str) -> Result<Vec<String>, FormatError> {
        let names = expand(list, self.left).map_err(|HostlistError { found, problem }| {
            self.error(problem, "a host list such as node[01-16]").field(field).found(&found)
        })?;
        self.left -= names.len();
        Ok(names)
    }

    fn error(&self, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(NAME, self.source.name, problem, accepted).at_line(self.line)
    }

    /// Keys and values of a line: blanks may stand around `=`, and values in quotes.
    fn keys(&self, line: &str) -> Result<Keys, FormatError> {
        let mut keys = Vec::new();
        let mut rest = line.trim_start();
        while !rest.is_empty() {
            let wrong = || self.error("is no key with a value", ACCEPTED).found(rest.trim_end());
            let (key, behind) = rest.split_once('=').ok_or_else(wrong)?;
            let key = key.trim();
            if key.is_empty()
                || !key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_.".contains(letter))
            {
                return Err(wrong());
            }
            let behind = behind.trim_start();
            let (value, after) = match behind.strip_prefix('"') {
                Some(inside) => inside.split_once('"').ok_or_else(wrong)?,
                None => behind.split_at(behind.find(char::is_whitespace).unwrap_or(behind.len())),
            };
            keys.push((key.to_ascii_lowercase(), value.to_owned()));
            rest = after.trim_start();
        }
        Ok(keys)
    }
}

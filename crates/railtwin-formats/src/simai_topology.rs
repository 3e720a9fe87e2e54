//! Topologies of SimAI and of HPCC's ns-3: nodes by number, switches among them, links with rates.
//!
//! The first line has five counts and the GPU's type (SimAI), or three counts (HPCC); the second names switches; each other
//! line is a link.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_units::{Rate, SimTime};

use crate::error::FormatError;
use crate::htsim_lines::{Line, Lines};

/// Name of this format in errors.
const FORMAT: &str = "SimAI topology";
/// Bound of nodes and links.
const MANY: (u64, u64) = (0, 1 << 26);

/// A link; both directions of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimaiLink {
    /// Nodes at its ends.
    pub ends: [u32; 2],
    /// Rate of each direction.
    pub rate: Rate,
    /// Delay.
    pub delay: SimTime,
    /// Share of packets that are lost.
    pub loss: f64,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SimaiTopology {
    /// Nodes that the first line announces: GPUs, NVSwitches and switches.
    pub nodes: u32,
    /// NVSwitches that the first line announces.
    pub announced_nvswitches: u32,
    /// Switches of the network that the first line announces.
    pub announced_switches: u32,
    /// GPUs, each with its NIC; in a file of HPCC, hosts.
    pub gpus: u32,
    /// GPUs of a server; none in a file of HPCC.
    pub gpus_per_server: Option<u32>,
    /// NVSwitches, by number of the node.
    pub nvswitches: Vec<u32>,
    /// Switches of the network, by number of the node.
    pub switches: Vec<u32>,
    /// The GPU's type, such as `A100`; empty in a file of HPCC.
    pub gpu_type: String,
    /// Links in the order of the file.
    pub links: Vec<SimaiLink>,
    /// Links that the first line announces.
    pub announced_links: u64,
    /// Remarks on the file.
    pub notes: Vec<String>,
}

/// Words of a header: three counts, or five and a name.
fn is_header(words: &[&str]) -> bool {
    let counts = words.iter().take_while(|word| word.parse::<u32>().is_ok()).count();
    (words.len() == 3 && counts == 3) || (words.len() == 6 && counts == 5)
}

fn is_link(words: &[&str]) -> bool {
    let is_node = |word: &str| word.parse::<u32>().is_ok();
    (4..=5).contains(&words.len()) && words[..2].iter().all(|word| is_node(word)) && rate(words[2]).is_some()
}

/// A rate as ns-3 reads it: `400Gbps`, `400Gb/s`, or with a large B in bytes.
fn rate(word: &str) -> Option<Rate> {
    let as_here = || match (word.strip_suffix("b/s"), word.strip_suffix("Bps")) {
        (Some(number), _) => format!("{number}bps"),
        (_, Some(number)) => format!("{number}B/s"),
        _ => word.to_owned(),
    };
    word.parse().ok().or_else(|| as_here().parse().ok())
}

/// A time as ns-3 reads it: with a unit, or in seconds; as Python writes it, which may be `5e-05ms`.
fn delay(word: &str) -> Option<SimTime> {
    if let Ok(time) = word.parse::<SimTime>() {
        return Some(time);
    }
    let unit = word.find(|letter: char| letter.is_ascii_alphabetic() && !matches!(letter, 'e' | 'E'));
    let (number, unit) = word.split_at(unit.unwrap_or(word.len()));
    let scale = match unit {
        "" | "s" => 1e12,
        "ms" => 1e9,
        "us" => 1e6,
        "ns" => 1e3,
        "ps" => 1.0,
        _ => return None,
    };
    let ps = number.parse::<f64>().ok()? * scale;
    (0.0..=9e18).contains(&ps).then(|| SimTime::from_ps(ps.round() as u64))
}

impl SimaiTopology {
    /// Whether text looks like one: a header of counts, a line of node numbers or none, and then links.
    pub fn is_one(bytes: &[u8]) -> bool {
        let head = &bytes[..bytes.len().min(1 << 16)];
        let text = String::from_utf8_lossy(head);
        let lines = text.trim_start_matches('\u{feff}').lines();
        let mut lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        if !lines.find(|words| !words.is_empty()).is_some_and(|words| is_header(&words)) {
            return false;
        }
        lines.next();
        lines.find(|words| !words.is_empty()).is_some_and(|words| is_link(&words))
    }

    /// Parses a topology. Links to nodes that are none, and counts that do not fit, are notes.
    ///
    /// # Errors
    /// [`FormatError`] with the line of a header, node or link that is none.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let lines = Lines::new(FORMAT, source_name, bytes)?;
        let mut rows = lines.iter().peekable();
        let accepted = "the first line has nodes, GPUs of a server, NVSwitches, switches, links and the GPU's type, or \
                        nodes, switches and links";
        let header = rows.next().ok_or_else(|| lines.error("is empty", accepted))?;
        if !is_header(&header.words) {
            return Err(lines.error("has no header", accepted).at_line(header.number));
        }
        let count = |at: usize| lines.number(&header, "header", header.words.get(at).copied(), MANY);
        let mut topology = Self::default();
        let (nodes, nvswitches, switches) = if header.words.len() == 6 {
            topology.gpus_per_server = Some(count(1)? as u32);
            topology.gpu_type = header.words[5].to_owned();
            topology.announced_links = count(4)?;
            (count(0)?, count(2)?, count(3)?)
        } else {
            topology.announced_links = count(2)?;
            (count(0)?, 0, count(1)?)
        };
        let mut special = Vec::new();
        // Its readers take numbers wherever lines end: switches may stand on several.
        while let Some(line) = rows.next_if(|line| !is_link(&line.words)) {
            if !special.is_empty() && special.len() as u64 >= nvswitches + switches {
                return Err(link(&lines, &line).err().unwrap_or_else(|| lines.error("is no link", accepted)));
            }
            for word in &line.words {
                special.push(lines.number(&line, "switch", Some(word), MANY)? as u32);
            }
        }
        let first = special.len().min(nvswitches as usize);
        topology.switches = special.split_off(first);
        topology.nvswitches = special;
        topology.nodes = nodes as u32;
        topology.announced_nvswitches = nvswitches as u32;
        topology.announced_switches = switches as u32;
        topology.gpus = (nodes as u32).saturating_sub((nvswitches + switches) as u32);
        for line in rows {
            topology.links.push(link(&lines, &line)?);
        }
        topology.notes = topology.odd(nodes as u32, nvswitches, switches);
        Ok(topology)
    }

    /// Contradictions in the file, a note each.
    fn odd(&self, nodes: u32, nvswitches: u64, switches: u64) -> Vec<String> {
        let mut notes = Vec::new();
        let links = self.links.len() as u64;
        if links != self.announced_links {
            notes
                .push(format!("the first line announces {} links, and {links} follow", self.announced_links));
        }
        let named = (self.nvswitches.len() + self.switches.len()) as u64;
        if named != nvswitches + switches {
            notes.push(format!(
                "the first line announces {} switches, and {named} are named",
                nvswitches + switches
            ));
        }
        let beyond: BTreeSet<u32> =
            self.links.iter().flat_map(|link| link.ends).filter(|node| *node >= nodes).collect();
        if !beyond.is_empty() {
            let some: Vec<String> = beyond.iter().take(4).map(u32::to_string).collect();
            notes.push(format!(
                "links name {} nodes that are none, such as {}",
                beyond.len(),
                some.join(", ")
            ));
        }
        let ends: BTreeSet<u32> = self.links.iter().flat_map(|link| link.ends).collect();
        let alone = nodes as usize - ends.range(..nodes).count();
        if alone > 0 {
            notes.push(format!("{alone} nodes have no link"));
        }
        notes
    }

    /// Links by rate, the most first.
    pub fn by_rate(&self) -> Vec<(Rate, usize)> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        for link in &self.links {
            *counts.entry(link.rate.bits_per_s()).or_default() += 1;
        }
        let mut all: Vec<(Rate, usize)> =
            counts.into_iter().map(|(bits, count)| (Rate::from_bits_per_s(bits), count)).collect();
        all.sort_by_key(|(rate, count)| (std::cmp::Reverse(*count), rate.bits_per_s()));
        all
    }
}

fn link(lines: &Lines<'_>, line: &Line<'_>) -> Result<SimaiLink, FormatError> {
    let accepted =
        "a link is two nodes, a rate such as 400Gbps, a delay such as 0.0005ms, and a share of losses";
    let wrong = |problem: &str| lines.error(problem, accepted).at_line(line.number);
    if !(4..=5).contains(&line.words.len()) {
        return Err(wrong("is no link"));
    }
    let node =
        |at: usize| lines.number(line, "node", line.words.get(at).copied(), MANY).map(|node| node as u32);
    let delay = delay(line.words[3]).ok_or_else(|| wrong("has no delay").found(line.words[3]))?;
    let loss = match line.words.get(4) {
        None => 0.0,
        Some(word) => word
            .parse::<f64>()
            .ok()
            .filter(|loss| (0.0..=1.0).contains(loss))
            .ok_or_else(|| wrong("has no share of losses").found(word))?,
    };
    let rate = rate(line.words[2]).ok_or_else(|| wrong("has no rate").found(line.words[2]))?;
    Ok(SimaiLink { ends: [node(0)?, node(1)?], rate, delay, loss })
}

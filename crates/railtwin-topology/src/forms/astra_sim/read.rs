//! From dimensions to hosts, switches and cables.
use railtwin_fabric::cable_list::CableNetwork;
use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime};
use serde_yaml_ng::{Mapping, Value};

use super::{BITS_OF_GB, KEYS};
use crate::form::SourceFile;
use crate::tiers::by_distance;
use crate::topology::Topology;

/// Name of the format in errors.
const FORMAT: &str = "ASTRA-sim network";

/// Bound of NPUs, and of cables: what the memory of a normal machine holds.
const MOST: u64 = 1 << 22;

/// Bounds of bytes of a file, where a few lines are normal, and of brackets within one another: what a parser of YAML does
/// grows with their product.
const LARGEST_FILE: usize = 1 << 15;
const DEEPEST: u32 = 32;

/// Links that join the NPUs of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Block {
    Ring,
    FullyConnected,
    Switch,
}

impl Block {
    fn named(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "ring" => Some(Self::Ring),
            "fullyconnected" | "fully_connected" => Some(Self::FullyConnected),
            "switch" => Some(Self::Switch),
            _ => None,
        }
    }

    /// Links of an NPU among `npus`.
    fn links(self, npus: u64) -> u64 {
        match self {
            Self::Switch => 1,
            Self::Ring => npus.saturating_sub(1).min(2),
            Self::FullyConnected => npus.saturating_sub(1),
        }
    }
}

/// A dimension.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Dimension {
    block: Block,
    npus: u64,
    rate: Option<Rate>,
    delay: Option<SimTime>,
}

impl Dimension {
    /// Cables of one group of its NPUs.
    fn cables(self) -> u64 {
        match self.block {
            Block::Switch => self.npus,
            Block::Ring if self.npus > 2 => self.npus,
            Block::Ring => self.npus.saturating_sub(1),
            Block::FullyConnected => self.npus.saturating_mul(self.npus.saturating_sub(1)) / 2,
        }
    }
}

/// Reads one file.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let source = sources.iter().find(|source| super::is_one(source)).or(sources.first());
    let Some(source) = source else {
        return Err(FormatError::new(FORMAT, "", "no file is given", "give one file"));
    };
    let mut topology = Topology::new("astra-sim");
    if sources.len() > 1 {
        topology.notes.push(format!("{} alone was read: a topology is one file", source.name));
    }
    let dimensions = dimensions(source, &mut topology)?;
    let wrong = |problem: String, accepted: &str| FormatError::new(FORMAT, source.name, problem, accepted);
    let npus = dimensions.iter().try_fold(1_u64, |all, dimension| all.checked_mul(dimension.npus));
    let npus = npus.filter(|&npus| npus <= MOST).ok_or_else(|| {
        wrong("has too many NPUs".to_owned(), "write counts whose product is 4,194,304 at most")
            .field("npus_count")
    })?;
    let inside = usize::from(dimensions.len() > 1);
    let outside = dimensions[inside..].iter();
    let cables = outside.map(|dimension| (npus / dimension.npus).saturating_mul(dimension.cables()));
    let cables = cables.fold(0_u64, u64::saturating_add);
    if cables > MOST {
        return Err(wrong(format!("makes {cables} cables"), "write dimensions of at most 4,194,304 cables"));
    }
    let of_host = if inside > 0 { dimensions[0].npus } else { 1 };
    let mut reading = Reading { topology, of_host, next_port: vec![0; npus as usize] };
    reading.enter_hosts(npus, (inside > 0).then(|| dimensions[0]));
    let mut stride = of_host;
    for (number, dimension) in dimensions.iter().enumerate().skip(inside) {
        reading.enter(number, *dimension, stride, npus);
        stride *= dimension.npus;
    }
    by_distance(&mut reading.topology);
    Ok(reading.topology)
}

/// Dimensions of a file.
fn dimensions(source: &SourceFile<'_>, topology: &mut Topology) -> Result<Vec<Dimension>, FormatError> {
    let wrong = |problem: String, accepted: &str| FormatError::new(FORMAT, source.name, problem, accepted);
    let accepted =
        "write topology, npus_count, bandwidth and latency, each a list with a value for each dimension";
    let mut depth = 0_u32;
    let mut deepens = |byte: &u8| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    };
    if source.bytes.len() > LARGEST_FILE || source.bytes.iter().any(&mut deepens) {
        return Err(wrong("is larger or deeper than a network of dimensions".to_owned(), accepted).foreign());
    }
    let parsed: Value = serde_yaml_ng::from_slice(source.bytes).map_err(|error| {
        let line = error.location().map_or(1, |place| place.line() as u64);
        wrong("is not YAML".to_owned(), accepted).at_line(line)
    })?;
    let Value::Mapping(map) = parsed else {
        return Err(wrong("has no keys".to_owned(), accepted).foreign());
    };
    let [blocks, counts, rates, delays] = KEYS.map(|keys| values(&map, keys));
    if blocks.is_empty() || counts.is_empty() {
        let missing = if blocks.is_empty() { KEYS[0][0] } else { KEYS[1][0] };
        return Err(wrong("is missing".to_owned(), accepted).field(missing));
    }
    for (keys, of) in KEYS.iter().zip([&blocks, &counts, &rates, &delays]) {
        if of.len() != blocks.len() {
            let seen = format!("{} has {} values, and topology {}", keys[0], of.len(), blocks.len());
            topology.find("count-differs", keys[0], seen);
        }
    }
    let mut dimensions = Vec::new();
    for (number, (block, count)) in blocks.iter().zip(&counts).enumerate() {
        let name = block.as_str().unwrap_or("");
        let block = Block::named(name).ok_or_else(|| {
            wrong("is no kind of dimension".to_owned(), "write Ring, FullyConnected or Switch")
                .field("topology")
                .found(name)
        })?;
        let npus = count.as_u64().filter(|count| (1..=MOST).contains(count)).ok_or_else(|| {
            wrong(format!("has no count for dimension {number}"), "write a whole number from 2 to 4,194,304")
                .field("npus_count")
        })?;
        let scaled = |of: &[Value], scale: f64| -> Option<u64> {
            let value = of.get(number)?.as_f64()? * scale;
            (0.0..=9e18).contains(&value).then_some(value.round() as u64)
        };
        let rate = scaled(&rates, BITS_OF_GB).filter(|&bits| bits > 0).map(Rate::from_bits_per_s);
        if rate.is_none() && number < rates.len() {
            topology.find(
                "count-differs",
                "bandwidth",
                format!("dimension {number} has no bandwidth above 0"),
            );
        }
        dimensions.push(Dimension { block, npus, rate, delay: scaled(&delays, 1e3).map(SimTime::from_ps) });
    }
    Ok(dimensions)
}

/// Values of a key by either of its names; a value that is no list is a list of one.
fn values(map: &Mapping, keys: [&str; 2]) -> Vec<Value> {
    match keys.iter().find_map(|key| map.get(*key)) {
        Some(Value::Sequence(list)) => list.clone(),
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one.clone()],
    }
}

/// A topology while dimensions are entered.
struct Reading {
    topology: Topology,
    /// NPUs of a host.
    of_host: u64,
    /// Ports of each NPU so far.
    next_port: Vec<u32>,
}

impl Reading {
    fn enter_hosts(&mut self, npus: u64, inside: Option<Dimension>) {
        for host in 0..npus / self.of_host {
            let row = self.topology.host(&format!("host-{host}"));
            self.topology.list.device_mut(row).network = Some(CableNetwork::Backend);
            let about = self.topology.about_mut(row);
            about.gpus = Some(self.of_host as u32);
            about.nvlink = inside.and_then(|inside| {
                let bits = inside.rate?.bits_per_s().saturating_mul(inside.block.links(inside.npus));
                Some((Rate::from_bits_per_s(bits), inside.delay.unwrap_or(SimTime::ZERO)))
            });
        }
        if inside.is_some() {
            let note = "the first of several dimensions is taken as the inside of hosts, which the form does not say";
            self.topology.notes.push(note.to_owned());
        }
    }

    /// Host of an NPU, and the name of its next port.
    fn end(&mut self, npu: u64) -> (u32, String) {
        let (host, index) = (npu / self.of_host, npu % self.of_host);
        let port = self.next_port[npu as usize];
        self.next_port[npu as usize] += 1;
        // Hosts are the first rows.
        (host as u32, format!("nic-{index}:port-{port}"))
    }

    fn join(&mut self, npus: [u64; 2], dimension: Dimension) {
        let [a, b] = npus.map(|npu| self.end(npu));
        self.topology.join([(a.0, &a.1), (b.0, &b.1)], dimension.rate, dimension.delay, 0);
    }

    /// Enters the cables of a dimension; NPUs of a group are `stride` apart.
    fn enter(&mut self, number: usize, dimension: Dimension, stride: u64, npus: u64) {
        let count = dimension.npus;
        let groups = (0..npus).filter(|npu| (npu / stride).is_multiple_of(count));
        for (group, first) in groups.enumerate() {
            let member = |index: u64| first + index * stride;
            match dimension.block {
                Block::Switch => {
                    let switch = self.topology.switch(&format!("dim-{number}-switch-{group}"));
                    self.topology.list.device_mut(switch).network = Some(CableNetwork::Backend);
                    for index in 0..count {
                        let (host, port) = self.end(member(index));
                        let ends = [(host, port.as_str()), (switch, &format!("port-{index}"))];
                        self.topology.join(ends, dimension.rate, dimension.delay, 0);
                    }
                }
                Block::Ring => {
                    for index in 0..dimension.cables() {
                        self.join([member(index), member((index + 1) % count)], dimension);
                    }
                }
                Block::FullyConnected => {
                    for index in 0..count {
                        for other in index + 1..count {
                            self.join([member(index), member(other)], dimension);
                        }
                    }
                }
            }
        }
    }
}

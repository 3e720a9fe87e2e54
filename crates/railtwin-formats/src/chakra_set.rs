//! The Chakra traces of all ranks of a job, their communicators, and what each rank's nodes wait for.

use std::collections::BTreeMap;

use crate::chakra::{ChakraNode, ChakraTrace};
use crate::chakra_order::ordered;
use crate::chakra_wire::FORMAT;
use crate::error::FormatError;

/// A node by its rank and its place in that rank's file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeRef {
    pub(crate) rank: u32,
    pub(crate) position: u32,
}

/// Ranks that run collectives together.
pub(crate) struct Communicator {
    pub(crate) name: String,
    pub(crate) ranks: Vec<u32>,
    sorted: Vec<u32>,
}

/// The traces of all ranks and their communicators, all ranks first.
pub(crate) struct TraceSet<'a> {
    source_name: &'a str,
    pub(crate) traces: &'a [ChakraTrace],
    pub(crate) communicators: Vec<Communicator>,
    row_of: BTreeMap<u32, usize>,
}

impl<'a> TraceSet<'a> {
    pub(crate) fn new(
        source_name: &'a str,
        traces: &'a [ChakraTrace],
        communicators: &BTreeMap<u32, Vec<u32>>,
    ) -> Result<Self, FormatError> {
        let complain =
            |problem: &str, accepted: &str| FormatError::new(FORMAT, source_name, problem, accepted);
        if traces.is_empty() {
            return Err(complain("has no traces", "give one trace for each rank"));
        }
        let nodes = traces.iter().map(|trace| trace.nodes.len() as u64).sum::<u64>() + traces.len() as u64;
        if nodes > u64::from(u32::MAX / 2) {
            return Err(complain("the traces have more than 2^31 nodes", "give shorter traces"));
        }
        let all: Vec<u32> = (0..traces.len() as u32).collect();
        let mut set = Self {
            source_name,
            traces,
            communicators: vec![Communicator { name: "all".to_owned(), ranks: all.clone(), sorted: all }],
            row_of: BTreeMap::new(),
        };
        for (&name, ranks) in communicators {
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            let last = sorted.last().copied().unwrap_or_default();
            if last as usize >= traces.len() {
                let accepted = format!("there are {} traces: list ranks below that", traces.len());
                return Err(complain("has no trace", &accepted)
                    .field(format!("rank of communicator {name}"))
                    .found(&last.to_string()));
            }
            if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(complain("is listed twice", "list each rank once")
                    .field(format!("rank of communicator {name}"))
                    .found(&twice[0].to_string()));
            }
            set.row_of.insert(name, set.communicators.len());
            set.communicators.push(Communicator { name: name.to_string(), ranks: ranks.clone(), sorted });
        }
        Ok(set)
    }

    pub(crate) fn node(&self, node: NodeRef) -> &'a ChakraNode {
        &self.traces[node.rank as usize].nodes[node.position as usize]
    }

    /// An error about a field of a node.
    pub(crate) fn error(&self, node: NodeRef, field: &str, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted).field(format!(
            "{field} of node {} of rank {}",
            self.node(node).id,
            node.rank
        ))
    }

    /// Row of the communicator that a collective node runs over.
    pub(crate) fn communicator_of(&self, at: NodeRef) -> Result<usize, FormatError> {
        let name = self.node(at).pg_name().unwrap_or_default();
        let known = name.parse().ok().and_then(|number: u32| self.row_of.get(&number));
        let row = match known {
            Some(&row) => row,
            None if matches!(name, "" | "0") => 0,
            None => {
                let given: Vec<&str> = self.communicators[1..].iter().map(|it| it.name.as_str()).collect();
                let accepted = match given.is_empty() {
                    true => {
                        "give the communicators' JSON file, or leave pg_name out for all ranks".to_owned()
                    }
                    false => format!("the communicators are {}", given.join(", ")),
                };
                return Err(self.error(at, "pg_name", "is no communicator", &accepted).found(name));
            }
        };
        if self.communicators[row].sorted.binary_search(&at.rank).is_err() {
            let accepted = format!("its ranks are {:?}", self.communicators[row].ranks);
            return Err(self.error(at, "pg_name", "does not have this rank", &accepted).found(name));
        }
        Ok(row)
    }
}

/// Positions that each node of a rank waits for; absent ones are counted.
pub(crate) fn dependencies(
    set: &TraceSet<'_>,
    rank: u32,
    dangling: &mut u64,
) -> Result<Vec<Vec<u32>>, FormatError> {
    let nodes = &set.traces[rank as usize].nodes;
    let mut position_of: BTreeMap<u64, u32> = BTreeMap::new();
    for (position, node) in nodes.iter().enumerate() {
        if position_of.insert(node.id, position as u32).is_some() {
            let at = NodeRef { rank, position: position as u32 };
            return Err(set.error(at, "id", "names a second node", "give every node its own id"));
        }
    }
    let mut all = Vec::with_capacity(nodes.len());
    for node in nodes {
        let mut known = Vec::with_capacity(node.ctrl_deps.len() + node.data_deps.len());
        for id in node.ctrl_deps.iter().chain(&node.data_deps) {
            match position_of.get(id) {
                Some(&position) => known.push(position),
                None => *dangling += 1,
            }
        }
        known.sort_unstable();
        known.dedup();
        all.push(known);
    }
    Ok(all)
}

/// The order in which a rank issues its nodes: after what they wait for, lowest id first.
pub(crate) fn rank_order(set: &TraceSet<'_>, rank: u32, waits: &[Vec<u32>]) -> Result<Vec<u32>, FormatError> {
    let id = |position: u32| set.node(NodeRef { rank, position }).id;
    ordered(waits, id).map_err(|circle| {
        let shown: Vec<String> = circle.iter().map(|&position| id(position).to_string()).collect();
        let first = NodeRef { rank, position: circle[0] };
        set.error(first, "dependencies", "wait for each other in a circle", "remove one of the dependencies")
            .found(&shown.join(", "))
    })
}

//! Graphs as drawing forms have them: nodes and edges with attributes, and the topology that they mean.
//!
//! * [`attributes`]: roles, rates, delays and ports in attributes, by the names that tools give them;
//! * [`meaning`]: the topology of a graph.
pub(super) mod attributes;
pub(super) mod meaning;

use std::collections::BTreeMap;

/// Attributes by their plain name, as [`attributes::plain_key`] makes it. Only those that are known are kept.
pub(super) type Marks = BTreeMap<String, String>;

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphNode {
    pub id: String,
    pub marks: Marks,
    /// Whether the file declares it, beside edges that name it.
    pub is_declared: bool,
}

/// An edge.
#[derive(Clone, Debug)]
pub(super) struct GraphEdge {
    /// Rows of its nodes.
    pub ends: [u32; 2],
    pub ports: [Option<String>; 2],
    pub marks: Marks,
    /// Whether it has a direction: then the other direction is the same cable.
    pub is_directed: bool,
    /// Line of the file, from 1; 0 where none is known.
    pub line: u64,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    pub title: Option<String>,
    pub marks: Marks,
    pub nodes: Vec<GraphNode>,
    pub rows: BTreeMap<String, u32>,
    pub edges: Vec<GraphEdge>,
    /// Whether edges may only name nodes that are declared.
    pub is_closed: bool,
}

impl Graph {
    /// Row of the node of an id; enters it where it is new, and says whether it was.
    pub(super) fn node(&mut self, id: &str) -> (u32, bool) {
        if let Some(&row) = self.rows.get(id) {
            return (row, false);
        }
        let row = self.nodes.len() as u32;
        self.rows.insert(id.to_owned(), row);
        self.nodes.push(GraphNode { id: id.to_owned(), ..GraphNode::default() });
        (row, true)
    }
}

//! The topology of GraphML files.
use std::collections::BTreeMap;

use railtwin_formats::FormatError;
use roxmltree::{Document, Node, ParsingOptions};

use super::NAME;
use crate::form::SourceFile;
use crate::forms::graph::attributes::{is_known, plain_key};
use crate::forms::graph::{Graph, GraphEdge, Marks, meaning};
use crate::topology::Topology;

/// What is accepted.
const ACCEPTED: &str = "<graphml> with <graph>, <node id> and <edge source target>";

/// Reads graphs in GraphML; several files, and several graphs in one, are one topology, joined by names.
///
/// Attributes are those of `<key attr.name>`, whatever their type and with their defaults; names are compared without case
/// and signs: `source_port` and `target_port`, or `sourceport` and `targetport` of `<edge>`, name ports, `speed`, `bandwidth`
/// or `LinkSpeedRaw` rates, `delay` with a unit delays, `role`, `type` or `tier` what a node is. Labels of yEd name nodes and
/// ports. A directed graph may hold one or both directions of a cable. Nested graphs are flattened: the node that holds one
/// is no device, its label the group of the nodes in it.
///
/// Findings are those of graphs, and `unknown-device` for an edge to a node that is not in the file.
///
/// # Errors
/// [`FormatError`] for text that is no XML, that is no GraphML, for a node without `id`, an edge without ends, and for
/// hyperedges, which are no cables.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let mut graph = Graph { is_closed: true, ..Graph::default() };
    for source in sources {
        read_file(source, &mut graph)?;
    }
    if graph.nodes.is_empty() {
        let name = sources.first().map_or("", |source| source.name);
        return Err(FormatError::new(NAME, name, "has no node", ACCEPTED));
    }
    Ok(meaning::topology(NAME, &graph))
}

/// A key: the plain name of the attribute, and its default.
struct Key {
    name: String,
    is_of_edges: bool,
    default: Option<String>,
}

/// Keys that are known, by id.
type Keys<'a> = BTreeMap<&'a str, Key>;

fn read_file(source: &SourceFile<'_>, graph: &mut Graph) -> Result<(), FormatError> {
    let text = String::from_utf8_lossy(source.bytes);
    // Some writers name the DTD.
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document =
        Document::parse_with_options(text.trim_start_matches('\u{feff}'), options).map_err(|error| {
            let line = u64::from(error.pos().row);
            FormatError::new(NAME, source.name, format!("is no XML: {error}"), ACCEPTED).at_line(line)
        })?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let found = root.tag_name().name().to_owned();
        return Err(FormatError::new(NAME, source.name, "is no GraphML", ACCEPTED).found(&found).foreign());
    }
    let keys = keys(root);
    let ends = document.input_text().bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let ends: Vec<usize> = ends.map(|(at, _)| at).collect();
    let mut file = File { source, ends: &ends, keys: &keys, graph, is_directed: BTreeMap::new() };
    file.nodes(root)?;
    file.edges(root)
}

/// The known keys of a file.
fn keys<'a>(root: Node<'a, '_>) -> Keys<'a> {
    let all = root.children().filter(|child| child.tag_name().name() == "key");
    let keys = all.filter_map(|key| {
        let id = key.attribute("id")?;
        let name = plain_key(key.attribute("attr.name").unwrap_or(id));
        // yEd keeps names and labels in keys without a name.
        let is_graphics = key.attribute("yfiles.type").is_some_and(|kind| kind.ends_with("graphics"));
        let name = if is_graphics { "graphics".to_owned() } else { name };
        let default = key.children().find(|child| child.tag_name().name() == "default").map(text_of);
        let is_of_edges = key.attribute("for") == Some("edge");
        (is_known(&name) || is_graphics).then_some((id, Key { name, is_of_edges, default }))
    });
    keys.collect()
}

/// A file being read.
struct File<'a> {
    source: &'a SourceFile<'a>,
    /// Where its lines end.
    ends: &'a [usize],
    keys: &'a Keys<'a>,
    graph: &'a mut Graph,
    /// Whether edges of a graph are directed, by the graph's place in the document.
    is_directed: BTreeMap<u32, bool>,
}

impl File<'_> {
    /// Line of an element, from 1.
    fn line(&self, at: Node<'_, '_>) -> u64 {
        self.ends.partition_point(|&end| end < at.range().start) as u64 + 1
    }

    fn error(&self, at: Node<'_, '_>, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(NAME, self.source.name, problem, accepted).at_line(self.line(at))
    }

    /// Enters nodes, and the graphs that edges are of.
    fn nodes(&mut self, root: Node<'_, '_>) -> Result<(), FormatError> {
        let mut groups: BTreeMap<u32, String> = BTreeMap::new();
        for element in root.descendants() {
            match element.tag_name().name() {
                "graph" => {
                    let directed = element.attribute("edgedefault") == Some("directed");
                    self.is_directed.insert(element.id().get(), directed);
                    if element.parent() == Some(root) {
                        self.title(element);
                    }
                }
                "node" if element.parent().is_some_and(|parent| parent.tag_name().name() == "graph") => {
                    let accepted = "a node with id=\"NAME\"";
                    let id = element
                        .attribute("id")
                        .ok_or_else(|| self.error(element, "a node has no id", accepted))?;
                    let mut marks = self.marks(element, false);
                    let around = element.parent().and_then(|graph| graph.parent());
                    if let Some(group) = around.and_then(|node| groups.get(&node.id().get())) {
                        let key =
                            if group.to_ascii_lowercase().starts_with("rack") { "rack" } else { "group" };
                        marks.entry(key.to_owned()).or_insert_with(|| group.clone());
                    }
                    let is_group = element.children().any(|child| child.tag_name().name() == "graph");
                    if is_group {
                        let label = marks.get("label").cloned().unwrap_or_else(|| id.to_owned());
                        groups.insert(element.id().get(), label);
                        continue;
                    }
                    let (row, _) = self.graph.node(id);
                    let node = &mut self.graph.nodes[row as usize];
                    node.is_declared = true;
                    node.marks.extend(marks);
                }
                "hyperedge" => {
                    return Err(self.error(
                        element,
                        "is a hyperedge, which is no cable",
                        "an edge for each cable",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Title and attributes of a graph.
    fn title(&mut self, graph: Node<'_, '_>) {
        for data in graph.children().filter(|child| child.tag_name().name() == "data") {
            let key = data.attribute("key").and_then(|id| self.keys.get(id));
            if let Some(key) = key {
                let value = text_of(data);
                if ["name", "label", "network"].contains(&key.name.as_str()) {
                    self.graph.title.get_or_insert(value);
                } else {
                    self.graph.marks.insert(key.name.clone(), value);
                }
            }
        }
        if let Some(id) = graph.attribute("id").filter(|id| !["G", "g", ""].contains(id)) {
            self.graph.title.get_or_insert_with(|| id.to_owned());
        }
    }

    /// Attributes of a node or an edge, with defaults.
    fn marks(&self, element: Node<'_, '_>, is_edge: bool) -> Marks {
        let mut marks = Marks::new();
        for key in self.keys.values().filter(|key| key.is_of_edges == is_edge) {
            if let Some(default) = &key.default {
                marks.insert(key.name.clone(), default.clone());
            }
        }
        for data in element.children().filter(|child| child.tag_name().name() == "data") {
            let Some(key) = data.attribute("key").and_then(|id| self.keys.get(id)) else { continue };
            if key.name == "graphics" {
                labels(data, is_edge, &mut marks);
            } else {
                marks.insert(key.name.clone(), text_of(data));
            }
        }
        marks
    }

    fn edges(&mut self, root: Node<'_, '_>) -> Result<(), FormatError> {
        for element in root.descendants().filter(|element| element.tag_name().name() == "edge") {
            let mut ends = [0; 2];
            for (end, name) in ends.iter_mut().zip(["source", "target"]) {
                let accepted = "an edge with source=\"NODE\" and target=\"NODE\"";
                let id = element.attribute(name);
                let id = id.ok_or_else(|| self.error(element, "an edge has an end missing", accepted))?;
                (*end, _) = self.graph.node(id);
            }
            let around = element.parent().and_then(|graph| self.is_directed.get(&graph.id().get()));
            let is_directed = match element.attribute("directed") {
                Some(directed) => directed == "true",
                None => around.copied().unwrap_or(false),
            };
            let ports = ["sourceport", "targetport"].map(|name| element.attribute(name).map(str::to_owned));
            let marks = self.marks(element, true);
            let line = self.line(element);
            self.graph.edges.push(GraphEdge { ends, ports, marks, is_directed, line });
        }
        Ok(())
    }
}

/// Labels of yEd: of a node its first, of an edge two that name its ports, or one.
fn labels(data: Node<'_, '_>, is_edge: bool, marks: &mut Marks) {
    let name = if is_edge { "EdgeLabel" } else { "NodeLabel" };
    let all = data.descendants().filter(|element| element.tag_name().name() == name);
    let texts: Vec<String> = all.map(text_of).filter(|text| !text.is_empty()).take(3).collect();
    match texts.as_slice() {
        [a, b] if is_edge => {
            marks.insert("sourcelabel".to_owned(), a.clone());
            marks.insert("targetlabel".to_owned(), b.clone());
        }
        [first, ..] => {
            marks.insert("label".to_owned(), first.clone());
        }
        [] => {}
    }
}

/// The text directly in an element.
fn text_of(element: Node<'_, '_>) -> String {
    let texts = element.children().filter(Node::is_text).filter_map(|child| child.text());
    texts.collect::<String>().trim().to_owned()
}

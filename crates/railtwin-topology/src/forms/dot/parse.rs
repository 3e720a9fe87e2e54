//! The graph of the tokens of a DOT file.
use std::collections::BTreeSet;
use std::rc::Rc;

use railtwin_formats::FormatError;

use super::NAME;
use super::tokens::{Token, Tokens};
use crate::forms::graph::attributes::{is_known, plain_key};
use crate::forms::graph::{Graph, GraphEdge, Marks};

/// Deepest nesting of subgraphs.
const DEPTH: usize = 64;
/// Edges that a file may mean, for each of its bytes and at least: `{a b c} -- {d e f}` means 9.
const EDGES_PER_BYTE: usize = 4;
const EDGES: usize = 1 << 16;

/// An operand of an edge: a node with a port, or the nodes of a subgraph.
enum Operand {
    Node(u32, Option<String>),
    Nodes(Vec<u32>),
}

/// A scope: the graph or a subgraph.
struct Scope {
    node_marks: Rc<Marks>,
    edge_marks: Rc<Marks>,
    /// Nodes that stand in it.
    nodes: Vec<u32>,
    /// Its label or id.
    label: Option<String>,
    /// The operands before it in its edge statement, and the edge operator: it stands within one.
    before: Vec<Operand>,
    is_directed: bool,
}

/// The parser.
struct Parser<'a> {
    name: &'a str,
    tokens: Tokens<'a>,
    /// A token that was looked at.
    ahead: Option<(Token, u64)>,
    graph: Graph,
    scopes: Vec<Scope>,
    line: u64,
    edges_most: usize,
    /// Whether several edges between two ports are one, and those that are known.
    is_strict: bool,
    known: BTreeSet<(u32, u32, Option<String>, Option<String>)>,
}

/// Adds the graphs of a file to a graph.
pub(super) fn parse(name: &str, text: &str, graph: Graph) -> Result<Graph, FormatError> {
    let edges_most = graph.edges.len() + EDGES.max(text.len().saturating_mul(EDGES_PER_BYTE));
    let tokens = Tokens::new(text);
    let mut parser = Parser {
        name,
        tokens,
        ahead: None,
        graph,
        scopes: Vec::new(),
        line: 1,
        edges_most,
        is_strict: false,
        known: BTreeSet::new(),
    };
    while parser.peek()?.is_some() {
        parser.whole()?;
    }
    Ok(parser.graph)
}

impl Parser<'_> {
    fn error(&self, found: &str, problem: &str, accepted: &str) -> FormatError {
        FormatError::new(NAME, self.name, problem, accepted).at_line(self.line).found(found)
    }

    fn peek(&mut self) -> Result<Option<&Token>, FormatError> {
        if self.ahead.is_none() {
            self.ahead = self.tokens.next().map_err(|bad| {
                let accepted = "DOT: names, numbers, strings in quotation marks, and -- or -> between nodes";
                FormatError::new(NAME, self.name, bad.problem, accepted)
                    .at_line(bad.line)
                    .found(&bad.found.to_string())
            })?;
        }
        if let Some((_, line)) = &self.ahead {
            self.line = *line;
        }
        Ok(self.ahead.as_ref().map(|(token, _)| token))
    }

    fn take(&mut self) -> Result<Option<Token>, FormatError> {
        self.peek()?;
        Ok(self.ahead.take().map(|(token, _)| token))
    }

    /// Whether the next token is a sign; then it is passed over.
    fn pass(&mut self, sign: char) -> Result<bool, FormatError> {
        let is_next = self.peek()? == Some(&Token::Sign(sign));
        if is_next {
            self.ahead = None;
        }
        Ok(is_next)
    }

    fn expect(&mut self, sign: char, behind: &str) -> Result<(), FormatError> {
        if self.pass(sign)? {
            return Ok(());
        }
        let found = shown(self.peek()?);
        Err(self.error(&found, "stands in the wrong place", &format!("write {sign} {behind}")))
    }

    /// The next token, where it is an id that is not one of the keywords.
    fn id(&mut self) -> Result<Option<String>, FormatError> {
        let is_id = matches!(self.peek()?, Some(Token::Id { text, is_quoted }) if *is_quoted || keyword(text).is_none());
        Ok(match self.ahead.take_if(|_| is_id) {
            Some((Token::Id { text, .. }, _)) => Some(text),
            _ => None,
        })
    }

    /// The next token, where it is a keyword.
    fn keyword(&mut self) -> Result<Option<&'static str>, FormatError> {
        let found = match self.peek()? {
            Some(Token::Id { text, is_quoted: false }) => keyword(text),
            _ => None,
        };
        if found.is_some() {
            self.ahead = None;
        }
        Ok(found)
    }

    /// `[strict] (graph | digraph) [id] { ... }`.
    fn whole(&mut self) -> Result<(), FormatError> {
        let mut word = self.keyword()?;
        self.is_strict = word == Some("strict");
        if self.is_strict {
            word = self.keyword()?;
        }
        if !matches!(word, Some("graph" | "digraph")) {
            let found =
                word.map_or_else(|| shown(self.ahead.as_ref().map(|(token, _)| token)), str::to_owned);
            return Err(self.error(&found, "begins no graph", "graph NAME { ... } or digraph NAME { ... }"));
        }
        let title = self.id()?;
        self.graph.title = self.graph.title.take().or(title);
        self.expect('{', "behind the name of the graph")?;
        let marks = Rc::new(Marks::new());
        self.open(Rc::clone(&marks), marks, None, Vec::new(), false)?;
        while !self.scopes.is_empty() {
            self.statement()?;
        }
        Ok(())
    }

    fn open(
        &mut self,
        node_marks: Rc<Marks>,
        edge_marks: Rc<Marks>,
        label: Option<String>,
        before: Vec<Operand>,
        is_directed: bool,
    ) -> Result<(), FormatError> {
        if self.scopes.len() > DEPTH {
            let accepted = format!("at most {DEPTH} subgraphs within one another");
            return Err(self.error("{", "nests subgraphs too deep", &accepted));
        }
        self.scopes.push(Scope { node_marks, edge_marks, nodes: Vec::new(), label, before, is_directed });
        Ok(())
    }

    /// One statement, or the end of a scope.
    fn statement(&mut self) -> Result<(), FormatError> {
        if self.pass(';')? || self.pass(',')? {
            return Ok(());
        }
        if self.pass('}')? {
            return self.close();
        }
        if self.peek()? == Some(&Token::Sign('{')) {
            return self.subgraph(Vec::new(), false);
        }
        match self.keyword()? {
            Some("subgraph") => return self.subgraph(Vec::new(), false),
            Some(word @ ("graph" | "node" | "edge")) => return self.defaults(word),
            Some(word) => return Err(self.misplaced(word)),
            None => {}
        }
        let Some(id) = self.id()? else {
            let found = shown(self.peek()?);
            return Err(self.misplaced(&found));
        };
        if self.pass('=')? {
            let value = self.value()?;
            self.graph_mark(&id, value);
            return Ok(());
        }
        let first = self.node(&id)?;
        self.chain(vec![first], true)
    }

    fn misplaced(&self, found: &str) -> FormatError {
        self.error(found, "stands in the wrong place", "a node, an edge, a subgraph or an attribute, then }")
    }

    fn value(&mut self) -> Result<String, FormatError> {
        match self.take()? {
            Some(Token::Id { text, .. }) => Ok(text),
            other => Err(self.error(
                &shown(other.as_ref()),
                "is no value",
                "a name, a number or a string behind =",
            )),
        }
    }

    /// `node [role=leaf]`, `graph [label="x"]`.
    fn defaults(&mut self, word: &str) -> Result<(), FormatError> {
        let marks = self.marks()?;
        if word == "graph" {
            marks.into_iter().for_each(|(key, value)| self.graph_mark(&key, value));
        } else if let Some(scope) = self.scopes.last_mut() {
            let known = if word == "node" { &mut scope.node_marks } else { &mut scope.edge_marks };
            Rc::make_mut(known).extend(marks);
        }
        Ok(())
    }

    fn graph_mark(&mut self, key: &str, value: String) {
        let key = plain_key(key);
        if self.scopes.len() == 1 && is_known(&key) {
            self.graph.marks.insert(key, value);
        } else if key == "label"
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.label = Some(value);
        }
    }

    /// `[a=b, c=d] [e=f]`; those that are known.
    fn marks(&mut self) -> Result<Marks, FormatError> {
        let mut marks = Marks::new();
        while self.pass('[')? {
            while !self.pass(']')? {
                let Some(key) = self.id()? else {
                    let found = shown(self.peek()?);
                    return Err(self.error(
                        &found,
                        "is no attribute",
                        "attributes such as [role=leaf, speed=\"400G\"]",
                    ));
                };
                let value = if self.pass('=')? { self.value()? } else { "true".to_owned() };
                let key = plain_key(&key);
                if is_known(&key) {
                    marks.insert(key, value);
                }
                let _ = self.pass(',')? || self.pass(';')?;
            }
        }
        Ok(marks)
    }

    /// A node with its port, which may have a compass point behind it.
    fn node(&mut self, id: &str) -> Result<Operand, FormatError> {
        let (row, is_new) = self.graph.node(id);
        if let Some(scope) = self.scopes.last_mut() {
            scope.nodes.push(row);
            if is_new {
                self.graph.nodes[row as usize].marks = (*scope.node_marks).clone();
            }
        }
        let mut port = None;
        while self.pass(':')? {
            let part = self.value()?;
            let is_compass = ["n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"].contains(&part.as_str());
            port = match port {
                None if is_compass => None,
                None => Some(part),
                Some(port) if is_compass => Some(port),
                // An unquoted port with a colon in it, `swp1:0`.
                Some(port) => Some(format!("{port}:{part}")),
            };
        }
        Ok(Operand::Node(row, port))
    }

    /// The rest of a statement that begins with an operand: edges, attributes.
    fn chain(&mut self, mut operands: Vec<Operand>, mut is_node: bool) -> Result<(), FormatError> {
        let mut is_directed = false;
        while let Some(Token::Edge { is_directed: directed }) = self.peek()? {
            is_directed = *directed;
            is_node = false;
            self.ahead = None;
            let is_subgraph = self.peek()? == Some(&Token::Sign('{')) || {
                let keyword = self.keyword()?;
                if let Some(word) = keyword.filter(|word| *word != "subgraph") {
                    return Err(self.misplaced(word));
                }
                keyword.is_some()
            };
            if is_subgraph {
                // It goes on behind the subgraph.
                return self.subgraph(operands, is_directed);
            }
            let Some(id) = self.id()? else {
                let found = shown(self.peek()?);
                return Err(self.error(
                    &found,
                    "is no end of an edge",
                    "a node or a subgraph behind -- or ->",
                ));
            };
            let node = self.node(&id)?;
            operands.push(node);
        }
        let marks = self.marks()?;
        if is_node {
            if let Some(Operand::Node(row, _)) = operands.first() {
                let node = &mut self.graph.nodes[*row as usize];
                node.is_declared = true;
                node.marks.extend(marks);
            }
            return Ok(());
        }
        self.edges(&operands, is_directed, marks)
    }

    /// A subgraph behind the operands of an edge statement.
    fn subgraph(&mut self, before: Vec<Operand>, is_directed: bool) -> Result<(), FormatError> {
        let id = self.id()?;
        self.expect('{', "behind the name of the subgraph")?;
        let label = id.map(|id| id.trim_start_matches("cluster").trim_matches(['_', '-']).to_owned());
        let marks =
            self.scopes.last().map(|scope| (Rc::clone(&scope.node_marks), Rc::clone(&scope.edge_marks)));
        let (node_marks, edge_marks) = marks.unwrap_or_default();
        self.open(node_marks, edge_marks, label, before, is_directed)
    }

    /// The end of a scope: its nodes are of its group, and of the scope around it.
    fn close(&mut self) -> Result<(), FormatError> {
        let Some(mut scope) = self.scopes.pop() else { return Ok(()) };
        let Some(around) = self.scopes.last_mut() else { return Ok(()) };
        scope.nodes.sort_unstable();
        scope.nodes.dedup();
        if let Some(label) = scope.label.filter(|label| !label.is_empty()) {
            for &node in &scope.nodes {
                let marks = &mut self.graph.nodes[node as usize].marks;
                if label.to_ascii_lowercase().starts_with("rack") {
                    marks.entry("rack".to_owned()).or_insert_with(|| label.clone());
                } else {
                    marks.entry("group".to_owned()).or_insert_with(|| label.clone());
                }
            }
        }
        around.nodes.extend(&scope.nodes);
        let mut operands = scope.before;
        operands.push(Operand::Nodes(scope.nodes));
        let is_first = operands.len() == 1;
        if !is_first || matches!(self.peek()?, Some(Token::Edge { .. })) {
            return self.chain_behind(operands, scope.is_directed, is_first);
        }
        Ok(())
    }

    /// The rest of an edge statement behind a subgraph in it.
    fn chain_behind(
        &mut self,
        operands: Vec<Operand>,
        is_directed: bool,
        is_first: bool,
    ) -> Result<(), FormatError> {
        if is_first || matches!(self.peek()?, Some(Token::Edge { .. })) {
            return self.chain(operands, false);
        }
        let marks = self.marks()?;
        self.edges(&operands, is_directed, marks)
    }

    /// Enters the edges between neighboring operands.
    fn edges(&mut self, operands: &[Operand], is_directed: bool, marks: Marks) -> Result<(), FormatError> {
        let mut all = self.scopes.last().map(|scope| (*scope.edge_marks).clone()).unwrap_or_default();
        all.extend(marks);
        for pair in operands.windows(2) {
            let [from, to] = [ends(&pair[0]), ends(&pair[1])];
            if self.graph.edges.len().saturating_add(from.len().saturating_mul(to.len())) > self.edges_most {
                let accepted = format!("at most {} edges", self.edges_most);
                return Err(self.error("--", "joins too many nodes", &accepted));
            }
            for (a, port_a) in &from {
                for (b, port_b) in &to {
                    let ports = [port_a, port_b].map(|port| port.map(str::to_owned));
                    let is_turned = !is_directed && b < a;
                    let (low, high) = if is_turned { (*b, *a) } else { (*a, *b) };
                    let [mut first, mut second] = ports.clone();
                    if is_turned {
                        std::mem::swap(&mut first, &mut second);
                    }
                    if self.is_strict && !self.known.insert((low, high, first, second)) {
                        continue;
                    }
                    let (ends, marks, line) = ([*a, *b], all.clone(), self.line);
                    self.graph.edges.push(GraphEdge { ends, ports, marks, is_directed, line });
                }
            }
        }
        Ok(())
    }
}

/// Nodes and ports of an operand.
fn ends(operand: &Operand) -> Vec<(u32, Option<&str>)> {
    match operand {
        Operand::Node(row, port) => vec![(*row, port.as_deref())],
        Operand::Nodes(rows) => rows.iter().map(|&row| (row, None)).collect(),
    }
}

/// The keyword that a bare id is, whatever its case.
fn keyword(text: &str) -> Option<&'static str> {
    ["strict", "graph", "digraph", "subgraph", "node", "edge"]
        .into_iter()
        .find(|word| text.eq_ignore_ascii_case(word))
}

/// A token for an error.
fn shown(token: Option<&Token>) -> String {
    match token {
        Some(Token::Id { text, .. }) => text.clone(),
        Some(Token::Sign(sign)) => sign.to_string(),
        Some(Token::Edge { is_directed }) => if *is_directed { "->" } else { "--" }.to_owned(),
        None => "end of file".to_owned(),
    }
}

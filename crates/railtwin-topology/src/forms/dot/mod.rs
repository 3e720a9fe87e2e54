//! Graphs in the DOT language of Graphviz: plans of PTM and of the UFM cable validation tool, drawings of containerlab.
//!
//! The grammar is that of <https://graphviz.org/doc/info/lang.html>. It is read by a tokenizer and a parser of our own, with
//! bounds on depth and on edges: of the crates that read DOT, `dot-parser` is under the GPL, and the grammars of
//! `graphviz-rust` and `graphviz-dot-parser` recurse once for every nested brace of a file.
//!
//! * [`tokens`]: the tokens; [`parse`]: the graph of them; [`read`], [`write`](mod@write).
mod parse;
mod read;
mod tokens;
mod write;

use crate::form::Form;

/// Name of the form.
const NAME: &str = "dot";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: NAME,
    title: "graph in DOT, of Graphviz, PTM or containerlab",
    is_one: read::is_one,
    read: Some(read::read),
    write: Some(write::write),
};

//! Graphs in GraphML: of networkx, yEd, the Internet Topology Zoo, TopoHub.
//!
//! The format is that of <http://graphml.graphdrawing.org/specification.html>; labels of yEd are in elements of its own.
//!
//! * [`read`]: the topology of a file; [`write`](mod@write): a file of a topology.
mod read;
mod write;

use crate::form::{Form, SourceFile};

/// Name of the form.
const NAME: &str = "graphml";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: NAME,
    title: "graph in GraphML, of networkx, yEd or the Topology Zoo",
    is_one: |source: &SourceFile<'_>| source.head().contains("<graphml"),
    read: Some(read::read),
    write: Some(write::write),
};

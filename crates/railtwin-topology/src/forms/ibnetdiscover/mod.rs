//! Text of `ibnetdiscover`: switches, adapters and links of an InfiniBand subnet.
//!
//! The syntax is that of `infiniband-diags/ibnetdiscover.c` of linux-rdma/rdma-core, in all its forms: blocks of nodes, with
//! `-f` and with grouping (`-g`), the ports report (`-p`), lists of nodes (`-l`, `-H`, `-S`, `-R`); and the net files of
//! `ibsim`. Damage was learned from dumps in NVIDIA/topograph.
//!
//! * [`lines`]: what a line says; [`dump`]: nodes and links as the ends name them;
//! * [`names`]: hosts, adapters and switches of node descriptions; [`speed`]: widths and speeds as rates;
//! * [`devices`]: which node is which device; [`read`]: the topology; [`checks`]: tiers and slow links;
//! * [`write`](mod@write): blocks of a topology.
mod checks;
mod devices;
mod dump;
mod lines;
mod names;
mod read;
mod speed;
mod write;

use crate::form::{Form, SourceFile};

/// Name of the form.
const NAME: &str = "ibnetdiscover";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: NAME,
    title: "InfiniBand subnet, as ibnetdiscover prints it",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Whether one of the first lines is of a dump.
fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    head.contains("# Topology file: generated on")
        || head.lines().any(|line| {
            matches!(
                lines::line(line),
                lines::Line::Header(_) | lines::Line::Listed(_) | lines::Line::Report(_)
            )
        })
}

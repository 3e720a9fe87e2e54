//! Topologies of SimAI, and of HPCC and ASTRA-sim with ns-3: nodes by number, switches among them, links.
//!
//! Both are learned from the sources of aliyun/SimAI (`gen_Topo_Template.py`), aliyun/ns-3-alibabacloud and
//! alibaba-edu/High-Precision-Congestion-Control. SimAI's header has five counts and the GPU's type, the other three
//! counts. A GPU is also its NIC: node `g` is GPU `g mod n` of host `g / n`, and that GPU's NIC. NVSwitches are inside hosts.
mod read;
mod write;

use railtwin_formats::SimaiTopology;

use crate::form::{Form, SourceFile};

/// SimAI's form.
pub(crate) const FORM: Form = Form {
    name: "simai",
    title: "SimAI topology",
    is_one: |source| is_one(source, 6),
    read: Some(read::read),
    write: Some(write::simai),
};

/// The form of HPCC and of ASTRA-sim's ns-3: hosts have one GPU.
pub(crate) const HPCC: Form = Form {
    name: "hpcc",
    title: "HPCC or ASTRA-sim ns-3 topology",
    is_one: |source| is_one(source, 3),
    read: Some(read::read),
    write: Some(write::hpcc),
};

/// Whether a file is a topology whose header has so many words.
fn is_one(source: &SourceFile<'_>, words: usize) -> bool {
    let head = source.head();
    let header =
        head.lines().map(|line| line.split_whitespace().count()).find(|count| *count > 0).unwrap_or(0);
    header == words && SimaiTopology::is_one(source.bytes)
}

//! Networks of ASTRA-sim's analytical backend: dimensions of NPUs, each a ring, a full mesh or a switch.
//!
//! Learned from the sources of astra-sim/astra-network-analytical (`NetworkParser.cc`, `NetworkFunction.cc`), and for the
//! keys of its first version from astra-sim (`Configuration.json`). NPU `x0 + n0 · (x1 + n1 · …)` has the coordinates
//! `x0, x1, …`. A rate in GB/s is of 2^30 bytes there.
//!
//! The form does not say what is inside a host. Of several dimensions the first is taken as that: its NPUs are the GPUs of
//! one host, with NVLink of its rate. A network of one dimension has hosts of one GPU.
mod read;
mod write;

use crate::form::{Form, SourceFile};

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "astra-sim",
    title: "ASTRA-sim analytical network (YAML)",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

/// Keys of today, and of the first version.
const KEYS: [[&str; 2]; 4] = [
    ["topology", "topologies-per-dim"],
    ["npus_count", "units-count"],
    ["bandwidth", "link-bandwidth"],
    ["latency", "link-latency"],
];

/// Bits of a gigabyte of the form.
const BITS_OF_GB: f64 = 8.0 * (1_u64 << 30) as f64;

/// Whether a file has the keys of dimensions and of NPUs.
fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let has = |key: &str| {
        head.lines().any(|line| {
            let line = line.trim_start_matches('\u{feff}').trim_start().trim_start_matches(['"', '{']);
            line.strip_prefix(key)
                .is_some_and(|rest| rest.trim_start_matches('"').trim_start().starts_with(':'))
        })
    };
    KEYS[..2].iter().all(|keys| keys.iter().any(|key| has(key)))
}

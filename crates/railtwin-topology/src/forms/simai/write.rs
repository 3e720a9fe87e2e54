//! From hosts, switches and cables to nodes and links.
//!
//! Nodes are GPUs host by host, backup hosts last; then NVSwitches, one for each host or scale-up domain; then switches, leaf
//! first, as SimAI's templates order them. The frontend, storage hosts and gateways are left out, as SimAI has GPUs alone.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime};

use crate::form::{WriteOptions, Written};
use crate::forms::backend::{Backend, End, UNKNOWN_DELAY, refused};
use crate::topology::Topology;

/// GPU types that SimAI knows.
const GPU_TYPES: [&str; 5] = ["A100", "A800", "H100", "H800", "H20"];

/// Writes SimAI's form.
pub(super) fn simai(topology: &Topology, options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let backend = Backend::of("simai", topology)?;
    let per_server = backend.gpus_of_each("simai", topology)?;
    let gpu_type = options.gpu_type.clone().unwrap_or_else(|| gpu_type(topology, &backend));
    let nodes = Numbers::of(topology, &backend, per_server);
    let links = links("simai", topology, &backend, &nodes)?;
    let count = nodes.first_switch + backend.switches.len() as u64;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{count} {per_server} {} {} {} {gpu_type}",
        nodes.nvswitches,
        backend.switches.len(),
        links.len()
    );
    finish(text, nodes.gpus..count, &links, "simai-topology.txt")
}

/// Writes HPCC's form: hosts of one GPU.
pub(super) fn hpcc(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let backend = Backend::of("hpcc", topology)?;
    let gpus = backend.gpus_of_each("hpcc", topology)?;
    if gpus != 1 {
        let problem = format!("hosts have {gpus} GPUs");
        return Err(refused(
            "hpcc",
            topology,
            problem,
            "the form has hosts of one GPU: write the form simai",
        ));
    }
    let nodes = Numbers::of(topology, &backend, 1);
    let links =
        links("hpcc", topology, &backend, &Numbers { nvswitches: 0, first_switch: nodes.gpus, ..nodes })?;
    let count = backend.hosts.len() as u64 + backend.switches.len() as u64;
    let text = format!("{count} {} {}\n", backend.switches.len(), links.len());
    finish(text, backend.hosts.len() as u64..count, &links, "hpcc-topology.txt")
}

fn finish(
    mut text: String,
    switches: std::ops::Range<u64>,
    links: &[String],
    path: &str,
) -> Result<Vec<Written>, FormatError> {
    let switches: Vec<String> = switches.map(|node| node.to_string()).collect();
    let _ = writeln!(text, "{}", switches.join(" "));
    for link in links {
        let _ = writeln!(text, "{link}");
    }
    Ok(vec![Written { path: path.to_owned(), text }])
}

/// The GPU's type by the name of the host model: `H800` of `hgx-h800`; `NONE` where SimAI knows none of its words.
fn gpu_type(topology: &Topology, backend: &Backend) -> String {
    let model = topology.about[backend.hosts[0].device as usize].model.as_deref().unwrap_or("");
    let model = model.to_ascii_uppercase();
    GPU_TYPES.iter().find(|name| model.contains(*name)).unwrap_or(&"NONE").to_string()
}

/// Numbers of nodes.
struct Numbers {
    per_server: u32,
    gpus: u64,
    /// NVSwitch of each host with NVLink.
    nvswitch_of: Vec<Option<u64>>,
    nvswitches: u64,
    first_switch: u64,
}

impl Numbers {
    fn of(topology: &Topology, backend: &Backend, per_server: u32) -> Self {
        let gpus = backend.hosts.len() as u64 * u64::from(per_server);
        let mut domains: BTreeMap<&str, u64> = BTreeMap::new();
        let mut nvswitches = 0;
        let nvswitch_of = backend.hosts.iter().map(|host| {
            let about = &topology.about[host.device as usize];
            about.nvlink?;
            let mut next = || {
                nvswitches += 1;
                gpus + nvswitches - 1
            };
            Some(match about.domain.as_deref() {
                Some(domain) => *domains.entry(domain).or_insert_with(next),
                None => next(),
            })
        });
        let nvswitch_of = nvswitch_of.collect();
        Self { per_server, gpus, nvswitch_of, nvswitches, first_switch: gpus + nvswitches }
    }
}

/// Links, GPU by GPU: NVLink, then the cables of its NIC; then those between switches.
fn links(
    form: &'static str,
    topology: &Topology,
    backend: &Backend,
    nodes: &Numbers,
) -> Result<Vec<String>, FormatError> {
    let mut of_gpus: Vec<Vec<String>> = vec![Vec::new(); nodes.gpus as usize];
    for (row, host) in backend.hosts.iter().enumerate() {
        let nvlink = topology.about[host.device as usize].nvlink.filter(|_| nodes.nvswitches > 0);
        if let (Some((rate, delay)), Some(switch)) = (nvlink, nodes.nvswitch_of[row]) {
            let first = row as u64 * u64::from(nodes.per_server);
            for gpu in first..first + u64::from(nodes.per_server) {
                of_gpus[gpu as usize].push(line([gpu, switch], rate, delay));
            }
        }
    }
    let mut others = Vec::new();
    for cable in &backend.cables {
        let number = |end: End| match end {
            End::Nic { host, nic, .. } => {
                let nics = u64::from(backend.hosts[host as usize].nics.max(1));
                let gpu = u64::from(nic) * u64::from(nodes.per_server) / nics;
                u64::from(host) * u64::from(nodes.per_server) + gpu
            }
            End::Switch(row) => nodes.first_switch + u64::from(row),
        };
        let ends = cable.ends.map(number);
        let rate = backend.rate(form, topology, cable)?;
        let text = line(ends, rate, cable.delay.unwrap_or(UNKNOWN_DELAY));
        match cable.ends[0] {
            End::Nic { .. } => of_gpus[ends[0] as usize].push(text),
            End::Switch(_) => others.push(text),
        }
    }
    let few = backend.hosts.iter().find(|host| host.nics < nodes.per_server);
    if let (Some(host), true) = (few, !backend.switches.is_empty()) {
        let name = &topology.list.devices()[host.device as usize].name;
        let problem = format!("host {name} has {} GPUs and {} NICs", nodes.per_server, host.nics);
        return Err(refused(
            form,
            topology,
            problem,
            "in the form a GPU is its NIC: each needs one of its own",
        ));
    }
    Ok(of_gpus.into_iter().flatten().chain(others).collect())
}

fn line(ends: [u64; 2], rate: Rate, delay: SimTime) -> String {
    format!("{} {} {} {} 0", ends[0], ends[1], rate_text(rate), delay_text(delay))
}

/// A rate without a space, exactly.
fn rate_text(rate: Rate) -> String {
    match rate.bits_per_s() {
        bits if bits.is_multiple_of(1_000_000_000) => format!("{}Gbps", bits / 1_000_000_000),
        bits if bits.is_multiple_of(1_000_000) => format!("{}Mbps", bits / 1_000_000),
        bits => format!("{bits}bps"),
    }
}

/// A time in milliseconds, exactly.
fn delay_text(delay: SimTime) -> String {
    let (whole, part) = (delay.ps() / 1_000_000_000, delay.ps() % 1_000_000_000);
    if part == 0 {
        return format!("{whole}ms");
    }
    let digits = format!("{part:09}");
    format!("{whole}.{}ms", digits.trim_end_matches('0'))
}

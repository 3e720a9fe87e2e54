//! From a fabric to one or two dimensions of switches.
//!
//! The first dimension is the scale-up domain of a GPU, the second the network as one switch with the rate of a GPU's share
//! of its host's NICs. Comments in the file say what the form has no place for.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime};

use super::BITS_OF_GB;
use crate::form::{WriteOptions, Written};
use crate::forms::backend::{Backend, End, UNKNOWN_DELAY, refused};
use crate::topology::Topology;

/// A dimension: NPUs, rate of a link, delay of a link.
struct Dimension {
    npus: u64,
    rate: Rate,
    delay: SimTime,
    comment: &'static str,
}

/// Writes the dimensions.
pub(super) fn write(topology: &Topology, _: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    let backend = Backend::of("astra-sim", topology)?;
    if backend.switches.is_empty() && !backend.cables.is_empty() {
        let accepted = "the form is written for networks of switches";
        return Err(refused("astra-sim", topology, "hosts are joined without switches", accepted));
    }
    let gpus = u64::from(backend.gpus_of_each("astra-sim", topology)?);
    let mut comments = Vec::new();
    let mut dimensions = Vec::new();
    let (of_domain, domains) = domains(topology, &backend, gpus, &mut comments);
    let first = &topology.about[backend.hosts[0].device as usize];
    let mut outer = domains;
    match first.nvlink {
        Some((rate, delay)) if of_domain > 1 => {
            let comment = "scale-up domain of a GPU";
            dimensions.push(Dimension { npus: of_domain, rate, delay, comment });
        }
        _ => outer *= of_domain,
    }
    if outer > 1 && !backend.cables.is_empty() {
        dimensions.push(network(topology, &backend, gpus, outer, &mut comments)?);
    }
    if dimensions.is_empty() {
        let accepted = "a dimension joins two NPUs or more";
        return Err(refused(
            "astra-sim",
            topology,
            "the topology is one GPU, or GPUs that nothing joins",
            accepted,
        ));
    }
    Ok(vec![Written {
        path: "astra-sim-network.yml".to_owned(),
        text: text(topology, &dimensions, &comments),
    }])
}

/// GPUs of a scale-up domain, and domains.
fn domains(topology: &Topology, backend: &Backend, gpus: u64, comments: &mut Vec<String>) -> (u64, u64) {
    let hosts = backend.hosts.len() as u64;
    let mut sizes: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    for host in &backend.hosts {
        *sizes.entry(topology.about[host.device as usize].domain.as_deref()).or_default() += 1;
    }
    let first = sizes.values().next().copied().unwrap_or(1);
    if sizes.keys().all(Option::is_some) && sizes.values().all(|&size| size == first) {
        return (gpus * first, hosts / first);
    }
    if sizes.keys().any(Option::is_some) {
        comments.push(
            "Scale-up domains of several hosts differ in size: the first dimension is one host.".to_owned(),
        );
    }
    (gpus, hosts)
}

/// The dimension of the network.
fn network(
    topology: &Topology,
    backend: &Backend,
    gpus: u64,
    outer: u64,
    comments: &mut Vec<String>,
) -> Result<Dimension, FormatError> {
    let mut of_host = vec![0_u64; backend.hosts.len()];
    // Capacity of each tier downwards, and the longest delay of a cable below it.
    let mut tiers: BTreeMap<u8, (u128, SimTime)> = BTreeMap::new();
    for cable in &backend.cables {
        let bits = backend.rate("astra-sim", topology, cable)?.bits_per_s();
        let tier = cable.ends.iter().map(|end| match end {
            End::Nic { host, .. } => {
                of_host[*host as usize] = of_host[*host as usize].saturating_add(bits);
                0
            }
            End::Switch(row) => backend.switches[*row as usize].0,
        });
        let (tier, delay) = (tier.max().unwrap_or(0), cable.delay.unwrap_or(UNKNOWN_DELAY));
        let below = tiers.entry(tier).or_insert((0, SimTime::ZERO));
        *below = (below.0 + u128::from(bits), below.1.max(delay));
    }
    let (least, most) =
        of_host.iter().fold((u64::MAX, 0), |(least, most), &bits| (least.min(bits), most.max(bits)));
    if least < most {
        comments.push("Hosts differ in the rate of their NICs: the slowest stands for all.".to_owned());
    }
    let rate = Rate::from_bits_per_s(least / gpus.max(1));
    if rate == Rate::ZERO {
        let accepted = "every host needs a NIC with a cable";
        return Err(refused("astra-sim", topology, "a host has no cable into the network", accepted));
    }
    for (pair, low) in tiers.values().skip(1).zip(tiers.values()) {
        if pair.0 < low.0 {
            let share = pair.0 as f64 / low.0 as f64;
            comments.push(format!(
                "A tier has {share:.3} of the capacity of the one below it, which the form does not have."
            ));
        }
    }
    // Up and down again, with a switch at each turn: the form counts two links of this delay.
    let latency = topology.list.switch_latency.unwrap_or(SimTime::ZERO).ps();
    let up: u64 = tiers.values().map(|(_, delay)| delay.ps()).sum();
    let hops = 2 * tiers.len() as u64 - 1;
    let delay = SimTime::from_ps(up + latency * hops / 2);
    Ok(Dimension { npus: outer, rate, delay, comment: "network: the share of a GPU in its host's NICs" })
}

fn text(topology: &Topology, dimensions: &[Dimension], comments: &[String]) -> String {
    let join = |values: Vec<String>| values.join(", ");
    let of = |value: fn(&Dimension) -> String| join(dimensions.iter().map(value).collect());
    // Writing to a String cannot fail.
    let title = topology.list.title.as_deref().and_then(|title| title.lines().next()).unwrap_or("network");
    let mut text = format!("# {title}\n");
    for (number, dimension) in dimensions.iter().enumerate() {
        let _ = writeln!(text, "# Dimension {number}: {}.", dimension.comment);
    }
    text.push_str("# Switches, paths and cables of the network are one switch here.\n");
    for comment in comments {
        let _ = writeln!(text, "# {comment}");
    }
    let _ = write!(
        text,
        "topology: [ {} ]\nnpus_count: [ {} ]\nbandwidth: [ {} ]  # GB/s of 2^30 bytes\nlatency: [ {} ]  # ns\n",
        of(|_| "Switch".to_owned()),
        of(|dimension| dimension.npus.to_string()),
        of(|dimension| decimal(dimension.rate.bits_per_s() as f64 / BITS_OF_GB)),
        of(|dimension| decimal(dimension.delay.ps() as f64 / 1e3)),
    );
    text
}

/// A number with a point, so that YAML has no whole number.
fn decimal(value: f64) -> String {
    let text = value.to_string();
    if text.contains('.') { text } else { format!("{text}.0") }
}

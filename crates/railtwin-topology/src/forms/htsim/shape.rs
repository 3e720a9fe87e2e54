//! The regular tree that a backend is, or why it is none.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_units::{Rate, SimTime};

use crate::forms::backend::{Backend, End, UNKNOWN_DELAY};

/// Cables of a tier downwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Run {
    pub rate: Rate,
    pub delay: SimTime,
}

/// A tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tier {
    pub down: Run,
    /// Ports of a switch downwards.
    pub radix_down: u32,
    /// Ports of a switch upwards; 0 at the top.
    pub radix_up: u32,
    /// Parallel cables to each switch below; 1 at leaves.
    pub bundle: u32,
}

/// A regular tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub nodes: u32,
    pub pod_size: u32,
    pub tiers: Vec<Tier>,
}

/// Lower and upper switch, and how many cables join them.
type Pairs = BTreeMap<(u32, u32), u32>;

/// The shape of a backend.
///
/// # Errors
/// The irregularity, as a clause.
pub(super) fn of(backend: &Backend) -> Result<Shape, String> {
    let top = backend.switches.iter().map(|&(tier, _)| tier).max().unwrap_or(0);
    if !(2..=3).contains(&top) {
        return Err(format!("the network has {top} tiers of switches, and the form has two or three"));
    }
    let tier_of = |row: u32| backend.switches[row as usize].0;
    let mut hosts_below: BTreeMap<u32, u32> = BTreeMap::new();
    let mut leaves_of: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut pairs: [Pairs; 2] = Default::default();
    let mut runs: [BTreeSet<Run>; 3] = Default::default();
    for cable in &backend.cables {
        let rate = cable.rate.ok_or("a cable has no rate")?;
        let run = Run { rate, delay: cable.delay.unwrap_or(UNKNOWN_DELAY) };
        match cable.ends {
            [End::Nic { host, .. }, End::Switch(leaf)] if tier_of(leaf) == 1 => {
                *hosts_below.entry(leaf).or_default() += 1;
                leaves_of.entry(host).or_default().insert(leaf);
                runs[0].insert(run);
            }
            [End::Switch(a), End::Switch(b)] if tier_of(b) == tier_of(a) + 1 => {
                *pairs[usize::from(tier_of(a) - 1)].entry((a, b)).or_default() += 1;
                runs[usize::from(tier_of(a))].insert(run);
            }
            _ => return Err("a cable joins devices that are not of neighboring tiers".to_owned()),
        }
    }
    if leaves_of.values().any(|leaves| leaves.len() > 1) {
        return Err("ports of a host lead to several leaves (rails or pairs of leaves)".to_owned());
    }
    let runs = runs.iter().take(usize::from(top)).map(|runs| match runs.len() {
        1 => Ok(*runs.first().expect("it has one")),
        0 => Err("a tier has no cables".to_owned()),
        _ => Err("cables of a tier differ in rate or delay".to_owned()),
    });
    let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
    let of_tier = |tier: u8| -> Vec<u32> {
        (0..).zip(&backend.switches).filter(|(_, (of, _))| *of == tier).map(|(row, _)| row).collect()
    };
    let (leaves, spines) = (of_tier(1), of_tier(2));
    let down =
        even(leaves.iter().map(|leaf| hosts_below.get(leaf).copied().unwrap_or(0)), "host ports of leaves")?;
    let pods = pods(&leaves, &spines, &pairs[0])?;
    let mut tiers = vec![Tier { down: runs[0], radix_down: down, radix_up: pods.leaf_up, bundle: 1 }];
    let mut spine = Tier { down: runs[1], radix_down: pods.spine_down, radix_up: 0, bundle: pods.bundle };
    if top == 3 {
        let core = core(&pods, &of_tier(3), &pairs[1], runs[2])?;
        spine.radix_up = even_ports(&spines, &pairs[1], |(low, _)| low, "uplinks of spines")?;
        tiers.extend([spine, core]);
    } else if pods.count > 1 {
        return Err(format!("{} pods are not joined", pods.count));
    } else {
        tiers.push(spine);
    }
    let pod_size = down.checked_mul(pods.leaves).ok_or("nodes are too many")?;
    let nodes = pod_size.checked_mul(pods.count).ok_or("nodes are too many")?;
    Ok(Shape { nodes, pod_size, tiers })
}

/// The value that all have.
fn even(values: impl Iterator<Item = u32>, what: &str) -> Result<u32, String> {
    let values: BTreeSet<u32> = values.collect();
    match (values.len(), values.first()) {
        (1, Some(&one @ 1..)) => Ok(one),
        _ => {
            let some: Vec<String> = values.iter().take(4).map(u32::to_string).collect();
            Err(format!("{what} are not the same everywhere: {}", some.join(", ")))
        }
    }
}

fn even_ports(of: &[u32], pairs: &Pairs, end: fn((u32, u32)) -> u32, what: &str) -> Result<u32, String> {
    let mut ports: BTreeMap<u32, u32> = of.iter().map(|&switch| (switch, 0)).collect();
    for (&pair, &count) in pairs {
        *ports.entry(end(pair)).or_default() += count;
    }
    even(ports.into_values(), what)
}

/// Pods: leaves and spines that cables join, each leaf to each spine.
struct Pods {
    count: u32,
    leaves: u32,
    leaf_up: u32,
    spine_down: u32,
    bundle: u32,
    /// Pod of each spine.
    of_spine: BTreeMap<u32, u32>,
}

fn pods(leaves: &[u32], spines: &[u32], pairs: &Pairs) -> Result<Pods, String> {
    let mut below: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &(leaf, spine) in pairs.keys() {
        below.entry(spine).or_default().insert(leaf);
    }
    let mut sets: BTreeMap<&BTreeSet<u32>, u32> = BTreeMap::new();
    let mut of_spine = BTreeMap::new();
    for spine in spines {
        let set = below.get(spine).ok_or("a spine has no leaves")?;
        let next = sets.len() as u32;
        of_spine.insert(*spine, *sets.entry(set).or_insert(next));
    }
    let members: usize = sets.keys().map(|set| set.len()).sum();
    let all: BTreeSet<u32> = sets.keys().flat_map(|set| set.iter().copied()).collect();
    if members != all.len() || all.len() != leaves.len() {
        return Err("leaves do not reach every spine of their pod (planes, or rails of their own)".to_owned());
    }
    let in_pod = even(sets.keys().map(|set| set.len() as u32), "leaves of pods")?;
    Ok(Pods {
        count: sets.len() as u32,
        leaves: in_pod,
        leaf_up: even_ports(leaves, pairs, |(low, _)| low, "uplinks of leaves")?,
        spine_down: even_ports(spines, pairs, |(_, high)| high, "ports of spines")?,
        bundle: even(pairs.values().copied(), "parallel cables between leaves and spines")?,
        of_spine,
    })
}

/// The tier of cores: each meets one spine of each pod, and the spines that share a core share all of theirs.
fn core(pods: &Pods, cores: &[u32], pairs: &Pairs, down: Run) -> Result<Tier, String> {
    let mut below: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for &(spine, core) in pairs.keys() {
        below.entry(core).or_default().insert(spine);
    }
    let mut sets: BTreeSet<&BTreeSet<u32>> = BTreeSet::new();
    for core in cores {
        let set = below.get(core).ok_or("a core has no spines")?;
        let met: BTreeSet<u32> = set.iter().filter_map(|spine| pods.of_spine.get(spine).copied()).collect();
        if met.len() != set.len() || met.len() as u32 != pods.count {
            return Err("a core does not meet one spine of each pod".to_owned());
        }
        sets.insert(set);
    }
    let members: usize = sets.iter().map(|set| set.len()).sum();
    if members != pods.of_spine.len() {
        return Err("spines share some of their cores and not others".to_owned());
    }
    let bundle = even(pairs.values().copied(), "parallel cables between spines and cores")?;
    Ok(Tier {
        down,
        radix_down: even_ports(cores, pairs, |(_, high)| high, "ports of cores")?,
        radix_up: 0,
        bundle,
    })
}

//! Leaves, learned from bandwidth: "fast" between healthy hosts is an equivalence relation.
//!
//! A flow that crosses the spine of some clusters costs 4 to 12 % of bandwidth. Where two near levels of a class agree with a
//! partition of hosts, its parts are leaves and each side of it has a level of its own, so that a hop is nobody's fault.
use std::collections::{BTreeMap, BTreeSet};
use std::f64::consts::LN_2;

use railtwin_units::robust;

use crate::layout::Layout;
use crate::level::{Curve, HOP_MAX, rough};

/// Fewest results of a class that show two levels.
const RESULTS_MIN: usize = 8;
/// Distance of two levels: least, and least in deviations within them.
const HOP_MIN: f64 = 0.015;
const HOP_DEVIATIONS: f64 = 4.0;
/// Most that one result says for or against a leaf, in nats: a fault makes results slow that stay on a leaf.
const VOTE_MAX: f64 = 5.0;
/// Bits that leaves save beyond their price before they are believed.
const LEAVES_BITS: f64 = 10.0;
/// Part of the votes that agree with the leaves, at least.
const AGREE: f64 = 0.9;

/// Votes that tell the leaf of a host.
const KNOWN_NATS: f64 = 4.0;

/// Fewest results of a slow host with a leaf.
const FAR_MIN: usize = 2;

/// Leaves of hosts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Leaves {
    /// Number of the leaf of each host; empty where no leaves are known.
    pub of_host: Vec<usize>,
    /// Whether a leaf serves one rail only, so that flows between rails cross the spine.
    pub by_rail: bool,
    /// For each host, whether its leaf is known.
    pub is_known: Vec<bool>,
}

impl Leaves {
    /// For each test, whether all of its flows stay on one leaf.
    pub fn local(&self, layout: &Layout) -> Vec<bool> {
        let is_local = |at: usize| {
            let same = |hosts: [usize; 2]| self.of_host[hosts[0]] == self.of_host[hosts[1]];
            (!self.by_rail || layout.items[at].one_rail)
                && layout.edges_of(at).iter().all(|edge| same(edge.hosts))
        };
        (0..layout.items.len()).map(|at| !self.of_host.is_empty() && is_local(at)).collect()
    }
}

/// One result between two hosts: nats for the level of tests that stay on a leaf.
struct Vote {
    hosts: [usize; 2],
    /// Whether the test is on one leaf where its hosts are.
    is_open: bool,
    nats: f64,
}

/// A result far below both levels of its class.
struct Far {
    hosts: [usize; 2],
    value: f64,
    hop: f64,
}

/// Leaves of the hosts; none where bandwidth does not tell them. `is_slowed` are tests that known causes slow.
pub(crate) fn leaves(layout: &Layout, curves: &[Curve], is_slowed: &[bool]) -> Leaves {
    let hosts = layout.of_host.len();
    let of = |by_rail: bool| {
        let (votes, far) = votes(layout, curves, is_slowed, by_rail);
        let sums = sums(&votes, hosts);
        let mut of_host = partition(&sums);
        let bits = worth(&votes, &of_host, layout.counts.hosts, by_rail);
        let is_known = known(&sums, &of_host);
        place_slow(&far, &mut of_host, &is_known);
        (bits, Leaves { of_host, by_rail, is_known })
    };
    let [rail, all] = [true, false].map(of);
    let (bits, best) = if rail.0 >= all.0 { rail } else { all };
    if bits >= LEAVES_BITS { best } else { Leaves::default() }
}

/// Bits that a partition saves beyond its price; nothing where it is no partition into leaves.
fn worth(votes: &[Vote], of_host: &[usize], hosts: usize, by_rail: bool) -> f64 {
    let mut sizes = vec![0_usize; of_host.len() + 1];
    let mut is_seen = vec![false; of_host.len()];
    votes.iter().flat_map(|vote| vote.hosts).for_each(|host| is_seen[host] = true);
    (0..of_host.len()).filter(|host| is_seen[*host]).for_each(|host| sizes[of_host[host]] += 1);
    let parts = sizes.iter().filter(|size| **size > 0).count();
    // One lone host that is a little slow looks like a leaf of its own. Rails alone tell leaves, too.
    let large = sizes.iter().filter(|size| **size > 1).count();
    if large == 0 || (large == 1 && parts < 3 && !(by_rail && parts == 1)) {
        return 0.0;
    }
    let is_local = |vote: &&Vote| vote.is_open && of_host[vote.hosts[0]] == of_host[vote.hosts[1]];
    let within: f64 = votes.iter().filter(is_local).map(|vote| vote.nats).sum();
    // Against the better of "all on one leaf" and "none on one".
    let all: f64 = votes.iter().map(|vote| vote.nats).sum();
    let agree = votes.iter().filter(|vote| is_local(vote) == (vote.nats > 0.0)).count();
    if (agree as f64) < AGREE * votes.len() as f64 {
        return 0.0;
    }
    (within - all.max(0.0)) / LN_2 - hosts as f64 * (parts as f64).log2()
}

/// Votes of all classes that have two near levels.
fn votes(layout: &Layout, curves: &[Curve], is_slowed: &[bool], by_rail: bool) -> (Vec<Vote>, Vec<Far>) {
    let (mut votes, mut far) = (Vec::new(), Vec::new());
    for class in 0..layout.classes.len() {
        let own: Vec<usize> = (0..layout.items.len())
            .filter(|&at| layout.items[at].class == class && !curves[at].0.is_empty())
            .collect();
        let values = rough(curves, &own);
        let free: Vec<f64> =
            own.iter().zip(&values).filter(|(at, _)| !is_slowed[**at]).map(|(_, value)| *value).collect();
        let Some((high, low, deviation)) = two_levels(&free) else { continue };
        for (&at, value) in own.iter().zip(values) {
            let [edge] = layout.edges_of(at) else { continue };
            let is_open = !by_rail || layout.items[at].one_rail;
            // A result far below both levels tells the leaf only beside others of its host.
            if is_slowed[at] || value < low - 6.0 * deviation.max(0.01) {
                if is_open {
                    far.push(Far { hosts: edge.hosts, value, hop: high - low });
                }
                continue;
            }
            let log = |center: f64| -3.0 * (1.0 + ((value - center) / deviation).powi(2) / 5.0).ln();
            let nats = (log(high) - log(low)).clamp(-VOTE_MAX, VOTE_MAX);
            votes.push(Vote { hosts: edge.hosts, is_open, nats });
        }
    }
    (votes, far)
}

/// Two near levels of the upper results of a class, and the deviation within them.
fn two_levels(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    // The second highest result is no outlier.
    let top = *sorted.get(1)?;
    sorted.retain(|value| *value > top - HOP_MAX - 0.06);
    let count = sorted.len();
    if count < RESULTS_MIN {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let cost = |values: &[f64]| {
        let center = mean(values);
        values.iter().map(|value| (value - center).powi(2)).sum::<f64>()
    };
    let at = (2..count - 1).min_by(|a, b| {
        let both = |at: usize| cost(&sorted[..at]) + cost(&sorted[at..]);
        both(*a).total_cmp(&both(*b))
    })?;
    let (high, low) = (mean(&sorted[..at]), mean(&sorted[at..]));
    let deviation = ((cost(&sorted[..at]) + cost(&sorted[at..])) / count as f64).sqrt();
    let is_apart = high - low >= HOP_MIN.max(HOP_DEVIATIONS * deviation) && high - low <= HOP_MAX;
    is_apart.then_some((high, low, deviation.max(0.003)))
}

/// Gives hosts that are slow with all others a leaf: that with whose hosts they lack one hop less.
fn place_slow(far: &[Far], of_host: &mut [usize], is_known: &[bool]) {
    let known: Vec<Option<usize>> =
        of_host.iter().zip(is_known).map(|(part, is)| is.then_some(*part)).collect();
    for host in (0..of_host.len()).filter(|host| !is_known[*host]) {
        let mut parts: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let own = far.iter().filter(|one| one.hosts.contains(&host));
        for one in own {
            let other = if one.hosts[0] == host { one.hosts[1] } else { one.hosts[0] };
            if let Some(part) = known[other] {
                // Hops as the unit, so that classes add up.
                parts.entry(part).or_default().push(one.value / one.hop);
            }
        }
        let medians = parts.into_iter().filter(|(_, values)| values.len() >= FAR_MIN);
        let mut medians: Vec<(f64, usize)> =
            medians.filter_map(|(part, mut values)| Some((robust::median(&mut values)?, part))).collect();
        medians.sort_by(|a, b| b.0.total_cmp(&a.0));
        if let [(first, part), (second, _), ..] = medians[..]
            && (0.5..2.0).contains(&(first - second))
        {
            of_host[host] = part;
        }
    }
}

/// Votes between hosts, row by row.
fn sums(votes: &[Vote], hosts: usize) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0_f64; hosts]; hosts];
    for vote in votes.iter().filter(|vote| vote.is_open) {
        let [a, b] = vote.hosts;
        sums[a][b] += vote.nats;
        sums[b][a] += vote.nats;
    }
    sums
}

/// Votes between a host and the other hosts of a part.
fn votes_with(sums: &[Vec<f64>], of_host: &[usize], host: usize, part: usize) -> f64 {
    let others = (0..of_host.len()).filter(|other| *other != host && of_host[*other] == part);
    others.map(|other| sums[host][other]).sum()
}

/// Of which hosts the votes tell the leaf: for its own part, or against each part of several hosts.
fn known(sums: &[Vec<f64>], of_host: &[usize]) -> Vec<bool> {
    let size = |part: usize| of_host.iter().filter(|own| **own == part).count();
    let large: BTreeSet<usize> = of_host.iter().copied().filter(|part| size(*part) > 1).collect();
    (0..of_host.len())
        .map(|host| {
            let with = |part: &usize| votes_with(sums, of_host, host, *part);
            if large.contains(&of_host[host]) {
                with(&of_host[host]) > KNOWN_NATS
            } else {
                large.iter().all(|part| with(part) < -KNOWN_NATS)
            }
        })
        .collect()
}

/// The partition that the votes agree with best: parts are joined while that gains, then hosts move one by one.
fn partition(sums: &[Vec<f64>]) -> Vec<usize> {
    let hosts = sums.len();
    let mut of_host: Vec<usize> = (0..hosts).collect();
    // Votes between parts, which joining adds up.
    let mut between = sums.to_vec();
    let mut parts: Vec<usize> = (0..hosts).collect();
    loop {
        let pairs = parts.iter().flat_map(|a| parts.iter().map(move |b| (*a, *b))).filter(|(a, b)| a < b);
        let best = pairs.max_by(|x, y| between[x.0][x.1].total_cmp(&between[y.0][y.1]));
        let Some((a, b)) = best.filter(|(a, b)| between[*a][*b] > 0.0) else { break };
        of_host.iter_mut().filter(|part| **part == b).for_each(|part| *part = a);
        parts.retain(|part| *part != b);
        for &part in &parts {
            let added = between[b][part];
            between[a][part] += added;
            between[part][a] += added;
        }
    }
    for _ in 0..4 {
        let before = of_host.clone();
        for host in 0..hosts {
            let with = |part: usize| votes_with(sums, &of_host, host, part);
            let own = of_host[host];
            let best = parts.iter().copied().max_by(|a, b| with(*a).total_cmp(&with(*b))).unwrap_or(own);
            if with(best) > with(own) {
                of_host[host] = best;
            }
        }
        if before == of_host {
            break;
        }
    }
    of_host
}

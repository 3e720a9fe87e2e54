//! Leaves, learned from bandwidth: "fast" between healthy hosts is an equivalence relation.
//!
//! A flow that crosses the spine of some clusters costs 4 to 12 % of bandwidth. Where two near levels of a class agree with a
//! partition of hosts, its parts are leaves and each side of it has a level of its own, so that a hop is nobody's fault.
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

/// Leaves of hosts.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Leaves {
    /// Number of the leaf of each host; empty where no leaves are known.
    pub of_host: Vec<usize>,
    /// Whether a leaf serves one rail only, so that flows between rails cross the spine.
    pub by_rail: bool,
}

impl Leaves {
    /// Which tests stay on one leaf with all flows.
    pub fn local(&self, layout: &Layout) -> Vec<bool> {
        let is_local = |at: usize| {
            let same = |hosts: [usize; 2]| self.of_host[hosts[0]] == self.of_host[hosts[1]];
            (!self.by_rail || layout.items[at].one_rail)
                && layout.edges_of(at).iter().all(|edge| same(edge.hosts))
        };
        (0..layout.items.len()).map(|at| !self.of_host.is_empty() && is_local(at)).collect()
    }
}

/// One result between two hosts: nats for the same leaf.
struct Vote {
    hosts: [usize; 2],
    nats: f64,
}

/// Leaves of the hosts; none where bandwidth does not tell them. `is_slowed` are tests that known causes slow.
pub(crate) fn leaves(layout: &Layout, curves: &[Curve], is_slowed: &[bool]) -> Leaves {
    let ways = [true, false].map(|by_rail| {
        let votes = votes(layout, curves, is_slowed, by_rail);
        let of_host = partition(&votes, layout.of_host.len());
        let bits = worth(&votes, &of_host, layout.counts.hosts);
        (bits, Leaves { of_host, by_rail })
    });
    let [rail, all] = ways;
    let (bits, best) = if rail.0 >= all.0 { rail } else { all };
    if bits >= LEAVES_BITS { best } else { Leaves::default() }
}

/// Bits that a partition saves beyond its price; nothing where it is no partition into leaves.
fn worth(votes: &[Vote], of_host: &[usize], hosts: usize) -> f64 {
    let mut sizes = vec![0_usize; of_host.len() + 1];
    let mut is_seen = vec![false; of_host.len()];
    votes.iter().flat_map(|vote| vote.hosts).for_each(|host| is_seen[host] = true);
    (0..of_host.len()).filter(|host| is_seen[*host]).for_each(|host| sizes[of_host[host]] += 1);
    let parts = sizes.iter().filter(|size| **size > 0).count();
    // One lone host that is a little slow looks like a leaf of its own.
    let large = sizes.iter().filter(|size| **size > 1).count();
    if large == 0 || (large == 1 && parts < 3) {
        return 0.0;
    }
    let same = |vote: &&Vote| of_host[vote.hosts[0]] == of_host[vote.hosts[1]];
    let within: f64 = votes.iter().filter(same).map(|vote| vote.nats).sum();
    // Against the better of "all on one leaf" and "each on its own".
    let all: f64 = votes.iter().map(|vote| vote.nats).sum();
    let agree = votes.iter().filter(|vote| same(vote) == (vote.nats > 0.0)).count();
    if (agree as f64) < AGREE * votes.len() as f64 {
        return 0.0;
    }
    (within - all.max(0.0)) / std::f64::consts::LN_2 - hosts as f64 * (parts as f64).log2()
}

/// Votes of all classes that have two near levels.
fn votes(layout: &Layout, curves: &[Curve], is_slowed: &[bool], by_rail: bool) -> Vec<Vote> {
    let mut votes = Vec::new();
    for class in 0..layout.classes.len() {
        let own: Vec<usize> = (0..layout.items.len())
            .filter(|&at| layout.items[at].class == class && !curves[at].0.is_empty() && !is_slowed[at])
            .collect();
        let values = rough(curves, &own);
        let Some((high, low, deviation)) = two_levels(&values) else { continue };
        for (&at, value) in own.iter().zip(values) {
            let [edge] = layout.edges_of(at) else { continue };
            // Results far below both levels say nothing of the leaf.
            if (by_rail && !layout.items[at].one_rail) || value < low - 6.0 * deviation.max(0.01) {
                continue;
            }
            let log = |center: f64| -3.0 * (1.0 + ((value - center) / deviation).powi(2) / 5.0).ln();
            let nats = (log(high) - log(low)).clamp(-VOTE_MAX, VOTE_MAX);
            votes.push(Vote { hosts: edge.hosts, nats });
        }
    }
    votes
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

/// The partition that the votes agree with best: parts are joined while that gains, then hosts move one by one.
fn partition(votes: &[Vote], hosts: usize) -> Vec<usize> {
    let mut sum = vec![vec![0.0_f64; hosts]; hosts];
    for vote in votes {
        let [a, b] = vote.hosts;
        sum[a][b] += vote.nats;
        sum[b][a] += vote.nats;
    }
    let mut of_host: Vec<usize> = (0..hosts).collect();
    // Votes between parts, which joining adds up.
    let mut between = sum.clone();
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
            let with = |part: usize| -> f64 {
                (0..hosts)
                    .filter(|other| *other != host && of_host[*other] == part)
                    .map(|other| sum[host][other])
                    .sum()
            };
            let own = of_host[host];
            let best = (0..hosts).max_by(|a, b| with(*a).total_cmp(&with(*b))).unwrap_or(own);
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

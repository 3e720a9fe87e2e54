//! Bundles whose queue pairs carry what each can: the split by least outstanding bytes (HPN section 6.1).
//!
//! Every queue pair is a variable of its own. An edge moves at the sum of its queue pairs, a bundle at its
//! slowest edge; the queue pairs of the other edges are held to that pace and give back what they do not use.
//! The fixed point is found by iteration: hold, solve, let go where a held edge became the slowest.
use crate::max_min::{Problem, Solver};

/// Rounds after which the iteration stops; laws show that a handful is enough.
const ROUNDS_MAX: usize = 64;
/// Relative change of paces under which the iteration has settled.
const SETTLED: f64 = 1e-10;

/// The queue pairs of a set of bundles, as columns.
#[derive(Clone, Debug, Default)]
pub struct Strands {
    /// CSR: strands of bundle `b` are `bundle_start[b]..bundle_start[b + 1]`, edges contiguous.
    pub bundle_start: Vec<u32>,
    /// Edge of each strand within its bundle.
    pub edge: Vec<u32>,
    /// Bytes on the edge for each byte of the bundle.
    pub amount: Vec<f64>,
    /// Weights.
    pub weights: Vec<f64>,
    /// CSR of links by strand.
    pub start: Vec<u32>,
    /// Links, dense small ids.
    pub links: Vec<u32>,
    /// Shares, all 1.
    pub shares: Vec<f64>,
    /// Most that each bundle may move.
    pub bundle_caps: Vec<f64>,
}

/// Solves; writes the pace of each bundle and the rate of each strand.
pub fn solve(
    solver: &mut Solver,
    strands: &Strands,
    capacities: &[f64],
    paces: &mut Vec<f64>,
    rates: &mut Vec<f64>,
) {
    let bundles = strands.bundle_caps.len();
    let mut caps: Vec<f64> = vec![f64::INFINITY; strands.edge.len()];
    let mut held = vec![false; strands.edge.len()];
    paces.clear();
    paces.resize(bundles, 0.0);
    for _ in 0..ROUNDS_MAX {
        let problem = Problem {
            start: &strands.start,
            links: &strands.links,
            shares: &strands.shares,
            weights: &strands.weights,
            caps: &caps,
            capacities,
        };
        solver.solve(&problem, rates);
        let mut change = 0.0_f64;
        for bundle in 0..bundles {
            let pace = hold(strands, bundle, rates, &mut caps, &mut held);
            change = change.max((pace - paces[bundle]).abs() / (pace + 1e-300));
            paces[bundle] = pace;
        }
        if change < SETTLED {
            break;
        }
    }
    settle(strands, paces, rates);
}

/// Strand ranges of the edges of a bundle.
fn edges(strands: &Strands, bundle: usize) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    let end = strands.bundle_start[bundle + 1] as usize;
    let mut next = strands.bundle_start[bundle] as usize;
    std::iter::from_fn(move || {
        let first = next;
        while next < end && strands.edge[next] == strands.edge[first] {
            next += 1;
        }
        (first < next).then_some(first..next)
    })
}

/// The pace of a bundle under `rates`, and new caps: edges that could go faster are held to it.
fn hold(strands: &Strands, bundle: usize, rates: &[f64], caps: &mut [f64], held: &mut [bool]) -> f64 {
    let reach =
        |edge: &std::ops::Range<usize>| rates[edge.clone()].iter().sum::<f64>() / strands.amount[edge.start];
    // An edge all of whose strands run at their caps could go faster: it does not set the pace.
    let limited =
        |edge: &std::ops::Range<usize>| edge.clone().any(|s| !held[s] || rates[s] < caps[s] * (1.0 - 1e-12));
    let all: Vec<_> = edges(strands, bundle).collect();
    let by_links = all.iter().filter(|edge| limited(edge)).map(reach).fold(f64::INFINITY, f64::min);
    let pace = if by_links.is_finite() {
        by_links
    } else {
        // Every edge is held: let them all go further.
        2.0 * all.iter().map(reach).fold(f64::INFINITY, f64::min)
    };
    let pace = pace.min(strands.bundle_caps[bundle]);
    for edge in all {
        let target = pace * strands.amount[edge.start];
        let total: f64 = rates[edge.clone()].iter().sum();
        let was_held = held[edge.start];
        let over = total > target * (1.0 + 1e-12);
        if !over && !was_held {
            continue;
        }
        let level = if over { level_for(&rates[edge.clone()], target) } else { f64::INFINITY };
        let even = target / edge.len() as f64;
        for s in edge {
            // Where the edge must speed up, every strand may take an even part or more of what it carries.
            caps[s] = if over {
                rates[s].min(level)
            } else {
                rates[s].max(even) * (target / total.max(1e-300)).max(1.0)
            };
            held[s] = true;
        }
    }
    pace
}

/// The level at which `Σ min(rate, level)` equals `target`.
fn level_for(rates: &[f64], target: f64) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut below = 0.0;
    for (i, &rate) in sorted.iter().enumerate() {
        let level = (target - below) / (sorted.len() - i) as f64;
        if level <= rate {
            return level;
        }
        below += rate;
    }
    f64::INFINITY
}

/// Makes paces and rates agree: a bundle runs at its slowest edge, the other edges' strands come down to it.
fn settle(strands: &Strands, paces: &mut [f64], rates: &mut [f64]) {
    for (bundle, pace) in paces.iter_mut().enumerate() {
        let reach = edges(strands, bundle)
            .map(|edge| rates[edge.clone()].iter().sum::<f64>() / strands.amount[edge.start])
            .fold(f64::INFINITY, f64::min);
        *pace = reach.min(strands.bundle_caps[bundle]);
        if !pace.is_finite() {
            *pace = 0.0;
        }
        for edge in edges(strands, bundle) {
            let level = level_for(&rates[edge.clone()], *pace * strands.amount[edge.start]);
            for s in edge {
                rates[s] = rates[s].min(level);
            }
        }
    }
}

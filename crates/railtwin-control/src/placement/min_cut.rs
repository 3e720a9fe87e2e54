//! Blocks to zones of given sizes so that little crosses zones: Meta's minimum cut (Meta RoCE section 3.3).
//!
//! Recursive bisection by Kernighan and Lin (An Efficient Heuristic Procedure for Partitioning Graphs, 1970): pairs are
//! swapped by what they gain, also at a loss for a while, and the best that was met is kept; sizes stay exact. From
//! several starts, and afterwards between each two zones. It is a heuristic: the problem is NP-hard.
use railtwin_units::stream;

use super::traffic::HostTraffic;

/// Gains below this share of all traffic are rounding.
const NOTHING: f64 = 1e-12;
/// Draws among the starts of a bisection.
const DRAWS: u64 = 4;
/// Lots among the starts of all zones together: as many as small jobs need to be cut best, fewer for large ones.
const LOTS: (u32, u32, u32) = (2, 32, 1_024);
/// Rounds over all pairs of zones; each ends earlier where nothing is gained.
const ROUNDS: usize = 8;

/// Neighbors of each block with the bytes to them.
struct Graph {
    neighbors: Vec<Vec<(u32, f64)>>,
    /// What counts as nothing.
    least: f64,
}

impl Graph {
    fn of(traffic: &HostTraffic) -> Self {
        let mut neighbors = vec![Vec::new(); traffic.blocks() as usize];
        let mut all = 0.0;
        for (a, b, bytes) in traffic.pairs() {
            neighbors[a as usize].push((b, bytes));
            neighbors[b as usize].push((a, bytes));
            all += bytes;
        }
        Self { neighbors, least: all * NOTHING }
    }
}

/// The zone of each block, so that zone `z` has `sizes[z]` blocks: the least traffic across zones that was found from
/// `given`, from blocks in their order, and by bisection. Never more than `given` has.
///
/// # Panics
/// Where sizes and blocks do not fit together.
pub fn min_cut(traffic: &HostTraffic, sizes: &[u32], given: &[u32]) -> Vec<u32> {
    let blocks = traffic.blocks();
    assert!(
        sizes.iter().sum::<u32>() == blocks && given.len() == blocks as usize,
        "as many places as blocks"
    );
    let graph = Graph::of(traffic);
    let in_order: Vec<u32> = (0..).zip(sizes).flat_map(|(zone, &size)| vec![zone; size as usize]).collect();
    let mut halved = vec![0; blocks as usize];
    halve(&graph, &(0..blocks).collect::<Vec<u32>>(), sizes, 0, &mut halved);
    let lots = (LOTS.2 / blocks.max(1)).clamp(LOTS.0, LOTS.1);
    let lots = (0..lots).map(|draw| {
        let mut order: Vec<u32> = (0..blocks).collect();
        order.sort_by_key(|&block| stream::mix(u64::from(block) | u64::from(draw + 1) << 32));
        let mut zones = vec![0; blocks as usize];
        order.iter().zip(&in_order).for_each(|(&block, &zone)| zones[block as usize] = zone);
        zones
    });
    let starts: Vec<Vec<u32>> = [given.to_vec(), in_order.clone(), halved].into_iter().chain(lots).collect();
    let refined = starts.into_iter().map(|mut zones| {
        between_pairs(&graph, sizes.len() as u32, &mut zones);
        (traffic.across(&zones), zones)
    });
    // The first of equals: what was given, where nothing is better by more than rounding.
    let best = refined.reduce(|best, next| if next.0 < best.0 - graph.least { next } else { best });
    best.map(|(_, zones)| zones).unwrap_or_default()
}

/// Halves the zones from `first` on and gives each half its blocks, down to single zones.
fn halve(graph: &Graph, blocks: &[u32], sizes: &[u32], first: u32, zones: &mut [u32]) {
    if sizes.len() < 2 {
        blocks.iter().for_each(|&block| zones[block as usize] = first);
        return;
    }
    let middle = sizes.len() / 2;
    let left = sizes[..middle].iter().sum::<u32>() as usize;
    let is_left = bisected(graph, blocks, left);
    let half = |wanted: bool| -> Vec<u32> {
        blocks.iter().zip(&is_left).filter(|(_, left)| **left == wanted).map(|(&block, _)| block).collect()
    };
    halve(graph, &half(true), &sizes[..middle], first, zones);
    halve(graph, &half(false), &sizes[middle..], first + middle as u32, zones);
}

/// Which of the blocks go left, `left` of them.
fn bisected(graph: &Graph, blocks: &[u32], left: usize) -> Vec<bool> {
    let count = blocks.len();
    let mut row = vec![None; graph.neighbors.len()];
    blocks.iter().enumerate().for_each(|(at, &block)| row[block as usize] = Some(at));
    let local: Vec<Vec<(usize, f64)>> = blocks
        .iter()
        .map(|&block| {
            let near = graph.neighbors[block as usize].iter();
            near.filter_map(|&(other, bytes)| Some((row[other as usize]?, bytes))).collect()
        })
        .collect();
    let side = |order: &[usize]| {
        let mut is_left = vec![false; count];
        order[..left].iter().for_each(|&at| is_left[at] = true);
        is_left
    };
    let mut starts = vec![side(&(0..count).collect::<Vec<_>>())];
    for seed in [0, count.saturating_sub(1), count / 2] {
        starts.push(side(&grown(&local, seed)));
    }
    for draw in 0..DRAWS {
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&at| stream::mix((at as u64) ^ (draw << 32)));
        starts.push(side(&order));
    }
    let mut best: Option<(f64, Vec<bool>)> = None;
    for mut is_left in starts {
        swap_pairs(&local, graph.least, &mut is_left);
        let cut = cut_of(&local, &is_left);
        if best.as_ref().is_none_or(|(least, _)| cut < least - graph.least) {
            best = Some((cut, is_left));
        }
    }
    best.map(|(_, is_left)| is_left).unwrap_or_default()
}

/// Blocks in the order in which they join a part that begins with `seed`: always the one with most traffic to it.
fn grown(local: &[Vec<(usize, f64)>], seed: usize) -> Vec<usize> {
    let mut pull = vec![0.0; local.len()];
    let mut is_in = vec![false; local.len()];
    let mut order = Vec::with_capacity(local.len());
    let mut next = (seed < local.len()).then_some(seed);
    while let Some(at) = next {
        is_in[at] = true;
        order.push(at);
        local[at].iter().for_each(|&(other, bytes)| pull[other] += bytes);
        let outside = (0..local.len()).filter(|&other| !is_in[other]);
        next = outside.reduce(|best, other| if pull[other] > pull[best] { other } else { best });
    }
    order
}

/// Traffic across two sides.
fn cut_of(local: &[Vec<(usize, f64)>], is_left: &[bool]) -> f64 {
    let across = |(at, near): (usize, &Vec<(usize, f64)>)| -> f64 {
        near.iter()
            .filter(|(other, _)| *other > at && is_left[*other] != is_left[at])
            .map(|near| near.1)
            .sum()
    };
    local.iter().enumerate().map(across).sum()
}

/// Kernighan and Lin's passes until one gains nothing; returns whether any did.
fn swap_pairs(local: &[Vec<(usize, f64)>], least: f64, is_left: &mut [bool]) -> bool {
    let mut gained = false;
    while pass(local, least, is_left) {
        gained = true;
    }
    gained
}

/// Swaps the best pair, then the best of the others, and so on; undoes those behind the best sum of gains.
fn pass(local: &[Vec<(usize, f64)>], least: f64, is_left: &mut [bool]) -> bool {
    // What a block gains by changing sides.
    let gain_of = |at: usize, is_left: &[bool]| -> f64 {
        local[at]
            .iter()
            .map(|&(other, bytes)| if is_left[other] == is_left[at] { -bytes } else { bytes })
            .sum()
    };
    let mut gain: Vec<f64> = (0..local.len()).map(|at| gain_of(at, is_left)).collect();
    let (mut left, mut right): (Vec<usize>, Vec<usize>) = (0..local.len()).partition(|&at| is_left[at]);
    let (mut swaps, mut sum, mut best) = (Vec::new(), 0.0, (least, 0));
    let mut bytes_to = vec![0.0; local.len()];
    while !left.is_empty() && !right.is_empty() {
        for side in [&mut left, &mut right] {
            side.sort_by(|&a, &b| gain[b].total_cmp(&gain[a]).then(a.cmp(&b)));
        }
        let (together, a, b) = best_pair(local, &gain, (&left, &right), &mut bytes_to);
        sum += together;
        swaps.push((left.remove(a), right.remove(b)));
        let (a, b) = swaps[swaps.len() - 1];
        for (moved, side) in [(a, false), (b, true)] {
            is_left[moved] = side;
            for &(other, bytes) in &local[moved] {
                gain[other] += if is_left[other] == side { -2.0 * bytes } else { 2.0 * bytes };
            }
        }
        if sum > best.0 {
            best = (sum, swaps.len());
        }
    }
    for &(a, b) in &swaps[best.1..] {
        (is_left[a], is_left[b]) = (true, false);
    }
    best.1 > 0
}

/// The pair that gains most, by its rows in `left` and `right`, which descend by gain: what is between the two stays
/// between them, so no pair gains more than the sum of both. `bytes_to` is all zeros, before and after.
fn best_pair(
    local: &[Vec<(usize, f64)>],
    gain: &[f64],
    (left, right): (&[usize], &[usize]),
    bytes_to: &mut [f64],
) -> (f64, usize, usize) {
    let mut best = (f64::NEG_INFINITY, 0, 0);
    for (row, &a) in left.iter().enumerate() {
        if gain[a] + gain[right[0]] <= best.0 {
            break;
        }
        local[a].iter().for_each(|&(near, bytes)| bytes_to[near] = bytes);
        for (other, &b) in right.iter().enumerate() {
            if gain[a] + gain[b] <= best.0 {
                break;
            }
            let together = gain[a] + gain[b] - 2.0 * bytes_to[b];
            if together > best.0 {
                best = (together, row, other);
            }
        }
        local[a].iter().for_each(|&(near, _)| bytes_to[near] = 0.0);
    }
    best
}

/// Swaps between each two zones: what goes to a third crosses zones either way.
fn between_pairs(graph: &Graph, count: u32, zones: &mut [u32]) {
    for _ in 0..ROUNDS {
        let mut gained = false;
        for a in 0..count {
            for b in a + 1..count {
                gained |= between(graph, (a, b), zones);
            }
        }
        if !gained {
            break;
        }
    }
}

fn between(graph: &Graph, (a, b): (u32, u32), zones: &mut [u32]) -> bool {
    let blocks: Vec<usize> = (0..zones.len()).filter(|&at| zones[at] == a || zones[at] == b).collect();
    let local: Vec<Vec<(usize, f64)>> = blocks
        .iter()
        .map(|&block| {
            let near = graph.neighbors[block].iter();
            near.filter_map(|&(other, bytes)| Some((blocks.binary_search(&(other as usize)).ok()?, bytes)))
                .collect()
        })
        .collect();
    let mut is_left: Vec<bool> = blocks.iter().map(|&block| zones[block] == a).collect();
    let gained = swap_pairs(&local, graph.least, &mut is_left);
    for (&block, left) in blocks.iter().zip(is_left) {
        zones[block] = if left { a } else { b };
    }
    gained
}

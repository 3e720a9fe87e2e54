//! Closed forms: who waits for whom in a ring and in a tree. See docs/models/telemetry.md.
//!
//! The ring is one recursion: stage `k` of the hop into position `p` cannot begin before stage `k − 1` of the hop
//! before it has ended, so with equal stage times it begins when the latest of the `k + 1` ranks up the ring has
//! entered, and `k` stages later.

/// The monotone stack of [`first_waits`], kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stack {
    /// Distance from the latest rank and its entry; entries fall from bottom to top.
    entries: Vec<(u32, f64)>,
}

/// For each queried position of a ring, ascending, the first stage at which it waits for longer than `patience`: the
/// distance, less one, to the nearest rank up the ring that entered more than that later than `entry`; none where
/// none did. `entries` are those of the ring's positions; a query is a position and the entry of who waits there.
///
/// Linear in the ring, but for a search on the stack for each query.
pub(crate) fn first_waits(
    entries: &[f64],
    patience: f64,
    queries: &[(u32, f64)],
    stack: &mut Stack,
    mut tell: impl FnMut(usize, Option<u32>),
) {
    let latest = (0..entries.len()).max_by(|&a, &b| entries[a].total_cmp(&entries[b]));
    let Some(latest) = latest else { return };
    let (count, stack) = (entries.len(), &mut stack.entries);
    stack.clear();
    // One lap from the latest on: nobody sees past it.
    let split = queries.partition_point(|&(position, _)| (position as usize) < latest);
    let mut turn = (split..queries.len()).chain(0..split).peekable();
    for distance in 0..count {
        let position = if latest + distance < count { latest + distance } else { latest + distance - count };
        while let Some(query) = turn.next_if(|&query| queries[query].0 as usize == position) {
            let bound = queries[query].1 + patience;
            // Entries fall towards the top: those above the bound lie below it in the stack.
            let above = stack.partition_point(|&(_, entry)| entry > bound);
            let found = above.checked_sub(1).map(|at| distance as u32 - stack[at].0 - 1);
            // The latest itself has only those behind it, a whole lap away.
            tell(query, found);
        }
        while stack.last().is_some_and(|&(_, entry)| entry <= entries[position]) {
            stack.pop();
        }
        stack.push((distance as u32, entries[position]));
    }
}

/// Turns the entries of a tree's nodes into when the last of each subtree entered; `edges` are child and parent, the
/// farthest from the root first.
pub(crate) fn subtrees(latest: &mut [f64], edges: &[(u32, u32)]) {
    for &(child, parent) in edges {
        latest[parent as usize] = latest[parent as usize].max(latest[child as usize]);
    }
}

/// Edges of a tree, child and parent, in an order in which every node comes before its parent's own edge.
pub(crate) fn from_leaves(edges: &[(u32, u32)], nodes: usize) -> Vec<(u32, u32)> {
    let mut parent = vec![u32::MAX; nodes];
    edges.iter().for_each(|&(child, up)| parent[child as usize] = up);
    let depth = |node: u32| {
        std::iter::successors(Some(node), |&at| Some(parent[at as usize]).filter(|&p| p != u32::MAX))
    };
    let mut sorted: Vec<(usize, (u32, u32))> =
        edges.iter().map(|&edge| (depth(edge.0).take(nodes + 1).count(), edge)).collect();
    sorted.sort_by_key(|&(depth, _)| std::cmp::Reverse(depth));
    sorted.into_iter().map(|(_, edge)| edge).collect()
}

/// Bytes that a receiver of a channel takes in before it hands on: NCCL's eight steps of a 4 MiB buffer (its
/// `NCCL_STEPS` and `NCCL_BUFFSIZE`).
pub(crate) const BUFFER: f64 = 4.0 * 1024.0 * 1024.0;

/// Whether an edge `downstream` hops after the slowest of a ring of `hops` waits for credit rather than for data.
///
/// With buffers of `c` stages a hop `j` after the slow one may be `j` stages ahead of it by data, and `(n − j) · c` by
/// credit; the tighter holds.
pub(crate) fn waits_for_credit(downstream: u32, hops: u32, stage_bytes: f64) -> bool {
    let buffered = BUFFER / stage_bytes.max(1.0);
    f64::from(downstream) > f64::from(hops) * buffered / (1.0 + buffered)
}

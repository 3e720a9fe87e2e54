//! Ends of a directed graph.

/// The strongly connected components of a graph that no edge leaves, in order of their least nodes. `edges` are the
/// targets of each node, as rows of it.
///
/// Tarjan, «Depth-first search and linear graph algorithms», SIAM J. Comput. 1 (1972), with a stack of its own in place of
/// calls: linear in nodes and edges.
pub(super) fn sinks(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let count = edges.len();
    let (mut order, mut low, mut component) = (vec![UNSEEN; count], vec![0; count], vec![UNSEEN; count]);
    let (mut components, mut open): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut next = 0;
    for root in 0..count {
        if order[root] != UNSEEN {
            continue;
        }
        // Nodes on the way, and how many of their edges were followed.
        let mut way = vec![(root, 0)];
        while let Some((node, followed)) = way.pop() {
            if followed == 0 {
                (order[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            } else {
                low[node] = low[node].min(low[edges[node][followed - 1]]);
            }
            let mut at = followed;
            let mut deeper = None;
            while let Some(&to) = edges[node].get(at) {
                at += 1;
                if order[to] == UNSEEN {
                    deeper = Some(to);
                    break;
                }
                if component[to] == UNSEEN {
                    low[node] = low[node].min(order[to]);
                }
            }
            if let Some(to) = deeper {
                way.push((node, at));
                way.push((to, 0));
                continue;
            }
            if low[node] == order[node] {
                let from = open.iter().rposition(|one| *one == node).unwrap_or(0);
                let mut of: Vec<usize> = open.split_off(from);
                of.sort_unstable();
                for &one in &of {
                    component[one] = components.len();
                    // What is done no longer lowers who comes later.
                    low[one] = UNSEEN;
                }
                components.push(of);
            }
        }
    }
    let mut found: Vec<Vec<usize>> = (components.into_iter().enumerate())
        .filter(|(row, of)| of.iter().flat_map(|&node| &edges[node]).all(|&to| component[to] == *row))
        .map(|(_, of)| of)
        .collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// By its definition: all that a node reaches reaches it.
    fn plainly(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let reach = |from: usize| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(node) = open.pop() {
                if seen.insert(node) {
                    open.extend(&edges[node]);
                }
            }
            seen
        };
        let all: Vec<BTreeSet<usize>> = (0..edges.len()).map(reach).collect();
        let ends = (0..edges.len()).filter(|&node| all[node].iter().all(|&to| all[to].contains(&node)));
        let sets: BTreeSet<Vec<usize>> = ends.map(|node| all[node].iter().copied().collect()).collect();
        sets.into_iter().collect()
    }

    proptest! {
        #[test]
        fn ends_are_what_leads_back_to_itself(
            count in 1..9_usize, drawn in proptest::collection::vec((0..9_usize, 0..9_usize), 0..24)
        ) {
            let mut edges = vec![Vec::new(); count];
            for (from, to) in drawn {
                edges[from % count].push(to % count);
            }
            prop_assert_eq!(sinks(&edges), plainly(&edges));
        }
    }
}

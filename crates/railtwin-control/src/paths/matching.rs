//! Choosing among paths so that no two share a link.

use std::collections::BTreeMap;

use railtwin_fabric::LinkId;

/// Rows of up to `count` of `paths` that pairwise share no link, in order of rows. Earlier rows
/// are preferred where that costs no path.
///
/// Paths are grouped by their first link, of which one path may be taken. If a path's other links
/// are free it is taken; if they are held by one other group, that group is asked to move. For
/// paths of two links this is augmentation in a bipartite graph, whose result is of greatest size
/// (Berge 1957). For longer paths, which may collide with several others, the problem is
/// NP-hard and the result may fall short.
pub(super) fn disjoint_subset(paths: &[&[LinkId]], count: usize) -> Vec<usize> {
    let mut groups: BTreeMap<Option<LinkId>, Vec<usize>> = BTreeMap::new();
    for (row, path) in paths.iter().enumerate() {
        groups.entry(path.first().copied()).or_default().push(row);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort();
    let mut matching = Matching {
        paths,
        taken: vec![None; groups.len()],
        groups,
        owner: BTreeMap::new(),
        visited: Vec::new(),
    };
    let mut size = 0;
    // Moving a path of several links frees some for a group that failed before: go round again.
    loop {
        let before = size;
        for group in 0..matching.groups.len() {
            if size < count && matching.taken[group].is_none() {
                matching.visited = vec![false; matching.groups.len()];
                size += usize::from(matching.place(group));
            }
        }
        if size == before {
            break;
        }
    }
    let mut rows: Vec<usize> = matching.taken.into_iter().flatten().collect();
    rows.sort_unstable();
    rows
}

struct Matching<'a> {
    paths: &'a [&'a [LinkId]],
    /// Rows of the paths over one first link.
    groups: Vec<Vec<usize>>,
    /// By group: the path it holds.
    taken: Vec<Option<usize>>,
    /// Group that holds a link beyond the first.
    owner: BTreeMap<LinkId, usize>,
    /// Groups already asked to move for the one now being placed.
    visited: Vec<bool>,
}

impl Matching<'_> {
    /// Gives `group`, which holds none, a path, moving others if need be; false if that fails, and
    /// all is as before.
    fn place(&mut self, group: usize) -> bool {
        self.visited[group] = true;
        let rows = self.groups[group].clone();
        if let Some(&free) = rows.iter().find(|&&row| self.holders(row).is_empty()) {
            self.hold(group, free);
            return true;
        }
        for row in rows {
            let &[holder] = self.holders(row).as_slice() else {
                continue;
            };
            if self.visited[holder] {
                continue;
            }
            let old = self.taken[holder].expect("a holder holds a path");
            self.release(holder);
            self.hold(group, row);
            if self.place(holder) {
                return true;
            }
            self.release(group);
            self.hold(holder, old);
        }
        false
    }

    /// Groups that hold links of a path, each once.
    fn holders(&self, row: usize) -> Vec<usize> {
        let beyond = self.paths[row].iter().skip(1);
        let mut holders: Vec<usize> = beyond.filter_map(|link| self.owner.get(link).copied()).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    fn hold(&mut self, group: usize, row: usize) {
        self.taken[group] = Some(row);
        for &link in self.paths[row].iter().skip(1) {
            self.owner.insert(link, group);
        }
    }

    fn release(&mut self, group: usize) {
        if let Some(row) = self.taken[group].take() {
            for link in self.paths[row].iter().skip(1) {
                self.owner.remove(link);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Size of the greatest disjoint subset, by trying all.
    fn greatest(paths: &[[LinkId; 2]]) -> usize {
        let disjoint = |set: u32| {
            let mut links: Vec<LinkId> =
                (0..paths.len()).filter(|row| set >> row & 1 == 1).flat_map(|row| paths[row]).collect();
            let all = links.len();
            links.sort();
            links.dedup();
            links.len() == all
        };
        (0..1u32 << paths.len())
            .filter(|&set| disjoint(set))
            .map(|set| set.count_ones() as usize)
            .max()
            .expect("the empty set is disjoint")
    }

    proptest! {
        #[test]
        fn paths_of_two_links_are_matched_to_the_full(
            pairs in prop::collection::vec((0u32..5, 10u32..15), 0..12), count in 0usize..6,
        ) {
            let paths: Vec<[LinkId; 2]> =
                pairs.iter().map(|&(up, down)| [LinkId(up), LinkId(down)]).collect();
            let slices: Vec<&[LinkId]> = paths.iter().map(|path| &path[..]).collect();
            let chosen = disjoint_subset(&slices, count);
            let mut links: Vec<_> = chosen.iter().flat_map(|&row| paths[row]).collect();
            links.sort();
            links.dedup();
            prop_assert_eq!(links.len(), 2 * chosen.len());
            prop_assert_eq!(chosen.len(), greatest(&paths).min(count));
        }

        #[test]
        fn longer_paths_stay_disjoint(
            triples in prop::collection::vec((0u32..6, 10u32..16, 20u32..26), 0..40),
        ) {
            let paths: Vec<[LinkId; 3]> = triples
                .iter()
                .map(|&(a, b, c)| [LinkId(a), LinkId(b), LinkId(c)])
                .collect();
            let slices: Vec<&[LinkId]> = paths.iter().map(|path| &path[..]).collect();
            let chosen = disjoint_subset(&slices, usize::MAX);
            let mut links: Vec<_> = chosen.iter().flat_map(|&row| paths[row]).collect();
            links.sort();
            links.dedup();
            prop_assert_eq!(links.len(), 3 * chosen.len());
            prop_assert!(paths.is_empty() || !chosen.is_empty());
            // No path is left that shares nothing with those chosen.
            for path in &paths {
                prop_assert!(path.iter().any(|link| links.binary_search(link).is_ok()));
            }
        }
    }
}

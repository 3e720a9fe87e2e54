//! Which patterns share links: only those can slow each other.
//!
//! Links crossed by the same patterns are one *meeting*: where many patterns cross many links there are few.
use std::collections::HashMap;

use railtwin_engine::BundleTable;
use railtwin_units::stream::mix;
use railtwin_workload::PatternId;

/// Where patterns meet, and which of those in flight are there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conflicts {
    /// CSR: visits of pattern `p` are `start[p]..start[p + 1]`.
    start: Vec<u32>,
    /// Meeting by visit, ascending within a pattern.
    meetings: Vec<u32>,
    /// Place of a visit among those present, while its pattern is in flight.
    place: Vec<u32>,
    /// Pattern and visit of those in flight, by meeting.
    present: Vec<Vec<(PatternId, u32)>>,
}

impl Conflicts {
    /// Finds all meetings. Work: pairs of pattern and link, sorted.
    pub fn of(table: &BundleTable, links: usize) -> Self {
        let on_links = patterns_by_link(table, links);
        // Looked up, never iterated: meetings are numbered in the order of links.
        let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut members: Vec<&[(u32, u32)]> = Vec::new();
        for on_link in on_links.chunk_by(|a, b| a.0 == b.0).filter(|on_link| on_link.len() > 1) {
            let name = on_link.iter().fold(on_link.len() as u64, |name, &(_, p)| mix(name ^ u64::from(p)));
            let same = known.entry(name).or_default();
            let equal = |&m: &u32| members[m as usize].iter().map(|e| e.1).eq(on_link.iter().map(|e| e.1));
            if !same.iter().any(equal) {
                same.push(members.len() as u32);
                members.push(on_link);
            }
        }
        let mut of_pattern: Vec<Vec<u32>> = vec![Vec::new(); table.patterns()];
        for (meeting, on_link) in members.iter().enumerate() {
            for &(_, pattern) in *on_link {
                of_pattern[pattern as usize].push(meeting as u32);
            }
        }
        let mut conflicts = Self { start: vec![0], ..Self::default() };
        for meetings in &of_pattern {
            conflicts.meetings.extend_from_slice(meetings);
            conflicts.start.push(conflicts.meetings.len() as u32);
        }
        conflicts.place = vec![u32::MAX; conflicts.meetings.len()];
        conflicts.present = vec![Vec::new(); members.len()];
        conflicts
    }

    fn visits(&self, pattern: PatternId) -> std::ops::Range<usize> {
        self.start[pattern.index()] as usize..self.start[pattern.index() + 1] as usize
    }

    /// The meetings of a pattern.
    pub fn meetings_of(&self, pattern: PatternId) -> &[u32] {
        &self.meetings[self.visits(pattern)]
    }

    /// Number of meetings.
    pub fn meetings(&self) -> usize {
        self.present.len()
    }

    /// Patterns in flight at a meeting, in no order that may be seen.
    pub fn present_at(&self, meeting: u32) -> impl Iterator<Item = PatternId> + '_ {
        self.present[meeting as usize].iter().map(|&(pattern, _)| pattern)
    }

    /// A pattern takes off.
    pub fn enter(&mut self, pattern: PatternId) {
        for visit in self.visits(pattern) {
            let present = &mut self.present[self.meetings[visit] as usize];
            self.place[visit] = present.len() as u32;
            present.push((pattern, visit as u32));
        }
    }

    /// A pattern has landed.
    pub fn leave(&mut self, pattern: PatternId) {
        for visit in self.visits(pattern) {
            let present = &mut self.present[self.meetings[visit] as usize];
            let place = self.place[visit] as usize;
            present.swap_remove(place);
            if let Some(&(_, moved)) = present.get(place) {
                self.place[moved as usize] = place as u32;
            }
        }
    }

    /// Those of `patterns`, all in flight, that share links, directly or through each other: groups, each
    /// ascending, in the order of their first. Work: visits.
    pub fn groups(&self, patterns: &[PatternId]) -> Vec<Vec<PatternId>> {
        if patterns.len() < 2 {
            return patterns.iter().map(|&pattern| vec![pattern]).collect();
        }
        let mut order = patterns.to_vec();
        order.sort_unstable();
        let (mut seen, mut visited) = (vec![false; order.len()], vec![false; self.meetings()]);
        let mut groups = Vec::new();
        for first in 0..order.len() {
            if std::mem::replace(&mut seen[first], true) {
                continue;
            }
            let (mut group, mut next) = (vec![order[first]], 0);
            while next < group.len() {
                for &meeting in self.meetings_of(group[next]) {
                    if std::mem::replace(&mut visited[meeting as usize], true) {
                        continue;
                    }
                    for other in self.present_at(meeting) {
                        if let Ok(row) = order.binary_search(&other)
                            && !std::mem::replace(&mut seen[row], true)
                        {
                            group.push(other);
                        }
                    }
                }
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }
}

/// Pairs of link and pattern, each once, ascending.
fn patterns_by_link(table: &BundleTable, links: usize) -> Vec<(u32, u32)> {
    let mut last_seen = vec![u32::MAX; links];
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for pattern in 0..table.patterns() {
        for bundle in table.bundles_of(PatternId::from_index(pattern)) {
            for (link, _) in table.links_of(bundle) {
                if last_seen[link.index()] != pattern as u32 {
                    last_seen[link.index()] = pattern as u32;
                    entries.push((link.0, pattern as u32));
                }
            }
        }
    }
    entries.sort_unstable();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::BundleWriter;
    use railtwin_engine::bundles::Strand;
    use railtwin_fabric::LinkId;
    use railtwin_units::SimTime;

    #[test]
    fn patterns_that_meet_in_a_chain_are_one_group_until_the_middle_lands() {
        let mut writer = BundleWriter::new(false);
        for links in [[0, 1], [1, 2], [2, 3], [4, 5]] {
            let links = links.map(LinkId).to_vec();
            writer.push(
                1.0,
                f64::INFINITY,
                &[Strand { edge: 0, amount: 1.0, of: 1, links, parts: Vec::new() }],
            );
            writer.close_pattern(SimTime::ZERO);
        }
        let mut conflicts = Conflicts::of(&writer.finish(), 6);
        let [a, b, c, d] = [0, 1, 2, 3].map(PatternId::from_index);
        for pattern in [d, c, b, a] {
            conflicts.enter(pattern);
        }
        assert_eq!(conflicts.groups(&[d, c, b, a]), [vec![a, b, c], vec![d]]);
        conflicts.leave(b);
        assert_eq!(conflicts.groups(&[a, c, d]), [vec![a], vec![c], vec![d]]);
        assert_eq!(conflicts.meetings_of(d), [0_u32; 0]);
    }
}

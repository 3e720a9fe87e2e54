//! Links that say the same, said once: the max-min problem on the constraints that can bind.
//!
//! Two links crossed by the same bundles in the same proportions, relative to capacity, are one constraint. One
//! whose every share is no greater than another's over the same bundles can never be full before it. Leaving
//! such links out changes no rate: they hold whenever the others do. Capacities become 1, shares are relative;
//! a link without capacity keeps 0.
use std::collections::HashMap;

use railtwin_engine::BundleTable;
use railtwin_units::stream::mix;

/// The constraints of a table under given capacities.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Constraints {
    /// CSR: constraints of bundle `b` are `start[b]..start[b + 1]`.
    pub start: Vec<u32>,
    /// Constraint ids, ascending within a bundle.
    pub ids: Vec<u32>,
    /// Shares relative to capacity.
    pub shares: Vec<f64>,
    /// 1, or 0 for links without capacity, by constraint.
    pub capacities: Vec<f64>,
}

/// Rows over the same bundles.
#[derive(Default)]
struct Family {
    /// Row numbers in `rows` that none of the others makes needless.
    kept: Vec<usize>,
}

impl Constraints {
    /// Finds the constraints of `table`; `capacities` in bytes per second by link id.
    pub fn of(table: &BundleTable, capacities: &[f64]) -> Self {
        let rows = rows(table, capacities);
        // Families are looked up, never iterated: the order of rows is that of links.
        let mut families: HashMap<u64, Family> = HashMap::new();
        let mut kept = vec![false; rows.count()];
        for number in 0..rows.count() {
            let row = rows.get(number);
            let support = row.iter().fold(row.len() as u64, |sum, &(bundle, _)| mix(sum ^ u64::from(bundle)));
            let family = families.entry(support).or_default();
            let same = |other: usize| rows.get(other).iter().map(|e| e.0).eq(row.iter().map(|e| e.0));
            let least = |a: usize, b: &[(u32, f64)]| rows.get(a).iter().zip(b).all(|(a, b)| a.1 <= b.1);
            let covers = |a: usize, b: &[(u32, f64)]| rows.get(a).iter().zip(b).all(|(a, b)| a.1 >= b.1);
            if family.kept.iter().any(|&other| same(other) && covers(other, row)) {
                continue;
            }
            family.kept.retain(|&other| {
                let needless = same(other) && least(other, row);
                kept[other] &= !needless;
                !needless
            });
            family.kept.push(number);
            kept[number] = true;
        }
        let kept: Vec<&[(u32, f64)]> =
            (0..rows.count()).filter(|&row| kept[row]).map(|row| rows.get(row)).collect();
        Self::of_rows(table.bundles(), &kept)
    }

    /// Constraints and shares of a bundle.
    pub fn of_bundle(&self, bundle: usize) -> (&[u32], &[f64]) {
        let range = self.start[bundle] as usize..self.start[bundle + 1] as usize;
        (&self.ids[range.clone()], &self.shares[range])
    }

    /// The constraints of some bundles alone, numbered anew from zero like the bundles. Work and memory are
    /// those of the bundles, whatever the size of the whole.
    pub fn within(&self, bundles: std::ops::Range<usize>) -> Self {
        let entries = self.start[bundles.start] as usize..self.start[bundles.end] as usize;
        let mut known: Vec<u32> = self.ids[entries.clone()].to_vec();
        known.sort_unstable();
        known.dedup();
        let local = |id: &u32| known.partition_point(|other| other < id) as u32;
        Self {
            start: self.start[bundles.start..=bundles.end]
                .iter()
                .map(|at| at - entries.start as u32)
                .collect(),
            ids: self.ids[entries.clone()].iter().map(local).collect(),
            shares: self.shares[entries].to_vec(),
            capacities: known.iter().map(|&id| self.capacities[id as usize]).collect(),
        }
    }

    fn of_rows(bundles: usize, rows: &[&[(u32, f64)]]) -> Self {
        let mut start = vec![0_u32; bundles + 1];
        for &(bundle, _) in rows.iter().copied().flatten() {
            start[bundle as usize + 1] += 1;
        }
        for bundle in 0..bundles {
            start[bundle + 1] += start[bundle];
        }
        let mut fill = start.clone();
        let (mut ids, mut shares) = (vec![0; start[bundles] as usize], vec![0.0; start[bundles] as usize]);
        for (id, row) in rows.iter().enumerate() {
            for &(bundle, share) in *row {
                let at = &mut fill[bundle as usize];
                ids[*at as usize] = id as u32;
                shares[*at as usize] = if share.is_finite() { share } else { 1.0 };
                *at += 1;
            }
        }
        let open = |row: &&[(u32, f64)]| f64::from(u8::from(row[0].1.is_finite()));
        Self { start, ids, shares, capacities: rows.iter().map(open).collect() }
    }
}

/// For each used link its bundles with their shares relative to capacity; infinite without capacity. Links are in the
/// order in which bundles first cross them.
struct Rows {
    /// CSR: entries of row `r` are `start[r]..start[r + 1]`.
    start: Vec<u32>,
    /// Bundle and share.
    entries: Vec<(u32, f64)>,
}

impl Rows {
    fn count(&self) -> usize {
        self.start.len() - 1
    }

    #[inline]
    fn get(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.start[row] as usize..self.start[row + 1] as usize]
    }
}

fn rows(table: &BundleTable, capacities: &[f64]) -> Rows {
    let mut row_of = vec![u32::MAX; capacities.len()];
    let mut start = vec![0_u32];
    for &link in &table.links {
        let row = &mut row_of[link.index()];
        if *row == u32::MAX {
            *row = start.len() as u32 - 1;
            start.push(0);
        }
        start[*row as usize + 1] += 1;
    }
    for row in 1..start.len() {
        start[row] += start[row - 1];
    }
    let mut next = start.clone();
    let mut entries = vec![(0, 0.0); table.links.len()];
    for bundle in 0..table.bundles() {
        for (link, share) in table.links_of(bundle) {
            let at = &mut next[row_of[link.index()] as usize];
            entries[*at as usize] = (bundle as u32, share / capacities[link.index()]);
            *at += 1;
        }
    }
    Rows { start, entries }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::BundleWriter;
    use railtwin_engine::bundles::Strand;
    use railtwin_fabric::LinkId;
    use railtwin_units::SimTime;

    #[test]
    fn needless_links_go_and_dead_ones_stay() {
        let mut writer = BundleWriter::new(false);
        let strand = |links: &[u32]| Strand {
            edge: 0,
            amount: 1.0,
            of: 1,
            links: links.iter().map(|&l| LinkId(l)).collect(),
            parts: Vec::new(),
        };
        writer.push(1.0, f64::INFINITY, &[strand(&[0, 1, 2, 4])]);
        writer.push(1.0, f64::INFINITY, &[strand(&[1, 2, 3])]);
        writer.close_pattern(SimTime::ZERO);
        // Link 0: wide, first bundle alone. Links 1 and 2: both bundles, 2 the narrower. Link 4: dead.
        let constraints = Constraints::of(&writer.finish(), &[8.0, 4.0, 2.0, 1.0, 0.0]);
        assert_eq!(constraints.capacities.iter().filter(|&&c| c == 0.0).count(), 1);
        assert_eq!(constraints.capacities.len(), 3, "{constraints:?}");
        assert_eq!(constraints.shares, [0.5, 1.0, 0.5, 1.0]);
    }
}

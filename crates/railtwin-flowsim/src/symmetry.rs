//! Bundles that are alike: same pattern, constraints, shares, weight, cap and volume. What starts together with the
//! same bytes then moves together to the end, and one variable stands for all.
use std::collections::HashMap;

use railtwin_engine::BundleTable;
use railtwin_units::stream::mix;
use railtwin_workload::PatternId;

use crate::reduce::Constraints;

/// For every bundle the first that is like it, and how many are like that one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Likeness {
    /// First like bundle, itself where it is the first.
    pub first: Vec<u32>,
    /// Number of like bundles, by the first of them; 0 for all others.
    pub count: Vec<u32>,
}

impl Likeness {
    /// Every bundle for itself.
    pub fn none(bundles: usize) -> Self {
        Self { first: (0..bundles as u32).collect(), count: vec![1; bundles] }
    }

    /// Compares the bundles of each pattern.
    pub fn of(table: &BundleTable, constraints: &Constraints) -> Self {
        let mut likeness = Self::none(table.bundles());
        // Looked up, never iterated.
        let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
        for pattern in 0..table.patterns() {
            known.clear();
            for bundle in table.bundles_of(PatternId::from_index(pattern)) {
                let firsts = known.entry(name(table, constraints, bundle)).or_default();
                match firsts.iter().find(|&&first| alike(table, constraints, first as usize, bundle)) {
                    Some(&first) => {
                        likeness.first[bundle] = first;
                        likeness.count[first as usize] += 1;
                        likeness.count[bundle] = 0;
                    }
                    None => firsts.push(bundle as u32),
                }
            }
        }
        likeness
    }
}

fn name(table: &BundleTable, constraints: &Constraints, bundle: usize) -> u64 {
    let (ids, shares) = constraints.of_bundle(bundle);
    let words = [table.volume[bundle], table.weight[bundle], table.cap[bundle]].map(f64::to_bits);
    let links = ids.iter().map(|&id| u64::from(id)).chain(shares.iter().map(|share| share.to_bits()));
    words.into_iter().chain(links).fold(ids.len() as u64, |name, word| mix(name ^ word))
}

fn alike(table: &BundleTable, constraints: &Constraints, a: usize, b: usize) -> bool {
    table.volume[a] == table.volume[b]
        && table.weight[a] == table.weight[b]
        && table.cap[a] == table.cap[b]
        && constraints.of_bundle(a) == constraints.of_bundle(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::BundleWriter;
    use railtwin_engine::bundles::Strand;
    use railtwin_fabric::LinkId;
    use railtwin_units::SimTime;

    #[test]
    fn bundles_are_alike_in_all_that_decides_their_rates_or_not_at_all() {
        let mut writer = BundleWriter::new(false);
        let mut push = |volume: f64, cap: f64, links: [u32; 2]| {
            let links = links.map(LinkId).to_vec();
            writer.push(volume, cap, &[Strand { edge: 0, amount: 1.0, of: 1, links, parts: Vec::new() }]);
        };
        push(1.0, f64::INFINITY, [0, 1]);
        push(1.0, f64::INFINITY, [0, 2]);
        push(1.0, f64::INFINITY, [0, 1]);
        push(2.0, f64::INFINITY, [0, 1]);
        push(1.0, 5.0, [0, 1]);
        push(1.0, f64::INFINITY, [0, 1]);
        writer.close_pattern(SimTime::ZERO);
        let table = writer.finish();
        let likeness = Likeness::of(&table, &Constraints::of(&table, &[10.0, 2.0, 2.0]));
        assert_eq!(likeness.first, [0, 1, 0, 3, 4, 0]);
        assert_eq!(likeness.count, [3, 1, 0, 1, 1, 0]);
    }
}

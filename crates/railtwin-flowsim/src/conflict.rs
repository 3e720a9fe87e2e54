//! Which patterns share links: only those can slow each other.
use railtwin_engine::BundleTable;
use railtwin_workload::PatternId;

/// A symmetric bit matrix over patterns: set where two share a link.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conflicts {
    words: usize,
    bits: Vec<u64>,
}

impl Conflicts {
    /// Finds all pairs. Work: (patterns on a link) · (patterns / 64), summed over links.
    pub fn of(table: &BundleTable, links: usize) -> Self {
        let patterns = table.patterns();
        let words = patterns.div_ceil(64);
        let mut conflicts = Self { words, bits: vec![0; patterns * words] };
        let mut last_seen = vec![u32::MAX; links];
        let mut entries: Vec<(u32, u32)> = Vec::new();
        for pattern in 0..patterns {
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
        let mut row = vec![0_u64; words];
        for on_link in entries.chunk_by(|a, b| a.0 == b.0).filter(|on_link| on_link.len() > 1) {
            row.fill(0);
            for &(_, pattern) in on_link {
                row[pattern as usize / 64] |= 1 << (pattern % 64);
            }
            for &(_, pattern) in on_link {
                let start = pattern as usize * words;
                for (word, bits) in conflicts.bits[start..start + words].iter_mut().zip(&row) {
                    *word |= bits;
                }
            }
        }
        conflicts
    }

    /// Whether two patterns share a link.
    #[inline]
    pub fn share(&self, a: PatternId, b: PatternId) -> bool {
        self.bits[a.index() * self.words + b.index() / 64] >> (b.0 % 64) & 1 == 1
    }
}

//! Bundles of a rank class joined into one while they are written, without a table of all of them.
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;

use crate::bundles::{BundleWriter, Strand};

/// Joins the bundles of a pattern as [`crate::BundleTable::by_class`] does, bit by bit: the sums are taken in the same
/// order. Dense by link, as every pattern of a large job crosses a good part of all links.
#[derive(Debug)]
pub(crate) struct Joiner {
    /// By link: bytes of the bundle being added, and of all bundles, for each byte of the operation.
    shares: Vec<[f64; 2]>,
    /// One bit by link: whether any bundle crosses it.
    crossed: Vec<u64>,
    /// Links of the bundle being added; twice where a share is zero.
    touched: Vec<LinkId>,
    cap: f64,
    weight: f64,
    bundles: usize,
    /// Whether a bundle has no route.
    is_lost: bool,
}

impl Joiner {
    /// A joiner for so many links.
    pub(crate) fn new(links: usize) -> Self {
        Self {
            shares: vec![[0.0; 2]; links],
            crossed: vec![0; links.div_ceil(64)],
            touched: Vec::new(),
            cap: f64::INFINITY,
            weight: 0.0,
            bundles: 0,
            is_lost: false,
        }
    }

    /// Adds a bundle as [`BundleWriter::push`] does.
    pub(crate) fn push(&mut self, volume: f64, cap: f64, strands: &[Strand]) {
        for strand in strands {
            let share = strand.amount / f64::from(strand.of);
            if strand.parts.is_empty() {
                strand.links.iter().for_each(|&link| self.touch(link, share));
            } else {
                let parts = strand.links.iter().zip(&strand.parts);
                parts.for_each(|(&link, part)| self.touch(link, share * part));
            }
        }
        self.bundles += 1;
        self.is_lost |= self.touched.is_empty();
        for link in self.touched.drain(..) {
            let [share, sum] = &mut self.shares[link.index()];
            *sum += std::mem::take(share) * volume;
            self.crossed[link.index() / 64] |= 1 << (link.index() % 64);
        }
        let weight = strands.iter().map(|strand| strand.of).max().unwrap_or(1).max(1);
        self.cap = self.cap.min(cap / volume);
        self.weight = self.weight.max(f64::from(weight) / volume);
    }

    #[inline]
    fn touch(&mut self, link: LinkId, share: f64) {
        let sum = &mut self.shares[link.index()][0];
        if *sum == 0.0 {
            self.touched.push(link);
        }
        *sum += share;
    }

    /// Writes the one bundle, if there were any, closes the pattern, and is as new again.
    pub(crate) fn finish(&mut self, writer: &mut BundleWriter, latency: SimTime) {
        if self.bundles > 0 {
            let is_lost = self.is_lost;
            let links =
                Bits { words: &self.crossed, word: 0, rest: self.crossed.first().copied().unwrap_or(0) };
            let links = links.filter(|_| !is_lost).map(|row| (LinkId::from_index(row), self.shares[row][1]));
            writer.push_joined(self.cap, self.weight, links);
        }
        writer.close_pattern(latency);
        for (word, bits) in self.crossed.iter_mut().enumerate().filter(|(_, bits)| **bits != 0) {
            let end = self.shares.len().min(64 * word + 64);
            self.shares[64 * word..end].fill([0.0; 2]);
            *bits = 0;
        }
        (self.cap, self.weight, self.bundles, self.is_lost) = (f64::INFINITY, 0.0, 0, false);
    }
}

/// Numbers of the bits that are set, ascending.
struct Bits<'a> {
    words: &'a [u64],
    word: usize,
    rest: u64,
}

impl Iterator for Bits<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.word += 1;
            self.rest = *self.words.get(self.word)?;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(64 * self.word + bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strand(of: u32, amount: f64, links: &[u32], parts: &[f64]) -> Strand {
        let links = links.iter().map(|&link| LinkId(link)).collect();
        Strand { edge: 0, amount, of, links, parts: parts.to_vec() }
    }

    /// Shares that add up differently in another order, links at the ends of words, a share of zero, a bundle
    /// without a route, and a second pattern after each.
    #[test]
    fn a_joiner_writes_what_the_table_of_all_bundles_joins_to() {
        let routed = [
            vec![strand(3, 0.1, &[130, 0, 63, 64], &[]), strand(3, 0.7, &[64, 199], &[0.3, 0.9])],
            vec![strand(1, 0.3, &[64, 0, 7], &[]), strand(1, 0.0, &[9, 9, 64], &[])],
            vec![strand(7, 1.0 / 3.0, &[64, 130, 64], &[0.1, 0.2, 0.7])],
        ];
        let lost = [routed[0].clone(), Vec::new()];
        let patterns: [&[Vec<Strand>]; 4] = [&routed, &lost, &[], &routed[1..]];
        let (mut whole, mut joined) = (BundleWriter::new(false), BundleWriter::new(false));
        let mut joiner = Joiner::new(200);
        for (ns, bundles) in (1..).zip(patterns) {
            for (row, strands) in (1..).zip(bundles) {
                let (volume, cap) = (0.7 / f64::from(row), 3e9 / f64::from(row * row));
                whole.push(volume, cap, strands);
                joiner.push(volume, cap, strands);
            }
            whole.close_pattern(SimTime::from_ns(ns));
            joiner.finish(&mut joined, SimTime::from_ns(ns));
        }
        assert_eq!(joined.finish(), whole.finish().by_class());
    }
}

//! Communication patterns on links: the flow engine's unit is the bundle.
//!
//! A bundle moves at one rate `x` in bytes per second on its main edge. On link `l` it takes `share · x`.
//! A bundle is split into *strands*, one for each queue pair of each edge; with a static split the strands
//! of an edge are even, so only their sum by link matters; with a dynamic split each strand finds its own rate.
use railtwin_fabric::LinkId;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

/// All patterns of a case on the fabric's links, as columns.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BundleTable {
    /// CSR: bundles of pattern `p` are `pattern_start[p]..pattern_start[p + 1]`.
    pub pattern_start: Vec<u32>,
    /// Serial latency of a pattern: the longest of its bundles, every stage paid once.
    pub latency: Vec<SimTime>,
    /// Bytes of the bundle for each byte of the operation.
    pub volume: Vec<f64>,
    /// Queue pairs of the bundle on one edge: its weight where links are shared.
    pub weight: Vec<f64>,
    /// Most that the bundle may move, bytes per second; infinite without a cap.
    pub cap: Vec<f64>,
    /// CSR: links of bundle `b` are `link_start[b]..link_start[b + 1]`.
    pub link_start: Vec<u32>,
    /// Links, each once per bundle, ascending.
    pub links: Vec<LinkId>,
    /// Bytes on the link for each byte of the bundle under a static split.
    pub shares: Vec<f64>,
    /// Queue pairs and edges for the dynamic split; empty under a static one.
    pub strands: StrandTable,
    /// Bundles without a route: they move nothing until a repair.
    pub stranded: Vec<u32>,
}

/// The queue pairs of every bundle, for the dynamic split.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StrandTable {
    /// CSR: strands of bundle `b` are `bundle_start[b]..bundle_start[b + 1]`.
    pub bundle_start: Vec<u32>,
    /// Edge of the strand, counted within its bundle.
    pub edge: Vec<u32>,
    /// Bytes on the edge for each byte of the bundle.
    pub amount: Vec<f64>,
    /// CSR: links of strand `s` are `link_start[s]..link_start[s + 1]`.
    pub link_start: Vec<u32>,
    /// Links of the strands.
    pub links: Vec<LinkId>,
    /// Slots of a connection that become free in order; none where no queue pair waits for another.
    pub slots: Option<u32>,
}

impl StrandTable {
    /// Appends the strands of `bundle` of another table, edges counted from `first_edge` on and with `times` the bytes;
    /// returns the next free edge. The bundle that they belong to is not closed.
    pub(crate) fn extend_from(&mut self, from: &Self, bundle: usize, first_edge: u32, times: f64) -> u32 {
        let mut next_edge = first_edge;
        for s in from.bundle_start[bundle] as usize..from.bundle_start[bundle + 1] as usize {
            let edge = first_edge + from.edge[s];
            next_edge = next_edge.max(edge + 1);
            self.edge.push(edge);
            self.amount.push(from.amount[s] * times);
            let links = from.link_start[s] as usize..from.link_start[s + 1] as usize;
            self.links.extend_from_slice(&from.links[links]);
            self.link_start.push(self.links.len() as u32);
        }
        next_edge
    }

    /// Closes the bundle being written.
    pub(crate) fn close_bundle(&mut self) {
        self.bundle_start.push(self.edge.len() as u32);
    }
}

impl BundleTable {
    /// Number of patterns.
    #[inline]
    pub fn patterns(&self) -> usize {
        self.latency.len()
    }

    /// Number of bundles.
    #[inline]
    pub fn bundles(&self) -> usize {
        self.volume.len()
    }

    /// Bundles of a pattern.
    #[inline]
    pub fn bundles_of(&self, pattern: PatternId) -> std::ops::Range<usize> {
        let p = pattern.index();
        self.pattern_start[p] as usize..self.pattern_start[p + 1] as usize
    }

    /// Links and shares of a bundle.
    #[inline]
    pub fn links_of(&self, bundle: usize) -> impl Iterator<Item = (LinkId, f64)> + '_ {
        let range = self.link_start[bundle] as usize..self.link_start[bundle + 1] as usize;
        self.links[range.clone()].iter().copied().zip(self.shares[range].iter().copied())
    }

    /// The same with the bundles of each pattern as one, at the pace of the slowest: volume 1, a link's share
    /// the sum over bundles. Its weight is what gives its queue pairs the rates that they had; where the table keeps
    /// its strands, all of them are strands of the one bundle, edge by edge.
    ///
    /// For a pattern alone on its links whose bundles have equal volume and weight the last byte arrives at
    /// the same time under a static split: the first link to fill under max-min is the one with most bytes per
    /// capacity, all that cross it run at the same rate from start to end, and so does the one bundle.
    pub fn by_class(&self) -> Self {
        let mut writer = BundleWriter::new(self.is_dynamic()).with_slots(self.strands.slots);
        // Dense by link: every pattern of a large job crosses a good part of all links.
        let mut shares = vec![0.0_f64; self.links.iter().max().map_or(0, |link| link.index() + 1)];
        let mut crossed: Vec<LinkId> = Vec::new();
        for pattern in 0..self.patterns() {
            let bundles = self.bundles_of(PatternId::from_index(pattern));
            let (mut cap, mut weight) = (f64::INFINITY, 0.0_f64);
            for bundle in bundles.clone() {
                for (link, share) in self.links_of(bundle) {
                    let sum = &mut shares[link.index()];
                    if *sum == 0.0 {
                        crossed.push(link);
                    }
                    *sum += share * self.volume[bundle];
                }
                cap = cap.min(self.cap[bundle] / self.volume[bundle]);
                weight = weight.max(self.weight[bundle] / self.volume[bundle]);
            }
            crossed.sort_unstable();
            // A share of zero leaves no trace, so its link may be there twice.
            crossed.dedup();
            if !bundles.is_empty() {
                let lost = bundles.clone().any(|b| self.link_start[b] == self.link_start[b + 1]);
                let links = if lost { &[][..] } else { &crossed[..] };
                writer.push_joined(cap, weight, links.iter().map(|&link| (link, shares[link.index()])));
                if self.is_dynamic() {
                    let strands = &mut writer.table.strands;
                    bundles.clone().filter(|_| !lost).fold(0, |edge, bundle| {
                        strands.extend_from(&self.strands, bundle, edge, self.volume[bundle])
                    });
                    strands.close_bundle();
                }
            }
            crossed.drain(..).for_each(|link| shares[link.index()] = 0.0);
            writer.close_pattern(self.latency[pattern]);
        }
        writer.finish()
    }

    /// Whether the table keeps its strands.
    #[inline]
    pub fn is_dynamic(&self) -> bool {
        !self.strands.bundle_start.is_empty()
    }
}

/// One queue pair of one edge: bytes on the edge for each byte of the bundle, how many queue pairs share
/// them, and the links that this one takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Strand {
    /// Edge, counted within the bundle.
    pub edge: u32,
    /// Bytes on the whole edge for each byte of the bundle.
    pub amount: f64,
    /// Queue pairs of the edge.
    pub of: u32,
    /// The path.
    pub links: Vec<LinkId>,
    /// Share of the queue pair's bytes on each link; empty when every one is 1. A dynamic split knows whole
    /// paths only, so a table that keeps its strands has none.
    pub parts: Vec<f64>,
}

impl Strand {
    /// Adds acknowledgements that return over the same links: `back` bytes for each byte.
    #[inline]
    pub fn acknowledge(&mut self, back: f64) {
        self.parts.resize(self.links.len(), 1.0);
        let forward = self.links.len();
        for row in 0..forward {
            self.links.push(self.links[row].reverse());
            self.parts.push(self.parts[row] * back);
        }
    }
}

/// Grows a table bundle by bundle.
#[derive(Debug)]
pub struct BundleWriter {
    table: BundleTable,
    dynamic: bool,
    scratch: Vec<(LinkId, f64)>,
}

impl BundleWriter {
    /// An empty table; `dynamic` keeps the strands.
    #[inline]
    pub fn new(dynamic: bool) -> Self {
        let mut table = BundleTable { pattern_start: vec![0], link_start: vec![0], ..BundleTable::default() };
        if dynamic {
            table.strands.bundle_start.push(0);
            table.strands.link_start.push(0);
        }
        Self { table, dynamic, scratch: Vec::new() }
    }

    /// The same with slots that become free in order ([`StrandTable::slots`]).
    #[inline]
    #[must_use]
    pub fn with_slots(mut self, slots: Option<u32>) -> Self {
        self.table.strands.slots = slots;
        self
    }

    /// Adds a bundle to the pattern being written. A bundle without strands has no route.
    pub fn push(&mut self, volume: f64, cap: f64, strands: &[Strand]) {
        let table = &mut self.table;
        if strands.is_empty() {
            table.stranded.push(table.volume.len() as u32);
        }
        let weight = strands.iter().map(|s| s.of).max().unwrap_or(1).max(1);
        table.volume.push(volume);
        table.weight.push(f64::from(weight));
        table.cap.push(cap);
        self.scratch.clear();
        for strand in strands {
            let share = strand.amount / f64::from(strand.of);
            let part = |row: usize| strand.parts.get(row).copied().unwrap_or(1.0);
            let links = strand.links.iter().enumerate();
            self.scratch.extend(links.map(|(row, &link)| (link, share * part(row))));
        }
        self.scratch.sort_by_key(|(link, _)| *link);
        for &(link, share) in &self.scratch {
            let start = table.link_start[table.link_start.len() - 1] as usize;
            if table.links.len() > start && table.links[table.links.len() - 1] == link {
                let last = table.shares.len() - 1;
                table.shares[last] += share;
            } else {
                table.links.push(link);
                table.shares.push(share);
            }
        }
        table.link_start.push(table.links.len() as u32);
        if self.dynamic {
            for strand in strands {
                table.strands.edge.push(strand.edge);
                table.strands.amount.push(strand.amount);
                table.strands.links.extend_from_slice(&strand.links);
                table.strands.link_start.push(table.strands.links.len() as u32);
            }
            table.strands.close_bundle();
        }
    }

    /// Adds a bundle of volume 1 with its links and shares, ascending; none where it has no route.
    pub(crate) fn push_joined(&mut self, cap: f64, weight: f64, links: impl Iterator<Item = (LinkId, f64)>) {
        let table = &mut self.table;
        let before = table.links.len();
        for (link, share) in links {
            table.links.push(link);
            table.shares.push(share);
        }
        if table.links.len() == before {
            table.stranded.push(table.volume.len() as u32);
        }
        table.volume.push(1.0);
        table.weight.push(weight);
        table.cap.push(cap);
        table.link_start.push(table.links.len() as u32);
    }

    /// Closes the pattern being written.
    #[inline]
    pub fn close_pattern(&mut self, latency: SimTime) {
        self.table.pattern_start.push(self.table.volume.len() as u32);
        self.table.latency.push(latency);
    }

    /// Appends all patterns of another table of the same split.
    pub fn append(&mut self, other: &BundleTable) {
        let table = &mut self.table;
        let (bundles, links) = (table.volume.len() as u32, table.links.len() as u32);
        table.pattern_start.extend(other.pattern_start[1..].iter().map(|start| start + bundles));
        table.latency.extend_from_slice(&other.latency);
        table.volume.extend_from_slice(&other.volume);
        table.weight.extend_from_slice(&other.weight);
        table.cap.extend_from_slice(&other.cap);
        table.link_start.extend(other.link_start[1..].iter().map(|start| start + links));
        table.links.extend_from_slice(&other.links);
        table.shares.extend_from_slice(&other.shares);
        table.stranded.extend(other.stranded.iter().map(|bundle| bundle + bundles));
        if self.dynamic {
            let (strands, links) = (table.strands.edge.len() as u32, table.strands.links.len() as u32);
            let from = &other.strands;
            table.strands.bundle_start.extend(from.bundle_start[1..].iter().map(|start| start + strands));
            table.strands.edge.extend_from_slice(&from.edge);
            table.strands.amount.extend_from_slice(&from.amount);
            table.strands.link_start.extend(from.link_start[1..].iter().map(|start| start + links));
            table.strands.links.extend_from_slice(&from.links);
        }
    }

    /// The finished table, without room to spare: it is held as long as the run goes on.
    pub fn finish(mut self) -> BundleTable {
        self.table.links.shrink_to_fit();
        self.table.shares.shrink_to_fit();
        self.table.strands.links.shrink_to_fit();
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strand(edge: u32, of: u32, links: &[u32]) -> Strand {
        Strand { edge, amount: 1.0, of, links: links.iter().map(|&l| LinkId(l)).collect(), parts: Vec::new() }
    }

    #[test]
    fn shares_of_strands_on_the_same_link_add_up() {
        let mut writer = BundleWriter::new(true);
        writer.push(1.0, f64::INFINITY, &[strand(0, 2, &[4, 1]), strand(0, 2, &[4, 2]), strand(1, 1, &[9])]);
        writer.close_pattern(SimTime::ZERO);
        let table = writer.finish();
        let links: Vec<(u32, f64)> = table.links_of(0).map(|(l, share)| (l.0, share)).collect();
        assert_eq!(links, [(1, 0.5), (2, 0.5), (4, 1.0), (9, 1.0)]);
        assert_eq!((table.weight[0], table.strands.bundle_start.as_slice()), (2.0, &[0, 3][..]));
    }

    #[test]
    fn a_class_has_the_strands_of_its_bundles_edge_by_edge() {
        let mut writer = BundleWriter::new(true).with_slots(Some(8));
        writer.push(2.0, 8.0, &[strand(0, 2, &[4, 1]), strand(0, 2, &[4, 2]), strand(1, 1, &[9])]);
        writer.push(0.5, 7.0, &[strand(0, 1, &[9])]);
        writer.close_pattern(SimTime::ZERO);
        writer.push(1.0, 7.0, &[strand(0, 1, &[1])]);
        writer.push(1.0, 7.0, &[]);
        writer.close_pattern(SimTime::ZERO);
        let table = writer.finish().by_class();
        assert_eq!((table.pattern_start.as_slice(), table.stranded.as_slice()), (&[0, 1, 2][..], &[1][..]));
        assert_eq!((table.volume.as_slice(), table.cap.as_slice()), (&[1.0, 1.0][..], &[4.0, 7.0][..]));
        let strands = &table.strands;
        assert_eq!((strands.bundle_start.as_slice(), strands.slots), (&[0, 4, 4][..], Some(8)));
        assert_eq!(
            (strands.edge.as_slice(), strands.amount.as_slice()),
            (&[0, 0, 1, 2][..], &[2.0, 2.0, 2.0, 0.5][..])
        );
        let links: Vec<u32> = strands.links.iter().map(|link| link.0).collect();
        assert_eq!(
            (strands.link_start.as_slice(), links.as_slice()),
            (&[0, 2, 4, 5, 6][..], &[4, 1, 4, 2, 9, 9][..])
        );
    }

    #[test]
    fn appending_tables_equals_writing_one() {
        let bundles = [vec![strand(0, 1, &[1])], vec![], vec![strand(0, 1, &[2, 3])]];
        let write = |range: std::ops::Range<usize>| {
            let mut writer = BundleWriter::new(true);
            for strands in &bundles[range] {
                writer.push(2.0, 7.0, strands);
                writer.close_pattern(SimTime::from_ns(1));
            }
            writer.finish()
        };
        let mut joined = BundleWriter::new(true);
        joined.append(&write(0..1));
        joined.append(&write(1..3));
        assert_eq!(joined.finish(), write(0..3));
    }
}

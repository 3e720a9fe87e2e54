//! Ways whose switches choose among as many tier by tier: two or three tiers without faults.
//!
//! There what a source port chooses at all switches is known without the hashes of each: [`fields`] hold the choices of
//! a tier's switches side by side, whether they share a seed or not. [`super::lanes`] takes ports along such ways.
use railtwin_fabric::{LinkId, NONE};

use super::dag::{Edge, PathDag, Tables};
use super::fields::{self, Place};
use super::hash_table::Members;

/// Words of all tiers of a graph at most.
pub(super) const MOST_WORDS: usize = 32;

/// How the switches of a tier choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tier {
    /// Number of its fields.
    pub(super) kind: usize,
    /// Number of its first word among those of the graph.
    pub(super) word: usize,
    pub(super) members: Members,
    /// The bits that choose, of a power of two; else all.
    pub(super) mask: u32,
}

impl Tier {
    /// What a switch chooses whose field begins at the low end of `word`.
    #[inline(always)]
    pub(super) fn choice(self, word: u64) -> u32 {
        let hash = word as u32;
        if self.mask == u32::MAX { self.members.bucket(hash) as u32 } else { hash & self.mask }
    }
}

/// How the tiers of a graph choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layers {
    pub(super) tiers: Vec<Tier>,
    /// Words of all tiers.
    words: usize,
    /// By link of the ways.
    pub(super) hops: Vec<Hop>,
}

/// A link of the ways and what comes behind it, side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hop {
    pub(super) link: LinkId,
    /// The switch that it enters.
    pub(super) next: u32,
    /// The first link out of that switch.
    pub(super) first: u32,
    /// The field of that switch.
    pub(super) place: Place,
}

impl Layers {
    /// Of a graph; none where a switch chooses among another number than the others of its tier, or by a port of
    /// arrival, or where more fields are needed than are packed, or where the ports over a member of the first group are
    /// no column: those are looked up without a test whether they lead there.
    pub(super) fn of(dag: &PathDag, tables: &mut Tables) -> Option<Self> {
        // Before anything is packed, as what is packed stays.
        if !fields::has_column(dag.nodes.first()?.members) {
            return None;
        }
        let (mut tiers, mut words) = (Vec::new(), 0);
        let mut places = vec![Place::default(); dag.nodes.len()];
        let mut nodes = vec![0_u32];
        while !nodes.iter().any(|&node| dag.nodes[node as usize].delivers) {
            let members = dag.nodes[*nodes.first()? as usize].members;
            let (mut next, mut hashes) = (Vec::new(), Vec::new());
            for &node in &nodes {
                let of = &dag.nodes[node as usize];
                if of.members != members || (of.table == NONE) != (members.low_bits() == Some(0)) {
                    return None;
                }
                if of.table != NONE && !hashes.contains(&of.table) {
                    hashes.push(of.table);
                }
                for edge in &dag.edges[of.edges()] {
                    if edge.twist != 0 {
                        return None;
                    }
                    next.push(edge.next);
                }
            }
            let bits = fields::width(members);
            let kind = tables.fields_of(hashes, bits)?;
            let fields = tables.fields(kind);
            for &node in nodes.iter().filter(|_| bits > 0) {
                places[node as usize] = fields.place(dag.nodes[node as usize].table);
            }
            let mask = (u64::MAX >> (63 - bits) >> 1) as u32;
            tiers.push(Tier { kind, word: words, members, mask });
            words += fields.len();
            next.sort_unstable();
            next.dedup();
            nodes = next;
        }
        let all_deliver = nodes.iter().all(|&node| dag.nodes[node as usize].delivers);
        if !all_deliver || tiers.len() < 2 || words > MOST_WORDS {
            return None;
        }
        let hop =
            |&Edge { link, next, first, .. }: &Edge| Hop { link, next, first, place: places[next as usize] };
        Some(Self { tiers, words, hops: dag.edges.iter().map(hop).collect() })
    }
}

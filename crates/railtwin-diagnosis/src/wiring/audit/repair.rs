//! The least moves that make the cables that were seen those that are planned.
//!
//! A *move* unplugs one end of a cable and plugs it in elsewhere; an end may be held in the hand while its port is still
//! taken, so a move asks no free port. A cable that is laid anew or taken out counts as one move too.
//!
//! **Moves of a shape.** Let a path or cycle have `s` cables that were seen and `p` that are planned (`|s − p| ≤ 1`). It
//! takes `max(s, p)` moves: along the path each seen cable keeps the end that it shares with the next planned cable, and its
//! other end moves to the far port of that one. A seen cable that is left is taken out, a planned one that is left is laid.
//! A cycle of `n` seen cables takes `n` moves, in either of two directions.
//!
//! **No fewer do.** Let `Φ` be the sum of `max(s, p)` over all shapes of the difference between plan and network; it is 0
//! where they are the same. One move lowers it by 1 at most:
//!
//! * Taking a seen cable away removes one edge from one shape: the parts that are left have `s₁ + s₂ = s − 1` and
//!   `p₁ + p₂ = p`, so their `max` add up to `max(s, p) − 1` at least. If it ends as a planned cable that shares its kept
//!   port, that planned edge leaves the same shape in the same move: `max(s − 1, p − 1)`, again 1 less.
//! * Plugging an end in where that is not planned adds an edge between two ports that no seen cable holds. Shapes end there
//!   with a planned edge or are empty, so `p ≥ s` in both; the joined shape has `s₁ + s₂ + 1` and `p₁ + p₂`, whose `max` is
//!   `p₁ + p₂` at least: nothing is gained.
//! * Laying a cable removes one planned edge or adds a seen one: 1 at most.
//!
//! So no plan of work has fewer moves than `Φ`, and the moves per shape reach it. Tests compare with a search over all
//! plans of work on small networks.
//!
//! **Two readings of an exchange.** Two cables that exchanged one end look the same whichever end it was: both directions of
//! a cycle give the planned network with as many moves. The direction is taken that moves fewer ends at hosts, then touches
//! fewer devices; [`Repair::either_way`] says that there is another.
use std::collections::BTreeSet;

use super::blueprint::Blueprint;
use super::difference::Shape;
use super::names::Ports;

railtwin_units::choice! {
    /// The kind of work on a cable.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum MoveAction {
        /// One end moves to another port.
        Move = "move",
        /// The cable is taken out.
        TakeOut = "take-out",
        /// A new cable is laid.
        Lay = "lay",
    }
}

/// One piece of work on a cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CableMove {
    /// The kind of work.
    pub action: MoveAction,
    /// The end that stays where it is; of a cable that is laid or taken out one of its ends.
    pub stays: u32,
    /// The port that the other end leaves; of a cable that is laid the port that it comes to.
    pub from: u32,
    /// The port that the end comes to; of a cable that is laid or taken out the same as `from`.
    pub to: u32,
    /// Whether a port of it was not seen, or known by its device alone: look first.
    pub presumed: bool,
}

/// The work on cables whose ends are mixed up with one another, in an order in which it can be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repair {
    /// The moves; none has fewer.
    pub moves: Vec<CableMove>,
    /// Whether the moves are an exchange among themselves: all ends are unplugged, then plugged in.
    pub is_exchange: bool,
    /// Whether the other ends may be moved instead, with as many moves.
    pub either_way: bool,
    /// The seen cable that is taken out, by its number in the shape.
    pub(super) removed: Option<usize>,
    /// The planned cable that is laid.
    pub(super) laid: Option<[u32; 2]>,
}

/// A list of moves with what it costs beside their number.
type Priced = ((usize, usize, Vec<u32>), Vec<CableMove>);

/// The repair of a shape.
pub(super) fn repair_of(shape: &Shape, blueprint: &Blueprint, ports: &Ports<'_>, assumed: &[bool]) -> Repair {
    let maker = Maker { shape, blueprint, ports, assumed };
    let mut repair = Repair {
        moves: Vec::new(),
        is_exchange: shape.is_exchange(),
        either_way: shape.is_exchange(),
        removed: None,
        laid: None,
    };
    if shape.is_exchange() {
        let mut both = [maker.priced(maker.exchange(false)), maker.priced(maker.exchange(true))];
        both.sort_by(|a, b| a.0.cmp(&b.0));
        let [(_, moves), _] = both;
        repair.moves = moves;
        return repair;
    }
    match (shape.seen.len(), shape.planned.len()) {
        (seen, planned) if seen > planned => {
            // The cable that is taken out makes room for the others, one after the other.
            let [from, stays] = shape.seen[seen - 1];
            repair.moves.push(maker.made(MoveAction::TakeOut, stays, from, from));
            repair.moves.extend(maker.along(0, planned).into_iter().rev());
            repair.removed = Some(seen - 1);
        }
        (seen, planned) if seen == planned => repair.moves.extend(maker.along(0, seen).into_iter().rev()),
        (seen, _) => {
            // planned, seen, planned, …: each seen cable takes the planned place before it, the last place is left.
            for number in 0..seen {
                let ([stays, from], [to, _]) = (shape.seen[number], shape.planned[number]);
                repair.moves.push(maker.made(MoveAction::Move, stays, from, to));
            }
            let [a, b] = shape.planned[seen];
            repair.moves.push(maker.made(MoveAction::Lay, a, b, b));
            repair.laid = Some([a, b]);
        }
    }
    repair
}

struct Maker<'a> {
    shape: &'a Shape,
    blueprint: &'a Blueprint,
    ports: &'a Ports<'a>,
    assumed: &'a [bool],
}

impl Maker<'_> {
    fn made(&self, action: MoveAction, stays: u32, from: u32, to: u32) -> CableMove {
        let is_assumed = |port: u32| self.assumed.get(port as usize).copied().unwrap_or(false);
        let ends = [self.shape.ports.first(), self.shape.ports.last()];
        let is_open = |port: u32| {
            ends.iter().zip(self.shape.open).any(|(end, open)| open && end.is_some_and(|end| *end == port))
        };
        let presumed = [stays, from, to].into_iter().any(|port| is_assumed(port) || is_open(port));
        CableMove { action, stays, from, to, presumed }
    }

    /// Moves along a path or cycle that begins with a seen cable: seen cable `n` keeps its second end, which planned cable
    /// `n` begins at, and its first end moves to the end of that one.
    fn along(&self, first: usize, last: usize) -> Vec<CableMove> {
        let pairs = self.shape.seen[first..last].iter().zip(&self.shape.planned[first..last]);
        pairs.map(|(seen, planned)| self.made(MoveAction::Move, seen[1], seen[0], planned[1])).collect()
    }

    /// Moves of an exchange in one direction or the other.
    fn exchange(&self, backward: bool) -> Vec<CableMove> {
        let mut seen = self.shape.seen.clone();
        let mut planned = self.shape.planned.clone();
        if self.shape.is_presumed() {
            // planned, seen, …, planned: a cable from the last port to the first begins the cycle.
            if let (Some(&first), Some(&last)) = (self.shape.ports.first(), self.shape.ports.last()) {
                seen.insert(0, [last, first]);
            }
        }
        if backward {
            // Seen cable `n` keeps its first end, at which planned cable `n - 1` ends.
            planned.rotate_right(1);
            let pairs = seen.iter().zip(&planned);
            return pairs
                .map(|(seen, planned)| self.made(MoveAction::Move, seen[0], seen[1], planned[0]))
                .collect();
        }
        let pairs = seen.iter().zip(&planned);
        pairs.map(|(seen, planned)| self.made(MoveAction::Move, seen[1], seen[0], planned[1])).collect()
    }

    /// Ends at hosts, then devices, then ports: what a list of moves costs.
    fn priced(&self, moves: Vec<CableMove>) -> Priced {
        let is_host = |port: u32| {
            let place = self.blueprint.found.places.get(self.ports.device_of(port) as usize);
            place.is_some_and(|place| place.role.is_host())
        };
        let hosts = moves.iter().filter(|one| is_host(one.from)).count();
        let devices: BTreeSet<u32> =
            moves.iter().flat_map(|one| [one.from, one.to]).map(|port| self.ports.device_of(port)).collect();
        let first: Vec<u32> = moves.iter().map(|one| one.from).collect();
        ((hosts, devices.len(), first), moves)
    }
}

//! Processes that end because a neighbor ended: a rank within an operation finds its connection closed and ends, too.
use crate::faults::RankFaults;
use crate::network::Network;
use crate::trace::{RankTrace, Trace};

/// Error numbers of Linux: end of file, broken pipe, connection timed out.
const END_OF_FILE: i64 = 0;
const BROKEN_PIPE: i64 = 32;
const TIMED_OUT: i64 = 110;

/// An error that a rank finds at a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Found {
    pub(crate) at: f64,
    pub(crate) rank: usize,
    /// Whether it is of the connection to send.
    pub(crate) sends: bool,
    pub(crate) peer: usize,
    pub(crate) errno: i64,
}

/// Errors that ranks find after processes have ended, in order of time; `faults` learns that they end by it.
pub(crate) fn cascade(network: &Network, trace: &Trace, faults: &mut RankFaults) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let ranks = network.ranks();
    loop {
        let next = (0..ranks).filter(|rank| faults.gone(*rank) == f64::INFINITY).filter_map(|rank| {
            let sides = [(network.predecessor[rank], false), (network.successor[rank], true)];
            let of = sides.into_iter().filter_map(|(peer, sends)| {
                let closed = faults.gone(peer) + network.hop_ns;
                let at = faults.runs_from(rank, within(&trace.ranks[rank], closed)?);
                let errno = if sends { BROKEN_PIPE } else { END_OF_FILE };
                at.is_finite().then_some(Found { at, rank, sends, peer, errno })
            });
            of.min_by(|a, b| a.at.total_cmp(&b.at))
        });
        let Some(first) = next.min_by(|a, b| a.at.total_cmp(&b.at)) else { return found };
        faults.end(first.rank, first.at);
        found.push(first);
    }
}

/// The first moment from `at` on at which a rank is within an operation; none where there is none, or `at` never comes.
fn within(rank: &RankTrace, at: f64) -> Option<f64> {
    if at == f64::INFINITY {
        return None;
    }
    let one = rank.operations.iter().find(|one| one.ended > at && one.entered.is_finite())?;
    Some(one.entered.max(at))
}

/// Connections whose retransmissions ran out.
pub(crate) fn timed_out(network: &Network, trace: &Trace) -> Vec<Found> {
    let of = |(rank, edge): (usize, &crate::trace::EdgeTrace)| {
        let stuck =
            edge.stages.iter().find(|stage| stage.start.is_finite() && !stage.acknowledged.is_finite())?;
        let carried = edge.pieces.last().map_or(0.0, |piece| piece.until);
        let at = stuck.start.max(carried) + network.timeout_ns * network.tries as f64;
        Some(Found { at, rank, sends: true, peer: network.successor[rank], errno: TIMED_OUT })
    };
    trace.edges.iter().enumerate().filter_map(of).collect()
}

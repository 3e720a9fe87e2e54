//! Which fault stopped the job: the one that the run shows to be it, and not the latest that is there.
use railtwin_engine::{Case, RankTrouble};
use railtwin_fabric::HostId;
use railtwin_records::{FaultKind, Truth};
use railtwin_reliability::failure_process::PartKind;
use railtwin_reliability::lifetime::hits::Effect;
use railtwin_scenario::{Failure, FaultSpec};
use railtwin_units::SimTime;

use super::injuries::{Known, Shift, is_of_ranks, part_of};
use crate::error::Error;
use crate::life::effects::Effects;
use crate::question::Resolved;
use crate::stops::{Cause, Stop};

/// The fault that stopped a shift.
pub struct Culprit {
    /// The row of the fault.
    pub of: usize,
    /// When the job stood still.
    pub at: SimTime,
    /// The rank that it is of, by number; none of what is of no rank.
    pub rank: Option<u32>,
}

/// A fault by itself, from the start on and for good, as effects are found.
pub fn alone(fault: &FaultSpec, part: PartKind, host: Option<HostId>) -> Failure {
    Failure {
        at: fault.at,
        source: Truth::WRITTEN.to_owned(),
        part,
        host,
        fault: FaultSpec { at: SimTime::ZERO, until: None, ..fault.clone() },
        repair: None,
        stops: false,
    }
}

/// The fault that stopped a shift of `well`, whose healthy step takes `step`; none where nothing explains it. `mended`
/// says when people had seen to each fault. Where a queue pair died the job stands still since that `waits`: who follows
/// its operations knows before the last retransmission.
///
/// Peers of a rank that is gone may halt by it, so what ranks met first comes first. Of faults of the fabric it is one that
/// is still there and stops such a job by itself, the first of them; else the one that healed last, whose outage a queue
/// pair may not have outlived; else the first that is there.
///
/// # Errors
/// [`Error::Scenario`] where the engine does not know a fault.
pub fn culprit(
    (well, step): (&Resolved, SimTime),
    shift: &Shift,
    known: &[Known],
    (faults, mended): (&[FaultSpec], &[SimTime]),
    (stop, waits): (Stop, SimTime),
) -> Result<Option<Culprit>, Error> {
    let own = known.iter().filter(|(one, _)| {
        one.job as usize == shift.row
            && one.from <= stop.at
            && one.until == SimTime::NEVER
            && matches!(one.trouble, RankTrouble::Gone | RankTrouble::Hang | RankTrouble::Mismatch)
    });
    if let Some(&(rank, of)) = own.min_by_key(|(one, _)| (one.from, one.rank)) {
        return Ok(Some(Culprit { of, at: rank.from, rank: Some(rank.rank) }));
    }
    if stop.cause == Cause::TimeUp {
        return Ok(None);
    }
    let until = |row: usize| faults[row].until.unwrap_or(SimTime::NEVER).min(mended[row]);
    let is_of_fabric = |fault: &FaultSpec| fault.kind != FaultKind::Up && !is_of_ranks(fault.kind);
    let came: Vec<usize> =
        (0..faults.len()).filter(|&row| is_of_fabric(&faults[row]) && faults[row].at <= stop.at).collect();
    let mut there: Vec<usize> = came.iter().copied().filter(|&row| until(row) > stop.at).collect();
    there.sort_by_key(|&row| (faults[row].at, row));
    // Its last answer may have come before the fault.
    let at = |of: usize| Some(Culprit { of, at: waits.max(faults[of].at).min(stop.at), rank: None });
    if came.len() > 1 {
        for &row in &there {
            let (part, host) = part_of(&well.case.fabric, &faults[row].subject);
            let failure = alone(&faults[row], part, host);
            if Effects::new(well, step).of(&failure)? == Effect::Stops {
                return Ok(at(row));
            }
        }
    }
    let transport = well.case.transport;
    let dies_in = transport.ack_timeout().ps().saturating_mul(u64::from(transport.retry_count) + 1);
    let healed = came.iter().copied().filter(|&row| until(row) <= stop.at);
    let last = healed.max_by_key(|&row| (until(row), std::cmp::Reverse(row)));
    let fresh = last.filter(|&row| stop.at.since(until(row)).ps() <= dies_in);
    Ok(fresh.or(there.first().copied()).or(last).and_then(at))
}

/// The case of `well` with a job whose ranks are in other places.
pub fn seated(well: &Resolved, plain: &Case, shift: &Shift) -> Resolved {
    let mut case = plain.clone();
    case.placements[0].clone_from(&shift.places);
    Resolved { case, extent: std::sync::OnceLock::new(), ..well.clone() }
}

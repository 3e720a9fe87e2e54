//! Which fault stopped the job: the one that the run shows to be it, and not the latest that is there.
use railtwin_engine::{Case, RankTrouble};
use railtwin_fabric::HostId;
use railtwin_records::{FaultKind, Truth};
use railtwin_reliability::downtime::Part;
use railtwin_reliability::failure_process::PartKind;
use railtwin_reliability::failure_rates::Draw;
use railtwin_scenario::{Failure, FaultSpec, SteeringSpec};
use railtwin_units::SimTime;

use super::injuries::{Known, Shift, is_of_ranks, part_of};
use crate::error::Error;
use crate::life::detectors::found_after;
use crate::life::hits::{Effect, Effects, Hit, by_hand_hours, cause_of};
use crate::life::progress::hours;
use crate::question::Resolved;
use crate::stops::{Cause, Stop};

/// Who stopped a shift.
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

/// Draws of who finds a fault and how long people take, in the order in which faults are met.
pub struct Lots {
    found: Draw,
    people: Draw,
}

impl Lots {
    /// Those of a seed.
    pub fn new(seed: u64) -> Self {
        Self { found: Draw::new(seed, "steering/recall"), people: Draw::new(seed, "steering/by-hand") }
    }

    /// A fault as it hits the job.
    pub fn hit(
        &mut self,
        spec: &SteeringSpec,
        (at, seat, host): (SimTime, Option<usize>, Option<HostId>),
        (fault, part): (&FaultSpec, PartKind),
        effect: Effect,
    ) -> Hit {
        let cause = cause_of(fault, part);
        let mean = spec.by_hand.of(cause).map_or(by_hand_hours()[Part::Diagnosis(cause)], hours);
        let is_found = self.found.chance(spec.recall);
        let by_hand = self.people.exponential(mean);
        let after = spec.detection.unwrap_or_else(|| found_after(fault.kind));
        Hit {
            at,
            // A bug of the job goes where the job goes.
            seat: seat.filter(|_| fault.kind != FaultKind::SizeMismatch),
            host,
            subject: fault.subject.parts().1.to_owned(),
            source: Truth::WRITTEN.to_owned(),
            kind: fault.kind,
            cause,
            effect,
            found_after: (spec.c4d && is_found).then_some(after),
            by_hand: SimTime::from_seconds(by_hand * 3600.0),
            repair: fault.until.map(|until| until.since(fault.at.min(until))),
        }
    }
}

/// The case of `well` with a job whose ranks are in other places.
pub fn seated(well: &Resolved, plain: &Case, shift: &Shift) -> Resolved {
    let mut case = plain.clone();
    case.placements[0].clone_from(&shift.places);
    Resolved { case, extent: std::sync::OnceLock::new(), ..well.clone() }
}

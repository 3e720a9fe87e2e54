//! Causes of a job's stall: detection, rerouting, the repair, LACP, ARP, the next retransmission, pauses.
//!
//! At each moment of a stall the queue pair decides that goes on last of those which wait then. Until its path carries
//! again the dead cable on it says what is waited for; from then on it is the retransmission timeout. The parts sum to
//! the stall.
use railtwin_engine::choose::View;
use railtwin_engine::fault::{Change, Darkness};
use railtwin_engine::lower::Lowering;
use railtwin_engine::{Case, IncidentKind, RunLog, Wait};
use railtwin_fabric::{CableClass, CableId};
use railtwin_records::Truth;
use railtwin_records::fault::FaultKind;
use railtwin_routing::LinkMask;
use railtwin_store::Figure;
use railtwin_units::SimTime;
use railtwin_workload::PatternId;

use crate::busbw;
use crate::fault_states::stalls;
use crate::figures::declared::job as declared;
use crate::movement::Movement;
use crate::simulate::Simulation;

/// What a stalled job waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cause {
    /// Its cable is down, and nothing leads around it.
    Repair,
    /// No port knows yet that the cable is down.
    Detection,
    /// Bonds, switches and routes have not followed yet.
    Rerouting,
    /// The port is not back in its bond yet.
    Lacp,
    /// The leaf has not learned the address of the host again.
    Arp,
    /// The path carries; the queue pair sends again when its timer runs out.
    Retransmission,
    /// A link stands still by pauses.
    Pause,
    /// A peer that is gone, or anything else.
    Other,
}

impl Cause {
    /// All causes, in the order in which they are told.
    pub const ALL: [Self; 8] = [
        Self::Repair,
        Self::Detection,
        Self::Rerouting,
        Self::Lacp,
        Self::Arp,
        Self::Retransmission,
        Self::Pause,
        Self::Other,
    ];

    /// The name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Repair => "repair",
            Self::Detection => "detection",
            Self::Rerouting => "rerouting",
            Self::Lacp => "lacp",
            Self::Arp => "arp",
            Self::Retransmission => "retransmission",
            Self::Pause => "pause",
            Self::Other => "other",
        }
    }

    /// In words that follow a time.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Repair => "until the repair",
            Self::Detection => "until a port saw the fault",
            Self::Rerouting => "until paths changed",
            Self::Lacp => "for LACP",
            Self::Arp => "for ARP",
            Self::Retransmission => "for the retransmission timeout",
            Self::Pause => "while a link was paused",
            Self::Other => "for other reasons",
        }
    }
}

/// A span of a stall and its cause.
type Part = (SimTime, SimTime, Cause);

/// The figures `stalled_CAUSE` of the job in this row, and its bus bandwidth without stalls, of the chosen replicate;
/// none of a job that did not stall.
pub fn figures(case: &Case, simulation: &Simulation, row: usize) -> Vec<Figure> {
    let (log, job) = (&simulation.log, &case.work.jobs[row]);
    let stalls = stalls((row as u32, job.until), log);
    if stalls.is_empty() {
        return Vec::new();
    }
    let sums = sums(case, (simulation.chosen, log), row, &stalls);
    let mut figures: Vec<Figure> = Cause::ALL
        .iter()
        .zip(sums)
        .filter(|(_, seconds)| *seconds > 0.0)
        .map(|(cause, seconds)| {
            let note = format!("of the stall, the time that went by {}", cause.words());
            declared::STALLED.of(cause.name()).figure(seconds, &note)
        })
        .collect();
    let movement = Movement::of(case, log);
    let rates: Vec<f64> = busbw::with_operations(job, log)
        .map(|(id, rate)| {
            let took = log.times.end[id.index()].since(log.times.start[id.index()]).seconds();
            let moved: u64 = movement.pieces(id).iter().map(|piece| piece.span.1 - piece.span.0).sum();
            rate * took / SimTime::from_ps(moved).seconds()
        })
        .filter(|rate| rate.is_finite())
        .collect();
    if !rates.is_empty() {
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let note = "bus bandwidth over the time in which data moved, over operations of the chosen replicate";
        figures.push(declared::BUSBW_MOVING.figure(mean, note));
    }
    figures
}

/// Seconds of stalls by cause, in the order of [`Cause::ALL`]; they sum to the stalls, which are disjoint.
fn sums(
    case: &Case,
    (replicate, log): (u32, &RunLog),
    row: usize,
    stalls: &[(SimTime, SimTime)],
) -> [f64; Cause::ALL.len()] {
    let waits = if log.packets.is_some() {
        of_packets(case, (replicate, log), row, stalls)
    } else {
        log.waits.iter().filter(|wait| wait.job as usize == row).copied().collect()
    };
    let parts: Vec<Part> = decisive(waits)
        .into_iter()
        .flat_map(|(wait, from, until)| within(&parts_of(case, replicate, &wait), from, until))
        .collect();
    let mut sums = [0.0; Cause::ALL.len()];
    for &(since, until) in stalls {
        let mut known = 0;
        for (from, to, cause) in within(&parts, since, until) {
            sums[cause as usize] += to.since(from).seconds();
            known += to.since(from).ps();
        }
        let rest = until.since(since).ps().saturating_sub(known);
        sums[Cause::Other as usize] += SimTime::from_ps(rest).seconds();
    }
    sums
}

/// What of parts, which are disjoint and in order of time, lies between two times.
fn within(parts: &[Part], from: SimTime, until: SimTime) -> Vec<Part> {
    let first = parts.partition_point(|part| part.1 <= from);
    let touched = parts[first..].iter().take_while(|part| part.0 < until);
    let cut = touched.map(|&(start, end, cause)| (start.max(from), end.min(until), cause));
    cut.filter(|(start, end, _)| start < end).collect()
}

/// For each time the wait that ends last of those that last then, ascending: wait, from when and until when.
fn decisive(mut waits: Vec<Wait>) -> Vec<(Wait, SimTime, SimTime)> {
    waits.sort_by_key(|wait| (wait.from, std::cmp::Reverse(wait.until)));
    let mut spans: Vec<(Wait, SimTime, SimTime)> = Vec::new();
    for wait in waits {
        match spans.last_mut() {
            Some((_, _, until)) if wait.until <= *until => continue,
            Some((_, _, until)) => *until = wait.from.min(*until),
            None => {}
        }
        spans.push((wait, wait.from, wait.until));
    }
    spans
}

/// What a queue pair waits for from its first lost packet to its end.
fn parts_of(case: &Case, replicate: u32, wait: &Wait) -> Vec<Part> {
    let carries = wait.carries.clamp(wait.from, wait.until);
    let last = (carries, wait.until, Cause::Retransmission);
    if wait.paused {
        return vec![(wait.from, wait.until, Cause::Pause)];
    }
    let dark = wait.cable.or_else(|| darkest(case, replicate, wait.from));
    let dark = dark.and_then(|cable| {
        let mut all = case.darknesses(replicate, cable).into_iter();
        all.rfind(|dark| dark.from <= carries && wait.from < dark.until)
    });
    let Some(dark) = dark else { return vec![(wait.from, carries, Cause::Other), last] };
    let edges: Vec<(SimTime, Cause)> = if dark.until <= carries {
        let lacp = dark.repaired.saturating_add(case.reaction.lacp).min(dark.until);
        vec![
            (dark.repaired, Cause::Repair),
            (lacp, Cause::Lacp),
            (dark.until, Cause::Arp),
            (carries, Cause::Rerouting),
        ]
    } else if wait.carries == SimTime::NEVER {
        // It never carried again: nothing led around the cable.
        vec![(carries, Cause::Repair)]
    } else {
        vec![(dark.noticed, Cause::Detection), (carries, Cause::Rerouting)]
    };
    let mut parts = Vec::new();
    let mut from = wait.from;
    for (edge, cause) in edges {
        let until = edge.clamp(from, carries);
        parts.push((from, until, cause));
        from = until;
    }
    parts.push(last);
    parts
}

/// The cable that is dark at a time for the longest.
fn darkest(case: &Case, replicate: u32, at: SimTime) -> Option<CableId> {
    let mut cables: Vec<CableId> = case.faults.iter().map(|fault| fault.cable).collect();
    cables.sort_unstable();
    cables.dedup();
    let until = |cable: &CableId| {
        let all = case.darknesses(replicate, *cable).into_iter();
        all.filter(|dark| dark.from <= at && at < dark.until).map(|dark| dark.until).max()
    };
    let dark = cables.into_iter().filter_map(|cable| Some((until(&cable)?, cable)));
    dark.max().map(|(_, cable)| cable)
}

/// Stalls of packets as waits: of the cable that went down within a timeout after the last answer, else the last before.
/// Its path carries again when the cable does, where nothing leads around it, else when all avoid it.
fn of_packets(
    case: &Case,
    (replicate, log): (u32, &RunLog),
    row: usize,
    stalls: &[(SimTime, SimTime)],
) -> Vec<Wait> {
    let timeout = case.transport.ack_timeout();
    let downs: Vec<(SimTime, CableId)> = log
        .incidents
        .iter()
        .filter_map(|one| match one.kind {
            IncidentKind::Down(cable) if case.fabric.cable_class(cable) >= CableClass::Access => {
                Some((one.at, cable))
            }
            _ => None,
        })
        .collect();
    let wait = |&(from, until): &(SimTime, SimTime)| {
        let soon = from..=from.saturating_add(timeout).min(until);
        let down = downs.iter().find(|(at, _)| soon.contains(at));
        let cable = down.or_else(|| downs.iter().rfind(|(at, _)| *at <= from)).map(|one| one.1);
        let unknown = if case.truths.iter().any(only_loses) { from } else { SimTime::NEVER };
        let carries = cable.map_or(unknown, |cable| carries_again(case, replicate, row, cable, from));
        Wait { job: row as u32, from, carries, until, cable, paused: false }
    };
    stalls.iter().map(wait).collect()
}

/// Whether a fault loses packets of a path that carries all along: only the retransmission timeout is waited for.
const fn only_loses(truth: &Truth) -> bool {
    matches!(truth.kind, FaultKind::Lossy | FaultKind::LoseAcknowledgement)
}

/// When paths of a job over a cable that is dark after `from` carry again.
fn carries_again(case: &Case, replicate: u32, row: usize, cable: CableId, from: SimTime) -> SimTime {
    let dark: Option<Darkness> = case.darknesses(replicate, cable).into_iter().find(|dark| dark.until > from);
    let Some(dark) = dark else { return SimTime::NEVER };
    let mut mask = LinkMask::none(&case.fabric);
    mask.set_cable(cable, true);
    let table = Lowering::new(case, replicate).table_of(View { mask: &mask, planned: &mask }, true).0;
    let job = &case.work.jobs[row];
    let patterns = job.first_pattern..job.first_pattern + job.plan.patterns.len() as u32;
    let stranded = patterns
        .flat_map(|pattern| table.bundles_of(PatternId(pattern)))
        .any(|bundle| table.link_start[bundle] == table.link_start[bundle + 1] && table.volume[bundle] > 0.0);
    let moments = case.timeline(replicate);
    let own = moments.iter().filter(|moment| moment.at >= dark.from);
    if stranded {
        let used = own.clone().filter_map(|moment| match moment.change {
            Change::Used(link, _) if link.cable() == cable => Some(moment.at),
            _ => None,
        });
        return used.filter(|&at| at >= dark.until).fold(dark.until, SimTime::max);
    }
    let avoided = own.filter_map(|moment| match moment.change {
        Change::Avoided(link, _) if link.cable() == cable && moment.at < dark.until => Some(moment.at),
        _ => None,
    });
    avoided.max().unwrap_or(dark.until).min(dark.until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_that_ends_last_decides() {
        let at = SimTime::from_ns;
        let wait = |from, until| Wait {
            job: 0,
            from: at(from),
            carries: SimTime::NEVER,
            until: at(until),
            cable: None,
            paused: false,
        };
        let spans = decisive(vec![wait(1, 5), wait(1, 3), wait(2, 9), wait(4, 6), wait(20, 30)]);
        let spans: Vec<_> =
            spans.iter().map(|(_, from, until)| (from.ps() / 1000, until.ps() / 1000)).collect();
        assert_eq!(spans, [(1, 2), (2, 9), (20, 30)]);
    }
}

//! When operations moved: in pieces of time, without the stalls in which nothing of them did.
//!
//! Flows leave the progress of operations that a fault met, and are exact at those moments. Packets leave stalls of jobs:
//! an operation that was under way before and after one, while its job began and ended nothing, stood still in it.
use railtwin_engine::{Case, IncidentKind, Progress, RunLog};
use railtwin_units::SimTime;
use railtwin_workload::OperationId;

use crate::capacity::Span;
use crate::fault_states::stalls;

/// Share of an operation below which it did not move: what rounding leaves.
const STILL: f64 = 1e-9;

/// A piece of time in which an operation moved evenly.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Piece {
    /// Start and end, picoseconds.
    pub span: Span,
    /// Share of the operation's bytes that moved in it.
    pub share: f64,
}

/// When the operations of a run moved.
#[derive(Debug)]
pub struct Movement<'a> {
    case: &'a Case,
    log: &'a RunLog,
    /// By job, from when on nothing of it is under way.
    over: Vec<SimTime>,
    /// When cables went down.
    faults: Vec<SimTime>,
    /// By job, stalls in which all of it stood still; of packets.
    stalls: Vec<Vec<Span>>,
}

impl<'a> Movement<'a> {
    /// Of the run whose log this is.
    pub fn of(case: &'a Case, log: &'a RunLog) -> Self {
        let jobs = || (0..).zip(&case.work.jobs);
        let downs = log.incidents.iter().filter(|one| matches!(one.kind, IncidentKind::Down(_)));
        let of_job = |(row, job): (u32, &railtwin_engine::JobGraph)| {
            if log.packets.is_none() {
                return Vec::new();
            }
            let whole = |span: &Span| {
                let inside = |at: &SimTime| span.0 < at.ps() && at.ps() < span.1;
                let times = [&log.times.start, &log.times.end];
                !times.into_iter().any(|times| times[job.operations()].iter().any(inside))
            };
            let stalls = stalls((row, job.until), log).into_iter();
            stalls.map(|(since, until)| (since.ps(), until.ps())).filter(whole).collect()
        };
        Self {
            case,
            log,
            over: jobs().map(|(row, job)| log.over(row, job)).collect(),
            faults: downs.map(|one| one.at).collect(),
            stalls: jobs().map(of_job).collect(),
        }
    }

    /// The pieces in which an operation moved, in order of time; none of one that never began. One that never ended
    /// moved as far as it is known, else until its job was over or the first fault after its begin.
    pub fn pieces(&self, id: OperationId) -> Vec<Piece> {
        let (start, end) = (self.log.times.start[id.index()], self.log.times.end[id.index()]);
        if start == SimTime::NEVER {
            return Vec::new();
        }
        let job = self.case.work.job_of(id);
        let marks = self.marks(id);
        if !marks.is_empty() {
            let ended = (end != SimTime::NEVER).then_some((end, 1.0));
            let marks = marks.iter().map(|mark| (mark.at, mark.share));
            let points: Vec<(SimTime, f64)> = [(start, 0.0)].into_iter().chain(marks).chain(ended).collect();
            return between(&points);
        }
        let until = match end {
            SimTime::NEVER => {
                let fault = self.faults.iter().copied().find(|&at| at > start);
                fault.unwrap_or(self.over[job]).min(self.over[job])
            }
            end => end,
        };
        without(&self.stalls[job], (start.ps(), until.ps()))
    }

    fn marks(&self, id: OperationId) -> &'a [Progress] {
        let all = &self.log.progress;
        let first = all.partition_point(|mark| mark.operation < id.0);
        let count = all[first..].partition_point(|mark| mark.operation == id.0);
        &all[first..first + count]
    }
}

/// Pieces between points of time and progress.
fn between(points: &[(SimTime, f64)]) -> Vec<Piece> {
    let pieces = points.windows(2).filter_map(|pair| {
        let share = pair[1].1 - pair[0].1;
        let span = (pair[0].0.ps(), pair[1].0.ps());
        (share > STILL && span.0 < span.1).then_some(Piece { span, share })
    });
    pieces.collect()
}

/// A span without the stalls that lie within it, moved through evenly.
fn without(stalls: &[Span], (start, end): Span) -> Vec<Piece> {
    let (mut spans, mut from) = (Vec::new(), start);
    for &(since, until) in stalls.iter().filter(|stall| start <= stall.0 && stall.1 <= end) {
        spans.push((from, since));
        from = until;
    }
    spans.push((from, end));
    spans.retain(|span| span.0 < span.1);
    let all: u64 = spans.iter().map(|span| span.1 - span.0).sum();
    spans.into_iter().map(|span| Piece { span, share: (span.1 - span.0) as f64 / all as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_are_left_out() {
        let pieces = without(&[(20, 60), (90, 200)], (10, 100));
        let spans: Vec<_> = pieces.iter().map(|piece| piece.span).collect();
        assert_eq!(
            spans,
            [(10, 20), (60, 100)],
            "a stall that goes on after the end is of another operation"
        );
        assert_eq!(pieces.iter().map(|piece| piece.share).sum::<f64>(), 1.0);
        assert_eq!(without(&[(10, 100)], (10, 100)), []);
    }

    #[test]
    fn an_operation_moves_between_marks() {
        let at = SimTime::from_ps;
        let pieces = between(&[(at(0), 0.0), (at(10), 0.5), (at(90), 0.5), (at(95), 1.0)]);
        assert_eq!(pieces, [Piece { span: (0, 10), share: 0.5 }, Piece { span: (90, 95), share: 0.5 },]);
    }
}

//! The states that faults bring a run into, and the steps that lie within one of them.
//!
//! A mean over steps before and after a fault describes neither. Figures of steps are therefore taken within one state:
//! the set of faults that act does not change in it, and no queue pair of the job waits.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_records::Truth;
use railtwin_records::fault::FaultKind;
use railtwin_units::SimTime;

/// Where a step or an operation lies among the faults of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Span {
    /// In the state that the run began in: it ended before anything changed.
    Before,
    /// Within one state in which faults act, by the number of the state.
    Under(u32),
    /// Within a state in which no fault acts any more.
    After,
    /// A fault began or ended in it, or a queue pair of its job waited.
    Hit,
}

/// The states of a run in order of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultStates {
    /// When the set of acting faults changes, and the number of the set from then on; 0 is the empty set.
    changes: Vec<(SimTime, u32)>,
    /// By job: spans in which a queue pair waited, in order of time.
    stalls: Vec<Vec<(SimTime, SimTime)>>,
}

/// A fault as a member of a set: a cable that is down, or a row of the case's faults.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Member {
    Cable(u32),
    Fault(u32),
}

impl FaultStates {
    /// The states of one replicate.
    pub fn of(case: &Case, log: &RunLog) -> Self {
        let stalls = (0..case.work.jobs.len())
            .map(|row| stalls((row as u32, case.work.jobs[row].until), log))
            .collect();
        Self { changes: changes(&case.truths, log), stalls }
    }

    /// The states that faults bring a job into of which no engine wrote a log; a flapping cable is one state.
    pub fn of_truths(truths: &[Truth]) -> Self {
        Self { changes: changes_of(truths.iter(), Vec::new()), stalls: vec![] }
    }

    /// The states of a log without jobs and without faults but of cables.
    #[cfg(test)]
    pub(crate) fn of_log(log: &RunLog) -> Self {
        Self { changes: changes(&[], log), stalls: vec![] }
    }

    /// When the first change of state lies after the start; none where the state stays.
    pub fn first_change(&self) -> Option<SimTime> {
        self.changes.first().map(|change| change.0)
    }

    /// Where a stretch of a job's work lies.
    pub fn span(&self, job: usize, from: SimTime, until: SimTime) -> Span {
        let begun = self.changes.partition_point(|&(at, _)| at <= from);
        let is_inside = |at: SimTime| from < at && at < until;
        let stalls = self.stalls.get(job).map_or(&[][..], Vec::as_slice);
        let next_stall = stalls.partition_point(|stall| stall.1 <= from);
        let waited = stalls.get(next_stall).is_some_and(|stall| stall.0 < until);
        if waited || self.changes.get(begun).is_some_and(|&(at, _)| is_inside(at)) {
            return Span::Hit;
        }
        match begun.checked_sub(1).map(|row| self.changes[row].1) {
            None => Span::Before,
            Some(0) => Span::After,
            Some(state) => Span::Under(state),
        }
    }
}

/// Changes of the set of acting faults after the start. Cables are taken from the log, which knows each flap and each
/// cable of a switch; all else from the faults of the case.
fn changes(truths: &[Truth], log: &RunLog) -> Vec<(SimTime, u32)> {
    let mut events: Vec<(SimTime, Member, bool)> = Vec::new();
    for incident in &log.incidents {
        match incident.kind {
            IncidentKind::Down(cable) => events.push((incident.at, Member::Cable(cable.0), true)),
            IncidentKind::Up(cable) => events.push((incident.at, Member::Cable(cable.0), false)),
            _ => {}
        }
    }
    let is_of_cables = |kind: FaultKind| matches!(kind, FaultKind::Down | FaultKind::Up | FaultKind::Flap);
    changes_of(truths.iter().filter(|truth| !is_of_cables(truth.kind)), events)
}

/// Changes of the set of acting faults after the start, by faults and other events: when, what, and whether it begins.
fn changes_of<'a>(
    truths: impl Iterator<Item = &'a Truth>,
    mut events: Vec<(SimTime, Member, bool)>,
) -> Vec<(SimTime, u32)> {
    for (row, truth) in (0..).zip(truths).filter(|(_, truth)| truth.from_ns < truth.until_ns) {
        events.push((SimTime::from_ns(truth.from_ns), Member::Fault(row), true));
        if truth.until_ns < u64::MAX {
            events.push((SimTime::from_ns(truth.until_ns), Member::Fault(row), false));
        }
    }
    events.sort();
    let mut numbers: BTreeMap<BTreeSet<Member>, u32> = BTreeMap::from([(BTreeSet::new(), 0)]);
    let (mut acting, mut last, mut changes) = (BTreeSet::new(), 0, Vec::new());
    for now in events.chunk_by(|a, b| a.0 == b.0) {
        for &(_, member, begins) in now {
            if begins {
                acting.insert(member)
            } else {
                acting.remove(&member)
            };
        }
        let next = numbers.len() as u32;
        let state = *numbers.entry(acting.clone()).or_insert(next);
        if now[0].0 > SimTime::ZERO && state != last {
            changes.push((now[0].0, state));
        }
        last = state;
    }
    changes
}

/// From each stall of a job, by its number, to its end, which is that of its processes at the latest.
pub fn stalls((job, quits): (u32, SimTime), log: &RunLog) -> Vec<(SimTime, SimTime)> {
    let mut stalls = Vec::new();
    let mut since = None;
    for incident in &log.incidents {
        match incident.kind {
            IncidentKind::Stalled(row) if row == job => since = since.or(Some(incident.at)),
            IncidentKind::Resumed(row) | IncidentKind::Halted(row) if row == job => {
                stalls.extend(since.take().map(|since| (since, incident.at)));
            }
            _ => {}
        }
    }
    stalls.extend(since.map(|since| (since, log.end.min(quits).max(since))));
    stalls
}

/// Seconds of steps, or bandwidths of operations, by where they lie.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepTimes {
    by_span: BTreeMap<Span, Vec<f64>>,
}

impl StepTimes {
    /// Gathers steps: where each lies, and its seconds.
    pub fn of(steps: impl Iterator<Item = (Span, f64)>) -> Self {
        let mut by_span: BTreeMap<Span, Vec<f64>> = BTreeMap::new();
        for (span, seconds) in steps {
            by_span.entry(span).or_default().push(seconds);
        }
        Self { by_span }
    }

    /// The span that stands for the job: before the first change where a step ended there; else the state under faults
    /// that has the most steps, the first of equals; else after all faults; else the step that a fault hit, where it is
    /// the only one.
    pub fn lead(&self) -> Option<Span> {
        let under = self.by_span.iter().filter(|(span, _)| matches!(span, Span::Under(_)));
        let most = under.reduce(|a, b| if b.1.len() > a.1.len() { b } else { a });
        let only = self.by_span.get(&Span::Hit).filter(|hit| hit.len() == 1).map(|_| Span::Hit);
        let has = |span: Span| self.by_span.contains_key(&span).then_some(span);
        has(Span::Before).or(most.map(|(span, _)| *span)).or(has(Span::After)).or(only)
    }

    /// Mean seconds and number of the steps within a span; none without any.
    pub fn mean(&self, span: Span) -> Option<(f64, usize)> {
        let steps = self.by_span.get(&span)?;
        Some((steps.iter().sum::<f64>() / steps.len() as f64, steps.len()))
    }

    /// Mean seconds and number of steps of the state under faults whose steps are the longest.
    pub fn slowest_under(&self) -> Option<(f64, usize)> {
        let under = self.by_span.keys().filter(|span| matches!(span, Span::Under(_)));
        under.filter_map(|span| self.mean(*span)).reduce(|a, b| if b.0 > a.0 { b } else { a })
    }

    /// The least mean of a state under faults.
    pub fn least_under(&self) -> Option<f64> {
        let under = self.by_span.keys().filter(|span| matches!(span, Span::Under(_)));
        under.filter_map(|span| self.mean(*span)).map(|(mean, _)| mean).reduce(f64::min)
    }

    /// The least value that a fault hit.
    pub fn least_hit(&self) -> Option<f64> {
        self.by_span.get(&Span::Hit)?.iter().copied().reduce(f64::min)
    }

    /// The longest step that a fault hit, and how many were hit.
    pub fn longest_hit(&self) -> Option<(f64, usize)> {
        let hit = self.by_span.get(&Span::Hit)?;
        Some((hit.iter().copied().fold(0.0, f64::max), hit.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_engine::Incident;
    use railtwin_fabric::CableId;
    use railtwin_records::Component;

    fn seconds(s: f64) -> SimTime {
        SimTime::from_seconds(s)
    }

    fn log(incidents: &[(f64, IncidentKind)]) -> RunLog {
        let incidents = incidents.iter().map(|&(at, kind)| Incident { at: seconds(at), kind }).collect();
        RunLog { incidents, end: seconds(100.0), ..RunLog::default() }
    }

    fn slow(from: u64, until: u64) -> Truth {
        Truth {
            from_ns: from * 1_000_000_000,
            until_ns: if until == 0 { u64::MAX } else { until * 1_000_000_000 },
            kind: FaultKind::Slow,
            component: Component::Gpu("g".to_owned()),
            severity: 0.5,
            cause: None,
            source: Truth::WRITTEN.to_owned(),
        }
    }

    fn states(truths: &[Truth], log: &RunLog) -> FaultStates {
        FaultStates { changes: changes(truths, log), stalls: vec![stalls((0, SimTime::NEVER), log)] }
    }

    #[test]
    fn a_step_lies_in_one_state_or_is_hit() {
        let [down, up] = [IncidentKind::Down(CableId(3)), IncidentKind::Up(CableId(3))];
        let stalled = [IncidentKind::Stalled(0), IncidentKind::Resumed(0)];
        let log = log(&[(10.0, down), (10.0, stalled[0]), (13.5, stalled[1]), (20.0, up)]);
        let states = states(&[slow(15, 30)], &log);
        let span = |from, until| states.span(0, seconds(from), seconds(until));
        assert_eq!(span(9.0, 10.0), Span::Before, "it ended as the fault began");
        assert_eq!(span(9.0, 10.1), Span::Hit);
        assert_eq!(span(13.0, 14.0), Span::Hit, "a queue pair waited");
        let [cable, both, gpu] = [span(14.0, 15.0), span(15.0, 20.0), span(20.0, 30.0)];
        assert!([cable, both, gpu].iter().all(|span| matches!(span, Span::Under(_))), "{cable:?}");
        assert!(cable != both && both != gpu && gpu != cable);
        assert_eq!((span(29.0, 31.0), span(30.0, 31.0)), (Span::Hit, Span::After));
        assert_eq!(states.first_change(), Some(seconds(10.0)));
    }

    #[test]
    fn what_acts_from_the_start_is_the_state_before() {
        let from_start = states(&[slow(0, 0)], &log(&[(0.0, IncidentKind::Down(CableId(1)))]));
        assert_eq!(from_start.first_change(), None);
        assert_eq!(from_start.span(0, SimTime::ZERO, seconds(50.0)), Span::Before);
        // A flap comes back into the same state.
        let flap: Vec<_> = (1..5)
            .map(|i| {
                let kind = [IncidentKind::Up(CableId(1)), IncidentKind::Down(CableId(1))][i % 2];
                (10.0 * i as f64, kind)
            })
            .collect();
        let flapping = states(&[], &log(&flap));
        let span = |at: f64| flapping.span(0, seconds(at), seconds(at + 1.0));
        assert_eq!((span(11.0), span(21.0), span(45.0)), (span(31.0), Span::After, Span::After));
    }

    #[test]
    fn the_lead_is_of_one_state() {
        let times = |steps: &[(Span, f64)]| StepTimes::of(steps.iter().copied());
        let all = [(Span::Before, 1.0), (Span::Hit, 9.0), (Span::Under(1), 2.0), (Span::Under(2), 3.0)];
        let lead = |steps: &[(Span, f64)]| times(steps).lead();
        assert_eq!(lead(&all), Some(Span::Before));
        assert_eq!(lead(&all[1..]), Some(Span::Under(1)));
        assert_eq!(lead(&[all[1], (Span::After, 1.0)]), Some(Span::After));
        assert_eq!(lead(&[all[1]]), Some(Span::Hit), "the only step is no mean");
        assert_eq!(lead(&[all[1], all[1]]), None, "each of them is another question");
        assert_eq!(times(&all).slowest_under(), Some((3.0, 1)));
        assert_eq!(times(&all).longest_hit(), Some((9.0, 1)));
    }
}

//! Evidence of trouble in a run: jobs that never end, accusations, what faults and packets cost.
use railtwin_engine::fault::RankTrouble;
use railtwin_engine::{Case, IncidentKind, RunLog};
use railtwin_records::{Component, Finding, Syndrome};
use railtwin_units::SimTime;

use super::evidence::{Cause, Evidence, What};
use super::known::Known;
use crate::links::ENDS;
use crate::simulate::Simulation;
use crate::stops::Stop;

/// Share of the run that faults or pauses cost, or of data packets that were sent again, from which they are told:
/// a hundredth is the least that people act on. Less is in the figures.
const NOTABLE: f64 = 0.01;

/// When the last that the log knows of happened: after the last operation that ended jobs may still halt.
pub fn last(log: &RunLog) -> SimTime {
    log.incidents.iter().map(|incident| incident.at).fold(log.end, SimTime::max)
}

/// Jobs that never end in the replicate that is shown, and replicates that never end where that one does.
pub fn standing(case: &Case, simulation: &Simulation, known: &Known<'_>) -> Vec<Evidence> {
    let log = &simulation.log;
    let mut all = Vec::new();
    for (row, job) in case.work.jobs.iter().enumerate() {
        if Stop::of(case, row, log).is_none() {
            continue;
        }
        let ends = log.times.end[job.operations()].iter();
        let unfinished = ends.filter(|&&end| end == SimTime::NEVER).count() as u64;
        let (cause, at) = cause(case, log, row as u32);
        let subject = known.job_words(row);
        let what = What::Stands { cause, unfinished };
        all.push(Evidence { subject, what, cost: 1.0, at: at.map(SimTime::seconds), certainty: 1.0 });
    }
    let draws = simulation.replicates.iter().filter(|replicate| replicate.unfinished > 0).count() as u64;
    if all.is_empty() && draws > 0 {
        let what = What::StandsInDraws { draws, of: simulation.replicates.len() as u64 };
        let cost = draws as f64 / simulation.replicates.len() as f64;
        all.push(Evidence { subject: "the run".to_owned(), what, cost, at: None, certainty: 1.0 });
    }
    all
}

/// What stopped a job, and when where that is known.
fn cause(case: &Case, log: &RunLog, job: u32) -> (Cause, Option<SimTime>) {
    let halted = log.incidents.iter().find(|incident| incident.kind == IncidentKind::Halted(job));
    let by = halted.map_or(SimTime::NEVER, |halted| halted.at);
    let doing = |trouble: RankTrouble| match trouble {
        RankTrouble::Hang => Some("hangs"),
        RankTrouble::Gone => Some("is gone"),
        RankTrouble::Mismatch => Some("hands over other sizes than its peers"),
        _ => None,
    };
    let ranks = case.rank_faults.iter().filter(|fault| fault.job == job && fault.from <= last(log).min(by));
    let rank =
        ranks.filter_map(|fault| Some((fault, doing(fault.trouble)?))).min_by_key(|(fault, _)| fault.from);
    if let Some((fault, what)) = rank {
        let name = format!("{}/{}", case.work.jobs[job as usize].name, fault.rank);
        let cause = Cause::Rank(name, what, fault.from.seconds());
        return (cause, halted.map(|halted| halted.at).or(Some(fault.from)));
    }
    if let Some(halted) = halted {
        // The stall that the job died of: nothing resumed it.
        let of_job = |kind: IncidentKind| kind == IncidentKind::Stalled(job);
        let stalled = log.incidents.iter().rfind(|one| one.at <= halted.at && of_job(one.kind));
        let from = stalled.map_or(halted.at, |stalled| stalled.at);
        // Packets wait since the last answer: what took the next one went down within a timeout after it.
        let lost = from..=from.saturating_add(case.transport.ack_timeout());
        let downs = || {
            log.incidents.iter().filter_map(|incident| match incident.kind {
                IncidentKind::Down(cable) => Some((incident.at, cable)),
                _ => None,
            })
        };
        let down = downs().find(|(at, _)| lost.contains(at));
        let down = down.or_else(|| downs().take_while(|&(at, _)| at <= from).last());
        let down = down.map(|(at, cable)| (case.fabric.cable_name(cable), at.seconds()));
        return (Cause::QueuePair(down), Some(halted.at));
    }
    if log.time_up {
        return (Cause::TimeUp, None);
    }
    let mut down = std::collections::BTreeMap::new();
    for incident in &log.incidents {
        match incident.kind {
            IncidentKind::Down(cable) => {
                down.entry(cable).or_insert(incident.at);
            }
            IncidentKind::Up(cable) => {
                down.remove(&cable);
            }
            _ => {}
        }
    }
    let first = down.into_iter().min_by_key(|&(cable, at)| (at, cable));
    first.map_or((Cause::Unknown, None), |(cable, at)| {
        (Cause::Cable(case.fabric.cable_name(cable), at.seconds()), Some(at))
    })
}

/// Whom diagnosis accuses, each with what it costs.
pub fn accused(findings: &[Finding]) -> Vec<Evidence> {
    let accusing = || findings.iter().filter(|finding| finding.accuses());
    let accusations = accusing().count() as u64;
    let piece = |finding: &Finding| {
        let suspect = finding.suspects.first()?;
        let (seen, stands) = seen(finding.syndrome);
        let what = What::Accused { seen, accusations, stands };
        Some(Evidence {
            subject: subject(&suspect.component),
            what,
            cost: finding.weight(),
            at: Some(finding.since.until_ns as f64 / 1e9),
            certainty: finding.confidence,
        })
    };
    accusing().filter_map(piece).collect()
}

fn subject(component: &Component) -> String {
    match component {
        Component::Storage => "storage".to_owned(),
        Component::Gpu(name) => format!("GPU {name}"),
        Component::Nic(name) => format!("NIC {name}"),
        other => format!("{} {}", other.kind(), other.name()),
    }
}

/// What is seen of a suspect, in words that follow its name, and whether the job stands still by it.
const fn seen(syndrome: Syndrome) -> (&'static str, bool) {
    match syndrome {
        Syndrome::CommunicationHang => ("holds up an operation for good", true),
        Syndrome::NonCommunicationHang => ("never arrives", true),
        Syndrome::Crash => ("is gone", true),
        Syndrome::Mismatch => ("runs other operations than its peers", true),
        Syndrome::CommunicationSlow => ("slows messages", false),
        Syndrome::NonCommunicationSlow => ("comes late", false),
        Syndrome::Counter => ("counts errors", false),
        Syndrome::Latency => ("delays probes", false),
        Syndrome::Unreachable => ("lets probes vanish", false),
        Syndrome::Wiring => ("is not plugged in where it should be", false),
        _ => ("is suspected", false),
    }
}

/// What faults cost, by the figures of each job; `end` is the length of the run in seconds.
pub fn faults(known: &Known<'_>, end: f64) -> Vec<Evidence> {
    let mut all = Vec::new();
    for job in 0..known.jobs.len().max(1) {
        let share = |seconds: f64| if end > 0.0 { seconds / end } else { 0.0 };
        let stalled = known.value_of_job(job, "stall_time").map(What::Stalled);
        let lost = known
            .value_of_job(job, "time_lost")
            .map(|seconds| What::Lost { seconds, share: known.value_of_job(job, "time_lost_share") });
        for what in [stalled, lost].into_iter().flatten() {
            let cost = match what {
                What::Stalled(seconds) => share(seconds),
                What::Lost { seconds, share: of_fault } => of_fault.unwrap_or_else(|| share(seconds)),
                _ => 0.0,
            };
            if cost >= NOTABLE {
                let subject = known.job_words(job);
                all.push(Evidence { subject, what, cost, at: None, certainty: 1.0 });
            }
        }
    }
    all
}

/// The first of the faults that acted in a run of `end` seconds; none where it is known that they cost less than
/// [`NOTABLE`], by `costs` in evidence of [`faults`].
pub fn injected(case: &Case, known: &Known<'_>, end: f64, costs: &[Evidence]) -> Option<Evidence> {
    let acted = || case.truths.iter().filter(|truth| (truth.from_ns as f64) < end * 1e9);
    let first = acted().min_by_key(|truth| truth.from_ns)?;
    let jobs = 0..known.jobs.len().max(1);
    let shares: Option<Vec<f64>> = jobs.map(|job| known.value_of_job(job, "time_lost_share")).collect();
    if costs.is_empty() && shares.is_some() {
        return None;
    }
    let from = first.from_ns as f64 / 1e9;
    let what = What::Fault { kind: first.kind.name(), from, of: acted().count() as u64 };
    Some(Evidence { subject: subject(&first.component), what, cost: 1.0, at: Some(from), certainty: 1.0 })
}

/// The first of the faults that begin after the simulated steps, which end at `end` seconds; telemetry covers the run up
/// to `watched` seconds.
pub fn outside(case: &Case, end: f64, watched: Option<f64>) -> Option<Evidence> {
    let outside = || case.truths.iter().filter(|truth| truth.from_ns as f64 >= end * 1e9);
    let first = outside().min_by_key(|truth| truth.from_ns)?;
    let from = first.from_ns as f64 / 1e9;
    let what = What::Outside {
        kind: first.kind.name(),
        from,
        end,
        of: outside().count() as u64,
        watched: watched.is_some_and(|until| from < until),
    };
    Some(Evidence { subject: subject(&first.component), what, cost: 0.0, at: Some(from), certainty: 1.0 })
}

/// What packets suffered, by the figures of the run.
pub fn packets(known: &Known<'_>) -> Vec<Evidence> {
    let count = |name: &str| known.count(name) as u64;
    let piece =
        |subject: String, what: What, cost: f64| Evidence { subject, what, cost, at: None, certainty: 1.0 };
    let mut all = Vec::new();
    let unfinished = count("packet_flows_unfinished");
    if unfinished > 0 {
        all.push(piece(String::new(), What::NeverArrived(unfinished), 1.0));
    }
    let paused = ENDS.iter().flat_map(|from| ENDS.map(|to| (*from, to))).filter_map(|(from, to)| {
        // Named by who sends the frames: the link that they stop leads the other way.
        let share = known.value(&format!("paused_share_{from}_to_{to}_max"))?;
        let name = |end: &str| if end == "nic" { "NIC".to_owned() } else { end.to_owned() };
        Some((share, format!("links from {} to {}", name(to), name(from))))
    });
    let worst = paused.reduce(|a, b| if b.0 > a.0 { b } else { a }).filter(|worst| worst.0 >= NOTABLE);
    if let Some((share, subject)) = worst {
        all.push(piece(subject, What::Paused { share, frames: count("pause_frames") }, share));
    }
    let (again, sent) = (count("packets_sent_again"), count("packets_sent"));
    let timeouts = count("ack_timeouts");
    let share = again as f64 / (sent as f64).max(1.0);
    // A timeout is told however few there are: for milliseconds its queue pair sends nothing.
    if share >= NOTABLE || timeouts > 0 {
        let (dropped, lost) = (count("packets_dropped"), count("packets_lost"));
        all.push(piece(String::new(), What::SentAgain { again, sent, dropped, lost, timeouts }, share));
    }
    all
}

/// Alarms of the watchdog of pauses and of buffers.
pub fn alarms(log: &RunLog) -> Vec<Evidence> {
    let count = |wanted: fn(&IncidentKind) -> bool| {
        log.incidents.iter().filter(|incident| wanted(&incident.kind)).count() as u64
    };
    let pauses = count(|kind| matches!(kind, IncidentKind::Paused(_)));
    let buffers = count(|kind| matches!(kind, IncidentKind::Filled(_)));
    if pauses + buffers == 0 {
        return Vec::new();
    }
    let what = What::Alarms { pauses, buffers };
    vec![Evidence { subject: String::new(), what, cost: 1.0, at: None, certainty: 1.0 }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use railtwin_records::Suspect;
    use railtwin_store::Figure;

    fn figures(values: &[(&str, f64)]) -> Vec<Figure> {
        values.iter().map(|(name, value)| Figure::new(name, *value, "")).collect()
    }

    #[test]
    fn packets_are_told_from_what_costs_on() {
        let told = |values: &[(&str, f64)]| {
            let figures = figures(values);
            packets(&Known { figures: &figures, jobs: &[], again: 0 })
        };
        assert!(told(&[("pause_frames", 3.0), ("paused_share_nic_to_leaf_max", 0.005)]).is_empty());
        let pauses = [("pause_frames", 15_183.0), ("paused_share_nic_to_leaf_max", 0.4)];
        let all = told(&[&pauses[..], &[("paused_share_leaf_to_spine_max", 0.2)]].concat());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].subject, "links from leaf to NIC");
        assert!(told(&[("packets_sent_again", 1.0), ("packets_sent", 1e6)]).is_empty());
        assert_eq!(
            told(&[("packets_sent_again", 1.0), ("packets_sent", 1e6), ("ack_timeouts", 1.0)]).len(),
            1
        );
        assert_eq!(told(&[("packet_flows_unfinished", 2.0)])[0].what, What::NeverArrived(2));
    }

    #[test]
    fn faults_are_those_of_each_job() {
        let jobs = ["a".to_owned(), "b".to_owned()];
        let figures = figures(&[("a.stall_time", 0.001), ("b.stall_time", 2.0), ("b.time_lost", 3.0)]);
        let all = faults(&Known { figures: &figures, jobs: &jobs, again: 0 }, 10.0);
        assert_eq!(
            all.iter().map(|e| e.what.clone()).collect::<Vec<_>>(),
            [What::Stalled(2.0), What::Lost { seconds: 3.0, share: None }]
        );
        assert_eq!(all[0].subject, "job b");
    }

    #[test]
    fn who_accuses_nobody_is_no_evidence() {
        let finding = |confidence: f64, syndrome| Finding {
            at_ns: 0,
            since: railtwin_records::Since::at(3_000_000_000),
            syndrome,
            faults: vec![],
            suspects: vec![Suspect { component: Component::Rank("train/6".to_owned()), share: 1.0 }],
            confidence,
            severity: 1.0,
            cost: None,
            evidence: vec![],
            advice: String::new(),
        };
        let hang = Syndrome::NonCommunicationHang;
        let all = accused(&[finding(0.2, hang), finding(0.95, hang), finding(0.9, Syndrome::Collision)]);
        assert_eq!((all.len(), all[0].subject.as_str(), all[0].at), (1, "rank train/6", Some(3.0)));
        assert!(all[0].what.stands());
    }
}

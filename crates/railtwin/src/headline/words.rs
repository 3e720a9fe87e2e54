//! Evidence in words.
use super::evidence::{Cause, Evidence, What};
use super::numbers::{shown, time, whole};

/// One piece of evidence as a clause without its full stop.
pub fn clause(evidence: &Evidence) -> String {
    let subject = &evidence.subject;
    match &evidence.what {
        What::Stands { cause, unfinished } => {
            format!("{}; {}", stands(subject, cause, evidence.at), never_end(*unfinished))
        }
        What::StandsInDraws { draws, of } => {
            format!("{subject} never ends in {} of {} draws of the hashes", whole(*draws), whole(*of))
        }
        What::Accused { seen, accusations, stands } => {
            let still = if *stands { ", and the job stands still" } else { "" };
            let of = if *accusations > 1 {
                format!(", one of {} accusations", whole(*accusations))
            } else {
                String::new()
            };
            format!("{subject} {seen}{still} (diagnosis, confidence {:.2}{of})", evidence.certainty)
        }
        What::Fault { kind, from, of } => {
            let first = if *of > 1 { format!("first of {} faults", whole(*of)) } else { "fault".to_owned() };
            format!("{first}: {kind} at {subject} from {} on", time(*from))
        }
        What::Stalled(seconds) => format!("queue pairs of {subject} stood still for {}", time(*seconds)),
        What::Lost { seconds, share } => {
            let share = share.map(|share| format!(", {} of the time since", shown(share, "ratio")));
            format!("the fault costs {subject} {}{}", time(*seconds), share.unwrap_or_default())
        }
        What::Outside { kind, from, end, of, watched } => {
            let first = if *of > 1 { format!("first of {} faults", whole(*of)) } else { "fault".to_owned() };
            let who = if *watched { "only telemetry covers it" } else { "the run shows nothing of it" };
            format!(
                "{first}: {kind} at {subject} begins at {}, after the simulated steps ({}): {who}",
                time(*from),
                time(*end)
            )
        }
        What::StallCauses(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|(words, seconds)| format!("{} {words}", time(*seconds))).collect();
            format!("{subject} waited {}", parts.join(", "))
        }
        What::NeverArrived(count) => {
            let transfers = if *count == 1 { "transfer" } else { "transfers" };
            format!("the last byte of {} {transfers} never arrived", whole(*count))
        }
        What::Alarms { pauses, buffers } => {
            let count = |count: u64, what: &str| (count > 0).then(|| format!("{} of {what}", whole(count)));
            let parts = [count(*pauses, "pauses"), count(*buffers, "buffers")];
            let alarms = if pauses + buffers == 1 { "alarm" } else { "alarms" };
            format!("{alarms}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
        What::Paused { share, frames } => {
            format!(
                "{} pause frames: {subject} stood still for up to {} of the run",
                whole(*frames),
                shown(*share, "ratio")
            )
        }
        What::SentAgain { again, sent, dropped, lost, timeouts } => {
            sent_again([*again, *sent], [*dropped, *lost, *timeouts])
        }
    }
}

/// Data packets sent again, with what made hosts do so.
fn sent_again([again, sent]: [u64; 2], [dropped, lost, timeouts]: [u64; 3]) -> String {
    let count = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", whole(count)));
    let causes = [count(dropped, "dropped"), count(lost, "lost"), count(timeouts, timeouts_word(timeouts))];
    let causes = causes.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let why = if causes.is_empty() { causes } else { format!(" ({causes})") };
    format!("{} of {} data packets were sent again{why}", whole(again), whole(sent))
}

const fn timeouts_word(count: u64) -> &'static str {
    if count == 1 { "ACK timeout" } else { "ACK timeouts" }
}

fn stands(subject: &str, cause: &Cause, at: Option<f64>) -> String {
    let at = at.map_or(String::new(), |at| format!(" at {}", time(at)));
    match cause {
        Cause::QueuePair(None) => format!("{subject} halted{at}: a queue pair died"),
        Cause::QueuePair(Some((cable, since))) => {
            format!("{subject} halted{at}: a queue pair died after {cable} went down at {}", time(*since))
        }
        Cause::Rank(rank, what, from) => {
            format!("{subject} never ends: rank {rank} {what} from {} on", time(*from))
        }
        Cause::Cable(cable, since) => {
            format!(
                "{subject} never ends: {cable} is down since {} and nothing leads around it",
                time(*since)
            )
        }
        Cause::TimeUp => format!("{subject} is not through at the end of simulated time"),
        Cause::Unknown => format!("{subject} never ends"),
    }
}

/// Operations that stand unfinished.
fn never_end(count: u64) -> String {
    let noun = if count == 1 { "operation stands" } else { "operations stand" };
    format!("{} {noun} unfinished", whole(count))
}

/// Clauses as one sentence with its full stop; nothing of none.
pub fn sentence(clauses: &[String]) -> String {
    let text = clauses.join("; ");
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(subject: &str, what: What, at: Option<f64>) -> String {
        clause(&Evidence { subject: subject.to_owned(), what, cost: 1.0, at, certainty: 0.95 })
    }

    #[test]
    fn evidence_reads_as_a_sentence() {
        let cable = Some(("leaf-0:uplink-1".to_owned(), 1.5));
        let halted = What::Stands { cause: Cause::QueuePair(cable), unfinished: 278_984 };
        assert_eq!(
            said("job a", halted, Some(12.5)),
            "job a halted at 12.50 s: a queue pair died after leaf-0:uplink-1 went down at 1.500 s; \
             278,984 operations stand unfinished"
        );
        let hangs = What::Stands { cause: Cause::Rank("train/1".into(), "hangs", 0.015), unfinished: 1 };
        assert_eq!(
            said("the job", hangs, None),
            "the job never ends: rank train/1 hangs from 15.00 ms on; 1 operation stands unfinished"
        );
        let accused = What::Accused { seen: "never arrives", accusations: 2, stands: true };
        assert_eq!(
            said("rank train/6", accused, None),
            "rank train/6 never arrives, and the job stands still (diagnosis, confidence 0.95, one of 2 accusations)"
        );
        let again = What::SentAgain { again: 12, sent: 15_000, dropped: 9, lost: 0, timeouts: 1 };
        assert_eq!(
            said("", again, None),
            "12 of 15,000 data packets were sent again (9 dropped, 1 ACK timeout)"
        );
        let paused = What::Paused { share: 0.398, frames: 15_183 };
        assert_eq!(
            said("links from leaf to NIC", paused, None),
            "15,183 pause frames: links from leaf to NIC stood still for up to 39.8 % of the run"
        );
        let fault = |of| What::Fault { kind: "slow-gpu", from: 0.01, of };
        assert_eq!(said("GPU a", fault(1), None), "fault: slow-gpu at GPU a from 10.00 ms on");
        assert_eq!(said("GPU a", fault(3), None), "first of 3 faults: slow-gpu at GPU a from 10.00 ms on");
        assert_eq!(said("", What::Alarms { pauses: 1, buffers: 0 }, None), "alarm: 1 of pauses");
    }

    #[test]
    fn a_sentence_begins_large_and_ends() {
        assert_eq!(sentence(&["a b".to_owned(), "c".to_owned()]), "A b; c.");
        assert_eq!(sentence(&[]), "");
    }
}

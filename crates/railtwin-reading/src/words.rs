//! What was seen, in the field's words and with its figure: `Xid 79 (GPU has fallen off the bus)`, `loses 20 % of probes`.
//!
//! They are taken from evidence: what a finding rests on says what it is. Where its lines tell nothing better, the kind of
//! fault does, and last the syndrome.
use railtwin_records::seen::{
    ComputationSeen, CounterSeen, DumpSeen, LogSeen, ProbeSeen, RankState, RasSeen, TestSeen,
};
use railtwin_records::{Evidence, FaultKind, Finding, Seen, Syndrome};

use super::device_words;

/// Shares from which nothing comes back.
const NOTHING: f64 = 0.995;

/// Longest end of a process in a first line, in characters.
const ENDED_CHARS: usize = 90;

/// What a syndrome is, in the words of a first line.
pub fn of_syndrome(syndrome: Syndrome) -> &'static str {
    match syndrome {
        Syndrome::CommunicationHang => "does not go on",
        Syndrome::NonCommunicationHang => "the others wait for it",
        Syndrome::CommunicationSlow => "communication is slow",
        Syndrome::NonCommunicationSlow => "comes late again and again",
        Syndrome::Collision => "traffic meets on a link, no fault",
        Syndrome::Crash => "died",
        Syndrome::Latency => "packets take longer than before",
        Syndrome::Unreachable => "does not answer",
        Syndrome::Mismatch => "ranks do not run the same operations",
        Syndrome::Wiring => "is not plugged in where it should be",
        _ => "its counters say so",
    }
}

/// What was seen of a finding, in words.
pub fn of_finding(finding: &Finding) -> String {
    if let Some(Seen::Cause(cause)) = finding.evidence.first().map(|line| &line.seen) {
        return cause.words();
    }
    let known = of_syndrome(finding.syndrome);
    let (xid, link) = (xid(finding), link(finding));
    let told = match finding.syndrome {
        Syndrome::Counter => {
            return device_words::of_log(finding)
                .or_else(|| device_words::of_clock(finding))
                .or_else(|| device_words::of_table(finding))
                .or(xid)
                .or(link)
                .or_else(|| device_words::of_port(finding))
                .or_else(|| wrong(finding))
                .or_else(|| of_fault(finding))
                .unwrap_or(known.into());
        }
        Syndrome::Unreachable => lost(finding),
        Syndrome::NonCommunicationSlow => steps(finding).or_else(|| alone(finding)),
        Syndrome::CommunicationSlow => bandwidth(finding).or_else(|| delay(finding)),
        Syndrome::Latency => longer(finding),
        Syndrome::Crash | Syndrome::NonCommunicationHang => {
            unexplained(finding).or_else(|| ended(finding)).or_else(|| reported(finding))
        }
        Syndrome::Mismatch => circle(finding),
        _ => None,
    };
    let told = told.unwrap_or_else(|| known.to_owned());
    // What of a GPU or a link keeps others waiting.
    [xid, link].into_iter().flatten().fold(told, |told, why| format!("{told}: {why}"))
}

/// The Xid that a finding rests on: `Xid 79 (GPU has fallen off the bus)`.
pub fn xid(finding: &Finding) -> Option<String> {
    let (_, number, meaning) = counters(finding).find_map(|(seen, _)| seen.xid())?;
    Some(format!("Xid {number} ({meaning})"))
}

/// Counters among the evidence of a finding.
fn counters(finding: &Finding) -> impl Iterator<Item = (&CounterSeen, &Evidence)> {
    finding.evidence.iter().filter_map(|line| match &line.seen {
        Seen::Counter(seen) => Some((seen, line)),
        _ => None,
    })
}

/// Tests whose data came out wrong: `data came out wrong (42 wrong elements)`.
pub fn wrong(finding: &Finding) -> Option<String> {
    let is_wrong = |line: &&Evidence| matches!(line.seen, Seen::Test(TestSeen::WrongElements { .. }));
    let elements: f64 = finding.evidence.iter().filter(is_wrong).map(|line| line.value).sum();
    let unit = if elements == 1.0 { "element" } else { "elements" };
    (elements > 0.0).then(|| format!("data came out wrong ({elements:.0} wrong {unit})"))
}

/// The SXid of an NVSwitch: `SXid 24007 of an NVSwitch, fatal`. Findings rest on fatal ones alone.
fn switch_xid(finding: &Finding) -> Option<String> {
    let number = finding.evidence.iter().find_map(|line| match line.seen {
        Seen::Log(LogSeen::SwitchXid { number, .. }) => Some(number),
        _ => None,
    })?;
    Some(format!("SXid {number} of an NVSwitch, fatal"))
}

/// The state of a rank by RAS: `does not answer RAS`, `reports error 5 of NCCL (invalid usage)`.
fn reported(finding: &Finding) -> Option<String> {
    match finding.evidence.first()?.seen {
        Seen::Ras(RasSeen::RasRanks { state, .. }) => state.of_one(),
        _ => None,
    }
}

/// A failure that lines report and nothing explains.
fn unexplained(finding: &Finding) -> Option<String> {
    let is_it = |line: &&Evidence| matches!(line.seen, Seen::Log(LogSeen::Unexplained { .. }));
    finding.evidence.first().filter(is_it).map(|_| "reports a failure that no rule explains".to_owned())
}

/// How a process ended, as its log says: `ended with ValueError: sample 5 cannot be decoded`.
fn ended(finding: &Finding) -> Option<String> {
    let told = finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Log(seen @ LogSeen::Ended { .. }) => Some(seen.words()),
        _ => None,
    })?;
    let short: String = told.chars().take(ENDED_CHARS).collect();
    Some(if short.len() < told.len() { format!("{short}…") } else { short })
}

/// Ranks of dumps that wait for each other, which other things than what they call can be behind.
fn circle(finding: &Finding) -> Option<String> {
    let is_cycle =
        |line: &&Evidence| matches!(line.seen, Seen::Dump(DumpSeen::Ranks { state: RankState::Cycle, .. }));
    finding.evidence.first().filter(is_cycle).map(|_| "wait for each other in a circle".to_owned())
}

/// Links of ports: down now, or lost and back.
fn link(finding: &Finding) -> Option<String> {
    let is_up = |seen: &CounterSeen| matches!(seen, CounterSeen::LinkUp { .. });
    let is_loss = |seen: &CounterSeen| matches!(seen, CounterSeen::LinkLosses { .. });
    let down = counters(finding).any(|(seen, line)| is_up(seen) && line.value == 0.0 && line.expected > 0.0);
    let losses: f64 = counters(finding).filter(|(seen, _)| is_loss(seen)).map(|(_, line)| line.value).sum();
    match (down, losses) {
        (true, _) => Some("link down".into()),
        (false, 1.0) => Some("link went down once and came back".into()),
        (false, losses) if losses > 0.0 => Some(format!("link went down {losses:.0} times and came back")),
        _ => None,
    }
}

/// What a kind of fault is called; what a counter tells, and how much of it, stands below.
fn of_fault(finding: &Finding) -> Option<String> {
    use railtwin_records::Component::{Gpu, Rank};
    if !finding.evidence.is_empty() && finding.evidence.iter().all(|line| line.table == LogSeen::TABLE) {
        return Some(switch_xid(finding).unwrap_or_else(|| "an error in its log".into()));
    }
    let at_gpu = finding.suspects.iter().all(|suspect| matches!(suspect.component, Gpu(_) | Rank(_)));
    let words = match finding.faults.first()? {
        FaultKind::Down => "link down",
        FaultKind::Flap => "link goes down and comes back",
        FaultKind::Lossy => "loses or spoils packets",
        FaultKind::PauseStorm => "sends pauses without end",
        FaultKind::GpuError if at_gpu => "GPU error",
        FaultKind::Slow => "carries less than it should",
        _ => return None,
    };
    Some(words.to_owned())
}

/// Shares of probes that were lost: `loses 20 % of probes`, `loses 18 to 22 % of probes`.
fn lost(finding: &Finding) -> Option<String> {
    let is_share = |line: &&Evidence| {
        matches!(line.seen, Seen::Probe(ProbeSeen::Lost { .. } | ProbeSeen::LostOtherWay { .. }))
    };
    let shares = finding.evidence.iter().filter(is_share).map(|line| line.value).filter(|share| *share > 0.0);
    let (least, most) =
        shares.fold((1.0_f64, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
    (most > 0.0 && least < NOTHING).then(|| format!("loses {} of probes", percent(least, most)))
}

fn percent(least: f64, most: f64) -> String {
    let figure = |share: f64| match 100.0 * share {
        small if small < 1.0 => format!("{small:.2}"),
        share => format!("{share:.0}"),
    };
    let (least, most) = (figure(least), figure(most));
    if least == most { format!("{least} %") } else { format!("{least} to {most} %") }
}

/// Steps that take longer: `steps 5.1 % longer from step 101 on`.
fn steps(finding: &Finding) -> Option<String> {
    let (seen, line) = finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Step(seen) => Some((seen, line)),
        _ => None,
    })?;
    let share = 100.0 * (line.value / line.expected - 1.0);
    share.is_finite().then(|| format!("steps {share:.1} % longer {}", seen.when()))
}

/// A phase that takes a rank longer by itself: `its optimizer takes 8.1 times as long as others'`.
fn alone(finding: &Finding) -> Option<String> {
    let line = finding.evidence.first()?;
    match &line.seen {
        Seen::Computation(ComputationSeen::StepAlone { operation, .. }) => {
            Some(format!("its {operation} takes {:.1} times as long as others'", line.value))
        }
        _ => None,
    }
}

/// How bandwidth is less than usual: `communication is slow: half of what is usual, and falling with size (50 %)`.
fn bandwidth(finding: &Finding) -> Option<String> {
    let (how, share) = finding.evidence.iter().find_map(|line| match &line.seen {
        Seen::Test(seen) => seen.pattern().map(|pattern| (pattern, line.value)),
        _ => None,
    })?;
    Some(format!("communication is slow: {how} ({})", percent(share, share)))
}

/// How many times as long as usual packets take.
fn delay(finding: &Finding) -> Option<String> {
    let is_delay = |line: &&Evidence| {
        matches!(line.seen, Seen::Probe(ProbeSeen::HostDelay { .. } | ProbeSeen::PairDelay { .. }))
    };
    let line = finding.evidence.iter().find(is_delay)?;
    let than = if line.table == "baseline" { "that of its baseline" } else { "what is usual" };
    Some(format!("delay {:.1} times {than}", line.value))
}

/// How much longer than before packets take.
fn longer(finding: &Finding) -> Option<String> {
    let is_shared = |line: &&Evidence| matches!(line.seen, Seen::Probe(ProbeSeen::SharedDelay { .. }));
    let line = finding.evidence.iter().find(is_shared)?;
    Some(format!("packets take {:.1} us longer than before", line.value / 1e3))
}

#[cfg(test)]
mod tests {
    use railtwin_records::seen::{RasState, StepSeen};

    use super::*;

    fn words(syndrome: Syndrome, faults: &[FaultKind], evidence: &[Evidence]) -> String {
        of_finding(&Finding {
            at_ns: 0,
            since: railtwin_records::Since::default(),
            syndrome,
            faults: faults.to_vec(),
            suspects: Vec::new(),
            confidence: 0.9,
            severity: 0.0,
            cost: None,
            evidence: evidence.to_vec(),
            advice: String::new(),
        })
    }

    #[test]
    fn counters_are_said_with_their_figure() {
        use Syndrome::{Counter, NonCommunicationHang};
        let (gpu, meaning) = ("a/0000:9d:00".to_owned(), "GPU has fallen off the bus");
        let xid = Evidence::new(CounterSeen::Xid { gpu, number: 79, meaning }, 79.0, 0.0);
        let xid = std::slice::from_ref(&xid);
        assert_eq!(words(Counter, &[FaultKind::GpuError], xid), "Xid 79 (GPU has fallen off the bus)");
        assert_eq!(
            words(NonCommunicationHang, &[], xid),
            "the others wait for it: Xid 79 (GPU has fallen off the bus)"
        );
        let port = || "a/mlx5_0".to_owned();
        let up = |value: f64| Evidence::new(CounterSeen::LinkUp { port: port() }, value, 1.0);
        let losses = |count: f64| Evidence::new(CounterSeen::LinkLosses { port: port() }, count, 0.0);
        assert_eq!(words(Counter, &[FaultKind::Down], &[up(0.0), losses(2.0)]), "link down");
        assert_eq!(
            words(Counter, &[FaultKind::Flap], &[up(1.0), losses(1.0)]),
            "link went down once and came back"
        );
        assert_eq!(
            words(Counter, &[FaultKind::Flap], &[losses(3.0)]),
            "link went down 3 times and came back"
        );
        assert_eq!(words(Counter, &[FaultKind::PauseStorm], &[]), "sends pauses without end");
        let text = || "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 24007, Fatal, Link 36".to_owned();
        let switch = Evidence::new(LogSeen::SwitchXid { number: 24007, text: text() }, 1.0, 0.0);
        assert_eq!(words(Counter, &[FaultKind::Crash], &[switch]), "SXid 24007 of an NVSwitch, fatal");
        let log = Evidence::new(LogSeen::Quoted { text: text() }, 1.0, 0.0);
        assert_eq!(words(Counter, &[FaultKind::Crash], &[log]), "an error in its log");
        assert_eq!(words(Counter, &[], &[]), "its counters say so");
    }

    #[test]
    fn states_of_ranks_are_said_as_what_one_of_them_does() {
        use Syndrome::NonCommunicationHang;
        let ras = |state: RasState| {
            Evidence::new(RasSeen::RasRanks { state, ranks: vec!["job/6".into()] }, 1.0, 0.0)
        };
        let of_crash = |state: RasState| words(Syndrome::Crash, &[], &[ras(state)]);
        assert_eq!(of_crash(RasState::Error { code: 5 }), "reports error 5 of NCCL (invalid usage)");
        assert_eq!(of_crash(RasState::Dead), "died");
        assert_eq!(of_crash(RasState::Aborted), "has aborted a communicator");
        let of_hang = |state: RasState| words(NonCommunicationHang, &[], &[ras(state)]);
        assert_eq!(of_hang(RasState::Silent), "does not answer RAS");
        assert_eq!(of_hang(RasState::Behind { by: 3 }), "the others wait for it");
        let cycle = DumpSeen::Ranks { state: RankState::Cycle, ranks: vec![1, 2] };
        assert_eq!(
            words(Syndrome::Mismatch, &[], &[Evidence::new(cycle, 2.0, 0.0)]),
            "wait for each other in a circle"
        );
    }

    #[test]
    fn probes_steps_and_tests_are_said_with_their_figure() {
        use Syndrome::{CommunicationSlow, Latency, NonCommunicationSlow, Unreachable};
        let share = |share: f64| {
            let seen = ProbeSeen::Lost { from: "a".into(), to: "b".into(), source_port: None, sent: 100 };
            Evidence::new(seen, share, 0.0)
        };
        let lost = |shares: &[f64]| {
            let lines: Vec<Evidence> = shares.iter().copied().map(share).collect();
            words(Unreachable, &[FaultKind::Lossy], &lines)
        };
        assert_eq!(lost(&[0.2, 0.2]), "loses 20 % of probes");
        assert_eq!(lost(&[0.18, 0.22]), "loses 18 to 22 % of probes");
        assert_eq!(lost(&[0.002]), "loses 0.20 % of probes");
        assert_eq!(lost(&[1.0]), "does not answer");
        let steps = |seen: StepSeen| words(NonCommunicationSlow, &[], &[Evidence::new(seen, 10.5, 10.0)]);
        assert_eq!(
            steps(StepSeen::Longer { from: 101, seen_at: 103, beside_others: false }),
            "steps 5.0 % longer from step 101 on"
        );
        assert_eq!(
            steps(StepSeen::Drift { from: 1, to: 9 }),
            "steps 5.0 % longer little by little from step 1 to step 9"
        );
        let slow = TestSeen::PairsShare { pattern: "half, and falling with size".into() };
        assert_eq!(
            words(CommunicationSlow, &[], &[Evidence::new(slow, 0.5, 1.0)]),
            "communication is slow: half, and falling with size (50 %)"
        );
        let delay = ProbeSeen::HostDelay {
            host: "a".into(),
            pairs: 14,
            class: "x".into(),
            usual: railtwin_records::seen::Usual::Peers,
        };
        let delay = Evidence { table: "perftest", ..Evidence::new(delay, 5.1, 1.0) };
        assert_eq!(words(CommunicationSlow, &[], &[delay]), "delay 5.1 times what is usual");
        let added = Evidence::new(ProbeSeen::SharedDelay { paths: 22, loaded: false }, 4527.5, 0.0);
        assert_eq!(words(Latency, &[], &[added]), "packets take 4.5 us longer than before");
    }
}
